"""The WAL of om_bus: its bytes, its files, who may write it, and what a replay gives."""

import errno
import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fireassay.reference import core
from fireassay.reference.failpoints import Action, ControlFile
from fireassay.reference.ombus.endpoint import Record
from fireassay.reference.ombus.wal import ALWAYS, NONE, Replay, Wal
from fireassay.reference.tests.ombus_files import refused
from fireassay.spec import layouts
from fireassay.spec.layouts import ombus as layout
from fireassay.spec.layouts.ombus import ErrorCode
from fireassay.spec.outcomes import ErrorClass

SIZE = 512
HEADER = 64


def wal(where: Path, file_size: int = SIZE, name: str = "wal-%03u", **more: Any) -> Wal:
    return Wal(where / name, file_size=file_size, **more)


def replayed(where: Path, from_seq: int = 0, to_seq: int = 0, name: str = "wal-%03u") -> list[tuple[int, bytes]]:
    with Replay(where / name, from_seq, to_seq) as replay:
        return [(record.wal_seq, bytes(record.payload)) for record in replay]


def payload(seq: int) -> bytes:
    return b"%d." % seq * (seq * 7 % 15)


def filled(where: Path, count: int, **more: Any) -> list[tuple[int, bytes]]:
    with wal(where, **more) as writer:
        for seq in range(writer.last_seq + 1, writer.last_seq + 1 + count):
            writer.append(payload(seq))
        return [(seq, payload(seq)) for seq in range(1, writer.last_seq + 1)]


def files(where: Path) -> list[Path]:
    return sorted(where.glob("wal*"))


