/*
 * Failpoints: places where a store or a system call can be made to kill, stop or fail.
 *
 * A site costs two instructions while nothing is armed (a compare with memory and a branch), and none in the release
 * build, which has no symbol of this file. The flags are whole pages, so that a control file can be mapped over them and
 * another process can arm a site by storing to that file.
 *
 * Control file, 131072 bytes, native byte order:
 *       0  magic u64 | 8 version u32 | 12 count u32 | 16 hash of the list u64 | 24 zero
 *      64  one entry of 64 bytes per failpoint (fa_failpoint_entry)
 *   65536  one flag u32 per failpoint, zero = not armed, zero to the end
 * Valid if and only if it has that length, magic and version, and count and hash equal those of the attaching build.
 */
#ifndef FA_FAILPOINT_H
#define FA_FAILPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "fa_error.h"

#define FA_FAILPOINT_MAGIC 0x31544e494f504146ull /* "FAPOINT1" */
#define FA_FAILPOINT_VERSION 1u
#define FA_FAILPOINT_ENTRIES_OFFSET 64u
#define FA_FAILPOINT_FLAGS_OFFSET 65536u
#define FA_FAILPOINT_FLAGS_SIZE 65536u /* whole pages also where pages are 64 KiB */
#define FA_FAILPOINT_FILE_SIZE (FA_FAILPOINT_FLAGS_OFFSET + FA_FAILPOINT_FLAGS_SIZE)

enum fa_failpoint_id {
#define FAILPOINT(name, kind, what) FA_SITE_##name,
#include "fa_failpoint_list.h"
#undef FAILPOINT
    FA_SITE_COUNT
};

enum fa_failpoint_kind { FA_FAILPOINT_STORE = 1, FA_FAILPOINT_SYSCALL = 2 };
enum fa_failpoint_action { FA_FAILPOINT_CRASH = 1, FA_FAILPOINT_ERROR = 2, FA_FAILPOINT_STOP = 3, FA_FAILPOINT_COUNT = 4 };

/* The name of a site is checked in every build: a misspelt one does not compile. */
#define FA_SITE(name) ((int)FA_SITE_##name)

typedef struct fa_failpoint_entry {
    uint32_t action;
    int32_t errnum;
    int64_t countdown; /* fires at the hit that takes it from 1 to 0 */
    uint64_t hits;
    uint64_t fired;
    uint32_t fired_pid;
    uint32_t fired_tid;
    uint8_t reserved[24];
} fa_failpoint_entry;

#ifdef FA_FAILPOINTS

#ifndef __OPTIMIZE__
#error "a site needs its number as an immediate operand: compile the failpoint build with -O1 or more"
#endif

extern uint32_t fa_failpoint_flags[FA_FAILPOINT_FLAGS_SIZE / 4] __attribute__((visibility("hidden")));

/* Out of line. Returns 0 to go on, -1 with errno set where the call is to fail. */
int fa_failpoint_slow(int id) __attribute__((cold, noinline));

int fa_failpoint_attach(const char *path, fa_error *err);
int fa_failpoint_detach(fa_error *err);
int fa_failpoint_count(void);
const char *fa_failpoint_name(int id);
const char *fa_failpoint_what(int id);
int fa_failpoint_kind_of(int id);
uint64_t fa_failpoint_list_hash(void);
void fa_failpoint_set_flag(void *flags, int id, uint32_t value);

#if defined(__x86_64__)
#define FA_FAILPOINT_BRANCH(id, slow)                                                                                  \
    __asm__ goto("cmpl $0, fa_failpoint_flags+%c0(%%rip)\n\tjne %l1" : : "i"((id)*4) : "cc", "memory" : slow)
#elif defined(__aarch64__)
/* A literal load reaches 1 MiB either way, which text and bss of this library keep; beyond it the link fails aloud. */
#define FA_FAILPOINT_BRANCH(id, slow)                                                                                  \
    __asm__ goto("ldr w16, fa_failpoint_flags+%c0\n\tcbnz w16, %l1" : : "i"((id)*4) : "x16", "memory" : slow)
#else
#define FA_FAILPOINT_BRANCH(id, slow)                                                                                  \
    do {                                                                                                               \
        if (__builtin_expect(*(volatile uint32_t *)&fa_failpoint_flags[id] != 0, 0)) {                                 \
            goto slow;                                                                                                 \
        }                                                                                                              \
    } while (0)
#endif

/* Before a store. */
#define FA_FAILPOINT_HIT(id)                                                                                           \
    do {                                                                                                               \
        __label__ fa_slow_;                                                                                            \
        FA_FAILPOINT_BRANCH(id, fa_slow_);                                                                             \
        if (0) {                                                                                                       \
        fa_slow_:                                                                                                      \
            (void)fa_failpoint_slow(id);                                                                               \
        }                                                                                                              \
    } while (0)

/* result = call, or -1 with the armed errno. */
#define FA_FAILPOINT_CALL(id, result, call)                                                                            \
    do {                                                                                                               \
        __label__ fa_slow_, fa_call_;                                                                                  \
        FA_FAILPOINT_BRANCH(id, fa_slow_);                                                                             \
    fa_call_:                                                                                                          \
        (result) = (call);                                                                                             \
        if (0) {                                                                                                       \
        fa_slow_:                                                                                                      \
            if (fa_failpoint_slow(id) == 0) {                                                                          \
                goto fa_call_;                                                                                         \
            }                                                                                                          \
            (result) = -1;                                                                                             \
        }                                                                                                              \
    } while (0)

#else

#define FA_FAILPOINT_HIT(id) ((void)(id))
#define FA_FAILPOINT_CALL(id, result, call) ((void)(id), (void)((result) = (call)))

static inline int fa_failpoint_attach(const char *path, fa_error *err)
{
    return fa_fail(err, FA_UNSUPPORTED, 0, "fa_failpoint_attach", "%s: this build has no failpoints; load the failpoints or mutants build",
                   path);
}
static inline int fa_failpoint_detach(fa_error *err) { (void)err; return 0; }
static inline int fa_failpoint_count(void) { return 0; }
static inline const char *fa_failpoint_name(int id) { (void)id; return NULL; }
static inline const char *fa_failpoint_what(int id) { (void)id; return NULL; }
static inline int fa_failpoint_kind_of(int id) { (void)id; return 0; }
static inline uint64_t fa_failpoint_list_hash(void) { return 0; }
static inline void fa_failpoint_set_flag(void *flags, int id, uint32_t value) { (void)flags; (void)id; (void)value; }

#endif
#endif
