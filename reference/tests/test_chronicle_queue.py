"""The queue as its writer and readers use it."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.reference import core
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import PAD, Appended, Writer
from fireassay.reference.core import CoreError
from fireassay.reference.failpoints import Action, ControlFile
from fireassay.reference.tests.chronicle_files import assert_consistent, control_of, readable, segments_of
from fireassay.spec import layouts
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import ErrorClass

SEGMENT = 1024


def seqs(reader: Reader, limit: int = 100) -> list[int]:
    found: list[int] = []
    while not (batch := reader.read_batch(limit)).end:
        found += [message.seq for message in batch.messages]
    return found


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if condition():
            return True
        os.sched_yield()
    return False


def test_a_new_queue_has_exactly_its_files(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0):
        assert sorted(path.name for path in (tmp_path / "q").iterdir()) == ["000000000.q", "control.meta", "writer.lock"]
        control = control_of(tmp_path / "q")
        assert (control["writer_epoch"], control["segment_size"], control["current_segment"], control["write_offset"]) == (
            1,
            SEGMENT,
            0,
            64,
        )
        lock = layouts.parse(layout.WRITER_LOCK, (tmp_path / "q" / "writer.lock").read_bytes())
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        assert lock == {"pid": os.getpid(), "start_ticks": ticks, "epoch": 1}


def test_every_length_is_stored_and_read_as_it_was_appended(tmp_path: Path) -> None:
    payloads = [bytes([length % 251]) * length for length in (0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 896)]
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer, Reader(tmp_path / "q", "r") as reader:
        assert writer.max_payload == 896
        before = time.time_ns()
        assert [writer.append(payload, type_id=n, flags=n * 7) for n, payload in enumerate(payloads)] == list(range(13))
        after = time.time_ns()
        stored = assert_consistent(tmp_path / "q")
        got = [message for _ in range(50) for message in reader.read_batch(5).messages]
    assert [record.payload for record in stored] == payloads == [message.payload for message in got]
    assert [(record.type_id, record.flags) for record in stored] == [(n, n * 7) for n in range(13)]
    assert [(message.seq, message.type_id, message.flags) for message in got] == [(n, n, n * 7) for n in range(13)]
    assert all(before <= message.timestamp_ns <= after for message in got)


def test_what_is_refused_leaves_no_trace(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
        writer.append(b"first")
        before = (tmp_path / "q" / "000000000.q").read_bytes(), (tmp_path / "q" / "control.meta").read_bytes()
        for payload, type_id, kind in ((bytes(897), 0, ErrorClass.TOO_LARGE), (b"x", PAD, ErrorClass.INVALID)):
            with pytest.raises(CoreError) as refused:
                writer.append(payload, type_id)
            assert refused.value.error_class is kind
        assert ((tmp_path / "q" / "000000000.q").read_bytes(), (tmp_path / "q" / "control.meta").read_bytes()) == before
        with pytest.raises(Appended, match="PayloadTooLarge: 897 bytes") as ended:
            writer.append_batch([b"a", b"b", bytes(897), b"c"])
        assert ended.value.seqs == (1, 2)
        assert writer.append(b"d") == 3
    assert [record.payload for record in readable(tmp_path / "q")] == [b"first", b"a", b"b", b"d"]


def test_a_roll_pads_and_seals_and_a_reader_passes(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer, Reader(tmp_path / "q", "r") as reader:
        for number in range(20):
            writer.append(b"%0130d" % number)
            assert seqs(reader) == [number]
        assert len(segments_of(tmp_path / "q")) == 7
        assert reader.writer_position() == (6, segments_of(tmp_path / "q")[-1].end)
        assert len(assert_consistent(tmp_path / "q")) == 20


def test_readers_are_independent_and_resume_at_their_commits(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
        writer.append_batch([b"%d" % number for number in range(30)])
    for name, take in (("a", 3), ("b", 17)):
        with Reader(tmp_path / "q", name) as reader:
            messages = [message for _ in range(30) for message in reader.read_batch(1).messages]
            assert [message.seq for message in messages] == list(range(30))
            reader.commit(*messages[take - 1].next)
    for name, take in (("a", 3), ("b", 17), ("new", 0)):
        with Reader(tmp_path / "q", name) as reader:
            assert (reader.opened_at, reader.was_reset) == (take, False)
            assert seqs(reader, 7) == list(range(take, 30))
    slot = layout.committed_slot((tmp_path / "q" / "readers" / "b.meta").read_bytes())
    assert (slot["generation"], slot["pid"]) == (3, os.getpid()), "made, committed, and alive again"


def test_a_torn_slot_falls_back_to_the_older_commit(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
        writer.append_batch([b"x"] * 5)
    with Reader(tmp_path / "q", "r") as reader:
        messages = reader.read_batch(5).messages
        reader.commit(*messages[1].next)
        reader.commit(*messages[3].next)
    meta = tmp_path / "q" / "readers" / "r.meta"
    data = bytearray(meta.read_bytes())
    torn = next(at for at in (0, 64) if int.from_bytes(data[at : at + 8], "little") == 3)
    data[torn + 16] ^= 0xFF
    meta.write_bytes(data)
    with Reader(tmp_path / "q", "r") as reader:
        assert seqs(reader) == [2, 3, 4]
    data[64 - torn] ^= 1
    meta.write_bytes(data)
    with pytest.raises(CoreError, match="CorruptMetadata: neither slot of reader r holds"):
        Reader(tmp_path / "q", "r")


def test_a_place_the_reader_has_not_come_to_is_not_committed(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0), Reader(tmp_path / "q", "r") as reader:
        for place in ((0, 65), (0, 0), (0, 1088), (1, 64)):
            with pytest.raises(CoreError, match="no place that this reader has come to"):
                reader.commit(*place)


@pytest.mark.parametrize("name", ["", ".", "..", "../r", "a/b", "/abs", ".hidden", "a\0b", "new\nline", "sp ace", "x" * 201, "back\\slash"])
def test_a_hostile_name_is_refused_and_makes_nothing(tmp_path: Path, name: str) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0):
        before = sorted(str(path) for path in tmp_path.rglob("*"))
        with pytest.raises(CoreError) as refused:
            Reader(tmp_path / "q", name)
        assert refused.value.error_class is ErrorClass.INVALID
        assert sorted(str(path) for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["r", "reader-1.A_b", "x" * 200, "größe"])
def test_a_plain_name_is_taken(tmp_path: Path, name: str) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0), Reader(tmp_path / "q", name):
        assert (tmp_path / "q" / "readers" / f"{name}.meta").stat().st_size == 128


def test_a_wait_ends_with_the_record_and_at_its_deadline(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer, Reader(tmp_path / "q", "r") as reader:
        start = time.monotonic()
        assert reader.read_batch(1, 0.2).end
        assert 0.2 <= time.monotonic() - start < 5
        spent = time.process_time()
        thread = threading.Timer(0.3, lambda: writer.append(b"late"))
        thread.start()
        (message,) = reader.read_batch(1, 30).messages
        thread.join()
        assert message.payload == b"late"
        assert time.process_time() - spent < 0.2, "waiting burns the processor"


def test_the_heartbeat_goes_on_while_the_writer_is_idle(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0.01), Reader(tmp_path / "q", "r") as reader:
        first = reader.writer_heartbeat_ns()
        assert abs(first - time.time_ns()) < 10**10
        assert until(lambda: reader.writer_heartbeat_ns() > first)


def test_an_epoch_is_one_more_per_open(tmp_path: Path) -> None:
    for epoch in (1, 2, 3):
        with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer, Reader(tmp_path / "q", "r") as reader:
            assert (writer.epoch, reader.writer_epoch()) == (epoch, epoch)


def test_a_second_writer_is_refused_while_the_first_lives_and_follows_when_it_is_dead(tmp_path: Path) -> None:
    script = "import sys, time; from fireassay.reference.chronicle.writer import Writer; w = Writer(sys.argv[1], 1024); w.append(b'x')\n"
    script += "print('open', flush=True); sys.stdin.read()\n"
    with subprocess.Popen([sys.executable, "-c", script, tmp_path / "q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == b"open\n"
            child.send_signal(signal.SIGSTOP)  # frozen is not dead
            with pytest.raises(CoreError, match=f"WriterAlreadyActive: process {child.pid} writes this queue") as refused:
                Writer(tmp_path / "q")
            assert (refused.value.error_class, refused.value.errno) == (ErrorClass.LOCKED, errno.EAGAIN)
        finally:
            child.kill()
    with Writer(tmp_path / "q", heartbeat_s=0) as writer:
        assert (writer.next_seq, writer.epoch, writer.segment_size) == (1, 2, 1024)


@pytest.mark.parametrize(("pid", "ticks"), [(0x3FFFFF00, 1), (os.getpid(), 1), (0, 0)], ids=["dead", "reused", "nobody"])
def test_a_lock_held_without_its_owner_is_tried_for_a_while_and_then_refused(tmp_path: Path, pid: int, ticks: int) -> None:
    Writer(tmp_path / "q", SEGMENT, heartbeat_s=0).close()
    lock = tmp_path / "q" / "writer.lock"
    lock.write_bytes(layouts.build(layout.WRITER_LOCK, {"pid": pid, "start_ticks": ticks, "epoch": 1}))
    with lock.open("rb") as inherited:
        fcntl.flock(inherited, fcntl.LOCK_EX)
        start = time.monotonic()
        with pytest.raises(CoreError, match=f"held, though not by process {pid}"):
            Writer(tmp_path / "q")
        assert 0.4 < time.monotonic() - start < 10
        timer = threading.Timer(0.1, lambda: fcntl.flock(inherited, fcntl.LOCK_UN))
        timer.start()
        Writer(tmp_path / "q", heartbeat_s=0).close()  # the descriptor goes while it is tried
        timer.join()


def test_a_full_disk_at_a_roll_is_an_error_and_writing_goes_on_when_there_is_room(tmp_path: Path) -> None:
    ffi, lib = core.load("failpoints")
    err = ffi.new("fa_error *")
    with ControlFile.create(tmp_path / "control") as control:
        core.check(ffi, err, lib.fa_failpoint_attach(os.fsencode(control.path), err))
        try:
            with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0, variant="failpoints") as writer, Reader(tmp_path / "q", "r") as reader:
                writer.append(bytes(700))
                for step in ("create", "fallocate", "pwrite", "rename", "open", "mmap"):
                    control.arm(f"chronicle_segment_{step}", Action.ERROR, errno=errno.ENOSPC)
                    with pytest.raises(CoreError, match="No space left") as full:
                        writer.append(bytes(600))
                    assert full.value.error_class is ErrorClass.FULL
                    assert not list((tmp_path / "q").glob("*.tmp"))
                assert writer.append(b"small") == 1  # there is room for this one where it is
                assert seqs(reader) == [0, 1]
                assert writer.append(bytes(600)) == 2
                assert seqs(reader) == [2]
        finally:
            lib.fa_failpoint_detach(err)
    assert len(assert_consistent(tmp_path / "q")) == 3


def test_a_segment_has_its_blocks_before_it_is_mapped(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", 1 << 20, heartbeat_s=0):
        found = (tmp_path / "q" / "000000000.q").stat()
        assert found.st_blocks * 512 >= found.st_size == 1 << 20


def test_what_is_closed_says_so(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT) as writer, Reader(tmp_path / "q", "r") as reader:
        pass
    writer.close()
    reader.close()
    for call in (lambda: writer.append(b"x"), writer.flush_sync, lambda: reader.read_batch(1), lambda: reader.commit(0, 64)):
        with pytest.raises(CoreError, match="is closed"):
            call()
    writer.heartbeat()


def test_a_reader_of_no_queue_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "nowhere", tmp_path / "empty"):
        with pytest.raises(CoreError) as refused:
            Reader(path, "r")
        assert refused.value.error_class is ErrorClass.MISSING
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.parametrize("size", [0, 64, 127, 129, 1000, (1 << 32) + 64])
def test_a_segment_size_that_cannot_be_is_refused(tmp_path: Path, size: int) -> None:
    with pytest.raises(CoreError, match="not a multiple of 64"):
        Writer(tmp_path / "q", size)
    assert not (tmp_path / "q").exists()
