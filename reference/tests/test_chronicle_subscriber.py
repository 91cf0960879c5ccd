"""Registration of a reader, and discovery of a feed by its subscriber, with writers that live, stop and die."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.reference.chronicle.bus.markers import clear_ready, mark_ready
from fireassay.reference.chronicle.bus.registration import Registration
from fireassay.reference.chronicle.bus.subscriber_discovery import Connected, Disconnected, Reason, SubscriberDiscovery, Waiting
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.segments import name_of, segment_ids
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.tests.chronicle_processes import holder
from fireassay.reference.tests.killed import victims
from fireassay.spec.layouts import chronicle as layout

SEGMENT = 1024
DEADLINE_S = 30.0


def next_of(discovery: SubscriberDiscovery) -> Waiting | Connected | Disconnected:
    deadline = time.monotonic() + DEADLINE_S
    while not (events := discovery.poll()):
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.001)
    (event,) = events
    return event


def connected(discovery: SubscriberDiscovery) -> Reader:
    event = next_of(discovery)
    assert isinstance(event, Connected)
    return event.reader


# -- registration


def slot_of(path: Path) -> dict[str, int]:
    return layout.committed_slot(path.read_bytes())


def test_a_registration_is_there_while_its_block_runs(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
        writer.append(b"x")
        now = [0.0]
        with Registration(tmp_path / "q", "router", interval_s=1.0, clock=lambda: now[0]) as registration:
            assert registration.meta_path == tmp_path / "q" / "readers" / "router.meta"
            registration.reader.commit(*registration.reader.read_batch(1).messages[0].next)
            first = slot_of(registration.meta_path)
            assert not registration.beat()
            now[0] = 1.5
            assert registration.beat()
            assert not registration.beat()
            second = slot_of(registration.meta_path)
            assert second["heartbeat_ns"] > first["heartbeat_ns"]
            assert (second["segment"], second["offset"]) == (first["segment"], first["offset"])
        assert not registration.meta_path.exists()
        registration.remove()
        with pytest.raises(RuntimeError), Registration(tmp_path / "q", "router"):
            raise RuntimeError
        assert not registration.meta_path.exists()


def test_a_registration_makes_no_thread(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0):
        before = threading.active_count()
        with Registration(tmp_path / "q", "router"):
            assert threading.active_count() == before


def test_a_reader_opened_on_one_thread_is_used_by_another(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
        writer.append_batch([b"x"] * 30)
        opened: list[Reader] = []
        sidecar = threading.Thread(target=lambda: opened.append(Reader(tmp_path / "q", "handed")))
        sidecar.start()
        sidecar.join()
        with opened[0] as reader:
            seqs: list[int] = []
            while not (batch := reader.read_batch(7)).end:
                seqs += [message.seq for message in batch.messages]
        assert seqs == list(range(30))


def deaths(tmp_path: Path, share: float) -> None:
    """A registration that was killed left a whole file or none; the next one of that name works and leaves none."""
    Writer(tmp_path / "queue", SEGMENT, heartbeat_s=0).close()
    meta = tmp_path / "queue" / "readers" / "router.meta"
    seed = random.randrange(1 << 32)
    with victims("release") as forge:
        lines = forge.run("registration", tmp_path).lines
        assert not meta.exists()
        print(f"seed {seed}, {lines} lines")
        for line in random.Random(seed).sample(range(1, lines), int((lines - 1) * share)):
            assert forge.run("registration", tmp_path, line=line).status == -signal.SIGKILL
            if meta.exists():
                slot_of(meta)
            assert forge.run("registration", tmp_path).status == 0
            assert not meta.exists()
        for _ in range(int(100 * share)):
            forge.run("registration", tmp_path, after_s=random.Random(seed).random() * 0.005)
            if meta.exists():
                slot_of(meta)
    with Registration(tmp_path / "queue", "router") as registration:
        assert registration.reader.opened_at == 0


def test_killed_at_any_line_a_registration_harms_nobody(tmp_path: Path) -> None:
    deaths(tmp_path, 0.3)


@pytest.mark.long
def test_killed_at_every_line_a_registration_harms_nobody(tmp_path: Path) -> None:
    deaths(tmp_path, 1.0)


# -- discovery


def test_a_subscriber_waits_is_connected_and_is_told_of_a_death(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    discovery = SubscriberDiscovery(queue, "s", ttl_s=1e6)
    assert discovery.poll() == [Waiting("not ready")]
    assert discovery.poll() == []
    with holder(queue, 1, ready=True) as child:
        with connected(discovery) as reader:
            assert reader.read_batch(1).messages[0].payload == b"0" * 30
            assert discovery.poll() == []
            child.kill()
            assert next_of(discovery) == Disconnected(Reason.LOCK_LOST)
        assert discovery.poll() == [Waiting("lock lost")], "READY is still there"
    with holder(queue, 1, ready=True), connected(discovery) as reader:
        assert [message.payload for message in reader.read_batch(9).messages] == [b"0" * 30]


def test_a_stopped_writer_and_one_that_is_not_ready_are_told_apart(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    later_ns = [0]
    discovery = SubscriberDiscovery(queue, "s", ttl_s=60, clock=lambda: time.time_ns() + later_ns[0])
    with holder(queue, 1, ready=True) as child:
        connected(discovery).close()
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)
        later_ns[0] = 90 * 10**9
        assert next_of(discovery) == Disconnected(Reason.HEARTBEAT_STALE)
        assert discovery.poll() == [Waiting("heartbeat stale")]
        child.send_signal(signal.SIGCONT)
        later_ns[0] = 0
        connected(discovery).close()
        clear_ready(queue)
        assert next_of(discovery) == Disconnected(Reason.NOT_READY)
        mark_ready(queue)
        connected(discovery).close()


def test_a_subscriber_whose_segment_was_deleted_is_told(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with Writer(queue, SEGMENT, heartbeat_s=0.02) as writer:
        mark_ready(queue)
        writer.append_batch([bytes(100)] * 30)
        discovery = SubscriberDiscovery(queue, "s", ttl_s=1e6)
        with connected(discovery):
            assert discovery.poll() == []
            (queue / name_of(segment_ids(queue)[0])).unlink()
            assert discovery.poll() == [Disconnected(Reason.SEGMENT_MISSING)]
        with connected(discovery) as reader:
            assert reader.missing
            assert discovery.poll() == [], "it is known"
            reader.seek_oldest()
            reader.commit(*reader.read_batch(1).messages[0].next)
            (queue / name_of(segment_ids(queue)[0])).unlink()
            assert discovery.poll() == [Disconnected(Reason.SEGMENT_MISSING)]


@pytest.mark.parametrize("damage", [lambda path: os.truncate(path, 10), Path.unlink, lambda path: path.write_bytes(bytes(384))])
def test_a_queue_that_cannot_be_opened_is_waited_for(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    queue = tmp_path / "q"
    with Writer(queue, SEGMENT, heartbeat_s=0):
        mark_ready(queue)
        damage(queue / "control.meta")
        discovery = SubscriberDiscovery(queue, "s", ttl_s=1e6)
        assert discovery.poll() == [Waiting("not ready")]
        assert discovery.poll() == []
