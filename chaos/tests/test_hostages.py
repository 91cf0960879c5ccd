"""A probe dies while it holds a file system or a control group frozen: whoever was killed, everything is thawed and gone."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fireassay.chaos.capabilities import PROBES, Probe, _hostages, runner, try_one
from fireassay.chaos.capabilities.freeze import attached
from fireassay.chaos.capabilities.groups import cgroup_mounts

PATIENCE_S = 60.0


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE_S:g} s for {what}"
        time.sleep(0.01)


def hostage(attempt: Callable[[Path], str], deadline_s: float = PATIENCE_S) -> Probe:
    return Probe(name="hostage", attempt=attempt, affects=(), remedy="None.", deadline_s=deadline_s)


def told(directory: Path) -> tuple[Path, dict[str, int]]:
    """Waits until the hostage holds; its directory and who is who."""
    until(lambda: bool([*directory.glob("*/told")]), "the hostage")
    (file,) = directory.glob("*/told")
    return file.parent, json.loads(file.read_text())


def groups() -> set[Path]:
    return {path for point in set(cgroup_mounts().values()) for path in point.glob("fireassay-*")}


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    before = groups()
    yield
    until(lambda: not attached(tmp_path), "the loop devices to clear")
    until(lambda: not [*runner.processes_of(tmp_path / "fireassay-probe-")], "the processes to end")
    assert groups() - before == set()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(params=["keeps_frozen", "keeps_a_group_frozen"])
def keeper(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Path], str]:
    needed = {"keeps_frozen": "fsfreeze", "keeps_a_group_frozen": "freezer"}[request.param]
    row = try_one(next(one for one in PROBES if one.name == needed), tmp_path)
    if not row.available:
        pytest.skip(f"{needed}: {row.detail}")
    kept: Callable[[Path], str] = getattr(_hostages, request.param)
    return kept


def test_the_deadline_falls_while_frozen(keeper: Callable[[Path], str], tmp_path: Path) -> None:
    row = try_one(hostage(keeper, deadline_s=2.0), tmp_path)
    assert (row.available, row.detail) == (False, "no answer within 2 s")


@pytest.mark.parametrize("victims", [("worker",), ("supervisor",), ("supervisor", "worker"), ("worker", "supervisor")], ids=" then ".join)
def test_killed_while_frozen(victims: tuple[str, ...], keeper: Callable[[Path], str], tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(try_one, hostage(keeper), tmp_path)
        _, who = told(tmp_path)
        for victim in victims:
            os.kill(who[victim], signal.SIGKILL)
        row = running.result(timeout=PATIENCE_S)
    assert not row.available
    assert row.detail.startswith("the probe died (-9)")


def test_the_caller_is_killed_while_frozen(keeper: Callable[[Path], str], tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from fireassay.chaos.capabilities import Probe, _hostages, try_one\n"
        "try_one(Probe(name='h', attempt=getattr(_hostages, sys.argv[1]), affects=(), remedy='', deadline_s=600), Path(sys.argv[2]))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    caller = subprocess.Popen([sys.executable, "-c", code, keeper.__name__, str(tmp_path)], env=environment)
    work, _ = told(tmp_path)
    caller.kill()
    assert caller.wait(PATIENCE_S) == -signal.SIGKILL
    until(lambda: not work.exists(), "the supervisor to clear up")


def test_polite_signals_do_not_make_the_supervisor_forget_the_thaw(keeper: Callable[[Path], str], tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(try_one, hostage(keeper), tmp_path)
        _, who = told(tmp_path)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(who["supervisor"], number)
        os.kill(who["worker"], signal.SIGTERM)
        row = running.result(timeout=PATIENCE_S)
    assert (row.available, row.detail) == (False, f"the probe died ({-signal.SIGTERM})")


def test_a_crash_while_frozen(tmp_path: Path) -> None:
    row = try_one(next(one for one in PROBES if one.name == "fsfreeze"), tmp_path)
    if not row.available:
        pytest.skip(f"fsfreeze: {row.detail}")
    row = try_one(hostage(_hostages.crashes_while_frozen), tmp_path)
    assert (row.available, row.detail) == (False, f"the probe died ({-signal.SIGSEGV})")
