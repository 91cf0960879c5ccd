"""Arms failpoints of the C core from another process, through a control file.

The file's layout stands at the head of src/fa_failpoint.h. A process attaches it with FIREASSAY_FAILPOINTS or
fa_failpoint_attach; from then on what is armed here acts there, at the n-th hit counted from the arming.
"""

import functools
import mmap
import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from fireassay.reference import core
from fireassay.spec.outcomes import HarnessError
from fireassay.spec.ports import FailpointAction as Action

__all__ = ["Action", "ControlFile", "Failpoint", "Kind", "failpoints"]

MAGIC = 0x31544E494F504146
VERSION = 1
ENTRIES_OFFSET = 64
ENTRY_SIZE = 64
FLAGS_OFFSET = 65536
FILE_SIZE = 131072
_ACTION, _ERRNO, _COUNTDOWN, _HITS, _FIRED, _FIRED_PID = 0, 4, 8, 16, 24, 32


class Kind(Enum):
    STORE = 1  # a store to shared memory: it can be cut off, it cannot fail
    SYSCALL = 2


@dataclass(frozen=True)
class Failpoint:
    id: int
    name: str
    kind: Kind
    what: str


@functools.cache
def failpoints(variant: str = "failpoints") -> tuple[Failpoint, ...]:
    """Every failpoint of the build, in the order of the list."""
    ffi, lib = core.load(variant)
    return tuple(
        Failpoint(
            i,
            ffi.string(lib.fa_failpoint_name(i)).decode(),
            Kind(lib.fa_failpoint_kind_of(i)),
            ffi.string(lib.fa_failpoint_what(i)).decode(),
        )
        for i in range(lib.fa_failpoint_count())
    )


class ControlFile:
    """A control file on which this process arms and reads, while others hit."""

    def __init__(self, path: Path, window: mmap.mmap, variant: str) -> None:
        self.path = path
        self._window = window
        self._ffi, self._lib = core.load(variant)
        self._points = {point.name: point for point in failpoints(variant)}

    @classmethod
    @contextmanager
    def create(cls, path: str | os.PathLike[str], variant: str = "failpoints") -> Iterator["ControlFile"]:
        """Makes the file, nothing armed; at the end everything is disarmed and the file stays."""
        _, lib = core.load(variant)
        target = Path(path)
        if lib.fa_failpoint_count() == 0:
            raise HarnessError(f"the {variant} build of the core has no failpoints; a control file can do nothing there")
        if not target.parent.is_dir():
            raise HarnessError(f"the failpoint control file {target} cannot be made: there is no directory {target.parent}")
        # Whole before it has its name: an attaching process never sees half a file.
        descriptor, fresh = tempfile.mkstemp(prefix=f"{target.name}.", dir=target.parent)
        with open(descriptor, "wb") as file:
            file.truncate(FILE_SIZE)
            file.write(struct.pack("=QIIQ", MAGIC, VERSION, lib.fa_failpoint_count(), lib.fa_failpoint_list_hash()))
        os.replace(fresh, target)
        with target.open("r+b") as opened, mmap.mmap(opened.fileno(), FILE_SIZE) as window:
            control = cls(target, window, variant)
            try:
                yield control
            finally:
                for name in control.names():
                    control.disarm(name)

    def names(self) -> tuple[str, ...]:
        return tuple(self._points)

    def arm(self, name: str, action: Action, nth: int = 1, errno: int = 0) -> None:
        """From now on the n-th hit acts; counters start at zero. Arm before the workload, not under it, when n must be exact."""
        point = self._point(name)
        if nth < 1:
            raise HarnessError(f"failpoint {name}: hits are counted from 1, not {nth}")
        if action is Action.ERROR and point.kind is not Kind.SYSCALL:
            raise HarnessError(f"failpoint {name} is a store to shared memory, which cannot fail; only system calls take the error action")
        if (action is Action.ERROR) != (0 < errno < 4096):
            raise HarnessError(f"failpoint {name}: the error action, and only it, takes an errno from 1 to 4095, not {errno}")
        self.disarm(name)
        self._put("I", point, _ACTION, action)
        self._put("i", point, _ERRNO, errno)
        self._put("q", point, _COUNTDOWN, nth)
        self._put("Q", point, _HITS, 0)
        self._put("Q", point, _FIRED, 0)
        self._put("I", point, _FIRED_PID, 0)
        self._flag(point, 1)

    def arm_all(self, action: Action = Action.COUNT) -> None:
        for name in self.names():
            self.arm(name, action)

    def disarm(self, name: str) -> None:
        """Counters stay to be read."""
        self._flag(self._point(name), 0)

    def hits(self, name: str) -> int:
        return self._get("Q", name, _HITS)

    def fired(self, name: str) -> int:
        return self._get("Q", name, _FIRED)

    def fired_pid(self, name: str) -> int:
        return self._get("I", name, _FIRED_PID)

    def _point(self, name: str) -> Failpoint:
        try:
            return self._points[name]
        except KeyError:
            raise HarnessError(f"there is no failpoint named {name!r}; known are {', '.join(self._points)}") from None

    def _flag(self, point: Failpoint, value: int) -> None:
        # Through C for its release: the entry must be whole before the flag is seen.
        flags: Any = self._ffi.from_buffer(self._window, require_writable=True)
        try:
            self._lib.fa_failpoint_set_flag(flags + FLAGS_OFFSET, point.id, value)
        finally:
            self._ffi.release(flags)

    def _put(self, code: str, point: Failpoint, at: int, value: int) -> None:
        struct.pack_into(code, self._window, ENTRIES_OFFSET + ENTRY_SIZE * point.id + at, value)

    def _get(self, code: str, name: str, at: int) -> int:
        (value,) = struct.unpack_from(code, self._window, ENTRIES_OFFSET + ENTRY_SIZE * self._point(name).id + at)
        return int(value)
