"""The plain log: what it promises, through kills, torn tails, damage and full disks."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.conformance.targets.plainlog import FRAME, PlainLog
from fireassay.spec.outcomes import ErrorClass, Outcome, TargetError
from fireassay.spec.ports import ReadBatch, ReaderPort, ReportCause, Target, WriterPort
from fireassay.spec.promises import Promises, SeekBy


@pytest.fixture
def log(tmp_path: Path) -> PlainLog:
    return PlainLog(tmp_path)


def everything(log: PlainLog, name: str = "r") -> list[bytes]:
    with log.open_reader("s", name) as reader:
        return [bytes(record.payload) for record in read_all(reader)]


def read_all(reader: ReaderPort) -> list[ReadBatch]:
    found = []
    while not (batch := reader.read_batch(3, 0)).end:
        assert batch.outcome is Outcome.OK, batch.error
        found += batch.records
    return found


def test_it_is_a_target_and_says_what_it_promises(log: PlainLog) -> None:
    assert isinstance(log, Target)
    assert isinstance(log.open_writer("s"), WriterPort)
    assert isinstance(log.open_reader("s", "r"), ReaderPort)
    assert Promises.from_toml(log.promises.to_toml(), "again") == log.promises


def test_records_come_back_in_order_with_dense_positions(log: PlainLog) -> None:
    payloads = [bytes([n % 256]) * (n * 37 % 5000) for n in range(100)]
    with log.open_writer("s") as writer:
        assert writer.append_batch(payloads[:60]).positions == tuple(range(60))
        assert writer.append_batch(payloads[60:]).positions == tuple(range(60, 100))
    with log.open_reader("s", "r") as reader:
        records = read_all(reader)
    assert [record.payload for record in records] == payloads
    assert [record.position for record in records] == list(range(100))
    with log.open_writer("s") as writer:
        assert writer.granted == 100


def test_a_payload_larger_than_a_chunk_and_the_largest(tmp_path: Path) -> None:
    log = PlainLog(tmp_path, max_payload=200_000)
    with log.open_writer("s") as writer:
        result = writer.append_batch([b"a" * 200_000, b"b" * 200_001, b"c"])
        assert (result.outcome, result.positions) == (Outcome.FAIL, (0,))
        assert result.error is not None
        assert result.error.error is ErrorClass.TOO_LARGE
        assert writer.append_batch([b"c"]).positions == (1,)
    assert everything(log) == [b"a" * 200_000, b"c"]


def test_a_second_writer_is_refused_until_the_first_is_gone(log: PlainLog) -> None:
    with log.open_writer("s"), pytest.raises(TargetError, match="another writer of s is alive") as refused:
        log.open_writer("s")
    assert refused.value.error is ErrorClass.LOCKED  # type: ignore[attr-defined]
    log.open_writer("s").close()


def test_nothing_leaks_into_another_stream(log: PlainLog) -> None:
    with log.open_writer("s") as one, log.open_writer("t") as two:
        one.append_batch([b"one"])
        two.append_batch([b"two"])
    assert everything(log) == [b"one"]


def test_a_reader_resumes_at_its_last_commit(log: PlainLog) -> None:
    with log.open_writer("s") as writer:
        writer.append_batch([b"%d" % n for n in range(6)])
    with log.open_reader("s", "r") as reader:
        reader.read_batch(4, 0)
        assert reader.commit(3).outcome is Outcome.OK
        assert reader.commit(5).outcome is Outcome.FAIL
    with log.open_reader("s", "r") as again, log.open_reader("s", "other") as other:
        assert again.granted == 3
        assert again.read_batch(1, 0).records[0].payload == b"3"
        assert other.granted == 0


def test_a_seek_lands_on_the_position_or_is_refused(log: PlainLog) -> None:
    with log.open_writer("s") as writer:
        writer.append_batch([b"%d" % n for n in range(6)])
    with log.open_reader("s", "r") as reader:
        assert reader.seek(SeekBy.POSITION, 4).granted == 4
        assert reader.read_batch(1, 0).records[0].payload == b"4"
        assert reader.seek(SeekBy.POSITION, 6).granted == 6
        assert reader.seek(SeekBy.POSITION, 7).error.error is ErrorClass.MISSING  # type: ignore[union-attr]
        assert reader.seek(SeekBy.TIME, 0).error.error is ErrorClass.UNSUPPORTED  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["", "a/b", "..", "a\0b"])
def test_a_stream_that_is_no_folder_is_refused(log: PlainLog, name: str) -> None:
    with pytest.raises(TargetError, match="no name of a stream"):
        log.open_writer(name)


def test_a_torn_tail_is_cut_off_and_the_position_used_again(log: PlainLog, tmp_path: Path) -> None:
    with log.open_writer("s") as writer:
        writer.append_batch([b"whole"])
    with (tmp_path / "s" / "log").open("ab") as file:
        file.write(FRAME.pack(100, 1) + b"half")
    assert everything(log) == [b"whole"]
    with log.open_writer("s") as writer:
        assert writer.granted == 1
        assert writer.append_batch([b"next"]).positions == (1,)
    assert everything(log) == [b"whole", b"next"]


@pytest.mark.parametrize("at", [0, 5, 9, 30])
def test_damage_to_what_was_durable_is_never_served(log: PlainLog, tmp_path: Path, at: int) -> None:
    with log.open_writer("s") as writer:
        writer.append_batch([b"x" * 20, b"y" * 20])
    with (tmp_path / "s" / "log").open("r+b") as file:
        file.seek(at)
        old = file.read(1)
        file.seek(at)
        file.write(bytes([old[0] ^ 1]))
    with pytest.raises(TargetError, match="was durable and is damaged"):
        log.open_writer("s")
    with log.open_reader("s", "r") as reader:
        served = []
        while (batch := reader.read_batch(9, 0)).outcome is Outcome.OK:
            assert not batch.end
            served += [record.payload for record in batch.records]
    assert batch.error is not None
    assert batch.error.error is ErrorClass.CORRUPT
    assert served == [b"x" * 20][: at // 28]


def test_a_cursor_behind_a_shorter_log_is_reset_with_a_report(log: PlainLog, tmp_path: Path) -> None:
    with log.open_writer("s") as writer:
        writer.append_batch([b"a", b"b", b"c"])
        with log.open_reader("s", "r") as reader:
            read_all(reader)
            reader.commit(3)
    os.truncate(tmp_path / "s" / "log", 2 * (FRAME.size + 1))
    (tmp_path / "s" / "durable").unlink()
    with log.open_reader("s", "r") as reader:
        assert reader.granted == 2
        (report,) = reader.read_batch(1, 0).reports
    assert (report.cause, report.begin, report.end) == (ReportCause.RESET, 2, 3)


CHILD = """
import sys
from pathlib import Path
from fireassay.conformance.targets.plainlog import PlainLog
writer = PlainLog(Path(sys.argv[1])).open_writer("s")
n = 0
while True:
    result = writer.append_batch([b"%d" % n, b"%d" % (n + 1)])
    n += 2
    sys.stdout.write(f"{n}\\n")
    sys.stdout.flush()
