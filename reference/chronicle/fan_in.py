"""Many queues read as one."""

import time
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fireassay.reference import core
from fireassay.reference.chronicle.reader import Message, Reader, message_of, span

__all__ = ["Arrived", "FanIn", "FanInError", "Order"]

_SLICE_S = 0.05  # signals reach Python between slices of a wait


class Order(IntEnum):
    """How records of several queues follow one another; each queue keeps its own order in any case."""

    ARRIVAL = 0  # an equal share for each
    TIME = 1  # by timestamp, among those that are there


@dataclass(frozen=True, slots=True)
class Arrived:
    source: Reader  # to commit on
    message: Message


class FanInError(core.CoreError):
    """One of the queues cannot be read; by arrival the others go on."""

    def __init__(self, source: Reader, error: core.CoreError) -> None:
        super().__init__(-error.status, error.where, error.message)
        self.source = source


class FanIn:
    """Readers come and go while it runs, and stay their owners': it closes none. Used by one thread at a time, as each of them is."""

    def __init__(self, order: Order = Order.ARRIVAL, *, variant: str | None = None) -> None:
        self.order = order
        self._ffi, self._lib = core.load(variant)
        self._err = self._ffi.new("fa_error *")
        self._sources: dict[Path, tuple[Reader, Any]] = {}
        self._turn, self._got, self._bad = (self._ffi.new("size_t *") for _ in range(3))
        self._end = self._ffi.new("int *")
        self._arrange()

    @property
    def readers(self) -> tuple[Reader, ...]:
        return self._readers

    def add(self, reader: Reader) -> None:
        """From the next read on. ValueError where a reader of that queue is there already."""
        key = reader.path.resolve()
        if key in self._sources:
            raise ValueError(f"{reader.path} is read already: a second reader would give its records twice")
        source = self._ffi.new("chronicle_fanin_source *")
        source.reader = reader.native
        self._sources[key] = reader, source
        self._arrange()

    def remove(self, reader: Reader) -> None:
        """From the next read on; the reader stands behind what was delivered of it. KeyError where it was not added."""
        _, source = self._sources.pop(reader.path.resolve())
        self._arrange()
        if source.taken < source.count:
            first = source.records[source.taken]
            reader.seek(first.next_segment, first.next_offset - span(first.length))

    def read_batch(self, limit: int, wait_s: float = 0.0) -> tuple[Arrived, ...]:
        """At most `limit` records; waits for the first one up to that time. FanInError names the queue that cannot be read."""
        room, origins = self._ffi.new("chronicle_record[]", limit), self._ffi.new("uint32_t[]", limit)
        deadline = time.monotonic() + wait_s
        while True:
            status = self._lib.chronicle_fanin_read(
                self._array, len(self._readers), self.order, self._turn, room, origins, limit, self._got, self._end, self._bad, self._err
            )
            if status != 0:
                self._refuse(status)
            left = deadline - time.monotonic()
            if self._got[0] or left <= 0:
                break
            self._wait(min(left, _SLICE_S))
        return tuple(Arrived(self._readers[origins[i]], message_of(self._ffi, room[i])) for i in range(self._got[0]))

    def _refuse(self, status: int) -> None:
        try:
            core.check(self._ffi, self._err, status)
        except core.CoreError as error:
            raise FanInError(self._readers[self._bad[0]], error) from error

    def _wait(self, seconds: float) -> None:
        if not self._readers:
            time.sleep(seconds)  # for somebody to add one
            return
        core.check(
            self._ffi, self._err, self._lib.chronicle_reader_wait_any(self._waiting, len(self._readers), int(seconds * 1e9), self._err)
        )

    def _arrange(self) -> None:
        self._readers = tuple(reader for reader, _ in self._sources.values())
        self._array = self._ffi.new("chronicle_fanin_source *[]", [source for _, source in self._sources.values()])
        self._waiting = self._ffi.new("chronicle_reader *[]", [reader.native for reader in self._readers])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for reader in self._readers:
            self.remove(reader)
