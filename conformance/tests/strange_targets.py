"""Factories as others may write them, for test_targets."""

from collections.abc import Mapping
from pathlib import Path

from fireassay.conformance.targets.plainlog import PlainLog, make


def broken(place: Path, options: object) -> object:
    return 1 / 0


def stranger(place: Path, options: object) -> object:
    return object()


def failpoints() -> list[tuple[str, str, str]]:
    return [("log.write", "SYSCALL", "the write of a record")]


def control_file(path: Path) -> tuple[str, Path]:
    return "control", path


def loud(place: Path, options: Mapping[str, str]) -> PlainLog:
    """Prints where it should not."""
    print("hello from inside", flush=True)
    return make(place, options)
