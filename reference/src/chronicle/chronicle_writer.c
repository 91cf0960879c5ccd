#include "chronicle/chronicle_writer.h"

#include <stdbool.h>

#include "chronicle/chronicle_bell.h"
#include "chronicle/chronicle_clock.h"
#include "chronicle/chronicle_inplace.h"
#include "chronicle/chronicle_lock.h"
#include "chronicle/chronicle_put.h"
#include "chronicle/chronicle_recovery.h"
#include "chronicle/chronicle_roll.h"
#include "chronicle/chronicle_warm.h"
#include "fa_atomics.h"
#include "fa_persist.h"

/* Segment 0 and then control.meta, each durable before the next: whoever sees control.meta finds a segment. */
static int chronicle_writer_create(chronicle_writer *writer, uint64_t segment_size, fa_error *err)
{
    chronicle_segment_range range;
    bool blank = true;
    int status = chronicle_segment_list(writer->dirfd, &range, err);
    if (status == 0 && range.any) { /* a creation that was killed left at most an empty segment 0 */
        status = range.latest > 0 ? 0 : chronicle_segment_blank(writer->dirfd, 0, &blank, err);
        blank = blank && range.latest == 0;
    }
    if (status != 0 || !blank) {
        return status != 0 ? status
                           : fa_fail(err, FA_CORRUPT, 0, "chronicle_writer_open", "there are segments and no control.meta to say what they are");
    }
    if (FA_MUTANT(chronicle_control_first)) {
        status = chronicle_control_create(writer->dirfd, segment_size, err);
        chronicle_clock_pause(200 * CHRONICLE_MILLISECOND);
        return status != 0 ? status
                           : chronicle_segment_create(writer->dirfd, 0, segment_size, CHRONICLE_SEGMENT_EMPTY, 0, true, err);
    }
    if ((status = chronicle_segment_create(writer->dirfd, 0, segment_size, CHRONICLE_SEGMENT_EMPTY, 0, true, err)) != 0 ||
        (status = chronicle_control_create(writer->dirfd, segment_size, err)) != 0 ||
        (status = fa_persist_fsync_dir(chronicle_create_fsync_dir, writer->dirfd, err)) != 0) {
        return status;
    }
    const int parent = fa_persist_open(chronicle_create_parent, writer->dirfd, "..", O_RDONLY | O_DIRECTORY, 0, err);
    if (parent < 0) {
        return parent;
    }
    status = fa_persist_fsync_dir(chronicle_create_fsync_parent, parent, err); /* the queue's own name */
    (void)close(parent);
    return status;
}

static int chronicle_writer_begin(chronicle_writer *writer, uint64_t segment_size, fa_error *err)
{
    chronicle_recovery found = {0};
    int status = chronicle_control_attach(writer->dirfd, true, &writer->control, err);
    const bool fresh = status != 0 && fa_error_class_in(status) == FA_MISSING;
    if (fresh) {
        status = chronicle_writer_create(writer, segment_size, err);
        if (status == 0) {
            status = chronicle_control_attach(writer->dirfd, true, &writer->control, err);
        }
    }
    if (status != 0) {
        return status;
    }
    chronicle_control_block *block = writer->control.block;
    writer->segment_size = FA_MUTANT(chronicle_size_local) ? segment_size : FA_LOAD_RELAXED(&block->segment_size);
    writer->epoch = FA_LOAD_RELAXED(&block->writer_epoch) + (FA_MUTANT(chronicle_epoch_stands) ? 0 : 1);
    status = chronicle_lock_sign(writer->lock, writer->epoch, err);
    if (status == 0 && !fresh) {
        chronicle_control_repair(block);
        status = chronicle_recovery_run(writer->dirfd, writer->segment_size, &found, err);
    }
    if (status == 0) {
        status = chronicle_segment_map(writer->dirfd, found.next, writer->segment_size, true, &writer->segment, err);
    }
    if (status == 0) {
        writer->in_memory = chronicle_warm_in_memory(writer->dirfd);
        status = chronicle_warm_to(&writer->segment, writer->in_memory, CHRONICLE_RECORD_FIRST, &writer->warm, err);
    }
    if (status != 0) {
        return status;
    }
    writer->offset = CHRONICLE_RECORD_FIRST;
    writer->next_seq = found.next_seq;
    writer->last_ns = found.last_ns;
    writer->unsynced = found.unsynced;
    writer->oldest = found.oldest;
    writer->names_unsynced = 1;
    writer->notify = FA_LOAD_RELAXED(&block->notify_seq);
    chronicle_control_publish(block, writer->segment.id, writer->offset);
    FA_STORE_RELAXED(chronicle_epoch, &block->writer_epoch, writer->epoch); /* a number for diagnosis; orders nothing */
    chronicle_writer_heartbeat(writer);
    chronicle_bell_ring(block, &writer->notify); /* recovery may have made a way for readers that stood at the torn end */
    return 0;
}

