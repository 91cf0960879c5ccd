#include "chronicle/chronicle_wait.h"

#include <stdbool.h>

#include "chronicle/chronicle_clock.h"
#include "fa_atomics.h"
#include "fa_futex.h"

#define CHRONICLE_WAIT_NAP_MIN_NS 20000u
#define CHRONICLE_WAIT_NAP_MAX_NS 1000000u
#define CHRONICLE_WAIT_BEAT_NS 1000000000u

void chronicle_reader_set_wait(chronicle_reader *reader, int strategy, uint64_t nanoseconds)
{
    reader->wait_strategy = strategy;
    reader->wait_ns = nanoseconds;
}

static bool chronicle_wait_ready(chronicle_reader *const *readers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (chronicle_reader_ready(readers[i])) {
            return true;
        }
    }
    return false;
}

/* False where one of the queues cannot be slept on. */
static bool chronicle_wait_announce(chronicle_reader *const *readers, size_t count, fa_error *err, int *status)
{
    if (count > FA_FUTEX_MANY) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (readers[i]->bell.block == NULL) {
            if (readers[i]->control.fd < 0) {
                return false;
            }
            *status = chronicle_bell_open(&readers[i]->bell, &readers[i]->control, err);
            if (*status != 0) {
                return true;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        chronicle_bell_announce(&readers[i]->bell);
    }
    return true;
}

static int chronicle_wait_sleep(chronicle_reader *const *readers, size_t count, uint64_t until_ns, fa_error *err)
{
    fa_futex_word words[FA_FUTEX_MANY];
    if (count == 1) {
        return chronicle_bell_sleep(&readers[0]->bell, until_ns, err);
    }
    for (size_t i = 0; i < count; i++) {
        words[i] = chronicle_bell_word(&readers[i]->bell);
    }
    return fa_futex_wait_many(chronicle_sleep_many, words, (unsigned)count, until_ns, err);
}

/* Announced, looked again, and slept until a bell or that time. 1: there is something; 0: look again; or status. */
static int chronicle_wait_once(chronicle_reader *const *readers, size_t count, uint64_t until_ns, uint64_t *nap, fa_error *err)
{
    int status = 0;
    if (!chronicle_wait_announce(readers, count, err, &status)) {
        const uint64_t now = chronicle_clock_monotonic_ns(), left = until_ns > now ? until_ns - now : 0;
        chronicle_clock_pause(*nap < left ? *nap : left);
        *nap = *nap < CHRONICLE_WAIT_NAP_MAX_NS / 2 ? *nap * 2 : CHRONICLE_WAIT_NAP_MAX_NS;
        return 0;
    }
    if (status != 0) {
        return status;
    }
    if (!FA_MUTANT(chronicle_wait_unchecked) && chronicle_wait_ready(readers, count)) {
        return 1;
    }
    const int end = chronicle_wait_sleep(readers, count, until_ns, err);
    if (end == FA_FUTEX_LATE && chronicle_wait_ready(readers, count)) {
        readers[0]->late++;
        return 1;
    }
    return end < 0 ? end : 0;
}

/* Nobody who waits is taken for dead. */
static void chronicle_wait_beat(chronicle_reader *const *readers, size_t count, uint64_t now_ns)
{
    for (size_t i = 0; i < count; i++) {
        if (now_ns - readers[i]->beat_ns >= CHRONICLE_WAIT_BEAT_NS) {
            readers[i]->beat_ns = now_ns;
            chronicle_reader_heartbeat(readers[i]);
        }
    }
}

int chronicle_reader_wait_any(chronicle_reader *const *readers, size_t count, uint64_t timeout_ns, fa_error *err)
{
    const uint64_t start = chronicle_clock_monotonic_ns();
    uint64_t nap = CHRONICLE_WAIT_NAP_MIN_NS;
    if (count == 0) {
        return fa_fail(err, FA_INVALID, 0, "chronicle_reader_wait", "there is nobody to wait for");
    }
    for (;;) {
        if (chronicle_wait_ready(readers, count)) {
            return 1;
        }
        const uint64_t now = chronicle_clock_monotonic_ns(), elapsed = now - start;
        if (elapsed >= timeout_ns) {
            return 0;
        }
        chronicle_wait_beat(readers, count, now);
        if (readers[0]->wait_strategy == CHRONICLE_WAIT_BUSY && readers[0]->wait_ns > 0) {
            const uint64_t left = timeout_ns - elapsed;
            chronicle_clock_pause(readers[0]->wait_ns < left ? readers[0]->wait_ns : left);
        } else if (readers[0]->wait_strategy == CHRONICLE_WAIT_BUSY || elapsed < readers[0]->wait_ns) {
            fa_atomics_cpu_relax();
        } else {
            const uint64_t left = timeout_ns - elapsed, slice = left < CHRONICLE_BELL_SLICE_NS ? left : CHRONICLE_BELL_SLICE_NS;
            const int status = chronicle_wait_once(readers, count, now + slice, &nap, err);
            if (status != 0) {
                return status;
            }
        }
    }
}

int chronicle_reader_wait(chronicle_reader *reader, uint64_t timeout_ns, fa_error *err)
{
    return chronicle_reader_wait_any(&reader, 1, timeout_ns, err);
}
