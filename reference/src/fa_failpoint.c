#include "fa_failpoint.h"

#ifndef FA_FAILPOINTS
typedef int fa_failpoint_has_no_code_here;
#else

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fa_atomics.h"

typedef struct fa_failpoint_header {
    uint64_t magic;
    uint32_t version;
    uint32_t count;
    uint64_t hash;
    uint8_t zero[40];
} fa_failpoint_header;

_Static_assert(sizeof(fa_failpoint_header) == FA_FAILPOINT_ENTRIES_OFFSET, "entries follow the header");
_Static_assert(offsetof(fa_failpoint_header, count) == 12 && offsetof(fa_failpoint_header, hash) == 16, "header offsets");
_Static_assert(sizeof(fa_failpoint_entry) == 64, "one line per entry");
_Static_assert(offsetof(fa_failpoint_entry, errnum) == 4 && offsetof(fa_failpoint_entry, countdown) == 8, "entry offsets");
_Static_assert(offsetof(fa_failpoint_entry, hits) == 16 && offsetof(fa_failpoint_entry, fired) == 24, "entry offsets");
_Static_assert(offsetof(fa_failpoint_entry, fired_pid) == 32 && offsetof(fa_failpoint_entry, fired_tid) == 36, "entry offsets");
_Static_assert(FA_SITE_COUNT <= (FA_FAILPOINT_FLAGS_OFFSET - FA_FAILPOINT_ENTRIES_OFFSET) / 64, "the control file holds every entry");

/* Alone on its pages: the control file is mapped over them. Named only in assembly, hence 'used'. */
uint32_t fa_failpoint_flags[FA_FAILPOINT_FLAGS_SIZE / 4] __attribute__((visibility("hidden"), aligned(65536), used));

static fa_failpoint_entry *fa_failpoint_entries;

static const struct {
    const char *name;
    const char *what;
    int kind;
} fa_failpoint_list[] = {
#define FAILPOINT(name, kind, what) {#name, what, FA_FAILPOINT_##kind},
#include "fa_failpoint_list.h"
#undef FAILPOINT
};

/*
 * Between a site and fa_failpoint_slow: keeps every register. The vector registers are kept as far as fxsave reaches; what
 * fa_failpoint_slow calls is a few bare system calls, which leave the wider halves alone.
 */
#if defined(__x86_64__)
__asm__(".pushsection .text.fa_failpoint,\"ax\",@progbits\n"
        ".globl fa_failpoint_thunk\n"
        ".hidden fa_failpoint_thunk\n"
        ".type fa_failpoint_thunk, @function\n"
        "fa_failpoint_thunk:\n\t"
        ".cfi_startproc\n\t"
        "pushq %rbp\n\t"
        ".cfi_def_cfa_offset 16\n\t"
        ".cfi_offset %rbp, -16\n\t"
        "movq %rsp, %rbp\n\t"
        ".cfi_def_cfa_register %rbp\n\t"
        "pushq %rax\n\tpushq %rcx\n\tpushq %rdx\n\tpushq %rsi\n\tpushq %rdi\n\t"
        "pushq %r8\n\tpushq %r9\n\tpushq %r10\n\tpushq %r11\n\t"
        "movl 16(%rbp), %edi\n\t"
        "subq $512, %rsp\n\t"
        "andq $-64, %rsp\n\t"
        "fxsave64 (%rsp)\n\t"
        "call fa_failpoint_slow\n\t"
        "fxrstor64 (%rsp)\n\t"
        "leaq -72(%rbp), %rsp\n\t"
        "testl %eax, %eax\n\t"
        "popq %r11\n\tpopq %r10\n\tpopq %r9\n\tpopq %r8\n\t"
        "popq %rdi\n\tpopq %rsi\n\tpopq %rdx\n\tpopq %rcx\n\tpopq %rax\n\t"
        "popq %rbp\n\t"
        ".cfi_def_cfa %rsp, 8\n\t"
        "ret\n\t"
        ".cfi_endproc\n"
        ".size fa_failpoint_thunk, .-fa_failpoint_thunk\n"
        ".popsection");
