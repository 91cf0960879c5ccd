/*
 * Prints "NAME COUNT CALL..." for each operation of fa_atomics.h and fa_persist.h: the instructions one call of it executes,
 * those of libc included, counted by single-stepping a child, and the numbers of the system calls among them. Each operation runs twice and the second run counts, so that the
 * loader's work at the first call does not. The bare operations are what the release build must not exceed.
 */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "fa_core.h"

#define SIZE 65536u
#define SYSCALL_INSTRUCTION 0x050f

static uint64_t word, other = 7;
static int dirfd_, fd = -1;
static void *map;
static const char *from = "a", *to = "b";
static char buffer[64];
static fa_error err;
static volatile int result;

#define OPERATIONS(OP)                                                                                                 \
    OP(bare_store, __atomic_store_n(&word, other, __ATOMIC_RELEASE))                                                   \
    OP(bare_seq_cst, __atomic_store_n(&word, other, __ATOMIC_SEQ_CST))                                                 \
    OP(bare_cas, uint64_t expected = 7;                                                                                \
       result = __atomic_compare_exchange_n(&word, &expected, other, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))           \
    OP(bare_exchange, result = (int)__atomic_exchange_n(&word, other, __ATOMIC_ACQ_REL))                               \
    OP(bare_fetch_add, result = (int)__atomic_fetch_add(&word, other, __ATOMIC_ACQ_REL))                               \
    OP(bare_copy, memcpy(buffer, &other, sizeof other))                                                                \
    OP(store_release, FA_STORE_RELEASE(probe_store_release, &word, other))                                             \
    OP(store_relaxed, FA_STORE_RELAXED(probe_store_relaxed, &word, other))                                             \
    OP(store_seq_cst, FA_STORE_SEQ_CST(probe_store_release, &word, other))                                             \
    OP(exchange, result = (int)FA_EXCHANGE(probe_exchange, &word, other))                                              \
    OP(cas, uint64_t expected = 7; result = FA_CAS(probe_cas, &word, &expected, other))                                \
    OP(fetch_add, result = (int)FA_FETCH_ADD(probe_fetch_add, &word, other))                                           \
    OP(copy, FA_COPY(probe_copy, buffer, &other, sizeof other))                                                        \
    OP(open, result = fa_persist_open(probe_open, dirfd_, from, O_RDWR | O_CREAT, 0644, &err))                         \
    OP(flock, result = fa_persist_flock(probe_flock, fd, LOCK_EX | LOCK_NB, &err))                                     \
    OP(fallocate, result = fa_persist_fallocate(probe_fallocate, fd, 0, SIZE, &err))                                   \
    OP(ftruncate, result = fa_persist_ftruncate(probe_ftruncate, fd, SIZE, &err))                                      \
    OP(pwrite, result = fa_persist_pwrite_all(probe_pwrite, fd, buffer, sizeof buffer, 0, &err))                       \
    OP(write, result = fa_persist_write_all(probe_write, fd, buffer, sizeof buffer, &err))                             \
    OP(pread, result = fa_persist_pread_all(probe_pread, fd, buffer, sizeof buffer, 0, &err))                          \
    OP(fdatasync, result = fa_persist_fdatasync(probe_fdatasync, fd, &err))                                            \
    OP(fsync, result = fa_persist_fsync(probe_fsync, fd, &err))                                                        \
    OP(mmap, result = fa_persist_mmap(probe_mmap, fd, 0, SIZE, PROT_READ | PROT_WRITE, &map, &err))                    \
    OP(msync, result = fa_persist_msync(probe_msync, map, SIZE, MS_SYNC, &err))                                        \
    OP(munmap, result = fa_persist_munmap(probe_munmap, map, SIZE, &err))                                              \
    OP(rename, result = fa_persist_rename(probe_rename, dirfd_, from, dirfd_, to, &err))                               \
    OP(fsync_dir, result = fa_persist_fsync_dir(probe_fsync_dir, dirfd_, &err))                                        \
    OP(unlink, result = fa_persist_unlink(probe_unlink, dirfd_, from, &err))

#define DEFINE(name, ...) __attribute__((noinline)) static void run_##name(void) { __VA_ARGS__; }
OPERATIONS(DEFINE)

static const struct {
    const char *name;
    void (*run)(void);
} operations[] = {
#define ROW(name, ...) {#name, run_##name},
    OPERATIONS(ROW)
};
#define COUNT (sizeof operations / sizeof operations[0])

/* What the operation needs is there before each of its runs: both runs take the same way. */
static void prepare(void)
{
    if (fd >= 0) { /* the map would keep the lock of the closed descriptor */
        (void)munmap(map, SIZE);
        (void)close(fd);
    }
    fd = openat(dirfd_, from, O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, SIZE) != 0) {
        _exit(2);
    }
    map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    word = 7;
    result = 0;
    if (map == MAP_FAILED) {
        _exit(3);
    }
}

static void child(void)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
        _exit(77);
    }
    (void)raise(SIGSTOP);
    for (size_t i = 0; i < COUNT; i++) {
        for (int run = 0; run < 2; run++) {
            prepare();
            void (*volatile call)(void) = operations[i].run;
            call();
            if (result < 0) {
                _exit(4);
            }
        }
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    long counts[COUNT] = {0};
    char calls[COUNT][64] = {{0}};
    size_t inside = COUNT;
    unsigned long entry_sp = 0;
    int status;
    assert(argc == 2);
    dirfd_ = open(argv[1], O_RDONLY | O_DIRECTORY);
    assert(dirfd_ >= 0);
    const pid_t pid = fork();
    assert(pid >= 0);
    if (pid == 0) {
        child();
    }
    assert(waitpid(pid, &status, 0) == pid);
    while (WIFSTOPPED(status)) {
        struct user_regs_struct registers;
        assert(ptrace(PTRACE_GETREGS, pid, NULL, &registers) == 0);
        if (inside < COUNT && registers.rsp > entry_sp) {
            inside = COUNT; /* the return address is off the stack: it has returned */
        }
        for (size_t i = 0; inside == COUNT && i < COUNT; i++) {
            if (registers.rip == (unsigned long)operations[i].run) {
                inside = i;
                entry_sp = registers.rsp;
                counts[i] = 0; /* the second run overwrites the first */
                calls[i][0] = '\0';
            }
        }
        if (inside < COUNT) {
            counts[inside]++;
            if ((ptrace(PTRACE_PEEKTEXT, pid, registers.rip, NULL) & 0xFFFF) == SYSCALL_INSTRUCTION) {
                const size_t used = strlen(calls[inside]);
                (void)snprintf(calls[inside] + used, sizeof calls[inside] - used, " %llu", registers.rax);
            }
        }
        assert(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0);
        assert(waitpid(pid, &status, 0) == pid);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    for (size_t i = 0; i < COUNT; i++) {
        (void)printf("%s %ld%s\n", operations[i].name, counts[i], calls[i]);
    }
    return 0;
}
