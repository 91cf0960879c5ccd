/*
 * OMB: shared-memory ring, WAL and TCP frames. Little-endian. Region = header page, max_consumers tails, capacity slots.
 * A slot is readable at position t if and only if seq == t + 1. A tail of 2^64-1 is unregistered.
 * The WAL header packs seq (40 bits, low) | type (8) | length (16, high).
 */
#ifndef FA_LAYOUT_OMBUS_H
#define FA_LAYOUT_OMBUS_H

#include <stdint.h>

#include "layout/fa_layout.h"

#define OMBUS_SHM_MAGIC 0x4F4D4253u
#define OMBUS_SHM_VERSION 1u
#define OMBUS_FRAME_MAGIC 0x4F4D4246u
#define OMBUS_TAIL_UNREGISTERED UINT64_MAX
#define OMBUS_FLAG_CRC 1u /* every payload's crc32 is set and checked */
#define OMBUS_FLAGS OMBUS_FLAG_CRC
#define OMBUS_SLOT_HEADER 24u

typedef struct ombus_slot_header {
    uint64_t seq;
    uint64_t wal_seq;
    uint8_t wal_type;
    uint8_t reserved;
    uint16_t payload_len;
    uint32_t crc32;
} ombus_slot_header;

typedef struct ombus_shm_header {
    uint32_t magic;
    uint32_t version;
    uint32_t slot_size;
    uint32_t capacity;
    uint32_t max_consumers;
    uint32_t flags;
    uint64_t head;
    uint64_t min_tail;
    char stream_name[64];
    uint64_t incarnation;
    uint8_t pad[3984];
} ombus_shm_header;

typedef struct ombus_consumer_tail {
    uint64_t tail;
    uint64_t wal_seq;
    uint8_t pad[48];
} ombus_consumer_tail;

typedef struct ombus_frame_header {
    uint32_t magic;
    uint8_t msg_type;
    uint8_t flags;
    uint16_t body_len;
    uint64_t wal_seq;
} ombus_frame_header;

typedef struct ombus_data_header {
    uint8_t wal_type;
    uint8_t reserved;
    uint16_t payload_len;
    uint32_t crc32;
} ombus_data_header;

typedef struct ombus_batch_header {
    uint16_t count;
    uint16_t reserved;
    uint32_t total_payload_len;
} ombus_batch_header;

typedef struct ombus_gap_request {
    uint64_t from_seq;
    uint64_t to_seq;
} ombus_gap_request;

typedef struct ombus_subscribe {
    uint64_t start_seq;
    char stream_name[64];
} ombus_subscribe;

typedef struct ombus_subscribe_ack {
    uint32_t status;
    uint64_t current_seq;
} __attribute__((packed)) ombus_subscribe_ack;

typedef struct ombus_wal_header {
    uint64_t packed;
} ombus_wal_header;

typedef struct ombus_record {
    uint64_t wal_seq;
    uint8_t wal_type;
    uint16_t payload_len;
    const void *payload;
} ombus_record;

#define OMBUS_LAYOUT(SIZE, FIELD)                      \
    SIZE(ombus_slot_header, 24)                        \
    FIELD(ombus_slot_header, seq, 0, 8)                \
    FIELD(ombus_slot_header, wal_seq, 8, 8)            \
    FIELD(ombus_slot_header, wal_type, 16, 1)          \
    FIELD(ombus_slot_header, reserved, 17, 1)          \
    FIELD(ombus_slot_header, payload_len, 18, 2)       \
    FIELD(ombus_slot_header, crc32, 20, 4)             \
    SIZE(ombus_shm_header, 4096)                       \
    FIELD(ombus_shm_header, magic, 0, 4)               \
    FIELD(ombus_shm_header, version, 4, 4)             \
    FIELD(ombus_shm_header, slot_size, 8, 4)           \
    FIELD(ombus_shm_header, capacity, 12, 4)           \
    FIELD(ombus_shm_header, max_consumers, 16, 4)      \
    FIELD(ombus_shm_header, flags, 20, 4)              \
    FIELD(ombus_shm_header, head, 24, 8)               \
    FIELD(ombus_shm_header, min_tail, 32, 8)           \
    FIELD(ombus_shm_header, stream_name, 40, 64)       \
    FIELD(ombus_shm_header, incarnation, 104, 8)       \
    FIELD(ombus_shm_header, pad, 112, 3984)            \
    SIZE(ombus_consumer_tail, 64)                      \
    FIELD(ombus_consumer_tail, tail, 0, 8)             \
    FIELD(ombus_consumer_tail, wal_seq, 8, 8)          \
    FIELD(ombus_consumer_tail, pad, 16, 48)            \
    SIZE(ombus_frame_header, 16)                       \
    FIELD(ombus_frame_header, magic, 0, 4)             \
    FIELD(ombus_frame_header, msg_type, 4, 1)          \
    FIELD(ombus_frame_header, flags, 5, 1)             \
    FIELD(ombus_frame_header, body_len, 6, 2)          \
    FIELD(ombus_frame_header, wal_seq, 8, 8)           \
    SIZE(ombus_data_header, 8)                         \
    FIELD(ombus_data_header, wal_type, 0, 1)           \
    FIELD(ombus_data_header, reserved, 1, 1)           \
    FIELD(ombus_data_header, payload_len, 2, 2)        \
    FIELD(ombus_data_header, crc32, 4, 4)              \
    SIZE(ombus_batch_header, 8)                        \
    FIELD(ombus_batch_header, count, 0, 2)             \
    FIELD(ombus_batch_header, reserved, 2, 2)          \
    FIELD(ombus_batch_header, total_payload_len, 4, 4) \
    SIZE(ombus_gap_request, 16)                        \
    FIELD(ombus_gap_request, from_seq, 0, 8)           \
    FIELD(ombus_gap_request, to_seq, 8, 8)             \
    SIZE(ombus_subscribe, 72)                          \
    FIELD(ombus_subscribe, start_seq, 0, 8)            \
    FIELD(ombus_subscribe, stream_name, 8, 64)         \
    SIZE(ombus_subscribe_ack, 12)                      \
    FIELD(ombus_subscribe_ack, status, 0, 4)           \
    FIELD(ombus_subscribe_ack, current_seq, 4, 8)      \
    SIZE(ombus_wal_header, 8)                          \
    FIELD(ombus_wal_header, packed, 0, 8)              \
    SIZE(ombus_record, 24)                             \
    FIELD(ombus_record, wal_seq, 0, 8)                 \
    FIELD(ombus_record, wal_type, 8, 1)                \
    FIELD(ombus_record, payload_len, 10, 2)            \
    FIELD(ombus_record, payload, 16, 8)

OMBUS_LAYOUT(FA_LAYOUT_ASSERT_SIZE, FA_LAYOUT_ASSERT_FIELD)

#endif
