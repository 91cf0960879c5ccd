"""Snapshots and late joiners (CHR-31), books and aligned streams (CHR-32), readers handed on (CHR-36)."""

import hashlib
import struct
import threading
from pathlib import Path

import pytest

from fireassay.conformance.cases.chronicle import queue
from fireassay.conformance.cases.chronicle.helpers import Helpers, helping, packed, unpacked
from fireassay.conformance.cases.chronicle.queue import Queue, message, segment
from fireassay.conformance.cases.through import appended, numbered, payloads_of, read, unlike
from fireassay.spec import layouts
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.ports import ReaderPort, Target

SIZE = 1 << 16
COUNT = 60
BID, ASK = 0, 1
SNAPSHOT, DELTA = 1, 2
DEADLINE_S = 30.0


def folded(state: bytes, seq: int, payload: bytes) -> bytes:
    """A state in which each record counts, once and in its order."""
    return hashlib.sha256(state + seq.to_bytes(8, "little") + payload).digest()


def states(payloads: list[bytes]) -> list[bytes]:
    """After each record."""
    found, state = list[bytes](), b""
    for seq, payload in enumerate(payloads):
        state = folded(state, seq, payload)
        found.append(state)
    return found


def feed(path: Path) -> tuple[Queue, list[bytes]]:
    payloads = numbered(COUNT)
    rows = [message(payload, seq, timestamp_ns=1000 + seq) for seq, payload in enumerate(payloads)]
    return queue.made(path, SIZE, [segment(0, SIZE, rows)]), payloads


def joined(helpers: Helpers, here: Queue) -> tuple[int | None, bytes]:
    """From which snapshot a late joiner started, and the state that it came to."""
    found = helpers.ask("join", queue=str(here.path))
    state = unpacked(found["state"]) if found["state"] is not None else b""
    for seq, _, _, _, payload in found["records"]:
        state = folded(state, seq, unpacked(payload))
    return found["snapshot"], state


def taken(helpers: Helpers, here: Queue, seq: int, state: bytes, timestamp_ns: int | None = None) -> Path:
    stamp = 1000 + seq if timestamp_ns is None else timestamp_ns
    return Path(helpers.ask("snapshot", queue=str(here.path), seq=seq, timestamp_ns=stamp, state=packed(state)))


@pytest.mark.clause("CHR-31")
def test_a_late_joiner_has_the_state_of_one_from_the_start(target: Target, place: Path) -> None:
    here, payloads = feed(place / "q")
    after = states(payloads)
    with helping(target) as helpers:
        assert joined(helpers, here) == (None, after[-1]), "without a snapshot it begins with the first record"
        for seq in (0, 20, 41, COUNT - 1):
            path = taken(helpers, here, seq, after[seq])
            assert path == here.path / "snapshots" / f"snapshot_{seq}.bin", f"the snapshot after record {seq} lies in {path}"
            found = joined(helpers, here)
            assert found[0] == seq, f"the latest snapshot is {seq}, it took {found[0]}"
            assert found[1] == after[-1], f"from snapshot {seq} on it came to another state than from the start"


@pytest.mark.clause("CHR-31")
def test_a_damaged_snapshot_gives_way_to_an_older_one(target: Target, place: Path) -> None:
    here, payloads = feed(place / "q")
    after = states(payloads)
    with helping(target) as helpers:
        taken(helpers, here, 10, after[10])
        path = taken(helpers, here, 30, after[30])
        whole = path.read_bytes()
        at = whole.index(after[30]) + 5
        flipped = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        for what, broken in (("a bit of its state flipped", flipped), ("cut", whole[:-3]), ("emptied", b"")):
            path.write_bytes(broken)
            found = joined(helpers, here)
            assert found[1] == after[-1], f"snapshot 30 was {what}: the joiner came to another state than from the start"
            assert found[0] == 10, f"snapshot 30 was {what}: expected snapshot 10, it took {found[0]}"


@pytest.mark.clause("CHR-31")
def test_a_snapshot_of_records_that_the_queue_lost_is_not_taken(target: Target, place: Path) -> None:
    """Power loss took the queue's tail and not the snapshot; then the numbers were given again."""
    here, payloads = feed(place / "q")
    after = states(payloads)
    with helping(target) as helpers:
        taken(helpers, here, 10, after[10])
        taken(helpers, here, 30, b"another history", timestamp_ns=5)
        taken(helpers, here, COUNT + 7, b"beyond the end")
        found = joined(helpers, here)
    assert found == (10, after[-1]), f"expected snapshot 10, the only one of this queue's history; it took {found[0]}"


