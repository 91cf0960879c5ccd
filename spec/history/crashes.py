"""When processes died, and where one recovery epoch of a stream ends and the next begins."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fireassay.spec.history.model import NEVER, NO_PLACE, Actor, Boundary, Call, Crash, Place
from fireassay.spec.history.ops import Op
from fireassay.spec.history.row import Row
from fireassay.spec.outcomes import Outcome

if TYPE_CHECKING:
    from fireassay.spec.history.history import History

__all__ = ["boundaries_of", "crashes_of", "signed"]

_WRITES = frozenset({Op.APPEND, Op.APPEND_RUN, Op.OPEN_WRITER, Op.SYNC, Op.TRIM})


def signed(value: int) -> int:
    """An exit row's value: negative is a signal, positive an exit code."""
    return value - (1 << 64) if value >> 63 else value


def crashes_of(rows: Sequence[Row], actors: Mapping[int, Actor]) -> tuple[Crash, ...]:
    """A fault that fired and after which its victim was silent, or an exit that was none by choice."""
    last_word = {row.actor: row.t_ns for row in sorted(rows, key=lambda row: row.t_ns)}
    begun = [row for row in rows if row.op is Op.FAULT_BEGIN]
    found: list[Crash] = []
    for row in rows:
        if row.op is Op.EXIT and signed(row.value) != 0:
            victims = frozenset(a.id for a in actors.values() if a.process == row.seq and row.seq)
            faults = [b for b in begun if b.key in victims and b.t_ns <= row.t_ns]
            spoken = max((last_word.get(victim, 0) for victim in victims), default=0)
            t_begin = faults[-1].t_ns if faults else min(spoken, row.t_ns)
            found.append(_crash(row, victims, t_begin, row.t_ns, bool(faults), signed(row.value), actors))
    dead = frozenset().union(*(crash.victims for crash in found)) if found else frozenset[int]()
    for row in rows:
        if row.op is Op.FAULT_FIRED and row.key not in dead:
            victims = _process_of(row.key, actors)
            if any(last_word.get(victim, 0) > row.t_ns for victim in victims):
                continue  # it lived on: a fault, not a crash
            t_begin = max((b.t_ns for b in begun if b.seq == row.seq and b.t_ns <= row.t_ns), default=row.t_ns)
            found.append(_crash(row, victims, t_begin, row.t_ns, True, 0, actors))
    return tuple(sorted(found, key=lambda crash: crash.t_begin))


def _crash(row: Row, victims: frozenset[int], t_begin: int, t_end: int, provoked: bool, signal: int, actors: Mapping[int, Actor]) -> Crash:
    domain = actors[row.actor].domain if row.actor in actors else ""
    return Crash(
        victims=victims, t_begin=t_begin, t_end=t_end, provoked=provoked, known=bool(victims), signal=signal, domain=domain, row=row
    )


def _process_of(actor: int, actors: Mapping[int, Actor]) -> frozenset[int]:
    if actor not in actors:
        return frozenset()
    process = actors[actor].process
    return frozenset(a.id for a in actors.values() if a.id == actor or (process and a.process == process))


def boundaries_of(stream: int, history: "History") -> tuple[Boundary, ...]:
    """One per recovery of the stream, and one per crash of a writer that no recovery row follows.

    Without a recovery row the tail may be cut as late as the next open of a writer, so that the doubt lasts until then.
    """
    writers = {row.actor for row in history.rows if row.op in _WRITES}
    waiting = [crash for crash in history.crashes if not crash.known or crash.victims & writers]
    found: list[Boundary] = []
    recoveries = [(place, row) for place, row in history.events if row.op is Op.RECOVERY_END and row.stream == stream]
    for place, row in sorted(recoveries, key=lambda placed: placed[1].t_ns):
        caused = [crash for crash in waiting if crash.t_begin <= row.t_ns]
        waiting = [crash for crash in waiting if crash.t_begin > row.t_ns]
        begins = [r.t_ns for _, r in history.events if r.op is Op.RECOVERY_BEGIN and r.stream == stream and r.t_ns <= row.t_ns]
        t_begin = min((crash.t_begin for crash in caused), default=max(begins, default=row.t_ns))
        found.append(_boundary(history, t_begin, row.t_ns, row.seq, caused, row.actor, place))
    openings = sorted((c for c in history.calls_of(Op.OPEN_WRITER) if c.stream == stream and c.outcome is Outcome.OK), key=_invoke)
    for crash in waiting:
        opening = next((c for c in openings if c.t_invoke > crash.t_begin), None)
        t_end, actor, place = (opening.t_done, opening.actor, opening.done) if opening else (NEVER, -1, NO_PLACE)
        found.append(_boundary(history, crash.t_begin, t_end, 0, [crash], actor, place))
    return tuple(sorted(found, key=lambda boundary: boundary.t_begin))


def _invoke(call: Call) -> int:
    return call.t_invoke


def _boundary(
    history: "History", t_begin: int, t_end: int, recovered_end: int, crashes: Sequence[Crash], actor: int, place: Place
) -> Boundary:
    victims: frozenset[int] = frozenset().union(*(crash.victims for crash in crashes))
    domain = next((crash.domain for crash in crashes), history.domain(actor))
    return Boundary(t_begin=t_begin, t_end=t_end, recovered_end=recovered_end, victims=victims, domain=domain, actor=actor, place=place)
