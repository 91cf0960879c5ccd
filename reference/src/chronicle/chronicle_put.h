/*
 * A record into the map: reserved, header, payload, committed. The only stores of the hot path, but for the bell.
 *
 * A reader that acquires a commit word other than 0 sees all of the record; until then it sees that there is none.
 */
#ifndef CHRONICLE_PUT_H
#define CHRONICLE_PUT_H

#include "chronicle/chronicle_clock.h"
#include "chronicle/chronicle_writer.h"
#include "fa_atomics.h"

/* Never before that of the record before: a clock may be set back. */
static inline uint64_t chronicle_put_stamp(chronicle_writer *writer)
{
    const uint64_t now = chronicle_clock_wall_ns();
    writer->last_ns = now > writer->last_ns || FA_MUTANT(chronicle_stamp_falls) ? now : writer->last_ns;
    return writer->last_ns;
}

/* The mutants' own: a header with other contents. */
static inline void chronicle_put_spoil(chronicle_message_header *at, chronicle_message_header *header)
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
static inline void chronicle_put_late(chronicle_message_header *at, const chronicle_message_header *header, const void *payload, uint32_t length)
{
    if (length > 0) {
        FA_COPY(chronicle_payload, (unsigned char *)at + CHRONICLE_RECORD_HEADER, payload, length);
    }
    FA_STORE_RELEASE(chronicle_commit, &at->commit_len, header->commit_len);
    chronicle_clock_pause(CHRONICLE_MILLISECOND / 5);
    chronicle_record_put_header(at, header);
}

/* The record has its warm room in the current segment. */
static inline void chronicle_put(chronicle_writer *writer, uint16_t type_id, uint16_t flags, const void *payload, uint32_t length,
                                 uint64_t timestamp_ns)
{
    const uint32_t commit = chronicle_record_commit_word(length);
    chronicle_message_header header = {
        .commit_len = commit, .seq = writer->next_seq, .timestamp_ns = timestamp_ns, .type_id = type_id, .flags = flags};
    chronicle_message_header *at = chronicle_record_at(writer->segment.map, writer->offset);
    chronicle_put_spoil(at, &header);
    if (__builtin_expect(!writer->unchecked, 1)) {
        header.reserved = chronicle_record_sum(&header, payload, length);
    }
    writer->offset += chronicle_record_span(length);
    if (!FA_MUTANT(chronicle_offset_stale)) {
        FA_STORE_RELAXED(chronicle_reserve, &writer->control.block->write_offset, writer->offset); /* a hint, see chronicle_control.h */
    }
    if (FA_MUTANT(chronicle_header_late)) {
        chronicle_put_late(at, &header, payload, length);
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

#endif
