/*
 * One reader of a queue, under a name that keeps its place. The caller owns the memory; one thread at a time.
 *
 * A reader goes on to the next segment only where its offset leaves no room for a header, the segment is sealed and the next
 * file is there. Whatever the files hold, a call ends: with records, with the end, or with an error.
 */
#ifndef CHRONICLE_READER_H
#define CHRONICLE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chronicle/chronicle_bell.h"
#include "chronicle/chronicle_control.h"
#include "chronicle/chronicle_meta.h"
#include "chronicle/chronicle_record.h"
#include "chronicle/chronicle_segment.h"
#include "fa_error.h"

enum chronicle_wait_strategy { CHRONICLE_WAIT_HYBRID, CHRONICLE_WAIT_BUSY };

typedef struct chronicle_reader {
    chronicle_segment segment;
    uint64_t offset; /* of the next record */
    uint64_t segment_size;
    uint64_t next_seq;  /* as far as known when it was opened */
    uint32_t was_reset; /* 1: the committed position lay beyond the end of the log or inside what recovery cut off */
    uint32_t missing;   /* 1: the segment it has to read next has been deleted; it may go to the oldest */
    int wait_strategy;
    uint64_t wait_ns;
    uint64_t late; /* sleeps that found a record only when their time was over: it came in that instant, or its writer died before the wake */
    chronicle_control control;
    chronicle_bell bell;
    chronicle_meta meta;
    uint64_t beat_ns; /* when a wait last said that this reader lives */
    int dirfd;
} chronicle_reader;

/*
 * Resumes at the committed position of that name, or starts at the oldest segment. MISSING: no queue. Where the segment of the
 * committed position has been deleted, the reader is open and `missing`: each read says so until it is sent elsewhere.
 */
int chronicle_reader_open(chronicle_reader *reader, const char *path, const char *name, uint64_t local_size, fa_error *err);

/*
 * At most limit records; their payloads lie in the map and are valid until the next call. 0 records: *end says that there was
 * nothing more. A batch ends at the end of a segment, too. After CORRUPT the reader stands before the record it cannot read.
 * MISSING, SegmentMissing: what comes next has been deleted, since this reader was taken for dead or lagging.
 */
int chronicle_reader_read(chronicle_reader *reader, chronicle_record *records, size_t limit, size_t *count, int *end, fa_error *err);

/* Whether a read would do more than say END. */
bool chronicle_reader_ready(const chronicle_reader *reader);

/* Everything before (segment, offset) is done with. */
int chronicle_reader_commit(chronicle_reader *reader, uint32_t segment, uint64_t offset, fa_error *err);

/* The next read begins at that place between two records. MISSING: its segment is not there. INVALID: no such place. */
int chronicle_reader_seek(chronicle_reader *reader, uint32_t segment, uint64_t offset, fa_error *err);

/* The next read begins at that place of that segment, which becomes the reader's. For those who have found it. */
int chronicle_reader_stand(chronicle_reader *reader, const chronicle_segment *to, uint64_t offset, fa_error *err);

/* Where the next read begins: a place to commit. */
void chronicle_reader_where(const chronicle_reader *reader, uint32_t *segment, uint64_t *offset);

/* Whether what is to be read next has been deleted, as the next read but one may say. */
int chronicle_reader_gone(const chronicle_reader *reader, bool *gone, fa_error *err);

/* The next read begins with the oldest record there is. */
int chronicle_reader_seek_oldest(chronicle_reader *reader, fa_error *err);

/* Says that this reader lives, which holds its segments; any thread, while it is open. Waits do it once a second, as commits do. */
void chronicle_reader_heartbeat(chronicle_reader *reader);

/* Where the writer says it is: a hint. */
int chronicle_reader_writer_position(const chronicle_reader *reader, uint32_t *segment, uint64_t *offset, fa_error *err);
uint64_t chronicle_reader_writer_epoch(const chronicle_reader *reader);
uint64_t chronicle_reader_writer_heartbeat(const chronicle_reader *reader);

/* The place stays, and holds its segments until the TTL has passed: a reader of that name resumes there. Closing twice is harmless. */
int chronicle_reader_close(chronicle_reader *reader, fa_error *err);
/* Closes a reader that is done for good: nobody resumes, and nothing is held for it any more. */
int chronicle_reader_unregister(chronicle_reader *reader, fa_error *err);

#endif
