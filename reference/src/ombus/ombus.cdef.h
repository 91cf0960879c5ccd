/* For cffi; see ombus.h. */
typedef struct OmBusRecord {
    uint64_t wal_seq;
    uint8_t wal_type;
    uint16_t payload_len;
    const void *payload;
} OmBusRecord;

typedef struct OmBusStreamConfig {
    const char *stream_name;
    uint32_t capacity;
    uint32_t slot_size;
    uint32_t max_consumers;
    uint32_t flags;
} OmBusStreamConfig;

typedef struct OmBusEndpointConfig {
    const char *stream_name;
    uint32_t consumer_index;
    bool zero_copy;
} OmBusEndpointConfig;

const char *om_bus_error_name(int code);
const char *om_bus_last_error(void);
typedef struct OmBusEndpoint OmBusEndpoint;
int om_bus_endpoint_open_at(OmBusEndpoint **out, const OmBusEndpointConfig *config, uint64_t from_seq);
int om_bus_endpoint_poll(OmBusEndpoint *ep, OmBusRecord *rec);
uint64_t om_bus_endpoint_wal_seq(const OmBusEndpoint *ep);
void om_bus_endpoint_close(OmBusEndpoint *ep);

typedef struct ombus_shm {
    uint64_t size;
    uint64_t incarnation;
    uint32_t slot_size;
    uint32_t capacity;
    uint32_t max_consumers;
    uint32_t flags;
    ...;
} ombus_shm;

typedef struct ombus_stream {
    uint64_t head;
    uint64_t limit;
    uint64_t block_ns;
    uint64_t waits;
    uint32_t max_payload;
    ombus_shm shm;
    ...;
} ombus_stream;

int ombus_stream_create(ombus_stream *stream, const char *directory, const OmBusStreamConfig *config, fa_error *err);
int ombus_stream_publish(ombus_stream *stream, uint64_t wal_seq, uint8_t wal_type, const char *payload, size_t length, fa_error *err);
int ombus_stream_publish_batch(ombus_stream *stream, const OmBusRecord *records, size_t count, size_t *done, fa_error *err);
int ombus_stream_destroy(ombus_stream *stream, fa_error *err);

typedef struct ombus_endpoint {
    uint64_t next;
    uint64_t held;
    uint64_t expected;
    uint64_t consumed;
    unsigned char *copies;
    uint64_t duplicates;
    uint64_t damaged;
    uint64_t gaps;
    uint64_t missing_from;
    uint64_t missing_to;
    uint64_t releases;
    ombus_shm shm;
    ...;
} ombus_endpoint;

int ombus_endpoint_open(ombus_endpoint *ep, const char *directory, const OmBusEndpointConfig *config, uint64_t from_seq, fa_error *err);
int ombus_endpoint_poll(ombus_endpoint *ep, OmBusRecord *record, fa_error *err);
int ombus_endpoint_poll_batch(ombus_endpoint *ep, OmBusRecord *records, size_t limit, fa_error *err);
void ombus_record_gather(const OmBusRecord *records, size_t count, char *to);
int ombus_endpoint_close(ombus_endpoint *ep, fa_error *err);

typedef struct ombus_monitor_seen {
    uint64_t tail;
    uint64_t wal_seq;
    uint64_t behind;
    uint64_t since_ns;
    uint64_t stale;
} ombus_monitor_seen;

typedef struct ombus_monitor {
    ombus_shm shm;
    ombus_monitor_seen *seen;
    ...;
} ombus_monitor;

int ombus_monitor_open(ombus_monitor *monitor, const char *directory, const char *name, fa_error *err);
int ombus_monitor_look(ombus_monitor *monitor, uint64_t now_ns, uint64_t stale_ns, fa_error *err);
int ombus_monitor_release(ombus_monitor *monitor, uint32_t consumer, fa_error *err);
int ombus_monitor_close(ombus_monitor *monitor, fa_error *err);

typedef struct OmWalConfig {
    const char *filename;
    uint64_t file_size;
    uint32_t sync_every;
    uint32_t flags;
} OmWalConfig;

typedef struct ombus_wal {
    uint64_t offset;
    uint64_t next_seq;
    uint64_t synced;
    uint64_t unsynced;
    uint64_t file_size;
    uint64_t rolls;
    uint32_t number;
    ...;
} ombus_wal;

int ombus_wal_open(ombus_wal *wal, const OmWalConfig *config, fa_error *err);
int ombus_wal_append(ombus_wal *wal, uint8_t type, const char *payload, size_t length, uint64_t *seq, fa_error *err);
int ombus_wal_append_batch(ombus_wal *wal, OmBusRecord *records, size_t count, size_t *done, fa_error *err);
int ombus_wal_sync(ombus_wal *wal, fa_error *err);
int ombus_wal_close(ombus_wal *wal, fa_error *err);

typedef struct ombus_replay { ...; } ombus_replay;

int ombus_replay_open(ombus_replay *replay, const char *path, uint64_t from, uint64_t to, fa_error *err);
int ombus_replay_next(ombus_replay *replay, OmBusRecord *records, size_t limit, fa_error *err);
void ombus_replay_close(ombus_replay *replay);

typedef struct ombus_speed {
    const char *directory;
    uint64_t figures;
    uint64_t batch;
    uint64_t length;
    uint64_t group;
    uint32_t slot_size;
    uint32_t capacity;
    uint32_t flags;
    uint32_t zero_copy;
    int cpu_near;
    int cpu_far;
    uint64_t deadline_ns;
} ombus_speed;

int ombus_speed_local(const ombus_speed *plan, double *figures, fa_error *err);
int ombus_speed_across(const ombus_speed *plan, double *figures, fa_error *err);
int ombus_speed_round_trip(const ombus_speed *plan, double *figures, fa_error *err);
int ombus_speed_wal(const ombus_speed *plan, double *figures, fa_error *err);
