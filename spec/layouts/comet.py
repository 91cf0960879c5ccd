"""comet: entry, index.bin, comet.state, offsets.state (COM-01, COM-03, COM-04, COM-05, COM-06).

entry                     index.bin                       offsets.state (65,600 bytes)   its entry (128 bytes)
 0  4  length              0  4  magic 0x434F4D54          0    4  version 1              0 48  name, NUL-terminated
 4  8  timestamp           4  4  version 1                 4    4  magic 0xC0FE0FF5      48  8  offset
12  N  data                8  8  current_entry             8   56  reserved 0            56  8  last_update
                          16  8  write_offset             64 512x128  entries            64  8  ack_count
                          24  4  consumer_count 0                                        72  4  state (ours)
                          28  4  node_count                                              76  4  claimant_pid (ours)
                          32  4  file_count                                              80 48  reserved 0
                          36 20n nodes: entry u64, file u32, offset u64
                             files: path_len u16, path, start_offset, end_offset, start_entry, entry_count, start_time, end_time

comet.state (1,024 bytes): u64 fields, packed from the start of the lines at 0, 64, 128, 192, 256, 320, 384, 448, 512 and 768,
in the seed's order (see _LINES); what a line leaves over, 640-767 and 832-1023 are reserved.

An entry is valid if and only if its timestamp is not 0 and `length` bytes follow; it has no checksum, so other damage cannot be
told (COM-18). An index is valid if and only if magic and version match, consumer_count is 0, the counted nodes and files are there
and fill it, and every node names one of its files. A state file is valid if and only if it has 1,024 bytes, version is 1 (ours) and
the reserved bytes are zero. An offsets file is valid if and only if it has 65,600 bytes, version and magic match, reserved bytes are
zero and every state is 0 free, 1 being claimed or 2 taken (ours; the word at 72 and the pid at 76 are claimed by one 64-bit CAS).
"""

from enum import IntEnum

from construct import Array, Int16ul, Int32ul, Int64ul, Struct

from fireassay.spec.layouts._fields import Blob, Derived, Exact, Layout, Many, Rule, Text, Utf8, Within, Zero, layout

__all__ = ["ALL", "ENTRY", "INDEX", "OFFSETS", "OFFSETS_ENTRY", "STATE", "ZSTD_MAGIC", "SlotState", "fnv1a"]

ZSTD_MAGIC = bytes.fromhex("28B52FFD")
GROUPS = 512


class SlotState(IntEnum):
    """Of an entry of offsets.state; ours."""

    FREE = 0
    CLAIMED = 1
    TAKEN = 2


def fnv1a(name: str) -> int:
    """32-bit FNV-1a of the name's UTF-8; a group's first slot is this mod 512."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


ENTRY = layout(
    "comet.entry",
    "COM-01",
    "length" / Derived(Int32ul, lambda c: len(c.data)),
    "timestamp" / Within(Int64ul, range(1, 1 << 64)),
    "data" / Blob(lambda c: c.length),
)

_FILE_NUMBERS = ("start_offset", "end_offset", "start_entry", "entry_count", "start_time", "end_time")

INDEX = layout(
    "comet.index",
    "COM-03",
    "magic" / Exact(Int32ul, 0x434F4D54, "bad magic"),
    "version" / Exact(Int32ul, 1, "bad version"),
    "current_entry" / Int64ul,
    "write_offset" / Int64ul,
    "consumer_count" / Exact(Int32ul, 0),
    "node_count" / Derived(Int32ul, lambda c: len(c.nodes)),
    "file_count" / Derived(Int32ul, lambda c: len(c.files)),
    "nodes" / Many(lambda c: c.node_count, Struct("entry" / Int64ul, "file" / Int32ul, "offset" / Int64ul), at_least=20),
    "files"
    / Many(
        lambda c: c.file_count,
        Struct(
            "path_len" / Derived(Int16ul, lambda c: len(c.path.encode())),
            "path" / Utf8(lambda c: c.path_len),
            *(name / Int64ul for name in _FILE_NUMBERS),
        ),
        at_least=50,
    ),
    Rule("every node names one of the files", lambda c: all(node["file"] < len(c.files) for node in c.nodes)),
)

_LINES: tuple[tuple[int, str], ...] = (
    (0, "write_offset last_entry_number last_index_update active_file_index file_size last_file_sequence"),
    (64, "total_entries total_bytes total_writes last_write_nanos current_batch_size total_batches failed_writes"),
    (128, "total_compressed compressed_entries skipped_compression compression_ratio compression_time"),
    (192, "write_latency_sum write_latency_count min_write_latency max_write_latency sync_latency_nanos"),
    (
        256,
        "files_created files_deleted file_rotations rotation_time current_files total_file_bytes failed_rotations sync_count",
    ),
    (
        320,
        "checkpoint_count last_checkpoint checkpoint_time index_persist_count index_persist_errors index_size_bytes binary_index_nodes",
    ),
    (384, "active_readers total_readers max_consumer_lag total_entries_read consumer_groups acked_entries reader_cache_hits"),
    (448, "error_count last_error_nanos corruption_detected recovery_attempts recovery_successes partial_writes read_errors"),
    (
        512,
        "retention_runs last_retention retention_time entries_deleted bytes_reclaimed oldest_entry retention_errors protected_by_consumers",
    ),
    (
        768,
        "reader_file_maps reader_file_unmaps reader_cache_bytes reader_mapped_files reader_file_remaps reader_cache_evicts",
    ),
)


def _state_fields() -> list[object]:
    """The lines one after another, each filled up with reserved bytes to where the next one starts."""
    fields: list[object] = ["version" / Exact(Int64ul, 1, "bad version")]
    at = 8
    for start, names in _LINES:
        if start > at:
            fields.append(f"reserved_{at}" / Zero(start - at))
            at = start
        for name in names.split():
            fields.append(name / Int64ul)
            at += 8
    return [*fields, f"reserved_{at}" / Zero(1024 - at)]


STATE = layout("comet.state", "COM-04", *_state_fields())

_OFFSETS_ENTRY = (
    "name" / Text(48),
    "offset" / Int64ul,
    "last_update" / Int64ul,
    "ack_count" / Int64ul,
    "state" / Within(Int32ul, range(3)),
    "claimant_pid" / Int32ul,
    "reserved" / Zero(48),
)

OFFSETS_ENTRY = layout("comet.offsets_entry", "COM-05", *_OFFSETS_ENTRY)

OFFSETS = layout(
    "comet.offsets",
    "COM-05",
    "version" / Exact(Int32ul, 1, "bad version"),
    "magic" / Exact(Int32ul, 0xC0FE0FF5, "bad magic"),
    "reserved" / Zero(56),
    "entries" / Array(GROUPS, Struct(*_OFFSETS_ENTRY)),
)

ALL: tuple[Layout, ...] = (ENTRY, INDEX, STATE, OFFSETS_ENTRY, OFFSETS)
