/* Flight recorder: history rows into memory-mapped files that survive kill -9 of the process that writes them.
 *
 * One header, C11, Linux, little-endian, nothing else needed. In exactly one file, before any other include:
 *     #define FLIGHT_RECORDER_IMPLEMENTATION
 *     #include "flight_recorder.h"
 *
 * A recording is a chain of part files PREFIX.000.farec, PREFIX.001.farec, ... of one size. Each is a header and `capacity` rows.
 *
 * Header, 4096 bytes               | Actor entry, 64 bytes           | Row, 64 bytes
 *    0  magic        8 bytes       |   0  actor        u32           |   0  t_ns           u64
 *    8  version      u32           |   4  role         u8            |   8  t_intended_ns  u64
 *   12  header_size  u32           |   5  zero         3 bytes       |  16  seq            u64
 *   16  row_size     u32           |   8  pid          u32           |  24  key            u64
 *   20  part         u32           |  12  incarnation  u32           |  32  value          u64
 *   24  capacity     u64 (rows)    |  16  group        u32           |  40  actor          u32
 *   32  nonce        u64           |  20  zero         u32           |  44  stream         u32
 *   40  epsilon_ns   u64           |  24  start_ticks  u64           |  48  op             u8
 *   48  host         u64 (hash)    |  32  name         32 bytes,     |  49  phase          u8
 *   56  boot_id      16 bytes      |      zero-padded UTF-8          |  50  flags          u16
 *   72  time_ns      u64 (inode)   |                                 |  52  status         i32
 *   80  start_mono   u64 (ns)      |                                 |  56  digest         u32
 *   88  start_real   u64 (ns)      |                                 |  60  call           u32
 *   96  pid          u32
 *  100  actor_count  u32, release-stored after the entry it counts
 *  104  start_ticks  u64 (of pid, /proc/PID/stat field 22)
 *  112  lost         u64 (rows that found no room: the recording is incomplete)
 *  120  state        u32: 0 open, or its writer died; 1 the next part carries on; 2 closed
 *  124  zero         u32
 *  128  actors       62 entries
 *
 * A part is valid if and only if magic, version and sizes are the ones below, the file's length is header_size + capacity * row_size,
 * actor_count <= 62, state <= 2, and every part before it is full and agrees with it in nonce, epsilon, clock domain and process.
 * A row is valid if and only if its phase is not 0 and neither is the phase of any row before it. op, phase, flags and status go out
 * in one aligned 8-byte release store after all other fields; SYNC POINT with the reader's load of phase. So a torn row is the last
 * one and has phase 0. A part appears under its name only when its header is whole (made under another name, then linked).
 *
 * A recorder belongs to one thread. Everything returns 0 or a negative errno, and fr->error says more. Chaining to the next part
 * stalls the caller for as long as it takes to allocate and to prefault it: choose the capacity so that it seldom happens.
 * RLIMIT_FSIZE is respected without SIGXFSZ; blocks are allocated before they are mapped, so a full disk is no SIGBUS.
 */
#ifndef FLIGHT_RECORDER_H
#define FLIGHT_RECORDER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define FR_MAGIC "FAREC\r\n\x1a"
#define FR_VERSION 1u
#define FR_HEADER_SIZE 4096u
#define FR_ROW_SIZE 64u
#define FR_ROW_WORDS 8u
#define FR_ACTORS_MAX 62u
#define FR_PARTS_MAX 1000u
#define FR_PATH_MAX 1024u
#define FR_CAPACITY_MAX ((uint64_t)1 << 34)

enum { FR_STATE_OPEN = 0, FR_STATE_CHAINED = 1, FR_STATE_CLOSED = 2 };
enum { FR_INVOKE = 1, FR_OK = 2, FR_FAIL = 3, FR_INFO = 4, FR_EVENT = 5 };
enum { FR_APPEND = 1, FR_READ = 2, FR_APPEND_RUN = 3, FR_READ_RUN = 4 }; /* the others: spec/history/ops.py */
enum { FR_PRODUCER = 1, FR_READER = 2, FR_MEMBER = 3, FR_HARNESS = 4, FR_CHAOS = 5, FR_DRAIN = 6, FR_WATCHDOG = 7 };

