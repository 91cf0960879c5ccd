"""chronicle through the ports of the examination."""

import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.reference import core
from fireassay.reference.chronicle import target
from fireassay.reference.failpoints import Action
from fireassay.spec.outcomes import ErrorClass, HarnessError, Outcome
from fireassay.spec.ports import ReaderPort, Target, WriterPort
from fireassay.spec.promises import Pressure, Protects, SeekBy


@pytest.fixture
def made(tmp_path: Path) -> target.Chronicle:
    return target.make(tmp_path / "place", {"segment_size": "1024"})


def positions(reader: ReaderPort, limit: int = 4) -> list[int]:
    found: list[int] = []
    while not (batch := reader.read_batch(limit, 0)).end:
        assert batch.outcome is Outcome.OK
        found += [record.position for record in batch.records]
    return found


def test_it_is_a_target_and_its_ports_are_ports(made: target.Chronicle) -> None:
    assert isinstance(made, Target)
    with made.open_writer("s") as writer, made.open_reader("s", "r") as reader:
        assert isinstance(writer, WriterPort)
        assert isinstance(reader, ReaderPort)
    assert (made.name, made.promises.bounds.max_payload) == ("chronicle", 896)
    assert made.digest == f"sha256:{core.digest()}"


def test_importing_it_loads_no_core(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from fireassay.reference.chronicle import target; t = target.make(pathlib.Path(sys.argv[1]), {})\n"
        "t.promises; print([name for name in sys.modules if '_core' in name or 'reference.core' in name])"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("options", [{"segmentsize": "1024"}, {"segment_size": "1000"}, {"segment_size": "128"}, {"segment_size": "x"}])
def test_an_option_it_does_not_understand_is_refused(tmp_path: Path, options: dict[str, str]) -> None:
    with pytest.raises(HarnessError, match="target chronicle"):
        target.make(tmp_path, options)


def test_commits_by_position_find_their_place_across_batches_and_segments(made: target.Chronicle) -> None:
    with made.open_writer("s") as writer:
        assert writer.append_batch([bytes(100)] * 30).positions == tuple(range(30))
    for start, to in ((0, 0), (0, 1), (1, 9), (9, 9), (9, 30), (30, 30)):
        with made.open_reader("s", "r") as reader:
            assert reader.granted == start
            assert positions(reader) == list(range(start, 30))
            assert reader.commit(to).outcome is Outcome.OK
            for bad in (to - 1, 31):
                refused = reader.commit(bad)
                assert (refused.outcome, refused.error and refused.error.error) == (Outcome.FAIL, ErrorClass.INVALID)
            assert reader.commit(to).outcome is Outcome.OK
    with made.open_writer("s") as writer, made.open_reader("s", "r") as reader:
        assert (writer.granted, reader.granted) == (30, 30)


def test_what_is_refused_is_fail_and_what_is_not_known_is_info(made: target.Chronicle, tmp_path: Path) -> None:
    with made.open_writer("s") as writer, made.open_reader("s", "r") as reader:
        result = writer.append_batch([b"a", bytes(897), b"b"])
        assert (result.outcome, result.positions, result.error and result.error.error) == (Outcome.FAIL, (0,), ErrorClass.TOO_LARGE)
        assert positions(reader) == [0]
        with pytest.raises(target.Refused) as refused:
            made.open_writer("s")
        assert (refused.value.error, refused.value.outcome) == (ErrorClass.LOCKED, Outcome.FAIL)
        for by, request, kind in ((SeekBy.ID, b"x", ErrorClass.UNSUPPORTED), (SeekBy.POSITION, -1, ErrorClass.INVALID)):
            sought = reader.seek(by, request)
            assert (sought.outcome, sought.error and sought.error.error) == (Outcome.FAIL, kind)
        writer.close()
        closed = writer.append_batch([b"x"])
        assert (closed.outcome, closed.error and closed.error.error) == (Outcome.FAIL, ErrorClass.CLOSED)
        assert writer.sync().outcome is Outcome.INFO
        assert writer.close().outcome is Outcome.OK
    for call in (lambda: made.open_reader("s", "../r"), lambda: made.open_reader("../s", "r"), lambda: made.open_writer("")):
        with pytest.raises(target.Refused) as refused:
            call()
        assert refused.value.error is ErrorClass.INVALID
    with pytest.raises(target.Refused, match="no groups"):
        made.open_reader("s", "r", "g")


def test_what_is_read_behind_a_seek_is_committed_like_any_other(made: target.Chronicle) -> None:
    with made.open_writer("s") as writer:
        writer.append_batch([b"%d" % number for number in range(30)])
    for sought, commit in ((17, 17), (5, 9), (30, 30), (0, 3)):
        with made.open_reader("s", "r") as reader:
            result = reader.seek(SeekBy.POSITION, sought)
            assert (result.outcome, result.granted) == (Outcome.OK, sought)
            assert positions(reader) == list(range(sought, 30))
            assert reader.commit(commit).outcome is Outcome.OK
        with made.open_reader("s", "r") as reader:
            assert reader.granted == commit
            stamp = reader.seek(SeekBy.TIME, 1 << 63)
            assert (stamp.outcome, stamp.granted, positions(reader)) == (Outcome.OK, 30, [])
            assert (reader.seek(SeekBy.TIME, 0).granted, reader.seek(SeekBy.POSITION, 31).outcome) == (0, Outcome.FAIL)
            assert positions(reader) == list(range(30))


def test_a_bounded_target_deletes_what_no_live_reader_needs_and_says_so(tmp_path: Path) -> None:
    bounded = target.make(tmp_path, {"segment_size": "1024", "max_segments": "3"})
    assert (bounded.promises.retention.protects, bounded.promises.pressure) == (Protects.LIVE, Pressure.REFUSES)
    with bounded.open_writer("s") as writer:
        assert writer.append_batch([bytes(100)] * 40).outcome is Outcome.OK
        with bounded.open_reader("s", "r") as reader:
            first = reader.granted
            assert first >= 25
            full = writer.append_batch([bytes(100)] * 40)
            assert (full.outcome, full.error and full.error.error) == (Outcome.FAIL, ErrorClass.FULL)
            assert positions(reader) == list(range(first, 40 + len(full.positions)))
            assert reader.commit(40 + len(full.positions)).outcome is Outcome.OK
            assert writer.append_batch([b"x"]).outcome is Outcome.OK
    for wrong in ("1", "many"):
        with pytest.raises(HarnessError, match="max_segments"):
            target.make(tmp_path, {"max_segments": wrong})


def test_damage_is_a_failed_read(made: target.Chronicle) -> None:
    with made.open_writer("s") as writer:
        writer.append_batch([b"a" * 50, b"b" * 50])
    with (made.place / "s" / "000000000.q").open("r+b") as file:
        file.seek(64 + 128 + 64 + 20)
        file.write(b"!")
    with made.open_reader("s", "r") as reader:
        assert [record.position for record in reader.read_batch(9, 0).records] == [0]
        damaged = reader.read_batch(9, 0)
        assert (damaged.outcome, damaged.error and damaged.error.error) == (Outcome.FAIL, ErrorClass.CORRUPT)


def test_it_offers_its_failpoints_and_a_file_to_arm_them(tmp_path: Path) -> None:
    offered = {name: kind for name, kind, _ in target.failpoints()}
    assert all(name.startswith("chronicle_") for name in offered)
    assert (offered["chronicle_commit"], offered["chronicle_flush_current"]) == ("store", "syscall")
    with target.control_file(tmp_path / "control") as control:
        control.arm("chronicle_commit", Action.CRASH)
        assert control.fired("chronicle_commit") == 0
