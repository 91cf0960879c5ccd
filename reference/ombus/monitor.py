"""Finds consumers that hold a producer up, and can release them."""

import os
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from fireassay.reference import core
from fireassay.reference.ombus.errors import check, text
from fireassay.reference.ombus.stream import SHM

__all__ = ["Monitor", "Watched"]

_UNREGISTERED = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Watched:
    consumer: int
    tail: int
    wal_seq: int  # the last one it consumed
    behind: int  # records it has yet to read
    for_s: float  # how long it has been behind at this very tail, as far as was looked
    stale: bool


class Monitor:
    """Looks from outside, in any process; a consumer is stale when it is behind and stood still for `stale_s`."""

    def __init__(self, name: str, stale_s: float = 5.0, *, directory: str | os.PathLike[str] = SHM, variant: str | None = None) -> None:
        self.name, self.stale_s = name, stale_s
        self._ffi, self._lib = core.load(variant)
        self._err = self._ffi.new("fa_error *")
        self._monitor = self._ffi.new("ombus_monitor *")
        kept = text(self._ffi, name, "ombus_monitor_open")
        self._check(self._lib.ombus_monitor_open(self._monitor, os.fsencode(directory), kept, self._err))

    def look(self, now_ns: int | None = None) -> tuple[Watched, ...]:
        """The consumers that are there. Time counts from look to look, so look more often than `stale_s`."""
        now = time.monotonic_ns() if now_ns is None else now_ns
        self._check(self._lib.ombus_monitor_look(self._monitor, now, int(self.stale_s * 1e9), self._err))
        found = ((i, self._monitor.seen[i]) for i in range(self._monitor.shm.max_consumers))
        return tuple(
            Watched(i, one.tail, one.wal_seq, one.behind, (now - one.since_ns) / 1e9 if one.since_ns else 0.0, bool(one.stale))
            for i, one in found
            if one.tail != _UNREGISTERED
        )

    def release(self, consumer: int) -> bool:
        """False where it has moved since the last look, and stays. Released, it holds nobody up and will find its gap."""
        return bool(self._check(self._lib.ombus_monitor_release(self._monitor, consumer, self._err)))

    def release_stale(self) -> tuple[Watched, ...]:
        """Those that were stale at this look and are released."""
        return tuple(one for one in self.look() if one.stale and self.release(one.consumer))

    def close(self) -> None:
        """Twice is harmless."""
        self._check(self._lib.ombus_monitor_close(self._monitor, self._err))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _check(self, status: int) -> int:
        return check(self._ffi, self._err, status)
