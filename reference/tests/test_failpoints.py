"""Failpoints, armed in this process and hit in another."""

import errno
import json
import os
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.reference import core, exercise, failpoints, native
from fireassay.reference.failpoints import Action, ControlFile, Kind
from fireassay.spec.outcomes import ErrorClass, HarnessError

POINTS = failpoints.failpoints()
SYSCALLS = [point.name for point in POINTS if point.kind is Kind.SYSCALL]


@pytest.fixture
def control(tmp_path: Path) -> Iterator[ControlFile]:
    with ControlFile.create(tmp_path / "control") as made:
        yield made


def run(control: ControlFile, workload: str, directory: Path, repeats: int = 1, **env: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "FIREASSAY_CORE": "failpoints", "FIREASSAY_FAILPOINTS": str(control.path), **env}
    command = [sys.executable, "-m", "fireassay.reference.exercise", workload, str(directory), str(repeats)]
    return subprocess.run(command, env=settings, capture_output=True, text=True, timeout=60)


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


@pytest.mark.parametrize("name", ["probe_store_release", "probe_copy", "probe_cas"])
@pytest.mark.parametrize("nth", [1, 7])
def test_a_store_kills_its_process_at_exactly_the_nth_hit(control: ControlFile, tmp_path: Path, name: str, nth: int) -> None:
    control.arm(name, Action.CRASH, nth=nth)
    done = run(control, "stores", tmp_path, repeats=20)
    assert done.returncode == -signal.SIGKILL, done
    assert (control.hits(name), control.fired(name)) == (nth, 1)
    assert control.fired_pid(name) > 0


