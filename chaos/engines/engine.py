"""What an engine is: one kind of fault, made in trials."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from fireassay.chaos.bench import Bench
from fireassay.conformance.trials import TrialResult
from fireassay.conformance.trials.results import FaultKindName

__all__ = ["Engine", "Mode"]

Mode = Literal["quick", "long"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """`make` gives each trial as it ends. Where nothing can be made it gives one that did not run and says why, and never raises."""

    name: str
    kind: FaultKindName
    what: str
    unit: str  # what `amount` counts
    amounts: Mapping[Mode, int]
    make: Callable[[Bench, int], Iterator[TrialResult]]
