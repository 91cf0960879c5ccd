#include "ombus/ombus_attach.h"

#include "fa_atomics.h"
#include "fa_mutant.h"
#include "ombus/ombus_slot.h"

void ombus_attach_at(ombus_endpoint *ep, uint64_t wanted)
{
    const ombus_shm_header *const header = ombus_shm_header_of(&ep->shm);
    uint64_t least = FA_LOAD_SEQ_CST(&header->min_tail);
    uint64_t place;
    do { /* again only where the producer went once around the ring in between */
        place = wanted > least ? wanted : least;
        FA_STORE_SEQ_CST(ombus_attach, &ep->tail->tail, place); /* pairs with the second look of ombus_stream_look */
        least = FA_LOAD_SEQ_CST(&header->min_tail);
    } while (least > place);
    ep->next = ep->held = place;
    ep->held_expected = ep->expected;
    ep->lost = false;
    /* A producer that left before the store did not see this tail; after it, the tail is gone again. */
    ep->gone = ombus_shm_retired(&ep->shm);
}

void ombus_attach_to_expected(ombus_endpoint *ep)
{
    if (FA_MUTANT(ombus_attach_at_head)) {
        ep->expected = 0;
    }
    if (ep->expected == 0) {
        ombus_attach_at(ep, FA_LOAD_ACQUIRE(&ombus_shm_header_of(&ep->shm)->head)); /* pairs with ombus_stream_tell_head */
        return;
    }
    ombus_attach_at(ep, 0);
    uint64_t place = ep->next;
    for (uint64_t i = 0; i <= ep->mask; i++, place++) {
        const ombus_slot *const slot = ombus_slot_at(ep->slots, place, ep->mask, ep->slot_size);
        /* Pairs with the release of ombus_slot_seq. */
        if (FA_LOAD_ACQUIRE(&slot->header.seq) != place + 1 || slot->header.wal_seq >= ep->expected) {
            break;
        }
    }
    uint64_t here = ep->held;
    if (FA_CAS(ombus_tail, &ep->tail->tail, &here, place)) {
        ep->held = ep->next = place;
    } else {
        ep->lost = true;
    }
}
