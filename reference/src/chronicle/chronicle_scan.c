#include "chronicle/chronicle_scan.h"

int chronicle_scan_records(const void *map, uint64_t size, uint32_t segment, uint64_t *offset, chronicle_record *records, size_t limit,
                           size_t *count)
{
    *count = 0;
    if (*offset % CHRONICLE_RECORD_ALIGN != 0 || *offset < CHRONICLE_RECORD_FIRST) {
        return CHRONICLE_SCAN_BAD;
    }
    const int state = chronicle_record_take((unsigned char *)(uintptr_t)map, size, segment, offset, records, limit, count);
    if (state == CHRONICLE_RECORD_PRESENT) {
        return CHRONICLE_SCAN_MORE;
    }
    if (state == CHRONICLE_RECORD_BAD) {
        return CHRONICLE_SCAN_BAD;
    }
    return *offset > size || size - *offset < CHRONICLE_RECORD_HEADER ? CHRONICLE_SCAN_END : CHRONICLE_SCAN_OPEN;
}
