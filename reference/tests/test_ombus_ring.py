"""The ring of om_bus: what is published is polled, whole, once, in order, or the reader is told."""

import logging
import zlib
from pathlib import Path

import numpy as np
import pytest

from fireassay.reference.ombus.endpoint import LATEST, Gap, Record
from fireassay.reference.ombus.stream import Stream
from fireassay.reference.tests.ombus_files import (
    NAME,
    UNREGISTERED,
    endpoint,
    header,
    patch,
    publish,
    refused,
    seqs,
    slot_at,
    stream,
    tail_of,
)
from fireassay.spec import layouts
from fireassay.spec.layouts import ombus as layout
from fireassay.spec.layouts.ombus import ErrorCode
from fireassay.spec.outcomes import ErrorClass


def test_the_region_is_what_the_specification_says_field_by_field(tmp_path: Path) -> None:
    with Stream(NAME, directory=tmp_path, crc=True) as bus, endpoint(tmp_path, 3) as port:
        bus.publish(1, b"first", 0x90)
        bus.publish(2, b"", 3)
        assert [port.poll(), port.poll()] == [Record(1, 0x90, b"first"), Record(2, 3, b"")]
        data = (tmp_path / "bus").read_bytes()
        assert len(data) == layout.region_size() == 1_053_184
        page = layouts.parse(layout.SHM_HEADER, data[:4096])
        fields = ("slot_size", "capacity", "max_consumers", "flags", "head", "stream_name", "incarnation")
        assert [page[field] for field in fields] == [256, 4096, 8, 1, 2, NAME, bus.incarnation]
        tails = [tail_of(tmp_path, consumer) for consumer in range(8)]
        assert tails == [(2, 2) if consumer == 3 else (UNREGISTERED, 0) for consumer in range(8)]
        slots = [layouts.parse(layout.SLOT_HEADER, data[4096 + 512 + 256 * at :][:24]) for at in range(3)]
        assert [(slot["seq"], slot["wal_seq"], slot["wal_type"], slot["payload_len"]) for slot in slots] == [
            (1, 1, 0x90, 5), (2, 2, 3, 0), (0, 0, 0, 0),
        ]  # fmt: skip
        assert [slot["crc32"] for slot in slots] == [zlib.crc32(b"first"), 0, 0]


def test_records_go_round_the_ring_many_times_one_by_one_and_in_batches(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    with stream(tmp_path, crc=True) as bus, endpoint(tmp_path) as copies, endpoint(tmp_path, 1, zero_copy=True) as views:
        sent, got = [], ([], [])
        for _ in range(300):
            count = int(rng.integers(1, 9))
            batch = [(len(sent) + 1 + i, int(rng.integers(0x80, 0x100)), rng.bytes(int(rng.integers(0, 41)))) for i in range(count)]
            sent += batch
            bus.publish_batch(batch, 0.0)
            for port, into in zip((copies, views), got, strict=True):
                while records := (port.poll_batch(int(rng.integers(1, 5))) if rng.integers(2) else tuple(filter(None, [port.poll()]))):
                    into += [(record.wal_seq, record.wal_type, bytes(record.payload)) for record in records]
        assert got[0] == sent
        assert got[1] == sent


def test_columns_are_the_same_records(tmp_path: Path) -> None:
    with stream(tmp_path, 64) as bus, endpoint(tmp_path) as port:
        bus.publish_joined(5, [1, 2, 3], b"abcdef", [1, 2, 3])
        bus.publish_joined([8, 9], 0x80, bytes(range(80)), 40)
        with pytest.raises(Gap) as gap:
            port.poll_columns(10)
        assert (gap.value.record, gap.value.missing) == (Record(5, 1, b"a"), (1, 5))
        found = port.poll_columns(10)
        assert (found.wal_seqs.tolist(), found.wal_types.tolist(), found.lengths.tolist()) == (
            [6, 7, 8, 9],
            [2, 3, 128, 128],
            [2, 3, 40, 40],
        )
        assert found.payloads.tobytes() == b"bcdef" + bytes(range(80))
        assert len(port.poll_columns(10)) == 0
        with pytest.raises(ValueError, match="add up"):
            bus.publish_joined(10, 1, b"abc", [1])
        with pytest.raises(ValueError, match=r"65,535"):
            bus.publish_joined(10, 1, bytes(65_536), 65_536)


def test_a_record_that_is_too_large_leaves_no_trace(tmp_path: Path) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path) as port:
        assert bus.max_payload == 40
        assert refused(ErrorCode.RECORD_TOO_LARGE, lambda: bus.publish(1, bytes(41))).error_class is ErrorClass.TOO_LARGE
        error = refused(ErrorCode.RECORD_TOO_LARGE, lambda: bus.publish_batch([(1, 9, b"x"), (2, 9, bytes(41)), (3, 9, b"y")]))
        assert error.done == 1
        bus.publish(2, bytes(40))
        assert [(record.wal_seq, len(record.payload)) for record in port] == [(1, 1), (2, 40)]


