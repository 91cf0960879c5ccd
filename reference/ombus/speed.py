"""What om_bus costs on this machine, in nanoseconds per record: one round per call, each in a stream of its own."""

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fireassay.reference import core
from fireassay.reference.ombus.errors import check
from fireassay.reference.ombus.stream import FLAG_CRC, SHM

__all__ = ["figures", "speeds"]

_DEADLINE_NS = 60 * 10**9


def figures(
    what: str,
    count: int,
    batch: int,
    *,
    length: int = 64,
    group: int = 1,
    slot_size: int = 256,
    capacity: int = 4096,
    crc: bool = False,
    zero_copy: bool = False,
    place: Path | str = SHM,
    variant: str | None = None,
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Of ombus_speed_WHAT: one figure per `batch` records."""
    ffi, lib = core.load(variant)
    err = ffi.new("fa_error *")
    cpus = sorted(os.sched_getaffinity(0))
    near, far = (cpus[0], cpus[1]) if len(cpus) > 1 else (-1, -1)
    found = np.zeros(count, np.float64)
    with tempfile.TemporaryDirectory(dir=place) as scratch:
        kept = ffi.new("char[]", os.fsencode(scratch))
        sizes = (kept, count, batch, length, group, slot_size, capacity, FLAG_CRC if crc else 0, zero_copy)
        plan = ffi.new("ombus_speed *", (*sizes, near, far, _DEADLINE_NS))
        room = ffi.from_buffer("double[]", found, require_writable=True)
        check(ffi, err, getattr(lib, f"ombus_speed_{what}")(plan, room, err))
    return found


def speeds(place: Path, effort: float = 1.0) -> Mapping[str, Callable[[], float]]:
    """The median figure of each subject. Streams lie in shared memory, the WAL in `place`."""

    def median(what: str, count: int, batch: int, **more: Any) -> Callable[[], float]:
        return lambda: float(np.median(figures(what, max(2, int(count * effort)), batch, **more)))

    return {
        "publish and poll": median("local", 500, 1000),
        "publish and poll, CRC": median("local", 500, 1000, crc=True),
        "publish and poll, no copy": median("local", 500, 1000, zero_copy=True),
        "across": median("across", 50, 20_000),
        "across, batches": median("across", 50, 20_000, group=32),
        "round trip": median("round_trip", 20_000, 1),
        "WAL append": median("wal", 200, 1000, place=place),
        "WAL append, CRC": median("wal", 200, 1000, crc=True, place=place),
    }