#elif defined(__aarch64__)
__asm__(".pushsection .text.fa_failpoint,\"ax\",@progbits\n"
        ".globl fa_failpoint_thunk\n"
        ".hidden fa_failpoint_thunk\n"
        ".type fa_failpoint_thunk, %function\n"
        "fa_failpoint_thunk:\n\t"
        ".cfi_startproc\n\t"
        "stp x29, x30, [sp, #-16]!\n\t"
        ".cfi_def_cfa_offset 16\n\t"
        ".cfi_offset x29, -16\n\t"
        ".cfi_offset x30, -8\n\t"
        "mov x29, sp\n\t"
        ".cfi_def_cfa_register x29\n\t"
        "sub sp, sp, #656\n\t" /* x1 to x15, x17, x18 and the flags in 144 bytes, then q0 to q31 */
        "stp x1, x2, [sp]\n\tstp x3, x4, [sp, #16]\n\tstp x5, x6, [sp, #32]\n\tstp x7, x8, [sp, #48]\n\t"
        "stp x9, x10, [sp, #64]\n\tstp x11, x12, [sp, #80]\n\tstp x13, x14, [sp, #96]\n\tstp x15, x17, [sp, #112]\n\t"
        "str x18, [sp, #128]\n\t"
        "stp q0, q1, [sp, #144]\n\tstp q2, q3, [sp, #176]\n\tstp q4, q5, [sp, #208]\n\tstp q6, q7, [sp, #240]\n\t"
        "stp q8, q9, [sp, #272]\n\tstp q10, q11, [sp, #304]\n\tstp q12, q13, [sp, #336]\n\tstp q14, q15, [sp, #368]\n\t"
        "stp q16, q17, [sp, #400]\n\tstp q18, q19, [sp, #432]\n\tstp q20, q21, [sp, #464]\n\tstp q22, q23, [sp, #496]\n\t"
        "stp q24, q25, [sp, #528]\n\tstp q26, q27, [sp, #560]\n\tstp q28, q29, [sp, #592]\n\tstp q30, q31, [sp, #624]\n\t"
        "mrs x16, nzcv\n\tstr x16, [sp, #136]\n\t"
        "bl fa_failpoint_slow\n\t"
        "ldr x16, [sp, #136]\n\tmsr nzcv, x16\n\t"
        "ldp q0, q1, [sp, #144]\n\tldp q2, q3, [sp, #176]\n\tldp q4, q5, [sp, #208]\n\tldp q6, q7, [sp, #240]\n\t"
        "ldp q8, q9, [sp, #272]\n\tldp q10, q11, [sp, #304]\n\tldp q12, q13, [sp, #336]\n\tldp q14, q15, [sp, #368]\n\t"
        "ldp q16, q17, [sp, #400]\n\tldp q18, q19, [sp, #432]\n\tldp q20, q21, [sp, #464]\n\tldp q22, q23, [sp, #496]\n\t"
        "ldp q24, q25, [sp, #528]\n\tldp q26, q27, [sp, #560]\n\tldp q28, q29, [sp, #592]\n\tldp q30, q31, [sp, #624]\n\t"
        "ldp x1, x2, [sp]\n\tldp x3, x4, [sp, #16]\n\tldp x5, x6, [sp, #32]\n\tldp x7, x8, [sp, #48]\n\t"
        "ldp x9, x10, [sp, #64]\n\tldp x11, x12, [sp, #80]\n\tldp x13, x14, [sp, #96]\n\tldp x15, x17, [sp, #112]\n\t"
        "ldr x18, [sp, #128]\n\t"
        "mov w16, w0\n\t"
        "mov sp, x29\n\t"
        "ldp x29, x30, [sp], #16\n\t"
        ".cfi_def_cfa sp, 0\n\t"
        "ret\n\t"
        ".cfi_endproc\n"
        ".size fa_failpoint_thunk, .-fa_failpoint_thunk\n"
        ".popsection");
#endif

