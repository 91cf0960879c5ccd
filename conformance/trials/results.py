"""What comes out of a trial beside its recordings: which faults were planned, which fired, and how to repeat it."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["FaultKindName", "FaultRecord", "NotRun", "TrialResult"]

FaultKindName = Literal["kill", "failpoint", "power"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRecord:
    """A line of faults.json. `id` is the number in the trial's fault rows; not fired: `reason` says why."""

    trial: str
    id: int
    kind: FaultKindName
    where: str
    nth: int | None = None
    planned: bool = True
    fired: bool = False
    victim: int = 0
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class NotRun:
    """A kind of fault, or a place for one, that could not be tried here."""

    kind: FaultKindName
    reason: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    trial: str
    scenario: str
    seed: int
    repeat: str
    faults: tuple[FaultRecord, ...] = ()
    not_run: tuple[NotRun, ...] = ()
    incidents: tuple[str, ...] = ()  # what the target did that was not asked for, in sentences
    seconds: float = 0.0
    ran: bool = True  # False: it left no recordings, and `not_run` says why
    canary: str = ""  # the clause of which it must be convicted

    @property
    def fired(self) -> int:
        return sum(fault.fired for fault in self.faults)

    @property
    def planned(self) -> int:
        return sum(fault.planned for fault in self.faults)

    def manifest_entry(self) -> dict[str, Any]:
        named = {"trial": self.trial, "scenario": self.scenario, "seed": self.seed, "repeat": self.repeat, "canary": self.canary}
        return {**named, "incidents": self.incidents}
