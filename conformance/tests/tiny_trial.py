"""One trial without faults in one process: a writer, a reader beside it, a clean reopen, and a drain; recorded and judged."""

import os
import time
from pathlib import Path

from fireassay.conformance.recorder.recorder import Actor, Recorder, Role
from fireassay.conformance.recorder.recording import find_recordings, open_recording
from fireassay.conformance.targets import pid_of
from fireassay.conformance.workload.drain import Drained, drain
from fireassay.conformance.workload.recorded import RecordedReader, RecordedWriter
from fireassay.conformance.workload.scribe import Scribe
from fireassay.spec.checks import CheckResult, Declared, judge
from fireassay.spec.history import model
from fireassay.spec.history.history import History
from fireassay.spec.history.ops import Op
from fireassay.spec.outcomes import Outcome
from fireassay.spec.ports import Target

__all__ = ["DEADLINE_NS", "NONCE", "history_of", "judged", "run_trial", "verdicts"]

NONCE = 0xFEED
DEADLINE_NS = 200_000_000


def history_of(directory: Path) -> History:
    recordings = [open_recording(prefix) for prefix in find_recordings(directory)]
    actors = {
        actor.actor: model.Actor(actor.actor, actor.role.name.lower(), actor.pid, actor.incarnation, actor.group)
        for recording in recordings
        for actor in recording.actors
    }
    return History.of(recordings, actors.values())


def judged(history: History, target: Target, deadline_ns: int = DEADLINE_NS) -> tuple[CheckResult, ...]:
    return judge(history, Declared.of(target.promises, deadline_ns=deadline_ns))


def verdicts(results: tuple[CheckResult, ...]) -> dict[str, str]:
    return {result.clause: result.verdict.value for result in results}


class _Cast:
    """Actors of one trial, each entered into the recorder's table before it speaks."""

    def __init__(self, recorder: Recorder, target: Target) -> None:
        self.recorder = recorder
        self.target = target
        self.count = 1
        recorder.add_actor(Actor(actor=1, role=Role.HARNESS, name="coordinator", pid=os.getpid()))

    def scribe(self, role: Role) -> Scribe:
        self.count += 1
        self.recorder.add_actor(Actor(actor=self.count, role=role, name=role.name.lower(), pid=pid_of(self.target)))
        return Scribe(recorder=self.recorder, actor=self.count, stream=1, nonce=NONCE)


def run_trial(target: Target, directory: Path, records: int = 24, lengths: tuple[int, ...] = (64, 32, 200, 20, 1500)) -> Drained:
    """The recording lies in `directory`."""
    directory.mkdir(exist_ok=True)
    with Recorder.open(directory / "0001-all-1", nonce=NONCE) as recorder:
        cast = _Cast(recorder, target)
        writer = RecordedWriter.open(target, "orders", cast.scribe(Role.PRODUCER), producer=1)
        reader = RecordedReader.open(target, "orders", cast.scribe(Role.READER), name="follower")
        for number in range(0, records, 2):
            writer.append([lengths[(number + i) % len(lengths)] for i in range(2)])
            got = reader.read(2, 1.0)
            if got.batch.outcome is Outcome.OK and got.batch.records and number % 6 == 0:
                reader.commit(got.batch.records[-1].position + 1)
        writer.sync()
        _late_reads(recorder, reader)
        reader.close()
        writer.close()
        writer = RecordedWriter.open(target, "orders", cast.scribe(Role.PRODUCER), producer=1, incarnation=1)
        writer.append_sentinel(1)
        writer.sync()
        writer.close()
        with RecordedReader.open(target, "orders", cast.scribe(Role.DRAIN), name="drain-1") as fresh:
            drained = drain(fresh, 1, deadline_s=1.0)
        recorder.event(Op.RUN_END, actor=1)
    return drained


def _late_reads(recorder: Recorder, reader: RecordedReader) -> None:
    """Reads on until the deadline is long over: who says END then has nothing more to come."""
    last = until = time.monotonic_ns() + 2 * DEADLINE_NS
    while (now := time.monotonic_ns()) < until:
        got = reader.read(16, 0.02)
        recorder.event(Op.HEARTBEAT, actor=1, value=max(0, now - min(last, now)))
        last = now
        if got.batch.outcome is not Outcome.OK:
            return
