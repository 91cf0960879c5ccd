"""chronicle: messages, control.meta, segments, reader meta, lock, checkpoint, book events, lease, snapshot (CHR-01 ... CHR-32).

message (64 + N, 64-aligned)   control.meta (384 bytes)       segment header (64 bytes)   reader slot (64 bytes, ours)
 0  4  commit_len = N + 1        0  4  magic 0x4348524E         0  4  magic 0x53454730      0  8  generation
 4  4  hole                      4  4  version 2                4  4  version 1             8  4  segment
 8  8  seq                       8  4  init_state 2             8  4  segment_id           12  4  reserved 0
16  8  timestamp_ns             12  4  pad                     12  4  flags, 1 = SEALED    16  8  offset
24  2  type_id, 0xFFFF = PAD    16  8  writer_epoch            16 48  pad                  24  8  heartbeat_ns
26  2  flags                    24  8  segment_size                                        32  8  pid
28  4  reserved_u32             32 96  pad                    reader meta (128, ours)      40 20  reserved 0
32 32  pad                     128  4  segment_gen              0 64  slot_0               60  4  crc32 of 0-59
64  N  payload                 132  4  current_segment         64 64  slot_1
                               136 120 pad
writer.lock (24, ours)         256  8  write_offset           index.meta (40, ours)       book event (64 + N; fields ours)
 0  4  pid                     264  8  writer_heartbeat_ns      0  4  magic 0x43494458      0  4  record_len = 64 + N
 4  4  reserved 0              272  4  notify_seq               4  4  version 1             4  2  version 2
 8  8  start_ticks             276  4  waiters_pending          8  4  segment               6  2  event_type
16  8  epoch                   280 104 pad                     12  4  reserved 0            8  8  ingest_ts_ns
                                                               16  8  offset               16  8  exchange_ts_ns
LEASE (24, ours)                                               24  8  next_seq             24  8  book_seq
 0  4  pid                                                     32  4  reserved 0           32  4  instrument_id
 4  4  reserved 0                                              36  4  crc32 of 0-35        36  4  flags
 8  8  epoch                                                                               40 24  reserved 0
16  8  timestamp_ns           snapshot (36 + N, ours)                                       64  N  payload
                                0  4  magic 0x43534E50        16  8  timestamp_ns
                                4  4  version 1               24  8  state_len = N
                                8  8  seq                     32  N  state, then 4 crc32 of all before

A fixed block is valid if and only if it has its size, magic and version match, pads and reserved bytes are zero and its CRC (if any)
matches; further: control.meta is ready (init_state 2) and its segment_size is a multiple of 64 from 128 to 4 GiB; a segment has no flag
but SEALED; positions are multiples of 64. A message is valid if and only if commit_len is not 0 (that is: not committed) and its payload
and the fill to the next multiple of 64 are there; the fill is not looked at. Reader meta is valid if and only if one of its slots is;
the valid one of the higher generation counts (`committed_slot`). A snapshot's seq and timestamp are those of the last record in its state.
"""

from typing import Any

from construct import Bytes, Int16ul, Int32ul, Int64ul

from fireassay.spec.layouts._fields import Align, Blob, Crc32, Derived, Exact, Hole, Layout, LayoutError, Rule, Within, Zero, layout, parse

__all__ = [
    "ALL",
    "BOOK_EVENT",
    "CONTROL",
    "INDEX",
    "LEASE",
    "MESSAGE",
    "MESSAGE_HEADER",
    "PAD",
    "READER_META",
    "READER_SLOT",
    "SEALED",
    "SEGMENT_HEADER",
    "SNAPSHOT",
    "WRITER_LOCK",
    "committed_slot",
]

PAD = 0xFFFF  # type_id of padding
SEALED = 1
_OFFSETS = range(0, 1 << 64, 64)

_MESSAGE_REST = (
    "hole" / Hole(4),
    "seq" / Int64ul,
    "timestamp_ns" / Int64ul,
    "type_id" / Int16ul,
    "flags" / Int16ul,
    "reserved_u32" / Int32ul,
    "pad" / Zero(32),
)

MESSAGE_HEADER = layout("chronicle.message_header", "CHR-01", "commit_len" / Int32ul, *_MESSAGE_REST)

MESSAGE = layout(
    "chronicle.message",
    "CHR-02",
    "commit_len" / Derived(Int32ul, lambda c: len(c.payload) + 1),
    Rule("commit_len is not 0: the record is committed", lambda c: c.commit_len != 0),
    *_MESSAGE_REST,
    "payload" / Blob(lambda c: c.commit_len - 1),
    "fill" / Align(64, strict=False),
)

