"""A late joiner has the state of one that was there from the start, from whichever snapshot it could begin."""

import os
import random
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.reference.chronicle.archive.archiver import Archiver
from fireassay.reference.chronicle.archive.joint_reader import JointReader
from fireassay.reference.chronicle.archive.snapshots import Joined, NoWayIn, Periodic, Snapshot, Snapshots, join
from fireassay.reference.chronicle.log_view import LiveSegments, LogView
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.segments import name_of, segment_ids
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.tests.killed import Victims, folded, victims
from fireassay.spec.layouts import LayoutError

SEGMENT = 1024


class State:
    """A fold in which each record counts, once and in its order."""

    def __init__(self) -> None:
        self.value = b""
        self.restored: bytes | None = None

    def restore(self, state: bytes) -> None:
        self.value = self.restored = state

    def apply_all(self, log: LogView) -> bytes:
        while not (batch := log.read_batch(9)).end:
            for message in batch.messages:
                self.value = folded(self.value, message)
        return self.value


def log_of(queue: Path) -> LogView:
    return LogView(LiveSegments(queue, SEGMENT))


def write(queue: Path, count: int, seed: int = 0) -> None:
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
        for number in range(count):
            writer.append(b"%d" % (number + seed) * (number % 60))


def snapshots_at(queue: Path, *seqs: int) -> Snapshots:
    """Those that one who was there from the start would have written."""
    made = Snapshots(queue)
    value = b""
    with log_of(queue) as log:
        while not (batch := log.read_batch(9)).end:
            for message in batch.messages:
                value = folded(value, message)
                if message.seq in seqs:
                    made.write(Snapshot(message.seq, message.timestamp_ns, value))
    return made


def from_the_start(queue: Path) -> bytes:
    with log_of(queue) as log:
        return State().apply_all(log)


def joined(queue: Path, log: LogView | None = None) -> tuple[bytes, Joined]:
    state = State()
    with log or log_of(queue) as view:
        how = join(view, Snapshots(queue), state.restore)
        return state.apply_all(view), how


@pytest.mark.parametrize("seqs", [(), (0,), (7,), (7, 30), (7, 30, 59)])
def test_a_late_joiner_has_the_state_of_one_from_the_start(tmp_path: Path, seqs: tuple[int, ...]) -> None:
    write(tmp_path / "q", 60)
    assert snapshots_at(tmp_path / "q", *seqs).seqs() == list(seqs)
    state, how = joined(tmp_path / "q")
    assert (state, how) == (from_the_start(tmp_path / "q"), Joined(seqs[-1] if seqs else None, ()))


def test_a_registered_reader_goes_on_where_the_snapshot_ends(tmp_path: Path) -> None:
    write(tmp_path / "q", 60)
    snapshots = snapshots_at(tmp_path / "q", 30)
    with Reader(tmp_path / "q", "late") as reader, log_of(tmp_path / "q") as log:
        join(log, snapshots, lambda _: None)
        reader.seek(*log.place)
        assert reader.read_batch(1).messages[0].seq == 31


