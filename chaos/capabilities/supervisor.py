"""The process above a probe: it keeps the deadline, and undoes what a probe that was cut off left in the kernel.

python -m fireassay.chaos.capabilities.supervisor MODULE FUNCTION WORK DEADLINE_S. One JSON line on stdout. Its standard input is held
open by the caller: at its end the caller is dead, and the directory goes too. Orphans of the probe become children of this process, so
all are found, killed and reaped here, whatever they do.
"""

import json
import os
import select
import shutil
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from fireassay.chaos.capabilities.freeze import attached, thaw_left_behind
from fireassay.chaos.capabilities.groups import sweep_groups
from fireassay.chaos.capabilities.tools import forked, libc

__all__ = ["main"]

_PR_SET_CHILD_SUBREAPER = 36
_CLEAR_WITHIN_S = 10.0
_CALLER = 0  # standard input
_POLITE = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def _work(module: str, function: str, work: Path, answer: int) -> int:
    for number in _POLITE:
        signal.signal(number, signal.SIG_DFL)
    quiet = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # whoever hangs below must not hold the caller's pipes
        os.dup2(quiet, standard)
    try:
        said = {"available": True, "detail": str(getattr(import_module(module), function)(work))}
    except Exception as why:  # any failure means 'not here'; the text goes to the user
        said = {"available": False, "detail": str(why) or type(why).__name__}
    os.write(answer, json.dumps(said).encode() + b"\n")
    return 0


def _answered(answers: int, worker: int, deadline_s: float) -> bytes:
    """The worker's line; or why there is none, as a line of the same shape."""
    until = time.monotonic() + deadline_s
    said, watched = b"", [answers, _CALLER]
    while (left := until - time.monotonic()) > 0:
        ready = select.select(watched, [], [], min(left, 0.02))[0]
        if answers in ready:
            more = os.read(answers, 65536)
            said += more
            if said.endswith(b"\n"):
                return said
            if not more:
                watched = [_CALLER]
        if _CALLER in ready and not os.read(_CALLER, 1):
            return b""
        dead = os.waitid(os.P_PID, worker, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if dead is not None and answers not in ready:  # dead, and nothing of it is still to be read
            how = dead.si_status if dead.si_code == os.CLD_EXITED else -dead.si_status
            return json.dumps({"available": False, "detail": f"the probe died ({how})"}).encode()
    return json.dumps({"available": False, "detail": f"no answer within {deadline_s:g} s"}).encode()


def _children() -> list[int]:
    me = os.getpid()
    return [int(pid) for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split()]


def _clear(work: Path) -> None:
    """Until no process and no loop device of the probe is left: kill, thaw, reap. Processes held in the kernel end with the thaw."""
    until = time.monotonic() + _CLEAR_WITHIN_S
    while time.monotonic() < until:
        for pid in _children():
            os.kill(pid, signal.SIGKILL)
        sweep_groups(work)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not _children() and not attached(work):
            return
        thaw_left_behind(work)
        time.sleep(0.002)


def main(arguments: list[str]) -> int:
    module, function, work, deadline_s = arguments[0], arguments[1], Path(arguments[2]), float(arguments[3])
    libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in _POLITE:
        signal.signal(number, signal.SIG_IGN)  # the end of standard input, or the deadline, ends this; never with a thaw still owed
    answers, answer = os.pipe()
    worker = forked(lambda: _work(module, function, work, answer))
    os.close(answer)
    said = _answered(answers, worker, deadline_s)
    _clear(work)
    if not said:
        shutil.rmtree(work, ignore_errors=True)
        return 1
    with suppress(BrokenPipeError):
        sys.stdout.buffer.write(said)
        sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
