"""Rows of one actor → calls. Pairs by call number, expands run rows, and says what does not fit.

A batch of appends has one invoke and one completion row per record under one call, paired by identity; a completion whose
identity was never invoked in the call but whose key is 0 ends all that are still open. A batch of reads has one invoke and
a completion per record. A run row: `value` operations are ok; one more is info where the run has no completion, and what the
completion says where it has one that is not ok.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from fireassay.spec.history.model import NEVER, NO_PLACE, Append, Call, Delivery, Place
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.history.row import Row
from fireassay.spec.outcomes import Outcome

__all__ = ["CALLS", "Paired", "pair"]

CALLS = frozenset(
    {Op.APPEND, Op.READ, Op.APPEND_RUN, Op.READ_RUN, Op.SYNC, Op.COMMIT, Op.ACK, Op.SEEK, Op.LOOKUP}
    | {Op.OPEN_WRITER, Op.OPEN_READER, Op.CLOSE, Op.TRIM}
)
_RUNS = frozenset({Op.APPEND_RUN, Op.READ_RUN})
_CHAINED = frozenset({Op.READ, Op.READ_RUN, Op.SEEK, Op.OPEN_READER, Op.CLOSE, Op.ASSIGN, Op.REVOKE, Op.DRAIN_BEGIN, Op.DRAIN_END})
_OUTCOME = {Phase.OK: Outcome.OK, Phase.FAIL: Outcome.FAIL, Phase.INFO: Outcome.INFO, Phase.EVENT: Outcome.OK}
_NUMBERS = 1 << 40


@dataclass(slots=True)
class Paired:
    """Everything one actor did, in its own order."""

    appends: list[Append] = field(default_factory=list)
    guesses: list[Append] = field(default_factory=list)  # the one more that a broken run may have begun
    deliveries: list[Delivery] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)  # all others, reads that said END, failed or are of unknown outcome among them
    events: list[tuple[Place, Row]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Open:
    number: int
    row: Row
    answered: bool = False


def pair(actor: int, rows: Sequence[Row], t_death: int = NEVER) -> Paired:
    """`t_death`: when the actor's process was seen dead; an upper bound for what an open run holds."""
    found = Paired()
    opened: dict[int, list[_Open]] = {}
    spans: dict[int, int] = {}  # opening row of a run → the row that ended it
    last_t = 0
    for number, row in enumerate(rows):
        if row.t_ns < last_t:
            found.problems.append(f"actor {actor}: time runs backwards at its row {number}")
        last_t = max(last_t, row.t_ns)
        if row.op not in CALLS:
            found.events.append(((number, 0), row))
        elif row.phase is Phase.INVOKE:
            _invoke(found, opened.setdefault(row.call, []), _Open(number, row))
        elif row.phase is Phase.EVENT:
            if row.op in {Op.READ, Op.APPEND} | _RUNS:
                found.problems.append(f"actor {actor}: {row.op.name} as an event at its row {number}")
            else:
                found.calls.append(_call(row, number, number, row, row.t_ns))
        else:
            begun = _complete(found, opened.get(row.call, []), number, row)
            if row.op in _RUNS and begun is not None:
                spans[begun] = number
    for pending in (each for several in opened.values() for each in several):
        _leave_open(found, pending, t_death)
        if pending.row.op in _RUNS and not pending.answered:
            spans[pending.number] = len(rows)
    loose = set(_spoil_interleaved(found, rows, spans.items()))
    if loose:
        found.appends = [replace(a, done=(spans[a.invoked[0]], a.done[1])) if a.invoked[0] in loose else a for a in found.appends]
        found.deliveries = [replace(d, done=(spans[d.invoked[0]], d.done[1])) if d.invoked[0] in loose else d for d in found.deliveries]
    found.deliveries.sort(key=lambda d: d.done)
    return found


def _invoke(found: Paired, same_call: list[_Open], opening: _Open) -> None:
    others = [each for each in same_call if not each.answered]
    batch = opening.row.op is Op.APPEND and all(each.row.op is Op.APPEND and each.row.key != opening.row.key for each in others)
    if others and not batch:
        found.problems.append(f"actor {opening.row.actor}: call {opening.row.call} begun again before it ended")
    # What was answered is over: a number may come round again.
    same_call[:] = [*others, opening]


def _complete(found: Paired, same_call: list[_Open], number: int, row: Row) -> int | None:
    of_op = [each for each in same_call if each.row.op is row.op and (row.op is Op.READ or not each.answered)]
    if row.op is Op.APPEND:
        matching = [each for each in of_op if each.row.key == row.key] or (of_op if row.key == 0 else [])
    elif row.op in _RUNS:
        matching = [each for each in of_op if (each.row.seq, each.row.key) == (row.seq, row.key)]
    else:
        matching = of_op[:1]
    if not matching:
        found.problems.append(f"actor {row.actor}: {row.op.name} completed at its row {number} was never invoked")
    for opening in matching:
        opening.answered = True
        if row.op in _RUNS:
            _expand(found, opening, row, row.value, row.t_ns, _OUTCOME[row.phase])
        elif row.op is Op.APPEND:
            found.appends.append(_append(opening, number, row))
        elif row.op is Op.READ and row.phase is Phase.OK and Flag.END not in row.flags:
            found.deliveries.append(_delivery(opening, number, row))
        else:
            found.calls.append(_call(opening.row, opening.number, number, row, row.t_ns))
    return matching[0].number if matching else None


