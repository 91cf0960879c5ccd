/* See floors.h. Two processes meet in one anonymous shared mapping; each release store below names its acquire. */
#include "floors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 64, SLOT = 64, SLOTS = 1024, PAGE = 4096, TICKS_PER_LOOK = 1 << 14, SETTLE_NS = 60000 };

struct shared {
    _Alignas(LINE) _Atomic uint64_t near_word; /* written by the caller only: ping, ring head */
    _Alignas(LINE) _Atomic uint64_t far_word;  /* written by the child only: pong, ring tail, sleeper's round */
    _Alignas(LINE) _Atomic uint32_t bell;      /* the futex */
    _Alignas(LINE) _Atomic uint64_t woken_ns;
    _Alignas(LINE) unsigned char slots[SLOTS][SLOT];
};

/* One side's patience. The child has child == 0 and sees only its deadline. */
struct watch {
    uint64_t deadline;
    pid_t child;
    int yields;
    uint32_t ticks;
};

struct pair;
typedef int far_side(struct pair *);

struct pair {
    struct shared *shm;
    struct watch watch;
    const struct floors_plan *plan;
    cpu_set_t before;
    int fds[2]; /* near, far; -1 where the floor has no sockets */
    size_t rounds;
    far_side *far;
};

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static size_t warmup(size_t n) { return n / 10 + 1; }

static void pin(int cpu, cpu_set_t *before) {
    if (before && sched_getaffinity(0, sizeof *before, before)) CPU_ZERO(before);
    if (cpu < 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one); /* a refusal leaves us unpinned: noisier, still true */
}

static void unpin(const cpu_set_t *before) {
    if (CPU_COUNT(before)) sched_setaffinity(0, sizeof *before, before);
}

/* Looks at the clock and at the child only now and then, so that waiting costs nothing that is measured. */
static int tick(struct watch *w) {
    relax();
    w->ticks++;
    if (w->yields && (w->ticks & 63) == 0) sched_yield();
    if (w->ticks & (TICKS_PER_LOOK - 1)) return 0;
    if (w->child > 0 && waitpid(w->child, NULL, WNOHANG) != 0) { /* died, or somebody else reaped it */
        w->child = 0;
        return -ECHILD;
    }
    return now_ns() > w->deadline ? -ETIMEDOUT : 0;
}

static void misbehave(const struct pair *p, size_t round) {
    if (p->plan->sabotage == FLOORS_HONEST || round < p->rounds / 2) return;
    if (p->plan->sabotage == FLOORS_CHILD_DIES) _exit(3);
    for (;;) pause();
}

/* The child: never returns. It waits to be killed, so that its exit always means that it failed. */
static _Noreturn void live_far(struct pair *p, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(4);
    p->watch.child = 0;
    pin(p->plan->cpu_far, NULL);
    if (p->fds[0] >= 0) close(p->fds[0]);
    int result = p->far(p);
    if (result < 0 && result != -ETIMEDOUT) _exit(5); /* a late child is not a dead one: the caller's deadline is the same and tells */
    for (;;) pause();
}

static int pair_open(struct pair *p, const struct floors_plan *plan, size_t rounds, far_side *far) {
    p->plan = plan;
    p->rounds = rounds;
    p->far = far;
    p->watch = (struct watch){.deadline = now_ns() + plan->deadline_ns, .yields = plan->yields};
    p->shm = mmap(NULL, sizeof *p->shm, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p->shm == MAP_FAILED) return -errno;
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) live_far(p, parent);
    if (child < 0) {
        int error = errno;
        munmap(p->shm, sizeof *p->shm);
        return -error;
    }
    p->watch.child = child;
    if (p->fds[1] >= 0) close(p->fds[1]);
    p->fds[1] = -1;
    pin(plan->cpu_near, &p->before);
    return 0;
}

static int pair_close(struct pair *p, int result) {
    if (p->watch.child > 0) {
        kill(p->watch.child, SIGKILL);
        while (waitpid(p->watch.child, NULL, 0) < 0 && errno == EINTR) {}
    }
    unpin(&p->before);
    munmap(p->shm, sizeof *p->shm);
    return result;
}

/* ---- one process ---- */

int floors_clock(double *out, size_t n, size_t batch, const struct floors_plan *plan) {
    cpu_set_t before;
    pin(plan->cpu_near, &before);
    uint64_t start = now_ns(), sink = 0;
    int result = (int)n;
    for (size_t i = 0; i < n; i++) {
        uint64_t t0 = now_ns();
        for (size_t j = 0; j < batch; j++) sink += now_ns();
        uint64_t t1 = now_ns();
        out[i] = (double)(t1 - t0) / (double)(batch + 1);
        if (t1 - start > plan->deadline_ns) {
            result = -ETIMEDOUT;
            break;
        }
    }
    __asm__ volatile("" : : "r"(sink));
    unpin(&before);
    return result;
}

