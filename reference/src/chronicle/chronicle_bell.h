/*
 * How readers sleep until their writer has something for them: notify_seq is the word they sleep on, waiters_pending the flag.
 *
 * A reader that is about to sleep:  number = notify_seq; waiters_pending = 1; full fence; look again; sleep while notify_seq == number
 * The writer after each commit:     notify_seq grows; full fence; waiters_pending? then: = 0, notify_seq grows, wake all
 *
 * Either the reader's second look finds the record, or the writer finds the flag: one of the two fences is the later one. A writer
 * that finds the flag lowers it and changes notify_seq after that: who raised it before is asleep and woken, or still on the
 * way and finds the number changed. So a flag and no count: one that a killed reader left up costs a single wake, and a number
 * that two sides counted would be wrong for ever. A reader's own map of control.meta cannot be stored to; the flag has a second one,
 * made when it first sleeps. A writer that dies between its commit and its wake wakes nobody: sleeps end after a slice at most.
 */
#ifndef CHRONICLE_BELL_H
#define CHRONICLE_BELL_H

#include <stdbool.h>
#include <stdint.h>

#include "chronicle/chronicle_control.h"
#include "fa_atomics.h"
#include "fa_error.h"
#include "fa_futex.h"
#include "fa_mutant.h"

#define CHRONICLE_BELL_SLICE_NS 250000000u

typedef struct chronicle_bell {
    chronicle_control_block *block; /* to be stored to; NULL before the first sleep */
    uint32_t number;                /* as it was when we announced ourselves */
} chronicle_bell;

/* INVALID where control.meta may not be written by this process. */
int chronicle_bell_open(chronicle_bell *bell, const chronicle_control *control, fa_error *err);
int chronicle_bell_close(chronicle_bell *bell, fa_error *err);

/* From here to the sleep the caller looks once more. */
void chronicle_bell_announce(chronicle_bell *bell);
/* Until it rings or that time; an fa_futex_end, or status. */
int chronicle_bell_sleep(const chronicle_bell *bell, uint64_t until_ns, fa_error *err);
/* To sleep on several at once. */
fa_futex_word chronicle_bell_word(const chronicle_bell *bell);

/* Out of line: somebody waits. */
void chronicle_bell_wake(chronicle_control_block *block, uint32_t *number) __attribute__((cold));

/* The writer's, after a commit; *number is its copy of notify_seq. */
static inline void chronicle_bell_ring(chronicle_control_block *block, uint32_t *number)
{
    FA_STORE_RELEASE(chronicle_notify, &block->notify_seq, ++*number); /* pairs with the acquire in chronicle_bell_announce */
    FA_FENCE_FULL();                                                    /* with the fence there: see above */
    if (__builtin_expect(FA_LOAD_RELAXED(&block->waiters_pending) != 0 || FA_MUTANT(chronicle_wake_always), 0)) {
        chronicle_bell_wake(block, number);
    }
}

#endif
