/*
 * The pages of a segment, made before the writer stores to them.
 *
 * A store to a page that is not there costs the writer two microseconds in the kernel, and the process its life where the file
 * system finds no room for it. So zeros are written over what is zero, many pages at once, and mapped: a tenth of the cost, an
 * error instead of SIGBUS, and a later sync that finds blocks already written.
 */
#ifndef CHRONICLE_WARM_H
#define CHRONICLE_WARM_H

#include <stdbool.h>
#include <stdint.h>

#include "chronicle/chronicle_segment.h"
#include "fa_error.h"

/* Whether files of that directory have no device under them: pages mapped for reading can then be stored to, for half the cost. */
bool chronicle_warm_in_memory(int dirfd);

/*
 * Everything before *end is warm, nothing at or behind it was ever stored to, and *end is 0 or a page's begin. Afterwards it is
 * at least `needed`, or an error says why not and nothing has changed.
 */
int chronicle_warm_to(const chronicle_segment *segment, bool in_memory, uint64_t needed, uint64_t *end, fa_error *err);

#endif
