"""Histories hit at random: rows lost, doubled, changed, moved; faults of every kind; actors that are not who they were."""

import random
from collections.abc import Callable
from dataclasses import replace

from fireassay.spec.history.history import History
from fireassay.spec.history.model import Actor
from fireassay.spec.history.ops import FaultKind, Flag, Op, Phase
from fireassay.spec.history.row import Row

__all__ = ["battered"]

Rows = list[Row]
Actors = dict[int, Actor]
_LAST = (1 << 64) - 1
_STRAY = (Op.RELEASE, Op.SENTINEL, Op.RECOVERY_BEGIN, Op.RECOVERY_END, Op.HEARTBEAT, Op.RUN_END, Op.ASSIGN, Op.REVOKE)
_STRAYS = (*_STRAY, Op.DRAIN_BEGIN, Op.DRAIN_END, Op.SPAWN)


def battered(chance: random.Random, history: History) -> History:
    rows, actors = list(history.rows), dict(history.actors)
    for _ in range(chance.randrange(1, 5)):
        if rows:
            chance.choice(_BLOWS)(chance, rows, actors, chance.randrange(len(rows)))
    if chance.random() < 0.05:
        actors.pop(chance.choice(list(actors)))
    return replace(history, rows=tuple(rows), actors=actors)


def _lose(chance: random.Random, rows: Rows, actors: Actors, at: int) -> None:
    del rows[at]


def _double(chance: random.Random, rows: Rows, actors: Actors, at: int) -> None:
    rows.insert(at, rows[at])


def _change(chance: random.Random, rows: Rows, actors: Actors, at: int) -> None:
    row = rows[at]
    in_run = row.op in {Op.APPEND_RUN, Op.READ_RUN}
    value = max(1, row.value - 1) if in_run else chance.choice([0, 1, 3, 64, row.value + 1, _LAST - 8, _LAST - 6])
    changes: list[dict[str, object]] = [
        {"flags": Flag(row.flags ^ chance.choice([Flag.END, Flag.ANON, Flag.BAD_DECODE, Flag.WAIT]))},
        {"phase": chance.choice([phase for phase in Phase if phase is not Phase.UNWRITTEN])},
        {"seq": max(0, row.seq + chance.choice([-2, -1, 1, 2, 8]))},
        {"key": max(0, row.key + chance.choice([-1, 1, 2]))},
        {"stream": 2 if row.stream == 1 else 1},
        {"t_ns": max(1, row.t_ns + chance.choice([-5000, -1000, 1000, 5000]))},
        {"digest": chance.choice([0, 1, 2, 7])},
        {"call": chance.choice([1, 2, 3])},
        {"value": value},
    ]
    rows[at] = replace(row, **chance.choice(changes))  # type: ignore[arg-type]


def _swap(chance: random.Random, rows: Rows, actors: Actors, at: int) -> None:
    other = chance.randrange(len(rows))
    one, two = rows[at], rows[other]
    if one.actor == two.actor:
        rows[at], rows[other] = replace(two, t_ns=one.t_ns), replace(one, t_ns=two.t_ns)


def _disguise(chance: random.Random, rows: Rows, actors: Actors, at: int) -> None:
    number = chance.choice(list(actors))
    changes: list[dict[str, object]] = [
        {"domain": "elsewhere"},
        {"process": chance.choice([0, 102, 103, 104])},
        {"group": chance.choice([0, 7, 9])},
        {"role": chance.choice(["reader", "producer", ""])},
    ]
    actors[number] = replace(actors[number], **chance.choice(changes))  # type: ignore[arg-type]


def _report(chance: random.Random, rows: Rows, actors: Actors, at: int) -> None:
    near = rows[at]
    value = chance.choice([2, 3, 5, _LAST])
    fields = {"seq": chance.randrange(4), "key": chance.randrange(5), "value": value, "actor": near.actor, "stream": near.stream}
    rows.insert(at, Row(t_ns=near.t_ns, op=Op.REPORT, phase=Phase.EVENT, **fields))


def _stray(chance: random.Random, rows: Rows, actors: Actors, at: int) -> None:
    near = rows[at]
    fields = {"seq": chance.choice([near.seq, 102, 1, 0]), "key": near.key, "value": chance.choice([0, 20_000])}
    fields |= {"digest": chance.choice([0, 3]), "actor": near.actor, "stream": near.stream}
    rows.insert(at, Row(t_ns=near.t_ns, op=chance.choice(_STRAYS), phase=Phase.EVENT, **fields))


def _fault(chance: random.Random, rows: Rows, actors: Actors, at: int) -> None:
    """Of any kind; often a power loss that takes two processes, and a recovery after it."""
    t, fault = rows[at].t_ns + chance.choice([1, 500]), chance.randrange(500, 503)
    kind = chance.choice([FaultKind.PROCESS, FaultKind.POWER, FaultKind.POWER, FaultKind.POWER, FaultKind.OTHER])

    def event(op: Op, after: int, **fields: int) -> Row:
        return Row(t_ns=t + after, op=op, phase=Phase.EVENT, actor=1, **fields)

    new = [event(Op.FAULT_BEGIN, 0, seq=fault, digest=kind, key=chance.choice([0, 0, 2, 3]))]
    if chance.random() < 0.8:
        new.append(event(Op.FAULT_FIRED, chance.choice([0, 1, 5000]), seq=fault, digest=kind))
    for actor in chance.sample(list(actors), min(2, len(actors))):
        if chance.random() < 0.6:
            new.append(event(Op.EXIT, chance.choice([2, 6000]), seq=actors[actor].process, value=_LAST - chance.choice([6, 8, 8])))
    if chance.random() < 0.4:
        new.append(event(chance.choice([Op.FAULT_END, Op.HEAL]), 7000, seq=fault, digest=kind))
    if chance.random() < 0.5:
        new.append(event(Op.RECOVERY_END, 7500, seq=chance.randrange(5), stream=chance.choice([1, 2])))
    coordinator = sorted([row for row in rows if row.actor == 1] + new, key=lambda row: row.t_ns)
    rows[:] = [row for row in rows if row.actor != 1] + coordinator


_BLOWS: tuple[Callable[[random.Random, Rows, Actors, int], None], ...] = (
    *(_lose, _double, _swap, _disguise, _report, _stray, _stray, _fault, _fault),
    *(_change, _change, _change, _change, _change),
)
