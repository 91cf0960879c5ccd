"""Single anomalies planted into the history of a sound run: each only where the contract demands a conviction for it."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Crash
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.history.row import Identity, Row
from fireassay.spec.outcomes import Outcome
from fireassay.spec.tests.soundlog import Plan, simulate

__all__ = ["PLANTS"]

Draw = Callable[[int], int]
Plant = Callable[[Plan, History, Draw], History | None]


def _drained(history: History) -> list[Row]:
    """Records delivered by the first stream's drain."""
    return [d.row for d in history.drains[0].chain.deliveries]


def _edit(history: History, change: Callable[[Row], list[Row]]) -> History:
    return replace(history, rows=tuple(new for row in history.rows for new in change(row)))


def _without(history: History, victims: list[Row]) -> History:
    """Never delivered: a read that is left with nothing was never made. An invoke without a completion would be an info read."""
    gone = {id(row) for row in victims}
    kept = [row for row in history.rows if id(row) not in gone]
    answered = {(row.actor, row.call) for row in kept if row.op is Op.READ and row.phase is not Phase.INVOKE}
    emptied = {(row.actor, row.call) for row in victims} - answered
    return replace(history, rows=tuple(row for row in kept if row.op is not Op.READ or (row.actor, row.call) not in emptied))


def _append(history: History, row: Row) -> Append:
    return history.append_of[row.stream, row.key]


def _acked(history: History, rows: list[Row]) -> list[Row]:
    return [row for row in rows if _append(history, row).outcome is Outcome.OK]


def _safe(plan: Plan, history: History) -> bool:
    """Everything acknowledged is owed, whatever happened."""
    return not history.crashes or not (plan.after_sync or _dark(history))


def _dark(history: History) -> bool:
    return any(crash.grade == "power" for crash in history.crashes)


def _trimmed(history: History) -> bool:
    return bool(history.calls_of(Op.TRIM))


def _pick(rows: list[Row], draw: Draw) -> Row | None:
    return rows[draw(len(rows))] if rows else None


def _phantom(plan: Plan, history: History, draw: Draw) -> History | None:
    victim = _pick(_drained(history), draw)
    return victim and _edit(history, lambda row: [replace(row, key=Identity(99, 0, 1).key)] if row is victim else [row])


def _corrupt(plan: Plan, history: History, draw: Draw) -> History | None:
    victim = _pick(_drained(history), draw)
    return victim and _edit(history, lambda row: [replace(row, flags=row.flags | Flag.BAD_DECODE)] if row is victim else [row])


def _gap(plan: Plan, history: History, draw: Draw) -> History | None:
    """In an ordered chain, of what is owed; without positions only where a later record of its own actor shows that it is passed."""
    if not _safe(plan, history) or plan.competing:
        return None
    rows = _drained(history)
    inner = _acked(history, rows[1:-1])
    if plan.positions == "none":
        if _trimmed(history):
            return None
        those = [_append(history, row) for row in rows]
        inner = [r for r in inner if any(b.outcome is Outcome.OK and _follows(_append(history, r), b) for b in those)]
    victim = _pick(inner, draw)
    return victim and _without(history, [victim])


def _follows(a: Append, b: Append) -> bool:
    return a.actor == b.actor and a.done < b.invoked


def _skip(plan: Plan, history: History, draw: Draw) -> History | None:
    """Of whatever outcome: a dense number is missing."""
    if plan.positions != "dense" or plan.competing:
        return None
    victim = _pick(_drained(history)[1:-1], draw)
    return victim and _without(history, [victim])


def _late_start(plan: Plan, history: History, draw: Draw) -> History | None:
    rows = _drained(history)
    if plan.positions == "none" or plan.competing or not _safe(plan, history) or len(rows) < 2 or not _acked(history, rows[:1]):
        return None
    return _without(history, rows[: 1 + draw(len(rows) - 1)])


def _duplicate(plan: Plan, history: History, draw: Draw) -> History | None:
    victim = _pick(_drained(history), draw)
    return victim and _edit(history, lambda row: [row, row] if row is victim else [row])


def _stored_twice(plan: Plan, history: History, draw: Draw) -> History | None:
    """Once more behind the last; of what is owed, for only that cannot have moved."""
    rows = _drained(history)
    victim = _pick(_acked(history, rows), draw)
    if victim is None or plan.positions == "none" or not _safe(plan, history):
        return None
    copy = replace(rows[-1], key=victim.key, seq=rows[-1].seq + 8)
    return _edit(history, lambda row: [row, copy] if row is rows[-1] else [row])


def _aborted(plan: Plan, history: History, draw: Draw) -> History | None:
    failed = [a for a in history.appends if a.outcome is Outcome.FAIL and a.stream == history.drains[0].chain.stream]
    rows = _drained(history)
    if not failed or not rows:
        return None
    key, victim = failed[draw(len(failed))].identity, rows[-1]
    return _edit(history, lambda row: [replace(row, key=key)] if row is victim else [row])


