"""Several streams as one, in the order in which their records came in: by timestamp_ns of the message header.

Each stream keeps its own order, whatever its clock did: where a timestamp steps back, the record counts as of the latest before it.
At equal times the stream that was named first goes first, so books named before trades are those that the trade met.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fireassay.reference.chronicle.log_view import LogView
from fireassay.reference.chronicle.protocol.book_event import BookEvent, unpack_book_event
from fireassay.reference.chronicle.protocol.trade import Trade, unpack_trade
from fireassay.reference.chronicle.reader import Message
from fireassay.reference.mutants import is_selected
from fireassay.spec.layouts import LayoutError

__all__ = ["Aligned", "aligned", "book_event_of", "messages_of", "trade_of"]

_BATCH = 256


@dataclass(frozen=True, slots=True)
class Aligned:
    time_ns: int  # never goes back
    stream: int  # its place among those that were given
    message: Message


def aligned(streams: Sequence[Iterable[Message]]) -> Iterator[Aligned]:
    """All records of all streams."""
    timed = [_timed(number, stream) for number, stream in enumerate(streams)]
    if is_selected("chronicle_merge_in_turn"):
        return (item for stream in timed for item in stream)
    return heapq.merge(*timed, key=lambda item: (item.time_ns, item.stream))


def messages_of(log: LogView) -> Iterator[Message]:
    """What can be read now, from where the log stands."""
    while not (batch := log.read_batch(_BATCH)).end:
        yield from batch.messages


def book_event_of(message: Message) -> BookEvent:
    """LayoutError where it is none, or was taken in at another time than its message says."""
    event = unpack_book_event(message.payload)
    _same_time(event.ingest_ts_ns, message)
    return event


def trade_of(message: Message) -> Trade:
    """As book_event_of."""
    trade = unpack_trade(message.payload)
    _same_time(trade.ingest_ts_ns, message)
    return trade


def _same_time(ingest_ts_ns: int, message: Message) -> None:
    if ingest_ts_ns != message.timestamp_ns:
        raise LayoutError("two ingest times", f"record {message.seq}, ingest_ts_ns", message.timestamp_ns, ingest_ts_ns)


def _timed(number: int, stream: Iterable[Message]) -> Iterator[Aligned]:
    latest = 0
    for message in stream:
        latest = max(latest, message.timestamp_ns)
        yield Aligned(latest, number, message)