"""


def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(log: PlainLog, tmp_path: Path) -> None:
    for round_ in range(3):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        for _ in range(50 * (round_ + 1)):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        said = child.stdout.read().splitlines()
        child.stdout.close()
        child.wait(10)
        acknowledged = int(said[-1]) if said else 100 * (round_ + 1)
        with log.open_writer("s") as writer:
            assert writer.granted >= acknowledged
        assert everything(log)[-writer.granted :][:4] == [b"0", b"1", b"2", b"3"]
        (tmp_path / "s" / "log").unlink()
        (tmp_path / "s" / "durable").unlink()


def test_a_full_disk_is_told_and_leaves_the_rest_whole(log: PlainLog, tmp_path: Path) -> None:
    program = """
import resource, signal, sys
from pathlib import Path
from fireassay.conformance.targets.plainlog import PlainLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer = PlainLog(Path(sys.argv[1])).open_writer("s")
writer.append_batch([b"a" * 100])
resource.setrlimit(resource.RLIMIT_FSIZE, (150, resource.RLIM_INFINITY))
half = writer.append_batch([b"b" * 100])
assert half.outcome.value == "info", half
assert writer.append_batch([b"c"]).outcome.value == "fail"
writer.close()
writer = PlainLog(Path(sys.argv[1])).open_writer("s")
resource.setrlimit(resource.RLIMIT_FSIZE, (108, resource.RLIM_INFINITY))
none = writer.append_batch([b"d" * 100])
assert none.outcome.value == "fail" and none.error.error.name == "FULL", none
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert writer.append_batch([b"e"]).positions == (1,)
writer.close()
"""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert everything(log) == [b"a" * 100, b"e"]


def test_no_descriptor_is_left_open(log: PlainLog) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with log.open_writer("s") as writer, log.open_reader("s", "r") as reader:
            writer.append_batch([b"x"])
            reader.read_batch(1, 0)
            reader.commit(1)
            with pytest.raises(TargetError):
                log.open_writer("s")
    assert len(os.listdir("/proc/self/fd")) == before
