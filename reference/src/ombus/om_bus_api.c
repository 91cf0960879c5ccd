/* The C interface: handles on the heap, and the words of the last error by thread. The work is done in ombus_*.c. */
#include <stdlib.h>

#include "fa_mutant.h"
#include "ombus/ombus.h"

struct OmBusStream {
    ombus_stream inner;
};

struct OmBusEndpoint {
    ombus_endpoint inner;
};

struct OmBusReplay {
    ombus_replay inner;
};

struct OmWal {
    ombus_wal inner;
};

static _Thread_local fa_error om_bus_said;

const char *om_bus_last_error(void) { return om_bus_said.message; }

/* Room for a handle in *out, or an error. */
static int om_bus_make(void **out, size_t size)
{
    if (out == NULL) {
        return ombus_refuse(OM_ERR_BUS_INIT, &om_bus_said, FA_INVALID, 0, "om_bus", "there is no place for the handle");
    }
    *out = calloc(1, size);
    return *out != NULL ? 0 : ombus_refuse(OM_ERR_BUS_INIT, &om_bus_said, FA_IO, 0, "om_bus", "no memory for a handle");
}

/* The handle goes where it could not be opened. */
static int om_bus_made(void **out, int status)
{
    if (status != 0) {
        free(*out);
        *out = NULL;
    }
    return status;
}

static int om_bus_none(void)
{
    return ombus_refuse(OM_ERR_BUS_INIT, &om_bus_said, FA_INVALID, 0, "om_bus", "the handle or the room for records is NULL");
}

int om_bus_stream_create(OmBusStream **out, const OmBusStreamConfig *config)
{
    void *made = NULL;
    int status = om_bus_make(out == NULL ? NULL : &made, sizeof **out);
    if (status == 0) {
        status = om_bus_made(&made, ombus_stream_create(&((OmBusStream *)made)->inner, NULL, config, &om_bus_said));
        *out = made;
    }
    return status;
}

int om_bus_stream_publish(OmBusStream *stream, uint64_t wal_seq, uint8_t wal_type, const void *payload, uint16_t len)
{
    if (stream == NULL || (payload == NULL && len != 0)) {
        return om_bus_none();
    }
    return ombus_stream_publish(&stream->inner, wal_seq, wal_type, payload, len, &om_bus_said);
}

int om_bus_stream_publish_batch(OmBusStream *stream, const OmBusRecord *recs, size_t count, size_t *done)
{
    if (stream == NULL || recs == NULL || done == NULL) {
        return om_bus_none();
    }
    return ombus_stream_publish_batch(&stream->inner, recs, count, done, &om_bus_said);
}

void om_bus_stream_set_block(OmBusStream *stream, uint64_t nanoseconds)
{
    if (stream != NULL) {
        stream->inner.block_ns = nanoseconds;
    }
}

void om_bus_stream_destroy(OmBusStream *stream)
{
    if (stream != NULL) {
        (void)ombus_stream_destroy(&stream->inner, &om_bus_said);
        free(stream);
    }
}

int om_bus_endpoint_open_at(OmBusEndpoint **out, const OmBusEndpointConfig *config, uint64_t from_seq)
{
    void *made = NULL;
    int status = om_bus_make(out == NULL ? NULL : &made, sizeof **out);
    if (status == 0) {
        status = om_bus_made(&made, ombus_endpoint_open(&((OmBusEndpoint *)made)->inner, NULL, config, from_seq, &om_bus_said));
        *out = made;
    }
    return status;
}

int om_bus_endpoint_open(OmBusEndpoint **out, const OmBusEndpointConfig *config)
{
    return om_bus_endpoint_open_at(out, config, OM_BUS_FROM_TAIL);
}

int om_bus_endpoint_poll(OmBusEndpoint *ep, OmBusRecord *rec)
{
    return ep == NULL || rec == NULL ? om_bus_none() : ombus_endpoint_poll(&ep->inner, rec, &om_bus_said);
}

int om_bus_endpoint_poll_batch(OmBusEndpoint *ep, OmBusRecord *recs, size_t max_count)
{
    return ep == NULL || recs == NULL ? om_bus_none() : ombus_endpoint_poll_batch(&ep->inner, recs, max_count, &om_bus_said);
}

uint64_t om_bus_endpoint_wal_seq(const OmBusEndpoint *ep)
{
    return ep == NULL ? 0 : ep->inner.consumed + (FA_MUTANT(ombus_position_ahead) ? 1 : 0);
}

uint64_t om_bus_endpoint_duplicates(const OmBusEndpoint *ep) { return ep == NULL ? 0 : ep->inner.duplicates; }

void om_bus_endpoint_close(OmBusEndpoint *ep)
{
    if (ep != NULL) {
        (void)ombus_endpoint_close(&ep->inner, &om_bus_said);
        free(ep);
    }
}

int om_bus_replay_init(OmBusReplay **out, const OmBusReplayConfig *config)
{
    void *made = NULL;
    int status = om_bus_make(out == NULL ? NULL : &made, sizeof **out);
    if (status == 0) {
        const char *const path = config == NULL ? NULL : config->wal_filename;
        const uint64_t from = config == NULL ? 0 : config->from_seq, to = config == NULL ? 0 : config->to_seq;
        status = om_bus_made(&made, ombus_replay_open(&((OmBusReplay *)made)->inner, path, from, to, &om_bus_said));
        *out = made;
    }
    return status;
}

int om_bus_replay_next(OmBusReplay *replay, OmBusRecord *rec)
{
    return replay == NULL || rec == NULL ? om_bus_none() : ombus_replay_next(&replay->inner, rec, 1, &om_bus_said);
}

void om_bus_replay_close(OmBusReplay *replay)
{
    if (replay != NULL) {
        ombus_replay_close(&replay->inner);
        free(replay);
    }
}

int om_wal_open(OmWal **out, const OmWalConfig *config)
{
    void *made = NULL;
    int status = om_bus_make(out == NULL ? NULL : &made, sizeof **out);
    if (status == 0) {
        status = om_bus_made(&made, ombus_wal_open(&((OmWal *)made)->inner, config, &om_bus_said));
        *out = made;
    }
    return status;
}

int om_wal_append(OmWal *wal, uint8_t type, const void *payload, uint16_t len, uint64_t *seq)
{
    if (wal == NULL || seq == NULL || (payload == NULL && len != 0)) {
        return om_bus_none();
    }
    return ombus_wal_append(&wal->inner, type, payload, len, seq, &om_bus_said);
}

int om_wal_sync(OmWal *wal) { return wal == NULL ? om_bus_none() : ombus_wal_sync(&wal->inner, &om_bus_said); }

uint64_t om_wal_last_seq(const OmWal *wal) { return wal == NULL ? 0 : wal->inner.next_seq - 1; }

int om_wal_close(OmWal *wal)
{
    int status = 0;
    if (wal != NULL) {
        status = ombus_wal_close(&wal->inner, &om_bus_said);
        free(wal);
    }
    return status;
}
