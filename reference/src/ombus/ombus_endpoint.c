#include "ombus/ombus_endpoint.h"

#include <stdlib.h>

#include "fa_atomics.h"
#include "fa_crc32.h"
#include "fa_mutant.h"
#include "fa_persist.h"
#include "ombus/ombus_attach.h"
#include "ombus/ombus_error.h"
#include "ombus/ombus_slot.h"

#define OMBUS_ENDPOINT_COPIES 65536u /* bytes of a batch of copies; one slot where that is larger */
#define OMBUS_ENDPOINT_TRIES 4       /* a poll never blocks, whatever it meets */

enum ombus_endpoint_found { OMBUS_READY, OMBUS_NOTHING, OMBUS_GAP, OMBUS_DUPLICATE, OMBUS_DAMAGED, OMBUS_LAPPED };

/* What stands at the next position; nothing of the endpoint changes. A payload that is not READY or a GAP is not to be used. */
static inline __attribute__((always_inline)) int ombus_endpoint_look(const ombus_endpoint *ep, unsigned char *to, OmBusRecord *record)
{
    const ombus_slot *const slot = ombus_slot_at(ep->slots, ep->next, ep->mask, ep->slot_size);
    /* Pairs with the release of ombus_slot_seq: the record is whole behind it. */
    const uint64_t seq = FA_LOAD_ACQUIRE(&slot->header.seq);
    if (seq != ep->next + 1 && !(FA_MUTANT(ombus_lap_ready) && seq > ep->next + 1)) {
        return seq > ep->next + 1 ? OMBUS_LAPPED : OMBUS_NOTHING;
    }
    const uint32_t length = slot->header.payload_len, crc = slot->header.crc32;
    bool sound = length <= ep->max_payload;
    record->wal_seq = slot->header.wal_seq;
    record->wal_type = slot->header.wal_type;
    record->payload_len = (uint16_t)length;
    record->payload = ep->zero_copy ? slot->payload : to;
    if (__builtin_expect(sound, 1)) {
        if (!ep->zero_copy) {
            fa_atomics_copy_pieces(to, slot->payload, length);
        }
        if (ep->crc) { /* of the slot, beside the copying; were the two not alike, seq would tell */
            sound = fa_crc32(0, slot->payload, length) == crc || FA_MUTANT(ombus_damage_delivered);
        }
    }
    FA_FENCE_ACQUIRE(); /* pairs with the fence in ombus_stream_put */
    if (FA_LOAD_RELAXED(&slot->header.seq) != seq) {
        return OMBUS_LAPPED;
    }
    if (__builtin_expect(!sound, 0)) {
        return OMBUS_DAMAGED;
    }
    if (__builtin_expect(record->wal_seq == ep->expected, 1) || ep->expected == 0) {
        return OMBUS_READY;
    }
    return record->wal_seq > ep->expected ? OMBUS_GAP : OMBUS_DUPLICATE;
}

/* The producer may have what lies before `next`. */
static inline __attribute__((always_inline)) void ombus_endpoint_move_tail(ombus_endpoint *ep)
{
    uint64_t here = ep->held;
    /* Acquire and release: pairs with the look of ombus_stream_least_tail. The sequence comes after it: died in between, the
     * consumer meets a record again, or a gap, and never takes one for consumed that it has not got. */
    if (__builtin_expect(!ep->gone && !FA_CAS(ombus_tail, &ep->tail->tail, &here, ep->next), 0) && !FA_MUTANT(ombus_release_unnoticed)) {
        ep->lost = true;
        return;
    }
    ep->held = ep->next;
    ep->held_expected = ep->expected;
    if (!FA_MUTANT(ombus_tail_seq_unset)) {
        FA_STORE_RELAXED(ombus_tail_seq, &ep->tail->wal_seq, ep->consumed);
    }
}

