"""Outcomes of one call, verdicts of one clause, and how verdicts fold.

No evidence is never a pass: folding nothing gives not-run, and a check that crashed is unknown.
"""

from collections.abc import Iterable
from enum import IntEnum, StrEnum

__all__ = ["EnvironmentUnfit", "ErrorClass", "HarnessError", "Outcome", "TargetError", "Verdict", "fold", "status_of"]


class Outcome(StrEnum):
    OK = "ok"  # it took effect
    FAIL = "fail"  # it certainly did not
    INFO = "info"  # unknown: the caller died, timed out, or the error came after bytes may have left


class Verdict(StrEnum):
    FAIL = "fail"
    UNKNOWN = "unknown"
    NOT_RUN = "not-run"
    TOLERATED = "pass-with-tolerated"
    PASS = "pass"
    NOT_APPLICABLE = "not-applicable"


_WORST_FIRST = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.NOT_RUN, Verdict.TOLERATED, Verdict.PASS)


def fold(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst verdict wins; not-applicable stands apart and is returned only where nothing else was said."""
    seen = set(verdicts)
    for verdict in _WORST_FIRST:
        if verdict in seen:
            return verdict
    return Verdict.NOT_APPLICABLE if seen else Verdict.NOT_RUN


class ErrorClass(IntEnum):
    """Upper half of a row's status; the lower half is an errno. The C side carries the same numbers."""

    NONE = 0
    INVALID = 1  # the caller's argument
    TOO_LARGE = 2
    WOULD_BLOCK = 3  # refused under pressure
    FULL = 4  # no room: capacity or disk
    LOCKED = 5  # another owner is alive
    CORRUPT = 6
    VERSION = 7
    IO = 8
    TIMEOUT = 9
    CLOSED = 10
    GAP = 11
    MISSING = 12
    KILLED = 13
    UNSUPPORTED = 14


def status_of(error: ErrorClass, errno: int = 0) -> int:
    """The row's status: 0, or class in the upper and errno in the lower 16 bits."""
    if not 0 <= errno <= 0xFFFF:
        raise ValueError(f"errno {errno} does not fit 16 bits")
    return (int(error) << 16) | errno


class TargetError(Exception):
    """The examined system misbehaved."""


class HarnessError(Exception):
    """Fireassay itself is wrong, or was used wrongly."""


class EnvironmentUnfit(Exception):
    """This machine cannot do what was asked; the sentence says what is missing and what to do."""
