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
int fa_failpoint_slow(int id) __attribute__((cold, noinline, visibility("hidden")));

int fa_failpoint_attach(const char *path, fa_error *err);
int fa_failpoint_detach(fa_error *err);
int fa_failpoint_count(void);
const char *fa_failpoint_name(int id);
const char *fa_failpoint_what(int id);
int fa_failpoint_kind_of(int id);
uint64_t fa_failpoint_list_hash(void);
void fa_failpoint_set_flag(void *flags, int id, uint32_t value);

/*
 * A site is two instructions: a look at the flag and a branch to a stub out of line. The stub goes through
 * fa_failpoint_thunk, which keeps every register, so the code around a site is the code of the release build: nothing is
 * spilled and no frame is made for a call that does not happen. Stubs have a section of their own: the compiler puts code
 * that has sites into .text.unlikely too, and would run into a stub that lay there.
 * FA_FAILPOINT_TEST goes on after the site; FA_FAILPOINT_BRANCH goes to the label when the call is to fail.
 */
#if defined(__x86_64__)
/* The stub steps over the red zone of a leaf function. lea and jmp leave the flags, in which the thunk tells its result. */
#define FA_FAILPOINT_ASM(then)                                                                                         \
    "cmpl $0, fa_failpoint_flags+4*%c0(%%rip)\n\t"                                                                     \
    "jne 771f\n"                                                                                                       \
    "772:\n\t"                                                                                                         \
    ".pushsection .text.fa_failpoint,\"ax\",@progbits\n"                                                                \
    "771:\n\t"                                                                                                         \
    "leaq -128(%%rsp), %%rsp\n\t"                                                                                      \
    "pushq $%c0\n\t"                                                                                                   \
    "call fa_failpoint_thunk\n\t"                                                                                      \
    "leaq 136(%%rsp), %%rsp\n\t" then ".popsection"
#define FA_FAILPOINT_TEST(id) __asm__ volatile(FA_FAILPOINT_ASM("jmp 772b\n\t") : : "i"(id) : "cc", "memory")
#define FA_FAILPOINT_BRANCH(id, refused)                                                                               \
    __asm__ goto(FA_FAILPOINT_ASM("je 772b\n\tjmp %l1\n\t") : : "i"(id) : "cc", "memory" : refused)
#elif defined(__aarch64__)
/* A literal load reaches 1 MiB either way, which text and bss of this library keep; beyond it the link fails aloud.
 * The thunk tells its result in w16. */
#define FA_FAILPOINT_ASM(then)                                                                                         \
    "ldr w16, fa_failpoint_flags+4*%c0\n\t"                                                                            \
    "cbnz w16, 771f\n"                                                                                                 \
    "772:\n\t"                                                                                                         \
    ".pushsection .text.fa_failpoint,\"ax\",@progbits\n"                                                                \
    "771:\n\t"                                                                                                         \
    "stp x0, x30, [sp, #-16]!\n\t"                                                                                     \
    "mov w0, #%c0\n\t"                                                                                                 \
    "bl fa_failpoint_thunk\n\t"                                                                                        \
    "ldp x0, x30, [sp], #16\n\t" then ".popsection"
#define FA_FAILPOINT_TEST(id) __asm__ volatile(FA_FAILPOINT_ASM("b 772b\n\t") : : "i"(id) : "x16", "memory")
#define FA_FAILPOINT_BRANCH(id, refused)                                                                               \
    __asm__ goto(FA_FAILPOINT_ASM("cbnz w16, 773f\n\tb 772b\n773:\n\tb %l1\n\t") : : "i"(id) : "x16", "memory" : refused)
#else
/* Right, though the call may cost the code around it more than two instructions. */
#define FA_FAILPOINT_ARMED(id) __builtin_expect(*(volatile uint32_t *)&fa_failpoint_flags[id] != 0, 0)
#define FA_FAILPOINT_TEST(id)                                                                                          \
    do {                                                                                                               \
        if (FA_FAILPOINT_ARMED(id)) {                                                                                  \
            (void)fa_failpoint_slow(id);                                                                               \
        }                                                                                                              \
    } while (0)
#define FA_FAILPOINT_BRANCH(id, refused)                                                                               \
    do {                                                                                                               \
        if (FA_FAILPOINT_ARMED(id) && fa_failpoint_slow(id) != 0) {                                                    \
            goto refused;                                                                                              \
        }                                                                                                              \
    } while (0)
#endif

/* gcc takes the two ways out of an asm goto for equally likely, and lays out the code after it accordingly. */
#ifdef __clang__
#define FA_FAILPOINT_COLD_LABEL
#else
#define FA_FAILPOINT_COLD_LABEL __attribute__((cold));
#endif

/* Before a store. */
#define FA_FAILPOINT_HIT(id) FA_FAILPOINT_TEST(id)

/* result = call, or -1 with the armed errno. */
#define FA_FAILPOINT_CALL(id, result, call)                                                                            \
    do {                                                                                                               \
        __label__ fa_refused_;                                                                                         \
        FA_FAILPOINT_BRANCH(id, fa_refused_);                                                                          \
        (result) = (call);                                                                                             \
        if (0) {                                                                                                       \
        fa_refused_:                                                                                                   \
            FA_FAILPOINT_COLD_LABEL                                                                                    \
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
