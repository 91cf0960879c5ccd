"""The one writer of a queue."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from fireassay.reference import core
from fireassay.reference.chronicle.heart import Heart
from fireassay.reference.chronicle.limits import UNBOUNDED, Limits, Retained, retained
from fireassay.reference.chronicle.reservation import Reservation

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DEFAULT_SEGMENT_SIZE", "HEARTBEAT_S", "PAD", "Appended", "Writer"]

Bytes: TypeAlias = "bytes | bytearray | memoryview | NDArray[Any]"
DEFAULT_SEGMENT_SIZE = 1 << 20
HEARTBEAT_S = 0.25
PAD = 0xFFFF


class Appended(core.CoreError):
    """A batch that ended in the middle: `seqs` are in the queue, of the others there is no trace."""

    def __init__(self, error: core.CoreError, seqs: tuple[int, ...]) -> None:
        super().__init__(-error.status, error.where, error.message)
        self.seqs = seqs


class Writer:
    """Makes the queue or takes it over; used by one thread at a time. Its heartbeat goes on while it is idle."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        segment_size: int = DEFAULT_SEGMENT_SIZE,
        *,
        heartbeat_s: float = HEARTBEAT_S,
        limits: Limits = UNBOUNDED,
        checked: bool = True,
        variant: str | None = None,
    ) -> None:
        self.path = Path(path)
        self._ffi, self._lib = core.load(variant)
        self._err = self._ffi.new("fa_error *")
        self._writer = self._ffi.new("chronicle_writer *")
        self._open = False
        self._check(self._lib.chronicle_writer_open(self._writer, os.fsencode(self.path), segment_size, self._err))
        self._open = True
        self.segment_size = int(self._writer.segment_size)
        self.max_payload = int(self._lib.chronicle_writer_max_payload(self._writer))
        self.epoch = int(self._writer.epoch)
        self.opened_at = self.next_seq
        try:
            self._lib.chronicle_writer_limit(self._writer, limits.native(self._ffi, self.segment_size))
        except ValueError:
            self._lib.chronicle_writer_close(self._writer, self._ffi.NULL)
            raise
        self._lib.chronicle_writer_check_records(self._writer, checked)  # without, a torn page is served as if it were whole
        self._heart = Heart(lambda: self._lib.chronicle_writer_heartbeat(self._writer), heartbeat_s)

    @property
    def next_seq(self) -> int:
        """The number that the next record gets."""
        return int(self._writer.next_seq)

    def append(self, payload: bytes, type_id: int = 0, flags: int = 0, timestamp_ns: int | None = None) -> int:
        """The record's number; it is visible now and survives the death of this process. An importer gives the timestamp itself."""
        if timestamp_ns is not None:
            return self.append_stamped([(timestamp_ns, type_id, flags, payload)])[0]
        seq = self._ffi.new("uint64_t *")
        self._check(self._lib.chronicle_writer_append(self._writer, type_id, flags, payload, len(payload), seq, self._err))
        return int(seq[0])

    def append_batch(self, payloads: Sequence[bytes], type_id: int = 0, flags: int = 0) -> tuple[int, ...]:
        """Their numbers, in order; Appended where the batch ended in the middle."""
        count = len(payloads)
        seqs, done = self._ffi.new("uint64_t[]", count), self._ffi.new("size_t *")
        lengths = self._ffi.new("uint64_t[]", [len(payload) for payload in payloads])
        joined = b"".join(payloads)
        status = self._lib.chronicle_writer_append_batch(self._writer, type_id, flags, joined, lengths, count, seqs, done, self._err)
        return self._numbers(tuple(self._ffi.unpack(seqs, done[0])) if done[0] else (), status)

    def append_joined(self, payloads: Bytes, lengths: "int | Sequence[int] | NDArray[Any]", type_id: int = 0, flags: int = 0) -> range:
        """Payloads that lie one after another, all of one length or of the lengths given; their numbers. Appended as above."""
        from fireassay.reference.chronicle.columns import lengths_of  # numpy costs more than the rest of a process's start

        view = self._ffi.from_buffer("char[]", payloads)
        row = lengths_of(lengths, len(view))
        first, done = self.next_seq, self._ffi.new("size_t *")
        room = self._ffi.from_buffer("uint64_t[]", row)
        status = self._lib.chronicle_writer_append_batch(
            self._writer, type_id, flags, view, room, len(row), self._ffi.NULL, done, self._err
        )
        written = range(first, first + done[0])
        self._numbers(tuple(written) if status else (), status)
        return written

    def _numbers(self, written: tuple[int, ...], status: int) -> tuple[int, ...]:
        if status == 0:
            return written
        try:
            core.check(self._ffi, self._err, status)
        except core.CoreError as error:
            raise Appended(error, written) from error
        raise AssertionError(status)

    def append_stamped(self, records: Sequence[tuple[int, int, int, bytes]]) -> tuple[int, ...]:
        """Records of (timestamp_ns, type_id, flags, payload); their numbers, in order. Appended where it ended in the middle."""
        room = self._ffi.new("chronicle_record[]", len(records))
        payloads = [self._ffi.from_buffer(record[3]) for record in records]  # keeps them where they are
        for at, (timestamp_ns, type_id, flags, payload) in enumerate(records):
            one = room[at]
            one.timestamp_ns, one.type_id, one.flags = timestamp_ns, type_id, flags
            one.payload, one.length = payloads[at], len(payload)
        return self.append_records(room, len(records))

    def append_records(self, records: Any, count: int) -> tuple[int, ...]:
        """As append_stamped, from an array of the core such as a reader fills."""
        first, done = self.next_seq, self._ffi.new("size_t *")
        status = self._lib.chronicle_writer_append_records(self._writer, records, count, done, self._err)
        return self._numbers(tuple(range(first, first + done[0])), status)

    def reserve(self, length: int, type_id: int = 0, flags: int = 0) -> Reservation:
        """Room in the queue for a payload of at most that length, to be filled in a `with` block."""
        return Reservation(self._ffi, self._lib, self._writer, type_id, flags, length)

    def flush_async(self) -> None:
        """The kernel begins to write what was appended; nothing is promised."""
        self._check(self._lib.chronicle_flush_async(self._writer, self._err))

    def flush_sync(self) -> None:
        """Everything appended so far, by earlier writers too, survives power loss."""
        self._check(self._lib.chronicle_flush_sync(self._writer, self._err))

    def retain(self, room: int = 64) -> Retained:
        """Deletes the segments that no live reader needs, and tells at most `room` readers as it found them."""
        told, out = self._ffi.new("chronicle_standing_of[]", room), self._ffi.new("chronicle_retained *")
        err = self._ffi.new("fa_error *")  # any thread may call this
        core.check(self._ffi, err, self._lib.chronicle_writer_retain(self._writer, told, room, out, err))
        return retained(self._ffi, out, told, room)

    def heartbeat(self) -> None:
        if self._open:
            self._lib.chronicle_writer_heartbeat(self._writer)

    def close(self) -> None:
        """Twice is harmless."""
        if not self._open:
            return
        self._heart.stop()
        self._open = False
        self._check(self._lib.chronicle_writer_close(self._writer, self._err))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _check(self, status: int) -> Any:
        return core.check(self._ffi, self._err, status)
