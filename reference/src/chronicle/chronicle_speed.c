#include "chronicle/chronicle_speed.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "chronicle/chronicle.h"
#include "chronicle/chronicle_clock.h"
#include "fa_atomics.h"
#include "fa_persist.h"

#define CHRONICLE_SPEED_BATCH 256u
#define CHRONICLE_SPEED_PAYLOAD 4096u
#define CHRONICLE_SPEED_SETTLE_NS 60000u /* a sleeper that has announced itself is asleep by then */

/* One side sets, the other waits for; in memory that both share. */
typedef struct chronicle_speed_shared {
    uint64_t done;
    uint64_t woken_ns;
} chronicle_speed_shared;

static void chronicle_speed_pin(int cpu)
{
    cpu_set_t one;
    if (cpu >= 0) {
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one); /* a refusal leaves us unpinned: noisier, still true */
    }
}

static int chronicle_speed_write(chronicle_writer *writer, const chronicle_speed *plan, fa_error *err)
{
    unsigned char payload[CHRONICLE_SPEED_PAYLOAD] = {0};
    uint64_t seq;
    int status = 0;
    for (uint64_t i = 0; i < plan->count && status == 0; i++) {
        payload[0] = (unsigned char)i;
        status = chronicle_writer_append(writer, 1, 0, payload, plan->length, &seq, err);
    }
    return status;
}

/* Reads so many and looks into each; yields the sum, that nothing of it is left out. */
static int chronicle_speed_drain(chronicle_reader *reader, uint64_t count, uint64_t until_ns, uint64_t *sum, fa_error *err)
{
    chronicle_record records[CHRONICLE_SPEED_BATCH];
    uint64_t seen = 0;
    while (seen < count) {
        size_t got;
        int end;
        const int status = chronicle_reader_read(reader, records, CHRONICLE_SPEED_BATCH, &got, &end, err);
        if (status != 0) {
            return status;
        }
        for (size_t i = 0; i < got; i++) {
            *sum += *(const unsigned char *)records[i].payload;
        }
        seen += got;
        if (end) {
            fa_atomics_cpu_relax();
            if (chronicle_clock_monotonic_ns() > until_ns) {
                return fa_fail(err, FA_TIMEOUT, 0, "chronicle_speed", "%llu of %llu records came in time", (unsigned long long)seen,
                               (unsigned long long)count);
            }
        }
    }
    return 0;
}

static int chronicle_speed_begin(chronicle_writer *writer, const char *path, const chronicle_speed *plan, fa_error *err)
{
    if (plan->count == 0 || plan->length == 0 || plan->length > CHRONICLE_SPEED_PAYLOAD) {
        return fa_fail(err, FA_INVALID, 0, "chronicle_speed", "records of 1 to %u bytes, and at least one of them", CHRONICLE_SPEED_PAYLOAD);
    }
    return chronicle_writer_open(writer, path, plan->segment_size, err);
}

int chronicle_speed_append_and_read(const char *path, const chronicle_speed *plan, double *append_ns, double *read_ns, fa_error *err)
{
    chronicle_writer writer;
    chronicle_reader reader;
    cpu_set_t before;
    uint64_t sum = 0;
    int status = chronicle_speed_begin(&writer, path, plan, err);
    if (status != 0) {
        return status;
    }
    const bool pinned = plan->cpu_near >= 0 && sched_getaffinity(0, sizeof before, &before) == 0;
    chronicle_speed_pin(plan->cpu_near);
    const uint64_t first = chronicle_clock_monotonic_ns();
    status = chronicle_speed_write(&writer, plan, err);
    const uint64_t second = chronicle_clock_monotonic_ns();
    if (status == 0) {
        status = chronicle_reader_open(&reader, path, "speed", 0, err);
    }
    if (status == 0) {
        const uint64_t third = chronicle_clock_monotonic_ns();
        status = chronicle_speed_drain(&reader, plan->count, third + plan->deadline_ns, &sum, err);
        *append_ns = (double)(second - first) / (double)plan->count;
        *read_ns = (double)(chronicle_clock_monotonic_ns() - third) / (double)plan->count;
        (void)chronicle_reader_close(&reader, NULL);
    }
    if (pinned) {
        (void)sched_setaffinity(0, sizeof before, &before);
    }
    (void)chronicle_writer_close(&writer, NULL);
    return status;
}

/* The far side: never returns. */
typedef void chronicle_speed_side(chronicle_reader *reader, const chronicle_speed *plan, chronicle_speed_shared *shared);

static void chronicle_speed_take(chronicle_reader *reader, const chronicle_speed *plan, chronicle_speed_shared *shared)
{
    uint64_t sum = 0;
    fa_error err;
    if (chronicle_speed_drain(reader, plan->count, chronicle_clock_monotonic_ns() + plan->deadline_ns, &sum, &err) == 0) {
        FA_BARE_STORE_RELEASE(&shared->done, sum + 1); /* pairs with the acquire in chronicle_speed_await */
    }
}

