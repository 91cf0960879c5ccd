/*
 * A consumer of a stream. The caller owns the memory; one thread at a time.
 *
 * The shared tail is where the producer must stop. It is moved by compare and swap only, so that a consumer which the monitor has
 * released, or whose producer has left, learns of it when it moves on, and never takes its place again unasked.
 *
 * With copies the tail follows each poll. Without, `next` runs ahead and the tail follows at the next poll or at close: what was
 * handed out in between cannot be overwritten while the consumer is registered.
 */
#ifndef OMBUS_ENDPOINT_H
#define OMBUS_ENDPOINT_H

#include <stddef.h>

#include "ombus/om_bus.h"
#include "ombus/ombus_shm.h"

typedef struct ombus_endpoint {
    unsigned char *slots;
    ombus_consumer_tail *tail; /* in a map of its own, of its page only, that may be written */
    uint64_t mask;
    uint64_t next;     /* the position that is read next */
    uint64_t held;     /* what the shared tail says while this consumer is registered */
    uint64_t held_expected; /* what was expected there */
    uint64_t expected; /* the wal_seq that comes next; 0 = any */
    uint64_t consumed; /* the last wal_seq that was passed, delivered or damaged */
    unsigned char *copies;
    uint32_t slot_size;
    uint32_t max_payload;
    bool crc;
    bool zero_copy;
    bool lost; /* not registered any more, which a release did, or the producer's leave */
    bool gone; /* the producer has left: the rest may be read, and no tail matters any more */
    uint64_t duplicates;
    uint64_t damaged;
    uint64_t gaps;
    uint64_t missing_from; /* of the last gap: [from, to) */
    uint64_t missing_to;
    uint64_t releases; /* how often it was released */
    uint64_t copy_size;
    void *page;
    uint64_t page_size;
    ombus_shm shm;
} ombus_endpoint;

/* from_seq as om_bus_endpoint_open_at takes it; directory NULL = /dev/shm. */
int ombus_endpoint_open(ombus_endpoint *ep, const char *directory, const OmBusEndpointConfig *config, uint64_t from_seq, fa_error *err);
/* As om_bus_endpoint_poll and om_bus_endpoint_poll_batch. */
int ombus_endpoint_poll(ombus_endpoint *ep, OmBusRecord *record, fa_error *err);
int ombus_endpoint_poll_batch(ombus_endpoint *ep, OmBusRecord *records, size_t limit, fa_error *err);
/* Their payloads one after another, into memory that has room for all. */
void ombus_record_gather(const OmBusRecord *records, size_t count, void *to);
/* Closing twice is harmless. */
int ombus_endpoint_close(ombus_endpoint *ep, fa_error *err);

#endif
