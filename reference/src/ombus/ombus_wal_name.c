#include "ombus/ombus_wal_name.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "fa_persist.h"
#include "ombus/ombus_error.h"

#define OMBUS_WAL_NAME_PATH 4096u
#define OMBUS_WAL_NAME_DIGITS 10 /* of the largest number */

static int ombus_wal_name_parse(ombus_wal_name *name, const char *last, fa_error *err)
{
    static const char where[] = "ombus_wal_name_open";
    const char *const percent = strchr(last, '%');
    const size_t letters = percent == NULL ? strlen(last) : (size_t)(percent - last);
    *name = (ombus_wal_name){.numbered = percent != NULL, .digits = 1};
    if (strlen(last) >= OMBUS_WAL_NAME || last[0] == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_INVALID, 0, where, "a file's name has 1 to %u bytes: %s", OMBUS_WAL_NAME - 1, last);
    }
    memcpy(name->before, last, letters);
    if (percent == NULL) {
        return 0;
    }
    const char *rest = percent + 1;
    if (*rest == '0' && isdigit((unsigned char)rest[1])) {
        name->digits = rest[1] - '0';
        rest += 2;
    }
    if (*rest != 'u' || strchr(rest, '%') != NULL || name->digits == 0) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_INVALID, 0, where, "a pattern has one number, %%u or %%01u to %%09u: %s", last);
    }
    (void)snprintf(name->after, sizeof name->after, "%s", rest + 1);
    return 0;
}

int ombus_wal_name_open(ombus_wal_name *name, const char *path, int code, fa_error *err)
{
    char directory[OMBUS_WAL_NAME_PATH];
    if (path == NULL || strlen(path) >= sizeof directory) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_INVALID, 0, "ombus_wal_name_open", "a WAL has a path, of less than %zu bytes", sizeof directory);
    }
    (void)snprintf(directory, sizeof directory, "%s", path);
    char *const slash = strrchr(directory, '/');
    const int status = ombus_wal_name_parse(name, slash == NULL ? path : path + (slash - directory) + 1, err);
    if (status != 0) {
        return status;
    }
    if (slash != NULL) {
        slash[slash == directory ? 1 : 0] = '\0';
    }
    const int fd = fa_persist_open(ombus_wal_directory, AT_FDCWD, slash == NULL ? "." : directory, O_RDONLY | O_DIRECTORY, 0, err);
    return fd < 0 ? code : fd;
}

void ombus_wal_name_of(const ombus_wal_name *name, uint32_t number, const char *suffix, char out[2 * OMBUS_WAL_NAME])
{
    if (name->numbered) {
        (void)snprintf(out, 2 * OMBUS_WAL_NAME, "%s%0*u%s%s", name->before, name->digits, number, name->after, suffix);
    } else {
        (void)snprintf(out, 2 * OMBUS_WAL_NAME, "%s%s", name->before, suffix);
    }
}

/* Only the name that this very number gets is one of the WAL's. */
static bool ombus_wal_name_number(const ombus_wal_name *name, const char *entry, uint32_t *number)
{
    char again[2 * OMBUS_WAL_NAME];
    const size_t before = strlen(name->before);
    if (!name->numbered) {
        *number = 0;
        return strcmp(entry, name->before) == 0;
    }
    if (strncmp(entry, name->before, before) != 0 || !isdigit((unsigned char)entry[before])) {
        return false;
    }
    const unsigned long long value = strtoull(entry + before, NULL, 10);
    if (value > UINT32_MAX) {
        return false;
    }
    *number = (uint32_t)value;
    ombus_wal_name_of(name, *number, "", again);
    return strcmp(entry, again) == 0;
}

int ombus_wal_name_list(const ombus_wal_name *name, int dirfd, int code, ombus_wal_range *range, fa_error *err)
{
    *range = (ombus_wal_range){0};
    const int fd = fa_persist_open(ombus_wal_list, dirfd, ".", O_RDONLY | O_DIRECTORY, 0, err);
    if (fd < 0) {
        return code;
    }
    DIR *const directory = fdopendir(fd);
    if (directory == NULL) {
        (void)fa_persist_failed(err, errno, "ombus_wal_name_list", "fdopendir", NULL);
        (void)close(fd);
        return code;
    }
    const struct dirent *entry;
    uint32_t number;
    errno = 0;
    while ((entry = readdir(directory)) != NULL) {
        if (ombus_wal_name_number(name, entry->d_name, &number)) {
            range->first = range->count == 0 || number < range->first ? number : range->first;
            range->last = range->count == 0 || number > range->last ? number : range->last;
            range->count++;
        }
    }
    const int errnum = errno;
    (void)closedir(directory);
    if (errnum != 0) {
        (void)fa_persist_failed(err, errnum, "ombus_wal_name_list", "readdir", NULL);
        return code;
    }
    if (range->count != 0 && range->last - range->first + 1 != range->count) {
        return ombus_refuse(OM_ERR_BUS_WAL_DAMAGED, err, FA_CORRUPT, 0, "ombus_wal_name_list", "%u files, numbered %u to %u: one is missing",
                            range->count, range->first, range->last);
    }
    return 0;
}

bool ombus_wal_name_exists(const ombus_wal_name *name, int dirfd, uint32_t number)
{
    char text[2 * OMBUS_WAL_NAME];
    ombus_wal_name_of(name, number, "", text);
    return name->numbered && faccessat(dirfd, text, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
