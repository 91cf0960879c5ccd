/*
 * OMB: shared-memory ring, WAL and TCP frames. Little-endian. Region = header page, max_consumers tails, capacity slots.
 * A slot is readable at position t if and only if seq == t + 1. A tail of 2^64-1 is unregistered.
 * A WAL file is a header of 64 bytes and records from there on. A record's header packs seq (40 bits, low) | type (8) | length (16, high).
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
#define OMBUS_WAL_MAGIC 0x4F4D4257u
#define OMBUS_WAL_VERSION 1u
#define OMBUS_WAL_FLAG_CRC 1u /* every record has a trailer */
#define OMBUS_WAL_FILE_HEADER 64u
#define OMBUS_WAL_SEQ_MAX ((1ull << 40) - 1)
#define OMBUS_WAL_PAYLOAD_MAX 65535u

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

typedef struct ombus_wal_file {
    uint32_t magic;
    uint32_t version;
    uint32_t flags;
    uint32_t number;
    uint64_t first_seq;
    uint32_t crc32; /* of the 24 bytes before it */
    uint32_t reserved;
    uint64_t synced; /* everything before this offset is durable, as long as synced_check is its complement */
    uint64_t synced_check;
    uint8_t pad[16];
} ombus_wal_file;

/* user_len bytes of the user and aux_len of auxiliary data follow. */
typedef struct ombus_wal_insert {
    uint64_t order_id;
    int64_t price;
    uint64_t volume;
    uint64_t volume_remaining;
    uint64_t timestamp_ns;
    uint16_t product_id;
    uint16_t org_id;
    uint16_t flags;
    uint16_t reserved;
    uint32_t user_len;
    uint32_t aux_len;
} ombus_wal_insert;

typedef struct ombus_wal_cancel {
    uint64_t order_id;
    uint64_t timestamp_ns;
    uint16_t product_id;
    uint8_t reserved[6];
} ombus_wal_cancel, ombus_wal_deactivate, ombus_wal_activate;

typedef struct ombus_wal_match {
    uint64_t maker_id;
    uint64_t taker_id;
    int64_t price;
    uint64_t volume;
    uint64_t timestamp_ns;
} ombus_wal_match;

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
    SIZE(ombus_wal_file, 64)                           \
    FIELD(ombus_wal_file, magic, 0, 4)                 \
    FIELD(ombus_wal_file, version, 4, 4)               \
    FIELD(ombus_wal_file, flags, 8, 4)                 \
    FIELD(ombus_wal_file, number, 12, 4)               \
    FIELD(ombus_wal_file, first_seq, 16, 8)            \
    FIELD(ombus_wal_file, crc32, 24, 4)                \
    FIELD(ombus_wal_file, reserved, 28, 4)             \
    FIELD(ombus_wal_file, synced, 32, 8)               \
    FIELD(ombus_wal_file, synced_check, 40, 8)         \
    FIELD(ombus_wal_file, pad, 48, 16)                 \
    SIZE(ombus_wal_insert, 56)                         \
    FIELD(ombus_wal_insert, order_id, 0, 8)            \
    FIELD(ombus_wal_insert, price, 8, 8)               \
    FIELD(ombus_wal_insert, volume, 16, 8)             \
    FIELD(ombus_wal_insert, volume_remaining, 24, 8)   \
    FIELD(ombus_wal_insert, timestamp_ns, 32, 8)       \
    FIELD(ombus_wal_insert, product_id, 40, 2)         \
    FIELD(ombus_wal_insert, org_id, 42, 2)             \
    FIELD(ombus_wal_insert, flags, 44, 2)              \
    FIELD(ombus_wal_insert, reserved, 46, 2)           \
    FIELD(ombus_wal_insert, user_len, 48, 4)           \
    FIELD(ombus_wal_insert, aux_len, 52, 4)            \
    SIZE(ombus_wal_cancel, 24)                         \
    FIELD(ombus_wal_cancel, order_id, 0, 8)            \
    FIELD(ombus_wal_cancel, timestamp_ns, 8, 8)        \
    FIELD(ombus_wal_cancel, product_id, 16, 2)         \
    FIELD(ombus_wal_cancel, reserved, 18, 6)           \
    SIZE(ombus_wal_deactivate, 24)                     \
    FIELD(ombus_wal_deactivate, order_id, 0, 8)        \
    FIELD(ombus_wal_deactivate, timestamp_ns, 8, 8)    \
    FIELD(ombus_wal_deactivate, product_id, 16, 2)     \
    FIELD(ombus_wal_deactivate, reserved, 18, 6)       \
    SIZE(ombus_wal_activate, 24)                       \
    FIELD(ombus_wal_activate, order_id, 0, 8)          \
    FIELD(ombus_wal_activate, timestamp_ns, 8, 8)      \
    FIELD(ombus_wal_activate, product_id, 16, 2)       \
    FIELD(ombus_wal_activate, reserved, 18, 6)         \
    SIZE(ombus_wal_match, 40)                          \
    FIELD(ombus_wal_match, maker_id, 0, 8)             \
    FIELD(ombus_wal_match, taker_id, 8, 8)             \
    FIELD(ombus_wal_match, price, 16, 8)               \
    FIELD(ombus_wal_match, volume, 24, 8)              \
    FIELD(ombus_wal_match, timestamp_ns, 32, 8)        \
    SIZE(ombus_record, 24)                             \
    FIELD(ombus_record, wal_seq, 0, 8)                 \
    FIELD(ombus_record, wal_type, 8, 1)                \
    FIELD(ombus_record, payload_len, 10, 2)            \
    FIELD(ombus_record, payload, 16, 8)

OMBUS_LAYOUT(FA_LAYOUT_ASSERT_SIZE, FA_LAYOUT_ASSERT_FIELD)

#endif