int chronicle_writer_open(chronicle_writer *writer, const char *path, uint64_t segment_size, fa_error *err)
{
    *writer = (chronicle_writer){.segment = {.fd = -1}, .control = {.fd = -1}, .dirfd = -1, .lock = -1, .index = -1,
                                 .limits = {.ttl_ns = CHRONICLE_RETENTION_TTL_NS}};
    if (!chronicle_segment_size_valid(segment_size)) {
        return fa_fail(err, FA_INVALID, 0, "chronicle_writer_open", "a segment size of %llu is not a multiple of 64 from 128 to 4 GiB",
                       (unsigned long long)segment_size);
    }
    int status = fa_persist_mkdir(chronicle_queue_mkdir, AT_FDCWD, path, 0755, err);
    if (status == 0) {
        writer->dirfd = fa_persist_open(chronicle_queue_open, AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, err);
        status = writer->dirfd < 0 ? writer->dirfd : 0;
    }
    if (status == 0) {
        writer->lock = chronicle_lock_acquire(writer->dirfd, err);
        status = writer->lock < 0 ? writer->lock : 0;
    }
    if (status == 0) {
        status = chronicle_writer_begin(writer, segment_size, err);
    }
    if (status != 0) {
        (void)chronicle_writer_close(writer, NULL);
    }
    return status;
}

uint64_t chronicle_writer_max_payload(const chronicle_writer *writer)
{
    return writer->segment_size - CHRONICLE_RECORD_FIRST - CHRONICLE_RECORD_HEADER;
}

void chronicle_writer_check_records(chronicle_writer *writer, int checked) { writer->unchecked = checked == 0; }

void chronicle_writer_limit(chronicle_writer *writer, const chronicle_limits *limits) { writer->limits = *limits; }

int chronicle_writer_retain(chronicle_writer *writer, chronicle_standing_of *told, size_t room, chronicle_retained *out, fa_error *err)
{
    uint32_t head = 0;
    uint64_t offset = 0;
    if (writer->control.block == NULL) {
        return fa_fail(err, FA_CLOSED, 0, "chronicle_writer_retain", "the writer is closed");
    }
    int status = chronicle_control_position(writer->control.block, &head, &offset, err);
    if (status == 0) {
        const uint64_t now = chronicle_clock_monotonic_ns(), since = FA_LOAD_RELAXED(&writer->held_since);
        const bool patient = since == 0 || now - since <= writer->limits.ttl_ns;
        status = chronicle_retention_run(writer->dirfd, writer->segment_size, head, offset, &writer->limits, patient, told, room, out, err);
        FA_OWN_STORE_RELAXED(&writer->held_since, out->busy == 0 ? 0 : since != 0 ? since : now);
    }
    if (status == 0 && out->busy == 0) {
        FA_OWN_STORE_RELAXED(&writer->oldest, out->oldest);
    }
    return status;
}

/* Out of line: the record cannot be, needs another segment, or needs warm pages. */
int chronicle_writer_make_room(chronicle_writer *writer, uint16_t type_id, uint64_t length, fa_error *err)
{
    const uint64_t span = chronicle_record_span(length);
    if (type_id == CHRONICLE_TYPE_PAD && !FA_MUTANT(chronicle_pad_accepted)) {
        return fa_fail(err, FA_INVALID, 0, "chronicle_writer_append", "type 0xFFFF is padding and cannot be appended");
    }
    if (writer->segment.map == NULL) {
        return fa_fail(err, FA_CLOSED, 0, "chronicle_writer_append", "the writer is closed");
    }
    if (writer->reserved.span != 0) {
        return fa_fail(err, FA_INVALID, 0, "chronicle_writer_append", "a reservation is open: commit or abandon it first");
    }
    if (length > chronicle_writer_max_payload(writer)) {
        return fa_fail(err, FA_TOO_LARGE, 0, "chronicle_writer_append", "PayloadTooLarge: %llu bytes, a segment of this queue holds %llu",
                       (unsigned long long)length, (unsigned long long)chronicle_writer_max_payload(writer));
    }
    for (int rolls = 0; writer->offset + span > writer->segment_size && rolls < 2; rolls++) { /* one will do, but for a mutant */
        const int status = chronicle_roll(writer, CHRONICLE_RECORD_FIRST + span, err);
        if (status != 0) {
            return status;
        }
    }
    return chronicle_warm_to(&writer->segment, writer->in_memory, writer->offset + span, &writer->warm, err);
}

