"""Each faulty target is convicted of the clause it breaks, and the sound one beneath it of none."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fireassay.conformance.recorder.recorder import Actor, Recorder, Role
from fireassay.conformance.targets import load
from fireassay.conformance.targets.faulty import FAULTS
from fireassay.conformance.tests.tiny_trial import DEADLINE_NS, NONCE, history_of, judged, run_trial
from fireassay.conformance.workload.drain import drain
from fireassay.conformance.workload.recorded import RecordedReader, RecordedWriter
from fireassay.conformance.workload.scribe import Scribe
from fireassay.spec.checks import CHECKS
from fireassay.spec.clauses import ALL
from fireassay.spec.history.ops import Op
from fireassay.spec.outcomes import HarnessError, Outcome, Verdict

FAULTY = "py:fireassay.conformance.targets.faulty:make"
IN_PROCESS = ["drop", "duplicate", "reorder", "corrupt", "phantom", "aborted", "misplaced", "early-end"]


@pytest.mark.parametrize("fault", IN_PROCESS)
def test_a_fault_is_convicted_of_its_clause(tmp_path: Path, fault: str) -> None:
    target = load(f"{FAULTY}?fault={fault}&nth=6", tmp_path / "place")
    run_trial(target, tmp_path / "rec")
    results = judged(history_of(tmp_path / "rec"), target)
    convicted = {result.clause: [w.explanation for w in result.witnesses] for result in results if result.verdict is Verdict.FAIL}
    assert FAULTS[fault].clause in convicted, results


def test_nonsense_is_unknown_and_never_passes(tmp_path: Path) -> None:
    target = load(f"{FAULTY}?fault=garbage", tmp_path / "place")
    drained = run_trial(target, tmp_path / "rec")
    assert not drained.complete
    results = {result.clause: result.verdict for result in judged(history_of(tmp_path / "rec"), target)}
    assert results["LOG-09"] is Verdict.UNKNOWN


def test_a_forgotten_cursor_starts_again(tmp_path: Path) -> None:
    target = load(f"{FAULTY}?fault=lose-cursor", tmp_path)
    with target.open_writer("s") as writer, target.open_reader("s", "r") as reader:
        writer.append_batch([b"a", b"b"])
        reader.read_batch(2, 0)
        assert reader.commit(2).outcome is Outcome.OK
    assert target.open_reader("s", "r").granted == 0


CHILD = f"""
import signal, sys
from pathlib import Path
from fireassay.conformance.recorder.recorder import Actor, Recorder, Role
from fireassay.conformance.targets import load
from fireassay.conformance.workload.recorded import RecordedReader, RecordedWriter
from fireassay.conformance.workload.scribe import Scribe
spec, place, prefix = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
recorder = Recorder.open(prefix, [Actor(actor=2, role=Role.PRODUCER)], nonce={NONCE})
writer = RecordedWriter.open(load(spec, place), "orders", Scribe(recorder=recorder, actor=2, stream=1, nonce={NONCE}), producer=1)
for number in range(8):
    writer.append([64])
