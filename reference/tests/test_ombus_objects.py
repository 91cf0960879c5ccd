"""The shared-memory objects of om_bus: how they come and go, and which are refused with which code."""

import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.reference import core
from fireassay.reference.ombus.endpoint import Endpoint, Gap, Record
from fireassay.reference.ombus.monitor import Monitor
from fireassay.reference.ombus.stream import Stream
from fireassay.reference.tests.ombus_files import (
    NAME,
    endpoint,
    header,
    left_behind,
    patch,
    publish,
    refused,
    seqs,
    stream,
)
from fireassay.spec.layouts.ombus import ErrorCode
from fireassay.spec.outcomes import ErrorClass


def test_the_codes_of_c_are_those_of_the_specification() -> None:
    ffi, lib = core.load()
    assert [ffi.string(lib.om_bus_error_name(code)).decode() for code in ErrorCode] == [code.name for code in ErrorCode]
    assert [lib.om_bus_error_name(code) for code in (0, -799, min(ErrorCode) - 1)] == [ffi.NULL] * 3


@pytest.mark.parametrize(
    ("code", "config"),
    [
        (ErrorCode.NOT_POW2, {"capacity": 12}),
        (ErrorCode.NOT_POW2, {"capacity": (1 << 32) - 1}),
        (ErrorCode.INIT, {"slot_size": 24}),
        (ErrorCode.INIT, {"slot_size": 60}),
        (ErrorCode.INIT, {"slot_size": 65_560}),
        (ErrorCode.INIT, {"name": ""}),
        (ErrorCode.INIT, {"name": "/"}),
        (ErrorCode.INIT, {"name": "/.hidden"}),
        (ErrorCode.INIT, {"name": "../bus"}),
        (ErrorCode.INIT, {"name": "/a/b"}),
        (ErrorCode.INIT, {"name": "/" + 63 * "x"}),
        (ErrorCode.INIT, {"name": "a\0b"}),
        (ErrorCode.SHM_CREATE, {"directory": "nowhere"}),
        (ErrorCode.SHM_CREATE, {"name": "/taken"}),
        (ErrorCode.SHM_CREATE, {"name": "/link"}),
        (ErrorCode.SHM_CREATE, {"capacity": 1 << 31, "slot_size": 65_552}),  # 128 TiB
    ],
)
def test_a_stream_nobody_can_make_is_refused_and_leaves_nothing(tmp_path: Path, code: ErrorCode, config: dict[str, object]) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    name, place = str(config.pop("name", NAME)), tmp_path / str(config.pop("directory", "."))
    refused(code, lambda: Stream(name, directory=place, **config))  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "taken"]


def test_a_name_has_63_bytes_at_most_and_needs_no_slash(tmp_path: Path) -> None:
    with Stream("/" + 62 * "x", directory=tmp_path) as bus, Endpoint(62 * "x", directory=tmp_path) as port:
        bus.publish(1, b"")
        assert seqs(port) == [1]


def test_where_no_directory_is_named_it_is_that_of_shared_memory() -> None:
    name = f"/fireassay-test-{os.getpid()}"
    with Stream(name, capacity=2) as bus, Endpoint(name) as port:
        assert Path("/dev/shm", name[1:]).exists()
        bus.publish(1, b"")
        assert seqs(port) == [1]
    assert not Path("/dev/shm", name[1:]).exists()


def u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


