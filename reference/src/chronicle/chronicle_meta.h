/*
 * readers/NAME.meta: where a reader goes on, 128 bytes in two slots of 64.
 *
 *  0 generation u64 | 8 segment u32 | 12 zero u32 | 16 offset u64 | 24 heartbeat_ns u64 | 32 pid u64 | 40 zero | 60 crc32 of 0-59
 *
 * A slot is valid if and only if its CRC and its zeros hold and its offset is a multiple of 64; the valid one of the higher
 * generation counts. Slots are written in turn, so that the one that counted is whole while the other changes.
 */
#ifndef CHRONICLE_META_H
#define CHRONICLE_META_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "fa_error.h"
#include "layout/chronicle.h"

#define CHRONICLE_META_DIRECTORY "readers"
#define CHRONICLE_META_SUFFIX ".meta"
#define CHRONICLE_META_NAME_MAX 200u
#define CHRONICLE_META_FILE (CHRONICLE_META_NAME_MAX + sizeof CHRONICLE_META_SUFFIX)

typedef struct chronicle_meta {
    chronicle_reader_meta *map; /* NULL while nothing is mapped */
    chronicle_reader_slot slot; /* the one that counts */
    pthread_mutex_t lock;       /* a commit and a heartbeat may come from two threads */
    char file[CHRONICLE_META_FILE];
} chronicle_meta;

/* INVALID unless NAME.meta is a plain, visible name within the directory. */
int chronicle_meta_check_name(const char *name, fa_error *err);

/*
 * The directory of all readers' files, made when missing, under a lock that lets no segment be deleted: from before a reader looks
 * for its place until its file says which one it has. Closing the descriptor gives the lock back. TIMEOUT where retention keeps it.
 */
int chronicle_meta_enter(int dirfd, fa_error *err);

/* *found: the committed position of that name; without one nothing is made. CORRUPT where both slots were written and neither holds. */
int chronicle_meta_open(int readers, const char *name, chronicle_meta *meta, bool *found, fa_error *err);
/* The first position of a new reader; the file is whole when it gets its name. */
int chronicle_meta_create(int readers, const char *name, uint32_t segment, uint64_t offset, fa_error *err);
/* Survives the death of the process as soon as it returns. */
void chronicle_meta_commit(chronicle_meta *meta, uint32_t segment, uint64_t offset);
/* Says that the reader lives; any thread, while it is open. */
void chronicle_meta_beat(chronicle_meta *meta);
/* The slot that counts, of a file that its reader may be writing; *valid says whether there is one. */
int chronicle_meta_read(int readers, const char *file, chronicle_reader_slot *slot, bool *valid, fa_error *err);
int chronicle_meta_remove(int dirfd, const chronicle_meta *meta, fa_error *err);
int chronicle_meta_close(chronicle_meta *meta, fa_error *err);

#endif
