"""What tests of chronicle's mutants share: the queue in the mutants build, and children that stop at a failpoint."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fireassay.reference import core, mutants
from fireassay.reference.chronicle.reader import Message, Reader
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.failpoints import Action, ControlFile

SEGMENT = 1024
OK = "ok"


def writer(queue: Path, size: int = SEGMENT) -> Writer:
    return Writer(queue, size, heartbeat_s=0, variant="mutants")


def reader(queue: Path, name: str = "r", size: int = SEGMENT) -> Reader:
    return Reader(queue, name, local_size=size, variant="mutants")


def drained(port: Reader) -> list[Message]:
    found: list[Message] = []
    while not (batch := port.read_batch(3)).end:
        found += batch.messages
    return found


def numbers(port: Reader) -> list[int]:
    return [int(message.payload) for message in drained(port)]


def filled(queue: Path, count: int = 30) -> Writer:
    made = writer(queue)
    for number in range(count):
        made.append(b"%0130d" % number)  # a segment has room left that must be padded
    return made


@contextmanager
def armed(where: Path) -> Iterator[ControlFile]:
    """A control file that acts in this process."""
    ffi, lib = core.load("mutants")
    err = ffi.new("fa_error *")
    with ControlFile.create(where, "mutants") as control:
        core.check(ffi, err, lib.fa_failpoint_attach(os.fsencode(where), err))
        try:
            yield control
        finally:
            lib.fa_failpoint_detach(err)


@contextmanager
def stopping(control: ControlFile, name: str, script: str, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """A child under the same mutant that will stop at the failpoint."""
    control.arm(name, Action.STOP)
    mutant = next((found.name for found in mutants.mutants() if mutants.is_selected(found.name)), "")
    settings = {**os.environ, "FIREASSAY_CORE": "mutants", "FIREASSAY_MUTANT": mutant, "FIREASSAY_FAILPOINTS": str(control.path)}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(command, env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            yield child
        finally:
            child.kill()


def stands(child: subprocess.Popen[bytes]) -> None:
    assert os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1])


def goes_on(child: subprocess.Popen[bytes], control: ControlFile, name: str) -> None:
    control.disarm(name)
    child.send_signal(signal.SIGCONT)


def shows(where: Path, name: str, steps: Callable[[Path], str]) -> None:
    """The steps are sound, and say what is wrong under the mutant."""
    (where / "sound").mkdir()
    (where / "mutant").mkdir()
    assert steps(where / "sound") == OK
    with mutants.selected(name):
        assert steps(where / "mutant") != OK
