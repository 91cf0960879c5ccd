"""Faults made to disks: power loss, full disks, failing and stalling file systems."""

import errno
import fcntl
import mmap
import os
import resource
import signal
import struct
from pathlib import Path

from fireassay.chaos.capabilities.freeze import loop_ext4, stalls_writes
from fireassay.chaos.capabilities.model import FULL, POWER, ROOT_REMEDY, Probe, UnableError
from fireassay.chaos.capabilities.tools import checked, libc, private_mounts, run, tool

__all__ = ["PROBES"]

_EXT4_SHUTDOWN = 0x8004587D


def _mount_namespace(_: Path) -> str:
    before = os.readlink("/proc/self/ns/mnt")
    private_mounts()
    if os.readlink("/proc/self/ns/mnt") == before:
        raise UnableError("the namespace did not change")
    return "private mounts"


def _loop(work: Path) -> str:
    point = loop_ext4(work)
    with (point / "a").open("wb") as file:
        file.write(b"x" * 4096)
        os.fsync(file.fileno())
    run(tool("umount"), str(point))
    return "made, mounted, written, synced"


def _ext4_shutdown(work: Path) -> str:
    point = loop_ext4(work)
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
    run(tool("umount"), str(point))
    run(tool("mount"), "-o", "loop", str(work / "image"), str(point))
    kept = (point / "kept").read_bytes() if (point / "kept").exists() else b""
    lost = (point / "lost").read_bytes() if (point / "lost").exists() else b""
    run(tool("umount"), str(point))
    if kept != b"x" * 4096:
        raise UnableError("what was synced did not come back")
    if lost:
        raise UnableError("what was not synced came back: nothing was lost")
    return "what was synced came back, what was not is gone"


def _tmpfs(work: Path) -> str:
    private_mounts()
    checked(libc().mount(b"none", os.fsencode(work), b"tmpfs", 0, b"size=1m"), "tmpfs")
    try:
        (work / "a").write_bytes(bytes(2 << 20))
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return "1 MiB was full after 1 MiB"
        raise
    raise UnableError("2 MiB fit into 1 MiB")


def _fuse(work: Path) -> str:
    fd = os.open("/dev/fuse", os.O_RDWR)
    private_mounts()
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
    checked(libc().mount(b"fireassay", os.fsencode(work), b"fuse", 0, options), "mount of fuse")
    libc().umount2(os.fsencode(work), 2)
    os.close(fd)
    return "/dev/fuse opened and mounted"


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


def _direct(work: Path) -> str:
    fd = os.open(work / "a", os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
    wrote = os.write(fd, memoryview(mmap.mmap(-1, 4096)))
    os.close(fd)
    if wrote != 4096:
        raise UnableError(f"wrote {wrote} of 4096")
    return f"4 KiB written past the page cache in {work.parent}"


def _device_mapper(_: Path) -> str:
    if "device-mapper" not in Path("/proc/misc").read_text():
        raise UnableError("the kernel has no device-mapper")
    request = bytearray(struct.pack("IIII", 4, 0, 0, 312).ljust(312, b"\0"))
    fd = os.open("/dev/mapper/control", os.O_RDWR)
    fcntl.ioctl(fd, 0xC138FD00, request)
    os.close(fd)
    return "version {}.{}.{}".format(*struct.unpack("III", request[:12]))


_EXT4_REMEDY = "Run as root on a kernel with ext4 and loop devices."
PROBES = (
    Probe(name="mount-namespace", attempt=_mount_namespace, affects=(*POWER, *FULL), remedy=ROOT_REMEDY),
    Probe(name="loop-ext4", attempt=_loop, affects=(*POWER, *FULL), remedy="Run as root with e2fsprogs and /dev/loop-control."),
    Probe(name="ext4-shutdown", attempt=_ext4_shutdown, affects=POWER, remedy=_EXT4_REMEDY),
    Probe(name="fsfreeze", attempt=stalls_writes, affects=("LOG-23",), remedy=_EXT4_REMEDY),
    Probe(name="tmpfs-limited", attempt=_tmpfs, affects=FULL, remedy=ROOT_REMEDY),
    Probe(name="fuse", attempt=_fuse, affects=("LOG-12", "LOG-26"), remedy="Run as root and give the container /dev/fuse."),
    Probe(name="rlimit-fsize", attempt=_rlimit, affects=("LOG-26",), remedy="Raise the hard limit of the file size above 8192 bytes."),
    Probe(name="device-mapper", attempt=_device_mapper, affects=(), remedy="None needed: the ext4 shutdown serves for power loss."),
    Probe(
        name="o-direct",
        attempt=_direct,
        affects=("LOG-12",),
        remedy="Set TMPDIR to a file system that takes O_DIRECT, such as ext4 or xfs.",
    ),
)
