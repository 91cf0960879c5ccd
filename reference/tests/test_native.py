"""The same sources under other compilers and under sanitizers."""

import errno
import functools
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.reference import core, native
from fireassay.reference.failpoints import Action, ControlFile, failpoints
from fireassay.spec.outcomes import EnvironmentUnfit, HarnessError

PROGRAMS = Path(__file__).parent / "c"
COMPILERS = {
    "gcc": native.GCC,
    "clang": native.clang(),
    "clang-x86_64": native.clang("x86_64-linux-gnu"),
    "clang-aarch64": native.clang("aarch64-linux-gnu"),
}
SANITIZERS: dict[str, tuple[str, ...]] = {"optimized": (), "asan-ubsan": ("address", "undefined"), "tsan": ("thread",)}
Linker = Callable[[str, str, Path, Path], Path]
ON_X86 = core.load("release")[1].fa_crc32_kind() != 2


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    """Links a source with the core, which is compiled once per sanitizer and variant."""

    @functools.cache
    def objects(sanitizer: str, variant: str) -> list[Path]:
        where = tmp_path_factory.mktemp(f"{sanitizer}-{variant}")
        return native.compile_objects(native.GCC, variant, where, sanitizers=SANITIZERS[sanitizer])

    def build(sanitizer: str, variant: str, source: Path, directory: Path) -> Path:
        sanitizers = SANITIZERS[sanitizer]
        own = native.compile_objects(native.GCC, variant, directory, [source], sanitizers)
        return native.link(native.GCC, [*own, *objects(sanitizer, variant)], directory / source.stem, sanitizers=sanitizers)

    return build


