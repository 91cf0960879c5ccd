#include "ombus/ombus_shm.h"

#include <string.h>
#include <time.h>

#include "fa_atomics.h"
#include "fa_persist.h"
#include "ombus/ombus_error.h"
#include "ombus/ombus_lock.h"

static int ombus_shm_check_name(const char *name, const char **bare, fa_error *err)
{
    static const char where[] = "ombus_shm_name";
    *bare = name != NULL && name[0] == '/' ? name + 1 : name;
    if (*bare == NULL || (*bare)[0] == '\0' || (*bare)[0] == '.' || strchr(*bare, '/') != NULL || strlen(name) >= OMBUS_SHM_NAME) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_INVALID, 0, where,
                            "a stream's name is a slash, if any, and letters without a slash or a dot before them, at most %u in all: %s",
                            OMBUS_SHM_NAME - 1, name == NULL ? "none was given" : name);
    }
    return 0;
}

/* Every size is checked before it is used in one that rests on it; the largest sum is below 2^49. */
static int ombus_shm_check_geometry(ombus_shm *shm, int code, fa_error *err)
{
    static const char where[] = "ombus_shm_geometry";
    if (shm->capacity == 0 || (shm->capacity & (shm->capacity - 1)) != 0) {
        return ombus_refuse(OM_ERR_BUS_NOT_POW2, err, FA_INVALID, 0, where, "a capacity of %u slots is no power of two", shm->capacity);
    }
    if (shm->slot_size < OMBUS_SHM_SLOT_MIN || shm->slot_size > OMBUS_SHM_SLOT_MAX || shm->slot_size % 8 != 0) {
        return ombus_refuse(code, err, FA_INVALID, 0, where, "a slot has a multiple of 8 bytes from %u to %u, not %u", OMBUS_SHM_SLOT_MIN,
                            OMBUS_SHM_SLOT_MAX, shm->slot_size);
    }
    if (shm->max_consumers == 0) {
        return ombus_refuse(code, err, FA_INVALID, 0, where, "a stream has at least one consumer");
    }
    if ((shm->flags & ~OMBUS_FLAGS) != 0) {
        return ombus_refuse(code, err, FA_INVALID, 0, where, "the flags %#x mean nothing here", shm->flags & ~OMBUS_FLAGS);
    }
    shm->size = ombus_shm_slots_offset(shm->max_consumers) + (uint64_t)shm->capacity * shm->slot_size;
    return 0;
}

static int ombus_shm_open_directory(const char *directory, int code, fa_error *err)
{
    const int fd = fa_persist_open(ombus_shm_directory, AT_FDCWD, directory == NULL ? OMBUS_SHM_DIRECTORY : directory, O_RDONLY | O_DIRECTORY, 0, err);
    return fd < 0 ? code : fd;
}

/* Grows from one object of a name to the next, also where the clock was set back. */
static uint64_t ombus_shm_next_incarnation(uint64_t old)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return ns > old ? ns : old + 1;
}

static int ombus_shm_init(ombus_shm *shm, fa_error *err)
{
    void *map = NULL;
    int status = fa_persist_ftruncate(ombus_shm_ftruncate, shm->fd, 0, err); /* what a killed creation left */
    if (status == 0) {
        const uint64_t rounded = (shm->size + 4096) / 4096 * 4096;
        status = fa_persist_fallocate(ombus_shm_fallocate, shm->fd, 0, (off_t)(FA_MUTANT(ombus_region_rounded) ? rounded : shm->size), err);
    }
    if (status != 0) {
        return OM_ERR_BUS_SHM_CREATE;
    }
    status = fa_persist_mmap(ombus_shm_mmap, shm->fd, 0, shm->size, PROT_READ | PROT_WRITE, &map, err);
    if (status != 0) {
        return OM_ERR_BUS_SHM_MAP;
    }
    shm->map = map;
    status = fa_persist_populate(ombus_shm_populate, map, shm->size, MADV_POPULATE_WRITE, err);
    if (status != 0) {
        return OM_ERR_BUS_SHM_MAP;
    }
    ombus_shm_header fields = {.version = OMBUS_SHM_VERSION, .slot_size = shm->slot_size, .capacity = shm->capacity,
                               .max_consumers = shm->max_consumers, .flags = shm->flags, .incarnation = shm->incarnation};
    fields.pad[0] = FA_MUTANT(ombus_page_dirty) ? 1 : 0;
    memcpy(fields.stream_name, shm->name, sizeof fields.stream_name);
    FA_COPY(ombus_init_header, map, &fields, sizeof fields);
    for (uint32_t i = 0; i < shm->max_consumers; i++) {
        FA_STORE_RELAXED(ombus_init_tail, &ombus_shm_tail(shm, i)->tail, OMBUS_TAIL_UNREGISTERED);
    }
    /* Pairs with the acquire in ombus_shm_check. */
    FA_STORE_RELEASE(ombus_init_magic, &ombus_shm_header_of(shm)->magic, OMBUS_SHM_MAGIC);
    return 0;
}

