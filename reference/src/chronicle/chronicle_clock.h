/* Time for chronicle: wall clock for what is stored, monotonic for deadlines. */
#ifndef CHRONICLE_CLOCK_H
#define CHRONICLE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t chronicle_clock_read(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t chronicle_clock_wall_ns(void) { return chronicle_clock_read(CLOCK_REALTIME); }

static inline uint64_t chronicle_clock_monotonic_ns(void) { return chronicle_clock_read(CLOCK_MONOTONIC); }

/* May end early at a signal: callers hold a deadline. */
static inline void chronicle_clock_pause(uint64_t nanoseconds)
{
    const struct timespec pause = {.tv_sec = (time_t)(nanoseconds / 1000000000u), .tv_nsec = (long)(nanoseconds % 1000000000u)};
    (void)nanosleep(&pause, NULL);
}

#define CHRONICLE_MILLISECOND 1000000u

#endif
