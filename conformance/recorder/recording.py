"""Reads what the flight recorder wrote, whether its process closed it, was killed, or still runs.

The format and its 'valid if and only if' rule open flight_recorder.h. Whatever breaks the rule is a RecordingError that names the
file and the field; lengths are checked before memory is mapped. A row's value may still rise while its writer lives.
"""

import os
import re
import stat
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fireassay.spec.history.ops import Op, Phase
from fireassay.spec.history.row import ROW_SIZE, Row, unpack
from fireassay.spec.outcomes import HarnessError

__all__ = [
    "HEADER_SIZE",
    "ROW_DTYPE",
    "Actor",
    "ClockDomain",
    "Header",
    "Recording",
    "RecordingError",
    "Role",
    "State",
    "find_recordings",
    "open_recording",
]

MAGIC = b"FAREC\r\n\x1a"
VERSION = 1
HEADER_SIZE = 4096
ACTORS_MAX = 62
PREAMBLE = struct.Struct("<8sIIII QQQQ 16s QQQ II QQ II")
ENTRY = struct.Struct("<I B 3x IIII Q 32s")
SUFFIX = re.compile(r"\.(\d{3})\.farec$")
TRIES = 1000
CAPACITY_MAX = 1 << 34
AT_ONCE = 1 << 20  # rows looked at together: memory follows this, not the capacity that a file claims

ROW_DTYPE = np.dtype(
    [
        ("t_ns", "<u8"),
        ("t_intended_ns", "<u8"),
        ("seq", "<u8"),
        ("key", "<u8"),
        ("value", "<u8"),
        ("actor", "<u4"),
        ("stream", "<u4"),
        ("op", "u1"),
        ("phase", "u1"),
        ("flags", "<u2"),
        ("status", "<i4"),
        ("digest", "<u4"),
        ("call", "<u4"),
    ]
)


class RecordingError(HarnessError):
    """A file that is no valid recording; says which and why."""


class Role(IntEnum):
    PRODUCER = 1
    READER = 2
    MEMBER = 3  # of a competing group
    HARNESS = 4
    CHAOS = 5
    DRAIN = 6
    WATCHDOG = 7


class State(IntEnum):
    OPEN = 0  # or its writer died
    CHAINED = 1
    CLOSED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    actor: int
    role: Role
    name: str = ""
    pid: int = 0
    incarnation: int = 0
    group: int = 0
    start_ticks: int = 0


@dataclass(frozen=True, slots=True)
class ClockDomain:
    """Times are comparable, within epsilon, only if all three are equal."""

    host: int
    boot_id: str
    time_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    part: int
    capacity: int
    nonce: int
    epsilon_ns: int
    clock: ClockDomain
    start_mono: int
    start_real: int
    pid: int
    start_ticks: int
    lost: int
    state: State
    actors: tuple[Actor, ...] = field(repr=False)

    @property
    def identity(self) -> tuple[object, ...]:
        """What all parts of one recording have in common."""
        return (self.capacity, self.nonce, self.epsilon_ns, self.clock, self.start_mono, self.start_real, self.pid, self.start_ticks)


@dataclass(frozen=True)
class Recording:
    """All parts of one recording, in order; `chunks` are views of the mapped files."""

    name: str
    paths: tuple[Path, ...]
    headers: tuple[Header, ...]
    chunks: tuple[npt.NDArray[np.void], ...] = field(repr=False)

    @property
    def header(self) -> Header:
        """The last part's: it has every actor."""
        return self.headers[-1]

    @property
    def actors(self) -> tuple[Actor, ...]:
        return self.header.actors

    @property
    def lost(self) -> int:
        return sum(header.lost for header in self.headers)

    @property
    def closed(self) -> bool:
        """Whether the writer closed it; otherwise it was killed or still writes."""
        return self.header.state is State.CLOSED

    @property
    def rows(self) -> npt.NDArray[np.void]:
        """All rows as one array; copied only if there are several parts."""
        return self.chunks[0] if len(self.chunks) == 1 else np.concatenate(self.chunks)

    def __len__(self) -> int:
        return sum(len(chunk) for chunk in self.chunks)

    def __iter__(self) -> Iterator[Row]:
        for chunk in self.chunks:
            for begin in range(0, len(chunk), 1 << 16):
                data = memoryview(chunk[begin : begin + (1 << 16)].tobytes())
                for offset in range(0, len(data), ROW_SIZE):
                    yield unpack(data[offset : offset + ROW_SIZE])


def open_recording(path: str | os.PathLike[str]) -> Recording:
    """Open a recording by its prefix or by the path of any of its parts."""
    prefix = Path(SUFFIX.sub("", os.fspath(path)))
    for _ in range(TRIES):
        paths = _parts(prefix)
        recording = _open_parts(prefix, paths)
        if recording.header.state is not State.CHAINED:
            return recording
        if len(_parts(prefix)) == len(paths):  # else a living writer chained while we read: look again
            raise RecordingError(f"{prefix}: part {len(paths):03} is missing")
    raise RecordingError(f"{prefix}: its writer is too fast to be read now")


def _open_parts(prefix: Path, paths: list[Path]) -> Recording:
    headers: list[Header] = []
    chunks: list[npt.NDArray[np.void]] = []
    for number, part in enumerate(paths):
        header = _read_header(part)
        if header.part != number:
            raise RecordingError(f"{part}: header says part {header.part}")
        if headers and header.identity != headers[0].identity:
            raise RecordingError(f"{part}: belongs to another recording than {paths[0]}")
        if headers and len(chunks[-1]) < header.capacity:
            raise RecordingError(f"{paths[number - 1]}: has room left, yet {part.name} follows")
        headers.append(header)
        chunks.append(_read_rows(part, header))
    return Recording(prefix.name, tuple(paths), tuple(headers), tuple(chunks))


