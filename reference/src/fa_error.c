#include "fa_error.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

_Static_assert(sizeof(fa_error) == 260, "fa_error is declared to cffi with this size");

int fa_fail(fa_error *err, int error_class, int errnum, const char *where, const char *format, ...)
{
    const int status = -((error_class << 16) | (errnum & 0xFFFF));
    if (err != NULL) {
        va_list arguments;
        err->status = status;
        (void)snprintf(err->where, sizeof err->where, "%s", where);
        va_start(arguments, format);
        (void)vsnprintf(err->message, sizeof err->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

int fa_error_class_of(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return FA_FULL;
    case EAGAIN:
        return FA_LOCKED; /* the only non-blocking call of the core is flock */
    case ENOENT:
        return FA_MISSING;
    case EINVAL:
    case ENAMETOOLONG:
        return FA_INVALID;
    case EOPNOTSUPP:
    case ENOSYS:
        return FA_UNSUPPORTED;
    default:
        return FA_IO;
    }
}

const char *fa_error_class_name(int error_class)
{
    static const char *const names[] = {
        "NONE", "INVALID", "TOO_LARGE", "WOULD_BLOCK", "FULL", "LOCKED", "CORRUPT", "VERSION",
        "IO", "TIMEOUT", "CLOSED", "GAP", "MISSING", "KILLED", "UNSUPPORTED",
    };
    if (error_class < 0 || (size_t)error_class >= sizeof names / sizeof names[0]) {
        return NULL;
    }
    return names[error_class];
}
