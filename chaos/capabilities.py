"""Which faults this machine can make: each is tried, none is guessed.

Every probe runs in a process of its own, in a directory of its own, with a deadline. What it mounts lives in a mount namespace that
dies with it, and loop devices clear themselves with their mount; so a probe that hangs or crashes leaves nothing behind either.
A probe returns what it found, or raises: any exception means 'not here', and its text says why.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fireassay.spec.capability import Capability

__all__ = ["PROBES", "Probe", "inside", "probe", "try_one"]

_POWER = ("LOG-11", "LOG-12", "CHR-22", "SMB-04", "COM-21")
_FULL = ("LOG-26", "CHR-16")
_NETWORK = ("BRG-15", "BRG-16")
_CLOCK = ("LOG-30", "SMB-02")
_DEATH = ("LOG-10", "LOG-20", "COM-21", "CHR-22")

_NEWNS, _NEWTIME, _NEWUSER, _NEWNET = 0x00020000, 0x00000080, 0x10000000, 0x40000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_EXT4_SHUTDOWN, _FREEZE, _THAW = 0x8004587D, 0xC0045877, 0xC0045878
_SYSCALLS = {  # futex, getppid, seccomp, userfaultfd
    "x86_64": (202, 110, 317, 323),
    "aarch64": (98, 173, 277, 282),
}
_ROOT_REMEDY = "Run as root, or in a privileged container."


class UnableError(Exception):
    """This machine cannot; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    name: str
    attempt: Callable[[Path], str]  # gets an empty directory of its own
    affects: tuple[str, ...]
    remedy: str
    deadline_s: float = 10.0


