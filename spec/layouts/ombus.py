"""om_bus: shared-memory ring, TCP frames, WAL (OMB-01 ... OMB-10, OMB-20, OMB-26, OMB-37).

slot header (24)      header page (4096)             consumer tail (64)   OmBusRecord (24)
 0  8  seq             0  4  magic 0x4F4D4253          0  8  tail           0  8  wal_seq
 8  8  wal_seq         4  4  version 1                 8  8  wal_seq        8  1  wal_type
16  1  wal_type        8  4  slot_size                16 48  pad            9  1  hole
17  1  reserved 0     12  4  capacity, a power of 2                        10  2  payload_len
18  2  payload_len    16  4  max_consumers                                 12  4  hole
20  4  crc32          20  4  flags                                         16  8  payload (address)
                      24  8  head
                      32  8  min_tail             region: header page, max_consumers x 64, capacity x slot_size
                      40 64  stream_name
                     104  8  incarnation (ours)
                     112 3984 pad

frame header (16)        bodies, from 16 on
 0  4  magic 0x4F4D4246   DATA           record: wal_type u8, reserved u8, payload_len u16, crc32 u32, payload
 4  1  msg_type           BATCH_DATA     count u16, reserved u16, total_payload_len u32, records; GAP_RESPONSE alike
 5  1  flags              GAP_REQUEST    from_seq u64, to_seq u64
 6  2  body_len           SUBSCRIBE      start_seq u64, stream_name[64]
 8  8  wal_seq            SUBSCRIBE_ACK  status u32, current_seq u64
                          HEARTBEAT      none

WAL file header (64, ours)
 0  4  magic 0x4F4D4257
 4  4  version 1
 8  4  flags, 1 = CRC            a file has its number in its name, and records from 64 on, with sequences that go on by 1;
12  4  number                    `synced` counts if and only if synced_check is its complement; then everything before that
16  8  first_seq                 offset is on the disk, and what cannot be read there is damage, not a torn tail
24  4  crc32 of the 24 before
28  4  reserved 0
32  8  synced
40  8  synced_check
48 16  pad

WAL record (ours): one little-endian u64, seq in bits 0-39, type in 40-47, len in 48-63, so that in bytes:
 0 5 seq, 5 1 type, 6 2 len, 8 N payload, [4 crc32 of header and payload], zeros to the next multiple of 8.
WAL payloads, of which the seed gives but the sizes (fields ours): INSERT 56 + user + aux, CANCEL, DEACTIVATE, ACTIVATE 24, MATCH 40.

A block is valid if and only if it has its size, magic and version match and pads and reserved bytes are zero; further: a page's
capacity is a power of two, slot_size is a multiple of 8 from 32 to 65,552 (seq is an atomic word, payload_len is 16 bits wide) and
max_consumers is not 0. A frame is valid if and only if its type is known, body_len is that of its body and every record's crc32 is
its payload's; control frames other than HEARTBEAT have wal_seq 0; total_payload_len is the sum of the records' payload_len (ours).
A WAL record is valid if and only if its type is 1-6 or at least 0x80, it is whole, its CRC (if enabled) matches and its fill is zero;
an all-zero header is no record.
"""

import zlib
from enum import IntEnum
from typing import Any

from construct import BytesInteger, Int8ul, Int16ul, Int32ul, Int64sl, Int64ul, Struct

from fireassay.spec.layouts._fields import Align, Blob, Crc32, Derived, Exact, Hole, Layout, Many, Rule, Text, Within, Zero, layout

__all__ = [
    "ALL",
    "BATCH_DATA",
    "CONSUMER_TAIL",
    "DATA",
    "FRAME_HEADER",
    "GAP_REQUEST",
    "GAP_RESPONSE",
    "HEARTBEAT",
    "RECORD",
    "SHM_HEADER",
    "SLOT_HEADER",
    "SUBSCRIBE",
    "SUBSCRIBE_ACK",
    "WAL_ACTIVATE",
    "WAL_CANCEL",
    "WAL_DEACTIVATE",
    "WAL_FILE",
    "WAL_HEADER",
    "WAL_INSERT",
    "WAL_MATCH",
    "WAL_RECORD",
    "WAL_RECORD_CRC",
    "ErrorCode",
    "MsgType",
    "WalType",
    "region_size",
]


class WalType(IntEnum):
    INSERT = 1
    CANCEL = 2
    MATCH = 3
    CHECKPOINT = 4
    DEACTIVATE = 5
    ACTIVATE = 6
    USER = 0x80  # and above


class MsgType(IntEnum):
    DATA = 0x01
    BATCH_DATA = 0x02
    HEARTBEAT = 0x10
    GAP_REQUEST = 0x20
    GAP_RESPONSE = 0x21
    SUBSCRIBE = 0x30
    SUBSCRIBE_ACK = 0x31


