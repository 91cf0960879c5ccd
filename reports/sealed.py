"""Sealed history, read as it lies: part-*.parquet and _actors.json, every row accounted for.

Valid if and only if: the parts are numbered without a hole and have exactly the columns below, under the version below; recordings
stand in the order of _actors.json, each with as many rows as it says, numbered from 0; every op and phase is known.
64-bit fields are stored as int64 with the same bits.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fireassay.reports.files import MIB, RunError, read_json
from fireassay.reports.shape import Shape
from fireassay.spec.history.model import Actor
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.history.row import FIELDS, Row

__all__ = ["ACTORS_FILE", "COORDINATION", "METADATA_KEY", "SCHEMA", "SCHEMA_VERSION", "Recording", "Sealed", "open_sealed"]

SCHEMA_VERSION = 1
METADATA_KEY = b"fireassay.history.schema"
ACTORS_FILE = "_actors.json"
COORDINATION = frozenset({Op.SPAWN, Op.EXIT, Op.FAULT_BEGIN, Op.FAULT_FIRED, Op.FAULT_END})

_WIDE = ("t_ns", "t_intended_ns", "seq", "key", "value")  # u64 in a row
_TYPES = {
    **dict.fromkeys((*_WIDE, "actor", "stream", "digest", "call"), pa.int64()),
    **dict.fromkeys(("op", "phase"), pa.int16()),
    **dict.fromkeys(("flags", "status"), pa.int32()),
}
SCHEMA = pa.schema(
    [
        *(pa.field(name, _TYPES[name], nullable=False) for name in FIELDS),
        pa.field("recording", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
    ]
)
_PART = re.compile(r"part-(\d{5})\.parquet")
_BATCH = 1 << 16
_ROW_GROUP = 1 << 20
_LARGEST_ACTORS = 256 * MIB
_DAMAGED = "Take the run directory from where it was made, or make the run again"
_OPS = {int(op): op for op in Op}
_PHASES = {int(phase): phase for phase in Phase if phase is not Phase.UNWRITTEN}
_FLAGS = {number: Flag(number) for number in range(256)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    name: str
    rows: int
    closed: bool
    lost: int
    nonce: int
    epsilon_ns: int
    pid: int
    actors: tuple[Actor, ...]

    @property
    def trial(self) -> str:
        return self.name.partition("-")[0]


@dataclass(frozen=True, slots=True)
class Sealed:
    directory: Path
    parts: tuple[Path, ...]
    recordings: tuple[Recording, ...]

    @property
    def rows(self) -> int:
        return sum(recording.rows for recording in self.recordings)

    def scan(self) -> Iterator[tuple[str, Row]]:
        """Trial and row of whatever coordinates (deaths and faults), while every row of all is accounted for."""
        for recording, batch in self._pieces(list(SCHEMA.names)):
            wanted = np.isin(_numbers(batch, "op"), [int(op) for op in COORDINATION])
            if wanted.any():
                yield from ((recording.trial, row) for row in _rows(batch.filter(pa.array(wanted))))

    def trials(self) -> Iterator[tuple[str, list[Row]]]:
        """Each trial with all its rows, recording after recording. Only one trial is held at a time: names are sorted by trial."""
        current, rows = "", list[Row]()
        for recording, batch in self._pieces(list(SCHEMA.names)):
            if recording.trial != current:
                if rows:
                    yield current, rows
                current, rows = recording.trial, []
            rows.extend(_rows(batch))
        if rows:
            yield current, rows

    def _pieces(self, columns: list[str]) -> Iterator[tuple[Recording, Any]]:
        """Stretches of one recording in order, numbers and order checked."""
        index, seen = 0, 0  # the recording that is due, and how many of its rows came
        for path in self.parts:
            with _damage_named(path), pq.ParquetFile(path) as file:
                for batch in file.iter_batches(_BATCH, columns=columns):
                    for name, piece in _split(batch):
                        while index < len(self.recordings) and seen == self.recordings[index].rows:
                            index, seen = index + 1, 0
                        due = self.recordings[index] if index < len(self.recordings) else None
                        if due is None or due.name != name:
                            said = f"rows of {due.name!r} are due" if due else "no more rows are due"
                            raise RunError(path, f"rows of {name!r} stand where {said} by {ACTORS_FILE}", _DAMAGED)
                        _check_piece(path, due, piece, seen)
                        seen += len(piece)
                        yield due, piece
        missing = [recording.name for recording in self.recordings[index:][seen > 0 :] if recording.rows]
        if index < len(self.recordings) and 0 < seen < self.recordings[index].rows:
            missing.insert(0, self.recordings[index].name)
        if missing:
            raise RunError(self.directory, f"rows of {len(missing)} recordings are missing, first of {missing[0]!r}", _DAMAGED)


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """What the Parquet library says of a file becomes what is wrong with the run."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError, MemoryError) as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise RunError(path, f"is not Parquet that can be read: {said[0][:200]}", _DAMAGED) from None