int floors_gaps(double *out, size_t n, const struct floors_plan *plan) {
    cpu_set_t before;
    pin(plan->cpu_near, &before);
    uint64_t start = now_ns(), last = start;
    int result = (int)n;
    for (size_t i = 0; i < n; i++) {
        uint64_t t = now_ns();
        out[i] = (double)(t - last);
        last = t;
        if (t - start > plan->deadline_ns) {
            result = -ETIMEDOUT;
            break;
        }
    }
    unpin(&before);
    return result;
}

int floors_memcpy(double *out, size_t n, size_t batch, unsigned char *ring, size_t ring_size, size_t length,
                  const struct floors_plan *plan) {
    unsigned char record[PAGE];
    if (length == 0 || length > sizeof record || length > ring_size || batch == 0) return -EINVAL;
    memset(record, 0x5a, sizeof record);
    memset(ring, 0, ring_size); /* prefault */
    cpu_set_t before;
    pin(plan->cpu_near, &before);
    uint64_t start = now_ns();
    size_t at = 0, warm = warmup(n);
    int result = (int)n;
    for (size_t i = 0; i < n + warm; i++) {
        uint64_t t0 = now_ns();
        for (size_t j = 0; j < batch; j++) {
            memcpy(ring + at, record, length);
            __asm__ volatile("" : : : "memory");
            at += length;
            if (at + length > ring_size) at = 0;
        }
        uint64_t t1 = now_ns();
        if (i >= warm) out[i - warm] = (double)(t1 - t0) / (double)batch;
        if (t1 - start > plan->deadline_ns) {
            result = -ETIMEDOUT;
            break;
        }
    }
    unpin(&before);
    return result;
}

static int write_all(int fd, const unsigned char *page, off_t at) {
    ssize_t wrote = pwrite(fd, page, PAGE, at);
    if (wrote == PAGE) return 0;
    return wrote < 0 ? -errno : -EIO;
}

int floors_fdatasync(double *out, size_t n, int fd, size_t file_size, const struct floors_plan *plan) {
    if (file_size < PAGE) return -EINVAL;
    unsigned char page[PAGE];
    uint64_t start = now_ns();
    for (size_t i = 0; i < n; i++) {
        memset(page, (int)(i + 1), sizeof page);
        uint64_t t0 = now_ns();
        int result = write_all(fd, page, (off_t)(i % (file_size / PAGE) * PAGE));
        if (result < 0) return result;
        if (fdatasync(fd)) return -errno;
        uint64_t t1 = now_ns();
        out[i] = (double)(t1 - t0);
        if (t1 - start > plan->deadline_ns) return -ETIMEDOUT;
    }
    return (int)n;
}