def test_a_full_ring_blocks_and_what_is_not_there_does_not_count(tmp_path: Path) -> None:
    with stream(tmp_path, consumers=3) as bus:
        publish(bus, *range(1, 21))  # nobody is there
        with endpoint(tmp_path, 1, from_seq=LATEST) as port:
            publish(bus, *range(21, 29))
            error = refused(ErrorCode.BLOCKED, lambda: publish(bus, 29))
            assert error.error_class is ErrorClass.WOULD_BLOCK
            error = refused(ErrorCode.BLOCKED, lambda: bus.publish_batch([(29, 1, b""), (30, 1, b"")], 0.0))
            assert (error.done, bus.head, bus.waits) == (0, 28, 2)
            assert port.poll() == Record(21, 0x80, b"payload 21")
            error = refused(ErrorCode.BLOCKED, lambda: bus.publish_batch([(29, 1, b""), (30, 1, b"")], 0.0))
            assert (error.done, header(tmp_path)["head"], header(tmp_path)["min_tail"]) == (1, 29, 21)
            assert seqs(port) == list(range(22, 30))
        publish(bus, *range(30, 60))  # it has given its place back
        assert bus.head - header(tmp_path)["min_tail"] <= 8


def test_a_poll_tells_a_gap_with_its_record_and_goes_on_behind_it(tmp_path: Path) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path) as port:
        publish(bus, 1, 2, 5)
        assert [record.wal_seq for record in port.poll_batch(9)] == [1, 2]
        with pytest.raises(Gap) as gap:
            port.poll_batch(9)
        assert (gap.value.code, gap.value.missing, gap.value.record) == (ErrorCode.GAP_DETECTED, (3, 5), Record(5, 0x80, b"payload 5"))
        assert (port.expected, port.wal_seq, tail_of(tmp_path, 0)) == (6, 5, (3, 5))
        publish(bus, 6)
        assert seqs(port) == [6]


def test_duplicates_are_skipped_counted_and_warned_about(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path) as port, caplog.at_level(logging.WARNING):
        publish(bus, 1, 2, 1, 2, 3, 3, 2)
        assert [record.wal_seq for record in port.poll_batch(9)] == [1, 2]
        assert seqs(port) == [3]
        assert (port.duplicates, tail_of(tmp_path, 0)) == (4, (7, 3))
        assert [record.getMessage() for record in caplog.records] == [
            "/bus: 2 duplicates skipped before 4", "/bus: 2 duplicates skipped before 4",
        ]  # fmt: skip
        publish(bus, *[1] * 8)  # a whole ring of them
        assert port.poll() is None
        publish(bus, 4)
        assert seqs(port) == [4]


@pytest.mark.parametrize("zero_copy", [False, True])
def test_a_damaged_payload_is_passed_over_and_reported_once(tmp_path: Path, zero_copy: bool) -> None:
    with stream(tmp_path, crc=True) as bus, endpoint(tmp_path, zero_copy=zero_copy) as port:
        publish(bus, 1, 2, 3, 4)
        patch(tmp_path, slot_at(1) + 24, b"P")
        assert [record.wal_seq for record in port.poll_batch(9)] == [1]
        error = refused(ErrorCode.CRC_MISMATCH, lambda: port.poll_batch(9))
        assert "sequence 2 is damaged" in str(error)
        assert (port.damaged, port.expected, tail_of(tmp_path, 0)) == (1, 3, (2, 2))
        assert seqs(port) == [3, 4]


def test_a_damaged_sequence_is_not_believed_and_shows_as_a_gap(tmp_path: Path) -> None:
    """No checksum covers it: taken at its word, it would make duplicates of all that follow."""
    with stream(tmp_path, crc=True) as bus, endpoint(tmp_path) as port:
        publish(bus, 1, 2, 3)
        patch(tmp_path, slot_at(1) + 8, (99).to_bytes(8, "little") + b"\x80\0\x09\0" + b"wrong")
        assert port.poll() is not None
        refused(ErrorCode.CRC_MISMATCH, port.poll)
        with pytest.raises(Gap) as gap:
            port.poll()
        assert (gap.value.missing, gap.value.record.wal_seq) == ((2, 3), 3)


