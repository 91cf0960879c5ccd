/* Reads a range of a WAL, over as many files as it takes, also while it is written. The caller owns the memory. */
#ifndef OMBUS_REPLAY_H
#define OMBUS_REPLAY_H

#include <stddef.h>

#include "ombus/om_bus_replay.h"
#include "ombus/ombus_wal_scan.h"

typedef struct ombus_replay {
    ombus_wal_scan scan; /* of the file that is open */
    uint64_t from;
    uint64_t to; /* 0 = none */
    int fd;
    int dirfd;
    ombus_wal_name name;
} ombus_replay;

int ombus_replay_open(ombus_replay *replay, const char *path, uint64_t from, uint64_t to, fa_error *err);
/* As om_bus_replay_next; up to `limit` records, which all stay until the next call. */
int ombus_replay_next(ombus_replay *replay, OmBusRecord *records, size_t limit, fa_error *err);
void ombus_replay_close(ombus_replay *replay);

#endif
