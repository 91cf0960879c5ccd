"""What a reader can tell of its writer."""

import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fireassay.reference.chronicle.limits import Limits
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.status import DisconnectReason, WriterState
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.core import CoreError

SEGMENT = 1024
HOLDER = (
    "import sys; from fireassay.reference.chronicle.writer import Writer\n"
    "w = Writer(sys.argv[1], 1024, heartbeat_s=0.02); print('open', flush=True); sys.stdin.read()\n"
)


@contextmanager
def holder(queue: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", HOLDER, queue], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"open\n"
        try:
            yield child
        finally:
            child.kill()


def age_heartbeat(queue: Path, seconds: float) -> None:
    with (queue / "control.meta").open("r+b") as file:
        file.seek(264)
        file.write(struct.pack("<Q", time.time_ns() - int(seconds * 1e9)))


def test_an_active_writer_is_told_from_one_that_is_frozen_and_one_that_is_dead(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with holder(queue) as child, Reader(queue, "r") as reader:
        status = reader.writer_status(60)
        assert (status.state, status.pid, status.epoch) == (WriterState.ACTIVE, child.pid, 1)
        assert 0 <= status.age_s < 60
        assert reader.detect_disconnect(60) is None
        child.send_signal(signal.SIGSTOP)
        deadline = time.monotonic() + 30
        while reader.detect_disconnect(0.2) is None:
            assert time.monotonic() < deadline
        assert reader.detect_disconnect(0.2) is DisconnectReason.HEARTBEAT_STALE
        assert reader.writer_status(0.2).state is WriterState.STALE
        assert reader.detect_disconnect(60) is None, "that TTL has not passed"
        child.kill()
        child.wait()
        assert reader.detect_disconnect(60) is DisconnectReason.LOCK_LOST
        assert (reader.writer_status(60).state, reader.writer_status(60).pid) == (WriterState.LOST, child.pid)
        with Writer(queue, heartbeat_s=0) as writer:
            assert (reader.detect_disconnect(60), reader.writer_status(60).epoch) == (None, writer.epoch)
        assert reader.detect_disconnect(60) is DisconnectReason.LOCK_LOST, "it has closed and says so"
        (queue / "writer.lock").unlink()
        assert (reader.detect_disconnect(60), reader.writer_status(60).pid) == (DisconnectReason.LOCK_LOST, 0)


def test_a_pid_that_somebody_else_has_now_is_no_writer(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with Writer(queue, SEGMENT, heartbeat_s=0), Reader(queue, "r") as reader:
        (queue / "writer.lock").write_bytes(struct.pack("<IIQQ", os.getpid(), 0, 1, 1))
        assert reader.detect_disconnect(60) is DisconnectReason.LOCK_LOST


def test_looking_changes_nothing_and_keeps_nobody_out(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    Writer(queue, SEGMENT, heartbeat_s=0).close()
    with Reader(queue, "r", heartbeat_s=0) as reader:
        before = {path: path.read_bytes() for path in queue.rglob("*") if path.is_file()}
        for _ in range(20):
            reader.detect_disconnect(1)
        assert {path: path.read_bytes() for path in queue.rglob("*") if path.is_file()} == before
        Writer(queue, SEGMENT, heartbeat_s=0).close()


def test_a_deleted_segment_comes_before_whatever_else_is_wrong(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with (
        Writer(queue, SEGMENT, heartbeat_s=0, limits=Limits(reader_ttl_s=0)) as writer,
        Reader(queue, "r", heartbeat_s=0) as reader,
    ):
        for _ in range(12):
            writer.append(bytes(100))
        assert reader.detect_disconnect(60) is None
        assert writer.retain().deleted == 2
        assert reader.detect_disconnect(60) is DisconnectReason.SEGMENT_MISSING
        assert len(reader.read_batch(99).messages) == 5
        assert reader.detect_disconnect(60) is DisconnectReason.SEGMENT_MISSING
        with pytest.raises(CoreError, match="SegmentMissing"):
            reader.read_batch(1)
        assert reader.detect_disconnect(60) is DisconnectReason.SEGMENT_MISSING
        reader.seek_oldest()
        assert reader.detect_disconnect(60) is None
        age_heartbeat(queue, 120)
        assert reader.detect_disconnect(60) is DisconnectReason.HEARTBEAT_STALE


def test_a_reader_that_has_read_a_segment_to_its_end_misses_nothing_when_it_goes(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer, Reader(queue, "r") as reader:
        for _ in range(6):
            writer.append(bytes(100))
        reader.commit(*reader.read_batch(5).messages[-1].next)
        assert writer.retain().deleted == 1
        assert reader.detect_disconnect(60) is None
        assert [message.seq for message in reader.read_batch(9).messages] == [5]
    with pytest.raises(CoreError, match="is closed"):
        reader.detect_disconnect(1)
