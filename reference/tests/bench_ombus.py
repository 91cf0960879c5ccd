"""om_bus beside what this machine does at best, in one run: each subject may cost so many times its floor."""

from pathlib import Path
from typing import Any

import pytest

from fireassay.perf.floors import Interleaved
from fireassay.reference.ombus.speed import speeds

pytestmark = pytest.mark.long

ROUNDS = 11
# Subject, its floor, and how many times the floor it may take; None: reported, not judged.
GATES: tuple[tuple[str, str, float | None], ...] = (
    ("publish and poll", "memcpy-64", 10.0),
    ("publish and poll, CRC", "memcpy-64", 14.0),
    ("publish and poll, no copy", "memcpy-64", 10.0),
    ("across", "spsc", 1 / 0.4),
    ("across, batches", "spsc", 1 / 0.65),
    ("round trip", "pingpong", 2.5),
    ("WAL append", "memcpy-64", None),
    ("WAL append, CRC", "memcpy-64", None),
)


@pytest.mark.parametrize(("subject", "floor", "limit"), GATES, ids=[gate[0].replace(" ", "-") for gate in GATES])
def test_om_bus(benchmark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], subject: str, floor: str, limit: float | None) -> None:
    benchmark.group = "om_bus"
    measured = speeds(tmp_path)[subject]
    measured()  # the first round pays for memory that this machine has not used yet
    found = benchmark.pedantic(Interleaved([floor], measured, ROUNDS).run, rounds=1, iterations=1)
    ratio, best = found.ratio(floor), min(found.subject_ns)
    benchmark.extra_info.update({"ratio": ratio.median, "low": ratio.low, "high": ratio.high, "best_ns": best, "limit": limit})
    with capsys.disabled():
        print(f"\nom_bus {subject}: {ratio.median:.2f} x {floor} (quartiles {ratio.low:.2f} to {ratio.high:.2f}, best {best:.1f} ns)")
    if limit is not None and not ratio.median <= limit:
        pytest.fail(f"{subject} takes {ratio.median:.2f} times {floor}, at most {limit:g} are asked")
