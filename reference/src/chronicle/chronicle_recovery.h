/*
 * What a writer does to a queue that was left behind, before it appends.
 *
 * The log ends at the first record that is not there or not valid. That place is filled with one PAD to the end of its
 * segment, every segment up to it is sealed, and writing goes on in a segment that no reader has seen. What lies beyond the
 * end was never synced: power loss may have kept a later page and lost an earlier one, and a log with a hole is no log. Such
 * segments are set aside as %09u.q.lost and replaced by hollow ones, so that no (segment, offset) ever means two records.
 *
 * The scan starts at the checkpoint of index.meta, everything before which was made durable, or else at the oldest segment.
 * Damage before the checkpoint is left to the readers, who report it. Killed anywhere, recovery can run again.
 */
#ifndef CHRONICLE_RECOVERY_H
#define CHRONICLE_RECOVERY_H

#include <stdint.h>

#include "fa_error.h"

typedef struct chronicle_recovery {
    uint64_t next_seq;
    uint64_t last_ns;  /* the greatest timestamp among the records that were looked at */
    uint32_t next;     /* the segment to go on in; it has been made */
    uint32_t oldest;   /* that is there */
    uint32_t unsynced; /* the first segment that a sync has to cover */
} chronicle_recovery;

int chronicle_recovery_run(int dirfd, uint64_t segment_size, chronicle_recovery *out, fa_error *err);

#endif
