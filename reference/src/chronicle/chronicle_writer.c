#include "chronicle/chronicle_writer.h"

#include <stdbool.h>

#include "chronicle/chronicle_bell.h"
#include "chronicle/chronicle_clock.h"
#include "chronicle/chronicle_index.h"
#include "chronicle/chronicle_lock.h"
#include "chronicle/chronicle_record.h"
#include "chronicle/chronicle_recovery.h"
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
    writer->unsynced = found.unsynced;
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
    *writer = (chronicle_writer){.segment = {.fd = -1}, .control = {.fd = -1}, .dirfd = -1, .lock = -1, .index = -1};
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

/* The mutants' own: a header with other contents. */
static void chronicle_writer_spoil(chronicle_message_header *at, chronicle_message_header *header)
{
    const uint64_t timestamp_ns = header->timestamp_ns;
    if (FA_MUTANT(chronicle_header_swapped)) {
        header->timestamp_ns = header->seq;
        header->seq = timestamp_ns;
    }
    if (FA_MUTANT(chronicle_header_dirty)) {
        at->pad[sizeof at->pad - 1] = 0xA5;
    }
    if (FA_MUTANT(chronicle_stamp_coarse)) {
        header->timestamp_ns = timestamp_ns / 1000;
    }
}

/* The mutant's own: the rest of the header comes behind the commit. */
static void chronicle_writer_put_late(chronicle_message_header *at, const chronicle_message_header *header, const void *payload, uint32_t length)
{
    if (length > 0) {
        FA_COPY(chronicle_payload, (unsigned char *)at + CHRONICLE_RECORD_HEADER, payload, length);
    }
    FA_STORE_RELEASE(chronicle_commit, &at->commit_len, header->commit_len);
    chronicle_clock_pause(CHRONICLE_MILLISECOND / 5);
    chronicle_record_put_header(at, header);
}

/* The record fits into the current segment. */
static inline void chronicle_writer_put(chronicle_writer *writer, uint16_t type_id, uint16_t flags, const void *payload, uint32_t length,
                                        uint64_t timestamp_ns)
{
    const uint32_t commit = chronicle_record_commit_word(length);
    chronicle_message_header header = {
        .commit_len = commit, .seq = writer->next_seq, .timestamp_ns = timestamp_ns, .type_id = type_id, .flags = flags};
    chronicle_message_header *at = chronicle_record_at(writer->segment.map, writer->offset);
    chronicle_writer_spoil(at, &header);
    header.reserved = chronicle_record_sum(&header, payload, length);
    writer->offset += chronicle_record_span(length);
    if (!FA_MUTANT(chronicle_offset_stale)) {
        FA_STORE_RELAXED(chronicle_reserve, &writer->control.block->write_offset, writer->offset); /* a hint, see chronicle_control.h */
    }
    if (FA_MUTANT(chronicle_header_late)) {
        chronicle_writer_put_late(at, &header, payload, length);
        writer->next_seq++;
        return;
    }
    if (FA_MUTANT(chronicle_copy_short) && length > 256) {
        header.reserved = 0;
        length--;
    }
    chronicle_record_put_header(at, &header);
    if (FA_MUTANT(chronicle_commit_first)) {
        FA_STORE_RELEASE(chronicle_commit, &at->commit_len, commit);
        chronicle_clock_pause(CHRONICLE_MILLISECOND / 5);
    }
    if (length > 0) {
        FA_COPY(chronicle_payload, (unsigned char *)at + CHRONICLE_RECORD_HEADER, payload, length);
    }
    if (!FA_MUTANT(chronicle_commit_first)) {
        FA_STORE_RELEASE(chronicle_commit, &at->commit_len, commit); /* pairs with the acquire in chronicle_record_look */
    }
    writer->next_seq++;
    if (FA_MUTANT(chronicle_seal_early) && writer->segment_size - writer->offset < 512) {
        chronicle_segment_seal(&writer->segment);
    }
}

