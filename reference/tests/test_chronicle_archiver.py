"""Segments are archived, verified and only then given free; archives and live segments are read as one; damage is never served."""

import os
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from fireassay.reference.chronicle.archive import store as archives
from fireassay.reference.chronicle.archive.archiver import Archiver
from fireassay.reference.chronicle.archive.joint_reader import JointReader
from fireassay.reference.chronicle.archive.store import ArchivedSegments, archive_name, archived_ids
from fireassay.reference.chronicle.limits import Limits
from fireassay.reference.chronicle.log_view import Damaged
from fireassay.reference.chronicle.reader import Message
from fireassay.reference.chronicle.segments import name_of, segment_ids
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.tests.chronicle_files import readable
from fireassay.reference.tests.killed import Victims, victims
from fireassay.spec.layouts import LayoutError
from fireassay.spec.layouts import chronicle as layout

SEGMENT = 1024


def write(queue: Path, count: int = 60) -> None:
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
        for number in range(count):
            writer.append(b"%d" % number * (number % 90), type_id=number % 5, flags=number % 3)
        writer.flush_sync()


def place_of(queue: Path) -> tuple[int, int]:
    slot = layout.committed_slot((queue / "readers" / "archiver.meta").read_bytes())
    return slot["segment"], slot["offset"]


def archive_all(queue: Path, store: Path) -> list[int]:
    with Archiver(queue, store) as archiver:
        return list(iter(archiver.step, None))


def drop_live(queue: Path) -> None:
    """As retention would: what the archiver has committed past."""
    for segment in segment_ids(queue):
        if segment < place_of(queue)[0]:
            (queue / name_of(segment)).unlink()


def joined(queue: Path, store: Path) -> list[Message]:
    with JointReader(queue, store, SEGMENT) as reader:
        found: list[Message] = []
        while not (batch := reader.read_batch(7)).end:
            found += batch.messages
        return found


def test_each_sealed_segment_is_archived_once_and_then_given_free(tmp_path: Path) -> None:
    queue, store = tmp_path / "q", tmp_path / "store"
    write(queue)
    sealed = segment_ids(queue)[:-1]
    with Archiver(queue, store) as archiver:
        assert place_of(queue) == (0, 64)
        for segment in sealed:
            assert archiver.step() == segment
            assert archived_ids(store)[-1] == segment
            assert place_of(queue) == (segment + 1, 64)
        assert archiver.step() is None
    assert archived_ids(store) == sealed
    for segment in sealed:
        live = (queue / name_of(segment)).read_bytes()
        assert zstandard.ZstdDecompressor().decompress((store / archive_name(segment)).read_bytes()) == live
        with ArchivedSegments(store).open(segment) as view:
            assert view.memory[:] == live
    assert archive_all(queue, store) == []
    write(queue, 30)
    assert archive_all(queue, store) == [segment for segment in segment_ids(queue)[:-1] if segment not in sealed]
    assert {path.name for path in store.iterdir()} == {archive_name(segment) for segment in archived_ids(store)}


def test_archives_and_live_segments_are_one_log(tmp_path: Path) -> None:
    queue, store = tmp_path / "q", tmp_path / "store"
    write(queue)
    expected = [(record.seq, record.timestamp_ns, record.payload) for record in readable(queue)]
    archive_all(queue, store)
    both = joined(queue, store)
    drop_live(queue)
    assert joined(queue, store) == both
    assert [(message.seq, message.timestamp_ns, message.payload) for message in both] == expected
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer, JointReader(queue, store, SEGMENT) as reader:
        for seq in (0, 17, 42, 59):
            reader.seek(seq)
            assert reader.read_batch(1).messages[0].seq == seq
        while not reader.read_batch(100).end:
            pass
        assert writer.append(b"later") == 60
        assert reader.read_batch(5).messages[0].payload == b"later"
    assert len(joined(tmp_path / "gone", store)) == len([m for m in both if m.next[0] in archived_ids(store)])


