"""Floors: what this machine does at best, and the device that sets every other figure beside them.

A shared machine drifts by more than half between runs, so an absolute time says little. `Interleaved` runs floor, subject,
floor, subject … in one run and gives the ratio of each subject's figure to the mean of the two floors around it: drift slower than
a round cancels out, and a jump spoils one round, which the median drops.
"""

import errno
import itertools
import os
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from fireassay.perf._floors import ffi, lib
from fireassay.spec.outcomes import EnvironmentUnfit, HarnessError

__all__ = ["FLOORS", "Comparison", "Floor", "Interleaved", "Ratio", "Sample", "Setting", "measure", "plan", "ratio", "run_native", "table"]

_RING_BYTES = 256 * 1024  # larger than the first cache, smaller than the second
_FILE_BYTES = 1 << 20
_PAGE = 4096
_NO_SYNC = {"tmpfs", "ramfs"}  # a sync there reaches no device


@dataclass(frozen=True, slots=True)
class Sample:
    """Nanoseconds per operation over n figures."""

    p50: float
    p99: float
    n: int
    note: str = ""  # what makes it less than it seems: not pinned, no device under the file


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How to measure. `effort` scales the number of figures; a floor never takes fewer than 16."""

    effort: float = 1.0
    deadline_s: float = 30.0
    directory: Path | None = None  # where the files of the sync floors go; None: the temporary directory
    sabotage: int = 0  # FLOORS_CHILD_DIES or FLOORS_CHILD_STALLS, for tests


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    name: str
    unit: str
    what: str
    measure: Callable[[Setting], Sample]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Of subject to floor: the median of the rounds, and the quartiles as its spread."""

    median: float
    low: float
    high: float
    rounds: int

    @property
    def spread(self) -> float:
        """Width between the quartiles, as a share of the median."""
        return (self.high - self.low) / self.median


def plan(setting: Setting) -> tuple[Any, str]:
    """The C plan and a note on pinning. With one processor both sides share it and give it away while they wait."""
    cpus = sorted(os.sched_getaffinity(0))
    pinned = len(cpus) >= 2
    native = ffi.new(
        "struct floors_plan *",
        {
            "cpu_near": cpus[0] if pinned else -1,
            "cpu_far": cpus[1] if pinned else -1,
            "yields": 0 if pinned else 1,
            "sabotage": setting.sabotage,
            "deadline_ns": int(setting.deadline_s * 1e9),
        },
    )
    return native, "" if pinned else "not pinned: one processor for both sides"


def run_native(
    call: Callable[[Any, int, Any], int], count: int, setting: Setting, what: str
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], str]:
    """Fill `count` figures through a C floor; a negative errno becomes a sentence."""
    figures = np.zeros(count, dtype=np.float64)
    native, note = plan(setting)
    got = call(ffi.from_buffer("double[]", figures, require_writable=True), count, native)
    if got == -errno.ETIMEDOUT:
        raise EnvironmentUnfit(f"floor {what}: not done within {setting.deadline_s:g} s; the machine is overloaded or a process stalls")
    if got == -errno.ECHILD:
        raise EnvironmentUnfit(f"floor {what}: the second process died; look for the out-of-memory killer or a process limit")
    if got < 0:
        raise EnvironmentUnfit(f"floor {what}: {os.strerror(-got)}")
    return figures, note


def _sample(call: Callable[[Any, int, Any], int], base: int, setting: Setting, what: str) -> Sample:
    figures, note = run_native(call, max(16, int(base * setting.effort)), setting, what)
    p50, p99 = np.percentile(figures, (50, 99))
    return Sample(float(p50), float(p99), len(figures), note)


def _clock(setting: Setting) -> Sample:
    return _sample(lambda out, n, native: int(lib.floors_clock(out, n, 1000, native)), 1000, setting, "clock")


def _memcpy(length: int) -> Callable[[Setting], Sample]:
    def run(setting: Setting) -> Sample:
        ring = ffi.from_buffer("unsigned char[]", np.zeros(_RING_BYTES, dtype=np.uint8), require_writable=True)

        def call(out: Any, n: int, native: Any) -> int:
            return int(lib.floors_memcpy(out, n, 1000, ring, _RING_BYTES, length, native))

        return _sample(call, 2000, setting, f"memcpy-{length}")

    return run


def _spsc(setting: Setting) -> Sample:
    return _sample(lambda out, n, native: int(lib.floors_spsc(out, n, 20_000, native)), 200, setting, "spsc")


def _pair(name: str, count: int) -> Callable[[Setting], Sample]:
    function = getattr(lib, f"floors_{name}")

    def run(setting: Setting) -> Sample:
        return _sample(lambda out, n, native: int(function(out, n, native)), count, setting, name)

    return run


@contextmanager
def _preallocated(directory: Path | None) -> Iterator[tuple[int, str]]:
    """An unnamed file of written, synced zeros, and the type of its file system."""
    where = directory or Path(tempfile.gettempdir())
    with tempfile.TemporaryFile(dir=where) as file:
        file.write(bytes(_FILE_BYTES))
        file.flush()
        os.fsync(file.fileno())
        yield file.fileno(), _filesystem(where)


def _filesystem(path: Path) -> str:
    """The type of the mount that holds the path, by the longest mount point above it; later mounts hide earlier ones."""
    real = path.resolve()
    best, kind = -1, "unknown"
    for line in Path("/proc/self/mounts").read_text().splitlines():
        point, fstype = line.split()[1:3]
        point = point.replace("\\040", " ")
        if real.is_relative_to(point) and len(point) >= best:
            best, kind = len(point), fstype
    return kind


