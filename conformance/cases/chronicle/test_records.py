"""Records in the files: header, commit word, alignment, PAD, and what is there at the moment of the commit (CHR-01, 02, 03, 06)."""

import struct
import time
from pathlib import Path

import pytest

from fireassay.conformance.cases.chronicle import queue
from fireassay.conformance.cases.chronicle.queue import HEADER, SMALL, Queue, message, pad, segment, span
from fireassay.conformance.cases.chronicle.watch import commits, watching
from fireassay.conformance.cases.through import appended, numbered, payloads_of, read, told, unlike
from fireassay.conformance.driver.client import DriverTarget
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import ErrorClass, Outcome
from fireassay.spec.ports import Target, TypedWriterPort

LENGTHS = (0, 1, 3, 0, 63, 64, 65, 127, 128, 129, 191, 192, 500)
ONE_OF_EACH = [bytes([65 + number]) * length for number, length in enumerate(LENGTHS)]
FIELDS = struct.Struct("<I4xQQHHI32s")  # commit_len, seq, timestamp_ns, type_id, flags, reserved_u32, pad


@pytest.mark.clause("CHR-01")
def test_a_record_begins_with_its_header_field_by_field(target: Target, place: Path) -> None:
    before = time.time_ns()
    with target.open_writer("q") as writer:
        appended(writer, ONE_OF_EACH)
        after = time.time_ns()
        here = Queue(place / "q")
        control = here.control()
        data = here.segment_path(control["current_segment"]).read_bytes()
    at, last_seq = HEADER, None
    for number, payload in enumerate(ONE_OF_EACH):
        where = f"record {number} at byte {at} of segment {control['current_segment']}"
        word, seq, stamp, type_id, _, _, rest = FIELDS.unpack_from(data, at)
        assert word == len(payload) + 1, f"{where}: commit_len at 0 is {word}, expected {len(payload) + 1}"
        assert last_seq is None or seq == last_seq + 1, f"{where}: seq at 8 is {seq}, expected {last_seq} + 1"
        assert before <= stamp <= after, f"{where}: timestamp_ns at 16 is {stamp}, expected the time of the append, {before} to {after}"
        assert type_id != layout.PAD, f"{where}: type_id at 24 says PAD"
        assert data[at + 4 : at + 8] == bytes(4), f"{where}: bytes 4 to 7 are {data[at + 4 : at + 8].hex()}, expected zeros"
        assert rest == bytes(32), f"{where}: bytes 32 to 63 are {rest.hex()}, expected zeros"
        found = data[at + HEADER : at + HEADER + len(payload)]
        assert found == payload, f"{where}: the payload at 64 is {found!r}, expected {payload!r}"
        at, last_seq = at + span(len(payload)), seq


@pytest.mark.clause("CHR-01")
def test_a_records_type_stands_in_its_header(target: Target, place: Path) -> None:
    with target.open_writer("q") as writer:
        if not isinstance(writer, TypedWriterPort):
            pytest.skip("its port cannot append a record with a type")
        for type_id in (1, 0x1234, 0xFFFE):
            appended(writer, [b"typed"], type_id)
        found = [record.type_id for record in Queue(place / "q").records()]
    assert found == [1, 0x1234, 0xFFFE], f"type_id at 24: expected 0x1, 0x1234, 0xfffe, found {', '.join(map(hex, found))}"


@pytest.mark.clause("CHR-01", "CHR-02")
def test_a_queue_that_another_build_has_written_is_read(target: Target, place: Path) -> None:
    records = [
        message(payload, 7 + number, type_id=number * 101, flags=number, timestamp_ns=queue.STAMP + number)
        for number, payload in enumerate(ONE_OF_EACH)
    ]
    queue.made(place / "q", SMALL, [segment(0, SMALL, records)])
    with target.open_reader("q", "reader") as reader:
        found = read(reader)
    said = payloads_of(found)
    assert said == ONE_OF_EACH, unlike(said, ONE_OF_EACH)
    stamps = [record.timestamp_ns for record in found if record.timestamp_ns is not None]
    assert stamps in ([], [queue.STAMP + number for number in range(len(records))]), f"timestamps: found {stamps}"


@pytest.mark.clause("CHR-02")
def test_the_commit_word_is_the_length_and_one_and_headers_are_aligned(target: Target, place: Path) -> None:
    """Walked by the commit words alone, as any reader does, and by where the appended lengths put each header."""
    here = queue.made(place / "q", SMALL)
    with target.open_writer("q") as writer:
        current = here.control()["current_segment"]
        largest = SMALL - 2 * HEADER
        for payload in ONE_OF_EACH:
            appended(writer, [payload])
        appended(writer, [b"x" * largest])
        data, whole = here.segment_path(current).read_bytes(), here.segment_path(current + 1).read_bytes()
    at = HEADER
    for payload in ONE_OF_EACH:
        (word,) = struct.unpack_from("<I", data, at)
        where = f"segment {current}, byte {at}, behind the records before it"
        assert word == len(payload) + 1, f"{where}: commit_len of {len(payload)} bytes is {word}, expected {len(payload) + 1}"
        at += span(len(payload))
    (word,) = struct.unpack_from("<I", whole, HEADER)
    assert word == largest + 1, f"a record that fills segment {current + 1} has the commit word {word}, expected {largest + 1}"


