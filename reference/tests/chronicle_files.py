"""A queue's directory as the layouts of spec see it: nothing here asks the code that wrote it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fireassay.spec import layouts
from fireassay.spec.layouts import chronicle as layout

HEADER = 64


@dataclass(frozen=True)
class Found:
    seq: int
    type_id: int
    flags: int
    timestamp_ns: int
    payload: bytes


@dataclass(frozen=True)
class Segment:
    id: int
    sealed: bool
    records: tuple[Found, ...]  # without padding
    end: int  # where nothing is committed
    whole: bool  # no room for a header is left


def control_of(queue: Path) -> dict[str, Any]:
    return dict(layouts.parse(layout.CONTROL, (queue / "control.meta").read_bytes()))


def segment_of(path: Path, size: int) -> Segment:
    data = path.read_bytes()
    assert len(data) == size, path
    header, at = layouts.parse_prefix(layout.SEGMENT_HEADER, data)
    assert path.name == f"{header['segment_id']:09d}.q"
    records: list[Found] = []
    while at + HEADER <= size and data[at : at + 4] != bytes(4):
        message, end = layouts.parse_prefix(layout.MESSAGE, data, at)
        if message["type_id"] != layout.PAD:
            records.append(Found(message["seq"], message["type_id"], message["flags"], message["timestamp_ns"], bytes(message["payload"])))
        at = end
    return Segment(header["segment_id"], header["flags"] == layout.SEALED, tuple(records), at, at + HEADER > size)


def segments_of(queue: Path) -> list[Segment]:
    size = control_of(queue)["segment_size"]
    found = [segment_of(path, size) for path in sorted(queue.glob("*.q")) if re.fullmatch(r"\d{9}\.q", path.name)]
    assert [segment.id for segment in found] == list(range(found[0].id, found[0].id + len(found)))
    return found


def readable(queue: Path) -> list[Found]:
    """What a reader can come to: up to the first place where nothing is committed or the segment is not sealed."""
    found: list[Found] = []
    for segment in segments_of(queue):
        found += segment.records
        if not (segment.whole and segment.sealed):
            break
    return found


def assert_consistent(queue: Path) -> list[Found]:
    """As a writer that has just opened, or written, must have it; returns all records."""
    control, segments = control_of(queue), segments_of(queue)
    assert control["segment_gen"] % 2 == 0
    assert control["current_segment"] == segments[-1].id
    assert control["write_offset"] == segments[-1].end
    assert all(segment.sealed and segment.whole for segment in segments[:-1])
    assert not segments[-1].sealed
    records = [record for segment in segments for record in segment.records]
    assert [record.seq for record in records] == list(range(len(records)))
    return records
