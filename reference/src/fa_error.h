/*
 * The one error path of the core.
 *
 * A function returns 0, or -(class << 16 | errno): the negated status of a history row. What went wrong in words
 * stands in the caller's fa_error, which only fa_fail fills. err may be NULL.
 */
#ifndef FA_ERROR_H
#define FA_ERROR_H

#include <stddef.h>
#include <stdint.h>

/* The numbers of fireassay.spec.outcomes.ErrorClass. */
enum fa_error_class {
    FA_NONE = 0,
    FA_INVALID = 1,
    FA_TOO_LARGE = 2,
    FA_WOULD_BLOCK = 3,
    FA_FULL = 4,
    FA_LOCKED = 5,
    FA_CORRUPT = 6,
    FA_VERSION = 7,
    FA_IO = 8,
    FA_TIMEOUT = 9,
    FA_CLOSED = 10,
    FA_GAP = 11,
    FA_MISSING = 12,
    FA_KILLED = 13,
    FA_UNSUPPORTED = 14,
};

typedef struct fa_error {
    int32_t status;
    char where[64];
    char message[192];
} fa_error;

int fa_fail(fa_error *err, int error_class, int errnum, const char *where, const char *format, ...)
    __attribute__((cold, format(printf, 5, 6)));

/* An error that was held back at first comes out after all. */
static inline int fa_pass(fa_error *err, const fa_error *why)
{
    if (err != NULL) {
        *err = *why;
    }
    return why->status;
}

/* The class an errno belongs to when a system call gave it. */
int fa_error_class_of(int errnum) __attribute__((cold));

/* The name of a class as ErrorClass spells it, NULL outside the list. */
const char *fa_error_class_name(int error_class) __attribute__((cold));

static inline int fa_error_class_in(int status) { return (-status) >> 16; }
static inline int fa_error_errno_in(int status) { return (-status) & 0xFFFF; }

#endif
