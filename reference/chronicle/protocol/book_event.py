"""An event of an order book: BookEventHeader of 64 bytes (layout chronicle.book_event), then its levels of 24 bytes each.

     0  1  side, 0 = bid, 1 = ask
     1  7  reserved 0
     8  8  price i64, in the instrument's ticks
    16  8  quantity u64, in its lots; 0 takes the level away

A snapshot's levels are the whole book, a delta's are those that changed. Valid if and only if record_len is the payload's length, the
version is 2, the type is known, reserved bytes are zero, and what follows the header is a whole number of levels.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from fireassay.spec.layouts import LayoutError

__all__ = ["HEADER", "TYPE_BOOK", "BookEvent", "EventType", "Level", "Side", "pack_book_event", "unpack_book_event"]

TYPE_BOOK = 1  # type_id of the message that carries one
VERSION = 2
HEADER = 64
_HEAD = struct.Struct("<IHHQQQII24s")
_LEVEL = struct.Struct("<B7sqQ")
_WHERE = "book event"


class EventType(IntEnum):
    SNAPSHOT = 1
    DELTA = 2


class Side(IntEnum):
    BID = 0
    ASK = 1


@dataclass(frozen=True, slots=True)
class Level:
    side: Side
    price: int
    quantity: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BookEvent:
    event_type: EventType
    ingest_ts_ns: int  # that of its message
    exchange_ts_ns: int = 0
    book_seq: int  # grows by one with each event of an instrument
    instrument_id: int
    flags: int = 0
    levels: tuple[Level, ...] = ()


def pack_book_event(event: BookEvent) -> bytes:
    """LayoutError where a value does not fit its field."""
    try:
        body = b"".join(_LEVEL.pack(level.side, bytes(7), level.price, level.quantity) for level in event.levels)
        head = _HEAD.pack(
            HEADER + len(body),
            VERSION,
            event.event_type,
            event.ingest_ts_ns,
            event.exchange_ts_ns,
            event.book_seq,
            event.instrument_id,
            event.flags,
            bytes(24),
        )
    except struct.error as error:
        raise LayoutError("cannot be built", _WHERE, "values within their fields", error) from None
    return head + body


def unpack_book_event(payload: bytes) -> BookEvent:
    """LayoutError says what is wrong with it."""
    if len(payload) < HEADER:
        raise LayoutError("truncated", _WHERE, f"at least {HEADER} bytes", f"{len(payload)} bytes")
    length, version, kind, ingest, exchange, book_seq, instrument, flags, reserved = _HEAD.unpack_from(payload)
    if length != len(payload):
        raise LayoutError("bad length", f"{_WHERE}, record_len", len(payload), length)
    if version != VERSION:
        raise LayoutError("bad version", _WHERE, VERSION, version)
    if kind not in EventType.__members__.values():
        raise LayoutError("unknown type", f"{_WHERE}, event_type", "snapshot or delta", kind)
    if any(reserved):
        raise LayoutError("reserved bytes not zero", _WHERE, "zeros", reserved.hex())
    return BookEvent(
        event_type=EventType(kind),
        ingest_ts_ns=ingest,
        exchange_ts_ns=exchange,
        book_seq=book_seq,
        instrument_id=instrument,
        flags=flags,
        levels=tuple(_levels(payload[HEADER:])),
    )


def _levels(body: bytes) -> Iterable[Level]:
    if len(body) % _LEVEL.size:
        raise LayoutError("bad length", f"{_WHERE}, levels", f"a multiple of {_LEVEL.size} bytes", len(body))
    for side, reserved, price, quantity in _LEVEL.iter_unpack(body):
        if side > Side.ASK or any(reserved):
            raise LayoutError("bad level", f"{_WHERE}, side", "bid or ask, then zeros", side)
        yield Level(Side(side), price, quantity)
