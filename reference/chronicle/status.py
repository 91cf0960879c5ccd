"""What a reader can tell of its writer."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

__all__ = ["DisconnectReason", "WriterState", "WriterStatus"]


class WriterState(IntEnum):
    ACTIVE = 0
    STALE = 1  # its process lives, and its heartbeat is older than the TTL
    LOST = 2  # writer.lock names nobody who lives


class DisconnectReason(StrEnum):
    SEGMENT_MISSING = "segment missing"  # what the reader would read next has been deleted
    LOCK_LOST = "lock lost"
    HEARTBEAT_STALE = "heartbeat stale"


@dataclass(frozen=True, slots=True)
class WriterStatus:
    state: WriterState
    pid: int  # that writer.lock names; 0: none
    epoch: int
    heartbeat_ns: int
    age_s: float  # of the heartbeat