/* The mutant's own: the last record of the segment being left, once more in the next. */
static void chronicle_writer_again(chronicle_writer *writer, chronicle_segment *old, uint64_t end)
{
    chronicle_message_header header;
    uint64_t offset = CHRONICLE_RECORD_FIRST, last = 0;
    while (offset < end && chronicle_record_look(old->map, offset, old->size, &header) == CHRONICLE_RECORD_PRESENT) {
        last = header.type_id == CHRONICLE_TYPE_PAD ? last : offset;
        offset += chronicle_record_span(chronicle_record_length(header.commit_len));
    }
    if (last != 0 && chronicle_record_look(old->map, last, old->size, &header) == CHRONICLE_RECORD_PRESENT) {
        chronicle_writer_put(writer, header.type_id, header.flags, old->map + last + CHRONICLE_RECORD_HEADER,
                             chronicle_record_length(header.commit_len), header.timestamp_ns);
    }
}

/* The rest is padded before the segment is sealed: a reader never stands in an unused rest. */
static void chronicle_writer_leave(const chronicle_writer *writer, const chronicle_segment *old, uint64_t end)
{
    if (FA_MUTANT(chronicle_seal_first)) {
        chronicle_segment_seal(old);
        chronicle_clock_pause(5 * CHRONICLE_MILLISECOND);
    }
    if (!FA_MUTANT(chronicle_roll_unpadded)) {
        chronicle_record_pad(old->map, end, old->size, writer->next_seq);
    }
    chronicle_segment_seal(old);
}

/* The next segment is made and mapped first, so that an error leaves everything as it was; then it is published, and the old one left. */
static int chronicle_writer_roll(chronicle_writer *writer, uint64_t needed, fa_error *err)
{
    chronicle_segment next = {.fd = -1}, old = writer->segment;
    const uint64_t end = writer->offset;
    uint64_t warm = 0;
    if (FA_MUTANT(chronicle_next_late)) {
        chronicle_writer_leave(writer, &old, end);
        chronicle_clock_pause(5 * CHRONICLE_MILLISECOND);
    }
    int status = chronicle_segment_create(writer->dirfd, old.id + 1, writer->segment_size, CHRONICLE_SEGMENT_EMPTY, 0, false, err);
    if (status == 0) {
        status = chronicle_segment_map(writer->dirfd, old.id + 1, writer->segment_size, true, &next, err);
    }
    if (status == 0) {
        status = chronicle_warm_to(&next, writer->in_memory, needed, &warm, err);
    }
    if (status != 0) {
        (void)chronicle_segment_unmap(&next, NULL);
        return status;
    }
    if (FA_MUTANT(chronicle_publish_late)) {
        chronicle_writer_leave(writer, &old, end);
        chronicle_clock_pause(5 * CHRONICLE_MILLISECOND);
    }
    writer->segment = next;
    writer->offset = CHRONICLE_RECORD_FIRST;
    writer->warm = warm;
    writer->names_unsynced = 1;
    writer->rolls++;
    chronicle_control_publish(writer->control.block, next.id, writer->offset);
    if (!FA_MUTANT(chronicle_next_late) && !FA_MUTANT(chronicle_publish_late)) {
        chronicle_writer_leave(writer, &old, end);
    }
    if (FA_MUTANT(chronicle_seq_padded) && end + CHRONICLE_RECORD_HEADER <= old.size) {
        writer->next_seq++;
    }
    (void)fa_persist_msync(chronicle_seal_msync, old.map, CHRONICLE_RECORD_FIRST, MS_ASYNC, NULL); /* best effort: a flush does it for sure */
    if (FA_MUTANT(chronicle_roll_duplicates)) {
        chronicle_writer_again(writer, &old, end);
    }
    (void)chronicle_segment_unmap(&old, NULL); /* the roll is done; a map that stays costs address space only */
    return 0;
}

