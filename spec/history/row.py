"""One history row: 64 bytes, little-endian.

| offset | field | | offset | field |
|---|---|---|---|---|
| 0 | t_ns u64 | | 44 | stream u32 |
| 8 | t_intended_ns u64 | | 48 | op u8 |
| 16 | seq u64 | | 49 | phase u8, release-stored last |
| 24 | key u64 | | 50 | flags u16 |
| 32 | value u64 | | 52 | status i32 |
| 40 | actor u32 | | 56 | digest u32 |
| | | | 60 | call u32 |

Valid if and only if phase is 1..5 and op is known.

Run rows. An INVOKE row of APPEND_RUN or READ_RUN opens a run: its `value` is raised in place, with release, after each
operation that was ok. The completion row repeats seq and key and holds the final count. An opening row without a completion
(the process died) says: the first `value` operations are ok, at most one more is info. A completion that is fail or info says
what came of the one operation after those: it certainly took no effect, or nobody knows.

Identity (`key`): producer u16 << 48 | incarnation u8 << 40 | number u40, so that consecutive numbers have consecutive keys.
Every append has a number of its own, one that is tried again after a failure, too.
"""

import struct
from dataclasses import dataclass

from fireassay.spec.history.ops import Flag, Op, Phase

__all__ = ["FIELDS", "NO_FLAGS", "ROW", "ROW_SIZE", "Identity", "Row", "pack", "unpack"]

ROW = struct.Struct("<QQQQQIIBBHiII")
ROW_SIZE = ROW.size
NO_FLAGS = Flag(0)
FIELDS = ("t_ns", "t_intended_ns", "seq", "key", "value", "actor", "stream", "op", "phase", "flags", "status", "digest", "call")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    t_ns: int
    op: Op
    phase: Phase
    t_intended_ns: int = 0
    seq: int = 0
    key: int = 0
    value: int = 0
    actor: int = 0
    stream: int = 0
    flags: Flag = NO_FLAGS
    status: int = 0
    digest: int = 0
    call: int = 0


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """Who appended a record and as its how-manieth; packs into a row's key."""

    producer: int
    incarnation: int
    number: int

    @property
    def key(self) -> int:
        if not (0 <= self.producer < 1 << 16 and 0 <= self.incarnation < 1 << 8 and 0 <= self.number < 1 << 40):
            raise ValueError(f"identity out of range: {self}")
        return self.producer << 48 | self.incarnation << 40 | self.number

    @classmethod
    def of(cls, key: int) -> "Identity":
        return cls(key >> 48, key >> 40 & 0xFF, key & (1 << 40) - 1)


def pack(row: Row) -> bytes:
    return ROW.pack(*(int(getattr(row, field)) for field in FIELDS))


def unpack(data: bytes | memoryview) -> Row:
    """Decode one row; ValueError names the field that no valid row can have."""
    values = dict(zip(FIELDS, ROW.unpack(data), strict=True))
    try:
        values["op"] = Op(values["op"])
        values["phase"] = Phase(values["phase"])
    except ValueError as error:
        raise ValueError(f"not a history row: {error}") from None
    if values["phase"] is Phase.UNWRITTEN:
        raise ValueError("not a history row: phase 0 (unwritten)")
    values["flags"] = Flag(values["flags"])
    return Row(**values)
