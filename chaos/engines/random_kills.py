"""Kill −9 of writers at drawn instants, while two readers go on."""

from collections.abc import Iterator
from itertools import count

from fireassay.chaos.bench import Bench
from fireassay.chaos.engines.engine import Engine
from fireassay.conformance.trials import TrialResult, kill_random

__all__ = ["KILL_RANDOM"]

_PER_TRIAL = 6  # each drain reads the whole log again
_PER_TRIAL_ELSE = 3  # through another way in, where a process takes long to start
_ELSE_EVERY = 8
_FUTILE = 2  # trials in which faults did not fire, after which a target is given up


def _make(bench: Bench, kills: int) -> Iterator[TrialResult]:
    left, futile = kills, 0
    for number in count(1):
        if left <= 0 or futile >= _FUTILE:
            return
        another = len(bench.ways) > 1 and number % _ELSE_EVERY == 2
        result = kill_random(
            bench.setting(target=bench.ways[-1] if another else bench.target),
            kills=min(left, _PER_TRIAL_ELSE if another else _PER_TRIAL),
            repeat=bench.repeat,
        )
        left -= result.planned
        futile += result.fired < result.planned
        yield result


KILL_RANDOM = Engine(
    name="kill-random",
    kind="kill",
    what="kill −9 of a writer at a drawn instant, again and again, while two readers go on",
    unit="deaths",
    amounts={"quick": 200, "long": 1000},
    make=_make,
)
