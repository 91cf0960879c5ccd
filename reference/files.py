"""Files of others: opened only where they are files, read no further than they may be; small ones replaced by rename through the core."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fireassay.reference import core
from fireassay.spec.layouts import LayoutError

__all__ = ["opened", "read_small", "replace"]


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A descriptor to read a regular file by. LayoutError where a link, directory, pipe or device stands in its place."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise LayoutError("not a file", path.name, "a regular file", error.strerror) from None
        raise
    try:
        found = os.fstat(file).st_mode
        if not stat.S_ISREG(found):
            raise LayoutError("not a file", path.name, "a regular file", stat.filemode(found))
        yield file
    finally:
        os.close(file)


def read_small(path: Path, size: int) -> bytes:
    """At most one byte more than it should have, so that one too long shows."""
    with opened(path) as file:
        return os.read(file, size + 1)


def replace(path: Path, data: bytes, *, durable: bool) -> None:
    """After any kill the name holds the old bytes or the new; with `durable` after power loss too. Failpoints of the core lie on this."""
    ffi, lib = core.load()
    err = ffi.new("fa_error *")
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        core.check(ffi, err, lib.fa_replace(directory, os.fsencode(path.name), data, len(data), durable, err))
    finally:
        os.close(directory)
