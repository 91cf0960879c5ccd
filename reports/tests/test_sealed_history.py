"""Sealed history that is not what it says: foreign, cut, of another version, with rows too many or too few."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fireassay.conformance.recorder import seal
from fireassay.conformance.recorder.recorder import Actor, Recorder, Role
from fireassay.conformance.recorder.recording import ROW_DTYPE, find_recordings, open_recording
from fireassay.reports import sealed
from fireassay.reports.files import RunError
from fireassay.reports.run import open_run
from fireassay.reports.tests.made_runs import clean, digest_again, edit, make_run, refused
from fireassay.spec.history.builder import HistoryBuilder
from fireassay.spec.history.ops import Op, Phase


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run", [clean, clean])


def test_the_readers_schema_is_the_writers() -> None:
    assert sealed.SCHEMA.equals(seal.SCHEMA, check_metadata=False)
    assert (sealed.SCHEMA_VERSION, sealed.METADATA_KEY) == (seal.SCHEMA_VERSION, seal.METADATA_KEY)
    assert sealed._ROW_GROUP == seal.ROW_GROUP


def test_a_whole_run_opens_with_every_row(run: Path) -> None:
    found = open_run(run)
    h = HistoryBuilder()
    clean(h)
    assert found.sealed is not None
    assert [trial for trial, _ in found.sealed.trials()] == ["0001", "0002"]
    for _, rows in found.sealed.trials():
        assert rows == sorted(h.rows(), key=lambda row: _order(h, row.actor))
    assert found.doubts == {}
    assert found.notes == ()


def _order(h: HistoryBuilder, actor: int) -> str:
    known = h.build().actors[actor]
    return f"{known.role}-{actor}"


@pytest.mark.parametrize("rows_per_file", [1, 7, 29])
def test_rows_are_the_same_however_they_are_cut_into_files(tmp_path: Path, rows_per_file: int) -> None:
    one = open_run(make_run(tmp_path / "one", [clean, clean])).sealed
    many = open_run(make_run(tmp_path / "many", [clean, clean], rows_per_file=rows_per_file)).sealed
    assert one is not None
    assert many is not None
    assert len(many.parts) > 1
    assert list(one.trials()) == list(many.trials())


def rewrite(run: Path, change: Callable[[Any], Any]) -> None:
    path = run / "history" / "part-00000.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    digest_again(run)


def test_parquet_of_somebody_else(run: Path) -> None:
    rewrite(run, lambda table: pa.table({"a": [1, 2]}))
    refused(run, "no sealed history")


def test_another_version_of_history(run: Path) -> None:
    rewrite(run, lambda table: table.replace_schema_metadata({seal.METADATA_KEY: b"2"}))
    refused(run, "history schema b'2', can read 1")


def test_other_columns(run: Path) -> None:
    rewrite(run, lambda table: table.drop_columns(["digest"]))
    refused(run, "other columns")


def test_parquet_that_is_cut(run: Path) -> None:
    path = run / "history" / "part-00000.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    digest_again(run)
    refused(run, "part-00000.parquet", "is not Parquet that can be read")


def test_damage_inside_the_pages_is_no_crash(run: Path) -> None:
    """Whatever the bytes say: an error, or rows that were accounted for; and the digest would have told."""
    path = run / "history" / "part-00000.parquet"
    whole = path.read_bytes()
    for place in range(4, len(whole) - 8, max(1, len(whole) // 150)):
        data = bytearray(whole)
        data[place] ^= 0x55
        path.write_bytes(data)
        digest_again(run)
        try:
            found = open_run(run).sealed
        except RunError:
            continue
        assert found is not None
        assert sum(len(rows) for _, rows in found.trials()) == found.rows


def test_rows_are_missing(run: Path) -> None:
    rewrite(run, lambda table: table.slice(0, len(table) - 1))
    refused(run, "rows, _actors.json says")


def test_a_row_comes_twice(run: Path) -> None:
    rewrite(run, lambda table: pa.concat_tables([table.slice(0, 2), table.slice(1, 1), table.slice(3)]))
    refused(run, "not numbered one after the other")


def test_a_recording_has_a_row_too_many_and_another_too_few(run: Path) -> None:
    rewrite(run, lambda table: pa.concat_tables([table.slice(0, 1), table.slice(0, len(table) - 1)]))
    refused(run, "has more rows than")


def test_rows_of_another_recording(run: Path) -> None:
    rewrite(run, lambda table: pa.concat_tables([table.slice(10), table.slice(0, 10)]))
    refused(run, "stand where rows of")


@pytest.mark.parametrize(("column", "value"), [("op", 99), ("op", 0), ("phase", 0), ("phase", 6)])
def test_a_row_that_is_none(run: Path, column: str, value: int) -> None:
    def spoil(table: Any) -> Any:
        values = table.column(column).to_pylist()
        values[3] = value
        return table.set_column(table.column_names.index(column), table.schema.field(column), pa.array(values, pa.int16()))

    rewrite(run, spoil)
    refused(run, "row 3 of", "no history row")


def test_row_groups_larger_than_sealing_makes_any_are_not_read(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One would be unpacked as a whole, however small its file is."""
    monkeypatch.setattr(sealed, "_ROW_GROUP", 3)
    refused(run, "row group 0 is larger")


