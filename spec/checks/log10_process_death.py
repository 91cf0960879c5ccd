"""LOG-10: process death loses nothing owed."""

from collections.abc import Iterator

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.excuses import Excuses
from fireassay.spec.checks.expected import Expectation
from fireassay.spec.checks.result import CheckResult, Witness, conclude, not_applicable, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Cause, Crash, Drain

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-10"
_RETENTION = frozenset({Cause.GAP, Cause.DROP})


def check(history: History, declared: Declared) -> CheckResult:
    if declared.survives_process_death == "never":
        return not_applicable(CLAUSE, "nothing is promised to survive the death of a process")
    history = history.with_epsilon(declared.epsilon_ns)
    expectation = Expectation(history, declared)
    crashes = {n: crash for n, crash in enumerate(history.crashes) if crash.known}
    drains = [drain for drain in history.drains if drain.complete]
    doubts: list[str] = []
    found = [w for drain in drains for w in _lost(expectation, crashes, drain, doubts)]
    owed = _judge_evidence(expectation, crashes, drains, doubts)
    counts = {"crashes": len(crashes), "drains": len(drains), "owed": owed}
    return conclude(CLAUSE, history, found, evidence=owed, counts=counts, doubts=doubts)


def _owed_at(expectation: Expectation, number: int, crash: Crash, append: Append) -> bool:
    """Appended before the crash or in it, and due from it."""
    return not expectation.history.after_crash(append, crash) and expectation.owed(append, number)


def _lost(expectation: Expectation, crashes: dict[int, Crash], drain: Drain, doubts: list[str]) -> Iterator[Witness]:
    """A reported loss is a loss, too, unless retention may have taken the record from this reader."""
    missing = expectation.missing_from(drain)
    if not missing:
        return
    excuses = Excuses(expectation.history, expectation.declared, drain.chain)
    before = {n: crash for n, crash in crashes.items() if expectation.history.after_crash(drain.begin, crash)}
    lost = [a for a in missing if any(_owed_at(expectation, n, crash, a) for n, crash in before.items())]
    dropped = [a for a in lost if excuses.cause(a.position) in _RETENTION]
    if dropped:
        doubts.append(f"{len(dropped)} records that were owed when a process died were dropped from the drain after it by a report")
    gone = [a for a in lost if a not in dropped]
    if gone:
        last = max(before.values(), key=lambda crash: crash.t_begin)
        text = f"{len(gone)} records were owed when a process died, and the drain after it lacks them"
        yield witness(CLAUSE, "lost-write-process", drain.chain.stream, (last.row, drain.begin.row, *(a.row for a in gone)), text)


def _judge_evidence(expectation: Expectation, crashes: dict[int, Crash], drains: list[Drain], doubts: list[str]) -> int:
    """How many owed records a complete drain after the crash could show; each stream needs one of its own."""
    history = expectation.history
    judged = 0
    undrained: set[int] = set()
    for number, crash in crashes.items():
        drained = {drain.chain.stream for drain in drains if history.after_crash(drain.begin, crash)}
        if not drained:
            undrained.add(number)
        for stream, appends in expectation.by_stream.items():
            owed = sum(_owed_at(expectation, number, crash, append) for append in appends)
            if stream in drained:
                judged += owed
            elif owed:
                undrained.add(number)
    if undrained:
        flaws = [drain.flaw for drain in history.drains if not drain.complete]
        reason = f"after {len(undrained)} crashes a stream was not drained completely"
        doubts.append(reason + (f": {flaws[0]}" if flaws else ""))
    elif crashes and not judged:
        doubts.append("nothing was owed at any crash")
    return judged
