"""The history of one run, as the checks see it.

Built from the rows of all recordings (each actor's rows in the order it wrote them) and the actor table. It tests its own
assumptions; what does not hold stands in `problems`, and then no check may say more than unknown.

Who records what: SPAWN and EXIT (by pid) and faults come from whoever coordinates; the drain's rows, its reads and its
reports from the one actor that drains.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from fireassay.spec.history.chains import chains_of, drains_of, moment
from fireassay.spec.history.crashes import boundaries_of, crashes_of, exits_of
from fireassay.spec.history.model import NEVER, Actor, Append, Boundary, Call, Chain, Crash, Delivery, Drain, Place
from fireassay.spec.history.ops import Op, Phase
from fireassay.spec.history.pairing import Paired, pair
from fireassay.spec.history.row import Row

__all__ = ["History"]


@dataclass(frozen=True)
class History:
    rows: tuple[Row, ...]
    actors: Mapping[int, Actor]
    epsilon_ns: int = 0

    @classmethod
    def of(cls, recordings: Iterable[Iterable[Row]], actors: Iterable[Actor], epsilon_ns: int = 0) -> "History":
        rows = tuple(row for recording in recordings for row in recording if row.phase is not Phase.UNWRITTEN)
        return cls(rows, {actor.id: actor for actor in actors}, epsilon_ns)

    def with_epsilon(self, epsilon_ns: int) -> "History":
        return self if epsilon_ns <= self.epsilon_ns else replace(self, epsilon_ns=epsilon_ns)

    # -- what happened

    @cached_property
    def paired(self) -> Mapping[int, Paired]:
        return {actor: pair(actor, rows, self._t_death(actor)) for actor, rows in self.rows_of.items()}

    @cached_property
    def rows_of(self) -> Mapping[int, list[Row]]:
        """Each actor's rows in the order it wrote them."""
        by_actor: dict[int, list[Row]] = defaultdict(list)
        for row in self.rows:
            by_actor[row.actor].append(row)
        return by_actor

    @cached_property
    def appends(self) -> tuple[Append, ...]:
        certain = [append for each in self.paired.values() for append in each.appends]
        known = {(append.stream, append.identity) for append in certain}
        # What a broken run may have begun counts only if no row tells it better.
        guesses = [g for each in self.paired.values() for g in each.guesses if (g.stream, g.identity) not in known]
        return tuple(certain + guesses)

    @cached_property
    def append_of(self) -> Mapping[tuple[int, int], Append]:
        """(stream, identity) → its append; an anonymous one is found by no identity."""
        return {(append.stream, append.identity): append for append in self.appends if not append.anonymous}

    @cached_property
    def deliveries(self) -> tuple[Delivery, ...]:
        return tuple(delivery for each in self.paired.values() for delivery in each.deliveries)

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All calls but appends and deliveries."""
        return tuple(call for each in self.paired.values() for call in each.calls)

    @cached_property
    def events(self) -> tuple[tuple[Place, Row], ...]:
        return tuple(event for each in self.paired.values() for event in each.events)

    def events_of(self, *ops: Op) -> list[Row]:
        return sorted((row for _, row in self.events if row.op in ops), key=lambda row: row.t_ns)

    @cached_property
    def reports(self) -> tuple[Call, ...]:
        """The target's own words, as moments."""
        return tuple(moment(place, row) for place, row in self.events if row.op is Op.REPORT)

    def calls_of(self, *ops: Op) -> list[Call]:
        return [call for call in self.calls if call.op in ops]

    @cached_property
    def syncs(self) -> tuple[Call, ...]:
        return tuple(sorted(self.calls_of(Op.SYNC), key=lambda sync: sync.t_done))

    @cached_property
    def sentinels(self) -> frozenset[tuple[int, int]]:
        """(stream, identity): of the harness, and each may have been appended more than once."""
        return frozenset((row.stream, row.key) for row in self.events_of(Op.SENTINEL))

    @cached_property
    def streams(self) -> tuple[int, ...]:
        return tuple(sorted({append.stream for append in self.appends} | {d.stream for d in self.deliveries}))

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        return tuple(chain for actor, each in self.paired.items() for chain in chains_of(each, actor, self.group(actor)))

    @cached_property
    def drains(self) -> tuple[Drain, ...]:
        paired = self.paired.items()
        return tuple(drain for actor, each in paired for drain in drains_of(each, actor, self.group(actor)))

    @cached_property
    def crashes(self) -> tuple[Crash, ...]:
        return crashes_of(self.rows, self.actors, self._exits)

    @cached_property
    def t_end(self) -> int:
        return max((row.t_ns for row in self.rows), default=0)

    # -- what was before what

    @cached_property
    def one_clock(self) -> bool:
        """All times can be compared."""
        return len({self.domain(actor) for actor in self.rows_of}) <= 1

    def before(self, a: Call, b: Call) -> bool:
        """Certainly a, then b: the same actor's order, an exit and a later spawn, or the clock beyond ε."""
        if a.actor == b.actor:
            return a.done < b.invoked
        return self.exited_before(a.actor, b.actor) or self.earlier(a.t_done, self.domain(a.actor), b.t_invoke, self.domain(b.actor))

    def earlier(self, t: int, domain: str, other_t: int, other_domain: str) -> bool:
        return domain == other_domain and t + self.epsilon_ns < other_t

    def exited_before(self, actor: int, other: int) -> bool:
        """The process of one was seen dead before that of the other was started, by the same eyes."""
        gone, born = self._exits.get(actor), self._spawns.get(self.process(other))
        return gone is not None and born is not None and gone[1].actor == born[1].actor and gone[0] < born[0]

    def before_crash(self, call: Call, crash: Crash) -> bool:
        """Ended before the crash began; what a victim itself saw end did so before it died.

        Power may fail some time before the processes do: what they were told meanwhile is worth nothing.
        """
        witnessed = call.actor in crash.victims and crash.grade == "process"
        return witnessed or self.earlier(call.t_done, self.domain(call.actor), crash.t_begin, crash.domain)

    def after_crash(self, call: Call, crash: Crash) -> bool:
        by_clock = self.earlier(crash.t_end, crash.domain, call.t_invoke, self.domain(call.actor))
        return call.actor not in crash.victims and (by_clock or any(self.exited_before(v, call.actor) for v in crash.victims))

    # -- recovery epochs

    @cached_property
    def boundaries(self) -> Mapping[int, tuple[Boundary, ...]]:
        return {stream: boundaries_of(stream, self) for stream in self.streams}

    def epoch(self, call: Call) -> int | None:
        """How many recoveries of its stream came before the call; None where that cannot be told."""
        key = (call.stream, call.actor, call.invoked, call.done)
        if key not in self._epochs:
            self._epochs[key] = self._count_epochs(call)
        return self._epochs[key]

    @cached_property
    def _epochs(self) -> dict[tuple[int, int, Place, Place], int | None]:
        return {}

    def _count_epochs(self, call: Call) -> int | None:
        epoch = 0
        for boundary in self.boundaries.get(call.stream, ()):
            if self._after_boundary(call, boundary):
                epoch += 1
            elif not self._before_boundary(call, boundary):
                return None
        return epoch

    def keeps(self, stream: int, position: int, epoch: int, later: int) -> bool:
        """Every recovery between the two epochs said that it kept the position."""
        return epoch <= later and all(b.recovered_end > position for b in self.boundaries.get(stream, ())[epoch:later])

    def _after_boundary(self, call: Call, boundary: Boundary) -> bool:
        if call.actor == boundary.actor:
            return boundary.place < call.invoked
        return self.earlier(boundary.t_end, boundary.domain, call.t_invoke, self.domain(call.actor))

    def _before_boundary(self, call: Call, boundary: Boundary) -> bool:
        if call.actor in boundary.victims:
            return True
        return self.earlier(call.t_done, self.domain(call.actor), boundary.t_begin, boundary.domain)

    # -- actors

    def domain(self, actor: int) -> str:
        known = self.actors.get(actor)
        return known.domain if known else ""

    def process(self, actor: int) -> int:
        known = self.actors.get(actor)
        return known.process if known else 0

    def group(self, actor: int) -> int:
        known = self.actors.get(actor)
        return known.group if known else 0

    def t_gone(self, actor: int) -> int:
        """When the actor was gone at the latest known moment: its process's exit, or the crash that took it."""
        crash = min((crash.t_begin for crash in self.crashes if actor in crash.victims), default=NEVER)
        return min(crash, self._t_death(actor))

    def _t_death(self, actor: int) -> int:
        """Seen dead: by its exit, or by the end of the crash that took it."""
        gone = self._exits.get(actor)
        crash = min((crash.t_end for crash in self.crashes if actor in crash.victims), default=NEVER)
        return min(crash, gone[1].t_ns if gone else NEVER)

    @cached_property
    def _seen_dead(self) -> tuple[Mapping[int, tuple[int, Row]], list[str]]:
        return exits_of(self.rows, self.actors, self.epsilon_ns)

    @property
    def _exits(self) -> Mapping[int, tuple[int, Row]]:
        """actor → number and row of its process's exit."""
        return self._seen_dead[0]

    @cached_property
    def _spawns(self) -> Mapping[int, tuple[int, Row]]:
        """pid → number and row of the first spawn under it."""
        first: dict[int, tuple[int, Row]] = {}
        for number, row in enumerate(self.rows):
            if row.op is Op.SPAWN and row.seq:
                first.setdefault(row.seq, (number, row))
        return first

    # -- own assumptions

    @cached_property
    def problems(self) -> tuple[str, ...]:
        found = [problem for each in self.paired.values() for problem in each.problems]
        strangers = {row.actor for row in self.rows} - set(self.actors)
        found += [f"actor {actor} stands in no actor table" for actor in sorted(strangers)]
        found += self._seen_dead[1]
        times = Counter((append.stream, append.identity) for append in self.appends if not append.anonymous)
        twice = [key for key, count in times.items() if count > 1]
        found += [f"identity {identity:#x} was appended more than once in stream {stream}" for stream, identity in twice[:8]]
        return tuple(found)
