"""What a writer does to a queue that another left behind: torn tails and other wrecks, made here by hand (CHR-14).

In each wreck `KEPT` is committed, in segments 0 and 1, and nothing else is. A reader that stands in it beforehand stays as it was.
"""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.conformance.cases.chronicle import queue
from fireassay.conformance.cases.chronicle.queue import HEADER, SMALL, Queue, message, pad, segment
from fireassay.conformance.cases.through import appended, payloads_of, read, unlike
from fireassay.conformance.driver.client import DriverTarget
from fireassay.spec import layouts
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import Outcome
from fireassay.spec.ports import ReaderPort, Target

pytestmark = pytest.mark.clause("CHR-14")

KEPT = [b"kept %d" % number + b"." * (number * 53) for number in range(6)]
MORE = [b"after the wreck", b"and more"]
RECORDS = [message(payload, number) for number, payload in enumerate(KEPT)]
FIRST, SECOND = RECORDS[:2], RECORDS[2:]
END = HEADER + sum(map(len, SECOND))  # of what is committed in segment 1
NEVER = message(b"never committed" * 9, len(KEPT))

Wreck = Callable[[Queue], None]


def wreck(path: Path) -> Queue:
    """Segment 0 full and sealed, segment 1 as its writer left it; what is torn comes on top."""
    whole = [*FIRST, pad(SMALL - HEADER - sum(map(len, FIRST)), len(FIRST))]
    segments = [segment(0, SMALL, whole, sealed=True), segment(1, SMALL, SECOND)]
    return queue.made(path, SMALL, segments, current_segment=1, write_offset=END, segment_gen=2, writer_epoch=1)


def tail(here: Queue, data: bytes) -> None:
    here.overwrite(here.segment_path(1), END, data)


def clean(here: Queue) -> None:
    """Its writer died between two appends."""


def header_without_commit(here: Queue) -> None:
    tail(here, bytes(4) + NEVER[4:HEADER])
    here.set_control(write_offset=END + len(NEVER))


def half_a_header(here: Queue) -> None:
    tail(here, bytes(4) + NEVER[4:20])


def payload_without_commit(here: Queue) -> None:
    tail(here, bytes(4) + NEVER[4:])


def commit_word_of_garbage(here: Queue) -> None:
    tail(here, b"\xf0\xff\xff\xff" + bytes(range(1, 200)))


def record_over_the_end(here: Queue) -> None:
    tail(here, struct.pack("<I", SMALL - END - HEADER + 2) + NEVER[4:])


def odd_generation(here: Queue) -> None:
    here.set_control(segment_gen=3, current_segment=2, write_offset=END)


def wrong_hints(here: Queue) -> None:
    here.set_control(current_segment=0, write_offset=SMALL * 64)


def unsealed_earlier_segment(here: Queue) -> None:
    here.overwrite(here.segment_path(0), 12, bytes(4))


def next_segment_made(here: Queue) -> None:
    """It died while it rolled, before anybody was told."""
    here.segment_path(2).write_bytes(segment(2, SMALL))


def next_segment_published(here: Queue) -> None:
    next_segment_made(here)
    here.set_control(segment_gen=4, current_segment=2, write_offset=HEADER)


def rest_padded(here: Queue) -> None:
    next_segment_published(here)
    tail(here, pad(SMALL - END, len(KEPT)))


def checkpoint(here: Queue) -> None:
    """Of a place in the middle: recovery starts there, and comes to the same end."""
    fields = {"segment": 1, "offset": HEADER + len(SECOND[0]), "next_seq": 3}
    (here.path / "index.meta").write_bytes(layouts.build(layout.INDEX, fields))


def checkpoint_of_garbage(here: Queue) -> None:
    (here.path / "index.meta").write_bytes(bytes(range(40)))


WRECKS: tuple[Wreck, ...] = (
    clean,
    header_without_commit,
    half_a_header,
    payload_without_commit,
    commit_word_of_garbage,
    record_over_the_end,
    odd_generation,
    wrong_hints,
    unsealed_earlier_segment,
    next_segment_made,
    next_segment_published,
    rest_padded,
    checkpoint,
    checkpoint_of_garbage,
)


@pytest.mark.parametrize("torn", WRECKS, ids=lambda torn: torn.__name__)
def test_a_wreck_keeps_what_was_committed_and_goes_on_behind_it(target: Target, apart: DriverTarget, place: Path, torn: Wreck) -> None:
    here = wreck(place / "q")
    torn(here)
    with apart.open_reader("q", "reader") as reader:
        found = before(reader)
        assert found == KEPT[: len(found)], f"before recovery: {unlike(found, KEPT)}"
        with apart.open_writer("q") as writer:
            assert_repaired(here, torn.__name__)
            appended(writer, MORE)
            found += payloads_of(read(reader, len(KEPT + MORE) - len(found), within_s=2.0))
        assert found == KEPT + MORE, f"a reader that was there before: {unlike(found, KEPT + MORE)}"
    with target.open_reader("q", "fresh") as fresh:
        found = payloads_of(read(fresh))
    assert found == KEPT + MORE, f"a fresh reader: {unlike(found, KEPT + MORE)}"