class ErrorCode(IntEnum):
    INIT = -800
    SHM_CREATE = -801
    SHM_MAP = -802
    SHM_OPEN = -803
    NOT_POW2 = -804
    CONSUMER_ID = -805
    RECORD_TOO_LARGE = -806
    MAGIC_MISMATCH = -807
    VERSION_MISMATCH = -808
    CRC_MISMATCH = -809
    GAP_DETECTED = -810
    TCP_BIND = -811
    TCP_CONNECT = -812
    TCP_SEND = -813
    TCP_RECV = -814
    SUBSCRIBE_FAIL = -815
    REPLACED = -816  # from here on ours
    RELEASED = -817
    BLOCKED = -818
    WAL_OPEN = -819
    WAL_WRITE = -820
    WAL_READ = -821
    WAL_DAMAGED = -822


def region_size(slot_size: int = 256, capacity: int = 4096, max_consumers: int = 8) -> int:
    """Bytes of the shared-memory object (OMB-04)."""
    return SHM_HEADER.size + max_consumers * CONSUMER_TAIL.size + capacity * slot_size


SLOT_HEADER = layout(
    "ombus.slot_header",
    "OMB-01",
    "seq" / Int64ul,
    "wal_seq" / Int64ul,
    "wal_type" / Int8ul,
    "reserved" / Zero(1),
    "payload_len" / Int16ul,
    "crc32" / Int32ul,
)

SHM_HEADER = layout(
    "ombus.shm_header",
    "OMB-02",
    "magic" / Exact(Int32ul, 0x4F4D4253, "bad magic"),
    "version" / Exact(Int32ul, 1, "bad version"),
    "slot_size" / Within(Int32ul, range(32, 24 + (1 << 16), 8)),
    "capacity" / Within(Int32ul, frozenset(1 << bit for bit in range(32))),
    "max_consumers" / Within(Int32ul, range(1, 1 << 32)),
    "flags" / Int32ul,
    "head" / Int64ul,
    "min_tail" / Int64ul,
    "stream_name" / Text(64),
    "incarnation" / Int64ul,
    "pad" / Zero(3984),
)

CONSUMER_TAIL = layout("ombus.consumer_tail", "OMB-03", "tail" / Int64ul, "wal_seq" / Int64ul, "pad" / Zero(48))

RECORD = layout(
    "ombus.record",
    "OMB-37",
    "wal_seq" / Int64ul,
    "wal_type" / Int8ul,
    "hole0" / Hole(1),
    "payload_len" / Int16ul,
    "hole1" / Hole(4),
    "payload" / Int64ul,
)

_MSG_TYPES = frozenset(int(kind) for kind in MsgType)


def _header(msg_type: Any, body_len: Any, wal_seq: Any) -> tuple[Any, ...]:
    return (
        "magic" / Exact(Int32ul, 0x4F4D4246, "bad magic"),
        "msg_type" / msg_type,
        "flags" / Int8ul,
        "body_len" / body_len,
        "wal_seq" / wal_seq,
    )


def _frame(name: str, clause: str, kind: MsgType, body_len: Any, *body: Any, control: bool = False) -> Layout:
    wal_seq = Exact(Int64ul, 0) if control else Int64ul
    return layout(f"ombus.{name}", clause, *_header(Exact(Int8ul, int(kind), "bad type"), body_len, wal_seq), *body)


_DATA_RECORD = (
    "wal_type" / Int8ul,
    "reserved" / Zero(1),
    "payload_len" / Derived(Int16ul, lambda c: len(c.payload)),
    "crc32" / Derived(Int32ul, lambda c: zlib.crc32(c.payload)),
    "payload" / Blob(lambda c: c.payload_len),
    Rule("crc32 is the payload's", lambda c: c.crc32 == zlib.crc32(c.payload)),
)


def _batch(name: str, clause: str, kind: MsgType) -> Layout:
    def total(c: Any) -> int:
        return sum(len(record["payload"]) for record in c.records)

    def body(c: Any) -> int:
        return 8 + sum(8 + len(record["payload"]) for record in c.records)

    return _frame(
        name,
        clause,
        kind,
        Derived(Int16ul, body),
        "count" / Derived(Int16ul, lambda c: len(c.records)),
        "reserved" / Zero(2),
        "total_payload_len" / Derived(Int32ul, total),
        "records" / Many(lambda c: c.count, Struct(*_DATA_RECORD), at_least=8),
        Rule("total_payload_len is the sum of the payloads", lambda c: c.total_payload_len == total(c)),
        Rule("body_len is the body's", lambda c: c.body_len == body(c)),
    )


