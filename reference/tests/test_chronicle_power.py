"""Power loss, simulated page by page: any page that was not synced is the old one or the new one, any new name is there or not."""

import random
import shutil
from pathlib import Path

import pytest

from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.core import CoreError
from fireassay.reference.tests.chronicle_files import assert_consistent
from fireassay.spec.outcomes import ErrorClass

PAGE = 4096
SEGMENT = 4 * PAGE
Files = dict[str, bytes]


def payload_of(number: int, chance: random.Random) -> bytes:
    return b"%d:" % number + chance.randbytes(chance.choice((0, 10, 300, 3000, 9000)))


def taken(queue: Path) -> Files:
    return {path.name: path.read_bytes() for path in queue.iterdir() if path.is_file()}


def lose(queue: Path, durable: Files, chance: random.Random) -> None:
    """The queue as a disk may have it: of each page the durable or the last state; names vanish from the last one backwards."""
    now = taken(queue)
    fresh = sorted(name for name in now if name.endswith(".q") and name not in durable)
    gone = set(fresh[chance.randint(0, len(fresh)) :])
    for name, content in now.items():
        if name in gone or (name not in durable and not name.endswith(".q")):
            (queue / name).unlink()
            continue
        old = durable.get(name, b"").ljust(len(content), b"\0")
        pages = [chance.choice((old, content))[at : at + PAGE] for at in range(0, len(content), PAGE)]
        kept = b"".join(pages)
        if name in fresh and chance.random() < 0.2:
            kept = kept[: chance.choice((0, PAGE, len(kept)))]
        (queue / name).write_bytes(kept)


def drained(queue: Path, name: str) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    with Reader(queue, name) as reader:
        while not (batch := reader.read_batch(50)).end:
            found += [(message.seq, message.payload) for message in batch.messages]
    return found


def before_repair(queue: Path) -> list[tuple[int, bytes]]:
    """What a reader gets that comes before any writer: it may end in a refusal, never in something else."""
    found: list[tuple[int, bytes]] = []
    with Reader(queue, "early") as reader:
        try:
            while not (batch := reader.read_batch(50)).end:
                found += [(message.seq, message.payload) for message in batch.messages]
        except CoreError as error:
            if error.error_class is not ErrorClass.CORRUPT:
                raise
    return found


def one_life(queue: Path, log: list[bytes], chance: random.Random) -> tuple[Files, int]:
    """Appends and flushes; what is durable at the end, and how many records that is."""
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
        assert writer.next_seq == len(log)
        for _ in range(chance.randint(0, 12)):
            log.append(payload_of(len(log), chance))
            writer.append(log[-1])
        writer.flush_sync()
        durable, owed = taken(queue), len(log)
        for _ in range(chance.randint(0, 25)):
            log.append(payload_of(len(log), chance))
            writer.append(log[-1])
    return durable, owed


@pytest.mark.parametrize("seed", range(60))
def test_what_was_synced_survives_and_the_rest_is_a_prefix(tmp_path: Path, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    queue = tmp_path / "queue"
    log: list[bytes] = []
    for life in range(4):
        durable, owed = one_life(queue, log, chance)
        lose(queue, durable, chance)
        (queue / "readers").is_dir() and shutil.rmtree(queue / "readers")
        early = before_repair(queue)
        with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
            kept = [(record.seq, record.payload) for record in assert_consistent(queue)]
            assert owed <= len(kept) <= len(log), f"life {life}"
            assert kept == list(enumerate(log))[: len(kept)]
            assert early == kept[: len(early)]
            assert len(early) >= owed
            assert writer.next_seq == len(kept)
            assert drained(queue, f"late{life}") == kept
        del log[len(kept) :]


@pytest.mark.parametrize("seed", range(10))
def test_a_cursor_beyond_the_recovered_end_is_reset_and_says_so(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    queue = tmp_path / "queue"
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer, Reader(queue, "r") as reader:
        writer.append_batch([b"durable"] * 3)
        writer.flush_sync()
        durable = taken(queue)
        writer.append_batch([payload_of(number, chance) for number in range(3, 40)])
        while not (batch := reader.read_batch(50)).end:
            reader.commit(*batch.messages[-1].next) if batch.messages else None
    for name, content in taken(queue).items():
        if name not in durable:
            (queue / name).unlink()
        elif content != durable[name]:
            (queue / name).write_bytes(durable[name])
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer, Reader(queue, "r") as reader:
        assert (writer.next_seq, reader.opened_at, reader.was_reset) == (3, 3, True)
        writer.append(b"next")
        found = [message.payload for _ in range(3) for message in reader.read_batch(9).messages]
        assert found == [b"next"]