def before(reader: ReaderPort) -> list[bytes]:
    """What can be read in a wreck. It may end in an error, but it must end."""
    found: list[bytes] = []
    for _ in range(len(KEPT) + 2):
        batch = reader.read_batch(1, 0.0)
        said = batch.error.text if batch.error is not None else ""
        assert batch.outcome is not Outcome.INFO, f"a read in the wreck did not come back: {said}"
        found += payloads_of(batch.records)
    return found


def assert_repaired(here: Queue, torn: str) -> None:
    control, segments = here.control(), here.segments()
    *earlier, current = segments
    at_rest = control["segment_gen"] % 2 == 0
    assert at_rest, f"{torn}: segment_gen is {control['segment_gen']} after recovery, expected an even number"
    assert control["current_segment"] == current.id, (
        f"{torn}: current_segment is {control['current_segment']}, the last one is {current.id}"
    )
    assert current.id >= 2, f"{torn}: the writer goes on in segment {current.id}, where it found the tail"
    assert control["write_offset"] == HEADER, f"{torn}: write_offset is {control['write_offset']}, expected 64 of a new segment"
    assert not current.records, f"{torn}: the segment to go on in holds {len(current.records)} records"
    assert not current.sealed, f"{torn}: the segment to go on in is SEALED"
    for each in earlier:
        assert each.sealed, f"{torn}: segment {each.id}, before the current one, is not SEALED"
        assert each.whole, f"{torn}: in segment {each.id} nothing is committed at byte {each.end} of {each.size}, and it is SEALED"
    found = [record.payload for record in here.records()]
    assert found == KEPT, f"{torn}: of what was committed in the files {unlike(found, KEPT)}"
    behind = [record for record in segments[1].records if record.offset >= END]
    one = len(behind) == 1 and behind[0].offset == END and behind[0].is_pad
    assert one, f"{torn}: from byte {END} of segment 1 on one PAD is expected; found {[(r.offset, hex(r.type_id)) for r in behind]}"


def test_a_segment_without_room_for_a_header_is_only_sealed(target: Target, place: Path) -> None:
    full = message(b"x" * (SMALL - 2 * HEADER), 0)
    here = queue.made(place / "q", SMALL, [segment(0, SMALL, [full])], write_offset=SMALL)
    with target.open_writer("q") as writer:
        first = here.segment(0)
        assert first.sealed, "segment 0 is full; after recovery it is not SEALED"
        assert len(first.records) == 1, f"segment 0 is full with one record; after recovery it holds {len(first.records)}"
        assert here.ids() == [0, 1], f"segment 0 is full: expected to go on in segment 1, found {here.ids()}"
        appended(writer, MORE)
    with target.open_reader("q", "fresh") as fresh:
        found = payloads_of(read(fresh))
    assert found[1:] == MORE, f"behind the record that fills segment 0: {unlike(found[1:], MORE)}"


def test_readers_do_not_hang_on_an_odd_generation(apart: DriverTarget, place: Path) -> None:
    """Its writer died inside an update, and nobody has recovered it."""
    here = wreck(place / "q")
    odd_generation(here)
    with apart.open_reader("q", "reader") as reader:
        batch = reader.read_batch(16, 0.2)
        assert batch.outcome is not Outcome.INFO, f"a read on an odd generation did not come back: {batch.error}"
        found = payloads_of(batch.records)
    assert found == KEPT[: len(found)], unlike(found, KEPT)


def test_a_checkpoint_is_of_a_place_that_was_reached(target: Target, place: Path) -> None:
    """Recovery trusts it: one that is ahead hides what lies before it."""
    here = queue.made(place / "q", SMALL)
    index = here.path / "index.meta"
    with target.open_writer("q") as writer:
        for number in range(3):
            appended(writer, KEPT)
            writer.sync()
            if not index.exists() or index.read_bytes()[:4] != b"XDIC":
                pytest.skip("it keeps no checkpoint of the known layout: index.meta is optional")
            said, control = layouts.parse(layout.INDEX, index.read_bytes()), here.control()
            where = (int(said["segment"]), int(said["offset"]), int(said["next_seq"]))
            reached = (control["current_segment"], here.segment(control["current_segment"]).end, here.records()[-1].seq + 1)
            assert where <= reached, (
                f"after sync {number} index.meta says (segment, offset, next_seq) {where}, and the log ends at {reached}"
            )
            ends = {HEADER} | {record.offset + queue.span(len(record.payload)) for record in here.segment(where[0]).records}
            assert where[1] in ends, (
                f"after sync {number} index.meta says offset {where[1]} of segment {where[0]}, which is not between records"
            )
    with target.open_writer("q"), target.open_reader("q", "reader") as reader:
        found = payloads_of(read(reader))
    assert found == KEPT * 3, f"after the checkpoint was used: {unlike(found, KEPT * 3)}"
