#include "chronicle/chronicle_meta.h"

#include <stdio.h>
#include <string.h>

#include "chronicle/chronicle_clock.h"
#include "chronicle/chronicle_record.h"
#include "fa_atomics.h"
#include "fa_crc32.h"
#include "fa_persist.h"
#include "fa_replace.h"

#define CHRONICLE_META_SIZE sizeof(chronicle_reader_meta)
#define CHRONICLE_META_ENTER_TRIES 500 /* of two milliseconds: a pass of retention takes less than one */
#define CHRONICLE_META_READ_TRIES 50

int chronicle_meta_check_name(const char *name, fa_error *err)
{
    const size_t letters = strlen(name);
    bool plain = letters >= 1 && letters <= CHRONICLE_META_NAME_MAX && name[0] != '.';
    for (size_t i = 0; i < letters; i++) {
        const unsigned char letter = (unsigned char)name[i];
        plain = plain && letter > ' ' && letter != 127 && letter != '/' && letter != '\\';
    }
    if (plain || FA_MUTANT(chronicle_name_unchecked)) {
        return 0;
    }
    return fa_fail(err, FA_INVALID, 0, "chronicle_meta_check_name",
                   "a reader's name has 1 to %u bytes, begins with no dot and holds no slash, blank or control byte", CHRONICLE_META_NAME_MAX);
}

static void chronicle_meta_file(char file[CHRONICLE_META_FILE], const char *name)
{
    (void)snprintf(file, CHRONICLE_META_FILE, "%.*s%s", (int)CHRONICLE_META_NAME_MAX, name,
                   FA_MUTANT(chronicle_meta_nameless) ? "" : CHRONICLE_META_SUFFIX);
}

int chronicle_meta_enter(int dirfd, fa_error *err)
{
    int status = fa_persist_mkdir(chronicle_readers_mkdir, dirfd, CHRONICLE_META_DIRECTORY, 0755, err);
    if (status != 0) {
        return status;
    }
    const int readers =
        fa_persist_open(chronicle_readers_open, dirfd, CHRONICLE_META_DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, err);
    if (readers < 0) {
        return readers;
    }
    for (int tries = 0; tries < CHRONICLE_META_ENTER_TRIES; tries++) {
        status = fa_persist_flock(chronicle_readers_flock, readers, LOCK_SH | LOCK_NB, err);
        if (status == 0) {
            return readers;
        }
        if (fa_error_class_in(status) != FA_LOCKED) {
            break;
        }
        chronicle_clock_pause(2 * CHRONICLE_MILLISECOND);
    }
    (void)close(readers);
    return fa_error_class_in(status) != FA_LOCKED
               ? status
               : fa_fail(err, FA_TIMEOUT, 0, "chronicle_meta_enter", "somebody has kept the directory of readers locked for a second");
}

static uint32_t chronicle_meta_sum(const chronicle_reader_slot *slot) { return fa_crc32(0, slot, offsetof(chronicle_reader_slot, crc32)); }

static chronicle_reader_slot chronicle_meta_slot(uint64_t generation, uint32_t segment, uint64_t offset)
{
    chronicle_reader_slot slot = {.generation = generation,
                                  .segment = segment,
                                  .offset = offset,
                                  .heartbeat_ns = chronicle_clock_wall_ns(),
                                  .pid = (uint64_t)getpid()};
    slot.crc32 = chronicle_meta_sum(&slot);
    return slot;
}

static bool chronicle_meta_valid(const chronicle_reader_slot *slot)
{
    static const uint8_t zero[sizeof slot->reserved1];
    return slot->crc32 == chronicle_meta_sum(slot) && slot->reserved0 == 0 && memcmp(slot->reserved1, zero, sizeof zero) == 0 &&
           slot->offset % CHRONICLE_RECORD_ALIGN == 0;
}

/* The newer of the valid ones; false where there is none. */
static bool chronicle_meta_choose(const chronicle_reader_meta *found, chronicle_reader_slot *slot)
{
    const bool first = chronicle_meta_valid(&found->slot_0), second = chronicle_meta_valid(&found->slot_1);
    if (first && (!second || found->slot_0.generation > found->slot_1.generation)) {
        *slot = found->slot_0;
    } else if (second) {
        *slot = found->slot_1;
    }
    return first || second;
}

static int chronicle_meta_map(int fd, const char *name, chronicle_meta *meta, fa_error *err)
{
    struct stat seen;
    void *map = NULL;
    if (fstat(fd, &seen) == -1) {
        return fa_persist_failed(err, errno, "chronicle_meta_open", "fstat", name);
    }
    if (!S_ISREG(seen.st_mode) || seen.st_size != (off_t)CHRONICLE_META_SIZE) {
        return fa_fail(err, FA_CORRUPT, 0, "chronicle_meta_open", "CorruptMetadata: the file of reader %.80s has %lld bytes instead of %zu", name,
                       (long long)seen.st_size, CHRONICLE_META_SIZE);
    }
    const int status = fa_persist_mmap(chronicle_meta_mmap, fd, 0, CHRONICLE_META_SIZE, PROT_READ | PROT_WRITE, &map, err);
    if (status != 0) {
        return status;
    }
    meta->map = map;
    (void)pthread_mutex_init(&meta->lock, NULL);
    chronicle_meta_file(meta->file, name);
    if (!chronicle_meta_choose(meta->map, &meta->slot)) {
        (void)chronicle_meta_close(meta, NULL);
        return fa_fail(err, FA_CORRUPT, 0, "chronicle_meta_open", "CorruptMetadata: neither slot of reader %s holds", name);
    }
    return 0;
}

