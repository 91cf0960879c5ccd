"""Whether a feed is there, as a subscriber sees it: Waiting, Connected, Disconnected. What to do about it is the subscriber's policy.

    Waiting ──READY and a live writer──▶ Connected ──lock lost, heartbeat stale, segment missing, READY gone──▶ Disconnected ──▶ Waiting

It looks at the queue's files alone, so the reader that it hands out may be used by another thread at the same time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from fireassay.reference.chronicle.bus.markers import is_ready
from fireassay.reference.chronicle.control import read_control
from fireassay.reference.chronicle.holder import HolderState, holder_of
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.segments import segment_ids
from fireassay.reference.core import CoreError
from fireassay.reference.files import read_small
from fireassay.reference.mutants import is_selected
from fireassay.spec.layouts import LayoutError
from fireassay.spec.layouts import chronicle as layout

__all__ = ["Connected", "Disconnected", "Reason", "SubscriberDiscovery", "Waiting"]

TTL_S = 2.0


class Reason(StrEnum):
    LOCK_LOST = "lock lost"
    HEARTBEAT_STALE = "heartbeat stale"
    SEGMENT_MISSING = "segment missing"
    NOT_READY = "not ready"  # its owner took READY away


@dataclass(frozen=True, slots=True)
class Waiting:
    """Told once, until something changes."""

    why: str


@dataclass(frozen=True, slots=True)
class Connected:
    """The reader is the subscriber's from now on: it closes it."""

    reader: Reader


@dataclass(frozen=True, slots=True)
class Disconnected:
    reason: Reason


class SubscriberDiscovery:
    """Pulled by `poll`, at the subscriber's own cadence; has no thread and takes no action."""

    def __init__(
        self, queue: Path, name: str, *, ttl_s: float = TTL_S, clock: Callable[[], int] = time.time_ns, variant: str | None = None
    ) -> None:
        self.queue, self.name, self.ttl_s = queue, name, ttl_s
        self._clock, self._variant = clock, variant
        self._connected = False
        self._told = False  # that it waits
        self._told_missing: int | None = None  # the segment of which it was told

    def poll(self) -> list[Waiting | Connected | Disconnected]:
        """What has changed since the last poll."""
        if self._connected:
            reason = self._lost()
            if reason is None or is_selected("chronicle_disconnect_unseen"):
                return []
            self._connected = False
            return [Disconnected(reason)]
        reason = self._absent()
        if reason is None:
            try:
                reader = Reader(self.queue, self.name, variant=self._variant)
            except CoreError as error:  # damaged, or gone again
                return self._wait(str(error))
            self._connected, self._told = True, False
            return [Connected(reader)]
        return self._wait(reason.value)

    def _wait(self, why: str) -> list[Waiting | Connected | Disconnected]:
        told, self._told = self._told, True
        return [] if told else [Waiting(why)]

    def _absent(self) -> Reason | None:
        """Why nobody writes there now."""
        if not is_ready(self.queue):
            return Reason.NOT_READY
        if holder_of(self.queue).state is not HolderState.LIVE:
            return Reason.LOCK_LOST
        try:
            age_s = (self._clock() - read_control(self.queue).heartbeat_ns) / 1e9
        except (FileNotFoundError, LayoutError):
            return Reason.NOT_READY
        return Reason.HEARTBEAT_STALE if age_s > self.ttl_s else None

    def _lost(self) -> Reason | None:
        reason = self._absent()
        if reason is not None:
            return reason
        try:
            slot = layout.committed_slot(read_small(self.queue / "readers" / f"{self.name}.meta", layout.READER_META.size))
        except (FileNotFoundError, LayoutError):
            return None  # the subscriber has taken it away itself
        ids = segment_ids(self.queue)
        if (ids and slot["segment"] >= ids[0]) or slot["segment"] == self._told_missing:
            return None
        self._told_missing = slot["segment"]  # until the subscriber has committed elsewhere it is known
        return Reason.SEGMENT_MISSING
