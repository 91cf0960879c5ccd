"""Failpoints, armed in this process and hit in another."""

import errno
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fireassay.reference import core, exercise, failpoints, native
from fireassay.reference.failpoints import Action, ControlFile, Kind
from fireassay.spec.outcomes import ErrorClass

POINTS = failpoints.failpoints()
SYSCALLS = [point.name for point in POINTS if point.kind is Kind.SYSCALL]
# Errors that give way to the one that led there, or to best effort.
SWALLOWED = {
    "replace_unlink", "chronicle_segment_discard", "chronicle_lock_pread", "chronicle_lock_sign_off", "chronicle_seal_msync",
    "chronicle_wake", "ombus_shm_discard", "ombus_wal_discard",
}  # fmt: skip
REPEATABLE = ("stores", "persist", "replace", "chronicle", "ombus-ring", "ombus-wal")  # a refused workload ends at its first error
NTH = 3

Reached = dict[str, tuple[str, dict[str, int]]]


def start(control: ControlFile, workload: str, directory: Path, repeats: int = 1) -> subprocess.Popen[str]:
    settings = {**os.environ, "FIREASSAY_CORE": "failpoints", "FIREASSAY_FAILPOINTS": str(control.path)}
    command = [sys.executable, "-m", "fireassay.reference.exercise", workload, str(directory), str(repeats)]
    return subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(control: ControlFile, workload: str, directory: Path, repeats: int = 1) -> tuple[int, int, str]:
    """(pid, exit status, output) of the workload in a child process."""
    with start(control, workload, directory, repeats) as child:
        try:
            out, _ = child.communicate(timeout=120)
        finally:
            child.kill()
    return child.pid, child.returncode, out


def in_process(control: ControlFile, workload: str, directory: Path) -> tuple[int, str, str]:
    """The workload in this process, which attaches to the same file."""
    ffi, lib = core.load("failpoints")
    err = ffi.new("fa_error *")
    core.check(ffi, err, lib.fa_failpoint_attach(os.fsencode(control.path), err))
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        status = exercise.WORKLOADS[workload](ffi, lib, fd, err)
        return status, ffi.string(err.where).decode(), ffi.string(err.message).decode()
    finally:
        os.close(fd)
        lib.fa_failpoint_detach(err)


@pytest.fixture
def control(tmp_path: Path) -> Iterator[ControlFile]:
    with ControlFile.create(tmp_path / "control") as made:
        yield made


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> Reached:
    """Failpoint to the first workload that reaches it, and to all hits of one run of that workload."""
    found: Reached = {}
    for workload in exercise.WORKLOADS:
        where = tmp_path_factory.mktemp(workload)
        with ControlFile.create(where / "control") as control:
            control.arm_all()
            _, status, _ = run(control, workload, where)
            assert status == 0
            hits = {name: control.hits(name) for name in control.names()}
            assert {name for name in control.names() if control.fired(name)} == set()
        for name, count in hits.items():
            if count > 0:
                found.setdefault(name, (workload, hits))
    return found


def test_every_failpoint_stands_in_the_sources_and_is_reached(reached: Reached) -> None:
    text = "\n".join(path.read_text() for path in native.SOURCE.rglob("*.[ch]") if not path.name.endswith("failpoint_list.h"))
    assert [point.name for point in POINTS if not re.search(rf"\(\s*{point.name}\s*,", text)] == []
    assert [point.name for point in POINTS if point.name not in reached] == []
    assert len({point.name for point in POINTS}) == len(POINTS) == core.load("failpoints")[1].fa_failpoint_count()


@pytest.mark.parametrize("name", [point.name for point in POINTS])
def test_a_failpoint_kills_its_process_at_exactly_the_nth_hit(control: ControlFile, tmp_path: Path, reached: Reached, name: str) -> None:
    workload, per_run = reached[name]
    nth = NTH * per_run[name] if workload in REPEATABLE else per_run[name]
    control.arm_all(Action.COUNT)
    control.arm(name, Action.CRASH, nth=nth)
    pid, status, out = run(control, workload, tmp_path, repeats=NTH + 2)
    assert (status, out) == (-signal.SIGKILL, "")
    assert (control.hits(name), control.fired(name), control.fired_pid(name)) == (nth, 1, pid)
    runs = nth // per_run[name]
    for other, once in per_run.items():  # nobody went further than the run in which it died
        assert (runs - 1) * once <= control.hits(other) <= runs * once, other


