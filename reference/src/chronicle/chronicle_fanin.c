#include "chronicle/chronicle_fanin.h"

#include <stdbool.h>
#include <string.h>

#include "fa_mutant.h"

typedef struct chronicle_fanin_call {
    chronicle_fanin_source *const *sources;
    size_t count;
    chronicle_record *records;
    uint32_t *from;
    size_t limit;
    size_t got;
} chronicle_fanin_call;

/* What was read ahead comes first, also where the order has changed in between. */
static size_t chronicle_fanin_pending(chronicle_fanin_call *call, size_t at, size_t share)
{
    chronicle_fanin_source *source = call->sources[at];
    const size_t left = source->count - source->taken, some = left < share ? left : share;
    memcpy(call->records + call->got, source->records + source->taken, some * sizeof *call->records);
    source->taken += some;
    return some;
}

static int chronicle_fanin_share(chronicle_fanin_call *call, size_t at, size_t share, bool *end, fa_error *err)
{
    size_t some = chronicle_fanin_pending(call, at, share);
    int ended = 0, status = 0;
    if (some == 0) { /* a second read would take away what the first one gave */
        status = chronicle_reader_read(call->sources[at]->reader, call->records + call->got, share, &some, &ended, err);
    }
    for (size_t i = 0; status == 0 && i < some; i++) {
        call->from[call->got++] = (uint32_t)at;
    }
    *end = *end && ended != 0;
    return status;
}

static int chronicle_fanin_arrival(chronicle_fanin_call *call, size_t *turn, bool *end, size_t *bad, fa_error *err)
{
    const size_t first = *turn % call->count;
    for (size_t k = 0; k < call->count && call->got < call->limit; k++) {
        const size_t at = (first + k) % call->count, left = call->limit - call->got, others = call->count - k;
        const size_t share = FA_MUTANT(chronicle_fanin_greedy) ? left : (left + others - 1) / others;
        const int status = chronicle_fanin_share(call, at, share, end, err);
        if (status != 0) {
            *bad = at;
            *turn = call->got == 0 ? at + 1 : at; /* told now, or first thing in the next call */
            return call->got == 0 ? status : 0;
        }
    }
    *turn = FA_MUTANT(chronicle_fanin_greedy) ? 0 : first + 1;
    return 0;
}

/* Each source that has nothing left reads ahead, if it can. */
static int chronicle_fanin_refill(chronicle_fanin_call *call, bool *end, size_t *bad, fa_error *err)
{
    for (size_t at = 0; at < call->count; at++) {
        chronicle_fanin_source *source = call->sources[at];
        int ended = 0;
        if (source->taken == source->count) {
            source->taken = source->count = 0;
            const int status = chronicle_reader_read(source->reader, source->records, CHRONICLE_FANIN_AHEAD, &source->count, &ended, err);
            if (status != 0) {
                *bad = at;
                return status;
            }
        }
        *end = *end && ended != 0;
    }
    return 0;
}

/* The least timestamp first, until one source has nothing left: what comes next in it may be earlier than all others. */
static void chronicle_fanin_merge(chronicle_fanin_call *call)
{
    while (call->got < call->limit) {
        size_t best = call->count;
        for (size_t at = 0; at < call->count; at++) {
            const chronicle_fanin_source *source = call->sources[at];
            if (source->taken < source->count &&
                (best == call->count || source->records[source->taken].timestamp_ns <
                                            call->sources[best]->records[call->sources[best]->taken].timestamp_ns)) {
                best = at;
            }
        }
        if (best == call->count) {
            return;
        }
        chronicle_fanin_source *source = call->sources[best];
        call->records[call->got] = source->records[source->taken++];
        call->from[call->got++] = (uint32_t)best;
        if (source->taken == source->count && !FA_MUTANT(chronicle_fanin_hasty)) {
            return;
        }
    }
}

int chronicle_fanin_read(chronicle_fanin_source *const *sources, size_t count, int order, size_t *turn, chronicle_record *records, uint32_t *from,
                         size_t limit, size_t *got, int *end, size_t *bad, fa_error *err)
{
    chronicle_fanin_call call = {.sources = sources, .count = count, .records = records, .from = from, .limit = limit};
    bool ended = true;
    int status = 0;
    *got = 0;
    *end = 0;
    if (count == 0) {
        *end = 1;
        return 0;
    }
    if (order == CHRONICLE_FANIN_ARRIVAL) {
        status = chronicle_fanin_arrival(&call, turn, &ended, bad, err);
    } else {
        status = chronicle_fanin_refill(&call, &ended, bad, err);
        if (status == 0) {
            chronicle_fanin_merge(&call);
        }
    }
    *got = call.got;
    *end = status == 0 && ended && call.got == 0;
    return status;
}
