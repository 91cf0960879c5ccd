"""How much a queue may keep, and for whom."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

__all__ = ["READER_TTL_S", "UNBOUNDED", "Limits", "ReaderStanding", "Retained", "Standing", "retained"]

READER_TTL_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """None: no bound. Where a bound is given in bytes and in segments, the smaller one counts."""

    max_bytes: int | None = None  # of storage; whole segments count
    max_segments: int | None = None
    max_lag_bytes: int | None = None  # a reader further behind the head holds nothing back
    max_lag_segments: int | None = None
    reader_ttl_s: float = READER_TTL_S  # a reader with an older heartbeat holds nothing back
    retain: bool = False  # each roll deletes what nobody holds back

    def native(self, ffi: Any, segment_size: int) -> Any:
        """For the core. ValueError where a bound leaves no room for a single segment."""
        segments = [self.max_segments] if self.max_segments is not None else []
        if self.max_bytes is not None:
            segments.append(self.max_bytes // segment_size)
        if segments and min(segments) < 1:
            raise ValueError(f"a bound below one segment of {segment_size} bytes holds no record at all")
        lags = [self.max_lag_bytes] if self.max_lag_bytes is not None else []
        if self.max_lag_segments is not None:
            lags.append(self.max_lag_segments * segment_size)
        if lags and min(lags) < 1:
            raise ValueError("a reader must be allowed to be one byte behind at least")
        return ffi.new("chronicle_limits *", (min(segments, default=0), int(self.reader_ttl_s * 1e9), min(lags, default=0), self.retain))


UNBOUNDED = Limits()


class Standing(IntEnum):
    """Whether a reader holds segments back, and if not, why."""

    LIVE = 0  # it does
    DEAD = 1  # its heartbeat is older than its TTL
    LAGGING = 2  # it is further behind than is allowed
    DAMAGED = 3  # its file tells no place from which anybody could resume


@dataclass(frozen=True, slots=True)
class ReaderStanding:
    name: str
    standing: Standing
    place: tuple[int, int]  # (segment, offset) of its last commit
    heartbeat_ns: int
    lag: int  # bytes from its place to the head


@dataclass(frozen=True, slots=True)
class Retained:
    """What a pass of retention found and did."""

    oldest: int  # segment that is left
    deleted: int  # segments
    busy: bool  # a reader was registering, and nothing was done
    readers: tuple[ReaderStanding, ...]

    @property
    def lagging(self) -> tuple[ReaderStanding, ...]:
        return tuple(reader for reader in self.readers if reader.standing is Standing.LAGGING)


def retained(ffi: Any, out: Any, told: Any, room: int) -> Retained:
    readers = tuple(
        ReaderStanding(
            ffi.string(told[i].name).decode(errors="replace"),
            Standing(told[i].standing),
            (int(told[i].segment), int(told[i].offset)),
            int(told[i].heartbeat_ns),
            int(told[i].lag),
        )
        for i in range(min(room, out.readers))
    )
    return Retained(int(out.oldest), int(out.deleted), bool(out.busy), readers)
