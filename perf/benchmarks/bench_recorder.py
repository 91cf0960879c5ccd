"""What the flight recorder costs whoever is recorded: at most 1.6 clock reads an event, less than 5 ns an operation in a run.

The clock read is measured twice over: by the recorder's own bench, and by the floor, which shares no code with it.
"""

from pathlib import Path
from typing import Any

import pytest

from fireassay.conformance.recorder.cost import EVENT_RATIO_TARGET, RUN_STEP_TARGET_NS, Cost, measure
from fireassay.perf.floors import Interleaved, Setting

pytestmark = pytest.mark.long

RUNS = 20
STRETCHES = 41
EVENTS_A_STRETCH = 1 << 14  # a MiB of rows: more than the first cache holds


def shared_memory() -> Path:
    return Path("/dev/shm")


def missed(cost: Cost) -> list[str]:
    found = []
    if not cost.ratio <= EVENT_RATIO_TARGET:
        found.append(f"an event costs {cost.ratio:.2f} clock reads, at most {EVENT_RATIO_TARGET} are asked")
    if not cost.run_step_ns < RUN_STEP_TARGET_NS:
        found.append(f"an operation in a run costs {cost.run_step_ns:.2f} ns, less than {RUN_STEP_TARGET_NS:g} is asked")
    return found


@pytest.mark.parametrize("where", ["shared memory", "file system"])
def test_recorder(benchmark: Any, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark.group = "recorder"
    directory = shared_memory() if where == "shared memory" else tmp_path
    cost = benchmark.pedantic(lambda: measure(RUNS, directory), rounds=1, iterations=1)
    figures = {"ratio": cost.ratio, "worst_ratio": cost.worst_ratio, "clock_ns": cost.clock_ns, "event_ns": cost.event_ns}
    benchmark.extra_info.update(figures | {"run_step_ns": cost.run_step_ns, "vdso": cost.vdso})
    with capsys.disabled():
        print(
            f"\nrecorder in {where}, median of {RUNS}: event {cost.event_ns:.1f} ns, bare clock {cost.clock_ns:.1f} ns, "
            f"{cost.ratio:.2f}x (worst {cost.worst_ratio:.2f}x), run row {cost.run_step_ns:.2f} ns an operation"
        )
    if wrong := missed(cost):
        pytest.fail("; ".join(wrong))


def event_ns() -> float:
    """Median over stretches of a millisecond: like the floor's, it passes over those in which the processor was taken away."""
    return measure(STRETCHES, shared_memory(), EVENTS_A_STRETCH).event_ns


def test_recorder_beside_the_clock_floor(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark.group = "recorder"
    trial = Interleaved(["clock"], event_ns, RUNS, Setting(effort=0.2))
    ratio = benchmark.pedantic(trial.run, rounds=1, iterations=1).ratio("clock")
    benchmark.extra_info.update({"ratio": ratio.median, "low": ratio.low, "high": ratio.high})
    with capsys.disabled():
        print(f"\nrecorder beside the clock floor: {ratio.median:.2f}x, quartiles {ratio.low:.2f} to {ratio.high:.2f}")
    if not ratio.median <= EVENT_RATIO_TARGET:
        pytest.fail(f"an event costs {ratio.median:.2f} clock reads of the floor, at most {EVENT_RATIO_TARGET} are asked")
