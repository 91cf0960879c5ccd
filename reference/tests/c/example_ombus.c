/*
 * An engine, a consumer and a recovery, in one process: what a C program does with libombus. Arguments: a directory for the WAL, and
 * the name of a stream. Prints what it has seen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ombus/om_bus.h"
#include "ombus/om_bus_replay.h"
#include "ombus/om_wal.h"

static void must(int status, const char *what)
{
    if (status < 0) {
        (void)fprintf(stderr, "%s: %d %s: %s\n", what, status, om_bus_error_name(status), om_bus_last_error());
        exit(1);
    }
}

/* The WAL first, then the ring, under the same sequence. */
static void order(OmWal *wal, OmBusStream *bus, uint64_t id)
{
    const OmWalInsert insert = {.order_id = id, .price = 10000 + (int64_t)id, .volume = 5, .volume_remaining = 5, .product_id = 3};
    uint64_t seq;
    must(om_wal_append(wal, OM_WAL_INSERT, &insert, sizeof insert, &seq), "append");
    must(om_bus_stream_publish(bus, seq, OM_WAL_INSERT, &insert, sizeof insert), "publish");
}

static void tell(const char *from, const OmBusRecord *record)
{
    OmWalInsert insert;
    memcpy(&insert, record->payload, sizeof insert);
    printf("%s %llu type %u order %llu price %lld\n", from, (unsigned long long)record->wal_seq, record->wal_type,
           (unsigned long long)insert.order_id, (long long)insert.price);
}

int main(int argc, char **argv)
{
    char pattern[4096];
    OmWal *wal;
    OmBusStream *bus;
    OmBusEndpoint *ep;
    OmBusReplay *replay;
    OmBusRecord record;
    if (argc != 3) {
        return 2;
    }
    (void)snprintf(pattern, sizeof pattern, "%s/engine-%%06u.wal", argv[1]);
    const OmWalConfig wal_config = {.filename = pattern, .file_size = 1u << 16, .sync_every = OM_WAL_SYNC_NONE, .flags = OM_WAL_FLAG_CRC};
    const OmBusStreamConfig bus_config = {.stream_name = argv[2], .capacity = 4, .max_consumers = 1, .flags = OM_BUS_FLAG_CRC};
    const OmBusEndpointConfig ep_config = {.stream_name = argv[2], .consumer_index = 0};
    must(om_wal_open(&wal, &wal_config), "wal");
    must(om_bus_stream_create(&bus, &bus_config), "stream");
    for (uint64_t id = 1; id <= 6; id++) {
        order(wal, bus, id);
    }
    must(om_bus_endpoint_open(&ep, &ep_config), "endpoint"); /* late: the ring has four slots */
    const int gap = om_bus_endpoint_poll(ep, &record);
    if (gap != OM_ERR_BUS_GAP_DETECTED) {
        return 3;
    }
    const OmBusReplayConfig range = {.wal_filename = pattern, .wal_config = &wal_config, .from_seq = 1, .to_seq = record.wal_seq};
    OmBusRecord missed;
    must(om_bus_replay_init(&replay, &range), "replay");
    int more;
    while ((more = om_bus_replay_next(replay, &missed)) == 1) {
        tell("wal", &missed);
    }
    must(more, "replay");
    om_bus_replay_close(replay);
    tell("bus", &record);
    while ((more = om_bus_endpoint_poll(ep, &record)) == 1) {
        tell("bus", &record);
    }
    must(more, "poll");
    printf("position %llu, %zu bytes a record\n", (unsigned long long)om_bus_endpoint_wal_seq(ep), sizeof record);
    om_bus_stream_destroy(bus);
    printf("then %s\n", om_bus_error_name(om_bus_endpoint_poll(ep, &record)));
    om_bus_endpoint_close(ep);
    must(om_wal_close(wal), "close");
    return 0;
}
