"""Processes below another, told apart from later ones with the same number by their start."""

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Process", "below", "end_all", "wait_until_gone"]


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    started: int  # clock ticks since boot

    @property
    def lives(self) -> bool:
        """Not gone, and not merely waiting for its parent to take notice."""
        fields = _stat(self.pid)
        return fields is not None and fields[0] not in "ZX" and int(fields[19]) == self.started


def _stat(pid: int) -> list[str] | None:
    """The fields after the command, which may itself hold blanks and parentheses; the state is first."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def below(pid: int) -> set[Process]:
    """All descendants that live now."""
    children: dict[int, list[Process]] = {}
    for entry in os.listdir("/proc"):
        fields = _stat(int(entry)) if entry.isdigit() else None
        if fields is not None:
            children.setdefault(int(fields[1]), []).append(Process(int(entry), int(fields[19])))
    found: set[Process] = set()
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.add(child)
            waiting.append(child.pid)
    return found


def wait_until_gone(processes: Iterable[Process], within_s: float) -> set[Process]:
    """Those that still live at the end."""
    until = time.monotonic() + within_s
    left = {one for one in processes if one.lives}
    while left and time.monotonic() < until:
        time.sleep(0.01)
        left = {one for one in left if one.lives}
    return left


def end_all(processes: Iterable[Process], within_s: float) -> None:
    """Give them time to end by themselves, then kill."""
    for one in wait_until_gone(processes, within_s):
        with suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)
