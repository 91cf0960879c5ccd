/*
 * What chronicle costs on this machine, measured in its own language and in the build that is asked: nanoseconds per record.
 *
 * Each makes the queue it is given the path of, which is not there yet. Processors are those to pin the two sides to, -1 for none.
 */
#ifndef CHRONICLE_SPEED_H
#define CHRONICLE_SPEED_H

#include <stddef.h>
#include <stdint.h>

#include "fa_error.h"

typedef struct chronicle_speed {
    uint64_t segment_size;
    uint64_t count;  /* of records */
    uint64_t length; /* of each */
    int cpu_near;
    int cpu_far;
    uint64_t deadline_ns;
} chronicle_speed;

/* Appends one by one, rolls and all, and reading them in batches. */
int chronicle_speed_append_and_read(const char *path, const chronicle_speed *plan, double *append_ns, double *read_ns, fa_error *err);
/* From one process to another, until the last one has been read. */
int chronicle_speed_across(const char *path, const chronicle_speed *plan, double *ns, fa_error *err);
/* From the clock before an append to the clock of the sleeper that reads it; one figure per record. */
int chronicle_speed_wake(const char *path, const chronicle_speed *plan, double *figures, fa_error *err);

#endif
