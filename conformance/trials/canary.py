"""A log that is certainly broken, examined like any other: a judge who does not convict it convicts nobody."""

from dataclasses import replace
from urllib.parse import urlencode

from fireassay.conformance.targets.faulty import FAULTS
from fireassay.conformance.trials.results import TrialResult
from fireassay.conformance.trials.setting import Load, Setting
from fireassay.conformance.trials.steady import steady

__all__ = ["CLAUSE", "canary"]

_FAULT = FAULTS["corrupt"]
CLAUSE = _FAULT.clause
_SEED = 4  # its third record says who wrote it, so that the same record is spoilt in every run
_TARGET = f"py:fireassay.conformance.targets.faulty:make?{urlencode({'fault': _FAULT.name, 'nth': 3})}"


def canary(setting: Setting, *, repeat: str = "") -> TrialResult:
    """One byte of one record is changed on its way to each reader of a log that is sound otherwise."""
    broken = replace(setting, target=_TARGET, seed=_SEED)
    found = steady(broken, reopens=1, load=Load(batches=8), repeat=repeat)
    return replace(found, scenario="canary", canary=CLAUSE)
