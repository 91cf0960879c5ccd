/*
 * BRG: message header and checkpoint. The magics are ASCII bytes in reading order, all else little-endian.
 * Valid if and only if magic, version and direction are these and 28 + payload_length bytes are there.
 */
#ifndef FA_LAYOUT_BRIDGE_H
#define FA_LAYOUT_BRIDGE_H

#include <stdint.h>

#include "layout/fa_layout.h"

#define BRIDGE_MESSAGE_MAGIC "BRDG"
#define BRIDGE_CHECKPOINT_MAGIC "CKPT"
#define BRIDGE_VERSION 1u

typedef struct bridge_message_header {
    char magic[4];
    uint8_t version;
    uint8_t direction;
    uint16_t reserved;
    uint64_t sequence;
    uint64_t timestamp_ns;
    uint32_t payload_length;
} __attribute__((packed)) bridge_message_header;

typedef struct bridge_checkpoint {
    char magic[4];
    uint32_t direction;
    uint64_t last_applied_sequence;
    uint64_t archive_position;
} bridge_checkpoint;

#define BRIDGE_LAYOUT(SIZE, FIELD)                        \
    SIZE(bridge_message_header, 28)                       \
    FIELD(bridge_message_header, magic, 0, 4)             \
    FIELD(bridge_message_header, version, 4, 1)           \
    FIELD(bridge_message_header, direction, 5, 1)         \
    FIELD(bridge_message_header, reserved, 6, 2)          \
    FIELD(bridge_message_header, sequence, 8, 8)          \
    FIELD(bridge_message_header, timestamp_ns, 16, 8)     \
    FIELD(bridge_message_header, payload_length, 24, 4)   \
    SIZE(bridge_checkpoint, 24)                           \
    FIELD(bridge_checkpoint, magic, 0, 4)                 \
    FIELD(bridge_checkpoint, direction, 4, 4)             \
    FIELD(bridge_checkpoint, last_applied_sequence, 8, 8) \
    FIELD(bridge_checkpoint, archive_position, 16, 8)

BRIDGE_LAYOUT(FA_LAYOUT_ASSERT_SIZE, FA_LAYOUT_ASSERT_FIELD)

#endif
