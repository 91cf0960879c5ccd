"""A clause: one thing that must hold, with the reason, its source and the way it is shown.

A clause is data. What convicts it lives elsewhere (cases, checks, benchmarks) and refers to it by id only.
"""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Clause", "Level", "Method", "System"]


class System(StrEnum):
    """Whose clause it is. LOG is the contract of any log; the others are the five seed systems."""

    LOG = "LOG"
    OMB = "OMB"
    BRG = "BRG"
    COM = "COM"
    CHR = "CHR"
    SMB = "SMB"


class Level(StrEnum):
    MUST = "M"
    SHOULD = "S"
    PERFORMANCE = "P"


class Method(StrEnum):
    """How a clause is verified."""

    LAYOUT = "layout"  # bytes compared with the declarative layout
    CASE = "case"  # an executable case against the target
    MODEL = "model"  # a Hypothesis machine against a pure model
    HISTORY = "history"  # a check over recorded history
    KILL = "kill"  # process death at failpoints and random instants
    POWER = "power"  # loss of everything unsynced
    FAULT = "fault"  # full disk, I/O errors, network faults, damage to files
    FUZZ = "fuzz"  # malformed and hostile input
    BENCHMARK = "benchmark"  # ratios to floors measured in the same run
    INSPECTION = "inspection"  # read by people; says so on the certificate


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    id: str  # e.g. "CHR-06"; never reused, never dropped
    level: Level
    title: str  # a few words, for tables
    statement: str  # what must hold
    why: str  # what goes wrong for a user where it does not hold
    seed: str  # where it comes from: "003 §4.3" or "contract"
    verified: tuple[Method, ...]
    errata: tuple[str, ...] = ()  # where the seed contradicts itself or is silent, and the ruling
    needs: tuple[str, ...] = ()  # conditions of promises.py; not met = not applicable
    anomalies: tuple[str, ...] = ()  # what convicts it, by the names of contract and checks
    tolerated: tuple[str, ...] = ()  # anomalies reported but not convicting

    @property
    def system(self) -> System:
        return System(self.id.partition("-")[0])
