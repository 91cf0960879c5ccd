"""Which strategies are there, as a router sees it: an initial scan, a watch, and a rescan now and then.

The directories are the truth and a look at them is the only source of events; the watch merely says when to look. So nothing is
emitted twice, and what the watch missed (it was set too late, the kernel's queue ran over, there is no inotify) is found by the rescan.
A watch is always set before the directory is read: what comes in between is seen by one of the two.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from fireassay.reference.chronicle.bus.layout import ORDERS_OUT, Bus
from fireassay.reference.chronicle.bus.markers import READY
from fireassay.reference.chronicle.bus.names import BadName
from fireassay.reference.chronicle.bus.watch import Watch
from fireassay.reference.mutants import is_selected

__all__ = ["RESCAN_S", "Added", "Removed", "RouterDiscovery"]

RESCAN_S = 1.0
_CONTENT = 64  # of READY; more than one that is whole
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENXIO}  # what stands there is no READY that can be read

Identity = tuple[int, int, int, bytes]  # of a READY: device, inode, time of change, content


@dataclass(frozen=True, slots=True)
class Added:
    strategy: str
    orders_out: Path


@dataclass(frozen=True, slots=True)
class Removed:
    """Whoever reads that strategy's queue drops its reader: the files may be gone."""

    strategy: str


class RouterDiscovery:
    """Pulled by `poll`; has no thread. A strategy that left and came back between two polls is Removed and Added."""

    def __init__(self, bus: Bus, *, rescan_s: float = RESCAN_S, watch: bool = True, clock: Callable[[], float] = time.monotonic) -> None:
        self.bus = bus
        self._rescan_s, self._clock = rescan_s, clock
        self._known: dict[str, Identity] = {}
        self._wanted: dict[int, str | None] = {}  # watch → the one name in it that matters; None: each does
        self._next_look = clock()
        self._watch = _watch_or_none() if watch else None

    @property
    def watching(self) -> bool:
        """False where the machine grants no inotify: changes are then found by the rescan alone."""
        return self._watch is not None

    def poll(self, timeout_s: float = 0.0) -> list[Added | Removed]:
        """What has changed since the last poll; returns with the first change, or empty after that time."""
        deadline = self._clock() + timeout_s
        while True:
            if self._heard() or self._clock() >= self._next_look:
                changes = self._look()
                if changes:
                    return changes
            now = self._clock()
            if now >= deadline:
                return []
            self._sleep(min(deadline, self._next_look) - now)

    def close(self) -> None:
        """Twice is harmless."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _sleep(self, seconds: float) -> None:
        if self._watch is not None:
            self._watch.wait(seconds)
        else:
            time.sleep(max(0.0, seconds))

    def _heard(self) -> bool:
        if self._watch is None:
            return False
        seen, whole = self._watch.drain()
        if not whole and not is_selected("chronicle_discovery_deaf"):
            return True
        return any(self._wanted.get(event.number) in (None, event.name) or not event.name for event in seen)

    def _look(self) -> list[Added | Removed]:
        self._next_look = self._clock() + (1e9 if is_selected("chronicle_discovery_deaf") else self._rescan_s)
        self._set_watches()
        found = {name: identity for name in self._strategies() if (identity := self._ready(name)) is not None}
        before, self._known = self._known, found
        if is_selected("chronicle_discovery_twice"):
            before = {}
        removed = [Removed(name) for name in sorted(before) if found.get(name) != before[name]]
        added = [Added(name, self.bus.strategy(name).orders_out) for name in sorted(found) if before.get(name) != found[name]]
        return [*removed, *added]

    def _set_watches(self) -> None:
        if self._watch is None:
            return
        wanted: dict[int, str | None] = {}
        try:
            for directory, name in self._directories():
                number = self._watch.add(directory)
                if number is not None:
                    wanted[number] = name
        except OSError:  # this user's watches are used up: the rescan goes on alone
            self.close()
            return
        for number in self._wanted.keys() - wanted.keys():
            self._watch.remove(number)
        self._wanted = wanted

    def _directories(self) -> Iterator[tuple[Path, str | None]]:
        """What to watch, each with the name in it that matters. Each is yielded before the next is looked for."""
        place = self.bus.strategies
        path = next(above for above in place.parents if above.is_dir())
        for part in place.relative_to(path).parts:
            yield path, part
            path /= part
        yield place, None
        for name in self._strategies():
            orders_out = self.bus.strategy(name).orders_out
            yield orders_out.parent, ORDERS_OUT
            yield orders_out, READY

    def _strategies(self) -> list[str]:
        """Directories of their own with a plain name; an error that does not mean absence is raised, and nothing is Removed for it."""
        try:
            with os.scandir(self.bus.strategies) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [name for name in names if self._is_plain(name)]

    def _is_plain(self, name: str) -> bool:
        try:
            self.bus.strategy(name)
        except BadName:
            return False
        return True

    def _ready(self, name: str) -> Identity | None:
        orders_out = self.bus.strategy(name).orders_out
        if is_selected("chronicle_discovery_unready") and orders_out.is_dir():
            return 0, 0, 0, b""
        try:
            file = os.open(orders_out / READY, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in _NOT_THERE:
                return None
            raise
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                return None
            return found.st_dev, found.st_ino, found.st_mtime_ns, os.read(file, _CONTENT)
        finally:
            os.close(file)


def _watch_or_none() -> Watch | None:
    try:
        return Watch()
    except OSError:
        return None