# ---- tools of the probes; all of them run in the probe's own process ----


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        raise UnableError(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _numbers() -> tuple[int, int, int, int]:
    try:
        return _SYSCALLS[platform.machine()]
    except KeyError:
        raise UnableError(f"system call numbers of {platform.machine()} are not known here") from None


def _tool(name: str) -> str:
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if path is None:
        raise UnableError(f"{name} is not installed")
    return path


def _run(*argv: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise UnableError(f"{Path(argv[0]).name}: {said[-1] if said else f'exit {done.returncode}'}")
    return done.stdout.strip()


def _unshare(flags: int, what: str) -> None:
    _checked(_libc().unshare(flags), what)


def _private_mounts() -> None:
    _unshare(_NEWNS, "mount namespace")
    _checked(_libc().mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "private mounts")


def _forked(body: Callable[[], int]) -> int:
    """Run body in a forked child (this process has one thread); its pid. Body's return is the exit code."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            _libc().prctl(1, signal.SIGKILL, 0, 0, 0)  # dies with the probe
            code = body()
        finally:
            os._exit(code)
    return pid


def _ended(pid: int, within_s: float) -> int | None:
    """The exit code (negative: signal), or None where it still runs then."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def _loop_ext4(work: Path) -> Path:
    """A fresh ext4 in a file, mounted where only this process and its children see it."""
    _private_mounts()
    image, point = work / "image", work / "mount"
    point.mkdir()
    with image.open("wb") as file:
        file.truncate(16 << 20)
    _run(_tool("mkfs.ext4"), "-q", "-F", "-b", "4096", str(image))
    _run(_tool("mount"), "-o", "loop", str(image), str(point))
    return point


# ---- the probes ----


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
    _run(compiler, "-std=c11", str(work / "a.c"), "-o", str(work / "a"))
    _run(str(work / "a"))
    return _run(compiler, "--version").splitlines()[0]


def _network_namespace(_: Path) -> str:
    how = "as root"
    try:
        _unshare(_NEWNET, "network namespace")
    except UnableError:
        _unshare(_NEWUSER | _NEWNET, "network namespace")
        how = "inside a user namespace"
    names = [name for _, name in socket.if_nameindex()]
    if "eth0" in names:
        raise UnableError(f"still sees {names}")
    return f"{how}, sees {', '.join(names) or 'no link'}"


def _veth(_: Path) -> str:
    ip = _tool("ip")
    _unshare(_NEWNET, "network namespace")
    _run(ip, "link", "add", "fa0", "type", "veth", "peer", "name", "fa1")
    return "a veth pair was made in a network namespace"


def _netem(_: Path) -> str:
    tc, ip = _tool("tc"), _tool("ip")
    _unshare(_NEWNET, "network namespace")
    _run(ip, "link", "set", "lo", "up")
    _run(tc, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
    return "netem was set on a private loopback"


def _mount_namespace(_: Path) -> str:
    before = os.readlink("/proc/self/ns/mnt")
    _private_mounts()
    if os.readlink("/proc/self/ns/mnt") == before:
        raise UnableError("the namespace did not change")
    return "private mounts"


def _loop(work: Path) -> str:
    point = _loop_ext4(work)
    with (point / "a").open("wb") as file:
        file.write(b"x" * 4096)
        os.fsync(file.fileno())
    _run(_tool("umount"), str(point))
    return "made, mounted, written, synced"


def _ext4_shutdown(work: Path) -> str:
    point = _loop_ext4(work)
    for name, synced in (("kept", True), ("lost", False)):
        with (point / name).open("wb") as file:
            file.write(b"x" * 4096)
            file.flush()
            if synced:
                os.fsync(file.fileno())
                directory = os.open(point, os.O_RDONLY)
                os.fsync(directory)
                os.close(directory)
    directory = os.open(point, os.O_RDONLY)
    try:
        fcntl.ioctl(directory, _EXT4_SHUTDOWN, struct.pack("I", 2))
    finally:
        os.close(directory)
    _run(_tool("umount"), str(point))
    _run(_tool("mount"), "-o", "loop", str(work / "image"), str(point))
    kept = (point / "kept").read_bytes() if (point / "kept").exists() else b""
    lost = (point / "lost").read_bytes() if (point / "lost").exists() else b""
    _run(_tool("umount"), str(point))
    if kept != b"x" * 4096:
        raise UnableError("what was synced did not come back")
    if lost:
        raise UnableError("what was not synced came back: nothing was lost")
    return "what was synced came back, what was not is gone"


def _fsfreeze(work: Path) -> str:
    point = _loop_ext4(work)
    (point / "a").write_bytes(b"a")
    directory = os.open(point, os.O_RDONLY)
    fcntl.ioctl(directory, _FREEZE, 0)
    try:
        writer = _forked(lambda: int((point / "a").write_bytes(b"b") != 1))
        early = _ended(writer, 0.05)
    finally:
        fcntl.ioctl(directory, _THAW, 0)
        os.close(directory)
    if early is not None:
        raise UnableError("a write went through while frozen")
    if _ended(writer, 5.0) != 0:
        raise UnableError("the write did not end after the thaw")
    _run(_tool("umount"), str(point))
    return "a write waited while frozen and ended after the thaw"


def _tmpfs(work: Path) -> str:
    _private_mounts()
    _checked(_libc().mount(b"none", os.fsencode(work), b"tmpfs", 0, b"size=1m"), "tmpfs")
    try:
        (work / "a").write_bytes(bytes(2 << 20))
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return "1 MiB was full after 1 MiB"
        raise
    raise UnableError("2 MiB fit into 1 MiB")


def _fuse(work: Path) -> str:
    fd = os.open("/dev/fuse", os.O_RDWR)
    _private_mounts()
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
    _checked(_libc().mount(b"fireassay", os.fsencode(work), b"fuse", 0, options), "mount of fuse")
    _libc().umount2(os.fsencode(work), 2)
    os.close(fd)
    return "/dev/fuse opened and mounted"


def _preload(work: Path) -> str:
    (work / "p.c").write_text("int getppid(void) { return 4242; }\n")
    _run(_compiler_path(), "-shared", "-fPIC", str(work / "p.c"), "-o", str(work / "p.so"))
    said = _run(sys.executable, "-I", "-S", "-c", "import os; print(os.getppid())", environment={"LD_PRELOAD": str(work / "p.so")})
    if said != "4242":
        raise UnableError("the interposed function was not called")
    return "a function was interposed"


def _strace(work: Path) -> str:
    code = "import os,sys; fd=os.open(sys.argv[1],os.O_CREAT|os.O_RDWR)\ntry: os.fdatasync(fd)\nexcept OSError as e: print(e.errno)"
    rule = ("-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=1")
    said = _run(_tool("strace"), "-qq", "-o", os.devnull, *rule, sys.executable, "-I", "-S", "-c", code, str(work / "a"))
    if said != str(errno.EIO):
        raise UnableError("the injected error did not arrive")
    return "EIO was injected into fdatasync"


def _seccomp(_: Path) -> str:
    """A filter that hands getppid to a listener; the listener answers 4242."""
    _, getppid, seccomp, _ = _numbers()
    libc = _libc()
    code = b"".join(
        struct.pack("HBBI", *line) for line in ((0x20, 0, 0, 0), (0x15, 0, 1, getppid), (0x06, 0, 0, 0x7FC00000), (0x06, 0, 0, 0x7FFF0000))
    )  # load the number; getppid: notify; else: allow
    buffer = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer)))
    _checked(libc.prctl(38, 1, 0, 0, 0), "no_new_privs")
    listener = _checked(libc.syscall(seccomp, 1, 8, program), "seccomp listener")
    caller = _forked(lambda: int(libc.syscall(getppid) != 4242))
    if not select.select([listener], [], [], 3.0)[0]:
        os.kill(caller, signal.SIGKILL)
        raise UnableError("no notification came")
    notice = bytearray(80)
    fcntl.ioctl(listener, 0xC0502100, notice)
    fcntl.ioctl(listener, 0xC0182101, bytearray(notice[:8] + struct.pack("qiI", 4242, 0, 0)))
    if _ended(caller, 3.0) != 0:
        raise UnableError("the answer did not arrive")
    return "a system call was answered by a listener"


