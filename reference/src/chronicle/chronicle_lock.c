#include "chronicle/chronicle_lock.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "chronicle/chronicle_clock.h"
#include "fa_persist.h"
#include "layout/chronicle.h"

#define CHRONICLE_LOCK_TRIES 50
#define CHRONICLE_LOCK_PAUSE (10u * CHRONICLE_MILLISECOND)

/* State and start time of a process. The command name may hold anything, so fields count from the last parenthesis. */
static int chronicle_lock_process(const char *path, char *state, uint64_t *ticks, fa_error *err)
{
    char text[1024];
    const int fd = fa_persist_open(chronicle_lock_proc_open, AT_FDCWD, path, O_RDONLY, 0, err);
    if (fd < 0) {
        return fd;
    }
    const ssize_t got = fa_persist_pread_upto(chronicle_lock_proc_pread, fd, text, sizeof text - 1, 0, err);
    (void)close(fd);
    if (got < 0) {
        return (int)got;
    }
    text[got] = '\0';
    const char *field = strrchr(text, ')');
    if (field == NULL || field[1] != ' ') {
        return fa_fail(err, FA_UNSUPPORTED, 0, "chronicle_lock_process", "%s: not the record of a process", path);
    }
    field += 2; /* at field 3 */
    *state = *field;
    for (int number = 3; number < 22; number++) {
        field = strchr(field, ' ');
        if (field == NULL) {
            return fa_fail(err, FA_UNSUPPORTED, 0, "chronicle_lock_process", "%s: no field 22", path);
        }
        field++;
    }
    *ticks = strtoull(field, NULL, 10);
    return 0;
}

/* Whether the recorded owner lives; a record that cannot be read has none. Where /proc does not tell, it counts as alive. */
static bool chronicle_lock_owner_lives(int fd, uint32_t *pid)
{
    chronicle_writer_lock record = {0};
    char path[32], state = 0;
    uint64_t ticks = 0;
    *pid = 0;
    if (fa_persist_pread_upto(chronicle_lock_pread, fd, &record, sizeof record, 0, NULL) != (ssize_t)sizeof record || record.pid == 0) {
        return false;
    }
    *pid = record.pid;
    (void)snprintf(path, sizeof path, "/proc/%u/stat", record.pid);
    const int status = chronicle_lock_process(path, &state, &ticks, NULL);
    if (status != 0) {
        return fa_error_class_in(status) != FA_MISSING && fa_error_errno_in(status) != ESRCH;
    }
    return state != 'Z' && state != 'X' && (ticks == record.start_ticks || FA_MUTANT(chronicle_pid_trusted));
}

int chronicle_lock_look(int dirfd, uint32_t *pid, bool *lives, fa_error *err)
{
    fa_error why = {0};
    *pid = 0;
    *lives = false;
    const int fd = fa_persist_open(chronicle_lock_look, dirfd, CHRONICLE_LOCK_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &why);
    if (fd < 0) {
        return fa_error_class_in(fd) == FA_MISSING ? 0 : fa_pass(err, &why);
    }
    *lives = chronicle_lock_owner_lives(fd, pid);
    (void)close(fd);
    return 0;
}

int chronicle_lock_acquire(int dirfd, fa_error *err)
{
    const int fd = fa_persist_open(chronicle_lock_open, dirfd, CHRONICLE_LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW, 0644, err);
    if (fd < 0) {
        return fd;
    }
    for (int tries = 0;; tries++) {
        uint32_t pid = 0;
        int status = fa_persist_flock(chronicle_lock_flock, fd, LOCK_EX | LOCK_NB, err);
        if (status == 0 && FA_MUTANT(chronicle_pid_trusted) && chronicle_lock_owner_lives(fd, &pid)) {
            status = fa_fail(err, FA_LOCKED, EAGAIN, "chronicle_lock_flock", "WriterAlreadyActive: process %u writes this queue", pid);
        }
        if (status == 0 || (FA_MUTANT(chronicle_lock_ignored) && fa_error_class_in(status) == FA_LOCKED)) {
            return fd;
        }
        if (fa_error_class_in(status) == FA_LOCKED) {
            const bool lives = chronicle_lock_owner_lives(fd, &pid);
            if (!lives && (tries < CHRONICLE_LOCK_TRIES || FA_MUTANT(chronicle_lock_patient))) {
                chronicle_clock_pause(CHRONICLE_LOCK_PAUSE);
                continue;
            }
            status = lives ? fa_fail(err, FA_LOCKED, EAGAIN, "chronicle_lock_flock", "WriterAlreadyActive: process %u writes this queue", pid)
                           : fa_fail(err, FA_LOCKED, EAGAIN, "chronicle_lock_flock",
                                     "WriterAlreadyActive: writer.lock is held, though not by process %u that it names", pid);
        }
        (void)close(fd);
        return status;
    }
}

int chronicle_lock_sign(int fd, uint64_t epoch, fa_error *err)
{
    chronicle_writer_lock record = {.pid = (uint32_t)getpid(), .epoch = epoch};
    char state;
    const int status = chronicle_lock_process("/proc/self/stat", &state, &record.start_ticks, err);
    if (FA_MUTANT(chronicle_lock_tickless)) {
        record.start_ticks = 0;
    }
    return status != 0 ? status : fa_persist_pwrite_all(chronicle_lock_pwrite, fd, &record, sizeof record, 0, err);
}

void chronicle_lock_sign_off(int fd, uint64_t epoch)
{
    const chronicle_writer_lock record = {.epoch = epoch};
    (void)fa_persist_pwrite_all(chronicle_lock_sign_off, fd, &record, sizeof record, 0, NULL);
}
