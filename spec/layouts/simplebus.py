"""SimpleBus: the log record, its header map and the index snapshot (SMB-01, SMB-07, SMB-16).

record                              record_with_topic (flags bit 0)
 0  4  magic 0x53425553 (ours)        as left up to 36, then
 4  2  version 1                     36  2  topic_len
 6  2  flags                         38  T  topic
 8  4  record_len = 36 + P + H           4  payload_len
12 16  event_id                          P  payload
28  8  ts_unix_nanos i64                 4  headers_len
36  4  payload_len                       H  headers
40  P  payload                           4  crc32
    4  headers_len                   record_len = 38 + T + P + H
    H  headers
    4  crc32 of event_id ... headers

header_map (ours)                   index_snapshot (ours)
 0  2  count                          0  4  magic 0x50414E53
 2     per pair: u16 length, key,     4  2  version 1
       u16 length, value; UTF-8       6  2  reserved 0
                                      8  4  last_segment
                                     12  4  sample_count
                                     16  8  last_offset
                                     24 16  last_event_id
                                     40  8  event_count
                                     48 20n samples: ts i64, segment u32, offset u64
                                         4  crc32 of all before it

A record is valid if and only if magic and version match, flags are 0 (record) or 1 (record_with_topic), record_len equals the
parsed lengths, the CRC matches, the headers are empty or one whole header map of at least one pair and distinct keys, and a
topic is 1 to 255 of A-Z a-z 0-9 . _ - (ours). That alphabet also guards the flag bit, which no CRC covers: read the other way
round, the first bytes of a topic make a payload length of megabytes, and a length's high bytes make no topic.
That an id is a UUIDv7 is SMB-02's matter. A snapshot is valid if and only if magic, version, count and CRC match; whether it
agrees with the log is SMB-07's.
"""

import re
from collections.abc import Mapping
from typing import Any

from construct import Bytes, Int16ul, Int32ul, Int64sl, Int64ul, Struct

from fireassay.spec.layouts._fields import (
    Blob,
    Converted,
    Crc32,
    Derived,
    Exact,
    Layout,
    LayoutError,
    Many,
    Rule,
    Utf8,
    Zero,
    build,
    layout,
    parse,
    parse_prefix,
)

__all__ = [
    "ALL",
    "FLAG_TOPIC",
    "HEADER_MAP",
    "INDEX_SNAPSHOT",
    "MAGIC",
    "RECORD",
    "RECORD_WITH_TOPIC",
    "decode_headers",
    "encode_headers",
    "parse_record",
]

MAGIC = 0x53425553  # 'SBUS'
SNAPSHOT_MAGIC = 0x50414E53
FLAG_TOPIC = 1
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,255}", re.ASCII)

HEADER_MAP = layout(
    "simplebus.header_map",
    "SMB-16",
    "count" / Derived(Int16ul, lambda c: len(c.pairs)),
    "pairs"
    / Many(
        lambda c: c.count,
        Struct(
            "key_len" / Derived(Int16ul, lambda c: len(c.key.encode())),
            "key" / Utf8(lambda c: c.key_len),
            "value_len" / Derived(Int16ul, lambda c: len(c.value.encode())),
            "value" / Utf8(lambda c: c.value_len),
        ),
        at_least=4,
    ),
)


def encode_headers(headers: Mapping[str, str]) -> bytes:
    """No headers are no bytes; the order of the pairs is kept."""
    return build(HEADER_MAP, {"pairs": [{"key": k, "value": v} for k, v in headers.items()]}) if headers else b""


def decode_headers(data: bytes) -> dict[str, str]:
    if not data:
        return {}
    pairs = parse(HEADER_MAP, data)["pairs"]
    headers = {pair["key"]: pair["value"] for pair in pairs}
    if not pairs or len(headers) != len(pairs):
        raise LayoutError("bad header map", "headers", "at least one pair, distinct keys", f"{len(pairs)} pairs, {len(headers)} keys")
    return headers


_HEAD = ("magic" / Exact(Int32ul, MAGIC, "bad magic"), "version" / Exact(Int16ul, 1, "bad version"))
_TAIL = (
    "payload_len" / Derived(Int32ul, lambda c: len(c.payload)),
    "payload" / Blob(lambda c: c.payload_len),
    "headers_len" / Derived(Int32ul, lambda c: len(encode_headers(c.headers))),
    "headers" / Converted(Blob(lambda c: c.headers_len), decode_headers, encode_headers),
    "crc32" / Crc32(12),
)

RECORD = layout(
    "simplebus.record",
    "SMB-01",
    *_HEAD,
    "flags" / Exact(Int16ul, 0, "bad flags"),
    "record_len" / Derived(Int32ul, lambda c: 36 + len(c.payload) + len(encode_headers(c.headers))),
    "event_id" / Bytes(16),
    "ts_unix_nanos" / Int64sl,
    *_TAIL,
    Rule("record_len = 36 + P + H", lambda c: c.record_len == 36 + c.payload_len + c.headers_len),
)

RECORD_WITH_TOPIC = layout(
    "simplebus.record_with_topic",
    "SMB-01",
    *_HEAD,
    "flags" / Exact(Int16ul, FLAG_TOPIC, "bad flags"),
    "record_len" / Derived(Int32ul, lambda c: 38 + len(c.topic.encode()) + len(c.payload) + len(encode_headers(c.headers))),
    "event_id" / Bytes(16),
    "ts_unix_nanos" / Int64sl,
    "topic_len" / Derived(Int16ul, lambda c: len(c.topic.encode())),
    "topic" / Utf8(lambda c: c.topic_len),
    Rule("a topic is 1 to 255 of A-Z a-z 0-9 . _ -", lambda c: _TOPIC.fullmatch(c.topic) is not None),
    *_TAIL,
    Rule("record_len = 38 + T + P + H", lambda c: c.record_len == 38 + c.topic_len + c.payload_len + c.headers_len),
)

INDEX_SNAPSHOT = layout(
    "simplebus.index_snapshot",
    "SMB-07",
    "magic" / Exact(Int32ul, SNAPSHOT_MAGIC, "bad magic"),
    "version" / Exact(Int16ul, 1, "bad version"),
    "reserved" / Zero(2),
    "last_segment" / Int32ul,
    "sample_count" / Derived(Int32ul, lambda c: len(c.samples)),
    "last_offset" / Int64ul,
    "last_event_id" / Bytes(16),
    "event_count" / Int64ul,
    "samples" / Many(lambda c: c.sample_count, Struct("ts_unix_nanos" / Int64sl, "segment" / Int32ul, "offset" / Int64ul), at_least=20),
    "crc32" / Crc32(0),
)

ALL: tuple[Layout, ...] = (RECORD, RECORD_WITH_TOPIC, HEADER_MAP, INDEX_SNAPSHOT)


def parse_record(data: bytes, at: int = 0) -> tuple[dict[str, Any], int]:
    """A record of either kind at `at`, by its flag, and where it ends; topic is None when the record has none."""
    if data[at + 6 : at + 8] == FLAG_TOPIC.to_bytes(2, "little"):
        return parse_prefix(RECORD_WITH_TOPIC, data, at)
    values, end = parse_prefix(RECORD, data, at)
    return values | {"topic": None}, end
