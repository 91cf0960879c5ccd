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
#define CHRONICLE_META_FILE (CHRONICLE_META_NAME_MAX + sizeof ".meta")

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
    (void)snprintf(file, CHRONICLE_META_FILE, "%s%s", name, FA_MUTANT(chronicle_meta_nameless) ? "" : ".meta");
}

/* The directory of all readers' files; made when missing. */
static int chronicle_meta_directory(int dirfd, fa_error *err)
{
    const int status = fa_persist_mkdir(chronicle_readers_mkdir, dirfd, CHRONICLE_META_DIRECTORY, 0755, err);
    return status != 0 ? status
                       : fa_persist_open(chronicle_readers_open, dirfd, CHRONICLE_META_DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, err);
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

static int chronicle_meta_choose(chronicle_meta *meta, const char *name, uint32_t *segment, uint64_t *offset, fa_error *err)
{
    const chronicle_reader_slot *first = &meta->map->slot_0, *second = &meta->map->slot_1, *chosen = NULL;
    if (chronicle_meta_valid(first)) {
        chosen = first;
    }
    if (chronicle_meta_valid(second) && (chosen == NULL || second->generation > chosen->generation)) {
        chosen = second;
    }
    if (chosen == NULL) {
        return fa_fail(err, FA_CORRUPT, 0, "chronicle_meta_open", "CorruptMetadata: neither slot of reader %s holds", name);
    }
    meta->generation = chosen->generation;
    *segment = chosen->segment;
    *offset = chosen->offset;
    return 0;
}

int chronicle_meta_open(int dirfd, const char *name, chronicle_meta *meta, uint32_t *segment, uint64_t *offset, bool *found, fa_error *err)
{
    char file[CHRONICLE_META_FILE];
    fa_error why = {0};
    struct stat seen;
    void *map = NULL;
    int status = chronicle_meta_check_name(name, err);
    *found = false;
    if (status != 0) {
        return status;
    }
    const int readers = chronicle_meta_directory(dirfd, err);
    if (readers < 0) {
        return readers;
    }
    chronicle_meta_file(file, name);
    const int fd = fa_persist_open(chronicle_meta_open, readers, file, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0, &why);
    (void)close(readers);
    if (fd < 0) {
        return fa_error_class_in(fd) == FA_MISSING ? 0 : fa_fail(err, fa_error_class_in(fd), fa_error_errno_in(fd), why.where, "%s", why.message);
    }
    if (fstat(fd, &seen) == -1) {
        status = fa_persist_failed(err, errno, "chronicle_meta_open", "fstat", file);
    } else if (!S_ISREG(seen.st_mode) || seen.st_size != (off_t)CHRONICLE_META_SIZE) {
        status = fa_fail(err, FA_CORRUPT, 0, "chronicle_meta_open", "CorruptMetadata: the file of reader %.80s has %lld bytes instead of %zu", name,
                         (long long)seen.st_size, CHRONICLE_META_SIZE);
    } else {
        status = fa_persist_mmap(chronicle_meta_mmap, fd, 0, CHRONICLE_META_SIZE, PROT_READ | PROT_WRITE, &map, err);
    }
    (void)close(fd);
    if (status != 0) {
        return status;
    }
    meta->map = map;
    status = chronicle_meta_choose(meta, name, segment, offset, err);
    if (status != 0) {
        (void)chronicle_meta_close(meta, NULL);
        return status;
    }
    *found = true;
    return 0;
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

int chronicle_meta_create(int dirfd, const char *name, uint32_t segment, uint64_t offset, fa_error *err)
{
    char file[CHRONICLE_META_FILE];
    const int readers = chronicle_meta_directory(dirfd, err);
    if (readers < 0) {
        return readers;
    }
    chronicle_meta_file(file, name);
    const chronicle_reader_meta content = {.slot_1 = chronicle_meta_slot(1, segment, offset)};
    const int status = FA_MUTANT(chronicle_name_unchecked) ? chronicle_meta_stray(readers, file, &content, err)
                                                           : fa_replace(readers, file, &content, sizeof content, 0, err);
    (void)close(readers);
    return status;
}

void chronicle_meta_commit(chronicle_meta *meta, uint32_t segment, uint64_t offset)
{
    const chronicle_reader_slot slot = chronicle_meta_slot(meta->generation + 1, segment, offset);
    chronicle_reader_slot *to = slot.generation % 2 == 0 ? &meta->map->slot_0 : &meta->map->slot_1;
    if (FA_MUTANT(chronicle_cursor_unsaved)) {
        return;
    }
    FA_COPY(chronicle_meta_slot, to, &slot, offsetof(chronicle_reader_slot, crc32));
    FA_STORE_RELEASE(chronicle_meta_crc, &to->crc32, slot.crc32); /* its next reader comes after this process: no acquire pairs with it */
    meta->generation = slot.generation;
}

int chronicle_meta_close(chronicle_meta *meta, fa_error *err)
{
    int status = 0;
    if (meta->map != NULL) {
        status = fa_persist_munmap(chronicle_meta_munmap, meta->map, CHRONICLE_META_SIZE, err);
    }
    *meta = (chronicle_meta){0};
    return status;
}
