"""The deliberate faults of the reference: each is convicted by a case of its own clause, and the same build without a fault is not."""

import shlex
import sys

import pytest

from fireassay.conformance.mutation import Caught, examine_mutant
from fireassay.conformance.pending import PENDING
from fireassay.conformance.run.model import CaseResult
from fireassay.reference.mutants import mutants

BY_POWER_ALONE = {"LOG-11"}  # no case loses power; the chaos room does
MUTANTS = {m.name: m for m in mutants() if m.name.startswith("chronicle_") and m.clause not in PENDING | BY_POWER_ALONE}
QUICK = (
    "chronicle_pad_surfaces",
    "chronicle_publish_torn",
    "chronicle_seal_first",
    "chronicle_boundary_ignored",
    "chronicle_seq_repeated",
    "chronicle_roll_drops",
)


SERVED = f"driver:{shlex.join([sys.executable, '-m', 'fireassay.conformance.driver.serve', 'chronicle'])}"


def examined(name: str, clause: str, spec: str = "chronicle") -> Caught:
    return examine_mutant(spec, name, clause, {"FIREASSAY_CORE": "mutants", "FIREASSAY_MUTANT": name})


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in MUTANTS])
def test_a_mutant_is_convicted_of_its_clause(name: str) -> None:
    found = examined(name, MUTANTS[name].clause)
    assert found, f"{MUTANTS[name].what}: no case of {MUTANTS[name].clause} failed: {'; '.join(found.sentences) or 'all passed'}"
    assert all(len(sentence) > 40 for sentence in found.sentences), found.sentences


@pytest.mark.parametrize("clause", ["CHR-12", pytest.param("CHR", marks=pytest.mark.long), pytest.param("LOG", marks=pytest.mark.long)])
def test_the_same_build_without_a_fault_is_not(clause: str) -> None:
    found = examined("", clause)
    assert not found.convicting
    assert {case.outcome for case in found.cases} == {"passed"}


@pytest.mark.parametrize("clause", ["CHR-13", pytest.param("CHR", marks=pytest.mark.long), pytest.param("LOG", marks=pytest.mark.long)])
def test_nor_is_it_through_a_driver(clause: str) -> None:
    found = examined("", clause, SERVED)
    assert {case.outcome for case in found.cases} == {"passed"}, found.sentences
    assert {case.through for case in found.cases} == {"driver"}


def test_a_mutant_is_convicted_through_a_driver() -> None:
    assert examined("chronicle_boundary_ignored", "CHR-13", SERVED)


def result(clause: str, outcome: str, message: str = "") -> CaseResult:
    name = f"test_x.py::test_{outcome}"
    return CaseResult(case=name, clauses=(clause,), outcome=outcome, seconds=0.5, message=message, through="object")  # type: ignore[arg-type]


def test_an_error_or_a_failure_of_another_clause_convicts_nobody() -> None:
    cases = (result("CHR-01", "passed"), result("CHR-01", "error", "broken\nat length"), result("CHR-02", "failed", "else"))
    found = Caught(mutant="m", clause="CHR-01", cases=cases)
    assert not found
    assert found.sentences == ("test_error error: broken", "test_failed failed: else")
    assert found.seconds == 1.5


def test_a_failure_of_its_clause_convicts_and_is_told() -> None:
    found = Caught(mutant="m", clause="CHR-01", cases=(result("CHR-01", "error", "broken"), result("CHR-01", "failed", "why\nat length")))
    assert found
    assert found.sentences == ("test_failed failed: why",)
