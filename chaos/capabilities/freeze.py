"""A frozen file system, and the way back from one that nobody is left to thaw.

A freeze holds its file system alive: it outlasts the process that froze it, and even the last mount. Whoever waits to write there waits
in the kernel and cannot be killed. But the loop device can be mounted once more, which gives the same frozen file system, and thawed.
"""

import fcntl
import os
from contextlib import suppress
from functools import partial
from pathlib import Path

from fireassay.chaos.capabilities.model import UnableError
from fireassay.chaos.capabilities.tools import checked, ended, forked, libc, private_mounts, run, tool

__all__ = ["attached", "freeze", "loop_ext4", "stalls_writes", "thaw", "thaw_left_behind"]

_FREEZE, _THAW = 0xC0045877, 0xC0045878
_MNT_DETACH = 2


def loop_ext4(work: Path) -> Path:
    """A fresh ext4 in a file, mounted where only this process and its children see it."""
    private_mounts()
    image, point = work / "image", work / "mount"
    point.mkdir()
    with image.open("wb") as file:
        file.truncate(16 << 20)
    run(tool("mkfs.ext4"), "-q", "-F", "-b", "4096", str(image))
    run(tool("mount"), "-o", "loop", str(image), str(point))
    return point


def freeze(directory: int) -> None:
    fcntl.ioctl(directory, _FREEZE, 0)


def thaw(directory: int) -> None:
    fcntl.ioctl(directory, _THAW, 0)


def stalls_writes(work: Path) -> str:
    point = loop_ext4(work)
    (point / "a").write_bytes(b"a")
    directory = os.open(point, os.O_RDONLY)
    freeze(directory)
    try:
        writer = forked(lambda: int((point / "a").write_bytes(b"b") != 1))
        early = ended(writer, 0.05)
    finally:
        thaw(directory)
        os.close(directory)
    if early is not None:
        raise UnableError("a write went through while frozen")
    if ended(writer, 5.0) != 0:
        raise UnableError("the write did not end after the thaw")
    run(tool("umount"), str(point))
    return "a write waited while frozen and ended after the thaw"


def attached(work: Path) -> list[Path]:
    """Loop devices whose image lies in this directory, deleted ones too."""
    found = []
    for entry in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):  # detached between the look and the reading
            if entry.read_text().startswith(f"{work}/"):
                found.append(Path("/dev") / entry.parts[3])
    return found


def thaw_left_behind(work: Path) -> None:
    """Mount once more and thaw what is attached. Only for a process with one thread; the mount is seen by a child alone."""
    for device in attached(work):
        ended(forked(partial(_thaw_by_device, device, work)), 3.0)


def _thaw_by_device(device: Path, work: Path) -> int:
    private_mounts()
    os.open(device, os.O_RDONLY)  # until this process ends: while it is open its number cannot go to another's image
    if device not in attached(work):
        return 1
    point = work / f"thaw-{os.getpid()}"
    point.mkdir()
    checked(libc().mount(os.fsencode(device), os.fsencode(point), b"ext4", 0, None), "mount once more")
    directory = os.open(point, os.O_RDONLY)
    try:
        with suppress(OSError):  # was not frozen
            thaw(directory)
    finally:
        os.close(directory)
        libc().umount2(os.fsencode(point), _MNT_DETACH)
    return 0
