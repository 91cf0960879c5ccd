#include "ombus/ombus_speed.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "chronicle/chronicle_clock.h"
#include "fa_atomics.h"
#include "fa_persist.h"
#include "ombus/ombus.h"

#define OMBUS_SPEED_PAYLOAD 4096u
#define OMBUS_SPEED_GROUP 256u
#define OMBUS_SPEED_LOOKS 4096u /* empty polls from one look at the clock to the next */

/* Streams and endpoints, of one direction or of two. */
typedef struct ombus_speed_lines {
    ombus_stream stream[2];
    ombus_endpoint endpoint[2];
    int count;
} ombus_speed_lines;

static void ombus_speed_pin(int cpu, cpu_set_t *before)
{
    cpu_set_t one;
    if (before != NULL && sched_getaffinity(0, sizeof *before, before) != 0) {
        CPU_ZERO(before);
    }
    if (cpu >= 0) {
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one); /* a refusal leaves us unpinned: noisier, still true */
    }
}

static void ombus_speed_unpin(const cpu_set_t *before)
{
    if (CPU_COUNT(before) != 0) {
        (void)sched_setaffinity(0, sizeof *before, before);
    }
}

static void ombus_speed_close(ombus_speed_lines *lines)
{
    for (int i = 0; i < lines->count; i++) {
        (void)ombus_endpoint_close(&lines->endpoint[i], NULL);
        (void)ombus_stream_destroy(&lines->stream[i], NULL);
    }
}

static int ombus_speed_open(ombus_speed_lines *lines, const ombus_speed *plan, int count, fa_error *err)
{
    static const char *const names[2] = {"/there", "/back"};
    lines->count = 0;
    if (plan->figures == 0 || plan->batch == 0 || plan->length > OMBUS_SPEED_PAYLOAD || plan->group == 0 || plan->group > OMBUS_SPEED_GROUP) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_INVALID, 0, "ombus_speed", "at least one figure, of at least one record of at most %u bytes, "
                            "1 to %u at once", OMBUS_SPEED_PAYLOAD, OMBUS_SPEED_GROUP);
    }
    int status = 0;
    for (int i = 0; i < count && status == 0; i++) {
        const OmBusStreamConfig stream = {.stream_name = names[i], .capacity = plan->capacity, .slot_size = plan->slot_size, .max_consumers = 1, .flags = plan->flags};
        const OmBusEndpointConfig endpoint = {.stream_name = names[i], .zero_copy = plan->zero_copy != 0};
        status = ombus_stream_create(&lines->stream[i], plan->directory, &stream, err);
        if (status == 0) {
            lines->stream[i].block_ns = plan->deadline_ns;
            status = ombus_endpoint_open(&lines->endpoint[i], plan->directory, &endpoint, 1, err);
            lines->count += 1;
        }
    }
    if (status != 0) {
        ombus_speed_close(lines);
    }
    return status;
}

static int ombus_speed_publish(ombus_stream *stream, const ombus_speed *plan, uint64_t *seq, fa_error *err)
{
    unsigned char payload[OMBUS_SPEED_PAYLOAD] = {0};
    OmBusRecord records[OMBUS_SPEED_GROUP];
    size_t done;
    int status = 0;
    if (plan->group == 1) {
        for (uint64_t i = 0; i < plan->batch && status == 0; i++) {
            status = ombus_stream_publish(stream, ++*seq, 0x80, payload, plan->length, err);
        }
        return status;
    }
    for (uint64_t left = plan->batch; left > 0 && status == 0;) {
        const uint64_t now = left < plan->group ? left : plan->group;
        for (uint64_t i = 0; i < now; i++) {
            records[i] = (OmBusRecord){.wal_seq = ++*seq, .wal_type = 0x80, .payload_len = (uint16_t)plan->length, .payload = payload};
        }
        status = ombus_stream_publish_batch(stream, records, now, &done, err);
        left -= now;
    }
    return status;
}

/* Polls until so many have come, and looks at the end of each. */
static int ombus_speed_poll(ombus_endpoint *endpoint, const ombus_speed *plan, uint64_t count, fa_error *err)
{
    OmBusRecord records[OMBUS_SPEED_GROUP];
    uint64_t until = 0;
    uint32_t looks = 0;
    while (count > 0) {
        const int got = plan->group == 1 ? ombus_endpoint_poll(endpoint, records, err)
                                         : ombus_endpoint_poll_batch(endpoint, records, plan->group < count ? plan->group : count, err);
        if (got < 0) {
            return got;
        }
        count -= (uint64_t)got;
        if (got == 0) {
            fa_atomics_cpu_relax();
            if (++looks % OMBUS_SPEED_LOOKS == 0) {
                const uint64_t now = chronicle_clock_monotonic_ns();
                until = until == 0 ? now + plan->deadline_ns : until;
                if (now > until) {
                    return ombus_refuse(OM_ERR_BUS_BLOCKED, err, FA_TIMEOUT, 0, "ombus_speed", "nothing came in time, or the other side died");
                }
            }
        }
        for (int i = 0; i < got; i++) {
            __asm__ volatile("" : : "r"(records[i].payload), "r"(records[i].wal_seq) : "memory");
        }
    }
    return 0;
}

