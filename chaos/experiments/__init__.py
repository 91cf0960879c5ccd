"""Experiments for the Chaos Toolkit, as files: each a steady state, one engine, and the steady state again."""

from importlib import resources
from pathlib import Path

from fireassay.spec.outcomes import HarnessError

__all__ = ["names", "path"]

_HERE = Path(str(resources.files(__name__)))


def names() -> tuple[str, ...]:
    return tuple(sorted(found.stem for found in _HERE.glob("*.json")))


def path(name: str) -> Path:
    """Of the experiment of that name, for `chaos run`."""
    if name not in names():
        raise HarnessError(f"there is no experiment {name!r}; known are {', '.join(names())}")
    return _HERE / f"{name}.json"