def _userfaultfd(_: Path) -> str:
    *_, number = _numbers()
    libc = _libc()
    fd = libc.syscall(number, os.O_CLOEXEC)
    mode = "kernel and user faults"
    if fd < 0:
        fd = _checked(libc.syscall(number, os.O_CLOEXEC | 1), "userfaultfd")
        mode = "user faults only"
    api = bytearray(struct.pack("QQQ", 0xAA, 0, 0))
    fcntl.ioctl(fd, 0xC018AA3F, api)
    features = struct.unpack("QQQ", api)[1]
    os.close(fd)
    return f"{mode}, {'with' if features >> 15 & 1 else 'without'} asynchronous write protection"


def _rlimit(work: Path) -> str:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
    fd = os.open(work / "a", os.O_CREAT | os.O_WRONLY)
    wrote = os.write(fd, bytes(12000))
    try:
        os.write(fd, b"x")
    except OSError as error:
        if wrote == 8192 and error.errno == errno.EFBIG:
            return "a short write, then EFBIG"
        raise
    raise UnableError(f"wrote {wrote} and more past a limit of 8192")


def _time_namespace(_: Path) -> str:
    _unshare(_NEWTIME, "time namespace")
    Path("/proc/self/timens_offsets").write_text("monotonic 100000 0\n")
    outside = time.monotonic()
    if _ended(_forked(lambda: int(time.monotonic() - outside < 99_000)), 3.0) != 0:
        raise UnableError("the child's clock did not move")
    return "the monotonic clock of a child was moved by 100000 s (the real-time clock cannot be)"


def _device_mapper(_: Path) -> str:
    if "device-mapper" not in Path("/proc/misc").read_text():
        raise UnableError("the kernel has no device-mapper")
    request = bytearray(struct.pack("IIII", 4, 0, 0, 312).ljust(312, b"\0"))
    fd = os.open("/dev/mapper/control", os.O_RDWR)
    fcntl.ioctl(fd, 0xC138FD00, request)
    os.close(fd)
    return "version {}.{}.{}".format(*struct.unpack("III", request[:12]))


def _futex(_: Path) -> str:
    number, *_ = _numbers()
    libc = _libc()
    shared = mmap.mmap(-1, 4096)
    word = ctypes.c_uint32.from_buffer(shared)
    until = time.monotonic() + 3.0
    sleeper = _forked(lambda: int(libc.syscall(number, ctypes.byref(word), 0, 0, None, None, 0) != 0))
    while libc.syscall(number, ctypes.byref(word), 1, 1, None, None, 0) != 1:
        if time.monotonic() > until:
            os.kill(sleeper, signal.SIGKILL)
            raise UnableError("the sleeper was not woken")
        time.sleep(0.002)
    if _ended(sleeper, 3.0) != 0:
        raise UnableError("the sleeper did not end")
    return "a process was woken by another"


