"""READY and LEASE: two small files in a queue's directory that say who is there.

READY appears when its owner has finished its start and goes when it leaves; LEASE says again and again that the owner lives. Both hold
the layout chronicle.lease {pid, epoch, timestamp_ns} and are written as NAME.tmp and renamed, so that nobody sees half of one. A kill
leaves both behind: an owner that starts again takes READY away first, and a lease tells its age.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from fireassay.reference.files import read_small, replace
from fireassay.reference.mutants import is_selected
from fireassay.spec import layouts
from fireassay.spec.layouts import LayoutError
from fireassay.spec.layouts import chronicle as layout

__all__ = ["LEASE", "READY", "Lease", "Mark", "clear_ready", "is_ready", "lease_of", "mark_ready", "ready_of"]

READY = "READY"
LEASE = "LEASE"


@dataclass(frozen=True, slots=True)
class Mark:
    """What stands in READY or LEASE."""

    pid: int
    epoch: int
    timestamp_ns: int

    def age_s(self, now_ns: int | None = None) -> float:
        return ((time.time_ns() if now_ns is None else now_ns) - self.timestamp_ns) / 1e9


def mark_ready(endpoint: Path, epoch: int = 0, now_ns: int | None = None) -> Mark:
    """Initialisation is complete: whoever sees READY may attach. Not before the queue can be opened."""
    mark = _mark(epoch, now_ns)
    if is_selected("chronicle_ready_early"):
        (endpoint / READY).touch()
        time.sleep(0.05)
    replace(endpoint / READY, _packed(mark), durable=True)
    return mark


def clear_ready(endpoint: Path) -> None:
    """Nobody may attach from now on. Twice is harmless."""
    (endpoint / READY).unlink(missing_ok=True)


def is_ready(endpoint: Path) -> bool:
    return os.path.lexists(endpoint / READY)


def ready_of(endpoint: Path) -> Mark | None:
    """Who said so, or None where nobody did. LayoutError where the file is not whole."""
    return _read(endpoint / READY)


def lease_of(endpoint: Path) -> Mark | None:
    """The last sign of life, or None where there is none. LayoutError where the file is not whole."""
    return _read(endpoint / LEASE)


class Lease:
    """Says that this process lives, whenever its owner calls `refresh`; the file goes when the block ends."""

    def __init__(self, endpoint: Path, epoch: int = 0, clock: Callable[[], int] = time.time_ns) -> None:
        self.endpoint, self.epoch = endpoint, epoch
        self._clock, self._written = clock, False

    def refresh(self) -> Mark:
        """Not made durable: a lease that survives a power cut would be of a process that did not."""
        mark = _mark(self.epoch, self._clock())
        if not (self._written and is_selected("chronicle_lease_stale")):
            replace(self.endpoint / LEASE, _packed(mark), durable=False)
        self._written = True
        return mark

    def release(self) -> None:
        """Twice is harmless."""
        self._written = False
        (self.endpoint / LEASE).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        self.refresh()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()


def _mark(epoch: int, now_ns: int | None) -> Mark:
    return Mark(os.getpid(), epoch, time.time_ns() if now_ns is None else now_ns)


def _packed(mark: Mark) -> bytes:
    return layouts.build(layout.LEASE, {"pid": mark.pid, "epoch": mark.epoch, "timestamp_ns": mark.timestamp_ns})


def _read(path: Path) -> Mark | None:
    try:
        data = read_small(path, layout.LEASE.size)
    except FileNotFoundError:
        return None
    try:
        return Mark(**layouts.parse(layout.LEASE, data))
    except LayoutError as error:
        raise LayoutError(error.what, f"{path}: {error.where}", error.expected, error.found) from None
