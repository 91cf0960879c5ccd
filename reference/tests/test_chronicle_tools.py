"""A queue seen from outside: what the survey and the doctor say of healthy, dead and damaged queues, and that they change nothing."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.reference.chronicle.archive.archiver import Archiver
from fireassay.reference.chronicle.archive.origin import ORIGIN
from fireassay.reference.chronicle.archive.snapshots import Snapshot, Snapshots
from fireassay.reference.chronicle.archive.store import archive_name
from fireassay.reference.chronicle.bus.layout import Bus, make_endpoint
from fireassay.reference.chronicle.bus.markers import READY, Lease, mark_ready
from fireassay.reference.chronicle.holder import HolderState, holder_of
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.tools.doctor import Finding, examine, queues_below
from fireassay.reference.chronicle.tools.survey import survey
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.tests.chronicle_processes import holder
from fireassay.spec import layouts
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import HarnessError

SEGMENT = 1024


def filled(queue: Path, count: int = 40) -> None:
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
        for number in range(count):
            writer.append(b"%d" % number * 30)
        writer.flush_sync()


def state_of(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Bytes, time of change and inode of every file, and every directory."""
    found = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        found[str(path)] = (path.read_bytes() if path.is_file() else b"", stat.st_mtime_ns, stat.st_ino)
    return found


def wrong(queue: Path, ttl_s: float = 1e9) -> list[tuple[str, str]]:
    return [(finding.problem.file, finding.problem.what) for finding in examine(queue, ttl_s) if finding.problem.wrong]


