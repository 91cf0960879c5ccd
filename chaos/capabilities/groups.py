"""Control groups: processes held still and limited. A group outlives its processes, so whoever ends a probe sweeps after it."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fireassay.chaos.capabilities.model import Probe, UnableError
from fireassay.chaos.capabilities.tools import ended, forked, sleep_for_ever

__all__ = ["PROBES", "cgroup_mounts", "frozen_group", "sweep_groups"]


def cgroup_mounts() -> dict[str, Path]:
    """Controller, or 'v2', to where it is mounted."""
    mounts: dict[str, Path] = {}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, options, *_ = line.split()
        if kind == "cgroup2":
            mounts.setdefault("v2", Path(point))
        elif kind == "cgroup":
            mounts.update({option: Path(point) for option in options.split(",") if (Path(point) / "cgroup.procs").exists()})
    return mounts


def _group_of(point: Path, work: Path) -> Path:
    return point / f"fireassay-{work.name}"


def _cgroup(work: Path) -> str:
    known = ("blkio", "cpu", "cpuset", "freezer", "memory", "pids")
    made, mounts = [], cgroup_mounts()
    for name in known:
        if name in mounts:
            group = _group_of(mounts[name], work)
            try:
                group.mkdir(exist_ok=True)
                group.rmdir()
            except OSError:
                continue
            made.append(name)
    if "v2" in mounts:
        group = _group_of(mounts["v2"], work)
        group.mkdir(exist_ok=True)
        made += [f"v2:{name}" for name in (group / "cgroup.controllers").read_text().split()]
        group.rmdir()
    if not made:
        raise UnableError(f"no controller lets a group be made (mounted: {', '.join(sorted(mounts)) or 'none'})")
    return f"groups can be made under {', '.join(made)}"


def _wait_for(path: Path, text: str, within_s: float = 3.0) -> bool:
    until = time.monotonic() + within_s
    while text not in path.read_text():
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True


@contextmanager
def frozen_group(work: Path) -> Iterator[str]:
    """A process held still in a group of its own while the block runs. Gives the version of the control groups."""
    mounts = cgroup_mounts()
    if "freezer" in mounts:
        version, group, (switch, on, off) = "v1", _group_of(mounts["freezer"], work), ("freezer.state", "FROZEN", "THAWED")
        seen, said = "freezer.state", "FROZEN"
    elif "v2" in mounts:
        version, group, (switch, on, off) = "v2", _group_of(mounts["v2"], work), ("cgroup.freeze", "1", "0")
        seen, said = "cgroup.events", "frozen 1"
    else:
        raise UnableError("no cgroup file system is mounted")
    group.mkdir()
    victim = forked(sleep_for_ever)
    try:
        (group / "cgroup.procs").write_text(str(victim))
        (group / switch).write_text(on)
        if not _wait_for(group / seen, said):
            raise UnableError("the group did not freeze")
        yield version
    finally:
        (group / switch).write_text(off)
        os.kill(victim, signal.SIGKILL)
        ended(victim, 3.0)
        group.rmdir()


def _freezer(work: Path) -> str:
    with frozen_group(work) as version:
        return f"a process was frozen and thawed ({version})"


def sweep_groups(work: Path) -> None:
    """Thaw, empty and remove the groups of a probe that was killed; nothing to do after one that ended."""
    for point in set(cgroup_mounts().values()):
        group = _group_of(point, work)
        if not group.is_dir():
            continue
        for switch, off in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
            if (group / switch).exists():
                (group / switch).write_text(off)
        until = time.monotonic() + 2.0
        while group.is_dir() and time.monotonic() < until:
            try:
                for pid in (group / "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
                group.rmdir()
            except OSError:
                time.sleep(0.01)


_REMEDY = "Run as root with a writable cgroup file system."
PROBES = (
    Probe(name="cgroup", attempt=_cgroup, affects=("LOG-23",), remedy=_REMEDY),
    Probe(name="freezer", attempt=_freezer, affects=("LOG-21",), remedy=_REMEDY),
)
