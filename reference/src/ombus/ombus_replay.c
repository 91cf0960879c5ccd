#include "ombus/ombus_replay.h"

#include <limits.h>

#include "fa_mutant.h"
#include "fa_persist.h"
#include "ombus/ombus_error.h"

/* Opens that file in place of the one before. */
static int ombus_replay_enter(ombus_replay *replay, uint32_t number, ombus_wal_file *header, fa_error *err)
{
    char name[2 * OMBUS_WAL_NAME];
    uint64_t size;
    ombus_wal_name_of(&replay->name, number, "", name);
    const int fd = fa_persist_open(ombus_wal_open, replay->dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, err);
    if (fd < 0) {
        return OM_ERR_BUS_WAL_READ;
    }
    ombus_wal_scan_close(&replay->scan);
    if (replay->fd >= 0) {
        (void)close(replay->fd);
    }
    replay->fd = fd;
    const int status = ombus_wal_file_look(fd, number, header, &size, err);
    return status != 0 ? status : ombus_wal_scan_open(&replay->scan, fd, header, err);
}

/* The last file that begins at or before the sequence. */
static int ombus_replay_seek(ombus_replay *replay, fa_error *err)
{
    ombus_wal_range range;
    ombus_wal_file header = {0};
    int status = ombus_wal_name_list(&replay->name, replay->dirfd, OM_ERR_BUS_WAL_READ, &range, err);
    if (status == 0 && range.count == 0) {
        return ombus_refuse(OM_ERR_BUS_WAL_READ, err, FA_MISSING, 0, "ombus_replay_open", "there is no file of this WAL");
    }
    for (uint32_t number = range.last; status == 0; number--) {
        status = ombus_replay_enter(replay, number, &header, err);
        if (header.first_seq <= replay->from || number == range.first) {
            break;
        }
    }
    if (status == 0 && header.first_seq > replay->from && replay->from != 0) {
        return ombus_refuse(OM_ERR_BUS_WAL_READ, err, FA_MISSING, 0, "ombus_replay_open", "the oldest file begins at %llu, %llu was asked for",
                            (unsigned long long)header.first_seq, (unsigned long long)replay->from);
    }
    return status;
}

int ombus_replay_open(ombus_replay *replay, const char *path, uint64_t from, uint64_t to, fa_error *err)
{
    *replay = (ombus_replay){.from = from, .to = to, .fd = -1, .dirfd = -1, .scan = {.fd = -1}};
    replay->dirfd = ombus_wal_name_open(&replay->name, path, OM_ERR_BUS_WAL_READ, err);
    if (replay->dirfd < 0) {
        return replay->dirfd;
    }
    const int status = ombus_replay_seek(replay, err);
    if (status != 0) {
        ombus_replay_close(replay);
    }
    return status;
}

/* Where no valid record is. 1: go on. 0: the WAL ends here. */
static int ombus_replay_turn(ombus_replay *replay, fa_error *err)
{
    OmBusRecord record;
    ombus_wal_file header;
    ombus_wal_scan *const scan = &replay->scan;
    const uint32_t next = scan->number + 1;
    struct stat found;
    if (next == 0 || !ombus_wal_name_exists(&replay->name, replay->dirfd, next)) {
        return ombus_wal_scan_judge(scan, err);
    }
    /* This file was whole before the next one got its name; what was seen of it may be older than that. */
    const uint64_t offset = scan->offset, expected = scan->expected;
    int status = ombus_wal_scan_next(scan, &record, err);
    if (status != 0) {
        scan->offset = offset;
        scan->expected = expected;
        return status;
    }
    if (fstat(replay->fd, &found) == -1 || (uint64_t)found.st_size != offset) {
        return FA_MUTANT(ombus_wal_damage_silent) ? 0 : ombus_wal_scan_damaged(scan, "another file follows", err);
    }
    status = ombus_replay_enter(replay, next, &header, err);
    if (status == 0 && header.first_seq != expected) {
        scan->expected = expected;
        status = ombus_wal_scan_damaged(scan, "the file begins with another sequence", err);
    }
    return status == 0 ? 1 : status;
}

static int ombus_replay_one(ombus_replay *replay, OmBusRecord *record, fa_error *err)
{
    ombus_wal_scan *const scan = &replay->scan;
    const uint64_t to = FA_MUTANT(ombus_replay_inclusive) && replay->to != 0 ? replay->to + 1 : replay->to;
    while (to == 0 || scan->expected < to) {
        int status = ombus_wal_scan_next(scan, record, err);
        if (status == 1 && record->wal_seq >= replay->from) {
            return 1;
        }
        if (status == 0) {
            status = ombus_replay_turn(replay, err);
            if (status == 0 && scan->expected < replay->from) {
                return ombus_refuse(OM_ERR_BUS_WAL_READ, err, FA_GAP, 0, "ombus_replay_next",
                                    "the WAL ends before %llu, %llu was asked for: a cursor beyond the end must be reset",
                                    (unsigned long long)scan->expected, (unsigned long long)replay->from);
            }
        }
        if (status != 1) {
            return status;
        }
    }
    return 0;
}

int ombus_replay_next(ombus_replay *replay, OmBusRecord *records, size_t limit, fa_error *err)
{
    if (replay->fd < 0) {
        return ombus_refuse(OM_ERR_BUS_WAL_READ, err, FA_CLOSED, 0, "ombus_replay_next", "the replay is closed");
    }
    const int status = limit == 0 ? 0 : ombus_replay_one(replay, records, err);
    size_t count = 1;
    if (status != 1) {
        return status;
    }
    while (count < limit && count < INT_MAX && (replay->to == 0 || replay->scan.expected < replay->to) &&
           ombus_wal_scan_next_at_hand(&replay->scan, &records[count]) == 1) {
        count++;
    }
    return (int)count;
}

void ombus_replay_close(ombus_replay *replay)
{
    ombus_wal_scan_close(&replay->scan);
    if (replay->fd >= 0) {
        (void)close(replay->fd);
    }
    if (replay->dirfd >= 0) {
        (void)close(replay->dirfd);
    }
    replay->fd = replay->dirfd = -1;
}
