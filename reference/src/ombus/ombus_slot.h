/*
 * A ring slot: 24 bytes of header, then the payload. See layout/ombus.h.
 *
 * At position p the slot p mod capacity is readable if and only if its seq is p + 1. While it is written its seq is 0, so that a
 * consumer which was released, and still copies from it, finds another seq afterwards.
 */
#ifndef OMBUS_SLOT_H
#define OMBUS_SLOT_H

#include <stdint.h>
#include <string.h>

#include "fa_atomics.h"
#include "fa_crc32.h"
#include "fa_mutant.h"
#include "layout/ombus.h"

typedef struct ombus_slot {
    ombus_slot_header header;
    unsigned char payload[];
} ombus_slot;

/* wal_type, reserved, payload_len and crc32 as the one word they are. */
static inline uint64_t ombus_slot_word(uint8_t wal_type, uint16_t length, uint32_t crc)
{
    return (uint64_t)crc << 32 | (uint64_t)length << 16 | (FA_MUTANT(ombus_slot_dirty) ? 0xFF00u : 0) | wal_type;
}

static inline ombus_slot *ombus_slot_at(unsigned char *slots, uint64_t position, uint64_t mask, uint32_t slot_size)
{
    return (ombus_slot *)(void *)(slots + (position & mask) * slot_size);
}

#endif
