/*
 * The one writer of a queue. The caller owns the memory; one thread at a time, but for chronicle_writer_heartbeat.
 *
 * append: visible at once, survives the death of the process. For more see chronicle_flush.h.
 * An append that returns an error has left no trace of that record or of any behind it in its batch.
 */
#ifndef CHRONICLE_WRITER_H
#define CHRONICLE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chronicle/chronicle_control.h"
#include "chronicle/chronicle_record.h"
#include "chronicle/chronicle_retention.h"
#include "chronicle/chronicle_segment.h"
#include "fa_error.h"

/* An open reservation; see chronicle_inplace.h. */
typedef struct chronicle_reserved {
    uint64_t span; /* 0: there is none */
    uint64_t length;
    uint64_t warm; /* of the writer, who gets it back */
    uint16_t type_id;
    uint16_t flags;
} chronicle_reserved;

typedef struct chronicle_writer {
    chronicle_segment segment; /* the current one */
    uint64_t offset;           /* of the next record in it */
    uint64_t warm;             /* the pages before this offset are there; 0 sends each append the long way */
    chronicle_reserved reserved;
    uint64_t next_seq;
    uint64_t last_ns; /* the greatest timestamp so far */
    uint64_t segment_size;
    uint64_t epoch;
    uint64_t rolls;
    chronicle_control control;
    int dirfd;
    int lock;
    int index;
    uint32_t unsynced; /* the first segment that the next flush has to cover */
    uint32_t notify;
    uint32_t names_unsynced; /* 1: the directory has names that may not be durable */
    bool unchecked;          /* records carry no check of their own */
    bool in_memory;          /* the queue's files have no device under them */
    chronicle_limits limits;
    uint32_t oldest;     /* segment that is there, as far as this writer knows */
    uint64_t held_since; /* when retention first found the readers' lock held; 0: it did not */
} chronicle_writer;

/* Makes the queue with that segment size, or takes over an existing one, whose own size then holds. LOCKED: WriterAlreadyActive. */
int chronicle_writer_open(chronicle_writer *writer, const char *path, uint64_t segment_size, fa_error *err);

/* What an append does first: the record fits into the current segment afterwards, warm, or an error has changed nothing. */
int chronicle_writer_make_room(chronicle_writer *writer, uint16_t type_id, uint64_t length, fa_error *err) __attribute__((noinline));

/* Whether records carry a check, as they do unless told otherwise: without it a torn page is served as if it were whole. */
void chronicle_writer_check_records(chronicle_writer *writer, int checked);

uint64_t chronicle_writer_max_payload(const chronicle_writer *writer);

/* One record; *seq is its number. */
int chronicle_writer_append(chronicle_writer *writer, uint16_t type_id, uint16_t flags, const void *payload, size_t length, uint64_t *seq,
                            fa_error *err);
/* Payloads that lie one after another. The first *done are in the queue under seqs[0 .. *done), also when an error ends the batch.
 * seqs NULL: the caller counts from next_seq. */
int chronicle_writer_append_batch(chronicle_writer *writer, uint16_t type_id, uint16_t flags, const void *payloads, const uint64_t *lengths,
                                  size_t count, uint64_t *seqs, size_t *done, fa_error *err);

/* Type, flags, timestamp and payload of each are kept, its number is this queue's own. The first *done are in the queue. */
int chronicle_writer_append_records(chronicle_writer *writer, const chronicle_record *records, size_t count, size_t *done, fa_error *err);

/* Before the first append, or between two. */
void chronicle_writer_limit(chronicle_writer *writer, const chronicle_limits *limits);
/* Deletes what no reader holds, and tells at most `room` readers as it found them; any thread, while the writer is open. */
int chronicle_writer_retain(chronicle_writer *writer, chronicle_standing_of *told, size_t room, chronicle_retained *out, fa_error *err);

/* Says that the writer lives; any thread, while the writer is open. */
void chronicle_writer_heartbeat(chronicle_writer *writer);

/* The queue stays as a kill would leave it. Closing twice is harmless. */
int chronicle_writer_close(chronicle_writer *writer, fa_error *err);

#endif
