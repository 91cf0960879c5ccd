"""Which syncs cover an append."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Call, Place
from fireassay.spec.history.ops import Op
from fireassay.spec.outcomes import Outcome

__all__ = ["Syncs"]


class Syncs:
    def __init__(self, history: History, declared: Declared) -> None:
        self.history = history
        self.declared = declared

    def covering(self, append: Append) -> Iterator[Call]:
        """Syncs, ok, that were invoked after the append's ok, whose scope reaches it, with no failed one in between."""
        syncs = self.history.syncs  # by the time they ended; on one clock none that ended before the append did can cover it
        first = bisect_left(self._ends, append.t_done) if self.history.one_clock else 0
        for sync in syncs[first:]:
            good = sync.outcome is Outcome.OK and self._reaches(sync, append) and self.history.before(append, sync)
            if good and not any(self._spoils(failed, append, sync) for failed in self._failed):
                yield sync

    @cached_property
    def _ends(self) -> list[int]:
        return [sync.t_done for sync in self.history.syncs]

    @cached_property
    def _failed(self) -> list[Call]:
        return [sync for sync in self.history.syncs if sync.outcome is not Outcome.OK]

    def _reaches(self, sync: Call, append: Append) -> bool:
        scope = self.declared.sync_scope
        if scope == "none" or (scope == "handle" and (sync.actor != append.actor or self._reopened(append, sync))):
            return False
        if scope != "all" and sync.stream != append.stream:
            return False
        process = self.history.process
        same = sync.actor == append.actor or (process(sync.actor) == process(append.actor) != 0)
        return same or self.declared.sync_covers_other_processes

    def _reopened(self, append: Append, sync: Call) -> bool:
        """The sync goes through another handle of the same actor."""
        places = self._openings.get((append.actor, append.stream), [])
        return bisect_right(places, append.done) < bisect_left(places, sync.invoked)

    @cached_property
    def _openings(self) -> Mapping[tuple[int, int], list[Place]]:
        found: dict[tuple[int, int], list[Place]] = defaultdict(list)
        for call in self.history.calls_of(Op.OPEN_WRITER, Op.CLOSE):
            if call.outcome is not Outcome.FAIL:
                found[call.actor, call.stream].append(call.invoked)
        return {key: sorted(places) for key, places in found.items()}

    def _spoils(self, failed: Call, append: Append, sync: Call) -> bool:
        """A failed sync may have thrown away what it should have written; only certain order clears it."""
        same_files = self.declared.sync_scope == "all" or failed.stream == append.stream
        return same_files and not self.history.before(failed, append) and not self.history.before(sync, failed)
