"""What a crash of one grade took though it was owed; LOG-10 and LOG-11 are this, each for its own grade."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.excuses import Excuses
from fireassay.spec.checks.expected import Expectation, Seen
from fireassay.spec.checks.result import CheckResult, Witness, conclude, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Cause, Crash, Drain, Grade

__all__ = ["Terms", "judge_losses"]

_RETENTION = frozenset({Cause.GAP, Cause.DROP})
Crashes = Mapping[int, Crash]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    clause: str
    grade: Grade
    anomaly: str
    when: str


def judge_losses(history: History, declared: Declared, terms: Terms) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    expectation = Expectation(history, declared)
    known = {n: crash for n, crash in enumerate(history.crashes) if crash.known}
    crashes = {n: crash for n, crash in known.items() if crash.grade == terms.grade}
    others = {n: crash for n, crash in known.items() if crash.grade != terms.grade}
    drains = [drain for drain in history.drains if drain.complete]
    doubts: list[str] = []
    found = [w for drain in drains for w in _lost(expectation, terms, crashes, others, drain, doubts)]
    owed = _judge_evidence(expectation, crashes, drains, doubts)
    counts = {"crashes": len(crashes), "drains": len(drains), "owed": owed}
    return conclude(terms.clause, history, found, evidence=owed, counts=counts, doubts=doubts)


def _owed_at(expectation: Expectation, number: int, crash: Crash, append: Append) -> bool:
    """Appended before the crash or in it, and due from it."""
    return not expectation.history.after_crash(append, crash) and expectation.owed(append, number)


def _lost(expectation: Expectation, terms: Terms, crashes: Crashes, others: Crashes, drain: Drain, doubts: list[str]) -> Iterator[Witness]:
    """A reported loss is a loss, too, unless retention may have taken the record from this reader."""
    missing = expectation.missing_from(drain)
    if not missing:
        return
    history = expectation.history
    excuses = Excuses(history, expectation.declared, drain.chain)
    before = {n: crash for n, crash in crashes.items() if history.after_crash(drain.begin, crash)}
    elsewhere = {n: crash for n, crash in others.items() if history.after_crash(drain.begin, crash)}
    lost = [a for a in missing if any(_owed_at(expectation, n, crash, a) for n, crash in before.items())]
    if elsewhere and lost:
        lost = _not_of_others(expectation, before, elsewhere, lost, doubts)
    dropped = [a for a in lost if excuses.cause(a.position) in _RETENTION]
    if dropped:
        doubts.append(f"{len(dropped)} records that were owed when {terms.when} were dropped from the drain after it by a report")
    gone = [a for a in lost if a not in dropped]
    if gone:
        last = max(before.values(), key=lambda crash: crash.t_begin)
        text = f"{len(gone)} records were owed when {terms.when}, and the drain after it lacks them"
        yield witness(terms.clause, terms.anomaly, drain.chain.stream, (last.row, drain.begin.row, *(a.row for a in gone)), text)


def _not_of_others(expectation: Expectation, crashes: Crashes, others: Crashes, lost: list[Append], doubts: list[str]) -> list[Append]:
    """After crashes of both grades: blamed is the one that the record was not seen to outlive; where neither, nobody knows which."""
    history, every = expectation.history, {**crashes, **others}
    those = [d for d in history.deliveries if d.stream == lost[0].stream]
    outlived = {n: Seen((d for d in those if history.after_crash(d, c)), expectation.declared) for n, c in every.items()}
    mine: list[Append] = []
    unclear = 0
    for append in lost:
        blamed = [n for n, c in every.items() if _owed_at(expectation, n, c, append) and not outlived[n].has(append)]
        here, there = any(n in crashes for n in blamed), any(n in others for n in blamed)
        unclear += here and there
        if here and not there:
            mine.append(append)
    if unclear:
        doubts.append(f"{unclear} records were lost in a power loss or when a process died, and nothing between the two says in which")
    return mine


def _judge_evidence(expectation: Expectation, crashes: Crashes, drains: list[Drain], doubts: list[str]) -> int:
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
