"""The probes of this machine: they end, they tell why not, they leave nothing behind."""

import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fireassay.chaos.capabilities import PROBES, probe, runner, tools, try_one
from fireassay.chaos.capabilities.groups import cgroup_mounts
from fireassay.spec.capability import Capability
from fireassay.spec.clauses import ALL

ALWAYS = {"kill", "rlimit-fsize", "shared-futex"}  # any Linux that lets us run at all


def named(name: str) -> runner.Probe:
    return next(one for one in PROBES if one.name == name)


def traces() -> set[str]:
    """What a probe could leave: mounts, attached loop devices, control groups, processes that live or hang."""
    loops = {str(path) for path in Path("/sys/block").glob("loop*/loop/backing_file")}
    groups = {str(path) for point in set(cgroup_mounts().values()) for path in point.glob("fireassay-*")}
    mounts = {line for line in Path("/proc/self/mounts").read_text().splitlines() if "fireassay-probe" in line}
    return mounts | loops | groups | {f"process {pid}" for pid in runner.processes_of(Path("fireassay-probe-"))}


def left_since(before: set[str], within_s: float = 20.0) -> set[str]:
    """A loop device clears itself a moment after its last unmount."""
    until = time.monotonic() + within_s
    while traces() - before and time.monotonic() < until:
        time.sleep(0.01)
    return traces() - before


@pytest.fixture
def nothing_left(tmp_path: Path) -> Iterator[None]:
    before = traces()
    yield
    assert left_since(before) == set()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Capability]:
    directory = tmp_path_factory.mktemp("probes")
    before = traces()
    found = {row.name: row for row in probe(directory)}
    assert left_since(before) == set()
    assert list(directory.iterdir()) == []
    return found


def test_every_probe_gives_one_row_with_a_reason_or_a_finding(rows: dict[str, Capability]) -> None:
    assert list(rows) == [one.name for one in PROBES]
    assert len(set(rows)) == len(PROBES)
    assert all(row.detail for row in rows.values())


def test_a_missing_capability_names_its_remedy_in_one_sentence(rows: dict[str, Capability]) -> None:
    assert all(one.remedy.endswith(".") for one in PROBES)
    assert all(bool(row.remedy) != row.available for row in rows.values())


@pytest.mark.parametrize("name", sorted(ALWAYS))
def test_what_every_linux_has_is_found(rows: dict[str, Capability], name: str) -> None:
    assert rows[name].available, rows[name].detail


def test_the_parts_of_a_fault_agree(rows: dict[str, Capability]) -> None:
    if rows["ext4-shutdown"].available:
        assert rows["loop-ext4"].available
        assert rows["mount-namespace"].available
    if rows["loop-ext4"].available:
        assert rows["root"].available


def test_each_crash_grade_disk_network_and_clock_is_covered() -> None:
    covered = {clause for one in PROBES for clause in one.affects}
    wanted = {"LOG-10", "LOG-11", "LOG-12", "LOG-26", "LOG-30", "CHR-16", "CHR-22", "SMB-02", "SMB-04", "COM-21", "BRG-15", "BRG-16"}
    assert covered >= wanted


@pytest.mark.parametrize("name", ["loop-ext4", "ext4-shutdown", "fsfreeze", "freezer"])
@pytest.mark.usefixtures("nothing_left")
def test_a_probe_cut_off_at_any_instant_leaves_nothing(name: str, tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    dice, one = random.Random(seed), named(name)
    begin = time.monotonic()
    try_one(one, tmp_path)
    whole = time.monotonic() - begin
    cut = [try_one(replace(one, deadline_s=dice.random() * whole), tmp_path) for _ in range(10)]
    assert all(row.available or row.detail for row in cut)


@pytest.mark.usefixtures("nothing_left")
def test_a_probe_past_its_deadline_is_not_available(tmp_path: Path) -> None:
    row = try_one(replace(named("compiler"), deadline_s=0.001), tmp_path)
    assert not row.available
    assert row.detail == "no answer within 0.001 s"
    assert row.remedy


def test_a_supervisor_that_dies_means_not_available(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner.sys, "executable", "/bin/false")
    row = try_one(PROBES[0], tmp_path)
    assert (row.available, row.detail) == (False, "the probe died (1)")


def test_the_waiting_helper_tells_running_from_killed() -> None:
    pid = os.posix_spawn("/bin/sleep", ["sleep", "60"], {})
    assert tools.ended(pid, 0.01) is None
    os.kill(pid, signal.SIGKILL)
    assert tools.ended(pid, 5.0) == -signal.SIGKILL


def test_every_clause_a_probe_names_exists() -> None:
    known = {clause.id for clause in ALL}
    assert {clause for one in PROBES for clause in one.affects} <= known
