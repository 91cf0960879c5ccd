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
