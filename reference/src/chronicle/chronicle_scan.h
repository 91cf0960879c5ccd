/*
 * The records of one segment that lies anywhere in memory: a file mapped read-only, or an archive unpacked.
 *
 * Registers nobody and writes nothing. The memory begins at a multiple of 64 and is a whole segment, whose header the caller has checked.
 */
#ifndef CHRONICLE_SCAN_H
#define CHRONICLE_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "chronicle/chronicle_record.h"

/* Why a scan stopped: the limit; no room for a header; nothing is committed here; what is here cannot be trusted. */
enum chronicle_scan_state { CHRONICLE_SCAN_MORE, CHRONICLE_SCAN_END, CHRONICLE_SCAN_OPEN, CHRONICLE_SCAN_BAD };

/* At most limit records from *offset on, without padding; *offset becomes the place where the scan stopped. */
int chronicle_scan_records(const void *map, uint64_t size, uint32_t segment, uint64_t *offset, chronicle_record *records, size_t limit,
                           size_t *count);

#endif
