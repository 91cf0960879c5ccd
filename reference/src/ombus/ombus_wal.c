#include "ombus/ombus_wal.h"

#include <string.h>

#include "chronicle/chronicle_warm.h"
#include "fa_atomics.h"
#include "fa_persist.h"
#include "ombus/ombus_error.h"
#include "ombus/ombus_lock.h"
#include "ombus/ombus_wal_record.h"
#include "ombus/ombus_wal_scan.h"

#define OMBUS_WAL_SIZE (64ull << 20)
#define OMBUS_WAL_TRIES 16

static int ombus_wal_map(ombus_wal *wal, fa_error *err)
{
    void *map = NULL;
    if (fa_persist_mmap(ombus_wal_mmap, wal->fd, 0, wal->size, PROT_READ | PROT_WRITE, &map, err) != 0) {
        return OM_ERR_BUS_WAL_WRITE;
    }
    wal->map = map;
    return 0;
}

static int ombus_wal_unmap(ombus_wal *wal, fa_error *err)
{
    const int status = wal->map == NULL ? 0 : fa_persist_munmap(ombus_wal_munmap, wal->map, wal->size, err);
    wal->map = NULL;
    if (wal->fd >= 0) {
        (void)close(wal->fd);
        wal->fd = -1;
    }
    return status == 0 ? 0 : OM_ERR_BUS_WAL_WRITE;
}

/* Begins a file, in place of the one that is mapped. Where that fails, the old one stays, and holds nothing more. */
static int ombus_wal_begin(ombus_wal *wal, uint32_t number, fa_error *err)
{
    const ombus_wal_file header = {.flags = wal->flags, .number = number, .first_seq = FA_MUTANT(ombus_wal_seq_restarts) ? 1 : wal->next_seq};
    const int fd = ombus_wal_file_create(&wal->name, wal->dirfd, &header, wal->file_size, err);
    if (fd < 0) {
        return fd;
    }
    const int status = ombus_wal_unmap(wal, err);
    wal->fd = fd;
    wal->number = number;
    wal->crc = (wal->flags & OMBUS_WAL_FLAG_CRC) != 0;
    wal->size = wal->file_size;
    wal->offset = wal->synced = OMBUS_WAL_FILE_HEADER;
    wal->warm = 0;
    return status != 0 ? status : ombus_wal_map(wal, err);
}

static void ombus_wal_mark(ombus_wal *wal)
{
    ombus_wal_file *const header = (ombus_wal_file *)(void *)wal->map;
    /* Between the two the mark counts for nothing, which is true as well. */
    FA_STORE_RELAXED(ombus_wal_mark, &header->synced, wal->offset);
    FA_STORE_RELEASE(ombus_wal_mark, &header->synced_check, ~wal->offset);
    wal->synced = wal->offset;
    wal->unsynced = 0;
}

int ombus_wal_sync(ombus_wal *wal, fa_error *err)
{
    if (wal->map == NULL || wal->failed) {
        return ombus_refuse(OM_ERR_BUS_WAL_WRITE, err, wal->failed ? FA_IO : FA_CLOSED, 0, "ombus_wal_sync", "the WAL is closed%s",
                            wal->failed ? ": a sync failed, and what it covered may be lost; open it again" : "");
    }
    if (wal->synced == wal->offset) {
        return 0;
    }
    if (!FA_MUTANT(ombus_wal_unsynced) && fa_persist_fdatasync(ombus_wal_fdatasync, wal->fd, err) != 0) {
        wal->failed = true;
        return OM_ERR_BUS_WAL_WRITE;
    }
    ombus_wal_mark(wal);
    return 0;
}

/* Whole and durable, and exactly as long as its records. Nothing may be stored behind them any more. */
static int ombus_wal_finish(ombus_wal *wal, fa_error *err)
{
    int status = ombus_wal_sync(wal, err);
    if (status == 0 && wal->offset < wal->size) {
        status = fa_persist_ftruncate(ombus_wal_ftruncate, wal->fd, (off_t)wal->offset, err) == 0 ? 0 : OM_ERR_BUS_WAL_WRITE;
    }
    return status;
}

static int ombus_wal_roll(ombus_wal *wal, fa_error *err)
{
    if (!wal->name.numbered) {
        return ombus_refuse(OM_ERR_BUS_WAL_WRITE, err, FA_FULL, 0, "ombus_wal_append", "the file is full, and its name has no number to go on with");
    }
    if (wal->number == UINT32_MAX) {
        return ombus_refuse(OM_ERR_BUS_WAL_WRITE, err, FA_FULL, 0, "ombus_wal_append", "file numbers are used up");
    }
    int status = ombus_wal_finish(wal, err);
    if (status != 0) {
        return status;
    }
    wal->warm = 0; /* a store behind the cut would kill the process, so nothing goes there any more, whatever comes next */
    wal->full = true;
    status = ombus_wal_begin(wal, wal->number + 1, err);
    if (status == 0) {
        wal->full = false;
        wal->rolls++;
    }
    return status;
}

