"""Builds the sources of the core as plain objects and programs, under compilers and sanitizers of choice.

The extension is what ships; these builds are where warnings are errors and where ASan, UBSan and TSan look.
"""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fireassay.spec.outcomes import EnvironmentUnfit, HarnessError

__all__ = ["GCC", "MACROS", "SOURCE", "clang", "compile", "compile_objects", "core_sources", "link", "require"]

SOURCE = Path(__file__).resolve().parent / "src"
GCC = ("gcc",)
MACROS: dict[str, tuple[str, ...]] = {"release": (), "failpoints": ("FA_FAILPOINTS",), "mutants": ("FA_FAILPOINTS", "FA_MUTANTS")}
_FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-UNDEBUG", "-pthread", "-fPIC", "-fvisibility=hidden")


def clang(target: str | None = None) -> tuple[str, ...]:
    """clang as the ziglang package carries it; the target is one of its triples, such as aarch64-linux-gnu."""
    return (sys.executable, "-m", "ziglang", "cc", *(("-target", target) if target else ()))


def core_sources() -> list[Path]:
    return sorted(SOURCE.rglob("*.c"))


@functools.cache
def require(cc: tuple[str, ...]) -> None:
    """EnvironmentUnfit unless the compiler answers."""
    name = " ".join(cc)
    if shutil.which(cc[0]) is None:
        raise EnvironmentUnfit(
            f"the compiler {name} is not installed; install it (gcc from the distribution, clang as pip install ziglang)"
        )
    answer = subprocess.run([*cc, "--version"], capture_output=True, text=True)
    if answer.returncode != 0:
        raise EnvironmentUnfit(f"the compiler {name} does not run: {(answer.stderr or answer.stdout).strip()[-300:]}")


def _sanitize(sanitizers: Sequence[str]) -> list[str]:
    return [f"-fsanitize={','.join(sanitizers)}", "-fno-sanitize-recover=all"] if sanitizers else []


def _command(cc: Sequence[str], sanitizers: Sequence[str], variant: str) -> list[str]:
    require(tuple(cc))
    if variant not in MACROS:
        raise HarnessError(f"there is no core variant {variant!r}; known are {', '.join(MACROS)}")
    command = [*cc, *_FLAGS, f"-I{SOURCE}", *(f"-D{macro}" for macro in MACROS[variant])]
    if sanitizers:
        command += ["-O1", "-g", "-fno-omit-frame-pointer", *_sanitize(sanitizers)]
    else:
        command += ["-O3", "-fomit-frame-pointer"]  # zig's clang keeps frames otherwise, and the cost of a site is counted
    if "thread" in sanitizers and "gcc" in Path(cc[0]).name:
        command += ["-Wno-tsan"]  # gcc says that TSan does not model fences; no verdict here rests on one
    return command


def _run(command: Sequence[str | os.PathLike[str]], directory: Path) -> None:
    built = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if built.returncode != 0:
        raise HarnessError(f"{' '.join(map(str, command))}\n{built.stderr[-4000:]}")


def _object_name(source: Path) -> str:
    inside = source.relative_to(SOURCE) if source.is_relative_to(SOURCE) else Path(source.name)
    return "_".join(inside.with_suffix(".o").parts)


def compile_objects(
    cc: Sequence[str], variant: str, out: Path, sources: Sequence[Path] | None = None, sanitizers: Sequence[str] = ()
) -> list[Path]:
    """Objects of the sources (all of the core by default) in the directory, warnings being errors."""
    wanted = core_sources() if sources is None else list(sources)
    objects = [out / _object_name(source) for source in wanted]
    command = _command(cc, sanitizers, variant)

    def build(source: Path, target: Path) -> None:
        # One command per source: with several, zig cc keeps all objects but the last to itself.
        _run([*command, "-c", source, "-o", target], out)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(build, wanted, objects))
    return objects


def link(cc: Sequence[str], objects: Sequence[Path], out: Path, *options: str, sanitizers: Sequence[str] = ()) -> Path:
    """A program of the objects, or with -shared a library."""
    _run([*cc, "-pthread", *_sanitize(sanitizers), *options, *objects, "-o", out], out.parent)
    return out


def compile(cc: Sequence[str], sanitizers: Sequence[str], variant: str, sources: Sequence[Path], out: Path) -> Path:
    """A program of the sources and the whole core."""
    _run([*_command(cc, sanitizers, variant), *sources, *core_sources(), "-o", out], out.parent)
    return out
