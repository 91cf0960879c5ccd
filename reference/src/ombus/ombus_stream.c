#include "ombus/ombus_stream.h"

#include <sched.h>
#include <time.h>

#include "fa_atomics.h"
#include "fa_crc32.h"
#include "fa_mutant.h"
#include "ombus/ombus_error.h"
#include "ombus/ombus_slot.h"

#define OMBUS_STREAM_CAPACITY 4096u
#define OMBUS_STREAM_SLOT_SIZE 256u
#define OMBUS_STREAM_CONSUMERS 8u
#define OMBUS_STREAM_GROUP 32u  /* records of a batch that are published at once */
#define OMBUS_STREAM_FULL 1     /* internal: a look at the tails is due */
#define OMBUS_STREAM_LOOK 32u  /* spins from one look at the tails to the next */
#define OMBUS_STREAM_SPIN 1024u /* spins before the processor is given away at each look */

int ombus_stream_create(ombus_stream *stream, const char *directory, const OmBusStreamConfig *config, fa_error *err)
{
    *stream = (ombus_stream){.block_ns = OM_BUS_BLOCK_FOREVER, .shm = {.fd = -1, .dirfd = -1}};
    if (config == NULL) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_INVALID, 0, "ombus_stream_create", "no configuration was given");
    }
    ombus_shm *const shm = &stream->shm;
    shm->capacity = config->capacity != 0 ? config->capacity : OMBUS_STREAM_CAPACITY;
    shm->slot_size = config->slot_size != 0 ? config->slot_size : OMBUS_STREAM_SLOT_SIZE;
    shm->max_consumers = config->max_consumers != 0 ? config->max_consumers : OMBUS_STREAM_CONSUMERS;
    shm->flags = config->flags;
    const int status = ombus_shm_create(shm, directory, config->stream_name, err);
    if (status == 0) {
        stream->slots = ombus_shm_slots(shm);
        stream->mask = shm->capacity - 1;
        stream->limit = shm->capacity;
        stream->slot_size = shm->slot_size;
        stream->max_payload = shm->slot_size - OMBUS_SLOT_HEADER;
        stream->crc = (shm->flags & OMBUS_FLAG_CRC) != 0;
    }
    return status;
}

/* Behind the slots it counts. Pairs with the acquires of consumers that attach and of the monitor. */
static inline void ombus_stream_tell_head(ombus_stream *stream)
{
    FA_STORE_RELEASE(ombus_head, &ombus_shm_header_of(&stream->shm)->head, stream->head);
}

static uint64_t ombus_stream_least_tail(const ombus_stream *stream)
{
    uint64_t least = stream->head;
    for (uint32_t i = 0; i < stream->shm.max_consumers; i++) {
        /* Pairs with the release of ombus_tail: the consumer has done with what lies before its tail. */
        const uint64_t tail = FA_LOAD_SEQ_CST(&ombus_shm_tail(&stream->shm, i)->tail);
        if (tail == OMBUS_TAIL_UNREGISTERED && FA_MUTANT(ombus_unregistered_counts)) {
            return 0;
        }
        least = tail < least ? tail : least;
    }
    return least;
}

static void ombus_stream_look(ombus_stream *stream)
{
    uint64_t *const told = &ombus_shm_header_of(&stream->shm)->min_tail;
    uint64_t least = ombus_stream_least_tail(stream);
    FA_STORE_SEQ_CST(ombus_min_tail, told, least); /* see ombus_stream.h; pairs with the load in ombus_attach_at */
    const uint64_t again = ombus_stream_least_tail(stream);
    if (again < least) {
        FA_STORE_SEQ_CST(ombus_min_tail, told, again);
        least = again;
    }
    stream->limit = least + stream->shm.capacity;
}

static uint64_t ombus_stream_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Waits until the position may be written. */
__attribute__((cold, noinline)) static int ombus_stream_wait(ombus_stream *stream, fa_error *err)
{
    ombus_stream_look(stream);
    if (stream->head < stream->limit || FA_MUTANT(ombus_full_overwrites)) {
        return 0;
    }
    ombus_stream_tell_head(stream); /* amid a batch too: the monitor must see who holds it up */
    stream->waits++;
    const uint64_t since = ombus_stream_now();
    for (uint64_t spins = 1;; spins++) {
        fa_atomics_cpu_relax();
        if (spins % OMBUS_STREAM_LOOK != 0) {
            continue;
        }
        ombus_stream_look(stream);
        if (stream->head < stream->limit) {
            return 0;
        }
        if (ombus_stream_now() - since >= stream->block_ns) {
            return ombus_refuse(OM_ERR_BUS_BLOCKED, err, FA_WOULD_BLOCK, 0, "ombus_stream_publish",
                                "the ring has been full for %llu ns: a consumer stands at position %llu, the head at %llu",
                                (unsigned long long)stream->block_ns, (unsigned long long)(stream->limit - stream->shm.capacity),
                                (unsigned long long)stream->head);
        }
        if (spins >= OMBUS_STREAM_SPIN) {
            (void)sched_yield();
        }
    }
}

