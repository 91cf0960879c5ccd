/*
 * What a reader can tell of its writer without a word from it. Looking changes nothing and takes no lock.
 */
#ifndef CHRONICLE_STATUS_H
#define CHRONICLE_STATUS_H

#include <stdint.h>

#include "chronicle/chronicle_reader.h"
#include "fa_error.h"

/* LOST: writer.lock names nobody who lives. STALE: somebody lives, and its heartbeat is older than the TTL. */
enum chronicle_writer_state { CHRONICLE_WRITER_ACTIVE, CHRONICLE_WRITER_STALE, CHRONICLE_WRITER_LOST };

/* The first that holds, of these: what is to be read next has been deleted; LOST; STALE. */
enum chronicle_disconnect { CHRONICLE_CONNECTED, CHRONICLE_SEGMENT_MISSING, CHRONICLE_LOCK_LOST, CHRONICLE_HEARTBEAT_STALE };

typedef struct chronicle_writer_status {
    uint32_t state;
    uint32_t pid; /* that the lock names; 0: none */
    uint64_t epoch;
    uint64_t heartbeat_ns;
    uint64_t age_ns; /* of the heartbeat */
} chronicle_writer_status;

int chronicle_status_writer(const chronicle_reader *reader, uint64_t ttl_ns, chronicle_writer_status *out, fa_error *err);

/* A chronicle_disconnect, or status. */
int chronicle_status_disconnect(const chronicle_reader *reader, uint64_t ttl_ns, fa_error *err);

#endif
