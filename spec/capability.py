"""What a machine can do, and which clauses cannot be shown where it cannot."""

from dataclasses import dataclass

__all__ = ["Capability"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    name: str
    available: bool
    detail: str  # what was found, or why not
    affects: tuple[str, ...] = ()  # clause ids that stay not-run without it
    remedy: str = ""  # what a user can do about it
