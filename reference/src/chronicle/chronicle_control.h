/*
 * control.meta, 384 bytes, mapped by the writer and by every reader.
 *
 *    0 magic u32 0x4348524E | 4 version u32 2 | 8 init_state u32 | 16 writer_epoch u64 | 24 segment_size u64
 *  128 segment_gen u32 | 132 current_segment u32 | 256 write_offset u64 | 264 writer_heartbeat_ns u64 | 272 notify_seq u32
 *  276 waiters_pending u32
 *
 * Valid if and only if it has 384 bytes, init_state is 2, magic and version match, segment_size is a multiple of 64 from 128
 * to 4 GiB and all other bytes are zero. segment_size is the one truth about the geometry. Position and heartbeat are hints
 * for readers; after a crash nothing rests on them.
 */
#ifndef CHRONICLE_CONTROL_H
#define CHRONICLE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "fa_error.h"
#include "layout/chronicle.h"

#define CHRONICLE_CONTROL_NAME "control.meta"
#define CHRONICLE_CONTROL_TEMPORARY "control.meta.tmp"
#define CHRONICLE_CONTROL_INITIALISING 1u
#define CHRONICLE_CONTROL_READY 2u

typedef struct chronicle_control {
    chronicle_control_block *block; /* NULL while nothing is mapped */
    int fd;                         /* -1 where the file may not be written */
} chronicle_control;

/* Makes it under its temporary name, ready and durable, and renames it. The directory's sync makes the name durable. */
int chronicle_control_create(int dirfd, uint64_t segment_size, fa_error *err);

/*
 * Maps a valid one; waits a moment for init_state 2. MISSING where there is none. A reader's map cannot be stored to; its fd, where
 * it gets one, may be mapped so.
 */
int chronicle_control_attach(int dirfd, bool writable, chronicle_control *control, fa_error *err);
int chronicle_control_detach(chronicle_control *control, fa_error *err);

/* (segment, offset) as one, under the seqlock. Writer only. */
void chronicle_control_publish(chronicle_control_block *block, uint32_t segment, uint64_t offset);
/* Even again after a writer that died inside chronicle_control_publish. */
void chronicle_control_repair(chronicle_control_block *block);
/* The pair as it was published; TIMEOUT where the generation stays odd or never rests. */
int chronicle_control_position(const chronicle_control_block *block, uint32_t *segment, uint64_t *offset, fa_error *err);

#endif
