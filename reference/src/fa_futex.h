/*
 * Sleeping on a word of a shared map and waking its sleepers, each past a failpoint site.
 *
 * The futexes are shared between processes: what counts is the file and the offset, not the address. Deadlines are absolute
 * and monotonic, so that a sleep that was interrupted goes on to the same end.
 */
#ifndef FA_FUTEX_H
#define FA_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fa_failpoint.h"
#include "fa_persist.h"

/* Why a sleep ended: it was woken, or the word had changed already; or nothing came until the deadline. */
enum fa_futex_end { FA_FUTEX_WOKEN, FA_FUTEX_LATE };

#define FA_FUTEX_MANY 128u /* FUTEX_WAITV_MAX */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* struct futex_waitv of the kernel, which older headers lack. */
typedef struct fa_futex_word {
    uint64_t expected;
    uint64_t address;
    uint32_t flags;
    uint32_t reserved;
} fa_futex_word;

static inline fa_futex_word fa_futex_word_of(const uint32_t *word, uint32_t expected)
{
    return (fa_futex_word){.expected = expected, .address = (uintptr_t)word, .flags = 2 /* 32 bits, shared */};
}

/* Sleeps while the word is `expected`. An end, or status. */
#define fa_futex_wait(site, word, expected, until_ns, err) fa_futex_wait_at(FA_SITE(site), #site, word, expected, until_ns, err)
/* Sleeps while each of at most FA_FUTEX_MANY words is as expected. An end, or status; UNSUPPORTED from a kernel before 5.16. */
#define fa_futex_wait_many(site, words, count, until_ns, err) fa_futex_wait_many_at(FA_SITE(site), #site, words, count, until_ns, err)
/* Wakes all who sleep on it. 0 or status. */
#define fa_futex_wake(site, word, err) fa_futex_wake_at(FA_SITE(site), #site, word, err)

static inline int fa_futex_raw_wait(const uint32_t *word, uint32_t expected, uint64_t until_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u), .tv_nsec = (long)(until_ns % 1000000000u)};
    if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, &until, NULL, FUTEX_BITSET_MATCH_ANY) == 0 || errno == EAGAIN) {
        return FA_FUTEX_WOKEN;
    }
    return errno == ETIMEDOUT ? FA_FUTEX_LATE : -1;
}

FA_PERSIST_INLINE int fa_futex_wait_at(int id, const char *site, const uint32_t *word, uint32_t expected, uint64_t until_ns, fa_error *err)
{
    int end;
    FA_PERSIST_RETRY(id, end, fa_futex_raw_wait(word, expected, until_ns));
    return __builtin_expect(end == -1, 0) ? fa_persist_failed(err, errno, site, "futex wait", NULL) : end;
}

static inline int fa_futex_raw_wait_many(const fa_futex_word *words, unsigned count, uint64_t until_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u), .tv_nsec = (long)(until_ns % 1000000000u)};
    if (syscall(SYS_futex_waitv, words, count, 0, &until, CLOCK_MONOTONIC) >= 0 || errno == EAGAIN) {
        return FA_FUTEX_WOKEN;
    }
    return errno == ETIMEDOUT ? FA_FUTEX_LATE : -1;
}

FA_PERSIST_INLINE int fa_futex_wait_many_at(int id, const char *site, const fa_futex_word *words, unsigned count, uint64_t until_ns,
                                            fa_error *err)
{
    int end;
    FA_PERSIST_RETRY(id, end, fa_futex_raw_wait_many(words, count, until_ns));
    return __builtin_expect(end == -1, 0) ? fa_persist_failed(err, errno, site, "futex_waitv", NULL) : end;
}

FA_PERSIST_INLINE int fa_futex_wake_at(int id, const char *site, const uint32_t *word, fa_error *err)
{
    long woken;
    FA_PERSIST_RETRY(id, woken, syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0));
    return __builtin_expect(woken == -1, 0) ? fa_persist_failed(err, errno, site, "futex wake", NULL) : 0;
}

#endif
