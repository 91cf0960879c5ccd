"""What a check finds, and how it concludes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fireassay.reports.judge.owed import Owed
from fireassay.reports.judge.trial import Moment, Records, Ref, Trial
from fireassay.spec.history.ops import Op
from fireassay.spec.outcomes import Verdict

__all__ = ["SHOWN", "Case", "Check", "Found", "Verdicts", "faults_around", "not_applicable"]

SHOWN = 32
Pointer = tuple[int, Ref]  # when the row was written, and which it is


@dataclass(frozen=True)
class Found:
    anomaly: str
    stream: int
    rows: tuple[Pointer, ...]
    text: str


@dataclass
class Verdicts:
    clause: str
    found: list[Found] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    evidence: int = 0
    inapplicable: str = ""

    def convict(self, anomaly: str, stream: int, rows: Iterable[Pointer], text: str) -> None:
        self.found.append(Found(anomaly, stream, tuple(rows), text))

    def verdict(self, problems: list[str]) -> tuple[Verdict, list[str]]:
        if self.inapplicable:
            return Verdict.NOT_APPLICABLE, [self.inapplicable]
        reasons = list(dict.fromkeys(self.doubts))
        if problems:
            return Verdict.UNKNOWN, problems + reasons
        if self.found:
            return Verdict.FAIL, reasons
        if reasons:
            return Verdict.UNKNOWN, reasons
        return (Verdict.PASS if self.evidence else Verdict.NOT_RUN), reasons


@dataclass(frozen=True)
class Case:
    """One trial before its checks."""

    t: Trial
    owed: Owed

    def row(self, moment: Moment) -> Pointer:
        return (moment.t_row, moment.ref)

    def rows(self, records: Records, numbers: Iterable[int]) -> list[Pointer]:
        return [(records.t_row(int(n)), records.ref(int(n))) for n in numbers]


Check = Callable[[Case], Verdicts]


def not_applicable(clause: str, reason: str) -> Verdicts:
    return Verdicts(clause, inapplicable=reason)


def faults_around(trial: Trial, rows: tuple[Pointer, ...]) -> list[Ref]:
    """Between the first and the last row, and the nearest outside."""
    faults = [e for e in trial.said(Op.FAULT_BEGIN, Op.FAULT_FIRED, Op.FAULT_END, Op.EXIT) if e.op != Op.EXIT or e.value]
    first, last = min(t for t, _ in rows), max(t for t, _ in rows)
    before = [e for e in faults if e.t_row < first][-1:]
    within = [e for e in faults if first <= e.t_row <= last]
    after = [e for e in faults if e.t_row > last][:1]
    return [e.ref for e in (before + within + after)[:SHOWN]]
