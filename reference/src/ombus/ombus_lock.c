#include "ombus/ombus_lock.h"

#include "fa_persist.h"
#include "ombus/ombus_error.h"

#define OMBUS_LOCK_TRIES 16

bool ombus_lock_is_named(int dirfd, const char *name, int fd)
{
    struct stat here, there;
    return fstat(fd, &here) == 0 && fstatat(dirfd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && here.st_ino == there.st_ino &&
           here.st_dev == there.st_dev;
}

int ombus_lock_file(int dirfd, const char *name, int flags, int mode, int code, fa_error *err)
{
    static const char where[] = "ombus_lock_file";
    for (int tries = 0; tries < OMBUS_LOCK_TRIES; tries++) {
        struct stat found;
        const int fd = fa_persist_open(ombus_lock_open, dirfd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | flags, (mode_t)mode, err);
        if (fd < 0) {
            return fa_error_class_in(fd) == FA_MISSING && (flags & O_CREAT) == 0 ? OMBUS_LOCK_NONE : code;
        }
        if (fstat(fd, &found) == -1 || !S_ISREG(found.st_mode)) {
            (void)close(fd);
            return ombus_refuse(code, err, FA_INVALID, 0, where, "%s is there and no regular file", name);
        }
        const int status = fa_persist_flock(ombus_lock_flock, fd, LOCK_EX | LOCK_NB, err);
        if (status == 0 && ombus_lock_is_named(dirfd, name, fd)) {
            return fd;
        }
        (void)close(fd);
        if (status != 0) {
            return fa_error_class_in(status) == FA_LOCKED ? ombus_refuse(code, err, FA_LOCKED, EAGAIN, where, "who writes %s lives", name) : code;
        }
    }
    return ombus_refuse(code, err, FA_LOCKED, 0, where, "%s is made again and again by others", name);
}
