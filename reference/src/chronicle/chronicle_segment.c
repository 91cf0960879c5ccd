#include "chronicle/chronicle_segment.h"

#include <dirent.h>
#include <string.h>

#include "chronicle/chronicle_record.h"
#include "fa_atomics.h"
#include "fa_persist.h"

bool chronicle_segment_size_valid(uint64_t size)
{
    return size % CHRONICLE_RECORD_ALIGN == 0 && size >= CHRONICLE_SEGMENT_SIZE_MIN && size <= CHRONICLE_SEGMENT_SIZE_MAX;
}

void chronicle_segment_name(char name[CHRONICLE_SEGMENT_NAME], uint32_t id, const char *suffix)
{
    (void)snprintf(name, CHRONICLE_SEGMENT_NAME, "%09u.q%s", id, suffix);
}

static chronicle_segment_header *chronicle_segment_header_of(const chronicle_segment *segment)
{
    return (chronicle_segment_header *)(void *)segment->map;
}

static int chronicle_segment_fill(int fd, uint32_t id, uint64_t size, int content, uint64_t next_seq, bool durable, fa_error *err)
{
    struct {
        chronicle_segment_header header;
        chronicle_message_header pad;
    } head = {.header = {.magic = CHRONICLE_SEGMENT_MAGIC, .version = CHRONICLE_SEGMENT_VERSION, .segment_id = id}};
    size_t length = sizeof head.header;
    if (FA_MUTANT(chronicle_segment_nameless)) {
        head.header.segment_id = 0;
    }
    if (content == CHRONICLE_SEGMENT_HOLLOW) {
        head.header.flags = CHRONICLE_SEGMENT_SEALED;
        chronicle_record_pad_header(CHRONICLE_RECORD_FIRST, size, next_seq, &head.pad);
        length = sizeof head;
    }
    int status = FA_MUTANT(chronicle_segment_sparse) ? fa_persist_ftruncate(chronicle_segment_fallocate, fd, (off_t)size, err)
                                                     : fa_persist_fallocate(chronicle_segment_fallocate, fd, 0, (off_t)size, err);
    if (status == 0) {
        status = fa_persist_pwrite_all(chronicle_segment_pwrite, fd, &head, length, 0, err);
    }
    if (status == 0 && durable) {
        status = fa_persist_fsync(chronicle_segment_fsync, fd, err);
    }
    return status;
}

int chronicle_segment_create(int dirfd, uint32_t id, uint64_t size, int content, uint64_t next_seq, bool durable, fa_error *err)
{
    char name[CHRONICLE_SEGMENT_NAME], temporary[CHRONICLE_SEGMENT_NAME];
    if (id > CHRONICLE_SEGMENT_ID_MAX) {
        return fa_fail(err, FA_FULL, 0, "chronicle_segment_create", "segment %u has no name: nine digits are used up", id);
    }
    chronicle_segment_name(name, id, "");
    chronicle_segment_name(temporary, id, ".tmp");
    const int fd = fa_persist_open(chronicle_segment_create, dirfd, temporary, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644, err);
    if (fd < 0) {
        return fd;
    }
    int status = chronicle_segment_fill(fd, id, size, content, next_seq, durable, err);
    (void)close(fd);
    if (status == 0) {
        status = fa_persist_rename(chronicle_segment_rename, dirfd, temporary, dirfd, name, err);
    }
    if (status != 0) {
        (void)fa_persist_unlink(chronicle_segment_discard, dirfd, temporary, NULL); /* gives its blocks back; the first error counts */
    }
    return status;
}

static int chronicle_segment_check(const chronicle_segment *segment, const char *name, fa_error *err)
{
    static const uint8_t zero[sizeof((chronicle_segment_header *)0)->pad];
    const chronicle_segment_header *header = chronicle_segment_header_of(segment);
    if (header->magic != CHRONICLE_SEGMENT_MAGIC) {
        return fa_fail(err, FA_CORRUPT, 0, "chronicle_segment_map", "%s: no segment, its magic is %#x", name, header->magic);
    }
    if (header->version != CHRONICLE_SEGMENT_VERSION) {
        return fa_fail(err, FA_VERSION, 0, "chronicle_segment_map", "%s: version %u, this build reads %u", name, header->version,
                       CHRONICLE_SEGMENT_VERSION);
    }
    if (header->segment_id != segment->id && !FA_MUTANT(chronicle_segment_nameless)) {
        return fa_fail(err, FA_CORRUPT, 0, "chronicle_segment_map", "%s: the header says segment %u", name, header->segment_id);
    }
    if ((FA_LOAD_RELAXED(&header->flags) & ~CHRONICLE_SEGMENT_SEALED) != 0 || memcmp(header->pad, zero, sizeof zero) != 0) {
        return fa_fail(err, FA_CORRUPT, 0, "chronicle_segment_map", "%s: the header has bits that mean nothing", name);
    }
    return 0;
}

