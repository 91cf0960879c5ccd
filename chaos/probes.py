"""Probes for the Chaos Toolkit. Each says "sound", or in sentences what is not: {"tolerance": "sound", "provider": {…}}."""

from fireassay.chaos.session import SOUND, VIOLATED, session
from fireassay.conformance.trials import steady

__all__ = ["every_fault_fired", "nothing_violated", "undisturbed_is_sound"]


def undisturbed_is_sound(target: str, seed: int = 1, out: str = "") -> str:
    """A trial without any fault: writers that reopen, readers that go on and restart; judged by the plain checks."""
    one = session(target, seed, out)
    result = steady(one.bench.setting(), max_payload=one.promises.bounds.max_payload, repeat=one.bench.repeat)
    one.keep(result)
    said = one.judged([result])
    if said != SOUND or not result.incidents:
        return said
    return f"{VIOLATED}: without any fault {'; '.join(result.incidents)}"


def every_fault_fired(target: str, seed: int = 1, out: str = "") -> str:
    """Every fault that was planned so far fired. A fault that did not shows nothing."""
    return session(target, seed, out).fired()


def nothing_violated(target: str, seed: int = 1, out: str = "") -> str:
    """All trials so far, judged by the plain checks."""
    one = session(target, seed, out)
    return one.judged(one.results)
