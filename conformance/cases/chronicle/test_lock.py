"""The writer's lock: who is refused, who is replaced, what the file says, and the heartbeat (CHR-11)."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fireassay.conformance.cases.chronicle import queue
from fireassay.conformance.cases.chronicle.queue import SMALL, Queue, message, segment
from fireassay.conformance.cases.chronicle.watch import waited
from fireassay.conformance.cases.through import appended, payloads_of, read, refusal, told
from fireassay.conformance.driver.client import DriverTarget
from fireassay.spec import layouts
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import ErrorClass, TargetError
from fireassay.spec.ports import Target

pytestmark = pytest.mark.clause("CHR-11")

IDLE_S = 5.0  # for a heartbeat, which nobody wants as rarely as that


def record(path: Path) -> dict[str, int]:
    return {name: int(value) for name, value in layouts.parse(layout.WRITER_LOCK, (path / "writer.lock").read_bytes()).items()}


def signed(path: Path, pid: int, ticks: int, epoch: int = 1) -> None:
    (path / "writer.lock").write_bytes(layouts.build(layout.WRITER_LOCK, {"pid": pid, "start_ticks": ticks, "epoch": epoch}))


def start_ticks(pid: int) -> int:
    """Field 22; the name of a command may hold blanks and parentheses."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def unused_pid() -> int:
    """No process has it: none has more than the kernel gives."""
    return int(Path("/proc/sys/kernel/pid_max").read_text()) + 1


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The advisory lock, of either kind, as a descriptor that somebody inherited holds it."""
    with (path / "writer.lock").open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def assert_locked(refused: TargetError | None, why: str) -> None:
    assert refused is not None, f"{why}, and another writer was opened beside it"
    said = getattr(refused, "error", ErrorClass.LOCKED)
    assert said is ErrorClass.LOCKED, f"{why}: expected WriterAlreadyActive (LOCKED), found {ErrorClass(said).name}: {refused}"


def test_a_second_writer_is_refused_while_the_first_lives(target: Target, apart: DriverTarget, place: Path) -> None:
    here = Queue(place / "q")
    with target.open_writer("q") as writer, target.open_reader("q", "reader") as reader:
        appended(writer, [b"one"])
        before = here.control()
        for _ in range(2):
            assert_locked(refusal(apart, "q"), "the first writer lives")
        after = here.control()
        changed = [name for name in before if before[name] != after[name] and name != "writer_heartbeat_ns"]
        assert not changed, f"the refused open changed {changed} in control.meta"
        appended(writer, [b"two"])
        found = payloads_of(read(reader))
    assert found == [b"one", b"two"], f"the first writer went on: expected one and two; found {told(found)}"


def test_a_dead_writer_is_replaced(target: Target, apart: DriverTarget, place: Path) -> None:
    writer = apart.open_writer("q")
    appended(writer, [b"one"])
    writer.kill()
    with target.open_writer("q") as following, target.open_reader("q", "reader") as reader:
        appended(following, [b"two"])
        found = payloads_of(read(reader))
    assert found == [b"one", b"two"], f"one was appended before the kill and two after it; found {told(found)}"


def test_the_lock_says_who_holds_it_and_every_open_has_its_epoch(apart: DriverTarget, place: Path) -> None:
    here, epochs = Queue(place / "q"), list[int]()
    for number in range(3):
        writer = apart.open_writer("q")
        epochs.append(int(here.control()["writer_epoch"]))
        expected = {"pid": writer.pid, "start_ticks": start_ticks(writer.pid), "epoch": epochs[-1]}
        found = record(here.path)
        found.pop("reserved", None)
        assert found == expected, f"open {number}: writer.lock says {found}, expected {expected}"
        writer.kill() if number == 1 else writer.close()
    assert epochs == [epochs[0], epochs[0] + 1, epochs[0] + 2], f"writer_epoch grows by one per open, over a death too; found {epochs}"


@pytest.mark.parametrize("who", ["dead", "reused"])
def test_a_record_of_somebody_else_stops_nobody(target: Target, place: Path, who: str) -> None:
    """Nobody holds the lock: its record names no process, or one that has the pid of the dead writer and another start time."""
    here = queue.made(place / "q", SMALL, [segment(0, SMALL, [message(b"kept", 0)])])
    if who == "dead":
        signed(here.path, unused_pid(), 1)
    else:
        signed(here.path, os.getpid(), start_ticks(os.getpid()) + 1)
    refused = refusal(target, "q")
    assert refused is None, f"the record is of a {who} pid and nobody holds the lock: expected an open writer, found {refused}"


def test_a_lock_that_a_dead_writers_child_holds_is_refused_in_time(target: Target, apart: DriverTarget, place: Path) -> None:
    here = queue.made(place / "q", SMALL)
    signed(here.path, unused_pid(), 1)
    with held(here.path):
        assert_locked(refusal(apart, "q"), "the lock is held, though not by the process that it names")
    refused = refusal(target, "q")
    assert refused is None, f"the lock was let go: expected an open writer, found {refused}"


def test_the_heart_of_an_idle_writer_beats(target: Target, place: Path) -> None:
    here = Queue(place / "q")
    with target.open_writer("q") as writer:
        appended(writer, [b"x"])
        before = here.control()["writer_heartbeat_ns"]
        beaten = waited(lambda: here.control()["writer_heartbeat_ns"] > before, IDLE_S)
        assert beaten, f"writer_heartbeat_ns stood at {before} for {IDLE_S:g} s while its writer was idle"
