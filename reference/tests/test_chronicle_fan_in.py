"""Many queues read as one."""

import random
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from fireassay.reference.chronicle.fan_in import FanIn, FanInError, Order
from fireassay.reference.chronicle.limits import Limits
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import Writer

SEGMENT = 4096


def opened(stack: ExitStack, place: Path, count: int) -> tuple[list[Writer], list[Reader]]:
    writers = [stack.enter_context(Writer(place / f"q{n}", SEGMENT, heartbeat_s=0)) for n in range(count)]
    return writers, [stack.enter_context(Reader(place / f"q{n}", "router", heartbeat_s=0)) for n in range(count)]


def drained(fan: FanIn, limit: int) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    while batch := fan.read_batch(limit):
        assert len(batch) <= limit
        found += [(arrived.source.path.name, arrived.message.seq) for arrived in batch]
    return found


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("limit", [1, 7, 500])
def test_each_queue_comes_complete_and_in_its_order(tmp_path: Path, order: Order, limit: int) -> None:
    with ExitStack() as stack, FanIn(order) as fan:
        writers, readers = opened(stack, tmp_path, 4)
        for reader in readers:
            fan.add(reader)
        for round_ in range(3):
            for n, writer in enumerate(writers):
                writer.append_batch([b"x" * 50] * (n * 70))
            found = drained(fan, limit)
            for n in range(4):
                assert [seq for name, seq in found if name == f"q{n}"] == list(range(round_ * n * 70, (round_ + 1) * n * 70))


def test_no_queue_is_served_at_the_cost_of_another(tmp_path: Path) -> None:
    with ExitStack() as stack, FanIn() as fan:
        writers, readers = opened(stack, tmp_path, 3)
        for reader in readers:
            fan.add(reader)
        writers[0].append_batch([b"busy"] * 3000)
        for writer in writers[1:]:
            writer.append_batch([b"rare"] * 30)
        served = Counter(arrived.source.path.name for _ in range(10) for arrived in fan.read_batch(9))
        assert served == {"q0": 30, "q1": 30, "q2": 30}
        ones = [fan.read_batch(1)[0].source.path.name for _ in range(3)]
        assert ones == ["q0"] * 3, "an idle queue costs the busy one nothing"


def test_by_time_the_earliest_comes_first(tmp_path: Path) -> None:
    chance = random.Random(7)
    with ExitStack() as stack, FanIn(Order.TIME) as fan:
        writers, readers = opened(stack, tmp_path, 3)
        for reader in readers:
            fan.add(reader)
        stamps = sorted(chance.sample(range(1, 10**6), 900))
        for stamp in stamps:
            writers[chance.choice((0, 0, 0, 1, 2))].append(b"%d" % stamp, timestamp_ns=stamp)
        merged = []
        while batch := fan.read_batch(chance.randint(1, 300)):
            merged += [arrived.message.timestamp_ns for arrived in batch]
        assert merged == stamps


@pytest.mark.parametrize("order", Order)
def test_queues_come_and_go_while_it_runs(tmp_path: Path, order: Order) -> None:
    with ExitStack() as stack, FanIn(order) as fan:
        writers, readers = opened(stack, tmp_path, 2)
        assert fan.read_batch(5) == ()
        fan.add(readers[0])
        for writer in writers:
            writer.append_batch([b"x"] * 100)
        first = [arrived.message.seq for arrived in fan.read_batch(10)]
        fan.add(readers[1])
        with pytest.raises(ValueError, match="read already"):
            fan.add(readers[1])
        taken = Counter(arrived.source.path.name for arrived in fan.read_batch(20))
        taken["q0"] += len(first)
        fan.remove(readers[0])
        assert fan.readers == (readers[1],)
        assert drained(fan, 30) == [("q1", seq) for seq in range(taken["q1"], 100)]
        assert [message.seq for message in readers[0].read_batch(200).messages][:1] == [taken["q0"]], "it stands behind what was delivered"
        with pytest.raises(KeyError):
            fan.remove(readers[0])
        assert drained(fan, 5) == []


def test_it_is_woken_by_whichever_queue_has_something(tmp_path: Path) -> None:
    with ExitStack() as stack, FanIn() as fan:
        writers, readers = opened(stack, tmp_path, 3)
        for reader in readers:
            fan.add(reader)
        for writer in writers:
            timer = threading.Timer(0.05, lambda writer=writer: writer.append(b"x"))  # type: ignore[misc]
            timer.start()
            assert [arrived.source.path for arrived in fan.read_batch(9, 30)] == [writer.path]
            timer.join()
        start = time.monotonic()
        assert fan.read_batch(9, 0.1) == ()
        assert time.monotonic() - start >= 0.1


def test_a_queue_that_cannot_be_read_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    with ExitStack() as stack, FanIn() as fan:
        writers, readers = opened(stack, tmp_path, 3)
        for writer, reader in zip(writers, readers, strict=True):
            fan.add(reader)
            writer.append_batch([b"x"] * 4)
        with (tmp_path / "q1" / "000000000.q").open("r+b") as file:
            file.seek(64 + 8)
            file.write(b"\xff")
        named, seen = list[FanInError](), Counter[str]()
        for _ in range(20):
            try:
                seen.update(arrived.source.path.name for arrived in fan.read_batch(2))
            except FanInError as error:
                named.append(error)
        assert {error.source for error in named} == {readers[1]}
        assert all("can be trusted" in str(error) for error in named)
        assert seen == {"q0": 4, "q2": 4}


def test_commits_are_those_of_each_queue(tmp_path: Path) -> None:
    with ExitStack() as stack, FanIn() as fan:
        writers, readers = opened(stack, tmp_path, 2)
        for writer, reader in zip(writers, readers, strict=True):
            fan.add(reader)
            writer.append_batch([b"x"] * 10)
        for arrived in fan.read_batch(10):
            arrived.source.commit(*arrived.message.next)
    for n in range(2):
        with Reader(tmp_path / f"q{n}", "router") as reader:
            assert reader.opened_at == 5


def test_a_reader_may_be_opened_by_one_thread_and_used_by_another(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0, limits=Limits(retain=True)) as writer:
        handed: list[Reader] = []
        thread = threading.Thread(target=lambda: handed.append(Reader(tmp_path / "q", "r", heartbeat_s=0.01)))
        thread.start()
        thread.join()
        seen: list[int] = []

        def read() -> None:
            (reader,) = handed
            while len(seen) < 2000:
                batch = reader.read_batch(50, 30)
                seen.extend(message.seq for message in batch.messages)
                reader.commit(*batch.messages[-1].next)

        thread = threading.Thread(target=read)
        thread.start()
        for _ in range(2000):
            writer.append(b"x" * 100)
        thread.join()
        handed[0].close()
        assert seen == list(range(2000))
