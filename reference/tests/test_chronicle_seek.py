"""Readers sent to a number, to a time, to the oldest record."""

import random
import struct
from pathlib import Path

import pytest

from fireassay.reference import core
from fireassay.reference.chronicle.limits import Limits
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.core import CoreError
from fireassay.reference.tests.chronicle_files import readable
from fireassay.spec.outcomes import ErrorClass

SEGMENT = 1024


def made(queue: Path, stamps: list[int], chance: random.Random) -> Writer:
    writer = Writer(queue, SEGMENT, heartbeat_s=0, limits=Limits(reader_ttl_s=0))
    for stamp in stamps:
        writer.append(bytes(chance.choice((0, 10, 100, 700))), timestamp_ns=stamp)
    return writer


def first_read(reader: Reader) -> int | None:
    batch = reader.read_batch(1)
    return batch.messages[0].seq if batch.messages else None


@pytest.mark.parametrize("seed", range(4))
def test_a_seek_lands_on_the_first_record_that_qualifies(tmp_path: Path, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    stamps = sorted(chance.choices(range(100, 200), k=chance.choice((1, 3, 60, 150))))
    count = len(stamps)
    with made(tmp_path / "q", stamps, chance) as writer, Reader(tmp_path / "q", "r", heartbeat_s=0) as reader:
        writer.retain()
        oldest = readable(tmp_path / "q")[0].seq
        for number in range(count):
            assert reader.seek_number(number) == max(number, oldest)
            assert first_read(reader) == max(number, oldest)
        for time_ns in (0, *range(99, 202)):
            expected = next((n for n in range(oldest, count) if stamps[n] >= time_ns), None)
            assert reader.seek_time(time_ns) == (count if expected is None else expected)
            assert first_read(reader) == expected
        assert (reader.seek_number(count), first_read(reader)) == (count, None)
        writer.append(b"next")
        assert first_read(reader) == count
        with pytest.raises(CoreError, match=f"there is no record {count + 2}: the next one gets number {count + 1}") as refused:
            reader.seek_number(count + 2)
        assert refused.value.error_class is ErrorClass.INVALID
        assert first_read(reader) is None, "it stands where it stood"


def test_an_empty_queue_and_one_that_was_just_taken_over_have_an_end(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer, Reader(tmp_path / "q", "r") as reader:
        assert (reader.seek_number(0), reader.seek_time(0), reader.seek_time(2**63)) == (0, 0, 0)
        writer.append_batch([b"x"] * 3)
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer, Reader(tmp_path / "q", "r") as reader:
        assert (reader.seek_number(3), reader.seek_time(2**63), reader.seek_number(1)) == (3, 3, 1)
        assert [message.seq for message in reader.read_batch(9).messages] == [1, 2]
        assert reader.seek_number(3) == 3
        writer.append(b"y")
        assert first_read(reader) == 3


def test_a_seek_says_so_when_the_place_cannot_be_reached_or_trusted(tmp_path: Path) -> None:
    with made(tmp_path / "q", [5] * 30, random.Random(1)), Reader(tmp_path / "q", "r") as reader:
        assert reader.seek_number(20) == 20
        with (tmp_path / "q" / "000000000.q").open("r+b") as file:
            file.seek(64 + 8)
            file.write(struct.pack("<Q", 77))
        with pytest.raises(CoreError, match="no record at 64 that can be trusted") as refused:
            reader.seek_number(1)
        assert refused.value.error_class is ErrorClass.CORRUPT
        assert first_read(reader) == 20, "it stands where it stood"
    with pytest.raises(CoreError, match="is closed"):
        reader.seek_time(1)


def test_a_reader_whose_segment_is_gone_may_go_to_what_is_left(tmp_path: Path) -> None:
    with made(tmp_path / "q", [5] * 10, random.Random(2)) as writer, Reader(tmp_path / "q", "r", heartbeat_s=0) as reader:
        for _ in range(10):
            writer.append(bytes(700))
        writer.retain()
        reader.read_batch(99)
        with pytest.raises(CoreError, match="SegmentMissing"):
            reader.read_batch(1)
        assert reader.seek_number(0) == 19
        assert not reader.missing
        assert first_read(reader) == 19


def test_records_without_a_check_are_stored_where_the_writer_asks_for_it(tmp_path: Path) -> None:
    for checked in (True, False):
        queue = tmp_path / str(checked)
        with Writer(queue, SEGMENT, heartbeat_s=0, checked=checked) as writer, Reader(queue, "r") as reader:
            writer.append(b"payload")
            with writer.reserve(7) as place:
                place.payload[:] = b"payload"
            data = (queue / "000000000.q").read_bytes()
            assert [data[at + 28 : at + 32] != bytes(4) for at in (64, 192)] == [checked] * 2
            with (queue / "000000000.q").open("r+b") as file:
                file.seek(128)
                file.write(b"X")
            if checked:
                with pytest.raises(CoreError, match="can be trusted"):
                    reader.read_batch(9)
            else:
                assert [message.payload for message in reader.read_batch(9).messages] == [b"Xayload", b"payload"]


def test_a_closed_reader_of_the_core_seeks_nowhere() -> None:
    ffi, lib = core.load()
    err, reader, granted = ffi.new("fa_error *"), ffi.new("chronicle_reader *"), ffi.new("uint64_t *")
    with pytest.raises(CoreError, match="is closed"):
        core.check(ffi, err, lib.chronicle_seek_number(reader, 0, granted, err))
