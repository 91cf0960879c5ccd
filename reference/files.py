"""Small files replaced by rename through the core, so that its failpoints lie on that path too."""

import os
from pathlib import Path

from fireassay.reference import core

__all__ = ["replace"]


def replace(path: Path, data: bytes, *, durable: bool) -> None:
    """After any kill the name holds the old bytes or the new; with `durable` after power loss too."""
    ffi, lib = core.load()
    err = ffi.new("fa_error *")
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        core.check(ffi, err, lib.fa_replace(directory, os.fsencode(path.name), data, len(data), durable, err))
    finally:
        os.close(directory)
