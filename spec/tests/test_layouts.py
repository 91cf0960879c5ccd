"""The layouts hold the catalogue's numbers, round-trip, and refuse everything that is not valid."""

import re
import tracemalloc
import zlib
from contextlib import suppress
from typing import Any

import pytest
from construct import Array, Bytes, BytesInteger, FormatField, Struct
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fireassay.spec.layouts import ALL, Layout, LayoutError, bridge, build, by_name, chronicle, comet, ombus, parse, parse_prefix, simplebus
from fireassay.spec.layouts._fields import Blob, Converted, Exact, Many, Text, Utf8, Within, unwrapped
from fireassay.spec.tests.examples import scaled

# Written by hand from the catalogue and the seeds: the size, then field@offset:size. "+" marks the fixed part of a variable layout.
CATALOGUE = {
    "ombus.slot_header": "24 seq@0:8 wal_seq@8:8 wal_type@16:1 reserved@17:1 payload_len@18:2 crc32@20:4",
    "ombus.shm_header": "4096 magic@0:4 version@4:4 slot_size@8:4 capacity@12:4 max_consumers@16:4 flags@20:4 head@24:8 min_tail@32:8 "
    "stream_name@40:64 incarnation@104:8 pad@112:3984",
    "ombus.consumer_tail": "64 tail@0:8 wal_seq@8:8 pad@16:48",
    "ombus.record": "24 wal_seq@0:8 wal_type@8:1 hole0@9:1 payload_len@10:2 hole1@12:4 payload@16:8",
    "ombus.frame_header": "16 magic@0:4 msg_type@4:1 flags@5:1 body_len@6:2 wal_seq@8:8",
    "ombus.data": "24+ magic@0:4 msg_type@4:1 flags@5:1 body_len@6:2 wal_seq@8:8 wal_type@16:1 reserved@17:1 payload_len@18:2 crc32@20:4",
    "ombus.batch_data": "24+ magic@0:4 msg_type@4:1 flags@5:1 body_len@6:2 wal_seq@8:8 count@16:2 reserved@18:2 total_payload_len@20:4",
    "ombus.gap_response": "24+ magic@0:4 msg_type@4:1 flags@5:1 body_len@6:2 wal_seq@8:8 count@16:2 reserved@18:2 total_payload_len@20:4",
    "ombus.heartbeat": "16 magic@0:4 msg_type@4:1 flags@5:1 body_len@6:2 wal_seq@8:8",
    "ombus.gap_request": "32 magic@0:4 msg_type@4:1 flags@5:1 body_len@6:2 wal_seq@8:8 from_seq@16:8 to_seq@24:8",
    "ombus.subscribe": "88 magic@0:4 msg_type@4:1 flags@5:1 body_len@6:2 wal_seq@8:8 start_seq@16:8 stream_name@24:64",
    "ombus.subscribe_ack": "28 magic@0:4 msg_type@4:1 flags@5:1 body_len@6:2 wal_seq@8:8 status@16:4 current_seq@20:8",
    "ombus.wal_header": "8 seq@0:5 type@5:1 len@6:2",
    "ombus.wal_file": "64 magic@0:4 version@4:4 flags@8:4 number@12:4 first_seq@16:8 crc32@24:4 reserved@28:4 synced@32:8 "
    "synced_check@40:8 pad@48:16",
    "ombus.wal_record": "8+ seq@0:5 type@5:1 len@6:2",
    "ombus.wal_record_crc": "12+ seq@0:5 type@5:1 len@6:2",
    "ombus.wal_insert": "56+ order_id@0:8 price@8:8 volume@16:8 volume_remaining@24:8 timestamp_ns@32:8 product_id@40:2 org_id@42:2 "
    "flags@44:2 reserved@46:2 user_len@48:4 aux_len@52:4",
    "ombus.wal_cancel": "24 order_id@0:8 timestamp_ns@8:8 product_id@16:2 reserved@18:6",
    "ombus.wal_deactivate": "24 order_id@0:8 timestamp_ns@8:8 product_id@16:2 reserved@18:6",
    "ombus.wal_activate": "24 order_id@0:8 timestamp_ns@8:8 product_id@16:2 reserved@18:6",
    "ombus.wal_match": "40 maker_id@0:8 taker_id@8:8 price@16:8 volume@24:8 timestamp_ns@32:8",
    "bridge.message": "28+ magic@0:4 version@4:1 direction@5:1 reserved@6:2 sequence@8:8 timestamp_ns@16:8 payload_length@24:4",
    "bridge.checkpoint": "24 magic@0:4 direction@4:4 last_applied_sequence@8:8 archive_position@16:8",
    "comet.entry": "12+ length@0:4 timestamp@4:8",
    "comet.index": "36+ magic@0:4 version@4:4 current_entry@8:8 write_offset@16:8 consumer_count@24:4 node_count@28:4 file_count@32:4",
    "comet.state": "1024 version@0:8 write_offset@8:8 last_entry_number@16:8 last_index_update@24:8 active_file_index@32:8 file_size@40:8 "
    "last_file_sequence@48:8 reserved_56@56:8 total_entries@64:8 total_bytes@72:8 total_writes@80:8 last_write_nanos@88:8 "
    "current_batch_size@96:8 total_batches@104:8 failed_writes@112:8 reserved_120@120:8 total_compressed@128:8 compressed_entries@136:8 "
    "skipped_compression@144:8 compression_ratio@152:8 compression_time@160:8 reserved_168@168:24 write_latency_sum@192:8 "
    "write_latency_count@200:8 min_write_latency@208:8 max_write_latency@216:8 sync_latency_nanos@224:8 reserved_232@232:24 "
    "files_created@256:8 files_deleted@264:8 file_rotations@272:8 rotation_time@280:8 current_files@288:8 total_file_bytes@296:8 "
    "failed_rotations@304:8 sync_count@312:8 checkpoint_count@320:8 last_checkpoint@328:8 checkpoint_time@336:8 "
    "index_persist_count@344:8 index_persist_errors@352:8 index_size_bytes@360:8 binary_index_nodes@368:8 reserved_376@376:8 "
    "active_readers@384:8 total_readers@392:8 max_consumer_lag@400:8 total_entries_read@408:8 consumer_groups@416:8 acked_entries@424:8 "
    "reader_cache_hits@432:8 reserved_440@440:8 error_count@448:8 last_error_nanos@456:8 corruption_detected@464:8 "
    "recovery_attempts@472:8 recovery_successes@480:8 partial_writes@488:8 read_errors@496:8 reserved_504@504:8 retention_runs@512:8 "
    "last_retention@520:8 retention_time@528:8 entries_deleted@536:8 bytes_reclaimed@544:8 oldest_entry@552:8 retention_errors@560:8 "
    "protected_by_consumers@568:8 reserved_576@576:192 reader_file_maps@768:8 reader_file_unmaps@776:8 reader_cache_bytes@784:8 "
    "reader_mapped_files@792:8 reader_file_remaps@800:8 reader_cache_evicts@808:8 reserved_816@816:208",
    "comet.offsets_entry": "128 name@0:48 offset@48:8 last_update@56:8 ack_count@64:8 state@72:4 claimant_pid@76:4 reserved@80:48",
    "comet.offsets": "65600 version@0:4 magic@4:4 reserved@8:56 entries@64:65536",
    "chronicle.message_header": "64 commit_len@0:4 hole@4:4 seq@8:8 timestamp_ns@16:8 type_id@24:2 flags@26:2 reserved_u32@28:4 pad@32:32",
    "chronicle.message": "64+ commit_len@0:4 hole@4:4 seq@8:8 timestamp_ns@16:8 type_id@24:2 flags@26:2 reserved_u32@28:4 pad@32:32",
    "chronicle.control": "384 magic@0:4 version@4:4 init_state@8:4 pad0@12:4 writer_epoch@16:8 segment_size@24:8 pad1@32:96 "
    "segment_gen@128:4 current_segment@132:4 pad2@136:120 write_offset@256:8 writer_heartbeat_ns@264:8 notify_seq@272:4 "
    "waiters_pending@276:4 pad3@280:104",
    "chronicle.segment_header": "64 magic@0:4 version@4:4 segment_id@8:4 flags@12:4 pad@16:48",
    "chronicle.reader_slot": "64 generation@0:8 segment@8:4 reserved0@12:4 offset@16:8 heartbeat_ns@24:8 pid@32:8 reserved1@40:20 "
    "crc32@60:4",
    "chronicle.reader_meta": "128 slot_0@0:64 slot_1@64:64",
    "chronicle.writer_lock": "24 pid@0:4 reserved@4:4 start_ticks@8:8 epoch@16:8",
    "chronicle.index": "40 magic@0:4 version@4:4 segment@8:4 reserved0@12:4 offset@16:8 next_seq@24:8 reserved1@32:4 crc32@36:4",
    "chronicle.book_event": "64+ record_len@0:4 version@4:2 event_type@6:2 ingest_ts_ns@8:8 exchange_ts_ns@16:8 book_seq@24:8 "
    "instrument_id@32:4 flags@36:4 reserved@40:24",
    "chronicle.lease": "24 pid@0:4 reserved@4:4 epoch@8:8 timestamp_ns@16:8",
    "chronicle.snapshot": "36+ magic@0:4 version@4:4 seq@8:8 timestamp_ns@16:8 state_len@24:8",
    "simplebus.record": "48+ magic@0:4 version@4:2 flags@6:2 record_len@8:4 event_id@12:16 ts_unix_nanos@28:8 payload_len@36:4",
    "simplebus.record_with_topic": "50+ magic@0:4 version@4:2 flags@6:2 record_len@8:4 event_id@12:16 ts_unix_nanos@28:8 topic_len@36:2",
    "simplebus.header_map": "2+ count@0:2",
    "simplebus.index_snapshot": "52+ magic@0:4 version@4:2 reserved@6:2 last_segment@8:4 sample_count@12:4 last_offset@16:8 "
    "last_event_id@24:16 event_count@40:8",
}

