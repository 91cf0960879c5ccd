"""What a flush asks of the kernel, and what time a record gets."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fireassay.reference import core
from fireassay.reference.chronicle.limits import Limits
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.core import CoreError
from fireassay.reference.failpoints import Action, ControlFile
from fireassay.reference.tests.chronicle_files import readable

SEGMENT = 1024
SYNCS = ("chronicle_flush_sealed", "chronicle_flush_current", "chronicle_flush_control", "chronicle_flush_names")


@contextmanager
def counting(where: Path) -> Iterator[ControlFile]:
    ffi, lib = core.load("failpoints")
    err = ffi.new("fa_error *")
    with ControlFile.create(where) as control:
        control.arm_all(Action.COUNT)
        core.check(ffi, err, lib.fa_failpoint_attach(os.fsencode(where), err))
        try:
            yield control
        finally:
            lib.fa_failpoint_detach(err)


def opened(queue: Path) -> Writer:
    return Writer(queue, SEGMENT, heartbeat_s=0, variant="failpoints", limits=Limits(reader_ttl_s=0))


def fill(writer: Writer, count: int) -> None:
    for _ in range(count):
        writer.append(bytes(100))  # five to a segment


def test_a_flush_syncs_each_segment_left_since_the_last_one_and_the_current_one(tmp_path: Path) -> None:
    with counting(tmp_path / "control") as control, opened(tmp_path / "q") as writer:
        fill(writer, 12)
        before = {name: control.hits(name) for name in SYNCS}
        writer.flush_sync()
        assert [control.hits(name) - before[name] for name in SYNCS] == [2, 1, 1, 1]
        fill(writer, 5)
        writer.flush_sync()
        assert [control.hits(name) - before[name] for name in SYNCS] == [3, 2, 2, 2]
        writer.flush_sync()
        assert [control.hits(name) - before[name] for name in SYNCS] == [3, 3, 3, 2], "no new names, no sync of names"


def test_an_asynchronous_flush_hands_every_unsynced_segment_to_the_kernel_and_syncs_none(tmp_path: Path) -> None:
    with counting(tmp_path / "control") as control, opened(tmp_path / "q") as writer:
        fill(writer, 12)
        before = {name: control.hits(name) for name in SYNCS}
        writer.flush_async()
        assert control.hits("chronicle_flush_async") == 3
        assert {name: control.hits(name) for name in SYNCS} == before
        control.arm("chronicle_flush_async", Action.ERROR, errno=errno.EIO)
        with pytest.raises(CoreError, match="sync_file_range: Input/output error"):
            writer.flush_async()
    with pytest.raises(CoreError, match="is closed"):
        writer.flush_async()


def test_a_segment_that_retention_has_deleted_is_not_missed_by_a_flush(tmp_path: Path) -> None:
    with opened(tmp_path / "q") as writer:
        fill(writer, 30)
        assert writer.retain().deleted == 5
        writer.flush_async()
        writer.flush_sync()


def test_timestamps_never_fall_across_batches_reservations_restarts_and_checkpoints(tmp_path: Path) -> None:
    ahead = 4_000_000_000_000_000_000  # as if the clock had been set back since
    with opened(tmp_path / "q") as writer:
        writer.append(b"x")
        writer.append(b"import", timestamp_ns=ahead)
        writer.append(b"x")
        writer.append_batch([b"x"] * 3)
        with writer.reserve(1) as place:
            place.payload[:] = b"x"
    for flushed in (True, False, True):
        with opened(tmp_path / "q") as writer:
            if flushed:
                writer.flush_sync()
        with opened(tmp_path / "q") as writer:
            writer.append(b"x")
            if flushed:
                writer.flush_sync()
    stamps = [record.timestamp_ns for record in readable(tmp_path / "q")]
    assert stamps[1:] == [ahead] * (len(stamps) - 1)
    assert stamps[0] < ahead
