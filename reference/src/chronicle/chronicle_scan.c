#include "chronicle/chronicle_scan.h"

int chronicle_scan_records(const void *map, uint64_t size, uint32_t segment, uint64_t *offset, chronicle_record *records, size_t limit,
                           size_t *count)
{
    uint32_t commit;
    *count = 0;
    if (*offset % CHRONICLE_RECORD_ALIGN != 0 || *offset < CHRONICLE_RECORD_FIRST) {
        return CHRONICLE_SCAN_BAD;
    }
    while (*count < limit) {
        if (*offset > size || size - *offset < CHRONICLE_RECORD_HEADER) {
            return CHRONICLE_SCAN_END;
        }
        unsigned char *const bytes = (unsigned char *)(uintptr_t)map;
        const int state = chronicle_record_see(bytes, *offset, size, &commit);
        if (state != CHRONICLE_RECORD_PRESENT) {
            return state == CHRONICLE_RECORD_ABSENT ? CHRONICLE_SCAN_OPEN : CHRONICLE_SCAN_BAD;
        }
        if (chronicle_record_at(bytes, *offset)->type_id != CHRONICLE_TYPE_PAD) {
            chronicle_record_give(bytes, segment, *offset, commit, &records[(*count)++]);
        }
        *offset += chronicle_record_span(chronicle_record_length(commit));
    }
    return CHRONICLE_SCAN_MORE;
}
