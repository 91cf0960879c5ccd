"""What is owed: which records each crash must leave, what a reader must therefore get, and what excuses a target.

One vector per crash, sync or drain, over all appends at once.
"""

from functools import cached_property
from typing import Any

import numpy as np

from fireassay.reports.judge.deaths import Crash
from fireassay.reports.judge.schemas import INFINITE
from fireassay.reports.judge.trial import FAIL, OK, Chain, Ints, Mask, Moment, Records, Trial
from fireassay.spec.history.ops import Op

__all__ = ["Excuses", "Owed", "Seen"]


class Owed:
    def __init__(self, trial: Trial) -> None:
        self.t = trial
        self.a = trial.a
        self.declared = trial.declared
        self.deaths = trial.deaths

    # -- syncs

    @cached_property
    def _syncs(self) -> list[Moment]:
        return [c for c in self.t.calls if c.op == Op.SYNC]

    @cached_property
    def covers(self) -> list[tuple[Moment, Mask]]:
        """Each sync that was ok, and the appends that it covers."""
        trial, a, scope = self.t, self.a, self.declared.sync_scope
        if scope == "none":
            return []
        process = np.array(trial.actors.process, dtype=np.int64)
        failed = [s for s in self._syncs if s.outcome != OK]
        found = []
        for sync in (s for s in self._syncs if s.outcome == OK):
            own = a.actor == sync.actor
            beside = own | ((process[a.actor] == process[sync.actor]) & (process[a.actor] != 0))
            mask = trial.before(a, sync) & (beside | self.declared.sync_covers_other_processes)
            if scope != "all":
                mask &= a.stream == sync.stream
            if scope == "handle":
                mask &= own
                mask &= ~self._through_another_handle(mask, sync)
            for bad in failed:
                if not trial.before(sync, bad):
                    mask &= trial.before(bad, a) | ((a.stream != bad.stream) & (scope != "all"))
            found.append((sync, np.asarray(mask, dtype=np.bool_)))
        return found

    def _through_another_handle(self, asked: Mask, sync: Moment) -> Mask:
        mask = np.zeros(len(self.a), dtype=bool)
        opened = [c for c in self.t.calls if c.op in {Op.OPEN_WRITER, Op.CLOSE} and c.outcome != FAIL and c.actor == sync.actor]
        for call in opened:
            if call.inv < sync.inv:
                mask |= asked & (self.a.stream == call.stream) & (self.a.done < call.inv)
        return mask

    # -- crashes

    @cached_property
    def owed(self) -> list[Mask]:
        """Per crash: what must outlive it, and what came only after it."""
        found: list[Mask] = []
        for crash in self.deaths.crashes:
            after = self.deaths.after_crash(self.a, crash)
            must = self._fulfilled(crash) & ~self._in_tail(crash) if crash.known else np.zeros(len(self.a), dtype=bool)
            found.append(np.asarray(after | must, dtype=np.bool_))
        return found

    def _fulfilled(self, crash: Crash) -> Mask:
        survives = self.declared.survives_power_loss if crash.power else self.declared.survives_process_death
        mask = np.zeros(len(self.a), dtype=bool)
        if survives == "after-append":
            return np.asarray(self.deaths.before_crash(self.a, crash), dtype=np.bool_) if crash.power else ~mask
        if survives == "after-sync":
            for sync, covered in self.covers:
                if self.deaths.before_crash(sync, crash):
                    mask |= covered
        return mask

    def _in_tail(self, crash: Crash) -> Mask:
        declared, a, trial = self.declared, self.a, self.t
        records = declared.power_tail_records if crash.power else declared.tail_records
        time = declared.power_tail_ns if crash.power else declared.tail_ns
        mask = np.zeros(len(a), dtype=bool)
        if time:
            stall = max((e.value for e in trial.events if e.op == Op.HEARTBEAT), default=None)
            if stall is None:
                return ~mask
            one_clock = trial.actors.domain[a.actor] == crash.domain
            mask |= ~(one_clock & (a.t_done + (time + stall + trial.epsilon) < crash.t_begin))
        if records:
            mask |= self._followers(self.t.expected & self._fulfilled(crash) & self.deaths.before_crash(a, crash)) < records
        return mask

    def _followers(self, of: Mask) -> Ints:
        """How many of these are of the same stream and certainly after each append."""
        a, trial = self.a, self.t
        count = np.zeros(len(a), dtype=np.int64)
        for stream in set(a.stream[of].tolist()):
            here = a.stream == stream
            for actor in set(a.actor[of & here].tolist()):
                those = of & here & (a.actor == actor)
                begins, times = np.sort(a.inv[those]), np.sort(a.t_inv[those])
                own = a.actor == actor
                by_place = len(begins) - np.searchsorted(begins, a.done, side="right")
                by_clock = len(times) - np.searchsorted(times, a.t_done + trial.epsilon, side="right")
                by_clock = np.where(trial.actors.domain[a.actor] == trial.actors.domain[actor], by_clock, 0)
                by_clock = np.where(trial.deaths.exited_before[a.actor, actor], len(begins), by_clock)
                count += np.where(here, np.where(own, by_place, by_clock), 0)
        return count

    @cached_property
    def always(self) -> Mask:
        """Owed at every crash."""
        mask = np.ones(len(self.a), dtype=bool)
        for owed in self.owed:
            mask &= owed
        return mask

    def stands(self, until: Moment) -> Mask:
        """Owed at every crash that does not certainly come after the moment."""
        mask = np.ones(len(self.a), dtype=bool)
        for crash, owed in zip(self.deaths.crashes, self.owed, strict=True):
            if not self.deaths.before_crash(until, crash):
                mask &= owed
        return mask

    def one_stands(self, number: int, until: Moment) -> bool:
        pairs = zip(self.deaths.crashes, self.owed, strict=True)
        return all(owed[number] or self.deaths.before_crash(until, crash) for crash, owed in pairs)

    # -- retention

    @cached_property
    def _trims(self) -> list[Moment]:
        return [c for c in self.t.calls if c.op == Op.TRIM and c.outcome != FAIL]

    def retained(self, stream: int, position: Any, until: Moment) -> Any:
        """At or after what may have been the first retained position until then; of one position or of many."""
        kept: Any = np.ones_like(position, dtype=bool)
        for trim in self._trims:
            if trim.stream == stream and not self.t.before(until, trim):
                if self.declared.positions == "none" or (not trim.seq and trim.outcome != OK):
                    return np.zeros_like(position, dtype=bool)
                kept = kept & (position >= trim.seq) & (np.asarray(position) >= 0)
        return kept

    def due(self, number: int, until: Moment) -> bool:
        here = self.retained(int(self.a.stream[number]), int(self.a.position[number]), until)
        return bool(here) and self.one_stands(number, until)

    @cached_property
    def visible_from(self) -> Ints:
        if self.declared.visible == "append":
            return self.a.t_done
        first = np.full(len(self.a), INFINITE, dtype=np.int64)
        for sync, covered in self.covers:
            first = np.where(covered, np.minimum(first, sync.t_done), first)
        return first

    # -- drains

    def complete_drains(self) -> list[Chain]:
        return [chain for chain in self.t.chains if chain.flaw == ""]

    def seen_by(self, chain: Chain) -> "Seen":
        trial = self.t
        if not self.declared.competes(chain.group):
            return Seen(trial, chain.got)
        here = trial.d.stream == chain.stream
        if chain.group:
            groups = np.array(trial.actors.group, dtype=np.int64)[trial.d.actor]
            here &= (groups == chain.group) | (groups == 0)
        return Seen(trial, np.flatnonzero(here))

    def in_range(self, chain: Chain, position: Any) -> Any:
        start = chain.start or 0
        if self.declared.positions == "none":
            return np.full_like(position, not start, dtype=bool)
        return (position >= start) & (np.asarray(position) >= 0)

    def missing_from(self, chain: Chain) -> Ints:
        """Numbers of the appends that a complete drain had to hold and does not."""
        if chain.end is None or chain.begin is None:
            return np.array([], dtype=np.int64)
        a = self.a
        mask = self.t.expected & (a.stream == chain.stream) & ~self.seen_by(chain).of(a) & self.in_range(chain, a.position)
        if self.declared.visible == "append":
            mask = mask & self.t.before(a, chain.begin)
        else:
            seen = np.zeros(len(a), dtype=bool)
            for sync, covered in self.covers:
                if self.t.before(sync, chain.begin):
                    seen |= covered
            mask = mask & seen
        return np.flatnonzero(mask & self.retained(chain.stream, a.position, chain.end) & self.stands(chain.end))