int fa_failpoint_slow(int id)
{
    /* Pairs with the release in fa_failpoint_set_flag: the entry was complete before its flag rose. */
    const uint32_t armed = FA_LOAD_ACQUIRE(&fa_failpoint_flags[id]);
    /* Pairs with the release in fa_failpoint_attach. */
    fa_failpoint_entry *entries = FA_LOAD_ACQUIRE(&fa_failpoint_entries);
    if (armed == 0 || entries == NULL) {
        return 0;
    }
    fa_failpoint_entry *entry = &entries[id];
    FA_BARE_FETCH_ADD(&entry->hits, 1u);
    const uint32_t action = FA_LOAD_RELAXED(&entry->action);
    if (action == FA_FAILPOINT_COUNT || FA_BARE_FETCH_ADD(&entry->countdown, -1) != 1) {
        return 0;
    }
    if (action == FA_FAILPOINT_ERROR && fa_failpoint_list[id].kind != FA_FAILPOINT_SYSCALL) {
        return 0;
    }
    FA_BARE_STORE_RELAXED(&entry->fired_pid, (uint32_t)getpid());
    FA_BARE_STORE_RELAXED(&entry->fired_tid, (uint32_t)syscall(SYS_gettid));
    FA_BARE_FETCH_ADD(&entry->fired, 1u);
    switch (action) {
    case FA_FAILPOINT_CRASH:
        (void)kill(getpid(), SIGKILL);
        for (;;) { /* no instruction after the hit may run, though another thread may be the one that is stopped first */
            (void)pause();
        }
    case FA_FAILPOINT_STOP:
        (void)kill(getpid(), SIGSTOP);
        return 0;
    case FA_FAILPOINT_ERROR:
        errno = FA_LOAD_RELAXED(&entry->errnum);
        return -1;
    default:
        return 0;
    }
}

/* What is wrong comes first and the path last: a long path is what the message may lose. */
static int fa_failpoint_refuse(const char *path, const fa_failpoint_header *header, fa_error *err)
{
    static const char where[] = "fa_failpoint_attach";
    if (header->magic != FA_FAILPOINT_MAGIC) {
        return fa_fail(err, FA_CORRUPT, 0, where, "this is not a failpoint control file, its magic is another: %s", path);
    }
    if (header->version != FA_FAILPOINT_VERSION) {
        return fa_fail(err, FA_VERSION, 0, where, "the control file has version %u, this build reads %u: %s", header->version,
                       FA_FAILPOINT_VERSION, path);
    }
    if (header->count != FA_SITE_COUNT || header->hash != fa_failpoint_list_hash()) {
        return fa_fail(err, FA_VERSION, 0, where, "the control file was made for another list of failpoints (%u names, this build has %d): %s",
                       header->count, FA_SITE_COUNT, path);
    }
    return 0;
}

/*
 * The kernel changes the pages in one step: a site sees its old flag or its new one. The system call is made bare, since
 * TSan takes a mapping for a write of the whole range, which would race with the sites that are hit meanwhile.
 */
static int fa_failpoint_map_flags(int fd, int flags, off_t offset)
{
    return syscall(SYS_mmap, fa_failpoint_flags, (size_t)FA_FAILPOINT_FLAGS_SIZE, PROT_READ, flags | MAP_FIXED, fd, offset) == -1 ? -1 : 0;
}

static int fa_failpoint_fits(const char *path, int fd, fa_error *err)
{
    static const char where[] = "fa_failpoint_attach";
    struct stat status;
    const long page = sysconf(_SC_PAGESIZE);
    if (page <= 0 || (uintptr_t)fa_failpoint_flags % (uintptr_t)page != 0 || FA_FAILPOINT_FLAGS_SIZE % (uintptr_t)page != 0) {
        return fa_fail(err, FA_UNSUPPORTED, 0, where, "the loader did not align the failpoint flags to pages of %ld bytes", page);
    }
    if (fstat(fd, &status) != 0) {
        return fa_fail(err, FA_IO, errno, where, "fstat failed: %s", path);
    }
    if (!S_ISREG(status.st_mode)) {
        return fa_fail(err, FA_CORRUPT, 0, where, "a failpoint control file is a regular file, this is not: %s", path);
    }
    if (status.st_size != (off_t)FA_FAILPOINT_FILE_SIZE) {
        return fa_fail(err, FA_CORRUPT, 0, where, "the file has %lld bytes, a failpoint control file has %u: %s", (long long)status.st_size,
                       FA_FAILPOINT_FILE_SIZE, path);
    }
    return 0;
}

