#include "ombus/ombus_wal_scan.h"

#include <stdlib.h>
#include <string.h>

#include "fa_persist.h"
#include "ombus/ombus_error.h"
#include "ombus/ombus_wal_record.h"

#define OMBUS_WAL_SCAN_WINDOW (256u * 1024)
#define OMBUS_WAL_SCAN_PAGE 4096u

_Static_assert(OMBUS_WAL_SCAN_WINDOW >= 2 * OMBUS_WAL_RECORD_MAX, "a record fits the window wherever it begins");

int ombus_wal_scan_open(ombus_wal_scan *scan, int fd, const ombus_wal_file *header, fa_error *err)
{
    *scan = (ombus_wal_scan){.fd = fd,
                             .number = header->number,
                             .crc = (header->flags & OMBUS_WAL_FLAG_CRC) != 0,
                             .offset = OMBUS_WAL_FILE_HEADER,
                             .expected = header->first_seq,
                             .window = malloc(OMBUS_WAL_SCAN_WINDOW)};
    if (scan->window == NULL) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_IO, ENOMEM, "ombus_wal_scan_open", "no memory for %u bytes", OMBUS_WAL_SCAN_WINDOW);
    }
    return 0;
}

void ombus_wal_scan_close(ombus_wal_scan *scan)
{
    free(scan->window);
    *scan = (ombus_wal_scan){.fd = -1};
}

static int ombus_wal_scan_fill(ombus_wal_scan *scan, uint64_t offset, fa_error *err)
{
    scan->window_length = 0;
    const ssize_t got = fa_persist_pread_upto(ombus_wal_pread, scan->fd, scan->window, OMBUS_WAL_SCAN_WINDOW, (off_t)offset, err);
    if (got < 0) {
        return OM_ERR_BUS_WAL_READ;
    }
    scan->window_at = offset;
    scan->window_length = (uint64_t)got;
    return 0;
}

/* The bytes there as far as they are in memory; *length is how many. */
static const unsigned char *ombus_wal_scan_here(const ombus_wal_scan *scan, uint64_t offset, uint64_t *length)
{
    const uint64_t from = offset - scan->window_at;
    *length = offset >= scan->window_at && from < scan->window_length ? scan->window_length - from : 0;
    return scan->window + (*length != 0 ? from : 0);
}

