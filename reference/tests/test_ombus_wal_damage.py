"""Torn tails end a replay and are cut off; damage before them is an error. Never silence, never other bytes."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fireassay.reference.core import CoreError
from fireassay.reference.ombus.errors import BusError
from fireassay.reference.ombus.wal import Replay, Wal
from fireassay.reference.tests.ombus_files import refused
from fireassay.spec import layouts
from fireassay.spec.layouts import ombus as layout
from fireassay.spec.layouts.ombus import ErrorCode

NAME = "wal-%u"
Log = list[tuple[int, bytes]]


def record(seq: int) -> tuple[int, bytes]:
    return seq, b"%d:" % seq + bytes([seq % 256]) * (seq * 29 % 60 + 8)


def spans(log: Log, crc: bool = True) -> list[int]:
    return [(8 + len(data) + 4 * crc + 7) // 8 * 8 for _, data in log]


def left_by_a_kill(where: Path, count: int, file_size: int = 4096, **more: Any) -> Log:
    """The files as a writer leaves them that is killed: reserved beyond its records, and nothing of the last file synced."""
    with Wal(where / NAME, file_size=file_size, **more) as writer:
        log = [record(seq) for seq in range(1, count + 1)]
        for _, data in log:
            writer.append(data)
        kept = {path: path.read_bytes() for path in where.iterdir()}
    for path, data in kept.items():
        path.write_bytes(data)
    return log


def closed(where: Path, count: int, file_size: int = 4096) -> Log:
    with Wal(where / NAME, file_size=file_size) as writer:
        for seq in range(1, count + 1):
            writer.append(record(seq)[1])
    return [record(seq) for seq in range(1, count + 1)]


def replayed(where: Path) -> Log:
    with Replay(where / NAME) as replay:
        return [(one.wal_seq, bytes(one.payload)) for one in replay]


def changed(path: Path, change: Callable[[bytearray], object]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def goes_on(where: Path, log: Log) -> None:
    """A writer recovers exactly these and appends behind them; what was cut off never comes back."""
    assert replayed(where) == log
    with Wal(where / NAME, file_size=4096) as writer:
        assert writer.opened_at == len(log)
        new = (writer.append(b"after"), b"after")
    assert replayed(where) == [*log, new]


def test_a_killed_writers_records_are_all_there(tmp_path: Path) -> None:
    goes_on(tmp_path, left_by_a_kill(tmp_path, 200))


@pytest.mark.parametrize("crc", [True, False])
def test_a_file_cut_at_any_byte_ends_with_its_last_whole_record(tmp_path: Path, crc: bool) -> None:
    log = left_by_a_kill(tmp_path, 12, crc=crc)
    path, data = tmp_path / "wal-0", (tmp_path / "wal-0").read_bytes()
    ends = [64 + sum(spans(log, crc)[:n]) for n in range(13)]
    for cut in range(64, ends[-1] + 1, 5):
        path.write_bytes(data[:cut])
        assert replayed(tmp_path) == log[: sum(end <= cut for end in ends[1:])], cut
    for cut in (ends[4], ends[4] + 1, ends[4] + 9, ends[5] - 1):
        path.write_bytes(data[:cut])
        goes_on(tmp_path, log[:4])


def test_a_torn_record_at_the_end_is_cut_off(tmp_path: Path) -> None:
    """Its header is missing, as a kill leaves it, or its payload is not whole, as a power loss may."""
    log = left_by_a_kill(tmp_path, 9)
    at = 64 + sum(spans(log)[:8])
    data = (tmp_path / "wal-0").read_bytes()
    for begin, end in ((at, at + 8), (at + 8, at + 16), (at + 15, at + 16), (at, at + 2)):
        (tmp_path / "wal-0").write_bytes(data[:begin] + bytes(end - begin) + data[end:])
        goes_on(tmp_path, log[:8])


def test_what_a_killed_writer_left_without_a_header_never_becomes_a_record(tmp_path: Path) -> None:
    log = left_by_a_kill(tmp_path, 3)
    end = 64 + sum(spans(log))
    ghost = layouts.build(layout.WAL_RECORD_CRC, {"seq": 5, "type": 0x80, "payload": b"ghost"})
    with (tmp_path / "wal-0").open("r+b") as file:
        file.seek(end)
        file.write(bytes(24) + ghost)  # where it would follow a record of sixteen bytes
    error = refused(ErrorCode.WAL_DAMAGED, lambda: replayed(tmp_path))  # it is valid, and something before it is missing
    assert "valid records follow" in str(error)
    with (tmp_path / "wal-0").open("r+b") as file:
        file.seek(end + 24)
        file.write(ghost[:8] + b"x" + ghost[9:])
    goes_on(tmp_path, log)


@pytest.mark.parametrize("close", [True, False])
def test_any_byte_changed_in_the_middle_is_an_error_and_the_records_before_it_are_given(tmp_path: Path, close: bool) -> None:
    log = (closed if close else left_by_a_kill)(tmp_path, 12)
    data = (tmp_path / "wal-0").read_bytes()
    ends = [64 + sum(spans(log)[:n]) for n in range(13)]
    last = ends[-1] if close else ends[-2]  # the last record of a file that is not synced may be torn
    for at in range(64, last, 5):
        (tmp_path / "wal-0").write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        found: Log = []
        with Replay(tmp_path / NAME) as replay:
            error = refused(ErrorCode.WAL_DAMAGED, lambda replay=replay, found=found: found.extend(  # type: ignore[misc]
                (one.wal_seq, bytes(one.payload)) for batch in iter(lambda: replay.read_batch(1), ()) for one in batch
            ))  # fmt: skip
        good = sum(end <= at for end in ends[1:])
        assert found == log[:good], at
        assert f"where sequence {good + 1} should be" in str(error)
        if at % 3 == 0:
            refused(ErrorCode.WAL_DAMAGED, lambda: Wal(tmp_path / NAME))
    (tmp_path / "wal-0").write_bytes(data)
    goes_on(tmp_path, log)


def test_any_byte_changed_in_a_file_that_another_follows_is_an_error(tmp_path: Path) -> None:
    log = left_by_a_kill(tmp_path, 30, 1024)
    data = (tmp_path / "wal-0").read_bytes()
    for at in range(0, len(data), 7):
        (tmp_path / "wal-0").write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        if 32 <= at < 48:  # the mark: it counts for nothing now, and nothing rests on it here
            assert replayed(tmp_path) == log
        else:
            code = ErrorCode.WAL_READ if 4 <= at < 8 else ErrorCode.WAL_DAMAGED
            refused(code, lambda: replayed(tmp_path))
    for cut in (0, 63, 64, 100, len(data) - 1):
        (tmp_path / "wal-0").write_bytes(data[:cut])
        refused(ErrorCode.WAL_DAMAGED, lambda: replayed(tmp_path))
    (tmp_path / "wal-0").write_bytes(data + bytes(8))
    refused(ErrorCode.WAL_DAMAGED, lambda: replayed(tmp_path))


def test_a_file_that_is_missing_or_from_elsewhere_is_an_error(tmp_path: Path) -> None:
    left_by_a_kill(tmp_path, 60, 1024)
    second = (tmp_path / "wal-1").read_bytes()
    (tmp_path / "wal-1").unlink()
    for call in (lambda: replayed(tmp_path), lambda: Wal(tmp_path / NAME)):
        assert "one is missing" in str(refused(ErrorCode.WAL_DAMAGED, call))
    (tmp_path / "wal-1").write_bytes((tmp_path / "wal-2").read_bytes())
    assert "header is damaged" in str(refused(ErrorCode.WAL_DAMAGED, lambda: replayed(tmp_path)))
    header = {"flags": 1, "number": 1, "first_seq": 5, "synced": 64, "synced_check": 0}
    (tmp_path / "wal-1").write_bytes(layouts.build(layout.WAL_FILE, header) + second[64:])
    assert "another sequence" in str(refused(ErrorCode.WAL_DAMAGED, lambda: replayed(tmp_path)))


def test_a_page_that_a_power_loss_took_ends_the_log_where_it_was_not_synced(tmp_path: Path) -> None:
    log = left_by_a_kill(tmp_path, 400, 1 << 16)
    ends = [64 + sum(spans(log)[:n]) for n in range(401)]
    changed(tmp_path / "wal-0", lambda data: data.__setitem__(slice(8192, 12288), bytes(4096)))
    goes_on(tmp_path, log[: sum(end <= 8192 for end in ends[1:])])


def test_a_page_that_is_gone_where_it_was_synced_is_an_error(tmp_path: Path) -> None:
    with Wal(tmp_path / NAME, file_size=1 << 16) as writer:
        for seq in range(1, 300):
            writer.append(record(seq % 200)[1])
            if seq == 200:
                writer.sync()
        data = bytearray((tmp_path / "wal-0").read_bytes())
    data[8192:12288] = bytes(4096)
    (tmp_path / "wal-0").write_bytes(data)
    assert "it was synced" in str(refused(ErrorCode.WAL_DAMAGED, lambda: replayed(tmp_path)))


def test_files_that_are_no_wal_are_refused(tmp_path: Path) -> None:
    closed(tmp_path, 3)
    data = (tmp_path / "wal-0").read_bytes()
    for code, bad in (
        (ErrorCode.WAL_DAMAGED, b""),
        (ErrorCode.WAL_DAMAGED, data[:40]),
        (ErrorCode.WAL_DAMAGED, b"OMBW" + data[4:]),
        (ErrorCode.WAL_READ, data[:4] + b"\2" + data[5:]),
        (ErrorCode.WAL_DAMAGED, data[:8] + b"\3" + data[9:]),
        (ErrorCode.WAL_DAMAGED, data[:60] + b"\1" + data[61:]),
    ):
        (tmp_path / "wal-0").write_bytes(bad)
        for call in (lambda: replayed(tmp_path), lambda: Wal(tmp_path / NAME)):
            refused(code, call)


def test_random_damage_is_told_or_harmless(tmp_path: Path) -> None:
    """A replay gives a prefix of what was written, and a writer that goes on does so behind such a prefix."""
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    log = left_by_a_kill(tmp_path, 60, 2048)
    sound = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for _ in range(60):
        for path, data in sound.items():
            path.write_bytes(data)
        for _ in range(rng.randint(1, 3)):
            path = rng.choice(list(sound))
            size = rng.choice([1, 1, 8, 512])
            at = rng.randrange(len(sound[path]))
            changed(path, lambda data, at=at, size=size: data.__setitem__(slice(at, at + size), rng.randbytes(min(size, len(data) - at))))  # type: ignore[misc]
        found: Log = []
        try:
            found = replayed(tmp_path)
            assert found == log[: len(found)], f"seed {seed}"
            with Wal(tmp_path / NAME, file_size=2048) as writer:
                assert writer.append(b"x") == len(found) + 1, f"seed {seed}"
        except BusError as error:
            if error.code not in (ErrorCode.WAL_DAMAGED, ErrorCode.WAL_READ):
                raise AssertionError(f"seed {seed}") from error
        for path in set(tmp_path.iterdir()) - set(sound):
            path.unlink()
    assert issubclass(BusError, CoreError)
