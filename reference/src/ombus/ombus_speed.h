/*
 * What om_bus costs on this machine, measured in its own language and in the build that is asked: nanoseconds per record.
 *
 * Every function fills an array with one figure per `batch` records, in streams of its own under a name that is not there yet.
 * Processors are those to pin the two sides to, -1 for none.
 */
#ifndef OMBUS_SPEED_H
#define OMBUS_SPEED_H

#include <stddef.h>
#include <stdint.h>

#include "fa_error.h"

typedef struct ombus_speed {
    const char *directory; /* of the streams, or of the WAL */
    uint64_t figures;
    uint64_t batch; /* records per figure */
    uint64_t length;
    uint64_t group; /* records per call; 1: the calls for one */
    uint32_t slot_size;
    uint32_t capacity;
    uint32_t flags;
    uint32_t zero_copy;
    int cpu_near;
    int cpu_far;
    uint64_t deadline_ns;
} ombus_speed;

/* A publish and the poll of it, in one thread. */
int ombus_speed_local(const ombus_speed *plan, double *figures, fa_error *err);
/* From one process to another. */
int ombus_speed_across(const ombus_speed *plan, double *figures, fa_error *err);
/* To another process and back; a figure per round trip. */
int ombus_speed_round_trip(const ombus_speed *plan, double *figures, fa_error *err);
/* Appends to a WAL; flags are those of the WAL. */
int ombus_speed_wal(const ombus_speed *plan, double *figures, fa_error *err);

#endif
