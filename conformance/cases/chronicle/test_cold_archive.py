"""The archive tap, importers and the archiver (CHR-30), through the target's helpers and in the files that they leave."""

from pathlib import Path
from typing import Any

import pytest
import zstandard

from fireassay.conformance.cases.chronicle import queue
from fireassay.conformance.cases.chronicle.helpers import contents, helping, packed, unpacked
from fireassay.conformance.cases.chronicle.queue import SMALL, Queue, message, pad, segment
from fireassay.conformance.cases.through import numbered
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import ErrorClass
from fireassay.spec.ports import Target

pytestmark = pytest.mark.clause("CHR-30")

FIRST = 500  # retention took the records before
LIMIT = 7


def live_queue(path: Path, count: int = 90) -> Queue:
    """Some segments, sealed but the last; every record its own timestamp, type and flags, and some alike in all of these."""
    rows: list[bytes] = []
    segments: list[bytes] = []
    room = SMALL - queue.HEADER
    for number, payload in enumerate(numbered(count)):
        row = message(payload, FIRST + number, type_id=number % 5, flags=number % 3, timestamp_ns=1_000_000 + number // 4 * 10)
        row = message(b"alike", FIRST + number, timestamp_ns=7) if number % 9 > 6 else row
        if len(row) > room:
            segments.append(segment(len(segments), SMALL, [*rows, *([pad(room, FIRST + number)] if room else [])], sealed=True))
            rows, room = [], SMALL - queue.HEADER
        rows.append(row)
        room -= len(row)
    segments.append(segment(len(segments), SMALL, rows))
    return queue.made(path, SMALL, segments, current_segment=len(segments) - 1, write_offset=SMALL - room)


def committed(path: Path) -> dict[str, int]:
    """The segment in which each reader of the queue stands."""
    slots = {meta.stem: layout.committed_slot(meta.read_bytes()) for meta in sorted((path / "readers").glob("*.meta"))}
    return {name: int(slot["segment"]) for name, slot in slots.items()}


def archived(store: Path) -> dict[Path, bytes]:
    """Every file of the store, unpacked."""
    unpacker = zstandard.ZstdDecompressor()
    return {path: unpacker.decompress(path.read_bytes()) for path in sorted(store.rglob("*")) if path.is_file()}


def test_the_tap_keeps_order_and_all_but_the_numbers(target: Target, place: Path) -> None:
    live, archive = live_queue(place / "live"), Queue(place / "archive")
    with helping(target) as helpers:
        handle = helpers.ask("tap", live=str(live.path), archive=str(archive.path))
        while helpers.ask("step", handle=handle, limit=LIMIT):
            pass
        helpers.ask("commit", handle=handle)
        helpers.ask("end", handle=handle)
    expected, found = contents(live.records()), contents(archive.records())
    at = next((at for at, (one, two) in enumerate(zip(expected, found, strict=False)) if one != two), min(len(expected), len(found)))
    assert found == expected, f"{len(expected)} records were live, {len(found)} are archived; they part at {at}: {found[at : at + 1]}"
    assert max(committed(live.path).values()) > 0, "the tap has committed, so that the live queue may forget"


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_tap_that_is_killed_copies_nothing_twice_and_leaves_nothing_out(target: Target, place: Path, steps: int) -> None:
    live, archive = live_queue(place / "live"), Queue(place / "archive")
    for _ in range(3):
        with helping(target) as helpers:
            handle = helpers.ask("tap", live=str(live.path), archive=str(archive.path))
            for number in range(steps):
                if number:
                    helpers.ask("commit", handle=handle)
                helpers.ask("step", handle=handle, limit=LIMIT)
            helpers.kill()
    with helping(target) as helpers:
        handle = helpers.ask("tap", live=str(live.path), archive=str(archive.path))
        while helpers.ask("step", handle=handle, limit=LIMIT):
            pass
    expected, found = contents(live.records()), contents(archive.records())
    assert found == expected, f"killed three times after {steps} steps: {len(expected)} records were live, {len(found)} are archived"


def test_an_import_keeps_its_own_timestamps(target: Target, place: Path) -> None:
    rows: list[Any] = [[5, 1, 2, packed(b"old")], [7, 0, 0, packed(b"")], [7, 3, 0xFFFF, packed(bytes(300))]]
    live, archive = live_queue(place / "live", 10), Queue(place / "archive")
    with helping(target) as helpers:
        helpers.ask("bring_in", archive=str(archive.path), records=rows, segment_size=SMALL)
        handle = helpers.ask("tap", live=str(live.path), archive=str(archive.path))
        while helpers.ask("step", handle=handle, limit=LIMIT):
            pass
    expected = [(stamp, type_id, flags, unpacked(data)) for stamp, type_id, flags, data in rows] + contents(live.records())
    found = contents(archive.records())
    assert found == expected, f"three were imported and ten tapped behind them; found {len(found)}, the first {found[:3]}"


def test_sealed_segments_are_archived_and_then_given_free(target: Target, place: Path) -> None:
    live, store = live_queue(place / "live"), place / "store"
    sealed = live.ids()[:-1]
    with helping(target) as helpers:
        found = helpers.ask("archive", queue=str(live.path), store=str(store))
        again = helpers.ask("archive", queue=str(live.path), store=str(store))
    unpacked_files = list(archived(store).values())
    missing = [number for number in sealed if live.segment_path(number).read_bytes() not in unpacked_files]
    assert (found, again) == (sealed, []), f"segments {sealed} are sealed; it says that it archived {found}, and then {again}"
    assert not missing, f"no file of the store is segment {missing} when unpacked"
    assert list(committed(live.path).values()) == [sealed[-1] + 1], f"it stands behind what is archived; found {committed(live.path)}"


def test_nothing_is_given_free_before_its_archive_is_there(target: Target, place: Path) -> None:
    """A directory bears the name that the first archive is to have."""
    first, second, store = live_queue(place / "one"), live_queue(place / "two"), place / "store"
    with helping(target) as helpers:
        helpers.ask("archive", queue=str(first.path), store=str(place / "names"))
        data = first.segment_path(0).read_bytes()
        name = next(path.relative_to(place / "names") for path, found in archived(place / "names").items() if found == data)
        (store / name / "taken").mkdir(parents=True)
        refused = helpers.refusal("archive", queue=str(second.path), store=str(store))
    stands = committed(second.path)
    assert refused is not None, "segment 0 cannot be archived, and that was not told"
    assert all(number == 0 for number in stands.values()), (
        f"segment 0 has no archive, and retention may delete it: readers stand in {stands}"
    )


def test_what_is_in_the_store_already_is_unpacked_before_it_counts(target: Target, place: Path) -> None:
    """Another archiver was killed, or the disk lost what it wrote: a file of the right name holds something else."""
    first, second, store = live_queue(place / "one"), live_queue(place / "two"), place / "store"
    with helping(target) as helpers:
        helpers.ask("archive", queue=str(first.path), store=str(place / "names"))
        store.mkdir()
        for path in archived(place / "names"):
            (store / path.name).write_bytes(path.read_bytes()[:-9])
        helpers.ask("archive", queue=str(second.path), store=str(store))
    try:
        good = list(archived(store).values())
    except zstandard.ZstdError as error:
        good = []
        said = f": {error}"
    else:
        said = ""
    free = range(max(committed(second.path).values()))
    bad = [number for number in free if second.segment_path(number).read_bytes() not in good]
    assert not bad, f"segments {bad} are given free, and their archives do not give them back{said}"


def test_archives_and_live_segments_are_read_as_one(target: Target, place: Path) -> None:
    live, store = live_queue(place / "live"), place / "store"
    expected = [(FIRST + at, *content) for at, content in enumerate(contents(live.records()))]
    with helping(target) as helpers:
        sealed = helpers.ask("archive", queue=str(live.path), store=str(store))
        for number in sealed[:2]:
            live.segment_path(number).unlink()
        found = helpers.ask("joint", queue=str(live.path), store=str(store))
    records = [(seq, stamp, type_id, flags, unpacked(data)) for seq, stamp, type_id, flags, data in found["records"]]
    assert records == expected, f"{len(expected)} records are in archives and live segments; found {len(records)}"
    assert found["damage"] == [], f"nothing is damaged; found {found['damage']}"


def test_a_damaged_archive_is_told_and_nothing_of_it_is_served(target: Target, place: Path) -> None:
    live, store = live_queue(place / "live"), place / "store"
    records = live.records()
    gone = {record.seq for record in live.segment(1).records if not record.is_pad}
    with helping(target) as helpers:
        helpers.ask("archive", queue=str(live.path), store=str(store))
        data = live.segment_path(1).read_bytes()
        path = next(path for path, found in archived(store).items() if found == data)
        live.segment_path(1).unlink()
        whole = path.read_bytes()
        for broken in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), whole[: len(whole) // 2], b""):
            path.write_bytes(broken)
            found = helpers.ask("joint", queue=str(live.path), store=str(store))
            served = [row[0] for row in found["records"]]
            expected = [record.seq for record in records if record.seq not in gone]
            assert found["damage"], f"an archive was damaged ({len(broken)} bytes of {len(whole)}) and that was not told"
            assert served == expected, f"of the damaged segment nothing, of the others all; found {len(served)} of {len(expected)}"


def test_a_damaged_segment_is_not_archived_and_not_given_free(target: Target, place: Path) -> None:
    live, store = live_queue(place / "live"), place / "store"
    live.overwrite(live.segment_path(1), 0, b"\xff")
    with helping(target) as helpers:
        refused = helpers.refusal("archive", queue=str(live.path), store=str(store))
    stands = committed(live.path)
    assert refused is not None, "segment 1 is damaged, and that was not told"
    assert refused.error is ErrorClass.CORRUPT, f"expected CORRUPT, found {refused.error.name}"
    assert max(stands.values()) <= 1, f"segment 1 is damaged, and readers stand in {stands}: retention may delete it"