MAGICS = {
    "ombus.shm_header": "53424d4f",
    "ombus.frame_header": "46424d4f",
    "ombus.wal_file": "57424d4f",
    "bridge.message": b"BRDG".hex(),
    "bridge.checkpoint": b"CKPT".hex(),
    "comet.index": "544d4f43",
    "chronicle.control": "4e524843",
    "chronicle.segment_header": "30474553",
    "simplebus.record": "53554253",
}

each = pytest.mark.parametrize("layout", ALL, ids=lambda layout: layout.name)
each_fixed = pytest.mark.parametrize("layout", [x for x in ALL if not x.variable], ids=lambda layout: layout.name)
quick = scaled(40)


def values_of(kind: Any, name: str = "") -> st.SearchStrategy[Any]:
    """Values for a field, by its kind alone; a field's name matters only where text has an alphabet of its own."""
    kind = unwrapped(kind)
    match kind:
        case Struct():
            fields = [(s.name, unwrapped(s)) for s in kind.subcons if s.name]
            return st.fixed_dictionaries({field: values_of(k, field) for field, k in fields if getattr(k, "carries", True)})
        case Within():
            allowed = kind.allowed
            if isinstance(allowed, range):
                count = (allowed.stop - allowed.start + allowed.step - 1) // allowed.step
                return st.integers(0, count - 1).map(lambda n: allowed.start + n * allowed.step)
            return st.sampled_from(sorted(allowed))
        case FormatField():
            bits = 8 * kind.sizeof()
            return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) if kind.fmtstr[1].islower() else st.integers(0, (1 << bits) - 1)
        case BytesInteger():
            return st.integers(0, (1 << 8 * kind.length) - 1)
        case Bytes():
            return st.binary(min_size=kind.length, max_size=kind.length)
        case Text():
            return st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=(kind.count - 1) // 4)
        case Utf8():
            return st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True) if name == "topic" else st.text(max_size=12)
        case Blob():
            return st.binary(max_size=100)
        case Converted():
            return st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=4)
        case Many():
            return st.lists(values_of(kind.subcon), max_size=4)
        case Array():
            few = st.lists(values_of(kind.subcon), min_size=1, max_size=3)
            return few.map(lambda some: [some[n % len(some)] for n in range(kind.count)])
    raise AssertionError(f"no strategy for {kind!r}")


