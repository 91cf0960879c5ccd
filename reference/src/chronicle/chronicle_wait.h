/*
 * Waiting for the next record of one reader, or of any of several: spin for some microseconds, then sleep on the bells of their
 * queues; or look again and again and never sleep. Where control.meta may not be written, short naps take the place of sleep.
 */
#ifndef CHRONICLE_WAIT_H
#define CHRONICLE_WAIT_H

#include <stddef.h>
#include <stdint.h>

#include "chronicle/chronicle_reader.h"
#include "fa_error.h"

#define CHRONICLE_WAIT_FOREVER UINT64_MAX

/* HYBRID: spins that long, then sleeps. BUSY: never sleeps; the time is a pause between two looks, 0 for none. */
void chronicle_reader_set_wait(chronicle_reader *reader, int strategy, uint64_t nanoseconds);

/* 1 as soon as a read would find something to do, 0 after the time, or status. */
int chronicle_reader_wait(chronicle_reader *reader, uint64_t timeout_ns, fa_error *err);
/* The same of any of them, under the strategy of the first. */
int chronicle_reader_wait_any(chronicle_reader *const *readers, size_t count, uint64_t timeout_ns, fa_error *err);

#endif