HOSTILE: dict[str, tuple[ErrorCode, Callable[[Path], object]]] = {
    "no object": (ErrorCode.SHM_OPEN, lambda where: (where / "bus").unlink()),
    "a directory": (ErrorCode.SHM_OPEN, lambda where: ((where / "bus").unlink(), (where / "bus").mkdir())),
    "a link": (ErrorCode.SHM_OPEN, lambda where: ((where / "bus").rename(where / "x"), (where / "bus").symlink_to("x"))),
    "a pipe": (ErrorCode.SHM_OPEN, lambda where: ((where / "bus").unlink(), os.mkfifo(where / "bus"))),
    "nothing in it": (ErrorCode.SHM_MAP, lambda where: os.truncate(where / "bus", 0)),
    "half a header": (ErrorCode.SHM_MAP, lambda where: os.truncate(where / "bus", 2048)),
    "a header alone": (ErrorCode.SHM_MAP, lambda where: os.truncate(where / "bus", 4096)),
    "one byte short": (ErrorCode.SHM_MAP, lambda where: os.truncate(where / "bus", 4096 + 128 + 511)),
    "one byte long": (ErrorCode.SHM_MAP, lambda where: os.truncate(where / "bus", 4096 + 128 + 513)),
    "another magic": (ErrorCode.MAGIC_MISMATCH, lambda where: patch(where, 0, b"OMBS")),
    "another version": (ErrorCode.VERSION_MISMATCH, lambda where: patch(where, 4, u32(2))),
    "slots of none": (ErrorCode.SHM_MAP, lambda where: patch(where, 8, u32(0))),
    "slots smaller than their header": (ErrorCode.SHM_MAP, lambda where: patch(where, 8, u32(16))),
    "slots that are not aligned": (ErrorCode.SHM_MAP, lambda where: patch(where, 8, u32(60))),
    "slots of 4 GiB": (ErrorCode.SHM_MAP, lambda where: patch(where, 8, u32((1 << 32) - 8))),
    "no capacity": (ErrorCode.NOT_POW2, lambda where: patch(where, 12, u32(0))),
    "an odd capacity": (ErrorCode.NOT_POW2, lambda where: patch(where, 12, u32(7))),
    "a capacity beyond the file": (ErrorCode.SHM_MAP, lambda where: patch(where, 12, u32(1 << 31))),
    "a capacity that wraps the size": (ErrorCode.SHM_MAP, lambda where: patch(where, 8, u32(1 << 16) + u32(1 << 16))),
    "no consumers": (ErrorCode.SHM_MAP, lambda where: patch(where, 16, u32(0))),
    "consumers that wrap the size": (ErrorCode.SHM_MAP, lambda where: patch(where, 16, u32((1 << 32) - 64))),
    "flags nobody knows": (ErrorCode.SHM_MAP, lambda where: patch(where, 20, u32(2))),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_object_is_refused_with_its_code(tmp_path: Path, what: str) -> None:
    code, make = HOSTILE[what]
    left_behind(tmp_path)
    make(tmp_path)
    refused(code, lambda: endpoint(tmp_path))
    refused(code, lambda: Monitor(NAME, directory=tmp_path))
    if what in ("a directory", "a link", "a pipe"):  # what is no file was put there by somebody for something
        refused(ErrorCode.SHM_CREATE, lambda: stream(tmp_path))
        return
    with stream(tmp_path) as bus, endpoint(tmp_path) as port:
        publish(bus, 1)
        assert seqs(port) == [1]


def test_a_consumer_index_out_of_range_is_refused(tmp_path: Path) -> None:
    with stream(tmp_path) as bus:
        for index in (2, (1 << 32) - 1):
            refused(ErrorCode.CONSUMER_ID, lambda index=index: endpoint(tmp_path, index))  # type: ignore[misc]
        with Monitor(NAME, directory=tmp_path) as monitor:
            refused(ErrorCode.CONSUMER_ID, lambda: monitor.release(2))
        publish(bus, 1)
        with endpoint(tmp_path, 1) as port:
            assert seqs(port) == [1]


def test_objects_changed_at_random_are_refused_or_polled_to_an_end(tmp_path: Path) -> None:
    """In the header, the tails, and the slots; fuzz_ombus.c does more of it, under ASan."""
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    sound = left_behind(tmp_path, crc=True).read_bytes()
    for _ in range(200):
        damaged = bytearray(sound)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.choice([rng.randrange(112), rng.randrange(4096, len(sound))])] = rng.randrange(256)
        (tmp_path / "bus").write_bytes(damaged)
        try:
            with endpoint(tmp_path) as port:
                polled = 0
                while (found := taken(port)) and polled < 20:
                    polled += 1
                    assert found is True or found.wal_seq not in (1, 2, 3) or found.payload == b"payload %d" % found.wal_seq, f"seed {seed}"
                assert polled < 20, f"seed {seed}"
        except core.CoreError as error:
            if error.error_class not in (ErrorClass.CORRUPT, ErrorClass.VERSION, ErrorClass.INVALID):
                raise AssertionError(f"seed {seed}") from error


def taken(port: Endpoint) -> Record | bool | None:
    """True: a record that is damaged."""
    try:
        return port.poll()
    except Gap as gap:
        return gap.record
    except core.CoreError as error:
        if error.error_class is ErrorClass.CORRUPT:
            return True
        raise


def test_a_closed_stream_endpoint_and_monitor_say_so(tmp_path: Path) -> None:
    bus = stream(tmp_path)
    port, monitor = endpoint(tmp_path), Monitor(NAME, directory=tmp_path)
    for one in (port, monitor, bus):
        one.close()
        one.close()
    for call in (lambda: bus.publish(1, b""), lambda: bus.publish(1, b"x"), port.poll, lambda: port.poll_batch(2), monitor.look):
        assert refused(ErrorCode.INIT, call).error_class is ErrorClass.CLOSED
    refused(ErrorCode.CONSUMER_ID, lambda: monitor.release(0))


