"""Where a chain stood: which records were still ahead of it at some place of its reader's own order."""

from bisect import bisect_left
from collections import defaultdict
from itertools import accumulate

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Chain, Place
from fireassay.spec.outcomes import Outcome

__all__ = ["Cursor"]


class Cursor:
    """Says yes only where history is certain; what the chain went past is a gap, not ahead."""

    def __init__(self, history: History, declared: Declared, chain: Chain) -> None:
        self._history = history
        self._declared = declared
        self._chain = chain
        self._places = [d.done for d in chain.deliveries]
        self._highest: dict[int | None, list[int]] = {}
        self._first: dict[int, Place] = {}
        for delivery in chain.deliveries:
            if not delivery.nameless:
                self._first.setdefault(delivery.identity, delivery.done)
        self._lines = self._by_actor() if declared.positions == "none" else {}

    def got(self, append: Append, place: Place) -> bool:
        """It was delivered before that place, by name: without one its position says that it is not ahead."""
        first = None if append.anonymous else self._first.get(append.identity)
        return first is not None and first < place

    def ahead(self, append: Append, place: Place) -> bool:
        count = bisect_left(self._places, place)
        if self._declared.positions == "none":
            return self._ahead_of_neighbours(append, count)
        start = self._chain.start
        if append.position is None or (start is not None and append.position < start):
            return False
        if count == 0:
            return start is not None
        return append.position > self._highest_for(append)[count - 1]

    def sure(self, place: Place) -> bool:
        """No read before that place has an unknown outcome: it may have taken what was ahead."""
        return not self._chain.unsure_between((-1, 0), place)

    def _highest_for(self, append: Append) -> list[int]:
        """The highest position so far, without those of epochs that were over before the record's began."""
        born = self._history.epoch(append)
        if born not in self._highest:
            epochs = ((d.position, self._history.epoch(d)) for d in self._chain.deliveries)
            counted = (-1 if born is not None and epoch is not None and epoch < born else position for position, epoch in epochs)
            self._highest[born] = list(accumulate(counted, max))
        return self._highest[born]

    def _by_actor(self) -> dict[int, list[tuple[int, Append]]]:
        lines: dict[int, list[tuple[int, Append]]] = defaultdict(list)
        for number, delivery in enumerate(self._chain.deliveries):
            append = self._history.append_of.get((self._chain.stream, delivery.identity))
            if append is not None and append.outcome is Outcome.OK and delivery.identified:
                lines[append.actor].append((number, append))
        return lines

    def _ahead_of_neighbours(self, append: Append, count: int) -> bool:
        """Without positions: its own actor's earlier records came, and no later one."""
        line = [other for number, other in self._lines.get(append.actor, []) if number < count]
        return any(other.done < append.invoked for other in line) and not any(append.done < other.invoked for other in line)