int floors_msync(double *out, size_t n, int fd, size_t file_size, const struct floors_plan *plan) {
    if (file_size < PAGE) return -EINVAL;
    unsigned char *map = mmap(NULL, file_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (map == MAP_FAILED) return -errno;
    uint64_t start = now_ns();
    int result = (int)n;
    for (size_t i = 0; i < n && result >= 0; i++) {
        unsigned char *page = map + i % (file_size / PAGE) * PAGE;
        uint64_t t0 = now_ns();
        memset(page, (int)(i + 1), PAGE);
        if (msync(page, PAGE, MS_SYNC)) result = -errno;
        uint64_t t1 = now_ns();
        out[i] = (double)(t1 - t0);
        if (t1 - start > plan->deadline_ns) result = -ETIMEDOUT;
    }
    munmap(map, file_size);
    return result;
}

/* ---- ring: one record of 64 B per release store; both sides keep a copy of the other's index ---- */

static int spsc_far(struct pair *p) {
    unsigned char record[SLOT];
    uint64_t tail = 0, head = 0;
    while (tail < p->rounds) {
        head = atomic_load_explicit(&p->shm->near_word, memory_order_acquire); /* with the producer's head store */
        if (head == tail) {
            int result = tick(&p->watch);
            if (result < 0) return result;
            continue;
        }
        for (; tail < head; tail++) {
            memcpy(record, p->shm->slots[tail % SLOTS], SLOT);
            __asm__ volatile("" : : "r"(record) : "memory");
        }
        misbehave(p, tail);
        atomic_store_explicit(&p->shm->far_word, tail, memory_order_release); /* with the producer's tail load */
    }
    return 0;
}

static int spsc_put(struct pair *p, uint64_t first, size_t count, uint64_t *tail) {
    unsigned char record[SLOT];
    memset(record, (int)first, sizeof record);
    for (uint64_t head = first; head < first + count; head++) {
        while (head - *tail >= SLOTS) {
            *tail = atomic_load_explicit(&p->shm->far_word, memory_order_acquire); /* with the consumer's tail store */
            if (head - *tail < SLOTS) break;
            int result = tick(&p->watch);
            if (result < 0) return result;
        }
        memcpy(p->shm->slots[head % SLOTS], record, SLOT);
        atomic_store_explicit(&p->shm->near_word, head + 1, memory_order_release); /* with the consumer's head load */
    }
    return 0;
}

int floors_spsc(double *out, size_t n, size_t batch, const struct floors_plan *plan) {
    struct pair p = {.fds = {-1, -1}};
    size_t warm = warmup(n);
    if (batch == 0) return -EINVAL;
    int result = pair_open(&p, plan, (n + warm) * batch, spsc_far);
    if (result < 0) return result;
    uint64_t tail = 0, t0 = now_ns();
    for (size_t i = 0; i < n + warm; i++) {
        result = spsc_put(&p, i * batch, batch, &tail);
        if (result < 0) return pair_close(&p, result);
        uint64_t t1 = now_ns();
        if (i >= warm) out[i - warm] = (double)(t1 - t0) / (double)batch;
        t0 = t1;
    }
    return pair_close(&p, (int)n);
}

/* ---- ping-pong over two words, each on a line of its own ---- */

static int await(_Atomic uint64_t *word, uint64_t value, struct watch *w) {
    while (atomic_load_explicit(word, memory_order_acquire) != value) { /* with the other side's store in the same round */
        int result = tick(w);
        if (result < 0) return result;
    }
    return 0;
}

static int pingpong_far(struct pair *p) {
    for (size_t i = 1; i <= p->rounds; i++) {
        int result = await(&p->shm->near_word, i, &p->watch);
        if (result < 0) return result;
        misbehave(p, i);
        atomic_store_explicit(&p->shm->far_word, i, memory_order_release); /* with await of the near side */
    }
    return 0;
}

int floors_pingpong(double *out, size_t n, const struct floors_plan *plan) {
    struct pair p = {.fds = {-1, -1}};
    size_t warm = warmup(n);
    int result = pair_open(&p, plan, n + warm, pingpong_far);
    if (result < 0) return result;
    uint64_t t0 = now_ns();
    for (size_t i = 1; i <= n + warm; i++) {
        atomic_store_explicit(&p.shm->near_word, i, memory_order_release); /* with await of the far side */
        result = await(&p.shm->far_word, i, &p.watch);
        if (result < 0) return pair_close(&p, result);
        uint64_t t1 = now_ns();
        if (i > warm) out[i - warm - 1] = (double)(t1 - t0);
        t0 = t1;
    }
    return pair_close(&p, (int)n);
}

/* ---- loopback sockets, never sleeping ---- */

static int take(int fd, unsigned char *message, struct watch *w) {
    size_t got = 0;
    while (got < SLOT) {
        ssize_t r = recv(fd, message + got, SLOT - got, MSG_DONTWAIT);
        if (r > 0) {
            got += (size_t)r;
            continue;
        }
        if (r == 0 || errno == ECONNREFUSED || errno == ECONNRESET) return -ECHILD; /* the other end is gone */
        if (errno != EAGAIN && errno != EINTR) return -errno;
        int result = tick(w);
        if (result < 0) return result;
    }
    return 0;
}

static int give(int fd, const unsigned char *message) {
    ssize_t sent = send(fd, message, SLOT, MSG_NOSIGNAL);
    if (sent == SLOT) return 0;
    if (sent >= 0) return -EIO;
    return errno == ECONNREFUSED || errno == EPIPE || errno == ECONNRESET ? -ECHILD : -errno;
}

static int echo_far(struct pair *p) {
    unsigned char message[SLOT];
    for (size_t i = 0; i < p->rounds; i++) {
        int result = take(p->fds[1], message, &p->watch);
        if (result < 0) return result;
        misbehave(p, i);
        result = give(p->fds[1], message);
        if (result < 0) return result;
    }
    return 0;
}

static int echo_rounds(struct pair *p, double *out, size_t n, size_t warm) {
    unsigned char message[SLOT] = {0};
    uint64_t t0 = now_ns();
    for (size_t i = 0; i < n + warm; i++) {
        int result = give(p->fds[0], message);
        if (result < 0) return result;
        result = take(p->fds[0], message, &p->watch);
        if (result < 0) return result;
        uint64_t t1 = now_ns();
        if (i >= warm) out[i - warm] = (double)(t1 - t0);
        t0 = t1;
    }
    return (int)n;
}

static int bound(int type, struct sockaddr_in *address) {
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    socklen_t size = sizeof *address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (struct sockaddr *)address, size) == 0 && getsockname(fd, (struct sockaddr *)address, &size) == 0) return fd;
    int error = errno;
    close(fd);
    return -error;
}