def _swap_keys(history: History, one: Row, two: Row) -> History:
    """Positions stay, records change places."""
    keys = {id(one): two.key, id(two): one.key}
    return _edit(history, lambda row: [replace(row, key=keys.get(id(row), row.key))])


def _reorder(plan: Plan, history: History, draw: Draw) -> History | None:
    rows = _drained(history)
    pairs = [(a, b) for i, a in enumerate(rows) for b in rows[i + 1 :] if _ordered(history, a, b)]
    if not pairs or plan.competing:
        return None
    return _swap_keys(history, *pairs[draw(len(pairs))])


def _ordered(history: History, a: Row, b: Row) -> bool:
    one, two = _append(history, a), _append(history, b)
    return one.outcome is Outcome.OK and history.before(one, two)


def _two_at_one_position(plan: Plan, history: History, draw: Draw) -> History | None:
    rows = _acked(history, _drained(history))
    if plan.positions == "none" or not _safe(plan, history) or len(rows) < 2:
        return None
    at = draw(len(rows) - 1)
    return _swap_keys(history, rows[at], rows[at + 1])


def _backwards(plan: Plan, history: History, draw: Draw) -> History | None:
    """Two owed records come in the other order, each at its own position."""
    rows = _acked(history, _drained(history))
    if plan.positions == "none" or plan.competing or not _safe(plan, history) or len(rows) < 2:
        return None
    at = draw(len(rows) - 1)
    one, two = rows[at], rows[at + 1]
    swapped = {id(one): replace(two, t_ns=one.t_ns), id(two): replace(one, t_ns=two.t_ns)}
    return _edit(history, lambda row: [swapped.get(id(row), row)])


def _lower_ack(plan: Plan, history: History, draw: Draw) -> History | None:
    """A later append of one actor is told no higher position than an earlier one: an actor sees no crash of its own."""
    if plan.positions == "none" or not _safe(plan, history):
        return None
    acked = [a for a in history.appends if a.outcome is Outcome.OK and not a.in_run]
    pairs = [(a, b) for a in acked for b in acked if a.stream == b.stream and _follows(a, b)]
    if not pairs:
        return None
    one, two = pairs[draw(len(pairs))]
    return _edit(history, lambda row: [replace(row, seq=one.position or 0)] if row is two.row else [row])


def _unseen(plan: Plan, history: History, draw: Draw) -> History | None:
    if not _safe(plan, history) or (plan.positions == "none" and _trimmed(history)):
        return None
    victim = _pick(_acked(history, _drained(history)), draw)
    return victim and _without(history, [victim])


def _lost(plan: Plan, history: History, draw: Draw) -> History | None:
    if plan.after_sync or _dark(history) or (plan.positions == "none" and _trimmed(history)):
        return None
    rows = _acked(history, _drained(history))
    victim = _pick([r for r in rows if any(not history.after_crash(_append(history, r), c) for c in history.crashes)], draw)
    return victim and _without(history, [victim])


def _lost_in_the_dark(plan: Plan, history: History, draw: Draw) -> History | None:
    """Synced before the power failed. Where a process died, too, nobody may know who took it."""
    calmer = tuple(step for step in plan.steps if not step[0].startswith("kill") and step[0] != "trim")
    history = simulate(replace(plan, steps=(("append", 0, 1), *calmer, ("sync", 0, 1), ("power", 0, 1))))
    rows = _acked(history, _drained(history))
    victim = _pick([r for r in rows if any(_synced(history, _append(history, r), c) for c in history.crashes)], draw)
    return victim and _without(history, [victim])


def _synced(history: History, append: Append, crash: Crash) -> bool:
    syncs = (s for s in history.syncs if s.outcome is Outcome.OK and s.stream == append.stream)
    return any(history.before(append, sync) and history.before_crash(sync, crash) for sync in syncs)


_ALL: Mapping[str, Plant] = {
    "phantom": _phantom,
    "corrupt": _corrupt,
    "gap": _gap,
    "silent-late-start": _late_start,
    "duplicate-delivered": _duplicate,
    "duplicate-stored": _stored_twice,
    "aborted-read": _aborted,
    "reorder": _reorder,
    "inconsistent-position": _two_at_one_position,
    "nonmonotonic-append": _lower_ack,
    "nonmonotonic-read": _backwards,
    "unseen": _unseen,
    "skip": _skip,
    "lost-write-process": _lost,
    "lost-write-power": _lost_in_the_dark,
}


def _planted(plant: Plant) -> Callable[[Plan, Draw], History | None]:
    return lambda plan, draw: plant(plan, simulate(plan), draw)


PLANTS: Mapping[str, Callable[[Plan, Draw], History | None]] = {name: _planted(plant) for name, plant in _ALL.items()}