int chronicle_segment_map(int dirfd, uint32_t id, uint64_t size, bool writable, chronicle_segment *segment, fa_error *err)
{
    char name[CHRONICLE_SEGMENT_NAME];
    struct stat found;
    void *map = NULL;
    chronicle_segment_name(name, id, "");
    const int fd = fa_persist_open(chronicle_segment_open, dirfd, name, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK, 0, err);
    if (fd < 0) {
        return fd;
    }
    int status = 0;
    if (fstat(fd, &found) == -1) {
        status = fa_persist_failed(err, errno, "chronicle_segment_map", "fstat", name);
    } else if (!S_ISREG(found.st_mode) || (uint64_t)found.st_size != size) {
        status = fa_fail(err, FA_CORRUPT, 0, "chronicle_segment_map", "%s: %lld bytes, a segment of this queue has %llu", name,
                         (long long)found.st_size, (unsigned long long)size);
    } else {
        status = fa_persist_mmap(chronicle_segment_mmap, fd, 0, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, &map, err);
    }
    if (status != 0) {
        (void)close(fd);
        return status;
    }
    *segment = (chronicle_segment){.map = map, .size = size, .id = id, .fd = fd};
    if (!writable) {
        (void)close(fd);
        segment->fd = -1;
    }
    status = chronicle_segment_check(segment, name, err);
    if (status != 0) {
        (void)chronicle_segment_unmap(segment, NULL);
    }
    return status;
}

int chronicle_segment_unmap(chronicle_segment *segment, fa_error *err)
{
    int status = 0;
    if (segment->map != NULL) {
        status = fa_persist_munmap(chronicle_segment_munmap, segment->map, segment->size, err);
    }
    if (segment->fd >= 0) {
        (void)close(segment->fd);
    }
    *segment = (chronicle_segment){.fd = -1};
    return status;
}

int chronicle_segment_lost(int dirfd, uint32_t id, uint64_t size, bool *lost, fa_error *err)
{
    static const chronicle_segment_header zero;
    char name[CHRONICLE_SEGMENT_NAME];
    chronicle_segment_header header;
    fa_error why = {0};
    chronicle_segment_name(name, id, "");
    const int fd = fa_persist_open(chronicle_segment_open, dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &why);
    if (fd < 0) {
        *lost = fa_error_class_in(fd) == FA_MISSING;
        return *lost ? 0 : fa_pass(err, &why);
    }
    struct stat found;
    const ssize_t got = fa_persist_pread_upto(chronicle_segment_pread, fd, &header, sizeof header, 0, err);
    const bool shorter = fstat(fd, &found) == 0 && (uint64_t)found.st_size < size;
    (void)close(fd);
    if (got < 0) {
        return (int)got;
    }
    *lost = shorter || memcmp(&header, &zero, sizeof zero) == 0;
    return 0;
}

int chronicle_segment_blank(int dirfd, uint32_t id, bool *blank, fa_error *err)
{
    char name[CHRONICLE_SEGMENT_NAME];
    uint32_t commit = 0;
    chronicle_segment_name(name, id, "");
    const int fd = fa_persist_open(chronicle_segment_open, dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, err);
    if (fd < 0) {
        return fd;
    }
    const ssize_t got = fa_persist_pread_upto(chronicle_segment_pread, fd, &commit, sizeof commit, CHRONICLE_RECORD_FIRST, err);
    (void)close(fd);
    *blank = commit == 0;
    return got < 0 ? (int)got : 0;
}

bool chronicle_segment_sealed(const chronicle_segment *segment)
{
    /* Pairs with the release in chronicle_segment_seal: every record and PAD of the segment is visible behind it. */
    return (FA_LOAD_ACQUIRE(&chronicle_segment_header_of(segment)->flags) & CHRONICLE_SEGMENT_SEALED) != 0;
}

void chronicle_segment_seal(const chronicle_segment *segment)
{
    /* Pairs with the acquire in chronicle_segment_sealed. */
    FA_STORE_RELEASE(chronicle_seal, &chronicle_segment_header_of(segment)->flags, CHRONICLE_SEGMENT_SEALED);
}

/* The id of a name of nine digits and .q, or false. */
static bool chronicle_segment_parse(const char *name, uint32_t *id)
{
    uint32_t value = 0;
    for (int i = 0; i < 9; i++) {
        if (name[i] < '0' || name[i] > '9') {
            return false;
        }
        value = value * 10 + (uint32_t)(name[i] - '0');
    }
    *id = value;
    return strcmp(name + 9, ".q") == 0;
}

int chronicle_segment_list(int dirfd, chronicle_segment_range *range, fa_error *err)
{
    *range = (chronicle_segment_range){0};
    const int fd = fa_persist_open(chronicle_segment_scan, dirfd, ".", O_RDONLY | O_DIRECTORY, 0, err);
    if (fd < 0) {
        return fd;
    }
    DIR *directory = fdopendir(fd);
    if (directory == NULL) {
        const int status = fa_persist_failed(err, errno, "chronicle_segment_list", "fdopendir", NULL);
        (void)close(fd);
        return status;
    }
    const struct dirent *entry;
    uint32_t id;
    errno = 0;
    while ((entry = readdir(directory)) != NULL) {
        if (chronicle_segment_parse(entry->d_name, &id)) {
            range->oldest = !range->any || id < range->oldest ? id : range->oldest;
            range->latest = !range->any || id > range->latest ? id : range->latest;
            range->any = true;
            range->count++;
        }
    }
    const int errnum = errno;
    (void)closedir(directory);
    return errnum == 0 ? 0 : fa_persist_failed(err, errnum, "chronicle_segment_list", "readdir", NULL);
}
