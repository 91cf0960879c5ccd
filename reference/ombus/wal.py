"""The WAL: its one writer, and replays of it."""

import os
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from fireassay.reference import core
from fireassay.reference.chronicle.columns import lengths_of
from fireassay.reference.ombus.columns import Columns, gathered, rows_of
from fireassay.reference.ombus.endpoint import Record
from fireassay.reference.ombus.errors import check, text

__all__ = ["ALWAYS", "DEFAULT_FILE_SIZE", "NONE", "Replay", "Wal"]

DEFAULT_FILE_SIZE = 64 << 20
NONE, ALWAYS = 0, 1  # of `sync_every`; N syncs after every N records
_FLAG_CRC = 1
_BATCH = 1024


class Wal:
    """Makes the WAL or recovers it; used by one thread at a time.

    `%06u` in the last part of the path stands for a file's number; without one the WAL is a single file that never rolls.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        file_size: int = DEFAULT_FILE_SIZE,
        crc: bool = True,
        sync_every: int = NONE,
        variant: str | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self._ffi, self._lib = core.load(variant)
        self._err = self._ffi.new("fa_error *")
        self._wal = self._ffi.new("ombus_wal *")
        self._seq, self._done = self._ffi.new("uint64_t *"), self._ffi.new("size_t *")
        kept = text(self._ffi, self.path, "ombus_wal_open")
        config = self._ffi.new("OmWalConfig *", (kept, file_size, sync_every, _FLAG_CRC if crc else 0))
        self._check(self._lib.ombus_wal_open(self._wal, config, self._err))
        self.opened_at = self.last_seq

    @property
    def last_seq(self) -> int:
        """0 before the first record."""
        return int(self._wal.next_seq) - 1

    @property
    def rolls(self) -> int:
        return int(self._wal.rolls)

    def append(self, payload: bytes, wal_type: int = 0x80) -> int:
        """The record's sequence; it survives the death of this process."""
        self._check(self._lib.ombus_wal_append(self._wal, wal_type, payload, len(payload), self._seq, self._err))
        return int(self._seq[0])

    def append_batch(self, records: Sequence[tuple[int, bytes]]) -> tuple[int, ...]:
        """Their sequences, of records (wal_type, payload). An error says in `done` how many are in the WAL."""
        first = self.last_seq + 1
        types, payloads = [wal_type for wal_type, _ in records], [payload for _, payload in records]
        self.append_joined(types, b"".join(payloads), [len(payload) for payload in payloads])
        return tuple(range(first, first + len(records)))

    def append_joined(self, wal_types: Any, payloads: Any, lengths: Any) -> int:
        """As append_batch, without an object per record; the first sequence, from which the others count on."""
        first = self.last_seq + 1
        joined = np.frombuffer(payloads, np.uint8)
        rows = rows_of(0, wal_types, joined, lengths_of(lengths, len(joined)))
        room = self._ffi.from_buffer("OmBusRecord[]", rows, require_writable=True)
        status = self._lib.ombus_wal_append_batch(self._wal, room, len(rows), self._done, self._err)
        check(self._ffi, self._err, status, int(self._done[0]))
        return first

    def sync(self) -> None:
        """Everything appended so far survives power loss."""
        self._check(self._lib.ombus_wal_sync(self._wal, self._err))

    def close(self) -> None:
        """Syncs. Twice is harmless."""
        self._check(self._lib.ombus_wal_close(self._wal, self._err))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _check(self, status: int) -> int:
        return check(self._ffi, self._err, status)


class Replay:
    """The records [from_seq, to_seq) of a WAL, which may be written meanwhile; from 0 = the oldest kept, to 0 = up to the end."""

    def __init__(self, path: str | os.PathLike[str], from_seq: int = 0, to_seq: int = 0, *, variant: str | None = None) -> None:
        self.path = os.fspath(path)
        self._ffi, self._lib = core.load(variant)
        self._err = self._ffi.new("fa_error *")
        self._replay = self._ffi.new("ombus_replay *")
        self._room, self._limit = self._ffi.new("OmBusRecord[]", 1), 1
        kept = text(self._ffi, self.path, "ombus_replay_open")
        check(self._ffi, self._err, self._lib.ombus_replay_open(self._replay, kept, from_seq, to_seq, self._err))

    def read_batch(self, limit: int) -> tuple[Record, ...]:
        """Nothing at the end of the range, or of what is written yet: a later call goes on."""
        found = (self._room[i] for i in range(self._fill(limit)))
        return tuple(Record(one.wal_seq, one.wal_type, self._ffi.buffer(one.payload, one.payload_len)[:]) for one in found)

    def read_columns(self, limit: int) -> Columns:
        """As read_batch, without an object per record."""
        count = self._fill(limit)
        return gathered(self._ffi, self._lib, self._room, count)

    def __iter__(self) -> Iterator[Record]:
        """Up to the end as it is when it is reached."""
        while batch := self.read_batch(_BATCH):
            yield from batch

    def close(self) -> None:
        """Twice is harmless."""
        self._lib.ombus_replay_close(self._replay)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _fill(self, limit: int) -> int:
        if limit > self._limit:
            self._room, self._limit = self._ffi.new("OmBusRecord[]", limit), limit
        return check(self._ffi, self._err, self._lib.ombus_replay_next(self._replay, self._room, limit, self._err))
