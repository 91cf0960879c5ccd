#include "chronicle/chronicle_recovery.h"

#include <stdbool.h>

#include "chronicle/chronicle_index.h"
#include "chronicle/chronicle_record.h"
#include "chronicle/chronicle_segment.h"
#include "fa_persist.h"

typedef struct chronicle_recovery_walk {
    int dirfd;
    uint64_t size;
    uint64_t next_seq;
    uint64_t last_ns;
    uint64_t offset;  /* from which the next segment is scanned */
    bool checkpointed; /* the first one scanned was durable: power loss is no excuse for it */
} chronicle_recovery_walk;

/* The offset of the first place without a valid record. */
static uint64_t chronicle_recovery_scan(chronicle_recovery_walk *walk, const chronicle_segment *segment)
{
    uint64_t offset = walk->offset, last = walk->offset;
    chronicle_message_header header;
    while (offset + CHRONICLE_RECORD_HEADER <= walk->size &&
           chronicle_record_look(segment->map, offset, walk->size, &header) == CHRONICLE_RECORD_PRESENT) {
        const uint64_t follows = header.type_id == CHRONICLE_TYPE_PAD ? header.seq : header.seq + 1;
        walk->next_seq = follows > walk->next_seq ? follows : walk->next_seq;
        walk->last_ns = header.timestamp_ns > walk->last_ns ? header.timestamp_ns : walk->last_ns;
        last = offset;
        offset += chronicle_record_span(chronicle_record_length(header.commit_len));
    }
    walk->offset = CHRONICLE_RECORD_FIRST;
    walk->checkpointed = false;
    return FA_MUTANT(chronicle_recovery_drops) && offset + CHRONICLE_RECORD_HEADER <= walk->size ? last : offset;
}

/* In place of a segment that lies beyond the end: aside, not away, and readers pass through. */
static int chronicle_recovery_hollow(const chronicle_recovery_walk *walk, uint32_t id, fa_error *err)
{
    char name[CHRONICLE_SEGMENT_NAME], aside[CHRONICLE_SEGMENT_NAME];
    chronicle_segment_name(name, id, "");
    chronicle_segment_name(aside, id, ".lost");
    fa_error why = {0};
    const bool kept = faccessat(walk->dirfd, aside, F_OK, AT_SYMLINK_NOFOLLOW) == 0; /* by an earlier recovery that did not end */
    const int status = kept ? 0 : fa_persist_rename(chronicle_recovery_aside, walk->dirfd, name, walk->dirfd, aside, &why);
    if (status != 0 && fa_error_class_in(status) != FA_MISSING) {
        return fa_pass(err, &why);
    }
    return chronicle_segment_create(walk->dirfd, id, walk->size, CHRONICLE_SEGMENT_HOLLOW, walk->next_seq, false, err);
}

/* Segments before the checkpoint are whole and sealed; one that is not sealed is, and nothing behind it is touched. */
static int chronicle_recovery_seal_earlier(const chronicle_recovery_walk *walk, uint32_t oldest, uint32_t before, fa_error *err)
{
    for (uint32_t id = oldest; id < before; id++) {
        chronicle_segment segment = {.fd = -1};
        chronicle_recovery_walk own = {.dirfd = walk->dirfd, .size = walk->size, .offset = CHRONICLE_RECORD_FIRST};
        const int status = chronicle_segment_map(walk->dirfd, id, walk->size, true, &segment, err);
        if (status != 0) {
            const int error_class = fa_error_class_in(status);
            if (error_class == FA_MISSING || error_class == FA_CORRUPT) {
                continue;
            }
            return status;
        }
        if (!chronicle_segment_sealed(&segment) && !FA_MUTANT(chronicle_earlier_unsealed)) {
            const uint64_t end = chronicle_recovery_scan(&own, &segment);
            chronicle_record_pad(segment.map, end, walk->size, own.next_seq);
            chronicle_segment_seal(&segment);
        }
        const int unmapped = chronicle_segment_unmap(&segment, err);
        if (unmapped != 0) {
            return unmapped;
        }
    }
    return 0;
}

/* The segment cannot be mapped: 0 where power loss explains it, else the error stands and nothing is changed. */
static int chronicle_recovery_excuse(const chronicle_recovery_walk *walk, uint32_t id, int status, fa_error *err)
{
    bool lost = false;
    fa_error why = {0};
    const int error_class = fa_error_class_in(status);
    if ((error_class != FA_MISSING && error_class != FA_CORRUPT) || walk->checkpointed) {
        return status;
    }
    const int looked = chronicle_segment_lost(walk->dirfd, id, walk->size, &lost, &why);
    if (looked != 0) {
        return fa_pass(err, &why);
    }
    return lost ? 0 : status;
}

/* From the last to the first, so that a recovery killed in between still finds the hole before them. */
static int chronicle_recovery_hollow_down(const chronicle_recovery_walk *walk, uint32_t latest, uint32_t first, fa_error *err)
{
    int status = 0;
    for (uint32_t id = latest + 1; id > first && status == 0; id--) {
        status = chronicle_recovery_hollow(walk, id - 1, err);
    }
    return status;
}

