"""Factories as others may write them, for test_targets."""

from pathlib import Path


def broken(place: Path, options: object) -> object:
    return 1 / 0


def stranger(place: Path, options: object) -> object:
    return object()


def failpoints() -> list[tuple[str, str, str]]:
    return [("log.write", "SYSCALL", "the write of a record")]


def control_file(path: Path) -> tuple[str, Path]:
    return "control", path
