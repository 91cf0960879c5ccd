"""Real processes that cost milliseconds: forked by a server that has everything loaded but the target."""

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any

import multiprocess
import multiprocess.forkserver

from fireassay.conformance.trials.actors import act
from fireassay.conformance.trials.setting import ActorSpec

__all__ = ["Child", "launch", "start", "stop_server"]

# Never a target: what it loads is chosen by the environment of each child.
PRELOAD = ["fireassay.conformance.trials.actors", "fireassay.conformance.targets.plainlog", "fireassay.spec.layouts", "dill", "numpy"]


class Child:
    """A living or dead process, and every word it said."""

    def __init__(self, spec: ActorSpec, process: Any, line: Connection) -> None:
        self.spec = spec
        self.pid: int = process.pid
        self.words: dict[str, Any] = {}
        self.t_start = time.monotonic()
        self._process = process
        self._line = line
        self._handle = -1  # of the target's own process, where that is another
        self._killed = False
        self._deaf = False
        self.noted = False

    @property
    def target_pid(self) -> int:
        """The process that a fault is aimed at."""
        return int(self.words.get("target", self.pid))

    @property
    def alive(self) -> bool:
        return bool(self._process.exitcode is None)

    @property
    def exitcode(self) -> int | None:
        code: int | None = self._process.exitcode
        return code

    def listen(self) -> None:
        if self._deaf or self._line.closed:
            return
        try:
            while self._line.poll():
                word, detail = self._line.recv()
                self.words[word] = detail
                if word == "target" and detail != self.pid:
                    with suppress(ProcessLookupError):
                        self._handle = os.pidfd_open(detail)
        except (EOFError, OSError):
            self._deaf = True  # it closed its end

    def waitables(self) -> list[Any]:
        """What becomes ready when it speaks or ends."""
        return [self._process.sentinel, *([] if self._line.closed or self._deaf else [self._line])]

    def target_died(self) -> bool:
        """Of a dead child: the target's own process ended by a signal."""
        if self._handle >= 0:
            return self._killed and self.target_gone()
        return (self.exitcode or 0) < 0

    def target_gone(self) -> bool:
        return self._handle < 0 or bool(select.select([self._handle], [], [], 0)[0])

    def tell(self, word: str) -> None:
        with suppress(OSError):
            self._line.send(word)

    def kill(self) -> None:
        """The target's own process; where that is this child's, the child."""
        self._killed = True
        with suppress(ProcessLookupError):
            if self._handle >= 0:
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)

    def halt(self) -> None:
        """It and the target's own process stand still from now on; `halted` says when they do.

        One that has not begun is killed: stopped now it would still hold what keeps the server alive, and outlive everybody.
        """
        self._signal_wholly(signal.SIGSTOP if "target" in self.words else signal.SIGKILL)

    def halted(self) -> bool:
        return all(_state(pid) in "TtZX" for pid in {self.pid, self.target_pid})

    def kill_wholly(self) -> None:
        self.kill()
        self._signal_wholly(signal.SIGKILL)

    def _signal_wholly(self, number: int) -> None:
        """A driver leads a session of its own: whatever it started is in its group."""
        with suppress(ProcessLookupError):
            if not self.target_gone():
                os.killpg(self.target_pid, number)
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def let_go(self) -> None:
        """Of a dead one."""
        self.listen()
        self._line.close()
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        self._process.join(5.0)
        self._process.close()


def _state(pid: int) -> str:
    """The letter of ps, X for one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def start(spec: ActorSpec) -> Child:
    process, line = launch(act, spec)
    return Child(spec, process, line)


def launch(function: Callable[..., None], *arguments: object) -> tuple[Any, Connection]:
    """A process that runs the function with these arguments and its end of a line; the process, and our end."""
    context = multiprocess.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    here, there = context.Pipe()
    process = context.Process(target=function, args=(*arguments, there), daemon=True)
    with _without_main():
        process.start()
    there.close()
    return process, here


@contextmanager
def _without_main() -> Iterator[None]:
    """A child would run the caller's script again, under another name, before it does anything: a second, and side effects."""
    real = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = real


def stop_server() -> None:
    """The server ends with this process anyway; for whoever counts processes before that."""
    multiprocess.forkserver._forkserver._stop()
