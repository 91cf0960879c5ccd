"""The canary of an examination is convicted of its clause, and of its clause alone."""

from pathlib import Path

from fireassay.conformance.targets import load
from fireassay.conformance.trials import Setting, canary, judge_trials
from fireassay.conformance.trials.canary import CLAUSE
from fireassay.spec.outcomes import Verdict


def test_the_canary_is_convicted_of_its_clause_alone(tmp_path: Path) -> None:
    setting = Setting(target="plainlog", trial="0001", recordings=tmp_path / "recordings", place=tmp_path / "place", seed=99)
    made = canary(setting)
    assert (made.scenario, made.canary, made.incidents) == ("canary", CLAUSE, ())
    promises = load("plainlog", tmp_path / "looked-at").promises
    (results,) = judge_trials(setting.recordings, promises, 5.0).values()
    assert [result.clause for result in results if result.verdict is Verdict.FAIL] == [CLAUSE]
    assert [result.clause for result in results if result.verdict is Verdict.UNKNOWN] == []
