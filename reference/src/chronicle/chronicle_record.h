/*
 * One record in a mapped segment: 64 bytes of header, payload, fill to the next multiple of 64.
 *
 *  0 commit_len u32 | 8 seq u64 | 16 timestamp_ns u64 | 24 type_id u16 | 26 flags u16 | 28 check u32 | 64 payload
 *
 * A record is valid if and only if commit_len is not 0, the whole of it lies within the segment, and `check` (the format's
 * reserved word; ours) is 0 or equals chronicle_record_sum. A PAD's check covers its header only, and its seq is that of the
 * record that will follow it. After power loss a page of the payload may be gone while the header stayed: only the check tells.
 */
#ifndef CHRONICLE_RECORD_H
#define CHRONICLE_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "fa_atomics.h"
#include "fa_mutant.h"
#include "layout/chronicle.h"

#define CHRONICLE_RECORD_ALIGN 64u
#define CHRONICLE_RECORD_HEADER 64u
#define CHRONICLE_RECORD_FIRST 64u /* offset of the first record of a segment */

enum chronicle_record_state { CHRONICLE_RECORD_ABSENT, CHRONICLE_RECORD_PRESENT, CHRONICLE_RECORD_BAD };

typedef struct chronicle_record {
    const void *payload;
    uint64_t seq;
    uint64_t timestamp_ns;
    uint64_t next_offset; /* (next_segment, next_offset) is where a reader that is done with this record goes on */
    uint32_t next_segment;
    uint32_t length;
    uint16_t type_id;
    uint16_t flags;
} chronicle_record;

static inline uint64_t chronicle_record_span(uint64_t payload)
{
    return (CHRONICLE_RECORD_HEADER + payload + CHRONICLE_RECORD_ALIGN - 1) & ~(uint64_t)(CHRONICLE_RECORD_ALIGN - 1);
}

static inline uint32_t chronicle_record_commit_word(uint32_t length) { return FA_MUTANT(chronicle_commit_bare) ? length : length + 1; }

static inline uint32_t chronicle_record_length(uint32_t commit) { return FA_MUTANT(chronicle_commit_bare) ? commit : commit - 1; }

static inline uint64_t chronicle_record_mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 chronicle_record_wide;
    const chronicle_record_wide product = (chronicle_record_wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t chronicle_record_word(const unsigned char *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

#define CHRONICLE_RECORD_K0 0x9e3779b97f4a7c15u
#define CHRONICLE_RECORD_K1 0xd6e8feb86659fd93u
#define CHRONICLE_RECORD_K2 0xa0761d6478bd642fu

/* Never 0. Covers the header without its check (commit_len being the committed one) and the payload. */
static inline uint32_t chronicle_record_sum(const chronicle_message_header *header, const void *payload, uint64_t length)
{
    const unsigned char *next = payload;
    uint64_t h = chronicle_record_mix(header->commit_len ^ CHRONICLE_RECORD_K0, header->seq ^ CHRONICLE_RECORD_K1);
    h = chronicle_record_mix(h ^ header->timestamp_ns, ((uint64_t)header->flags << 16 | header->type_id) ^ CHRONICLE_RECORD_K2);
    if (length >= 128) { /* four chains, since one waits for its own multiplication */
        uint64_t a = h, b = h ^ CHRONICLE_RECORD_K0, c = h ^ CHRONICLE_RECORD_K1, d = h ^ CHRONICLE_RECORD_K2;
        for (; length >= 64; next += 64, length -= 64) {
            a = chronicle_record_mix(chronicle_record_word(next) ^ CHRONICLE_RECORD_K0, chronicle_record_word(next + 8) ^ a);
            b = chronicle_record_mix(chronicle_record_word(next + 16) ^ CHRONICLE_RECORD_K1, chronicle_record_word(next + 24) ^ b);
            c = chronicle_record_mix(chronicle_record_word(next + 32) ^ CHRONICLE_RECORD_K2, chronicle_record_word(next + 40) ^ c);
            d = chronicle_record_mix(chronicle_record_word(next + 48) ^ CHRONICLE_RECORD_K0, chronicle_record_word(next + 56) ^ d);
        }
        h = chronicle_record_mix(a ^ CHRONICLE_RECORD_K1, b) ^ chronicle_record_mix(c ^ CHRONICLE_RECORD_K2, d);
    }
    for (; length >= 16; next += 16, length -= 16) {
        h = chronicle_record_mix(chronicle_record_word(next) ^ CHRONICLE_RECORD_K1, chronicle_record_word(next + 8) ^ h);
    }
    if (length > 0) {
        unsigned char rest[16] = {0};
        memcpy(rest, next, length);
        h = chronicle_record_mix(chronicle_record_word(rest) ^ CHRONICLE_RECORD_K2, chronicle_record_word(rest + 8) ^ h);
    }
    h = chronicle_record_mix(h ^ CHRONICLE_RECORD_K0, CHRONICLE_RECORD_K1);
    const uint32_t folded = (uint32_t)(h ^ h >> 32);
    return folded != 0 ? folded : 1;
}

static inline chronicle_message_header *chronicle_record_at(unsigned char *map, uint64_t offset)
{
    return (chronicle_message_header *)(void *)(map + offset);
}

/* Header without commit word; the one line that holds it is written at once. The commit word is 0 before and after. */
static inline void chronicle_record_put_header(chronicle_message_header *at, const chronicle_message_header *header)
{
    FA_COPY(chronicle_header, (unsigned char *)at + 4, (const unsigned char *)header + 4, CHRONICLE_RECORD_HEADER - 4);
}

/*
 * What stands at the offset. PRESENT: *header is a copy of a valid record's header, commit_len being the acquired word.
 * The caller has checked that the offset leaves room for a header.
 */
int chronicle_record_look(unsigned char *map, uint64_t offset, uint64_t size, chronicle_message_header *header);

/* One committed PAD from the offset to the end of the segment; nothing where there is no room for a header. */
void chronicle_record_pad(unsigned char *map, uint64_t offset, uint64_t size, uint64_t next_seq);

/* The header of that PAD, commit word included. */
void chronicle_record_pad_header(uint64_t offset, uint64_t size, uint64_t next_seq, chronicle_message_header *header);

#endif