def test_a_stream_that_is_closed_is_read_to_its_end_and_then_replaced(tmp_path: Path) -> None:
    bus = stream(tmp_path)
    with endpoint(tmp_path) as port, endpoint(tmp_path, 1, zero_copy=True) as view, Monitor(NAME, directory=tmp_path) as monitor:
        publish(bus, 1, 2, 3)
        first = view.poll()
        assert port.poll() is not None
        assert first is not None
        bus.close()
        assert list(tmp_path.iterdir()) == []
        assert bytes(first.payload) == b"payload 1"
        for one in (port, view):
            assert [record.wal_seq for record in one.poll_batch(9)] == [2, 3]
            for _ in range(2):
                assert "replay from 4" in str(refused(ErrorCode.REPLACED, one.poll))
        refused(ErrorCode.REPLACED, monitor.look)


def _produce(where: Path, to: int) -> None:
    bus = stream(where)
    publish(bus, *range(1, to + 1))
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_producer_is_replaced_and_its_consumers_notice(tmp_path: Path) -> None:
    child = multiprocessing.get_context("fork").Process(target=_produce, args=(tmp_path, 5))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    old = header(tmp_path)
    with endpoint(tmp_path) as port:
        assert port.poll() is not None
        with stream(tmp_path) as bus:
            assert bus.incarnation > old["incarnation"]
            publish(bus, 6)
            assert seqs_until_replaced(port) == [2, 3, 4, 5]
            with endpoint(tmp_path, from_seq=port.expected) as new:
                assert (new.incarnation, seqs(new)) == (bus.incarnation, [6])
    assert list(tmp_path.iterdir()) == []


def seqs_until_replaced(port: Endpoint) -> list[int]:
    found: list[int] = []
    refused(ErrorCode.REPLACED, lambda: found.extend(iter(lambda: getattr(port.poll(), "wal_seq", None), None)))
    return found


def test_a_producer_that_lives_is_not_replaced(tmp_path: Path) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path) as port:
        assert refused(ErrorCode.SHM_CREATE, lambda: stream(tmp_path)).error_class is ErrorClass.LOCKED
        publish(bus, 1)
        assert seqs(port) == [1]
        assert [path.name for path in tmp_path.iterdir()] == ["bus"]


PRODUCER = """
import sys
from fireassay.reference.ombus.stream import Stream
bus = Stream('/bus', directory=sys.argv[1])
print(1, flush=True)
input()
"""


def test_a_producer_that_is_stopped_is_not_replaced_until_it_is_dead(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PRODUCER, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"1\n"
        child.send_signal(signal.SIGSTOP)
        refused(ErrorCode.SHM_CREATE, lambda: stream(tmp_path))
        child.kill()
        child.wait()
    stream(tmp_path).close()


def test_leaving_removes_no_name_that_another_has_taken(tmp_path: Path) -> None:
    bus = stream(tmp_path)
    (tmp_path / "bus").unlink()
    with stream(tmp_path) as other, endpoint(tmp_path) as port:
        bus.close()
        publish(other, 1)
        assert seqs(port) == [1]


def test_incarnations_grow_also_where_the_clock_is_behind(tmp_path: Path) -> None:
    with stream(tmp_path) as bus:
        ahead = bus.incarnation + 10**18
        (tmp_path / "kept").write_bytes((tmp_path / "bus").read_bytes())
    (tmp_path / "kept").rename(tmp_path / "bus")
    patch(tmp_path, 104, ahead.to_bytes(8, "little"))
    with stream(tmp_path) as bus:
        assert bus.incarnation == ahead + 1


def test_an_endpoint_can_write_to_no_page_but_that_of_its_tail(tmp_path: Path) -> None:
    with Stream(NAME, directory=tmp_path, consumers=200) as bus, endpoint(tmp_path, 100) as port:
        publish(bus, 1)
        assert seqs(port) == [1]
        maps = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) .*/bus$", Path("/proc/self/maps").read_text(), re.M)
        spans = {(int(end, 16) - int(start, 16), rights, int(offset, 16)) for start, end, rights, offset in maps}
        whole = -(-(4096 + 200 * 64 + 4096 * 256) // 4096) * 4096
        assert spans == {(whole, "rw-s", 0), (whole, "r--s", 0), (4096, "rw-s", 4096 + 100 * 64 // 4096 * 4096)}
