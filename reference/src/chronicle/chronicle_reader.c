#include "chronicle/chronicle_reader.h"

#include <stdbool.h>
#include <string.h>

#include "chronicle/chronicle_clock.h"
#include "fa_atomics.h"
#include "fa_persist.h"

#define CHRONICLE_READER_SPIN_NS 10000u
#define CHRONICLE_READER_SEEK_TRIES 100

static bool chronicle_reader_at_boundary(const chronicle_reader *reader)
{
    return reader->offset + CHRONICLE_RECORD_HEADER > reader->segment_size;
}

/* Steps over valid records up to the offset, or as far as they go. *seq becomes that of the record that follows, if any told it. */
static uint64_t chronicle_reader_step_to(unsigned char *map, uint64_t size, uint64_t target, uint64_t *seq)
{
    uint64_t offset = CHRONICLE_RECORD_FIRST;
    chronicle_message_header header;
    while (offset < target && offset + CHRONICLE_RECORD_HEADER <= size &&
           chronicle_record_look(map, offset, size, &header) == CHRONICLE_RECORD_PRESENT) {
        *seq = header.type_id == CHRONICLE_TYPE_PAD ? header.seq : header.seq + 1;
        offset += chronicle_record_span(chronicle_record_length(header.commit_len));
    }
    return offset;
}

/* A committed position is a place between records; one that is none any more was cut off by recovery after power loss. */
static void chronicle_reader_settle(chronicle_reader *reader, uint64_t wanted)
{
    chronicle_message_header header;
    uint64_t seq = UINT64_MAX;
    reader->offset = chronicle_reader_step_to(reader->segment.map, reader->segment_size, wanted, &seq);
    reader->was_reset |= reader->offset != wanted;
    if (!chronicle_reader_at_boundary(reader) &&
        chronicle_record_look(reader->segment.map, reader->offset, reader->segment_size, &header) == CHRONICLE_RECORD_PRESENT) {
        seq = header.seq; /* of a PAD too: the record that follows it */
    }
    if (seq == UINT64_MAX && reader->segment.id > 0) { /* nothing here yet: the segment before ends with a record or a PAD */
        chronicle_segment before = {.fd = -1};
        if (chronicle_segment_map(reader->dirfd, reader->segment.id - 1, reader->segment_size, false, &before, NULL) == 0) {
            (void)chronicle_reader_step_to(before.map, reader->segment_size, reader->segment_size, &seq);
            (void)chronicle_segment_unmap(&before, NULL);
        }
    }
    reader->next_seq = seq == UINT64_MAX ? 0 : seq;
}

/* Under the lock of the readers' directory: what is here stays until our file says that we need it. */
static int chronicle_reader_place(chronicle_reader *reader, int readers, const char *name, fa_error *err)
{
    chronicle_segment_range range;
    bool resumed = false;
    int status = chronicle_meta_open(readers, name, &reader->meta, &resumed, err);
    if (status == 0) {
        status = chronicle_segment_list(reader->dirfd, &range, err);
    }
    if (status != 0) {
        return status;
    }
    if (!range.any) {
        return fa_fail(err, FA_MISSING, 0, "chronicle_reader_open", "the queue has no segment");
    }
    const uint32_t first = FA_MUTANT(chronicle_reader_newest) ? range.latest : range.oldest;
    uint32_t segment = resumed ? reader->meta.slot.segment : first;
    uint64_t offset = resumed ? reader->meta.slot.offset : CHRONICLE_RECORD_FIRST;
    if (resumed) {
        chronicle_meta_beat(&reader->meta);
    }
    if (segment < range.oldest) {
        if (FA_MUTANT(chronicle_missing_hidden)) {
            return chronicle_reader_seek_oldest(reader, err);
        }
        reader->missing = 1;
        reader->segment.id = segment;
        return 0;
    }
    if (segment > range.latest || offset < CHRONICLE_RECORD_FIRST || offset > reader->segment_size) {
        reader->was_reset = 1;
        segment = segment > range.latest ? range.latest : segment;
        offset = reader->segment_size;
    }
    status = chronicle_segment_map(reader->dirfd, segment, reader->segment_size, false, &reader->segment, err);
    if (status != 0) {
        return status;
    }
    chronicle_reader_settle(reader, offset);
    if (resumed) {
        return 0;
    }
    status = chronicle_meta_create(readers, name, segment, reader->offset, err);
    return status != 0 ? status : chronicle_meta_open(readers, name, &reader->meta, &resumed, err);
}