def open_sealed(directory: Path) -> Sealed:
    """Columns, version and lengths of what lies there; the rows themselves are looked at by scan."""
    if directory.is_symlink() or not directory.is_dir():
        raise RunError(directory, "is no directory", _DAMAGED)
    recordings = _read_actors(directory / ACTORS_FILE)
    names = sorted(entry.name for entry in directory.iterdir())
    strange = [name for name in names if name != ACTORS_FILE and not _PART.fullmatch(name)]
    if strange:
        # Spark reads whatever lies there.
        raise RunError(
            directory, f"holds {strange[0]!r}, which is no sealed history", "Remove it if you know what it is, or make the run again"
        )
    parts = [name for name in names if name != ACTORS_FILE]
    if parts != [f"part-{number:05}.parquet" for number in range(len(parts))] or not parts:
        raise RunError(directory, f"holds the parts {', '.join(parts[:8]) or 'none'}, not all from part-00000.parquet on", _DAMAGED)
    paths = tuple(directory / name for name in parts)
    sealed, found = Sealed(directory, paths, recordings), sum(_check_part(path) for path in paths)
    if found != sealed.rows:
        raise RunError(directory, f"holds {found} rows, {ACTORS_FILE} says {sealed.rows}", _DAMAGED)
    return sealed


def _check_part(path: Path) -> int:
    with _damage_named(path), pq.ParquetFile(path) as file:
        found, metadata = file.schema_arrow, file.metadata
        version = (found.metadata or {}).get(METADATA_KEY)
        if version is None:
            raise RunError(path, "is Parquet, but no sealed history (it has no schema version)", _DAMAGED)
        if version != str(SCHEMA_VERSION).encode():
            what = f"has history schema {version[:20]!r}, can read {SCHEMA_VERSION}"
            raise RunError(path, what, "Judge it with the version of fireassay that made it")
        if not found.equals(SCHEMA, check_metadata=False):
            raise RunError(path, "has other columns than sealed history", _DAMAGED)
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            if group.num_rows > _ROW_GROUP or group.total_byte_size > 256 * group.num_rows + 64 * MIB:
                raise RunError(path, f"row group {number} is larger than sealing makes any", _DAMAGED)
        return int(metadata.num_rows)


def _read_actors(path: Path) -> tuple[Recording, ...]:
    shape = Shape(path, read_json(path, _LARGEST_ACTORS))
    if shape.value.get("schema") != SCHEMA_VERSION:
        raise shape.wrong("schema", f"is {str(shape.value.get('schema'))[:20]}, can read {SCHEMA_VERSION}")
    recordings = shape.objects("recordings", _recording)
    names = [recording.name for recording in recordings]
    if not names:
        raise shape.wrong("recordings", "is empty")
    if names != sorted(set(names)):
        raise shape.wrong("recordings", "is not sorted by name, or has one twice")
    return recordings


def _recording(shape: Shape) -> Recording:
    clock = shape.object("clock_domain")
    domain = f"{clock.text('host')}/{clock.text('boot_id')}/{clock.number('time_ns')}"
    return Recording(
        name=shape.text("name", longest=256),
        rows=shape.number("rows"),
        closed=shape.truth("closed"),
        lost=shape.number("lost"),
        nonce=shape.number("nonce"),
        epsilon_ns=shape.number("epsilon_ns"),
        pid=shape.number("pid"),
        actors=shape.objects("actors", lambda each: _actor(each, domain)),
    )


def _actor(shape: Shape, domain: str) -> Actor:
    return Actor(
        shape.number("actor", high=(1 << 32) - 1),
        shape.text("role", longest=64),
        process=shape.number("pid"),
        incarnation=shape.number("incarnation"),
        group=shape.number("group"),
        domain=domain,
    )


def _numbers(batch: Any, name: str) -> Any:
    return batch.column(name).to_numpy(zero_copy_only=False)


def _split(batch: Any) -> Iterator[tuple[str, Any]]:
    column = batch.column("recording")
    if column.null_count:
        raise ValueError("a row without a recording")
    if not len(column):
        return
    names, indices = column.dictionary.to_pylist(), column.indices.to_numpy(zero_copy_only=False)
    cuts = [0, *(np.flatnonzero(np.diff(indices)) + 1).tolist(), len(indices)]
    for begin, end in pairwise(cuts):
        yield str(names[int(indices[begin])]), batch.slice(begin, end - begin)


def _check_piece(path: Path, recording: Recording, piece: Any, seen: int) -> None:
    if seen + len(piece) > recording.rows:
        raise RunError(path, f"{recording.name!r} has more rows than the {recording.rows} that {ACTORS_FILE} says", _DAMAGED)
    expected = np.arange(seen, seen + len(piece), dtype=np.int64)
    if any(piece.column(name).null_count for name in SCHEMA.names) or not np.array_equal(_numbers(piece, "row"), expected):
        raise RunError(path, f"rows of {recording.name!r} from {seen} on are not numbered one after the other", _DAMAGED)
    ops, phases = _numbers(piece, "op"), _numbers(piece, "phase")
    bad = ~(np.isin(ops, list(_OPS)) & np.isin(phases, list(_PHASES)))
    if bad.any():
        at = int(np.argmax(bad))
        raise RunError(path, f"row {seen + at} of {recording.name!r} has op {ops[at]}, phase {phases[at]}: no history row", _DAMAGED)


def _rows(batch: Any) -> Iterator[Row]:
    columns: dict[str, Sequence[int]] = {}
    for name in FIELDS:
        values = _numbers(batch, name)
        columns[name] = (values.view(np.uint64) if name in _WIDE else values).tolist()
    for values in zip(*(columns[name] for name in FIELDS), strict=True):
        t_ns, t_intended_ns, seq, key, value, actor, stream, op, phase, flags, status, digest, call = values
        yield Row(
            t_ns=t_ns,
            op=_OPS[op],
            phase=_PHASES[phase],
            t_intended_ns=t_intended_ns,
            seq=seq,
            key=key,
            value=value,
            actor=actor,
            stream=stream,
            flags=_FLAGS[flags] if flags in _FLAGS else Flag(flags),
            status=status,
            digest=digest,
            call=call,
        )