def test_a_segment_that_retention_takes_while_it_is_read_is_found_in_the_store(tmp_path: Path) -> None:
    queue, store = tmp_path / "q", tmp_path / "store"
    write(queue)
    with JointReader(queue, store, SEGMENT) as reader:
        found = list(reader.read_batch(3).messages)
        archive_all(queue, store)
        drop_live(queue)
        while not (batch := reader.read_batch(5)).end:
            found += batch.messages
    assert [message.seq for message in found] == list(range(60))


def test_retention_takes_a_segment_only_when_it_is_archived(tmp_path: Path) -> None:
    queue, store = tmp_path / "q", tmp_path / "store"
    with Writer(queue, SEGMENT, heartbeat_s=0, limits=Limits(reader_ttl_s=1e6)) as writer, Archiver(queue, store) as archiver:
        for number in range(60):
            writer.append(b"%d" % number * 40)
        assert writer.retain().deleted == 0
        for segment in (0, 1):
            assert archiver.step() == segment
            assert (writer.retain().deleted, segment_ids(queue)[0]) == (1, segment + 1)
        expected = [b"%d" % number * 40 for number in range(60)]
        assert [message.payload for message in joined(queue, store)] == expected


def test_segments_that_retention_took_while_no_archiver_lived_are_told(tmp_path: Path) -> None:
    queue, store = tmp_path / "q", tmp_path / "store"
    write(queue)
    Archiver(queue, store).close()
    with Writer(queue, SEGMENT, heartbeat_s=0, limits=Limits(reader_ttl_s=0.0)) as writer:
        assert writer.retain().deleted > 0
    with Archiver(queue, store) as archiver, pytest.raises(Damaged, match="while no archiver lived"):
        archiver.step()


def test_a_damaged_live_segment_is_not_archived_and_not_given_free(tmp_path: Path) -> None:
    queue, store = tmp_path / "q", tmp_path / "store"
    write(queue)
    flip(queue / name_of(1), 64 + 64 + 3)
    with Archiver(queue, store) as archiver:
        assert archiver.step() == 0
        for _ in range(2):
            with pytest.raises(Damaged, match="cannot be archived"):
                archiver.step()
    assert (archived_ids(store), place_of(queue)) == ([0], (1, 64))


def test_a_damaged_live_segment_is_read_from_its_archive(tmp_path: Path) -> None:
    queue, store = tmp_path / "q", tmp_path / "store"
    write(queue)
    expected = joined(queue, store)
    archive_all(queue, store)
    flip(queue / name_of(1), 64 + 64 + 3)  # a record
    flip(queue / name_of(2), 0)  # the header
    os.truncate(queue / name_of(3), 100)
    assert joined(queue, store) == expected


