"""The cases of the LOG contract are judged: each deliberate fault of a target is convicted of its clause, with words that say so."""

import pytest

from fireassay.conformance.run.cases import run_cases
from fireassay.conformance.run.model import CaseResult
from fireassay.conformance.targets.faulty import FAULTS

FAULTY = "py:fireassay.conformance.targets.faulty:make"
SAYS = {
    "drop": "never got 1 acknowledged records",
    "duplicate": "duplicate-delivered",
    "reorder": "reader-disagreement",
    "corrupt": "what was read at 2 is not what",
    "phantom": "is nothing of this run",
    "aborted": "aborted-read",
    "misplaced": "inconsistent-position",
    "early-ack": "were owed when a process died",
    "lose-cursor": "after a restart, with",
    "second-writer": "and a second was opened",
    "stump": "xxxxxxxx… (16777216 bytes)",
    "leak": "reader same of stream right",
    "seek-behind": "was granted",
    "rewrite": "after reopen 1 of what was there before",
    "early-end": "was told END while",
    "hang-write": "stuck-writer: APPEND of actor",
    "hang-read": "stuck-reader: READ of actor",
    "die": "died of signal 6 and no fault was aimed at it",
}
QUICK = ("drop", "early-ack", "lose-cursor", "die")


def examined(fault: str, clause: str) -> list[CaseResult]:
    return run_cases(f"{FAULTY}?fault={fault}", select=("--clauses", clause))


@pytest.mark.parametrize("fault", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in SAYS])
def test_a_fault_of_a_target_is_convicted_of_its_clause(fault: str) -> None:
    clause = FAULTS[fault].clause
    convicted = [result.message for result in examined(fault, clause) if result.outcome == "failed" and result.clauses == (clause,)]
    assert any(SAYS[fault] in message for message in convicted), convicted


def test_every_fault_with_a_clause_is_convicted_here() -> None:
    assert set(SAYS) == {fault.name for fault in FAULTS.values() if fault.clause}


def test_nonsense_is_an_error_and_no_pass() -> None:
    results = examined("garbage", "LOG-02")
    assert {result.outcome for result in results} == {"error"}
    (said,) = [result.message for result in results if "test_small_trials_keep" in result.case]
    assert "the trials show nothing of LOG-02" in said
    assert "an append is of unknown outcome" in said


def test_a_target_that_hangs_costs_two_cases_and_no_more() -> None:
    results = run_cases(f"{FAULTY}?fault=hang-read", select=("--clauses", "LOG-02,LOG-03"), case_deadline_s=3.0)
    assert {result.outcome for result in results} == {"error"}
    hung = [result for result in results if "did not end within 3 s and was killed" in result.message]
    unbegun = [result for result in results if result.message == "not run: 2 cases before it hung"]
    assert len(hung) == 2
    assert len(unbegun) == len(results) - 2 > 0
    assert {clause for result in results for clause in result.clauses} >= {"LOG-02", "LOG-03"}
