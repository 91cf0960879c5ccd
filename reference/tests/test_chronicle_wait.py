"""How readers sleep and are woken."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fireassay.reference import core
from fireassay.reference.chronicle.reader import BusyPoll, Hybrid, Reader
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.failpoints import Action, ControlFile
from fireassay.reference.tests.chronicle_files import control_of

SEGMENT = 4096
SLEEPER = (
    "import sys; from fireassay.reference.chronicle.reader import Hybrid, Reader\n"
    "r = Reader(sys.argv[1], 'sleeper', strategy=Hybrid(0))\n"
    "while not (found := r.read_batch(9, 30).messages): pass\n"
    "print(found[0].payload.decode(), r.late, flush=True)\n"
)
APPENDER = (
    "import sys; from fireassay.reference.chronicle.writer import Writer\n"
    "w = Writer(sys.argv[1], heartbeat_s=0); print('open', flush=True); sys.stdin.readline(); w.append(b'x')\n"
)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        os.sched_yield()


def waiters(queue: Path) -> int:
    return int(control_of(queue)["waiters_pending"])


def asleep(pid: int) -> bool:
    """In futex_wait, not only on its way there."""
    return any(Path(f"/proc/{pid}/task/{task}/wchan").read_text().startswith("futex") for task in os.listdir(f"/proc/{pid}/task"))


@contextmanager
def counting(where: Path, *names: str) -> Iterator[ControlFile]:
    ffi, lib = core.load("failpoints")
    err = ffi.new("fa_error *")
    with ControlFile.create(where) as control:
        for name in names:
            control.arm(name, Action.COUNT)
        core.check(ffi, err, lib.fa_failpoint_attach(os.fsencode(where), err))
        try:
            yield control
        finally:
            lib.fa_failpoint_detach(err)


@contextmanager
def child(script: str, queue: Path, **settings: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", script, str(queue)]
    with subprocess.Popen(command, env={**os.environ, **settings}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def test_a_sleeper_is_woken_with_one_call_and_nobody_is_woken_where_nobody_sleeps(tmp_path: Path) -> None:
    with (
        counting(tmp_path / "control", "chronicle_wake") as control,
        Writer(tmp_path / "q", SEGMENT, heartbeat_s=0, variant="failpoints") as writer,
        Reader(tmp_path / "q", "r", strategy=Hybrid(0)) as reader,
    ):
        for number in range(5):
            writer.append(b"%d" % number)
            assert control.hits("chronicle_wake") == 0
        assert len(reader.read_batch(9).messages) == 5
        found: list[bytes] = []
        thread = threading.Thread(target=lambda: found.extend(m.payload for m in reader.read_batch(9, 30).messages))
        thread.start()
        until(lambda: waiters(tmp_path / "q") == 1)
        writer.append(b"late")
        thread.join()
        assert found == [b"late"]
        assert (control.hits("chronicle_wake"), waiters(tmp_path / "q")) == (1, 0)
        writer.append(b"again")
        assert control.hits("chronicle_wake") == 1


def test_a_reader_killed_in_its_sleep_costs_the_writer_one_call(tmp_path: Path) -> None:
    with (
        counting(tmp_path / "control", "chronicle_wake") as control,
        Writer(tmp_path / "q", SEGMENT, heartbeat_s=0, variant="failpoints") as writer,
    ):
        with child(SLEEPER, tmp_path / "q") as sleeper:
            until(lambda: waiters(tmp_path / "q") == 1 and asleep(sleeper.pid))
        assert waiters(tmp_path / "q") == 1
        for _ in range(5):
            writer.append(b"x")
        assert (control.hits("chronicle_wake"), waiters(tmp_path / "q")) == (1, 0)


@pytest.mark.parametrize("where", ["chronicle_lower", "chronicle_wake"])
def test_a_writer_killed_before_its_wake_leaves_no_reader_asleep(tmp_path: Path, where: str) -> None:
    queue = tmp_path / "q"
    with ControlFile.create(tmp_path / "control") as control:
        control.arm(where, Action.CRASH)
        with child(APPENDER, queue, FIREASSAY_CORE="failpoints", FIREASSAY_FAILPOINTS=str(control.path)) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "open\n"
            with child(SLEEPER, queue) as sleeper:
                until(lambda: waiters(queue) == 1)
                writer.communicate("go\n", timeout=30)
                assert writer.returncode == -signal.SIGKILL
                out, _ = sleeper.communicate(timeout=30)
                assert out.split()[0] == "x"


def test_a_sleeper_is_woken_by_the_writer_that_repairs_its_torn_end(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    Writer(queue, SEGMENT, heartbeat_s=0).close()
    with child(SLEEPER, queue) as sleeper:
        until(lambda: waiters(queue) == 1 and asleep(sleeper.pid))
        with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
            until(lambda: waiters(queue) == 1)  # woken, in the next segment, asleep again
            writer.append(b"next")
            out, _ = sleeper.communicate(timeout=30)
    assert out.split() == ["next", "0"]


@pytest.mark.parametrize("where", ["chronicle_announce", "chronicle_sleep"])
def test_what_comes_between_the_announcement_and_the_sleep_is_not_slept_over(tmp_path: Path, where: str) -> None:
    queue = tmp_path / "q"
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer, ControlFile.create(tmp_path / "control") as control:
        control.arm(where, Action.STOP)
        with child(SLEEPER, queue, FIREASSAY_CORE="failpoints", FIREASSAY_FAILPOINTS=str(control.path)) as sleeper:
            _, status = os.waitpid(sleeper.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            writer.append(b"x")
            control.disarm(where)
            sleeper.send_signal(signal.SIGCONT)
            out, _ = sleeper.communicate(timeout=30)
            assert out.split() == ["x", "0"]


def test_busy_polling_neither_announces_nor_sleeps(tmp_path: Path) -> None:
    with (
        counting(tmp_path / "control", "chronicle_announce", "chronicle_sleep") as control,
        Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer,
    ):
        for pause_s in (0.0, 0.001):
            with Reader(tmp_path / "q", "r", strategy=BusyPoll(pause_s), variant="failpoints") as reader:
                reader.read_batch(9)
                assert not reader.wait(0.02)
                timer = threading.Timer(0.02, lambda: writer.append(b"x"))
                timer.start()
                assert reader.wait()
                timer.join()
        assert (control.hits("chronicle_announce"), control.hits("chronicle_sleep")) == (0, 0)


def test_a_reader_can_store_to_nothing_of_the_writers_before_it_sleeps(tmp_path: Path) -> None:
    def modes() -> set[str]:
        lines = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(tmp_path) in line and not line.endswith("r.meta")]
        return {line.split()[1] for line in lines}

    Writer(tmp_path / "q", SEGMENT, heartbeat_s=0).close()
    with Reader(tmp_path / "q", "r", strategy=Hybrid(0)) as reader:
        reader.read_batch(1)
        assert modes() == {"r--s"}
        assert not reader.wait(0.01)
        assert modes() == {"r--s", "rw-s"}
    assert modes() == set()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody who may not write control.meta")
def test_a_reader_that_may_not_write_control_naps_and_finds_its_records(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        queue = Path(place) / "q"
        os.chmod(place, 0o755)
        with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
            (queue / "readers").mkdir()
            (queue / "readers").chmod(0o777 | stat.S_ISVTX)
            os.seteuid(65534)
            try:
                reader = Reader(queue, "r", strategy=Hybrid(0))
            finally:
                os.seteuid(0)
            with reader:
                assert not reader.wait(0.01)
                timer = threading.Timer(0.05, lambda: writer.append(b"x"))
                timer.start()
                assert reader.wait(30)
                timer.join()
                assert waiters(queue) == 0


def test_whoever_waits_for_several_queues_is_woken_by_any(tmp_path: Path) -> None:
    ffi, lib = core.load()
    err = ffi.new("fa_error *")
    for ringing in range(3):
        place = tmp_path / str(ringing)
        place.mkdir()
        with (
            Writer(place / "0", SEGMENT, heartbeat_s=0) as zero,
            Writer(place / "1", SEGMENT, heartbeat_s=0) as one,
            Writer(place / "2", SEGMENT, heartbeat_s=0) as two,
        ):
            readers = [ffi.new("chronicle_reader *") for _ in range(3)]
            for number, reader in enumerate(readers):
                core.check(ffi, err, lib.chronicle_reader_open(reader, os.fsencode(place / str(number)), b"r", 0, err))
                lib.chronicle_reader_set_wait(reader, 0, 0)
            all_of_them = ffi.new("chronicle_reader *[]", readers)
            assert lib.chronicle_reader_wait_any(all_of_them, 3, 10_000_000, err) == 0
            timer = threading.Timer(0.02, lambda writer=(zero, one, two)[ringing]: writer.append(b"x"))
            timer.start()
            assert lib.chronicle_reader_wait_any(all_of_them, 3, 2**64 - 1, err) == 1
            timer.join()
            assert [lib.chronicle_reader_wait(reader, 0, err) for reader in readers] == [int(n == ringing) for n in range(3)]
            for reader in readers:
                core.check(ffi, err, lib.chronicle_reader_close(reader, err))
