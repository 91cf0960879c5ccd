"""Where queues lie, READY and LEASE, and what they refuse."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.reference.chronicle.bus.layout import Bus, make_endpoint
from fireassay.reference.chronicle.bus.markers import READY, Lease, clear_ready, is_ready, lease_of, mark_ready, ready_of
from fireassay.reference.chronicle.bus.names import MAX_NAME, BadName
from fireassay.reference.chronicle.writer import Writer
from fireassay.spec.layouts import LayoutError

HOSTILE = ["", ".", "..", "../x", "a/b", "/", "/etc", "a\0b", "\0", ".hidden", "a b", "a\n", "\x7f", "a\\b", "é" * 101, "x" * 201, "\ud800"]


def test_the_layout_is_as_the_seed_draws_it() -> None:
    bus = Bus(Path("/any/root"))
    assert bus.raw_queue("binance_spot") == Path("/any/root/streams/raw/binance_spot/queue")
    assert bus.clean_queue("sse", "600000", "l2") == Path("/any/root/streams/clean/sse/600000/l2/queue")
    both = bus.strategy("strategy_A")
    assert both.orders_out == Path("/any/root/orders/queue/strategy_A/orders_out")
    assert both.orders_in == Path("/any/root/orders/queue/strategy_A/orders_in")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_would_leave_the_root_is_refused(name: str) -> None:
    bus = Bus(Path("/any/root"))
    for call in (
        lambda: bus.raw_queue(name),
        lambda: bus.clean_queue(name, "s", "t"),
        lambda: bus.clean_queue("v", name, "t"),
        lambda: bus.clean_queue("v", "s", name),
        lambda: bus.strategy(name),
    ):
        with pytest.raises(BadName, match="is no name of a"):
            call()


@given(st.text(max_size=MAX_NAME + 5))
def test_whatever_is_not_refused_stays_below_its_directory(name: str) -> None:
    bus = Bus(Path("/any/root"))
    try:
        place = bus.raw_queue(name)
    except BadName:
        return
    normal = Path(os.path.normpath(place))
    assert normal == place
    assert normal.parent.parent == Path("/any/root/streams/raw")


def test_queues_work_where_the_layout_puts_them(tmp_path: Path) -> None:
    orders_out = make_endpoint(make_endpoint(Bus(tmp_path / "bus").strategy("a").orders_out))
    with Writer(orders_out, 1024, heartbeat_s=0) as writer:
        assert writer.append(b"order") == 0


def test_ready_says_who_and_goes_when_told(tmp_path: Path) -> None:
    assert (is_ready(tmp_path), ready_of(tmp_path)) == (False, None)
    mark = mark_ready(tmp_path, epoch=7, now_ns=12)
    assert (mark.pid, mark.epoch, mark.timestamp_ns) == (os.getpid(), 7, 12)
    assert (is_ready(tmp_path), ready_of(tmp_path)) == (True, mark)
    assert [path.name for path in tmp_path.iterdir()] == [READY]
    clear_ready(tmp_path)
    clear_ready(tmp_path)
    assert not is_ready(tmp_path)


def test_nobody_ever_sees_half_a_marker(tmp_path: Path) -> None:
    stop = threading.Event()

    def write() -> None:
        for number in range(200):
            mark_ready(tmp_path, epoch=number)
            clear_ready(tmp_path)
        stop.set()

    thread = threading.Thread(target=write)
    thread.start()
    seen = 0
    while not stop.is_set():
        seen += ready_of(tmp_path) is not None
    thread.join()
    assert seen > 0


def test_a_lease_tells_its_age_and_goes_with_its_block(tmp_path: Path) -> None:
    clock = iter([10**9, 3 * 10**9])
    with Lease(tmp_path, epoch=3, clock=lambda: next(clock)) as lease:
        first = lease_of(tmp_path)
        assert first is not None
        assert (first.pid, first.epoch, first.age_s(5 * 10**9)) == (os.getpid(), 3, 4.0)
        lease.refresh()
        second = lease_of(tmp_path)
        assert second is not None
        assert second.age_s(5 * 10**9) == 2.0
        lease.release()
    assert lease_of(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"x", bytes(23), bytes(25), b"\xff" * 24])
def test_a_marker_that_is_not_whole_is_an_error_with_its_path(tmp_path: Path, content: bytes) -> None:
    (tmp_path / READY).write_bytes(content)
    with pytest.raises(LayoutError, match="READY"):
        ready_of(tmp_path)
