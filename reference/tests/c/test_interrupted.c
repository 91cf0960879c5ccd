/*
 * Real interruptions, by a timer whose handler does not restart calls: a pipe takes a long write in pieces, and a lock is
 * waited for. All bytes arrive in order, the lock is got. How often, the caller reads from the hits.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "fa_core.h"

#define BYTES (4u << 20)
#define WANTED_ALARMS 20

static int alarms;
static int pipe_ends[2];

/* Handlers leave errno alone. */
static void on_alarm(int number)
{
    (void)number;
    (void)FA_BARE_FETCH_ADD(&alarms, 1);
}

static unsigned char pattern(size_t at) { return (unsigned char)((at * 2654435761u) >> 13); }

/* Starts to read when the writer has been interrupted some times with the pipe full, then takes small bites. */
static void *drain(void *unused)
{
    size_t seen = 0;
    unsigned char bite[1500];
    while (FA_LOAD_RELAXED(&alarms) < WANTED_ALARMS) {
        (void)sched_yield();
    }
    for (;;) {
        const ssize_t got = read(pipe_ends[0], bite, sizeof bite);
        assert(got >= 0);
        if (got == 0) {
            assert(seen == BYTES);
            return unused;
        }
        for (ssize_t i = 0; i < got; i++) {
            assert(bite[i] == pattern(seen + (size_t)i));
        }
        seen += (size_t)got;
    }
}

static void start_timer(int microseconds)
{
    const struct itimerval often = {{0, microseconds}, {0, microseconds}};
    assert(setitimer(ITIMER_REAL, &often, NULL) == 0);
}

static void write_through_a_pipe(void)
{
    pthread_t reader;
    fa_error err;
    sigset_t alarm_only, before;
    unsigned char *bytes = malloc(BYTES);
    assert(bytes != NULL && pipe(pipe_ends) == 0);
    for (size_t i = 0; i < BYTES; i++) {
        bytes[i] = pattern(i);
    }
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    assert(pthread_sigmask(SIG_BLOCK, &alarm_only, &before) == 0);
    assert(pthread_create(&reader, NULL, drain, NULL) == 0); /* the alarms go to the writer */
    assert(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    start_timer(500);
    assert(fa_probe_write(pipe_ends[1], bytes, BYTES, &err) == 0);
    start_timer(0);
    (void)close(pipe_ends[1]);
    assert(pthread_join(reader, NULL) == 0);
    (void)close(pipe_ends[0]);
    free(bytes);
}

/* A child holds the lock until this pipe ends, which it does when the waiting parent has been interrupted often enough. */
static int lock_pipe = -1;

static void on_alarm_let_go(int number)
{
    (void)number;
    if (FA_BARE_FETCH_ADD(&alarms, 1) == WANTED_ALARMS - 1) {
        const int before = errno;
        (void)close(lock_pipe);
        errno = before;
    }
}

static void wait_for_a_lock(const char *path)
{
    int ready[2], hold[2], status;
    char byte;
    fa_error err;
    assert(pipe(ready) == 0 && pipe(hold) == 0);
    const pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        const int fd = open(path, O_RDWR | O_CREAT, 0644);
        (void)close(hold[1]);
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(ready[1], "r", 1) != 1) {
            _exit(1);
        }
        _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
    }
    assert(read(ready[0], &byte, 1) == 1);
    const int fd = open(path, O_RDWR);
    assert(fd >= 0);
    assert(fa_error_class_in(fa_persist_flock(probe_flock, fd, LOCK_EX | LOCK_NB, &err)) == FA_LOCKED);
    lock_pipe = hold[1];
    FA_BARE_STORE_RELAXED(&alarms, 0);
    start_timer(500);
    assert(fa_persist_flock(probe_flock, fd, LOCK_EX, &err) == 0);
    start_timer(0);
    assert(FA_LOAD_RELAXED(&alarms) >= WANTED_ALARMS);
    assert(waitpid(child, &status, 0) == child && status == 0);
    (void)close(fd);
}

int main(int argc, char **argv)
{
    fa_error err;
    struct sigaction action = {.sa_handler = on_alarm};
    assert(argc == 3);
    assert(fa_failpoint_attach(argv[1], &err) == 0);
    assert(sigaction(SIGALRM, &action, NULL) == 0);
    write_through_a_pipe();
    action.sa_handler = on_alarm_let_go;
    assert(sigaction(SIGALRM, &action, NULL) == 0);
    wait_for_a_lock(argv[2]);
    puts("ok");
    return 0;
}
