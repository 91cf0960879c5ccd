"""om_bus as plain C programs under the sanitizers."""

import functools
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.reference import native
from fireassay.reference.ombus.library import sources
from fireassay.reference.ombus.stream import SHM

SANITIZERS: dict[str, tuple[str, ...]] = {"optimized": (), "asan-ubsan": ("address", "undefined"), "tsan": ("thread",)}
ONE_MAP = "-Wl,--wrap=mmap,--wrap=munmap"
PROGRAMS = Path(__file__).parent / "c"


Build = Callable[..., Path]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Links a program with om_bus, which is compiled once per sanitizer; a source may stand in for the one of its name."""

    @functools.cache
    def objects(sanitizer: str) -> dict[str, Path]:
        made = native.compile_objects(native.GCC, "release", tmp_path_factory.mktemp(sanitizer), sources(), SANITIZERS[sanitizer])
        return dict(zip((path.name for path in sources()), made, strict=True))

    def linked(sanitizer: str, where: Path, program: str, *options: str, instead: Path | None = None) -> Path:
        own = [PROGRAMS / program, *([instead] if instead else [])]
        fresh = native.compile_objects(native.GCC, "release", where, own, SANITIZERS[sanitizer])
        others = [path for name, path in objects(sanitizer).items() if instead is None or name != instead.name]
        return native.link(native.GCC, [*fresh, *others], where / "program", *options, sanitizers=SANITIZERS[sanitizer])

    return linked


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(dir=SHM) as place:  # where a sync costs nothing
        return subprocess.run([program, place, *arguments], capture_output=True, text=True, timeout=250)


@pytest.mark.sanitizer
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_a_producer_and_its_consumers_in_threads_lose_nothing_and_run_clean(build: Build, tmp_path: Path, sanitizer: str) -> None:
    done = run(build(sanitizer, tmp_path, "test_ombus.c", ONE_MAP))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.sanitizer
@pytest.mark.parametrize("sanitizer", ["optimized", "asan-ubsan"])  # a released consumer copies what is overwritten: a race, by design
def test_consumers_that_are_released_at_any_time_are_told_of_all_they_miss(build: Build, tmp_path: Path, sanitizer: str) -> None:
    done = run(build(sanitizer, tmp_path, "test_ombus.c", ONE_MAP), "release")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.sanitizer
def test_tsan_sees_the_threads_meet(build: Build, tmp_path: Path) -> None:
    """With seq stored plainly and early the same program is convicted, so its silence above means something."""
    source = (native.SOURCE / "ombus" / "ombus_stream.c").read_text(encoding="utf-8")
    early = source.replace("    FA_COPY(ombus_slot_fields,", "    slot->header.seq = position + 1;\n    FA_COPY(ombus_slot_fields,")
    assert early != source
    (tmp_path / "ombus_stream.c").write_text(early)
    done = run(build("tsan", tmp_path, "test_ombus.c", ONE_MAP, instead=tmp_path / "ombus_stream.c"))
    assert done.returncode != 0
    assert "data race" in done.stderr


@pytest.mark.sanitizer
def test_objects_and_files_changed_at_random_never_lead_out_of_the_map(build: Build, tmp_path: Path) -> None:
    done = run(build("asan-ubsan", tmp_path, "fuzz_ombus.c"), "1", "150")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.long
@pytest.mark.sanitizer
def test_the_same_over_many_seeds(build: Build, tmp_path: Path) -> None:
    program = build("asan-ubsan", tmp_path, "fuzz_ombus.c")
    for seed in range(100, 120):
        done = run(program, str(seed), "1000")
        assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", ""), f"seed {seed}"
