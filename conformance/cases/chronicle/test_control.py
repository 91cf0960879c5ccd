"""control.meta: its bytes, its making, the pair under the seqlock (CHR-04, 08, 09)."""

import random
import struct
import time
from pathlib import Path

import pytest

from fireassay.conformance.cases.chronicle import queue
from fireassay.conformance.cases.chronicle.queue import HEADER, Queue, message, segment
from fireassay.conformance.cases.chronicle.watch import assert_born_well, death, half_made, pairs, watching
from fireassay.conformance.cases.through import appended, numbered, payloads_of, read, refusal, told, unlike
from fireassay.conformance.driver.client import DriverTarget
from fireassay.spec.ports import Target

ENOUGH = 25  # segments, for who watches
WITHIN_S = 4.0
KILLS = 3
SEED = 8
LARGE, LITTLE = b"L" * 700, b"l" * 200  # in segments of 1,024 bytes no two of these lie together, one after the other
AFTER_LARGE, AFTER_LITTLE = 832, 384  # write_offset behind one of them


@pytest.mark.clause("CHR-04")
def test_the_control_block_says_where_the_writer_is(target: Target, place: Path) -> None:
    here = Queue(place / "q")
    with target.open_writer("q") as writer:
        for payloads in ([b""], [b"x" * 65, b"y"]):
            appended(writer, payloads)
            data = here.control_path.read_bytes()
            assert len(data) == 384, f"control.meta has {len(data)} bytes, expected 384"
            magic, version, state = struct.unpack_from("<3I", data, 0)
            assert magic == 0x4348524E, f"the magic at 0 is {magic:#x}, expected 0x4348524e, little-endian"
            assert (version, state) == (2, 2), f"version at 4 and init_state at 8 are {version} and {state}, expected 2 and 2"
            (size,) = struct.unpack_from("<Q", data, 24)
            (current,) = struct.unpack_from("<I", data, 132)
            (offset,) = struct.unpack_from("<Q", data, 256)
            sizes = {number: here.segment_path(number).stat().st_size for number in here.ids()}
            assert set(sizes.values()) == {size}, f"segment_size at 24 says {size}; the files have {sizes}"
            assert current == max(sizes), f"current_segment at 132 is {current}; the files are {sorted(sizes)}"
            end = here.segment(current).end
            assert offset == end, f"write_offset at 256 is {offset}; the records of segment {current} end at {end}"
            here.control()  # all other bytes are zero


@pytest.mark.clause("CHR-04")
@pytest.mark.parametrize("size", [1024, 8192])
def test_an_existing_queue_keeps_its_segment_size(target: Target, place: Path, size: int) -> None:
    """Whatever size the target would choose itself, at least one of these two is another."""
    there, sent = [message(b"by hand", 0)], numbered(40)
    here = queue.made(place / "q", size, [segment(0, size, there)])
    with target.open_writer("q") as writer:
        for payload in sent:
            appended(writer, [payload])
    with target.open_reader("q", "reader") as reader:
        found = payloads_of(read(reader))
    assert found == [b"by hand", *sent], unlike(found, [b"by hand", *sent])
    sizes = {here.segment_path(number).stat().st_size for number in here.ids()}
    assert sizes == {size}, f"control.meta says segments of {size} bytes; the files have {sorted(sizes)}"
    kept = here.control()["segment_size"]
    assert kept == size, f"segment_size in control.meta was {size} and is {kept}"


@pytest.mark.clause("CHR-04")
@pytest.mark.parametrize("size", [4096 + 32, 0])
def test_a_segment_size_that_cannot_be_is_refused(target: Target, apart: DriverTarget, place: Path, size: int) -> None:
    here = queue.made(place / "q", 4096, [segment(0, size or 4096, [message(b"x", 0)])])
    here.overwrite(here.control_path, 24, struct.pack("<Q", size))
    for name in (None, "reader"):
        who = "reader" if name else "writer"
        assert refusal(apart, "q", name) is not None, f"a {who} was opened on a queue whose segment_size is {size}"


@pytest.mark.clause("CHR-08")
def test_control_appears_whole(apart: DriverTarget, place: Path) -> None:
    assert_born_well(apart, place, half_made)


@pytest.mark.clause("CHR-08")
def test_a_creation_that_is_killed_leaves_no_half_made_queue(apart: DriverTarget, place: Path) -> None:
    dice = random.Random(SEED)
    for number in range(KILLS):
        name, here = f"q{number}", Queue(place / f"q{number}")
        with watching(death, here.path, apart.pid, dice.uniform(0.0, 0.004)) as killer:
            refused = refusal(apart, name)
            killer.stop()
        if here.control_path.exists():
            here.control()
        with apart.open_writer(name) as writer, apart.open_reader(name, "reader") as reader:
            appended(writer, [b"afterwards"])
            found = payloads_of(read(reader))
        assert found == [b"afterwards"], f"{name}, whose creation was killed ({refused}): expected 'afterwards', found {told(found)}"


@pytest.mark.clause("CHR-08")
def test_a_block_that_is_not_ready_is_not_worked_with(apart: DriverTarget, place: Path) -> None:
    here = queue.made(place / "q", 4096, [segment(0, 4096, [message(b"x", 0)])])
    here.overwrite(here.control_path, 8, struct.pack("<I", 1))
    assert refusal(apart, "q", "reader") is not None, "a reader was opened while init_state was 1, initialising"
    here.overwrite(here.control_path, 8, struct.pack("<I", 2))
    refused = refusal(apart, "q", "reader")
    assert refused is None, f"with init_state 2 the reader was refused: {refused}"


@pytest.mark.clause("CHR-09")
def test_segment_and_offset_change_as_one(target: Target, place: Path) -> None:
    """Large and little records in turn, each in a segment of its own: an offset tells to which segment it belongs."""
    here, written, until = queue.made(place / "q", 1024), 0, time.monotonic() + WITHIN_S
    with target.open_writer("q") as writer:
        first = here.control()["current_segment"]
        never = (AFTER_LITTLE, AFTER_LARGE) if first % 2 == 0 else (AFTER_LARGE, AFTER_LITTLE)
        with watching(pairs, here.path, never, ENOUGH) as watch:
            while not watch.done and time.monotonic() < until:
                appended(writer, [(LARGE, LITTLE)[written % 2]])
                written += 1
            sight = watch.stop()
        last = here.control()["current_segment"]
    assert last == first + written - 1, f"{written} records, each with a segment of its own, led from segment {first} to {last}"
    assert not sight.faults, sight.faults[0]
    assert sight.seen > 1, f"in {written} rolls the watcher saw {sight.seen} segments, and the case shows nothing"


@pytest.mark.clause("CHR-09")
def test_every_roll_moves_the_generation_by_an_even_step(target: Target, place: Path) -> None:
    here = queue.made(place / "q", 1024)
    with target.open_writer("q") as writer:
        before = here.control()
        for payload in (LARGE, LITTLE, LARGE, LITTLE):
            appended(writer, [payload])
            after = here.control()
            moved, step = after["current_segment"] - before["current_segment"], after["segment_gen"] - before["segment_gen"]
            assert after["segment_gen"] % 2 == 0, f"at rest segment_gen is {after['segment_gen']}, expected an even number"
            assert (step > 0) == (moved > 0), f"current_segment went {moved} segments on and segment_gen by {step}"
            before = after
    assert HEADER < before["write_offset"] <= 1024
