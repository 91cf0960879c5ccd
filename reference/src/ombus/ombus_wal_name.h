/*
 * The names of a WAL's files: a path whose last part holds one number as printf writes it, %u or %0Nu, and is otherwise taken as it
 * is; without one the WAL is a single file, which never rolls.
 */
#ifndef OMBUS_WAL_NAME_H
#define OMBUS_WAL_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "fa_error.h"

#define OMBUS_WAL_NAME 192u /* with the NUL */

typedef struct ombus_wal_name {
    char before[OMBUS_WAL_NAME];
    char after[OMBUS_WAL_NAME];
    int digits; /* at least so many */
    bool numbered;
} ombus_wal_name;

typedef struct ombus_wal_range {
    uint32_t first;
    uint32_t last;
    uint32_t count; /* 0: there is none */
} ombus_wal_range;

/* Yields the descriptor of the directory, which the caller closes, or `code`. */
int ombus_wal_name_open(ombus_wal_name *name, const char *path, int code, fa_error *err);
void ombus_wal_name_of(const ombus_wal_name *name, uint32_t number, const char *suffix, char out[2 * OMBUS_WAL_NAME]);
/* Which files there are. A number that is missing between others is damage. */
int ombus_wal_name_list(const ombus_wal_name *name, int dirfd, int code, ombus_wal_range *range, fa_error *err);
bool ombus_wal_name_exists(const ombus_wal_name *name, int dirfd, uint32_t number);

#endif
