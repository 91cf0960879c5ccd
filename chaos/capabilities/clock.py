"""Who is told what time it is."""

import time
from pathlib import Path

from fireassay.chaos.capabilities.model import CLOCK, Probe, UnableError
from fireassay.chaos.capabilities.tools import NEWTIME, ended, forked, unshare

__all__ = ["PROBES"]


def _time_namespace(_: Path) -> str:
    unshare(NEWTIME, "time namespace")
    Path("/proc/self/timens_offsets").write_text("monotonic 100000 0\n")
    outside = time.monotonic()
    if ended(forked(lambda: int(time.monotonic() - outside < 99_000)), 3.0) != 0:
        raise UnableError("the child's clock did not move")
    return "the monotonic clock of a child was moved by 100000 s (the real-time clock cannot be)"


PROBES = (Probe(name="time-namespace", attempt=_time_namespace, affects=CLOCK, remedy="Run as root on Linux 5.6 or later."),)
