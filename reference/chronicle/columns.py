"""Many records at once, in columns: no Python object per record."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "gathered", "lengths_of"]

_ROW = np.dtype(
    [
        ("payload", "u8"),
        ("seq", "u8"),
        ("timestamp_ns", "u8"),
        ("next_offset", "u8"),
        ("next_segment", "u4"),
        ("length", "u4"),
        ("type_id", "u2"),
        ("flags", "u2"),
        ("", "u4"),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Copies, which stay. `payloads` has one payload after another, `lengths` says how long each is."""

    seqs: NDArray[np.uint64]
    timestamps_ns: NDArray[np.uint64]
    type_ids: NDArray[np.uint16]
    flags: NDArray[np.uint16]
    lengths: NDArray[np.uint32]
    payloads: NDArray[np.uint8]
    next: tuple[int, int] | None  # (segment, offset) to commit when all of them are done with; None where there are none
    end: bool  # the reader stood at the end of the log

    def __len__(self) -> int:
        return len(self.seqs)

    def rows(self) -> NDArray[np.uint8]:
        """One row per payload, where all have the same length. ValueError where they have not."""
        if len(self) and (self.lengths != self.lengths[0]).any():
            raise ValueError("the payloads have different lengths: cut them by `lengths`")
        return self.payloads.reshape(len(self), -1)


def gathered(ffi: Any, lib: Any, room: Any, count: int, end: bool) -> Columns:
    """Of the first `count` records that the core has put into the room."""
    rows = np.frombuffer(ffi.buffer(room, count * _ROW.itemsize), _ROW, count).copy()
    payloads = np.empty(int(rows["length"].sum(dtype=np.uint64)), np.uint8)
    lib.chronicle_record_gather(room, count, ffi.from_buffer("char[]", payloads, require_writable=True))
    last = (int(rows["next_segment"][-1]), int(rows["next_offset"][-1])) if count else None
    return Columns(
        seqs=rows["seq"],
        timestamps_ns=rows["timestamp_ns"],
        type_ids=rows["type_id"],
        flags=rows["flags"],
        lengths=rows["length"],
        payloads=payloads,
        next=last,
        end=end,
    )


def lengths_of(lengths: Any, total: int) -> NDArray[np.uint64]:
    """As the core takes them; ValueError unless they cut `total` bytes into whole payloads."""
    if isinstance(lengths, int):
        if lengths <= 0 or total % lengths:
            raise ValueError(f"{total} bytes are no whole number of payloads of {lengths}")
        return np.full(total // lengths, lengths, np.uint64)
    given = np.asarray(lengths)
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise ValueError("lengths are one number, or a row of them")
    if len(given) and (int(given.min()) < 0 or int(given.max()) > total):
        raise ValueError(f"a length lies outside the {total} bytes of all payloads")
    row = np.ascontiguousarray(given, np.uint64)
    if len(row) * total >= 1 << 63 or int(row.sum(dtype=np.uint64)) != total:
        raise ValueError(f"the lengths do not add up to the {total} bytes of all payloads")
    return row