bool ombus_shm_retired(const ombus_shm *shm)
{
    return FA_LOAD_ACQUIRE(&ombus_shm_header_of(shm)->magic) != OMBUS_SHM_MAGIC; /* pairs with the release in ombus_shm_retire */
}

void ombus_shm_retire(ombus_shm *shm)
{
    /* The magic first: who finds its tail gone then looks at the magic, and must not take itself for released. */
    FA_STORE_SEQ_CST(ombus_retire_magic, &ombus_shm_header_of(shm)->magic, 0);
    for (uint32_t i = 0; i < shm->max_consumers; i++) {
        (void)FA_EXCHANGE(ombus_retire_tail, &ombus_shm_tail(shm, i)->tail, OMBUS_TAIL_UNREGISTERED);
    }
}

static int ombus_shm_check(ombus_shm *shm, const ombus_shm_header *header, uint64_t length, fa_error *err)
{
    static const char where[] = "ombus_shm_attach";
    /* Pairs with the release in ombus_shm_init; who has the name has a whole header. */
    const uint32_t magic = FA_LOAD_ACQUIRE(&header->magic);
    if (magic != OMBUS_SHM_MAGIC) {
        return ombus_refuse(OM_ERR_BUS_MAGIC_MISMATCH, err, FA_CORRUPT, 0, where, "%s: the magic is %#x: no stream, or one its producer has left",
                            shm->name, magic);
    }
    if (header->version != OMBUS_SHM_VERSION) {
        return ombus_refuse(FA_MUTANT(ombus_codes_merged) ? OM_ERR_BUS_MAGIC_MISMATCH : OM_ERR_BUS_VERSION_MISMATCH, err, FA_VERSION, 0, where, "%s: version %u, this build reads %u", shm->name,
                            header->version, OMBUS_SHM_VERSION);
    }
    shm->slot_size = header->slot_size;
    shm->capacity = header->capacity;
    shm->max_consumers = header->max_consumers;
    shm->flags = header->flags;
    shm->incarnation = header->incarnation;
    const int status = ombus_shm_check_geometry(shm, OM_ERR_BUS_SHM_MAP, err);
    if (status == 0 && length != shm->size && !FA_MUTANT(ombus_region_rounded)) {
        return ombus_refuse(OM_ERR_BUS_SHM_MAP, err, FA_CORRUPT, 0, where, "%s has %llu bytes, its header tells of %llu", shm->name,
                            (unsigned long long)length, (unsigned long long)shm->size);
    }
    return status;
}

/* Looks at the header alone first, since its sizes are what a map of the rest would rest on. */
static int ombus_shm_map(ombus_shm *shm, int fd, int prot, fa_error *err)
{
    static const char where[] = "ombus_shm_attach";
    struct stat found;
    ombus_shm_header header;
    void *map = NULL;
    if (fstat(fd, &found) == -1 || !S_ISREG(found.st_mode)) {
        return ombus_refuse(OM_ERR_BUS_SHM_OPEN, err, FA_CORRUPT, 0, where, "%s is no regular file", shm->name);
    }
    if ((uint64_t)found.st_size < sizeof header) {
        return ombus_refuse(OM_ERR_BUS_SHM_MAP, err, FA_CORRUPT, 0, where, "%s has %lld bytes, the header alone has %zu", shm->name,
                            (long long)found.st_size, sizeof header);
    }
    if (fa_persist_pread_all(ombus_shm_pread, fd, &header, sizeof header, 0, err) != 0) {
        return OM_ERR_BUS_SHM_MAP;
    }
    const int status = ombus_shm_check(shm, &header, (uint64_t)found.st_size, err);
    if (status != 0) {
        return status;
    }
    if (fa_persist_mmap(ombus_shm_mmap, fd, 0, shm->size, prot, &map, err) != 0) {
        return OM_ERR_BUS_SHM_MAP;
    }
    shm->map = map;
    return 0;
}

/* Maps what lies under the name, if anything, so that it can be retired. What is no stream has nobody to be told. */
static int ombus_shm_take_over(ombus_shm *old, int dirfd, const char *bare, fa_error *err)
{
    fa_error why = {0};
    *old = (ombus_shm){.fd = -1, .dirfd = -1};
    (void)snprintf(old->name, sizeof old->name, "%s", bare);
    const int fd = ombus_lock_file(dirfd, bare, 0, 0, OM_ERR_BUS_SHM_CREATE, err);
    if (fd < 0) {
        return fd == OMBUS_LOCK_NONE ? 0 : fd;
    }
    const int status = ombus_shm_map(old, fd, PROT_READ | PROT_WRITE, &why);
    old->fd = fd;
    if (status != 0 && fa_error_class_in(why.status) != FA_CORRUPT && fa_error_class_in(why.status) != FA_VERSION &&
        fa_error_class_in(why.status) != FA_INVALID) {
        return ombus_refuse(status, err, fa_error_class_in(why.status), fa_error_errno_in(why.status), why.where, "%s", why.message);
    }
    return 0;
}

