/* TCP client of a relay, and the relay's configuration. */
#ifndef OM_BUS_TCP_H
#define OM_BUS_TCP_H

#include "om_bus.h"
#include "om_wal.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OM_BUS_TCP_RECV_BUFFER 1048576u

typedef struct OmBusTcpClientConfig {
    const char *relay_host;
    uint16_t relay_port;
    const char *stream_name;   /* the stream to subscribe to */
    uint64_t start_seq;        /* the first sequence; 0 = latest */
    uint32_t recv_buffer_size; /* 0 = OM_BUS_TCP_RECV_BUFFER */
} OmBusTcpClientConfig;

typedef struct OmBusTcpClient OmBusTcpClient;

/* Connects and subscribes; returns when the relay has acknowledged or refused. */
OM_BUS_API int om_bus_tcp_connect(OmBusTcpClient **out, const OmBusTcpClientConfig *config);
/* Never blocks. 1: a record. 0: none. */
OM_BUS_API int om_bus_tcp_poll(OmBusTcpClient *client, OmBusRecord *rec);
OM_BUS_API int om_bus_tcp_poll_batch(OmBusTcpClient *client, OmBusRecord *recs, size_t max_count);
/* Asks for [from_seq, to_seq); its records arrive by poll. */
OM_BUS_API int om_bus_tcp_request_gap(OmBusTcpClient *client, uint64_t from_seq, uint64_t to_seq);
OM_BUS_API void om_bus_tcp_close(OmBusTcpClient *client);

typedef struct OmBusTcpRelayConfig {
    const char *stream_name;       /* the stream to consume */
    const char *bind_addr;         /* as "127.0.0.1" */
    uint16_t bind_port;
    uint32_t max_clients;
    uint32_t batch_size;           /* records per batch; 0 = 256 */
    uint32_t heartbeat_ms;         /* 0 = 100 */
    uint32_t flush_timeout_us;     /* 0 = 1000 */
    const OmWalConfig *wal_config; /* the WAL that gaps are filled from */
} OmBusTcpRelayConfig;

#ifdef __cplusplus
}
#endif
#endif
