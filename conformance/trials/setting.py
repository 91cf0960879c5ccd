"""What a trial is made of, as plain data that goes to another process unchanged."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from fireassay.conformance.coverage import GROUP
from fireassay.conformance.targets import parse

__all__ = ["MAIN_STREAM", "VARIABLES", "ActorSpec", "Job", "Load", "Setting", "resolved", "variant_of_caller"]

Job = Literal["produce", "read", "close"]
MAIN_STREAM = 1
VARIABLES = ("FIREASSAY_CORE", "FIREASSAY_FAILPOINTS", "FIREASSAY_MUTANT")  # choose a build of the target, and what it does wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How much one producer writes. Lengths, batches and syncs are drawn from the seed."""

    batches: int = 60
    largest_batch: int = 6
    longest: int = 700
    sync_every: int = 12  # batches, on average
    refused: int = 0  # length of one append that must be refused; 0: none
    linger: bool = True  # stay open afterwards until told to stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where and on what a trial runs. `recordings` never lies below `place`: that is what faults are made to."""

    target: str
    trial: str
    recordings: Path
    place: Path
    seed: int
    nonce: int = 1
    deadline_s: float = 5.0
    epsilon_ns: int = 1000
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    mounts: str = ""  # the mount namespace in which the target lives, as a path below /proc; empty: that of this process

    @property
    def patience_s(self) -> float:
        """Longer than the deadline of the checks, so that what hangs has certainly missed it."""
        return 1.5 * self.deadline_s + 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorSpec:
    """One process of a trial: what it does, as whom, and in which environment the target is loaded."""

    job: Job
    actor: int
    second: int = 0  # another actor in the same process: the drain after a close
    recording: str
    target: str
    place: str
    stream: int = MAIN_STREAM
    seed: int
    nonce: int
    epsilon_ns: int
    patience_s: float
    incarnation: int = 0
    producer: int = 1
    reader: str = ""  # the name that survives restarts
    after_crash: int | None = None
    ordinal: int = 0  # of the sentinel
    held: bool = False  # wait for a word before the target is opened
    follows: bool = False  # a reader that goes on until it is told to stop; else it ends where the log ends
    load: Load = field(default_factory=Load)
    environment: tuple[tuple[str, str], ...] = ()
    mounts: str = ""

    @property
    def stream_name(self) -> str:
        return f"stream{self.stream}"


def variant_of_caller() -> dict[str, str]:
    """What the environment of this process says of the target's build; children hear of nothing that a setting does not name."""
    return {name: os.environ[name] for name in VARIABLES if os.environ.get(name, "release") != "release"}


def resolved(target: str) -> str:
    """A registered name as module and function, so that no child has to look through every installed package for it."""
    spec = parse(target)
    if spec.how != "name":
        return target
    found = next((entry.value for entry in entry_points(group=GROUP) if entry.name == spec.name), None)
    if found is None:
        return target  # whoever loads it says what is wrong
    _, mark, query = target.partition("?")
    return f"py:{found}{mark}{query}"
