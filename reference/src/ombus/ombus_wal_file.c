#include "ombus/ombus_wal_file.h"

#include <stddef.h>
#include <string.h>

#include "fa_crc32.h"
#include "fa_persist.h"
#include "ombus/ombus_error.h"
#include "ombus/ombus_lock.h"

static uint32_t ombus_wal_file_crc(const ombus_wal_file *header) { return fa_crc32(0, header, offsetof(ombus_wal_file, crc32)); }

static int ombus_wal_file_fill(int fd, const ombus_wal_file *fields, uint64_t size, fa_error *err)
{
    ombus_wal_file header = *fields;
    header.magic = OMBUS_WAL_MAGIC;
    header.version = OMBUS_WAL_VERSION;
    header.crc32 = ombus_wal_file_crc(&header);
    header.synced = OMBUS_WAL_FILE_HEADER;
    header.synced_check = ~header.synced;
    int status = fa_persist_ftruncate(ombus_wal_ftruncate, fd, 0, err); /* what a killed creation left */
    if (status == 0) {
        status = fa_persist_fallocate(ombus_wal_fallocate, fd, 0, (off_t)size, err);
    }
    if (status == 0) {
        status = fa_persist_pwrite_all(ombus_wal_pwrite, fd, &header, sizeof header, 0, err);
    }
    return status == 0 ? fa_persist_fsync(ombus_wal_fsync, fd, err) : status;
}

int ombus_wal_file_create(const ombus_wal_name *name, int dirfd, const ombus_wal_file *header, uint64_t size, fa_error *err)
{
    char text[2 * OMBUS_WAL_NAME], temporary[2 * OMBUS_WAL_NAME];
    ombus_wal_name_of(name, header->number, "", text);
    ombus_wal_name_of(name, header->number, ".tmp", temporary);
    const int fd = ombus_lock_file(dirfd, temporary, O_CREAT, 0644, OM_ERR_BUS_WAL_WRITE, err);
    if (fd < 0) {
        return fd;
    }
    int status = 0;
    if (faccessat(dirfd, text, F_OK, AT_SYMLINK_NOFOLLOW) == 0) { /* whoever made it had this lock before and renamed it */
        status = fa_fail(err, FA_LOCKED, 0, "ombus_wal_file_create", "%s was made by another writer in this moment", text);
    }
    if (status == 0) {
        status = ombus_wal_file_fill(fd, header, size, err);
    }
    if (status == 0) {
        status = fa_persist_rename(ombus_wal_rename, dirfd, temporary, dirfd, text, err);
    }
    if (status != 0) {
        (void)fa_persist_unlink(ombus_wal_discard, dirfd, temporary, NULL); /* gives its blocks back; the first error counts */
    } else {
        status = fa_persist_fsync_dir(ombus_wal_fsync_dir, dirfd, err);
        if (status != 0) {
            (void)fa_persist_unlink(ombus_wal_discard, dirfd, text, NULL); /* nothing is in it yet */
        }
    }
    if (status != 0) {
        (void)close(fd);
        return OM_ERR_BUS_WAL_WRITE;
    }
    return fd;
}

int ombus_wal_file_look(int fd, uint32_t number, ombus_wal_file *header, uint64_t *size, fa_error *err)
{
    static const char where[] = "ombus_wal_file_look";
    static const uint8_t zero[sizeof header->pad];
    struct stat found;
    *header = (ombus_wal_file){0};
    if (fstat(fd, &found) == -1 || !S_ISREG(found.st_mode)) {
        return ombus_refuse(OM_ERR_BUS_WAL_READ, err, FA_CORRUPT, 0, where, "file %u is no regular file", number);
    }
    *size = (uint64_t)found.st_size;
    const ssize_t got = fa_persist_pread_upto(ombus_wal_pread, fd, header, sizeof *header, 0, err);
    if (got < 0) {
        return OM_ERR_BUS_WAL_READ;
    }
    if (got < (ssize_t)sizeof *header || header->magic != OMBUS_WAL_MAGIC) {
        return ombus_refuse(OM_ERR_BUS_WAL_DAMAGED, err, FA_CORRUPT, 0, where, "file %u: this is no file of a WAL, its magic is %#x", number,
                            header->magic);
    }
    if (header->version != OMBUS_WAL_VERSION) {
        return ombus_refuse(OM_ERR_BUS_WAL_READ, err, FA_VERSION, 0, where, "file %u: version %u, this build reads %u", number, header->version,
                            OMBUS_WAL_VERSION);
    }
    if (header->crc32 != ombus_wal_file_crc(header) || header->number != number || (header->flags & ~OMBUS_WAL_FLAG_CRC) != 0 ||
        header->first_seq == 0 || header->first_seq > OMBUS_WAL_SEQ_MAX + 1 || header->reserved != 0 ||
        memcmp(header->pad, zero, sizeof zero) != 0) {
        return ombus_refuse(OM_ERR_BUS_WAL_DAMAGED, err, FA_CORRUPT, 0, where, "file %u: its header is damaged", number);
    }
    return 0;
}
