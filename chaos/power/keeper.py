"""The process that keeps a disk: an ext4 in a file, mounted where only this process sees it, and whoever enters its mount namespace.

    python -m fireassay.chaos.power.keeper WORK BYTES

| asked on standard input | done |
|---|---|
| (nothing) | the disk is made, with WORK/mount/place on it, durable |
| mark | something is written that is not synced |
| cut | what is written from now on, and what was not durable, is lost: the file system is shut down without its journal |
| restore | it is mounted again, and its journal replayed |

One line of JSON answers each: {"ok": …, "said": …}. Two marks tell whether the fault really came: `kept` was synced and must be there,
`lost` is overwritten by `mark` and not synced, and must have its old content. At the end of standard input whoever asked is dead or
done: whoever is left in the namespace is killed, the disk goes, and this process with it. Where this process is killed, the mount
goes with the last process that sees it, and its loop device with the mount.
"""

import ctypes
import errno
import fcntl
import json
import os
import shutil
import signal
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fireassay.chaos.capabilities.model import UnableError
from fireassay.chaos.capabilities.tools import checked, libc, private_mounts, run, tool

__all__ = ["MOUNT", "PLACE", "main"]

MOUNT, PLACE, IMAGE = "mount", "place", "image"
_SHUTDOWN, _NO_JOURNAL = 0x8004587D, 2
_DETACH = 2
_BUSY_S = 5.0
_OLD, _NEW = b"old" * 1000, b"new" * 1000


class _Keeper:
    def __init__(self, work: Path, size: int) -> None:
        self._image, self._point = work / IMAGE, work / MOUNT
        outside = _namespace("self")
        private_mounts()
        if _namespace("self") == outside:
            raise UnableError("the mount namespace did not change")
        with self._image.open("wb") as file:
            file.truncate(size)
        run(tool("mkfs.ext4"), "-q", "-F", "-b", "4096", "-J", "size=4", str(self._image))
        self._point.mkdir(exist_ok=True)
        self._mount()
        for name in ("kept", "lost"):
            (self._point / name).write_bytes(_OLD)
        (self._point / PLACE).mkdir()
        self._on_root(lambda root: checked(libc().syncfs(root), "sync of the new disk"))

    def mark(self) -> str:
        with (self._point / "lost").open("r+b") as file:
            file.write(_NEW)
        return ""

    def cut(self) -> str:
        self._on_root(lambda root: fcntl.ioctl(root, _SHUTDOWN, struct.pack("I", _NO_JOURNAL)))
        return ""

    def restore(self) -> str:
        """Says why it was no power loss, if it was none."""
        self._unmount()
        self._mount()
        if (self._point / "kept").read_bytes() != _OLD:
            raise UnableError("the disk lost what was synced: it cannot be used to judge anybody")
        return "" if (self._point / "lost").read_bytes() == _OLD else "what was not synced came back: nothing was lost"

    def _on_root(self, do: Callable[[int], object]) -> None:
        root = os.open(self._point, os.O_RDONLY | os.O_DIRECTORY)
        try:
            do(root)
        finally:
            os.close(root)

    def _mount(self) -> None:
        run(tool("mount"), "-o", "loop", str(self._image), str(self._point))

    def _unmount(self) -> None:
        """Processes that were killed may take a moment to let go."""
        until = time.monotonic() + _BUSY_S
        while libc().umount2(os.fsencode(self._point), 0) != 0:
            number = ctypes.get_errno()
            if number != errno.EBUSY or time.monotonic() > until:
                raise UnableError(f"the disk cannot be unmounted: {os.strerror(number)}; does a process of the target live on?")
            time.sleep(0.002)

    def leave(self) -> None:
        """Nobody goes on without a disk: who is still here would write where it was."""
        until = time.monotonic() + _BUSY_S
        while (others := _neighbours()) and time.monotonic() < until:
            for pid in others:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.002)
        libc().umount2(os.fsencode(self._point), _DETACH)


def _neighbours() -> list[int]:
    """Living processes that see what this one sees mounted; nobody does who did not enter on purpose."""
    here, found = _namespace("self"), []
    for entry in os.listdir("/proc"):
        with suppress(OSError):
            if entry.isdigit() and int(entry) != os.getpid() and _namespace(entry) == here:
                found.append(int(entry))
    return found


def _namespace(pid: str) -> str:
    return os.readlink(f"/proc/{pid}/ns/mnt")


def _answer(ok: bool, said: str) -> None:
    with suppress(BrokenPipeError):
        sys.stdout.write(json.dumps({"ok": ok, "said": said}) + "\n")
        sys.stdout.flush()


def main(arguments: list[str]) -> int:
    work, size = Path(arguments[0]), int(arguments[1])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the end of standard input ends this, and nothing politer
    keeper: _Keeper | None = None
    try:
        keeper = _Keeper(work, size)
        _answer(True, "")
        for line in sys.stdin:
            _answer(True, {"mark": keeper.mark, "cut": keeper.cut, "restore": keeper.restore}[line.strip()]())
    except (UnableError, OSError) as error:
        _answer(False, str(error))
        sys.stdin.read()
    finally:
        if keeper is not None:
            keeper.leave()
        shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
