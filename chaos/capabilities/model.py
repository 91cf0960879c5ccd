"""What a probe is, and the words the probes share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CLOCK", "DEATH", "FULL", "INSTALL", "NETWORK", "POWER", "ROOT_REMEDY", "Probe", "UnableError"]

POWER = ("LOG-11", "LOG-12", "CHR-22", "SMB-04", "COM-21")
FULL = ("LOG-26", "CHR-16")
NETWORK = ("BRG-15", "BRG-16")
CLOCK = ("LOG-30", "SMB-02")
DEATH = ("LOG-10", "LOG-20", "COM-21", "CHR-22")

ROOT_REMEDY = "Run as root, or in a privileged container."
INSTALL = "Install {} and try again."


class UnableError(Exception):
    """This machine cannot; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """`attempt` returns what it found, or raises: any exception means 'not here', and its text says why.

    It runs in a process of its own that imports it by name, so it is a function of a module, never a closure.
    """

    name: str
    attempt: Callable[[Path], str]  # gets an empty directory of its own
    affects: tuple[str, ...]
    remedy: str
    deadline_s: float = 10.0