typedef struct fr_row {
    uint64_t t_ns, t_intended_ns, seq, key, value;
    uint32_t actor, stream;
    uint8_t op, phase;
    uint16_t flags;
    int32_t status;
    uint32_t digest, call;
} fr_row;

typedef struct fr_actor {
    uint32_t actor;
    uint8_t role, zero[3];
    uint32_t pid, incarnation, group, zero2;
    uint64_t start_ticks;
    char name[32];
} fr_actor;

typedef struct fr_header {
    char magic[8];
    uint32_t version, header_size, row_size, part;
    uint64_t capacity, nonce, epsilon_ns, host;
    uint8_t boot_id[16];
    uint64_t time_ns, start_mono, start_real;
    uint32_t pid, actor_count;
    uint64_t start_ticks, lost;
    uint32_t state, zero;
    fr_actor actors[FR_ACTORS_MAX];
} fr_header;

#define FR_AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is little-endian and so must be the machine");
_Static_assert(sizeof(fr_row) == FR_ROW_SIZE && sizeof(fr_actor) == 64 && sizeof(fr_header) == FR_HEADER_SIZE, "sizes");
FR_AT(fr_row, t_ns, 0); FR_AT(fr_row, t_intended_ns, 8); FR_AT(fr_row, seq, 16); FR_AT(fr_row, key, 24); FR_AT(fr_row, value, 32);
FR_AT(fr_row, actor, 40); FR_AT(fr_row, stream, 44); FR_AT(fr_row, op, 48); FR_AT(fr_row, phase, 49); FR_AT(fr_row, flags, 50);
FR_AT(fr_row, status, 52); FR_AT(fr_row, digest, 56); FR_AT(fr_row, call, 60);
FR_AT(fr_actor, role, 4); FR_AT(fr_actor, pid, 8); FR_AT(fr_actor, incarnation, 12); FR_AT(fr_actor, group, 16);
FR_AT(fr_actor, start_ticks, 24); FR_AT(fr_actor, name, 32);
FR_AT(fr_header, version, 8); FR_AT(fr_header, header_size, 12); FR_AT(fr_header, row_size, 16); FR_AT(fr_header, part, 20);
FR_AT(fr_header, capacity, 24); FR_AT(fr_header, nonce, 32); FR_AT(fr_header, epsilon_ns, 40); FR_AT(fr_header, host, 48);
FR_AT(fr_header, boot_id, 56); FR_AT(fr_header, time_ns, 72); FR_AT(fr_header, start_mono, 80); FR_AT(fr_header, start_real, 88);
FR_AT(fr_header, pid, 96); FR_AT(fr_header, actor_count, 100); FR_AT(fr_header, start_ticks, 104); FR_AT(fr_header, lost, 112);
FR_AT(fr_header, state, 120); FR_AT(fr_header, actors, 128);
#undef FR_AT

typedef int (*fr_clock_fn)(clockid_t, struct timespec *);

/* Caller-owned; the first line is all that the fast path touches. */
typedef struct fr_recorder {
    uint64_t *next, *end; /* room for rows: next == end means full, closed, or never opened */
    fr_clock_fn clock;
    uint32_t last_call;
    uint32_t part;
    fr_header *maps[FR_PARTS_MAX]; /* all stay mapped till fr_close: an open run may still raise its count in an older part */
    uint64_t capacity;
    int broken; /* negative errno once chaining failed: from then on rows are counted as lost */
    char prefix[FR_PATH_MAX];
    char error[256];
} fr_recorder;

/* An open run: `slot` is the row's value in the file, or `nowhere` if that row was lost. Must not move while open. */
typedef struct fr_run {
    uint64_t *slot, *first;
    uint64_t count, nowhere;
    fr_row row;
} fr_run;

int fr_open(fr_recorder *fr, const char *prefix, uint64_t capacity, uint64_t nonce, uint64_t epsilon_ns);
int fr_add_actor(fr_recorder *fr, const fr_actor *actor); /* pid 0: this process */
int fr_close(fr_recorder *fr);                            /* msync and unmap; harmless when repeated */
uint64_t fr_lost(const fr_recorder *fr);
int fr_make_room(fr_recorder *fr);   /* slow path: next part, or count one lost row */
fr_clock_fn fr_clock_resolve(void);  /* the kernel's own clock, past any LD_PRELOAD */

