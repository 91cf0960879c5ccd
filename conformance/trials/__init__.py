"""Trials: real processes on one target, recorded as one history each. A trial plans, makes and records; it never judges."""

from fireassay.conformance.trials.canary import canary
from fireassay.conformance.trials.histories import convictions, histories, judge_trials
from fireassay.conformance.trials.kill_idle import kill_idle
from fireassay.conformance.trials.kill_random import kill_random
from fireassay.conformance.trials.results import FaultRecord, NotRun, TrialResult
from fireassay.conformance.trials.setting import Load, Setting, variant_of_caller
from fireassay.conformance.trials.steady import steady
from fireassay.conformance.trials.trial import Trial

__all__ = [
    "FaultRecord",
    "Load",
    "NotRun",
    "Setting",
    "Trial",
    "TrialResult",
    "canary",
    "convictions",
    "histories",
    "judge_trials",
    "kill_idle",
    "kill_random",
    "steady",
    "variant_of_caller",
]
