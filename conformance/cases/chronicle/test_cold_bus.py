"""Where queues lie (CHR-27), who is ready and lives (CHR-28), who is discovered (CHR-29), through the target's helpers."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from fireassay.conformance.cases.chronicle import queue
from fireassay.conformance.cases.chronicle.helpers import Helpers, helping
from fireassay.conformance.cases.chronicle.queue import Queue
from fireassay.conformance.cases.chronicle.watch import waited
from fireassay.conformance.cases.through import appended
from fireassay.conformance.driver.client import DriverTarget
from fireassay.spec import layouts
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import ErrorClass
from fireassay.spec.ports import Target

HOSTILE = ("", ".", "..", "../x", "../../other", "a/b", "/etc", "a\0b", ".hidden", "a b", "a\n", "\x7f", "s" * 300)
LEAP_S = 10.0
SOON_S = 0.1  # a rescan; a watch is sooner


# -- CHR-27


@pytest.mark.clause("CHR-27")
def test_queues_lie_below_the_root_where_the_layout_puts_them(target: Target, place: Path) -> None:
    root = place / "any" / "root"
    with helping(target) as helpers:
        found = [
            helpers.ask("raw_queue", root=str(root), venue="binance_spot"),
            helpers.ask("clean_queue", root=str(root), venue="sse", symbol="600000", stream="l2"),
            *sorted(helpers.ask("strategy", root=str(root), name="alpha").values()),
        ]
    expected = [
        root / "streams/raw/binance_spot/queue",
        root / "streams/clean/sse/600000/l2/queue",
        root / "orders/queue/alpha/orders_in",
        root / "orders/queue/alpha/orders_out",
    ]
    assert [Path(path) for path in found] == expected, f"expected {[str(path) for path in expected]}; found {found}"


@pytest.mark.clause("CHR-27")
def test_a_name_that_would_leave_its_directory_is_refused(target: Target, place: Path) -> None:
    before = {path.name for path in place.parent.iterdir()}
    taken: list[str] = []
    with helping(target) as helpers:
        for name in HOSTILE:
            for op, fields in (
                ("raw_queue", {"venue": name}),
                ("clean_queue", {"venue": name, "symbol": "s", "stream": "t"}),
                ("clean_queue", {"venue": "v", "symbol": name, "stream": "t"}),
                ("clean_queue", {"venue": "v", "symbol": "s", "stream": name}),
                ("strategy", {"name": name}),
            ):
                refused = helpers.refusal(op, root=str(place), **fields)
                if refused is None:
                    taken.append(f"{op} {name[:20]!r}")
    assert not taken, f"each of these names would leave its directory or hide in it, and was taken: {', '.join(taken)}"
    assert {path.name for path in place.parent.iterdir()} == before, "nothing is made outside of the root"


# -- CHR-28


@pytest.mark.clause("CHR-28")
def test_ready_is_whole_when_it_is_seen_and_gone_when_it_is_taken_away(target: Target, place: Path) -> None:
    path, seen, stop = place / "READY", list[bytes](), threading.Event()

    def look() -> None:
        while not stop.is_set():
            try:
                seen.append(path.read_bytes())
            except FileNotFoundError:
                continue

    thread = threading.Thread(target=look)
    with helping(target) as helpers:
        thread.start()
        helpers.ask("ready", queue=str(place))
        last = path.read_bytes()
        stop.set()
        thread.join()
        left = sorted(entry.name for entry in place.iterdir())
        helpers.ask("unready", queue=str(place))
        still = path.exists()
    assert set(seen) <= {last}, f"READY was seen with {sorted(map(len, set(seen)))} bytes, and in the end it has {len(last)}"
    assert left == ["READY"], f"nothing but READY is left; found {left}"
    assert not still, "it was taken away and is still there"


@pytest.mark.clause("CHR-28")
def test_a_lease_says_who_and_when_and_is_refreshed(target: Target, place: Path) -> None:
    def lease() -> dict[str, int]:
        return {name: int(value) for name, value in layouts.parse(layout.LEASE, (place / "LEASE").read_bytes()).items()}

    with helping(target) as helpers:
        before_ns = time.time_ns()
        handle = helpers.ask("lease", queue=str(place), epoch=7)
        first = lease()
        helpers.ask("refresh", handle=handle)
        second = lease()
        after_ns = time.time_ns()
        helpers.ask("end", handle=handle)
        still = (place / "LEASE").exists()
        pid = helpers.pid
    assert (first["pid"], first["epoch"]) == (pid, 7), f"LEASE says {first}, expected pid {pid} and epoch 7"
    times = [before_ns, first["timestamp_ns"], second["timestamp_ns"], after_ns]
    assert times == sorted(set(times)), f"written and refreshed between {before_ns} and {after_ns}, LEASE said {times[1]} and {times[2]}"
    assert not still, "its owner has left and it is still there"


@pytest.mark.clause("CHR-28")
def test_a_registration_is_there_until_it_ends_and_has_no_thread(target: Target, place: Path) -> None:
    here = queue.made(place / "q", queue.SMALL)
    meta = here.path / "readers" / "router.meta"

    def heartbeat() -> int:
        return int(layout.committed_slot(meta.read_bytes())["heartbeat_ns"])

    with helping(target) as helpers:
        helpers.ask("raw_queue", root=str(place), venue="v")  # it has started
        threads = len(os.listdir(f"/proc/{helpers.pid}/task"))
        handle = helpers.ask("register", queue=str(here.path), name="router")
        first, more = heartbeat(), len(os.listdir(f"/proc/{helpers.pid}/task")) - threads
        due = helpers.ask("beat", handle=handle)
        second = heartbeat()
        helpers.ask("end", handle=handle)
        still = meta.exists()
    assert more == 0, f"a registration makes no thread; found {more} more than before"
    assert due, "a sign of life was due"
    assert second > first, f"after a sign of life the heartbeat is {second}, before it was {first}"
    assert not still, "the registration has ended and readers/router.meta is still there"


@pytest.mark.clause("CHR-28")
def test_what_a_killed_owner_leaves_is_whole_and_stops_nobody(target: Target, place: Path) -> None:
    here = queue.made(place / "q", queue.SMALL)
    for _ in range(3):
        with helping(target) as helpers:
            helpers.ask("register", queue=str(here.path), name="router")
            helpers.ask("lease", queue=str(here.path), epoch=1)
            helpers.ask("ready", queue=str(here.path))
            helpers.kill()
        layouts.parse(layout.LEASE, (here.path / "LEASE").read_bytes())
        layout.committed_slot((here.path / "readers" / "router.meta").read_bytes())
    with helping(target) as helpers:
        helpers.ask("end", handle=helpers.ask("register", queue=str(here.path), name="router"))
    assert not (here.path / "readers" / "router.meta").exists(), "a clean end removes what a kill has left"


# -- CHR-29


def events(helpers: Helpers, handle: int, wait_s: float = 0.0) -> list[tuple[str, ...]]:
    return [tuple(event[:2]) for event in helpers.ask("poll", handle=handle, wait_s=wait_s)]


def endpoint(root: Path, name: str) -> Path:
    path = root / "orders" / "queue" / name / "orders_out"
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.clause("CHR-29")
def test_a_strategy_is_added_when_it_is_ready_and_once(target: Target, place: Path) -> None:
    with helping(target) as helpers:
        helpers.ask("ready", queue=str(endpoint(place, "early")))
        unready = endpoint(place, "unready")
        handle = helpers.ask("router", root=str(place), rescan_s=0.0)
        steps = [events(helpers, handle)]
        steps += [events(helpers, handle)]
        helpers.ask("ready", queue=str(unready))
        steps += [events(helpers, handle, LEAP_S)]
        helpers.ask("ready", queue=str(endpoint(place, "late")))
        steps += [events(helpers, handle, LEAP_S), events(helpers, handle)]
        helpers.ask("unready", queue=str(unready))
        steps += [events(helpers, handle, LEAP_S), events(helpers, handle)]
    expected = [[("added", "early")], [], [("added", "unready")], [("added", "late")], [], [("removed", "unready")], []]
    assert steps == expected, f"expected {expected}; found {steps}"


@pytest.mark.clause("CHR-29")
def test_events_that_the_kernel_drops_are_made_up_for(target: Target, place: Path) -> None:
    """More happens between two polls than a watch can keep."""
    kept = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    noise = endpoint(place, "a").parent
    with helping(target) as helpers:
        helpers.ask("ready", queue=str(endpoint(place, "a")))
        handle = helpers.ask("router", root=str(place), rescan_s=SOON_S)
        first = events(helpers, handle, LEAP_S)
        for number in range(kept // 2 + 1):
            os.close(os.open(noise / f"n{number % 2}", os.O_CREAT | os.O_WRONLY, 0o600))
            os.unlink(noise / f"n{number % 2}")
        helpers.ask("unready", queue=str(endpoint(place, "a")))
        second = events(helpers, handle, LEAP_S)
    assert (first, second) == ([("added", "a")], [("removed", "a")]), f"a came and went; found {first} and then {second}"


@pytest.mark.clause("CHR-29")
def test_a_strategy_that_came_back_between_two_polls_is_attached_anew(target: Target, place: Path) -> None:
    with helping(target) as helpers:
        helpers.ask("ready", queue=str(endpoint(place, "a")))
        handle = helpers.ask("router", root=str(place), rescan_s=SOON_S)
        events(helpers, handle, LEAP_S)
        helpers.ask("unready", queue=str(endpoint(place, "a")))
        helpers.ask("ready", queue=str(endpoint(place, "a")))
        found = events(helpers, handle, LEAP_S)
    assert found == [("removed", "a"), ("added", "a")], f"its files may be others now: expected removed and added, found {found}"


@pytest.mark.clause("CHR-29")
def test_a_subscriber_waits_is_connected_and_is_told_why_it_is_not_any_more(target: Target, apart: DriverTarget, place: Path) -> None:
    path = place / "q"
    with helping(target) as helpers:
        handle = helpers.ask("subscriber", queue=str(path), name="s", ttl_s=1e6)
        seen = [events(helpers, handle)[0][0]]
        writer = apart.open_writer("q")
        appended(writer, [b"x"])
        seen += [event[0] for event in events(helpers, handle)]
        helpers.ask("ready", queue=str(path))
        seen += [event[0] for event in events(helpers, handle)]
        writer.kill()
        lost = events(helpers, handle)
    assert seen == ["waiting", "connected"], f"no queue, a queue that is not ready, a ready one: expected waiting, connected; found {seen}"
    assert lost == [("disconnected", "lock lost")], f"its writer was killed: expected disconnected, lock lost; found {lost}"


@pytest.mark.clause("CHR-29")
def test_a_stopped_writer_is_told_from_a_dead_one(target: Target, apart: DriverTarget, place: Path) -> None:
    here = Queue(place / "q")
    with helping(target) as helpers, apart.open_writer("q") as writer:
        helpers.ask("ready", queue=str(here.path))
        handle = helpers.ask("subscriber", queue=str(here.path), name="s", ttl_s=3.0)
        first = events(helpers, handle)
        lost = list[tuple[str, ...]]()

        def told() -> bool:
            lost.extend(events(helpers, handle))
            return bool(lost)

        os.kill(writer.pid, signal.SIGSTOP)
        try:
            waited(told, LEAP_S)
        finally:
            os.kill(writer.pid, signal.SIGCONT)
    assert first == [("connected",)], f"a live writer that is ready: expected connected, found {first}"
    assert lost == [("disconnected", "heartbeat stale")], f"its writer was stopped: expected heartbeat stale, found {lost}"


@pytest.mark.clause("CHR-29")
def test_a_configured_feed_that_is_missing_fails_at_once(target: Target, place: Path) -> None:
    queue.made(place / "streams" / "raw" / "here" / "queue")
    with helping(target) as helpers:
        found = helpers.ask("feeds", root=str(place), venues=["here"])
        refused = helpers.refusal("feeds", root=str(place), venues=["here", "gone"])
    assert list(found) == ["here"], f"the feed that is there was not found: {found}"
    assert refused is not None, "a configured feed has no queue, and the start went on"
    assert (refused.error, "gone" in refused.text) == (ErrorClass.MISSING, True), f"expected MISSING and its name, found {refused}"
