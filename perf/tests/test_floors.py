"""Shapes and failure paths of the floors; no test here judges time."""

import itertools
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.perf import _floors
from fireassay.perf.floors import FLOORS, Comparison, Floor, Interleaved, Sample, Setting, measure, ratio, table
from fireassay.spec.outcomes import EnvironmentUnfit, HarnessError

QUICK = Setting(effort=0.02, deadline_s=20.0)
PAIRS = ("spsc", "pingpong", "udp", "tcp", "futex")


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split())


@pytest.fixture
def all_reaped() -> Iterator[None]:
    """No child is left but those that were there before, such as the fork server of an earlier test."""
    before = children()
    yield
    assert children() <= before


@pytest.mark.parametrize("name", FLOORS)
def test_every_floor_gives_positive_ordered_figures(name: str) -> None:
    sample = measure(name, QUICK)
    assert 0 < sample.p50 <= sample.p99
    assert sample.n >= 16


@pytest.mark.usefixtures("all_reaped")
@pytest.mark.parametrize("name", PAIRS)
def test_a_dead_child_is_told_apart_and_never_hangs_the_parent(name: str) -> None:
    with pytest.raises(EnvironmentUnfit, match="second process died"):
        measure(name, Setting(effort=0.02, deadline_s=20.0, sabotage=_floors.lib.FLOORS_CHILD_DIES))


@pytest.mark.usefixtures("all_reaped")
@pytest.mark.parametrize("name", PAIRS)
def test_a_stalled_child_ends_at_the_deadline_and_is_reaped(name: str) -> None:
    with pytest.raises(EnvironmentUnfit, match=r"not done within 0\.2 s"):
        measure(name, Setting(effort=0.02, deadline_s=0.2, sabotage=_floors.lib.FLOORS_CHILD_STALLS))


@pytest.mark.usefixtures("all_reaped")
@pytest.mark.parametrize("name", PAIRS)
def test_a_child_that_is_merely_late_is_not_taken_for_dead(name: str) -> None:
    for _ in range(3):
        with pytest.raises(EnvironmentUnfit, match=r"not done within 0\.05 s"):
            measure(name, Setting(effort=50.0, deadline_s=0.05))


@pytest.mark.parametrize("name", ["clock", "memcpy-64", "fdatasync", "msync"])
def test_single_process_floors_keep_their_deadline(name: str) -> None:
    with pytest.raises(EnvironmentUnfit, match="not done within"):
        measure(name, Setting(deadline_s=1e-6))


def test_measuring_leaves_the_affinity_as_it_was() -> None:
    before = os.sched_getaffinity(0)
    for name in ("clock", "pingpong"):
        measure(name, QUICK)
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("name", PAIRS)
def test_works_on_one_processor_and_says_so(name: str) -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        sample = measure(name, Setting(effort=0.001, deadline_s=60.0))
    finally:
        os.sched_setaffinity(0, before)
    assert sample.p50 > 0
    assert "one processor" in sample.note


def test_the_sync_floors_name_the_file_system_and_leave_no_file(tmp_path: Path) -> None:
    sample = measure("fdatasync", Setting(effort=0.02, directory=tmp_path))
    assert sample.note.startswith("on ")
    assert list(tmp_path.iterdir()) == []


def test_table_keeps_the_order_asked_for() -> None:
    rows = table(["memcpy-64", "clock"], QUICK)
    assert [row["name"] for row in rows] == ["memcpy-64", "clock"]
    assert set(rows[0]) == {"name", "what", "unit", "p50", "p99", "n", "note"}


def test_an_unknown_floor_is_the_callers_fault() -> None:
    with pytest.raises(HarnessError, match="no floor named 'cellar'"):
        table(["clock", "cellar"], QUICK)


def test_ratio_pairs_round_by_round() -> None:
    got = ratio([20.0, 30.0, 80.0], [10.0, 10.0, 20.0])
    assert (got.median, got.rounds) == (3.0, 3)
    assert (got.low, got.high) == (2.5, 3.5)
    assert got.spread == pytest.approx(1 / 3)


def test_ratio_sets_each_subject_between_two_floors() -> None:
    assert ratio([30.0, 50.0], [10.0, 20.0, 30.0]).median == 2.0


def test_slow_drift_cancels_out_of_the_ratio() -> None:
    floor = [float(10 + i) for i in range(11)]
    got = ratio([2 * (a + b) / 2 for a, b in itertools.pairwise(floor)], floor)
    assert got.median == pytest.approx(2.0)
    assert got.spread == pytest.approx(0.0)


@pytest.mark.parametrize(("subject", "floor"), [([], []), ([1.0], [1.0, 1.0, 1.0]), ([1.0, 1.0], [1.0]), ([1.0], [0.0]), ([-1.0], [1.0])])
def test_ratio_refuses_what_cannot_be_compared(subject: list[float], floor: list[float]) -> None:
    with pytest.raises(HarnessError):
        ratio(subject, floor)


def test_interleaving_alternates_and_ends_on_a_floor() -> None:
    order: list[str] = []

    def measured(_: Setting) -> Sample:
        order.append("floor")
        return Sample(10.0, 11.0, 16)

    def subject() -> float:
        order.append("subject")
        return 25.0

    got = Interleaved([Floor(name="flat", unit="ns", what="", measure=measured)], subject, 3).run()
    assert order == ["floor", "subject"] * 3 + ["floor"]
    assert got == Comparison(subject_ns=(25.0,) * 3, floors_ns={"flat": (10.0,) * 4})
    assert got.ratio("flat").median == 2.5


def test_interleaving_needs_a_round() -> None:
    with pytest.raises(HarnessError):
        Interleaved(["clock"], lambda: 1.0, 0).run()