/* What the next record cannot be, or the warm room it needs. */
static __attribute__((noinline)) int chronicle_writer_make_room(chronicle_writer *writer, uint16_t type_id, uint64_t length, fa_error *err)
{
    const uint64_t span = chronicle_record_span(length);
    if (type_id == CHRONICLE_TYPE_PAD && !FA_MUTANT(chronicle_pad_accepted)) {
        return fa_fail(err, FA_INVALID, 0, "chronicle_writer_append", "type 0xFFFF is padding and cannot be appended");
    }
    if (writer->segment.map == NULL) {
        return fa_fail(err, FA_CLOSED, 0, "chronicle_writer_append", "the writer is closed");
    }
    if (length > chronicle_writer_max_payload(writer)) {
        return fa_fail(err, FA_TOO_LARGE, 0, "chronicle_writer_append", "PayloadTooLarge: %llu bytes, a segment of this queue holds %llu",
                       (unsigned long long)length, (unsigned long long)chronicle_writer_max_payload(writer));
    }
    for (int rolls = 0; writer->offset + span > writer->segment_size && rolls < 2; rolls++) { /* one will do, but for a mutant */
        const int status = chronicle_writer_roll(writer, CHRONICLE_RECORD_FIRST + span, err);
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
    chronicle_writer_put(writer, type_id, flags, payload, (uint32_t)length, chronicle_clock_wall_ns());
    chronicle_bell_ring(writer->control.block, &writer->notify);
    return 0;
}

int chronicle_writer_append_batch(chronicle_writer *writer, uint16_t type_id, uint16_t flags, const void *payloads, const uint64_t *lengths,
                                  size_t count, uint64_t *seqs, size_t *done, fa_error *err)
{
    const unsigned char *next = payloads;
    const uint64_t now = chronicle_clock_wall_ns();
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
        chronicle_writer_put(writer, type_id, flags, next, (uint32_t)lengths[*done], now);
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
        chronicle_writer_put(writer, record->type_id, record->flags, record->payload, record->length, record->timestamp_ns);
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

static int chronicle_writer_sync_segment(const chronicle_writer *writer, uint32_t id, fa_error *err)
{
    char name[CHRONICLE_SEGMENT_NAME];
    chronicle_segment_name(name, id, "");
    const int fd = fa_persist_open(chronicle_flush_open, writer->dirfd, name, O_RDWR | O_NOFOLLOW, 0, err);
    if (fd < 0) {
        return fd;
    }
    const int status = fa_persist_fdatasync(chronicle_flush_sealed, fd, err);
    (void)close(fd);
    return status;
}

/* Data before names before the checkpoint: what index.meta says is durable is so already. */
int chronicle_writer_flush_sync(chronicle_writer *writer, fa_error *err)
{
    int status = 0;
    if (writer->segment.map == NULL) {
        return fa_fail(err, FA_CLOSED, 0, "chronicle_writer_flush_sync", "the writer is closed");
    }
    if (FA_MUTANT(chronicle_flush_unsynced)) {
        return 0;
    }
    for (uint32_t id = writer->unsynced; id < writer->segment.id && status == 0; id++) {
        status = chronicle_writer_sync_segment(writer, id, err);
    }
    if (status == 0) {
        status = fa_persist_fdatasync(chronicle_flush_current, writer->segment.fd, err);
    }
    if (status == 0) {
        status = fa_persist_fdatasync(chronicle_flush_control, writer->control.fd, err);
    }
    if (status == 0 && writer->names_unsynced != 0) {
        status = fa_persist_fsync_dir(chronicle_flush_names, writer->dirfd, err);
    }
    if (status != 0) {
        return status;
    }
    writer->names_unsynced = 0;
    writer->unsynced = writer->segment.id;
    const uint64_t reached = FA_MUTANT(chronicle_index_ahead) ? writer->segment_size : writer->offset;
    return chronicle_index_write(writer->dirfd, &writer->index, writer->segment.id, reached, writer->next_seq, err);
}

int chronicle_writer_close(chronicle_writer *writer, fa_error *err)
{
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
