"""Kill −9 of writers at drawn instants, while two readers go on."""

from collections.abc import Iterator

from fireassay.chaos.bench import Bench
from fireassay.chaos.engines.engine import Engine, in_trials
from fireassay.conformance.trials import TrialResult, kill_random

__all__ = ["KILL_RANDOM"]

_PER_TRIAL = 6  # each drain reads the whole log again


def _make(bench: Bench, kills: int) -> Iterator[TrialResult]:
    return in_trials(bench, kills, _PER_TRIAL, lambda way, some: kill_random(bench.setting(target=way), kills=some, repeat=bench.repeat))


KILL_RANDOM = Engine(
    name="kill-random",
    kind="kill",
    what="kill −9 of a writer at a drawn instant, again and again, while two readers go on",
    unit="deaths",
    amounts={"smoke": 4, "quick": 200, "long": 600},
    make=_make,
)