static int fa_failpoint_map(const char *path, int fd, fa_error *err)
{
    static const char where[] = "fa_failpoint_attach";
    int refused = fa_failpoint_fits(path, fd, err);
    if (refused != 0) {
        return refused;
    }
    char *front = mmap(NULL, FA_FAILPOINT_FLAGS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (front == MAP_FAILED) {
        return fa_fail(err, FA_IO, errno, where, "the entries cannot be mapped: %s", path);
    }
    refused = fa_failpoint_refuse(path, (const fa_failpoint_header *)(const void *)front, err);
    if (refused != 0) {
        (void)munmap(front, FA_FAILPOINT_FLAGS_OFFSET);
        return refused;
    }
    /* Entries before flags: whoever sees a flag finds the entries. Pairs with the acquire in fa_failpoint_slow. An earlier
     * control file stays mapped, since another thread may be in the slow path. */
    FA_BARE_STORE_RELEASE(&fa_failpoint_entries, (fa_failpoint_entry *)(void *)(front + FA_FAILPOINT_ENTRIES_OFFSET));
    if (fa_failpoint_map_flags(fd, MAP_SHARED, FA_FAILPOINT_FLAGS_OFFSET) != 0) {
        return fa_fail(err, FA_IO, errno, where, "the flags cannot be mapped: %s", path);
    }
    return 0;
}

int fa_failpoint_attach(const char *path, fa_error *err)
{
    static const char where[] = "fa_failpoint_attach";
    /* Not blocked by a pipe, and not led elsewhere by a link. */
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0 && errno == ELOOP) {
        return fa_fail(err, FA_INVALID, ELOOP, where, "a failpoint control file is named itself, this is a symbolic link: %s", path);
    }
    if (fd < 0) {
        char text[96];
        const int errnum = errno;
        return fa_fail(err, fa_error_class_of(errnum), errnum, where, "the failpoint control file cannot be opened (%s): %s",
                       strerror_r(errnum, text, sizeof text), path);
    }
    const int result = fa_failpoint_map(path, fd, err);
    (void)close(fd);
    return result;
}

int fa_failpoint_detach(fa_error *err)
{
    if (fa_failpoint_map_flags(-1, MAP_PRIVATE | MAP_ANONYMOUS, 0) != 0) {
        return fa_fail(err, FA_IO, errno, "fa_failpoint_detach", "the flags cannot be unmapped");
    }
    return 0;
}

int fa_failpoint_count(void) { return FA_SITE_COUNT; }

const char *fa_failpoint_name(int id) { return id >= 0 && id < FA_SITE_COUNT ? fa_failpoint_list[id].name : NULL; }

const char *fa_failpoint_what(int id) { return id >= 0 && id < FA_SITE_COUNT ? fa_failpoint_list[id].what : NULL; }

int fa_failpoint_kind_of(int id) { return id >= 0 && id < FA_SITE_COUNT ? fa_failpoint_list[id].kind : 0; }

/* FNV-1a over "name kind\n" in order. */
uint64_t fa_failpoint_list_hash(void)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (int id = 0; id < FA_SITE_COUNT; id++) {
        const char ending[] = {' ', (char)('0' + fa_failpoint_list[id].kind), '\n'};
        for (const char *letter = fa_failpoint_list[id].name; *letter != '\0'; letter++) {
            hash = (hash ^ (unsigned char)*letter) * 0x100000001b3ull;
        }
        for (size_t i = 0; i < sizeof ending; i++) {
            hash = (hash ^ (unsigned char)ending[i]) * 0x100000001b3ull;
        }
    }
    return hash;
}

/* Pairs with the acquire in fa_failpoint_slow of the armed process. */
void fa_failpoint_set_flag(void *flags, int id, uint32_t value) { FA_BARE_STORE_RELEASE((uint32_t *)flags + id, value); }

#endif
