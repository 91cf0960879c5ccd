"""The measuring of om_bus gives figures; what they are worth is said beside the floors."""

import os
from pathlib import Path

import pytest

from fireassay.reference.ombus.speed import figures, speeds
from fireassay.reference.tests.ombus_files import refused
from fireassay.spec.layouts.ombus import ErrorCode


def test_every_subject_gives_a_figure_and_leaves_nothing_behind(tmp_path: Path) -> None:
    before = set(os.listdir("/dev/shm"))
    for name, measured in speeds(tmp_path, effort=0.005).items():
        assert 0 < measured() < 1e9, name
    assert list(tmp_path.iterdir()) == []
    assert {name for name in os.listdir("/dev/shm") if name.startswith("tmp")} <= before


@pytest.mark.parametrize("plan", [{"count": 0}, {"batch": 0}, {"length": 4097}, {"group": 0}, {"group": 257}])
def test_a_plan_that_measures_nothing_is_refused(tmp_path: Path, plan: dict[str, int]) -> None:
    asked = {"count": 1, "batch": 1, **plan}
    count, batch = asked.pop("count"), asked.pop("batch")
    refused(ErrorCode.INIT, lambda: figures("across", count, batch, place=tmp_path, **asked))  # type: ignore[arg-type]
