/*
 * Every memory order of the core stands here, and every store to shared memory goes through here past a failpoint site.
 *
 * A release names its acquire in a comment at the place of use. Loads have no site: they change nothing.
 */
#ifndef FA_ATOMICS_H
#define FA_ATOMICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fa_failpoint.h"

#define FA_LOAD_RELAXED(ptr) __atomic_load_n((ptr), __ATOMIC_RELAXED)
#define FA_LOAD_ACQUIRE(ptr) __atomic_load_n((ptr), __ATOMIC_ACQUIRE)
#define FA_LOAD_SEQ_CST(ptr) __atomic_load_n((ptr), __ATOMIC_SEQ_CST)

#define FA_STORE_RELAXED(site, ptr, value)                                                                             \
    do {                                                                                                               \
        FA_FAILPOINT_HIT(FA_SITE(site));                                                                               \
        __atomic_store_n((ptr), (value), __ATOMIC_RELAXED);                                                            \
    } while (0)

#define FA_STORE_RELEASE(site, ptr, value)                                                                             \
    do {                                                                                                               \
        FA_FAILPOINT_HIT(FA_SITE(site));                                                                               \
        __atomic_store_n((ptr), (value), __ATOMIC_RELEASE);                                                            \
    } while (0)

#define FA_STORE_SEQ_CST(site, ptr, value)                                                                             \
    do {                                                                                                               \
        FA_FAILPOINT_HIT(FA_SITE(site));                                                                               \
        __atomic_store_n((ptr), (value), __ATOMIC_SEQ_CST);                                                            \
    } while (0)

/* Acquire and release; yields the former value. */
#define FA_EXCHANGE(site, ptr, value)                                                                                  \
    __extension__({                                                                                                    \
        FA_FAILPOINT_HIT(FA_SITE(site));                                                                               \
        __atomic_exchange_n((ptr), (value), __ATOMIC_ACQ_REL);                                                         \
    })

/* Strong; acquire and release on success, acquire on failure, when *expected holds what was found. Yields a bool. */
#define FA_CAS(site, ptr, expected, desired)                                                                           \
    __extension__({                                                                                                    \
        FA_FAILPOINT_HIT(FA_SITE(site));                                                                               \
        __atomic_compare_exchange_n((ptr), (expected), (desired), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);          \
    })

/* Acquire and release; yields the former value. */
#define FA_FETCH_ADD(site, ptr, value)                                                                                 \
    __extension__({                                                                                                    \
        FA_FAILPOINT_HIT(FA_SITE(site));                                                                               \
        __atomic_fetch_add((ptr), (value), __ATOMIC_ACQ_REL);                                                          \
    })

/* Plain bytes into shared memory, before the store that publishes them. */
#define FA_COPY(site, to, from, length)                                                                                \
    do {                                                                                                               \
        FA_FAILPOINT_HIT(FA_SITE(site));                                                                               \
        memcpy((to), (from), (length));                                                                                \
    } while (0)

/* The same in pieces of 16 bytes as far as 128, so that a checksum can read them back at once; a wider store would hold it up. */
#define FA_COPY_PIECES(site, to, from, length)                                                                         \
    do {                                                                                                               \
        FA_FAILPOINT_HIT(FA_SITE(site));                                                                               \
        fa_atomics_copy_pieces((to), (from), (length));                                                                \
    } while (0)

/* For the failpoint machinery itself, whose stores cannot be failpoints. */
#define FA_BARE_STORE_RELEASE(ptr, value) __atomic_store_n((ptr), (value), __ATOMIC_RELEASE)
#define FA_BARE_STORE_RELAXED(ptr, value) __atomic_store_n((ptr), (value), __ATOMIC_RELAXED)
#define FA_BARE_FETCH_ADD(ptr, value) __atomic_fetch_add((ptr), (value), __ATOMIC_RELAXED)

/* Between the threads of one process, in memory that dies with it: no death leaves anything half done there, so it is no site. */
#define FA_OWN_STORE_RELAXED(ptr, value) __atomic_store_n((ptr), (value), __ATOMIC_RELAXED)

#define FA_FENCE_ACQUIRE() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define FA_FENCE_RELEASE() __atomic_thread_fence(__ATOMIC_RELEASE)
#define FA_FENCE_FULL() __atomic_thread_fence(__ATOMIC_SEQ_CST)

static inline void fa_atomics_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

/* Also where nobody stores to shared memory. Pieces may overlap, and all are read before one is written. */
static inline __attribute__((always_inline)) void fa_atomics_copy_pieces(void *to, const void *from, size_t length)
{
    typedef struct fa_atomics_piece {
        uint64_t word[4];
    } fa_atomics_piece;
    const unsigned char *const source = from;
    unsigned char *const target = to;
    if (length < 32 || length > 128) {
        memcpy(to, from, length);
        return;
    }
    fa_atomics_piece first, last, second, third;
    memcpy(&first, source, sizeof first);
    memcpy(&last, source + length - sizeof last, sizeof last);
    if (length > 64) {
        memcpy(&second, source + 32, sizeof second);
        memcpy(&third, source + length - 64, sizeof third);
        memcpy(target + 32, &second, sizeof second);
        memcpy(target + length - 64, &third, sizeof third);
    }
    memcpy(target, &first, sizeof first);
    memcpy(target + length - sizeof last, &last, sizeof last);
}

#endif
