"""What an engine is: one kind of fault, made in trials."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from fireassay.chaos.bench import Bench
from fireassay.conformance.run.model import Mode
from fireassay.conformance.trials import NotRun, TrialResult
from fireassay.conformance.trials.results import FaultKindName

__all__ = ["FUTILE", "Engine", "Mode", "in_trials", "not_run"]

FUTILE = 2  # trials in which not all fired, after which a target is given up
_ELSE_EVERY, _ELSE_AT_MOST = 8, 3  # trials and faults through another way in, where a process takes long to start


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """`make` gives each trial as it ends. Where nothing can be made it gives one that did not run and says why, and never raises."""

    name: str
    kind: FaultKindName
    what: str
    unit: str  # what `amount` counts
    amounts: Mapping[Mode, int]
    make: Callable[[Bench, int], Iterator[TrialResult]]


def in_trials(bench: Bench, amount: int, at_most: int, make: Callable[[str, int], TrialResult]) -> Iterator[TrialResult]:
    """As many faults as asked for, in trials of a few: `make` is given a way in and a number of faults, all of which it plans."""
    left, futile = amount, 0
    for number in count(1):
        if left <= 0 or futile >= FUTILE:
            return
        another = len(bench.ways) > 1 and number % _ELSE_EVERY == 2
        way, most = (bench.ways[-1], _ELSE_AT_MOST) if another else (bench.target, at_most)
        result = make(way, min(left, most))
        if not result.ran:
            yield result
            return
        left -= result.planned
        futile += result.fired < max(result.planned, 1)
        yield result


def not_run(bench: Bench, engine: str, kind: FaultKindName, reason: str) -> TrialResult:
    """Of a trial that left nothing behind."""
    why = (NotRun(kind, reason),)
    return TrialResult(trial="", scenario=engine, seed=bench.seed, repeat=bench.repeat, not_run=why, ran=False)
