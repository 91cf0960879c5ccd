"""chronicle beside what this machine does at best, in one run: each subject may cost so many times its floor.

The figures come from the target itself, by its name; here they are only set beside floors.
"""

from pathlib import Path
from typing import Any

import pytest

from fireassay.conformance.targets.registry import speeds
from fireassay.perf.floors import FLOORS, Floor, Interleaved, Sample, Setting

pytestmark = pytest.mark.long

ROUNDS = 11
STAMPED_COPY = "clock and memcpy-64"


def _stamped_copy(setting: Setting) -> Sample:
    clock, copy = FLOORS["clock"].measure(setting), FLOORS["memcpy-64"].measure(setting)
    return Sample(clock.p50 + copy.p50, clock.p99 + copy.p99, min(clock.n, copy.n))


# Subject, its floor, and how many times the floor it may take. The last two are 150 ns where the floor is 26 ns.
GATES: tuple[tuple[str, str | Floor, float], ...] = (
    ("append", Floor(name=STAMPED_COPY, unit="ns", what="what each record needs at least", measure=_stamped_copy), 2.5),
    ("read", "memcpy-64", 8.0),
    ("across", "spsc", 5.0),
    ("wake", "futex", 1.5),
    ("append from Python", Floor(name=STAMPED_COPY, unit="ns", what="as above", measure=_stamped_copy), 5.8),
    ("read from Python", Floor(name=STAMPED_COPY, unit="ns", what="as above", measure=_stamped_copy), 5.8),
)


@pytest.mark.parametrize(("subject", "floor", "limit"), GATES, ids=[gate[0].replace(" ", "-") for gate in GATES])
def test_chronicle(
    benchmark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], subject: str, floor: str | Floor, limit: float
) -> None:
    benchmark.group = "chronicle"
    measured = speeds("chronicle", tmp_path)[subject]
    measured()  # the first round pays for memory that this machine has not used yet
    beside = floor if isinstance(floor, str) else floor.name
    found = benchmark.pedantic(Interleaved([floor], measured, ROUNDS).run, rounds=1, iterations=1)
    ratio = found.ratio(beside)
    best = min(found.subject_ns)
    benchmark.extra_info.update({"ratio": ratio.median, "low": ratio.low, "high": ratio.high, "best_ns": best, "limit": limit})
    with capsys.disabled():
        print(f"\nchronicle {subject}: {ratio.median:.2f} x {beside} (quartiles {ratio.low:.2f} to {ratio.high:.2f}, best {best:.1f} ns)")
    if not ratio.median <= limit:
        pytest.fail(f"{subject} takes {ratio.median:.2f} times {beside}, at most {limit:g} are asked")
