"""Tries one probe from outside: starts its supervisor, takes the answer, and sweeps where the supervisor was killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fireassay.chaos.capabilities.freeze import attached
from fireassay.chaos.capabilities.groups import sweep_groups
from fireassay.chaos.capabilities.model import Probe
from fireassay.spec.capability import Capability

__all__ = ["processes_of", "try_one"]

_GRACE_S = 40.0  # for the supervisor's start and clearing on a busy machine
_SWEEP_WITHIN_S = 10.0
_THAW = "import sys; from pathlib import Path; from fireassay.chaos.capabilities.freeze import thaw_left_behind as f; f(Path(sys.argv[1]))"


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path), "LC_ALL": "C"}


def processes_of(work: Path) -> Iterator[int]:
    """Those whose command line names this directory, which nobody else's does: its name is random."""
    needle = os.fsencode(work)
    for entry in os.listdir("/proc"):
        with suppress(OSError):
            if entry.isdigit() and int(entry) != os.getpid() and needle in Path(f"/proc/{entry}/cmdline").read_bytes():
                yield int(entry)


def _supervised(one: Probe, work: Path) -> tuple[bool, str]:
    here, caller = os.pipe()
    attempt = (one.attempt.__module__, one.attempt.__qualname__)
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "fireassay.chaos.capabilities.supervisor", *attempt, str(work), str(one.deadline_s)],
            stdin=here,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_environment(),
            start_new_session=True,
        )
    finally:
        os.close(here)
    with child:
        try:
            said, cried = child.communicate(timeout=one.deadline_s + _GRACE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            return False, f"the supervisor of the probe did not end within {one.deadline_s + _GRACE_S:g} s"
        finally:
            os.close(caller)  # after an interrupt the supervisor clears up and ends by itself
    try:
        answer = json.loads(said)
        return bool(answer["available"]), str(answer["detail"])
    except (ValueError, KeyError):
        return False, f"the probe died ({child.returncode}) {cried.strip()[-200:]}".strip()


def _sweep(work: Path) -> None:
    """Nothing to do where the supervisor ended by itself."""
    until = time.monotonic() + _SWEEP_WITHIN_S
    sweep_groups(work)
    while (left := [*processes_of(work)]) or attached(work):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if attached(work):  # in a process of its own: it changes its mount namespace, and this one may have many threads
            subprocess.run([sys.executable, "-c", _THAW, str(work)], env=_environment(), stdin=subprocess.DEVNULL, capture_output=True)
        if time.monotonic() > until:
            return
        time.sleep(0.005)


def try_one(one: Probe, directory: Path | None = None) -> Capability:
    work = Path(tempfile.mkdtemp(prefix="fireassay-probe-", dir=directory)).absolute()
    try:
        available, detail = _supervised(one, work)
    finally:
        _sweep(work)
        shutil.rmtree(work, ignore_errors=True)
    return Capability(name=one.name, available=available, detail=detail, affects=one.affects, remedy="" if available else one.remedy)
