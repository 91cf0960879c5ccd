/*
 * Many queues read as one: each in its own order, complete, and none at the cost of another.
 *
 * By arrival every queue gets an equal share of a call, and calls begin with each queue in turn. By time the record with the least
 * timestamp comes first among those that are there; where nothing is there yet nobody waits for it. The caller adds and removes
 * sources between two calls. A queue that cannot be read is told, as an error of a call that gives nothing; by arrival the others go
 * on in the next call, by time nothing comes before it is readable again or removed, since its next record may be the earliest.
 */
#ifndef CHRONICLE_FANIN_H
#define CHRONICLE_FANIN_H

#include <stddef.h>
#include <stdint.h>

#include "chronicle/chronicle_reader.h"
#include "fa_error.h"

#define CHRONICLE_FANIN_AHEAD 64u

enum chronicle_fanin_order { CHRONICLE_FANIN_ARRIVAL, CHRONICLE_FANIN_TIME };

/* A reader, and what was read ahead of it: records[taken .. count) come next. Zero but for the reader at first. */
typedef struct chronicle_fanin_source {
    chronicle_reader *reader;
    size_t taken;
    size_t count;
    chronicle_record records[CHRONICLE_FANIN_AHEAD];
} chronicle_fanin_source;

/*
 * At most limit records; from[i] is the source of records[i], whose payload is valid until the next call. *end: there was nothing
 * more in any. *turn is the caller's and 0 at first. After an error *bad is the source that it came from.
 */
int chronicle_fanin_read(chronicle_fanin_source *const *sources, size_t count, int order, size_t *turn, chronicle_record *records, uint32_t *from,
                         size_t limit, size_t *got, int *end, size_t *bad, fa_error *err);

#endif
