"""What is told of this machine's noise; no test here judges time."""

import os
import time

import pytest

from fireassay.perf import noise
from fireassay.perf.floors import Setting
from fireassay.spec.clauses import ALL

WHAT = ("processors", "governor", "clock", "jitter", "steal")


def test_steal_is_the_eighth_field_and_guest_time_is_not_counted_twice() -> None:
    assert noise.steal_of("cpu  10 0 20 60 0 0 0 10 5 5\ncpu0 1 2 3") == (10, 100)
    assert noise.steal_of("cpu 1 2 3 4") == (0, 10)


def test_a_row_for_each_source_within_its_deadline() -> None:
    begin = time.monotonic()
    rows = noise.probe()
    assert time.monotonic() - begin < 60
    assert [row.name for row in rows] == [f"noise: {what}" for what in WHAT]
    assert all(row.detail for row in rows)
    assert all(bool(row.remedy) != row.available for row in rows)


def test_every_gate_named_is_a_clause() -> None:
    known = {clause.id for clause in ALL}
    assert {gate for row in noise.probe() for gate in row.affects} <= known


@pytest.mark.parametrize(("stolen", "fit"), [(0, True), (2, True), (3, False), (100, False)])
def test_stolen_time_is_a_share_of_the_probing_not_of_the_uptime(stolen: int, fit: bool) -> None:
    row = noise._steal((1000, 5000), (1000 + stolen, 5100))
    assert row.available == fit
    assert f"{stolen}.0% while probing (100 ticks)" in row.detail


def test_no_tick_passed_while_probing_is_no_steal() -> None:
    assert noise._steal((0, 0), (0, 0)).available


def test_one_processor_is_told() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        row = noise._cpus()
        jitter = noise._jitter(Setting(deadline_s=20.0))
    finally:
        os.sched_setaffinity(0, before)
    assert not row.available
    assert row.detail.startswith("1 usable of ")
    assert "one processor" in jitter.detail


def test_a_loop_that_does_not_end_in_time_is_unfit_and_says_so() -> None:
    row = noise._jitter(Setting(deadline_s=1e-6))
    assert not row.available
    assert "not done within" in row.detail
    assert row.remedy
