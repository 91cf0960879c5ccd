"""cffi builder of fireassay.perf._floors; run by setup.py from the project root."""

from cffi import FFI

__all__ = ["ffi"]

ffi = FFI()

ffi.cdef(
    """
    enum { FLOORS_HONEST, FLOORS_CHILD_DIES, FLOORS_CHILD_STALLS, ... };
    struct floors_plan { int cpu_near; int cpu_far; int yields; int sabotage; uint64_t deadline_ns; };

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
    """
)

ffi.set_source(
    "fireassay.perf._floors",
    '#include "floors.h"',
    sources=["perf/floors.c"],
    include_dirs=["perf"],
    depends=["perf/floors.h"],
    extra_compile_args=["-std=c11", "-D_GNU_SOURCE", "-O3", "-Wall", "-Wextra"],
)

if __name__ == "__main__":
    ffi.compile(verbose=True)
