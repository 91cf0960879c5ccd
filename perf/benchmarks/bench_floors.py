"""The floors themselves, for the record: pytest-benchmark keeps their history beside that of the subjects."""

from typing import Any

import pytest

from fireassay.perf.floors import FLOORS, Setting, measure

pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", FLOORS)
def test_floor(benchmark: Any, name: str) -> None:
    benchmark.group = "floors"
    samples = []
    benchmark.pedantic(lambda: samples.append(measure(name, Setting(effort=0.5))), rounds=5, warmup_rounds=1)
    sample = min(samples, key=lambda one: one.p50)
    benchmark.extra_info.update({"p50_ns": sample.p50, "p99_ns": sample.p99, "figures": sample.n, "note": sample.note})
    if not 0 < sample.p50 <= sample.p99:
        pytest.fail(f"{name}: p50 {sample.p50} and p99 {sample.p99} are no figures")
