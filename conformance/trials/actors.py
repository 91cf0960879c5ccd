"""What the processes of a trial do. Each is forked with nothing of the target loaded, and speaks to the coordinator through a pipe.

| word | says |
|---|---|
| target, pid | the process in which the target's code will run |
| opened, position | the target is open |
| idle, position | its load is written, or everything is read, and it stays open |
| done, text | ended as asked; text is empty, or why a drain was given up |
| refused, text | the target would not open |
| broken, text | an outcome that is unknown, or an exception: it cannot go on under this name |

The only word to an actor is to go on (where it was held) or to stop; at the end of the pipe the coordinator is dead.
"""

import ctypes
import os
import random
import signal
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import multiprocess.forkserver

from fireassay.conformance.recorder.recorder import Recorder
from fireassay.conformance.recorder.recording import Actor, Role
from fireassay.conformance.targets import load, pid_of
from fireassay.conformance.trials.lengths import steps
from fireassay.conformance.trials.setting import VARIABLES, ActorSpec
from fireassay.conformance.workload.drain import drain
from fireassay.conformance.workload.recorded import RecordedReader, RecordedWriter
from fireassay.conformance.workload.scribe import Scribe
from fireassay.spec.outcomes import Outcome, TargetError
from fireassay.spec.ports import Target

__all__ = ["VARIABLES", "act"]

CAPACITY = 1 << 12  # rows per part: most actors write less
_PR_SET_PDEATHSIG, _CLONE_NEWNS = 1, 0x00020000
_ROLES = {"produce": Role.PRODUCER, "read": Role.READER, "close": Role.PRODUCER}
_TRIES_AGAIN = 200


def act(spec: ActorSpec, line: Connection) -> None:
    """The whole life of an actor's process. Ends with 0 whatever the target did: only a fault makes a process die."""
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if spec.mounts:
        _enter_mounts(spec.mounts)
    for name in VARIABLES:
        os.environ.pop(name, None)
    os.environ.update(spec.environment)
    with suppress(BrokenPipeError, EOFError, ConnectionResetError):  # the coordinator is dead: so ends this
        try:
            line.send(("done", _JOBS[spec.job](spec, line)))
        except TargetError as error:
            line.send(("refused", str(error)))
        except _BrokenError as error:
            line.send(("broken", str(error)))
        except (BrokenPipeError, EOFError, ConnectionResetError):
            raise
        except Exception:
            line.send(("broken", traceback.format_exc(limit=-6)))
    line.close()


class _BrokenError(Exception):
    """An outcome after which this actor must not go on."""


def _die_with_parent() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The server ends with the last holder of this pipe. Only the coordinator must hold it: who is stopped or hangs would live for ever.
    server = multiprocess.forkserver._forkserver
    if server._forkserver_alive_fd is not None:
        os.close(server._forkserver_alive_fd)
        server._forkserver_alive_fd = None
    if os.getppid() == 1:
        os._exit(0)


def _enter_mounts(namespace: str) -> None:
    """See what is mounted there, from the same directory as before. Only a process with one thread can."""
    here, libc = os.getcwd(), ctypes.CDLL(None, use_errno=True)
    with open(namespace, "rb") as file:
        if libc.setns(file.fileno(), _CLONE_NEWNS) != 0:
            raise OSError(ctypes.get_errno(), f"the mount namespace {namespace} cannot be entered")
    os.chdir(here)


def _start(spec: ActorSpec, line: Connection) -> tuple[Target, Recorder]:
    """The target, not yet opened, and a recording with this actor in its table."""
    target = load(spec.target, Path(spec.place))
    pid = pid_of(target)
    actors = [Actor(actor=spec.actor, role=_ROLES[spec.job], name=spec.reader, pid=pid, incarnation=spec.incarnation)]
    if spec.second:
        actors.append(Actor(actor=spec.second, role=Role.DRAIN, pid=pid))
    recorder = Recorder.open(spec.recording, actors, capacity=CAPACITY, nonce=spec.nonce, epsilon_ns=spec.epsilon_ns)
    line.send(("target", pid))
    if spec.held:
        line.recv()
    return target, recorder


def _scribe(spec: ActorSpec, recorder: Recorder, actor: int) -> Scribe:
    return Scribe(recorder=recorder, actor=actor, stream=spec.stream, nonce=spec.nonce)


def _open_writer(spec: ActorSpec, target: Target, recorder: Recorder) -> RecordedWriter:
    return RecordedWriter.open(
        target,
        spec.stream_name,
        _scribe(spec, recorder, spec.actor),
        producer=spec.producer,
        incarnation=spec.incarnation,
        after_crash=spec.after_crash,
    )


def _produce(spec: ActorSpec, line: Connection) -> str:
    target, recorder = _start(spec, line)
    with recorder:
        writer = _open_writer(spec, target, recorder)
        line.send(("opened", writer.granted))
        written = 0
        for step in steps(spec.load, spec.seed):
            if line.poll():
                break
            result = writer.append(step.lengths)
            written += len(result.positions)
            if result.outcome is Outcome.INFO:
                raise _BrokenError(f"an append is of unknown outcome: {result.error.text if result.error else ''}")
            if step.sync and writer.sync().outcome is Outcome.INFO:
                raise _BrokenError("a sync is of unknown outcome")
        if spec.load.linger:
            line.send(("idle", written))
            line.recv()
        writer.sync()
        writer.close()
    return ""


def _read(spec: ActorSpec, line: Connection) -> str:
    """Reads and commits. One that follows does so until it is told to stop; then, like any other, up to an END."""
    target, recorder = _start(spec, line)
    dice = random.Random(spec.seed)
    with recorder:
        reader = RecordedReader.open(target, spec.stream_name, _scribe(spec, recorder, spec.actor), name=spec.reader)
        line.send(("opened", reader.granted))
        following, ended, idle, failed, at = spec.follows, False, False, 0, None
        while not ended or following:
            if following and line.poll():
                following, ended = False, False
            got = reader.read(dice.randint(1, 64), 0.01 if following else 0.0)
            if got.batch.outcome is Outcome.INFO:
                raise _BrokenError(f"a read is of unknown outcome: {got.batch.error.text if got.batch.error else ''}")
            if got.batch.outcome is Outcome.FAIL:
                failed += 1
                if failed > _TRIES_AGAIN:
                    raise _BrokenError(f"{failed} reads failed: {got.batch.error.text if got.batch.error else ''}")
                line.poll(0.005)
            if following and got.batch.end and not idle:
                idle = True
                line.send(("idle", at))
            ended = got.batch.end
            at = got.batch.records[-1].position + 1 if got.batch.records else at
            if at is not None and dice.random() < 0.3:
                reader.commit(at)
        if at is not None:
            reader.commit(at)
        reader.close()
    return ""


def _close(spec: ActorSpec, line: Connection) -> str:
    """Open (recovering where the last writer died), sync, sentinel, sync, close; then drain under a name of its own."""
    target, recorder = _start(spec, line)
    with recorder:
        writer = _open_writer(spec, target, recorder)
        line.send(("opened", writer.granted))
        writer.sync()
        writer.append_sentinel(spec.ordinal)
        writer.sync()
        writer.close()
        reader = RecordedReader.open(target, spec.stream_name, _scribe(spec, recorder, spec.second), name=f"drain{spec.ordinal}")
        drained = drain(reader, spec.ordinal, deadline_s=spec.patience_s)
        reader.close()
    return drained.reason


_JOBS = {"produce": _produce, "read": _read, "close": _close}