@pytest.mark.parametrize("name", [name for name in SYSCALLS if name not in SWALLOWED])
def test_a_system_call_fails_in_its_process_at_exactly_the_nth_hit(
    control: ControlFile, tmp_path: Path, reached: Reached, name: str
) -> None:
    workload, per_run = reached[name]
    nth = NTH * per_run[name]
    control.arm(name, Action.ERROR, nth=nth, errno=errno.ENOSPC)
    pid, status, out = run(control, workload, tmp_path, repeats=NTH + 2)
    said = json.loads(out)
    assert (status, said["status"], said["where"]) == (0, -(ErrorClass.FULL << 16 | errno.ENOSPC), name)
    assert "No space left on device" in said["message"]
    assert (control.hits(name), control.fired(name), control.fired_pid(name)) == (nth, 1, pid)


@pytest.mark.parametrize("name", [name for name in SYSCALLS if name not in SWALLOWED])
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_an_injected_errno_comes_out_of_the_error_path(
    control: ControlFile, tmp_path: Path, reached: Reached, name: str, number: int
) -> None:
    control.arm(name, Action.ERROR, errno=number)
    status, where, message = in_process(control, reached[name][0], tmp_path)
    expected = ErrorClass.FULL if number == errno.ENOSPC else ErrorClass.IO
    assert -status == expected << 16 | number
    assert where == name
    assert os.strerror(number) in message
    assert (control.hits(name), control.fired(name), control.fired_pid(name)) == (1, 1, os.getpid())


@pytest.mark.parametrize("name", [name for name in SYSCALLS if name not in SWALLOWED])
def test_an_interrupted_call_is_made_again(control: ControlFile, tmp_path: Path, reached: Reached, name: str) -> None:
    workload, per_run = reached[name]
    control.arm(name, Action.ERROR, errno=errno.EINTR)
    assert run(control, workload, tmp_path)[1:] == (0, '{"status": 0}\n')  # not here: a retry without end would hold this process
    assert (control.hits(name), control.fired(name)) == (per_run[name] + 1, 1)


