"""Each mutant is visible, and the sound builds show nothing of it."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from fireassay.conformance.tests.test_mutation import MUTANTS as EXAMINED
from fireassay.reference import core, exercise, mutants
from fireassay.reference.failpoints import Action, ControlFile
from fireassay.spec import clauses


def child(workload: str, directory: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fireassay.reference.exercise", workload, str(directory)]
    return subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=60)


def test_every_mutant_names_a_clause_and_a_fault_and_has_a_test() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*mutants.py"))
    names = [mutant.name for mutant in mutants.mutants()]
    assert len(set(names)) == len(names) > 0
    for mutant in mutants.mutants():
        assert f'"{mutant.name}"' in text or mutant.name in EXAMINED
        assert mutant.clause in clauses.BY_ID
        assert len(mutant.what) > 20


def test_every_mutant_is_still_somewhere_in_the_code() -> None:
    """A line that was written anew may have lost its fault, and then the examination looks for nothing."""
    root = Path(__file__).resolve().parents[1]
    sources = [path for pattern in ("src/**/*.[ch]", "**/*.py") for path in root.glob(pattern) if "tests" not in path.parts]
    text = "".join(path.read_text(encoding="utf-8") for path in sources if path.name != "fa_mutant_list.h")
    named = set(re.findall(r"FA_MUTANT\((\w+)\)|is_selected\(\"(\w+)\"\)", text))
    assert {mutant.name for mutant in mutants.mutants()} <= {one or other for one, other in named}


def test_a_mutant_nobody_knows_is_refused() -> None:
    with pytest.raises(core.CoreError, match="there is no mutant named nobody"), mutants.selected("nobody"):
        pass


@pytest.mark.parametrize(
    ("variant", "mutant", "sentence"),
    [
        ("release", "crc32_tail", "crc32_tail: this build has no mutants; load the mutants build"),
        ("failpoints", "crc32_tail", "crc32_tail: this build has no mutants; load the mutants build"),
        ("mutants", "nobody", "there is no mutant named nobody"),
    ],
)
def test_a_command_asked_for_a_mutant_it_has_not_fails_aloud_and_does_nothing(
    tmp_path: Path, variant: str, mutant: str, sentence: str
) -> None:
    done = child("replace", tmp_path, FIREASSAY_CORE=variant, FIREASSAY_MUTANT=mutant)
    assert (done.returncode, done.stdout) == (1, "")
    assert sentence in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("variant", ["release", "failpoints"])
def test_the_other_builds_have_no_mutant_at_all(variant: str) -> None:
    ffi, lib = core.load(variant)
    err = ffi.new("fa_error *")
    assert lib.fa_mutant_count() == 0
    assert all(lib.fa_mutant_name(i) == ffi.NULL for i in (-1, 0, 1))
    for mutant in mutants.mutants():
        with pytest.raises(core.CoreError, match="this build has no mutants"):
            core.check(ffi, err, lib.fa_mutant_select(mutant.name.encode(), err))
    data = bytes(range(77))
    assert lib.fa_crc32(0, data, 77) == zlib.crc32(data)


def test_the_mutants_build_is_sound_until_one_is_selected() -> None:
    _, lib = core.load("mutants")
    data = bytes(range(77))
    assert lib.fa_crc32(0, data, 77) == zlib.crc32(data)
    with mutants.selected("crc32_tail"):
        assert lib.fa_crc32(0, data, 77) == zlib.crc32(data[:64])
        assert lib.fa_crc32(0, data, 64) == zlib.crc32(data[:64])
    assert lib.fa_crc32(0, data, 77) == zlib.crc32(data)


def test_a_fault_in_python_code_asks_whether_it_is_selected() -> None:
    core.load("mutants")
    assert not mutants.is_selected("crc32_tail")
    with mutants.selected("crc32_tail"):
        assert mutants.is_selected("crc32_tail")
        assert not mutants.is_selected("pwrite_short")
    assert not mutants.is_selected("crc32_tail")


@pytest.mark.parametrize(("variant", "mutant", "said"), [("release", "", "0"), ("mutants", "", "0"), ("mutants", "crc32_tail", "1")])
def test_a_fault_in_python_code_takes_it_from_the_environment(variant: str, mutant: str, said: str) -> None:
    script = "from fireassay.reference import mutants; print(int(mutants.is_selected('crc32_tail')))"
    settings = {**os.environ, "FIREASSAY_CORE": variant, "FIREASSAY_MUTANT": mutant}
    done = subprocess.run([sys.executable, "-c", script], env=settings, capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == (said, "")


@pytest.mark.parametrize(("mutant", "syncs"), [("", 1), ("replace_no_fsync", 0)])
def test_a_replacement_is_synced_before_its_rename_unless_it_is_the_mutant(tmp_path: Path, mutant: str, syncs: int) -> None:
    with ControlFile.create(tmp_path / "control", "mutants") as control:
        control.arm_all(Action.COUNT)
        done = child("replace", tmp_path, FIREASSAY_CORE="mutants", FIREASSAY_MUTANT=mutant, FIREASSAY_FAILPOINTS=str(control.path))
        assert json.loads(done.stdout) == {"status": 0}
        assert (control.hits("replace_fsync"), control.hits("replace_rename")) == (syncs, 1)


@pytest.mark.parametrize(("mutant", "content"), [("", exercise.CONTENT_OLD), ("replace_in_place", b"")])
def test_a_kill_before_the_write_leaves_the_old_file_unless_it_is_the_mutant(tmp_path: Path, mutant: str, content: bytes) -> None:
    (tmp_path / "file").write_bytes(exercise.CONTENT_OLD)
    with ControlFile.create(tmp_path / "control", "mutants") as control:
        control.arm("replace_pwrite", Action.CRASH)
        done = child("replace", tmp_path, FIREASSAY_CORE="mutants", FIREASSAY_MUTANT=mutant, FIREASSAY_FAILPOINTS=str(control.path))
        assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "file").read_bytes() == content


@pytest.mark.parametrize(
    ("variant", "mutant", "number"), [("release", "", errno.EFBIG), ("mutants", "", errno.EFBIG), ("mutants", "pwrite_short", 0)]
)
def test_a_short_write_is_an_error_unless_it_is_the_mutant(tmp_path: Path, variant: str, mutant: str, number: int) -> None:
    done = child("short-write", tmp_path, FIREASSAY_CORE=variant, FIREASSAY_MUTANT=mutant)
    assert -json.loads(done.stdout)["status"] & 0xFFFF == number, done
    assert (tmp_path / "short").stat().st_size == exercise.SHORT_LIMIT
