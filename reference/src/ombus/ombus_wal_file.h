/* One file of a WAL: its header, and how it is made. See layout/ombus.h. */
#ifndef OMBUS_WAL_FILE_H
#define OMBUS_WAL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "fa_error.h"
#include "layout/ombus.h"
#include "ombus/ombus_wal_name.h"

#define OMBUS_WAL_FILE_MIN 128u
#define OMBUS_WAL_FILE_MAX (1ull << 40)

/*
 * Makes file `number` whole and durable under its name, locked: the descriptor, or WAL_WRITE. Its blocks are reserved.
 */
int ombus_wal_file_create(const ombus_wal_name *name, int dirfd, const ombus_wal_file *header, uint64_t size, fa_error *err);

/* The header, checked against the number; *size is the file's. WAL_READ or WAL_DAMAGED. */
int ombus_wal_file_look(int fd, uint32_t number, ombus_wal_file *header, uint64_t *size, fa_error *err);

/* The offset before which everything is durable, as far as the header tells. */
static inline uint64_t ombus_wal_file_synced(const ombus_wal_file *header)
{
    return header->synced_check == ~header->synced ? header->synced : OMBUS_WAL_FILE_HEADER;
}

#endif
