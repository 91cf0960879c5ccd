/*
 * CHR: control.meta, segments and records. Little-endian; records start at multiples of 64, data of a segment at 64.
 * A record is readable if and only if commit_len, acquired, is not 0; its payload then has commit_len - 1 bytes.
 * (current_segment, write_offset) is valid if and only if segment_gen was even and the same before and after.
 * A reader slot, the lock record and the checkpoint are valid if and only if their reserved bytes are zero and their CRC, if
 * any, is that of the bytes before it.
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
#define CHRONICLE_INDEX_MAGIC 0x43494458u
#define CHRONICLE_INDEX_VERSION 1u

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

typedef struct chronicle_reader_slot {
    uint64_t generation;
    uint32_t segment;
    uint32_t reserved0;
    uint64_t offset;
    uint64_t heartbeat_ns;
    uint64_t pid;
    uint8_t reserved1[20];
    uint32_t crc32;
} chronicle_reader_slot;

typedef struct chronicle_reader_meta {
    chronicle_reader_slot slot_0;
    chronicle_reader_slot slot_1;
} chronicle_reader_meta;

typedef struct chronicle_writer_lock {
    uint32_t pid;
    uint32_t reserved;
    uint64_t start_ticks;
    uint64_t epoch;
} chronicle_writer_lock;

/* index.meta: everything before (segment, offset) is durable, and the record there has or will have next_seq. */
typedef struct chronicle_index {
    uint32_t magic;
    uint32_t version;
    uint32_t segment;
    uint32_t reserved0;
    uint64_t offset;
    uint64_t next_seq;
    uint32_t reserved1;
    uint32_t crc32;
} chronicle_index;

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
    FIELD(chronicle_segment_header, pad, 16, 48)                \
    SIZE(chronicle_reader_slot, 64)                             \
    FIELD(chronicle_reader_slot, generation, 0, 8)              \
    FIELD(chronicle_reader_slot, segment, 8, 4)                 \
    FIELD(chronicle_reader_slot, reserved0, 12, 4)              \
    FIELD(chronicle_reader_slot, offset, 16, 8)                 \
    FIELD(chronicle_reader_slot, heartbeat_ns, 24, 8)           \
    FIELD(chronicle_reader_slot, pid, 32, 8)                    \
    FIELD(chronicle_reader_slot, reserved1, 40, 20)             \
    FIELD(chronicle_reader_slot, crc32, 60, 4)                  \
    SIZE(chronicle_reader_meta, 128)                            \
    FIELD(chronicle_reader_meta, slot_0, 0, 64)                 \
    FIELD(chronicle_reader_meta, slot_1, 64, 64)                \
    SIZE(chronicle_writer_lock, 24)                             \
    FIELD(chronicle_writer_lock, pid, 0, 4)                     \
    FIELD(chronicle_writer_lock, reserved, 4, 4)                \
    FIELD(chronicle_writer_lock, start_ticks, 8, 8)             \
    FIELD(chronicle_writer_lock, epoch, 16, 8)                  \
    SIZE(chronicle_index, 40)                                   \
    FIELD(chronicle_index, magic, 0, 4)                         \
    FIELD(chronicle_index, version, 4, 4)                       \
    FIELD(chronicle_index, segment, 8, 4)                       \
    FIELD(chronicle_index, reserved0, 12, 4)                    \
    FIELD(chronicle_index, offset, 16, 8)                       \
    FIELD(chronicle_index, next_seq, 24, 8)                     \
    FIELD(chronicle_index, reserved1, 32, 4)                    \
    FIELD(chronicle_index, crc32, 36, 4)

CHRONICLE_LAYOUT(FA_LAYOUT_ASSERT_SIZE, FA_LAYOUT_ASSERT_FIELD)

#endif
