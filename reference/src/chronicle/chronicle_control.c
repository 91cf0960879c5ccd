#include "chronicle/chronicle_control.h"

#include <string.h>

#include "chronicle/chronicle_clock.h"
#include "chronicle/chronicle_record.h"
#include "chronicle/chronicle_segment.h"
#include "fa_atomics.h"
#include "fa_persist.h"

#define CHRONICLE_CONTROL_SIZE sizeof(chronicle_control_block)
#define CHRONICLE_CONTROL_READY_TRIES 100 /* of a millisecond: the file is ready before it has its name */
#define CHRONICLE_CONTROL_SPINS 1000
#define CHRONICLE_CONTROL_PAUSES 200 /* of a millisecond: a writer that is frozen inside its update must not hold us */

static uint32_t chronicle_control_magic(void)
{
    return FA_MUTANT(chronicle_magic_swapped) ? __builtin_bswap32(CHRONICLE_CONTROL_MAGIC) : CHRONICLE_CONTROL_MAGIC;
}

/* A reader that sees state 2 sees every field: the release pairs with the acquire in chronicle_control_attach. */
static void chronicle_control_fill(chronicle_control_block *block, uint64_t segment_size)
{
    FA_STORE_RELAXED(chronicle_init_begin, &block->init_state, CHRONICLE_CONTROL_INITIALISING);
    FA_STORE_RELAXED(chronicle_init_field, &block->version, CHRONICLE_CONTROL_VERSION);
    FA_STORE_RELAXED(chronicle_init_field, &block->segment_size, segment_size);
    FA_STORE_RELAXED(chronicle_init_field, &block->write_offset, CHRONICLE_RECORD_FIRST);
    FA_STORE_RELAXED(chronicle_init_magic, &block->magic, chronicle_control_magic());
    FA_STORE_RELEASE(chronicle_init_ready, &block->init_state, CHRONICLE_CONTROL_READY);
}

static int chronicle_control_make(int dirfd, int fd, uint64_t segment_size, fa_error *err)
{
    void *map = NULL;
    int status = fa_persist_fallocate(chronicle_control_fallocate, fd, 0, CHRONICLE_CONTROL_SIZE, err);
    if (status == 0) {
        status = fa_persist_mmap(chronicle_control_mmap, fd, 0, CHRONICLE_CONTROL_SIZE, PROT_READ | PROT_WRITE, &map, err);
    }
    if (status != 0) {
        return status;
    }
    if (FA_MUTANT(chronicle_control_early)) {
        status = fa_persist_rename(chronicle_control_rename, dirfd, CHRONICLE_CONTROL_TEMPORARY, dirfd, CHRONICLE_CONTROL_NAME, err);
        chronicle_clock_pause(300 * CHRONICLE_MILLISECOND);
    }
    chronicle_control_fill(map, segment_size);
    if (status == 0) {
        status = fa_persist_fsync(chronicle_control_fsync, fd, err);
    }
    const int unmapped = fa_persist_munmap(chronicle_control_munmap, map, CHRONICLE_CONTROL_SIZE, status == 0 ? err : NULL);
    status = status != 0 ? status : unmapped;
    if (status == 0 && !FA_MUTANT(chronicle_control_early)) {
        status = fa_persist_rename(chronicle_control_rename, dirfd, CHRONICLE_CONTROL_TEMPORARY, dirfd, CHRONICLE_CONTROL_NAME, err);
    }
    return status;
}

int chronicle_control_create(int dirfd, uint64_t segment_size, fa_error *err)
{
    const int fd =
        fa_persist_open(chronicle_control_create, dirfd, CHRONICLE_CONTROL_TEMPORARY, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644, err);
    if (fd < 0) {
        return fd;
    }
    const int status = chronicle_control_make(dirfd, fd, segment_size, err);
    (void)close(fd);
    return status;
}

