/* One producer, one consumer over the core's atomics: TSan must find nothing and every record must arrive whole. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "fa_core.h"

#define SLOTS 64u
#define RECORDS 100000u

static struct {
    uint64_t seq;
    uint64_t payload[3];
} ring[SLOTS];
static uint64_t consumed;

static void *produce(void *unused)
{
    for (uint64_t n = 0; n < RECORDS; n++) {
        /* Pairs with the release of consumed: the slot is not overwritten while it is read. */
        while (n - FA_LOAD_ACQUIRE(&consumed) >= SLOTS) {
            fa_atomics_cpu_relax();
            (void)sched_yield();
        }
        const uint64_t record[3] = {n, ~n, n * 3};
        FA_COPY(probe_copy, ring[n % SLOTS].payload, record, sizeof record);
        FA_STORE_RELEASE(probe_store_release, &ring[n % SLOTS].seq, n + 1); /* pairs with the acquire of seq in main */
    }
    return unused;
}

int main(void)
{
    pthread_t producer;
    assert(pthread_create(&producer, NULL, produce, NULL) == 0);
    for (uint64_t n = 0; n < RECORDS; n++) {
        while (FA_LOAD_ACQUIRE(&ring[n % SLOTS].seq) != n + 1) {
            fa_atomics_cpu_relax();
            (void)sched_yield();
        }
        const uint64_t *got = ring[n % SLOTS].payload;
        assert(got[0] == n && got[1] == ~n && got[2] == n * 3);
        FA_STORE_RELEASE(probe_store_release, &consumed, n + 1); /* pairs with the acquire of consumed in produce */
    }
    assert(pthread_join(producer, NULL) == 0);
    puts("ok");
    return 0;
}