def test_damaged_snapshots_are_passed_over_and_told(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    write(queue, 60)
    snapshots = snapshots_at(queue, 7, 20, 30)
    whole = snapshots.path_of(30).read_bytes()
    expected = from_the_start(queue)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    damaged = [whole[: rng.randrange(len(whole))] for _ in range(10)] + [b"", whole + b"x", snapshots.path_of(20).read_bytes()]
    damaged += [whole[:24] + (1 << 62).to_bytes(8, "little") + whole[32:]]
    for _ in range(60):
        at = rng.randrange(len(whole))
        damaged.append(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
    for data in damaged:
        snapshots.path_of(30).write_bytes(data)
        state, how = joined(queue)
        assert (state, how.snapshot) == (expected, 20)
        assert how.refused[0].startswith("snapshot 30: ")
    snapshots.path_of(20).unlink()
    os.mkfifo(snapshots.path_of(20))
    state, how = joined(queue)
    assert (state, how.snapshot, len(how.refused)) == (expected, 7, 2)


def test_a_snapshot_of_records_that_the_log_lost_is_not_taken(tmp_path: Path) -> None:
    """Power loss took the log's tail and left the snapshot; then the numbers were given again."""
    queue, other = tmp_path / "q", tmp_path / "other"
    write(queue, 40)
    snapshots_at(queue, 10, 30)
    with log_of(queue) as log, Writer(other, SEGMENT, heartbeat_s=0) as writer:
        kept = [(m.timestamp_ns, m.type_id, m.flags, m.payload) for m in list(all_of(log))[:20]]
        writer.append_stamped(kept)
    shutil.move(queue / "snapshots", other / "snapshots")
    state, how = joined(other)
    assert (state, how.snapshot) == (from_the_start(other), 10)
    assert "the log ends before it, at record 20" in how.refused[0]
    write(other, 20, 5)
    state, how = joined(other)
    assert (state, how.snapshot) == (from_the_start(other), 10)
    assert "another record of that number" in how.refused[0]


def all_of(log: LogView) -> Iterator:  # type: ignore[type-arg]
    while not (batch := log.read_batch(9)).end:
        yield from batch.messages


def test_what_no_snapshot_leads_to_is_an_error_and_the_archive_helps(tmp_path: Path) -> None:
    queue, store = tmp_path / "q", tmp_path / "store"
    write(queue, 60)
    expected = from_the_start(queue)
    with Archiver(queue, store) as archiver:
        while archiver.step() is not None:
            pass
    for segment in segment_ids(queue)[:4]:
        (queue / name_of(segment)).unlink()
    with pytest.raises(NoWayIn, match="there is none"):
        joined(queue)
    Snapshots(queue).write(Snapshot(3, 0, b"too old"))
    with pytest.raises(NoWayIn, match="snapshot 3: the log begins with record"):
        joined(queue)
    state, how = joined(queue, JointReader(queue, store, SEGMENT))
    assert (state, how.snapshot) == (expected, None)
    assert "another record of that number" in how.refused[0]


def test_a_log_whose_records_have_all_left_is_joined_at_its_end(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    write(queue, 20)
    snapshots = snapshots_at(queue, 19)
    expected = from_the_start(queue)
    Writer(queue, SEGMENT, heartbeat_s=0).close()
    for segment in segment_ids(queue)[:-1]:
        (queue / name_of(segment)).unlink()
    assert joined(queue) == (expected, Joined(19, ()))
    shutil.rmtree(snapshots.directory)
    with pytest.raises(NoWayIn):
        joined(queue)


def test_snapshots_are_written_while_the_queue_goes_on(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    write(queue, 1)
    stop = threading.Event()

    def feed() -> None:
        with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
            for number in range(2000):
                writer.append(b"%d" % number)
        stop.set()

    periodic = Periodic(Snapshots(queue), every_records=100, every_s=1e9)
    thread = threading.Thread(target=feed)
    thread.start()
    value, done = b"", False
    with Reader(queue, "feed") as reader:
        while not done:
            done = stop.is_set()
            while not (batch := reader.read_batch(64)).end:
                for message in batch.messages:
                    value = folded(value, message)
                    periodic.offer(message.seq, message.timestamp_ns, lambda: value)  # noqa: B023
    thread.join()
    assert len(Snapshots(queue).seqs()) == 3
    state, how = joined(queue)
    assert (state, how.snapshot) == (from_the_start(queue), Snapshots(queue).seqs()[-1])


def test_a_snapshot_is_due_after_so_many_records_or_so_much_time(tmp_path: Path) -> None:
    now = [0.0]
    periodic = Periodic(Snapshots(tmp_path), every_records=10, every_s=5.0, kept=2, clock=lambda: now[0])
    assert [seq for seq in range(35) if periodic.offer(seq, 0, lambda: b"s")] == [9, 19, 29]
    now[0] = 6.0
    assert periodic.offer(35, 0, lambda: b"s")
    assert not periodic.offer(36, 0, lambda: b"s")
    assert Snapshots(tmp_path).seqs() == [29, 35]


def test_other_files_are_no_snapshots(tmp_path: Path) -> None:
    made = Snapshots(tmp_path)
    made.write(Snapshot(5, 0, b""))
    for name in ("snapshot_07.bin", "snapshot_-1.bin", "snapshot_8.bin.tmp", "snapshot_x.bin", "snapshot_9"):
        (made.directory / name).touch()
    assert made.seqs() == [5]
    made.path_of(6).write_bytes(made.path_of(5).read_bytes())
    with pytest.raises(LayoutError, match="wrong snapshot"):
        made.load(6)


@pytest.fixture(scope="module")
def forge() -> Iterator[Victims]:
    with victims("failpoints") as made:
        yield made


def deaths(forge: Victims, tmp_path: Path, share: float) -> None:
    write(tmp_path / "original", 30)
    expected = from_the_start(tmp_path / "original")

    def one(line: int) -> int:
        where = tmp_path / str(line)
        shutil.copytree(tmp_path / "original", where / "queue")
        death = forge.run("snapshots", where, line=line)
        assert death.status == (-signal.SIGKILL if line else 0)
        state, how = joined(where / "queue")
        assert (state, how.refused) == (expected, ())
        return death.lines

    lines = one(0)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}, {lines} lines")
    for line in random.Random(seed).sample(range(1, lines), int((lines - 1) * share)):
        one(line)


def test_killed_at_any_line_it_leaves_whole_snapshots(forge: Victims, tmp_path: Path) -> None:
    deaths(forge, tmp_path, 0.05)


@pytest.mark.long
def test_killed_at_every_line_it_leaves_whole_snapshots(forge: Victims, tmp_path: Path) -> None:
    deaths(forge, tmp_path, 1.0)