def parsed(data: bytes, crc: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A file, by the specification alone."""
    header, at = layouts.parse(layout.WAL_FILE, data[:HEADER]), HEADER
    records = []
    while at < len(data) and data[at : at + 8] != bytes(8):
        record, used = layouts.parse_prefix(layout.WAL_RECORD_CRC if crc else layout.WAL_RECORD, data[at:])
        records.append(record)
        at += used
    assert not any(data[at:])
    return header, records


@pytest.mark.parametrize("crc", [True, False])
def test_the_files_are_what_the_specification_says_field_by_field(tmp_path: Path, crc: bool) -> None:
    expected = filled(tmp_path, 40, crc=crc)
    found, first = [], 1
    for number, path in enumerate(files(tmp_path)):
        data = path.read_bytes()
        header, records = parsed(data, crc)
        assert (header["flags"], header["number"], header["first_seq"]) == (int(crc), number, first)
        assert (header["synced"], header["synced_check"]) == (len(data), len(data) ^ ((1 << 64) - 1))
        assert len(data) <= SIZE
        found += [(record["seq"], record["payload"]) for record in records]
        assert {record["type"] for record in records} == {0x80}
        first += len(records)
    assert found == expected
    assert len(files(tmp_path)) > 2


def test_a_file_that_the_specification_builds_is_replayed_and_gone_on_with(tmp_path: Path) -> None:
    header = layouts.build(layout.WAL_FILE, {"flags": 1, "number": 7, "first_seq": 1000, "synced": 64, "synced_check": 0})
    records = [{"seq": 1000 + i, "type": kind, "payload": bytes(i)} for i, kind in enumerate((1, 2, 3, 4, 5, 6, 0x80, 0xFF))]
    (tmp_path / "wal-007").write_bytes(header + b"".join(layouts.build(layout.WAL_RECORD_CRC, record) for record in records))
    with Replay(tmp_path / "wal-%03u") as replay:
        assert list(replay) == [Record(1000 + i, kind, bytes(i)) for i, kind in enumerate((1, 2, 3, 4, 5, 6, 128, 255))]
    with wal(tmp_path) as writer:
        assert (writer.opened_at, writer.append(b"on")) == (1007, 1008)
    assert replayed(tmp_path, 1007) == [(1007, bytes(7)), (1008, b"on")]


def test_payloads_have_the_sizes_of_the_seed() -> None:
    order = {"order_id": 1, "timestamp_ns": 2, "product_id": 3}
    insert = {"order_id": 1, "price": -2, "volume": 3, "volume_remaining": 4, "timestamp_ns": 5, "product_id": 6, "org_id": 7, "flags": 8}
    sizes = [
        len(layouts.build(layout.WAL_INSERT, {**insert, "user": b"", "aux": b""})),
        len(layouts.build(layout.WAL_INSERT, {**insert, "user": bytes(32), "aux": bytes(64)})),
        len(layouts.build(layout.WAL_MATCH, {"maker_id": 1, "taker_id": 2, "price": 3, "volume": 4, "timestamp_ns": 5})),
        *(len(layouts.build(one, order)) for one in (layout.WAL_CANCEL, layout.WAL_DEACTIVATE, layout.WAL_ACTIVATE)),
    ]
    assert sizes == [56, 152, 40, 24, 24, 24]


def test_every_range_is_half_open_over_all_files(tmp_path: Path) -> None:
    everything = filled(tmp_path, 60)
    assert replayed(tmp_path) == everything
    for from_seq in range(1, 62):
        assert replayed(tmp_path, from_seq) == everything[from_seq - 1 :]
        for to_seq in range(from_seq, 63, 7):
            assert replayed(tmp_path, from_seq, to_seq) == everything[from_seq - 1 : to_seq - 1]


def test_a_replay_in_columns_is_the_same(tmp_path: Path) -> None:
    with wal(tmp_path, 1 << 20) as writer:
        assert writer.append_joined([1, 2, 3], b"abcdef", [1, 2, 3]) == 1
        assert writer.append_joined(0x80, np.arange(6000, dtype=np.uint8), 6) == 4
        assert writer.append_batch([(4, b"x"), (5, b"")]) == (1004, 1005)
    with Replay(tmp_path / "wal-%03u") as replay:
        first, rest = replay.read_columns(3), replay.read_columns(2000)
        assert (first.wal_seqs.tolist(), first.wal_types.tolist(), first.payloads.tobytes()) == ([1, 2, 3], [1, 2, 3], b"abcdef")
        assert rest.wal_seqs.tolist() == list(range(4, 1006))
        assert (rest.payloads[:6000] == np.arange(6000, dtype=np.uint8)).all()
        assert (rest.wal_types[-2:].tolist(), rest.lengths[-2:].tolist()) == ([4, 5], [1, 0])
        assert len(replay.read_columns(1)) == 0


def test_sequences_go_on_when_the_wal_is_opened_again(tmp_path: Path) -> None:
    for _ in range(5):
        everything = filled(tmp_path, 11)
    assert [seq for seq, _ in everything] == list(range(1, 56))
    assert replayed(tmp_path) == everything


def test_a_single_file_never_rolls_and_says_when_it_is_full(tmp_path: Path) -> None:
    with wal(tmp_path, name="wal") as writer:
        error = refused(ErrorCode.WAL_WRITE, lambda: [writer.append(bytes(90)) for _ in range(9)])
        assert error.error_class is ErrorClass.FULL
        assert writer.last_seq == 4
        writer.append(b"")  # which still fits
        joined = refused(ErrorCode.WAL_WRITE, lambda: writer.append_batch([(1, b""), (1, bytes(90)), (1, b"")]))
        assert joined.done == 1
    assert [seq for seq, _ in replayed(tmp_path, name="wal")] == [1, 2, 3, 4, 5, 6]
    assert [path.name for path in tmp_path.iterdir()] == ["wal"]


def test_what_no_record_can_be_is_refused_without_a_trace(tmp_path: Path) -> None:
    with wal(tmp_path) as writer:
        for code, size in ((ErrorCode.RECORD_TOO_LARGE, 437), (ErrorCode.RECORD_TOO_LARGE, 65_536)):
            refused(code, lambda size=size: writer.append(bytes(size)))  # type: ignore[misc]
        for kind in (0, 7, 0x7F):
            refused(ErrorCode.INIT, lambda kind=kind: writer.append(b"x", kind))  # type: ignore[misc]
        assert writer.append(bytes(436)) == 1
    with wal(tmp_path, 1 << 17, "large") as writer:
        assert writer.append(bytes(65_535)) == 1
    assert replayed(tmp_path, name="large") == [(1, bytes(65_535))]


def test_sequences_end_with_40_bits(tmp_path: Path) -> None:
    last = (1 << 40) - 1
    header = layouts.build(layout.WAL_FILE, {"flags": 1, "number": 0, "first_seq": last, "synced": 64, "synced_check": 0})
    (tmp_path / "wal-000").write_bytes(header)
    with wal(tmp_path) as writer:
        assert writer.append(b"the last") == last
        assert refused(ErrorCode.WAL_WRITE, lambda: writer.append(b"")).error_class is ErrorClass.FULL
    with wal(tmp_path) as writer:
        assert refused(ErrorCode.WAL_WRITE, lambda: writer.append(b"")).error_class is ErrorClass.FULL
    assert replayed(tmp_path) == [(last, b"the last")]


@pytest.mark.parametrize("name", ["", "..", "wal-%u-%u", "wal-%d", "wal-%5u", "wal-%00u", "wal-%", "x" * 192, "a\0b"])
def test_a_pattern_has_one_number_at_most(tmp_path: Path, name: str) -> None:
    path = f"{tmp_path}/{name}"
    refused(ErrorCode.INIT, lambda: Wal(path))
    refused(ErrorCode.INIT, lambda: Replay(path))
    assert list(tmp_path.iterdir()) == []


def test_only_names_that_the_pattern_makes_are_files_of_the_wal(tmp_path: Path) -> None:
    everything = filled(tmp_path, 30)
    for other in ("wal-0", "wal-0001", "wal-001.tmp", "wal-", "wal-x", "wal-99999999999", "other"):
        (tmp_path / other).write_bytes(b"not ours")
    assert replayed(tmp_path) == everything
    filled(tmp_path, 1)
    assert (tmp_path / "wal-0001").read_bytes() == b"not ours"


def test_a_wal_has_one_writer_who_lives(tmp_path: Path) -> None:
    with wal(tmp_path) as writer:
        for _ in range(30):
            writer.append(bytes(50))
        assert refused(ErrorCode.WAL_OPEN, lambda: wal(tmp_path)).error_class is ErrorClass.LOCKED
        writer.append(b"undisturbed")
    assert [seq for seq, _ in replayed(tmp_path)] == list(range(1, 32))


def test_a_wal_that_is_not_there_or_that_nobody_may_have_is_told(tmp_path: Path) -> None:
    assert refused(ErrorCode.WAL_READ, lambda: Replay(tmp_path / "wal")).error_class is ErrorClass.MISSING
    refused(ErrorCode.WAL_READ, lambda: Replay(tmp_path / "nowhere" / "wal"))
    refused(ErrorCode.WAL_OPEN, lambda: Wal(tmp_path / "nowhere" / "wal"))
    (tmp_path / "wal").mkdir()
    refused(ErrorCode.WAL_OPEN, lambda: Wal(tmp_path / "wal"))
    refused(ErrorCode.WAL_READ, lambda: Replay(tmp_path / "wal"))
    refused(ErrorCode.INIT, lambda: Wal(tmp_path / "w", file_size=64))


def test_a_range_outside_the_wal_is_told(tmp_path: Path) -> None:
    everything = filled(tmp_path, 30)
    assert replayed(tmp_path, 31) == []
    with Replay(tmp_path / "wal-%03u", 32) as replay:
        assert "a cursor beyond the end must be reset" in str(refused(ErrorCode.WAL_READ, lambda: replay.read_batch(1)))
    files(tmp_path)[0].unlink()
    oldest = parsed(files(tmp_path)[0].read_bytes(), True)[0]["first_seq"]
    assert replayed(tmp_path) == replayed(tmp_path, oldest) == everything[oldest - 1 :]
    error = refused(ErrorCode.WAL_READ, lambda: Replay(tmp_path / "wal-%03u", oldest - 1))
    assert error.error_class is ErrorClass.MISSING


def test_a_replay_follows_the_writer_from_file_to_file(tmp_path: Path) -> None:
    with wal(tmp_path) as writer, Replay(tmp_path / "wal-%03u") as replay:
        assert replay.read_batch(5) == ()
        seen = []
        for seq in range(1, 80):
            writer.append(payload(seq))
            if seq % 3 == 0:
                seen += [record.wal_seq for record in replay]
        assert seen == list(range(1, 79))


def test_a_replay_beside_a_writer_sees_whole_records_in_order(tmp_path: Path) -> None:
    total = 3000

    def write() -> None:
        with wal(tmp_path, 4096) as writer:
            for seq in range(1, total + 1):
                writer.append(payload(seq))

    with wal(tmp_path, 4096):
        pass
    thread = threading.Thread(target=write)
    thread.start()
    with Replay(tmp_path / "wal-%03u") as replay:
        seen: list[tuple[int, bytes]] = []
        while len(seen) < total:
            seen += [(record.wal_seq, bytes(record.payload)) for record in replay]
    thread.join()
    assert seen == [(seq, payload(seq)) for seq in range(1, total + 1)]


@contextmanager
def counting(where: Path, *names: str) -> Iterator[ControlFile]:
    """A control file that acts in this process, on the failpoints build."""
    ffi, lib = core.load("failpoints")
    err = ffi.new("fa_error *")
    with ControlFile.create(where / "control") as control:
        core.check(ffi, err, lib.fa_failpoint_attach(os.fsencode(control.path), err))
        try:
            for name in names:
                control.arm(name, Action.COUNT)
            yield control
        finally:
            lib.fa_failpoint_detach(err)


@pytest.mark.parametrize(("every", "syncs"), [(NONE, 0), (ALWAYS, 10), (3, 3)])
def test_it_syncs_as_often_as_it_is_told_to(tmp_path: Path, every: int, syncs: int) -> None:
    with counting(tmp_path, "ombus_wal_fdatasync") as control:
        with wal(tmp_path, 1 << 16, sync_every=every, variant="failpoints") as writer:
            for seq in range(1, 11):
                writer.append(payload(seq))
            assert control.hits("ombus_wal_fdatasync") == syncs
            writer.sync()
            writer.sync()  # there is nothing new
            assert control.hits("ombus_wal_fdatasync") == (syncs if every == ALWAYS else syncs + 1)
        assert control.hits("ombus_wal_fdatasync") == (syncs if every == ALWAYS else syncs + 1)


def test_a_full_disk_is_told_and_work_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    with counting(tmp_path) as control, wal(tmp_path, variant="failpoints") as writer:
        writer.append(bytes(400))
        for name in ("ombus_wal_fallocate", "ombus_wal_pwrite", "ombus_wal_fsync", "ombus_wal_rename", "ombus_wal_fsync_dir"):
            control.arm(name, Action.ERROR, errno=errno.ENOSPC)
            for size in (400, 1):
                if control.fired(name):
                    break
                error = refused(ErrorCode.WAL_WRITE, lambda size=size: writer.append(bytes(size)))  # type: ignore[misc]
                assert (error.error_class, error.errno) == (ErrorClass.FULL, errno.ENOSPC)
            control.disarm(name)
            assert sorted(path.name for path in files(tmp_path)) == ["wal-000"]
        assert (writer.append(b"small"), writer.append(bytes(400))) == (2, 3)
    assert [(seq, len(data)) for seq, data in replayed(tmp_path)] == [(1, 400), (2, 5), (3, 400)]


def test_after_a_sync_that_failed_nothing_is_promised_until_the_wal_is_opened_again(tmp_path: Path) -> None:
    with counting(tmp_path) as control:
        writer = wal(tmp_path, 4096, variant="failpoints")
        writer.append(b"one")
        control.arm("ombus_wal_fdatasync", Action.ERROR, errno=errno.EIO)
        assert refused(ErrorCode.WAL_WRITE, writer.sync).errno == errno.EIO
        control.disarm("ombus_wal_fdatasync")
        for call in (writer.sync, lambda: writer.append(b"two")):
            assert "a sync failed" in str(refused(ErrorCode.WAL_WRITE, call))
        writer.close()
        with wal(tmp_path, 4096, variant="failpoints") as again:
            assert again.append(b"two") == 2


def test_a_closed_wal_and_replay_say_so(tmp_path: Path) -> None:
    writer = wal(tmp_path)
    replay = Replay(tmp_path / "wal-%03u")
    for one in (writer, replay):
        one.close()
        one.close()
    for call in (lambda: writer.append(b""), writer.sync):
        assert refused(ErrorCode.WAL_WRITE, call).error_class is ErrorClass.CLOSED
    assert refused(ErrorCode.WAL_READ, lambda: replay.read_batch(1)).error_class is ErrorClass.CLOSED


def test_any_sizes_come_back_as_they_were(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    written = []
    for _ in range(6):
        with wal(tmp_path, rng.choice([1024, 4096, 70_000]), crc=rng.random() < 0.5) as writer:
            for _ in range(rng.randrange(60)):
                data = rng.randbytes(rng.randrange(900))
                written.append((writer.append(data), data))
    assert replayed(tmp_path) == written, f"seed {seed}"
