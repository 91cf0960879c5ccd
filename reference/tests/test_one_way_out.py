"""Nothing goes around the failpoints: atomics and persistence calls are made in the headers that hold the sites, and nowhere else."""

import re
from pathlib import Path

import pytest

from fireassay.reference import native

CALL = re.compile(
    r"""(?<![\w.>])(
        open | openat2? | creat | fopen | p?readv? | p?writev? | fwrite | mmap | mremap | munmap | madvise | msync | fsync | fdatasync
        | sync | syncfs | sync_file_range | rename | renameat2? | f?truncate | fallocate | posix_fallocate | unlink | unlinkat | mkdir
        | mkdirat | link | linkat | symlink | symlinkat | flock | lockf | fcntl | sendfile | copy_file_range | shm_open | shm_unlink
        | syscall
    )\s*\(""",
    re.X,
)
ATOMIC = re.compile(r"\b(__atomic_\w+|__sync_\w+|atomic_\w+|_Atomic|stdatomic|FA_BARE_\w+)\b")
TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)

# Who may, and why.
ALLOWED: dict[str, tuple[str, set[str]]] = {
    "fa_atomics.h": ("holds the sites of the stores", {"atomics"}),
    "fa_persist.h": ("holds the sites of the system calls", {"calls"}),
    "fa_futex.h": ("the same for futexes", {"calls"}),
    "fa_failpoint.c": ("is the failpoints: their own stores and map cannot be sites", {"atomics", "calls"}),
    "chronicle_speed.c": ("measures: what its two processes tell each other is no part of a queue", {"atomics", "calls"}),
}


def around(name: str, source: str) -> list[str]:
    """What a file does by itself that belongs through a header."""
    code = TEXT.sub(" ", source)
    allowed = ALLOWED.get(name, ("", set()))[1]
    found = [] if "atomics" in allowed else ATOMIC.findall(code)
    return found + ([] if "calls" in allowed else CALL.findall(code))


def sources() -> list[Path]:
    return [path for path in native.SOURCE.rglob("*.[ch]") if not path.name.endswith(".cdef.h")]


def test_every_store_and_persistence_call_goes_through_a_header_with_sites() -> None:
    assert {path.name: found for path in sources() if (found := around(path.name, path.read_text(encoding="utf-8")))} == {}


def test_every_exception_is_still_needed() -> None:
    by_name = {path.name: TEXT.sub(" ", path.read_text(encoding="utf-8")) for path in sources()}
    for name, (why, kinds) in ALLOWED.items():
        assert why
        assert "atomics" not in kinds or ATOMIC.search(by_name[name])
        assert "calls" not in kinds or CALL.search(by_name[name])


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("void f(int fd) { fsync (fd); }", ["fsync"]),
        ("int f(void) { return rename(a, b); }", ["rename"]),
        ("void f(void) { __atomic_store_n(p, 1, 3); }", ["__atomic_store_n"]),
        ("_Atomic int word;", ["_Atomic"]),
        ("void f(void) { FA_BARE_STORE_RELAXED(p, 1); }", ["FA_BARE_STORE_RELAXED"]),
        ("x = (char *)mmap(0, n, 1, 1, fd, 0);", ["mmap"]),
        ('/* rename(a, b) */ const char *s = "mmap("; // fsync(fd)\n', []),
        ("fa_persist_fsync(site, fd, err); reader->read(x); chronicle_reader_read(r); my_open(x); ops.write(x);", []),
    ],
)
def test_what_goes_around_is_found_in_fabricated_sources(source: str, found: list[str]) -> None:
    assert around("chronicle_x.c", source) == found
