/* For cffi; see chronicle.h. */
typedef struct chronicle_writer {
    uint64_t offset;
    uint64_t next_seq;
    uint64_t segment_size;
    uint64_t epoch;
    uint64_t rolls;
    uint32_t unsynced;
    ...;
} chronicle_writer;

typedef struct chronicle_limits {
    uint64_t max_segments;
    uint64_t ttl_ns;
    uint64_t max_lag;
    uint32_t retains;
    ...;
} chronicle_limits;

typedef struct chronicle_standing_of {
    char name[201];
    uint32_t standing;
    uint32_t segment;
    uint64_t offset;
    uint64_t heartbeat_ns;
    uint64_t lag;
    ...;
} chronicle_standing_of;

typedef struct chronicle_retained {
    uint32_t oldest;
    uint32_t deleted;
    uint32_t busy;
    uint32_t padding;
    uint64_t readers;
} chronicle_retained;

typedef struct chronicle_record {
    const void *payload;
    uint64_t seq;
    uint64_t timestamp_ns;
    uint64_t next_offset;
    uint32_t next_segment;
    uint32_t length;
    uint16_t type_id;
    uint16_t flags;
} chronicle_record;

typedef struct chronicle_reader {
    uint64_t offset;
    uint64_t segment_size;
    uint64_t next_seq;
    uint32_t was_reset;
    uint32_t missing;
    uint64_t late;
    ...;
} chronicle_reader;

typedef struct chronicle_writer_status {
    uint32_t state;
    uint32_t pid;
    uint64_t epoch;
    uint64_t heartbeat_ns;
    uint64_t age_ns;
} chronicle_writer_status;

int chronicle_writer_open(chronicle_writer *writer, const char *path, uint64_t segment_size, fa_error *err);
void chronicle_writer_check_records(chronicle_writer *writer, int checked);
uint64_t chronicle_writer_max_payload(const chronicle_writer *writer);
int chronicle_writer_append(chronicle_writer *writer, uint16_t type_id, uint16_t flags, const char *payload, size_t length, uint64_t *seq,
                            fa_error *err);
int chronicle_writer_append_batch(chronicle_writer *writer, uint16_t type_id, uint16_t flags, const char *payloads, const uint64_t *lengths,
                                  size_t count, uint64_t *seqs, size_t *done, fa_error *err);
int chronicle_writer_append_records(chronicle_writer *writer, const chronicle_record *records, size_t count, size_t *done, fa_error *err);
void chronicle_writer_limit(chronicle_writer *writer, const chronicle_limits *limits);
int chronicle_writer_retain(chronicle_writer *writer, chronicle_standing_of *told, size_t room, chronicle_retained *out, fa_error *err);
int chronicle_flush_async(chronicle_writer *writer, fa_error *err);
int chronicle_flush_sync(chronicle_writer *writer, fa_error *err);
int chronicle_inplace_reserve(chronicle_writer *writer, uint16_t type_id, uint16_t flags, size_t length, void **payload, fa_error *err);
int chronicle_inplace_commit(chronicle_writer *writer, size_t length, uint64_t *seq, fa_error *err);
int chronicle_inplace_abandon(chronicle_writer *writer, fa_error *err);
void chronicle_writer_heartbeat(chronicle_writer *writer);
int chronicle_writer_close(chronicle_writer *writer, fa_error *err);

int chronicle_reader_open(chronicle_reader *reader, const char *path, const char *name, uint64_t local_size, fa_error *err);
int chronicle_reader_read(chronicle_reader *reader, chronicle_record *records, size_t limit, size_t *count, int *end, fa_error *err);
void chronicle_reader_set_wait(chronicle_reader *reader, int strategy, uint64_t nanoseconds);
int chronicle_reader_wait(chronicle_reader *reader, uint64_t timeout_ns, fa_error *err);
int chronicle_reader_wait_any(chronicle_reader *const *readers, size_t count, uint64_t timeout_ns, fa_error *err);
int chronicle_reader_commit(chronicle_reader *reader, uint32_t segment, uint64_t offset, fa_error *err);
int chronicle_reader_seek(chronicle_reader *reader, uint32_t segment, uint64_t offset, fa_error *err);
int chronicle_seek_number(chronicle_reader *reader, uint64_t number, uint64_t *granted, fa_error *err);
int chronicle_seek_time(chronicle_reader *reader, uint64_t timestamp_ns, uint64_t *granted, fa_error *err);
int chronicle_reader_seek_oldest(chronicle_reader *reader, fa_error *err);
void chronicle_reader_where(const chronicle_reader *reader, uint32_t *segment, uint64_t *offset);
void chronicle_reader_heartbeat(chronicle_reader *reader);
int chronicle_reader_writer_position(const chronicle_reader *reader, uint32_t *segment, uint64_t *offset, fa_error *err);
int chronicle_status_writer(const chronicle_reader *reader, uint64_t ttl_ns, chronicle_writer_status *out, fa_error *err);
int chronicle_status_disconnect(const chronicle_reader *reader, uint64_t ttl_ns, fa_error *err);
uint64_t chronicle_reader_writer_epoch(const chronicle_reader *reader);
uint64_t chronicle_reader_writer_heartbeat(const chronicle_reader *reader);
int chronicle_reader_close(chronicle_reader *reader, fa_error *err);
int chronicle_reader_unregister(chronicle_reader *reader, fa_error *err);

void chronicle_record_gather(const chronicle_record *records, size_t count, void *to);

int chronicle_scan_records(const void *map, uint64_t size, uint32_t segment, uint64_t *offset, chronicle_record *records, size_t limit,
                           size_t *count);

typedef struct chronicle_fanin_source {
    chronicle_reader *reader;
    size_t taken;
    size_t count;
    chronicle_record records[64];
} chronicle_fanin_source;

int chronicle_fanin_read(chronicle_fanin_source *const *sources, size_t count, int order, size_t *turn, chronicle_record *records, uint32_t *from,
                         size_t limit, size_t *got, int *end, size_t *bad, fa_error *err);

typedef struct chronicle_speed {
    uint64_t segment_size;
    uint64_t count;
    uint64_t length;
    int cpu_near;
    int cpu_far;
    uint64_t deadline_ns;
} chronicle_speed;

int chronicle_speed_append_and_read(const char *path, const chronicle_speed *plan, double *append_ns, double *read_ns, fa_error *err);
int chronicle_speed_across(const char *path, const chronicle_speed *plan, double *ns, fa_error *err);
int chronicle_speed_wake(const char *path, const chronicle_speed *plan, double *figures, fa_error *err);
