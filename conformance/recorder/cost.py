"""What recording costs: an event against a bare clock read, an operation within a run row.

Both are measured in one process, interleaved, on a prefaulted part, so that a slow moment of the machine hits either side alike.
Targets: an event costs at most 1.6 clock reads; an operation in a run less than 5 ns.
"""

import argparse
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from fireassay.conformance.recorder._recorder import lib
from fireassay.conformance.recorder.recorder import Recorder

__all__ = ["EVENT_RATIO_TARGET", "RUN_STEP_TARGET_NS", "Cost", "main", "measure"]

EVENT_RATIO_TARGET = 1.6
RUN_STEP_TARGET_NS = 5.0
RUN_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Cost:
    """Medians over the runs; `ratio` is the median of each run's own ratio."""

    ratio: float
    worst_ratio: float
    clock_ns: float
    event_ns: float
    run_step_ns: float
    vdso: bool

    @property
    def within_targets(self) -> bool:
        return self.ratio <= EVENT_RATIO_TARGET and self.run_step_ns < RUN_STEP_TARGET_NS


def measure(runs: int = 20, directory: str | os.PathLike[str] = "/dev/shm", events: int = 1 << 19) -> Cost:
    """Measure with a recording in `directory`; runs of 64 operations, their opening and closing rows included."""
    if runs < 1 or events < 2 * RUN_LENGTH:
        raise ValueError(f"too little to measure: {runs} runs of {events} events")
    clock, event, step = [], [], []
    with tempfile.TemporaryDirectory(dir=directory) as place, Recorder.open(Path(place) / "cost", capacity=events) as recorder:
        vdso = bool(lib.fr_bench_vdso(recorder.pointer))
        rows = events // RUN_LENGTH
        for _ in range(runs):
            clock.append(lib.fr_bench_clock(events) / events)
            event.append(lib.fr_bench_events(recorder.pointer, events, 1) / events)
            step.append(lib.fr_bench_runs(recorder.pointer, rows, RUN_LENGTH) / (rows * RUN_LENGTH))
    ratios = [ours / bare for ours, bare in zip(event, clock, strict=True)]
    return Cost(median(ratios), max(ratios), median(clock), median(event), median(step), vdso)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fireassay.conformance.recorder.cost", description=__doc__)
    parser.add_argument("directories", nargs="*", default=["/dev/shm", tempfile.gettempdir()])
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()
    kept = True
    for directory in arguments.directories:
        cost = measure(arguments.runs, directory)
        kept &= cost.within_targets
        print(
            f"{directory}: event {cost.event_ns:.1f} ns, bare clock {cost.clock_ns:.1f} ns ({'vDSO' if cost.vdso else 'system call'}): "
            f"{cost.ratio:.2f}x, worst {cost.worst_ratio:.2f}x (at most {EVENT_RATIO_TARGET}x); "
            f"run row {cost.run_step_ns:.2f} ns per operation (below {RUN_STEP_TARGET_NS:.0f}): "
            f"{'holds' if cost.within_targets else 'MISSED'}"
        )
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