def test_a_survey_agrees_with_the_writer_and_the_readers(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with (
        Writer(queue, SEGMENT, heartbeat_s=0) as writer,
        Reader(queue, "new"),
        Reader(queue, "half") as half,
        Reader(queue, "all") as whole,
    ):
        for number in range(40):
            writer.append(b"%d" % number * 30)
        half.commit(*half.read_batch(3).messages[1].next)
        messages = []
        while not (batch := whole.read_batch(9)).end:
            messages += batch.messages
        whole.commit(*messages[-1].next)
        before = state_of(tmp_path)
        facts = survey(queue)
        assert state_of(tmp_path) == before
        assert facts.control is not None
        assert (facts.control.segment, facts.control.offset) == whole.writer_position() == messages[-1].next
        assert (facts.control.epoch, facts.segment_size, facts.next_seq, facts.problems) == (1, SEGMENT, 40, ())
        assert (facts.holder.state, facts.holder.pid, facts.holder.held) == (HolderState.LIVE, os.getpid(), True)
        firsts = [message.seq for n, message in enumerate(messages) if n == 0 or message.next[0] != messages[n - 1].next[0]]
        assert [known.first_seq for known in facts.segments] == firsts
        assert [known.sealed for known in facts.segments] == [True] * (len(firsts) - 1) + [False]
        assert sum(known.records or 0 for known in facts.segments) == 40
        by_name = {reader.name: reader for reader in facts.readers}
        assert {name: (reader.next_seq, reader.lag_records) for name, reader in by_name.items()} == {
            "new": (0, 40), "half": (2, 38), "all": (40, 0),
        }  # fmt: skip
        head = messages[-1].next
        assert (by_name["new"].lag_bytes, by_name["new"].lag_segments) == (head[0] * SEGMENT + head[1] - 64, head[0])
        assert (by_name["all"].lag_bytes, by_name["all"].lag_segments) == (0, 0)
        assert all(reader.alive and reader.live and reader.pid == os.getpid() for reader in facts.readers)
        assert all(not reader.live for reader in survey(queue, 1.0, time.time_ns() + 2 * 10**9).readers)


def test_a_healthy_queue_has_nothing_wrong_and_nothing_is_changed_by_looking(tmp_path: Path) -> None:
    queue = make_endpoint(Bus(tmp_path).raw_queue("venue"))
    with holder(queue, 40, reader=True):
        mark_ready(queue)
        with Lease(queue):
            (tmp_path / "streams" / "link").symlink_to(tmp_path)
            before = still(state_of(tmp_path))
            assert queues_below(tmp_path) == [queue]
            assert wrong(queue) == []
            assert still(state_of(tmp_path)) == before


def still(state: dict[str, tuple[bytes, int, int]]) -> dict[str, tuple[bytes, int, int]]:
    """Without the files in which hearts beat."""
    return {name: value for name, value in state.items() if not name.endswith(("control.meta", "its_own.meta"))}


def test_looking_never_turns_a_writer_away(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    filled(queue)
    for _ in range(5):
        holder_of(queue)
        with Writer(queue, SEGMENT, heartbeat_s=0):
            assert holder_of(queue).state is HolderState.LIVE
        assert holder_of(queue).state is HolderState.NONE


def test_a_writer_that_closed_and_one_that_was_killed_are_told_apart(tmp_path: Path) -> None:
    assert holder_of(tmp_path).state is HolderState.NONE
    queue = tmp_path / "q"
    with holder(queue, 40, reader=True) as child:
        assert (holder_of(queue).state, holder_of(queue).pid) == (HolderState.LIVE, child.pid)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert (holder_of(queue).state, holder_of(queue).held) == (HolderState.DEAD, False)
        assert wrong(queue, 0.0) == [
            ("writer.lock", f"process {child.pid} wrote last and is gone"),
            wrong(queue, 0.0)[1],
        ]
        assert wrong(queue, 0.0)[1][0] == "readers/its_own.meta"
        assert "no longer holds retention back" in wrong(queue, 0.0)[1][1]
    with Writer(queue, SEGMENT, heartbeat_s=0):
        pass
    (queue / "readers" / "its_own.meta").unlink()
    assert wrong(queue) == []


def test_a_writer_that_is_stopped_has_an_old_heartbeat(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with holder(queue, 40, reader=True) as child:
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)
        found = examine(queue, 5.0, time.time_ns() + 10 * 10**9)
        assert [f.problem.file for f in found if "no sign of life" in f.problem.what] == ["control.meta"]


def test_a_lock_that_a_child_inherited_is_told(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    filled(queue)
    (queue / "writer.lock").write_bytes(layouts.build(layout.WRITER_LOCK, {"pid": 0x3FFFFF00, "start_ticks": 1, "epoch": 1}))
    hold = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print('up', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold, queue / "writer.lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert holder_of(queue).state is HolderState.INHERITED
        assert "held, though process 1073741568" in wrong(queue)[0][1]
        child.communicate(b"")
    assert holder_of(queue).state is HolderState.DEAD


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def cut(path: Path, to: int) -> None:
    os.truncate(path, to)


DAMAGE: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "control cut": (lambda q: cut(q / "control.meta", 100), "control.meta", "truncated"),
    "control empty": (lambda q: cut(q / "control.meta", 0), "control.meta", "truncated"),
    "control magic": (lambda q: flip(q / "control.meta", 0), "control.meta", "bad magic"),
    "control gone": (lambda q: (q / "control.meta").unlink(), "control.meta", "missing"),
    "control garbage": (lambda q: (q / "control.meta").write_bytes(os.urandom(384)), "control.meta", "bad magic"),
    "segment header": (lambda q: flip(q / "000000001.q", 0), "000000001.q", "bad magic"),
    "segment number": (lambda q: flip(q / "000000001.q", 8), "000000001.q", "wrong segment"),
    "segment cut": (lambda q: cut(q / "000000001.q", 512), "000000001.q", "wrong size"),
    "segment empty": (lambda q: cut(q / "000000001.q", 0), "000000001.q", "wrong size"),
    "segment gone": (lambda q: (q / "000000001.q").unlink(), "000000001.q", "segments 1 to 1 are missing"),
    "segment a directory": (lambda q: in_its_place(q / "000000001.q", Path.mkdir), "000000001.q", "not a file"),
    "segment a link": (lambda q: in_its_place(q / "000000001.q", lambda path: path.symlink_to("000000000.q")), "000000001.q", "not a file"),
    "control a pipe": (lambda q: in_its_place(q / "control.meta", os.mkfifo), "control.meta", "not a file"),
    "lock a pipe": (lambda q: in_its_place(q / "writer.lock", os.mkfifo), "writer.lock", "not a file"),
    "reader a directory": (lambda q: in_its_place(q / "readers" / "r.meta", Path.mkdir), "readers/r.meta", "not a file"),
    "record": (lambda q: flip(q / "000000001.q", 64 + 20), "000000001.q", "the record at 64 cannot be trusted"),
    "payload": (lambda q: flip(q / "000000001.q", 64 + 70), "000000001.q", "the record at 64 cannot be trusted"),
    "commit word": (lambda q: wipe_commit(q / "000000001.q"), "000000001.q", "sealed, and there is no record at 64"),
    "reader garbage": (lambda q: (q / "readers" / "r.meta").write_bytes(os.urandom(128)), "readers/r.meta", "no valid slot"),
    "reader cut": (lambda q: cut(q / "readers" / "r.meta", 64), "readers/r.meta", "truncated"),
    "reader ahead": (lambda q: reader_at(q, 77), "readers/r.meta", "segment 77, which is not there"),
    "index": (lambda q: flip(q / "index.meta", 9), "index.meta", "checksum mismatch"),
    "index long": (lambda q: (q / "index.meta").write_bytes(bytes(1000)), "index.meta", "oversized"),
    "lock": (lambda q: (q / "writer.lock").write_bytes(b"me"), "writer.lock", "truncated"),
    "snapshot": (lambda q: flip(Snapshots(q).write(Snapshot(3, 0, b"state")), 33), "snapshots/snapshot_3.bin", "checksum mismatch"),
    "origins": (lambda q: (q / ORIGIN).write_bytes(b"{}"), ORIGIN, "not whole"),
    "ready": (lambda q: (q / READY).write_bytes(b"yes"), READY, "truncated"),
}


def wipe_commit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[64:68] = bytes(4)
    path.write_bytes(data)


def in_its_place(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


def reader_at(queue: Path, segment: int) -> None:
    values = {"generation": 9, "segment": segment, "offset": 64, "heartbeat_ns": time.time_ns(), "pid": os.getpid()}
    slot = layouts.build(layout.READER_SLOT, values)
    (queue / "readers" / "r.meta").write_bytes(slot + bytes(64))


@pytest.mark.parametrize("name", DAMAGE)
def test_every_damage_is_a_sentence_that_names_its_file(tmp_path: Path, name: str) -> None:
    queue = tmp_path / "q"
    filled(queue)
    (queue / "readers").mkdir()
    reader_at(queue, 0)
    assert wrong(queue) == []
    damage, file, what = DAMAGE[name]
    damage(queue)
    before = state_of(tmp_path)
    survey(queue)
    found = wrong(queue)
    assert state_of(tmp_path) == before
    assert any(where == file and what in said for where, said in found), found
    assert {where for where, _ in found} <= {file, "000000002.q", "readers/r.meta"}
    assert all(finding.problem.advice for finding in examine(queue))


def test_damaged_archives_are_found_in_their_store(tmp_path: Path) -> None:
    queue, store = tmp_path / "q", tmp_path / "store"
    filled(queue)
    with Archiver(queue, store) as archiver:
        while archiver.step() is not None:
            pass
    assert queues_below(tmp_path) == [queue, store]
    assert wrong(store) == []
    flip(store / archive_name(1), -1)
    cut(store / archive_name(2), 20)
    assert [file for file, _ in wrong(store)] == [archive_name(1), archive_name(2)]


def test_missing_and_double_records_are_found_by_their_numbers(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    filled(queue)
    third = (queue / "000000002.q").read_bytes()
    (queue / "000000001.q").write_bytes(third[:8] + (1).to_bytes(4, "little") + third[12:])
    found = wrong(queue)
    assert [where for where, _ in found] == ["000000001.q", "000000002.q"]
    assert "and the segment before ends with" in found[0][1]


def test_what_is_no_queue_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "none", tmp_path / "file"):
        with pytest.raises(HarnessError):
            survey(path)
        with pytest.raises(HarnessError):
            queues_below(path)


def test_segments_behind_every_live_reader_are_named_as_deletable(tmp_path: Path) -> None:
    queue = tmp_path / "q"

    def deletable(ttl_s: float = 1e9) -> list[str]:
        return [f.problem.what.split()[0] for f in examine(queue, ttl_s) if "retention may delete" in f.problem.what]

    with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
        for number in range(40):
            writer.append(b"%d" % number * 30)
        current = len(list(queue.glob("*.q"))) - 1
        assert deletable() == [str(current)]
        with Reader(queue, "r") as reader:
            assert deletable() == []
            assert deletable(0.0) == [str(current)]
            while reader.read_batch(1).messages[0].next[0] < 2:
                pass
            reader.commit(2, 64)
            assert deletable() == ["2"]


def test_what_killed_processes_left_is_worth_knowing(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    filled(queue)
    for name in ("000000009.q.tmp", "000000003.q.lost", "control.meta.tmp"):
        (queue / name).touch()
    mark_ready(queue)
    notes: list[Finding] = list(examine(queue))
    assert not any(note.problem.wrong for note in notes)
    assert {note.problem.file for note in notes} >= {"000000009.q.tmp", "000000003.q.lost", "control.meta.tmp", READY}
