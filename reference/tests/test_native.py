"""The same sources under other compilers and under sanitizers; what a failpoint costs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fireassay.reference import core, native
from fireassay.reference.failpoints import Action, ControlFile
from fireassay.spec.outcomes import EnvironmentUnfit

PROGRAMS = Path(__file__).parent / "c"
COMPILERS = {
    "gcc": native.GCC,
    "clang": native.clang(),
    "clang-x86_64": native.clang("x86_64-linux-gnu"),
    "clang-aarch64": native.clang("aarch64-linux-gnu"),
}
SANITIZERS = {"asan-ubsan": ("address", "undefined"), "tsan": ("thread",)}
STORES = ("store_release", "store_relaxed", "exchange", "cas", "fetch_add", "copy")


@pytest.mark.parametrize("variant", native.MACROS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_core_builds_without_a_warning(tmp_path: Path, compiler: str, variant: str) -> None:
    objects = native.compile_objects(COMPILERS[compiler], variant, tmp_path)
    assert all(path.stat().st_size > 0 for path in objects)


def test_a_missing_compiler_is_the_environments_fault(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnfit, match="the compiler no-such-cc is not installed"):
        native.compile_objects(("no-such-cc",), "release", tmp_path)


@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("program", ["test_crc", "test_replace", "test_ring", "test_attach"])
def test_the_program_runs_clean_under_the_sanitizer(tmp_path: Path, program: str, sanitizer: str) -> None:
    binary = native.compile(native.GCC, SANITIZERS[sanitizer], "failpoints", [PROGRAMS / f"{program}.c"], tmp_path / program)
    with ControlFile.create(tmp_path / "control") as control:
        control.arm("probe_fetch_add", Action.COUNT)
        arguments = {"test_attach": [control.path], "test_replace": [tmp_path]}.get(program, [])
        done = subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
        if program == "test_attach":
            assert control.hits("probe_fetch_add") == 2 * 20000


def test_the_sanitizers_would_have_spoken(tmp_path: Path) -> None:
    source = tmp_path / "bad.c"
    source.write_text(
        "#include <stdlib.h>\nint main(int c, char **v){ char *p = malloc(4); (void)v; p[c + 3] = 1; int r = p[0]; free(p); return r; }\n"
    )
    binary = native.compile(native.GCC, SANITIZERS["asan-ubsan"], "release", [source], tmp_path / "bad")
    done = subprocess.run([binary], capture_output=True, text=True)
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} of binutils is not installed")
    return found


def _fast_path(obj: Path, function: str) -> list[str]:
    """The instructions from the entry to the return when no conditional branch is taken."""
    listing = subprocess.run([_tool("objdump"), "-d", "--no-show-raw-insn", obj], capture_output=True, text=True, check=True).stdout
    code: dict[int, str] = {}
    entry = None
    for line in listing.splitlines():
        if head := re.match(r"([0-9a-f]+) <(\w[\w.]*)>:", line):
            inside = head[2] == function
            entry = int(head[1], 16) if inside else entry
        elif (instruction := re.match(r"\s+([0-9a-f]+):\s+(\S.*)", line)) and inside:
            code[int(instruction[1], 16)] = instruction[2].strip()
    assert entry is not None, listing
    addresses = sorted(code)
    path: list[str] = []
    at = entry
    for _ in range(100):
        text = code[at]
        path.append(text)
        if text.startswith(("ret", "jmp")) and not re.match(r"jmp\s+[0-9a-f]+ <" + function, text):
            return path
        jump = re.match(r"jmp\s+([0-9a-f]+)", text)
        at = int(jump[1], 16) if jump else addresses[addresses.index(at) + 1]
    raise AssertionError(path)


@pytest.mark.skipif(core.load("release")[1].fa_crc32_kind() == 2, reason="reads x86-64 assembly")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_store_site_costs_two_instructions_with_failpoints_and_none_in_release(tmp_path: Path, compiler: str) -> None:
    built = {}
    for variant in ("release", "failpoints"):
        (tmp_path / variant).mkdir()
        (built[variant],) = native.compile_objects(COMPILERS[compiler], variant, tmp_path / variant, [native.SOURCE / "fa_probe.c"])
    for store in STORES:
        release = _fast_path(built["release"], f"fa_probe_{store}")
        armed = _fast_path(built["failpoints"], f"fa_probe_{store}")
        assert len(armed) - len(release) <= 2, (release, armed)
        assert len(armed) > len(release)
    assert len(_fast_path(built["release"], "fa_probe_store_release")) <= 3


def test_the_release_objects_have_no_symbol_of_failpoints_or_mutants(tmp_path: Path) -> None:
    objects = native.compile_objects(native.GCC, "release", tmp_path)
    symbols = subprocess.run([_tool("nm"), *objects], capture_output=True, text=True, check=True).stdout
    assert not re.findall(r".*fa_(?:failpoint|mutant).*", re.sub(r"(?m)^.*\.o:$", "", symbols))
    linked = subprocess.run([_tool("nm"), core.path("release")], capture_output=True, text=True, check=True).stdout
    assert "fa_probe_store_release" in linked
    assert not re.findall(r" fa_(?:failpoint_(?:slow|flags)|mutant_selected)", linked)
    control = subprocess.run([_tool("nm"), core.path("failpoints")], capture_output=True, text=True, check=True).stdout
    assert {"fa_failpoint_slow", "fa_failpoint_flags"} <= set(control.split())


def test_the_arm_build_links_with_its_literal_loads(tmp_path: Path) -> None:
    objects = native.compile_objects(COMPILERS["clang-aarch64"], "mutants", tmp_path)
    done = subprocess.run([*COMPILERS["clang-aarch64"], "-shared", "-o", tmp_path / "core.so", *objects], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
