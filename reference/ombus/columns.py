"""Many records at once, in columns: no Python object per record."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RECORD", "Columns", "gathered", "rows_of"]

RECORD = np.dtype(
    {
        "names": ["wal_seq", "wal_type", "payload_len", "payload"],
        "formats": ["u8", "u1", "u2", "u8"],
        "offsets": [0, 8, 10, 16],
        "itemsize": 24,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Copies, which stay. `payloads` has one payload after another, `lengths` says how long each is."""

    wal_seqs: NDArray[np.uint64]
    wal_types: NDArray[np.uint8]
    lengths: NDArray[np.uint16]
    payloads: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.wal_seqs)


def gathered(ffi: Any, lib: Any, room: Any, count: int) -> Columns:
    """Of the first `count` records that the core has put into the room."""
    rows = np.frombuffer(ffi.buffer(room, count * RECORD.itemsize), RECORD, count).copy()
    payloads = np.empty(int(rows["payload_len"].sum(dtype=np.uint64)), np.uint8)
    lib.ombus_record_gather(room, count, ffi.from_buffer("char[]", payloads, require_writable=True))
    return Columns(wal_seqs=rows["wal_seq"], wal_types=rows["wal_type"], lengths=rows["payload_len"], payloads=payloads)


def rows_of(wal_seqs: Any, wal_types: Any, payloads: NDArray[np.uint8], lengths: NDArray[np.uint64]) -> NDArray[Any]:
    """Records that point into payloads which lie one after another; a single sequence counts on from there."""
    count = len(lengths)
    if count and int(lengths.max()) > 0xFFFF:
        raise ValueError("a payload has at most 65,535 bytes")
    rows = np.zeros(count, RECORD)
    rows["wal_seq"] = wal_seqs + np.arange(count, dtype=np.uint64) if np.ndim(wal_seqs) == 0 else wal_seqs
    rows["wal_type"] = wal_types
    rows["payload_len"] = lengths
    rows["payload"] = payloads.ctypes.data + np.cumsum(lengths, dtype=np.uint64) - lengths
    return rows
