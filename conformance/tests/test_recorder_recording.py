"""The reader: every damaged, truncated, foreign or empty file is a clear RecordingError."""

import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.conformance.recorder.inspect import COLUMNS, lines, select, summary
from fireassay.conformance.recorder.recorder import Actor, Recorder, Role
from fireassay.conformance.recorder.recording import AT_ONCE, RecordingError, open_recording
from fireassay.spec.history.ops import Flag, Op, Phase

CAPACITY = 16


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A recording of three parts, the last one partly filled: 36 rows, by two actors."""
    prefix = tmp_path / "made"
    actors = [Actor(actor=1, role=Role.PRODUCER, name="p"), Actor(actor=2, role=Role.READER, name="r")]
    with Recorder.open(prefix, actors, capacity=CAPACITY, nonce=5) as recorder:
        for number in range(36):
            op = Op.READ if number % 3 == 0 else Op.APPEND
            recorder.event(op, Phase.OK, seq=number, actor=1 + number % 2, flags=Flag.END | Flag.WAIT | 512)
    return prefix


def part(prefix: Path, number: int) -> Path:
    return Path(f"{prefix}.{number:03}.farec")


def patch(offset: int, layout: str, value: int, number: int = 0) -> Callable[[Path], object]:
    def change(prefix: Path) -> None:
        with part(prefix, number).open("r+b") as file:
            file.seek(offset)
            file.write(struct.pack(layout, value))

    return change


def write(data: bytes, number: int = 0) -> Callable[[Path], object]:
    return lambda prefix: part(prefix, number).write_bytes(data)


def cut(size: int, number: int = 0) -> Callable[[Path], object]:
    return lambda prefix: os.truncate(part(prefix, number), size)


def become_directory(prefix: Path) -> None:
    part(prefix, 0).unlink()
    part(prefix, 0).mkdir()


def become_pipe(prefix: Path) -> None:
    part(prefix, 0).unlink()
    os.mkfifo(part(prefix, 0))


DAMAGES: list[tuple[str, Callable[[Path], object], str]] = [
    ("empty", write(b""), "empty"),
    ("foreign", write(b"PK\3\4" * 3000), "not a recording"),
    ("zeros", write(bytes(8192)), "not a recording"),
    ("short foreign", write(b"x"), "not a recording"),
    ("cut inside magic", cut(3), "truncated inside the header"),
    ("cut inside header", cut(4095), "truncated inside the header"),
    ("cut after header", cut(4096), "truncated: 4096 bytes"),
    ("cut inside rows", cut(4096 + 100), "truncated: 4196 bytes"),
    ("longer", cut(1 << 20), "wrong length"),
    ("version", patch(8, "<I", 2), "version 2, can read 1"),
    ("header size", patch(12, "<I", 8192), "header of 8192"),
    ("row size", patch(16, "<I", 32), "rows of 32"),
    ("huge capacity", patch(24, "<Q", 1 << 62), "capacity of 4611686018427387904 rows, at most 17179869184"),
    ("large capacity", patch(24, "<Q", 1 << 30), "truncated"),
    ("no capacity", patch(24, "<Q", 0), "wrong length"),
    ("actor table", patch(100, "<I", 63), "actor table of 63"),
    ("role", patch(128 + 4, "<B", 99), "actor 1: 99 is not a valid Role"),
    ("name", patch(128 + 32, "<B", 0xFF), "actor 1: 'utf-8'"),
    ("state", patch(120, "<I", 3), "state 3"),
    ("part number", patch(20, "<I", 1), "header says part 1"),
    ("hole", patch(4096 + 64 * 3 + 49, "<B", 0), "row 3 is unwritten, row 4 is not"),
    ("op", patch(4096 + 64 * 3 + 48, "<B", 200), "row 3 has op 200"),
    ("phase", patch(4096 + 64 * 3 + 49, "<B", 6), "row 3 has op 2, phase 6"),
    ("room left in the middle", patch(4096 + 64 * 15 + 49, "<B", 0), "has room left"),
    ("other nonce", patch(32, "<Q", 6, 1), "belongs to another recording"),
    ("other boot", patch(56, "<B", 6, 2), "belongs to another recording"),
    ("last part gone", lambda prefix: part(prefix, 2).unlink(), "part 002 is missing"),
    ("middle part gone", lambda prefix: part(prefix, 1).unlink(), "part 001 is missing"),
    ("first part gone", lambda prefix: part(prefix, 0).unlink(), "part 000 is missing"),
    ("directory", become_directory, "Is a directory"),
    ("pipe", become_pipe, "no regular file"),
]


@pytest.mark.parametrize(("damage", "message"), [pytest.param(do, message, id=name) for name, do, message in DAMAGES])
def test_what_is_no_valid_recording_is_refused_with_its_reason(made: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(made)
    with pytest.raises(RecordingError, match=message):
        open_recording(made)


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"no a\.000\.farec"):
        open_recording(tmp_path / "a")
    with pytest.raises(RecordingError, match="No such file"):
        open_recording(tmp_path / "b" / "a")


def test_no_flipped_header_byte_makes_the_reader_do_anything_but_read_or_refuse(made: Path) -> None:
    original = part(made, 0).read_bytes()
    for offset in range(256):
        part(made, 0).write_bytes(original[:offset] + bytes([original[offset] ^ 0xA5]) + original[offset + 1 :])
        try:
            outcome = str(len(open_recording(made)))
        except RecordingError as error:
            outcome = str(error)
        assert outcome == "36" or str(made) in outcome


def test_a_torn_last_row_is_ignored(made: Path) -> None:
    patch(4096 + 64 * 3 + 49, "<B", 0, 2)(made)
    recording = open_recording(made)
    assert [row.seq for row in recording] == list(range(35))


def test_any_part_opens_the_whole_recording(made: Path) -> None:
    for path in (made, part(made, 0), part(made, 2)):
        assert open_recording(path).rows["seq"].tolist() == list(range(36))


def test_a_capacity_of_holes_costs_no_memory(made: Path) -> None:
    capacity = 1 << 24
    for number in (1, 2):
        part(made, number).unlink()
    patch(24, "<Q", capacity)(made)
    patch(120, "<I", 0)(made)
    cut(4096 + 64 * capacity)(made)
    tracemalloc.start()
    try:
        assert len(open_recording(made)) == CAPACITY
        assert tracemalloc.get_traced_memory()[1] < 4 * AT_ONCE
    finally:
        tracemalloc.stop()


def test_a_living_recording_can_be_read(tmp_path: Path) -> None:
    with Recorder.open(tmp_path / "a", capacity=2) as recorder:
        for number in range(6):
            assert len(open_recording(tmp_path / "a")) == number
            recorder.event(Op.HEAL)
        assert not open_recording(tmp_path / "a").closed


def test_the_summary_counts_ops_actors_and_span(made: Path) -> None:
    found = summary(open_recording(made))
    assert (found["rows"], found["parts"], found["complete"], found["lost"], found["nonce"]) == (36, 3, True, 0, 5)
    assert found["ops"] == {"append": {"ok": 24}, "read": {"ok": 12}}
    assert [(actor["actor"], actor["role"], actor["name"]) for actor in found["actors"]] == [(1, "producer", "p"), (2, "reader", "r")]
    assert found["span_ns"] == found["last_t_ns"] - found["first_t_ns"] > 0
    assert set(found["clock_domain"]) == {"host", "boot_id", "time_ns"}
    patch(112, "<Q", 4)(made)
    assert (summary(open_recording(made))["lost"], summary(open_recording(made))["complete"]) == (4, False)


def test_the_summary_of_no_rows_has_no_span(tmp_path: Path) -> None:
    with Recorder.open(tmp_path / "a"):
        found = summary(open_recording(tmp_path / "a"))
    assert (found["rows"], found["span_ns"], found["first_t_ns"], found["complete"]) == (0, 0, None, False)


def test_lines_show_first_and_last_rows_once_and_filtered(made: Path) -> None:
    recording = open_recording(made)

    def numbers(**options: object) -> list[int]:
        return [int(cells[0]) for cells in lines(recording, **options)]  # type: ignore[arg-type]

    assert numbers() == list(range(36))
    assert numbers(first=2, last=3) == [0, 1, 33, 34, 35]
    assert numbers(first=30, last=30) == list(range(36))
    assert numbers(last=2) == [34, 35]
    assert numbers(first=3, op=Op.READ, actor=2) == [3, 9, 15]
    assert numbers(last=2, op=Op.READ, actor=2) == [27, 33]
    assert [number for number, _ in select(recording, op=Op.SYNC)] == []
    cells = dict(zip(COLUMNS, next(lines(recording, first=1)), strict=True))
    assert (cells["op"], cells["phase"], cells["flags"], cells["actor"]) == ("read", "ok", "end|wait|0x200", "1")
