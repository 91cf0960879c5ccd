/*
 * One record of a WAL: 8 bytes of header, payload, crc32 of both where the file has the flag, zeros to the next multiple of 8.
 *
 * Valid if and only if its type is 1-6 or at least 0x80, it ends within the file, its sequence is the expected one, its fill is
 * zero and its checksum matches. A header of 0 is no record: nothing was written there yet.
 */
#ifndef OMBUS_WAL_RECORD_H
#define OMBUS_WAL_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "fa_crc32.h"
#include "fa_mutant.h"
#include "layout/ombus.h"

#define OMBUS_WAL_RECORD_HEADER 8u
#define OMBUS_WAL_RECORD_MAX (OMBUS_WAL_RECORD_HEADER + 65536u + 8u) /* the largest span */

static inline uint64_t ombus_wal_record_pack(uint64_t seq, uint8_t type, uint16_t length)
{
    return FA_MUTANT(ombus_wal_header_swapped) ? seq | (uint64_t)length << 40 | (uint64_t)type << 56 : seq | (uint64_t)type << 40 | (uint64_t)length << 48;
}

static inline uint64_t ombus_wal_record_seq(uint64_t word) { return word & OMBUS_WAL_SEQ_MAX; }

static inline uint8_t ombus_wal_record_type(uint64_t word)
{
    return FA_MUTANT(ombus_wal_header_swapped) ? (uint8_t)(word >> 56) : (uint8_t)(word >> 40);
}

static inline uint16_t ombus_wal_record_length(uint64_t word)
{
    return FA_MUTANT(ombus_wal_header_swapped) ? (uint16_t)(word >> 40) : (uint16_t)(word >> 48);
}

static inline bool ombus_wal_record_type_valid(uint8_t type) { return (type >= 1 && type <= 6) || type >= 0x80; }

/* Bytes in the file. */
static inline uint64_t ombus_wal_record_span(uint64_t length, bool crc)
{
    const uint64_t used = OMBUS_WAL_RECORD_HEADER + length + (crc ? 4u : 0u);
    return FA_MUTANT(ombus_wal_unaligned) ? used : (used + 7u) & ~7ull;
}

static inline uint32_t ombus_wal_record_crc(uint64_t word, const void *payload, uint64_t length)
{
    return fa_crc32(fa_crc32(0, &word, sizeof word), payload, length);
}

/* Whether a whole record's trailer and fill are right; `at` is its header. */
static inline bool ombus_wal_record_sound(const unsigned char *at, uint64_t word, bool crc)
{
    const uint64_t length = ombus_wal_record_length(word), span = ombus_wal_record_span(length, crc);
    const unsigned char *next = at + OMBUS_WAL_RECORD_HEADER + length;
    if (crc) {
        uint32_t trailer;
        memcpy(&trailer, next, sizeof trailer);
        if (trailer != ombus_wal_record_crc(word, at + OMBUS_WAL_RECORD_HEADER, length)) {
            return false;
        }
        next += sizeof trailer;
    }
    while (next < at + span) {
        if (*next++ != 0) {
            return false;
        }
    }
    return true;
}

#endif