static int ombus_shm_put(ombus_shm *shm, ombus_shm *old, const char *temporary, const char *bare, fa_error *err)
{
    int status = ombus_shm_take_over(old, shm->dirfd, bare, err);
    if (status != 0) {
        return status;
    }
    shm->incarnation = ombus_shm_next_incarnation(old->incarnation);
    status = ombus_shm_init(shm, err);
    if (status != 0) {
        return status;
    }
    if (old->map != NULL && !FA_MUTANT(ombus_old_unretired)) {
        ombus_shm_retire(old); /* last, so that readers look in vain for the new one but for a moment */
    }
    return fa_persist_rename(ombus_shm_rename, shm->dirfd, temporary, shm->dirfd, bare, err) == 0 ? 0 : OM_ERR_BUS_SHM_CREATE;
}

int ombus_shm_create(ombus_shm *shm, const char *directory, const char *name, fa_error *err)
{
    char temporary[OMBUS_SHM_NAME + 1];
    const char *bare;
    ombus_shm old = {.fd = -1, .dirfd = -1};
    int status = ombus_shm_check_name(name, &bare, err);
    if (status == 0) {
        status = ombus_shm_check_geometry(shm, OM_ERR_BUS_INIT, err);
    }
    if (status != 0) {
        return status;
    }
    shm->map = NULL;
    (void)snprintf(shm->name, sizeof shm->name, "%s", name);
    (void)snprintf(temporary, sizeof temporary, ".%s", bare); /* no stream's name begins with a dot */
    shm->fd = -1;
    shm->dirfd = ombus_shm_open_directory(directory, OM_ERR_BUS_SHM_CREATE, err);
    if (shm->dirfd < 0) {
        return shm->dirfd;
    }
    shm->fd = ombus_lock_file(shm->dirfd, temporary, O_CREAT, 0600, OM_ERR_BUS_SHM_CREATE, err);
    status = shm->fd < 0 ? shm->fd : ombus_shm_put(shm, &old, temporary, bare, err);
    if (status != 0) {
        if (shm->fd >= 0) {
            (void)fa_persist_unlink(ombus_shm_discard, shm->dirfd, temporary, NULL); /* gives its pages back; the first error counts */
        }
        (void)ombus_shm_close(shm, false, NULL);
    }
    const int left = ombus_shm_close(&old, false, status == 0 ? err : NULL);
    if (status == 0 && left != 0) {
        (void)ombus_shm_close(shm, true, NULL);
    }
    return status != 0 ? status : left;
}

int ombus_shm_attach(ombus_shm *shm, const char *directory, const char *name, int access, int *fd, fa_error *err)
{
    const char *bare;
    *shm = (ombus_shm){.fd = -1, .dirfd = -1};
    int status = ombus_shm_check_name(name, &bare, err);
    if (status != 0) {
        return status;
    }
    (void)strcpy(shm->name, name);
    const int dirfd = ombus_shm_open_directory(directory, OM_ERR_BUS_SHM_OPEN, err);
    if (dirfd < 0) {
        return dirfd;
    }
    const int opened = fa_persist_open(ombus_shm_open, dirfd, bare, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0, err);
    (void)close(dirfd);
    if (opened < 0) {
        return OM_ERR_BUS_SHM_OPEN;
    }
    status = ombus_shm_map(shm, opened, access == OMBUS_SHM_WRITE ? PROT_READ | PROT_WRITE : PROT_READ, err);
    if (status == 0 && fd != NULL) {
        *fd = opened;
    } else {
        (void)close(opened);
    }
    return status;
}

int ombus_shm_close(ombus_shm *shm, bool gone, fa_error *err)
{
    const char *bare = shm->name[0] == '/' ? shm->name + 1 : shm->name;
    int status = 0;
    if (shm->map != NULL && fa_persist_munmap(ombus_shm_munmap, shm->map, shm->size, err) != 0) {
        status = OM_ERR_BUS_SHM_MAP;
    }
    if (gone && shm->fd >= 0 && ombus_lock_is_named(shm->dirfd, bare, shm->fd) &&
        fa_persist_unlink(ombus_shm_unlink, shm->dirfd, bare, status == 0 ? err : NULL) != 0) {
        status = status == 0 ? OM_ERR_BUS_SHM_CREATE : status;
    }
    if (shm->fd >= 0) {
        (void)close(shm->fd);
    }
    if (shm->dirfd >= 0) {
        (void)close(shm->dirfd);
    }
    *shm = (ombus_shm){.fd = -1, .dirfd = -1};
    return status;
}