def test_a_length_that_no_slot_can_hold_is_damage_without_a_checksum_too(tmp_path: Path) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path) as port:
        publish(bus, 1, 2)
        patch(tmp_path, slot_at(0) + 18, (41).to_bytes(2, "little"))
        refused(ErrorCode.CRC_MISMATCH, port.poll)
        assert seqs(port) == [2]


def test_a_slot_of_a_later_lap_that_nobody_can_have_written_is_damage(tmp_path: Path) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path) as port:
        publish(bus, 1, 2)
        patch(tmp_path, slot_at(0), (9).to_bytes(8, "little"))
        refused(ErrorCode.CRC_MISMATCH, port.poll)
        with pytest.raises(Gap) as gap:
            port.poll()
        assert gap.value.missing == (1, 2)


def test_a_view_is_given_back_by_the_next_poll_and_not_before(tmp_path: Path) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path, zero_copy=True) as port:
        publish(bus, *range(1, 9))
        records = port.poll_batch(3)
        refused(ErrorCode.BLOCKED, lambda: publish(bus, 9))
        assert [bytes(record.payload) for record in records] == [b"payload %d" % seq for seq in (1, 2, 3)]
        assert tail_of(tmp_path, 0) == (0, 0)
        held = port.poll()
        assert held is not None
        assert tail_of(tmp_path, 0) == (3, 3)
        publish(bus, 9, 10, 11)
        refused(ErrorCode.BLOCKED, lambda: publish(bus, 12))
        assert bytes(held.payload) == b"payload 4"
        with pytest.raises(ValueError, match="released"):
            bytes(records[0].payload)
    with pytest.raises(ValueError, match="released"):
        bytes(held.payload)


def test_a_view_in_use_elsewhere_is_not_taken_away(tmp_path: Path) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path, zero_copy=True) as port:
        publish(bus, 1, 2)
        record = port.poll()
        assert record is not None
        part = memoryview(record.payload)[3:]
        with pytest.raises(BufferError, match="release every view"):
            port.poll()
        assert part == b"load 1"
        part.release()
        assert port.poll() is not None


def test_every_endpoint_sees_everything_at_its_own_pace(tmp_path: Path) -> None:
    with stream(tmp_path, consumers=3) as bus, endpoint(tmp_path, 0) as one, endpoint(tmp_path, 2) as two:
        publish(bus, 1, 2, 3)
        assert seqs(one) == [1, 2, 3]
        publish(bus, 4, 5)
        assert seqs(two) == [1, 2, 3, 4, 5]
        assert [tail_of(tmp_path, consumer)[0] for consumer in range(3)] == [3, UNREGISTERED, 5]
        assert seqs(one) == [4, 5]


@pytest.mark.parametrize(
    ("from_seq", "missing", "rest"),
    [
        (None, (1, 17), [18]),
        (1, (1, 17), [18]),
        (16, (16, 17), [18]),
        (17, None, [17, 18]),
        (18, None, [18]),
        (19, None, []),
        (20, None, []),
    ],
)
def test_who_attaches_late_gets_what_the_ring_holds_and_is_told_of_the_rest(
    tmp_path: Path, from_seq: int | None, missing: tuple[int, int] | None, rest: list[int]
) -> None:
    with stream(tmp_path) as bus:
        publish(bus, *range(1, 19))
        assert header(tmp_path)["min_tail"] == 16  # so that 17 and 18 are kept for whoever comes
        with endpoint(tmp_path, from_seq=from_seq) as port:
            if missing is not None:
                with pytest.raises(Gap) as gap:
                    port.poll()
                assert (gap.value.missing, gap.value.record.wal_seq) == (missing, missing[1])
            assert seqs(port) == rest
            publish(bus, 19, 20)
            assert seqs(port) == [seq for seq in (19, 20) if seq >= (from_seq or 1)]


def test_latest_means_what_comes_from_now_on(tmp_path: Path) -> None:
    with stream(tmp_path) as bus:
        publish(bus, 1, 2, 3)
        with endpoint(tmp_path, from_seq=LATEST) as port:
            assert (port.poll(), port.expected) == (None, 0)
            publish(bus, 9)
            assert seqs(port) == [9]
            assert port.expected == 10


def test_a_consumer_that_comes_back_goes_on_where_its_tail_was(tmp_path: Path) -> None:
    with stream(tmp_path) as bus:
        with endpoint(tmp_path) as port:
            publish(bus, 1, 2, 3)
            assert (port.poll(), port.poll()) != (None, None)
        assert tail_of(tmp_path, 0) == (UNREGISTERED, 2)
        with endpoint(tmp_path) as port:
            assert seqs(port) == [3]
        publish(bus, *range(4, 20))
        with endpoint(tmp_path) as port, pytest.raises(Gap) as gap:
            port.poll()
        assert gap.value.missing[0] == 4
