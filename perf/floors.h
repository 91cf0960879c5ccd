/* Floors: what this machine does at best, measured in C beside whatever is compared with it.
 *
 * Every function fills a caller-owned array with n figures in nanoseconds per operation and returns n, or a negative errno:
 *   -ETIMEDOUT  the deadline of the plan passed
 *   -ECHILD     the other process died
 *   otherwise   what the failing system call said
 * Nothing is allocated on the heap. Functions with a far side fork; the child runs only this C code, never returns to its caller,
 * and is dead and reaped when the function returns.
 */
#ifndef FIREASSAY_PERF_FLOORS_H
#define FIREASSAY_PERF_FLOORS_H

#include <stddef.h>
#include <stdint.h>

enum { FLOORS_HONEST = 0, FLOORS_CHILD_DIES = 1, FLOORS_CHILD_STALLS = 2 };

struct floors_plan {
    int cpu_near;         /* where the caller is pinned while it measures; -1 = not pinned */
    int cpu_far;          /* where the child is pinned; -1 = not pinned */
    int yields;           /* spin loops give the processor away: set where both sides share one */
    int sabotage;         /* FLOORS_*: what the child does half way; for the tests of the deadline */
    uint64_t deadline_ns; /* from the call; a single system call that blocks is not interrupted */
};

int floors_clock(double *out, size_t n, size_t batch, const struct floors_plan *plan);
int floors_gaps(double *out, size_t n, const struct floors_plan *plan);
int floors_memcpy(double *out, size_t n, size_t batch, unsigned char *ring, size_t ring_size, size_t length,
                  const struct floors_plan *plan);
int floors_spsc(double *out, size_t n, size_t batch, const struct floors_plan *plan);
int floors_pingpong(double *out, size_t n, const struct floors_plan *plan);
int floors_udp(double *out, size_t n, const struct floors_plan *plan);
int floors_tcp(double *out, size_t n, const struct floors_plan *plan);
int floors_futex(double *out, size_t n, const struct floors_plan *plan);
int floors_fdatasync(double *out, size_t n, int fd, size_t file_size, const struct floors_plan *plan);
int floors_msync(double *out, size_t n, int fd, size_t file_size, const struct floors_plan *plan);

#endif
