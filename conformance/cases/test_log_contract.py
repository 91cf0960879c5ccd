"""The LOG contract on small trials, one without a fault and two with writers killed, made once per session and judged by the plain checks.

The examination makes many more and judges them with its own engine; these are for whoever runs the cases alone. LOG-11 is not
among them: only a real loss of power shows it.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from fireassay.conformance.cases.chronicle import queue
from fireassay.conformance.targets import loaded
from fireassay.conformance.trials import Load, Setting, TrialResult, judge_trials, kill_idle, kill_random, steady
from fireassay.conformance.trials.actors import VARIABLES
from fireassay.spec.checks import CHECKS, CheckResult
from fireassay.spec.outcomes import HarnessError, Verdict
from fireassay.spec.ports import Target

SEED = 20  # of every session, so that what a session finds the next one finds again
DEADLINE_S = 2.0
REOPENS = 3
KILLS = 3
SHOWN = 4
JUDGED = [pytest.param(clause, id=clause, marks=pytest.mark.clause(clause)) for clause in CHECKS if clause != "LOG-11"]
STREAM = "stream1"

Judged = Mapping[str, Sequence[tuple[TrialResult, CheckResult]]]  # clause → what each trial says


@pytest.fixture(scope="session")
def judged(target_spec: str, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    root = tmp_path_factory.mktemp("trials")
    with loaded(target_spec, root / "looked-at") as target:
        largest, promises = target.promises.bounds.max_payload, target.promises
        made = [steady(_setting(target, target_spec, root, "steady"), reopens=REOPENS, load=Load(), max_payload=largest)]
        if not made[0].incidents:  # nobody is killed who does not get through a day without faults
            made.append(kill_random(_setting(target, target_spec, root, "killed"), kills=KILLS))
            made.append(kill_idle(_setting(target, target_spec, root, "killed idle"), kills=KILLS))
    said = judge_trials(root / "recordings", promises, DEADLINE_S)
    return {clause: [(trial, result) for trial in made for result in said[trial.trial] if result.clause == clause] for clause in CHECKS}


def _setting(target: Target, spec: str, root: Path, trial: str) -> Setting:
    place = root / trial
    if target.name == "chronicle":
        queue.made(place / STREAM)  # with small segments: else so few records would never roll
    environment = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    return Setting(
        target=spec, trial=trial, recordings=root / "recordings", place=place, seed=SEED, deadline_s=DEADLINE_S, environment=environment
    )


@pytest.fixture
def said(clause: str, applicable: None, judged: Judged) -> Sequence[tuple[TrialResult, CheckResult]]:
    """What the trials show. One that shows nothing for certain breaks the case, before there is anything to pass or to fail."""
    every = judged[clause]
    shown = [each for each in every if each[1].verdict not in (Verdict.NOT_RUN, Verdict.NOT_APPLICABLE)]
    if not shown:
        reasons = [reason for _, result in every for reason in result.reasons]
        incidents = [incident for trial, _ in every for incident in trial.incidents]
        if incidents:
            raise HarnessError(f"the trials show nothing of {clause}: {'; '.join(incidents)}")
        pytest.skip(f"not run: the trials had no occasion for {clause}. {'; '.join(reasons)}")
    doubtful = [each for each in shown if each[1].verdict is Verdict.UNKNOWN]
    if doubtful and not any(result.verdict is Verdict.FAIL for _, result in shown):
        raise HarnessError("\n".join(_sentences(doubtful)))
    return shown


def _sentences(said: Sequence[tuple[TrialResult, CheckResult]]) -> list[str]:
    found: list[str] = []
    for trial, result in said:
        witnesses = [f"{witness.anomaly}: {witness.explanation}" for witness in result.witnesses]
        words = witnesses or [f"unknown: {reason}" for reason in result.reasons]
        found += [f"{result.clause}, trial {trial.trial} of seed {trial.seed}: {word}" for word in words[:SHOWN]]
        found += [f"(and {len(words) - SHOWN} more)"] if len(words) > SHOWN else []
        found += [f"(in trial {trial.trial} {incident})" for incident in trial.incidents[:SHOWN]]
    return found


@pytest.mark.parametrize("clause", JUDGED)
def test_small_trials_keep(clause: str, said: Sequence[tuple[TrialResult, CheckResult]]) -> None:
    failed = [each for each in said if each[1].verdict is Verdict.FAIL]
    if failed:
        pytest.fail("\n".join(_sentences(failed)), pytrace=False)