static int chronicle_reader_register(chronicle_reader *reader, const char *name, fa_error *err)
{
    const int readers = chronicle_meta_enter(reader->dirfd, err);
    if (readers < 0) {
        return readers;
    }
    const int status = chronicle_reader_place(reader, readers, name, err);
    (void)close(readers);
    return status;
}

int chronicle_reader_open(chronicle_reader *reader, const char *path, const char *name, uint64_t local_size, fa_error *err)
{
    *reader = (chronicle_reader){.segment = {.fd = -1}, .control = {.fd = -1}, .dirfd = -1, .wait_ns = CHRONICLE_READER_SPIN_NS};
    int status = chronicle_meta_check_name(name, err);
    if (status != 0) {
        return status;
    }
    reader->dirfd = fa_persist_open(chronicle_reader_queue, AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, err);
    if (reader->dirfd < 0) {
        return reader->dirfd;
    }
    status = chronicle_control_attach(reader->dirfd, false, &reader->control, err);
    if (status == 0) {
        reader->segment_size = FA_MUTANT(chronicle_size_local) ? local_size : FA_LOAD_RELAXED(&reader->control.block->segment_size);
        while (FA_MUTANT(chronicle_gen_awaited) && FA_LOAD_ACQUIRE(&reader->control.block->segment_gen) % 2 != 0) {
            chronicle_clock_pause(CHRONICLE_MILLISECOND);
        }
        status = chronicle_reader_register(reader, name, err);
    }
    if (status != 0) {
        (void)chronicle_reader_close(reader, NULL);
    }
    return status;
}

