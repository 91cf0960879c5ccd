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


def program(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


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
    program(binaries / "python", 'case "$*" in *"pip install"*) echo install >> "$0.calls";; esac')
    program(binaries / "fireassay", 'echo "handed over: $*"')
    return bare_checkout


@pytest.fixture
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    df = program(tmp_path_factory.mktemp("bin") / "df", "printf 'Filesystem 1M Used Available\\nsmall 10 3 7 30%% /\\n'")
    return {"PATH": f"{df.parent}:{os.environ['PATH']}"}


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


def test_a_python_whose_path_has_blanks_is_taken(bare_checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("two words")
    result = call(bare_checkout / "run", "doctor", FIREASSAY_PYTHON=str(place / "absent"))
    assert result.stderr == f"fireassay: FIREASSAY_PYTHON={place}/absent is not a Python 3.11 or newer\n"
    python = program(place / "python", 'case "$*" in *"-m venv"*) echo "here I am"; exit 1;; esac')
    result = call(bare_checkout / "run", "doctor", FIREASSAY_PYTHON=str(python))
    assert "here I am" in result.stderr


def test_a_missing_compiler_is_one_sentence(bare_checkout: Path) -> None:
    result = call(bare_checkout / "run", "doctor", CC="no-such-compiler")
    assert result.returncode == 2
    assert "a C compiler is needed and 'no-such-compiler' does not run" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_compiler_without_a_c_library_is_one_sentence(bare_checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    cc = program(tmp_path_factory.mktemp("bin") / "cc", 'case "$*" in --version) exit 0;; *) exit 1;; esac')
    result = call(bare_checkout / "run", "doctor", CC=str(cc))
    assert result.returncode == 2
    assert result.stderr == f"fireassay: '{cc}' runs and finds no C library headers (stdlib.h); on Debian: apt-get install libc6-dev\n"


def test_no_room_on_the_disk_is_one_sentence(bare_checkout: Path, small_disk: dict[str, str]) -> None:
    result = call(bare_checkout / "run", "doctor", **small_disk)
    assert result.returncode == 2
    assert "no room: 7 MiB free" in result.stderr


def test_a_half_made_environment_does_not_hide_that_there_is_no_room(installed_checkout: Path, small_disk: dict[str, str]) -> None:
    assert call(installed_checkout / "run", "doctor", **small_disk).returncode == 0  # what is installed only changes a little
    (installed_checkout / ".venv" / "fireassay.stamp").unlink()
    (installed_checkout / ".venv" / "bin" / "fireassay").unlink()
    result = call(installed_checkout / "run", "doctor", **small_disk)
    assert result.returncode == 2
    assert "no room: 7 MiB free" in result.stderr


def test_what_a_broken_off_installation_has_taken_already_counts_as_room(installed_checkout: Path, small_disk: dict[str, str]) -> None:
    (installed_checkout / ".venv" / "bin" / "fireassay").unlink()
    program(Path(small_disk["PATH"].partition(":")[0]) / "du", 'printf "2993\\t%s\\n" "$2"')
    assert "no room" not in call(installed_checkout / "run", "doctor", **small_disk).stderr
    assert installs(installed_checkout) == 1


def test_a_disk_that_fills_while_the_environment_is_made_is_told(bare_checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    python = program(
        tmp_path_factory.mktemp("bin") / "python",
        'case "$*" in *"-m venv"*) printf "Traceback …\\n[Errno 28] No space left on device\\n"; exit 1;; esac',
    )
    result = call(bare_checkout / "run", "doctor", FIREASSAY_PYTHON=str(python))
    assert result.returncode == 2
    assert result.stderr == f"fireassay: no room on the disk under {bare_checkout} or {os.environ.get('TMPDIR', '/tmp')}\n"


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


@pytest.mark.parametrize("command", [["{name}/run"], ["sh", "{name}/run"]], ids=["by its path", "by sh"])
def test_the_first_call_may_come_from_another_directory(installed_checkout: Path, command: list[str]) -> None:
    line = [part.format(name=installed_checkout.name) for part in command]
    result = subprocess.run([*line, "clauses"], cwd=installed_checkout.parent, capture_output=True, text=True, timeout=60)
    assert result.stdout == "handed over: clauses\n", result.stderr
    assert installs(installed_checkout) == 1


def test_a_changed_c_source_builds_again(installed_checkout: Path) -> None:
    call(installed_checkout / "run", "clauses")
    (installed_checkout / "reference" / "new.c").write_text("int x;\n")
    call(installed_checkout / "run", "clauses")
    assert installs(installed_checkout) == 2


def test_a_failed_installation_is_not_taken_for_done(installed_checkout: Path) -> None:
    program(installed_checkout / ".venv" / "bin" / "python", 'case "$*" in *"pip install"*) echo "No space left on device"; exit 1;; esac')
    for _ in range(2):
        result = call(installed_checkout / "run", "clauses")
        assert result.returncode == 2
        assert "no room on the disk" in result.stderr


def test_what_a_failed_installation_said_is_kept(installed_checkout: Path) -> None:
    program(installed_checkout / ".venv" / "bin" / "python", 'case "$*" in *"pip install"*) echo "no such package" >&2; exit 1;; esac')
    result = call(installed_checkout / "run", "clauses")
    log = installed_checkout / ".venv" / "install.log"
    assert result.returncode == 2
    assert f"installation failed; the whole output is in {log}" in result.stderr
    assert log.read_text() == "no such package\n"
