"""Second stage: the facts of one trial as columns, with what is before what.

Records stand in arrays, one entry each; calls, events, crashes and chains are few and stand in lists.
"""

from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from fireassay.reports.judge.groups import Columns
from fireassay.reports.judge.schemas import INFINITE, UNTIL_DEATH, Kind
from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.history.ops import Flag, Op

__all__ = ["FAIL", "INFO", "OK", "Actors", "Chain", "Moment", "Records", "Ref", "Trial"]

OK, FAIL, INFO = 0, 1, 2
_ANON, _UNIDENTIFIED = int(Flag.ANON), int(Flag.ANON | Flag.BAD_DECODE)
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Ref = tuple[str, int]
Moment = SimpleNamespace  # one call or event: op actor stream outcome t_inv t_done inv done seq key value flags chain ref t_row …


@dataclass(frozen=True)
class Actors:
    """By index; what the actor table says, and what no table says."""

    ids: list[int]
    tabled: list[bool]
    roles: list[str]
    process: list[int]
    group: list[int]
    domain: Ints

    @cached_property
    def index(self) -> dict[int, int]:
        return {actor: number for number, actor in enumerate(self.ids)}


class Records:
    """Appends or deliveries, a run's operations each for itself."""

    def __init__(self, facts: list[Moment], index: dict[int, int]) -> None:
        counts = np.array([fact.count for fact in facts], dtype=np.int64)
        self.facts = facts
        self.fact = np.repeat(np.arange(len(facts), dtype=np.int64), counts)
        within = np.arange(len(self.fact), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)

        def column(name: str, step: int = 0, missing: int = -1) -> Ints:
            values = np.array([missing if getattr(f, name) is None else getattr(f, name) for f in facts], dtype=np.int64)
            return np.asarray(values[self.fact] + step * within if step else values[self.fact], dtype=np.int64)

        self.actor = np.array([index[f.actor] for f in facts], dtype=np.int64)[self.fact]
        self.stream, self.outcome, self.chain = column("stream"), column("outcome"), column("chain")
        self.t_inv, self.t_done, self.inv, self.done = column("t_inv"), column("t_done"), column("inv", 2), column("done", 2)
        self.identity, self.length, self.digest, self.flags = column("identity", 1), column("length"), column("digest"), column("flags")
        self.position = np.where(column("position") < 0, -1, column("position", 1))
        self.in_run = column("in_run", missing=0).astype(bool)
        self.anonymous = column("anonymous", missing=0).astype(bool)
        # What never ended has no place to count from.
        self.done = np.minimum(self.done, INFINITE)

    def __len__(self) -> int:
        return len(self.fact)

    def ref(self, number: int) -> Ref:
        fact = self.facts[int(self.fact[number])]
        return (fact.recording, fact.row)

    def t_row(self, number: int) -> int:
        return int(self.facts[int(self.fact[number])].t_row)

    def some(self, numbers: Ints) -> Moment:
        """These alone, to be compared with others."""
        return SimpleNamespace(
            actor=self.actor[numbers],
            t_inv=self.t_inv[numbers],
            t_done=self.t_done[numbers],
            inv=self.inv[numbers],
            done=self.done[numbers],
        )

    def at(self, number: int) -> Moment:
        return SimpleNamespace(
            actor=int(self.actor[number]),
            stream=int(self.stream[number]),
            t_inv=int(self.t_inv[number]),
            t_done=int(self.t_done[number]),
            inv=int(self.inv[number]),
            done=int(self.done[number]),
            identity=int(self.identity[number]),
            position=int(self.position[number]),
        )


@dataclass
class Chain:
    actor: int
    stream: int
    group: int
    start: int | None
    draining: bool
    flaw: str | None  # None: it is no drain; empty: a complete one
    got: Ints = field(default_factory=lambda: np.array([], dtype=np.int64))  # numbers of deliveries, in order
    ends: list[Moment] = field(default_factory=list)
    unsure: list[int] = field(default_factory=list)  # places at which reads of unknown outcome were invoked
    begin: Moment | None = None
    end: Moment | None = None

    def unsure_between(self, one: int, two: int) -> bool:
        return any(one < at < two for at in self.unsure)


