/*
 * One producer and three consumers of a stream in the directory given, in threads: one copies, one does not, one comes and goes. With
 * "release" as second argument a monitor releases whoever is behind at any time; without, nothing may ever be missing.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fa_core.h"
#include "ombus/ombus.h"
#include "one_map.h"

#define RECORDS 30000u
#define CAPACITY 64u
#define SLOT_SIZE 256u
#define NAME "/stream"

static char *place;
static bool releasing;
static uint64_t finished; /* consumers that have read the last record */

static uint16_t fill(unsigned char *payload, uint64_t seq)
{
    const uint16_t length = (uint16_t)(8 + seq * 37 % 224);
    memset(payload, (int)(seq & 0xFF), length);
    memcpy(payload, &seq, sizeof seq);
    return length;
}

static void say(const char *what, int status, const fa_error *err)
{
    (void)fprintf(stderr, "%s: %d: %s: %s\n", what, status, err->where, err->message);
    abort();
}

static bool whole(const OmBusRecord *record)
{
    unsigned char expected[SLOT_SIZE];
    const uint16_t length = fill(expected, record->wal_seq);
    return record->payload_len == length && memcmp(record->payload, expected, length) == 0;
}

static void open_at(ombus_endpoint *ep, uint32_t index, bool zero_copy, uint64_t from)
{
    const OmBusEndpointConfig config = {.stream_name = NAME, .consumer_index = index, .zero_copy = zero_copy};
    fa_error err;
    const int status = ombus_endpoint_open(ep, place, &config, from, &err);
    if (status != 0) {
        say("open", status, &err);
    }
}

/* Polls up to `most` records from *next on. What is missing is told, and only where somebody is released. */
static void consume(ombus_endpoint *ep, uint64_t *next, uint64_t most)
{
    OmBusRecord records[24];
    fa_error err;
    bool doubtful = false;
    for (uint64_t taken = 0; taken < most && *next <= RECORDS;) {
        const size_t limit = taken % 3 == 0 ? 1 : 1 + taken % 24;
        int got = limit == 1 ? ombus_endpoint_poll(ep, records, &err) : ombus_endpoint_poll_batch(ep, records, limit, &err);
        if (got == OM_ERR_BUS_RELEASED) {
            assert(releasing);
            *next = ep->expected;
            doubtful = false;
            continue;
        }
        assert(!doubtful);
        if (got == OM_ERR_BUS_GAP_DETECTED) {
            assert(releasing && ep->missing_from == *next && ep->missing_to > *next);
            *next = ep->missing_to;
            got = 1;
        }
        if (got < 0) {
            say("poll", got, &err);
        }
        if (got == 0) {
            (void)sched_yield();
        }
        for (int i = 0; i < got; i++, (*next)++, taken++) {
            assert(records[i].wal_seq == *next && records[i].wal_type == 0x80);
            if (!whole(&records[i])) {
                assert(releasing && ep->zero_copy); /* a copy is never torn; for what is not copied the next poll must tell */
                doubtful = true;
            }
        }
    }
}

static void done(void) { (void)__atomic_fetch_add(&finished, 1, __ATOMIC_ACQ_REL); }

static void *stay(void *zero_copy)
{
    ombus_endpoint ep;
    uint64_t next = 1;
    open_at(&ep, zero_copy != NULL ? 1 : 0, zero_copy != NULL, 1);
    consume(&ep, &next, UINT64_MAX);
    done();
    assert(ombus_endpoint_close(&ep, NULL) == 0 && ombus_endpoint_close(&ep, NULL) == 0);
    return NULL;
}

