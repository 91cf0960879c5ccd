"""A reader of a queue, under a name that keeps its place."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from fireassay.reference import core
from fireassay.reference.chronicle.heart import Heart
from fireassay.reference.chronicle.status import DisconnectReason, WriterState, WriterStatus
from fireassay.reference.chronicle.writer import DEFAULT_SEGMENT_SIZE, Appended, Writer
from fireassay.spec.outcomes import ErrorClass

if TYPE_CHECKING:
    from fireassay.reference.chronicle.columns import Columns

__all__ = ["HEADER", "HEARTBEAT_S", "Batch", "BusyPoll", "Copied", "Hybrid", "Message", "Reader", "WaitStrategy", "message_of", "span"]

HEADER = 64  # of a segment and of a record; records begin at multiples of it

HEARTBEAT_S = 1.0
_SLICE_S = 0.05  # signals reach Python between slices of a wait


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Spins, then sleeps until the writer has something."""

    spin_us: float = 10.0


@dataclass(frozen=True, slots=True)
class BusyPoll:
    """Looks again and again, with that pause in between, and never sleeps on the queue."""

    pause_s: float = 0.0


WaitStrategy = Hybrid | BusyPoll


@dataclass(frozen=True, slots=True)
class Message:
    seq: int
    timestamp_ns: int
    type_id: int
    flags: int
    payload: bytes
    next: tuple[int, int]  # (segment, offset) to commit when this message is done with


@dataclass(frozen=True, slots=True)
class Batch:
    messages: tuple[Message, ...]
    end: bool  # the reader stood at the end of the log


@dataclass(frozen=True, slots=True)
class Copied:
    count: int
    next: tuple[int, int] | None  # to commit when the copies are safe; None where there were none
    end: bool


def span(length: int) -> int:
    """What a record of that length takes up in its segment."""
    return HEADER + length + -length % HEADER


def message_of(ffi: Any, record: Any) -> Message:
    """A copy of what the core points to."""
    return Message(
        record.seq,
        record.timestamp_ns,
        record.type_id,
        record.flags,
        ffi.buffer(record.payload, record.length)[:],
        (record.next_segment, record.next_offset),
    )


