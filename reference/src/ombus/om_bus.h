/*
 * om_bus: a stream of WAL records in shared memory, from one producer to a fixed number of consumers.
 *
 * Handles are used by one thread at a time. Functions return 0 (or a count), or a negative OmBusError.
 */
#ifndef OM_BUS_H
#define OM_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "om_bus_error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OM_BUS_FLAG_CRC 1u /* every payload carries a CRC-32, and every poll checks it */
#define OM_BUS_FROM_LATEST 0u
#define OM_BUS_FROM_TAIL UINT64_MAX
#define OM_BUS_BLOCK_FOREVER UINT64_MAX

/* One record as consumers get it. */
typedef struct OmBusRecord {
    uint64_t wal_seq;     /* WAL sequence number */
    uint8_t wal_type;     /* OmWalType */
    uint16_t payload_len; /* bytes of payload */
    const void *payload;  /* valid until the next poll or close */
} OmBusRecord;

typedef struct OmBusStreamConfig {
    const char *stream_name; /* name of the shared-memory object, as "/om-bus-engine-0" */
    uint32_t capacity;       /* slots, a power of two; 0 = 4096 */
    uint32_t slot_size;      /* bytes per slot, a multiple of 8; 0 = 256 */
    uint32_t max_consumers;  /* 0 = 8 */
    uint32_t flags;          /* OM_BUS_FLAG_* */
} OmBusStreamConfig;

typedef struct OmBusStream OmBusStream;

/* Makes the stream. One of the same name whose producer is dead is retired and replaced: its consumers get OM_ERR_BUS_REPLACED. */
OM_BUS_API int om_bus_stream_create(OmBusStream **out, const OmBusStreamConfig *config);

/* Copies one record into the ring. Waits while the ring is full, as long as om_bus_stream_set_block says. */
OM_BUS_API int om_bus_stream_publish(OmBusStream *stream, uint64_t wal_seq, uint8_t wal_type, const void *payload, uint16_t len);

/* The first *done of the records are published, also where an error ends the batch. */
OM_BUS_API int om_bus_stream_publish_batch(OmBusStream *stream, const OmBusRecord *recs, size_t count, size_t *done);

/* How long a publish may wait for room before OM_ERR_BUS_BLOCKED: OM_BUS_BLOCK_FOREVER (as created), or nanoseconds. */
OM_BUS_API void om_bus_stream_set_block(OmBusStream *stream, uint64_t nanoseconds);

/* Retires the stream and removes its name. NULL is harmless. */
OM_BUS_API void om_bus_stream_destroy(OmBusStream *stream);

typedef struct OmBusEndpointConfig {
    const char *stream_name; /* the object to attach to */
    uint32_t consumer_index; /* assigned in advance, below max_consumers */
    bool zero_copy;          /* payloads point into the shared memory; their slots are given back by the next poll or by close */
} OmBusEndpointConfig;

typedef struct OmBusEndpoint OmBusEndpoint;

/*
 * Attaches where this consumer left off in this stream: behind the last record that its tail says is consumed, or at sequence 1
 * where there is none. What the ring no longer holds is reported by the first poll as a gap, never passed over in silence.
 */
OM_BUS_API int om_bus_endpoint_open(OmBusEndpoint **out, const OmBusEndpointConfig *config);

/* As above (OM_BUS_FROM_TAIL), or from a sequence on (a persisted cursor + 1), or OM_BUS_FROM_LATEST for what comes from now on. */
OM_BUS_API int om_bus_endpoint_open_at(OmBusEndpoint **out, const OmBusEndpointConfig *config, uint64_t from_seq);

/*
 * Never blocks. 1: a record. 0: none. OM_ERR_BUS_GAP_DETECTED: a record, before which sequences are missing.
 * OM_ERR_BUS_CRC_MISMATCH: one that is damaged was passed over; only its wal_seq is told. OM_ERR_BUS_REPLACED: everything is read
 * and no more will come.
 */
OM_BUS_API int om_bus_endpoint_poll(OmBusEndpoint *ep, OmBusRecord *rec);

/* Up to max_count records, the very ones repeated polls would give. What a poll would report ends the batch and comes next, alone. */
OM_BUS_API int om_bus_endpoint_poll_batch(OmBusEndpoint *ep, OmBusRecord *recs, size_t max_count);

/* The last sequence consumed; 0 before the first. */
OM_BUS_API uint64_t om_bus_endpoint_wal_seq(const OmBusEndpoint *ep);

/* Records that came again and were skipped. */
OM_BUS_API uint64_t om_bus_endpoint_duplicates(const OmBusEndpoint *ep);

/* Gives the tail back: a closed consumer holds up nobody. NULL is harmless. */
OM_BUS_API void om_bus_endpoint_close(OmBusEndpoint *ep);

#ifdef __cplusplus
}
#endif
#endif
