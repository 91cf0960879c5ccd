"""What chronicle costs on this machine, in nanoseconds per record: one round per call, each in a queue of its own."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fireassay.reference import core
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import Writer

__all__ = ["RECORDS", "SEGMENT_SIZE", "speeds"]

RECORDS = 1_000_000
SEGMENT_SIZE = 16 << 20  # so that a round rolls seven times
_WAKES = 100
_PYTHON_BATCH = 1000
_DEADLINE_NS = 60 * 10**9


def speeds(place: Path, length: int = 64, records: int = RECORDS) -> Mapping[str, Callable[[], float]]:
    """append, read and across cost one record; wake is from before an append to the clock of the sleeper that reads it, as median."""
    ffi, lib = core.load()

    def measured(function: Any, figures: Any, count: int) -> Any:
        err = ffi.new("fa_error *")
        cpus = sorted(os.sched_getaffinity(0))
        near, far = (cpus[0], cpus[1]) if len(cpus) > 1 else (-1, -1)
        plan = ffi.new("chronicle_speed *", (SEGMENT_SIZE, count, length, near, far, _DEADLINE_NS))
        with tempfile.TemporaryDirectory(dir=place) as scratch:
            core.check(ffi, err, function(os.fsencode(Path(scratch) / "queue"), plan, *figures, err))
        return figures

    def append_and_read() -> Any:
        both = ffi.new("double[2]")
        measured(lib.chronicle_speed_append_and_read, (both, both + 1), records)
        return both

    def across() -> float:
        (one,) = measured(lib.chronicle_speed_across, (ffi.new("double *"),), records)
        return float(one[0])

    def wake() -> float:
        wakes = min(records, _WAKES)
        (figures,) = measured(lib.chronicle_speed_wake, (ffi.new("double[]", wakes),), wakes)
        return statistics.median(float(figure) for figure in figures)

    def from_python() -> tuple[float, float]:
        payloads = np.zeros((_PYTHON_BATCH, length), np.uint8)
        with tempfile.TemporaryDirectory(dir=place) as scratch, Writer(Path(scratch) / "queue", SEGMENT_SIZE, heartbeat_s=0) as writer:
            start = time.perf_counter_ns()
            for _ in range(max(1, records // _PYTHON_BATCH)):
                writer.append_joined(payloads, length)
            middle, seen = time.perf_counter_ns(), 0
            with Reader(writer.path, "speed") as reader:
                while not (batch := reader.read_columns(_PYTHON_BATCH)).end:
                    seen += len(batch)
            return (middle - start) / writer.next_seq, (time.perf_counter_ns() - middle) / seen

    return {
        "append": lambda: float(append_and_read()[0]),
        "read": lambda: float(append_and_read()[1]),
        "across": across,
        "wake": wake,
        "append from Python": lambda: from_python()[0],
        "read from Python": lambda: from_python()[1],
    }
