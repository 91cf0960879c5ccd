/*
 * SMB: the fixed part in front of a record's payload; payload, headers_len u32, headers and crc32 u32 follow.
 * Little-endian. Valid if and only if record_len == 36 + payload + headers, the flags are known and the CRC over
 * event_id..headers holds. The value of the magic is spec's.
 */
#ifndef FA_LAYOUT_SIMPLEBUS_H
#define FA_LAYOUT_SIMPLEBUS_H

#include <stdint.h>

#include "layout/fa_layout.h"

#define SIMPLEBUS_VERSION 1u

typedef struct simplebus_record_prefix {
    uint32_t magic;
    uint16_t version;
    uint16_t flags;
    uint32_t record_len;
    uint8_t event_id[16];
    int64_t ts_unix_nanos;
    uint32_t payload_len;
} __attribute__((packed)) simplebus_record_prefix;

#define SIMPLEBUS_LAYOUT(SIZE, FIELD)                    \
    SIZE(simplebus_record_prefix, 40)                    \
    FIELD(simplebus_record_prefix, magic, 0, 4)          \
    FIELD(simplebus_record_prefix, version, 4, 2)        \
    FIELD(simplebus_record_prefix, flags, 6, 2)          \
    FIELD(simplebus_record_prefix, record_len, 8, 4)     \
    FIELD(simplebus_record_prefix, event_id, 12, 16)     \
    FIELD(simplebus_record_prefix, ts_unix_nanos, 28, 8) \
    FIELD(simplebus_record_prefix, payload_len, 36, 4)

SIMPLEBUS_LAYOUT(FA_LAYOUT_ASSERT_SIZE, FA_LAYOUT_ASSERT_FIELD)

#endif
