"""The segments of a log read as one, where they lie: nobody is registered and no byte is changed.

Where the segments come from is another's business: live files, archives, or both.
"""

from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from fireassay.reference.chronicle.reader import HEADER, Batch, Message
from fireassay.reference.chronicle.segments import SegmentView, Stop, map_segment, segment_ids
from fireassay.spec.layouts import LayoutError

__all__ = ["Damaged", "LiveSegments", "LogView", "Segments"]


class Damaged(Exception):
    """What stands at a place cannot be trusted, or is gone; nothing of it was given out."""

    def __init__(self, segment: int, offset: int, what: str) -> None:
        super().__init__(f"segment {segment}, offset {offset}: {what}")
        self.segment, self.offset, self.what = segment, offset, what


class Segments(Protocol):
    def ids(self) -> list[int]:
        """Those that can be opened now, in order."""

    def open(self, segment: int) -> SegmentView:
        """FileNotFoundError where it is gone; LayoutError says what is wrong with it."""


class LiveSegments:
    """Those of a queue, with the size that its control block names."""

    def __init__(self, queue: Path, segment_size: int, variant: str | None = None) -> None:
        self.queue, self.segment_size, self._variant = queue, segment_size, variant

    def ids(self) -> list[int]:
        return segment_ids(self.queue)

    def open(self, segment: int) -> SegmentView:
        return map_segment(self.queue, segment, self.segment_size, self._variant)


class LogView:
    """Begins at the oldest segment; used by one thread at a time."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._view: SegmentView | None = None
        ids = segments.ids()
        self._segment, self._offset = (ids[0] if ids else 0), HEADER

    @property
    def place(self) -> tuple[int, int]:
        """(segment, offset) of the next record."""
        return self._segment, self._offset

    def read_batch(self, limit: int) -> Batch:
        """At most `limit` messages; `end` where there are no more, yet. Damaged: it stands before what is, and stays there."""
        while True:
            view = self._opened()
            if view is None:
                return Batch((), True)
            messages, end, stop = view.scan(self._offset, limit)
            if messages or stop is Stop.MORE:
                self._offset = end
                return Batch(tuple(messages), False)
            if stop is Stop.BAD:
                raise Damaged(self._segment, end, "the record here cannot be trusted")
            self._offset = end
            if not view.sealed:
                return Batch((), True)
            if stop is Stop.OPEN:
                if view.scan(end, 1)[2] is not Stop.OPEN:  # committed before it was sealed
                    continue
                raise Damaged(self._segment, end, "the segment is sealed and has no record here")
            if self._segment >= max(self._segments.ids(), default=0):
                return Batch((), True)
            self._go(self._segment + 1, HEADER)

    def numbers(self) -> range | None:
        """Of the records that can be read now; None where there are none and their numbers cannot be known. The place moves."""
        ids = self._segments.ids()
        oldest = next((first for segment in ids if (first := self._first_seq(segment)) is not None), None)
        if oldest is None:
            return range(0) if not ids or ids[0] == 0 else None
        self.seek_last(1)
        messages = self.read_batch(1).messages
        return range(oldest, messages[0].seq + 1 if messages else oldest)

    def seek(self, seq: int) -> None:
        """The next record is the first of that number or a later one; damage on the way is met when it is read."""
        ids = self._segments.ids()
        low, high = 0, len(ids)  # the segment wanted is the last one that begins at or before it
        while high - low > 1:
            middle = (low + high) // 2
            first, at = None, middle
            while first is None and at < high:
                first, at = self._first_seq(ids[at]), at + 1
            if first is not None and first <= seq:
                low = at - 1
            else:
                high = middle
        if ids:
            self._go(ids[low], HEADER)
            view = self._opened()
            self._offset = HEADER if view is None else view.find(seq)

    def seek_last(self, count: int) -> None:
        """The next record is the last but `count` of those that can be read now."""
        left = count
        for segment in reversed(self._segments.ids()):
            try:
                with self._segments.open(segment) as view:
                    found = view.extent()
            except (FileNotFoundError, LayoutError):
                continue
            self._go(segment, HEADER if left else found.end)
            if found.last_seq is not None and found.records >= left:
                with self._segments.open(segment) as view:
                    self._offset = view.find(found.last_seq + 1 - left)
                return
            left -= found.records

    def skip(self) -> None:
        """Past the segment it stands in, as after damage: to the next one there is."""
        later = [segment for segment in self._segments.ids() if segment > self._segment]
        self._go(min(later, default=self._segment + 1), HEADER)

    def close(self) -> None:
        """Twice is harmless."""
        if self._view is not None:
            self._view.close()
            self._view = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _go(self, segment: int, offset: int) -> None:
        if segment != self._segment:
            self.close()
        self._segment, self._offset = segment, offset

    def _opened(self) -> SegmentView | None:
        """The segment it stands in; None where the log has not come to it yet."""
        if self._view is not None:
            return self._view
        try:
            self._view = self._segments.open(self._segment)
        except FileNotFoundError:
            others = self._segments.ids()
            if others and others[-1] > self._segment:
                raise Damaged(self._segment, self._offset, f"the segment is gone; the next one there is {self._next_of(others)}") from None
        except LayoutError as error:
            raise Damaged(self._segment, self._offset, str(error)) from error
        return self._view

    def _next_of(self, ids: list[int]) -> int:
        return next(segment for segment in ids if segment > self._segment)

    def _first_seq(self, segment: int) -> int | None:
        """Of its first record; None where it has none that can be read."""
        try:
            with self._segments.open(segment) as view:
                found: list[Message] = view.scan(limit=1)[0]
                return found[0].seq if found else None
        except (FileNotFoundError, LayoutError):
            return None
