/*
 * CHR: control.meta, segments and records. Little-endian; records start at multiples of 64, data of a segment at 64.
 * A record is readable if and only if commit_len, acquired, is not 0; its payload then has commit_len - 1 bytes.
 * (current_segment, write_offset) is valid if and only if segment_gen was even and the same before and after.
 */
#ifndef FA_LAYOUT_CHRONICLE_H
#define FA_LAYOUT_CHRONICLE_H

#include <stdint.h>

#include "layout/fa_layout.h"

#define CHRONICLE_CONTROL_MAGIC 0x4348524Eu
#define CHRONICLE_CONTROL_VERSION 2u
#define CHRONICLE_SEGMENT_MAGIC 0x53454730u
#define CHRONICLE_SEGMENT_VERSION 1u
#define CHRONICLE_SEGMENT_SEALED 1u
#define CHRONICLE_TYPE_PAD 0xFFFFu

typedef struct chronicle_message_header {
    uint32_t commit_len;
    uint32_t pad0;
    uint64_t seq;
    uint64_t timestamp_ns;
    uint16_t type_id;
    uint16_t flags;
    uint32_t reserved;
    uint8_t pad[32];
} chronicle_message_header;

typedef struct chronicle_control_block {
    uint32_t magic;
    uint32_t version;
    uint32_t init_state;
    uint32_t pad0;
    uint64_t writer_epoch;
    uint64_t segment_size;
    uint8_t pad1[96];
    uint32_t segment_gen;
    uint32_t current_segment;
    uint8_t pad2[120];
    uint64_t write_offset;
    uint64_t writer_heartbeat_ns;
    uint32_t notify_seq;
    uint32_t waiters_pending;
    uint8_t pad3[104];
} chronicle_control_block;

typedef struct chronicle_segment_header {
    uint32_t magic;
    uint32_t version;
    uint32_t segment_id;
    uint32_t flags;
    uint8_t pad[48];
} chronicle_segment_header;

#define CHRONICLE_LAYOUT(SIZE, FIELD)                           \
    SIZE(chronicle_message_header, 64)                          \
    FIELD(chronicle_message_header, commit_len, 0, 4)           \
    FIELD(chronicle_message_header, pad0, 4, 4)                 \
    FIELD(chronicle_message_header, seq, 8, 8)                  \
    FIELD(chronicle_message_header, timestamp_ns, 16, 8)        \
    FIELD(chronicle_message_header, type_id, 24, 2)             \
    FIELD(chronicle_message_header, flags, 26, 2)               \
    FIELD(chronicle_message_header, reserved, 28, 4)            \
    FIELD(chronicle_message_header, pad, 32, 32)                \
    SIZE(chronicle_control_block, 384)                          \
    FIELD(chronicle_control_block, magic, 0, 4)                 \
    FIELD(chronicle_control_block, version, 4, 4)               \
    FIELD(chronicle_control_block, init_state, 8, 4)            \
    FIELD(chronicle_control_block, pad0, 12, 4)                 \
    FIELD(chronicle_control_block, writer_epoch, 16, 8)         \
    FIELD(chronicle_control_block, segment_size, 24, 8)         \
    FIELD(chronicle_control_block, pad1, 32, 96)                \
    FIELD(chronicle_control_block, segment_gen, 128, 4)         \
    FIELD(chronicle_control_block, current_segment, 132, 4)     \
    FIELD(chronicle_control_block, pad2, 136, 120)              \
    FIELD(chronicle_control_block, write_offset, 256, 8)        \
    FIELD(chronicle_control_block, writer_heartbeat_ns, 264, 8) \
    FIELD(chronicle_control_block, notify_seq, 272, 4)          \
    FIELD(chronicle_control_block, waiters_pending, 276, 4)     \
    FIELD(chronicle_control_block, pad3, 280, 104)              \
    SIZE(chronicle_segment_header, 64)                          \
    FIELD(chronicle_segment_header, magic, 0, 4)                \
    FIELD(chronicle_segment_header, version, 4, 4)              \
    FIELD(chronicle_segment_header, segment_id, 8, 4)           \
    FIELD(chronicle_segment_header, flags, 12, 4)               \
    FIELD(chronicle_segment_header, pad, 16, 48)

CHRONICLE_LAYOUT(FA_LAYOUT_ASSERT_SIZE, FA_LAYOUT_ASSERT_FIELD)

#endif
