/* A file that one process at a time may own, by an flock that ends with the process. */
#ifndef OMBUS_LOCK_H
#define OMBUS_LOCK_H

#include <stdbool.h>

#include "fa_error.h"

#define OMBUS_LOCK_NONE (-1)

/*
 * The regular file under the name, open for reading and writing, locked, and still under that name. OMBUS_LOCK_NONE where there is
 * none and flags lack O_CREAT. Else `code`, which is below OMBUS_LOCK_NONE; LOCKED says that its owner lives.
 */
int ombus_lock_file(int dirfd, const char *name, int flags, int mode, int code, fa_error *err);

/* Whether the name leads to the file that is open here. */
bool ombus_lock_is_named(int dirfd, const char *name, int fd);

#endif
