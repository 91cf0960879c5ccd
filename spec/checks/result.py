"""What a check returns: a verdict with its witnesses, numbers and reasons; never a bare boolean."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fireassay.spec.history.crashes import signed
from fireassay.spec.history.history import History
from fireassay.spec.history.ops import Op
from fireassay.spec.history.row import Row
from fireassay.spec.outcomes import Verdict

__all__ = ["SHOWN", "CheckResult", "Witness", "conclude", "not_applicable", "witness"]

SHOWN = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    clause: str
    anomaly: str
    stream: int
    rows: tuple[Row, ...]  # at most SHOWN
    total: int  # all that convict
    explanation: str
    faults: tuple[Row, ...] = ()  # around the rows: between the first and the last, and the nearest outside; at most SHOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    clause: str
    verdict: Verdict
    witnesses: tuple[Witness, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


def witness(clause: str, anomaly: str, stream: int, rows: Iterable[Row], explanation: str) -> Witness:
    every = tuple(rows)
    return Witness(clause=clause, anomaly=anomaly, stream=stream, rows=every[:SHOWN], total=len(every), explanation=explanation)


def conclude(
    clause: str, history: History, witnesses: Iterable[Witness], *, evidence: int, counts: Mapping[str, int], doubts: Iterable[str] = ()
) -> CheckResult:
    """Own assumptions first: on a history that contradicts itself nobody is convicted and nobody passes."""
    found, reasons = tuple(witnesses), tuple(dict.fromkeys(doubts))
    if history.problems:
        suspected = {**counts, "suspected": len(found)}
        return CheckResult(clause=clause, verdict=Verdict.UNKNOWN, counts=suspected, reasons=history.problems + reasons)
    if found:
        verdict = Verdict.FAIL
    elif reasons:
        verdict = Verdict.UNKNOWN
    else:
        verdict = Verdict.PASS if evidence else Verdict.NOT_RUN
    return CheckResult(clause=clause, verdict=verdict, witnesses=_with_faults(history, found), counts=counts, reasons=reasons)


def _with_faults(history: History, witnesses: tuple[Witness, ...]) -> tuple[Witness, ...]:
    if not witnesses:
        return ()
    faults = [row for row in history.events_of(Op.FAULT_BEGIN, Op.FAULT_FIRED, Op.FAULT_END, Op.EXIT) if _is_fault(row)]
    return tuple(replace(found, faults=_around(found.rows, faults)) for found in witnesses)


def _is_fault(row: Row) -> bool:
    return row.op is not Op.EXIT or signed(row.value) != 0


def _around(rows: tuple[Row, ...], faults: list[Row]) -> tuple[Row, ...]:
    first, last = min(row.t_ns for row in rows), max(row.t_ns for row in rows)
    before = [row for row in faults if row.t_ns < first][-1:]
    within = [row for row in faults if first <= row.t_ns <= last]
    after = [row for row in faults if row.t_ns > last][:1]
    return tuple(before + within + after)[:SHOWN]


def not_applicable(clause: str, reason: str) -> CheckResult:
    return CheckResult(clause=clause, verdict=Verdict.NOT_APPLICABLE, reasons=(reason,))