/* Between its visits it holds nobody up, so it may miss something, and is told what. */
static void *come_and_go(void *nothing)
{
    uint64_t next = 1;
    while (next <= RECORDS) {
        ombus_endpoint ep;
        OmBusRecord record;
        fa_error err;
        open_at(&ep, 2, false, next);
        int got;
        while ((got = ombus_endpoint_poll(&ep, &record, &err)) == 0) {
            (void)sched_yield();
        }
        if (got == OM_ERR_BUS_GAP_DETECTED) {
            assert(ep.missing_from == next);
            next = ep.missing_to;
            got = 1;
        }
        if (got < 0) {
            say("visit", got, &err);
        }
        assert(record.wal_seq == next && whole(&record));
        next++;
        consume(&ep, &next, 50);
        assert(ombus_endpoint_close(&ep, NULL) == 0);
    }
    done();
    return nothing;
}

static void *release(void *nothing)
{
    ombus_monitor monitor;
    fa_error err;
    int status = ombus_monitor_open(&monitor, place, NAME, &err);
    for (uint64_t now = 1; status >= 0 && __atomic_load_n(&finished, __ATOMIC_ACQUIRE) < 3; now++) {
        status = ombus_monitor_look(&monitor, now, 0, &err);
        for (uint32_t i = 0; i < 3 && status > 0; i++) {
            if (monitor.seen[i].behind > CAPACITY / 2) {
                (void)ombus_monitor_release(&monitor, i, &err);
            }
        }
        (void)sched_yield();
    }
    if (status < 0) {
        say("monitor", status, &err);
    }
    assert(ombus_monitor_close(&monitor, NULL) == 0);
    return nothing;
}

static void produce(ombus_stream *stream)
{
    unsigned char payloads[16][SLOT_SIZE];
    OmBusRecord records[16];
    fa_error err;
    size_t put;
    for (uint64_t seq = 1; seq <= RECORDS;) {
        const size_t group = seq % 5 == 0 ? 16 : 1;
        for (size_t i = 0; i < group; i++) {
            records[i] = (OmBusRecord){.wal_seq = seq + i, .wal_type = 0x80, .payload_len = fill(payloads[i], seq + i), .payload = payloads[i]};
        }
        const size_t now = RECORDS - seq + 1 < group ? RECORDS - seq + 1 : group;
        const int status = now == 1 ? ombus_stream_publish(stream, seq, 0x80, payloads[0], records[0].payload_len, &err)
                                    : ombus_stream_publish_batch(stream, records, now, &put, &err);
        if (status != 0) {
            say("publish", status, &err);
        }
        seq += now;
    }
}

int main(int argc, char **argv)
{
    ombus_stream stream;
    pthread_t threads[4];
    fa_error err;
    char yes[] = "yes";
    assert(argc == 2 || argc == 3);
    place = argv[1];
    releasing = argc == 3;
    const OmBusStreamConfig config = {.stream_name = NAME, .capacity = CAPACITY, .slot_size = SLOT_SIZE, .max_consumers = 3, .flags = releasing ? 0 : OM_BUS_FLAG_CRC};
    int status = ombus_stream_create(&stream, place, &config, &err);
    if (status != 0) {
        say("create", status, &err);
    }
    assert(pthread_create(&threads[0], NULL, stay, NULL) == 0);
    assert(pthread_create(&threads[1], NULL, stay, yes) == 0);
    while (FA_LOAD_ACQUIRE(&ombus_shm_tail(&stream.shm, 0)->tail) == OMBUS_TAIL_UNREGISTERED ||
           FA_LOAD_ACQUIRE(&ombus_shm_tail(&stream.shm, 1)->tail) == OMBUS_TAIL_UNREGISTERED) {
        (void)sched_yield();
    }
    assert(pthread_create(&threads[2], NULL, come_and_go, NULL) == 0);
    assert(!releasing || pthread_create(&threads[3], NULL, release, NULL) == 0);
    produce(&stream);
    for (int i = 0; i < (releasing ? 4 : 3); i++) {
        assert(pthread_join(threads[i], NULL) == 0);
    }
    assert(ombus_stream_destroy(&stream, &err) == 0 && ombus_stream_destroy(&stream, &err) == 0);
    puts("ok");
    return 0;
}
