#include "ombus/ombus_monitor.h"

#include <errno.h>
#include <stdlib.h>

#include "fa_atomics.h"
#include "fa_mutant.h"
#include "ombus/ombus_error.h"

int ombus_monitor_open(ombus_monitor *monitor, const char *directory, const char *name, fa_error *err)
{
    *monitor = (ombus_monitor){.shm = {.fd = -1, .dirfd = -1}};
    int status = ombus_shm_attach(&monitor->shm, directory, name, OMBUS_SHM_WRITE, NULL, err);
    if (status != 0) {
        return status;
    }
    monitor->seen = calloc(monitor->shm.max_consumers, sizeof *monitor->seen);
    if (monitor->seen == NULL) {
        status = ombus_refuse(OM_ERR_BUS_INIT, err, FA_IO, ENOMEM, "ombus_monitor_open", "no memory for %u consumers", monitor->shm.max_consumers);
        (void)ombus_monitor_close(monitor, NULL);
        return status;
    }
    for (uint32_t i = 0; i < monitor->shm.max_consumers; i++) {
        monitor->seen[i].tail = OMBUS_TAIL_UNREGISTERED;
    }
    return 0;
}

static bool ombus_monitor_watch(ombus_monitor_seen *seen, uint64_t tail, uint64_t head, uint64_t now_ns, uint64_t stale_ns)
{
    const bool behind = tail != OMBUS_TAIL_UNREGISTERED && (tail < head || FA_MUTANT(ombus_idle_stale));
    if (!behind) {
        seen->since_ns = 0;
    } else if (seen->since_ns == 0 || seen->tail != tail) {
        seen->since_ns = now_ns;
    }
    seen->tail = tail;
    seen->behind = behind ? head - tail : 0;
    seen->stale = behind && now_ns - seen->since_ns >= stale_ns;
    return seen->stale != 0;
}

int ombus_monitor_look(ombus_monitor *monitor, uint64_t now_ns, uint64_t stale_ns, fa_error *err)
{
    int stale = 0;
    if (monitor->shm.map == NULL) {
        return ombus_refuse(OM_ERR_BUS_INIT, err, FA_CLOSED, 0, "ombus_monitor_look", "the monitor is closed");
    }
    if (ombus_shm_retired(&monitor->shm)) {
        return ombus_refuse(OM_ERR_BUS_REPLACED, err, FA_CLOSED, 0, "ombus_monitor_look", "the producer has left %s", monitor->shm.name);
    }
    for (uint32_t i = 0; i < monitor->shm.max_consumers; i++) {
        const ombus_consumer_tail *const at = ombus_shm_tail(&monitor->shm, i);
        /* The tail first: it may only be further on when the head is read. Pairs with the release of ombus_tail. */
        const uint64_t tail = FA_LOAD_ACQUIRE(&at->tail);
        const uint64_t head = FA_LOAD_ACQUIRE(&ombus_shm_header_of(&monitor->shm)->head); /* pairs with ombus_stream_tell_head */
        monitor->seen[i].wal_seq = FA_LOAD_RELAXED(&at->wal_seq);
        stale += ombus_monitor_watch(&monitor->seen[i], tail, head, now_ns == 0 ? 1 : now_ns, stale_ns);
    }
    return stale;
}

int ombus_monitor_release(ombus_monitor *monitor, uint32_t consumer, fa_error *err)
{
    if (monitor->shm.map == NULL || consumer >= monitor->shm.max_consumers) {
        return ombus_refuse(OM_ERR_BUS_CONSUMER_ID, err, FA_INVALID, 0, "ombus_monitor_release", "there is no consumer %u", consumer);
    }
    uint64_t tail = monitor->seen[consumer].tail;
    /* Pairs with the compare and swap of the consumer, of which only one can succeed. */
    return tail != OMBUS_TAIL_UNREGISTERED && FA_CAS(ombus_release, &ombus_shm_tail(&monitor->shm, consumer)->tail, &tail, OMBUS_TAIL_UNREGISTERED);
}

int ombus_monitor_close(ombus_monitor *monitor, fa_error *err)
{
    free(monitor->seen);
    monitor->seen = NULL;
    return ombus_shm_close(&monitor->shm, false, err);
}