print("done", flush=True)
signal.pause()
"""


def run_writer(tmp_path: Path, fault: str, within_s: float) -> Path:
    """A writer of its own, which ends by itself or is killed once it is done or late; the coordinator records what it saw."""
    rec = tmp_path / "rec"
    rec.mkdir()
    spec = f"{FAULTY}?fault={fault}&nth=5"
    with Recorder.open(rec / "0001-harness-1", [Actor(actor=1, role=Role.HARNESS)], nonce=NONCE) as recorder:
        command = [sys.executable, "-c", CHILD, spec, str(tmp_path / "place"), str(rec / "0001-writer-1")]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout is not None
        recorder.event(Op.SPAWN, actor=1, seq=child.pid)
        os.set_blocking(child.stdout.fileno(), False)
        last = time.monotonic_ns()
        until = last + int(within_s * 1e9)
        while child.poll() is None and time.monotonic_ns() < until and not child.stdout.read():
            time.sleep(0.01)
            now = time.monotonic_ns()
            recorder.event(Op.HEARTBEAT, actor=1, value=now - last)
            last = now
        if child.poll() is None:
            recorder.event(Op.FAULT_BEGIN, actor=1, seq=1, key=2)
            child.send_signal(signal.SIGKILL)
            recorder.event(Op.FAULT_FIRED, actor=1, seq=1, key=2, value=1)
        child.wait(10)
        child.stdout.close()
        recorder.event(Op.EXIT, actor=1, seq=child.pid, value=child.returncode % (1 << 64))
    return rec


def test_what_was_acknowledged_and_not_stored_is_lost_with_the_process(tmp_path: Path) -> None:
    rec = run_writer(tmp_path, "early-ack", 30)
    target = load("py:fireassay.conformance.targets.plainlog:make", tmp_path / "place")
    with Recorder.open(
        rec / "0001-drain-1", [Actor(actor=3, role=Role.PRODUCER), Actor(actor=4, role=Role.DRAIN)], nonce=NONCE
    ) as recorder:
        scribes = [Scribe(recorder=recorder, actor=actor, stream=1, nonce=NONCE) for actor in (3, 4)]
        with RecordedWriter.open(target, "orders", scribes[0], producer=1, incarnation=1, after_crash=1) as writer:
            writer.sync()
            writer.append_sentinel(1)
            writer.sync()
        with RecordedReader.open(target, "orders", scribes[1], name="drain") as reader:
            assert drain(reader, 1, deadline_s=5).complete
    results = judged(history_of(rec), target)
    convicted = {result.clause: {w.anomaly for w in result.witnesses} for result in results if result.verdict is Verdict.FAIL}
    assert convicted["LOG-10"] == {"lost-write-process"}, results


@pytest.mark.parametrize(("fault", "anomaly", "within_s"), [("die", "unprovoked-death", 30), ("hang-write", "stuck-writer", 2.5)])
def test_a_target_that_dies_or_hangs_is_convicted(tmp_path: Path, fault: str, anomaly: str, within_s: float) -> None:
    rec = run_writer(tmp_path, fault, within_s)
    target = load("py:fireassay.conformance.targets.plainlog:make", tmp_path / "place")
    (result,) = [each for each in judged(history_of(rec), target) if each.clause == "LOG-23"]
    assert result.verdict is Verdict.FAIL, result
    assert {witness.anomaly for witness in result.witnesses} == {anomaly}


def test_a_read_that_hangs_can_be_interrupted(tmp_path: Path) -> None:
    program = f"""
import signal
from pathlib import Path
from fireassay.conformance.targets import load
target = load("{FAULTY}?fault=hang-read&nth=1", Path({str(tmp_path)!r}))
target.open_writer("s").append_batch([b"a", b"b"])
reader = target.open_reader("s", "r")
reader.read_batch(1, 0)
print("first", flush=True)
reader.read_batch(1, 0)
print("second", flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "first\n"
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(2 * DEADLINE_NS / 1e9)
    child.kill()
    assert child.stdout.read() == ""
    child.stdout.close()
    child.wait(10)


def test_every_fault_names_a_clause_that_exists_and_its_reason() -> None:
    known = {clause.id for clause in ALL}
    for fault in FAULTS.values():
        assert fault.clause in known | {""}
        assert fault.what
    unjudged = {fault.clause for fault in FAULTS.values()} - set(CHECKS) - {""}
    assert unjudged <= {"LOG-16", "LOG-21", "LOG-28", "LOG-29", "LOG-31", "LOG-32"}  # no check of history yet; cases show them


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("", "fault is one of drop"),
        ("?fault=nap", "not 'nap'"),
        ("?fault=drop&nht=1", "did you mean nth"),
        ("?fault=drop&nth=0", "whole number"),
    ],
)
def test_a_fault_that_does_not_exist_is_refused(tmp_path: Path, query: str, says: str) -> None:
    with pytest.raises(HarnessError, match=says):
        load(FAULTY + query, tmp_path)


def test_any_target_can_be_wrapped(tmp_path: Path) -> None:
    inner = "py:fireassay.conformance.targets.plainlog:make%3Fmax_payload=77"
    target = load(f"{FAULTY}?fault=drop&of={inner}", tmp_path)
    assert target.promises.bounds.max_payload == 77
    assert target.name == "plainlog-drop"
