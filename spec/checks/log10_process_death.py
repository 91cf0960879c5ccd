"""LOG-10: process death loses nothing owed."""

from collections.abc import Iterator

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.expected import Expectation
from fireassay.spec.checks.result import CheckResult, Witness, conclude, not_applicable, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Crash, Drain

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-10"


def check(history: History, declared: Declared) -> CheckResult:
    if declared.survives_process_death == "never":
        return not_applicable(CLAUSE, "nothing is promised to survive the death of a process")
    history = history.with_epsilon(declared.epsilon_ns)
    expectation = Expectation(history, declared)
    crashes = [(n, crash) for n, crash in enumerate(history.crashes) if crash.known]
    judged = [(n, crash, drain) for n, crash in crashes for drain in history.drains if drain.complete and _after(history, drain, crash)]
    found = [w for n, crash, drain in judged for w in _lost(expectation, n, crash, drain)]
    owed = sum(len(_owed(expectation, n, crash, drain)) for n, crash, drain in judged)
    counts = {"crashes": len(crashes), "drains": len(judged), "owed": owed}
    return conclude(CLAUSE, history, found, evidence=owed, counts=counts, doubts=_doubts(history, crashes, judged, owed))


def _after(history: History, drain: Drain, crash: Crash) -> bool:
    return history.after_crash(drain.begin, crash)


def _owed(expectation: Expectation, number: int, crash: Crash, drain: Drain) -> list[Append]:
    """Appended before the crash or in it, and due from it."""
    appends = expectation.by_stream.get(drain.chain.stream, [])
    return [a for a in appends if not expectation.history.after_crash(a, crash) and expectation.owed(a, number)]


def _lost(expectation: Expectation, number: int, crash: Crash, drain: Drain) -> Iterator[Witness]:
    owed = {a.identity for a in _owed(expectation, number, crash, drain)}
    lost = [a for a in expectation.missing_from(drain) if a.identity in owed]
    if lost:
        text = f"{len(lost)} records were owed when a process died, and the drain after it lacks them"
        yield witness(CLAUSE, "lost-write-process", drain.chain.stream, (crash.row, drain.begin.row, *(a.row for a in lost)), text)


def _doubts(history: History, crashes: list[tuple[int, Crash]], judged: list[tuple[int, Crash, Drain]], owed: int) -> list[str]:
    if not crashes:
        return []
    undrained = {n for n, _ in crashes} - {n for n, _, _ in judged}
    if undrained:
        flaws = [drain.flaw for drain in history.drains if not drain.complete]
        return [f"{len(undrained)} crashes are followed by no complete drain" + (f": {flaws[0]}" if flaws else "")]
    return [] if owed else ["nothing was owed at any crash"]
