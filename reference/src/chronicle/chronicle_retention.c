#include "chronicle/chronicle_retention.h"

#include <dirent.h>
#include <string.h>

#include "chronicle/chronicle_clock.h"
#include "chronicle/chronicle_record.h"
#include "chronicle/chronicle_segment.h"
#include "fa_mutant.h"
#include "fa_persist.h"

typedef struct chronicle_retention_pass {
    const chronicle_limits *limits;
    uint64_t segment_size;
    uint64_t offset;
    uint64_t now_ns;
    uint32_t head;
    uint32_t keep; /* the first segment that somebody needs */
} chronicle_retention_pass;

/* How many bytes the place is behind the head. */
static uint64_t chronicle_retention_lag(const chronicle_retention_pass *pass, const chronicle_reader_slot *slot)
{
    const uint64_t place = (uint64_t)slot->segment * pass->segment_size + slot->offset, head = (uint64_t)pass->head * pass->segment_size + pass->offset;
    return head > place ? head - place : 0;
}

static uint32_t chronicle_retention_judge(const chronicle_retention_pass *pass, const chronicle_reader_slot *slot, uint64_t lag)
{
    const uint64_t age = pass->now_ns > slot->heartbeat_ns ? pass->now_ns - slot->heartbeat_ns : 0;
    if (age > pass->limits->ttl_ns && !FA_MUTANT(chronicle_ttl_ignored)) {
        return CHRONICLE_DEAD;
    }
    if (pass->limits->max_lag != 0 && lag > pass->limits->max_lag && !FA_MUTANT(chronicle_lag_ignored)) {
        return CHRONICLE_LAGGING;
    }
    return CHRONICLE_LIVE;
}

static int chronicle_retention_reader(chronicle_retention_pass *pass, int readers, const char *file, chronicle_standing_of *out, fa_error *err)
{
    chronicle_reader_slot slot;
    bool valid;
    const int status = chronicle_meta_read(readers, file, &slot, &valid, err);
    *out = (chronicle_standing_of){.standing = CHRONICLE_DAMAGED};
    if (status != 0) {
        return fa_error_class_in(status) == FA_MISSING ? 0 : status; /* it has unregistered: its name stays empty */
    }
    memcpy(out->name, file, strlen(file) - strlen(CHRONICLE_META_SUFFIX));
    if (!valid) {
        return 0;
    }
    out->segment = slot.segment;
    out->offset = slot.offset;
    out->heartbeat_ns = slot.heartbeat_ns;
    out->lag = chronicle_retention_lag(pass, &slot);
    out->standing = chronicle_retention_judge(pass, &slot, out->lag);
    if (out->standing == CHRONICLE_LIVE) {
        const bool past = slot.offset + CHRONICLE_RECORD_HEADER > pass->segment_size || FA_MUTANT(chronicle_retain_early);
        const uint32_t needs = past ? slot.segment + 1 : slot.segment;
        pass->keep = needs < pass->keep ? needs : pass->keep;
    }
    return 0;
}

static bool chronicle_retention_is_meta(const char *file)
{
    const size_t length = strlen(file), suffix = strlen(CHRONICLE_META_SUFFIX);
    return file[0] != '.' && length > suffix && length < CHRONICLE_META_FILE && strcmp(file + length - suffix, CHRONICLE_META_SUFFIX) == 0;
}

static int chronicle_retention_look(chronicle_retention_pass *pass, int readers, chronicle_standing_of *told, size_t room,
                                    chronicle_retained *out, fa_error *err)
{
    const int fd = fa_persist_open(chronicle_retention_scan, readers, ".", O_RDONLY | O_DIRECTORY, 0, err);
    if (fd < 0) {
        return fd;
    }
    DIR *directory = fdopendir(fd);
    if (directory == NULL) {
        const int failed = fa_persist_failed(err, errno, "chronicle_retention_run", "fdopendir", NULL);
        (void)close(fd);
        return failed;
    }
    const struct dirent *entry;
    int status = 0;
    while (status == 0 && (errno = 0, entry = readdir(directory)) != NULL) {
        chronicle_standing_of here;
        if (!chronicle_retention_is_meta(entry->d_name)) {
            continue;
        }
        status = chronicle_retention_reader(pass, readers, entry->d_name, &here, err);
        if (status == 0 && here.name[0] != '\0') {
            if (out->readers < room) {
                told[out->readers] = here;
            }
            out->readers++;
        }
    }
    const int errnum = status == 0 ? errno : 0;
    (void)closedir(directory);
    return errnum == 0 ? status : fa_persist_failed(err, errnum, "chronicle_retention_run", "readdir", NULL);
}

/* From the oldest on, so that what is left is always one piece. */
static int chronicle_retention_delete(const chronicle_retention_pass *pass, int dirfd, chronicle_retained *out, fa_error *err)
{
    char name[CHRONICLE_SEGMENT_NAME];
    const uint32_t never = pass->offset > CHRONICLE_RECORD_FIRST || pass->head == 0 ? pass->head : pass->head - 1;
    const uint32_t keep = FA_MUTANT(chronicle_retain_current) ? pass->keep : (pass->keep < never ? pass->keep : never);
    for (; out->oldest < keep; out->oldest++, out->deleted++) {
        chronicle_segment_name(name, out->oldest, "");
        const int status = fa_persist_unlink(chronicle_retention_unlink, dirfd, name, err);
        if (status != 0 && fa_error_class_in(status) != FA_MISSING) {
            return status;
        }
    }
    return 0;
}

static int chronicle_retention_locked(chronicle_retention_pass *pass, int dirfd, int readers, chronicle_standing_of *told, size_t room,
                                      chronicle_retained *out, fa_error *err)
{
    chronicle_segment_range range;
    int status = chronicle_segment_list(dirfd, &range, err);
    if (status == 0) {
        out->oldest = range.any ? range.oldest : pass->head;
        status = chronicle_retention_look(pass, readers, told, room, out, err);
    }
    return status != 0 ? status : chronicle_retention_delete(pass, dirfd, out, err);
}

int chronicle_retention_run(int dirfd, uint64_t segment_size, uint32_t head, uint64_t offset, const chronicle_limits *limits, bool patient,
                            chronicle_standing_of *told, size_t room, chronicle_retained *out, fa_error *err)
{
    chronicle_retention_pass pass = {.limits = limits,
                                     .segment_size = segment_size,
                                     .offset = offset,
                                     .now_ns = chronicle_clock_wall_ns(),
                                     .head = head,
                                     .keep = FA_MUTANT(chronicle_retain_current) ? head + 1 : head};
    *out = (chronicle_retained){0};
    int status = fa_persist_mkdir(chronicle_readers_mkdir, dirfd, CHRONICLE_META_DIRECTORY, 0755, err);
    if (status != 0) {
        return status;
    }
    const int readers =
        fa_persist_open(chronicle_readers_open, dirfd, CHRONICLE_META_DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, err);
    if (readers < 0) {
        return readers;
    }
    status = FA_MUTANT(chronicle_retain_unlocked) ? 0 : fa_persist_flock(chronicle_retention_flock, readers, LOCK_EX | LOCK_NB, err);
    const bool held = status != 0 && fa_error_class_in(status) == FA_LOCKED;
    if (status == 0 || (held && !patient)) {
        status = chronicle_retention_locked(&pass, dirfd, readers, told, room, out, err);
    } else if (held) {
        out->busy = 1;
        status = 0;
    }
    (void)close(readers);
    return status;
}
