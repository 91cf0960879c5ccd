/*
 * COM: entries, index.bin, comet.state, offsets.state. Little-endian.
 * An entry n is visible if and only if n < current_entry of the index. A file record is path_len, the path, then the span.
 * A group slot belongs to a group if and only if its state word says so; it is claimed by compare-and-swap.
 */
#ifndef FA_LAYOUT_COMET_H
#define FA_LAYOUT_COMET_H

#include <stdint.h>

#include "layout/fa_layout.h"

#define COMET_INDEX_MAGIC 0x434F4D54u
#define COMET_INDEX_VERSION 1u
#define COMET_OFFSETS_MAGIC 0xC0FE0FF5u
#define COMET_OFFSETS_VERSION 1u
#define COMET_OFFSETS_GROUPS 512u

typedef struct comet_entry_header {
    uint32_t length;
    uint64_t timestamp;
} __attribute__((packed)) comet_entry_header;

typedef struct comet_index_header {
    uint32_t magic;
    uint32_t version;
    uint64_t current_entry;
    uint64_t write_offset;
    uint32_t consumer_count;
    uint32_t node_count;
    uint32_t file_count;
} __attribute__((packed)) comet_index_header;

typedef struct comet_index_node {
    uint64_t entry;
    uint32_t file_index;
    uint64_t byte_offset;
} __attribute__((packed)) comet_index_node;

typedef struct comet_file_path {
    uint16_t path_len;
} comet_file_path;

typedef struct comet_file_span {
    uint64_t start_offset;
    uint64_t end_offset;
    uint64_t start_entry;
    uint64_t entry_count;
    uint64_t start_time;
    uint64_t end_time;
} comet_file_span;

typedef struct comet_offsets_header {
    uint32_t version;
    uint32_t magic;
    uint8_t reserved[56];
} comet_offsets_header;

typedef struct comet_offsets_entry {
    char name[48];
    uint64_t offset;
    uint64_t last_update;
    uint64_t ack_count;
    uint64_t state;
    uint8_t reserved[48];
} comet_offsets_entry;

typedef struct comet_state {
    uint64_t version;
    uint64_t write_offset;
    uint64_t last_entry_number;
    uint64_t last_index_update;
    uint64_t active_file_index;
    uint64_t file_size;
    uint64_t last_file_sequence;
    uint8_t reserved_56[8];
    uint64_t total_entries;
    uint64_t total_bytes;
    uint64_t total_writes;
    uint64_t last_write_nanos;
    uint64_t current_batch_size;
    uint64_t total_batches;
    uint64_t failed_writes;
    uint8_t reserved_120[8];
    uint64_t total_compressed;
    uint64_t compressed_entries;
    uint64_t skipped_compression;
    uint64_t compression_ratio;
    uint64_t compression_time;
    uint8_t reserved_168[24];
    uint64_t write_latency_sum;
    uint64_t write_latency_count;
    uint64_t min_write_latency;
    uint64_t max_write_latency;
    uint64_t sync_latency_nanos;
    uint8_t reserved_232[24];
    uint64_t files_created;
    uint64_t files_deleted;
    uint64_t file_rotations;
    uint64_t rotation_time;
    uint64_t current_files;
    uint64_t total_file_bytes;
    uint64_t failed_rotations;
    uint64_t sync_count;
    uint64_t checkpoint_count;
    uint64_t last_checkpoint;
    uint64_t checkpoint_time;
    uint64_t index_persist_count;
    uint64_t index_persist_errors;
    uint64_t index_size_bytes;
    uint64_t binary_index_nodes;
    uint8_t reserved_376[8];
    uint64_t active_readers;
    uint64_t total_readers;
    uint64_t max_consumer_lag;
    uint64_t total_entries_read;
    uint64_t consumer_groups;
    uint64_t acked_entries;
    uint64_t reader_cache_hits;
    uint8_t reserved_440[8];
    uint64_t error_count;
    uint64_t last_error_nanos;
    uint64_t corruption_detected;
    uint64_t recovery_attempts;
    uint64_t recovery_successes;
    uint64_t partial_writes;
    uint64_t read_errors;
    uint8_t reserved_504[8];
    uint64_t retention_runs;
    uint64_t last_retention;
    uint64_t retention_time;
    uint64_t entries_deleted;
    uint64_t bytes_reclaimed;
    uint64_t oldest_entry;
    uint64_t retention_errors;
    uint64_t protected_by_consumers;
    uint8_t reserved_576[192];
    uint64_t reader_file_maps;
    uint64_t reader_file_unmaps;
    uint64_t reader_cache_bytes;
    uint64_t reader_mapped_files;
    uint64_t reader_file_remaps;
    uint64_t reader_cache_evicts;
    uint8_t reserved_816[208];
} comet_state;

