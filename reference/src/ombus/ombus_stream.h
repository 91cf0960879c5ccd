/*
 * The producer of a stream. The caller owns the memory; one thread at a time.
 *
 * A position p may be written while p < limit; limit = least registered tail + capacity, as of the last look at the tails, which
 * is taken only when the limit is reached. Only the producer writes min_tail.
 *
 * Joining consumers: a look stores what it found as min_tail and then looks again; a consumer stores its tail and then reads
 * min_tail, all four sequentially consistent. So either the consumer reads a min_tail beyond its tail and moves up, or the second
 * look finds its tail. Once a consumer has read min_tail <= its tail, nothing from there on is overwritten before it moves on.
 */
#ifndef OMBUS_STREAM_H
#define OMBUS_STREAM_H

#include <stddef.h>

#include "ombus/om_bus.h"
#include "ombus/ombus_shm.h"

typedef struct ombus_stream {
    unsigned char *slots;
    uint64_t mask;
    uint64_t head;  /* the next position */
    uint64_t limit; /* positions below it may be written */
    uint64_t block_ns;
    uint64_t waits; /* publishes that met a full ring */
    uint32_t slot_size;
    uint32_t max_payload;
    bool crc;
    ombus_shm shm;
} ombus_stream;

int ombus_stream_create(ombus_stream *stream, const char *directory, const OmBusStreamConfig *config, fa_error *err);
int ombus_stream_publish(ombus_stream *stream, uint64_t wal_seq, uint8_t wal_type, const void *payload, size_t length, fa_error *err);
/* The first *done are published, also where an error ends the batch. */
int ombus_stream_publish_batch(ombus_stream *stream, const OmBusRecord *records, size_t count, size_t *done, fa_error *err);
/* Closing twice is harmless. */
int ombus_stream_destroy(ombus_stream *stream, fa_error *err);

#endif
