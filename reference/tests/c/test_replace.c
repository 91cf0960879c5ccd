/* Replacement in the directory given: the new bytes, no temporary left, refusals without effect. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "fa_core.h"

int main(int argc, char **argv)
{
    fa_error err;
    char got[8] = {0};
    assert(argc == 2);
    const int dirfd = open(argv[1], O_RDONLY | O_DIRECTORY);
    assert(dirfd >= 0);
    assert(fa_replace(dirfd, "file", "first", 5, 1, &err) == 0);
    assert(fa_replace(dirfd, "file", "second", 6, 0, &err) == 0);
    const int fd = openat(dirfd, "file", O_RDONLY);
    assert(fd >= 0 && read(fd, got, sizeof got) == 6 && memcmp(got, "second", 6) == 0);
    (void)close(fd);
    assert(faccessat(dirfd, "file.tmp", F_OK, 0) == -1 && errno == ENOENT);

    assert(fa_error_class_in(fa_replace(dirfd, "", "x", 1, 1, &err)) == FA_INVALID);
    assert(fa_error_class_in(fa_replace(dirfd, "a/b", "x", 1, 1, &err)) == FA_INVALID);
    char longest[400];
    memset(longest, 'n', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert(fa_error_class_in(fa_replace(dirfd, longest, "x", 1, 1, &err)) == FA_INVALID);
    longest[FA_REPLACE_NAME_MAX] = '\0';
    assert(fa_replace(dirfd, longest, "x", 1, 1, &err) == 0);

    assert(fa_probe_persist(dirfd, &err) == 0);
    const int status = fa_replace(-1, "file", "x", 1, 1, &err);
    assert(fa_error_class_in(status) == FA_IO && fa_error_errno_in(status) == EBADF && err.status == status);
    assert(strcmp(err.where, "replace_open") == 0 && strstr(err.message, "file.tmp") != NULL);
    (void)close(dirfd);
    puts("ok");
    return 0;
}