def instances(layout: Layout) -> st.SearchStrategy[dict[str, Any]]:
    values = values_of(layout.construct)
    if layout is not comet.INDEX:
        return values
    return values.map(lambda v: v | {"nodes": [node | {"file": node["file"] % len(v["files"])} for node in v["nodes"] if v["files"]]})


def example(layout: Layout) -> bytes:
    """One valid instance, the same each time, not all zeros."""
    found: list[bytes] = []

    @settings(max_examples=5, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(instances(layout))
    def draw(values: dict[str, Any]) -> None:
        found.append(build(layout, values))

    draw()
    return max(found, key=lambda data: len(data.strip(b"\0")))


def flips(data: bytes) -> list[tuple[int, bytes]]:
    return [(bit, data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]) for bit in range(8 * len(data))]


def test_the_catalogue_and_the_layouts_name_the_same_blocks() -> None:
    assert [layout.name for layout in ALL] == list(CATALOGUE)
    assert all(re.fullmatch(r"(OMB|BRG|COM|CHR|SMB)-\d\d", layout.clause) for layout in ALL)


@each
def test_derived_offsets_and_sizes_equal_the_catalogues_numbers(layout: Layout) -> None:
    size, *fields = CATALOGUE[layout.name].split()
    by_hand = {name: (int(at), int(n)) for name, at, n in (re.split("[@:]", field) for field in fields)}
    assert dict(layout.offsets) == by_hand
    assert (layout.size, layout.variable) == (int(size.rstrip("+")), size.endswith("+"))


