"""Builds the C core three times from the same sources: release, failpoints, mutants.

Run by setup.py through cffi_modules from the project root, where all paths start. `python reference/_build_core.py` builds
in place. Each src/X.cdef.h is given to cffi and src/X.h is what it stands for, so a new system is two files and its sources.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path("reference") / "src"
FLAGS = [
    "-std=c11",
    "-D_GNU_SOURCE",
    "-O3",
    "-Wall",
    "-Wextra",
    "-UNDEBUG",
    "-fvisibility=hidden",
    "-fno-semantic-interposition",
    "-pthread",
]


def _files(pattern: str, base: Path = Path()) -> list[str]:
    return sorted(str(base / path.relative_to(ROOT)) for path in (ROOT / SOURCE).rglob(pattern))


def make(module: str, *macros: str, base: Path = Path()) -> FFI:
    """One variant of the core; the variants differ in macros only. Paths are relative, as an sdist needs them, unless a base is given."""
    fragments = sorted(_files("*.cdef.h"), key=lambda path: (path.count("/"), path))  # a system's types rest on those of the core
    ffi = FFI()
    for fragment in fragments:
        text = (ROOT / fragment).read_text(encoding="utf-8")
        ffi.cdef("\n".join(line for line in text.splitlines() if not line.startswith("#")))
    headers = [Path(fragment).relative_to(SOURCE).as_posix().replace(".cdef.h", ".h") for fragment in fragments]
    ffi.set_source(
        f"fireassay.reference.{module}",
        "\n".join(f'#include "{header}"' for header in headers),
        sources=_files("*.c", base),
        depends=_files("*.h", base),
        include_dirs=[str(base / SOURCE)],
        define_macros=[(macro, None) for macro in macros],
        extra_compile_args=FLAGS,
        extra_link_args=["-pthread"],
        libraries=["rt"],
    )
    return ffi


VARIANTS: dict[str, tuple[str, ...]] = {
    "_core": (),
    "_core_failpoints": ("FA_FAILPOINTS",),
    "_core_mutants": ("FA_FAILPOINTS", "FA_MUTANTS"),
}
release, failpoints, mutants = (make(module, *macros) for module, macros in VARIANTS.items())


def build_in_place(verbose: bool = False) -> list[Path]:
    """Compiles all variants to reference/_core*.so beside this file."""
    built: list[Path] = []
    for module, macros in VARIANTS.items():
        with tempfile.TemporaryDirectory() as scratch:
            shared = Path(make(module, *macros, base=ROOT).compile(tmpdir=scratch, verbose=verbose))
            # Named as setuptools names it: were there two, the interpreter would prefer the one of its own version, however old.
            target = ROOT / "reference" / f"{module}.abi3.so"
            fresh = target.with_name(f"{target.name}.new")
            shutil.copy2(shared, fresh)
            fresh.replace(target)  # a running process keeps the old file
            for other in target.parent.glob(f"{module}.*.so"):
                if other != target:
                    other.unlink()
            built.append(target)
    return built


if __name__ == "__main__":
    for path in build_in_place(verbose="-v" in sys.argv):
        print(path)