@pytest.mark.clause("CHR-31")
def test_a_snapshot_written_by_a_process_that_is_killed_is_whole_or_not_there(target: Target, place: Path) -> None:
    here, payloads = feed(place / "q")
    after = states(payloads)
    for seq in range(5, 25, 5):
        with helping(target) as helpers:
            taken(helpers, here, seq, after[seq])
            helpers.kill()
        for path in (here.path / "snapshots").glob("snapshot_*.bin"):
            layouts.parse(layout.SNAPSHOT, path.read_bytes())
    with helping(target) as helpers:
        assert joined(helpers, here) == (20, after[-1]), "four snapshots were written, the last one is 20"


# -- CHR-32


def event(kind: int, stamp: int, book_seq: int, *levels: tuple[int, int, int]) -> bytes:
    body = b"".join(struct.pack("<B7xqQ", *level) for level in levels)
    fields = {"event_type": kind, "ingest_ts_ns": stamp, "exchange_ts_ns": 0, "book_seq": book_seq, "instrument_id": 3, "flags": 0}
    return layouts.build(layout.BOOK_EVENT, fields | {"payload": body})


@pytest.mark.clause("CHR-32")
def test_a_book_is_its_snapshot_and_its_deltas(target: Target, place: Path) -> None:
    events = [
        event(SNAPSHOT, 1, 10, (BID, 100, 5), (BID, 99, 4), (ASK, 102, 7), (ASK, -3, 1)),
        event(DELTA, 2, 11, (BID, 101, 2), (BID, 99, 0)),
        event(DELTA, 3, 12, (ASK, -3, 0), (ASK, 103, 1), (BID, 100, 6)),
    ]
    rows = [message(data, seq, type_id=1, timestamp_ns=seq + 1) for seq, data in enumerate(events)]
    here = queue.made(place / "q", SIZE, [segment(0, SIZE, rows)])
    with helping(target) as helpers:
        found = helpers.ask("books", queue=str(here.path))
    expected = {"3": {"bid": [[101, 2], [100, 6]], "ask": [[102, 7], [103, 1]]}}
    assert found == expected, f"expected {expected}; found {found}"


@pytest.mark.clause("CHR-32")
def test_streams_are_aligned_on_ingest_time(target: Target, place: Path) -> None:
    stamps: tuple[list[int], ...] = ([10, 20, 20, 50], [5, 20, 60], [])
    paths = []
    for number, row in enumerate(stamps):
        rows = [message(b"", seq, timestamp_ns=stamp) for seq, stamp in enumerate(row)]
        paths.append(str(queue.made(place / f"q{number}", SIZE, [segment(0, SIZE, rows)]).path))
    with helping(target) as helpers:
        found = [tuple(row) for row in helpers.ask("aligned", queues=paths)]
    expected = sorted(((number, seq, stamp) for number, row in enumerate(stamps) for seq, stamp in enumerate(row)), key=lambda row: row[2])
    assert [row[2] for row in found] == [row[2] for row in expected], f"timestamps come as {[row[2] for row in found]}"
    for number, row in enumerate(stamps):
        own = [seq for stream, seq, _ in found if stream == number]
        assert own == list(range(len(row))), f"records of stream {number} come in the order {own}"


# -- CHR-36


@pytest.mark.clause("CHR-36")
def test_a_reader_opened_on_one_thread_is_used_by_another(target: Target) -> None:
    sent, opened = numbered(80), list[ReaderPort]()
    handed, done = threading.Event(), threading.Event()

    def open_it() -> None:
        opened.append(target.open_reader("q", "handed"))
        handed.set()
        done.wait()  # a driver dies with the thread that started it

    with target.open_writer("q") as writer:
        appended(writer, sent)
        sidecar = threading.Thread(target=open_it, daemon=True)
        sidecar.start()
        try:
            assert handed.wait(DEADLINE_S), "the reader was not opened in time"
            with opened[0] as reader:
                found = payloads_of(read(reader))
        finally:
            done.set()
            sidecar.join()
    assert found == sent, unlike(found, sent)
