/*
 * Replace a small file so that after any crash its name holds the old bytes or the new, whole.
 *
 * Steps: NAME.tmp written, made durable, renamed over NAME, directory made durable. One replacer per name at a time; what
 * a killed one left in NAME.tmp is overwritten by the next. With durable = 0 both syncs are left out: safe against
 * process death, not against power loss.
 * After an error up to the rename the old file stands. After an error of the last sync the new file is visible and may be
 * lost with the power: the outcome is unknown until the caller replaces again.
 */
#ifndef FA_REPLACE_H
#define FA_REPLACE_H

#include <stddef.h>

#include "fa_error.h"

#define FA_REPLACE_NAME_MAX 250u

int fa_replace(int dirfd, const char *name, const void *bytes, size_t length, int durable, fa_error *err);

#endif
