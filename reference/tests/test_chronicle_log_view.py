"""A queue read as one log without a reader: in order, from any number, following a live writer, and stopping at damage."""

import random
from pathlib import Path

import pytest

from fireassay.reference.chronicle.log_view import Damaged, LiveSegments, LogView
from fireassay.reference.chronicle.reader import Message
from fireassay.reference.chronicle.segments import map_segment
from fireassay.reference.chronicle.writer import Writer

SEGMENT = 1024


def log_of(queue: Path) -> LogView:
    return LogView(LiveSegments(queue, SEGMENT))


def rest(log: LogView, limit: int = 5) -> list[Message]:
    found: list[Message] = []
    take(log, found, limit)
    return found


def take(log: LogView, found: list[Message], limit: int) -> None:
    while not (batch := log.read_batch(limit)).end:
        found += batch.messages


def filled(queue: Path, count: int) -> Writer:
    writer = Writer(queue, SEGMENT, heartbeat_s=0)
    for number in range(count):
        writer.append(b"%d" % number * (number % 150))
    return writer


def test_it_follows_a_writer_over_rolls_and_restarts(tmp_path: Path) -> None:
    with filled(tmp_path / "q", 1) as writer, log_of(tmp_path / "q") as log:
        assert [message.seq for message in rest(log)] == [0]
        for number in range(1, 60):
            writer.append(b"x" * (number * 13 % 500))
            assert [message.seq for message in rest(log)] == [number]
        writer.close()
        with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as second:
            assert rest(log) == []
            second.append(b"after")
            assert [message.payload for message in rest(log)] == [b"after"]


def test_it_goes_to_any_number_also_past_segments_without_records(tmp_path: Path) -> None:
    filled(tmp_path / "q", 70).close()
    for number in range(4):  # each restart leaves a segment behind that holds nothing but padding
        with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
            if number % 2:
                writer.append(b"y")
    with log_of(tmp_path / "q") as log:
        for seq in [*range(75), 30, 0]:
            log.seek(seq)
            assert [message.seq for message in rest(log)] == list(range(seq, 72))
            log.seek_last(seq)
            assert [message.seq for message in rest(log)] == list(range(max(0, 72 - seq), 72))


def test_an_empty_directory_has_no_records(tmp_path: Path) -> None:
    with log_of(tmp_path) as log:
        log.seek(5)
        assert rest(log) == []


def test_damage_is_reported_where_it_is_and_can_be_passed(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    filled(tmp_path / "q", 70).close()
    with map_segment(tmp_path / "q", 2, SEGMENT) as view:
        inside = [message.seq for message in view.messages()]
        offset = view.find(inside[1])
        assert (view.extent().records, view.extent().first_seq, view.extent().last_seq) == (len(inside), inside[0], inside[-1])
    data = bytearray((tmp_path / "q" / "000000002.q").read_bytes())
    data[offset + rng.choice([8, 16, 24, 28, 64])] ^= 1 << rng.randrange(8)
    (tmp_path / "q" / "000000002.q").write_bytes(data)
    with log_of(tmp_path / "q") as log:
        found: list[Message] = []
        with pytest.raises(Damaged, match="cannot be trusted") as damaged:
            take(log, found, 3)
        assert [message.seq for message in found] == list(range(inside[0] + 1))
        assert (damaged.value.segment, damaged.value.offset, log.place) == (2, offset, (2, offset))
        with pytest.raises(Damaged):
            log.read_batch(1)
        log.skip()
        assert [message.seq for message in rest(log)] == list(range(inside[-1] + 1, 70))


def test_a_segment_that_is_gone_is_reported_and_can_be_passed(tmp_path: Path) -> None:
    filled(tmp_path / "q", 70).close()
    with log_of(tmp_path / "q") as log:
        first = rest_of_segment(log)
        for segment in (1, 2):
            (tmp_path / "q" / f"00000000{segment}.q").unlink()
        with pytest.raises(Damaged, match="the segment is gone; the next one there is 3"):
            rest(log)
        log.skip()
        later = rest(log)
    assert first[0].seq == 0
    assert later[-1].seq == 69


def rest_of_segment(log: LogView) -> list[Message]:
    found: list[Message] = []
    while log.place[0] == 0 and log.place[1] < SEGMENT - 64:
        found += log.read_batch(1).messages
    return found
