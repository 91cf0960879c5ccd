"""The recorder in C against the row format of the specification, and what it does when room runs out."""

import errno
import itertools
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fireassay.conformance.recorder._recorder import ffi
from fireassay.conformance.recorder.cost import measure
from fireassay.conformance.recorder.recorder import Actor, Recorder, RecorderError, Role
from fireassay.conformance.recorder.recording import ROW_DTYPE, find_recordings, open_recording
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.history.row import FIELDS, ROW, ROW_SIZE, Row, pack, unpack

U16, U32, U64 = (st.integers(0, (1 << bits) - 1) for bits in (16, 32, 64))
ROWS = st.builds(
    Row,
    t_ns=U64,
    t_intended_ns=U64,
    seq=U64,
    key=U64,
    value=U64,
    actor=U32,
    stream=U32,
    op=st.sampled_from(Op),
    phase=st.sampled_from([phase for phase in Phase if phase]),
    flags=st.integers(0, 255).map(Flag),
    status=st.integers(-(1 << 31), (1 << 31) - 1),
    digest=U32,
    call=U32,
)
NUMBER = itertools.count()


def run_python(code: str, *arguments: str, timeout: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env={**os.environ, **environment})


def test_the_c_struct_has_the_offsets_of_the_specification() -> None:
    assert ffi.sizeof("fr_row") == ROW_SIZE == ROW_DTYPE.itemsize
    sizes = dict(zip(FIELDS, (8, 8, 8, 8, 8, 4, 4, 1, 1, 2, 4, 4, 4), strict=True))
    offset = 0
    for field in FIELDS:
        assert ffi.offsetof("fr_row", field) == offset == ROW_DTYPE.fields[field][1]
        offset += sizes[field]
    assert offset == ROW.size


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(rows=st.lists(ROWS, min_size=1, max_size=5))
def test_a_row_packed_by_c_is_unpacked_by_the_specification_in_every_field(tmp_path: Path, rows: list[Row]) -> None:
    prefix = tmp_path / f"r{next(NUMBER)}"
    with Recorder.open(prefix, capacity=8) as recorder:
        assert all(recorder.put(row) for row in rows)
    data = Path(f"{prefix}.000.farec").read_bytes()[4096:]
    assert data[: 64 * len(rows)] == b"".join(pack(row) for row in rows)
    assert not any(data[64 * len(rows) :])
    assert [unpack(data[64 * i : 64 * i + 64]) for i in range(len(rows))] == rows == list(open_recording(prefix))


def test_the_header_tells_run_clock_domain_process_and_actors(tmp_path: Path) -> None:
    actors = [
        Actor(actor=7, role=Role.PRODUCER, name="producer-é", incarnation=2, group=3),
        Actor(actor=9, role=Role.CHAOS, pid=1, start_ticks=4),
    ]
    with Recorder.open(tmp_path / "a", actors, capacity=10, nonce=(1 << 64) - 1, epsilon_ns=250) as recorder:
        before = recorder.now()
    recording = open_recording(tmp_path / "a")
    header = recording.header
    assert (header.nonce, header.epsilon_ns, header.capacity, header.pid) == ((1 << 64) - 1, 250, 10, os.getpid())
    assert header.clock.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    assert header.clock.time_ns == (os.stat("/proc/self/ns/time").st_ino if os.path.exists("/proc/self/ns/time") else 0)
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    assert header.start_ticks == ticks
    assert header.start_mono <= before
    own = recording.actors[0]
    assert (own.actor, own.role, own.name, own.pid, own.start_ticks) == (7, Role.PRODUCER, "producer-é", os.getpid(), ticks)
    assert (own.incarnation, own.group) == (2, 3)
    assert recording.actors[1] == actors[1]
    assert recording.closed
    assert find_recordings(tmp_path) == [tmp_path / "a"]


def test_a_call_has_one_id_in_its_invoke_and_completion_and_time_goes_on(tmp_path: Path) -> None:
    with Recorder.open(tmp_path / "a") as recorder:
        calls = [recorder.invoke(Op.APPEND, actor=1) for _ in range(3)]
        for call in reversed(calls):
            assert recorder.complete(call, Op.APPEND, Phase.OK, actor=1, seq=call * 10)
        assert recorder.event(Op.HEAL)
        with pytest.raises(ValueError, match="5"):
            recorder.complete(1, Op.APPEND, Phase.EVENT)
    rows = list(open_recording(tmp_path / "a"))
    assert [row.call for row in rows] == [1, 2, 3, 3, 2, 1, 0]
    assert [row.phase for row in rows] == [Phase.INVOKE] * 3 + [Phase.OK] * 3 + [Phase.EVENT]
    assert [row.t_ns for row in rows] == sorted(row.t_ns for row in rows)


def test_a_run_row_rises_in_place_and_its_completion_repeats_it(tmp_path: Path) -> None:
    with Recorder.open(tmp_path / "a", capacity=4) as recorder:
        run = recorder.begin_run(Op.APPEND_RUN, actor=1, key=500)
        run.first(40)
        run.step()
        run.step(9)
        half = list(open_recording(tmp_path / "a"))
        assert [(row.seq, row.key, row.value, row.phase) for row in half] == [(40, 500, 10, Phase.INVOKE)]
        run.step()
        assert recorder.end_run(run, Phase.INFO, status=5, flags=Flag.WAIT, digest=6)
        with pytest.raises(ValueError, match="not a run"):
            recorder.begin_run(Op.APPEND)
    opened, closed = open_recording(tmp_path / "a")
    assert (opened.value, closed.value, closed.seq, closed.key, closed.call) == (11, 11, 40, 500, opened.call)
    assert (closed.phase, closed.status, closed.flags, closed.digest) == (Phase.INFO, 5, Flag.WAIT, 6)


