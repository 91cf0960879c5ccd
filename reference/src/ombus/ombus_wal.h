/*
 * The writer of a WAL. The caller owns the memory; one thread at a time.
 *
 * A file's blocks are reserved when it is made and it is mapped: a record is payload and trailer first, then its header by one
 * store, so that a killed writer leaves whole records only, and zeros or a payload without a header behind them. What is left there
 * is cut off when the WAL is opened again. A file is synced and cut to its length before the next one gets its name: whatever is not
 * synced lies in the last file.
 */
#ifndef OMBUS_WAL_H
#define OMBUS_WAL_H

#include <stddef.h>

#include "ombus/om_bus.h"
#include "ombus/om_wal.h"
#include "ombus/ombus_wal_file.h"

typedef struct ombus_wal {
    unsigned char *map;
    uint64_t size;   /* of the map */
    uint64_t offset; /* of the next record */
    uint64_t warm;   /* the pages before it are there */
    uint64_t next_seq;
    uint64_t synced; /* the offset up to which this file is */
    uint64_t unsynced; /* records since then */
    uint64_t file_size;
    uint64_t rolls;
    uint32_t sync_every;
    uint32_t flags;
    uint32_t number;
    bool crc;
    bool full;   /* cut to its length, while no next file could be made */
    bool failed; /* a sync failed: what it covered may be gone though later syncs succeed */
    bool in_memory;
    int fd;
    int dirfd;
    ombus_wal_name name;
} ombus_wal;

int ombus_wal_open(ombus_wal *wal, const OmWalConfig *config, fa_error *err);
int ombus_wal_append(ombus_wal *wal, uint8_t type, const void *payload, size_t length, uint64_t *seq, fa_error *err);
/* Of each record type, length and payload; wal_seq becomes its sequence. The first *done are in the WAL. */
int ombus_wal_append_batch(ombus_wal *wal, OmBusRecord *records, size_t count, size_t *done, fa_error *err);
int ombus_wal_sync(ombus_wal *wal, fa_error *err);
/* Syncs and cuts the file to its length. Closing twice is harmless. */
int ombus_wal_close(ombus_wal *wal, fa_error *err);

#endif
