/*
 * index.meta: where recovery may start.
 *
 *  0 magic u32 0x43494458 | 4 version u32 1 | 8 segment u32 | 16 offset u64 | 24 next_seq u64 | 36 crc32 of 0-35
 *
 * Valid if and only if magic, version and CRC match, reserved words are zero and the offset is a multiple of 64. Written
 * after everything before that place was made durable, and itself never synced: an older one, or none, only lengthens the scan.
 */
#ifndef CHRONICLE_INDEX_H
#define CHRONICLE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "fa_error.h"
#include "layout/chronicle.h"

#define CHRONICLE_INDEX_NAME "index.meta"

/* *fd is -1 before the first call and belongs to the caller. */
int chronicle_index_write(int dirfd, int *fd, uint32_t segment, uint64_t offset, uint64_t next_seq, fa_error *err);
/* *found says whether there is a valid one. */
int chronicle_index_read(int dirfd, chronicle_index *index, bool *found, fa_error *err);

#endif
