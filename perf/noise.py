"""How quiet this machine is: what a latency figure taken here is worth.

Noise makes no figure wrong, it makes it wide. A row is `available` where the machine is fit for the gates that depend on it.
"""

import os
import time
from pathlib import Path

import numpy as np

from fireassay.perf._floors import lib
from fireassay.perf.floors import Setting, measure, run_native
from fireassay.spec.capability import Capability
from fireassay.spec.outcomes import EnvironmentUnfit

__all__ = ["probe", "steal_of"]

_GATES = ("LOG-P1",)
_GAPS = 2_000_000  # clock reads; some 50 ms
_SLOW_CLOCK_NS = 200.0  # a clock read that leaves the process costs more than this
_COARSE_NS = 1000.0
_LONG_GAP_NS = 5e6  # a spin loop that loses the processor for longer than this spoils a p99.9
_STEAL_SHARE = 0.02


def steal_of(stat: str) -> tuple[int, int]:
    """(stolen, all) ticks of the first line of /proc/stat; guest time is already inside user time."""
    fields = [int(field) for field in stat.splitlines()[0].split()[1:]]
    return (fields[7] if len(fields) > 7 else 0), sum(fields[:8])


def _row(what: str, fit: bool, detail: str, remedy: str) -> Capability:
    return Capability(name=f"noise: {what}", available=fit, detail=detail, affects=_GATES, remedy="" if fit else remedy)


def _clock() -> Capability:
    cost = measure("clock", Setting(effort=0.2))
    resolution = time.get_clock_info("monotonic").resolution * 1e9
    source = _text(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")) or "unknown"
    return _row(
        "clock",
        cost.p50 < _SLOW_CLOCK_NS and resolution < _COARSE_NS,
        f"read {cost.p50:.1f} ns, resolution {resolution:.0f} ns, source {source}",
        "Boot with a clock source that is read without a system call (tsc, kvm-clock, arch_sys_counter).",
    )


def _jitter(setting: Setting) -> Capability:
    remedy = "Stop other load, or give the measuring processes isolated processors (isolcpus, cpusets)."
    try:
        gaps, note = run_native(lambda out, n, native: int(lib.floors_gaps(out, n, native)), _GAPS, setting, "gaps")
    except EnvironmentUnfit as unfit:
        return _row("jitter", False, str(unfit), remedy)
    longest, late = float(gaps.max()), float(np.percentile(gaps, 99.9))
    found = f"spin loop of {gaps.sum() / 1e6:.0f} ms: largest gap {longest / 1000:.1f} µs, p99.9 {late:.0f} ns"
    return _row("jitter", longest < _LONG_GAP_NS, f"{found} ({note})" if note else found, remedy)


def _steal(before: tuple[int, int], after: tuple[int, int]) -> Capability:
    stolen, ticks = after[0] - before[0], after[1] - before[1]
    share = stolen / ticks if ticks > 0 else 0.0
    since_boot = after[0] / after[1] if after[1] else 0.0
    return _row(
        "steal",
        share <= _STEAL_SHARE,
        f"{share:.1%} while probing ({ticks} ticks), {since_boot:.2%} since boot",
        "Other guests take this machine's processors: use a dedicated host for latency gates.",
    )


def _cpus() -> Capability:
    usable, present = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    return _row(
        "processors",
        usable >= 2,
        f"{usable} usable of {present}",
        "Two processors are needed for figures between processes: widen the affinity or the container's cpuset.",
    )


def _governor() -> Capability:
    governor = _text(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
    return _row(
        "governor",
        governor in (None, "performance"),
        governor or "not visible here; the host decides",
        "Set the governor to performance: cpupower frequency-set -g performance.",
    )


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def probe() -> tuple[Capability, ...]:
    stat = Path("/proc/stat")
    before = steal_of(stat.read_text())
    rows = (_cpus(), _governor(), _clock(), _jitter(Setting(deadline_s=5.0)))
    return (*rows, _steal(before, steal_of(stat.read_text())))