def test_the_default_region_of_the_ring_has_1053184_bytes() -> None:
    assert ombus.region_size() == 1_053_184


def test_the_error_codes_of_the_seed_run_from_minus_800_to_minus_815_and_ours_follow() -> None:
    assert [int(code) for code in ombus.ErrorCode] == list(range(-800, -823, -1))
    assert ombus.ErrorCode.SUBSCRIBE_FAIL == -815


@pytest.mark.parametrize("name", MAGICS)
def test_magics_lead_as_the_ruling_on_byte_order_says(name: str) -> None:
    assert example(by_name(name))[:4].hex() == MAGICS[name]


def test_the_wal_header_packs_sequence_type_and_length_into_one_word() -> None:
    word = int.from_bytes(build(ombus.WAL_HEADER, {"seq": 0x123456789A, "type": 3, "len": 0xBEEF}), "little")
    assert (word & (1 << 40) - 1, word >> 40 & 0xFF, word >> 48) == (0x123456789A, 3, 0xBEEF)


@each
def test_parse_gives_back_what_build_was_given_and_build_the_bytes(layout: Layout) -> None:
    @quick
    @given(instances(layout))
    def holds(values: dict[str, Any]) -> None:
        data = build(layout, values)
        assert parse(layout, data) == values
        assert build(layout, parse(layout, data)) == data
        assert parse_prefix(layout, b"before" + data + b"after", 6) == (values, 6 + len(data))

    holds()


@each
def test_random_bytes_are_refused_or_read_but_never_crash(layout: Layout) -> None:
    @quick
    @given(st.binary(max_size=300))
    def holds(data: bytes) -> None:
        with suppress(LayoutError):
            parse(layout, data)

    holds()


@each_fixed
def test_a_fixed_block_cut_at_any_byte_or_one_too_long_is_refused(layout: Layout) -> None:
    data = example(layout)
    for cut in range(len(data)):
        with pytest.raises(LayoutError, match="truncated"):
            parse(layout, data[:cut])
    with pytest.raises(LayoutError, match="oversized"):
        parse(layout, data + b"\0")


@pytest.mark.parametrize("layout", [x for x in ALL if x.variable], ids=lambda layout: layout.name)
def test_a_variable_block_cut_at_any_byte_or_one_too_long_is_refused(layout: Layout) -> None:
    data = example(layout)
    for cut in range(len(data)):
        with pytest.raises(LayoutError):
            parse(layout, data[:cut])
    with pytest.raises(LayoutError):
        parse(layout, data + b"\0")


@pytest.mark.parametrize(
    ("layout", "field"),
    [(x, s.name) for x in ALL for s in x.construct.subcons if isinstance(unwrapped(s), Exact)],
    ids=lambda x: getattr(x, "name", x),
)
def test_every_bit_of_a_magic_version_or_fixed_value_matters(layout: Layout, field: str) -> None:
    data = example(layout)
    at, size = layout.offsets[field]
    for bit in range(8 * at, 8 * (at + size)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(LayoutError) as caught:
            parse(layout, bytes(damaged))
        assert field in caught.value.where
        assert caught.value.expected == unwrapped(next(s for s in layout.construct.subcons if s.name == field)).value


@pytest.mark.parametrize(
    ("layout", "at", "size"),
    [
        (simplebus.RECORD, 36, 4),
        (simplebus.INDEX_SNAPSHOT, 12, 4),
        (simplebus.HEADER_MAP, 0, 2),
        (comet.ENTRY, 0, 4),
        (comet.INDEX, 28, 4),
        (comet.INDEX, 32, 4),
        (chronicle.MESSAGE, 0, 4),
        (chronicle.BOOK_EVENT, 0, 4),
        (bridge.MESSAGE, 24, 4),
        (ombus.WAL_RECORD, 6, 2),
        (ombus.WAL_INSERT, 48, 4),
        (ombus.DATA, 18, 2),
        (ombus.BATCH_DATA, 16, 2),
    ],
    ids=lambda x: getattr(x, "name", x),
)
def test_a_hostile_length_is_refused_before_memory_is_taken(layout: Layout, at: int, size: int) -> None:
    data = example(layout)
    for hostile in (b"\xff" * size, b"\xff" * (size - 1) + b"\x7f", b"\x00" * (size - 1) + b"\x40"):
        damaged = data[:at] + hostile + data[at + size :]
        tracemalloc.start()
        try:
            with pytest.raises(LayoutError):
                parse(layout, damaged)
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    "layout",
    [simplebus.RECORD, simplebus.RECORD_WITH_TOPIC, simplebus.INDEX_SNAPSHOT, chronicle.READER_SLOT, chronicle.INDEX, ombus.WAL_RECORD_CRC],
    ids=lambda layout: layout.name,
)
def test_no_flipped_bit_of_a_checksummed_block_goes_unnoticed(layout: Layout) -> None:
    @scaled(10)
    @given(instances(layout))
    def holds(values: dict[str, Any]) -> None:
        for bit, damaged in flips(build(layout, values)):
            with pytest.raises(LayoutError):
                pytest.fail(f"bit {bit} unnoticed: {parse(layout, damaged)}")

    holds()