int chronicle_meta_open(int readers, const char *name, chronicle_meta *meta, bool *found, fa_error *err)
{
    char file[CHRONICLE_META_FILE];
    fa_error why = {0};
    *found = false;
    chronicle_meta_file(file, name);
    const int fd = fa_persist_open(chronicle_meta_open, readers, file, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0, &why);
    if (fd < 0) {
        return fa_error_class_in(fd) == FA_MISSING ? 0 : fa_pass(err, &why);
    }
    const int status = chronicle_meta_map(fd, name, meta, err);
    (void)close(fd);
    *found = status == 0;
    return status;
}

int chronicle_meta_read(int readers, const char *file, chronicle_reader_slot *slot, bool *valid, fa_error *err)
{
    chronicle_reader_meta found;
    struct stat seen;
    *valid = false;
    const int fd = fa_persist_open(chronicle_meta_look, readers, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, err);
    if (fd < 0) {
        return fd;
    }
    ssize_t got = fstat(fd, &seen) == 0 && S_ISREG(seen.st_mode) ? (ssize_t)sizeof found : 0; /* what is no file is not read */
    /* Its reader may write one slot while we copy the first and the other while we copy the second. */
    for (int tries = 0; tries < CHRONICLE_META_READ_TRIES && !*valid && got == (ssize_t)sizeof found; tries++) {
        got = fa_persist_pread_upto(chronicle_meta_pread, fd, &found, sizeof found, 0, err);
        *valid = got == (ssize_t)sizeof found && chronicle_meta_choose(&found, slot);
    }
    (void)close(fd);
    return got < 0 ? (int)got : 0;
}

/* Wherever the name leads, which fa_replace would refuse. */
static int chronicle_meta_stray(int readers, const char *file, const chronicle_reader_meta *content, fa_error *err)
{
    const int fd = fa_persist_open(chronicle_meta_open, readers, file, O_RDWR | O_CREAT, 0644, err);
    if (fd < 0) {
        return fd;
    }
    const int status = fa_persist_pwrite_all(replace_pwrite, fd, content, sizeof *content, 0, err);
    (void)close(fd);
    return status;
}

int chronicle_meta_create(int readers, const char *name, uint32_t segment, uint64_t offset, fa_error *err)
{
    char file[CHRONICLE_META_FILE];
    chronicle_meta_file(file, name);
    const chronicle_reader_meta content = {.slot_1 = chronicle_meta_slot(1, segment, offset)};
    return FA_MUTANT(chronicle_name_unchecked) ? chronicle_meta_stray(readers, file, &content, err)
                                               : fa_replace(readers, file, &content, sizeof content, 1, err); /* a name without content locks its reader out */
}

/* The lock is held. */
static void chronicle_meta_write(chronicle_meta *meta, uint32_t segment, uint64_t offset)
{
    const chronicle_reader_slot slot = chronicle_meta_slot(meta->slot.generation + 1, segment, offset);
    const bool first = slot.generation % 2 == 0 && !FA_MUTANT(chronicle_meta_one_slot);
    chronicle_reader_slot *to = first ? &meta->map->slot_0 : &meta->map->slot_1;
    FA_COPY(chronicle_meta_slot, to, &slot, offsetof(chronicle_reader_slot, crc32));
    FA_STORE_RELEASE(chronicle_meta_crc, &to->crc32, slot.crc32); /* who reads it copies the file and looks at the CRC: no acquire pairs with it */
    meta->slot = slot;
}

void chronicle_meta_commit(chronicle_meta *meta, uint32_t segment, uint64_t offset)
{
    (void)pthread_mutex_lock(&meta->lock);
    if (!FA_MUTANT(chronicle_cursor_unsaved)) {
        chronicle_meta_write(meta, segment, offset);
    }
    (void)pthread_mutex_unlock(&meta->lock);
}

void chronicle_meta_beat(chronicle_meta *meta)
{
    (void)pthread_mutex_lock(&meta->lock);
    if (!FA_MUTANT(chronicle_heart_stopped)) {
        chronicle_meta_write(meta, meta->slot.segment, meta->slot.offset);
    }
    (void)pthread_mutex_unlock(&meta->lock);
}

int chronicle_meta_remove(int dirfd, const chronicle_meta *meta, fa_error *err)
{
    const int readers = chronicle_meta_enter(dirfd, err);
    if (readers < 0) {
        return readers;
    }
    const int status = FA_MUTANT(chronicle_unregister_kept) ? 0 : fa_persist_unlink(chronicle_meta_remove, readers, meta->file, err);
    (void)close(readers);
    return status != 0 && fa_error_class_in(status) == FA_MISSING ? 0 : status; /* somebody tidied up before us */
}

int chronicle_meta_close(chronicle_meta *meta, fa_error *err)
{
    int status = 0;
    if (meta->map != NULL) {
        status = fa_persist_munmap(chronicle_meta_munmap, meta->map, CHRONICLE_META_SIZE, err);
        (void)pthread_mutex_destroy(&meta->lock);
    }
    *meta = (chronicle_meta){0};
    return status;
}
