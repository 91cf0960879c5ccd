/*
 * Which segments may go.
 *
 * A reader holds back its committed segment and all behind it while it is live (its heartbeat is at most so old) and not lagging
 * (the head is at most so far ahead). What nobody holds back goes, oldest first, but for the current segment, and the one before
 * it while the current one is empty: somebody must be able to say which number comes next. Only the writer deletes.
 *
 * A reader registers under a shared lock on the directory of readers: it looks for its segment, maps it and makes its file. Retention
 * looks at the files and deletes under the exclusive lock. So either it sees the new reader, or the reader sees what is left.
 */
#ifndef CHRONICLE_RETENTION_H
#define CHRONICLE_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chronicle/chronicle_meta.h"
#include "fa_error.h"

#define CHRONICLE_RETENTION_TTL_NS 10000000000u

typedef struct chronicle_limits {
    uint64_t max_segments; /* that may be there at once; 0: no bound */
    uint64_t ttl_ns;       /* a reader with an older heartbeat is dead */
    uint64_t max_lag;      /* bytes from a reader's place to the head, beyond which it is lagging; 0: no bound */
    uint32_t retains;      /* 1: each roll deletes what may go */
} chronicle_limits;

enum chronicle_standing { CHRONICLE_LIVE, CHRONICLE_DEAD, CHRONICLE_LAGGING, CHRONICLE_DAMAGED };

/* A reader as its file has it. Of a damaged one only the name is known, and it holds nothing back: nobody can resume from it. */
typedef struct chronicle_standing_of {
    char name[CHRONICLE_META_NAME_MAX + 1];
    uint32_t standing;
    uint32_t segment;
    uint64_t offset;
    uint64_t heartbeat_ns;
    uint64_t lag;
} chronicle_standing_of;

typedef struct chronicle_retained {
    uint32_t oldest;  /* that is left */
    uint32_t deleted; /* by this pass */
    uint32_t busy;    /* 1: a reader was registering, and nothing was done */
    uint32_t padding;
    uint64_t readers; /* that there are; those that had room are told */
} chronicle_retained;

/*
 * The head is where the next record goes. Told: at most `room` readers. patient: a reader that stands inside its registration is
 * left to it; else it has stood there for longer than its TTL.
 */
int chronicle_retention_run(int dirfd, uint64_t segment_size, uint32_t head, uint64_t offset, const chronicle_limits *limits, bool patient,
                            chronicle_standing_of *told, size_t room, chronicle_retained *out, fa_error *err);

#endif