/* After a release, or the producer's leave: 0, or RELEASED where what was handed out without a copy has been overwritten. */
__attribute__((cold, noinline)) static int ombus_endpoint_find_back(ombus_endpoint *ep, fa_error *err)
{
    const uint64_t held = ep->held, next = ep->next, held_expected = ep->held_expected;
    if (ombus_shm_retired(&ep->shm)) {
        ep->gone = true; /* nobody writes any more: the rest can be read */
        ep->lost = false;
        ep->held = next;
        return 0;
    }
    ep->releases++;
    ombus_attach_at(ep, next);
    if (held == next || FA_LOAD_ACQUIRE(&ombus_slot_at(ep->slots, held, ep->mask, ep->slot_size)->header.seq) == held + 1) {
        return 0; /* whatever is missing shows as a gap; the oldest slot is overwritten first */
    }
    ep->expected = ep->held_expected = held_expected; /* so that the gap begins with what was overwritten */
    return ombus_refuse(OM_ERR_BUS_RELEASED, err, FA_GAP, 0, "ombus_endpoint_poll",
                        "the monitor released this consumer, and records from %llu on were overwritten while they were in use",
                        (unsigned long long)held_expected);
}

/* Gives back what was handed out without a copy, and takes the place again where it was lost. */
static int ombus_endpoint_settle(ombus_endpoint *ep, fa_error *err)
{
    if (!ep->lost) {
        ombus_endpoint_move_tail(ep);
    }
    return ep->lost ? ombus_endpoint_find_back(ep, err) : 0;
}

static int ombus_endpoint_pass(ombus_endpoint *ep, int found, OmBusRecord *record, fa_error *err)
{
    const uint64_t wal_seq = record->wal_seq, expected = ep->expected;
    int status = 0;
    ep->next += !FA_MUTANT(ombus_damage_stuck) || found != OMBUS_DAMAGED;
    if (found == OMBUS_GAP) {
        ep->gaps++;
        ep->missing_from = expected;
        ep->missing_to = wal_seq;
        ep->expected = FA_MUTANT(ombus_gap_unmoved) ? expected : wal_seq + 1;
        ep->consumed = wal_seq;
        status = ombus_refuse(OM_ERR_BUS_GAP_DETECTED, err, FA_GAP, 0, "ombus_endpoint_poll", "sequences %llu to %llu are missing before this one",
                              (unsigned long long)expected, (unsigned long long)wal_seq - 1);
    } else if (found == OMBUS_DUPLICATE) {
        ep->duplicates++;
    } else {
        ep->damaged++;
        /* No checksum covers the sequence: one that is not expected is not believed, and what follows shows the gap. */
        if (wal_seq == expected) {
            ep->expected = wal_seq + 1;
            ep->consumed = wal_seq;
        }
        *record = (OmBusRecord){.wal_seq = wal_seq};
        status = ombus_refuse(OM_ERR_BUS_CRC_MISMATCH, err, FA_CORRUPT, 0, "ombus_endpoint_poll", "the record of sequence %llu is damaged",
                              (unsigned long long)wal_seq);
    }
    return status;
}

/* Nothing is READY at the next position, as far as the caller saw. 1: look again. */
__attribute__((cold, noinline)) static int ombus_endpoint_odd(ombus_endpoint *ep, int found, OmBusRecord *record, fa_error *err)
{
    if (ep->shm.map == NULL) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_CLOSED, 0, "ombus_endpoint_poll", "the endpoint is closed");
    }
    if (found == OMBUS_NOTHING || found == OMBUS_LAPPED) {
        if (!ep->gone && FA_LOAD_ACQUIRE(&ep->tail->tail) != ep->held && !FA_MUTANT(ombus_release_unnoticed)) {
            ep->lost = true;
            const int status = ombus_endpoint_find_back(ep, err);
            return status != 0 ? status : 1;
        }
        const uint64_t seq = FA_LOAD_ACQUIRE(&ombus_slot_at(ep->slots, ep->next, ep->mask, ep->slot_size)->header.seq);
        if (seq == ep->next + 1) {
            return 1; /* came between the two looks */
        }
        if (ep->gone) {
            return ombus_refuse(OM_ERR_BUS_REPLACED, err, FA_CLOSED, 0, "ombus_endpoint_poll",
                                "the producer has left %s: open it again and replay from %llu", ep->shm.name, (unsigned long long)ep->expected);
        }
        if (seq < ep->next + 1) {
            return 0;
        }
        found = OMBUS_DAMAGED; /* nobody can have written it: this consumer holds the place */
    }
    const int status = ombus_endpoint_pass(ep, found, record, err);
    if (found != OMBUS_GAP || !ep->zero_copy) {
        ombus_endpoint_move_tail(ep); /* a loss is found at the next poll */
    }
    return found == OMBUS_DUPLICATE ? 1 : status;
}

