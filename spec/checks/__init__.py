"""The plain checks: one file per clause, history → verdict with witnesses. The registry names them all."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fireassay.spec.checks import (
    log01_order,
    log02_gap,
    log03_once,
    log04_phantom,
    log05_content,
    log06_aborted,
    log07_position,
    log08_monotonic,
    log09_unseen,
    log10_process_death,
    log11_power_loss,
    log23_progress,
)
from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.result import CheckResult, Witness
from fireassay.spec.history.history import History
from fireassay.spec.outcomes import Verdict

__all__ = ["CHECKS", "Check", "CheckResult", "Declared", "Witness", "judge"]

Check = Callable[[History, Declared], CheckResult]

_MODULES = (
    log01_order,
    log02_gap,
    log03_once,
    log04_phantom,
    log05_content,
    log06_aborted,
    log07_position,
    log08_monotonic,
    log09_unseen,
    log10_process_death,
    log11_power_loss,
    log23_progress,
)

CHECKS: Mapping[str, Check] = MappingProxyType({module.CLAUSE: module.check for module in _MODULES})


def judge(history: History, declared: Declared, checks: Mapping[str, Check] = CHECKS) -> tuple[CheckResult, ...]:
    return tuple(_run(clause, check, history, declared) for clause, check in checks.items())


def _run(clause: str, check: Check, history: History, declared: Declared) -> CheckResult:
    """A crashed check is unknown: it must neither pass nor hide the others."""
    try:
        return check(history, declared)
    except Exception as error:
        return CheckResult(clause=clause, verdict=Verdict.UNKNOWN, reasons=(f"the check crashed: {type(error).__name__}: {error}",))