def _synced(name: str) -> Callable[[Setting], Sample]:
    function = getattr(lib, f"floors_{name}")

    def run(setting: Setting) -> Sample:
        with _preallocated(setting.directory) as (fd, kind):
            sample = _sample(lambda out, n, native: int(function(out, n, fd, _FILE_BYTES, native)), 500, setting, name)
        return Sample(sample.p50, sample.p99, sample.n, f"on {kind}: no device is reached" if kind in _NO_SYNC else f"on {kind}")

    return run


_ALL = (
    Floor(name="clock", unit="ns", what="clock_gettime(MONOTONIC), batches of 1000", measure=_clock),
    Floor(name="memcpy-64", unit="ns", what="copy of 64 B into a ring, batches of 1000", measure=_memcpy(64)),
    Floor(name="memcpy-232", unit="ns", what="copy of 232 B into a ring, batches of 1000", measure=_memcpy(232)),
    Floor(name="memcpy-1024", unit="ns", what="copy of 1024 B into a ring, batches of 1000", measure=_memcpy(1024)),
    Floor(name="spsc", unit="ns", what="one 64 B record through a bare ring between two processes, batches of 20000", measure=_spsc),
    Floor(
        name="pingpong",
        unit="ns",
        what="two atomics between two processes, round trip with one clock read",
        measure=_pair("pingpong", 50_000),
    ),
    Floor(name="udp", unit="ns", what="64 B over UDP loopback, busy, round trip", measure=_pair("udp", 10_000)),
    Floor(name="tcp", unit="ns", what="64 B over TCP loopback, busy, round trip", measure=_pair("tcp", 10_000)),
    Floor(name="futex", unit="ns", what="futex wake to the first clock read of a sleeping process", measure=_pair("futex", 2000)),
    Floor(name="fdatasync", unit="ns", what="write and fdatasync of 4 KiB, preallocated", measure=_synced("fdatasync")),
    Floor(name="msync", unit="ns", what="store and msync of 4 KiB, preallocated", measure=_synced("msync")),
)
FLOORS: Mapping[str, Floor] = MappingProxyType({floor.name: floor for floor in _ALL})


def _named(name: str) -> Floor:
    try:
        return FLOORS[name]
    except KeyError:
        raise HarnessError(f"no floor named {name!r}; there are {', '.join(FLOORS)}") from None


def measure(name: str, setting: Setting | None = None) -> Sample:
    return _named(name).measure(setting or Setting())


def table(names: Iterable[str] | None = None, setting: Setting | None = None) -> list[dict[str, object]]:
    """One row per floor, in the order asked for; None means all."""
    rows: list[dict[str, object]] = []
    for floor in [_named(name) for name in names] if names else list(FLOORS.values()):
        sample = floor.measure(setting or Setting())
        rows.append(
            {
                "name": floor.name,
                "what": floor.what,
                "unit": floor.unit,
                "p50": round(sample.p50, 1),
                "p99": round(sample.p99, 1),
                "n": sample.n,
                "note": sample.note,
            }
        )
    return rows


def ratio(subject_ns: Sequence[float], floor: Sequence[float]) -> Ratio:
    """Subject to floor, round by round. One floor figure more than subjects: each subject stands between two floors."""
    if not subject_ns or len(floor) - len(subject_ns) not in (0, 1):
        raise HarnessError(f"{len(subject_ns)} subject figures cannot be set beside {len(floor)} floor figures")
    if any(figure <= 0 for figure in (*subject_ns, *floor)):
        raise HarnessError("a figure of zero or less cannot stand in a ratio")
    beside = [(a + b) / 2 for a, b in itertools.pairwise(floor)] if len(floor) > len(subject_ns) else list(floor)
    rounds = sorted(s / f for s, f in zip(subject_ns, beside, strict=True))
    low, high = (rounds[0], rounds[0]) if len(rounds) == 1 else (float(q) for q in np.percentile(rounds, (25, 75)))
    return Ratio(median=statistics.median(rounds), low=low, high=high, rounds=len(rounds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Figures of one interleaved run: per round the subject's, and each floor's p50 before and after it."""

    subject_ns: tuple[float, ...]
    floors_ns: Mapping[str, tuple[float, ...]]

    def ratio(self, floor: str) -> Ratio:
        return ratio(self.subject_ns, self.floors_ns[floor])


@dataclass(frozen=True, slots=True)
class Interleaved:
    """Floors, subject, floors, subject, …, floors. The subject returns its nanoseconds per operation for one round."""

    floors: Sequence[str | Floor]
    subject: Callable[[], float]
    rounds: int = 20
    setting: Setting = Setting(effort=0.05)

    def run(self) -> Comparison:
        if self.rounds < 1:
            raise HarnessError("an interleaved run needs at least one round")
        floors = [floor if isinstance(floor, Floor) else _named(floor) for floor in self.floors]
        beside: dict[str, list[float]] = {floor.name: [] for floor in floors}
        subject: list[float] = []
        for floor in floors:
            beside[floor.name].append(floor.measure(self.setting).p50)
        for _ in range(self.rounds):
            subject.append(float(self.subject()))
            for floor in floors:
                beside[floor.name].append(floor.measure(self.setting).p50)
        return Comparison(subject_ns=tuple(subject), floors_ns={name: tuple(figures) for name, figures in beside.items()})
