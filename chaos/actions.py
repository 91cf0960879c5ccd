"""Actions for the Chaos Toolkit: {"type": "python", "module": "fireassay.chaos.actions", "func": "make_faults", "arguments": {…}}."""

from typing import Any

from fireassay.chaos.engines import ENGINES
from fireassay.chaos.session import session
from fireassay.spec.outcomes import EnvironmentUnfit, HarnessError

__all__ = ["make_faults"]


def make_faults(engine: str, amount: int, target: str, seed: int = 1, out: str = "") -> dict[str, Any]:
    """So many faults by the engine of that name; how many fired, and what was strange.

    EnvironmentUnfit where this machine or this target allows none of them: a fault that cannot be made shows nothing.
    """
    if engine not in ENGINES:
        raise HarnessError(f"there is no engine {engine!r}; known are {', '.join(ENGINES)}")
    if amount < 1:
        raise HarnessError(f"{engine}: an amount of {amount} {ENGINES[engine].unit} asks for nothing")
    one = session(target, seed, out)
    one.engines.add(engine)
    one.broken, results = True, []
    for result in ENGINES[engine].make(one.bench, amount):
        one.keep(result)
        results.append(result)
    one.broken = False
    planned, reasons = sum(result.planned for result in results), [each.reason for result in results for each in result.not_run]
    if not planned:
        raise EnvironmentUnfit(f"{engine}: {'; '.join(reasons) or 'no fault was planned'}")
    return {
        "engine": engine,
        "planned": planned,
        "fired": sum(result.fired for result in results),
        "trials": [result.trial for result in results if result.ran],
        "not_run": reasons,
        "incidents": [incident for result in results for incident in result.incidents],
    }