/* Room for the record, or an error that has changed nothing. A closed writer has none that is warm. */
static inline int chronicle_writer_reserve(chronicle_writer *writer, uint16_t type_id, uint64_t length, fa_error *err)
{
    if (__builtin_expect(type_id == CHRONICLE_TYPE_PAD || length > writer->segment_size ||
                             writer->offset + chronicle_record_span(length) > writer->warm,
                         0)) {
        return chronicle_writer_make_room(writer, type_id, length, err);
    }
    return 0;
}

int chronicle_writer_append(chronicle_writer *writer, uint16_t type_id, uint16_t flags, const void *payload, size_t length, uint64_t *seq,
                            fa_error *err)
{
    const uint64_t rolls = writer->rolls;
    const int status = chronicle_writer_reserve(writer, type_id, length, err);
    if (__builtin_expect(status != 0, 0)) {
        return status;
    }
    *seq = writer->next_seq;
    if (FA_MUTANT(chronicle_roll_drops) && writer->rolls != rolls) {
        writer->next_seq++;
        return 0;
    }
    chronicle_put(writer, type_id, flags, payload, (uint32_t)length, chronicle_put_stamp(writer));
    chronicle_bell_ring(writer->control.block, &writer->notify);
    return 0;
}

int chronicle_writer_append_batch(chronicle_writer *writer, uint16_t type_id, uint16_t flags, const void *payloads, const uint64_t *lengths,
                                  size_t count, uint64_t *seqs, size_t *done, fa_error *err)
{
    const unsigned char *next = payloads;
    const uint64_t now = chronicle_put_stamp(writer);
    int status = 0;
    for (*done = 0; *done < count; next += lengths[*done], (*done)++) {
        const uint64_t rolls = writer->rolls;
        status = chronicle_writer_reserve(writer, type_id, lengths[*done], err);
        if (__builtin_expect(status != 0, 0)) {
            break;
        }
        if (seqs != NULL) {
            seqs[*done] = writer->next_seq;
        }
        if (FA_MUTANT(chronicle_roll_drops) && writer->rolls != rolls) {
            writer->next_seq++;
            continue;
        }
        chronicle_put(writer, type_id, flags, next, (uint32_t)lengths[*done], now);
    }
    if (*done > 0) {
        chronicle_bell_ring(writer->control.block, &writer->notify);
    }
    return status;
}

int chronicle_writer_append_records(chronicle_writer *writer, const chronicle_record *records, size_t count, size_t *done, fa_error *err)
{
    int status = 0;
    for (*done = 0; *done < count; (*done)++) {
        const chronicle_record *record = &records[*done];
        status = chronicle_writer_reserve(writer, record->type_id, record->length, err);
        if (__builtin_expect(status != 0, 0)) {
            break;
        }
        chronicle_put(writer, record->type_id, record->flags, record->payload, record->length, record->timestamp_ns);
        writer->last_ns = record->timestamp_ns > writer->last_ns ? record->timestamp_ns : writer->last_ns;
    }
    if (*done > 0) {
        chronicle_bell_ring(writer->control.block, &writer->notify);
    }
    return status;
}

void chronicle_writer_heartbeat(chronicle_writer *writer)
{
    if (writer->control.block == NULL) {
        return;
    }
    if (FA_MUTANT(chronicle_heart_still) && FA_LOAD_RELAXED(&writer->control.block->writer_heartbeat_ns) != 0) {
        return;
    }
    FA_STORE_RELAXED(chronicle_heartbeat, &writer->control.block->writer_heartbeat_ns, chronicle_clock_wall_ns()); /* stands alone */
}

int chronicle_writer_close(chronicle_writer *writer, fa_error *err)
{
    (void)chronicle_inplace_abandon(writer, NULL); /* if there is one to be */
    if (writer->segment.map != NULL) { /* it was opened whole: the lock is its own */
        chronicle_lock_sign_off(writer->lock, writer->epoch);
    }
    int status = chronicle_segment_unmap(&writer->segment, err);
    writer->warm = 0;
    const int detached = chronicle_control_detach(&writer->control, status == 0 ? err : NULL);
    int *const descriptors[] = {&writer->index, &writer->lock, &writer->dirfd};
    for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++) {
        if (*descriptors[i] >= 0) {
            (void)close(*descriptors[i]);
            *descriptors[i] = -1;
        }
    }
    return status != 0 ? status : detached;
}
