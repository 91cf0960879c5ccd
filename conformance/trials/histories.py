"""From a directory of recordings to the history of each trial, and what the plain checks say of it."""

from collections import defaultdict
from collections.abc import Container
from pathlib import Path

from fireassay.conformance.recorder.recording import Recording, find_recordings, open_recording
from fireassay.spec.checks import CheckResult, Declared, judge
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Actor
from fireassay.spec.outcomes import HarnessError, Verdict
from fireassay.spec.promises import Promises

__all__ = ["convictions", "histories", "judge_trials", "trial_of"]


def trial_of(recording: str) -> str:
    return recording.partition("-")[0]


def histories(directory: Path, only: Container[str] | None = None) -> dict[str, History]:
    """Trial → history. HarnessError where rows were lost: then nobody can say anything."""
    by_trial: dict[str, list[Recording]] = defaultdict(list)
    for prefix in find_recordings(directory):
        if only is not None and trial_of(prefix.name) not in only:
            continue
        recording = open_recording(prefix)
        if recording.lost:
            raise HarnessError(f"{prefix}: {recording.lost} rows were lost; make the recording larger")
        by_trial[trial_of(recording.name)].append(recording)
    return {trial: _history(recordings) for trial, recordings in sorted(by_trial.items())}


def _history(recordings: list[Recording]) -> History:
    actors = [actor for recording in recordings for actor in _actors(recording)]
    return History.of(recordings, actors, max(recording.header.epsilon_ns for recording in recordings))


def _actors(recording: Recording) -> list[Actor]:
    clock = recording.header.clock
    domain = f"{clock.host}/{clock.boot_id}/{clock.time_ns}"
    return [
        Actor(a.actor, a.role.name.lower(), process=a.pid, incarnation=a.incarnation, group=a.group, domain=domain)
        for a in recording.actors
    ]


def judge_trials(
    directory: Path, promises: Promises, deadline_s: float, only: Container[str] | None = None
) -> dict[str, tuple[CheckResult, ...]]:
    """Trial → what each plain check says; of all trials, or `only` of these."""
    found = histories(directory, only)
    return {
        trial: judge(history, Declared.of(promises, deadline_ns=int(deadline_s * 1e9), epsilon_ns=history.epsilon_ns))
        for trial, history in found.items()
    }


def convictions(judged: dict[str, tuple[CheckResult, ...]]) -> list[str]:
    """A sentence for each witness, and for each doubt: what is unknown is not sound."""
    said = []
    for trial, results in judged.items():
        for result in results:
            if result.verdict is Verdict.FAIL:
                said += [f"trial {trial}: {result.clause} {w.anomaly}: {w.explanation}" for w in result.witnesses]
            elif result.verdict is Verdict.UNKNOWN:
                said += [f"trial {trial}: {result.clause} unknown: {'; '.join(result.reasons[:3])}"]
    return said
