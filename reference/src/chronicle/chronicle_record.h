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
#include <stddef.h>
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
    const uint64_t align = FA_MUTANT(chronicle_align_half) ? CHRONICLE_RECORD_ALIGN / 2 : CHRONICLE_RECORD_ALIGN;
    return (CHRONICLE_RECORD_HEADER + payload + align - 1) & ~(align - 1);
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

/*
 * Never 0. Covers the header without its check (commit_len being the committed one) and the payload. Sixteen bytes go to each of
 * four lanes in turn, since a lane waits for its own multiplication.
 */
static inline uint32_t chronicle_record_sum(const chronicle_message_header *header, const void *payload, uint64_t length)
{
    const unsigned char *next = payload;
    uint64_t lane[4] = {
        chronicle_record_mix(header->commit_len ^ CHRONICLE_RECORD_K0, header->seq ^ CHRONICLE_RECORD_K1),
        chronicle_record_mix(header->timestamp_ns ^ CHRONICLE_RECORD_K1, ((uint64_t)header->flags << 16 | header->type_id) ^ CHRONICLE_RECORD_K2),
        CHRONICLE_RECORD_K2,
        CHRONICLE_RECORD_K0,
    };
    for (; length >= 64; next += 64, length -= 64) {
        for (unsigned i = 0; i < 4; i++) {
            lane[i] = chronicle_record_mix(chronicle_record_word(next + 16 * i) ^ CHRONICLE_RECORD_K1, chronicle_record_word(next + 16 * i + 8) ^ lane[i]);
        }
    }
    for (unsigned i = 0; length > 0; i++) {
        unsigned char rest[16] = {0};
        const uint64_t here = length < sizeof rest ? length : sizeof rest;
        memcpy(rest, next, here);
        lane[i] = chronicle_record_mix(chronicle_record_word(rest) ^ CHRONICLE_RECORD_K1, chronicle_record_word(rest + 8) ^ lane[i]);
        next += here;
        length -= here;
    }
    const uint64_t h = chronicle_record_mix(lane[0] ^ CHRONICLE_RECORD_K1, lane[1] ^ CHRONICLE_RECORD_K0) ^
                       chronicle_record_mix(lane[2] ^ CHRONICLE_RECORD_K2, lane[3] ^ CHRONICLE_RECORD_K1);
    const uint64_t last = chronicle_record_mix(h ^ CHRONICLE_RECORD_K0, CHRONICLE_RECORD_K1);
    const uint32_t folded = (uint32_t)(last ^ last >> 32);
    return folded != 0 ? folded : 1;
}

static inline chronicle_message_header *chronicle_record_at(unsigned char *map, uint64_t offset)
{
    return (chronicle_message_header *)(void *)(map + offset);
}

/* The fields after the commit word, which is 0 before and after. The rest of a header is zero from the start, as its segment is. */
static inline void chronicle_record_put_header(chronicle_message_header *at, const chronicle_message_header *header)
{
    const uint64_t words[3] = {header->seq, header->timestamp_ns,
                               (uint64_t)header->reserved << 32 | (uint64_t)header->flags << 16 | header->type_id}; /* little-endian */
    FA_COPY(chronicle_header, (unsigned char *)at + offsetof(chronicle_message_header, seq), words, sizeof words);
}

/*
 * What stands at the offset. PRESENT: *commit is the acquired commit word, and nothing of the record changes any more.
 * The caller has checked that the offset leaves room for a header.
 */
static inline int chronicle_record_see(unsigned char *map, uint64_t offset, uint64_t size, uint32_t *commit)
{
    const chronicle_message_header *at = chronicle_record_at(map, offset);
    /* Pairs with the release of chronicle_commit and chronicle_pad_commit: the record is whole behind it. */
    *commit = FA_LOAD_ACQUIRE(&at->commit_len);
    if (*commit == 0) {
        return CHRONICLE_RECORD_ABSENT;
    }
    const uint64_t length = chronicle_record_length(*commit);
    if (chronicle_record_span(length) > size - offset) {
        return CHRONICLE_RECORD_BAD;
    }
    if (at->reserved != 0 && !FA_MUTANT(chronicle_commit_first) && !FA_MUTANT(chronicle_damage_served)) {
        const chronicle_message_header summed = {.commit_len = *commit, .seq = at->seq, .timestamp_ns = at->timestamp_ns, .type_id = at->type_id, .flags = at->flags};
        if (chronicle_record_sum(&summed, (const unsigned char *)at + CHRONICLE_RECORD_HEADER, at->type_id == CHRONICLE_TYPE_PAD ? 0 : length) !=
            at->reserved) {
            return CHRONICLE_RECORD_BAD;
        }
    }
    return CHRONICLE_RECORD_PRESENT;
}

/* The same with a copy of a valid record's header, for those who are in no hurry. */
int chronicle_record_look(unsigned char *map, uint64_t offset, uint64_t size, chronicle_message_header *header);

/* A valid record of that commit word, as readers hand it out. */
static inline void chronicle_record_give(unsigned char *map, uint32_t segment, uint64_t offset, uint32_t commit, chronicle_record *out)
{
    const chronicle_message_header *at = chronicle_record_at(map, offset);
    const uint32_t length = chronicle_record_length(commit);
    const uint32_t given = FA_MUTANT(chronicle_length_rounded) ? (uint32_t)chronicle_record_span(length) - CHRONICLE_RECORD_HEADER : length;
    *out = (chronicle_record){.payload = (const unsigned char *)at + CHRONICLE_RECORD_HEADER,
                              .seq = FA_MUTANT(chronicle_header_swapped) ? at->timestamp_ns : at->seq,
                              .timestamp_ns = FA_MUTANT(chronicle_header_swapped) ? at->seq : at->timestamp_ns,
                              .next_offset = offset + chronicle_record_span(length),
                              .next_segment = segment,
                              .length = given,
                              .type_id = at->type_id,
                              .flags = at->flags};
}

/*
 * The valid records from *offset on, without padding, as many as there is room for; *offset becomes the place behind the last one.
 * PRESENT: the room is full. ABSENT: nothing is committed there, or no header fits. BAD: what is there cannot be trusted.
 */
int chronicle_record_take(unsigned char *map, uint64_t size, uint32_t segment, uint64_t *offset, chronicle_record *records, size_t limit,
                          size_t *count);

/* Their payloads one after another, into memory that has room for all. */
void chronicle_record_gather(const chronicle_record *records, size_t count, void *to);

/* One committed PAD from the offset to the end of the segment; nothing where there is no room for a header. */
void chronicle_record_pad(unsigned char *map, uint64_t offset, uint64_t size, uint64_t next_seq);

/* The header of that PAD, commit word included. */
void chronicle_record_pad_header(uint64_t offset, uint64_t size, uint64_t next_seq, chronicle_message_header *header);

#endif
