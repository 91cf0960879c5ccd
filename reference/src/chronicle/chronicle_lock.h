/*
 * writer.lock: an advisory lock held by the one writer, and who that is.
 *
 *  0 pid u32 | 4 zero u32 | 8 start_ticks u64 (field 22 of /proc/PID/stat) | 16 epoch u64
 *
 * The lock decides; the record says whether a held lock has a living owner. A lock that is held though its recorded owner is
 * dead (a child inherited the descriptor, or the owner has not written its record yet) is tried again for half a second.
 * An owner that closes records pid 0, so that who looks at the file can tell a close from a death.
 */
#ifndef CHRONICLE_LOCK_H
#define CHRONICLE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "fa_error.h"

#define CHRONICLE_LOCK_NAME "writer.lock"

/* The descriptor that holds the lock, or LOCKED. Closing it releases. */
int chronicle_lock_acquire(int dirfd, fa_error *err);
/* Who the record names, and whether it lives. Tries no lock. */
int chronicle_lock_look(int dirfd, uint32_t *pid, bool *lives, fa_error *err);
/* Records this process as the owner. */
int chronicle_lock_sign(int fd, uint64_t epoch, fa_error *err);
/* Records that the owner of that epoch closed: pid 0. One that could not be recorded looks as if it had died, which harms nobody. */
void chronicle_lock_sign_off(int fd, uint64_t epoch);

#endif
