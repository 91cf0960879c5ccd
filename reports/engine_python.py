"""The plain engine: each trial's rows to a History, and the checks of the specification over it. One trial is held at a time."""

from collections.abc import Callable, Mapping

from fireassay.reports.run import Run
from fireassay.spec.checks import CheckResult, judge
from fireassay.spec.history.history import History

__all__ = ["Progress", "judge_python"]

Progress = Callable[[str], None]  # what is going on


def judge_python(run: Run, progress: Progress) -> Mapping[str, tuple[CheckResult, ...]]:
    """Results by trial. A trial without a row has none, and its doubt says so."""
    if run.sealed is None:
        return {}
    declared, actors = run.declared, run.actors
    found: dict[str, tuple[CheckResult, ...]] = {}
    for trial, rows in run.sealed.trials():
        progress(f"trial {len(found) + 1} of {len(run.manifest.trials)}")
        found[trial] = judge(History.of([rows], actors[trial], declared.epsilon_ns), declared)
    return found
