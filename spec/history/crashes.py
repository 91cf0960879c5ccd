"""When processes died, and where one recovery epoch of a stream ends and the next begins."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fireassay.spec.history.model import NEVER, NO_PLACE, Actor, Boundary, Call, Crash, Grade, Place
from fireassay.spec.history.ops import FaultKind, Op
from fireassay.spec.history.pairing import CALLS
from fireassay.spec.history.power import fault_kind, fault_over, outages_of, signed
from fireassay.spec.history.row import Row
from fireassay.spec.outcomes import Outcome

if TYPE_CHECKING:
    from fireassay.spec.history.history import History

__all__ = ["boundaries_of", "crashes_of", "exits_of", "fault_over", "signed"]

_WRITES = frozenset({Op.APPEND, Op.APPEND_RUN, Op.OPEN_WRITER, Op.SYNC, Op.TRIM})
_MERE_READERS = frozenset({"reader", "member", "drain"})


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


def crashes_of(rows: Sequence[Row], actors: Mapping[int, Actor], exits: Mapping[int, tuple[int, Row]]) -> tuple[Crash, ...]:
    """A fault that fired and after which its victim was silent, or an exit that was none by choice; of either grade."""
    last_word: dict[int, int] = {}
    for row in rows:
        last_word[row.actor] = max(row.t_ns, last_word.get(row.actor, 0))
    begun = [row for row in rows if row.op is Op.FAULT_BEGIN]
    found: list[Crash] = []
    outages = outages_of(rows, actors, exits, last_word)
    taken = frozenset[int]().union(*(outage.exits for outage in outages))
    idle = [(b.t_ns, fault_over(b, rows)) for b in begun if fault_kind(b) is FaultKind.POWER and not _fired(b, rows)]
    for number, row in enumerate(rows):
        if row.op is Op.EXIT and signed(row.value) != 0 and number not in taken:
            victims = frozenset(actor for actor, (n, _) in exits.items() if n == number)
            spoken = max((last_word.get(victim, 0) for victim in victims), default=0)
            # What a victim outlived, because it still spoke when the fault was over, did not kill it.
            faults = [b.t_ns for b in begun if b.key in victims and b.t_ns <= row.t_ns and fault_over(b, rows) >= spoken]
            t_begin = min(faults, default=min(spoken, row.t_ns))
            # Within a power loss of which nobody says that it came nobody knows what else was lost.
            known = bool(victims) and not any(begin <= row.t_ns and t_begin <= end for begin, end in idle)
            found.append(_crash(row, victims, t_begin, row.t_ns, bool(faults), signed(row.value), actors, known))
    dead = frozenset[int]().union(*(crash.victims for crash in found), *(outage.exited for outage in outages))
    for outage in outages:
        fired, t_end = outage.fired, outage.t_end
        found.append(_crash(fired, outage.victims, outage.t_begin, t_end, True, 0, actors, True, "power"))
    for row in rows:
        if row.op is Op.FAULT_FIRED and row.key not in dead and fault_kind(row) is FaultKind.PROCESS:
            victims = _process_of(row.key, actors)
            if any(last_word.get(victim, 0) > row.t_ns for victim in victims):
                continue  # it lived on: a fault, not a crash
            t_begin = max((b.t_ns for b in begun if b.seq == row.seq and b.t_ns <= row.t_ns), default=row.t_ns)
            found.append(_crash(row, victims, t_begin, row.t_ns, True, 0, actors, bool(victims)))
    return tuple(sorted(found, key=lambda crash: crash.t_begin))


def _fired(begin: Row, rows: Sequence[Row]) -> bool:
    return any(row.op is Op.FAULT_FIRED and row.seq == begin.seq and row.t_ns >= begin.t_ns for row in rows)


def _crash(
    row: Row,
    victims: frozenset[int],
    t_begin: int,
    t_end: int,
    provoked: bool,
    signal: int,
    actors: Mapping[int, Actor],
    known: bool,
    grade: Grade = "process",
) -> Crash:
    domain = actors[row.actor].domain if row.actor in actors else ""
    return Crash(
        victims=victims,
        t_begin=t_begin,
        t_end=t_end,
        provoked=provoked,
        known=known,
        signal=signal,
        domain=domain,
        row=row,
        grade=grade,
    )


def _process_of(actor: int, actors: Mapping[int, Actor]) -> frozenset[int]:
    if actor not in actors:
        return frozenset()
    process = actors[actor].process
    return frozenset(a.id for a in actors.values() if a.id == actor or (process and a.process == process))


def boundaries_of(stream: int, history: "History") -> tuple[Boundary, ...]:
    """One per recovery of the stream, and one per crash that no recovery row follows and that took more than readers, or the power.

    Without a recovery row the tail may be cut as late as the next open of a writer, so that the doubt lasts until then.
    """
    harmless = _mere_readers(history)
    waiting = [crash for crash in history.crashes if crash.grade == "power" or not crash.victims or crash.victims - harmless]
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
