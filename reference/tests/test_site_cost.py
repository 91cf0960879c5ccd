"""What a failpoint costs: two instructions in the failpoints build, none in the release build."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fireassay.reference import core, native

COMPILERS = {"gcc": native.GCC, "clang": native.clang()}
STORES = ("store_release", "store_relaxed", "exchange", "cas", "fetch_add", "copy")
BARE = {
    "store_release": "bare_store",
    "store_relaxed": "bare_store",
    "store_seq_cst": "bare_seq_cst",
    "exchange": "bare_exchange",
    "cas": "bare_cas",
    "fetch_add": "bare_fetch_add",
    "copy": "bare_copy",
}
pytestmark = [
    pytest.mark.sanitizer,
    pytest.mark.skipif(core.load("release")[1].fa_crc32_kind() == 2, reason="reads x86-64 instructions"),
]


# x86-64 numbers of openat, flock, fallocate and so on, each made once.
CALLS = {
    "open": 257, "flock": 73, "fallocate": 285, "ftruncate": 77, "pwrite": 18, "write": 1, "pread": 17, "fdatasync": 75, "fsync": 74,
    "mmap": 9, "msync": 26, "munmap": 11, "rename": 264, "fsync_dir": 74, "unlink": 263,
}  # fmt: skip


def _executed(directory: Path, compiler: str, variant: str) -> dict[str, tuple[int, list[int]]]:
    """Operation to the instructions and the system calls that a single-stepped child executes."""
    where = directory / variant
    where.mkdir()
    source = Path(__file__).parent / "c" / "count_instructions.c"
    objects = native.compile_objects(COMPILERS[compiler], variant, where, [source, *native.core_sources()])
    done = subprocess.run([native.link(native.GCC, objects, where / "count"), where], capture_output=True, text=True, timeout=120)
    if done.returncode == 77:
        pytest.skip("ptrace is forbidden here; the listing below is still read")
    assert done.returncode == 0, done
    rows = (line.split() for line in done.stdout.splitlines())
    return {name: (int(count), [int(call) for call in calls]) for name, count, *calls in rows}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_an_operation_executes_two_instructions_more_with_failpoints_and_none_more_in_release(tmp_path: Path, compiler: str) -> None:
    executed = {variant: _executed(tmp_path, compiler, variant) for variant in ("release", "failpoints")}
    release, armed = ({name: count for name, (count, _) in rows.items()} for rows in executed.values())
    for rows in executed.values():
        assert {name: calls for name, (_, calls) in rows.items() if calls} == {name: [call] for name, call in CALLS.items()}
    more = {name: armed[name] - count for name, count in release.items()}
    assert all(count >= 2 for count in release.values())
    assert set(more) == {*BARE, *BARE.values(), *CALLS}
    assert {name: cost for name, cost in more.items() if cost > 2} == {}
    assert {name: more[name] for name in STORES} == dict.fromkeys(STORES, 2)
    assert {name: more[name] for name in set(BARE.values())} == dict.fromkeys(BARE.values(), 0)
    assert {name: release[name] - release[bare] for name, bare in BARE.items()} == dict.fromkeys(BARE, 0)


def _mnemonics(obj: Path, function: str) -> list[str]:
    """Of the instructions from the entry to the first return or jump away, no conditional branch being taken."""
    objdump = shutil.which("objdump")
    if objdump is None:
        pytest.skip("objdump of binutils is not installed")
    listing = subprocess.run(
        [objdump, "-d", "--no-show-raw-insn", f"--disassemble={function}", obj], capture_output=True, text=True, check=True
    ).stdout
    found: list[str] = []
    for line in listing.splitlines():
        if instruction := re.match(r"\s+[0-9a-f]+:\s+(\S+)", line):
            found.append(instruction[1])
            if instruction[1] in ("ret", "retq", "jmp"):
                return found
    raise AssertionError(listing)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_two_instructions_are_a_compare_and_a_branch(tmp_path: Path, compiler: str) -> None:
    built = {}
    for variant in ("release", "failpoints"):
        (tmp_path / variant).mkdir()
        (built[variant],) = native.compile_objects(COMPILERS[compiler], variant, tmp_path / variant, [native.SOURCE / "fa_probe.c"])
    for store in STORES:
        armed = _mnemonics(built["failpoints"], f"fa_probe_{store}")
        at = armed.index("cmpl")
        assert armed[at + 1] == "jne"
        assert sorted(armed[:at] + armed[at + 2 :]) == sorted(_mnemonics(built["release"], f"fa_probe_{store}"))
