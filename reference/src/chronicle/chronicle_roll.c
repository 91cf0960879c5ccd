#include "chronicle/chronicle_roll.h"

#include "chronicle/chronicle_put.h"
#include "chronicle/chronicle_warm.h"
#include "fa_persist.h"

/* Whether one segment more is within the budget, if need be after making room. */
static int chronicle_roll_afford(chronicle_writer *writer, fa_error *err)
{
    const uint64_t max = writer->limits.max_segments;
    chronicle_retained retained;
    if (max == 0 || (uint64_t)writer->segment.id + 2 - FA_LOAD_RELAXED(&writer->oldest) <= max || FA_MUTANT(chronicle_capacity_ignored)) {
        return 0;
    }
    const int status = writer->limits.retains != 0 ? chronicle_writer_retain(writer, NULL, 0, &retained, err) : 0;
    if (status != 0) {
        return status;
    }
    if ((uint64_t)writer->segment.id + 2 - FA_LOAD_RELAXED(&writer->oldest) <= max) {
        return 0;
    }
    return fa_fail(err, FA_FULL, 0, "chronicle_writer_append", "QueueFull: the queue may have %llu segments of %llu bytes, and readers hold them",
                   (unsigned long long)max, (unsigned long long)writer->segment_size);
}

/* The mutant's own: the last record of the segment being left, once more in the next. */
static void chronicle_roll_again(chronicle_writer *writer, chronicle_segment *old, uint64_t end)
{
    chronicle_message_header header;
    uint64_t offset = CHRONICLE_RECORD_FIRST, last = 0;
    while (offset < end && chronicle_record_look(old->map, offset, old->size, &header) == CHRONICLE_RECORD_PRESENT) {
        last = header.type_id == CHRONICLE_TYPE_PAD ? last : offset;
        offset += chronicle_record_span(chronicle_record_length(header.commit_len));
    }
    if (last != 0 && chronicle_record_look(old->map, last, old->size, &header) == CHRONICLE_RECORD_PRESENT) {
        chronicle_put(writer, header.type_id, header.flags, old->map + last + CHRONICLE_RECORD_HEADER,
                      chronicle_record_length(header.commit_len), header.timestamp_ns);
    }
}

/* The rest is padded before the segment is sealed: a reader never stands in an unused rest. */
static void chronicle_roll_leave(const chronicle_writer *writer, const chronicle_segment *old, uint64_t end)
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

int chronicle_roll(chronicle_writer *writer, uint64_t needed, fa_error *err)
{
    chronicle_segment next = {.fd = -1}, old = writer->segment;
    const uint64_t end = writer->offset;
    uint64_t warm = 0;
    int status = chronicle_roll_afford(writer, err);
    if (status != 0) {
        return status;
    }
    if (FA_MUTANT(chronicle_next_late)) {
        chronicle_roll_leave(writer, &old, end);
        chronicle_clock_pause(5 * CHRONICLE_MILLISECOND);
    }
    status = chronicle_segment_create(writer->dirfd, old.id + 1, writer->segment_size, CHRONICLE_SEGMENT_EMPTY, 0, false, err);
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
        chronicle_roll_leave(writer, &old, end);
        chronicle_clock_pause(5 * CHRONICLE_MILLISECOND);
    }
    writer->segment = next;
    writer->offset = CHRONICLE_RECORD_FIRST;
    writer->warm = warm;
    writer->names_unsynced = 1;
    writer->rolls++;
    chronicle_control_publish(writer->control.block, next.id, writer->offset);
    if (!FA_MUTANT(chronicle_next_late) && !FA_MUTANT(chronicle_publish_late)) {
        chronicle_roll_leave(writer, &old, end);
    }
    if (FA_MUTANT(chronicle_seq_padded) && end + CHRONICLE_RECORD_HEADER <= old.size) {
        writer->next_seq++;
    }
    (void)fa_persist_msync(chronicle_seal_msync, old.map, CHRONICLE_RECORD_FIRST, MS_ASYNC, NULL); /* best effort: a flush does it for sure */
    if (FA_MUTANT(chronicle_roll_duplicates)) {
        chronicle_roll_again(writer, &old, end);
    }
    (void)chronicle_segment_unmap(&old, NULL); /* the roll is done; a map that stays costs address space only */
    if (writer->limits.retains != 0) {
        chronicle_retained retained;
        (void)chronicle_writer_retain(writer, NULL, 0, &retained, NULL); /* the next roll tries again */
    }
    return 0;
}