class Reader:
    """Resumes at its last commit, or starts at the oldest segment; used by one thread at a time."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        name: str,
        *,
        local_size: int = DEFAULT_SEGMENT_SIZE,
        strategy: WaitStrategy = Hybrid(),
        heartbeat_s: float = HEARTBEAT_S,
        variant: str | None = None,
    ) -> None:
        self.path, self.name = Path(path), name
        self._ffi, self._lib = core.load(variant)
        self._err = self._ffi.new("fa_error *")
        self._reader = self._ffi.new("chronicle_reader *")
        self._count, self._end = self._ffi.new("size_t *"), self._ffi.new("int *")
        self._room, self._limit = self._ffi.NULL, 0
        self._open = False
        if "\0" in name:
            raise core.CoreError(-(ErrorClass.INVALID << 16), "chronicle_reader_open", "a reader's name holds no NUL")
        self._check(self._lib.chronicle_reader_open(self._reader, os.fsencode(self.path), os.fsencode(name), local_size, self._err))
        self._open = True
        busy = isinstance(strategy, BusyPoll)
        pause_ns = strategy.pause_s * 1e9 if isinstance(strategy, BusyPoll) else strategy.spin_us * 1e3
        self._lib.chronicle_reader_set_wait(self._reader, int(busy), int(pause_ns))
        self.opened_at = int(self._reader.next_seq)  # the number of the first record it will read
        self.was_reset = bool(self._reader.was_reset)
        self.segment_size = int(self._reader.segment_size)
        self._heart = Heart(self.heartbeat, heartbeat_s)

    @property
    def native(self) -> Any:
        """The core's own, for calls that take several."""
        return self._reader

    def read_batch(self, limit: int, wait_s: float = 0.0) -> Batch:
        """At most `limit` messages; waits for the first one up to that time."""
        self._fill(limit, wait_s)
        return Batch(tuple(message_of(self._ffi, self._room[i]) for i in range(self._count[0])), bool(self._end[0]))

    def read_columns(self, limit: int, wait_s: float = 0.0) -> "Columns":
        """As read_batch, without an object per record."""
        from fireassay.reference.chronicle.columns import gathered  # numpy costs more than the rest of a process's start

        self._fill(limit, wait_s)
        return gathered(self._ffi, self._lib, self._room, int(self._count[0]), bool(self._end[0]))

    def copy_to(self, writer: Writer, limit: int, wait_s: float = 0.0) -> Copied:
        """Appends its next messages to another queue as they are. One that the other refuses is the next to be read."""
        self._fill(limit, wait_s)
        count, records = int(self._count[0]), self._room
        try:
            writer.append_records(records, count)
        except Appended as error:
            refused = records[len(error.seqs)]
            self.seek(refused.next_segment, refused.next_offset - span(refused.length))
            raise
        place = (int(records[count - 1].next_segment), int(records[count - 1].next_offset)) if count else None
        return Copied(count, place, bool(self._end[0]))

    def _fill(self, limit: int, wait_s: float) -> None:
        if limit > self._limit:
            self._room, self._limit = self._ffi.new("chronicle_record[]", limit), limit
        deadline = time.monotonic() + wait_s
        while True:
            self._check(self._lib.chronicle_reader_read(self._reader, self._room, limit, self._count, self._end, self._err))
            left = deadline - time.monotonic()
            if self._count[0] or not self._end[0] or left <= 0:
                break
            self.wait(left)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Whether there is something to read, or to be told; False after the time."""
        deadline = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        left = deadline - time.monotonic()
        while not self._check(self._lib.chronicle_reader_wait(self._reader, int(max(0.0, min(left, _SLICE_S)) * 1e9), self._err)):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
        return True

    @property
    def late(self) -> int:
        """How often a sleep found its record only when its time was over: wake-ups that were lost, or came in that very instant."""
        return int(self._reader.late)

    def seek(self, segment: int, offset: int) -> None:
        """The next message read is the one that begins at that place between two records."""
        self._check(self._lib.chronicle_reader_seek(self._reader, segment, offset, self._err))

    def seek_number(self, number: int) -> int:
        """The next message read is the first with at least that number; which one that is."""
        return self._sought(self._lib.chronicle_seek_number, number)

    def seek_time(self, timestamp_ns: int) -> int:
        """The next message read is the first with at least that timestamp, or that comes; its number."""
        return self._sought(self._lib.chronicle_seek_time, timestamp_ns)

    def _sought(self, seek: Callable[[Any, int, Any, Any], int], wanted: int) -> int:
        granted = self._ffi.new("uint64_t *")
        self._check(seek(self._reader, wanted, granted, self._err))
        return int(granted[0])

    def seek_oldest(self) -> None:
        """The next message read is the oldest there is; the way on for a reader whose segment has been deleted."""
        self._check(self._lib.chronicle_reader_seek_oldest(self._reader, self._err))

    @property
    def place(self) -> tuple[int, int]:
        """(segment, offset) where the next read begins: to commit there is to be done with everything before."""
        segment, offset = self._ffi.new("uint32_t *"), self._ffi.new("uint64_t *")
        self._lib.chronicle_reader_where(self._reader, segment, offset)
        return int(segment[0]), int(offset[0])

    @property
    def missing(self) -> bool:
        """Whether what it would read next has been deleted."""
        return bool(self._reader.missing)

    def heartbeat(self) -> None:
        """Says that this reader lives, so that what it has not committed is kept for it; its own thread does so too."""
        if self._open:
            self._lib.chronicle_reader_heartbeat(self._reader)

    def commit(self, segment: int, offset: int) -> None:
        """Everything before that place is done with; survives the death of this process."""
        self._check(self._lib.chronicle_reader_commit(self._reader, segment, offset, self._err))

    def writer_position(self) -> tuple[int, int]:
        """(segment, offset) as the writer published them, read under the seqlock; a hint."""
        segment, offset = self._ffi.new("uint32_t *"), self._ffi.new("uint64_t *")
        self._check(self._lib.chronicle_reader_writer_position(self._reader, segment, offset, self._err))
        return int(segment[0]), int(offset[0])

    def writer_status(self, ttl_s: float) -> WriterStatus:
        """Whether somebody writes, by its lock and its heartbeat; may be asked at any time and changes nothing."""
        found = self._ffi.new("chronicle_writer_status *")
        self._check(self._lib.chronicle_status_writer(self._reader, int(ttl_s * 1e9), found, self._err))
        return WriterStatus(WriterState(found.state), int(found.pid), int(found.epoch), int(found.heartbeat_ns), found.age_ns / 1e9)

    def detect_disconnect(self, ttl_s: float) -> DisconnectReason | None:
        """Why nothing more is to be expected here, if so. What to do about it is up to the caller."""
        reason = self._check(self._lib.chronicle_status_disconnect(self._reader, int(ttl_s * 1e9), self._err))
        return list(DisconnectReason)[reason - 1] if reason else None

    def writer_epoch(self) -> int:
        return int(self._lib.chronicle_reader_writer_epoch(self._reader))

    def writer_heartbeat_ns(self) -> int:
        return int(self._lib.chronicle_reader_writer_heartbeat(self._reader))

    def close(self) -> None:
        """Its place stays, and is held until the TTL has passed: a reader of that name resumes there. Twice is harmless."""
        self._end_with(self._lib.chronicle_reader_close)

    def unregister(self) -> None:
        """Closes it for good: nobody resumes, and nothing is held for it any more. After a close it does nothing."""
        self._end_with(self._lib.chronicle_reader_unregister)

    def _end_with(self, end: Callable[[Any, Any], int]) -> None:
        if self._open:
            self._heart.stop()
            self._open = False
            self._check(end(self._reader, self._err))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _check(self, status: int) -> Any:
        return core.check(self._ffi, self._err, status)