static bool chronicle_control_zero(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

static int chronicle_control_check(const chronicle_control_block *block, fa_error *err)
{
    /* Pairs with the release in chronicle_control_fill. */
    for (int tries = 0; FA_LOAD_ACQUIRE(&block->init_state) != CHRONICLE_CONTROL_READY && !FA_MUTANT(chronicle_state_unread); tries++) {
        if (tries == CHRONICLE_CONTROL_READY_TRIES) {
            return fa_fail(err, FA_CORRUPT, 0, "chronicle_control_attach", "control.meta is not ready: its init_state is %u",
                           FA_LOAD_RELAXED(&block->init_state));
        }
        chronicle_clock_pause(CHRONICLE_MILLISECOND);
    }
    const uint32_t magic = FA_LOAD_RELAXED(&block->magic), version = FA_LOAD_RELAXED(&block->version);
    const uint64_t size = FA_LOAD_RELAXED(&block->segment_size);
    if (magic != chronicle_control_magic()) {
        return fa_fail(err, FA_CORRUPT, 0, "chronicle_control_attach", "control.meta is none: its magic is %#x", magic);
    }
    if (version != CHRONICLE_CONTROL_VERSION) {
        return fa_fail(err, FA_VERSION, 0, "chronicle_control_attach", "control.meta has version %u, this build reads %u", version,
                       CHRONICLE_CONTROL_VERSION);
    }
    if (!chronicle_segment_size_valid(size) && !FA_MUTANT(chronicle_size_unchecked)) {
        return fa_fail(err, FA_CORRUPT, 0, "chronicle_control_attach", "control.meta says segments of %llu bytes: not a multiple of 64 from 128 to 4 GiB",
                       (unsigned long long)size);
    }
    if (block->pad0 != 0 || !chronicle_control_zero(block->pad1, sizeof block->pad1) ||
        !chronicle_control_zero(block->pad2, sizeof block->pad2) || !chronicle_control_zero(block->pad3, sizeof block->pad3)) {
        return fa_fail(err, FA_CORRUPT, 0, "chronicle_control_attach", "control.meta has bytes set that mean nothing");
    }
    return 0;
}

static bool chronicle_control_forbidden(int errnum) { return errnum == EACCES || errnum == EPERM || errnum == EROFS; }

int chronicle_control_attach(int dirfd, bool writable, chronicle_control *control, fa_error *err)
{
    struct stat found;
    void *map = NULL;
    const int flags = O_NOFOLLOW | O_NONBLOCK; /* a pipe of that name must not hold us */
    bool kept = true;
    int fd = fa_persist_open(chronicle_control_open, dirfd, CHRONICLE_CONTROL_NAME, O_RDWR | flags, 0, err);
    if (fd < 0 && !writable && chronicle_control_forbidden(fa_error_errno_in(fd))) {
        fd = fa_persist_open(chronicle_control_open, dirfd, CHRONICLE_CONTROL_NAME, O_RDONLY | flags, 0, err);
        kept = false;
    }
    if (fd < 0) {
        return fd;
    }
    int status = 0;
    if (fstat(fd, &found) == -1) {
        status = fa_persist_failed(err, errno, "chronicle_control_attach", "fstat", CHRONICLE_CONTROL_NAME);
    } else if (!S_ISREG(found.st_mode) || found.st_size != (off_t)CHRONICLE_CONTROL_SIZE) {
        status = fa_fail(err, FA_CORRUPT, 0, "chronicle_control_attach", "control.meta has %lld bytes instead of %zu", (long long)found.st_size,
                         CHRONICLE_CONTROL_SIZE);
    } else {
        status = fa_persist_mmap(chronicle_control_mmap, fd, 0, CHRONICLE_CONTROL_SIZE, writable ? PROT_READ | PROT_WRITE : PROT_READ, &map, err);
    }
    if (status != 0) {
        (void)close(fd);
        return status;
    }
    *control = (chronicle_control){.block = map, .fd = fd};
    if (!kept) {
        (void)close(fd);
        control->fd = -1;
    }
    status = chronicle_control_check(control->block, err);
    if (status != 0) {
        (void)chronicle_control_detach(control, NULL);
    }
    return status;
}

int chronicle_control_detach(chronicle_control *control, fa_error *err)
{
    int status = 0;
    if (control->block != NULL) {
        status = fa_persist_munmap(chronicle_control_munmap, control->block, CHRONICLE_CONTROL_SIZE, err);
    }
    if (control->fd >= 0) {
        (void)close(control->fd);
    }
    *control = (chronicle_control){.fd = -1};
    return status;
}

void chronicle_control_publish(chronicle_control_block *block, uint32_t segment, uint64_t offset)
{
    const uint32_t generation = FA_LOAD_RELAXED(&block->segment_gen);
    if (FA_MUTANT(chronicle_seqlock_even)) {
        FA_STORE_RELAXED(chronicle_publish_segment, &block->current_segment, segment);
        chronicle_clock_pause(5 * CHRONICLE_MILLISECOND);
        FA_STORE_RELAXED(chronicle_publish_offset, &block->write_offset, offset);
        return;
    }
    if (FA_MUTANT(chronicle_publish_torn)) {
        FA_STORE_RELAXED(chronicle_publish_segment, &block->current_segment, segment);
        FA_STORE_RELEASE(chronicle_publish_end, &block->segment_gen, generation + 2);
        chronicle_clock_pause(5 * CHRONICLE_MILLISECOND);
        FA_STORE_RELAXED(chronicle_publish_offset, &block->write_offset, offset);
        return;
    }
    FA_STORE_RELAXED(chronicle_publish_begin, &block->segment_gen, generation + 1);
    FA_FENCE_RELEASE(); /* odd before either half of the pair changes; pairs with the acquire fence in chronicle_control_position */
    FA_STORE_RELAXED(chronicle_publish_segment, &block->current_segment, segment);
    FA_STORE_RELAXED(chronicle_publish_offset, &block->write_offset, offset);
    FA_STORE_RELEASE(chronicle_publish_end, &block->segment_gen, generation + 2); /* pairs with the acquire in chronicle_control_position */
}

void chronicle_control_repair(chronicle_control_block *block)
{
    const uint32_t generation = FA_LOAD_RELAXED(&block->segment_gen);
    if (generation % 2 != 0 && !FA_MUTANT(chronicle_gen_left_odd)) {
        /* Pairs with the acquire in chronicle_control_position. The pair may be mixed until the next publication, in which recovery ends. */
        FA_STORE_RELEASE(chronicle_publish_repair, &block->segment_gen, generation + 1);
    }
}

int chronicle_control_position(const chronicle_control_block *block, uint32_t *segment, uint64_t *offset, fa_error *err)
{
    for (int tries = 0; tries < CHRONICLE_CONTROL_SPINS + CHRONICLE_CONTROL_PAUSES; tries++) {
        const uint32_t before = FA_LOAD_ACQUIRE(&block->segment_gen); /* pairs with the release in chronicle_control_publish */
        *segment = FA_LOAD_RELAXED(&block->current_segment);
        *offset = FA_LOAD_RELAXED(&block->write_offset);
        FA_FENCE_ACQUIRE(); /* pairs with the release fence in chronicle_control_publish */
        if (before % 2 == 0 && FA_LOAD_RELAXED(&block->segment_gen) == before) {
            return 0;
        }
        if (tries < CHRONICLE_CONTROL_SPINS) {
            fa_atomics_cpu_relax();
        } else {
            chronicle_clock_pause(CHRONICLE_MILLISECOND);
        }
    }
    return fa_fail(err, FA_TIMEOUT, 0, "chronicle_control_position", "segment_gen %u never came to rest: the writer died or stands inside an update",
                   FA_LOAD_RELAXED(&block->segment_gen));
}