int ombus_speed_local(const ombus_speed *plan, double *figures, fa_error *err)
{
    ombus_speed_lines lines;
    cpu_set_t before;
    uint64_t seq = 0;
    unsigned char payload[OMBUS_SPEED_PAYLOAD] = {0};
    OmBusRecord record;
    int status = ombus_speed_open(&lines, plan, 1, err);
    if (status != 0) {
        return status;
    }
    ombus_speed_pin(plan->cpu_near, &before);
    for (uint64_t f = 0; f < plan->figures && status >= 0; f++) {
        const uint64_t start = chronicle_clock_monotonic_ns();
        for (uint64_t i = 0; i < plan->batch && status >= 0; i++) {
            status = ombus_stream_publish(&lines.stream[0], ++seq, 0x80, payload, plan->length, err);
            if (status == 0) {
                status = ombus_endpoint_poll(&lines.endpoint[0], &record, err);
                __asm__ volatile("" : : "r"(record.payload) : "memory");
            }
        }
        figures[f] = (double)(chronicle_clock_monotonic_ns() - start) / (double)plan->batch;
    }
    ombus_speed_unpin(&before);
    ombus_speed_close(&lines);
    return status < 0 ? status : 0;
}

static int ombus_speed_echo(ombus_speed_lines *lines, const ombus_speed *plan, uint64_t rounds, fa_error *err)
{
    ombus_speed one = *plan;
    uint64_t seq = 0;
    int status = 0;
    one.batch = one.group = 1;
    for (uint64_t i = 0; i < rounds && status == 0; i++) {
        status = ombus_speed_poll(&lines->endpoint[0], &one, 1, err);
        if (status == 0) {
            status = ombus_speed_publish(&lines->stream[1], &one, &seq, err);
        }
    }
    return status;
}

/* The far side, which takes everything, or answers each record. Its exit code says how it went. */
static pid_t ombus_speed_fork(ombus_speed_lines *lines, const ombus_speed *plan)
{
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        fa_error err;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(2);
        }
        ombus_speed_pin(plan->cpu_far, NULL);
        const uint64_t count = plan->figures * plan->batch;
        const int status = lines->count == 2 ? ombus_speed_echo(lines, plan, count, &err) : ombus_speed_poll(&lines->endpoint[0], plan, count, &err);
        _exit(status == 0 ? 0 : 1);
    }
    return child;
}

static int ombus_speed_near(ombus_speed_lines *lines, const ombus_speed *plan, double *figures, fa_error *err)
{
    ombus_speed one = *plan;
    uint64_t seq = 0, start = chronicle_clock_monotonic_ns();
    int status = 0;
    one.batch = one.group = 1;
    for (uint64_t f = 0; f < plan->figures && status == 0; f++) {
        if (lines->count == 1) {
            status = ombus_speed_publish(&lines->stream[0], plan, &seq, err);
        } else {
            status = ombus_speed_publish(&lines->stream[0], &one, &seq, err);
            if (status == 0) {
                status = ombus_speed_poll(&lines->endpoint[1], &one, 1, err);
            }
        }
        const uint64_t now = chronicle_clock_monotonic_ns();
        figures[f] = (double)(now - start) / (double)plan->batch;
        start = now;
    }
    return status;
}

static int ombus_speed_two(const ombus_speed *plan, int count, double *figures, fa_error *err)
{
    ombus_speed_lines lines;
    cpu_set_t before;
    int said = 0;
    int status = ombus_speed_open(&lines, plan, count, err);
    if (status != 0) {
        return status;
    }
    const pid_t child = ombus_speed_fork(&lines, plan);
    if (child < 0) {
        status = ombus_refuse(OM_ERR_BUS_INIT, err, FA_IO, errno, "ombus_speed", "fork");
    } else {
        ombus_speed_pin(plan->cpu_near, &before);
        status = ombus_speed_near(&lines, plan, figures, err);
        ombus_speed_unpin(&before);
        if (status != 0) {
            (void)kill(child, SIGKILL);
        }
        while (waitpid(child, &said, 0) < 0 && errno == EINTR) {
        }
        if (status == 0 && said != 0) {
            status = ombus_refuse(OM_ERR_BUS_INIT, err, FA_KILLED, 0, "ombus_speed", "the other side did not get everything");
        }
    }
    ombus_speed_close(&lines);
    return status;
}

int ombus_speed_across(const ombus_speed *plan, double *figures, fa_error *err) { return ombus_speed_two(plan, 1, figures, err); }

int ombus_speed_round_trip(const ombus_speed *plan, double *figures, fa_error *err)
{
    ombus_speed one = *plan;
    one.batch = 1;
    return ombus_speed_two(&one, 2, figures, err);
}

int ombus_speed_wal(const ombus_speed *plan, double *figures, fa_error *err)
{
    char path[4096];
    const unsigned char payload[OMBUS_SPEED_PAYLOAD] = {0};
    ombus_wal wal;
    cpu_set_t before;
    uint64_t seq;
    (void)snprintf(path, sizeof path, "%s/speed-%%u.wal", plan->directory);
    const OmWalConfig config = {.filename = path, .flags = plan->flags};
    int status = plan->length > OMBUS_SPEED_PAYLOAD ? OM_ERR_BUS_INIT : ombus_wal_open(&wal, &config, err);
    if (status != 0) {
        return status;
    }
    ombus_speed_pin(plan->cpu_near, &before);
    for (uint64_t f = 0; f < plan->figures && status == 0; f++) {
        const uint64_t start = chronicle_clock_monotonic_ns();
        for (uint64_t i = 0; i < plan->batch && status == 0; i++) {
            status = ombus_wal_append(&wal, 0x80, payload, plan->length, &seq, err);
        }
        figures[f] = (double)(chronicle_clock_monotonic_ns() - start) / (double)plan->batch;
    }
    ombus_speed_unpin(&before);
    const int closed = ombus_wal_close(&wal, status == 0 ? err : NULL);
    return status != 0 ? status : closed;
}