CONTROL = layout(
    "chronicle.control",
    "CHR-04",
    "magic" / Exact(Int32ul, 0x4348524E, "bad magic"),
    "version" / Exact(Int32ul, 2, "bad version"),
    "init_state" / Exact(Int32ul, 2, "not ready"),
    "pad0" / Zero(4),
    "writer_epoch" / Int64ul,
    "segment_size" / Within(Int64ul, range(128, (1 << 32) + 1, 64)),
    "pad1" / Zero(96),
    "segment_gen" / Int32ul,
    "current_segment" / Int32ul,
    "pad2" / Zero(120),
    "write_offset" / Within(Int64ul, _OFFSETS),
    "writer_heartbeat_ns" / Int64ul,
    "notify_seq" / Int32ul,
    "waiters_pending" / Int32ul,
    "pad3" / Zero(104),
)

SEGMENT_HEADER = layout(
    "chronicle.segment_header",
    "CHR-05",
    "magic" / Exact(Int32ul, 0x53454730, "bad magic"),
    "version" / Exact(Int32ul, 1, "bad version"),
    "segment_id" / Int32ul,
    "flags" / Within(Int32ul, range(SEALED + 1)),
    "pad" / Zero(48),
)

READER_SLOT = layout(
    "chronicle.reader_slot",
    "CHR-17",
    "generation" / Int64ul,
    "segment" / Int32ul,
    "reserved0" / Zero(4),
    "offset" / Within(Int64ul, _OFFSETS),
    "heartbeat_ns" / Int64ul,
    "pid" / Int64ul,
    "reserved1" / Zero(20),
    "crc32" / Crc32(0),
)

READER_META = layout("chronicle.reader_meta", "CHR-17", "slot_0" / Bytes(64), "slot_1" / Bytes(64))

WRITER_LOCK = layout(
    "chronicle.writer_lock",
    "CHR-11",
    "pid" / Int32ul,
    "reserved" / Zero(4),
    "start_ticks" / Int64ul,
    "epoch" / Int64ul,
)

INDEX = layout(
    "chronicle.index",
    "CHR-14",
    "magic" / Exact(Int32ul, 0x43494458, "bad magic"),  # 'CIDX', ours
    "version" / Exact(Int32ul, 1, "bad version"),
    "segment" / Int32ul,
    "reserved0" / Zero(4),
    "offset" / Within(Int64ul, _OFFSETS),
    "next_seq" / Int64ul,
    "reserved1" / Zero(4),
    "crc32" / Crc32(0),
)

BOOK_EVENT = layout(
    "chronicle.book_event",
    "CHR-32",
    "record_len" / Derived(Int32ul, lambda c: 64 + len(c.payload)),
    "version" / Exact(Int16ul, 2, "bad version"),
    "event_type" / Int16ul,
    "ingest_ts_ns" / Int64ul,
    "exchange_ts_ns" / Int64ul,
    "book_seq" / Int64ul,
    "instrument_id" / Int32ul,
    "flags" / Int32ul,
    "reserved" / Zero(24),
    "payload" / Blob(lambda c: c.record_len - 64),
)

LEASE = layout(
    "chronicle.lease",
    "CHR-28",
    "pid" / Int32ul,
    "reserved" / Zero(4),
    "epoch" / Int64ul,
    "timestamp_ns" / Int64ul,
)

SNAPSHOT = layout(
    "chronicle.snapshot",
    "CHR-31",
    "magic" / Exact(Int32ul, 0x43534E50, "bad magic"),  # 'CSNP', ours
    "version" / Exact(Int32ul, 1, "bad version"),
    "seq" / Int64ul,
    "timestamp_ns" / Int64ul,
    "state_len" / Derived(Int64ul, lambda c: len(c.state)),
    "state" / Blob(lambda c: c.state_len),
    "crc32" / Crc32(0),
)

ALL: tuple[Layout, ...] = (
    MESSAGE_HEADER,
    MESSAGE,
    CONTROL,
    SEGMENT_HEADER,
    READER_SLOT,
    READER_META,
    WRITER_LOCK,
    INDEX,
    BOOK_EVENT,
    LEASE,
    SNAPSHOT,
)


def committed_slot(data: bytes) -> dict[str, Any]:
    """The reader slot that counts: of those that are valid the one of the higher generation."""
    found: list[dict[str, Any]] = []
    for raw in parse(READER_META, data).values():
        try:
            found.append(parse(READER_SLOT, raw))
        except LayoutError:
            continue
    if not found:
        raise LayoutError("no valid slot", READER_META.name, "one of two", "none")
    return max(found, key=lambda slot: int(slot["generation"]))
