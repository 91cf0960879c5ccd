"""An actor's deliveries, cut into chains, and which of those chains are drains.

Every piece between two cuts stands for itself: a seek and a restart may go back, and then records rightly come again.
"""

from dataclasses import dataclass, field

from fireassay.spec.history.model import NEVER, Call, Chain, Delivery, Drain, Place
from fireassay.spec.history.ops import Op, Phase
from fireassay.spec.history.pairing import Paired
from fireassay.spec.history.row import Row
from fireassay.spec.outcomes import Outcome

__all__ = ["chains_of", "drains_of", "moment"]

_CUTS = frozenset({Op.OPEN_READER, Op.SEEK, Op.CLOSE})
_READS = frozenset({Op.READ, Op.READ_RUN})
_EVENTS = frozenset({Op.DRAIN_BEGIN, Op.DRAIN_END, Op.SENTINEL, Op.ASSIGN, Op.REVOKE})


@dataclass(slots=True)
class _Piece:
    start: int | None = None
    begin: Row | None = None  # DRAIN_BEGIN
    end: Row | None = None  # DRAIN_END
    sentinel: bool = False
    begin_place: Place = (0, 0)
    deliveries: list[Delivery] = field(default_factory=list)
    ends: list[Call] = field(default_factory=list)
    unsure: list[Call] = field(default_factory=list)

    def chain(self, actor: int, stream: int, group: int) -> Chain:
        parts = {"deliveries": tuple(self.deliveries), "ends": tuple(self.ends), "unsure": tuple(self.unsure)}
        return Chain(actor=actor, stream=stream, group=group, start=self.start, draining=self.begin is not None, **parts)  # type: ignore[arg-type]


def chains_of(paired: Paired, actor: int, group: int) -> list[Chain]:
    return [piece.chain(actor, stream, group) for stream, piece in _pieces(paired)]


def drains_of(paired: Paired, actor: int, group: int) -> list[Drain]:
    found = []
    for stream, piece in _pieces(paired):
        if piece.begin is None:
            continue
        begin, end = moment(piece.begin_place, piece.begin), _end_of(paired, stream, piece.begin_place)
        flaw = _flaw(piece, end)
        found.append(Drain(chain=piece.chain(actor, stream, group), begin=begin, end=end, flaw=flaw))
    return found


def moment(place: Place, row: Row) -> Call:
    """An event as a call that took no time."""
    outcome = {Phase.FAIL: Outcome.FAIL, Phase.INFO: Outcome.INFO}.get(row.phase, Outcome.OK)
    return Call(
        op=row.op,
        actor=row.actor,
        stream=row.stream,
        outcome=outcome,
        t_invoke=row.t_ns,
        t_done=row.t_ns,
        invoked=place,
        done=place,
        row=row,
    )


def _end_of(paired: Paired, stream: int, begin: Place) -> Call | None:
    """The drain's own end, also where a seek has cut it; none where the next drain began first."""
    bounds = ((place, row) for place, row in paired.events if row.stream == stream and row.op in {Op.DRAIN_BEGIN, Op.DRAIN_END})
    place, row = next(((place, row) for place, row in bounds if place > begin), (begin, None))
    return moment(place, row) if row is not None and row.op is Op.DRAIN_END else None


def _pieces(paired: Paired) -> list[tuple[int, _Piece]]:
    steps: list[tuple[Place, Call | Row]] = [(d.done, d) for d in paired.deliveries]
    steps += [(c.invoked if c.done[0] >= NEVER else c.done, c) for c in paired.calls if c.op in _CUTS or c.op in _READS]
    steps += [(place, row) for place, row in paired.events if row.op in _EVENTS]
    growing: dict[int, _Piece] = {}
    done: list[tuple[int, _Piece]] = []
    for place, step in sorted(steps, key=lambda placed: placed[0]):
        piece = growing.setdefault(step.stream, _Piece())
        following: _Piece | None = None
        if isinstance(step, Row):
            following = _take_event(piece, step, place)
            if step.op in {Op.ASSIGN, Op.REVOKE} and step.seq != step.stream and step.seq in growing:
                done.append((step.seq, growing.pop(step.seq)))  # some name the shard only here
        elif isinstance(step, Delivery):
            piece.deliveries.append(step)
        elif step.op in _READS:
            if step.outcome is Outcome.OK:
                piece.ends.append(step)
            elif step.outcome is Outcome.INFO:
                piece.unsure.append(step)
        elif step.outcome is not Outcome.FAIL:
            following = _moved(piece, step)
        if following is not None:
            done.append((step.stream, piece))
            growing[step.stream] = following
    done += growing.items()
    return [(stream, piece) for stream, piece in done if piece.deliveries or piece.ends or piece.unsure or piece.begin]


def _take_event(piece: _Piece, row: Row, place: Place) -> _Piece | None:
    if row.op is Op.SENTINEL:
        piece.sentinel = True
    elif row.op is Op.DRAIN_BEGIN:
        return _Piece(start=row.seq, begin=row, begin_place=place)
    elif row.op is Op.DRAIN_END:
        piece.end = row
        return _Piece()
    else:
        return _Piece()
    return None


def _moved(piece: _Piece, call: Call) -> _Piece:
    """Where a call that may have moved the cursor has an unknown outcome, the start is unknown too."""
    granted = call.row.seq if call.outcome is Outcome.OK and call.op is not Op.CLOSE else None
    following = _Piece(start=granted)
    if piece.begin is not None and not (piece.deliveries or piece.ends or piece.unsure) and call.op is not Op.CLOSE:
        # A drain that first goes to its start is still that drain.
        following.begin, following.begin_place, piece.begin = piece.begin, piece.begin_place, None
    return following


def _flaw(piece: _Piece, end: Call | None) -> str:
    """A drain is complete after its sentinel and two ENDs behind the last delivery. To have read an older sentinel is not enough."""
    if end is None or end.outcome is not Outcome.OK:
        return "it never ended"
    if piece.end is None:
        return "it was cut before it ended"
    if piece.unsure:
        return "a read in it has an unknown outcome"
    if piece.start is None:
        return "nobody knows where it began"
    if not piece.sentinel:
        return "it never met its sentinel"
    last = max((d.done for d in piece.deliveries), default=(-1, 0))
    if sum(end.done > last for end in piece.ends) < 2:
        return "it did not see END twice behind its last delivery"
    return ""
