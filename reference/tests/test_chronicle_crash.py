"""The writer killed at every failpoint: what it acknowledged is there, and the next writer goes on behind it."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.worker import payload_of
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.failpoints import Action, ControlFile, failpoints
from fireassay.reference.tests.chronicle_files import assert_consistent, control_of, readable

SEGMENT = 1024
OTHER_SIZE = 4096  # asked for by the next writer; holds only where no queue was made
COUNT = 40
# Reached only by readers, for readers that sleep, by damage, or by a second death; see test_failpoints for those.
ELSEWHERE = {
    "chronicle_lock_pread", "chronicle_segment_discard", "chronicle_segment_pread", "chronicle_recovery_aside",
    "chronicle_publish_repair", "chronicle_pad_clear", "chronicle_announce", "chronicle_sleep", "chronicle_sleep_many",
    "chronicle_bell_mmap", "chronicle_bell_munmap", "chronicle_lock_look", "chronicle_flush_async", "chronicle_lower", "chronicle_wake",
}  # fmt: skip
READERS = ("chronicle_reader_", "chronicle_readers_", "chronicle_meta_", "chronicle_retention_", "chronicle_seek_")
POINTS = [
    point.name
    for point in failpoints()
    if point.name.startswith("chronicle_") and point.name not in ELSEWHERE and not point.name.startswith(READERS)
]


@pytest.fixture
def control(tmp_path: Path) -> Iterator[ControlFile]:
    with ControlFile.create(tmp_path / "control") as made:
        yield made


def work(control: ControlFile, queue: Path, count: int = COUNT) -> tuple[int, list[int], int]:
    """Exit status of a worker, the numbers it acknowledged, and how many of the queue's records were synced."""
    command = [sys.executable, "-m", "fireassay.reference.chronicle.worker", str(queue), str(count), str(SEGMENT)]
    settings = {**os.environ, "FIREASSAY_CORE": "failpoints", "FIREASSAY_FAILPOINTS": str(control.path)}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    synced = [int(line[2:]) for line in lines if line.startswith("s ")]
    return done.returncode, [int(line) for line in lines if not line.startswith("s ")], max(synced, default=0)


def drained(queue: Path, name: str) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    with Reader(queue, name) as reader:
        while not (batch := reader.read_batch(7)).end:
            found += [(message.seq, message.payload) for message in batch.messages]
    return found