/* The log ends inside this segment, and its end is closed last: until then a second recovery would find it again. */
static int chronicle_recovery_cut(chronicle_recovery_walk *walk, chronicle_segment *segment, uint64_t end, uint32_t latest, uint32_t *next,
                                  fa_error *err)
{
    const bool was_sealed = chronicle_segment_sealed(segment);
    /* A writer that died while it rolled left one segment behind an unsealed one, where no reader can be: it is made anew. */
    const bool rolling = latest == segment->id + 1 && !was_sealed;
    int status = rolling ? 0 : chronicle_recovery_hollow_down(walk, latest, segment->id + 1, err);
    *next = rolling ? latest : latest + 1;
    if (status == 0) {
        status = chronicle_segment_create(walk->dirfd, *next, walk->size, CHRONICLE_SEGMENT_EMPTY, 0, false, err);
    }
    if (status == 0 && !FA_MUTANT(chronicle_tail_unrepaired)) {
        chronicle_record_pad(segment->map, end, walk->size, walk->next_seq);
        if (!FA_MUTANT(chronicle_tail_unsealed)) {
            chronicle_segment_seal(segment);
        }
    }
    return status;
}

static int chronicle_recovery_ahead(chronicle_recovery_walk *walk, uint32_t start, uint32_t latest, uint32_t *next, fa_error *err)
{
    for (uint32_t id = start; id <= latest; id++) {
        chronicle_segment segment = {.fd = -1};
        int status = chronicle_segment_map(walk->dirfd, id, walk->size, true, &segment, err);
        if (status != 0) {
            status = chronicle_recovery_excuse(walk, id, status, err);
            if (status == 0) {
                status = chronicle_recovery_hollow_down(walk, latest, id, err);
            }
            if (status != 0) {
                return status;
            }
            break;
        }
        const uint64_t end = chronicle_recovery_scan(walk, &segment);
        const bool whole = end + CHRONICLE_RECORD_HEADER > walk->size;
        if (whole && !chronicle_segment_sealed(&segment) && !FA_MUTANT(chronicle_earlier_unsealed)) {
            chronicle_segment_seal(&segment);
        }
        if (!whole) {
            status = chronicle_recovery_cut(walk, &segment, end, latest, next, err);
        }
        const int unmapped = chronicle_segment_unmap(&segment, status == 0 ? err : NULL);
        status = status != 0 ? status : unmapped;
        if (status != 0 || !whole) {
            return status;
        }
    }
    *next = latest + 1;
    return chronicle_segment_create(walk->dirfd, *next, walk->size, CHRONICLE_SEGMENT_EMPTY, 0, false, err);
}

/* The greatest timestamp of a segment; 0 where it tells none. */
static uint64_t chronicle_recovery_newest(int dirfd, uint64_t size, uint32_t id)
{
    chronicle_segment segment = {.fd = -1};
    chronicle_recovery_walk walk = {.dirfd = dirfd, .size = size, .offset = CHRONICLE_RECORD_FIRST};
    if (chronicle_segment_map(dirfd, id, size, false, &segment, NULL) == 0) {
        (void)chronicle_recovery_scan(&walk, &segment);
        (void)chronicle_segment_unmap(&segment, NULL);
    }
    return walk.last_ns;
}

int chronicle_recovery_run(int dirfd, uint64_t segment_size, chronicle_recovery *out, fa_error *err)
{
    chronicle_segment_range range;
    chronicle_index index;
    bool indexed = false;
    chronicle_recovery_walk walk = {.dirfd = dirfd, .size = segment_size, .offset = CHRONICLE_RECORD_FIRST};
    int status = chronicle_segment_list(dirfd, &range, err);
    if (status == 0 && !range.any) {
        status = fa_fail(err, FA_CORRUPT, 0, "chronicle_recovery_run", "the queue has control.meta and no segment");
    }
    /* One may be missing, where a recovery was killed between setting it aside and replacing it. */
    if (status == 0 && (uint64_t)range.latest - range.oldest > range.count) {
        status = fa_fail(err, FA_CORRUPT, 0, "chronicle_recovery_run", "of the segments from %u to %u only %u are there", range.oldest,
                         range.latest, range.count);
    }
    if (status == 0) {
        status = chronicle_index_read(dirfd, &index, &indexed, err);
    }
    if (status != 0) {
        return status;
    }
    uint32_t start = range.oldest;
    if (indexed && index.segment >= range.oldest && index.segment <= range.latest && index.offset <= segment_size) {
        start = index.segment;
        walk.offset = index.offset;
        walk.next_seq = index.next_seq;
        walk.checkpointed = true;
        status = chronicle_recovery_seal_earlier(&walk, range.oldest, start, err);
    }
    if (status == 0) {
        status = chronicle_recovery_ahead(&walk, start, range.latest, &out->next, err);
    }
    out->next_seq = FA_MUTANT(chronicle_seq_restarts) ? 0 : walk.next_seq - (FA_MUTANT(chronicle_seq_repeated) && walk.next_seq > 0);
    /* Behind a checkpoint that has nothing behind it, timestamps go on as well. */
    for (uint32_t id = start; status == 0 && walk.last_ns == 0 && id + 2 > start && id >= range.oldest; id--) {
        walk.last_ns = chronicle_recovery_newest(dirfd, segment_size, id);
        if (id == 0) {
            break;
        }
    }
    out->last_ns = walk.last_ns;
    out->unsynced = start;
    out->oldest = range.oldest;
    return status;
}
