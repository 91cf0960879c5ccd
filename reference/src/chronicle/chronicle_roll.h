/*
 * From one segment to the next.
 *
 * The next one is made, mapped and warm first, so that an error leaves everything as it was: no budget, no room on the disk. Then it
 * is published, the rest of the old one padded, and the old one sealed.
 */
#ifndef CHRONICLE_ROLL_H
#define CHRONICLE_ROLL_H

#include <stdint.h>

#include "chronicle/chronicle_writer.h"
#include "fa_error.h"

/* The first `needed` bytes of the next segment are warm afterwards. FULL: QueueFull, or a full disk. */
int chronicle_roll(chronicle_writer *writer, uint64_t needed, fa_error *err);

#endif
