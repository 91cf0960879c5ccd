"""Segments read where they lie, records with a given timestamp, copies from queue to queue, and going to a place."""

import hashlib
from pathlib import Path

import pytest

from fireassay.reference.chronicle.reader import Reader, span
from fireassay.reference.chronicle.segments import Stop, map_segment, segment_ids
from fireassay.reference.chronicle.writer import Appended, Writer
from fireassay.reference.core import CoreError
from fireassay.reference.tests.chronicle_files import readable
from fireassay.spec.layouts import LayoutError
from fireassay.spec.outcomes import ErrorClass

SEGMENT = 1024


def queue_of(path: Path, count: int, size: int = SEGMENT) -> Writer:
    made = Writer(path, size, heartbeat_s=0)
    for number in range(count):
        made.append(b"%d" % number * (number % 90), type_id=number % 7, flags=number % 3)
    return made


def digest_of(folder: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())).hexdigest()


def test_a_scan_finds_what_a_reader_finds_and_changes_nothing(tmp_path: Path) -> None:
    with queue_of(tmp_path / "q", 61):
        before = digest_of(tmp_path / "q")
        found = []
        for segment in segment_ids(tmp_path / "q"):
            with map_segment(tmp_path / "q", segment, SEGMENT) as view:
                found += list(view.messages())
                assert view.extent().stop is (Stop.END if view.sealed else Stop.OPEN)
        assert digest_of(tmp_path / "q") == before
        with Reader(tmp_path / "q", "r") as reader:
            read = []
            while not (batch := reader.read_batch(7)).end:
                read += batch.messages
    assert [message.seq for message in found] == list(range(61))
    assert found == read


def test_a_damaged_record_ends_the_scan_there(tmp_path: Path) -> None:
    queue_of(tmp_path / "q", 60).close()
    path = tmp_path / "q" / "000000001.q"
    with map_segment(tmp_path / "q", 1, SEGMENT) as view:
        second = view.scan(limit=1)[1]
    data = bytearray(path.read_bytes())
    data[second + 64] ^= 1
    path.write_bytes(data)
    with map_segment(tmp_path / "q", 1, SEGMENT) as view:
        messages, offset, stop = view.scan()
    assert (len(messages), offset, stop) == (1, second, Stop.BAD)


@pytest.mark.parametrize("offset", [0, 1, 63, 65, SEGMENT + 64])
def test_a_scan_from_where_no_record_can_be_finds_none(tmp_path: Path, offset: int) -> None:
    with queue_of(tmp_path / "q", 3), map_segment(tmp_path / "q", 0, SEGMENT) as view:
        messages, _, stop = view.scan(offset)
    assert (messages, stop) == ([], Stop.END if offset > SEGMENT else Stop.BAD)


def test_a_file_that_is_no_such_segment_is_refused(tmp_path: Path) -> None:
    queue_of(tmp_path / "q", 60).close()
    path = tmp_path / "q" / "000000001.q"
    data = path.read_bytes()
    for broken in (data[:-1], b"", (tmp_path / "q" / "000000000.q").read_bytes(), bytes(SEGMENT)):
        path.write_bytes(broken)
        with pytest.raises(LayoutError):
            map_segment(tmp_path / "q", 1, SEGMENT)


def test_an_importer_gives_the_timestamp(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
        assert writer.append(b"old", type_id=7, flags=9, timestamp_ns=12345) == 0
        assert writer.append_stamped([(5, 1, 2, b"a"), (2**64 - 1, 3, 4, b""), (0, 0, 0, b"c" * 500)]) == (1, 2, 3)
        with pytest.raises(Appended) as refused:
            writer.append_stamped([(1, 0, 0, b"kept"), (1, 0, 0, bytes(SEGMENT)), (1, 0, 0, b"never")])
        assert (refused.value.seqs, refused.value.error_class) == ((4,), ErrorClass.TOO_LARGE)
    stored = [(r.timestamp_ns, r.type_id, r.flags, r.payload) for r in readable(tmp_path / "q")]
    assert stored == [
        (12345, 7, 9, b"old"),
        (5, 1, 2, b"a"),
        (2**64 - 1, 3, 4, b""),
        (0, 0, 0, b"c" * 500),
        (1, 0, 0, b"kept"),
    ]


def test_a_copy_keeps_all_but_the_number_and_stops_before_what_is_refused(tmp_path: Path) -> None:
    with queue_of(tmp_path / "from", 20) as source, Writer(tmp_path / "to", 512, heartbeat_s=0) as sink:
        sink.append(b"already here")
        source.append(bytes(600))
        source.append(b"behind")
        with Reader(tmp_path / "from", "copier") as reader:
            with pytest.raises(Appended) as refused:
                list(iter(lambda: reader.copy_to(sink, 4).end, True))
            assert refused.value.error_class is ErrorClass.TOO_LARGE
            assert len(reader.read_batch(1).messages[0].payload) == 600
            done = reader.copy_to(sink, 4)
            assert done.count == 1
            assert done.next is not None
            reader.commit(*done.next)
            assert (reader.copy_to(sink, 4).next, reader.copy_to(sink, 4).end) == (None, True)
    kept = [(r.timestamp_ns, r.type_id, r.flags, r.payload) for r in readable(tmp_path / "to")][1:]
    live = [(r.timestamp_ns, r.type_id, r.flags, r.payload) for r in readable(tmp_path / "from") if len(r.payload) != 600]
    assert kept == live


def test_a_reader_goes_to_a_place_and_only_to_one(tmp_path: Path) -> None:
    with queue_of(tmp_path / "q", 60), Reader(tmp_path / "q", "r") as reader:
        messages = list(reader.read_batch(5).messages)
        while not (batch := reader.read_batch(9)).end:
            messages += batch.messages
        for at in (40, 3, 58, 0):
            reader.seek(*messages[at].next)
            assert reader.read_batch(1).messages == (messages[at + 1],)
        segment, offset = messages[40].next
        assert span(len(messages[40].payload)) == offset - (messages[39].next[1] if messages[39].next[0] == segment else 64)
        for place in ((segment, offset + 1), (segment, 0), (segment, SEGMENT + 64), (0, 2**63)):
            with pytest.raises(CoreError) as refused:
                reader.seek(*place)
            assert refused.value.error_class is ErrorClass.INVALID
        with pytest.raises(CoreError) as refused:
            reader.seek(999, 64)
        assert refused.value.error_class is ErrorClass.MISSING
        assert reader.read_batch(1).messages == (messages[2],)
