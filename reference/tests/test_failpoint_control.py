"""Control files that are foreign, cut, led astray or absent are refused with a sentence."""

import errno
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.reference import core, failpoints
from fireassay.reference.failpoints import Action, ControlFile
from fireassay.spec.outcomes import ErrorClass, HarnessError


def refusal(path: Path) -> core.CoreError:
    ffi, lib = core.load("failpoints")
    err = ffi.new("fa_error *")
    with pytest.raises(core.CoreError) as caught:
        core.check(ffi, err, lib.fa_failpoint_attach(os.fsencode(path), err))
    return caught.value


@pytest.fixture
def sound(tmp_path: Path) -> bytes:
    with ControlFile.create(tmp_path / "control") as control:
        pass
    return control.path.read_bytes()


@pytest.mark.parametrize(
    ("offset", "replacement", "error_class", "sentence"),
    [
        (0, b"NOTMAGIC", ErrorClass.CORRUPT, "this is not a failpoint control file"),
        (0, b"\0" * 64, ErrorClass.CORRUPT, "this is not a failpoint control file"),
        (8, struct.pack("=I", 99), ErrorClass.VERSION, "has version 99, this build reads 1"),
        (12, struct.pack("=I", 2**32 - 1), ErrorClass.VERSION, "was made for another list of failpoints (4294967295 names"),
        (16, b"\0" * 8, ErrorClass.VERSION, "was made for another list of failpoints"),
    ],
)
def test_a_foreign_control_file_is_refused(
    tmp_path: Path, sound: bytes, offset: int, replacement: bytes, error_class: ErrorClass, sentence: str
) -> None:
    content = bytearray(sound)
    content[offset : offset + len(replacement)] = replacement
    (tmp_path / "foreign").write_bytes(content)
    refused = refusal(tmp_path / "foreign")
    assert (refused.error_class, refused.where) == (error_class, "fa_failpoint_attach")
    assert sentence in refused.message
    assert f": {tmp_path}/foreign"[:20] in refused.message


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65536, failpoints.FILE_SIZE - 1, failpoints.FILE_SIZE + 1])
def test_a_control_file_of_another_length_is_refused(tmp_path: Path, sound: bytes, size: int) -> None:
    (tmp_path / "cut").write_bytes((sound + b"\0")[:size])
    refused = refusal(tmp_path / "cut")
    assert refused.error_class is ErrorClass.CORRUPT
    assert f"the file has {size} bytes, a failpoint control file has 131072" in refused.message


def test_a_link_is_refused_even_to_a_sound_file(tmp_path: Path, sound: bytes) -> None:
    (tmp_path / "link").symlink_to("control")
    refused = refusal(tmp_path / "link")
    assert (refused.error_class, refused.errno) == (ErrorClass.INVALID, errno.ELOOP)
    assert "this is a symbolic link" in refused.message


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    absent = refusal(tmp_path / "absent")
    assert absent.error_class is ErrorClass.MISSING
    assert "the failpoint control file cannot be opened (No such file or directory)" in absent.message
    os.mkfifo(tmp_path / "pipe")
    assert "is a regular file, this is not" in refusal(tmp_path / "pipe").message
    assert "cannot be opened (Is a directory)" in refusal(tmp_path).message


def test_the_sentence_survives_a_path_too_long_for_the_message(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 250) / ("e" * 250)
    deep.mkdir(parents=True)
    (deep / "cut").write_bytes(b"short")
    assert "the file has 5 bytes, a failpoint control file has 131072: /" in refusal(deep / "cut").message


def test_a_refused_file_leaves_the_attached_one_in_force(tmp_path: Path) -> None:
    ffi, lib = core.load("failpoints")
    err = ffi.new("fa_error *")
    word = ffi.new("uint64_t *", 1)
    (tmp_path / "cut").write_bytes(b"short")
    with ControlFile.create(tmp_path / "control") as control:
        control.arm("probe_fetch_add", Action.COUNT)
        core.check(ffi, err, lib.fa_failpoint_attach(os.fsencode(control.path), err))
        try:
            refusal(tmp_path / "cut")
            lib.fa_probe_fetch_add(word, 1)
            assert control.hits("probe_fetch_add") == 1
        finally:
            lib.fa_failpoint_detach(err)
        lib.fa_probe_fetch_add(word, 1)
        assert control.hits("probe_fetch_add") == 1


@pytest.mark.parametrize(
    ("variant", "sentence"),
    [("failpoints", "this is not a failpoint control file"), ("release", "this build has no failpoints")],
)
def test_a_command_given_a_bad_control_file_fails_aloud_and_does_nothing(tmp_path: Path, variant: str, sentence: str) -> None:
    (tmp_path / "zeros").write_bytes(bytes(failpoints.FILE_SIZE))
    (tmp_path / "work").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "fireassay.reference.exercise", "replace", str(tmp_path / "work")],
        env={**os.environ, "FIREASSAY_CORE": variant, "FIREASSAY_FAILPOINTS": str(tmp_path / "zeros")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert sentence in done.stderr
    assert list((tmp_path / "work").iterdir()) == []


def test_a_control_file_that_cannot_help_is_not_made(tmp_path: Path) -> None:
    with (
        pytest.raises(HarnessError, match="the release build of the core has no failpoints"),
        ControlFile.create(tmp_path / "c", "release"),
    ):
        pass
    with pytest.raises(HarnessError, match="there is no directory"), ControlFile.create(tmp_path / "nowhere" / "c"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_making_a_control_file_replaces_what_bore_its_name_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "control").symlink_to("precious")
    with ControlFile.create(tmp_path / "control") as control:
        assert control.path.lstat().st_size == failpoints.FILE_SIZE
    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["control", "precious"]


def test_what_cannot_be_armed_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with ControlFile.create(tmp_path / "control") as control:
        with pytest.raises(HarnessError, match="probe_copy is a store to shared memory, which cannot fail"):
            control.arm("probe_copy", Action.ERROR, errno=errno.EIO)
        with pytest.raises(HarnessError, match="there is no failpoint named 'nowhere'; known are probe_store_release"):
            control.arm("nowhere", Action.COUNT)
        with pytest.raises(HarnessError, match="hits are counted from 1, not 0"):
            control.arm("probe_copy", Action.CRASH, nth=0)
        with pytest.raises(HarnessError, match="takes an errno from 1 to 4095, not 0"):
            control.arm("probe_fsync", Action.ERROR)
        with pytest.raises(HarnessError, match="takes an errno from 1 to 4095, not 5"):
            control.arm("probe_fsync", Action.CRASH, errno=5)