def flip(path: Path, at: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def test_a_damaged_archive_is_told_and_nothing_of_it_is_served(tmp_path: Path) -> None:
    queue, store = tmp_path / "q", tmp_path / "store"
    write(queue)
    archive_all(queue, store)
    drop_live(queue)
    expected = joined(queue, store)
    path = store / archive_name(1)
    whole = path.read_bytes()
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    damaged = [whole[:at] for at in (0, 1, 5, 17, len(whole) - 5, len(whole) - 4, len(whole) - 1)]
    damaged += [whole + b"x", whole + whole, (store / archive_name(2)).read_bytes(), bytes(100), zstandard.compress(b"short")]
    damaged += [zstandard.ZstdCompressor(write_checksum=True).compress(bytes(1 << 26)), zstandard.compress(bytes(SEGMENT))]
    certain = len(damaged)
    for at in [*range(len(whole) - 4, len(whole)), *(rng.randrange(len(whole)) for _ in range(200))]:
        damaged.append(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
    for number, data in enumerate(damaged):
        path.write_bytes(data)
        with JointReader(queue, store, SEGMENT) as reader:
            served, told = until_damage(reader)
            if not told:
                assert number >= certain
                assert served == expected, "a flipped bit may pass only where it unpacks to the same bytes"
                continue
            assert (told, served) == ([1], [message for message in expected if message.next[0] == 0])
            reader.skip()
            assert until_damage(reader) == ([message for message in expected if message.next[0] > 1], [])


def until_damage(reader: JointReader) -> tuple[list[Message], list[int]]:
    """What was served, and the damaged segment, if any, before which it ended."""
    served: list[Message] = []
    while True:
        try:
            batch = reader.read_batch(9)
        except Damaged as damaged:
            return served, [damaged.segment]
        if batch.end:
            return served, []
        served += batch.messages


def test_an_archive_that_is_no_file_is_damage(tmp_path: Path) -> None:
    write(tmp_path / "q")
    store = tmp_path / "store"
    archive_all(tmp_path / "q", store)
    (store / archive_name(0)).unlink()
    os.mkfifo(store / archive_name(0))
    with pytest.raises(LayoutError, match="not a file"):
        ArchivedSegments(store).open(0)


def test_an_archive_that_does_not_give_the_segment_back_gets_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue, store = tmp_path / "q", tmp_path / "store"
    write(queue)
    sound = archives._compress

    def broken(memory: object, file: int, level: int) -> None:
        sound(memory, file, level)  # type: ignore[arg-type]
        os.pwrite(file, b"\xff", os.fstat(file).st_size // 2)

    monkeypatch.setattr(archives, "_compress", broken)
    with Archiver(queue, store) as archiver:
        with pytest.raises(LayoutError):
            archiver.step()
        assert (archived_ids(store), place_of(queue)) == ([], (0, 64))
        monkeypatch.undo()
        assert archiver.step() == 0


def test_a_store_that_is_full_holds_retention_back(tmp_path: Path) -> None:
    queue, store = tmp_path / "q", tmp_path / "store"
    write(queue)
    (store / archive_name(0)).mkdir(parents=True)
    with Archiver(queue, store) as archiver:
        with pytest.raises(OSError, match=r"000000000\.q\.zst"):
            archiver.step()
        assert place_of(queue) == (0, 64)


# -- killed


@pytest.fixture(scope="module")
def forge() -> Iterator[Victims]:
    with victims("release") as made:
        yield made


def killed_and_followed(forge: Victims, where: Path, original: Path, line: int) -> int:
    shutil.copytree(original, where / "queue")
    expected = [(record.seq, record.payload) for record in readable(where / "queue")]
    death = forge.run("archiver", where, line=line)
    assert death.status == (-signal.SIGKILL if line else 0)
    committed = (where / "queue" / "readers" / "archiver.meta").exists()
    if committed:
        assert place_of(where / "queue")[0] <= len(archived_ids(where / "store")), "nothing is given free before its archive is there"
    for segment in archived_ids(where / "store"):
        with ArchivedSegments(where / "store").open(segment) as view:
            assert view.memory[:] == (where / "queue" / name_of(segment)).read_bytes()
    if committed:
        drop_live(where / "queue")
    assert forge.run("archiver", where).status == 0
    drop_live(where / "queue")
    assert [(message.seq, message.payload) for message in joined(where / "queue", where / "store")] == expected
    assert not list((where / "store").glob("*.tmp"))
    return death.lines


def deaths(forge: Victims, tmp_path: Path, share: float) -> None:
    write(tmp_path / "original", 25)
    lines = killed_and_followed(forge, tmp_path / "whole", tmp_path / "original", 0)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}, {lines} lines")
    for line in random.Random(seed).sample(range(1, lines), int((lines - 1) * share)):
        killed_and_followed(forge, tmp_path / str(line), tmp_path / "original", line)


def test_killed_at_any_line_it_loses_nothing(forge: Victims, tmp_path: Path) -> None:
    deaths(forge, tmp_path, 0.08)


@pytest.mark.long
def test_killed_at_every_line_it_loses_nothing(forge: Victims, tmp_path: Path) -> None:
    deaths(forge, tmp_path, 1.0)
