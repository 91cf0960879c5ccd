"""chronicle as a plain C program under the sanitizers."""

import subprocess
from pathlib import Path

import pytest

from fireassay.reference import native

SANITIZERS: dict[str, tuple[str, ...]] = {"optimized": (), "asan-ubsan": ("address", "undefined"), "tsan": ("thread",)}
ONE_MAP = "-Wl,--wrap=mmap,--wrap=munmap"
PROGRAM = Path(__file__).parent / "c" / "test_chronicle.c"


def built(sanitizer: str, variant: str, where: Path, program: Path = PROGRAM, *options: str) -> Path:
    sources = [program, *native.core_sources()]
    objects = native.compile_objects(native.GCC, variant, where, sources, SANITIZERS[sanitizer])
    return native.link(native.GCC, objects, where / "chronicle", *options, sanitizers=SANITIZERS[sanitizer])


@pytest.mark.sanitizer
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_threads_that_sleep_before_every_answer_are_always_woken(tmp_path: Path, sanitizer: str) -> None:
    program = built(sanitizer, "release", tmp_path, PROGRAM.with_name("test_wait.c"), ONE_MAP)
    (tmp_path / "place").mkdir()
    done = subprocess.run([program, tmp_path / "place"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.sanitizer
@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("variant", ["release", "mutants"])
def test_a_writer_and_two_readers_in_threads_run_clean(tmp_path: Path, sanitizer: str, variant: str) -> None:
    program = built(sanitizer, variant, tmp_path, PROGRAM, ONE_MAP)
    (tmp_path / "place").mkdir()
    done = subprocess.run([program, tmp_path / "place"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.sanitizer
def test_tsan_sees_the_threads_meet(tmp_path: Path) -> None:
    """With the commit word stored plainly and early the same program is convicted, so its silence above means something."""
    include = '#include "chronicle/chronicle_put.h"\n'
    source = (native.SOURCE / "chronicle" / "chronicle_writer.c").read_text()
    put = (native.SOURCE / "chronicle" / "chronicle_put.h").read_text()
    last = "    chronicle_record_put_header(at, &header);\n    if (FA_MUTANT(chronicle_commit_first))"
    early = put.replace(last, last.replace(";\n", ";\n    at->commit_len = commit;\n", 1))
    assert include in source
    assert early != put
    careless = tmp_path / "chronicle_writer.c"
    careless.write_text(source.replace(include, early))
    sources = [PROGRAM, careless, *(path for path in native.core_sources() if path.name != "chronicle_writer.c")]
    objects = native.compile_objects(native.GCC, "release", tmp_path, sources, SANITIZERS["tsan"])
    program = native.link(native.GCC, objects, tmp_path / "chronicle", ONE_MAP, sanitizers=SANITIZERS["tsan"])
    (tmp_path / "place").mkdir()
    done = subprocess.run([program, tmp_path / "place"], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "data race" in done.stderr


@pytest.mark.sanitizer
def test_files_changed_at_random_never_lead_out_of_the_map(tmp_path: Path) -> None:
    program = built("asan-ubsan", "release", tmp_path, PROGRAM.with_name("fuzz_chronicle.c"))
    for seed in (1, 2):
        where = tmp_path / f"seed{seed}"
        where.mkdir()
        done = subprocess.run([program, where, str(seed), "300"], capture_output=True, text=True, timeout=200)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", ""), f"seed {seed}"