__attribute__((cold, noinline)) static int ombus_stream_too_large(const ombus_stream *stream, size_t length, fa_error *err)
{
    if (stream->shm.map == NULL) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_CLOSED, 0, "ombus_stream_publish", "the stream is closed");
    }
    return ombus_refuse(OM_ERR_BUS_RECORD_TOO_LARGE, err, FA_TOO_LARGE, 0, "ombus_stream_publish", "%zu bytes, a slot holds %u", length,
                        stream->max_payload);
}

/* 0: the position `ahead` of the head may be written. A closed stream has no room for any payload, and its limit is 0. */
static inline __attribute__((always_inline)) int ombus_stream_room(ombus_stream *stream, size_t *length, uint64_t ahead, fa_error *err)
{
    if (__builtin_expect(*length > stream->max_payload, 0)) {
        if (!FA_MUTANT(ombus_large_truncated) || stream->shm.map == NULL) {
            return ombus_stream_too_large(stream, *length, err);
        }
        *length = stream->max_payload;
    }
    if (__builtin_expect(stream->head + ahead >= stream->limit, 0)) {
        return stream->shm.map == NULL ? ombus_stream_too_large(stream, *length, err) : OMBUS_STREAM_FULL;
    }
    return 0;
}

/* The slot's content; it is not published yet. */
static inline __attribute__((always_inline)) void ombus_stream_fill(const ombus_stream *stream, uint64_t position, uint64_t wal_seq,
                                                                    uint8_t wal_type, const void *payload, size_t length)
{
    ombus_slot *const slot = ombus_slot_at(stream->slots, position, stream->mask, stream->slot_size);
    const uint64_t words[2] = {wal_seq, ombus_slot_word(wal_type, (uint16_t)length, stream->crc ? fa_crc32(0, payload, length) : 0)};
    FA_STORE_RELAXED(ombus_slot_open, &slot->header.seq, FA_MUTANT(ombus_seq_first) ? position + 1 : 0);
    FA_FENCE_RELEASE(); /* pairs with the fence in ombus_endpoint_look: who copied a byte of what follows sees seq changed */
    if (length != 0) {
        FA_COPY_PIECES(ombus_payload, slot->payload, payload, length);
    }
    FA_COPY(ombus_slot_fields, &slot->header.wal_seq, words, sizeof words);
}

/* Pairs with the acquire in ombus_endpoint_look. */
static inline __attribute__((always_inline)) void ombus_stream_show(const ombus_stream *stream, uint64_t position)
{
    FA_STORE_RELEASE(ombus_slot_seq, &ombus_slot_at(stream->slots, position, stream->mask, stream->slot_size)->header.seq, position + 1);
}

int ombus_stream_publish(ombus_stream *stream, uint64_t wal_seq, uint8_t wal_type, const void *payload, size_t length, fa_error *err)
{
    int status;
    while ((status = ombus_stream_room(stream, &length, 0, err)) != 0) {
        if (status != OMBUS_STREAM_FULL || (status = ombus_stream_wait(stream, err)) != 0) {
            return status;
        }
        if (FA_MUTANT(ombus_full_overwrites)) {
            break;
        }
    }
    ombus_stream_fill(stream, stream->head, wal_seq, wal_type, payload, length);
    ombus_stream_show(stream, stream->head);
    stream->head++;
    ombus_stream_tell_head(stream);
    return 0;
}

/*
 * As many as there is room for, up to a group. The first slot is published last: a consumer that waits for it then finds them all,
 * and does not meet the producer on every one of their cache lines.
 */
static int ombus_stream_publish_group(ombus_stream *stream, const OmBusRecord *records, size_t count, size_t *done, fa_error *err)
{
    int status = 0;
    size_t filled = 0;
    for (; filled < count && filled < OMBUS_STREAM_GROUP; filled++) {
        const OmBusRecord *const one = &records[filled];
        size_t length = one->payload_len;
        status = ombus_stream_room(stream, &length, filled, err);
        if (status != 0) {
            break;
        }
        ombus_stream_fill(stream, stream->head + filled, one->wal_seq, one->wal_type, one->payload, length);
    }
    for (size_t i = filled; i > 0; i--) {
        ombus_stream_show(stream, stream->head + i - 1);
    }
    if (filled > 0) {
        stream->head += filled;
        ombus_stream_tell_head(stream);
    }
    *done += filled;
    return status;
}

int ombus_stream_publish_batch(ombus_stream *stream, const OmBusRecord *records, size_t count, size_t *done, fa_error *err)
{
    int status = 0;
    *done = 0;
    while (*done < count && status == 0) {
        status = ombus_stream_publish_group(stream, records + *done, count - *done, done, err);
        if (status == OMBUS_STREAM_FULL) {
            status = ombus_stream_wait(stream, err);
        }
    }
    return status;
}

int ombus_stream_destroy(ombus_stream *stream, fa_error *err)
{
    ombus_shm shm = stream->shm;
    *stream = (ombus_stream){.shm = {.fd = -1, .dirfd = -1}};
    if (shm.map != NULL) {
        ombus_shm_retire(&shm);
    }
    return ombus_shm_close(&shm, true, err);
}
