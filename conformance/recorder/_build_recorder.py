"""Builds fireassay.conformance.recorder._recorder: flight_recorder.h itself, and C loops that measure it and are killed in tests.

Run by setup.py from the project's root, hence the relative include directory.
"""

from cffi import FFI

__all__ = ["ffi"]

DECLARATIONS = """
typedef struct { uint64_t t_ns, t_intended_ns, seq, key, value; uint32_t actor, stream; uint8_t op, phase; uint16_t flags;
    int32_t status; uint32_t digest, call; } fr_row;
typedef struct { uint32_t actor; uint8_t role; uint32_t pid, incarnation, group; uint64_t start_ticks; char name[32]; ...; } fr_actor;
typedef struct { uint32_t part; char error[256]; ...; } fr_recorder;
typedef struct { uint64_t count; ...; } fr_run;

int fr_open(fr_recorder *fr, const char *prefix, uint64_t capacity, uint64_t nonce, uint64_t epsilon_ns);
int fr_add_actor(fr_recorder *fr, const fr_actor *actor);
int fr_close(fr_recorder *fr);
uint64_t fr_lost(const fr_recorder *fr);
uint64_t fr_now(const fr_recorder *fr);
int fr_put(fr_recorder *fr, const fr_row *row);
int fr_event(fr_recorder *fr, const fr_row *row);
uint32_t fr_invoke(fr_recorder *fr, fr_row *row);
int fr_complete(fr_recorder *fr, fr_row *row, uint32_t call, uint8_t phase);
uint32_t fr_run_begin(fr_recorder *fr, fr_run *run, const fr_row *row);
void fr_run_first(fr_run *run, uint64_t seq);
void fr_run_step(fr_run *run);
void fr_run_steps(fr_run *run, uint64_t n);
int fr_run_end(fr_recorder *fr, fr_run *run, uint8_t phase, int32_t status, uint16_t flags, uint32_t digest);

uint64_t fr_put_many(fr_recorder *fr, const fr_row *rows, uint64_t n);
uint64_t fr_bench_clock(uint64_t n);
uint64_t fr_bench_events(fr_recorder *fr, uint64_t n, uint64_t rounds);
uint64_t fr_bench_runs(fr_recorder *fr, uint64_t runs, uint64_t steps);
int fr_bench_vdso(const fr_recorder *fr);
void fr_loop_events(fr_recorder *fr, uint64_t *published, uint64_t n);
void fr_loop_runs(fr_recorder *fr, uint64_t *published, uint64_t runs, uint64_t steps);
"""

SOURCE = r"""
#define FLIGHT_RECORDER_IMPLEMENTATION
#include "flight_recorder.h"

/* Returns how many of the rows were recorded; the others are counted as lost. */
static uint64_t fr_put_many(fr_recorder *fr, const fr_row *rows, uint64_t n) {
    uint64_t recorded = 0;
    for (uint64_t i = 0; i < n; i++) recorded += fr_put(fr, &rows[i]) == 0;
    return recorded;
}

/* n bare reads by libc's clock_gettime, as a program without a recorder would do; returns ns. */
static uint64_t fr_bench_clock(uint64_t n) {
    fr_clock_fn clock = fr_clock_resolve();
    uint64_t sum = 0, begin = fr_clock_read(clock);
    for (uint64_t i = 0; i < n; i++) sum += fr_clock_read(clock_gettime);
    uint64_t took = fr_clock_read(clock) - begin;
    __asm__ volatile("" : : "r"(sum));
    return took;
}

/* Go back to the part's first row: measured stretches lie over each other instead of filling a disk. */
static void fr_bench_rewind(fr_recorder *fr) { fr->next = (uint64_t *)(void *)((char *)fr->maps[fr->part] + FR_HEADER_SIZE); }

/* rounds * n events; n must fit into one part. Returns ns. */
static uint64_t fr_bench_events(fr_recorder *fr, uint64_t n, uint64_t rounds) {
    uint64_t took = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        fr_bench_rewind(fr);
        uint64_t begin = fr_now(fr);
        for (uint64_t i = 0; i < n; i++) {
            fr_row row = {.seq = i, .key = i + 7, .value = 64, .actor = 1, .stream = 2, .op = FR_APPEND, .phase = FR_OK,
                          .digest = (uint32_t)(i * 2654435761u), .call = (uint32_t)i, .t_intended_ns = i};
            (void)fr_event(fr, &row);
        }
        took += fr_now(fr) - begin;
    }
    return took;
}

/* runs * steps operations recorded as run rows, the opening and closing rows included. Returns ns. */
static uint64_t fr_bench_runs(fr_recorder *fr, uint64_t runs, uint64_t steps) {
    fr_bench_rewind(fr);
    uint64_t begin = fr_now(fr);
    for (uint64_t r = 0; r < runs; r++) {
        fr_run run;
        fr_row row = {.seq = r * steps, .key = r * steps, .actor = 1, .stream = 2, .op = FR_APPEND_RUN};
        (void)fr_run_begin(fr, &run, &row);
        for (uint64_t i = 0; i < steps; i++) {
            fr_run_step(&run);
            __asm__ volatile("" : : : "memory"); /* the operation in between: keeps the stores apart */
        }
        (void)fr_run_end(fr, &run, FR_OK, 0, 0, 0);
    }
    return fr_now(fr) - begin;
}

/* Whether the clock is the vDSO's (else a system call). */
static int fr_bench_vdso(const fr_recorder *fr) { return fr->clock != fr_clock_syscall; }

/* Events whose every field follows from i; after each the count is published. Meant to be killed. */
static void fr_loop_events(fr_recorder *fr, uint64_t *published, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        fr_row row = {.t_intended_ns = ~i, .seq = i, .key = i * 3, .value = i * 5, .actor = (uint32_t)i, .stream = (uint32_t)i + 1,
                      .op = FR_APPEND, .phase = (uint8_t)(1 + i % 5), .flags = (uint16_t)i, .status = -(int32_t)(i % 1000),
                      .digest = (uint32_t)i + 2, .call = (uint32_t)i + 3};
        if (fr_event(fr, &row) < 0) return;
        __atomic_store_n(published, i + 1, __ATOMIC_RELEASE);
    }
}

/* Runs of `steps` operations each; the count of all operations is published after each. Meant to be killed. */
static void fr_loop_runs(fr_recorder *fr, uint64_t *published, uint64_t runs, uint64_t steps) {
    for (uint64_t r = 0; r < runs; r++) {
        fr_run run;
        fr_row row = {.key = r * steps, .actor = 1, .op = FR_APPEND_RUN};
        (void)fr_run_begin(fr, &run, &row);
        fr_run_first(&run, r * steps + 1);
        for (uint64_t i = 1; i <= steps; i++) {
            fr_run_step(&run);
            __atomic_store_n(published, r * steps + i, __ATOMIC_RELEASE);
        }
        if (fr_run_end(fr, &run, FR_OK, 0, 0, 0) < 0) return;
    }
}
"""

ffi = FFI()
ffi.cdef(DECLARATIONS)
ffi.set_source(
    "fireassay.conformance.recorder._recorder",
    SOURCE,
    include_dirs=["conformance/recorder"],
    depends=["conformance/recorder/flight_recorder.h"],
    extra_compile_args=["-std=c11", "-D_GNU_SOURCE", "-O3", "-Wall", "-Wextra"],
)