def find_recordings(directory: str | os.PathLike[str]) -> list[Path]:
    """Prefixes of the recordings that lie in a directory, sorted."""
    names = {SUFFIX.sub("", name) for name in os.listdir(directory) if SUFFIX.search(name)}
    return [Path(directory) / name for name in sorted(names)]


def _parts(prefix: Path) -> list[Path]:
    try:
        names = os.listdir(prefix.parent)
    except OSError as error:
        raise RecordingError(f"{prefix.parent}: {error.strerror}") from None
    numbers = sorted(int(match[1]) for name in names if (match := SUFFIX.search(name)) and name[: match.start()] == prefix.name)
    if not numbers:
        raise RecordingError(f"{prefix}: no recording (no {prefix.name}.000.farec)")
    for expected, number in enumerate(numbers):
        if expected != number:
            raise RecordingError(f"{prefix}: part {expected:03} is missing")
    return [prefix.with_name(f"{prefix.name}.{number:03}.farec") for number in numbers]


def _read_header(path: Path) -> Header:
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:  # a pipe must not hold us
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise RecordingError(f"{path}: not a recording (no regular file)")
            size = found.st_size
            data = file.read(HEADER_SIZE)
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from None
    if not data:
        raise RecordingError(f"{path}: empty")
    if data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise RecordingError(f"{path}: not a recording (magic {data[:8]!r})")
    if len(data) < HEADER_SIZE:
        raise RecordingError(f"{path}: truncated inside the header ({size} bytes)")
    fields = PREAMBLE.unpack_from(data)
    _, version, header_size, row_size, part, capacity, nonce, epsilon, host = fields[:9]
    boot, time_ns, mono, real, pid, count, ticks, lost, state, _ = fields[9:]
    if version != VERSION:
        raise RecordingError(f"{path}: version {version}, can read {VERSION}")
    if (header_size, row_size) != (HEADER_SIZE, ROW_SIZE):
        raise RecordingError(f"{path}: header of {header_size} and rows of {row_size} bytes, not {HEADER_SIZE} and {ROW_SIZE}")
    if capacity > CAPACITY_MAX:
        raise RecordingError(f"{path}: capacity of {capacity} rows, at most {CAPACITY_MAX}")
    expected = HEADER_SIZE + capacity * ROW_SIZE
    if capacity == 0 or size != expected:
        word = "truncated" if size < expected else "wrong length"
        raise RecordingError(f"{path}: {word}: {size} bytes, {expected} for a capacity of {capacity} rows")
    if count > ACTORS_MAX:
        raise RecordingError(f"{path}: actor table of {count} entries, at most {ACTORS_MAX}")
    if state not in State.__members__.values():
        raise RecordingError(f"{path}: state {state} is unknown")
    return Header(
        part=part,
        capacity=capacity,
        nonce=nonce,
        epsilon_ns=epsilon,
        clock=ClockDomain(host, boot.hex(), time_ns),
        start_mono=mono,
        start_real=real,
        pid=pid,
        start_ticks=ticks,
        lost=lost,
        state=State(state),
        actors=tuple(_actor(path, data, PREAMBLE.size + index * ENTRY.size) for index in range(count)),
    )


def _actor(path: Path, data: bytes, offset: int) -> Actor:
    actor, role, pid, incarnation, group, _, ticks, name = ENTRY.unpack_from(data, offset)
    try:
        text = name.rstrip(b"\0").decode()
        return Actor(actor=actor, role=Role(role), name=text, pid=pid, incarnation=incarnation, group=group, start_ticks=ticks)
    except ValueError as error:
        raise RecordingError(f"{path}: actor {actor}: {error}") from None


def _read_rows(path: Path, header: Header) -> npt.NDArray[np.void]:
    """The rows up to the first unwritten one, mapped; every one of them has a known op and phase."""
    mapped = np.memmap(path, dtype=ROW_DTYPE, mode="r", offset=HEADER_SIZE, shape=(header.capacity,))
    for _ in range(TRIES):
        written = _first(mapped, 0, lambda rows: rows["phase"] == 0)
        later = _first(mapped, written + 1, lambda rows: rows["phase"] != 0)
        if later == header.capacity or written == header.capacity:
            break
        if mapped["phase"][written] == 0:  # else a living writer went past while we looked: look again
            raise RecordingError(f"{path}: damaged: row {written} is unwritten, row {later} is not")
    else:
        raise RecordingError(f"{path}: its writer is too fast to be read now")
    rows, ops = mapped[:written], [int(op) for op in Op]
    row = _first(rows, 0, lambda some: (some["phase"] > max(Phase)) | ~np.isin(some["op"], ops))
    if row < written:
        raise RecordingError(f"{path}: damaged: row {row} has op {rows['op'][row]}, phase {rows['phase'][row]}")
    return rows


def _first(rows: npt.NDArray[np.void], begin: int, holds: Callable[[npt.NDArray[np.void]], npt.NDArray[np.bool_]]) -> int:
    """The first row from `begin` on for which it holds, or their number."""
    for at in range(begin, len(rows), AT_ONCE):
        found = holds(rows[at : at + AT_ONCE])
        if found.any():
            return at + int(np.argmax(found))
    return len(rows)
