"""Segments read where they lie, as files or unpacked in memory: nobody is registered and no byte is changed."""

import mmap
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Self

from fireassay.reference import core
from fireassay.reference.chronicle.reader import HEADER, Message, message_of, span
from fireassay.reference.files import opened
from fireassay.spec import layouts
from fireassay.spec.layouts import chronicle as layout

__all__ = ["MAX_SEGMENT_SIZE", "Extent", "SegmentView", "Stop", "checked", "map_segment", "name_of", "segment_ids"]

MAX_SEGMENT_SIZE = 1 << 32
_NAME = re.compile(r"\d{9}\.q")
_ROOM = 256


class Stop(IntEnum):
    """Why a scan stopped."""

    MORE = 0  # the limit was reached
    END = 1  # no room is left for another record
    OPEN = 2  # nothing is committed here, yet
    BAD = 3  # what is here cannot be trusted


@dataclass(frozen=True, slots=True)
class Extent:
    """The records from a place on."""

    records: int
    first_seq: int | None  # None where there is none
    last_seq: int | None
    end: int  # the offset behind them
    stop: Stop  # what is there


def name_of(segment: int) -> str:
    return f"{segment:09d}.q"


def segment_ids(queue: Path) -> list[int]:
    """Of the segment files in the directory, in order."""
    return sorted(int(name[:9]) for name in os.listdir(queue) if _NAME.fullmatch(name))


class SegmentView:
    """One whole segment in mapped memory. Closing gives the memory back; messages are copies and stay."""

    def __init__(self, memory: mmap.mmap, segment: int, variant: str | None = None) -> None:
        self.segment, self.size, self.memory = segment, len(memory), memory
        self._ffi, self._lib = core.load(variant)
        self._view = self._ffi.from_buffer(memory)
        self._room = self._ffi.new("chronicle_record[]", _ROOM)
        self._offset, self._count = self._ffi.new("uint64_t *"), self._ffi.new("size_t *")

    @property
    def sealed(self) -> bool:
        header, _ = layouts.parse_prefix(layout.SEGMENT_HEADER, self.memory[:HEADER])
        return bool(header["flags"] & layout.SEALED)

    def scan(self, offset: int = HEADER, limit: int = _ROOM) -> tuple[list[Message], int, Stop]:
        """At most `limit` messages from that offset on, the offset where the scan stopped, and why it stopped there."""
        count, end, stop = self._step(offset, limit)
        return [message_of(self._ffi, self._room[i]) for i in range(count)], end, stop

    def messages(self, offset: int = HEADER) -> Iterator[Message]:
        """All that can be trusted from that offset on."""
        stop = Stop.MORE
        while stop is Stop.MORE:
            found, offset, stop = self.scan(offset)
            yield from found

    def extent(self, offset: int = HEADER) -> Extent:
        """What lies from that offset on; no message is copied."""
        records, first, last, stop = 0, None, None, Stop.MORE
        while stop is Stop.MORE:
            count, offset, stop = self._step(offset)
            if count:
                first = int(self._room[0].seq) if first is None else first
                last = int(self._room[count - 1].seq)
                records += count
        return Extent(records, first, last, offset, stop)

    def find(self, seq: int) -> int:
        """The offset of the first record of that number or a later one, or where the records end."""
        offset, stop = HEADER, Stop.MORE
        while stop is Stop.MORE:
            count, end, stop = self._step(offset)
            for i in range(count if count and self._room[count - 1].seq >= seq else 0):
                record = self._room[i]
                if record.seq >= seq:
                    return int(record.next_offset) - span(int(record.length))
            offset = end
        return offset

    def _step(self, offset: int, limit: int = _ROOM) -> tuple[int, int, Stop]:
        """Fills the room: how many, where it stopped, and why."""
        self._offset[0] = offset
        wanted = min(limit, _ROOM)
        state = self._lib.chronicle_scan_records(self._view, self.size, self.segment, self._offset, self._room, wanted, self._count)
        return int(self._count[0]), int(self._offset[0]), Stop(state)

    def close(self) -> None:
        """Twice is harmless."""
        self._ffi.release(self._view)
        self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def map_segment(queue: Path, segment: int, size: int, variant: str | None = None) -> SegmentView:
    """The live file, read-only. FileNotFoundError where it is gone; LayoutError says what is wrong with it."""
    with opened(queue / name_of(segment)) as file:
        found = os.fstat(file).st_size
        if found != size:
            raise layouts.LayoutError("wrong size", name_of(segment), f"{size} bytes", f"{found} bytes")
        memory = mmap.mmap(file, size, prot=mmap.PROT_READ)
    return checked(memory, segment, variant)


def checked(memory: mmap.mmap, segment: int, variant: str | None = None) -> SegmentView:
    """A view on memory whose header says that it is this segment."""
    try:
        header, _ = layouts.parse_prefix(layout.SEGMENT_HEADER, memory[:HEADER])
        if header["segment_id"] != segment:
            raise layouts.LayoutError("wrong segment", "segment_id, byte 8", segment, header["segment_id"])
    except layouts.LayoutError:
        memory.close()
        raise
    return SegmentView(memory, segment, variant)