def test_a_flipped_flag_never_turns_one_kind_of_simplebus_record_into_the_other() -> None:
    for layout in (simplebus.RECORD, simplebus.RECORD_WITH_TOPIC):
        for _, damaged in flips(example(layout)):
            with pytest.raises(LayoutError):
                simplebus.parse_record(damaged)


def test_a_damaged_payload_of_a_data_frame_is_refused() -> None:
    data = build(ombus.DATA, {"flags": 0, "wal_seq": 9, "wal_type": 1, "payload": b"payload"})
    for bit, damaged in flips(data):
        if bit >= 8 * 18:
            with pytest.raises(LayoutError):
                parse(ombus.DATA, damaged)


def test_a_batch_beyond_the_16_bit_body_length_cannot_be_built() -> None:
    records = [{"wal_type": 1, "payload": bytes(65_519)}]
    assert len(build(ombus.BATCH_DATA, {"flags": 0, "wal_seq": 1, "records": records})) == 16 + 65_535
    records[0]["payload"] = bytes(65_520)
    with pytest.raises(LayoutError):
        build(ombus.BATCH_DATA, {"flags": 0, "wal_seq": 1, "records": records})


def test_a_simplebus_record_has_48_bytes_beyond_payload_and_headers() -> None:
    headers = simplebus.encode_headers({"k": "v"})
    assert headers == b"\x01\x00\x01\x00k\x01\x00v"
    data = build(simplebus.RECORD, {"event_id": bytes(16), "ts_unix_nanos": -1, "payload": b"pay", "headers": {"k": "v"}})
    assert len(data) == 48 + 3 + len(headers)
    assert int.from_bytes(data[8:12], "little") == len(data) - 12
    assert int.from_bytes(data[-4:], "little") == zlib.crc32(data[12:-4])


@pytest.mark.parametrize("headers", [b"\0\0", b"\2\0\1\0k\0\0\1\0k\0\0", b"\1\0\1\0\xff\0\0", b"\1\0\1\0k\0\0x"])
def test_a_header_map_that_is_empty_doubled_not_utf8_or_too_long_is_refused(headers: bytes) -> None:
    with pytest.raises(LayoutError):
        simplebus.decode_headers(headers)


def test_a_torn_reader_slot_falls_back_to_the_older_one() -> None:
    common = {"segment": 1, "offset": 64, "heartbeat_ns": 5, "pid": 7}
    old, new = (build(chronicle.READER_SLOT, common | {"generation": n}) for n in (1, 2))
    assert chronicle.committed_slot(old + new)["generation"] == 2
    for cut in range(64):
        torn = new[:cut] + bytes(b ^ 0xFF for b in new[cut:])
        assert chronicle.committed_slot(old + torn)["generation"] == 1
    with pytest.raises(LayoutError, match="no valid slot"):
        chronicle.committed_slot(b"\1" * 128)


def test_an_uncommitted_message_and_an_index_node_without_its_file_are_refused() -> None:
    with pytest.raises(LayoutError, match="committed"):
        parse(chronicle.MESSAGE, bytes(64))
    with pytest.raises(LayoutError, match="files"):
        build(comet.INDEX, {"current_entry": 1, "write_offset": 0, "nodes": [{"entry": 0, "file": 0, "offset": 0}], "files": []})


def test_fnv1a_gives_the_published_values() -> None:
    assert [comet.fnv1a(text) for text in ("", "a", "foobar")] == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]


def test_wrong_or_missing_values_are_refused_with_the_fields_named() -> None:
    with pytest.raises(LayoutError, match="epoch"):
        build(chronicle.LEASE, {"pid": 1})
    with pytest.raises(LayoutError):
        build(chronicle.LEASE, {"pid": 1 << 32, "epoch": 0, "timestamp_ns": 0})
    with pytest.raises(LayoutError):
        build(ombus.SUBSCRIBE, {"flags": 0, "start_seq": 0, "stream_name": "x" * 64})
