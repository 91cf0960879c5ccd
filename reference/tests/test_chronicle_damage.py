"""Damaged, cut, foreign and hostile files: an error or what was written, never a crash, a hang or other bytes."""

import os
import random
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.core import CoreError
from fireassay.spec import layouts
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import ErrorClass

SEGMENT = 1024
ALLOWED = {ErrorClass.CORRUPT, ErrorClass.VERSION, ErrorClass.MISSING, ErrorClass.INVALID, ErrorClass.IO, ErrorClass.TIMEOUT}
LOG = [b"%d:" % number + bytes([number]) * (number * 29 % 200) for number in range(24)]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    queue = tmp_path_factory.mktemp("sound") / "queue"
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
        writer.append_batch(LOG[:12])
        writer.flush_sync()
        writer.append_batch(LOG[12:])
        with Reader(queue, "r") as reader:
            reader.commit(*reader.read_batch(3).messages[1].next)
    return queue


@pytest.fixture
def queue(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "queue"))


def read_all(queue: Path, name: str) -> list[tuple[int, bytes]]:
    """What can be read up to the end or the first refusal."""
    found: list[tuple[int, bytes]] = []
    try:
        with Reader(queue, name) as reader:
            for _ in range(200):
                batch = reader.read_batch(5)
                found += [(message.seq, message.payload) for message in batch.messages]
                if batch.end:
                    return found
    except CoreError as error:
        if error.error_class not in ALLOWED:
            raise
        return found
    raise AssertionError("a reader went on without end")


def examine(queue: Path, told: str) -> None:
    """Readers, a writer, and readers again: only records that were appended, in order, under their own numbers."""
    for name in ("r", "new"):
        check(read_all(queue, name), told)
    try:
        with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
            at = writer.append(b"behind the damage")
    except CoreError as error:
        if error.error_class not in ALLOWED:
            raise
        return
    found = [pair for pair in read_all(queue, "later") if pair != (at, b"behind the damage")]
    check(found, told)


def check(found: list[tuple[int, bytes]], told: str) -> None:
    assert found == [(seq, LOG[seq]) for seq, _ in found if seq < len(LOG)], told
    assert [seq for seq, _ in found] == sorted({seq for seq, _ in found}), told


FIELDS = [
    *(("control.meta", layout.CONTROL, 0, field) for field in layout.CONTROL.offsets),
    *((f"{n:09d}.q", layout.SEGMENT_HEADER, 0, field) for n in (0, 2) for field in layout.SEGMENT_HEADER.offsets),
    *((f"{n:09d}.q", layout.MESSAGE_HEADER, 64, field) for n in (0, 2) for field in layout.MESSAGE_HEADER.offsets),
    *(("readers/r.meta", layout.READER_SLOT, base, field) for base in (0, 64) for field in layout.READER_SLOT.offsets),
    *(("writer.lock", layout.WRITER_LOCK, 0, field) for field in layout.WRITER_LOCK.offsets),
    *(("index.meta", layout.INDEX, 0, field) for field in layout.INDEX.offsets),
]


@pytest.mark.parametrize(("name", "kind", "base", "field"), FIELDS, ids=lambda value: getattr(value, "name", str(value)))
def test_a_field_of_any_value_is_an_error_or_harmless(queue: Path, name: str, kind: layouts.Layout, base: int, field: str) -> None:
    at, width = kind.offsets[field]
    original = (queue / name).read_bytes()
    old = int.from_bytes(original[base + at : base + at + width], "little")
    for value in {0, (1 << 8 * width) - 1, old + 1, old + 64}:
        data = bytearray(original)
        data[base + at : base + at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
        copy = queue.with_name("copy")
        shutil.copytree(queue, copy)
        (copy / name).write_bytes(data)
        examine(copy, f"{name} {field} = {value:#x}")
        shutil.rmtree(copy)


@pytest.mark.parametrize("seed", range(100))
def test_random_bytes_flipped_anywhere_are_an_error_or_harmless(queue: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        name = chance.choice([path for path in sorted(queue.rglob("*")) if path.is_file() and path.stat().st_size])
        data = bytearray(name.read_bytes())
        at = chance.randrange(len(data))
        data[at : at + chance.choice((1, 1, 4, 64))] = chance.randbytes(1) * chance.choice((1, 1, 4, 64))
        name.write_bytes(data[: chance.choice((len(data), len(data), len(data), at))])
    examine(queue, f"seed {seed}")


@pytest.mark.parametrize("name", ["control.meta", "000000000.q", "000000002.q", "index.meta", "writer.lock", "readers/r.meta"])
@pytest.mark.parametrize("size", [0, 1, 63, 64, 100, 1023, 1025, 5000])
def test_a_file_of_another_length_is_an_error_or_harmless(queue: Path, name: str, size: int) -> None:
    os.truncate(queue / name, size)
    examine(queue, f"{name} cut to {size}")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


STRANGERS: dict[str, Callable[[Path], None]] = {
    "nothing": lambda path: None,
    "directory": Path.mkdir,
    "link": lambda path: path.symlink_to("/etc/hostname"),
    "dangling": lambda path: path.symlink_to("nowhere"),
    "pipe": _pipe,
    "socket": _socket,
}


@pytest.mark.parametrize("name", ["control.meta", "000000000.q", "000000002.q", "index.meta", "writer.lock", "readers/r.meta", "readers"])
@pytest.mark.parametrize("stranger", STRANGERS)
def test_something_else_under_a_files_name_is_an_error_or_harmless(
    queue: Path, name: str, stranger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(queue)  # the path of a socket is short
    shutil.rmtree(queue / name) if name == "readers" else (queue / name).unlink()
    STRANGERS[stranger](queue / name)
    examine(queue, f"{name} is {stranger}")


@pytest.mark.parametrize("stray", ["999999999.q", "4294967296.q", "00000000a.q", "000000001.q.lost", "000000003.q.tmp", "control.meta.tmp"])
def test_a_stray_file_does_no_harm(queue: Path, stray: str) -> None:
    (queue / stray).write_bytes(b"stray")
    examine(queue, stray)
    assert (queue / stray).exists() or stray.endswith(".tmp")


def test_damage_in_what_was_synced_is_refused_and_changes_nothing(queue: Path) -> None:
    segment = layouts.parse(layout.INDEX, (queue / "index.meta").read_bytes())["segment"]
    name = queue / f"{segment:09d}.q"
    os.truncate(name, 100)
    with pytest.raises(CoreError, match="a segment of this queue has 1024"):
        Writer(queue, SEGMENT, heartbeat_s=0)
    assert name.stat().st_size == 100
    assert not list(queue.glob("*.lost"))


def test_a_queue_of_another_version_is_refused_as_such(queue: Path) -> None:
    for name, at in (("000000002.q", 4), ("control.meta", 4)):
        data = bytearray((queue / name).read_bytes())
        data[at] = 9
        (queue / name).write_bytes(data)
        with pytest.raises(CoreError, match="version 9") as refused:
            Writer(queue, SEGMENT, heartbeat_s=0)
        assert refused.value.error_class is ErrorClass.VERSION


def test_segments_without_control_are_not_written_over(queue: Path) -> None:
    (queue / "control.meta").unlink()
    before = {path.name: path.read_bytes() for path in queue.glob("*.q")}
    with pytest.raises(CoreError, match=r"there are segments and no control\.meta"):
        Writer(queue, SEGMENT, heartbeat_s=0)
    assert {path.name: path.read_bytes() for path in queue.glob("*.q")} == before
