"""Who holds the producer up is found and released, and finds its gap; who is idle is left alone."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.reference.ombus.endpoint import Gap
from fireassay.reference.ombus.monitor import Monitor
from fireassay.reference.tests.ombus_files import NAME, UNREGISTERED, endpoint, header, publish, refused, seqs, stream, tail_of
from fireassay.spec.layouts.ombus import ErrorCode

SECOND = 10**9


def stale(monitor: Monitor, now: int) -> list[int]:
    return [one.consumer for one in monitor.look(now) if one.stale]


def test_only_who_is_behind_and_stands_still_is_stale(tmp_path: Path) -> None:
    with stream(tmp_path, consumers=3) as bus, endpoint(tmp_path, 0) as idle, endpoint(tmp_path, 2) as slow:
        publish(bus, 1, 2, 3)
        assert len(seqs(idle)) == 3
        with Monitor(NAME, stale_s=5, directory=tmp_path) as monitor:
            assert [(one.consumer, one.tail, one.wal_seq, one.behind) for one in monitor.look(100 * SECOND)] == [(0, 3, 3, 0), (2, 0, 0, 3)]
            assert stale(monitor, 104 * SECOND) == []
            assert stale(monitor, 105 * SECOND) == [2]
            assert slow.poll() is not None
            assert stale(monitor, 106 * SECOND) == []  # it has moved
            assert stale(monitor, 110 * SECOND) == []
            assert stale(monitor, 111 * SECOND) == [2]
            publish(bus, 4)
            assert stale(monitor, 1000 * SECOND) == [2]  # the other was idle for long, and is behind since this look only
            assert stale(monitor, 1004 * SECOND) == [2]
            assert stale(monitor, 1005 * SECOND) == [0, 2]
            assert seqs(idle) == [4]
            assert stale(monitor, 2000 * SECOND) == [2]


def test_a_released_consumer_holds_nobody_up_and_finds_its_gap(tmp_path: Path) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path) as port, Monitor(NAME, stale_s=0, directory=tmp_path) as monitor:
        publish(bus, *range(1, 9))
        assert port.poll() is not None
        publish(bus, 9)
        refused(ErrorCode.BLOCKED, lambda: publish(bus, 10))
        assert [one.consumer for one in monitor.release_stale()] == [0]
        assert tail_of(tmp_path, 0) == (UNREGISTERED, 1)
        publish(bus, *range(10, 20))
        with pytest.raises(Gap) as gap:
            port.poll()
        assert (gap.value.missing[0], port.releases) == (2, 1)
        assert [gap.value.record.wal_seq, *seqs(port)] == list(range(gap.value.missing[1], 20))
        publish(bus, *range(20, 28))
        refused(ErrorCode.BLOCKED, lambda: publish(bus, 28))  # it has its place again
        assert seqs(port) == list(range(20, 28))


def test_what_is_still_there_is_read_without_a_gap(tmp_path: Path) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path) as port, Monitor(NAME, stale_s=0, directory=tmp_path) as monitor:
        publish(bus, 1, 2, 3)
        assert port.poll() is not None
        assert [one.consumer for one in monitor.release_stale()] == [0]
        assert seqs(port) == [2, 3]
        publish(bus, 4)
        assert (seqs(port), port.releases, tail_of(tmp_path, 0)) == ([4], 1, (4, 4))


def test_a_view_that_was_overwritten_after_a_release_is_told(tmp_path: Path) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path, zero_copy=True) as port, Monitor(NAME, stale_s=0, directory=tmp_path) as monitor:
        publish(bus, *range(1, 9))
        assert len(port.poll_batch(3)) == 3
        assert [one.consumer for one in monitor.release_stale()] == [0]
        publish(bus, 9)
        assert "from 1 on" in str(refused(ErrorCode.RELEASED, port.poll))
        with pytest.raises(Gap) as gap:
            port.poll()
        assert gap.value.missing[0] == 1
        publish(bus, 10)
        assert seqs(port)[-1] == 10


def test_a_view_that_was_not_overwritten_is_no_matter(tmp_path: Path) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path, zero_copy=True) as port, Monitor(NAME, stale_s=0, directory=tmp_path) as monitor:
        publish(bus, 1, 2, 3, 4)
        assert len(port.poll_batch(3)) == 3
        assert [one.consumer for one in monitor.release_stale()] == [0]
        publish(bus, 5)
        assert seqs(port) == [4, 5]
        assert port.releases == 1


def test_a_consumer_that_moves_between_look_and_release_keeps_its_place(tmp_path: Path) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path) as port, Monitor(NAME, stale_s=0, directory=tmp_path) as monitor:
        publish(bus, 1, 2)
        assert stale(monitor, 1) == [0]
        assert port.poll() is not None
        assert not monitor.release(0)
        assert not monitor.release(1)  # nobody is there
        assert (seqs(port), port.releases) == ([2], 0)


def test_with_all_released_the_least_tail_is_the_head(tmp_path: Path) -> None:
    with stream(tmp_path) as bus, endpoint(tmp_path, 0), endpoint(tmp_path, 1), Monitor(NAME, stale_s=0, directory=tmp_path) as monitor:
        publish(bus, *range(1, 9))
        assert len(monitor.release_stale()) == 2
        publish(bus, 9)
        assert header(tmp_path)["min_tail"] == 8


CONSUMER = """
import sys
from fireassay.reference.ombus.endpoint import Endpoint, Gap
port = Endpoint('/bus', directory=sys.argv[1])
print('open', flush=True)
for line in sys.stdin:
    try:
        record = port.poll()
        print('none' if record is None else record.wal_seq, flush=True)
    except Gap as gap:
        print(*gap.missing, gap.record.wal_seq, flush=True)
"""


def test_a_stopped_process_is_released_and_a_killed_one_too(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CONSUMER, str(tmp_path)]
    with stream(tmp_path) as bus, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        with Monitor(NAME, stale_s=0.01, directory=tmp_path) as monitor:
            child.send_signal(signal.SIGSTOP)
            os.waitpid(child.pid, os.WUNTRACED)
            publish(bus, *range(1, 9))
            refused(ErrorCode.BLOCKED, lambda: publish(bus, 9))
            while not monitor.release_stale():
                pass
            publish(bus, *range(9, 25))
            child.send_signal(signal.SIGCONT)
            print(file=child.stdin, flush=True)
            missing, to, first = (int(word) for word in child.stdout.readline().split())
            assert (missing, to) == (1, first)
            assert 17 <= first <= 24
            child.kill()
            child.wait()
            refused(ErrorCode.BLOCKED, lambda: publish(bus, *range(25, 40)))
            while not monitor.release_stale():
                pass
            publish(bus, *range(40, 60))