__attribute__((cold, noinline)) static int ombus_wal_refuse(const ombus_wal *wal, uint8_t type, size_t length, fa_error *err)
{
    static const char where[] = "ombus_wal_append";
    if (wal->map == NULL || wal->failed) {
        return ombus_refuse(OM_ERR_BUS_WAL_WRITE, err, wal->failed ? FA_IO : FA_CLOSED, 0, where, "the WAL is closed%s",
                            wal->failed ? ": a sync failed, and what it covered may be lost; open it again" : "");
    }
    if (!ombus_wal_record_type_valid(type)) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_INVALID, 0, where, "types are 1 to 6 and from 128 on, not %u", type);
    }
    if (wal->next_seq > OMBUS_WAL_SEQ_MAX) {
        return ombus_refuse(OM_ERR_BUS_WAL_WRITE, err, FA_FULL, 0, where, "sequences have 40 bits, and they are used up");
    }
    return ombus_refuse(OM_ERR_BUS_RECORD_TOO_LARGE, err, FA_TOO_LARGE, 0, where, "%zu bytes: a record holds %u, and a file of this WAL has %llu",
                        length, OMBUS_WAL_PAYLOAD_MAX, (unsigned long long)wal->file_size);
}

/* Room for so many bytes in mapped, reserved pages. */
__attribute__((noinline)) static int ombus_wal_room(ombus_wal *wal, uint64_t span, uint64_t most, fa_error *err)
{
    if (wal->full || wal->offset + span > wal->size) {
        const int status = ombus_wal_roll(wal, err);
        if (status != 0) {
            return status;
        }
    }
    const uint64_t needed = wal->offset + most < wal->size ? wal->offset + most : wal->size;
    const chronicle_segment pages = {.map = wal->map, .size = wal->size, .id = wal->number, .fd = wal->fd};
    return chronicle_warm_to(&pages, wal->in_memory, needed, &wal->warm, err) == 0 ? 0 : OM_ERR_BUS_WAL_WRITE;
}

/* Trailer and payload first: a header that is there stands before a whole record. */
static inline __attribute__((always_inline)) int ombus_wal_put(ombus_wal *wal, uint8_t type, const void *payload, size_t length,
                                                               uint64_t *seq, fa_error *err)
{
    const uint64_t most = ombus_wal_record_span(length, true);
    if (__builtin_expect(wal->map == NULL || wal->failed || !ombus_wal_record_type_valid(type) || wal->next_seq > OMBUS_WAL_SEQ_MAX ||
                             length > OMBUS_WAL_PAYLOAD_MAX || OMBUS_WAL_FILE_HEADER + most > wal->file_size, 0)) {
        return ombus_wal_refuse(wal, type, length, err);
    }
    if (__builtin_expect(wal->offset + most > wal->warm, 0)) {
        const int status = ombus_wal_room(wal, ombus_wal_record_span(length, wal->crc), most, err);
        if (status != 0) {
            return status;
        }
    }
    unsigned char *const at = wal->map + wal->offset;
    const uint64_t word = ombus_wal_record_pack(wal->next_seq, type, (uint16_t)length);
    if (length != 0) {
        FA_COPY(ombus_wal_payload, at + OMBUS_WAL_RECORD_HEADER, payload, length);
    }
    if (wal->crc) {
        const uint32_t crc = ombus_wal_record_crc(word, payload, length);
        FA_COPY(ombus_wal_trailer, at + OMBUS_WAL_RECORD_HEADER + length, &crc, sizeof crc);
    }
    FA_STORE_RELEASE(ombus_wal_header, (uint64_t *)(void *)at, word);
    wal->offset += ombus_wal_record_span(length, wal->crc);
    *seq = wal->next_seq++;
    wal->unsynced++;
    return wal->sync_every != 0 && wal->unsynced >= wal->sync_every ? ombus_wal_sync(wal, err) : 0;
}

int ombus_wal_append(ombus_wal *wal, uint8_t type, const void *payload, size_t length, uint64_t *seq, fa_error *err)
{
    return ombus_wal_put(wal, type, payload, length, seq, err);
}

int ombus_wal_append_batch(ombus_wal *wal, OmBusRecord *records, size_t count, size_t *done, fa_error *err)
{
    int status = 0;
    for (*done = 0; *done < count && status == 0; *done += status == 0) {
        OmBusRecord *const one = &records[*done];
        status = ombus_wal_put(wal, one->wal_type, one->payload, one->payload_len, &one->wal_seq, err);
    }
    return status;
}

