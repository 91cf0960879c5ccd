"""Where a chain stood at some place of its reader's own order: what was still ahead of it."""

import numpy as np

from fireassay.reports.judge.findings import Case
from fireassay.reports.judge.trial import OK, Chain

__all__ = ["Standing"]


class Standing:
    def __init__(self, case: Case, chain: Chain) -> None:
        self._t, self._chain = case.t, chain
        self._done = case.t.d.done[chain.got]
        named = chain.got[~case.t.nameless[chain.got]]
        names, first = np.unique(case.t.d.identity[named], return_index=True)
        self._first = dict(zip(names.tolist(), case.t.d.done[named[first]].tolist(), strict=True))

    def got(self, number: int, place: int) -> bool:
        """By name, before that place."""
        t = self._t
        if t.a.anonymous[number]:
            return False
        first = self._first.get(int(t.a.identity[number]))
        return first is not None and bool(first < place)

    def ahead(self, number: int, place: int) -> bool:
        t, a, start = self._t, self._t.a, self._chain.start
        so_far = self._chain.got[: int(np.searchsorted(self._done, place, side="left"))]
        if t.declared.positions == "none":
            return self._ahead_of_neighbours(number, so_far)
        position = int(a.position[number])
        if position < 0 or (start is not None and position < start):
            return False
        if not len(so_far):
            return start is not None
        born = int(t.epoch_a[number])
        older = (t.epoch_d[so_far] >= 0) & (t.epoch_d[so_far] < born)  # of epochs that were over before
        return position > int(np.where(older, -1, t.d.position[so_far]).max())

    def sure(self, place: int) -> bool:
        return not self._chain.unsure_between(-1, place)

    def _ahead_of_neighbours(self, number: int, so_far: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> bool:
        t, a = self._t, self._t.a
        apps = t.app[so_far[t.identified[so_far]]]
        apps = apps[apps >= 0]
        own = apps[(a.actor[apps] == a.actor[number]) & (a.outcome[apps] == OK)]
        return bool((a.done[own] < a.inv[number]).any()) and not bool((a.inv[own] > a.done[number]).any())