static uint64_t ombus_wal_scan_word(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

int ombus_wal_scan_next_at_hand(ombus_wal_scan *scan, OmBusRecord *record)
{
    uint64_t length;
    const unsigned char *const at = ombus_wal_scan_here(scan, scan->offset, &length);
    if (length < OMBUS_WAL_RECORD_HEADER) {
        return 0;
    }
    const uint64_t word = ombus_wal_scan_word(at);
    const uint64_t span = ombus_wal_record_span(ombus_wal_record_length(word), scan->crc);
    if (!ombus_wal_record_type_valid(ombus_wal_record_type(word)) || ombus_wal_record_seq(word) != scan->expected || span > length ||
        !ombus_wal_record_sound(at, word, scan->crc)) {
        return 0;
    }
    *record = (OmBusRecord){.wal_seq = scan->expected,
                            .wal_type = ombus_wal_record_type(word),
                            .payload_len = ombus_wal_record_length(word),
                            .payload = at + OMBUS_WAL_RECORD_HEADER};
    scan->offset += span;
    scan->expected++;
    return 1;
}

int ombus_wal_scan_next(ombus_wal_scan *scan, OmBusRecord *record, fa_error *err)
{
    if (ombus_wal_scan_next_at_hand(scan, record) == 1) {
        return 1;
    }
    /* Cut off by the window, or read before it was written. */
    const int status = ombus_wal_scan_fill(scan, scan->offset, err);
    return status != 0 ? status : ombus_wal_scan_next_at_hand(scan, record);
}

int ombus_wal_scan_damaged(const ombus_wal_scan *scan, const char *why, fa_error *err)
{
    return ombus_refuse(OM_ERR_BUS_WAL_DAMAGED, err, FA_CORRUPT, 0, "ombus_wal_scan", "file %u is damaged at %llu, where sequence %llu should be: %s",
                        scan->number, (unsigned long long)scan->offset, (unsigned long long)scan->expected, why);
}

/* Whether a record may begin there that belongs behind the one that is missing at scan->offset. */
static bool ombus_wal_scan_later(const ombus_wal_scan *scan, const unsigned char *at, uint64_t length, uint64_t distance)
{
    const uint64_t word = ombus_wal_scan_word(at), seq = ombus_wal_record_seq(word);
    const uint64_t span = ombus_wal_record_span(ombus_wal_record_length(word), scan->crc);
    if (!ombus_wal_record_type_valid(ombus_wal_record_type(word)) || seq <= scan->expected ||
        seq - scan->expected > distance / OMBUS_WAL_RECORD_HEADER || span > length || !ombus_wal_record_sound(at, word, scan->crc)) {
        return false;
    }
    if (scan->crc || length - span < OMBUS_WAL_RECORD_HEADER) {
        return true;
    }
    const uint64_t next = ombus_wal_scan_word(at + span); /* a header alone proves little */
    return next == 0 || (ombus_wal_record_type_valid(ombus_wal_record_type(next)) && ombus_wal_record_seq(next) == seq + 1);
}

/* 1: *found is where the next valid record lies. Reads what the file has, not the holes that were reserved ahead. */
static int ombus_wal_scan_search(ombus_wal_scan *scan, uint64_t *found, fa_error *err)
{
    uint64_t from = scan->offset + OMBUS_WAL_RECORD_HEADER;
    for (;;) {
        const off_t data = lseek(scan->fd, (off_t)from, SEEK_DATA);
        if (data == -1 && errno == ENXIO) {
            return 0;
        }
        if (data > (off_t)from) {
            from = (uint64_t)data & ~7ull;
        }
        const int status = ombus_wal_scan_fill(scan, from, err);
        if (status != 0) {
            return status;
        }
        uint64_t length;
        for (;; from += 8) {
            const unsigned char *const at = ombus_wal_scan_here(scan, from, &length);
            if (length < OMBUS_WAL_RECORD_HEADER) {
                return 0;
            }
            if (ombus_wal_scan_later(scan, at, length, from - scan->offset)) {
                *found = from;
                return 1;
            }
            if (length <= OMBUS_WAL_RECORD_MAX && scan->window_length == OMBUS_WAL_SCAN_WINDOW && from > scan->window_at) {
                break; /* a record from here on could be cut off by the window */
            }
        }
    }
}

/* Whether a page between the two places was never written: from the first place to the end of its page, or a whole one. */
static int ombus_wal_scan_lost_page(ombus_wal_scan *scan, uint64_t to, fa_error *err)
{
    uint64_t end;
    for (uint64_t from = scan->offset; from < to; from = end) {
        end = (from / OMBUS_WAL_SCAN_PAGE + 1) * OMBUS_WAL_SCAN_PAGE;
        if (end > to) {
            break;
        }
        uint64_t length;
        const unsigned char *at = ombus_wal_scan_here(scan, from, &length);
        if (length < end - from) {
            const int status = ombus_wal_scan_fill(scan, from, err);
            if (status != 0) {
                return status;
            }
            at = ombus_wal_scan_here(scan, from, &length);
        }
        bool zero = length >= end - from;
        for (uint64_t i = 0; i < end - from && zero; i++) {
            zero = at[i] == 0;
        }
        if (zero) {
            return 1;
        }
    }
    return 0;
}

int ombus_wal_scan_judge(ombus_wal_scan *scan, fa_error *err)
{
    ombus_wal_file header;
    uint64_t size, found = 0;
    OmBusRecord record;
    int status = ombus_wal_file_look(scan->fd, scan->number, &header, &size, err);
    if (status != 0) {
        return status;
    }
    const bool synced = scan->offset < ombus_wal_file_synced(&header);
    status = synced ? 1 : ombus_wal_scan_search(scan, &found, err);
    if (status == 1 && !synced) {
        const int lost = ombus_wal_scan_lost_page(scan, found, err);
        status = lost < 0 ? lost : !lost;
    }
    if (status != 1 || FA_MUTANT(ombus_wal_damage_silent)) {
        return status < 0 ? status : 0;
    }
    const uint64_t offset = scan->offset, expected = scan->expected;
    status = ombus_wal_scan_fill(scan, offset, err);
    if (status == 0 && ombus_wal_scan_next_at_hand(scan, &record) == 1) { /* written while this was looking further on */
        scan->offset = offset;
        scan->expected = expected;
        return 1;
    }
    return status != 0 ? status : ombus_wal_scan_damaged(scan, synced ? "it was synced" : "valid records follow", err);
}
