"""LOG-11: power loss loses nothing owed."""

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.losses import Terms, judge_losses
from fireassay.spec.checks.result import CheckResult, not_applicable
from fireassay.spec.history.history import History

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-11"
_TERMS = Terms(clause=CLAUSE, grade="power", anomaly="lost-write-power", when="the power failed")


def check(history: History, declared: Declared) -> CheckResult:
    if declared.survives_power_loss == "never":
        return not_applicable(CLAUSE, "nothing is promised to survive a loss of power")
    return judge_losses(history, declared, _TERMS)
