/* Replay of a WAL by range of sequences, for what the ring does not hold any more. */
#ifndef OM_BUS_REPLAY_H
#define OM_BUS_REPLAY_H

#include "om_bus.h"
#include "om_wal.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct OmBusReplayConfig {
    const char *wal_filename;      /* path or pattern, as in OmWalConfig */
    const OmWalConfig *wal_config; /* may be NULL: the files tell what a replay needs to know */
    uint64_t from_seq;             /* the first sequence; 0 = the oldest that is kept */
    uint64_t to_seq;               /* the first one that is not wanted; 0 = up to the end */
} OmBusReplayConfig;

typedef struct OmBusReplay OmBusReplay;

/* OM_ERR_BUS_WAL_READ also where from_seq lies before the oldest file. */
OM_BUS_API int om_bus_replay_init(OmBusReplay **out, const OmBusReplayConfig *config);

/*
 * 1: a record, valid until the next call. 0: the range or the WAL ends here; a later call goes on with what was written meanwhile.
 * OM_ERR_BUS_WAL_DAMAGED, and OM_ERR_BUS_WAL_READ also where from_seq lies beyond the end.
 */
OM_BUS_API int om_bus_replay_next(OmBusReplay *replay, OmBusRecord *rec);

/* NULL is harmless. */
OM_BUS_API void om_bus_replay_close(OmBusReplay *replay);

#ifdef __cplusplus
}
#endif
#endif
