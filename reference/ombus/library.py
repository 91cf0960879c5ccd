"""libombus as C programs link it, built from the sources of the core: `python -m fireassay.reference.ombus.library DIRECTORY`.

The headers are `ombus/om_bus*.h` and `ombus/om_wal.h` in `reference/src`; nothing but their functions is exported.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fireassay.reference import native
from fireassay.spec.outcomes import HarnessError

__all__ = ["HEADERS", "build", "main", "sources"]

HEADERS = tuple(sorted(path.name for path in (native.SOURCE / "ombus").glob("om_*.h")))
_CORE = ("fa_crc32.c", "fa_error.c", "fa_persist.c", "chronicle/chronicle_warm.c")


def sources() -> list[Path]:
    return [*sorted((native.SOURCE / "ombus").glob("*.c")), *(native.SOURCE / name for name in _CORE)]


def build(where: Path, cc: Sequence[str] = native.GCC) -> tuple[Path, Path]:
    """(libombus.so, libombus.a) in the directory."""
    with tempfile.TemporaryDirectory() as scratch:
        objects = native.compile_objects(cc, "release", Path(scratch), sources())
        shared = native.link(cc, objects, where / "libombus.so", "-shared", "-Wl,-soname,libombus.so", "-Wl,--no-undefined")
        static = where / "libombus.a"
        static.unlink(missing_ok=True)
        done = subprocess.run(["ar", "rcs", static, *objects], capture_output=True, text=True)
        if done.returncode != 0:
            raise HarnessError(f"ar rcs {static}: {done.stderr[-2000:]}")
    return shared, static


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m fireassay.reference.ombus.library",
        description="Build libombus.so and libombus.a.",
        epilog="example: python -m fireassay.reference.ombus.library /usr/local/lib",
    )
    parser.add_argument("directory", type=Path, help="where the two files go")
    for path in build(parser.parse_args(arguments).directory):
        print(path)
    print(f"headers: -I{native.SOURCE}, as ombus/{', ombus/'.join(HEADERS)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