def test_a_hit_lies_before_the_call_it_names(control: ControlFile, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(exercise.CONTENT_OLD)
    control.arm("replace_rename", Action.CRASH)
    assert run(control, "replace", tmp_path)[1] == -signal.SIGKILL
    assert (tmp_path / "file").read_bytes() == exercise.CONTENT_OLD
    assert (tmp_path / "file.tmp").read_bytes() == exercise.CONTENT_NEW
    control.arm("replace_fsync_dir", Action.CRASH)
    assert run(control, "replace", tmp_path)[1] == -signal.SIGKILL
    assert (tmp_path / "file").read_bytes() == exercise.CONTENT_NEW


@pytest.mark.parametrize("name", exercise.WORD_BEFORE)
def test_a_store_that_was_cut_off_was_not_made_and_all_before_it_were(control: ControlFile, tmp_path: Path, name: str) -> None:
    control.arm(name, Action.CRASH)
    assert run(control, "stores", tmp_path)[1] == -signal.SIGKILL
    assert int.from_bytes((tmp_path / "word").read_bytes(), sys.byteorder) == exercise.WORD_BEFORE[name]
    control.disarm(name)
    assert json.loads(run(control, "stores", tmp_path)[2]) == {"status": 0}
    assert int.from_bytes((tmp_path / "word").read_bytes(), sys.byteorder) == exercise.WORD_AFTER


@pytest.mark.parametrize("name", [name for name in SYSCALLS if name.startswith("replace_") and name not in SWALLOWED])
def test_a_replacement_killed_at_any_step_leaves_the_old_or_the_new_file_whole(control: ControlFile, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(exercise.CONTENT_OLD)
    control.arm(name, Action.CRASH)
    assert run(control, "replace", tmp_path)[1] == -signal.SIGKILL
    expected = exercise.CONTENT_NEW if name == "replace_fsync_dir" else exercise.CONTENT_OLD
    assert (tmp_path / "file").read_bytes() == expected
    control.disarm(name)
    assert json.loads(run(control, "replace", tmp_path)[2]) == {"status": 0}
    assert (tmp_path / "file").read_bytes() == exercise.CONTENT_NEW
    assert not (tmp_path / "file.tmp").exists()


@contextmanager
def stopped(control: ControlFile, name: str, nth: int, workload: str, directory: Path, repeats: int = 1) -> Iterator[subprocess.Popen[str]]:
    """The workload's process, standing at the failpoint."""
    control.arm(name, Action.STOP, nth=nth)
    with start(control, workload, directory, repeats) as child:
        try:
            _, status = os.waitpid(child.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            assert (control.hits(name), control.fired(name), control.fired_pid(name)) == (nth, 1, child.pid)
            yield child
        finally:
            child.kill()


def finished(child: subprocess.Popen[str]) -> dict[str, object]:
    child.send_signal(signal.SIGCONT)
    out, _ = child.communicate(timeout=120)
    said: dict[str, object] = json.loads(out)
    return said


def test_a_stop_halts_the_process_until_it_is_continued(control: ControlFile, tmp_path: Path) -> None:
    with stopped(control, "probe_rename", 1, "persist", tmp_path) as child:
        assert [path.name for path in tmp_path.glob("fa_probe*")] == ["fa_probe.tmp"]
        assert finished(child) == {"status": 0}
    assert list(tmp_path.glob("fa_probe*")) == []


def test_what_was_reserved_has_its_blocks(control: ControlFile, tmp_path: Path) -> None:
    with stopped(control, "probe_ftruncate", 1, "persist", tmp_path):
        reserved = (tmp_path / "fa_probe.tmp").stat()
        assert (reserved.st_size, reserved.st_blocks * 512 >= reserved.st_size) == (65536, True)


def test_a_write_that_came_short_goes_on_where_it_ended(control: ControlFile, tmp_path: Path) -> None:
    with stopped(control, "probe_pwrite", 2, "short-write", tmp_path) as child:
        assert (tmp_path / "short").read_bytes() == exercise.CONTENT_LONG[: exercise.SHORT_LIMIT]
        hard = resource.prlimit(child.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (hard, hard))
        assert finished(child) == {"status": 0}
    assert (tmp_path / "short").read_bytes() == exercise.CONTENT_LONG


def test_a_read_that_came_short_goes_on_where_it_ended(control: ControlFile, tmp_path: Path) -> None:
    with stopped(control, "probe_pread", 2, "short-read", tmp_path) as child:
        with (tmp_path / "half").open("ab") as file:
            file.write(exercise.CONTENT_LONG[exercise.SHORT_LIMIT :])
        assert finished(child) == {"status": 0}


def test_the_error_of_the_cleaning_up_does_not_hide_the_first_one(control: ControlFile, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    control.arm("replace_unlink", Action.ERROR, errno=errno.EIO)
    status, where, _ = in_process(control, "replace-refused", tmp_path)
    assert (-status & 0xFFFF, where) == (errno.EISDIR, "replace_rename")
    assert control.fired("replace_unlink") == 1


@pytest.mark.parametrize(("durable", "syncs"), [(1, 1), (0, 0)])
def test_a_replacement_is_synced_when_it_is_to_be_durable_and_only_then(
    control: ControlFile, tmp_path: Path, durable: int, syncs: int
) -> None:
    ffi, lib = core.load("failpoints")
    err = ffi.new("fa_error *")
    control.arm_all()
    core.check(ffi, err, lib.fa_failpoint_attach(os.fsencode(control.path), err))
    directory = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        core.check(ffi, err, lib.fa_replace(directory, b"file", b"bytes", 5, durable, err))
    finally:
        os.close(directory)
        lib.fa_failpoint_detach(err)
    assert (tmp_path / "file").read_bytes() == b"bytes"
    steps = {"replace_open": 1, "replace_pwrite": 1, "replace_fsync": syncs, "replace_rename": 1, "replace_fsync_dir": syncs}
    assert {name: control.hits(name) for name in steps} == steps
    assert control.hits("replace_unlink") == 0


def test_nothing_is_counted_while_nothing_is_armed(control: ControlFile, tmp_path: Path) -> None:
    assert run(control, "stores", tmp_path)[1] == 0
    assert {control.hits(name) for name in control.names()} == {0}


def test_a_running_process_is_armed_and_disarmed_from_outside(control: ControlFile, tmp_path: Path) -> None:
    """The child stops at a hit; what is armed while it stands acts when it goes on, what is disarmed does not."""
    control.arm("probe_copy", Action.CRASH, nth=2)
    with stopped(control, "probe_store_release", 2, "stores", tmp_path, repeats=10) as child:
        control.disarm("probe_copy")
        control.arm("probe_cas", Action.CRASH, nth=4)
        child.send_signal(signal.SIGCONT)
        child.communicate(timeout=120)
        assert child.returncode == -signal.SIGKILL
        assert (control.hits("probe_cas"), control.fired("probe_cas"), control.fired_pid("probe_cas")) == (4, 1, child.pid)
        assert (control.hits("probe_copy"), control.fired("probe_copy")) == (1, 0)
