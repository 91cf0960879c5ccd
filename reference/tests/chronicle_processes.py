"""Other processes that hold a queue, until they are told to go or are killed."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WRITER = """
import pathlib, sys
from fireassay.reference.chronicle.bus.markers import mark_ready
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import Writer
queue = pathlib.Path(sys.argv[1])
writer = Writer(queue, 1024, heartbeat_s=0.02)
for number in range(int(sys.argv[2])): writer.append(b"%d" % number * 30)
"""
_UP = "print('up', flush=True); sys.stdin.read()\n"


@contextmanager
def holder(queue: Path, records: int, *, ready: bool = False, reader: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Writes so many records, each its number thirty times; may say that it is ready, and read under the name its_own."""
    script = _WRITER + "mark_ready(queue)\n" * ready + "reader = Reader(queue, 'its_own')\n" * reader + _UP
    command = [sys.executable, "-c", script, str(queue), str(records)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "up\n"
        yield child
    finally:
        child.kill()
        child.communicate()
