"""A queue's files as the specification lays them out: read, and made by hand. Nothing here asks the code that wrote them."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fireassay.spec import layouts
from fireassay.spec.layouts import chronicle as layout

__all__ = ["HEADER", "SMALL", "Found", "Queue", "Segment", "control", "made", "message", "pad", "segment", "span"]

HEADER = 64  # of a segment and of a record
SMALL = 4096  # bytes of a segment, so that some dozens of records roll
STAMP = 1_700_000_000_000_000_000
_NAME = re.compile(r"(\d{9})\.q")


@dataclass(frozen=True, slots=True)
class Found:
    """A committed record, a PAD too."""

    offset: int
    commit_len: int
    seq: int
    timestamp_ns: int
    type_id: int
    flags: int
    payload: bytes

    @property
    def is_pad(self) -> bool:
        return self.type_id == layout.PAD


@dataclass(frozen=True, slots=True)
class Segment:
    id: int
    size: int
    sealed: bool
    records: tuple[Found, ...]
    end: int  # where nothing is committed, or no room for a header is left

    @property
    def whole(self) -> bool:
        return self.end + HEADER > self.size


class Queue:
    """Asserts that a file is what its layout says, wherever one is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def control_path(self) -> Path:
        return self.path / "control.meta"

    def control(self) -> dict[str, Any]:
        with _named(self.control_path):
            return dict(layouts.parse(layout.CONTROL, self.control_path.read_bytes()))

    def set_control(self, **changes: int) -> None:
        """In place, so that who has it mapped sees it."""
        self.overwrite(self.control_path, 0, layouts.build(layout.CONTROL, self.control() | changes))

    def segment_path(self, number: int) -> Path:
        return self.path / f"{number:09d}.q"

    def ids(self) -> list[int]:
        return sorted(int(name[1]) for path in self.path.iterdir() if (name := _NAME.fullmatch(path.name)))

    def segment(self, number: int) -> Segment:
        with _named(self.segment_path(number)):
            return _segment(self.segment_path(number).read_bytes())

    def segments(self) -> list[Segment]:
        return [self.segment(number) for number in self.ids()]

    def records(self) -> list[Found]:
        """Those of the user, in order."""
        return [record for segment in self.segments() for record in segment.records if not record.is_pad]

    @staticmethod
    def overwrite(path: Path, offset: int, data: bytes) -> None:
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(data)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except layouts.LayoutError as error:
        raise AssertionError(f"{path.name}: {error}") from None


def _segment(data: bytes) -> Segment:
    header, at = layouts.parse_prefix(layout.SEGMENT_HEADER, data)
    records: list[Found] = []
    while at + HEADER <= len(data) and data[at : at + 4] != bytes(4):
        record, end = layouts.parse_prefix(layout.MESSAGE, data, at)
        seq, stamp, type_id, flags = (int(record[name]) for name in ("seq", "timestamp_ns", "type_id", "flags"))
        commit_len = int.from_bytes(data[at : at + 4], "little")
        records.append(Found(at, commit_len, seq, stamp, type_id, flags, bytes(record["payload"])))
        at = end
    return Segment(header["segment_id"], len(data), header["flags"] == layout.SEALED, tuple(records), at)


# -- by hand


def span(length: int) -> int:
    """What a record of that length takes."""
    return HEADER + length + -length % HEADER


def message(payload: bytes, seq: int, *, type_id: int = 0, flags: int = 0, timestamp_ns: int = STAMP) -> bytes:
    told = {"seq": seq, "timestamp_ns": timestamp_ns, "type_id": type_id, "flags": flags, "reserved_u32": 0, "payload": payload}
    return layouts.build(layout.MESSAGE, told)


def pad(room: int, next_seq: int) -> bytes:
    """One PAD that fills the room."""
    return message(bytes(room - HEADER), next_seq, type_id=layout.PAD, timestamp_ns=0)


def segment(number: int, size: int, records: Sequence[bytes] = (), *, sealed: bool = False) -> bytes:
    """Its records one after the other, and zeros."""
    header = layouts.build(layout.SEGMENT_HEADER, {"segment_id": number, "flags": layout.SEALED if sealed else 0})
    data = header + b"".join(records)
    if len(data) > size:
        raise ValueError(f"{len(data)} bytes for a segment of {size}")
    return data + bytes(size - len(data))


def control(size: int, **told: int) -> bytes:
    """Of a queue at rest, at the start of segment 0 where nothing else is told."""
    fields = {"writer_epoch": 0, "segment_size": size, "segment_gen": 0, "current_segment": 0, "write_offset": HEADER}
    rest = {"writer_heartbeat_ns": 0, "notify_seq": 0, "waiters_pending": 0}
    return layouts.build(layout.CONTROL, fields | rest | told)


def made(path: Path, size: int = SMALL, segments: Sequence[bytes] = (), **told: int) -> Queue:
    """A queue with segments of that size, whatever size the target would choose: control.meta is the only truth about it."""
    path.mkdir(parents=True)
    for number, data in enumerate(segments or [segment(0, size)]):
        (path / f"{number:09d}.q").write_bytes(data)
    (path / "control.meta").write_bytes(control(size, **told))
    return Queue(path)
