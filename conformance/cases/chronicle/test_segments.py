"""Segments: header and seal, the roll as its readers see it, and when a reader goes on to the next (CHR-05, 12, 13)."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from fireassay.conformance.cases.chronicle import queue
from fireassay.conformance.cases.chronicle.queue import HEADER, SMALL, Queue, message, pad, segment
from fireassay.conformance.cases.chronicle.watch import rolls, watching
from fireassay.conformance.cases.through import appended, numbered, payloads_of, read, told, unlike
from fireassay.conformance.driver.client import DriverTarget
from fireassay.spec import layouts
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.ports import ReaderPort, Target

OLD = [message(b"old %d" % number, number) for number in range(3)]
NEW = [message(b"new %d" % number, 3 + number) for number in range(2)]
OLD_END = HEADER + sum(map(len, OLD))
REST = pad(SMALL - OLD_END, len(OLD))
FOLLOWING = segment(1, SMALL, NEW)


def header_of(number: int, *, sealed: bool) -> bytes:
    return layouts.build(layout.SEGMENT_HEADER, {"segment_id": number, "flags": layout.SEALED if sealed else 0})


@pytest.mark.clause("CHR-05")
def test_every_segment_has_its_header_and_all_but_the_last_are_sealed(target: Target, place: Path) -> None:
    here = queue.made(place / "q", SMALL)
    with target.open_writer("q") as writer:
        appended(writer, numbered(80))
        ids = here.ids()
        assert len(ids) > 3, f"80 records led to segment {ids[-1]}, and the case shows nothing"
        for number in ids:
            found, expected = here.segment_path(number).read_bytes()[: HEADER + 4], header_of(number, sealed=number < ids[-1])
            assert found[:HEADER] == expected, (
                f"the header of segment {number} of {ids[-1]} is {found[:20].hex(' ', 4)}…, expected {expected[:20].hex(' ', 4)}…"
            )
            assert found[HEADER:] != bytes(4), f"nothing is committed at byte 64 of segment {number}, where data begins"


@pytest.mark.clause("CHR-05")
def test_nothing_is_added_to_a_sealed_segment(target: Target, place: Path) -> None:
    """Looked at after every record: what was sealed once stays, byte for byte."""
    here, sealed = queue.made(place / "q", 1024), dict[int, bytes]()
    with target.open_writer("q") as writer:
        for payload in numbered(60):
            appended(writer, [payload[:100]])
            for number in here.ids():
                data = here.segment_path(number).read_bytes()
                if number in sealed and data != sealed[number]:
                    at = next(at for at, (a, b) in enumerate(zip(data, sealed[number], strict=True)) if a != b)
                    pytest.fail(f"segment {number} was SEALED, and then its byte {at} changed from {sealed[number][at]} to {data[at]}")
                if data[12] & layout.SEALED:
                    sealed[number] = data
    assert len(sealed) > 3


@pytest.mark.clause("CHR-12")
def test_a_segment_is_sealed_when_the_next_is_there_and_its_rest_is_filled(target: Target, place: Path) -> None:
    here = queue.made(place / "q", SMALL)
    with target.open_writer("q") as writer:
        first = here.control()["current_segment"]
        with watching(rolls, here.path, first) as watch:
            for payload in numbered(160):
                appended(writer, [payload])
            sight = watch.stop()
        last = here.control()["current_segment"]
    assert not sight.faults, f"{len(sight.faults)} faults in {sight.seen} rolls: {'; '.join(sight.faults[:3])}"
    assert sight.seen == last - first > 3, f"the watcher saw {sight.seen} segments sealed, of {last - first} that were left"


@pytest.mark.clause("CHR-12")
def test_a_rest_is_filled_by_one_padding_to_its_last_byte(target: Target, place: Path) -> None:
    here = queue.made(place / "q", 1024)
    with target.open_writer("q") as writer:
        first = here.control()["current_segment"]
        appended(writer, [b"x" * length for length in (700, 300, 830, 896, 832, 1)])  # behind 830, 896 and 832 lie 64, 0 and 64 bytes
        left = [here.segment(number) for number in here.ids() if number >= first][:-1]
    for each in left:
        pads = [record for record in each.records if record.is_pad]
        ends = [record.offset + queue.span(len(record.payload)) for record in each.records]
        assert each.sealed, f"segment {each.id} was left and is not SEALED"
        assert ends[-1] == each.size, f"the records of segment {each.id} end at byte {ends[-1]} of {each.size}: its rest has no PAD"
        assert len(pads) <= 1, f"segment {each.id} has {len(pads)} PADs at {[record.offset for record in pads]}, expected one"


@pytest.mark.clause("CHR-12")
def test_a_segment_is_preallocated(target: Target, place: Path) -> None:
    size = 1 << 20  # so much that no writer has written over all of it before it is used
    here = queue.made(place / "q", size)
    probe = place / "probe"
    with probe.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
    if probe.stat().st_blocks * 512 < size:
        pytest.skip("this file system does not tell what is allocated")
    with target.open_writer("q") as writer:
        current = here.control()["current_segment"]
        appended(writer, [b"x" * 600_000, b"y" * 600_000])
        blocks = {number: here.segment_path(number).stat().st_blocks * 512 for number in (current, current + 1)}
    thin = {number: found for number, found in blocks.items() if found < size}
    assert not thin, f"of {size} bytes a segment these have blocks for fewer: {thin}; a store into the rest can die of SIGBUS"


@pytest.mark.clause("CHR-12")
def test_a_reader_that_follows_passes_every_roll(target: Target, apart: DriverTarget, place: Path) -> None:
    here, sent = queue.made(place / "q", 1024), numbered(120)
    with apart.open_writer("q") as writer, target.open_reader("q", "reader") as reader:
        found = []
        for payload in sent:
            appended(writer, [payload])
            found += payloads_of(read(reader, 1, limit=1))
            assert found[-1:] == [payload], f"after {here.control()['current_segment']} rolls: expected {payload!r}, found {found[-1:]!r}"


# -- a queue in every state of a roll, made by hand


def read_of(reader: ReaderPort) -> list[bytes]:
    """What one read gives; an error gives nothing."""
    return payloads_of(reader.read_batch(8, 0.0).records)


def opened(target: Target, place: Path, segments: Sequence[bytes], **control: int) -> tuple[Queue, ReaderPort]:
    """The queue, and a reader that has read what is old."""
    here = queue.made(place / "q", SMALL, segments, **control)
    reader = target.open_reader("q", "reader")
    found = payloads_of(read(reader, len(OLD)))
    assert found == [b"old 0", b"old 1", b"old 2"], f"segment 0 holds old 0 to old 2; found {told(found)}"
    return here, reader


@pytest.mark.clause("CHR-13")
def test_a_reader_goes_on_when_the_segment_is_full_sealed_and_followed_and_not_before(target: Target, place: Path) -> None:
    here, reader = opened(target, place, [segment(0, SMALL, OLD)], write_offset=OLD_END)
    with reader:
        steps = (
            ("nothing is done yet", lambda: None),
            ("the next file is there", lambda: here.segment_path(1).write_bytes(FOLLOWING)),
            ("current_segment names it", lambda: here.set_control(current_segment=1, write_offset=HEADER, segment_gen=2)),
            ("the rest is padded", lambda: here.overwrite(here.segment_path(0), OLD_END, REST)),
        )
        for state, step in steps:
            step()
            found = read_of(reader)
            assert not found, f"while {state} and segment 0 is not SEALED the reader left it: it read {told(found)}"
        here.overwrite(here.segment_path(0), 0, header_of(0, sealed=True))
        found = payloads_of(read(reader, len(NEW)))
    assert found == [b"new 0", b"new 1"], f"segment 0 is full and SEALED and segment 1 holds new 0 and new 1; found {told(found)}"


@pytest.mark.clause("CHR-13")
def test_the_hint_decides_nothing(target: Target, place: Path) -> None:
    """It points ahead, or far ahead, while the segments are all there; then it points back."""
    there = [segment(0, SMALL, [*OLD, REST], sealed=True), FOLLOWING]
    for stream, hint in (("ahead", 1), ("far", 7), ("back", 0)):
        queue.made(place / stream, SMALL, there, current_segment=hint, write_offset=HEADER)
        with target.open_reader(stream, "reader") as reader:
            found = payloads_of(read(reader, len(OLD) + len(NEW), within_s=1.0))
        expected = [b"old 0", b"old 1", b"old 2", b"new 0", b"new 1"]
        assert found == expected, f"with current_segment {hint}: {unlike(found, expected)}"


@pytest.mark.clause("CHR-13")
def test_a_reader_waits_for_the_next_file(target: Target, place: Path) -> None:
    here, reader = opened(target, place, [segment(0, SMALL, [*OLD, REST], sealed=True)], current_segment=1)
    with reader:
        for _ in range(2):
            batch = reader.read_batch(8, 0.0)
            assert not batch.records, f"there is no segment 1 yet, and the reader read {told(payloads_of(batch.records))}"
        here.segment_path(2).write_bytes(segment(2, SMALL, [message(b"skipped", 9)]))
        found = read_of(reader)
        assert not found, f"there is no segment 1, only a segment 2, and the reader read {told(found)}"
        here.segment_path(1).write_bytes(FOLLOWING)
        found = payloads_of(read(reader, len(NEW)))
    assert found == [b"new 0", b"new 1"], f"segment 1 appeared with new 0 and new 1; found {told(found)}"


@pytest.mark.clause("CHR-13")
def test_a_reader_does_not_leave_a_sealed_segment_before_its_end(target: Target, place: Path) -> None:
    """There is room for a header where it stands, and nothing is committed there: it may complain, but not go on."""
    _, reader = opened(target, place, [segment(0, SMALL, OLD, sealed=True), FOLLOWING], current_segment=1)
    with reader:
        found = read_of(reader) + read_of(reader)
    assert not found, f"{SMALL - OLD_END} bytes of segment 0 are unread and not committed, and the reader went on: {told(found)}"
