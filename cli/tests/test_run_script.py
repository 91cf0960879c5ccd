"""The way in: ./run tells what is wrong in one sentence, and installs again only when something changed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def call(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(script), *arguments], capture_output=True, text=True, timeout=60, env={**os.environ, **environment}, stdin=subprocess.DEVNULL
    )


@pytest.fixture
def bare_checkout(tmp_path: Path) -> Path:
    """A copy with nothing installed and a pip that only takes notes, so that no test downloads anything."""
    for name in ("run", "pyproject.toml", "setup.py"):
        shutil.copy2(ROOT / name, tmp_path / name)
    for room in ("reference", "conformance", "perf"):
        (tmp_path / room).mkdir()
    return tmp_path


@pytest.fixture
def installed_checkout(bare_checkout: Path) -> Path:
    binaries = bare_checkout / ".venv" / "bin"
    binaries.mkdir(parents=True)
    (bare_checkout / ".venv" / "lib").mkdir()
    python = binaries / "python"
    python.write_text('#!/bin/sh\ncase "$*" in *"pip install"*) echo install >> "$0.calls";; esac\nexit 0\n')
    fireassay = binaries / "fireassay"
    fireassay.write_text('#!/bin/sh\necho "handed over: $*"\n')
    for script in (python, fireassay):
        script.chmod(0o755)
    return bare_checkout


def installs(checkout: Path) -> int:
    calls = checkout / ".venv" / "bin" / "python.calls"
    return len(calls.read_text().split()) if calls.exists() else 0


def test_no_command_prints_the_usage_and_fails() -> None:
    result = call(ROOT / "run")
    assert result.returncode == 2
    assert "./run certify" in result.stdout


def test_a_wrong_python_is_one_sentence(bare_checkout: Path) -> None:
    result = call(bare_checkout / "run", "doctor", FIREASSAY_PYTHON="/bin/false")
    assert result.returncode == 2
    assert result.stderr == "fireassay: FIREASSAY_PYTHON=/bin/false is not a Python 3.11 or newer\n"


def test_a_missing_compiler_is_one_sentence(bare_checkout: Path) -> None:
    result = call(bare_checkout / "run", "doctor", CC="no-such-compiler")
    assert result.returncode == 2
    assert "a C compiler is needed and 'no-such-compiler' does not run" in result.stderr
    assert "Traceback" not in result.stderr


def test_no_room_on_the_disk_is_one_sentence(bare_checkout: Path, tmp_path: Path) -> None:
    small = tmp_path / "bin"
    small.mkdir()
    (small / "df").write_text("#!/bin/sh\nprintf 'Filesystem 1M Used Available\\nsmall 10 3 7 30%% /\\n'\n")
    (small / "df").chmod(0o755)
    result = call(bare_checkout / "run", "doctor", PATH=f"{small}:{os.environ['PATH']}")
    assert result.returncode == 2
    assert "no room: 7 MiB free" in result.stderr


def test_the_second_call_starts_at_once_and_a_changed_pyproject_installs_again(installed_checkout: Path) -> None:
    run = installed_checkout / "run"
    for expected in (1, 1):
        result = call(run, "clauses", "--json")
        assert result.stdout == "handed over: clauses --json\n", result.stderr
        assert installs(installed_checkout) == expected
    with (installed_checkout / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    call(run, "clauses")
    assert installs(installed_checkout) == 2


def test_a_changed_c_source_builds_again(installed_checkout: Path) -> None:
    call(installed_checkout / "run", "clauses")
    (installed_checkout / "reference" / "new.c").write_text("int x;\n")
    call(installed_checkout / "run", "clauses")
    assert installs(installed_checkout) == 2


def test_a_failed_installation_is_not_taken_for_done(installed_checkout: Path) -> None:
    python = installed_checkout / ".venv" / "bin" / "python"
    python.write_text('#!/bin/sh\ncase "$*" in *"pip install"*) echo "No space left on device"; exit 1;; esac\nexit 0\n')
    for _ in range(2):
        result = call(installed_checkout / "run", "clauses")
        assert result.returncode == 2
        assert "no room on the disk" in result.stderr