static inline __attribute__((always_inline)) int ombus_endpoint_take(ombus_endpoint *ep, OmBusRecord *records, size_t limit, fa_error *err)
{
    for (uint64_t tries = 0; tries <= ep->mask + OMBUS_ENDPOINT_TRIES && limit > 0; tries++) { /* a ring may be full of duplicates */
        if (__builtin_expect(ep->held != ep->next || ep->lost, 0)) {
            const int status = ombus_endpoint_settle(ep, err);
            if (status != 0) {
                return status;
            }
        }
        size_t count = 0, used = 0;
        int found;
        do {
            found = ombus_endpoint_look(ep, ep->copies + used, &records[count]);
            if (found != OMBUS_READY && !(found == OMBUS_GAP && limit > 1 && FA_MUTANT(ombus_batch_gapless)) &&
                !(found == OMBUS_DUPLICATE && FA_MUTANT(ombus_duplicate_delivered))) {
                break;
            }
            ep->next++;
            ep->consumed = records[count].wal_seq;
            ep->expected = ep->consumed + 1;
            used += (records[count].payload_len + 7u) & ~7u;
            count++;
        } while (count < limit && used + ep->max_payload <= ep->copy_size);
        if (count > 0) {
            if (!ep->zero_copy || FA_MUTANT(ombus_view_released)) {
                ombus_endpoint_move_tail(ep);
            }
            return (int)count;
        }
        /* An idle consumer sees here whether it still has its place: on its own line, which nobody else writes to. */
        if (found == OMBUS_NOTHING && FA_LOAD_RELAXED(&ep->tail->tail) == ep->held && !ep->gone) {
            return 0;
        }
        const int status = ombus_endpoint_odd(ep, found, records, err);
        if (status <= 0) {
            return status;
        }
    }
    return 0;
}

int ombus_endpoint_poll(ombus_endpoint *ep, OmBusRecord *record, fa_error *err)
{
    return ombus_endpoint_take(ep, record, 1, err);
}

int ombus_endpoint_poll_batch(ombus_endpoint *ep, OmBusRecord *records, size_t limit, fa_error *err)
{
    return ombus_endpoint_take(ep, records, limit < INT32_MAX ? limit : INT32_MAX, err);
}

void ombus_record_gather(const OmBusRecord *records, size_t count, void *to)
{
    unsigned char *next = to;
    for (size_t i = 0; i < count; i++) {
        memcpy(next, records[i].payload, records[i].payload_len);
        next += records[i].payload_len;
    }
}

/* What a closed endpoint looks at: there is never anything. */
static const ombus_endpoint ombus_endpoint_closed = {.gone = true, .shm = {.fd = -1, .dirfd = -1}};
static ombus_slot_header ombus_endpoint_no_slot;
static ombus_consumer_tail ombus_endpoint_no_tail;

static void ombus_endpoint_clear(ombus_endpoint *ep)
{
    *ep = ombus_endpoint_closed;
    ep->slots = (unsigned char *)&ombus_endpoint_no_slot;
    ep->tail = &ombus_endpoint_no_tail;
}

