"""Each deliberate fault in reservations, flushes, stamps and what is told of the writer shows itself; sound steps do not."""

import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.status import DisconnectReason
from fireassay.reference.failpoints import Action
from fireassay.reference.tests.chronicle_files import readable
from fireassay.reference.tests.mutant_steps import OK, armed, drained, filled, reader, shows, writer


def what_is_abandoned_blocks_nobody(where: Path) -> str:
    with writer(where / "q") as queue, reader(where / "q") as port:
        queue.reserve(100).abandon()
        queue.append(b"x")
        return OK if [message.payload for message in drained(port)] == [b"x"] else "the record behind was not read"


def what_is_left_of_a_reservation_blocks_nobody(where: Path) -> str:
    with writer(where / "q") as queue, reader(where / "q") as port:
        queue.reserve(500).commit(100)
        queue.append(b"x")
        return OK if [message.seq for message in drained(port)] == [0, 1] else "the record behind was not read"


def hits_of(where: Path, name: str, call: str) -> int:
    with armed(where / "control") as control, filled(where / "q") as queue:
        control.arm(name, Action.COUNT)
        getattr(queue, call)()
        return control.hits(name)


def a_flush_reaches_the_segments_before(where: Path) -> str:
    return OK if hits_of(where, "chronicle_flush_sealed", "flush_sync") > 1 else "only the current segment was synced"


def an_asynchronous_flush_writes(where: Path) -> str:
    return OK if hits_of(where, "chronicle_flush_async", "flush_async") > 1 else "nothing was handed to the kernel"


def a_dead_writer_is_told(where: Path) -> str:
    with filled(where / "q", 3), Reader(where / "q", "r", variant="mutants") as port:
        (where / "q" / "writer.lock").write_bytes(struct.pack("<IIQQ", os.getpid(), 0, 1, 1))
        return OK if port.detect_disconnect(60) is DisconnectReason.LOCK_LOST else "the writer seems to live"


def a_still_heart_is_told(where: Path) -> str:
    with filled(where / "q", 3), Reader(where / "q", "r", variant="mutants") as port:
        return OK if port.detect_disconnect(0) is DisconnectReason.HEARTBEAT_STALE else "the heart seems to beat"


def stamps_never_fall(where: Path) -> str:
    with writer(where / "q") as queue:
        queue.append(b"x", timestamp_ns=4_000_000_000_000_000_000)
        queue.append(b"x")
    stamps = [record.timestamp_ns for record in readable(where / "q")]
    return OK if stamps == sorted(stamps) else "a stamp is before the one before"


SHOWN_BY: dict[str, Callable[[Path], str]] = {
    "chronicle_abandon_open": what_is_abandoned_blocks_nobody,
    "chronicle_rest_open": what_is_left_of_a_reservation_blocks_nobody,
    "chronicle_flush_partial": a_flush_reaches_the_segments_before,
    "chronicle_async_idle": an_asynchronous_flush_writes,
    "chronicle_lock_unseen": a_dead_writer_is_told,
    "chronicle_stale_unseen": a_still_heart_is_told,
    "chronicle_stamp_falls": stamps_never_fall,
}


@pytest.mark.parametrize("name", SHOWN_BY)
def test_the_mutant_shows_and_the_sound_build_does_not(tmp_path: Path, name: str) -> None:
    shows(tmp_path, name, SHOWN_BY[name])
