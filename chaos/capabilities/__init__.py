"""Which faults this machine can make: each is tried, none is guessed.

Every probe runs in a process of its own, in a directory of its own, with a deadline. What it mounts lives in a mount namespace that
dies with it, and loop devices clear themselves with their mount. What outlives a process, a frozen file system or a control group, is
undone by the supervisor above the probe, and by the caller where the supervisor was killed.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fireassay.chaos.capabilities import clock, disk, groups, network, process
from fireassay.chaos.capabilities.model import Probe
from fireassay.chaos.capabilities.runner import try_one
from fireassay.spec.capability import Capability

__all__ = ["PROBES", "Probe", "probe", "try_one"]

PROBES: tuple[Probe, ...] = (*process.PROBES, *network.PROBES, *disk.PROBES, *groups.PROBES, *clock.PROBES)


def probe(directory: Path | None = None) -> tuple[Capability, ...]:
    """Try them all, four at a time. `directory` is where files are tried; None: the temporary directory."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        return tuple(pool.map(lambda one: try_one(one, directory), PROBES))
