"""The producer of a stream."""

import os
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fireassay.reference import core
from fireassay.reference.chronicle.columns import lengths_of
from fireassay.reference.ombus.columns import rows_of
from fireassay.reference.ombus.errors import BusError, check, text
from fireassay.spec.layouts.ombus import ErrorCode

__all__ = ["FLAG_CRC", "SHM", "Stream"]

SHM = "/dev/shm"
FLAG_CRC = 1
_SLICE_NS = 50_000_000  # signals reach Python between slices of a wait


class Stream:
    """Makes the stream, in place of one whose producer is dead; used by one thread at a time."""

    def __init__(
        self,
        name: str,
        *,
        capacity: int = 4096,
        slot_size: int = 256,
        consumers: int = 8,
        crc: bool = False,
        directory: str | os.PathLike[str] = SHM,
        variant: str | None = None,
    ) -> None:
        self.name = name
        self._ffi, self._lib = core.load(variant)
        self._err = self._ffi.new("fa_error *")
        self._stream = self._ffi.new("ombus_stream *")
        self._done = self._ffi.new("size_t *")
        kept = text(self._ffi, name, "ombus_stream_create")
        config = self._ffi.new("OmBusStreamConfig *", (kept, capacity, slot_size, consumers, FLAG_CRC if crc else 0))
        self._check(self._lib.ombus_stream_create(self._stream, os.fsencode(directory), config, self._err))
        self.max_payload = int(self._stream.max_payload)
        self.incarnation = int(self._stream.shm.incarnation)

    @property
    def head(self) -> int:
        """Records published so far."""
        return int(self._stream.head)

    @property
    def waits(self) -> int:
        """How often the ring was full."""
        return int(self._stream.waits)

    def publish(self, wal_seq: int, payload: bytes, wal_type: int = 0x80, timeout_s: float | None = None) -> None:
        """Waits for room; BusError with code BLOCKED after that time."""

        def call() -> int:
            return int(self._lib.ombus_stream_publish(self._stream, wal_seq, wal_type, payload, len(payload), self._err))

        self._insist(call, timeout_s)

    def publish_batch(self, records: Iterable[tuple[int, int, bytes]], timeout_s: float | None = None) -> None:
        """Records of (wal_seq, wal_type, payload). An error says in `done` how many are published."""
        seqs, types, payloads = zip(*records, strict=True) if records else ((), (), ())
        self.publish_joined(seqs, types, b"".join(payloads), [len(payload) for payload in payloads], timeout_s)

    def publish_joined(
        self, wal_seqs: int | Sequence[int] | NDArray[Any], wal_types: Any, payloads: Any, lengths: Any, timeout_s: float | None = None
    ) -> None:
        """As publish_batch, without an object per record: payloads one after another, each column a number or one number per record."""
        joined = np.frombuffer(payloads, np.uint8)
        rows = rows_of(wal_seqs, wal_types, joined, lengths_of(lengths, len(joined)))
        room = self._ffi.from_buffer("OmBusRecord[]", rows)
        done = 0

        def call() -> int:
            nonlocal done
            left = len(rows) - done
            status = int(self._lib.ombus_stream_publish_batch(self._stream, room + done, left, self._done, self._err))
            done += int(self._done[0])
            return status

        try:
            self._insist(call, timeout_s)
        except BusError as error:
            error.done = done
            raise

    def _insist(self, call: Any, timeout_s: float | None) -> None:
        deadline = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        while True:
            self._stream.block_ns = int(max(0.0, min(_SLICE_NS, (deadline - time.monotonic()) * 1e9)))
            status = call()
            if status != ErrorCode.BLOCKED or time.monotonic() >= deadline:
                self._check(status)
                return

    def close(self) -> None:
        """Retires the stream and removes its name; its consumers read what is left. Twice is harmless."""
        self._check(self._lib.ombus_stream_destroy(self._stream, self._err))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _check(self, status: int) -> int:
        return check(self._ffi, self._err, status)
