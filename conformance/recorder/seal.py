"""Seals recordings: OUT/part-*.parquet (zstd) for Spark, and OUT/_actors.json, which Spark passes over for its name.

Spark has no unsigned integers and would read u64 as decimal(20,0). So the five 64-bit fields are stored as int64 with the same
bits (two's complement: 2**64 - 1 is -1), u32 and narrower are widened to a signed type that holds them all. Differences and equality of the
64-bit fields survive; order does too below 2**63, which times and positions never reach; `key` is compared for equality and +1 only.

`recording` names the recording, `row` is the row's number in it. Files hold at most rows_per_file rows, recordings sorted by name, rows
in order. No clock, path or random number goes in: the same recordings give the same bytes. The directory appears whole or not at all.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fireassay.conformance.recorder.inspect import summary
from fireassay.conformance.recorder.recording import ROW_DTYPE, Recording
from fireassay.spec.history.row import FIELDS, ROW_SIZE, Row, unpack
from fireassay.spec.outcomes import HarnessError

__all__ = ["METADATA_KEY", "ROWS_PER_FILE", "SCHEMA", "SCHEMA_VERSION", "SealError", "seal", "to_rows", "to_table", "unseal"]

SCHEMA_VERSION = 1
METADATA_KEY = b"fireassay.history.schema"
ROWS_PER_FILE = 4_000_000
ROW_GROUP = 1 << 20

ARROW_TYPES = {
    **dict.fromkeys(("t_ns", "t_intended_ns", "seq", "key", "value", "actor", "stream", "digest", "call"), pa.int64()),
    **dict.fromkeys(("op", "phase"), pa.int16()),
    **dict.fromkeys(("flags", "status"), pa.int32()),
}
SCHEMA = pa.schema(
    [
        *(pa.field(name, ARROW_TYPES[name], nullable=False) for name in FIELDS),
        pa.field("recording", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
    ],
    metadata={METADATA_KEY: str(SCHEMA_VERSION).encode()},
)


class SealError(HarnessError):
    """The recordings cannot be sealed there, or what lies there is not sealed history."""


def seal(recordings: Iterable[Recording], out_dir: str | os.PathLike[str], rows_per_file: int = ROWS_PER_FILE) -> Path:
    """Write the sealed directory and return it; never overwrites."""
    out = Path(out_dir)
    ordered = sorted(recordings, key=lambda recording: recording.name)
    names = [recording.name for recording in ordered]
    if not ordered:
        raise SealError("nothing to seal")
    if len(set(names)) < len(names):
        raise SealError(f"two recordings have one name: {sorted({name for name in names if names.count(name) > 1})}")
    if rows_per_file < 1:
        raise SealError(f"rows per file: {rows_per_file}")
    if os.path.lexists(out):
        raise SealError(f"{out} exists; sealed history is never overwritten")
    out.parent.mkdir(parents=True, exist_ok=True)
    passing = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".sealing", dir=out.parent))
    try:
        for number, tables in enumerate(_files(ordered, rows_per_file)):
            _write_parquet(passing / f"part-{number:05}.parquet", tables)
        _write_json(passing / "_actors.json", ordered)
        passing.chmod(0o755)
        _fsync(passing)
        passing.rename(out)
    except BaseException:
        shutil.rmtree(passing, ignore_errors=True)
        raise
    _fsync(out.parent)
    return out


def unseal(directory: str | os.PathLike[str]) -> Iterator[tuple[str, int, Row]]:
    """Recording name, row number and row of everything sealed, in the order it was sealed."""
    paths = sorted(Path(directory).glob("*.parquet"))
    if not paths:
        raise SealError(f"{directory}: no sealed history")
    for path in paths:
        with pq.ParquetFile(path) as file:
            version = (file.schema_arrow.metadata or {}).get(METADATA_KEY)
            if version != str(SCHEMA_VERSION).encode():
                raise SealError(f"{path}: history schema {version!r}, can read {SCHEMA_VERSION}")
            for batch in file.iter_batches(1 << 16):
                data = memoryview(to_rows(batch).tobytes())
                rows = (unpack(data[offset : offset + ROW_SIZE]) for offset in range(0, len(data), ROW_SIZE))
                yield from zip(batch.column("recording").to_pylist(), batch.column("row").to_pylist(), rows, strict=True)


def to_table(rows: npt.NDArray[np.void], names: list[str], index: int, first_row: int) -> Any:
    """Rows of the recording names[index], the first of which is its row number first_row, as an Arrow table."""
    columns: list[Any] = []
    for name in FIELDS:
        values = np.ascontiguousarray(rows[name])
        widened = values.view(np.int64) if values.dtype == np.uint64 else values.astype(ARROW_TYPES[name].to_pandas_dtype())
        columns.append(pa.array(widened, type=ARROW_TYPES[name]))
    indices = pa.array(np.full(len(rows), index, dtype=np.int32))
    columns.append(pa.DictionaryArray.from_arrays(indices, pa.array(names, type=pa.string())))
    columns.append(pa.array(np.arange(first_row, first_row + len(rows), dtype=np.int64)))
    return pa.table(columns, schema=SCHEMA)


def to_rows(table: Any) -> npt.NDArray[np.void]:
    """The inverse of to_table for the row's own fields."""
    rows = np.zeros(len(table), dtype=ROW_DTYPE)
    for name in FIELDS:
        rows[name] = table.column(name).to_numpy(zero_copy_only=False).astype(ROW_DTYPE[name])  # modulo 2**64: the same bits
    return rows


def _files(recordings: list[Recording], rows_per_file: int) -> Iterator[list[Any]]:
    """Tables that go into each file; at least one file, so that an empty history has a schema too."""
    names = [recording.name for recording in recordings]
    tables: list[Any] = []
    room, written = rows_per_file, False
    for index, recording in enumerate(recordings):
        number = 0
        for chunk in recording.chunks:
            begin = 0
            while begin < len(chunk):
                piece = chunk[begin : begin + min(room, ROW_GROUP)]
                tables.append(to_table(piece, names, index, number))
                begin, number, room = begin + len(piece), number + len(piece), room - len(piece)
                if room == 0:
                    yield tables
                    tables, room, written = [], rows_per_file, True
    if tables or not written:
        yield tables


def _write_parquet(path: Path, tables: list[Any]) -> None:
    table = pa.concat_tables(tables) if tables else SCHEMA.empty_table()
    pq.write_table(table, path, compression="zstd", row_group_size=ROW_GROUP, version="2.6", use_dictionary=["recording", "op", "phase"])
    _fsync(path)


def _write_json(path: Path, recordings: list[Recording]) -> None:
    content = {"schema": SCHEMA_VERSION, "recordings": [summary(recording) for recording in recordings]}
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    _fsync(path)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
