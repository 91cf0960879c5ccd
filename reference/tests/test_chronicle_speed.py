"""The measuring of chronicle gives figures; what they are worth is said in perf."""

import os
from pathlib import Path

import pytest

from fireassay.reference import core
from fireassay.reference.chronicle.speed import speeds


def test_every_subject_gives_a_figure_and_leaves_nothing_behind(tmp_path: Path) -> None:
    for name, measured in speeds(tmp_path, records=2000).items():
        assert 0 < measured() < 1e9, name
    assert list(tmp_path.iterdir()) == []


def test_a_plan_that_measures_nothing_is_refused(tmp_path: Path) -> None:
    ffi, lib = core.load()
    err, figure = ffi.new("fa_error *"), ffi.new("double *")
    for count, length in ((0, 64), (1, 0), (1, 4097)):
        plan = ffi.new("chronicle_speed *", (1 << 20, count, length, -1, -1, 10**9))
        with pytest.raises(core.CoreError, match="at least one"):
            core.check(ffi, err, lib.chronicle_speed_across(os.fsencode(tmp_path / "q"), plan, figure, err))
