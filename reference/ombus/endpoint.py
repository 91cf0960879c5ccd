"""A consumer of a stream."""

import logging
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from fireassay.reference import core
from fireassay.reference.ombus.columns import Columns, gathered
from fireassay.reference.ombus.errors import BusError, check, text
from fireassay.reference.ombus.stream import SHM
from fireassay.spec.layouts.ombus import ErrorCode

__all__ = ["LATEST", "Endpoint", "Gap", "Record"]

LATEST = 0
_RESUME = (1 << 64) - 1
_PAUSE_S = 0.001
_REFERENCES = 3  # to a payload's buffer that nobody looks at: the tuple's, the variable's, the argument's
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Record:
    wal_seq: int
    wal_type: int
    payload: bytes | memoryview  # a view, valid until the next poll, where the endpoint makes no copies


class Gap(BusError):
    """Sequences are missing before `record`: from the first of `missing` up to, not including, the second."""

    def __init__(self, error: BusError, record: Record, missing: tuple[int, int]) -> None:
        super().__init__(error.code, -error.status, error.where, error.message)
        self.record, self.missing = record, missing


class Endpoint:
    """One consumer's place in a stream; used by one thread at a time.

    It goes on where its tail says it was, or from `from_seq`: the sequence behind a cursor of its own, or LATEST. What the ring does
    not hold any more is a Gap at the first poll, to be replayed from the WAL.
    """

    def __init__(
        self,
        name: str,
        consumer: int = 0,
        *,
        from_seq: int | None = None,
        zero_copy: bool = False,
        directory: str | os.PathLike[str] = SHM,
        variant: str | None = None,
    ) -> None:
        self.name, self.consumer, self.zero_copy = name, consumer, zero_copy
        self._ffi, self._lib = core.load(variant)
        self._err = self._ffi.new("fa_error *")
        self._ep = self._ffi.new("ombus_endpoint *")
        self._room, self._limit = self._ffi.new("OmBusRecord[]", 1), 1
        self._views: list[tuple[Any, memoryview]] = []
        self._warned = 0
        kept = text(self._ffi, name, "ombus_endpoint_open")
        config = self._ffi.new("OmBusEndpointConfig *", (kept, consumer, zero_copy))
        start = _RESUME if from_seq is None else from_seq
        self._check(self._lib.ombus_endpoint_open(self._ep, os.fsencode(directory), config, start, self._err))
        self.incarnation = int(self._ep.shm.incarnation)

    @property
    def wal_seq(self) -> int:
        """The last sequence consumed."""
        return int(self._ep.consumed)

    @property
    def expected(self) -> int:
        """The sequence that comes next; 0 where any may."""
        return int(self._ep.expected)

    @property
    def duplicates(self) -> int:
        return int(self._ep.duplicates)

    @property
    def damaged(self) -> int:
        return int(self._ep.damaged)

    @property
    def releases(self) -> int:
        """How often the monitor released it."""
        return int(self._ep.releases)

    def poll(self, wait_s: float = 0.0) -> Record | None:
        """The next record, None where there is none in that time. Gap carries its record with it."""
        deadline = time.monotonic() + wait_s
        while True:
            self._let_go()
            count = self._result(self._lib.ombus_endpoint_poll(self._ep, self._room, self._err))
            if count:
                return self._record(0)
            if time.monotonic() >= deadline:
                return None
            time.sleep(_PAUSE_S)

    def poll_batch(self, limit: int) -> tuple[Record, ...]:
        return tuple(self._record(i) for i in range(self._fill(limit)))

    def poll_columns(self, limit: int) -> Columns:
        """As poll_batch, without an object per record."""
        count = self._fill(limit)
        return gathered(self._ffi, self._lib, self._room, count)

    def __iter__(self) -> Iterator[Record]:
        """What is there, up to the first empty poll."""
        while (record := self.poll()) is not None:
            yield record

    def close(self) -> None:
        """Its place is given up, and its tail keeps the last sequence consumed. Twice is harmless."""
        self._let_go()
        self._check(self._lib.ombus_endpoint_close(self._ep, self._err))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _fill(self, limit: int) -> int:
        if limit > self._limit:
            self._room, self._limit = self._ffi.new("OmBusRecord[]", limit), limit
        self._let_go()
        return self._result(self._lib.ombus_endpoint_poll_batch(self._ep, self._room, limit, self._err))

    def _let_go(self) -> None:
        """The next poll takes these bytes back, so nobody may look at them any more."""
        while self._views:
            buffer, view = self._views[-1]
            view.release()
            if sys.getrefcount(buffer) > _REFERENCES:
                raise BufferError(f"part of a payload of {self.name} is still looked at: release every view of it before the next poll")
            self._views.pop()

    def _record(self, index: int) -> Record:
        one = self._room[index]
        payload = self._ffi.buffer(one.payload, one.payload_len)
        if not self.zero_copy:
            return Record(one.wal_seq, one.wal_type, payload[:])
        view = memoryview(payload).toreadonly()
        self._views.append((payload, view))
        return Record(one.wal_seq, one.wal_type, view)

    def _result(self, result: int) -> int:
        if self._ep.duplicates != self._warned:
            _log.warning("%s: %d duplicates skipped before %d", self.name, self._ep.duplicates - self._warned, self._ep.expected)
            self._warned = self._ep.duplicates
        if result != ErrorCode.GAP_DETECTED:
            return self._check(result)
        try:
            return self._check(result)
        except BusError as error:
            missing = (int(self._ep.missing_from), int(self._ep.missing_to))
            raise Gap(error, self._record(0), missing) from None

    def _check(self, status: int) -> int:
        return check(self._ffi, self._err, status)
