/*
 * The WAL that om_bus distributes: files of records with sequences from 1, each the one before plus 1, never used twice.
 *
 * Records lie in a shared map: an append survives the death of the process without a system call. Sync is what survives power loss.
 */
#ifndef OM_WAL_H
#define OM_WAL_H

#include <stddef.h>
#include <stdint.h>

#include "om_bus_error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum OmWalType {
    OM_WAL_INSERT = 1,
    OM_WAL_CANCEL = 2,
    OM_WAL_MATCH = 3,
    OM_WAL_CHECKPOINT = 4,
    OM_WAL_DEACTIVATE = 5,
    OM_WAL_ACTIVATE = 6,
    OM_WAL_USER = 0x80, /* and above */
} OmWalType;

/* 56 bytes; user_len bytes of user data and aux_len of auxiliary data follow. */
typedef struct OmWalInsert {
    uint64_t order_id;
    int64_t price;
    uint64_t volume;
    uint64_t volume_remaining;
    uint64_t timestamp_ns;
    uint16_t product_id;
    uint16_t org_id;
    uint16_t flags;
    uint16_t reserved;
    uint32_t user_len;
    uint32_t aux_len;
} OmWalInsert;

typedef struct OmWalCancel {
    uint64_t order_id;
    uint64_t timestamp_ns;
    uint16_t product_id;
    uint8_t reserved[6];
} OmWalCancel, OmWalDeactivate, OmWalActivate;

typedef struct OmWalMatch {
    uint64_t maker_id;
    uint64_t taker_id;
    int64_t price;
    uint64_t volume;
    uint64_t timestamp_ns;
} OmWalMatch;

#define OM_WAL_FLAG_CRC 1u    /* every record carries a CRC-32; without one only its structure can be checked */
#define OM_WAL_SYNC_NONE 0u   /* om_wal_sync, a new file and close alone sync */
#define OM_WAL_SYNC_ALWAYS 1u /* before each append returns; N: after every N records */

typedef struct OmWalConfig {
    const char *filename; /* a path; %u or %0Nu in its last part is the number of the file, without it there is but one */
    uint64_t file_size;   /* bytes per file, reserved ahead; 0 = 64 MiB */
    uint32_t sync_every;  /* OM_WAL_SYNC_* or N */
    uint32_t flags;       /* OM_WAL_FLAG_*, of files that are made from now on */
} OmWalConfig;

typedef struct OmWal OmWal;

/* Makes the WAL, or recovers it: a torn tail is cut off, damage before it is an error. One writer at a time. */
OM_BUS_API int om_wal_open(OmWal **out, const OmWalConfig *config);

/* One record; *seq is its sequence. */
OM_BUS_API int om_wal_append(OmWal *wal, uint8_t type, const void *payload, uint16_t len, uint64_t *seq);

/* Everything appended so far survives power loss. After a sync that failed nothing more can be appended: open it again. */
OM_BUS_API int om_wal_sync(OmWal *wal);

/* The last sequence of the WAL; 0 before the first. */
OM_BUS_API uint64_t om_wal_last_seq(const OmWal *wal);

/* Syncs. NULL is harmless. */
OM_BUS_API int om_wal_close(OmWal *wal);

#ifdef __cplusplus
}
#endif
#endif