#define COMET_LAYOUT(SIZE, FIELD)                      \
    SIZE(comet_entry_header, 12)                       \
    FIELD(comet_entry_header, length, 0, 4)            \
    FIELD(comet_entry_header, timestamp, 4, 8)         \
    SIZE(comet_index_header, 36)                       \
    FIELD(comet_index_header, magic, 0, 4)             \
    FIELD(comet_index_header, version, 4, 4)           \
    FIELD(comet_index_header, current_entry, 8, 8)     \
    FIELD(comet_index_header, write_offset, 16, 8)     \
    FIELD(comet_index_header, consumer_count, 24, 4)   \
    FIELD(comet_index_header, node_count, 28, 4)       \
    FIELD(comet_index_header, file_count, 32, 4)       \
    SIZE(comet_index_node, 20)                         \
    FIELD(comet_index_node, entry, 0, 8)               \
    FIELD(comet_index_node, file_index, 8, 4)          \
    FIELD(comet_index_node, byte_offset, 12, 8)        \
    SIZE(comet_file_path, 2)                           \
    FIELD(comet_file_path, path_len, 0, 2)             \
    SIZE(comet_file_span, 48)                          \
    FIELD(comet_file_span, start_offset, 0, 8)         \
    FIELD(comet_file_span, end_offset, 8, 8)           \
    FIELD(comet_file_span, start_entry, 16, 8)         \
    FIELD(comet_file_span, entry_count, 24, 8)         \
    FIELD(comet_file_span, start_time, 32, 8)          \
    FIELD(comet_file_span, end_time, 40, 8)            \
    SIZE(comet_offsets_header, 64)                     \
    FIELD(comet_offsets_header, version, 0, 4)         \
    FIELD(comet_offsets_header, magic, 4, 4)           \
    FIELD(comet_offsets_header, reserved, 8, 56)       \
    SIZE(comet_offsets_entry, 128)                     \
    FIELD(comet_offsets_entry, name, 0, 48)            \
    FIELD(comet_offsets_entry, offset, 48, 8)          \
    FIELD(comet_offsets_entry, last_update, 56, 8)     \
    FIELD(comet_offsets_entry, ack_count, 64, 8)       \
    FIELD(comet_offsets_entry, state, 72, 8)           \
    FIELD(comet_offsets_entry, reserved, 80, 48)       \
    SIZE(comet_state, 1024)                            \
    FIELD(comet_state, version, 0, 8)                  \
    FIELD(comet_state, write_offset, 8, 8)             \
    FIELD(comet_state, last_entry_number, 16, 8)       \
    FIELD(comet_state, last_index_update, 24, 8)       \
    FIELD(comet_state, active_file_index, 32, 8)       \
    FIELD(comet_state, file_size, 40, 8)               \
    FIELD(comet_state, last_file_sequence, 48, 8)      \
    FIELD(comet_state, reserved_56, 56, 8)             \
    FIELD(comet_state, total_entries, 64, 8)           \
    FIELD(comet_state, total_bytes, 72, 8)             \
    FIELD(comet_state, total_writes, 80, 8)            \
    FIELD(comet_state, last_write_nanos, 88, 8)        \
    FIELD(comet_state, current_batch_size, 96, 8)      \
    FIELD(comet_state, total_batches, 104, 8)          \
    FIELD(comet_state, failed_writes, 112, 8)          \
    FIELD(comet_state, reserved_120, 120, 8)           \
    FIELD(comet_state, total_compressed, 128, 8)       \
    FIELD(comet_state, compressed_entries, 136, 8)     \
    FIELD(comet_state, skipped_compression, 144, 8)    \
    FIELD(comet_state, compression_ratio, 152, 8)      \
    FIELD(comet_state, compression_time, 160, 8)       \
    FIELD(comet_state, reserved_168, 168, 24)          \
    FIELD(comet_state, write_latency_sum, 192, 8)      \
    FIELD(comet_state, write_latency_count, 200, 8)    \
    FIELD(comet_state, min_write_latency, 208, 8)      \
    FIELD(comet_state, max_write_latency, 216, 8)      \
    FIELD(comet_state, sync_latency_nanos, 224, 8)     \
    FIELD(comet_state, reserved_232, 232, 24)          \
    FIELD(comet_state, files_created, 256, 8)          \
    FIELD(comet_state, files_deleted, 264, 8)          \
    FIELD(comet_state, file_rotations, 272, 8)         \
    FIELD(comet_state, rotation_time, 280, 8)          \
    FIELD(comet_state, current_files, 288, 8)          \
    FIELD(comet_state, total_file_bytes, 296, 8)       \
    FIELD(comet_state, failed_rotations, 304, 8)       \
    FIELD(comet_state, sync_count, 312, 8)             \
    FIELD(comet_state, checkpoint_count, 320, 8)       \
    FIELD(comet_state, last_checkpoint, 328, 8)        \
    FIELD(comet_state, checkpoint_time, 336, 8)        \
    FIELD(comet_state, index_persist_count, 344, 8)    \
    FIELD(comet_state, index_persist_errors, 352, 8)   \
    FIELD(comet_state, index_size_bytes, 360, 8)       \
    FIELD(comet_state, binary_index_nodes, 368, 8)     \
    FIELD(comet_state, reserved_376, 376, 8)           \
    FIELD(comet_state, active_readers, 384, 8)         \
    FIELD(comet_state, total_readers, 392, 8)          \
    FIELD(comet_state, max_consumer_lag, 400, 8)       \
    FIELD(comet_state, total_entries_read, 408, 8)     \
    FIELD(comet_state, consumer_groups, 416, 8)        \
    FIELD(comet_state, acked_entries, 424, 8)          \
    FIELD(comet_state, reader_cache_hits, 432, 8)      \
    FIELD(comet_state, reserved_440, 440, 8)           \
    FIELD(comet_state, error_count, 448, 8)            \
    FIELD(comet_state, last_error_nanos, 456, 8)       \
    FIELD(comet_state, corruption_detected, 464, 8)    \
    FIELD(comet_state, recovery_attempts, 472, 8)      \
    FIELD(comet_state, recovery_successes, 480, 8)     \
    FIELD(comet_state, partial_writes, 488, 8)         \
    FIELD(comet_state, read_errors, 496, 8)            \
    FIELD(comet_state, reserved_504, 504, 8)           \
    FIELD(comet_state, retention_runs, 512, 8)         \
    FIELD(comet_state, last_retention, 520, 8)         \
    FIELD(comet_state, retention_time, 528, 8)         \
    FIELD(comet_state, entries_deleted, 536, 8)        \
    FIELD(comet_state, bytes_reclaimed, 544, 8)        \
    FIELD(comet_state, oldest_entry, 552, 8)           \
    FIELD(comet_state, retention_errors, 560, 8)       \
    FIELD(comet_state, protected_by_consumers, 568, 8) \
    FIELD(comet_state, reserved_576, 576, 192)         \
    FIELD(comet_state, reader_file_maps, 768, 8)       \
    FIELD(comet_state, reader_file_unmaps, 776, 8)     \
    FIELD(comet_state, reader_cache_bytes, 784, 8)     \
    FIELD(comet_state, reader_mapped_files, 792, 8)    \
    FIELD(comet_state, reader_file_remaps, 800, 8)     \
    FIELD(comet_state, reader_cache_evicts, 808, 8)    \
    FIELD(comet_state, reserved_816, 816, 208)

COMET_LAYOUT(FA_LAYOUT_ASSERT_SIZE, FA_LAYOUT_ASSERT_FIELD)

#endif
