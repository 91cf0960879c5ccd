"""Entries of a run directory, as its JSON files hold them."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from fireassay.conformance.targets import TargetSpec
from fireassay.spec.ports import Target

__all__ = ["CaseResult", "FaultEntry", "Mode", "NotRun", "TargetFacts", "TrialEntry"]

Mode = Literal["smoke", "quick", "long"]  # how much of everything is asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """Skipped is never passed."""

    case: str  # node id, or experiment:NAME
    clauses: tuple[str, ...]
    outcome: Literal["passed", "failed", "skipped", "error"]
    seconds: float
    message: str
    through: Literal["object", "driver"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEntry:
    trial: str
    id: int  # `seq` of its rows in that trial
    kind: Literal["kill", "failpoint", "power"]
    where: str  # the failpoint's name, or "random"
    nth: int | None
    planned: bool
    fired: bool
    victim: int  # actor; 0 where more than one process is hit
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NotRun:
    kind: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEntry:
    trial: str  # 4 digits; the recordings' names begin with it
    scenario: str
    seed: int
    repeat: str  # the command that repeats it
    canary: str = ""  # the clause that a trial on a broken log must be convicted of; such a trial says nothing of the target
    incidents: tuple[str, ...] = ()  # what the target did that nobody asked for, in sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    spec: str
    name: str
    kind: Literal["object", "driver"]
    digest: str
    variant: str
    promises: str  # TOML

    @classmethod
    def of(cls, spec: TargetSpec, target: Target, variant: str = "release") -> "TargetFacts":
        return cls(
            spec=spec.text, name=target.name, kind=spec.kind, digest=target.digest, variant=variant, promises=target.promises.to_toml()
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