def _leave_open(found: Paired, opening: _Open, t_death: int) -> None:
    """Every op that was invoked and has no completion is info."""
    row = opening.row
    if opening.answered:
        return
    if row.op in _RUNS:
        _expand(found, opening, row, row.value, t_death, Outcome.INFO)
    elif row.op is Op.APPEND:
        found.appends.append(
            Append(
                **_common(row, opening.number, NO_PLACE, row, NEVER, Outcome.INFO),  # type: ignore[arg-type]
                identity=row.key,
                **_payload(row, row),  # type: ignore[arg-type]
            )
        )
    else:
        found.calls.append(_call(row, opening.number, None, row, NEVER))


def _common(invoke: Row, number: int, done: Place, row: Row, t_done: int, outcome: Outcome) -> dict[str, object]:
    return {
        "op": invoke.op,
        "actor": invoke.actor,
        "stream": invoke.stream,
        "outcome": outcome,
        "t_invoke": invoke.t_ns,
        "t_done": t_done,
        "invoked": (number, 0),
        "done": done,
        "row": row,
        "waits": Flag.WAIT in invoke.flags,
    }


def _call(invoke: Row, number: int, done: int | None, row: Row, t_done: int) -> Call:
    outcome = Outcome.INFO if done is None else _OUTCOME[row.phase]
    place = NO_PLACE if done is None else (done, 0)
    return Call(**_common(invoke, number, place, row, t_done, outcome))  # type: ignore[arg-type]


def _append(opening: _Open, number: int, row: Row) -> Append:
    outcome = _OUTCOME[row.phase]
    common = _common(opening.row, opening.number, (number, 0), row, row.t_ns, outcome) | _payload(opening.row, row)
    return Append(**common, identity=opening.row.key, position=row.seq if outcome is Outcome.OK else None)  # type: ignore[arg-type]


def _payload(invoke: Row, row: Row) -> dict[str, object]:
    """What the caller handed over; a completion may leave it to the invoke to say."""
    anonymous = Flag.ANON in invoke.flags | row.flags
    return {"anonymous": anonymous, "length": row.value or invoke.value, "digest": row.digest or invoke.digest}


def _delivery(opening: _Open, number: int, row: Row) -> Delivery:
    common = _common(opening.row, opening.number, (number, 0), row, row.t_ns, Outcome.OK) | {"stream": row.stream}
    return Delivery(**common, identity=row.key, position=row.seq)  # type: ignore[arg-type]


def _expand(found: Paired, opening: _Open, row: Row, count: int, t_done: int, outcome: Outcome) -> None:
    """A run row as single operations. Place (row, 2i) invokes the i-th and (row, 2i + 1) ends it, both within the opening row."""
    first = opening.row
    if (first.key & _NUMBERS - 1) + count > _NUMBERS:
        found.problems.append(f"actor {first.actor}: a run of {count} leaves the numbers an identity can have")
        return
    for i in range(count):
        common = _common(first, opening.number, (opening.number, 2 * i + 1), row, t_done, Outcome.OK)
        common |= {"invoked": (opening.number, 2 * i), "in_run": True}
        if first.op is Op.APPEND_RUN:
            anonymous = Flag.ANON in first.flags | row.flags
            found.appends.append(Append(**common, identity=first.key + i, position=first.seq + i, anonymous=anonymous))  # type: ignore[arg-type]
        else:
            found.deliveries.append(Delivery(**common, identity=first.key + i, position=first.seq + i))  # type: ignore[arg-type]
    if outcome is Outcome.OK:
        return
    common = _common(first, opening.number, NO_PLACE, row, NEVER, outcome) | {"invoked": (opening.number, 2 * count), "in_run": True}
    if first.op is Op.APPEND_RUN:
        found.guesses.append(Append(**common, identity=first.key + count))  # type: ignore[arg-type]
    elif outcome is Outcome.INFO:
        found.calls.append(Call(**common))  # type: ignore[arg-type]


def _spoil_interleaved(found: Paired, rows: Sequence[Row], spans: Iterable[tuple[int, int]]) -> Iterable[int]:
    """Runs with other calls between their two rows: their order against those calls is unknown."""
    for begin, end in spans:
        run, between = rows[begin], rows[begin + 1 : end]
        if run.op is Op.READ_RUN and any(row.op in _CHAINED and row.stream == run.stream for row in between):
            found.problems.append(f"actor {run.actor}: the run of reads at its row {begin} goes on across another read or a cut")
        if any(row.op in CALLS for row in between):
            yield begin
