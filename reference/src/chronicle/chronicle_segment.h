/*
 * Segment files %09u.q: a header of 64 bytes, then records from 64 to the end.
 *
 *  0 magic u32 0x53454730 | 4 version u32 1 | 8 segment_id u32 | 12 flags u32, 1 = SEALED | 16 zero
 *
 * Valid if and only if the file has exactly the queue's segment_size, magic, version and id match its name, no flag but
 * SEALED is set and the rest of the header is zero. A segment is made whole under a temporary name, its blocks reserved
 * before anybody maps it: a full disk is an error there and never a signal at a store.
 */
#ifndef CHRONICLE_SEGMENT_H
#define CHRONICLE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "fa_error.h"
#include "layout/chronicle.h"

#define CHRONICLE_SEGMENT_ID_MAX 999999999u /* nine digits */
#define CHRONICLE_SEGMENT_SIZE_MIN 128u
#define CHRONICLE_SEGMENT_SIZE_MAX (1ull << 32)
#define CHRONICLE_SEGMENT_NAME 24u

typedef struct chronicle_segment {
    unsigned char *map; /* NULL while nothing is mapped */
    uint64_t size;
    uint32_t id;
    int fd; /* -1 for a reader, who needs none */
} chronicle_segment;

typedef struct chronicle_segment_range {
    uint32_t oldest;
    uint32_t latest;
    uint32_t count;
    bool any;
} chronicle_segment_range;

/* What stands in a new segment: nothing, or one PAD over all of it and SEALED, so that readers pass through. */
enum chronicle_segment_content { CHRONICLE_SEGMENT_EMPTY, CHRONICLE_SEGMENT_HOLLOW };

bool chronicle_segment_size_valid(uint64_t size);
void chronicle_segment_name(char name[CHRONICLE_SEGMENT_NAME], uint32_t id, const char *suffix);

/* Makes the file whole, then gives it its name, in place of one that may bear it. durable: its bytes, not its name. */
int chronicle_segment_create(int dirfd, uint32_t id, uint64_t size, int content, uint64_t next_seq, bool durable, fa_error *err);

/* Maps a valid segment. MISSING, CORRUPT and VERSION say what the file is; LOST below is CORRUPT that power loss explains. */
int chronicle_segment_map(int dirfd, uint32_t id, uint64_t size, bool writable, chronicle_segment *segment, fa_error *err);
int chronicle_segment_unmap(chronicle_segment *segment, fa_error *err);

/* Whether a file that could not be mapped is absent, cut or without header: its bytes never reached the disk. */
int chronicle_segment_lost(int dirfd, uint32_t id, uint64_t size, bool *lost, fa_error *err);

/* Whether the file, of whatever size, has no record: a creation that was killed left it. */
int chronicle_segment_blank(int dirfd, uint32_t id, bool *blank, fa_error *err);

bool chronicle_segment_sealed(const chronicle_segment *segment);
void chronicle_segment_seal(const chronicle_segment *segment);

int chronicle_segment_list(int dirfd, chronicle_segment_range *range, fa_error *err);

#endif
