#include "chronicle/chronicle_inplace.h"

#include "chronicle/chronicle_bell.h"
#include "chronicle/chronicle_put.h"

int chronicle_inplace_reserve(chronicle_writer *writer, uint16_t type_id, uint16_t flags, size_t length, void **payload, fa_error *err)
{
    const int status = chronicle_writer_make_room(writer, type_id, length, err);
    if (status != 0) {
        return status;
    }
    writer->reserved = (chronicle_reserved){
        .span = chronicle_record_span(length), .length = length, .warm = writer->warm, .type_id = type_id, .flags = flags};
    writer->warm = 0; /* an append finds no room, looks closer, and is refused */
    FA_STORE_RELAXED(chronicle_reserve, &writer->control.block->write_offset, writer->offset + writer->reserved.span); /* a hint */
    *payload = writer->segment.map + writer->offset + CHRONICLE_RECORD_HEADER;
    return 0;
}

static int chronicle_inplace_none(fa_error *err)
{
    return fa_fail(err, FA_INVALID, 0, "chronicle_inplace_commit", "nothing is reserved");
}

static void chronicle_inplace_close(chronicle_writer *writer)
{
    writer->offset += writer->reserved.span;
    writer->warm = writer->reserved.warm;
    writer->reserved = (chronicle_reserved){0};
}

int chronicle_inplace_commit(chronicle_writer *writer, size_t length, uint64_t *seq, fa_error *err)
{
    if (writer->reserved.span == 0) {
        return chronicle_inplace_none(err);
    }
    if (length > writer->reserved.length) {
        return fa_fail(err, FA_INVALID, 0, "chronicle_inplace_commit", "%llu bytes are more than the %llu that were reserved",
                       (unsigned long long)length, (unsigned long long)writer->reserved.length);
    }
    const uint64_t span = chronicle_record_span(length), end = writer->offset + writer->reserved.span;
    chronicle_message_header *at = chronicle_record_at(writer->segment.map, writer->offset);
    chronicle_message_header header = {.commit_len = chronicle_record_commit_word((uint32_t)length),
                                       .seq = writer->next_seq,
                                       .timestamp_ns = chronicle_put_stamp(writer),
                                       .type_id = writer->reserved.type_id,
                                       .flags = writer->reserved.flags};
    if (!writer->unchecked) {
        header.reserved = chronicle_record_sum(&header, (unsigned char *)at + CHRONICLE_RECORD_HEADER, length);
    }
    if (span < writer->reserved.span && !FA_MUTANT(chronicle_rest_open)) {
        /* Before the record is: whoever reads it finds the way on. The caller may have left anything where that header goes. */
        chronicle_record_pad(writer->segment.map, writer->offset + span, end, writer->next_seq + 1);
    }
    chronicle_record_put_header(at, &header);
    FA_STORE_RELEASE(chronicle_commit, &at->commit_len, header.commit_len); /* pairs with the acquire in chronicle_record_see */
    *seq = writer->next_seq++;
    chronicle_inplace_close(writer);
    chronicle_bell_ring(writer->control.block, &writer->notify);
    return 0;
}

int chronicle_inplace_abandon(chronicle_writer *writer, fa_error *err)
{
    if (writer->reserved.span == 0) {
        return chronicle_inplace_none(err);
    }
    if (!FA_MUTANT(chronicle_abandon_open)) {
        chronicle_record_pad(writer->segment.map, writer->offset, writer->offset + writer->reserved.span, writer->next_seq);
    }
    chronicle_inplace_close(writer);
    return 0;
}
