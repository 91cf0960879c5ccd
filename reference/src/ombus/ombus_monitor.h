/*
 * Watches the tails of a stream from outside, and can release a consumer that holds the producer up.
 *
 * Stale: behind the head, and at the same tail at every look for so long. A consumer that has read everything is idle and never
 * stale, and its time counts from the first look at which it was behind. The caller owns the memory.
 */
#ifndef OMBUS_MONITOR_H
#define OMBUS_MONITOR_H

#include "ombus/ombus_shm.h"

typedef struct ombus_monitor_seen {
    uint64_t tail;     /* OMBUS_TAIL_UNREGISTERED: nobody is there */
    uint64_t wal_seq;  /* the last one it consumed */
    uint64_t behind;   /* records it has yet to read */
    uint64_t since_ns; /* of the clock of the looks: the first look at which it was behind at this tail; 0 = not behind */
    uint64_t stale;    /* 1: for longer than was asked */
} ombus_monitor_seen;

typedef struct ombus_monitor {
    ombus_shm shm;
    ombus_monitor_seen *seen; /* one per consumer */
} ombus_monitor;

int ombus_monitor_open(ombus_monitor *monitor, const char *directory, const char *name, fa_error *err);

/* One look at all tails, at that time of the caller's monotonic clock. Yields how many are stale, or REPLACED. */
int ombus_monitor_look(ombus_monitor *monitor, uint64_t now_ns, uint64_t stale_ns, fa_error *err);

/* 1: the consumer is released. 0: it has moved since the last look, and stays. */
int ombus_monitor_release(ombus_monitor *monitor, uint32_t consumer, fa_error *err);

int ombus_monitor_close(ombus_monitor *monitor, fa_error *err);

#endif