static inline uint64_t fr_clock_read(fr_clock_fn clock) {
    struct timespec ts;
    (void)clock(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The recorder's clock, also for intended times. */
static inline uint64_t fr_now(const fr_recorder *fr) { return fr_clock_read(fr->clock); }

static inline int fr_store(fr_recorder *fr, uint64_t t_ns, const fr_row *r) {
    if (__builtin_expect(fr->next == fr->end, 0)) {
        int rc = fr_make_room(fr);
        if (rc < 0) return rc;
    }
    uint64_t *w = fr->next;
    fr->next = w + FR_ROW_WORDS;
    w[0] = t_ns;
    w[1] = r->t_intended_ns;
    w[2] = r->seq;
    w[3] = r->key;
    w[4] = r->value;
    w[5] = (uint64_t)r->stream << 32 | r->actor;
    w[7] = (uint64_t)r->call << 32 | r->digest;
    /* SYNC POINT with the reader's load of phase: a phase seen means that the whole row is seen. */
    __atomic_store_n(&w[6], (uint64_t)(uint32_t)r->status << 32 | (uint64_t)r->flags << 16 | (uint64_t)r->phase << 8 | r->op,
                     __ATOMIC_RELEASE);
    return 0;
}

/* Record a row as it is, t_ns included. Phase must not be 0. */
static inline int fr_put(fr_recorder *fr, const fr_row *row) { return fr_store(fr, row->t_ns, row); }

/* Record a row that happens now; t_ns of the argument is not used. */
static inline int fr_event(fr_recorder *fr, const fr_row *row) { return fr_store(fr, fr_now(fr), row); }

/* Next call id of this recording; never 0. */
static inline uint32_t fr_next_call(fr_recorder *fr) {
    if (__builtin_expect(++fr->last_call == 0, 0)) fr->last_call = 1;
    return fr->last_call;
}

/* Record an invoke, directly before the call; phase and call of the argument are set. Returns the call id for fr_complete. */
static inline uint32_t fr_invoke(fr_recorder *fr, fr_row *row) {
    row->phase = FR_INVOKE;
    row->call = fr_next_call(fr);
    (void)fr_event(fr, row);
    return row->call;
}

/* Record a completion (FR_OK, FR_FAIL, FR_INFO), directly after the call. */
static inline int fr_complete(fr_recorder *fr, fr_row *row, uint32_t call, uint8_t phase) {
    row->phase = phase;
    row->call = call;
    return fr_event(fr, row);
}

/* Open a run: row has op FR_APPEND_RUN or FR_READ_RUN, first position and first identity. */
static inline uint32_t fr_run_begin(fr_recorder *fr, fr_run *run, const fr_row *row) {
    run->row = *row;
    run->row.value = run->count = 0;
    run->slot = run->first = &run->nowhere;
    run->row.phase = FR_INVOKE;
    run->row.call = fr_next_call(fr);
    if (fr_event(fr, &run->row) == 0) {
        run->slot = fr->next - FR_ROW_WORDS + 4;
        run->first = fr->next - FR_ROW_WORDS + 2;
    }
    return run->row.call;
}

/* The first position, where only the first operation tells it: before the first fr_run_step. */
static inline void fr_run_first(fr_run *run, uint64_t seq) {
    run->row.seq = seq;
    __atomic_store_n(run->first, seq, __ATOMIC_RELAXED); /* published by the release store of the count that follows */
}

/* One more operation of the run was ok. SYNC POINT with the reader's load of value: the target's effects come before the count. */
static inline void fr_run_step(fr_run *run) { __atomic_store_n(run->slot, ++run->count, __ATOMIC_RELEASE); }

/* `n` more operations of the run were ok (a batch). */
static inline void fr_run_steps(fr_run *run, uint64_t n) { __atomic_store_n(run->slot, run->count += n, __ATOMIC_RELEASE); }

/* Complete a run: repeats seq and key, holds the final count. */
static inline int fr_run_end(fr_recorder *fr, fr_run *run, uint8_t phase, int32_t status, uint16_t flags, uint32_t digest) {
    run->row.phase = phase;
    run->row.value = run->count;
    run->row.status = status;
    run->row.flags = flags;
    run->row.digest = digest;
    run->slot = run->first = &run->nowhere;
    return fr_event(fr, &run->row);
}

#endif /* FLIGHT_RECORDER_H */

#if defined(FLIGHT_RECORDER_IMPLEMENTATION) && !defined(FLIGHT_RECORDER_IMPLEMENTED)
#define FLIGHT_RECORDER_IMPLEMENTED
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#if defined(__aarch64__)
#define FR_VDSO_CLOCK "__kernel_clock_gettime"
#else
#define FR_VDSO_CLOCK "__vdso_clock_gettime"
#endif

__attribute__((format(printf, 3, 4))) static int fr_fail(fr_recorder *fr, int rc, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(fr->error, sizeof fr->error, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof fr->error) (void)snprintf(fr->error + n, sizeof fr->error - (size_t)n, ": %s", strerror(-rc));
    return rc;
}

/* No libc in between where we can help it: syscall(2) too can be interposed. */
static int fr_clock_syscall(clockid_t id, struct timespec *ts) {
#if defined(__x86_64__) && !defined(__ILP32__)
    long rc;
    __asm__ volatile("syscall" : "=a"(rc) : "0"((long)SYS_clock_gettime), "D"((long)id), "S"(ts) : "rcx", "r11", "memory");
    return (int)rc;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = SYS_clock_gettime;
    register long x0 __asm__("x0") = id;
    register struct timespec *x1 __asm__("x1") = ts;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
    return (int)x0;
#else
    return (int)syscall(SYS_clock_gettime, id, ts);
#endif
}

/* Symbols in a DT_GNU_HASH table: one past the highest index that a chain reaches. */
static uint32_t fr_gnu_hash_count(const uint32_t *h) {
    const uint32_t *buckets = h + 4 + h[2] * (sizeof(ElfW(Addr)) / 4), *chains = buckets + h[0];
    uint32_t last = 0;
    for (uint32_t i = 0; i < h[0]; i++)
        if (buckets[i] > last) last = buckets[i];
    if (last < h[1]) return h[1];
    while (!(chains[last - h[1]] & 1u)) last++;
    return last + 1;
}

fr_clock_fn fr_clock_resolve(void) {
    uintptr_t base = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
    if (!base) return fr_clock_syscall;
    const ElfW(Ehdr) *ehdr = (const ElfW(Ehdr) *)base;
    const ElfW(Phdr) *phdr = (const ElfW(Phdr) *)(base + ehdr->e_phoff);
    const ElfW(Dyn) *dyn = NULL;
    uintptr_t shift = 0;
    int loaded = 0;
    for (int i = 0; i < ehdr->e_phnum; i++) {
        if (phdr[i].p_type == PT_LOAD && !loaded) {
            shift = base + phdr[i].p_offset - phdr[i].p_vaddr;
            loaded = 1;
        } else if (phdr[i].p_type == PT_DYNAMIC) {
            dyn = (const ElfW(Dyn) *)(base + phdr[i].p_offset);
        }
    }
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    uint32_t count = 0;
    for (; loaded && dyn && dyn->d_tag != DT_NULL; dyn++) {
        uintptr_t at = shift + (uintptr_t)dyn->d_un.d_ptr;
        if (dyn->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)at;
        if (dyn->d_tag == DT_STRTAB) strings = (const char *)at;
        if (dyn->d_tag == DT_HASH) count = ((const uint32_t *)at)[1];
        if (dyn->d_tag == DT_GNU_HASH && !count) count = fr_gnu_hash_count((const uint32_t *)at);
    }
    for (uint32_t i = 0; symbols && strings && i < count; i++)
        if (symbols[i].st_shndx != SHN_UNDEF && strcmp(strings + symbols[i].st_name, FR_VDSO_CLOCK) == 0) {
            fr_clock_fn found = (fr_clock_fn)(shift + (uintptr_t)symbols[i].st_value);
            struct timespec ts;
            return found(CLOCK_MONOTONIC, &ts) == 0 ? found : fr_clock_syscall;
        }
    return fr_clock_syscall;
}

static size_t fr_slurp(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0) (void)close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

static uint64_t fr_host(void) {
    char text[256];
    struct utsname names;
    if (!fr_slurp("/etc/machine-id", text, sizeof text) && uname(&names) == 0) (void)snprintf(text, sizeof text, "%s", names.nodename);
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (const char *p = text; *p && *p != '\n'; p++) hash = (hash ^ (uint8_t)*p) * 0x100000001b3u;
    return hash;
}

static uint64_t fr_start_ticks(void) {
    char text[1024];
    (void)fr_slurp("/proc/self/stat", text, sizeof text);
    const char *p = strrchr(text, ')'); /* the name may hold blanks; after it comes field 3 */
    for (int field = 2; p && field < 22; field++) p = strchr(p + 1, ' ');
    return p ? strtoull(p + 1, NULL, 10) : 0;
}

static void fr_boot_id(uint8_t id[16]) {
    char text[64];
    (void)fr_slurp("/proc/sys/kernel/random/boot_id", text, sizeof text);
    int nibble = 0;
    for (const char *p = text; *p && nibble < 32; p++) {
        int digit = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : -1;
        if (digit < 0) continue;
        id[nibble / 2] = (uint8_t)(id[nibble / 2] << 4 | digit);
        nibble++;
    }
}

static void fr_fill_header(fr_recorder *fr, fr_header *h, uint64_t nonce, uint64_t epsilon_ns) {
    struct stat st;
    struct timespec real = {0, 0};
    memcpy(h->magic, FR_MAGIC, sizeof h->magic);
    h->version = FR_VERSION;
    h->header_size = FR_HEADER_SIZE;
    h->row_size = FR_ROW_SIZE;
    h->capacity = fr->capacity;
    h->nonce = nonce;
    h->epsilon_ns = epsilon_ns;
    h->host = fr_host();
    fr_boot_id(h->boot_id);
    h->time_ns = stat("/proc/self/ns/time", &st) == 0 ? (uint64_t)st.st_ino : 0;
    h->start_mono = fr_now(fr);
    (void)fr->clock(CLOCK_REALTIME, &real);
    h->start_real = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
    h->pid = (uint32_t)getpid();
    h->start_ticks = fr_start_ticks();
}

/* Allocate, map and prefault an open file; the header is copied from `like` with part and state set. */
static int fr_map(fr_recorder *fr, int fd, const char *path, const fr_header *like, uint32_t part, fr_header **mapped) {
    uint64_t size = FR_HEADER_SIZE + fr->capacity * FR_ROW_SIZE;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > (uint64_t)limit.rlim_cur)
        return fr_fail(fr, -EFBIG, "%.160s: RLIMIT_FSIZE", path); /* asked before, since the kernel would send SIGXFSZ */
    int rc = posix_fallocate(fd, 0, (off_t)size);
    if (rc) return fr_fail(fr, -rc, "posix_fallocate %.160s", path);
    char *at = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return fr_fail(fr, -errno, "mmap %.160s", path);
    if (madvise(at, (size_t)size, MADV_POPULATE_WRITE) < 0) {
        if (errno == EFAULT || errno == ENOMEM || errno == EHWPOISON) {
            rc = -errno; /* a page cannot be had: touching it would be SIGBUS */
            (void)munmap(at, (size_t)size);
            return fr_fail(fr, rc, "prefault %.160s", path);
        }
        for (uint64_t offset = 0; offset < size; offset += 4096) *(volatile char *)(at + offset) = 0;
    }
    *mapped = (fr_header *)(void *)at;
    **mapped = *like;
    (*mapped)->part = part;
    (*mapped)->lost = 0;
    (*mapped)->state = FR_STATE_OPEN;
    return 0;
}

/* Make part file number `part` under a passing name, then link it: no half-made part is ever seen, none is overwritten. */
static int fr_make_part(fr_recorder *fr, const fr_header *like, uint32_t part) {
    char path[FR_PATH_MAX + 32], passing[FR_PATH_MAX + 64];
    fr_header *mapped = NULL;
    if (part >= FR_PARTS_MAX) return fr_fail(fr, -EFBIG, "%.160s: all part numbers are used", fr->prefix);
    (void)snprintf(path, sizeof path, "%s.%03u.farec", fr->prefix, part);
    (void)snprintf(passing, sizeof passing, "%s.%ld.tmp", path, (long)getpid());
    int fd = open(passing, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST && unlink(passing) == 0) fd = open(passing, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return fr_fail(fr, -errno, "open %.160s", passing);
    int rc = fr_map(fr, fd, path, like, part, &mapped);
    if (rc == 0 && link(passing, path) < 0) rc = fr_fail(fr, -errno, "link %.160s", path);
    (void)unlink(passing);
    (void)close(fd);
    if (rc < 0) {
        if (mapped) (void)munmap(mapped, (size_t)(FR_HEADER_SIZE + fr->capacity * FR_ROW_SIZE));
        return rc;
    }
    fr->maps[part] = mapped;
    fr->part = part;
    fr->next = (uint64_t *)(void *)((char *)mapped + FR_HEADER_SIZE);
    fr->end = fr->next + fr->capacity * FR_ROW_WORDS;
    return 0;
}

int fr_open(fr_recorder *fr, const char *prefix, uint64_t capacity, uint64_t nonce, uint64_t epsilon_ns) {
    memset(fr, 0, sizeof *fr);
    fr->clock = fr_clock_resolve();
    fr->capacity = capacity;
    size_t length = strlen(prefix);
    if (capacity == 0 || capacity > FR_CAPACITY_MAX) return fr_fail(fr, -EINVAL, "capacity of %llu rows", (unsigned long long)capacity);
    if (length == 0) return fr_fail(fr, -EINVAL, "empty path");
    if (length >= FR_PATH_MAX) return fr_fail(fr, -ENAMETOOLONG, "path of %zu bytes", length);
    memcpy(fr->prefix, prefix, length + 1);
    fr_header like;
    memset(&like, 0, sizeof like);
    fr_fill_header(fr, &like, nonce, epsilon_ns);
    return fr_make_part(fr, &like, 0);
}

int fr_make_room(fr_recorder *fr) {
    fr_header *full = fr->maps[fr->part];
    if (!full) return fr_fail(fr, -EBADF, "recorder is not open");
    if (!fr->broken) {
        fr->broken = fr_make_part(fr, full, fr->part + 1);
        if (!fr->broken) {
            __atomic_store_n(&full->state, FR_STATE_CHAINED, __ATOMIC_RELEASE); /* after the next part can be found */
            return 0;
        }
    }
    __atomic_store_n(&full->lost, full->lost + 1, __ATOMIC_RELEASE);
    return fr->broken;
}

int fr_add_actor(fr_recorder *fr, const fr_actor *actor) {
    fr_header *h = fr->maps[fr->part];
    if (!h) return fr_fail(fr, -EBADF, "recorder is not open");
    uint32_t n = h->actor_count;
    for (uint32_t i = 0; i < n; i++)
        if (h->actors[i].actor == actor->actor) return fr_fail(fr, -EEXIST, "actor %u", actor->actor);
    if (n == FR_ACTORS_MAX) return fr_fail(fr, -ENOSPC, "actor %u: the table holds %u", actor->actor, FR_ACTORS_MAX);
    h->actors[n] = *actor;
    if (!actor->pid) {
        h->actors[n].pid = (uint32_t)getpid();
        h->actors[n].start_ticks = fr_start_ticks();
    }
    __atomic_store_n(&h->actor_count, n + 1, __ATOMIC_RELEASE);
    return 0;
}

uint64_t fr_lost(const fr_recorder *fr) { return fr->maps[fr->part] ? fr->maps[fr->part]->lost : 0; }

int fr_close(fr_recorder *fr) {
    uint64_t size = FR_HEADER_SIZE + fr->capacity * FR_ROW_SIZE;
    int rc = 0;
    if (fr->maps[fr->part]) __atomic_store_n(&fr->maps[fr->part]->state, FR_STATE_CLOSED, __ATOMIC_RELEASE);
    for (uint32_t part = 0; part < FR_PARTS_MAX && fr->maps[part]; part++) {
        /* of the last part only what was written: the rest is zero on disk as well */
        uint64_t used = part < fr->part ? size : (uint64_t)((char *)fr->next - (char *)fr->maps[part]);
        if (msync(fr->maps[part], (size_t)used, MS_SYNC) < 0 && !rc) rc = fr_fail(fr, -errno, "msync %.160s", fr->prefix);
        (void)munmap(fr->maps[part], (size_t)size);
        fr->maps[part] = NULL;
    }
    fr->next = fr->end = NULL;
    return rc;
}
#endif /* FLIGHT_RECORDER_IMPLEMENTATION */