class Seen:
    """What deliveries held: by name, and by position where a payload does not say whose it is."""

    def __init__(self, trial: Trial, numbers: Ints) -> None:
        d = trial.d
        self.names = d.identity[numbers[~trial.nameless[numbers]]]
        bare = numbers[~trial.identified[numbers]] if trial.declared.positions != "none" else numbers[:0]
        self.places = d.position[bare]

    def of(self, a: Records) -> Mask:
        by_name = ~a.anonymous & np.isin(a.identity, self.names)
        by_place = (a.position >= 0) & np.isin(a.position, self.places)
        return np.asarray(by_name | by_place, dtype=np.bool_)


class Excuses:
    """Ranges that the target reported to this reader, or to none in particular, exactly and with a cause that it declared."""

    def __init__(self, owed: Owed, chain: Chain) -> None:
        trial, declared = owed.t, owed.declared
        readers = {c.actor for c in trial.chains}
        mine = {c.actor for c in trial.chains if c.group == chain.group} if declared.competes(chain.group) else {chain.actor}
        causes = set(map(int, declared.report_causes))
        self._ranges: list[tuple[int, int, int]] = []
        positions = trial.d.position[chain.got]
        for report in (e for e in trial.events if e.op == Op.REPORT and e.stream == chain.stream and e.key in causes):
            if report.actor in readers - mine:
                continue
            inside = chain.got[(positions >= report.seq) & (positions < report.value)]
            if not any(_same_numbers(owed, report, int(number)) for number in inside):
                self._ranges.append((report.seq, report.value, report.key))

    def cause(self, position: int) -> int:
        """0 where nothing was said."""
        return next((cause for begin, end, cause in self._ranges if position >= 0 and begin <= position < end), 0)

    def covers(self, begin: int, end: int) -> bool:
        for low, high, _ in sorted(self._ranges, key=lambda span: span[0]):
            begin = max(begin, high) if low <= begin else begin
        return begin >= end


def _same_numbers(owed: Owed, report: Moment, number: int) -> bool:
    delivery = owed.t.d.at(number)
    said, read = (int(owed.deaths.epochs(call, report.stream)) for call in (report, delivery))
    if said < 0 or read < 0:
        return bool(report.t_done < delivery.t_inv)
    return said == read
