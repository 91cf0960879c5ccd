"""When processes died, and where one recovery epoch of a stream ends and the next begins."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from fireassay.spec.history.model import NEVER, NO_PLACE, Actor, Boundary, Call, Crash, Place
from fireassay.spec.history.ops import Op
from fireassay.spec.history.pairing import CALLS
from fireassay.spec.history.row import Row
from fireassay.spec.outcomes import Outcome

if TYPE_CHECKING:
    from fireassay.spec.history.history import History

__all__ = ["boundaries_of", "crashes_of", "exits_of", "fault_over", "signed"]

_WRITES = frozenset({Op.APPEND, Op.APPEND_RUN, Op.OPEN_WRITER, Op.SYNC, Op.TRIM})
_MERE_READERS = frozenset({"reader", "member", "drain"})


def signed(value: int) -> int:
    """An exit row's value: negative is a signal, positive an exit code."""
    return value - (1 << 64) if value >> 63 else value


def exits_of(rows: Sequence[Row], actors: Mapping[int, Actor], epsilon_ns: int) -> tuple[dict[int, tuple[int, Row]], list[str]]:
    """Actor → number and row of its process's exit, and who spoke after it. A pid may belong to several processes in turn."""
    words: dict[int, list[int]] = defaultdict(list)
    by_pid: dict[int, list[tuple[int, Row]]] = defaultdict(list)
    for number, row in enumerate(rows):
        words[row.actor].append(row.t_ns)
        if row.op is Op.EXIT and row.seq:
            by_pid[row.seq].append((number, row))
    found: dict[int, tuple[int, Row]] = {}
    problems: list[str] = []
    for actor in actors.values():
        exits = sorted(by_pid.get(actor.process, ()), key=lambda numbered: numbered[1].t_ns)
        if not exits or not actor.process:
            continue
        comparable = all(row.actor in actors and actors[row.actor].domain == actor.domain for _, row in exits)
        said = words.get(actor.id)
        if said is None or not comparable:
            found[actor.id] = exits[-1]
            continue
        first, last = min(said), max(said)
        chosen = next((numbered for numbered in exits if numbered[1].t_ns + epsilon_ns >= last), None)
        if chosen is not None:
            found[actor.id] = chosen
        if any(first <= row.t_ns and row.t_ns + epsilon_ns < last for _, row in exits):
            problems.append(f"actor {actor.id} speaks after its process was seen dead")
    return found, problems


def fault_over(begin: Row, rows: Iterable[Row]) -> int:
    """When the fault that began there was taken back, by its own end or by a general heal."""
    ends = (row.t_ns for row in rows if (row.op is Op.FAULT_END and row.seq == begin.seq) or row.op is Op.HEAL)
    return min((t for t in ends if t >= begin.t_ns), default=NEVER)


def crashes_of(rows: Sequence[Row], actors: Mapping[int, Actor], exits: Mapping[int, tuple[int, Row]]) -> tuple[Crash, ...]:
    """A fault that fired and after which its victim was silent, or an exit that was none by choice."""
    last_word: dict[int, int] = {}
    for row in rows:
        last_word[row.actor] = max(row.t_ns, last_word.get(row.actor, 0))
    begun = [row for row in rows if row.op is Op.FAULT_BEGIN]
    found: list[Crash] = []
    for number, row in enumerate(rows):
        if row.op is Op.EXIT and signed(row.value) != 0:
            victims = frozenset(actor for actor, (n, _) in exits.items() if n == number)
            spoken = max((last_word.get(victim, 0) for victim in victims), default=0)
            # What a victim outlived, because it still spoke when the fault was over, did not kill it.
            faults = [b.t_ns for b in begun if b.key in victims and b.t_ns <= row.t_ns and fault_over(b, rows) >= spoken]
            t_begin = min(faults, default=min(spoken, row.t_ns))
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
    """One per recovery of the stream, and one per crash that no recovery row follows and that took more than readers.

    Without a recovery row the tail may be cut as late as the next open of a writer, so that the doubt lasts until then.
    """
    harmless = _mere_readers(history)
    waiting = [crash for crash in history.crashes if not crash.victims or crash.victims - harmless]
    found: list[Boundary] = []
    recoveries = [(place, row) for place, row in history.events if row.op is Op.RECOVERY_END and row.stream == stream]
    t_last = 0
    for place, row in sorted(recoveries, key=lambda placed: placed[1].t_ns):
        begins = [r.t_ns for _, r in history.events if r.op is Op.RECOVERY_BEGIN and r.stream == stream and t_last <= r.t_ns <= row.t_ns]
        # A death after the recovery began is the next one's.
        caused = [crash for crash in waiting if crash.t_begin <= max(begins, default=row.t_ns)]
        waiting = [crash for crash in waiting if crash not in caused]
        t_begin = min([crash.t_begin for crash in caused] + begins, default=row.t_ns)
        found.append(_boundary(history, t_begin, row.t_ns, row.seq, caused, row.actor, place, recorded=True))
        t_last = row.t_ns
    openings = sorted((c for c in history.calls_of(Op.OPEN_WRITER) if c.stream == stream and c.outcome is Outcome.OK), key=_invoke)
    for crash in waiting:
        opening = next((c for c in openings if c.t_invoke > crash.t_begin), None)
        t_end, actor, place = (opening.t_done, opening.actor, opening.done) if opening else (NEVER, -1, NO_PLACE)
        found.append(_boundary(history, crash.t_begin, t_end, 0, [crash], actor, place, recorded=False))
    return tuple(sorted(found, key=lambda boundary: boundary.t_begin))


def _mere_readers(history: "History") -> frozenset[int]:
    """Whose death cuts no tail: actors that wrote nothing. One that made no call at all may be the log itself."""
    writers = {row.actor for row in history.rows if row.op in _WRITES}
    callers = {row.actor for row in history.rows if row.op in CALLS}
    mere = callers | {actor.id for actor in history.actors.values() if actor.role in _MERE_READERS}
    return frozenset(mere - writers)


def _invoke(call: Call) -> int:
    return call.t_invoke


def _boundary(
    history: "History", t_begin: int, t_end: int, recovered_end: int, crashes: Sequence[Crash], actor: int, place: Place, *, recorded: bool
) -> Boundary:
    victims: frozenset[int] = frozenset().union(*(crash.victims for crash in crashes))
    domain = next((crash.domain for crash in crashes), history.domain(actor))
    return Boundary(
        t_begin=t_begin,
        t_end=t_end,
        recovered_end=recovered_end,
        recorded=recorded,
        victims=victims,
        domain=domain,
        actor=actor,
        place=place,
    )