static void chronicle_speed_sleep(chronicle_reader *reader, const chronicle_speed *plan, chronicle_speed_shared *shared)
{
    chronicle_record record;
    fa_error err;
    chronicle_reader_set_wait(reader, CHRONICLE_WAIT_HYBRID, 0);
    for (uint64_t i = 1; i <= plan->count; i++) {
        size_t got = 0;
        int end;
        while (got == 0) {
            if (chronicle_reader_read(reader, &record, 1, &got, &end, &err) != 0 ||
                (got == 0 && chronicle_reader_wait(reader, plan->deadline_ns, &err) != 1)) {
                return;
            }
        }
        FA_BARE_STORE_RELAXED(&shared->woken_ns, chronicle_clock_monotonic_ns());
        FA_BARE_STORE_RELEASE(&shared->done, i); /* pairs with the acquire in chronicle_speed_await */
    }
}

static int chronicle_speed_await(const chronicle_speed_shared *shared, uint64_t at_least, uint64_t until_ns, fa_error *err)
{
    while (FA_LOAD_ACQUIRE(&shared->done) < at_least) { /* pairs with the releases of the far side */
        fa_atomics_cpu_relax();
        if (chronicle_clock_monotonic_ns() > until_ns) {
            return fa_fail(err, FA_TIMEOUT, 0, "chronicle_speed", "the reading process did not answer in time, or died");
        }
    }
    return 0;
}

static pid_t chronicle_speed_fork(chronicle_reader *reader, const chronicle_speed *plan, chronicle_speed_shared *shared, chronicle_speed_side *side)
{
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            chronicle_speed_pin(plan->cpu_far);
            side(reader, plan, shared);
        }
        _exit(0);
    }
    return child;
}

static int chronicle_speed_rings(chronicle_writer *writer, const chronicle_speed *plan, const chronicle_speed_shared *shared, double *figures,
                                 fa_error *err)
{
    const unsigned char payload[CHRONICLE_SPEED_PAYLOAD] = {0};
    const uint64_t until = chronicle_clock_monotonic_ns() + plan->deadline_ns;
    uint64_t seq;
    int status = 0;
    for (uint64_t i = 0; i < plan->count && status == 0; i++) {
        while (FA_LOAD_ACQUIRE(&writer->control.block->waiters_pending) == 0 && chronicle_clock_monotonic_ns() < until) {
            fa_atomics_cpu_relax();
        }
        const uint64_t announced = chronicle_clock_monotonic_ns();
        while (chronicle_clock_monotonic_ns() - announced < CHRONICLE_SPEED_SETTLE_NS) {
            fa_atomics_cpu_relax();
        }
        const uint64_t start = chronicle_clock_monotonic_ns();
        status = chronicle_writer_append(writer, 1, 0, payload, plan->length, &seq, err);
        if (status == 0) {
            status = chronicle_speed_await(shared, i + 1, until, err);
        }
        figures[i] = (double)(FA_LOAD_RELAXED(&shared->woken_ns) - start);
    }
    return status;
}

/* This side of two processes. figures NULL: all records at once, and *ns is what one of them took. */
static int chronicle_speed_near(chronicle_writer *writer, const chronicle_speed *plan, const chronicle_speed_shared *shared, double *ns,
                                double *figures, fa_error *err)
{
    if (figures != NULL) {
        return chronicle_speed_rings(writer, plan, shared, figures, err);
    }
    const uint64_t start = chronicle_clock_monotonic_ns();
    int status = chronicle_speed_write(writer, plan, err);
    if (status == 0) {
        status = chronicle_speed_await(shared, 1, start + plan->deadline_ns, err);
    }
    *ns = (double)(chronicle_clock_monotonic_ns() - start) / (double)plan->count;
    return status;
}

static int chronicle_speed_pair(chronicle_writer *writer, const char *path, const chronicle_speed *plan, chronicle_speed_shared *shared,
                                double *ns, double *figures, fa_error *err)
{
    chronicle_reader reader;
    cpu_set_t before;
    int status = chronicle_reader_open(&reader, path, "speed", 0, err);
    if (status != 0) {
        return status;
    }
    const pid_t child = chronicle_speed_fork(&reader, plan, shared, figures == NULL ? chronicle_speed_take : chronicle_speed_sleep);
    if (child < 0) {
        status = fa_persist_failed(err, errno, "chronicle_speed", "fork", NULL);
    } else {
        const bool pinned = plan->cpu_near >= 0 && sched_getaffinity(0, sizeof before, &before) == 0;
        chronicle_speed_pin(plan->cpu_near);
        status = chronicle_speed_near(writer, plan, shared, ns, figures, err);
        if (pinned) {
            (void)sched_setaffinity(0, sizeof before, &before);
        }
        (void)kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    (void)chronicle_reader_close(&reader, NULL);
    return status;
}

static int chronicle_speed_two(const char *path, const chronicle_speed *plan, double *ns, double *figures, fa_error *err)
{
    chronicle_writer writer;
    chronicle_speed_shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return fa_persist_failed(err, errno, "chronicle_speed", "mmap", NULL);
    }
    int status = chronicle_speed_begin(&writer, path, plan, err);
    if (status == 0) {
        status = chronicle_speed_pair(&writer, path, plan, shared, ns, figures, err);
        (void)chronicle_writer_close(&writer, NULL);
    }
    (void)munmap(shared, sizeof *shared);
    return status;
}

int chronicle_speed_across(const char *path, const chronicle_speed *plan, double *ns, fa_error *err)
{
    return chronicle_speed_two(path, plan, ns, NULL, err);
}

int chronicle_speed_wake(const char *path, const chronicle_speed *plan, double *figures, fa_error *err)
{
    return chronicle_speed_two(path, plan, NULL, figures, err);
}
