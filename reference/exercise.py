"""Small workloads over the core that together reach every failpoint; run as a child process by tests and explorations.

    python -m fireassay.reference.exercise WORKLOAD DIRECTORY [REPEATS]

Variant, control file and mutant come from the environment (see core). Prints one line of JSON: the status, and what the
error said. A new system adds its workload to WORKLOADS; a test demands that no failpoint stays unreached.
"""

import json
import mmap
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fireassay.reference import core

__all__ = ["CONTENT_LONG", "CONTENT_NEW", "CONTENT_OLD", "SHORT_LIMIT", "WORD_AFTER", "WORD_BEFORE", "WORKLOADS", "main"]

CONTENT_OLD = b"old" * 100
CONTENT_NEW = b"new" * 200
CONTENT_LONG = b"".join(b"%07d\n" % i for i in range(1024))
SHORT_LIMIT = 4096
# What the word in the file holds when each store is about to be made, and after the last.
WORD_BEFORE = {
    "probe_store_release": 1,
    "probe_store_relaxed": 2,
    "probe_exchange": 3,
    "probe_cas": 4,
    "probe_fetch_add": 5,
    "probe_copy": 7,
}
WORD_AFTER = 9


def _stores(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    """In a file, so that what was stored can be read after a kill."""
    fd = os.open("word", os.O_RDWR | os.O_CREAT, 0o644, dir_fd=directory)
    try:
        os.pwrite(fd, WORD_BEFORE["probe_store_release"].to_bytes(8, sys.byteorder), 0)
        with mmap.mmap(fd, 8) as shared, ffi.from_buffer("uint64_t[]", shared, require_writable=True) as word:
            lib.fa_probe_store_release(word, WORD_BEFORE["probe_store_relaxed"])
            lib.fa_probe_store_relaxed(word, WORD_BEFORE["probe_exchange"])
            lib.fa_probe_exchange(word, WORD_BEFORE["probe_cas"])
            lib.fa_probe_cas(word, WORD_BEFORE["probe_cas"], WORD_BEFORE["probe_fetch_add"])
            lib.fa_probe_fetch_add(word, WORD_BEFORE["probe_copy"] - WORD_BEFORE["probe_fetch_add"])
            lib.fa_probe_copy(word, ffi.new("uint64_t *", WORD_AFTER), 8)
            return 0 if word[0] == WORD_AFTER else -1
    finally:
        os.close(fd)


def _persist(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    return int(lib.fa_probe_persist(directory, err))


def _replace(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    return int(lib.fa_replace(directory, b"file", CONTENT_NEW, len(CONTENT_NEW), 1, err))


def _replace_refused(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    """The name is a directory, so the rename fails and the temporary file is removed."""
    return int(lib.fa_replace(directory, b"taken", CONTENT_NEW, len(CONTENT_NEW), 1, err))


def _short_write(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    """The file-size limit cuts the write in two: 4096 bytes go through, the rest is refused."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SHORT_LIMIT, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    fd = os.open("short", os.O_RDWR | os.O_CREAT, 0o644, dir_fd=directory)
    try:
        return int(lib.fa_probe_pwrite(fd, CONTENT_LONG, len(CONTENT_LONG), err))
    finally:
        os.close(fd)


def _short_read(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    """The file has half of what is read, unless it grows between the first read and the second."""
    with open("half", "wb", opener=lambda name, flags: os.open(name, flags, 0o644, dir_fd=directory)) as file:
        file.write(CONTENT_LONG[:SHORT_LIMIT])
    fd = os.open("half", os.O_RDONLY, dir_fd=directory)
    try:
        buffer = ffi.new("char[]", len(CONTENT_LONG))
        status = int(lib.fa_probe_pread(fd, buffer, len(CONTENT_LONG), err))
        return -1 if status == 0 and ffi.buffer(buffer)[:] != CONTENT_LONG else status
    finally:
        os.close(fd)


WORKLOADS: dict[str, Callable[[Any, Any, int, Any], int]] = {
    "stores": _stores,
    "persist": _persist,
    "replace": _replace,
    "replace-refused": _replace_refused,
    "short-write": _short_write,
    "short-read": _short_read,
}


def main(arguments: list[str]) -> int:
    workload, where = arguments[0], Path(arguments[1])
    repeats = int(arguments[2]) if len(arguments) > 2 else 1
    if workload == "replace-refused":
        (where / "taken").mkdir(exist_ok=True)
    ffi, lib = core.load()
    err = ffi.new("fa_error *")
    directory = os.open(where, os.O_RDONLY | os.O_DIRECTORY)
    status = 0
    for _ in range(repeats):
        status = WORKLOADS[workload](ffi, lib, directory, err)
        if status != 0:
            break
    said = {"where": ffi.string(err.where).decode(), "message": ffi.string(err.message).decode()} if status else {}
    print(json.dumps({"status": status, **said}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
