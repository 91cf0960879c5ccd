"""Power losses: faults that end every process at once and take what was not yet durable.

The exits of their processes are part of them and no deaths of their own. A process belongs to the power loss where it exited
within it, or was silent ever since; one that had been killed before does not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fireassay.spec.history.model import NEVER, Actor
from fireassay.spec.history.ops import FaultKind, Op
from fireassay.spec.history.row import Row

__all__ = ["Outage", "fault_kind", "fault_over", "outages_of", "signed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """`exits` are numbers of the rows that tell of its processes' ends; `silent` are victims without such a row."""

    fired: Row
    t_begin: int
    t_end: int
    exits: frozenset[int]
    exited: frozenset[int]
    silent: frozenset[int]

    @property
    def victims(self) -> frozenset[int]:
        return self.exited | self.silent


def signed(value: int) -> int:
    """An exit row's value: negative is a signal, positive an exit code."""
    return value - (1 << 64) if value >> 63 else value


def fault_kind(row: Row) -> FaultKind:
    """A kind that nobody knows is taken for a death."""
    return FaultKind(row.digest) if row.digest in {FaultKind.POWER, FaultKind.OTHER} else FaultKind.PROCESS


def fault_over(begin: Row, rows: Sequence[Row]) -> int:
    """When the fault that began there was taken back, by its own end or by a general heal."""
    ends = (row.t_ns for row in rows if (row.op is Op.FAULT_END and row.seq == begin.seq) or row.op is Op.HEAL)
    return min((t for t in ends if t >= begin.t_ns), default=NEVER)


def outages_of(
    rows: Sequence[Row], actors: Mapping[int, Actor], exits: Mapping[int, tuple[int, Row]], last_word: Mapping[int, int]
) -> list[Outage]:
    found: list[Outage] = []
    ends = [row for row in rows if row.op in {Op.FAULT_END, Op.HEAL}]
    kills = [row for row in rows if row.op is Op.FAULT_FIRED and fault_kind(row) is FaultKind.PROCESS]
    deaths = {n: row for n, row in enumerate(rows) if row.op is Op.EXIT and signed(row.value) != 0}
    spawned = {row.seq: row.t_ns for row in rows if row.op is Op.SPAWN}
    fired = (row for row in rows if row.op is Op.FAULT_FIRED and fault_kind(row) is FaultKind.POWER)
    for row in sorted(fired, key=lambda row: row.t_ns):
        begun = [b.t_ns for b in rows if b.op is Op.FAULT_BEGIN and b.seq == row.seq and b.t_ns <= row.t_ns]
        t_begin = max(begun, default=row.t_ns)
        over = fault_over(row, ends)
        until = row.t_ns if over == NEVER else over
        killed = {k.key for k in kills if k.t_ns <= t_begin and last_word.get(k.key, 0) <= k.t_ns}
        taken: dict[int, frozenset[int]] = {}
        for number, death in deaths.items():
            if death.t_ns < t_begin or any(number in other.exits for other in found):
                continue
            victims = frozenset(actor for actor, (n, _) in exits.items() if n == number)
            spoken = max((last_word.get(victim, 0) for victim in victims), default=NEVER)
            silent = spoken <= row.t_ns and spawned.get(death.seq, 0) <= row.t_ns
            if (death.t_ns <= until or silent) and not victims & killed:
                taken[number] = victims
        exited = frozenset().union(*taken.values()) if taken else frozenset[int]()
        gone = {a for other in found for a in other.victims} | exited | killed | {row.actor}
        mute = frozenset(
            actor.id
            for actor in actors.values()
            if actor.id not in gone and actor.id not in exits and _ended_in(actor, row, actors, last_word) and actor.process
        )
        t_end = max([row.t_ns, *(deaths[n].t_ns for n in taken)])
        found.append(Outage(fired=row, t_begin=t_begin, t_end=t_end, exits=frozenset(taken), exited=exited, silent=mute))
    return found


def _ended_in(actor: Actor, fired: Row, actors: Mapping[int, Actor], last_word: Mapping[int, int]) -> bool:
    """It spoke before, and never after."""
    domain = actors[fired.actor].domain if fired.actor in actors else ""
    return actor.domain == domain and 0 < last_word.get(actor.id, 0) <= fired.t_ns
