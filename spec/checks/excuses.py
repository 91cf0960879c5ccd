"""What the target itself reported lost, exactly and with a declared cause; that is no gap."""

from collections.abc import Iterator

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Call, Cause, Chain, Delivery

__all__ = ["Excuses"]


class Excuses:
    """Reports to one reader, or to none in particular (a recovery); another reader's loss excuses nothing."""

    def __init__(self, history: History, declared: Declared, chain: Chain) -> None:
        self._history = history
        self._chain = chain
        self._reports = [report for report in self._heard(declared) if not self._blanket(report)]

    def _heard(self, declared: Declared) -> Iterator[Call]:
        chain, history = self._chain, self._history
        readers = {each.actor for each in history.chains}
        mine = {each.actor for each in history.chains if each.group == chain.group} if declared.competes(chain.group) else {chain.actor}
        causes = {int(cause) for cause in declared.report_causes}
        for report in history.reports:
            if report.stream == chain.stream and report.row.key in causes and (report.actor in mine or report.actor not in readers):
                yield report

    def _blanket(self, report: Call) -> bool:
        """Exactly that range: a report that also covers what this chain got is a blanket."""
        return any(report.row.seq <= d.position < report.row.value and self._same_numbers(report, d) for d in self._chain.deliveries)

    def _same_numbers(self, report: Call, delivery: Delivery) -> bool:
        """Numbers used again after a recovery are others; where that is unknown, what came after the report counts."""
        said, read = self._history.epoch(report), self._history.epoch(delivery)
        if said is None or read is None:
            return report.t_done < delivery.t_invoke
        return said == read

    def cause(self, position: int | None) -> Cause | None:
        """Why a record at this position is not there, in the target's own words."""
        if position is None:
            return None
        found = (report.row.key for report in self._reports if report.row.seq <= position < report.row.value)
        return next((Cause(key) for key in found), None)

    def covers(self, hole: range) -> bool:
        """All numbers of the hole were reported, by one report or by several."""
        at = hole.start
        for report in sorted(self._reports, key=lambda report: report.row.seq):
            if report.row.seq <= at:
                at = max(at, report.row.value)
        return at >= hole.stop
