#include "fa_replace.h"

#include <string.h>

#include "fa_mutant.h"
#include "fa_persist.h"

static int fa_replace_write(int dirfd, const char *temporary, const void *bytes, size_t length, int durable, fa_error *err)
{
    const int fd = fa_persist_open(replace_open, dirfd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644, err);
    if (fd < 0) {
        return fd;
    }
    int status = fa_persist_pwrite_all(replace_pwrite, fd, bytes, length, 0, err);
    if (status == 0 && durable && !FA_MUTANT(replace_no_fsync)) {
        status = fa_persist_fsync(replace_fsync, fd, err);
    }
    (void)close(fd);
    return status;
}

int fa_replace(int dirfd, const char *name, const void *bytes, size_t length, int durable, fa_error *err)
{
    char temporary[FA_REPLACE_NAME_MAX + sizeof ".tmp"];
    const size_t letters = strlen(name);
    if (letters == 0 || letters > FA_REPLACE_NAME_MAX || strchr(name, '/') != NULL) {
        return fa_fail(err, FA_INVALID, 0, "fa_replace", "a name has 1 to %u bytes and no slash, this one has %zu", FA_REPLACE_NAME_MAX,
                       letters);
    }
    memcpy(temporary, name, letters);
    memcpy(temporary + letters, ".tmp", sizeof ".tmp");
    if (FA_MUTANT(replace_in_place)) {
        return fa_replace_write(dirfd, name, bytes, length, durable, err);
    }
    int status = fa_replace_write(dirfd, temporary, bytes, length, durable, err);
    if (status == 0) {
        status = fa_persist_rename(replace_rename, dirfd, temporary, dirfd, name, err);
    }
    if (status != 0) {
        (void)fa_persist_unlink(replace_unlink, dirfd, temporary, NULL); /* the first error is the one to report */
        return status;
    }
    return durable ? fa_persist_fsync_dir(replace_fsync_dir, dirfd, err) : 0;
}
