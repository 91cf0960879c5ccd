"""Persistence calls with what the kernel really does to them, and their sole way through one header."""

import errno
import fcntl
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fireassay.reference import core, native
from fireassay.spec.outcomes import ErrorClass

RAW_CALL = re.compile(
    r"(?<![\w.>])(?:open|openat|creat|read|write|readv|writev|pread|pwrite|preadv2?|pwritev2?|fsync|fdatasync|sync_file_range|syncfs"
    r"|msync|mmap|munmap|mremap|rename|renameat2?|link|linkat|symlink|symlinkat|unlink|unlinkat|mkdir|mkdirat|rmdir|ftruncate|truncate"
    r"|fallocate|posix_fallocate|copy_file_range|sendfile|flock|lockf|fopen|fwrite|fputs|fputc|fprintf|fflush)\s*\("
)
RAW_ORDER = re.compile(r"__atomic_\w+|__sync_\w+|\b_Atomic\b|stdatomic\.h|\batomic_\w+\s*\(")
# The machinery that maps the control file lies under the sites, not behind them; what two measuring processes share has no file.
MAY_CALL = {"fa_persist.h", "fa_failpoint.c", "chronicle_speed.c"}
MAY_ORDER = {"fa_atomics.h"}


def code_of(text: str) -> str:
    """Without comments and strings."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', " ", text, flags=re.DOTALL)


def strays(pattern: re.Pattern[str], allowed: set[str]) -> dict[str, list[str]]:
    sources = [path for path in sorted(native.SOURCE.rglob("*.[ch]")) if path.name not in allowed and not path.name.endswith(".cdef.h")]
    assert len(sources) > 10
    found = {path.name: [hit[0] for hit in pattern.finditer(code_of(path.read_text(encoding="utf-8")))] for path in sources}
    return {name: hits for name, hits in found.items() if hits}


def test_no_source_calls_a_persistence_system_call_past_the_header() -> None:
    assert strays(RAW_CALL, MAY_CALL) == {}
    assert {call.rstrip("( ") for call in strays(RAW_CALL, set())["fa_persist.h"]} >= {
        "openat", "write", "pwrite", "pread", "fsync", "fdatasync", "msync", "mmap", "renameat", "unlinkat", "ftruncate", "flock"
    }  # fmt: skip


def test_no_source_orders_memory_past_the_header() -> None:
    assert strays(RAW_ORDER, MAY_ORDER) == {}
    assert "fa_atomics.h" in strays(RAW_ORDER, set())


@pytest.mark.parametrize("line", ["  fsync(fd);", "x = pwrite (fd, b, n, 0);", "(void)rename(a, b);", "return !open(path, 0);"])
def test_a_call_past_the_header_would_be_seen(line: str) -> None:
    assert RAW_CALL.search(code_of(line))


@pytest.mark.parametrize(
    "line", ["fa_persist_fsync(site, fd, err);", "/* fsync(fd) */", 'say("fsync(fd)");', "port->write(x);", "reopen(x);"]
)
def test_what_is_no_such_call_is_not(line: str) -> None:
    assert not RAW_CALL.search(code_of(line))


@pytest.fixture(params=["release", "failpoints"])
def lib(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    ffi, loaded = core.load(request.param)
    return ffi, loaded, ffi.new("fa_error *")


def test_a_file_that_ends_early_is_corrupt_and_says_where(lib: tuple[Any, Any, Any], tmp_path: Path) -> None:
    ffi, loaded, err = lib
    (tmp_path / "short").write_bytes(b"0123456789")
    fd = os.open(tmp_path / "short", os.O_RDONLY)
    try:
        buffer = ffi.new("char[64]")
        assert loaded.fa_probe_pread(fd, buffer, 10, err) == 0
        assert ffi.buffer(buffer, 10)[:] == b"0123456789"
        with pytest.raises(core.CoreError, match=r"the file ends at 10, 54 bytes early \[CORRUPT at probe_pread\]"):
            core.check(ffi, err, loaded.fa_probe_pread(fd, buffer, 64, err))
    finally:
        os.close(fd)


def test_a_write_goes_on_where_the_descriptor_stands(lib: tuple[Any, Any, Any], tmp_path: Path) -> None:
    _, loaded, err = lib
    fd = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        assert loaded.fa_probe_write(fd, b"first ", 6, err) == 0
        assert loaded.fa_probe_write(fd, b"", 0, err) == 0
        assert loaded.fa_probe_write(fd, b"second", 6, err) == 0
    finally:
        os.close(fd)
    assert (tmp_path / "log").read_bytes() == b"first second"


@pytest.mark.parametrize("call", ["fa_probe_write", "fa_probe_pwrite"])
def test_a_full_device_is_full(lib: tuple[Any, Any, Any], call: str) -> None:
    ffi, loaded, err = lib
    fd = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(core.CoreError, match="No space left on device") as caught:
            core.check(ffi, err, getattr(loaded, call)(fd, b"x" * 100, 100, err))
    finally:
        os.close(fd)
    assert (caught.value.error_class, caught.value.errno) == (ErrorClass.FULL, errno.ENOSPC)
    assert caught.value.where == call.removeprefix("fa_")


@pytest.mark.parametrize("variant", ["release", "failpoints"])
def test_a_lock_held_elsewhere_is_locked_and_not_waited_for(tmp_path: Path, variant: str) -> None:
    def probe() -> dict[str, object]:
        command = [sys.executable, "-m", "fireassay.reference.exercise", "persist", str(tmp_path)]
        done = subprocess.run(command, env={**os.environ, "FIREASSAY_CORE": variant}, capture_output=True, text=True, timeout=60)
        said: dict[str, object] = json.loads(done.stdout)
        return said

    with (tmp_path / "fa_probe.tmp").open("wb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        refused = probe()
        assert refused["where"] == "probe_flock"
        assert refused["status"] == -(ErrorClass.LOCKED << 16 | errno.EWOULDBLOCK)
        fcntl.flock(holder, fcntl.LOCK_UN)
        assert probe() == {"status": 0}