def _direct(work: Path) -> str:
    fd = os.open(work / "a", os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
    wrote = os.write(fd, memoryview(mmap.mmap(-1, 4096)))
    os.close(fd)
    if wrote != 4096:
        raise UnableError(f"wrote {wrote} of 4096")
    return f"4 KiB written past the page cache in {work.parent}"


def _kill(_: Path) -> str:
    victim = _forked(lambda: signal.pause() or 0)
    os.kill(victim, signal.SIGSTOP)
    os.kill(victim, signal.SIGKILL)
    if _ended(victim, 3.0) != -signal.SIGKILL:
        raise UnableError("the process did not die of the signal")
    return "a process was stopped and killed"


# ---- control groups: the only thing that outlives its process, so the parent sweeps after it ----


def _cgroup_mounts() -> dict[str, Path]:
    """Controller, or 'v2', to where it is mounted."""
    mounts: dict[str, Path] = {}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, options, *_ = line.split()
        if kind == "cgroup2":
            mounts.setdefault("v2", Path(point))
        elif kind == "cgroup":
            mounts.update({option: Path(point) for option in options.split(",") if (Path(point) / "cgroup.procs").exists()})
    return mounts


def _group_of(point: Path, work: Path) -> Path:
    return point / f"fireassay-{work.name}"


def _cgroup(work: Path) -> str:
    known = ("blkio", "cpu", "cpuset", "freezer", "memory", "pids")
    made, mounts = [], _cgroup_mounts()
    for name in known:
        if name in mounts:
            group = _group_of(mounts[name], work)
            try:
                group.mkdir(exist_ok=True)
                group.rmdir()
            except OSError:
                continue
            made.append(name)
    if "v2" in mounts:
        group = _group_of(mounts["v2"], work)
        group.mkdir(exist_ok=True)
        made += [f"v2:{name}" for name in (group / "cgroup.controllers").read_text().split()]
        group.rmdir()
    if not made:
        raise UnableError(f"no controller lets a group be made (mounted: {', '.join(sorted(mounts)) or 'none'})")
    return f"groups can be made under {', '.join(made)}"


def _wait_for(path: Path, text: str, within_s: float = 3.0) -> bool:
    until = time.monotonic() + within_s
    while text not in path.read_text():
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True


def _freezer(work: Path) -> str:
    mounts = _cgroup_mounts()
    if "freezer" in mounts:
        group, switch, on, off = _group_of(mounts["freezer"], work), "freezer.state", "FROZEN", "THAWED"
        seen, said = "freezer.state", "FROZEN"
    elif "v2" in mounts:
        group, switch, on, off = _group_of(mounts["v2"], work), "cgroup.freeze", "1", "0"
        seen, said = "cgroup.events", "frozen 1"
    else:
        raise UnableError("no cgroup file system is mounted")
    group.mkdir()
    victim = _forked(lambda: signal.pause() or 0)
    try:
        (group / "cgroup.procs").write_text(str(victim))
        (group / switch).write_text(on)
        frozen = _wait_for(group / seen, said)
    finally:
        (group / switch).write_text(off)
        os.kill(victim, signal.SIGKILL)
        _ended(victim, 3.0)
        group.rmdir()
    if not frozen:
        raise UnableError("the group did not freeze")
    return f"a process was frozen and thawed ({'v1' if switch == 'freezer.state' else 'v2'})"


def _sweep(work: Path) -> None:
    """Thaw, empty and remove the groups of a probe that was killed; nothing to do after one that ended."""
    for point in set(_cgroup_mounts().values()):
        group = _group_of(point, work)
        if not group.is_dir():
            continue
        for switch, off in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
            if (group / switch).exists():
                (group / switch).write_text(off)
        until = time.monotonic() + 2.0
        while group.is_dir() and time.monotonic() < until:
            try:
                for pid in (group / "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
                group.rmdir()
            except OSError:
                time.sleep(0.01)


_INSTALL = "Install {} and try again."
PROBES: tuple[Probe, ...] = (
    Probe(name="root", attempt=_root, affects=(*_POWER, *_FULL, *_NETWORK), remedy=_ROOT_REMEDY),
    Probe(name="compiler", attempt=_compiler, affects=_POWER, remedy=_INSTALL.format("gcc or clang")),
    Probe(name="kill", attempt=_kill, affects=_DEATH, remedy="Allow processes to signal their children: look at the seccomp profile."),
    Probe(name="network-namespace", attempt=_network_namespace, affects=_NETWORK, remedy=_ROOT_REMEDY),
    Probe(name="veth", attempt=_veth, affects=("BRG-16",), remedy="Run as root with iproute2 and a kernel with veth."),
    Probe(name="netem", attempt=_netem, affects=(), remedy="None needed: loss, delay and reordering are made by a proxy of our own."),
    Probe(name="mount-namespace", attempt=_mount_namespace, affects=(*_POWER, *_FULL), remedy=_ROOT_REMEDY),
    Probe(name="loop-ext4", attempt=_loop, affects=(*_POWER, *_FULL), remedy="Run as root with e2fsprogs and /dev/loop-control."),
    Probe(name="ext4-shutdown", attempt=_ext4_shutdown, affects=_POWER, remedy="Run as root on a kernel with ext4 and loop devices."),
    Probe(name="fsfreeze", attempt=_fsfreeze, affects=("LOG-23",), remedy="Run as root on a kernel with ext4 and loop devices."),
    Probe(name="tmpfs-limited", attempt=_tmpfs, affects=_FULL, remedy=_ROOT_REMEDY),
    Probe(name="fuse", attempt=_fuse, affects=("LOG-12", "LOG-26"), remedy="Run as root and give the container /dev/fuse."),
    Probe(name="preload", attempt=_preload, affects=("LOG-26", *_CLOCK), remedy=_INSTALL.format("gcc or clang")),
    Probe(name="strace-inject", attempt=_strace, affects=("LOG-26",), remedy="Install strace (4.22 or later) and allow ptrace."),
    Probe(
        name="seccomp-notify", attempt=_seccomp, affects=("LOG-26",), remedy="Use Linux 5.0 or later and a container that allows seccomp."
    ),
    Probe(name="userfaultfd", attempt=_userfaultfd, affects=("LOG-12",), remedy="Run as root, or set vm.unprivileged_userfaultfd to 1."),
    Probe(name="cgroup", attempt=_cgroup, affects=("LOG-23",), remedy="Run as root with a writable cgroup file system."),
    Probe(name="freezer", attempt=_freezer, affects=("LOG-21",), remedy="Run as root with a writable cgroup file system."),
    Probe(name="rlimit-fsize", attempt=_rlimit, affects=("LOG-26",), remedy="Raise the hard limit of the file size above 8192 bytes."),
    Probe(name="time-namespace", attempt=_time_namespace, affects=_CLOCK, remedy="Run as root on Linux 5.6 or later."),
    Probe(name="device-mapper", attempt=_device_mapper, affects=(), remedy="None needed: the ext4 shutdown serves for power loss."),
    Probe(name="shared-futex", attempt=_futex, affects=("LOG-09",), remedy="Allow futex between processes: look at the seccomp profile."),
    Probe(
        name="o-direct",
        attempt=_direct,
        affects=("LOG-12",),
        remedy="Set TMPDIR to a file system that takes O_DIRECT, such as ext4 or xfs.",
    ),
)


def inside(name: str, work: str) -> None:
    """The probe's own process: one attempt, one JSON line."""
    try:
        answer = {"available": True, "detail": next(one for one in PROBES if one.name == name).attempt(Path(work))}
    except Exception as why:  # any failure means 'not here'; the text goes to the user
        answer = {"available": False, "detail": str(why) or type(why).__name__}
    print(json.dumps(answer), flush=True)
    os.killpg(0, signal.SIGKILL)  # helpers that still run go too: the parent made this process a session of its own


def _attempt(one: Probe, work: Path) -> tuple[bool, str]:
    code = "import sys; from fireassay.chaos.capabilities import inside; inside(*sys.argv[1:])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path), "LC_ALL": "C"}
    child = subprocess.Popen(
        [sys.executable, "-c", code, one.name, str(work)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        said, cried = child.communicate(timeout=one.deadline_s)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # not reaped yet, so the number is still its own
        child.communicate()
        return False, f"no answer within {one.deadline_s:g} s"
    try:
        answer = json.loads(said.strip().splitlines()[-1])
        return bool(answer["available"]), str(answer["detail"])
    except (ValueError, IndexError, KeyError):
        return False, f"the probe died ({child.returncode}) {cried.strip()[-200:]}".strip()


def try_one(one: Probe, directory: Path | None = None) -> Capability:
    work = Path(tempfile.mkdtemp(prefix="fireassay-probe-", dir=directory))
    try:
        available, detail = _attempt(one, work)
    finally:
        _sweep(work)
        shutil.rmtree(work, ignore_errors=True)
    return Capability(name=one.name, available=available, detail=detail, affects=one.affects, remedy="" if available else one.remedy)


def probe(directory: Path | None = None) -> tuple[Capability, ...]:
    """Try them all, four at a time. `directory` is where files are tried; None: the temporary directory."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        return tuple(pool.map(lambda one: try_one(one, directory), PROBES))
