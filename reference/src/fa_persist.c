#include "fa_persist.h"

#include <string.h>

int fa_persist_failed(fa_error *err, int errnum, const char *site, const char *call, const char *path)
{
    char text[96];
    /* _GNU_SOURCE: this strerror_r returns the text, which may lie outside the buffer. */
    const char *said = strerror_r(errnum, text, sizeof text);
    const int error_class = fa_error_class_of(errnum);
    if (path != NULL) {
        return fa_fail(err, error_class, errnum, site, "%s %s: %s", call, path, said);
    }
    return fa_fail(err, error_class, errnum, site, "%s: %s", call, said);
}

int fa_persist_ended(fa_error *err, const char *site, size_t missing, off_t offset)
{
    return fa_fail(err, FA_CORRUPT, 0, site, "pread: the file ends at %lld, %zu bytes early", (long long)offset, missing);
}
