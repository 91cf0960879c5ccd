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

from fireassay.reference import core, exercise_ombus

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


def _queue(directory: int) -> str:
    """A path, through the descriptor, that nobody has used: every run is alike."""
    number = sum(name.startswith("queue") for name in os.listdir(directory))
    return f"/proc/self/fd/{directory}/queue{number}"


class _Chronicle:
    """Calls of chronicle that stop at the first error and leave nothing open."""

    SEGMENT = 1024

    def __init__(self, ffi: Any, lib: Any, path: str, err: Any) -> None:
        self.ffi, self.lib, self.path, self.err = ffi, lib, path, err
        self.writer, self.reader = ffi.new("chronicle_writer *"), ffi.new("chronicle_reader *")
        self._closing: dict[str, Callable[[Any], int]] = {}
        self.status = 0

    def __enter__(self) -> "_Chronicle":
        return self

    def __exit__(self, *_: object) -> None:
        for close in self._closing.values():
            close(self.ffi.NULL)

    def do(self, call: Callable[[], int]) -> int:
        if self.status == 0:
            self.status = call()
        return self.status

    def open_writer(self) -> None:
        if self.do(lambda: self.lib.chronicle_writer_open(self.writer, os.fsencode(self.path), self.SEGMENT, self.err)) == 0:
            self._closing["writer"] = lambda err: self.lib.chronicle_writer_close(self.writer, err)

    def open_reader(self) -> None:
        if self.do(lambda: self.lib.chronicle_reader_open(self.reader, os.fsencode(self.path), b"r", 0, self.err)) == 0:
            self._closing["reader"] = lambda err: self.lib.chronicle_reader_close(self.reader, err)

    def close(self, which: str) -> None:
        if self.status == 0:
            self.status = self._closing.pop(which)(self.err)

    def append(self, count: int, length: int = 100) -> None:
        seq = self.ffi.new("uint64_t *")
        for _ in range(count):
            self.do(lambda: self.lib.chronicle_writer_append(self.writer, 1, 0, bytes(length), length, seq, self.err))

    def flush(self) -> None:
        self.do(lambda: self.lib.chronicle_flush_sync(self.writer, self.err))

    def read_all(self) -> None:
        room, count, end = self.ffi.new("chronicle_record[4]"), self.ffi.new("size_t *"), self.ffi.new("int *")
        while self.do(lambda: self.lib.chronicle_reader_read(self.reader, room, 4, count, end, self.err)) == 0 and not end[0]:
            if count[0]:
                last = room[count[0] - 1]
                self.do(lambda: self.lib.chronicle_reader_commit(self.reader, last.next_segment, last.next_offset, self.err))  # noqa: B023

    def flush_async(self) -> None:
        self.do(lambda: self.lib.chronicle_flush_async(self.writer, self.err))

    def ask_for_writer(self) -> None:
        found = self.ffi.new("chronicle_writer_status *")
        self.do(lambda: self.lib.chronicle_status_writer(self.reader, 10**12, found, self.err))

    def seek(self, number: int) -> None:
        granted = self.ffi.new("uint64_t *")
        self.do(lambda: self.lib.chronicle_seek_number(self.reader, number, granted, self.err))

    def retain(self) -> None:
        found = self.ffi.new("chronicle_retained *")
        self.do(lambda: self.lib.chronicle_writer_retain(self.writer, self.ffi.NULL, 0, found, self.err))

    def unregister(self) -> None:
        self.do(lambda: self.lib.chronicle_reader_unregister(self.reader, self.err))

    def wait(self) -> None:
        """Sleeps for a millisecond at the end of the log, then at the ends of two."""
        both = self.ffi.new("chronicle_reader *[]", [self.reader, self.reader])
        self.lib.chronicle_reader_set_wait(self.reader, 0, 0)
        self.do(lambda: self.lib.chronicle_reader_wait(self.reader, 1_000_000, self.err))
        self.do(lambda: self.lib.chronicle_reader_wait_any(both, 2, 1_000_000, self.err))

    def patch(self, name: str, offset: int, data: bytes) -> None:
        if self.status == 0:
            with open(f"{self.path}/{name}", "r+b") as file:
                file.seek(offset)
                file.write(data)


def _chronicle(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    """A queue's whole life: made, written past several segments, synced, read, taken over as deaths and a power loss would leave it."""
    with _Chronicle(ffi, lib, _queue(directory), err) as queue:
        queue.open_writer()
        queue.close("writer")
        queue.open_writer()
        queue.append(8)
        queue.flush()
        queue.append(12)
        queue.flush()
        queue.append(1)
        queue.open_reader()
        queue.read_all()
        tail = queue.writer.offset
        queue.close("writer")
        last = max((name for name in os.listdir(queue.path) if name.endswith(".q")), default="") if queue.status == 0 else ""
        queue.patch("control.meta", 128, (7).to_bytes(4, "little"))  # died inside the seqlock's update
        queue.patch(last, tail, (1 << 20).to_bytes(4, "little"))  # a commit word that leads out of the segment
        queue.open_writer()
        queue.append(12)
        queue.close("writer")
        lost = sorted(name for name in os.listdir(queue.path) if name.endswith(".q"))[-2] if queue.status == 0 else ""
        queue.patch(lost, 0, bytes(64))  # its first page never reached the disk
        queue.open_writer()
        queue.append(1)
        queue.read_all()
        queue.wait()
        queue.append(1)  # and rings
        queue.read_all()
        queue.append(5)
        queue.flush_async()
        queue.retain()
        queue.unregister()
        queue.close("writer")
        return queue.status


def _chronicle_locked(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    """A second writer of a queue whose first one lives."""
    path = _queue(directory)
    with _Chronicle(ffi, lib, path, err) as first, _Chronicle(ffi, lib, path, err) as second:
        first.open_writer()
        second.status = first.status
        second.open_writer()
        return second.status


def _chronicle_asked(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    """A reader asks who writes, and goes to the beginning."""
    with _Chronicle(ffi, lib, _queue(directory), err) as queue:
        queue.open_writer()
        queue.open_reader()
        queue.ask_for_writer()
        queue.seek(0)
        return queue.status


def _chronicle_refused(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    """The name of the next segment is a directory, so a roll fails and its temporary file is removed."""
    with _Chronicle(ffi, lib, _queue(directory), err) as queue:
        queue.open_writer()
        if queue.status == 0:
            os.makedirs(f"{queue.path}/000000001.q/full")
        queue.append(20)
        return queue.status


WORKLOADS: dict[str, Callable[[Any, Any, int, Any], int]] = {
    "stores": _stores,
    "persist": _persist,
    "replace": _replace,
    "replace-refused": _replace_refused,
    "short-write": _short_write,
    "short-read": _short_read,
    "chronicle": _chronicle,
    "chronicle-locked": _chronicle_locked,
    "chronicle-refused": _chronicle_refused,
    "chronicle-asked": _chronicle_asked,
    **exercise_ombus.WORKLOADS,
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