def test_a_hit_lies_before_the_call_it_names(control: ControlFile, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(exercise.CONTENT_OLD)
    control.arm("replace_rename", Action.CRASH)
    assert run(control, "replace", tmp_path).returncode == -signal.SIGKILL
    assert (tmp_path / "file").read_bytes() == exercise.CONTENT_OLD
    assert (tmp_path / "file.tmp").read_bytes() == exercise.CONTENT_NEW
    control.arm("replace_fsync_dir", Action.CRASH)
    assert run(control, "replace", tmp_path).returncode == -signal.SIGKILL
    assert (tmp_path / "file").read_bytes() == exercise.CONTENT_NEW


@pytest.mark.parametrize("name", [name for name in SYSCALLS if name.startswith("replace_") and name != "replace_unlink"])
def test_a_replacement_killed_at_any_step_leaves_the_old_or_the_new_file_whole(control: ControlFile, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(exercise.CONTENT_OLD)
    control.arm(name, Action.CRASH)
    assert run(control, "replace", tmp_path).returncode == -signal.SIGKILL
    assert (tmp_path / "file").read_bytes() in (exercise.CONTENT_OLD, exercise.CONTENT_NEW)
    control.disarm(name)
    assert json.loads(run(control, "replace", tmp_path).stdout) == {"status": 0}
    assert (tmp_path / "file").read_bytes() == exercise.CONTENT_NEW
    assert not (tmp_path / "file.tmp").exists()


def test_a_stop_halts_the_process_until_it_is_continued(control: ControlFile, tmp_path: Path) -> None:
    control.arm("probe_fsync", Action.STOP)
    settings = {**os.environ, "FIREASSAY_CORE": "failpoints", "FIREASSAY_FAILPOINTS": str(control.path)}
    child = subprocess.Popen(
        [sys.executable, "-m", "fireassay.reference.exercise", "persist", str(tmp_path)], env=settings, stdout=subprocess.PIPE
    )
    try:
        _, status = os.waitpid(child.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        assert (control.fired("probe_fsync"), control.fired_pid("probe_fsync")) == (1, child.pid)
        child.send_signal(signal.SIGCONT)
        out, _ = child.communicate(timeout=60)
        assert json.loads(out) == {"status": 0}
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("name", [name for name in SYSCALLS if name != "replace_unlink"])
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_an_injected_errno_comes_out_of_the_error_path(control: ControlFile, tmp_path: Path, name: str, number: int) -> None:
    control.arm(name, Action.ERROR, errno=number)
    workload = "replace" if name.startswith("replace_") else "persist"
    status, where, message = in_process(control, workload, tmp_path)
    expected = ErrorClass.FULL if number == errno.ENOSPC else ErrorClass.IO
    assert -status == expected << 16 | number
    assert where == name
    assert os.strerror(number) in message
    assert (control.hits(name), control.fired(name), control.fired_pid(name)) == (1, 1, os.getpid())


def test_the_error_of_the_cleaning_up_does_not_hide_the_first_one(control: ControlFile, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    control.arm("replace_unlink", Action.ERROR, errno=errno.EIO)
    status, where, _ = in_process(control, "replace-refused", tmp_path)
    assert (-status & 0xFFFF, where) == (errno.EISDIR, "replace_rename")
    assert control.fired("replace_unlink") == 1


def test_an_interrupted_call_is_made_again(control: ControlFile, tmp_path: Path) -> None:
    control.arm("probe_pwrite", Action.ERROR, errno=errno.EINTR)
    assert in_process(control, "persist", tmp_path)[0] == 0
    assert (control.hits("probe_pwrite"), control.fired("probe_pwrite")) == (2, 1)


def test_every_failpoint_stands_in_the_sources_and_is_reached(control: ControlFile, tmp_path: Path) -> None:
    text = "\n".join(path.read_text() for path in native.SOURCE.rglob("*.[ch]") if path.name != "fa_failpoint_list.h")
    unused = [point.name for point in POINTS if not re.search(rf"\(\s*{point.name}\s*,", text)]
    assert unused == []
    control.arm_all()
    for workload in exercise.WORKLOADS:
        assert run(control, workload, tmp_path).returncode == 0
    assert [name for name in control.names() if control.hits(name) == 0] == []
    assert [name for name in control.names() if control.fired(name) != 0] == []


def test_nothing_is_counted_while_nothing_is_armed(control: ControlFile, tmp_path: Path) -> None:
    assert run(control, "stores", tmp_path).returncode == 0
    assert {control.hits(name) for name in control.names()} == {0}


def test_what_cannot_be_armed_is_refused_with_a_sentence(control: ControlFile) -> None:
    with pytest.raises(HarnessError, match="probe_copy is a store to shared memory, which cannot fail"):
        control.arm("probe_copy", Action.ERROR, errno=errno.EIO)
    with pytest.raises(HarnessError, match="there is no failpoint named 'nowhere'; known are probe_store_release"):
        control.arm("nowhere", Action.COUNT)
    with pytest.raises(HarnessError, match="hits are counted from 1, not 0"):
        control.arm("probe_copy", Action.CRASH, nth=0)
    with pytest.raises(HarnessError, match="takes an errno from 1 to 4095, not 0"):
        control.arm("probe_fsync", Action.ERROR)


def _refusal(path: Path) -> core.CoreError:
    ffi, lib = core.load("failpoints")
    err = ffi.new("fa_error *")
    with pytest.raises(core.CoreError) as caught:
        core.check(ffi, err, lib.fa_failpoint_attach(os.fsencode(path), err))
    return caught.value


@pytest.mark.parametrize(
    ("offset", "replacement", "error_class", "sentence"),
    [
        (0, b"NOTMAGIC", ErrorClass.CORRUPT, "is not a failpoint control file"),
        (8, struct.pack("=I", 99), ErrorClass.VERSION, "has version 99, this build reads 1"),
        (12, struct.pack("=I", 2**32 - 1), ErrorClass.VERSION, "was made for another list of failpoints"),
        (16, b"\0" * 8, ErrorClass.VERSION, "was made for another list of failpoints"),
    ],
)
def test_a_foreign_control_file_is_refused(tmp_path: Path, offset: int, replacement: bytes, error_class: ErrorClass, sentence: str) -> None:
    with ControlFile.create(tmp_path / "control"):
        pass
    content = bytearray((tmp_path / "control").read_bytes())
    content[offset : offset + len(replacement)] = replacement
    (tmp_path / "foreign").write_bytes(content)
    refusal = _refusal(tmp_path / "foreign")
    assert refusal.error_class is error_class
    assert sentence in refusal.message


@pytest.mark.parametrize("size", [0, 63, 65536, failpoints.FILE_SIZE - 1, failpoints.FILE_SIZE + 1])
def test_a_control_file_of_another_length_is_refused(tmp_path: Path, size: int) -> None:
    (tmp_path / "short").write_bytes(bytes(size))
    refusal = _refusal(tmp_path / "short")
    assert refusal.error_class is ErrorClass.CORRUPT
    assert f"has {size} bytes, a failpoint control file has 131072" in refusal.message


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert _refusal(tmp_path / "absent").error_class is ErrorClass.MISSING
    os.mkfifo(tmp_path / "pipe")
    assert _refusal(tmp_path / "pipe").error_class is ErrorClass.CORRUPT
    assert _refusal(tmp_path).error_class is ErrorClass.IO
