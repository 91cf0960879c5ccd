"""Tools of the probes. All of them run in a probe's own process, which has one thread."""

import ctypes
import os
import platform
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from fireassay.chaos.capabilities.model import UnableError

__all__ = [
    "NEWNET",
    "NEWTIME",
    "NEWUSER",
    "checked",
    "die_with_parent",
    "ended",
    "forked",
    "libc",
    "numbers",
    "private_mounts",
    "run",
    "sleep_for_ever",
    "tool",
    "unshare",
]

NEWTIME, NEWUSER, NEWNET = 0x00000080, 0x10000000, 0x40000000
_NEWNS, _MS_REC, _MS_PRIVATE, _PR_SET_PDEATHSIG = 0x00020000, 0x4000, 0x40000, 1
_SYSCALLS = {  # futex, getppid, seccomp, userfaultfd
    "x86_64": (202, 110, 317, 323),
    "aarch64": (98, 173, 277, 282),
}


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> int:
    if result < 0:
        raise UnableError(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def numbers() -> tuple[int, int, int, int]:
    try:
        return _SYSCALLS[platform.machine()]
    except KeyError:
        raise UnableError(f"system call numbers of {platform.machine()} are not known here") from None


def tool(name: str) -> str:
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if path is None:
        raise UnableError(f"{name} is not installed")
    return path


def run(*argv: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise UnableError(f"{Path(argv[0]).name}: {said[-1] if said else f'exit {done.returncode}'}")
    return done.stdout.strip()


def unshare(flags: int, what: str) -> None:
    checked(libc().unshare(flags), what)


def private_mounts() -> None:
    unshare(_NEWNS, "mount namespace")
    checked(libc().mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "private mounts")


def forked(body: Callable[[], int]) -> int:
    """Run body in a forked child (this process has one thread); its pid. Body's return is the exit code."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            die_with_parent()
            code = body()
        finally:
            os._exit(code)
    return pid


def ended(pid: int, within_s: float) -> int | None:
    """The exit code (negative: signal), or None where it still runs then."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def die_with_parent() -> None:
    libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def sleep_for_ever() -> int:
    while True:
        signal.pause()
