/*
 * A site that is armed leaves every register and the red zone as they were: the code around it has saved nothing.
 * The control file given has fetch_add and store_release counting, and fsync_dir failing with ENOSPC at its first hit.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "fa_core.h"

#define GENERAL 9
#define RED_ZONE 16
#define VECTORS 16

typedef struct state {
    uint64_t general[GENERAL]; /* rax rcx rdx rsi rdi r8 r9 r10 r11 */
    uint64_t red_zone[RED_ZONE];
    uint8_t vectors[VECTORS][32];
} state;

_Static_assert(offsetof(state, red_zone) == 72 && offsetof(state, vectors) == 200, "the assembly below counts on it");

#define EACH_VECTOR(text) ".irp k,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t" text "\n\t.endr\n\t"
#define EACH_RED_WORD(text) ".irp k,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16\n\t" text "\n\t.endr\n\t"

/* Fills the machine from in, goes through the site of fetch_add, and takes the machine down into out. */
#define PASS(load, store)                                                                                              \
    do {                                                                                                               \
        register const state *in_ __asm__("r12") = in;                                                                 \
        register state *out_ __asm__("r13") = out;                                                                     \
        __asm__ volatile("subq $256, %%rsp\n\t" EACH_RED_WORD("movq 64+8*\\k(%1), %%rax\n\tmovq %%rax, -8*\\k(%%rsp)")  \
                         EACH_VECTOR(load)                                                                             \
                         "movq (%1), %%rax\n\tmovq 8(%1), %%rcx\n\tmovq 16(%1), %%rdx\n\tmovq 24(%1), %%rsi\n\t"       \
                         "movq 32(%1), %%rdi\n\tmovq 40(%1), %%r8\n\tmovq 48(%1), %%r9\n\tmovq 56(%1), %%r10\n\t"      \
                         "movq 64(%1), %%r11\n\t" FA_FAILPOINT_ASM("jmp 772b\n\t") "\n\t"                              \
                         "movq %%rax, (%2)\n\tmovq %%rcx, 8(%2)\n\tmovq %%rdx, 16(%2)\n\tmovq %%rsi, 24(%2)\n\t"       \
                         "movq %%rdi, 32(%2)\n\tmovq %%r8, 40(%2)\n\tmovq %%r9, 48(%2)\n\tmovq %%r10, 56(%2)\n\t"      \
                         "movq %%r11, 64(%2)\n\t" EACH_VECTOR(store)                                                   \
                             EACH_RED_WORD("movq -8*\\k(%%rsp), %%rax\n\tmovq %%rax, 64+8*\\k(%2)")                    \
                         "addq $256, %%rsp"                                                                            \
                         :                                                                                             \
                         : "i"(FA_SITE(probe_fetch_add)), "r"(in_), "r"(out_)                                          \
                         : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2",        \
                           "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", \
                           "xmm14", "xmm15", "cc", "memory");                                                          \
    } while (0)

__attribute__((noinline)) static void pass_sse(const state *in, state *out)
{
    PASS("movdqu 200+32*\\k(%1), %%xmm\\k", "movdqu %%xmm\\k, 200+32*\\k(%2)");
}

__attribute__((noinline, target("avx"))) static void pass_avx(const state *in, state *out)
{
    PASS("vmovdqu 200+32*\\k(%1), %%ymm\\k", "vmovdqu %%ymm\\k, 200+32*\\k(%2)");
}

/* The compiler keeps cold code where a stub might be thought to lie: a site there must not run into its stub. */
__attribute__((noinline, section(".text.unlikely"))) static int pass_among_the_cold(uint64_t *word, int dirfd)
{
    fa_error err;
    FA_STORE_RELEASE(probe_store_release, word, 1); /* read back by the same thread */
    const int status = fa_persist_fsync_dir(probe_fsync_dir, dirfd, &err);
    FA_STORE_RELEASE(probe_store_release, word, 2);
    return status;
}

static void compare(const state *in, const state *out, size_t width)
{
    assert(memcmp(in->general, out->general, sizeof in->general) == 0);
    assert(memcmp(in->red_zone, out->red_zone, sizeof in->red_zone) == 0);
    for (int i = 0; i < VECTORS; i++) {
        assert(memcmp(in->vectors[i], out->vectors[i], width) == 0);
    }
}

int main(int argc, char **argv)
{
    fa_error err;
    state in, out;
    uint64_t word = 0;
    assert(argc == 2);
    const int root = open("/", O_RDONLY | O_DIRECTORY);
    assert(root >= 0);
    unsigned char *bytes = (unsigned char *)&in;
    for (size_t i = 0; i < sizeof in; i++) {
        bytes[i] = (unsigned char)(i * 37 + 11);
    }
    for (int attached = 0; attached < 2; attached++) {
        memset(&out, 0, sizeof out);
        pass_sse(&in, &out);
        compare(&in, &out, 16);
        if (__builtin_cpu_supports("avx")) {
            memset(&out, 0, sizeof out);
            pass_avx(&in, &out);
            compare(&in, &out, 32);
        }
        const int status = pass_among_the_cold(&word, root);
        assert(word == 2 && status == (attached ? fa_fail(NULL, FA_FULL, ENOSPC, "", "%s", "") : 0));
        assert(attached == 1 || fa_failpoint_attach(argv[1], &err) == 0);
    }
    puts("ok");
    return 0;
}