static bool chronicle_reader_next_exists(const chronicle_reader *reader)
{
    char name[CHRONICLE_SEGMENT_NAME];
    chronicle_segment_name(name, reader->segment.id + 1, "");
    return faccessat(reader->dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int chronicle_reader_missing(chronicle_reader *reader, uint32_t id, fa_error *err)
{
    reader->missing = 1;
    return fa_fail(err, FA_MISSING, 0, "chronicle_reader_read", "SegmentMissing: segment %u has been deleted; go on at the oldest or elsewhere", id);
}

int chronicle_reader_stand(chronicle_reader *reader, const chronicle_segment *to, uint64_t offset, fa_error *err)
{
    const int unmapped = chronicle_segment_unmap(&reader->segment, err);
    reader->segment = *to;
    reader->offset = offset;
    reader->missing = 0;
    return unmapped;
}

/* Segments go from the oldest on, so one before the oldest has been deleted; any other is there or still to come. */
static int chronicle_reader_deleted(const chronicle_reader *reader, uint32_t id, bool *deleted, fa_error *err)
{
    chronicle_segment_range range;
    const int status = chronicle_segment_list(reader->dirfd, &range, err);
    *deleted = status == 0 && range.any && range.oldest > id;
    return status;
}

int chronicle_reader_gone(const chronicle_reader *reader, bool *gone, fa_error *err)
{
    *gone = reader->missing != 0;
    if (reader->missing != 0) {
        return 0;
    }
    return chronicle_reader_deleted(reader, reader->segment.id + (chronicle_reader_at_boundary(reader) ? 1 : 0), gone, err);
}

/* 0: it is still to come. */
static int chronicle_reader_await(chronicle_reader *reader, uint32_t id, fa_error *err)
{
    bool deleted = false;
    if (FA_LOAD_RELAXED(&reader->control.block->current_segment) < id) {
        return 0; /* as nearly always: no look at the directory */
    }
    const int status = chronicle_reader_deleted(reader, id, &deleted, err);
    if (status != 0 || !deleted) {
        return status;
    }
    if (FA_MUTANT(chronicle_missing_hidden)) {
        return chronicle_reader_seek_oldest(reader, err) == 0 ? 1 : 0;
    }
    return chronicle_reader_missing(reader, id, err);
}

/* 1: the reader stands at the start of that segment. 0: it is not there yet. */
static int chronicle_reader_enter(chronicle_reader *reader, uint32_t id, fa_error *err)
{
    chronicle_segment next = {.fd = -1};
    fa_error why = {0};
    const int status = chronicle_segment_map(reader->dirfd, id, reader->segment_size, false, &next, &why);
    if (status != 0 && fa_error_class_in(status) == FA_MISSING) {
        return chronicle_reader_await(reader, id, err);
    }
    if (status != 0) {
        return fa_pass(err, &why);
    }
    const int unmapped = chronicle_reader_stand(reader, &next, CHRONICLE_RECORD_FIRST, err);
    return unmapped != 0 ? unmapped : 1;
}

/* What is read where nothing is committed: the end (0), a segment further on (1), or a rest that nobody will ever fill. */
static int chronicle_reader_idle(chronicle_reader *reader, fa_error *err)
{
    if (FA_MUTANT(chronicle_seal_ignored) && chronicle_reader_next_exists(reader)) {
        return chronicle_reader_enter(reader, reader->segment.id + 1, err);
    }
    if (!chronicle_segment_sealed(&reader->segment)) {
        return 0;
    }
    if (chronicle_reader_at_boundary(reader) || FA_MUTANT(chronicle_boundary_ignored)) {
        return chronicle_reader_enter(reader, reader->segment.id + 1, err);
    }
    /* Pairs with the release of the commit words; PAD comes before SEALED, so what is not there now never comes. */
    if (FA_LOAD_ACQUIRE(&chronicle_record_at(reader->segment.map, reader->offset)->commit_len) != 0) {
        return 1;
    }
    return fa_fail(err, FA_CORRUPT, 0, "chronicle_reader_read", "segment %u is sealed and has no record at %llu", reader->segment.id,
                   (unsigned long long)reader->offset);
}

/* Leaves the records of this segment unread, as the mutant does. */
static int chronicle_reader_follow_hint(chronicle_reader *reader, fa_error *err)
{
    const uint32_t hint = FA_LOAD_RELAXED(&reader->control.block->current_segment);
    return hint > reader->segment.id ? chronicle_reader_enter(reader, hint, err) : 0;
}

int chronicle_reader_read(chronicle_reader *reader, chronicle_record *records, size_t limit, size_t *count, int *end, fa_error *err)
{
    *count = 0;
    *end = 0;
    if (reader->meta.map == NULL) {
        return fa_fail(err, FA_CLOSED, 0, "chronicle_reader_read", "the reader is closed");
    }
    if (reader->missing != 0) {
        return chronicle_reader_missing(reader, reader->segment.map == NULL ? reader->segment.id : reader->segment.id + 1, err);
    }
    if (FA_MUTANT(chronicle_hint_followed)) {
        const int status = chronicle_reader_follow_hint(reader, err);
        if (status < 0) {
            return status;
        }
    }
    for (;;) {
        const int state =
            chronicle_record_take(reader->segment.map, reader->segment_size, reader->segment.id, &reader->offset, records, limit, count);
        if (state == CHRONICLE_RECORD_PRESENT || *count > 0) {
            return 0; /* the maps of these records stay until the next call, which says what comes after them */
        }
        if (state == CHRONICLE_RECORD_BAD) {
            return fa_fail(err, FA_CORRUPT, 0, "chronicle_reader_read", "segment %u holds no record at %llu that can be trusted",
                           reader->segment.id, (unsigned long long)reader->offset);
        }
        const int moved = chronicle_reader_idle(reader, err);
        if (moved <= 0) {
            *end = moved == 0;
            return moved;
        }
    }
}

bool chronicle_reader_ready(const chronicle_reader *reader)
{
    if (reader->meta.map == NULL || reader->missing != 0 || FA_MUTANT(chronicle_hint_followed) || FA_MUTANT(chronicle_seal_ignored)) {
        return true;
    }
    if (!chronicle_reader_at_boundary(reader) &&
        FA_LOAD_ACQUIRE(&chronicle_record_at(reader->segment.map, reader->offset)->commit_len) != 0) {
        return true; /* pairs with the release of the commit word; chronicle_record_look acquires it again */
    }
    return chronicle_segment_sealed(&reader->segment) && chronicle_reader_next_exists(reader);
}

int chronicle_reader_commit(chronicle_reader *reader, uint32_t segment, uint64_t offset, fa_error *err)
{
    if (reader->meta.map == NULL) {
        return fa_fail(err, FA_CLOSED, 0, "chronicle_reader_commit", "the reader is closed");
    }
    if (offset % CHRONICLE_RECORD_ALIGN != 0 || offset < CHRONICLE_RECORD_FIRST || offset > reader->segment_size ||
        segment > reader->segment.id) {
        return fa_fail(err, FA_INVALID, 0, "chronicle_reader_commit", "(%u, %llu) is no place that this reader has come to", segment,
                       (unsigned long long)offset);
    }
    if (FA_MUTANT(chronicle_cursor_ahead) && segment == reader->segment.id && offset + CHRONICLE_RECORD_HEADER <= reader->segment_size) {
        chronicle_message_header header;
        if (chronicle_record_look(reader->segment.map, offset, reader->segment_size, &header) == CHRONICLE_RECORD_PRESENT) {
            offset += chronicle_record_span(chronicle_record_length(header.commit_len));
        }
    }
    chronicle_meta_commit(&reader->meta, segment, offset);
    return 0;
}

int chronicle_reader_seek(chronicle_reader *reader, uint32_t segment, uint64_t offset, fa_error *err)
{
    chronicle_segment found = {.fd = -1};
    uint64_t seq = 0;
    if (reader->meta.map == NULL) {
        return fa_fail(err, FA_CLOSED, 0, "chronicle_reader_seek", "the reader is closed");
    }
    const int status = chronicle_segment_map(reader->dirfd, segment, reader->segment_size, false, &found, err);
    if (status != 0) {
        return status;
    }
    if (chronicle_reader_step_to(found.map, reader->segment_size, offset, &seq) != offset) {
        (void)chronicle_segment_unmap(&found, NULL);
        return fa_fail(err, FA_INVALID, 0, "chronicle_reader_seek", "(%u, %llu) is no place between two records", segment,
                       (unsigned long long)offset);
    }
    return chronicle_reader_stand(reader, &found, offset, err);
}

int chronicle_reader_seek_oldest(chronicle_reader *reader, fa_error *err)
{
    chronicle_segment_range range;
    int status = FA_MISSING;
    /* Retention may be at work: what was the oldest is gone, and another one is. */
    for (int tries = 0; tries < CHRONICLE_READER_SEEK_TRIES; tries++) {
        status = reader->meta.map == NULL ? fa_fail(err, FA_CLOSED, 0, "chronicle_reader_seek", "the reader is closed")
                                          : chronicle_segment_list(reader->dirfd, &range, err);
        if (status != 0) {
            return status;
        }
        status = chronicle_reader_seek(reader, range.oldest, CHRONICLE_RECORD_FIRST, err);
        if (status == 0 || fa_error_class_in(status) != FA_MISSING) {
            return status;
        }
    }
    return status;
}

void chronicle_reader_where(const chronicle_reader *reader, uint32_t *segment, uint64_t *offset)
{
    *segment = reader->segment.id;
    *offset = reader->offset;
}

void chronicle_reader_heartbeat(chronicle_reader *reader)
{
    if (reader->meta.map != NULL) {
        chronicle_meta_beat(&reader->meta);
    }
}

int chronicle_reader_writer_position(const chronicle_reader *reader, uint32_t *segment, uint64_t *offset, fa_error *err)
{
    if (reader->control.block == NULL) {
        return fa_fail(err, FA_CLOSED, 0, "chronicle_reader_writer_position", "the reader is closed");
    }
    return chronicle_control_position(reader->control.block, segment, offset, err);
}

uint64_t chronicle_reader_writer_epoch(const chronicle_reader *reader)
{
    return reader->control.block == NULL ? 0 : FA_LOAD_RELAXED(&reader->control.block->writer_epoch);
}

uint64_t chronicle_reader_writer_heartbeat(const chronicle_reader *reader)
{
    return reader->control.block == NULL ? 0 : FA_LOAD_RELAXED(&reader->control.block->writer_heartbeat_ns);
}

int chronicle_reader_close(chronicle_reader *reader, fa_error *err)
{
    int status = chronicle_segment_unmap(&reader->segment, err);
    const int silenced = chronicle_bell_close(&reader->bell, status == 0 ? err : NULL);
    status = status != 0 ? status : silenced;
    const int detached = chronicle_control_detach(&reader->control, status == 0 ? err : NULL);
    status = status != 0 ? status : detached;
    const int closed = chronicle_meta_close(&reader->meta, status == 0 ? err : NULL);
    if (reader->dirfd >= 0) {
        (void)close(reader->dirfd);
        reader->dirfd = -1;
    }
    return status != 0 ? status : closed;
}

int chronicle_reader_unregister(chronicle_reader *reader, fa_error *err)
{
    if (reader->meta.map == NULL) {
        return fa_fail(err, FA_CLOSED, 0, "chronicle_reader_unregister", "the reader is closed");
    }
    const int removed = chronicle_meta_remove(reader->dirfd, &reader->meta, err);
    const int status = chronicle_reader_close(reader, removed == 0 ? err : NULL);
    return removed != 0 ? removed : status;
}
