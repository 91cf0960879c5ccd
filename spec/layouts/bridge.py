"""The bridge's message and checkpoint (BRG-01, BRG-02).

message               checkpoint
 0  4  magic "BRDG"     0  4  magic "CKPT"
 4  1  version 1        4  4  direction i32
 5  1  direction        8  8  last_applied_sequence i64
 6  2  reserved 0      16  8  archive_position i64
 8  8  sequence i64    24
16  8  timestamp_ns i64
24  4  payload_length i32
28  N  payload

The two magics are ASCII bytes in reading order; everything else is little-endian.

A message is valid if and only if magic and version match, direction is 0 or 1, the reserved bytes are zero, the sequence is
at least 1, and payload_length bytes follow. A checkpoint is valid if and only if it has 24 bytes, the magic matches, direction
is 0 or 1 and neither number is negative. timestamp_ns is a monotonic clock's and may be negative.
"""

from enum import IntEnum

from construct import Bytes, Int8ul, Int32sl, Int64sl

from fireassay.spec.layouts._fields import Blob, Derived, Exact, Layout, Within, Zero, layout

__all__ = ["ALL", "CHECKPOINT", "MESSAGE", "Direction"]


class Direction(IntEnum):
    ME_TO_RMS = 0
    RMS_TO_ME = 1


MESSAGE = layout(
    "bridge.message",
    "BRG-01",
    "magic" / Exact(Bytes(4), b"BRDG", "bad magic"),
    "version" / Exact(Int8ul, 1, "bad version"),
    "direction" / Within(Int8ul, range(2)),
    "reserved" / Zero(2),
    "sequence" / Within(Int64sl, range(1, 1 << 63)),
    "timestamp_ns" / Int64sl,
    "payload_length" / Derived(Int32sl, lambda c: len(c.payload)),
    "payload" / Blob(lambda c: c.payload_length),
)

CHECKPOINT = layout(
    "bridge.checkpoint",
    "BRG-02",
    "magic" / Exact(Bytes(4), b"CKPT", "bad magic"),
    "direction" / Within(Int32sl, range(2)),
    "last_applied_sequence" / Within(Int64sl, range(1 << 63)),
    "archive_position" / Within(Int64sl, range(1 << 63)),
)

ALL: tuple[Layout, ...] = (MESSAGE, CHECKPOINT)
