/*
 * Every persistence system call of the core, each past a failpoint site and out through the one error path.
 *
 * The first argument is the bare name of a site in fa_failpoint_list.h; it is also the 'where' of the error. EINTR is
 * retried, and every attempt hits the site again.
 */
#ifndef FA_PERSIST_H
#define FA_PERSIST_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "fa_failpoint.h"
#include "fa_mutant.h"

#define FA_PERSIST_INLINE static inline __attribute__((always_inline))

/* Descriptor (at least 0) or status. flags as for openat; close-on-exec is added. */
#define fa_persist_open(site, dirfd, path, flags, mode, err) fa_persist_open_at(FA_SITE(site), #site, dirfd, path, flags, mode, err)
/* Blocks are reserved and the file grows, or FULL: a later store to the map cannot die of SIGBUS. */
#define fa_persist_fallocate(site, fd, offset, length, err) fa_persist_fallocate_at(FA_SITE(site), #site, fd, offset, length, err)
#define fa_persist_ftruncate(site, fd, length, err) fa_persist_ftruncate_at(FA_SITE(site), #site, fd, length, err)
/* All bytes or an error; after an error any prefix may have been written. The first writes where the descriptor stands. */
#define fa_persist_write_all(site, fd, from, length, err) fa_persist_write_all_at(FA_SITE(site), #site, fd, from, length, err)
#define fa_persist_pwrite_all(site, fd, from, length, offset, err)                                                     \
    fa_persist_pwrite_all_at(FA_SITE(site), #site, fd, from, length, offset, err)
/* All bytes or an error; a file that ends early is CORRUPT. */
#define fa_persist_pread_all(site, fd, to, length, offset, err) fa_persist_pread_all_at(FA_SITE(site), #site, fd, to, length, offset, err)
/* Bytes read, fewer than length only where the file ends, or status. */
#define fa_persist_pread_upto(site, fd, to, length, offset, err) fa_persist_pread_upto_at(FA_SITE(site), #site, fd, to, length, offset, err)
/* 0 also where the directory is there already. */
#define fa_persist_mkdir(site, dirfd, path, mode, err) fa_persist_mkdir_at(FA_SITE(site), #site, dirfd, path, mode, err)
/* Shared map of [offset, offset + length) in *map. */
#define fa_persist_mmap(site, fd, offset, length, prot, map, err) fa_persist_mmap_at(FA_SITE(site), #site, fd, offset, length, prot, map, err)
#define fa_persist_munmap(site, map, length, err) fa_persist_munmap_at(FA_SITE(site), #site, map, length, err)
/* The pages of the map are there afterwards; `how` is MADV_POPULATE_READ or _WRITE. 0 also from a kernel that cannot. */
#define fa_persist_populate(site, map, length, how, err) fa_persist_populate_at(FA_SITE(site), #site, map, length, how, err)
#define fa_persist_msync(site, map, length, flags, err) fa_persist_msync_at(FA_SITE(site), #site, map, length, flags, err)
/* The kernel begins to write what is dirty of the file; nothing is waited for, nothing promised. */
#define fa_persist_write_back(site, fd, err) fa_persist_write_back_at(FA_SITE(site), #site, fd, err)
#define fa_persist_fdatasync(site, fd, err) fa_persist_fdatasync_at(FA_SITE(site), #site, fd, err)
#define fa_persist_fsync(site, fd, err) fa_persist_fsync_at(FA_SITE(site), #site, fd, err)
#define fa_persist_fsync_dir(site, dirfd, err) fa_persist_fsync_at(FA_SITE(site), #site, dirfd, err)
/* The caller has made the source durable before. */
#define fa_persist_rename(site, from_dirfd, from, to_dirfd, to, err)                                                   \
    fa_persist_rename_at(FA_SITE(site), #site, from_dirfd, from, to_dirfd, to, err)
#define fa_persist_unlink(site, dirfd, path, err) fa_persist_unlink_at(FA_SITE(site), #site, dirfd, path, err)
/* operation as for flock; LOCKED when LOCK_NB finds another owner. */
#define fa_persist_flock(site, fd, operation, err) fa_persist_flock_at(FA_SITE(site), #site, fd, operation, err)

int fa_persist_failed(fa_error *err, int errnum, const char *site, const char *call, const char *path) __attribute__((cold));
int fa_persist_ended(fa_error *err, const char *site, size_t missing, off_t offset) __attribute__((cold));

#define FA_PERSIST_RETRY(id, result, call)                                                                             \
    do {                                                                                                               \
        FA_FAILPOINT_CALL(id, result, call);                                                                           \
    } while (__builtin_expect((result) == -1 && errno == EINTR, 0))

#define FA_PERSIST_RETURN(id, site, name, path, call, err)                                                             \
    do {                                                                                                               \
        int fa_result_;                                                                                                \
        FA_PERSIST_RETRY(id, fa_result_, call);                                                                        \
        return __builtin_expect(fa_result_ == -1, 0) ? fa_persist_failed(err, errno, site, name, path) : 0;            \
    } while (0)

FA_PERSIST_INLINE int fa_persist_open_at(int id, const char *site, int dirfd, const char *path, int flags, mode_t mode, fa_error *err)
{
    int fd;
    FA_PERSIST_RETRY(id, fd, openat(dirfd, path, flags | O_CLOEXEC, mode));
    return __builtin_expect(fd == -1, 0) ? fa_persist_failed(err, errno, site, "open", path) : fd;
}

/* posix_fallocate returns its error instead of setting errno. */
static inline int fa_persist_raw_fallocate(int fd, off_t offset, off_t length)
{
    const int errnum = posix_fallocate(fd, offset, length);
    if (errnum != 0) {
        errno = errnum;
        return -1;
    }
    return 0;
}

FA_PERSIST_INLINE int fa_persist_fallocate_at(int id, const char *site, int fd, off_t offset, off_t length, fa_error *err)
{
    FA_PERSIST_RETURN(id, site, "fallocate", NULL, fa_persist_raw_fallocate(fd, offset, length), err);
}

FA_PERSIST_INLINE int fa_persist_ftruncate_at(int id, const char *site, int fd, off_t length, fa_error *err)
{
    FA_PERSIST_RETURN(id, site, "ftruncate", NULL, ftruncate(fd, length), err);
}

FA_PERSIST_INLINE int fa_persist_write_all_at(int id, const char *site, int fd, const void *from, size_t length, fa_error *err)
{
    const char *next = from;
    while (length > 0) {
        ssize_t written;
        FA_PERSIST_RETRY(id, written, write(fd, next, length));
        if (__builtin_expect(written == -1, 0)) {
            return fa_persist_failed(err, errno, site, "write", NULL);
        }
        if (FA_MUTANT(pwrite_short)) {
            return 0;
        }
        next += written;
        length -= (size_t)written;
    }
    return 0;
}

FA_PERSIST_INLINE int fa_persist_pwrite_all_at(int id, const char *site, int fd, const void *from, size_t length, off_t offset,
                                               fa_error *err)
{
    const char *next = from;
    while (length > 0) {
        ssize_t written;
        FA_PERSIST_RETRY(id, written, pwrite(fd, next, length, offset));
        if (__builtin_expect(written == -1, 0)) {
            return fa_persist_failed(err, errno, site, "pwrite", NULL);
        }
        if (FA_MUTANT(pwrite_short)) {
            return 0;
        }
        next += written;
        length -= (size_t)written;
        offset += written;
    }
    return 0;
}

FA_PERSIST_INLINE int fa_persist_pread_all_at(int id, const char *site, int fd, void *to, size_t length, off_t offset, fa_error *err)
{
    char *next = to;
    while (length > 0) {
        ssize_t got;
        FA_PERSIST_RETRY(id, got, pread(fd, next, length, offset));
        if (__builtin_expect(got == -1, 0)) {
            return fa_persist_failed(err, errno, site, "pread", NULL);
        }
        if (__builtin_expect(got == 0, 0)) {
            return fa_persist_ended(err, site, length, offset);
        }
        next += got;
        length -= (size_t)got;
        offset += got;
    }
    return 0;
}

FA_PERSIST_INLINE ssize_t fa_persist_pread_upto_at(int id, const char *site, int fd, void *to, size_t length, off_t offset, fa_error *err)
{
    size_t done = 0;
    while (done < length) {
        ssize_t got;
        FA_PERSIST_RETRY(id, got, pread(fd, (char *)to + done, length - done, offset + (off_t)done));
        if (__builtin_expect(got == -1, 0)) {
            return fa_persist_failed(err, errno, site, "pread", NULL);
        }
        if (got == 0) {
            break;
        }
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static inline int fa_persist_raw_mkdir(int dirfd, const char *path, mode_t mode)
{
    return mkdirat(dirfd, path, mode) == -1 && errno != EEXIST ? -1 : 0;
}

FA_PERSIST_INLINE int fa_persist_mkdir_at(int id, const char *site, int dirfd, const char *path, mode_t mode, fa_error *err)
{
    FA_PERSIST_RETURN(id, site, "mkdir", path, fa_persist_raw_mkdir(dirfd, path, mode), err);
}

static inline int fa_persist_raw_mmap(int fd, off_t offset, size_t length, int prot, void **map)
{
    void *mapped = mmap(NULL, length, prot, MAP_SHARED, fd, offset);
    if (mapped == MAP_FAILED) {
        return -1;
    }
    *map = mapped;
    return 0;
}

FA_PERSIST_INLINE int fa_persist_mmap_at(int id, const char *site, int fd, off_t offset, size_t length, int prot, void **map,
                                         fa_error *err)
{
    FA_PERSIST_RETURN(id, site, "mmap", NULL, fa_persist_raw_mmap(fd, offset, length, prot, map), err);
}

FA_PERSIST_INLINE int fa_persist_munmap_at(int id, const char *site, void *map, size_t length, fa_error *err)
{
    FA_PERSIST_RETURN(id, site, "munmap", NULL, munmap(map, length), err);
}

static inline int fa_persist_raw_populate(void *map, size_t length, int how)
{
    return madvise(map, length, how) == -1 && errno != EINVAL ? -1 : 0;
}

FA_PERSIST_INLINE int fa_persist_populate_at(int id, const char *site, void *map, size_t length, int how, fa_error *err)
{
    FA_PERSIST_RETURN(id, site, "madvise", NULL, fa_persist_raw_populate(map, length, how), err);
}

FA_PERSIST_INLINE int fa_persist_msync_at(int id, const char *site, void *map, size_t length, int flags, fa_error *err)
{
    FA_PERSIST_RETURN(id, site, "msync", NULL, msync(map, length, flags), err);
}

FA_PERSIST_INLINE int fa_persist_write_back_at(int id, const char *site, int fd, fa_error *err)
{
    FA_PERSIST_RETURN(id, site, "sync_file_range", NULL, sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE), err);
}

FA_PERSIST_INLINE int fa_persist_fdatasync_at(int id, const char *site, int fd, fa_error *err)
{
    FA_PERSIST_RETURN(id, site, "fdatasync", NULL, fdatasync(fd), err);
}

FA_PERSIST_INLINE int fa_persist_fsync_at(int id, const char *site, int fd, fa_error *err)
{
    FA_PERSIST_RETURN(id, site, "fsync", NULL, fsync(fd), err);
}

FA_PERSIST_INLINE int fa_persist_rename_at(int id, const char *site, int from_dirfd, const char *from, int to_dirfd, const char *to,
                                           fa_error *err)
{
    FA_PERSIST_RETURN(id, site, "rename", to, renameat(from_dirfd, from, to_dirfd, to), err);
}

FA_PERSIST_INLINE int fa_persist_unlink_at(int id, const char *site, int dirfd, const char *path, fa_error *err)
{
    FA_PERSIST_RETURN(id, site, "unlink", path, unlinkat(dirfd, path, 0), err);
}

FA_PERSIST_INLINE int fa_persist_flock_at(int id, const char *site, int fd, int operation, fa_error *err)
{
    FA_PERSIST_RETURN(id, site, "flock", NULL, flock(fd, operation), err);
}

#endif
