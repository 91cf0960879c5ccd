"""The L2 books of many instruments, maintained from snapshots and deltas.

A book is whole from a snapshot on, while its events come without a gap in book_seq. After a gap it shows nothing until the next
snapshot: a book that lacks a change is worse than none.
"""

import struct
from dataclasses import dataclass, field
from enum import StrEnum

from fireassay.reference.chronicle.protocol.book_event import (
    BookEvent,
    EventType,
    Level,
    Side,
    pack_book_event,
    unpack_book_event,
)
from fireassay.reference.mutants import is_selected
from fireassay.spec.layouts import LayoutError

__all__ = ["Applied", "Book", "BookTable"]

_LENGTH = struct.Struct("<I")


class Applied(StrEnum):
    """What became of an event."""

    APPLIED = "applied"
    OLD = "old"  # the book has it already
    GAP = "gap"  # events before it are missing: the book is not whole any more
    WAITING = "waiting"  # a delta without a whole book to change


@dataclass(slots=True)
class Book:
    book_seq: int = 0
    whole: bool = False
    sides: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))

    def depth(self, side: Side, count: int) -> list[tuple[int, int]]:
        """The best levels of a side as (price, quantity); none while the book is not whole."""
        prices = sorted(self.sides[side], reverse=side is Side.BID) if self.whole else []
        return [(price, self.sides[side][price]) for price in prices[:count]]

    def best(self, side: Side) -> tuple[int, int] | None:
        return next(iter(self.depth(side, 1)), None)

    def apply(self, event: BookEvent) -> Applied:
        if event.event_type is EventType.SNAPSHOT:
            if self.whole and event.book_seq < self.book_seq:
                return Applied.OLD
            self.sides = ({}, {})
        elif not self.whole:
            return Applied.WAITING
        elif event.book_seq <= self.book_seq:
            return Applied.OLD
        elif event.book_seq != self.book_seq + 1:
            self.whole = False
            return Applied.GAP
        for level in event.levels:
            if level.quantity or is_selected("chronicle_book_zero_kept"):
                self.sides[level.side][level.price] = level.quantity
            else:
                self.sides[level.side].pop(level.price, None)
        self.book_seq, self.whole = event.book_seq, True
        return Applied.APPLIED


class BookTable:
    """Every instrument's book, by its id."""

    def __init__(self) -> None:
        self.books: dict[int, Book] = {}

    def apply(self, event: BookEvent) -> Applied:
        return self.books.setdefault(event.instrument_id, Book()).apply(event)

    def state(self) -> bytes:
        """All whole books, for a snapshot of the queue: as events, each behind its length."""
        packed = [pack_book_event(self._event(instrument, book)) for instrument, book in sorted(self.books.items()) if book.whole]
        return b"".join(_LENGTH.pack(len(event)) + event for event in packed)

    def restore(self, state: bytes) -> None:
        """Takes the place of whatever was there. LayoutError where the state is none."""
        books: dict[int, Book] = {}
        at = 0
        while at < len(state):
            if len(state) - at < _LENGTH.size:
                raise LayoutError("truncated", "state of books", "a length", state[at:].hex())
            (length,) = _LENGTH.unpack_from(state, at)
            at += _LENGTH.size
            event = unpack_book_event(state[at : at + length])
            books.setdefault(event.instrument_id, Book()).apply(event)
            at += length
        self.books = books

    @staticmethod
    def _event(instrument: int, book: Book) -> BookEvent:
        levels = tuple(Level(side, price, quantity) for side in Side for price, quantity in sorted(book.sides[side].items()))
        return BookEvent(event_type=EventType.SNAPSHOT, ingest_ts_ns=0, book_seq=book.book_seq, instrument_id=instrument, levels=levels)
