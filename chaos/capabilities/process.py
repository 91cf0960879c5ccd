"""Faults made to processes: death, interposed functions, injected errors, stopped memory."""

import ctypes
import errno
import fcntl
import mmap
import os
import select
import shutil
import signal
import struct
import sys
import time
from pathlib import Path

from fireassay.chaos.capabilities.model import CLOCK, DEATH, FULL, INSTALL, NETWORK, POWER, ROOT_REMEDY, Probe, UnableError
from fireassay.chaos.capabilities.tools import checked, ended, forked, libc, numbers, run, sleep_for_ever, tool

__all__ = ["PROBES"]


def _root(_: Path) -> str:
    if os.geteuid() != 0:
        raise UnableError(f"user id {os.geteuid()}")
    status = Path("/proc/self/status").read_text().split("CapEff:")[1].split()[0]
    if not int(status, 16) >> 21 & 1:
        raise UnableError(f"root without CAP_SYS_ADMIN (effective {status})")
    return f"user id 0, effective capabilities {status}"


def _compiler_path() -> str:
    for name in ("gcc", "clang", "cc"):
        path = shutil.which(name)
        if path:
            return path
    raise UnableError("neither gcc nor clang is installed")


def _compiler(work: Path) -> str:
    compiler = _compiler_path()
    (work / "a.c").write_text("#include <stdatomic.h>\nint main(void) { _Atomic int a = 42; return atomic_load(&a) - 42; }\n")
    run(compiler, "-std=c11", str(work / "a.c"), "-o", str(work / "a"))
    run(str(work / "a"))
    return run(compiler, "--version").splitlines()[0]


def _kill(_: Path) -> str:
    victim = forked(sleep_for_ever)
    os.kill(victim, signal.SIGSTOP)
    os.kill(victim, signal.SIGKILL)
    if ended(victim, 3.0) != -signal.SIGKILL:
        raise UnableError("the process did not die of the signal")
    return "a process was stopped and killed"


def _preload(work: Path) -> str:
    (work / "p.c").write_text("int getppid(void) { return 4242; }\n")
    run(_compiler_path(), "-shared", "-fPIC", str(work / "p.c"), "-o", str(work / "p.so"))
    said = run(sys.executable, "-I", "-S", "-c", "import os; print(os.getppid())", environment={"LD_PRELOAD": str(work / "p.so")})
    if said != "4242":
        raise UnableError("the interposed function was not called")
    return "a function was interposed"


def _strace(work: Path) -> str:
    code = "import os,sys; fd=os.open(sys.argv[1],os.O_CREAT|os.O_RDWR)\ntry: os.fdatasync(fd)\nexcept OSError as e: print(e.errno)"
    rule = ("-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=1")
    said = run(tool("strace"), "-qq", "-o", os.devnull, *rule, sys.executable, "-I", "-S", "-c", code, str(work / "a"))
    if said != str(errno.EIO):
        raise UnableError("the injected error did not arrive")
    return "EIO was injected into fdatasync"


def _seccomp(_: Path) -> str:
    """A filter that hands getppid to a listener; the listener answers 4242."""
    getppid, seccomp = numbers()[1:3]
    c = libc()
    code = b"".join(
        struct.pack("HBBI", *line) for line in ((0x20, 0, 0, 0), (0x15, 0, 1, getppid), (0x06, 0, 0, 0x7FC00000), (0x06, 0, 0, 0x7FFF0000))
    )  # load the number; getppid: notify; else: allow
    buffer = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer)))
    checked(c.prctl(38, 1, 0, 0, 0), "no_new_privs")
    listener = checked(c.syscall(seccomp, 1, 8, program), "seccomp listener")
    caller = forked(lambda: int(c.syscall(getppid) != 4242))
    if not select.select([listener], [], [], 3.0)[0]:
        os.kill(caller, signal.SIGKILL)
        raise UnableError("no notification came")
    notice = bytearray(80)
    fcntl.ioctl(listener, 0xC0502100, notice)
    fcntl.ioctl(listener, 0xC0182101, bytearray(notice[:8] + struct.pack("qiI", 4242, 0, 0)))
    if ended(caller, 3.0) != 0:
        raise UnableError("the answer did not arrive")
    return "a system call was answered by a listener"


def _userfaultfd(_: Path) -> str:
    number = numbers()[3]
    c = libc()
    fd = c.syscall(number, os.O_CLOEXEC)
    mode = "kernel and user faults"
    if fd < 0:
        fd = checked(c.syscall(number, os.O_CLOEXEC | 1), "userfaultfd")
        mode = "user faults only"
    api = bytearray(struct.pack("QQQ", 0xAA, 0, 0))
    fcntl.ioctl(fd, 0xC018AA3F, api)
    features = struct.unpack("QQQ", api)[1]
    os.close(fd)
    return f"{mode}, {'with' if features >> 15 & 1 else 'without'} asynchronous write protection"


def _futex(_: Path) -> str:
    number = numbers()[0]
    c = libc()
    shared = mmap.mmap(-1, 4096)
    word = ctypes.c_uint32.from_buffer(shared)
    until = time.monotonic() + 3.0
    sleeper = forked(lambda: int(c.syscall(number, ctypes.byref(word), 0, 0, None, None, 0) != 0))
    while c.syscall(number, ctypes.byref(word), 1, 1, None, None, 0) != 1:
        if time.monotonic() > until:
            os.kill(sleeper, signal.SIGKILL)
            raise UnableError("the sleeper was not woken")
        time.sleep(0.002)
    if ended(sleeper, 3.0) != 0:
        raise UnableError("the sleeper did not end")
    return "a process was woken by another"


PROBES = (
    Probe(name="root", attempt=_root, affects=(*POWER, *FULL, *NETWORK), remedy=ROOT_REMEDY),
    Probe(name="compiler", attempt=_compiler, affects=POWER, remedy=INSTALL.format("gcc or clang")),
    Probe(name="kill", attempt=_kill, affects=DEATH, remedy="Allow processes to signal their children: look at the seccomp profile."),
    Probe(name="preload", attempt=_preload, affects=("LOG-26", *CLOCK), remedy=INSTALL.format("gcc or clang")),
    Probe(name="strace-inject", attempt=_strace, affects=("LOG-26",), remedy="Install strace (4.22 or later) and allow ptrace."),
    Probe(
        name="seccomp-notify", attempt=_seccomp, affects=("LOG-26",), remedy="Use Linux 5.0 or later and a container that allows seccomp."
    ),
    Probe(name="userfaultfd", attempt=_userfaultfd, affects=("LOG-12",), remedy="Run as root, or set vm.unprivileged_userfaultfd to 1."),
    Probe(name="shared-futex", attempt=_futex, affects=("LOG-09",), remedy="Allow futex between processes: look at the seccomp profile."),
)
