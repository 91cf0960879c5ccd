"""LOG-06: an append that failed is never read. Info is not failed: it may appear."""

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.result import CheckResult, conclude, witness
from fireassay.spec.history.history import History
from fireassay.spec.outcomes import Outcome

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-06"


def check(history: History, declared: Declared) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    found = []
    for delivery in history.deliveries:
        append = history.append_of.get((delivery.stream, delivery.identity))
        if append is not None and append.outcome is Outcome.FAIL and delivery.identified:
            text = f"the append of {delivery.identity:#x} failed, and it was read at {delivery.position}"
            found.append(witness(CLAUSE, "aborted-read", delivery.stream, (append.row, delivery.row), text))
    failed = sum(append.outcome is Outcome.FAIL for append in history.appends)
    # Without one failed append there was nothing that could have been read wrongly.
    evidence = len(history.deliveries) if failed else 0
    return conclude(CLAUSE, history, found, evidence=evidence, counts={"failed": failed, "deliveries": len(history.deliveries)})
