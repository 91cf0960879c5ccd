"""What a check returns: a verdict with its witnesses, numbers and reasons; never a bare boolean."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fireassay.spec.history.history import History
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
    return CheckResult(clause=clause, verdict=verdict, witnesses=found, counts=counts, reasons=reasons)


def not_applicable(clause: str, reason: str) -> CheckResult:
    return CheckResult(clause=clause, verdict=Verdict.NOT_APPLICABLE, reasons=(reason,))
