"""Records built where they will lie."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.reservation import Reservation
from fireassay.reference.chronicle.writer import PAD, Writer
from fireassay.reference.core import CoreError
from fireassay.reference.tests.chronicle_files import assert_consistent, readable
from fireassay.spec.outcomes import ErrorClass

SEGMENT = 1024


def payloads(reader: Reader) -> list[bytes]:
    found: list[bytes] = []
    while not (batch := reader.read_batch(7)).end:
        found += [message.payload for message in batch.messages]
    return found


def test_a_record_built_in_place_is_like_any_other(tmp_path: Path) -> None:
    lengths = (0, 1, 63, 64, 65, 300, 896)
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer, Reader(tmp_path / "q", "r") as reader:
        for number, length in enumerate(lengths):
            with writer.reserve(length, type_id=number, flags=3) as place:
                place.payload[:] = bytes([number + 1]) * length
                assert reader.read_batch(1).end, "nothing is seen of it before it is committed"
            assert place.seq == number
            assert [message.payload for message in reader.read_batch(9).messages] == [bytes([number + 1]) * length]
        stored = assert_consistent(tmp_path / "q")
        assert [(record.type_id, record.flags, len(record.payload)) for record in stored] == [
            (number, 3, length) for number, length in enumerate(lengths)
        ]
        assert writer.append(b"plain") == len(lengths)


@pytest.mark.parametrize("reserved", [64, 100, 500, 896])
@pytest.mark.parametrize("used", [0, 1, 64])
def test_a_shorter_record_leaves_padding_behind_it_whatever_was_written_there(tmp_path: Path, reserved: int, used: int) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer, Reader(tmp_path / "q", "r") as reader:
        for number in range(5):
            with writer.reserve(reserved) as place:
                place.payload[:] = b"\xff" * reserved
                place.length = used
            assert writer.append(b"next") == 2 * number + 1
            assert payloads(reader) == [b"\xff" * used, b"next"]
        assert len(assert_consistent(tmp_path / "q")) == 10


def build_badly(place: Reservation) -> None:
    with place:
        place.payload[:] = b"\xff" * len(place.payload)
        raise KeyError("broken")


def test_an_exception_abandons_and_nobody_ever_sees_it(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer, Reader(tmp_path / "q", "r") as reader:
        for number in range(10):
            place = writer.reserve(200)
            with pytest.raises(KeyError, match="broken"):
                build_badly(place)
            assert (place.seq, reader.read_batch(1).messages) == (-1, ())
            assert writer.append(b"%d" % number) == number
            assert payloads(reader) == [b"%d" % number]
        assert [record.payload for record in assert_consistent(tmp_path / "q")] == [b"%d" % number for number in range(10)]


def test_what_cannot_be_reserved_or_committed_is_refused_and_leaves_no_trace(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
        for length, type_id, kind in ((897, 0, ErrorClass.TOO_LARGE), (1, PAD, ErrorClass.INVALID)):
            with pytest.raises(CoreError) as refused:
                writer.reserve(length, type_id)
            assert refused.value.error_class is kind
        place = writer.reserve(10)
        for act in (lambda: writer.append(b"x"), lambda: writer.append_batch([b"x"]), lambda: writer.reserve(1)):
            with pytest.raises(CoreError, match="a reservation is open"):
                act()
        with pytest.raises(ValueError, match="11 bytes cannot be committed of the 10"):
            place.commit(11)
        assert place.commit(10) == 0
        place.abandon()
        assert writer.append(b"x") == 1
        with pytest.raises(ValueError, match="released"):
            place.payload[0] = 1
        assert writer.append(b"y") == 2
    assert [record.payload for record in readable(tmp_path / "q")] == [bytes(10), b"x", b"y"]


def test_a_writer_that_closes_abandons_what_it_has_reserved(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
        writer.append(b"x")
        writer.reserve(100)
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
        assert writer.append(b"y") == 1
    with pytest.raises(CoreError, match="is closed"):
        writer.reserve(1)
    assert [record.payload for record in assert_consistent(tmp_path / "q")] == [b"x", b"y"]


def test_a_writer_killed_over_an_open_reservation_leaves_a_tail_that_the_next_one_pads(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from fireassay.reference.chronicle.writer import Writer\n"
        "w = Writer(sys.argv[1], 1024, heartbeat_s=0); w.append(b'before'); p = w.reserve(300); p.payload[:] = b'\\xff' * 300\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "q")], env=os.environ)
    assert done.returncode == -signal.SIGKILL
    with Reader(tmp_path / "q", "r") as reader:
        assert payloads(reader) == [b"before"]
        with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
            assert writer.append(b"after") == 1
            assert payloads(reader) == [b"after"]
            assert len(assert_consistent(tmp_path / "q")) == 2
