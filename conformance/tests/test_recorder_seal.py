"""Sealing: what comes out of Parquet is what was recorded, and the directory appears whole or not at all."""

import itertools
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fireassay.conformance.recorder import seal as sealing
from fireassay.conformance.recorder.recorder import Actor, Recorder, Role
from fireassay.conformance.recorder.recording import ROW_DTYPE, Recording, open_recording
from fireassay.conformance.recorder.seal import METADATA_KEY, SCHEMA, SealError, seal, to_rows, unseal
from fireassay.spec.history.ops import Op, Phase

NUMBER = itertools.count()
RAW = hnp.arrays(np.uint8, st.integers(0, 12).map(lambda n: 64 * n))


def make(prefix: Path, rows: np.ndarray, capacity: int = 5) -> Recording:
    with Recorder.open(prefix, [Actor(actor=1, role=Role.PRODUCER, name="p")], capacity=capacity, nonce=8) as recorder:
        assert recorder.put_many(rows) == len(rows)
    return open_recording(prefix)


def some_rows(count: int, seed: int = 0) -> np.ndarray:
    return as_rows(np.random.default_rng(seed).integers(0, 256, 64 * count, dtype=np.uint8))


def as_rows(raw: np.ndarray) -> np.ndarray:
    """Any bytes, made valid in op, phase and flags only."""
    rows = raw.copy().view(ROW_DTYPE)
    rows["op"] = rows["op"] % max(Op) + 1
    rows["phase"] = rows["phase"] % max(Phase) + 1
    rows["flags"] &= 0xFF
    return rows


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(raw=st.lists(RAW, min_size=1, max_size=3), rows_per_file=st.integers(1, 9))
def test_sealed_rows_equal_the_recorded_ones_in_every_bit(tmp_path: Path, raw: list[np.ndarray], rows_per_file: int) -> None:
    place = tmp_path / str(next(NUMBER))
    place.mkdir()
    recordings = [make(place / f"r{index}", as_rows(data)) for index, data in enumerate(raw)]
    out = seal(recordings[::-1], place / "out", rows_per_file)
    expected = [(recording.name, number, row) for recording in recordings for number, row in enumerate(recording)]
    assert list(unseal(out)) == expected
    files = sorted(out.glob("*.parquet"))
    assert len(files) == max(1, -(-len(expected) // rows_per_file))
    table = pa.concat_tables([pq.read_table(path) for path in files])
    assert to_rows(table).tobytes() == b"".join(recording.rows.tobytes() for recording in recordings)


def test_sealing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    make(tmp_path / "a", some_rows(1000), 300)
    make(tmp_path / "b", some_rows(10, 1))
    for out in ("x", "y"):
        seal([open_recording(tmp_path / "b"), open_recording(tmp_path / "a")], tmp_path / out, 400)
    assert contents(tmp_path / "x") == contents(tmp_path / "y")
    assert list(contents(tmp_path / "x")) == ["_actors.json", *(f"part-0000{number}.parquet" for number in range(3))]


def test_parquet_has_only_types_that_spark_reads_and_carries_its_schema_version(tmp_path: Path) -> None:
    rows = some_rows(3)
    rows["key"], rows["digest"], rows["flags"] = (1 << 64) - 1, (1 << 32) - 1, 255
    out = seal([make(tmp_path / "a", rows)], tmp_path / "out")
    with pq.ParquetFile(out / "part-00000.parquet") as file:
        assert file.schema_arrow.metadata[METADATA_KEY] == b"1"
        assert {field.physical_type for field in file.schema} == {"INT32", "INT64", "BYTE_ARRAY"}
        assert all("isSigned=false" not in str(field.logical_type) for field in file.schema)
        assert file.metadata.row_group(0).column(0).compression == "ZSTD"
        table = file.read()
    assert table.schema.equals(SCHEMA)
    assert (table["key"][0].as_py(), table["digest"][0].as_py(), table["flags"][0].as_py()) == (-1, (1 << 32) - 1, 255)
    assert table["recording"].to_pylist() == ["a"] * 3
    assert table["row"].to_pylist() == [0, 1, 2]


def test_actors_json_tells_actors_and_completeness_of_each_recording(tmp_path: Path) -> None:
    out = seal([make(tmp_path / "a", some_rows(3)), make(tmp_path / "b", some_rows(0))], tmp_path / "out")
    found = json.loads((out / "_actors.json").read_text())
    assert found["schema"] == 1
    assert [(r["name"], r["rows"], r["complete"], r["actors"][0]["role"]) for r in found["recordings"]] == [
        ("a", 3, True, "producer"),
        ("b", 0, True, "producer"),
    ]


def test_sealing_refuses_to_overwrite_and_names_that_clash(tmp_path: Path) -> None:
    recording = make(tmp_path / "a", some_rows(3))
    (tmp_path / "out").mkdir()
    with pytest.raises(SealError, match="never overwritten"):
        seal([recording], tmp_path / "out")
    with pytest.raises(SealError, match="one name"):
        seal([recording, recording], tmp_path / "new")
    with pytest.raises(SealError, match="nothing to seal"):
        seal([], tmp_path / "new")
    with pytest.raises(SealError, match="rows per file"):
        seal([recording], tmp_path / "new", 0)
    with pytest.raises(SealError, match="no sealed history"):
        list(unseal(tmp_path / "out"))
    assert not (tmp_path / "new").exists()


def test_a_seal_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = make(tmp_path / "rec", some_rows(3))
    place = tmp_path / "place"
    place.mkdir()

    def fail(*_: object) -> None:
        raise OSError("disk gone")

    monkeypatch.setattr(sealing, "_write_json", fail)
    with pytest.raises(OSError, match="disk gone"):
        seal([recording], place / "out")
    assert list(place.iterdir()) == []


def test_history_of_another_schema_version_is_refused(tmp_path: Path) -> None:
    out = seal([make(tmp_path / "a", some_rows(3))], tmp_path / "out")
    path = out / "part-00000.parquet"
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({METADATA_KEY: b"2"}), path)
    with pytest.raises(SealError, match="can read 1"):
        list(unseal(out))
