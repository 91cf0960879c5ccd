"""Processes that die with SIGKILL at a chosen line of Python, at a failpoint of the core, or after a time.

    python -m fireassay.reference.tests.killed        takes requests as JSON lines, forks a victim for each, answers with its end

One process imports everything once; a victim is a fork of it, so that hundreds of deaths are cheap.
"""

import hashlib
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from fireassay.reference import core
from fireassay.reference.chronicle.archive.archiver import Archiver
from fireassay.reference.chronicle.archive.snapshots import Periodic, Snapshots
from fireassay.reference.chronicle.archive.tap import Tap
from fireassay.reference.chronicle.bus.registration import Registration
from fireassay.reference.chronicle.reader import Message, Reader

__all__ = ["SCENARIOS", "Death", "Victims", "folded", "victims"]

ROOT = Path(__file__).resolve().parents[1]


def tap(where: Path) -> None:
    """Everything that is in the live queue, with a commit now and then."""
    with Tap(where / "live", where / "archive") as port:
        while port.step(limit=7):
            port.commit()
        port.commit()


def archiver(where: Path) -> None:
    """Every sealed segment."""
    with Archiver(where / "queue", where / "store") as port:
        while port.step() is not None:
            pass


def snapshots(where: Path) -> None:
    """One after every fifth record of the queue, in a queue that has one already."""
    digest = b""
    periodic = Periodic(Snapshots(where / "queue"), every_records=5, every_s=1e9, kept=2)
    with Reader(where / "queue", "snapshots") as reader:
        while not (batch := reader.read_batch(16)).end:
            for message in batch.messages:
                digest = folded(digest, message)
                periodic.offer(message.seq, message.timestamp_ns, lambda: digest)  # noqa: B023


def folded(state: bytes, message: Message) -> bytes:
    """A state that knows each record before it, in order and once."""
    return hashlib.sha256(state + message.seq.to_bytes(8, "little") + message.payload).digest()


def registration(where: Path) -> None:
    """A reader that comes, gives signs of life and leaves."""
    with Registration(where / "queue", "router", interval_s=0) as port:
        for _ in range(3):
            port.beat()


SCENARIOS = {"registration": registration, "tap": tap, "archiver": archiver, "snapshots": snapshots}


@dataclass(frozen=True)
class Death:
    status: int  # of the process; 0 where it came to its end
    lines: int  # of ours that it went through


class Victims:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(
        self, scenario: str, where: Path, *, line: int = 0, after_s: float | None = None, control: Path | None = None, mutant: str = ""
    ) -> Death:
        """Dies at the n-th line, after a time, or as the control file says; none of them: runs to its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {
            "scenario": scenario,
            "where": str(where),
            "line": line,
            "after_s": after_s,
            "control": str(control or ""),
            "mutant": mutant,
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Death(**json.loads(self._process.stdout.readline()))


@contextmanager
def victims(variant: str = "failpoints") -> Iterator[Victims]:
    command = [sys.executable, "-m", "fireassay.reference.tests.killed"]
    environment = {**os.environ, "FIREASSAY_CORE": variant}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True) as process:
        try:
            yield Victims(process)
        finally:
            process.kill()


def _die_at(line: int, passed: mmap.mmap) -> Any:
    """Counts lines of ours, and kills at one of them."""
    done = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal done
        name = frame.f_code.co_filename
        if not name.startswith(str(ROOT)) or "/tests/" in name:
            return None
        if event == "line":
            done += 1
            struct.pack_into("Q", passed, 0, done)
            if done == line:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def _live(request: dict[str, Any], passed: mmap.mmap) -> None:
    ffi, lib = core.load()
    err = ffi.new("fa_error *")
    if request["control"]:
        core.check(ffi, err, lib.fa_failpoint_attach(os.fsencode(request["control"]), err))
    if request["mutant"]:
        core.check(ffi, err, lib.fa_mutant_select(request["mutant"].encode(), err))
    if request["after_s"] is None:
        sys.settrace(_die_at(request["line"], passed))
    SCENARIOS[request["scenario"]](Path(request["where"]))


def _fork(request: dict[str, Any]) -> Death:
    with mmap.mmap(-1, 8) as passed:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                _live(request, passed)
                status = 0
            finally:
                os._exit(status)
        if request["after_s"] is not None:
            time.sleep(request["after_s"])
            os.kill(pid, signal.SIGKILL)
        _, end = os.waitpid(pid, 0)
        (lines,) = struct.unpack_from("Q", passed, 0)
        return Death(os.waitstatus_to_exitcode(end), lines)


if __name__ == "__main__":
    core.load()
    for text in sys.stdin:
        print(json.dumps(vars(_fork(json.loads(text)))), flush=True)