def test_recordings_out_of_order(run: Path) -> None:
    """A trial's rows lie together only where names are sorted."""
    edit(run / "history" / "_actors.json", lambda document: document["recordings"].reverse())
    digest_again(run)
    refused(run, "_actors.json", "is not sorted by name")


def test_a_part_is_missing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", rows_per_file=7)
    (run / "history" / "part-00001.parquet").unlink()
    digest_again(run)
    refused(run, "not all from part-00000.parquet on")


def test_no_history_for_the_trials(run: Path) -> None:
    for path in (run / "history").iterdir():
        path.unlink()
    digest_again(run)
    refused(run, "history", "the manifest names 2 trials")


def test_a_recording_of_another_run(run: Path) -> None:
    edit(run / "history" / "_actors.json", lambda document: document["recordings"][0].update(nonce=1))
    digest_again(run)
    refused(run, "was recorded by another run (nonce 0x1)")


def test_a_recording_of_no_trial(run: Path) -> None:
    edit(run / "manifest.json", lambda document: document["trials"].pop())
    edit(run / "faults.json", lambda document: document["faults"].pop())
    digest_again(run)
    refused(run, "0002", "no trial that the manifest names")


def test_64_bit_fields_come_back_with_all_their_bits(tmp_path: Path) -> None:
    high = (1 << 64) - 1

    def story(h: HistoryBuilder) -> None:
        h.event(Op.EXIT, seq=77, key=high, value=high - 8)

    found = open_run(make_run(tmp_path / "run", [story])).sealed
    assert found is not None
    ((_, (row,)),) = found.trials()
    assert (row.key, row.value) == (high, high - 8)


def test_what_the_recorder_sealed_is_read_with_its_actors(tmp_path: Path) -> None:
    """The real recorder and the real seal, not the helper of these tests."""
    for number, role in ((1, Role.HARNESS), (2, Role.PRODUCER), (3, Role.MEMBER)):
        actor = Actor(actor=number, role=role, name=f"a{number}", pid=40 + number, incarnation=number, group=5)
        with Recorder.open(tmp_path / f"0001-x-{number}", [actor], capacity=4, nonce=9, epsilon_ns=77) as recorder:
            rows = np.zeros(3 * number, dtype=ROW_DTYPE)
            rows["op"], rows["phase"], rows["actor"], rows["key"] = Op.HEARTBEAT, Phase.EVENT, number, (1 << 64) - number
            assert recorder.put_many(rows) == len(rows)
    out = seal.seal([open_recording(path) for path in find_recordings(tmp_path)], tmp_path / "history", rows_per_file=5)
    found = sealed.open_sealed(out)
    assert list(found.trials()) == [("0001", [row for _, _, row in seal.unseal(out)])]
    assert [(each.name, each.rows, each.closed, each.lost, each.nonce, each.epsilon_ns) for each in found.recordings] == [
        (f"0001-x-{number}", 3 * number, True, 0, 9, 77) for number in (1, 2, 3)
    ]
    actors = [each.actors[0] for each in found.recordings]
    assert [(a.id, a.role, a.process, a.incarnation, a.group) for a in actors] == [
        (1, "harness", 41, 1, 5),
        (2, "producer", 42, 2, 5),
        (3, "member", 43, 3, 5),
    ]
    assert len({a.domain for a in actors}) == 1
    assert actors[0].domain.count("/") == 2