/* The ring read-only, as far as pages allow, and the page with this consumer's tail once more, to be written. */
static int ombus_endpoint_map(ombus_endpoint *ep, uint32_t index, int fd, fa_error *err)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = ep->shm.size;
    const uint64_t at = sizeof(ombus_shm_header) + (FA_MUTANT(ombus_tail_shared) ? 0 : index) * sizeof(ombus_consumer_tail);
    const uint64_t from = at & ~(page - 1);
    void *map = NULL;
    ep->page_size = size - from < page ? size - from : page;
    if (fa_persist_mmap(ombus_shm_mmap, fd, (off_t)from, ep->page_size, PROT_READ | PROT_WRITE, &map, err) != 0 ||
        fa_persist_populate(ombus_shm_populate, ep->shm.map, size, MADV_POPULATE_READ, err) != 0) {
        ep->page = map;
        return OM_ERR_BUS_SHM_MAP;
    }
    ep->page = map;
    ep->tail = (ombus_consumer_tail *)(void *)((unsigned char *)map + (at - from));
    ep->slots = ombus_shm_slots(&ep->shm);
    ep->mask = ep->shm.capacity - 1;
    ep->slot_size = ep->shm.slot_size;
    ep->max_payload = ep->shm.slot_size - OMBUS_SLOT_HEADER;
    ep->crc = (ep->shm.flags & OMBUS_FLAG_CRC) != 0;
    return 0;
}

static int ombus_endpoint_begin(ombus_endpoint *ep, const OmBusEndpointConfig *config, uint64_t from_seq, int fd, fa_error *err)
{
    static const char where[] = "ombus_endpoint_open";
    if (config->consumer_index >= ep->shm.max_consumers) {
        return ombus_refuse(OM_ERR_BUS_CONSUMER_ID, err, FA_INVALID, 0, where, "consumer %u: %s has %u, counted from 0", config->consumer_index,
                            ep->shm.name, ep->shm.max_consumers);
    }
    const int status = ombus_endpoint_map(ep, config->consumer_index, fd, err);
    if (status != 0) {
        return status;
    }
    ep->zero_copy = config->zero_copy;
    ep->copy_size = OMBUS_ENDPOINT_COPIES > ep->max_payload ? OMBUS_ENDPOINT_COPIES : ep->max_payload;
    ep->copies = malloc(ep->copy_size);
    if (ep->copies == NULL) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_IO, ENOMEM, where, "no memory for %llu bytes", (unsigned long long)ep->copy_size);
    }
    ep->expected = from_seq != OM_BUS_FROM_TAIL ? from_seq : FA_LOAD_RELAXED(&ep->tail->wal_seq) + 1;
    ep->consumed = ep->expected == 0 ? 0 : ep->expected - 1;
    ombus_attach_to_expected(ep);
    if (ep->gone) {
        return ombus_refuse(OM_ERR_BUS_MAGIC_MISMATCH, err, FA_CORRUPT, 0, where, "the producer of %s has just left it", ep->shm.name);
    }
    return 0;
}

int ombus_endpoint_open(ombus_endpoint *ep, const char *directory, const OmBusEndpointConfig *config, uint64_t from_seq, fa_error *err)
{
    int fd = -1;
    ombus_endpoint_clear(ep);
    if (config == NULL) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_INVALID, 0, "ombus_endpoint_open", "no configuration was given");
    }
    const int access = FA_MUTANT(ombus_map_writable) ? OMBUS_SHM_WRITE : OMBUS_SHM_READ;
    int status = ombus_shm_attach(&ep->shm, directory, config->stream_name, access, &fd, err);
    if (status == 0) {
        ep->gone = false;
        status = ombus_endpoint_begin(ep, config, from_seq, fd, err);
        (void)close(fd);
    }
    if (status != 0) {
        (void)ombus_endpoint_close(ep, NULL);
    }
    return status;
}

int ombus_endpoint_close(ombus_endpoint *ep, fa_error *err)
{
    int status = 0;
    if (ep->slots != (unsigned char *)&ombus_endpoint_no_slot && ep->page != NULL) {
        if (!ep->lost && !ep->gone) {
            ombus_endpoint_move_tail(ep); /* what was handed out counts as consumed */
            uint64_t here = ep->held;
            (void)FA_CAS(ombus_detach, &ep->tail->tail, &here, OMBUS_TAIL_UNREGISTERED);
        }
    }
    if (ep->page != NULL && fa_persist_munmap(ombus_shm_munmap, ep->page, ep->page_size, err) != 0) {
        status = OM_ERR_BUS_SHM_MAP;
    }
    const int unmapped = ombus_shm_close(&ep->shm, false, status == 0 ? err : NULL);
    free(ep->copies);
    ombus_endpoint_clear(ep);
    return status != 0 ? status : unmapped;
}
