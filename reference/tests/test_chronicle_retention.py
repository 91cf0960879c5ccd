"""What is kept, for whom, and for how long."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.reference.chronicle.limits import Limits, Standing
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import Appended, Writer
from fireassay.reference.core import CoreError
from fireassay.reference.failpoints import Action, ControlFile
from fireassay.spec import layouts
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import ErrorClass

SEGMENT = 1024
PER_SEGMENT = 5  # records of 100 bytes


def ids(queue: Path) -> list[int]:
    return sorted(int(path.name[:9]) for path in queue.iterdir() if re.fullmatch(r"\d{9}\.q", path.name))


def open_writer(queue: Path, **limits: object) -> Writer:
    return Writer(queue, SEGMENT, heartbeat_s=0, limits=Limits(**limits))  # type: ignore[arg-type]


def fill(writer: Writer, segments: int) -> None:
    """So many whole segments more, and one record in the next."""
    for _ in range(segments * PER_SEGMENT + (writer.next_seq == 0)):
        writer.append(b"%0100d" % writer.next_seq)


def read_and_commit(reader: Reader, count: int) -> None:
    for _ in range(count):
        reader.commit(*reader.read_batch(1).messages[0].next)


def numbers(reader: Reader) -> list[int]:
    found: list[int] = []
    while not (batch := reader.read_batch(100)).end:
        found += [int(message.payload) for message in batch.messages]
    return found


def age(queue: Path, name: str, seconds: float) -> None:
    """As if that reader had last said so long ago that it lives."""
    path = queue / "readers" / f"{name}.meta"
    data = bytearray(path.read_bytes())
    for at in (0, 64):
        slot = bytes(data[at : at + 64])
        if any(slot):
            values = layouts.parse(layout.READER_SLOT, slot)
            data[at : at + 64] = layouts.build(layout.READER_SLOT, {**values, "heartbeat_ns": time.time_ns() - int(seconds * 1e9)})
    path.write_bytes(data)


def committed(queue: Path, name: str) -> int:
    """The number behind the last one committed, from the place in the file."""
    slot = layout.committed_slot((queue / "readers" / f"{name}.meta").read_bytes())
    return int(slot["segment"] * PER_SEGMENT + (slot["offset"] - 64) // 192)


def standings(writer: Writer) -> dict[str, Standing]:
    return {reader.name: reader.standing for reader in writer.retain().readers}


def test_a_segment_goes_when_every_live_reader_has_committed_past_it(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with open_writer(queue) as writer, Reader(queue, "slow") as slow, Reader(queue, "fast") as fast:
        fill(writer, 4)
        read_and_commit(fast, 20)
        for count, left in ((0, 0), (4, 0), (1, 1), (4, 1), (5, 2), (1, 3)):
            read_and_commit(slow, count)
            found = writer.retain()
            assert (found.oldest, ids(queue)) == (left, list(range(left, 5)))
        assert committed(queue, "slow") == 15
        assert numbers(slow) == list(range(15, 21))


def test_without_live_readers_all_but_the_current_segment_may_go(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with open_writer(queue) as writer:
        fill(writer, 3)
        assert (writer.retain().deleted, ids(queue)) == (3, [3])
    with open_writer(queue) as writer:
        assert ids(queue) == [3, 4]
        assert (writer.retain().deleted, ids(queue)) == (0, [3, 4]), "the one before tells which number comes next"
        with Reader(queue, "new") as reader:
            assert (reader.opened_at, numbers(reader)) == (15, [15])
            reader.unregister()
    for _ in range(2):  # nothing was written by this writer or the last
        with open_writer(queue) as writer:
            assert writer.next_seq == 16
            writer.retain()
    with open_writer(queue) as writer:
        assert writer.append(b"%0100d" % 16) == 16
        writer.flush_sync()
        assert writer.retain().deleted > 0
        writer.flush_sync()


def test_a_dead_reader_holds_nothing_and_one_that_beats_again_does(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with open_writer(queue, reader_ttl_s=10) as writer:
        with Reader(queue, "r"):
            fill(writer, 2)
        assert (standings(writer), ids(queue)) == ({"r": Standing.LIVE}, [0, 1, 2]), "closed, and waited for until its TTL"
        age(queue, "r", 9)
        assert (standings(writer), ids(queue)) == ({"r": Standing.LIVE}, [0, 1, 2])
        age(queue, "r", 11)
        with Reader(queue, "r") as reader:  # which says that it lives before it looks for its segment
            assert (standings(writer), ids(queue)) == ({"r": Standing.LIVE}, [0, 1, 2])
            assert numbers(reader) == list(range(11))
        age(queue, "r", 11)
        assert (standings(writer), ids(queue)) == ({"r": Standing.DEAD}, [2])


@pytest.mark.parametrize("alive", ["thread", "wait", "commit", "call"])
def test_an_idle_reader_says_that_it_lives(tmp_path: Path, alive: str) -> None:
    queue = tmp_path / "q"
    with open_writer(queue) as writer, Reader(queue, "r", heartbeat_s=0.01 if alive == "thread" else 0) as reader:
        fill(writer, 2)
        if alive == "wait":
            assert len(reader.read_batch(99).messages) == 5
            numbers(reader)
        before = layout.committed_slot((queue / "readers" / "r.meta").read_bytes())
        do: dict[str, Callable[[], object]] = {
            "thread": lambda: None,
            "wait": lambda: reader.wait(0.01),
            "commit": lambda: reader.commit(0, 64),
            "call": reader.heartbeat,
        }
        deadline = time.monotonic() + 30
        while (after := layout.committed_slot((queue / "readers" / "r.meta").read_bytes()))["heartbeat_ns"] <= before["heartbeat_ns"]:
            assert time.monotonic() < deadline
            do[alive]()
        assert (after["segment"], after["offset"]) == (before["segment"], before["offset"])
        assert after["generation"] > before["generation"]


@pytest.mark.parametrize("bound", [{"max_lag_segments": 2}, {"max_lag_bytes": 2 * SEGMENT}, {"max_lag_segments": 9, "max_lag_bytes": 2048}])
def test_a_reader_too_far_behind_is_reported_and_holds_nothing(tmp_path: Path, bound: dict[str, int]) -> None:
    queue = tmp_path / "q"
    with open_writer(queue, **bound) as writer, Reader(queue, "stuck") as stuck, Reader(queue, "fine") as fine:
        fill(writer, 1)
        read_and_commit(fine, 6)
        found = writer.retain()
        assert (found.lagging, found.oldest) == ((), 0)
        fill(writer, 2)
        found = writer.retain()
        assert [(reader.name, reader.place) for reader in found.lagging] == [("stuck", (0, 64))]
        assert found.lagging[0].lag == 3 * SEGMENT + 192
        assert (found.oldest, ids(queue)) == (1, [1, 2, 3]), "the other one still holds its own"
        assert numbers(fine) == list(range(6, 16))
        fine.commit(3, 256)
        assert ids(queue) == [1, 2, 3]
        assert writer.retain().oldest == 3
        assert len(stuck.read_batch(99).messages) == 5, "what it has mapped stays"
        with pytest.raises(CoreError, match="SegmentMissing: segment 1 has been deleted") as missing:
            stuck.read_batch(1)
        assert missing.value.error_class is ErrorClass.MISSING


def test_a_full_queue_refuses_at_once_and_takes_records_again_when_readers_have_moved_on(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with open_writer(queue, max_segments=3) as writer, Reader(queue, "r") as reader:
        fill(writer, 2)
        assert writer.append_batch([b"%0100d" % number for number in range(11, 15)]) == (11, 12, 13, 14)
        before = {path.name: path.read_bytes() for path in queue.iterdir() if path.is_file()}
        for _ in range(3):
            with pytest.raises(CoreError, match="QueueFull: the queue may have 3 segments of 1024 bytes") as full:
                writer.append(b"%0100d" % 15)
            assert full.value.error_class is ErrorClass.FULL
        assert {path.name: path.read_bytes() for path in queue.iterdir() if path.is_file()} == before
        assert writer.retain().deleted == 0
        read_and_commit(reader, 5)
        assert writer.retain().deleted == 1
        with pytest.raises(Appended, match="QueueFull") as ended:
            writer.append_batch([b"%0100d" % number for number in range(15, 25)])
        assert ended.value.seqs == (15, 16, 17, 18, 19)
        assert numbers(reader) == list(range(5, 20))


@pytest.mark.parametrize("bound", [{"max_segments": 3}, {"max_bytes": 4 * SEGMENT - 1}])
def test_a_queue_that_retains_by_itself_stays_within_its_bound(tmp_path: Path, bound: dict[str, int]) -> None:
    queue = tmp_path / "q"
    with open_writer(queue, retain=True, **bound) as writer, Reader(queue, "r") as reader:
        for number in range(100):
            writer.append(b"%0100d" % number)
            assert len(ids(queue)) <= 3
            if number % 2:
                read_and_commit(reader, 2)
        fill(writer, 2)
        for _ in range(4):
            writer.append(b"x")
        with pytest.raises(CoreError, match="QueueFull"):
            fill(writer, 1)
        numbers_now = ids(queue)
        reader.commit(*last_place(reader))
        writer.append(b"%0100d" % writer.next_seq)
        assert ids(queue)[0] > numbers_now[0]


def last_place(reader: Reader) -> tuple[int, int]:
    place = (0, 0)
    while not (batch := reader.read_batch(100)).end:
        place = batch.messages[-1].next
    return place


@pytest.mark.parametrize("bound", [{"max_segments": 0}, {"max_bytes": SEGMENT - 1}, {"max_lag_bytes": 0}])
def test_a_bound_that_holds_nothing_is_refused_and_the_queue_stays_free(tmp_path: Path, bound: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"bound below one segment|one byte behind"):
        open_writer(tmp_path / "q", **bound)
    open_writer(tmp_path / "q").close()


def test_what_is_no_readers_file_holds_nothing_and_stops_nothing(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with open_writer(queue) as writer:
        with Reader(queue, "torn"):
            fill(writer, 3)
        readers = queue / "readers"
        (readers / "torn.meta").write_bytes(bytes(range(128)))
        (readers / "short.meta").write_bytes(b"x")
        (readers / "empty.meta").touch()
        os.mkfifo(readers / "fifo.meta")
        (readers / "directory.meta").mkdir()
        (readers / "notes.txt").write_text("of an operator")
        (readers / ".hidden.meta").touch()
        assert standings(writer) == dict.fromkeys(("torn", "short", "empty", "fifo", "directory"), Standing.DAMAGED)
        assert ids(queue) == [3]


REGISTER = "import sys; from fireassay.reference.chronicle.reader import Reader; r = Reader(sys.argv[1], 'new', heartbeat_s=0)\n"
REGISTER += "while not (b := r.read_batch(9)).end:\n    for m in b.messages: print(int(m.payload))\n"


@pytest.mark.parametrize("where", ["chronicle_segment_scan", "chronicle_segment_mmap", "replace_rename", "chronicle_meta_mmap"])
def test_nothing_is_deleted_under_a_reader_that_registers(tmp_path: Path, where: str) -> None:
    queue = tmp_path / "q"
    with open_writer(queue) as writer, ControlFile.create(tmp_path / "control") as control:
        fill(writer, 3)
        control.arm(where, Action.STOP)
        settings = {**os.environ, "FIREASSAY_CORE": "failpoints", "FIREASSAY_FAILPOINTS": str(control.path)}
        with subprocess.Popen([sys.executable, "-c", REGISTER, queue], env=settings, stdout=subprocess.PIPE, text=True) as child:
            try:
                assert os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1])
                found = writer.retain()
                assert (found.busy, found.deleted, ids(queue)) == (True, 0, [0, 1, 2, 3])
                child.send_signal(signal.SIGCONT)
                out, _ = child.communicate(timeout=60)
            finally:
                child.kill()
        assert out.split() == [str(number) for number in range(16)]
        assert (writer.retain().busy, ids(queue)) == (False, [0, 1, 2, 3])


def test_a_reader_that_stands_in_its_registration_past_its_ttl_stops_nobody(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with open_writer(queue, reader_ttl_s=0.05) as writer, ControlFile.create(tmp_path / "control") as control:
        fill(writer, 3)
        control.arm("replace_rename", Action.STOP)
        settings = {**os.environ, "FIREASSAY_CORE": "failpoints", "FIREASSAY_FAILPOINTS": str(control.path)}
        with subprocess.Popen(
            [sys.executable, "-c", REGISTER, queue], env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as child:
            try:
                assert os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1])
                deadline = time.monotonic() + 30
                while writer.retain().busy:
                    assert time.monotonic() < deadline
                assert ids(queue) == [3]
                child.send_signal(signal.SIGCONT)
                _, said = child.communicate(timeout=60)
            finally:
                child.kill()
        assert b"SegmentMissing: segment 1 has been deleted" in said, "told, and not led astray"


def test_a_reader_waits_for_a_pass_that_is_under_way(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    script = "import sys; from fireassay.reference.chronicle.writer import Writer; w = Writer(sys.argv[1], heartbeat_s=0)\n"
    script += "w.append(b'x'); w.retain()\n"
    with open_writer(queue) as writer:
        fill(writer, 3)
    with ControlFile.create(tmp_path / "control") as control:
        control.arm("chronicle_retention_unlink", Action.STOP, nth=2)
        settings = {**os.environ, "FIREASSAY_CORE": "failpoints", "FIREASSAY_FAILPOINTS": str(control.path)}
        with subprocess.Popen([sys.executable, "-c", script, queue], env=settings) as child:
            try:
                assert os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1])
                assert ids(queue) == [1, 2, 3, 4]
                with pytest.raises(CoreError, match="kept the directory of readers locked") as kept:
                    Reader(queue, "early")
                assert kept.value.error_class is ErrorClass.TIMEOUT
                timer = threading.Timer(0.1, lambda: child.send_signal(signal.SIGCONT))
                timer.start()
                with Reader(queue, "patient") as reader:
                    assert child.wait(60) == 0
                    assert [message.payload for message in reader.read_batch(9).messages] == [b"x"]
                timer.join()
            finally:
                child.kill()


def test_a_writer_killed_in_the_middle_of_a_pass_leaves_one_piece(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    script = "import sys; from fireassay.reference.chronicle.writer import Writer; w = Writer(sys.argv[1], heartbeat_s=0)\n"
    script += "w.append(b'x'); w.retain()\n"
    with open_writer(queue) as writer:
        fill(writer, 5)
    with ControlFile.create(tmp_path / "control") as control:
        control.arm("chronicle_retention_unlink", Action.CRASH, nth=4)
        settings = {**os.environ, "FIREASSAY_CORE": "failpoints", "FIREASSAY_FAILPOINTS": str(control.path)}
        assert subprocess.run([sys.executable, "-c", script, queue], env=settings).returncode == -signal.SIGKILL
    assert ids(queue) == [3, 4, 5, 6]
    with open_writer(queue) as writer, Reader(queue, "r") as reader:
        assert writer.next_seq == 27
        writer.append(b"27")
        assert [message.seq for message in reader.read_batch(99).messages] == [15, 16, 17, 18, 19]


def test_a_reader_whose_segment_is_gone_is_told_until_it_goes_elsewhere(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with open_writer(queue, reader_ttl_s=10) as writer, Reader(queue, "stays", heartbeat_s=0) as stays:
        with Reader(queue, "returns", heartbeat_s=0) as returns:
            assert returns.read_batch(1).end
            fill(writer, 4)
        age(queue, "stays", 11)
        age(queue, "returns", 11)
        assert writer.retain().oldest == 4
        assert len(stays.read_batch(99).messages) == 5, "its map outlives the file"
        with Reader(queue, "returns") as returns:
            for reader, gone, left in ((stays, 1, [20]), (returns, 0, [20, 21])):
                for _ in range(2):
                    with pytest.raises(CoreError, match=f"SegmentMissing: segment {gone} has been deleted") as missing:
                        reader.read_batch(1)
                    assert missing.value.error_class is ErrorClass.MISSING
                    assert (reader.missing, reader.wait(0)) == (True, True)
                with pytest.raises(CoreError):
                    reader.seek(1, 64)
                assert reader.missing
                reader.seek_oldest()
                assert (reader.missing, numbers(reader)) == (False, left)
                writer.append(b"%0100d" % writer.next_seq)
                assert reader.wait(30)
                assert [message.seq for message in reader.read_batch(1).messages] == [writer.next_seq - 1]
                reader.seek(4, 64)
                reader.read_batch(1)


def test_a_reader_that_unregisters_leaves_nothing_and_one_that_closes_leaves_its_place(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with open_writer(queue) as writer:
        fill(writer, 2)
        reader = Reader(queue, "r")
        read_and_commit(reader, 3)
        reader.close()
        assert (queue / "readers" / "r.meta").exists()
        assert (writer.retain().oldest, ids(queue)) == (0, [0, 1, 2])
        reader = Reader(queue, "r")
        assert reader.opened_at == 3
        reader.unregister()
        reader.unregister()
        reader.close()
        assert list((queue / "readers").iterdir()) == []
        assert (writer.retain().oldest, ids(queue)) == (2, [2])
        with Reader(queue, "r") as reader:
            assert reader.opened_at == 10
            (queue / "readers" / "r.meta").unlink()  # an operator was faster
            reader.unregister()
