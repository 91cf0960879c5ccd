"""Directories watched through inotify. Nothing runs by itself: events wait in the kernel until they are asked for."""

import ctypes
import os
import select
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Seen", "Watch"]

_CREATE, _DELETE, _MOVED_FROM, _MOVED_TO, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x40, 0x80, 0x400, 0x800
_ONLYDIR, _DONT_FOLLOW = 0x01000000, 0x02000000
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_MASK = _CREATE | _DELETE | _MOVED_FROM | _MOVED_TO | _DELETE_SELF | _MOVE_SELF | _ONLYDIR | _DONT_FOLLOW
_HEAD = struct.Struct("iIII")  # wd, mask, cookie, length of the name
_ROOM = 64 * 1024

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Seen:
    """Something came or went: `name` in the directory that `add` called `number`; name is empty for the directory itself."""

    number: int
    name: str


class Watch:
    """OSError where the machine has no inotify, or no instance left for this user."""

    def __init__(self) -> None:
        self._fd = -1
        self._fd = _checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), "inotify_init1")
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)

    def add(self, directory: Path) -> int | None:
        """Its number, the same for the same directory; None where there is no such directory (any more)."""
        try:
            return _checked(_libc.inotify_add_watch(self._fd, os.fsencode(directory), _MASK), f"inotify_add_watch {directory}")
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None

    def remove(self, number: int) -> None:
        """One that the kernel has removed already is as good."""
        _libc.inotify_rm_watch(self._fd, number)

    def wait(self, timeout_s: float) -> bool:
        """Whether something has happened by then."""
        return bool(self._poll.poll(max(0.0, timeout_s) * 1000))

    def drain(self) -> tuple[list[Seen], bool]:
        """All that has happened, and whether the kernel had to drop some of it."""
        seen: list[Seen] = []
        whole = True
        while True:
            try:
                data = os.read(self._fd, _ROOM)
            except BlockingIOError:
                return seen, whole
            for number, mask, name in _events(data):
                whole = whole and not mask & _OVERFLOW
                if not mask & (_OVERFLOW | _IGNORED):
                    seen.append(Seen(number, name))

    def close(self) -> None:
        """Twice is harmless."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _checked(result: int, what: str) -> int:
    if result < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, f"{what}: {os.strerror(errno)}")
    return result


def _events(data: bytes) -> Iterator[tuple[int, int, str]]:
    at = 0
    while at < len(data):
        number, mask, _, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        yield number, mask, os.fsdecode(data[at : at + length].rstrip(b"\0"))
        at += length