@pytest.mark.sanitizer
@pytest.mark.parametrize("variant", native.MACROS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_core_builds_without_a_warning(tmp_path: Path, compiler: str, variant: str) -> None:
    objects = native.compile_objects(COMPILERS[compiler], variant, tmp_path)
    assert len(set(objects)) == len(native.core_sources())
    assert all(path.stat().st_size > 0 for path in objects)


@pytest.mark.sanitizer
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_warning_would_have_stopped_the_build(tmp_path: Path, compiler: str) -> None:
    source = tmp_path / "careless.c"
    source.write_text("int careless(unsigned a, int b) { int unused; return a < b; }\n")
    with pytest.raises(HarnessError, match="unused"):
        native.compile_objects(COMPILERS[compiler], "release", tmp_path, [source])


def test_a_missing_compiler_is_the_environments_fault(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnfit, match="the compiler no-such-cc is not installed"):
        native.compile_objects(("no-such-cc",), "release", tmp_path)


@pytest.mark.sanitizer
@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("source", ["test_crc", "test_replace", "test_ring"])
@pytest.mark.parametrize("variant", ["release", "mutants"])
def test_the_program_runs_clean_under_the_sanitizer(program: Linker, tmp_path: Path, source: str, sanitizer: str, variant: str) -> None:
    binary = program(sanitizer, variant, PROGRAMS / f"{source}.c", tmp_path)
    done = subprocess.run([binary, *([tmp_path] if source == "test_replace" else [])], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.sanitizer
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_threads_that_attach_under_their_sites_race_nowhere_and_lose_no_hit(program: Linker, tmp_path: Path, sanitizer: str) -> None:
    binary = program(sanitizer, "failpoints", PROGRAMS / "test_attach.c", tmp_path)
    with ControlFile.create(tmp_path / "control") as control:
        control.arm("probe_fetch_add", Action.COUNT)
        done = subprocess.run([binary, control.path], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
        assert control.hits("probe_fetch_add") == 2 * 20000


@pytest.mark.sanitizer
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_interrupted_and_short_writes_and_locks_are_carried_through(program: Linker, tmp_path: Path, sanitizer: str) -> None:
    binary = program(sanitizer, "failpoints", PROGRAMS / "test_interrupted.c", tmp_path)
    with ControlFile.create(tmp_path / "control") as control:
        for name in ("probe_write", "probe_flock"):
            control.arm(name, Action.COUNT)
        done = subprocess.run([binary, control.path, tmp_path / "lock"], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
        # One refusal of the lock, then at least one attempt per alarm that the program waited for.
        assert control.hits("probe_write") > 10
        assert control.hits("probe_flock") > 10


@pytest.mark.sanitizer
@pytest.mark.skipif(not ON_X86, reason="x86-64 assembly")
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_an_armed_site_keeps_every_register_and_the_red_zone(program: Linker, tmp_path: Path, sanitizer: str) -> None:
    binary = program(sanitizer, "failpoints", PROGRAMS / "test_registers.c", tmp_path)
    with ControlFile.create(tmp_path / "control") as control:
        for name in ("probe_fetch_add", "probe_store_release"):
            control.arm(name, Action.COUNT)
        control.arm("probe_fsync_dir", Action.ERROR, errno=errno.ENOSPC)
        done = subprocess.run([binary, control.path], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
        assert control.hits("probe_fetch_add") in (1, 2)  # 2 where the processor has AVX
        assert (control.hits("probe_store_release"), control.fired("probe_fsync_dir")) == (2, 1)


FAULTS = {
    "heap-buffer-overflow": (
        "asan-ubsan",
        "#include <stdlib.h>\n"
        "int main(int c, char **v) { volatile char *volatile p = malloc(4); (void)v; p[c + 3] = 1; free((void *)p); return 0; }\n",
    ),
    "signed integer overflow": (
        "asan-ubsan",
        "#include <limits.h>\nint main(int c, char **v) { volatile int big = INT_MAX; (void)v; return big + c > 0; }\n",
    ),
    "data race": (
        "tsan",
        "#include <pthread.h>\nstatic int shared;\nstatic void *add(void *u) { shared++; return u; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, add, 0); shared++; pthread_join(t, 0); return 0; }\n",
    ),
}


@pytest.mark.sanitizer
@pytest.mark.parametrize("words", FAULTS)
def test_the_sanitizers_would_have_spoken(program: Linker, tmp_path: Path, words: str) -> None:
    sanitizer, text = FAULTS[words]
    (tmp_path / "faulty.c").write_text(text)
    binary = program(sanitizer, "release", tmp_path / "faulty.c", tmp_path)
    done = subprocess.run([binary], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert words in done.stderr


def _symbols(*files: Path) -> str:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm of binutils is not installed")
    return subprocess.run([nm, *files], capture_output=True, text=True, check=True).stdout


def test_the_release_objects_have_no_symbol_of_failpoints_or_mutants(tmp_path: Path) -> None:
    objects = native.compile_objects(native.GCC, "release", tmp_path)
    assert not re.findall(r".*fa_(?:failpoint|mutant).*", re.sub(r"(?m)^.*\.o:$", "", _symbols(*objects)))
    linked = _symbols(core.path("release"))
    assert "fa_probe_store_release" in linked
    assert not re.findall(r" fa_(?:failpoint_(?:slow|flags|thunk)|mutant_selected)", linked)


def test_the_failpoints_build_has_its_machinery_and_no_mutant() -> None:
    with_failpoints, with_mutants = (set(_symbols(core.path(variant)).split()) for variant in ("failpoints", "mutants"))
    machinery = {"fa_failpoint_slow", "fa_failpoint_flags", "fa_failpoint_thunk"}
    assert machinery <= with_failpoints
    assert "fa_mutant_selected" not in with_failpoints
    assert machinery | {"fa_mutant_selected"} <= with_mutants


def _words_at(library: bytes, address: int, count: int) -> tuple[int, ...]:
    """Words at an address of a 64-bit little-endian ELF, found through its loadable segments."""
    (table,) = struct.unpack_from("<Q", library, 32)
    size, entries = struct.unpack_from("<HH", library, 54)
    for at in range(table, table + size * entries, size):
        kind, _, offset, start, _, length = struct.unpack_from("<IIQQQQ", library, at)
        if kind == 1 and start <= address < start + length:
            return struct.unpack_from(f"<{count}I", library, offset + address - start)
    raise AssertionError(f"{address:#x} lies in no segment")


@pytest.mark.sanitizer
def test_the_arm_build_links_and_its_site_is_a_literal_load_and_a_branch(tmp_path: Path) -> None:
    objects = native.compile_objects(COMPILERS["clang-aarch64"], "mutants", tmp_path)
    # Without libc: what is tried is the reach of the loads and branches, which the linker checks.
    library = native.link(COMPILERS["clang-aarch64"], objects, tmp_path / "core.so", "-shared", "-nostdlib")
    symbols = {name: int(at, 16) for at, name in re.findall(r"(?m)^([0-9a-f]+) \w (\S+)$", _symbols(library))}
    start, ident = symbols["fa_probe_store_relaxed"], {point.name: point.id for point in failpoints()}["probe_store_relaxed"]
    load, branch, store, back = _words_at(library.read_bytes(), start, 4)
    assert (load >> 24, load & 31) == (0x18, 16)  # ldr w16, literal
    assert start + 4 * (load >> 5 & 0x7FFFF) == symbols["fa_failpoint_flags"] + 4 * ident
    assert (branch >> 24, branch & 31) == (0x35, 16)  # cbnz w16, stub
    assert (store, back) == (0xF9000001, 0xD65F03C0)  # str x1, [x0]; ret
