#include "chronicle/chronicle_record.h"

static void chronicle_record_unswap(chronicle_message_header *header)
{
    const uint64_t seq = header->timestamp_ns;
    header->timestamp_ns = header->seq;
    header->seq = seq;
}

int chronicle_record_look(unsigned char *map, uint64_t offset, uint64_t size, chronicle_message_header *header)
{
    uint32_t commit;
    const int state = chronicle_record_see(map, offset, size, &commit);
    if (state == CHRONICLE_RECORD_PRESENT) {
        memcpy((unsigned char *)header + 4, (unsigned char *)chronicle_record_at(map, offset) + 4, sizeof *header - 4);
        header->commit_len = commit;
        if (FA_MUTANT(chronicle_header_swapped) && header->type_id != CHRONICLE_TYPE_PAD) {
            chronicle_record_unswap(header);
        }
    }
    return state;
}

int chronicle_record_take(unsigned char *map, uint64_t size, uint32_t segment, uint64_t *offset, chronicle_record *records, size_t limit,
                          size_t *count)
{
    uint64_t at = *offset;
    size_t taken = 0;
    int state = CHRONICLE_RECORD_PRESENT;
    while (taken < limit) {
        uint32_t commit;
        state = at > size || size - at < CHRONICLE_RECORD_HEADER ? CHRONICLE_RECORD_ABSENT : chronicle_record_see(map, at, size, &commit);
        if (__builtin_expect(state != CHRONICLE_RECORD_PRESENT, 0)) {
            break;
        }
        if (chronicle_record_at(map, at)->type_id != CHRONICLE_TYPE_PAD || FA_MUTANT(chronicle_pad_surfaces)) {
            chronicle_record_give(map, segment, at, commit, &records[taken++]);
        }
        at += chronicle_record_span(chronicle_record_length(commit));
    }
    *offset = at;
    *count = taken;
    return state;
}

void chronicle_record_gather(const chronicle_record *records, size_t count, void *to)
{
    unsigned char *next = to;
    for (size_t i = 0; i < count; i++) {
        memcpy(next, records[i].payload, records[i].length);
        next += records[i].length;
    }
}

void chronicle_record_pad_header(uint64_t offset, uint64_t size, uint64_t next_seq, chronicle_message_header *header)
{
    const uint64_t length = size - offset - CHRONICLE_RECORD_HEADER; /* below 2^32, since a segment has at most 4 GiB */
    *header = (chronicle_message_header){
        .commit_len = chronicle_record_commit_word((uint32_t)length), .seq = next_seq, .type_id = CHRONICLE_TYPE_PAD};
    header->reserved = chronicle_record_sum(header, NULL, 0);
}

void chronicle_record_pad(unsigned char *map, uint64_t offset, uint64_t size, uint64_t next_seq)
{
    if (offset + CHRONICLE_RECORD_HEADER > size) {
        return;
    }
    chronicle_message_header header;
    chronicle_message_header *at = chronicle_record_at(map, offset);
    chronicle_record_pad_header(offset, size, next_seq, &header);
    if (FA_LOAD_RELAXED(&at->commit_len) != 0) {
        /* Garbage that recovery found: nobody may take it for a commit while the header changes under it. */
        FA_STORE_RELEASE(chronicle_pad_clear, &at->commit_len, 0); /* pairs with the acquire in chronicle_record_look */
    }
    FA_COPY(chronicle_pad_header, (unsigned char *)at + 4, (unsigned char *)&header + 4, sizeof header - 4);
    FA_STORE_RELEASE(chronicle_pad_commit, &at->commit_len, header.commit_len); /* pairs with the acquire in chronicle_record_look */
}
