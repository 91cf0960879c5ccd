#include "chronicle/chronicle_scan.h"

int chronicle_scan_records(const void *map, uint64_t size, uint32_t segment, uint64_t *offset, chronicle_record *records, size_t limit,
                           size_t *count)
{
    chronicle_message_header header;
    *count = 0;
    if (*offset % CHRONICLE_RECORD_ALIGN != 0 || *offset < CHRONICLE_RECORD_FIRST) {
        return CHRONICLE_SCAN_BAD;
    }
    while (*count < limit) {
        if (*offset > size || size - *offset < CHRONICLE_RECORD_HEADER) {
            return CHRONICLE_SCAN_END;
        }
        const int state = chronicle_record_look((unsigned char *)(uintptr_t)map, *offset, size, &header);
        if (state != CHRONICLE_RECORD_PRESENT) {
            return state == CHRONICLE_RECORD_ABSENT ? CHRONICLE_SCAN_OPEN : CHRONICLE_SCAN_BAD;
        }
        const uint32_t length = chronicle_record_length(header.commit_len);
        const uint64_t next = *offset + chronicle_record_span(length);
        if (header.type_id != CHRONICLE_TYPE_PAD) {
            records[(*count)++] = (chronicle_record){.payload = (const unsigned char *)map + *offset + CHRONICLE_RECORD_HEADER,
                                                     .seq = header.seq,
                                                     .timestamp_ns = header.timestamp_ns,
                                                     .next_offset = next,
                                                     .next_segment = segment,
                                                     .length = length,
                                                     .type_id = header.type_id,
                                                     .flags = header.flags};
        }
        *offset = next;
    }
    return CHRONICLE_SCAN_MORE;
}