@pytest.mark.parametrize("name", POINTS)
def test_a_writer_killed_anywhere_loses_nothing_and_is_followed(control: ControlFile, tmp_path: Path, name: str) -> None:
    control.arm(name, Action.COUNT)
    assert work(control, tmp_path / "whole")[0] == 0
    passed = control.hits(name)
    for nth in sorted({1, 2, passed // 2, passed} & set(range(1, passed + 1))):
        killed_and_followed(control, tmp_path / f"queue{nth}", name, nth)


def killed_and_followed(control: ControlFile, queue: Path, name: str, nth: int) -> None:
    control.arm(name, Action.CRASH, nth=nth)
    status, acknowledged, synced = work(control, queue)
    assert (control.hits(name), control.fired(name)) == (nth, 1)
    assert status == -signal.SIGKILL
    assert acknowledged == list(range(len(acknowledged)))
    assert synced <= len(acknowledged)
    control.disarm(name)
    if (queue / "control.meta").exists():
        before = [(record.seq, record.payload) for record in readable(queue)]
        epoch, size = control_of(queue)["writer_epoch"], SEGMENT
    else:
        before, epoch, size = [], 0, OTHER_SIZE
    assert len(acknowledged) <= len(before) <= len(acknowledged) + 1, "only the append it died in may be there beyond"
    assert before == [(number, payload_of(number)) for number in range(len(before))]
    if before:
        assert drained(queue, "before") == before
    with Writer(queue, OTHER_SIZE, heartbeat_s=0) as writer:
        assert (writer.next_seq, writer.segment_size, writer.epoch) == (len(before), size, epoch + 1)
        assert [(record.seq, record.payload) for record in assert_consistent(queue)] == before
        assert writer.append(b"after") == len(before)
        writer.flush_sync()
        assert drained(queue, "after") == [*before, (len(before), b"after")]
    assert len(assert_consistent(queue)) == len(before) + 1


def test_the_failpoints_left_out_are_those_no_life_of_a_writer_passes(control: ControlFile, tmp_path: Path) -> None:
    control.arm_all(Action.COUNT)
    assert work(control, tmp_path / "queue")[0] == 0
    chronicle = [name for name in control.names() if name.startswith("chronicle_")]
    passed = {name for name in chronicle if control.hits(name)}
    assert passed == set(POINTS)


def test_a_writer_killed_again_and_again_inside_its_recovery_keeps_the_same_records(control: ControlFile, tmp_path: Path) -> None:
    queue = tmp_path / "queue"
    control.arm("chronicle_commit", Action.CRASH, nth=17)
    assert work(control, queue)[0] == -signal.SIGKILL
    expected = [(number, payload_of(number)) for number in range(16)]
    for name in ("chronicle_segment_create", "chronicle_segment_rename", "chronicle_pad_header", "chronicle_pad_commit", "chronicle_seal",
                 "chronicle_publish_segment", "chronicle_publish_repair", "chronicle_publish_offset", "chronicle_epoch"):  # fmt: skip
        control.arm(name, Action.CRASH)
        assert work(control, queue)[:2] == (-signal.SIGKILL, []), name
        control.disarm(name)
        assert [(record.seq, record.payload) for record in readable(queue)] == expected
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
        assert writer.next_seq == 16
        assert [(record.seq, record.payload) for record in assert_consistent(queue)] == expected


def test_a_reader_killed_inside_its_commit_resumes_at_the_old_or_the_new_place(control: ControlFile, tmp_path: Path) -> None:
    queue = tmp_path / "queue"
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
        writer.append_batch([payload_of(number) for number in range(6)])
    script = (
        "import sys; from fireassay.reference.chronicle.reader import Reader; r = Reader(sys.argv[1], 'r')\n"
        "for n in (1, 2, 3):\n"
        "    (m,) = r.read_batch(1).messages; r.commit(*m.next); print(m.seq, flush=True)\n"
    )
    for name in ("chronicle_meta_slot", "chronicle_meta_crc"):
        with Reader(queue, "r") as reader:
            start = reader.opened_at
        control.arm(name, Action.CRASH, nth=3)  # the first says that it lives again, the second commits
        settings = {**os.environ, "FIREASSAY_CORE": "failpoints", "FIREASSAY_FAILPOINTS": str(control.path)}
        done = subprocess.run([sys.executable, "-c", script, str(queue)], env=settings, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout.split()) == (-signal.SIGKILL, [str(start)])
        control.disarm(name)
        with Reader(queue, "r") as reader:
            assert reader.opened_at == start + 1
            assert [message.seq for message in reader.read_batch(9).messages][:1] == [start + 1]


@pytest.mark.parametrize("seed", range(3))
def test_two_readers_go_on_while_writers_are_killed_at_random_instants(tmp_path: Path, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    queue = tmp_path / "queue"
    Writer(queue, SEGMENT, heartbeat_s=0).close()
    acknowledged = -1
    seen: list[list[tuple[int, bytes]]] = [[], []]
    with Reader(queue, "one") as one, Reader(queue, "two") as two:
        for _ in range(12):
            command = [sys.executable, "-m", "fireassay.reference.chronicle.worker", str(queue), "100000", str(SEGMENT)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
                assert child.stdout is not None
                for _ in range(chance.randint(1, 60)):
                    line = child.stdout.readline()
                    for found, reader in zip(seen, (one, two), strict=True):
                        found += [(message.seq, message.payload) for message in reader.read_batch(chance.randint(1, 9)).messages]
                child.kill()
                lines = [line, *child.stdout.read().splitlines()]
            acknowledged = max([acknowledged, *(int(text) for text in lines if text.strip().isdecimal())])
        with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
            last = writer.append(payload_of(writer.next_seq))
            for found, reader in zip(seen, (one, two), strict=True):
                while not (batch := reader.read_batch(50)).end:
                    found += [(message.seq, message.payload) for message in batch.messages]
    assert last > acknowledged
    assert seen[0] == seen[1] == [(number, payload_of(number)) for number in range(last + 1)]
