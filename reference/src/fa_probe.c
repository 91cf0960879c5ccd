#include "fa_probe.h"

#include <string.h>

#include "fa_atomics.h"
#include "fa_persist.h"

#define FA_PROBE_SIZE 65536

/* The probe's words are read back by the caller in program order; no acquire pairs with them. */
void fa_probe_store_release(uint64_t *word, uint64_t value) { FA_STORE_RELEASE(probe_store_release, word, value); }

void fa_probe_store_relaxed(uint64_t *word, uint64_t value) { FA_STORE_RELAXED(probe_store_relaxed, word, value); }

uint64_t fa_probe_exchange(uint64_t *word, uint64_t value) { return FA_EXCHANGE(probe_exchange, word, value); }

int fa_probe_cas(uint64_t *word, uint64_t expected, uint64_t value) { return FA_CAS(probe_cas, word, &expected, value); }

uint64_t fa_probe_fetch_add(uint64_t *word, uint64_t value) { return FA_FETCH_ADD(probe_fetch_add, word, value); }

void fa_probe_copy(void *to, const void *from, size_t length) { FA_COPY(probe_copy, to, from, length); }

int fa_probe_pwrite(int fd, const void *bytes, size_t length, fa_error *err)
{
    return fa_persist_pwrite_all(probe_pwrite, fd, bytes, length, 0, err);
}

int fa_probe_write(int fd, const void *bytes, size_t length, fa_error *err)
{
    return fa_persist_write_all(probe_write, fd, bytes, length, err);
}

int fa_probe_pread(int fd, void *bytes, size_t length, fa_error *err)
{
    return fa_persist_pread_all(probe_pread, fd, bytes, length, 0, err);
}

static int fa_probe_map(int fd, fa_error *err)
{
    static const char ones[64] = {1, 1, 1, 1};
    void *map = NULL;
    int status = fa_persist_mmap(probe_mmap, fd, 0, FA_PROBE_SIZE, PROT_READ | PROT_WRITE, &map, err);
    if (status != 0) {
        return status;
    }
    FA_COPY(probe_copy, map, ones, sizeof ones);
    status = fa_persist_msync(probe_msync, map, FA_PROBE_SIZE, MS_SYNC, err);
    const int unmapped = fa_persist_munmap(probe_munmap, map, FA_PROBE_SIZE, status == 0 ? err : NULL);
    return status != 0 ? status : unmapped;
}

static int fa_probe_file(int fd, fa_error *err)
{
    char wrote[64], got[64];
    int status = 0;
    memset(wrote, 7, sizeof wrote);
    if ((status = fa_persist_flock(probe_flock, fd, LOCK_EX | LOCK_NB, err)) != 0 ||
        (status = fa_persist_fallocate(probe_fallocate, fd, 0, FA_PROBE_SIZE, err)) != 0 ||
        (status = fa_persist_ftruncate(probe_ftruncate, fd, FA_PROBE_SIZE, err)) != 0 ||
        (status = fa_persist_pwrite_all(probe_pwrite, fd, wrote, sizeof wrote / 2, 0, err)) != 0 ||
        (status = lseek(fd, sizeof wrote / 2, SEEK_SET) == -1 ? fa_persist_failed(err, errno, "fa_probe_persist", "lseek", NULL) : 0) != 0 ||
        (status = fa_persist_write_all(probe_write, fd, wrote + sizeof wrote / 2, sizeof wrote / 2, err)) != 0 ||
        (status = fa_persist_pread_all(probe_pread, fd, got, sizeof got, 0, err)) != 0 ||
        (status = fa_persist_fdatasync(probe_fdatasync, fd, err)) != 0 || (status = fa_persist_fsync(probe_fsync, fd, err)) != 0) {
        return status;
    }
    if (memcmp(wrote, got, sizeof got) != 0) {
        return fa_fail(err, FA_CORRUPT, 0, "fa_probe_persist", "read back other bytes than were written");
    }
    return fa_probe_map(fd, err);
}

int fa_probe_persist(int dirfd, fa_error *err)
{
    int status = 0;
    const int fd = fa_persist_open(probe_open, dirfd, "fa_probe.tmp", O_RDWR | O_CREAT, 0644, err);
    if (fd < 0) {
        return fd;
    }
    status = fa_probe_file(fd, err);
    (void)close(fd);
    if (status != 0 || (status = fa_persist_rename(probe_rename, dirfd, "fa_probe.tmp", dirfd, "fa_probe", err)) != 0 ||
        (status = fa_persist_fsync_dir(probe_fsync_dir, dirfd, err)) != 0) {
        return status;
    }
    return fa_persist_unlink(probe_unlink, dirfd, "fa_probe", err);
}
