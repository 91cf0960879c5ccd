"""Chains: what an actor was delivered of one stream between two cuts, and which of them are drains, with their flaw."""

from dataclasses import dataclass, field
from typing import Any

from fireassay.reports.judge.schemas import INFINITE, Kind
from fireassay.spec.history.ops import Op

__all__ = ["cut"]

Fact = dict[str, Any]
_OK, _FAIL, _INFO = 0, 1, 2
_CUTS = frozenset(map(int, (Op.OPEN_READER, Op.SEEK, Op.CLOSE)))
_READS = frozenset(map(int, (Op.READ, Op.READ_RUN)))
_SHARDS = frozenset(map(int, (Op.ASSIGN, Op.REVOKE)))
_EVENTS = frozenset(map(int, (Op.DRAIN_BEGIN, Op.DRAIN_END, Op.SENTINEL))) | _SHARDS


@dataclass(slots=True)
class _Piece:
    stream: int
    start: int | None = None
    drain: Fact | None = None
    ended: bool = False
    sentinel: bool = False
    got: list[Fact] = field(default_factory=list)
    ends: list[Fact] = field(default_factory=list)
    unsure: list[Fact] = field(default_factory=list)

    @property
    def touched(self) -> bool:
        return bool(self.got or self.ends or self.unsure)


def cut(facts: list[Fact]) -> list[Fact]:
    """Numbers the chains, writes their numbers on the facts, and says of each what it is."""
    steps = sorted((fact for fact in facts if _is_step(fact)), key=_when)
    closed: list[_Piece] = []
    open_pieces: dict[int, _Piece] = {}
    for step in steps:
        stream = step["stream"]
        piece = open_pieces.setdefault(stream, _Piece(stream))
        following = _take(piece, step)
        if step["kind"] == Kind.EVENT and step["op"] in _SHARDS and step["seq"] != stream and step["seq"] in open_pieces:
            closed.append(open_pieces.pop(step["seq"]))  # the shard is the stream, told only here
        if following is not None:
            closed.append(piece)
            open_pieces[stream] = following
    closed += open_pieces.values()
    bounds = [fact for fact in facts if fact["kind"] == Kind.EVENT and fact["op"] in {int(Op.DRAIN_BEGIN), int(Op.DRAIN_END)}]
    said: list[Fact] = []
    for number, piece in enumerate(p for p in closed if p.touched or p.drain is not None):
        said.extend(_tell(number, piece, bounds))
    return said


def _is_step(fact: Fact) -> bool:
    kind = fact["kind"]
    if kind == Kind.CALL:
        return fact["op"] in _CUTS or fact["op"] in _READS
    return kind == Kind.DELIVERY or (kind == Kind.EVENT and fact["op"] in _EVENTS)


def _when(fact: Fact) -> int:
    done: int = fact["done"]
    return done if done < INFINITE else fact["inv"]


def _take(piece: _Piece, step: Fact) -> _Piece | None:
    op, outcome = step["op"], step["outcome"]
    if step["kind"] == Kind.DELIVERY:
        piece.got.append(step)
    elif step["kind"] == Kind.EVENT:
        if op == Op.SENTINEL:
            piece.sentinel = True
            return None
        piece.ended = piece.ended or op == Op.DRAIN_END
        return _Piece(piece.stream, start=step["seq"], drain=step) if op == Op.DRAIN_BEGIN else _Piece(piece.stream)
    elif op in _READS:
        if outcome != _FAIL:
            (piece.ends if outcome == _OK else piece.unsure).append(step)
    elif outcome != _FAIL:
        following = _Piece(piece.stream, start=step["seq"] if outcome == _OK and op != Op.CLOSE else None)
        if piece.drain is not None and not piece.touched and op != Op.CLOSE:
            following.drain, piece.drain = piece.drain, None  # a drain goes to its start first
        return following
    return None


def _tell(number: int, piece: _Piece, bounds: list[Fact]) -> list[Fact]:
    for fact in (*piece.got, *piece.ends, *piece.unsure):
        fact["chain"] = number
    first = piece.got or piece.ends or piece.unsure or [piece.drain or {}]
    like = {name: first[0].get(name) for name in ("trial", "actor")} | {"stream": piece.stream, "chain": number}
    draining = piece.drain is not None
    said = [like | {"kind": Kind.CHAIN, "position": piece.start, "in_run": draining}]
    if piece.drain is not None:
        begin = piece.drain["inv"]
        after = next((bound for bound in bounds if bound["stream"] == piece.stream and bound["inv"] > begin), None)
        end = after if after is not None and after["op"] == Op.DRAIN_END else None
        said[0]["text"] = _flaw(piece, end)
        said.append({**piece.drain, "kind": Kind.DRAIN_BEGIN, "chain": number})
        if end is not None:
            said.append({**end, "kind": Kind.DRAIN_END, "chain": number})
    return said


def _flaw(piece: _Piece, end: Fact | None) -> str:
    last = max((fact["done"] + 2 * (fact["count"] - 1) for fact in piece.got), default=-1)
    flaws = {
        "it never ended": end is None or end["outcome"] != _OK,
        "it was cut before it ended": not piece.ended,
        "a read in it has an unknown outcome": bool(piece.unsure),
        "nobody knows where it began": piece.start is None,
        "it never met its sentinel": not piece.sentinel,
        "it did not see END twice behind its last delivery": sum(fact["done"] > last for fact in piece.ends) < 2,
    }
    return next((flaw for flaw, holds in flaws.items() if holds), "")
