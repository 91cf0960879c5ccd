"""LOG-10: process death loses nothing owed."""

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.losses import Terms, judge_losses
from fireassay.spec.checks.result import CheckResult, not_applicable
from fireassay.spec.history.history import History

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-10"
_TERMS = Terms(clause=CLAUSE, grade="process", anomaly="lost-write-process", when="a process died")


def check(history: History, declared: Declared) -> CheckResult:
    if declared.survives_process_death == "never":
        return not_applicable(CLAUSE, "nothing is promised to survive the death of a process")
    return judge_losses(history, declared, _TERMS)