static int udp_pair(int fds[2]) {
    struct sockaddr_in a, b;
    fds[0] = bound(SOCK_DGRAM, &a);
    if (fds[0] < 0) return fds[0];
    fds[1] = bound(SOCK_DGRAM, &b);
    if (fds[1] < 0) return fds[1];
    if (connect(fds[0], (struct sockaddr *)&b, sizeof b) || connect(fds[1], (struct sockaddr *)&a, sizeof a)) return -errno;
    return 0;
}

static int tcp_pair(int fds[2]) {
    struct sockaddr_in a;
    int one = 1, result = 0;
    int listener = bound(SOCK_STREAM, &a);
    if (listener < 0) return listener;
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fds[0] < 0 || listen(listener, 1) || connect(fds[0], (struct sockaddr *)&a, sizeof a) ||
        (fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0 || setsockopt(fds[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) ||
        setsockopt(fds[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one))
        result = -errno;
    close(listener);
    return result;
}

static int echo(double *out, size_t n, const struct floors_plan *plan, int (*connected)(int[2])) {
    struct pair p = {.fds = {-1, -1}};
    size_t warm = warmup(n);
    int result = connected(p.fds);
    if (result == 0) result = pair_open(&p, plan, n + warm, echo_far);
    if (result == 0) result = pair_close(&p, echo_rounds(&p, out, n, warm));
    if (p.fds[0] >= 0) close(p.fds[0]);
    if (p.fds[1] >= 0) close(p.fds[1]);
    return result;
}

int floors_udp(double *out, size_t n, const struct floors_plan *plan) { return echo(out, n, plan, udp_pair); }

int floors_tcp(double *out, size_t n, const struct floors_plan *plan) { return echo(out, n, plan, tcp_pair); }

/* ---- waking a sleeper: from before FUTEX_WAKE to the sleeper's first clock read ---- */

static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *timeout) {
    return syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

static int sleeper_far(struct pair *p) {
    const struct timespec patience = {.tv_nsec = 100000000};
    for (uint32_t round = 1;; round++) {
        misbehave(p, round);
        atomic_store_explicit(&p->shm->far_word, round, memory_order_release); /* with await of the near side: about to sleep */
        while (atomic_load_explicit(&p->shm->bell, memory_order_acquire) != round) { /* with the near side's bell store */
            futex(&p->shm->bell, FUTEX_WAIT, round - 1, &patience);
            if (now_ns() > p->watch.deadline) return -ETIMEDOUT;
        }
        atomic_store_explicit(&p->shm->woken_ns, now_ns(), memory_order_release); /* with the near side's woken_ns load */
    }
}

static int wake_once(struct pair *p, uint32_t round, double *ns) {
    int result = await(&p->shm->far_word, round, &p->watch);
    if (result < 0) return result;
    const struct timespec settle = {.tv_nsec = SETTLE_NS};
    for (uint64_t until = now_ns() + SETTLE_NS; p->plan->yields == 0 && now_ns() < until;) relax();
    if (p->plan->yields) nanosleep(&settle, NULL);
    atomic_store_explicit(&p->shm->woken_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&p->shm->bell, round, memory_order_release); /* with the sleeper's bell load */
    uint64_t t0 = now_ns(), t1;
    long woken = futex(&p->shm->bell, FUTEX_WAKE, 1, NULL);
    while ((t1 = atomic_load_explicit(&p->shm->woken_ns, memory_order_acquire)) == 0) { /* with the sleeper's woken_ns store */
        result = tick(&p->watch);
        if (result < 0) return result;
    }
    *ns = (double)(t1 - t0);
    return woken == 1; /* 0: it had not fallen asleep yet, or its patience ended: no sample */
}

int floors_futex(double *out, size_t n, const struct floors_plan *plan) {
    struct pair p = {.fds = {-1, -1}};
    int result = pair_open(&p, plan, n, sleeper_far);
    if (result < 0) return result;
    size_t kept = 0;
    for (uint32_t round = 1; kept < n; round++) {
        result = wake_once(&p, round, &out[kept]);
        if (result < 0) return pair_close(&p, result);
        if (now_ns() > p.watch.deadline) return pair_close(&p, -ETIMEDOUT);
        kept += (size_t)result;
    }
    return pair_close(&p, (int)n);
}