class Trial:
    def __init__(self, columns: Columns, declared: Declared) -> None:
        self.declared = declared
        self.epsilon = declared.epsilon_ns
        names = list(columns)
        facts = [SimpleNamespace(**dict(zip(names, values, strict=True))) for values in zip(*columns.values(), strict=True)]
        self.actors = _actors(facts)
        index = self.actors.index
        spoke = {f.actor: (f.recording, f.row) for f in facts if f.kind == Kind.WORDS}
        facts.sort(key=lambda f: (spoke.get(f.actor, ("", 0)), f.actor, f.number or 0))
        of: dict[int, list[Moment]] = {kind: [] for kind in range(12)}
        for fact in facts:
            of[fact.kind].append(fact)
        self.problems = [f.text for f in of[Kind.PROBLEM]]
        strangers = [actor for actor, tabled in zip(self.actors.ids, self.actors.tabled, strict=True) if not tabled]
        self.problems += [f"actor {actor} stands in no actor table" for actor in strangers]
        self.words = {index[f.actor]: f for f in of[Kind.WORDS]}
        self.events = self._moments(of[Kind.EVENT])
        self.in_row_order = sorted(self.events, key=lambda e: e.ref)
        self.marks = self._moments(of[Kind.MARK])
        self.calls = self._moments(of[Kind.CALL])
        self.t_end = max((f.t_done for f in of[Kind.WORDS]), default=0)

        from fireassay.reports.judge.deaths import Deaths  # it looks back at this

        self.deaths = Deaths(self)
        for fact in (*of[Kind.APPEND], *of[Kind.DELIVERY]):
            if fact.t_done == UNTIL_DEATH:
                fact.t_done = self.deaths.seen_dead(index[fact.actor])
        certain = Records(of[Kind.APPEND], index)
        known = set(zip(certain.stream.tolist(), certain.identity.tolist(), strict=True))
        guesses = [g for g in of[Kind.GUESS] if (g.stream, g.identity) not in known]
        self.a = Records(of[Kind.APPEND] + guesses, index)
        deliveries = sorted(of[Kind.DELIVERY], key=lambda f: (spoke[f.actor], f.actor, f.done))
        self.d = Records(deliveries, index)
        self.chains = self._chains(of, index)
        self._count_twice()

    def _moments(self, facts: list[Moment]) -> list[Moment]:
        for fact in facts:
            fact.actor = self.actors.index[fact.actor]
            fact.ref = (fact.recording, fact.row)
        return facts

    def _chains(self, of: dict[int, list[Moment]], index: dict[int, int]) -> list[Chain]:
        made: dict[tuple[int, int], Chain] = {}
        for f in of[Kind.CHAIN]:
            actor = index[f.actor]
            made[actor, f.chain] = Chain(actor, f.stream, self.actors.group[actor], f.position, bool(f.in_run), f.text)
        for call in self.calls:
            if call.chain >= 0:
                chain = made[call.actor, call.chain]
                chain.ends.append(call) if call.outcome == OK else chain.unsure.append(call.inv)
        for begin in self._moments(of[Kind.DRAIN_BEGIN]):
            made[begin.actor, begin.chain].begin = begin
        for end in self._moments(of[Kind.DRAIN_END]):
            made[end.actor, end.chain].end = end
        of_chain: dict[tuple[int, int], list[int]] = {}
        for number, key in enumerate(zip(self.d.actor.tolist(), self.d.chain.tolist(), strict=True)):
            of_chain.setdefault(key, []).append(number)
        for key, numbers in of_chain.items():
            made[key].got = np.array(numbers, dtype=np.int64)
        for chain in made.values():
            chain.ends.sort(key=lambda call: call.done)
        return list(made.values())

    def _count_twice(self) -> None:
        """Identities are unique; the table by which a delivery finds its append."""
        table: dict[tuple[int, int], int] = {}
        twice: dict[tuple[int, int], None] = {}
        named = zip(self.a.stream.tolist(), self.a.identity.tolist(), self.a.anonymous.tolist(), strict=True)
        for number, (stream, identity, anonymous) in enumerate(named):
            if not anonymous:
                if (stream, identity) in table:
                    twice[stream, identity] = None
                table[stream, identity] = number
        self.append_of = table
        for stream, identity in list(twice)[:8]:
            self.problems.append(f"identity {identity % (1 << 64):#x} was appended more than once in stream {stream}")

    # -- columns that checks share

    @cached_property
    def app(self) -> Ints:
        """Of each delivery its append, or -1."""
        named = zip(self.d.stream.tolist(), self.d.identity.tolist(), strict=True)
        return np.array([self.append_of.get(key, -1) for key in named], dtype=np.int64)

    @cached_property
    def identified(self) -> Mask:
        return np.asarray((self.d.flags & _UNIDENTIFIED) == 0, dtype=np.bool_)

    @cached_property
    def nameless(self) -> Mask:
        return np.asarray((self.d.flags & _ANON) != 0, dtype=np.bool_)

    @cached_property
    def sentinels(self) -> set[tuple[int, int]]:
        return {(e.stream, e.key) for e in self.events if e.op == Op.SENTINEL}

    @cached_property
    def expected(self) -> Mask:
        """Acknowledged appends that can be told from others."""
        told = ~self.a.anonymous if self.declared.positions == "none" else np.ones(len(self.a), dtype=bool)
        return np.asarray((self.a.outcome == OK) & told, dtype=np.bool_)

    @cached_property
    def streams(self) -> list[int]:
        return sorted(set(self.a.stream.tolist()) | set(self.d.stream.tolist()))

    @cached_property
    def one_clock(self) -> bool:
        return len({int(self.actors.domain[actor]) for actor in self.words}) <= 1

    @cached_property
    def epoch_a(self) -> Ints:
        return self._epochs(self.a)

    @cached_property
    def epoch_d(self) -> Ints:
        return self._epochs(self.d)

    def _epochs(self, records: Records) -> Ints:
        found = np.zeros(len(records), dtype=np.int64)
        for stream in self.streams:
            if self.deaths.seams(stream):
                found = np.where(records.stream == stream, self.deaths.epochs(records, stream), found)
        return found

    def said(self, *ops: Op) -> list[Moment]:
        """Events of these kinds by the time they were recorded."""
        return sorted((e for e in self.events if e.op in ops), key=lambda e: e.t_row)

    # -- before

    def before(self, a: Any, b: Any) -> Any:
        """Certainly a, then b. Either may be a moment or records."""
        domain, by_exit = self.actors.domain, self.deaths.exited_before
        by_clock = (domain[a.actor] == domain[b.actor]) & (a.t_done + self.epsilon < b.t_inv)
        return np.where(np.equal(a.actor, b.actor), np.less(a.done, b.inv), by_exit[a.actor, b.actor] | by_clock)

    def earlier(self, t: int, domain: int, other: int, other_domain: int) -> bool:
        return domain == other_domain and t + self.epsilon < other

    def maybe_redelivered(self, one: Moment, two: Moment) -> bool:
        causes = self.declared.redelivery
        if causes - {"restart", "rebalance"}:
            return True
        if not causes:
            return False
        ops = {Op.OPEN_READER, Op.OPEN_WRITER, Op.CLOSE, Op.SPAWN, Op.EXIT, Op.RECOVERY_BEGIN, Op.RECOVERY_END, Op.FAULT_FIRED}
        ops |= {Op.ASSIGN, Op.REVOKE, Op.SEEK} if "rebalance" in causes else set()
        domain = self.actors.domain
        for mark in (*self.events, *self.marks):
            if mark.op in ops:
                over = self.earlier(mark.t_row, domain[mark.actor], one.t_inv, domain[one.actor])
                if not over and not self.earlier(two.t_done, domain[two.actor], mark.t_row, domain[mark.actor]):
                    return True
        return False


def _actors(facts: list[Moment]) -> Actors:
    table = {f.actor: f for f in facts if f.kind == Kind.ACTOR}
    ids = [*table, *sorted({f.actor for f in facts} - set(table))]
    texts = [table[i].text.split("\n", 1) if i in table else ["", ""] for i in ids]
    names = {name: number for number, name in enumerate(dict.fromkeys(text[1] for text in texts))}
    return Actors(
        ids=ids,
        tabled=[i in table for i in ids],
        roles=[text[0] for text in texts],
        process=[table[i].seq if i in table else 0 for i in ids],
        group=[table[i].key if i in table else 0 for i in ids],
        domain=np.array([names[text[1]] for text in texts], dtype=np.int64),
    )
