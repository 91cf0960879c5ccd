"""What a target owes: which records a crash must leave, and what a chain or a drain must therefore hold.

Every question is answered yes only where history is certain.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.history.history import History
from fireassay.spec.history.model import NEVER, Append, Call, Chain, Crash, Drain
from fireassay.spec.history.ops import Op
from fireassay.spec.outcomes import Outcome

__all__ = ["Expectation"]


class Expectation:
    def __init__(self, history: History, declared: Declared) -> None:
        self.history = history
        self.declared = declared
        self._owed: dict[tuple[int, int, int], bool] = {}

    # -- syncs

    def covering_syncs(self, append: Append) -> Iterator[Call]:
        """Syncs, ok, that were invoked after the append's ok, whose scope reaches it, with no failed one in between."""
        syncs = self.history.syncs  # by the time they ended; none that ended before the append did can cover it
        for sync in syncs[bisect_left(self._sync_ends, append.t_done) :]:
            if sync.outcome is Outcome.OK and self._reaches(sync, append) and self.history.before(append, sync):
                if any(self._spoils(failed, append, sync) for failed in self._failed_syncs):
                    return  # later ones have the same failure behind them
                yield sync

    @cached_property
    def _sync_ends(self) -> list[int]:
        return [sync.t_done for sync in self.history.syncs]

    @cached_property
    def _failed_syncs(self) -> list[Call]:
        return [sync for sync in self.history.syncs if sync.outcome is not Outcome.OK]

    def _reaches(self, sync: Call, append: Append) -> bool:
        scope = self.declared.sync_scope
        if scope == "handle" and sync.actor != append.actor:
            return False
        if scope != "all" and sync.stream != append.stream:
            return False
        process = self.history.process
        same = sync.actor == append.actor or (process(sync.actor) == process(append.actor) != 0)
        return same or self.declared.sync_covers_other_processes

    def _spoils(self, failed: Call, append: Append, sync: Call) -> bool:
        """A failed sync may have thrown away what it should have written; only certain order clears it."""
        same_files = self.declared.sync_scope == "all" or failed.stream == append.stream
        return same_files and not self.history.before(failed, append) and not self.history.before(sync, failed)

    # -- crashes

    def owed(self, append: Append, number: int) -> bool:
        """Must it outlive crash `number`? Also true of what was only appended after it."""
        key = (append.stream, append.identity, number)
        if key not in self._owed:
            self._owed[key] = self._is_owed(append, self.history.crashes[number])
        return self._owed[key]

    def _is_owed(self, append: Append, crash: Crash) -> bool:
        if self.history.after_crash(append, crash):
            return True
        promise = self.declared.survives_process_death
        if not crash.known or promise == "never" or self._in_tail(append, crash):
            return False
        if promise == "after-append":
            # Ok before the death, or ok after it while the log lived on: owed either way.
            return True
        return any(self.history.before_crash(sync, crash) for sync in self.covering_syncs(append))

    def _in_tail(self, append: Append, crash: Crash) -> bool:
        """Within the declared tail unless so many records certainly came later, and before the crash."""
        tail, time = self.declared.tail_records, self.declared.tail_ns
        if time and append.t_done + time >= crash.t_begin:
            return True
        if not tail:
            return False
        later = [a for a in self._ok(append.stream) if self.history.before(append, a) and self.history.before_crash(a, crash)]
        return len(later) < tail

    def _ok(self, stream: int) -> list[Append]:
        return self.by_stream.get(stream, [])

    # -- what a reader must get

    @cached_property
    def by_stream(self) -> Mapping[int, list[Append]]:
        """Acknowledged appends that carry their identity."""
        found: dict[int, list[Append]] = defaultdict(list)
        for append in self.history.appends:
            if append.outcome is Outcome.OK and not append.anonymous:
                found[append.stream].append(append)
        return found

    def stands(self, append: Append, t_until: int) -> bool:
        """Owed at every crash that was not certainly later than `t_until`."""
        crashes = enumerate(self.history.crashes)
        return all(self.owed(append, n) for n, crash in crashes if crash.t_begin <= t_until + self.history.epsilon_ns)

    def retained(self, append: Append, t_until: int) -> bool:
        return self.retained_at(append.stream, append.position, t_until)

    def retained_at(self, stream: int, position: int | None, t_until: int) -> bool:
        """At or after whatever may have been the first retained position until then."""
        trims = (t for t in self._trims if t.stream == stream and t.t_invoke <= t_until + self.history.epsilon_ns)
        first = max((trim.row.seq for trim in trims), default=None)
        return first is None or (self.declared.positions != "none" and position is not None and position >= first)

    @cached_property
    def _trims(self) -> list[Call]:
        return [trim for trim in self.history.calls_of(Op.TRIM) if trim.outcome is not Outcome.FAIL]

    def visible_from(self, append: Append) -> int:
        """When every reader must be able to see it; NEVER where no sync covers it and nobody saw it."""
        if self.declared.visible == "append":
            return append.t_done
        return min((sync.t_done for sync in self.covering_syncs(append)), default=NEVER)

    def missing_from(self, drain: Drain) -> list[Append]:
        """Expected of a complete drain and not in it."""
        got = self.seen_by(drain)
        start = drain.chain.start or 0
        found = []
        for append in self.by_stream.get(drain.chain.stream, []):
            if append.identity in got or not self.history.before(append, drain.begin):
                continue
            in_range = self.declared.positions == "none" or (append.position is not None and append.position >= start)
            if in_range and self.visible_from(append) <= drain.begin.t_invoke and self._due(append, drain.t_end):
                found.append(append)
        return found

    def seen_by(self, drain: Drain) -> set[int]:
        """In a competing group what one member took is not there for the next."""
        deliveries: Iterable[Call] = drain.chain.deliveries
        if self.declared.readers == "competing":
            deliveries = self.history.deliveries
        return {d.identity for d in deliveries if d.stream == drain.chain.stream}  # type: ignore[attr-defined]

    def _due(self, append: Append, t_until: int) -> bool:
        return self.retained(append, t_until) and self.stands(append, t_until)

    def passed_over(self, chain: Chain) -> list[Append]:
        """Expected of a chain, between its start and its last delivery, and never delivered."""
        if self.declared.positions == "none":
            between = self._between_neighbours(chain)
        else:
            between = self._between_positions(chain)
        return [append for append in between if self._due(append, chain.t_last)]

    def _between_positions(self, chain: Chain) -> list[Append]:
        """Owed records keep their position, so that a higher one of the same or a later epoch was delivered over them."""
        got = {d.identity for d in chain.deliveries}
        start = chain.start if chain.start is not None else min((d.position for d in chain.deliveries[:1]), default=NEVER)
        highest: dict[int, int] = {}
        for delivery in chain.deliveries:
            epoch = self.history.epoch(delivery)
            if epoch is not None:
                highest[epoch] = max(highest.get(epoch, -1), delivery.position)
        found = []
        for append in self.by_stream.get(chain.stream, []):
            if append.identity in got or append.position is None or append.position < start:
                continue
            if append.position >= max(highest.values(), default=-1):
                continue
            born = self.history.epoch(append)
            if born is not None and any(p > append.position for epoch, p in highest.items() if epoch >= born):
                found.append(append)
        return found

    def _between_neighbours(self, chain: Chain) -> list[Append]:
        """Without positions: between two records of its own actor that the chain did deliver."""
        known = (self.history.append_of.get((chain.stream, d.identity)) for d in chain.deliveries)
        places: dict[int, list[Append]] = defaultdict(list)
        for append in known:
            if append is not None and append.outcome is Outcome.OK:
                places[append.actor].append(append)
        got = {d.identity for d in chain.deliveries}
        ended = {actor: sorted(a.done for a in those) for actor, those in places.items()}
        begun = {actor: sorted(a.invoked for a in those) for actor, those in places.items()}
        found = []
        for append in self.by_stream.get(chain.stream, []):
            if append.identity not in got and append.actor in places:
                earlier = bisect_left(ended[append.actor], append.invoked) > 0 or chain.draining
                later = bisect_right(begun[append.actor], append.done) < len(begun[append.actor])
                if earlier and later:
                    found.append(append)
        return found
