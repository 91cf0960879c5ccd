"""flight_recorder.h by itself: it compiles alone, is clean under sanitizers, and its clock cannot be faked."""

import importlib.util
import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from fireassay.conformance.recorder.recorder import Role
from fireassay.conformance.recorder.recording import open_recording
from fireassay.spec.history.ops import Op, Phase

HEADER = Path(__file__).parents[1] / "recorder" / "flight_recorder.h"
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
COMPILERS = {"gcc": ["gcc"], "clang": [sys.executable, "-m", "ziglang", "cc"]}
DRIVER = """
    #define FLIGHT_RECORDER_IMPLEMENTATION
    #include "flight_recorder.h"
    #include <stdio.h>
    static fr_recorder fr;
    int main(int argc, char **argv) {
        if (argc != 2) return 2;
        int rc = fr_open(&fr, argv[1], 100, 42, 1000);
        if (rc < 0) { fprintf(stderr, "%s\\n", fr.error); return 1; }
        fr_actor me = {.actor = 3, .role = FR_PRODUCER, .name = "driver in C"};
        if (fr_add_actor(&fr, &me) < 0 || fr_add_actor(&fr, &me) != -EEXIST) return 3;
        for (uint64_t i = 0; i < 500; i++) {
            fr_row row = {.seq = i, .actor = 3, .op = FR_APPEND, .t_intended_ns = fr_now(&fr)};
            uint32_t call = fr_invoke(&fr, &row);
            row.status = -1;
            if (fr_complete(&fr, &row, call, i % 2 ? FR_OK : FR_INFO) < 0) return 4;
        }
        fr_run run;
        fr_row first = {.key = 9, .actor = 3, .op = FR_READ_RUN};
        fr_run_begin(&fr, &run, &first);
        fr_run_first(&run, 17);
        for (int i = 0; i < 250; i++) {
            fr_row between = {.op = FR_READ, .phase = FR_EVENT, .actor = 3};
            if (fr_event(&fr, &between) < 0) return 5;
            fr_run_step(&run);
        }
        if (fr_run_end(&fr, &run, FR_OK, 0, 2, 77) < 0 || fr_lost(&fr)) return 6;
        if (fr_close(&fr) < 0 || fr_close(&fr) < 0) return 7;
        first.phase = FR_EVENT;
        if (fr_put(&fr, &first) != -EBADF || fr_open(&fr, argv[1], 100, 42, 1000) != -EEXIST) return 8;
        return 0;
    }
"""


def compiler(name: str) -> list[str]:
    if name == "clang" and importlib.util.find_spec("ziglang") is None:
        pytest.skip("ziglang is not installed")
    if name == "gcc" and shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    return COMPILERS[name]


def build(place: Path, command: list[str], *options: str, code: str = DRIVER, output: str = "driver") -> Path:
    """Compile in a directory that holds the code and a copy of the header, nothing else of ours."""
    alone = place / "alone"
    alone.mkdir(exist_ok=True)
    shutil.copy(HEADER, alone)
    (alone / f"{output}.c").write_text(textwrap.dedent(code))
    done = subprocess.run([*command, *options, f"{output}.c", "-o", output], cwd=alone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return alone / output


def record(driver: Path, prefix: Path, **environment: str) -> None:
    done = subprocess.run([driver, prefix], capture_output=True, text=True, env={**os.environ, **environment}, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def check(prefix: Path) -> None:
    recording = open_recording(prefix)
    rows = list(recording)
    assert (len(rows), len(recording.paths), recording.lost, recording.closed) == (1252, 13, 0, True)
    assert [(actor.role, actor.name) for actor in recording.actors] == [(Role.PRODUCER, "driver in C")]
    for number in range(500):
        invoke, completion = rows[2 * number : 2 * number + 2]
        assert (invoke.seq, invoke.op, invoke.phase, invoke.status) == (number, Op.APPEND, Phase.INVOKE, 0)
        assert (completion.call, completion.phase) == (invoke.call, Phase.OK if number % 2 else Phase.INFO)
        assert (completion.status, invoke.call) == (-1, number + 1)
        assert invoke.t_intended_ns <= invoke.t_ns <= completion.t_ns
    opened, closed = rows[1000], rows[-1]
    assert (opened.seq, opened.key, opened.value) == (closed.seq, closed.key, closed.value) == (17, 9, 250)


@pytest.mark.sanitizer
@pytest.mark.parametrize("name", COMPILERS)
@pytest.mark.parametrize("optimise", ["-O0", "-O3"])
def test_the_header_alone_compiles_without_a_warning_and_records(tmp_path: Path, name: str, optimise: str) -> None:
    driver = build(tmp_path, compiler(name), *STRICT, optimise)
    record(driver, tmp_path / "r")
    check(tmp_path / "r")


def test_the_header_can_be_declared_in_one_file_and_implemented_in_another(tmp_path: Path) -> None:
    build(tmp_path, compiler("gcc"), *STRICT, "-c", code='#include "flight_recorder.h"\nint x(fr_recorder *f) { return fr_close(f); }')


@pytest.mark.sanitizer
@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_a_c_program_under_sanitizers_records_and_is_read_back(tmp_path: Path, sanitizers: str) -> None:
    options = ["-g", f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    driver = build(tmp_path, compiler("gcc"), *STRICT, *options)
    record(driver, tmp_path / "r")
    check(tmp_path / "r")


def test_an_interposed_clock_does_not_reach_the_recorder(tmp_path: Path) -> None:
    fake = """
        #define _GNU_SOURCE
        #include <time.h>
        #include <sys/time.h>
        int clock_gettime(clockid_t id, struct timespec *ts) { (void)id; ts->tv_sec = 1; ts->tv_nsec = 2; return 0; }
        long syscall(long number, ...) { (void)number; return -1; }
    """
    library = build(tmp_path, compiler("gcc"), "-shared", "-fPIC", code=fake, output="fake.so")
    witness = """
        #include <stdio.h>
        #define FLIGHT_RECORDER_IMPLEMENTATION
        #include "flight_recorder.h"
        static fr_recorder fr;
        int main(int argc, char **argv) {
            struct timespec ts;
            fr_row row = {.op = FR_APPEND, .phase = FR_EVENT};
            clock_gettime(CLOCK_MONOTONIC, &ts);
            if (argc != 2 || ts.tv_sec != 1 || ts.tv_nsec != 2) return 9; /* the fake must be at work, else this shows nothing */
            if (fr_open(&fr, argv[1], 10, 0, 0) < 0 || fr_event(&fr, &row) < 0) return 1;
            row.t_ns = fr_clock_read(fr_clock_syscall); /* the way without a vDSO */
            if (fr_put(&fr, &row) < 0) return 2;
            return fr_close(&fr) < 0;
        }
    """
    driver = build(tmp_path, compiler("gcc"), "-D_GNU_SOURCE", "-std=c11", code=witness, output="witness")
    before, before_real = time.monotonic_ns(), time.time_ns()
    record(driver, tmp_path / "r", LD_PRELOAD=str(library))
    after, after_real = time.monotonic_ns(), time.time_ns()
    recording = open_recording(tmp_path / "r")
    by_vdso, by_system_call = recording
    assert before <= recording.header.start_mono <= by_vdso.t_ns <= by_system_call.t_ns <= after
    assert before_real <= recording.header.start_real <= after_real
