/*
 * Sending a reader to a number or to a time.
 *
 * The segment is found by bisection over the first records of all segments, the record by a walk inside it. Numbers grow by one
 * along the log. Timestamps never fall, unless an importer gave some that do: then the place is the first that qualifies in or
 * behind the last segment whose first record is earlier.
 */
#ifndef CHRONICLE_SEEK_H
#define CHRONICLE_SEEK_H

#include <stdint.h>

#include "chronicle/chronicle_reader.h"
#include "fa_error.h"

/*
 * The next record read is the first with at least that number; *granted is its number. One before the oldest record leads there. The
 * number that comes next leads to the end of the log, and one beyond it is INVALID. After an error the reader stands where it stood.
 */
int chronicle_seek_number(chronicle_reader *reader, uint64_t number, uint64_t *granted, fa_error *err);

/* The same for the first record with at least that timestamp; a time after all of them leads to the end of the log. */
int chronicle_seek_time(chronicle_reader *reader, uint64_t timestamp_ns, uint64_t *granted, fa_error *err);

#endif