FRAME_HEADER = layout("ombus.frame_header", "OMB-05", *_header(Within(Int8ul, _MSG_TYPES), Int16ul, Int64ul))
DATA = _frame(
    "data",
    "OMB-06",
    MsgType.DATA,
    Derived(Int16ul, lambda c: 8 + len(c.payload)),
    *_DATA_RECORD,
    Rule("body_len is the body's", lambda c: c.body_len == 8 + c.payload_len),
)
BATCH_DATA = _batch("batch_data", "OMB-07", MsgType.BATCH_DATA)
GAP_RESPONSE = _batch("gap_response", "OMB-09", MsgType.GAP_RESPONSE)
HEARTBEAT = _frame("heartbeat", "OMB-08", MsgType.HEARTBEAT, Exact(Int16ul, 0, "bad length"))
GAP_REQUEST = _frame(
    "gap_request",
    "OMB-09",
    MsgType.GAP_REQUEST,
    Exact(Int16ul, 16, "bad length"),
    "from_seq" / Int64ul,
    "to_seq" / Int64ul,
    control=True,
)
SUBSCRIBE = _frame(
    "subscribe",
    "OMB-10",
    MsgType.SUBSCRIBE,
    Exact(Int16ul, 72, "bad length"),
    "start_seq" / Int64ul,
    "stream_name" / Text(64),
    control=True,
)
SUBSCRIBE_ACK = _frame(
    "subscribe_ack",
    "OMB-10",
    MsgType.SUBSCRIBE_ACK,
    Exact(Int16ul, 12, "bad length"),
    "status" / Int32ul,
    "current_seq" / Int64ul,
    control=True,
)

_WAL_PREFIX = (
    "seq" / BytesInteger(5, swapped=True),
    "type" / Within(Int8ul, frozenset({1, 2, 3, 4, 5, 6, *range(WalType.USER, 256)})),
)
_WAL_BODY = (*_WAL_PREFIX, "len" / Derived(Int16ul, lambda c: len(c.payload)), "payload" / Blob(lambda c: c.len))
_FILL = "fill" / Align(8, strict=True)

WAL_HEADER = layout("ombus.wal_header", "OMB-26", *_WAL_PREFIX, "len" / Int16ul)
WAL_FILE = layout(
    "ombus.wal_file",
    "OMB-26",
    "magic" / Exact(Int32ul, 0x4F4D4257, "bad magic"),
    "version" / Exact(Int32ul, 1, "bad version"),
    "flags" / Within(Int32ul, range(2)),
    "number" / Int32ul,
    "first_seq" / Int64ul,
    "crc32" / Crc32(0),
    "reserved" / Zero(4),
    "synced" / Int64ul,
    "synced_check" / Int64ul,
    "pad" / Zero(16),
)
WAL_RECORD = layout("ombus.wal_record", "OMB-26", *_WAL_BODY, _FILL)
WAL_RECORD_CRC = layout("ombus.wal_record_crc", "OMB-26", *_WAL_BODY, "crc32" / Crc32(0), _FILL)

WAL_INSERT = layout(
    "ombus.wal_insert",
    "OMB-26",
    "order_id" / Int64ul,
    "price" / Int64sl,
    "volume" / Int64ul,
    "volume_remaining" / Int64ul,
    "timestamp_ns" / Int64ul,
    "product_id" / Int16ul,
    "org_id" / Int16ul,
    "flags" / Int16ul,
    "reserved" / Zero(2),
    "user_len" / Derived(Int32ul, lambda c: len(c.user)),
    "aux_len" / Derived(Int32ul, lambda c: len(c.aux)),
    "user" / Blob(lambda c: c.user_len),
    "aux" / Blob(lambda c: c.aux_len),
)


def _order_event(name: str) -> Layout:
    fields = ("order_id" / Int64ul, "timestamp_ns" / Int64ul, "product_id" / Int16ul, "reserved" / Zero(6))
    return layout(f"ombus.{name}", "OMB-26", *fields)


WAL_CANCEL = _order_event("wal_cancel")
WAL_DEACTIVATE = _order_event("wal_deactivate")
WAL_ACTIVATE = _order_event("wal_activate")
WAL_MATCH = layout(
    "ombus.wal_match",
    "OMB-26",
    "maker_id" / Int64ul,
    "taker_id" / Int64ul,
    "price" / Int64sl,
    "volume" / Int64ul,
    "timestamp_ns" / Int64ul,
)

ALL: tuple[Layout, ...] = (
    SLOT_HEADER, SHM_HEADER, CONSUMER_TAIL, RECORD, FRAME_HEADER, DATA, BATCH_DATA, GAP_RESPONSE, HEARTBEAT, GAP_REQUEST, SUBSCRIBE,
    SUBSCRIBE_ACK, WAL_HEADER, WAL_FILE, WAL_RECORD, WAL_RECORD_CRC, WAL_INSERT, WAL_CANCEL, WAL_DEACTIVATE, WAL_ACTIVATE, WAL_MATCH,
)  # fmt: skip
