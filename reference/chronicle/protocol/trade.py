"""A trade, tick by tick, in a stream of its own: 48 bytes.

     0  4  instrument_id
     4  1  side of the taker, 0 = bid, 1 = ask
     5  3  reserved 0
     8  8  price i64
    16  8  quantity u64
    24  8  trade_id
    32  8  exchange_ts_ns
    40  8  ingest_ts_ns, that of its message

Valid if and only if it has its size, the side is known and reserved bytes are zero.
"""

import struct
from dataclasses import dataclass

from fireassay.reference.chronicle.protocol.book_event import Side
from fireassay.spec.layouts import LayoutError

__all__ = ["TYPE_TRADE", "Trade", "pack_trade", "unpack_trade"]

TYPE_TRADE = 2  # type_id of the message that carries one
_TRADE = struct.Struct("<IB3sqQQQQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trade:
    instrument_id: int
    side: Side
    price: int
    quantity: int
    trade_id: int
    exchange_ts_ns: int = 0
    ingest_ts_ns: int


def pack_trade(trade: Trade) -> bytes:
    """LayoutError where a value does not fit its field."""
    try:
        return _TRADE.pack(
            trade.instrument_id,
            trade.side,
            bytes(3),
            trade.price,
            trade.quantity,
            trade.trade_id,
            trade.exchange_ts_ns,
            trade.ingest_ts_ns,
        )
    except struct.error as error:
        raise LayoutError("cannot be built", "trade", "values within their fields", error) from None


def unpack_trade(payload: bytes) -> Trade:
    """LayoutError says what is wrong with it."""
    if len(payload) != _TRADE.size:
        raise LayoutError("bad length", "trade", _TRADE.size, len(payload))
    instrument, side, reserved, price, quantity, trade_id, exchange, ingest = _TRADE.unpack(payload)
    if side > Side.ASK or any(reserved):
        raise LayoutError("bad side", "trade, byte 4", "bid or ask, then zeros", side)
    return Trade(
        instrument_id=instrument,
        side=Side(side),
        price=price,
        quantity=quantity,
        trade_id=trade_id,
        exchange_ts_ns=exchange,
        ingest_ts_ns=ingest,
    )
