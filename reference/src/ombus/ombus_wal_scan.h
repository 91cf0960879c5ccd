/*
 * Reads the records of one file of a WAL, one after another, also while it is written.
 *
 * What follows the last record is the end, a torn tail, or damage:
 *  - before the offset up to which the file is synced: damage, whatever it looks like;
 *  - nothing valid behind it: a torn tail, or the end;
 *  - something valid behind it, and a page of zeros between, as only a power loss leaves it: a torn tail too, since what is not
 *    synced may reach the disk in any order; without such a page: damage.
 */
#ifndef OMBUS_WAL_SCAN_H
#define OMBUS_WAL_SCAN_H

#include "ombus/om_bus.h"
#include "ombus/ombus_wal_file.h"

typedef struct ombus_wal_scan {
    int fd;
    uint32_t number;
    bool crc;
    uint64_t offset;   /* of the record that comes next */
    uint64_t expected; /* its sequence */
    uint64_t window_at;
    uint64_t window_length;
    unsigned char *window;
} ombus_wal_scan;

/* From the first record of the file that is open there; its descriptor stays the caller's. */
int ombus_wal_scan_open(ombus_wal_scan *scan, int fd, const ombus_wal_file *header, fa_error *err);

/* 1: a record, whose payload stays until a call that may read the file again. 0: no valid record is here. */
int ombus_wal_scan_next(ombus_wal_scan *scan, OmBusRecord *record, fa_error *err);
/* The same, as long as nothing has to be read for it: earlier payloads stay. 0: not here, or not yet in memory. */
int ombus_wal_scan_next_at_hand(ombus_wal_scan *scan, OmBusRecord *record);

/* Of the last file, where no valid record is. 0: its end, or a torn tail. 1: one has come meanwhile. Else WAL_DAMAGED. */
int ombus_wal_scan_judge(ombus_wal_scan *scan, fa_error *err);
int ombus_wal_scan_damaged(const ombus_wal_scan *scan, const char *why, fa_error *err);

void ombus_wal_scan_close(ombus_wal_scan *scan);

#endif
