"""What a target owes: which records a crash must leave, and what a chain or a drain must therefore hold.

Every question is answered yes only where history is certain.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, islice

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.syncs import Syncs
from fireassay.spec.history.history import History
from fireassay.spec.history.model import NEVER, Append, Call, Chain, Crash, Delivery, Drain, Place
from fireassay.spec.history.ops import Op
from fireassay.spec.outcomes import Outcome

__all__ = ["Expectation", "PassedOver", "Seen"]

_START: Place = (-1, 0)


@dataclass(slots=True)
class PassedOver:
    """Expected of a chain and not in it; `unsure`: a read of unknown outcome may have taken it."""

    certain: list[Append] = field(default_factory=list)
    unsure: list[Append] = field(default_factory=list)


class Seen:
    """What deliveries held: by identity, and by position where a payload does not say whose it is."""

    def __init__(self, deliveries: Iterable[Delivery], declared: Declared) -> None:
        those = list(deliveries)
        self._identities = {d.identity for d in those if not d.nameless}
        self._bare = {d.position for d in those if not d.identified} if declared.positions != "none" else set()

    def has(self, append: Append) -> bool:
        return (not append.anonymous and append.identity in self._identities) or append.position in self._bare


class Expectation:
    def __init__(self, history: History, declared: Declared) -> None:
        self.history = history
        self.declared = declared
        self.syncs = Syncs(history, declared)
        self._owed: dict[tuple[int, Place, int], bool] = {}

    # -- crashes

    def owed(self, append: Append, number: int) -> bool:
        """Must it outlive crash `number`? Also true of what was only appended after it."""
        key = (append.actor, append.invoked, number)
        if key not in self._owed:
            self._owed[key] = self._is_owed(append, self.history.crashes[number])
        return self._owed[key]

    def _is_owed(self, append: Append, crash: Crash) -> bool:
        if self.history.after_crash(append, crash):
            return True
        if not crash.known or self._in_tail(append, crash):
            return False
        return self._fulfilled(append, crash)

    def _fulfilled(self, append: Append, crash: Crash) -> bool:
        survives = self.declared.promise(crash.grade).survives
        if survives == "after-append":
            # Ok before the death, or ok after it while the log lived on: owed either way. No log lives on without power.
            return crash.grade == "process" or self.history.before_crash(append, crash)
        return survives == "after-sync" and any(self.history.before_crash(sync, crash) for sync in self.syncs.covering(append))

    def _in_tail(self, append: Append, crash: Crash) -> bool:
        """Within the declared tail unless it is older, or so many owed records certainly came later, and before the crash."""
        _, tail, time = self.declared.promise(crash.grade)
        history = self.history
        if time and not history.earlier(append.t_done + time + self._stall, history.domain(append.actor), crash.t_begin, crash.domain):
            return True
        later = (
            a
            for a in self._everything(append.stream)
            if history.before(append, a) and history.before_crash(a, crash) and self._fulfilled(a, crash)
        )
        return sum(1 for _ in islice(later, tail)) < tail

    @cached_property
    def _stall(self) -> int:
        """The longest the harness itself stood still: a policy that counts time counts that, too. Unmeasured is unbounded."""
        return max((row.value for row in self.history.events_of(Op.HEARTBEAT)), default=NEVER)

    # -- what a reader must get

    @cached_property
    def by_stream(self) -> Mapping[int, list[Append]]:
        """Acknowledged appends that can be told from others: by identity, or by position."""
        found: dict[int, list[Append]] = defaultdict(list)
        for append in self.history.appends:
            if append.outcome is Outcome.OK and not (append.anonymous and self.declared.positions == "none"):
                found[append.stream].append(append)
        return found

    def _everything(self, stream: int) -> list[Append]:
        return self.by_stream.get(stream, [])

    def stands(self, append: Append, until: Call | None = None) -> bool:
        """Owed at every crash that does not certainly come after `until`; at every one where none is given."""
        crashes = enumerate(self.history.crashes)
        return all(self.owed(append, n) for n, crash in crashes if until is None or not self.history.before_crash(until, crash))

    def retained(self, stream: int, position: int | None, until: Call) -> bool:
        """At or after whatever may have been the first retained position until then."""
        trims = [trim for trim in self._trims if trim.stream == stream and not self.history.before(until, trim)]
        if not trims:
            return True
        if self.declared.positions == "none" or position is None:
            return False
        # An unfinished trim that does not say where to may have gone anywhere.
        return all(position >= trim.row.seq and (trim.row.seq or trim.outcome is Outcome.OK) for trim in trims)

    @cached_property
    def _trims(self) -> list[Call]:
        return [trim for trim in self.history.calls_of(Op.TRIM) if trim.outcome is not Outcome.FAIL]

    def due(self, append: Append, until: Call) -> bool:
        return self.retained(append.stream, append.position, until) and self.stands(append, until)

    def visible_from(self, append: Append) -> int:
        """When every reader must be able to see it; NEVER where no sync covers it."""
        if self.declared.visible == "append":
            return append.t_done
        return min((sync.t_done for sync in self.syncs.covering(append)), default=NEVER)

    def _visible_to(self, append: Append, call: Call) -> bool:
        if self.declared.visible == "append":
            return self.history.before(append, call)
        return any(self.history.before(sync, call) for sync in self.syncs.covering(append))

    # -- drains

    def missing_from(self, drain: Drain) -> list[Append]:
        """Expected of a complete drain and not in it."""
        if drain.end is None:
            return []
        got = self.seen_by(drain)
        found = []
        for append in self._everything(drain.chain.stream):
            if got.has(append) or not self.in_range(drain, append.position):
                continue
            if self._visible_to(append, drain.begin) and self.due(append, drain.end):
                found.append(append)
        return found

    def in_range(self, drain: Drain, position: int | None) -> bool:
        start = drain.chain.start or 0
        return not start if self.declared.positions == "none" else position is not None and position >= start

    def seen_by(self, drain: Drain) -> Seen:
        """In a competing group what one member took is not there for the next; one whose group is unknown may be of any."""
        chain = drain.chain
        if not self.declared.competes(chain.group):
            return Seen(chain.deliveries, self.declared)
        groups = {chain.group, 0}
        those = (d for d in self.history.deliveries if not chain.group or self.history.group(d.actor) in groups)
        return Seen((d for d in those if d.stream == chain.stream), self.declared)

    # -- chains

    def passed_over(self, chain: Chain, until: Call | None = None) -> PassedOver:
        """Expected of a chain, between its start and its last delivery, and never delivered.

        Asked of the moment in which the chain went past the record: what was trimmed or lost later excuses nothing. Only in the
        union of a competing group, which has no order, is it asked of its end, `until`.
        """
        if not chain.deliveries:
            return PassedOver()
        if self.declared.positions == "none":
            return self._between_neighbours(chain, until)
        return self._between_positions(chain, until)

    def _between_positions(self, chain: Chain, until: Call | None) -> PassedOver:
        """Owed records keep their position: a higher one was delivered over them, after them or in no earlier epoch."""
        found = PassedOver()
        deliveries, got = chain.deliveries, Seen(chain.deliveries, self.declared)
        highest = list(accumulate((d.position for d in deliveries), max))
        start = deliveries[0].position if chain.start is None else chain.start
        for append in self._everything(chain.stream):
            if append.position is None or not start <= append.position < highest[-1] or got.has(append):
                continue
            at = self._passing(append, deliveries, bisect_right(highest, append.position))
            if at is not None and self.due(append, until or deliveries[at]):
                before = deliveries[at - 1].done if at else _START
                unsure = chain.unsure_between(before, deliveries[at].done)
                (found.unsure if unsure else found.certain).append(append)
        return found

    def _passing(self, append: Append, deliveries: Sequence[Delivery], first: int) -> int | None:
        for number in range(first, len(deliveries)):
            over = deliveries[number]
            if append.position is not None and over.position > append.position and self._after(append, over):
                return number
        return None

    def _after(self, append: Append, delivery: Delivery) -> bool:
        if self.history.before(append, delivery):
            return True
        born, read = self.history.epoch(append), self.history.epoch(delivery)
        return born is not None and read is not None and born <= read

    def _between_neighbours(self, chain: Chain, until: Call | None) -> PassedOver:
        """Without positions: between two records of its own actor that the chain did deliver."""
        found = PassedOver()
        got = {d.identity for d in chain.deliveries if not d.nameless}
        bare = [number for number, d in enumerate(chain.deliveries) if not d.identified]
        lines: dict[int, list[tuple[Append, int]]] = defaultdict(list)
        for number, delivery in enumerate(chain.deliveries):
            append = self.history.append_of.get((chain.stream, delivery.identity))
            if append is not None and append.outcome is Outcome.OK and delivery.identified:
                lines[append.actor].append((append, number))
        neighbours = {actor: _Neighbours(line) for actor, line in lines.items()}
        for append in self.history.appends:
            known = neighbours.get(append.actor)
            if append.stream != chain.stream or append.outcome is not Outcome.OK or known is None:
                continue
            if append.identity in got and not append.anonymous:
                continue
            earlier, later = known.before(append), known.after(append)
            if later is None or (earlier is None and not chain.draining):
                continue
            begin = -1 if earlier is None else earlier
            if append.anonymous and bisect_right(bare, begin) < bisect_left(bare, later):
                continue  # a record without a name came where it should
            over = chain.deliveries[later]
            if self.due(append, until or over):
                unsure = chain.unsure_between(_START, over.done)
                (found.unsure if unsure else found.certain).append(append)
        return found


class _Neighbours:
    """Delivered records of one actor, with the numbers of their deliveries."""

    def __init__(self, line: list[tuple[Append, int]]) -> None:
        by_end = sorted(line, key=lambda pair: pair[0].done)
        by_begin = sorted(line, key=lambda pair: pair[0].invoked)
        self._ends = [append.done for append, _ in by_end]
        self._begins = [append.invoked for append, _ in by_begin]
        self._last = [number for _, number in by_end]
        # Whichever later record came first went past it first.
        self._first = list(accumulate((number for _, number in reversed(by_begin)), min))[::-1]

    def before(self, append: Append) -> int | None:
        at = bisect_left(self._ends, append.invoked)
        return self._last[at - 1] if at else None

    def after(self, append: Append) -> int | None:
        at = bisect_right(self._begins, append.done)
        return self._first[at] if at < len(self._begins) else None