@pytest.mark.parametrize("capacity", [1, 7, 64])
def test_chaining_to_further_parts_loses_nothing_and_keeps_an_open_run_alive(tmp_path: Path, capacity: int) -> None:
    count = 5 * capacity + 3
    batch = np.zeros(count, dtype=ROW_DTYPE)
    batch["seq"], batch["op"], batch["phase"], batch["t_ns"] = np.arange(count), Op.READ, Phase.OK, 1
    with Recorder.open(tmp_path / "a", [Actor(actor=1, role=Role.READER)], capacity=capacity, nonce=3) as recorder:
        run = recorder.begin_run(Op.READ_RUN)
        assert recorder.put_many(batch[:-1]) == count - 1
        recorder.add_actor(Actor(actor=2, role=Role.HARNESS, name="late"))
        run.step(77)
        assert recorder.put_many(batch[-1:]) == 1
        recorder.end_run(run)
        assert recorder.lost == 0
    recording = open_recording(tmp_path / "a")
    rows = recording.rows
    assert len(recording.paths) == -(-(count + 2) // capacity)
    assert rows["seq"][1:-1].tolist() == list(range(count))
    assert rows["value"][0] == rows["value"][-1] == 77
    assert [actor.actor for actor in recording.actors] == [1, 2]
    assert not list(tmp_path.glob("*.tmp"))


def test_a_recording_is_never_overwritten(tmp_path: Path) -> None:
    Recorder.open(tmp_path / "a").close()
    with pytest.raises(RecorderError, match="File exists") as raised:
        Recorder.open(tmp_path / "a")
    assert raised.value.errno == errno.EEXIST


def test_what_cannot_be_opened_or_entered_says_why(tmp_path: Path) -> None:
    for prefix, capacity, message in (
        (tmp_path / "none" / "a", 10, "No such file"),
        (tmp_path / "a", 0, "capacity of 0"),
        (tmp_path / "a", 1 << 40, "capacity of"),
        ("", 10, "empty path"),
        ("x" * 2000, 10, "path of 2000 bytes"),
    ):
        with pytest.raises(RecorderError, match=message):
            Recorder.open(prefix, capacity=capacity)
    with Recorder.open(tmp_path / "b") as recorder:
        recorder.add_actor(Actor(actor=0, role=Role.READER))
        with pytest.raises(RecorderError, match="actor 0"):
            recorder.add_actor(Actor(actor=0, role=Role.READER))
        with pytest.raises(RecorderError, match="longer than 32"):
            recorder.add_actor(Actor(actor=1, role=Role.READER, name="é" * 17))
        for actor in range(1, 62):
            recorder.add_actor(Actor(actor=actor, role=Role.READER))
        with pytest.raises(RecorderError, match="the table holds 62"):
            recorder.add_actor(Actor(actor=62, role=Role.READER))
        with pytest.raises(ValueError, match="phase 0"):
            recorder.put_many(np.zeros(1, dtype=ROW_DTYPE))
    with pytest.raises(RecorderError, match="not open"):
        recorder.event(Op.HEAL)
    assert len(open_recording(tmp_path / "b").actors) == 62


FILLED = """
    import resource, sys
    from pathlib import Path
    from fireassay.conformance.recorder.recorder import Recorder
    from fireassay.spec.history.ops import Op
    if sys.argv[2] == "rlimit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    capacity = 4096
    with Recorder.open(Path(sys.argv[1]) / "a", capacity=capacity) as recorder:
        if sys.argv[2] == "rlimit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, resource.RLIM_INFINITY))
        kept = sum(recorder.event(Op.HEARTBEAT, seq=i) for i in range(40 * capacity))
        run = recorder.begin_run(Op.APPEND_RUN)
        run.step()
        assert not recorder.end_run(run)
        assert kept + recorder.lost == 40 * capacity + 2, (kept, recorder.lost)
        print(kept, recorder.lost, recorder.error)
"""


def check_filled(place: Path, how: str, message: str) -> None:
    done = run_python(FILLED, str(place), how)
    assert done.returncode == 0, done.stderr
    kept, lost = map(int, done.stdout.split()[:2])
    assert message in done.stdout
    recording = open_recording(place / "a")
    assert len(recording) == kept > 0
    assert recording.lost == lost > 0
    assert recording.rows["seq"].tolist() == list(range(kept))


def test_at_the_file_size_limit_rows_are_counted_as_lost_and_no_signal_kills(tmp_path: Path) -> None:
    check_filled(tmp_path, "rlimit", "RLIMIT_FSIZE")


def test_on_a_full_disk_rows_are_counted_as_lost_and_nothing_dies_of_sigbus(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], capture_output=True).returncode:
        pytest.skip("needs the right to mount a tmpfs")
    try:
        check_filled(place, "tmpfs", "No space left")
    finally:
        subprocess.run(["umount", place], check=True)


def test_the_cost_is_measured_in_sane_figures(tmp_path: Path) -> None:
    cost = measure(runs=2, directory=tmp_path, events=1 << 12)
    assert 0 < cost.run_step_ns < cost.event_ns
    assert cost.clock_ns > 1
    with pytest.raises(ValueError, match="too little"):
        measure(runs=0)
