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
    int wait_strategy;
    uint64_t wait_ns;
    uint64_t late; /* sleeps that found a record only when their time was over: it came in that instant, or its writer died before the wake */
    chronicle_control control;
    chronicle_bell bell;
    chronicle_meta meta;
    int dirfd;
} chronicle_reader;

/* Resumes at the committed position of that name, or starts at the oldest segment. MISSING: no queue, or its segment is gone. */
int chronicle_reader_open(chronicle_reader *reader, const char *path, const char *name, uint64_t local_size, fa_error *err);

/*
 * At most limit records; their payloads lie in the map and are valid until the next call. 0 records: *end says that there was
 * nothing more. A batch ends at the end of a segment, too. After CORRUPT the reader stands before the record it cannot read.
 */
int chronicle_reader_read(chronicle_reader *reader, chronicle_record *records, size_t limit, size_t *count, int *end, fa_error *err);

/* Whether a read would do more than say END. */
bool chronicle_reader_ready(const chronicle_reader *reader);

/* Everything before (segment, offset) is done with. */
int chronicle_reader_commit(chronicle_reader *reader, uint32_t segment, uint64_t offset, fa_error *err);

/* The next read begins at that place between two records. MISSING: its segment is not there. INVALID: no such place. */
int chronicle_reader_seek(chronicle_reader *reader, uint32_t segment, uint64_t offset, fa_error *err);

/* Where the writer says it is: a hint. */
int chronicle_reader_writer_position(const chronicle_reader *reader, uint32_t *segment, uint64_t *offset, fa_error *err);
uint64_t chronicle_reader_writer_epoch(const chronicle_reader *reader);
uint64_t chronicle_reader_writer_heartbeat(const chronicle_reader *reader);

int chronicle_reader_close(chronicle_reader *reader, fa_error *err);

#endif