/* Finds the end of the file that is open, cuts off what is behind it, and makes what is left durable: a mark may then say so. */
static int ombus_wal_recover(ombus_wal *wal, uint32_t number, fa_error *err)
{
    ombus_wal_file header;
    ombus_wal_scan scan;
    OmBusRecord record;
    uint64_t found;
    int status = ombus_wal_file_look(wal->fd, number, &header, &found, err);
    if (status == 0) {
        status = ombus_wal_scan_open(&scan, wal->fd, &header, err);
    }
    if (status != 0) {
        return status;
    }
    do {
        while ((status = ombus_wal_scan_next(&scan, &record, err)) == 1) {
        }
        status = status == 0 ? ombus_wal_scan_judge(&scan, err) : status;
    } while (status == 1);
    wal->offset = scan.offset;
    wal->next_seq = scan.expected;
    ombus_wal_scan_close(&scan);
    if (status != 0) {
        return status;
    }
    wal->number = number;
    wal->crc = (header.flags & OMBUS_WAL_FLAG_CRC) != 0;
    wal->size = wal->file_size > wal->offset ? wal->file_size : wal->offset;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), warm = (wal->offset + page - 1) / page * page;
    wal->warm = warm < wal->size ? warm : wal->size;
    if (fa_persist_ftruncate(ombus_wal_ftruncate, wal->fd, (off_t)wal->offset, err) != 0 ||
        fa_persist_fallocate(ombus_wal_fallocate, wal->fd, 0, (off_t)wal->size, err) != 0 ||
        fa_persist_fsync(ombus_wal_fsync, wal->fd, err) != 0) {
        return OM_ERR_BUS_WAL_WRITE;
    }
    status = ombus_wal_map(wal, err);
    if (status == 0) {
        ombus_wal_mark(wal);
    }
    return status;
}

/* Makes the first file, or locks the last one: that of the only writer, who has the next one locked before he leaves it. */
static int ombus_wal_attach(ombus_wal *wal, fa_error *err)
{
    char name[2 * OMBUS_WAL_NAME];
    ombus_wal_range range, again;
    for (int tries = 0; tries < OMBUS_WAL_TRIES; tries++) {
        int status = ombus_wal_name_list(&wal->name, wal->dirfd, OM_ERR_BUS_WAL_OPEN, &range, err);
        if (status == 0 && range.count == 0) {
            status = ombus_wal_begin(wal, 0, err);
            return status == OM_ERR_BUS_WAL_WRITE ? OM_ERR_BUS_WAL_OPEN : status;
        }
        if (status != 0) {
            return status;
        }
        ombus_wal_name_of(&wal->name, range.last, "", name);
        wal->fd = ombus_lock_file(wal->dirfd, name, 0, 0, OM_ERR_BUS_WAL_OPEN, err);
        if (wal->fd < 0 && wal->fd != OMBUS_LOCK_NONE) {
            return wal->fd;
        }
        status = wal->fd < 0 ? 0 : ombus_wal_name_list(&wal->name, wal->dirfd, OM_ERR_BUS_WAL_OPEN, &again, err);
        if (status != 0) {
            return status;
        }
        if (wal->fd >= 0 && again.last == range.last) {
            return ombus_wal_recover(wal, range.last, err);
        }
        (void)ombus_wal_unmap(wal, NULL);
    }
    return ombus_refuse(OM_ERR_BUS_WAL_OPEN, err, FA_LOCKED, 0, "ombus_wal_open", "another writer goes on with this WAL");
}

int ombus_wal_open(ombus_wal *wal, const OmWalConfig *config, fa_error *err)
{
    static const char where[] = "ombus_wal_open";
    *wal = (ombus_wal){.fd = -1, .dirfd = -1, .next_seq = 1};
    if (config == NULL || (config->flags & ~OMBUS_WAL_FLAG_CRC) != 0) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_INVALID, 0, where, "%s", config == NULL ? "no configuration was given" : "flags nobody knows");
    }
    wal->file_size = config->file_size != 0 ? config->file_size : OMBUS_WAL_SIZE;
    wal->file_size *= FA_MUTANT(ombus_wal_oversized) ? 4 : 1;
    wal->sync_every = config->sync_every;
    wal->flags = config->flags;
    if (wal->file_size < OMBUS_WAL_FILE_MIN || wal->file_size > OMBUS_WAL_FILE_MAX) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_INVALID, 0, where, "a file has %u bytes to 1 TiB, not %llu", OMBUS_WAL_FILE_MIN,
                            (unsigned long long)wal->file_size);
    }
    wal->dirfd = ombus_wal_name_open(&wal->name, config->filename, OM_ERR_BUS_WAL_OPEN, err);
    if (wal->dirfd < 0) {
        return wal->dirfd;
    }
    wal->in_memory = chronicle_warm_in_memory(wal->dirfd);
    const int status = ombus_wal_attach(wal, err);
    if (status != 0) {
        wal->failed = true; /* nothing is synced or cut at this close */
        (void)ombus_wal_close(wal, NULL);
    }
    return status;
}

int ombus_wal_close(ombus_wal *wal, fa_error *err)
{
    int status = wal->map == NULL || wal->failed ? 0 : ombus_wal_finish(wal, err);
    const int unmapped = ombus_wal_unmap(wal, status == 0 ? err : NULL);
    if (wal->dirfd >= 0) {
        (void)close(wal->dirfd);
    }
    wal->dirfd = -1;
    return status != 0 ? status : unmapped;
}