@pytest.mark.clause("CHR-02")
def test_an_empty_payload_is_a_record(target: Target) -> None:
    sent = [b"", b"a", b"", b"", b"b"]
    with target.open_writer("q") as writer, target.open_reader("q", "reader") as reader:
        for payload in sent:
            appended(writer, [payload])
        found = payloads_of(read(reader))
    assert found == sent, unlike(found, sent)


@pytest.mark.clause("CHR-03")
def test_padding_lies_in_the_files_and_is_never_read(target: Target, place: Path) -> None:
    here, sent = queue.made(place / "q", SMALL), numbered(90)
    with target.open_writer("q") as writer, target.open_reader("q", "reader") as reader:
        appended(writer, sent)
        pads = [record for each in here.segments() for record in each.records if record.is_pad]
        found = payloads_of(read(reader))
    assert len(pads) >= 3, f"{len(here.ids())} segments hold {len(pads)} PADs: the rolls left none, and the case shows nothing"
    assert found == sent, unlike(found, sent)


@pytest.mark.clause("CHR-03")
def test_padding_in_any_place_is_stepped_over(target: Target, place: Path) -> None:
    """By its length, whatever that is: also one between records, and one without a payload."""
    records = [pad(HEADER, 0), message(b"first", 0), pad(5 * HEADER, 1), message(b"", 1), pad(2 * HEADER, 2), message(b"last", 2)]
    queue.made(place / "q", SMALL, [segment(0, SMALL, records)])
    with target.open_reader("q", "reader") as reader:
        found = payloads_of(read(reader))
    assert found == [b"first", b"", b"last"], f"between PADs lie first, an empty one, last; found {told(found)}"


@pytest.mark.clause("CHR-03")
def test_a_user_cannot_append_padding(target: Target, place: Path) -> None:
    with target.open_writer("q") as writer, target.open_reader("q", "reader") as reader:
        if not isinstance(writer, TypedWriterPort):
            pytest.skip("its port cannot append a record with a type")
        appended(writer, [b"before"], 1)
        refused = writer.append_typed(layout.PAD, [b"padding"])
        assert refused.outcome is Outcome.FAIL, f"an append with type 0xFFFF was {refused.outcome.value}, expected fail"
        assert refused.error is not None
        assert refused.error.error is ErrorClass.INVALID, f"an append with type 0xFFFF was refused as {refused.error.error.name}"
        appended(writer, [b"after"], 1)
        found = payloads_of(read(reader))
        pads = [record for each in Queue(place / "q").segments() for record in each.records if record.is_pad]
    assert found == [b"before", b"after"], f"expected before and after; found {told(found)}"
    assert not pads, f"the refused append left a PAD at byte {pads[0].offset}"


@pytest.mark.clause("CHR-06")
def test_a_commit_word_comes_when_everything_else_is_there(target: Target, place: Path) -> None:
    here, sent = queue.made(place / "q", SMALL), numbered(240)
    with target.open_writer("q") as writer:
        current = here.control()["current_segment"]
        with watching(commits, here.path, current, sent) as watch:
            for number in range(0, len(sent), 4):
                appended(writer, sent[number : number + 4])
            sight = watch.stop()
    assert not sight.faults, f"{len(sight.faults)} of {sight.seen} records were committed too early: {'; '.join(sight.faults[:2])}"
    assert sight.seen == len(sent), f"of {len(sent)} records that were appended {sight.seen} have a commit word"


@pytest.mark.clause("CHR-06")
def test_a_reader_in_another_process_reads_each_payload_whole(target: Target, apart: DriverTarget, place: Path) -> None:
    """While they are written: exactly their length, exactly their bytes."""
    queue.made(place / "q", SMALL)
    sent = numbered(300)
    with apart.open_writer("q") as writer, target.open_reader("q", "reader") as reader:
        found = []
        for number in range(0, len(sent), 20):
            appended(writer, sent[number : number + 20])
            found += payloads_of(read(reader, 10))
        found += payloads_of(read(reader, len(sent) - len(found)))
    wrong = next((number for number, (a, b) in enumerate(zip(found, sent, strict=False)) if a != b), min(len(found), len(sent)))
    assert found == sent, (
        f"{len(found)} of {len(sent)} records were read; record {wrong}: "
        f"expected {sent[wrong] if wrong < len(sent) else None!r}, found {found[wrong] if wrong < len(found) else None!r}"
    )
