"""What a user installs: the wheel made from the sdist carries every room, its C sources and its cases."""

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("spec", "reference", "conformance", "chaos", "perf", "reports", "cli")

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel built from that sdist rather than from the tree."""
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    result = subprocess.run(build, capture_output=True, text=True, timeout=280)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    (sdist,) = out.glob("*.tar.gz")
    (wheel,) = out.glob("*.whl")
    return sdist, wheel


def test_the_sdist_carries_what_the_wheel_is_built_from(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"setup.py", "reference/_build_core.py", "conformance/recorder/flight_recorder.h", "perf/floors.c"} <= names


def test_the_wheel_carries_every_room_and_no_test(built: tuple[Path, Path]) -> None:
    names = zipfile.ZipFile(built[1]).namelist()
    for room in ROOMS:
        assert f"fireassay/{room}/__init__.py" in names
        assert f"fireassay/{room}/py.typed" in names
    assert "fireassay/conformance/recorder/flight_recorder.h" in names
    assert any(name.startswith("fireassay/conformance/cases/test_") for name in names)
    assert not [name for name in names if "/tests/" in name]
    assert not [name for name in names if not name.startswith(("fireassay/", "fireassay-"))]


def test_the_cases_run_from_the_installed_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    """In an environment that sees the libraries of this one, but fireassay only as the wheel."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=False)
    (site,) = home.glob("lib/python*/site-packages")
    with zipfile.ZipFile(built[1]) as archive:
        archive.extractall(site)
    (libraries,) = {path for path in sys.path if path.endswith("site-packages")}
    (site / "libraries.pth").write_text(f"{libraries}\n")  # a plain path: its own .pth files, the editable finder among them, are not read
    program = "import fireassay.spec, sys; sys.exit(not fireassay.spec.__file__.startswith(sys.prefix))"
    python = str(home / "bin" / "python")
    assert subprocess.run([python, "-c", program], cwd=tmp_path, timeout=60).returncode == 0, "the editable tree was imported instead"

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        line = [program, "-m", "pytest", "--pyargs", "-q", "-p", "no:cacheprovider", *arguments]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=200)

    there, here = (
        run(python, "--collect-only", "fireassay.conformance"),
        run(sys.executable, "--collect-only", "fireassay.conformance.cases"),
    )
    assert there.stdout.count("::") == here.stdout.count("::") > 0, "the wheel holds other cases than the tree"
    result = run(python, "fireassay.conformance", "--clauses", "CHR-03,CHR-05")  # all of them: tox -e conformance
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    assert " passed" in result.stdout
