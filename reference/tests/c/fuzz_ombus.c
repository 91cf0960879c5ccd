/*
 * Bytes of a stream's object and of a WAL's files in the directory given are changed at random; then they are polled, watched,
 * replayed and gone on with. Whatever the answers, they must end, and the sanitizer must stay silent. SEED ROUNDS follow.
 */
#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fa_core.h"
#include "ombus/ombus.h"

#define CAPACITY 8u
#define SLOT_SIZE 64u
#define NAME "/object"
#define FILE_SIZE 1024u

static uint64_t state;

static uint32_t chance(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static unsigned look_at(const OmBusRecord *record)
{
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < record->payload_len; i++) {
        sum += ((const unsigned char *)record->payload)[i];
    }
    return sum;
}

static void change(const char *path, const off_t *hot, uint32_t hots)
{
    struct stat found;
    const int fd = open(path, O_RDWR);
    if (fd < 0) {
        return;
    }
    assert(fstat(fd, &found) == 0 && found.st_size > 0);
    for (uint32_t times = 1 + chance(4); times > 0; times--) {
        const unsigned char byte = (unsigned char)(chance(4) == 0 ? 0 : chance(256));
        const off_t at = chance(2) == 0 ? hot[chance(hots)] : (off_t)chance((uint32_t)found.st_size);
        assert(at >= found.st_size || pwrite(fd, &byte, 1, at) == 1);
    }
    if (chance(8) == 0) {
        assert(ftruncate(fd, (off_t)chance((uint32_t)found.st_size)) == 0);
    }
    assert(close(fd) == 0);
}

/* What a producer leaves that dies: a copy of its object, since its own destroy removes it. */
static void make_object(const char *place, const char *path)
{
    const OmBusStreamConfig config = {.stream_name = NAME, .capacity = CAPACITY, .slot_size = SLOT_SIZE, .max_consumers = 3, .flags = chance(2)};
    unsigned char bytes[4096 + 3 * 64 + CAPACITY * SLOT_SIZE];
    ombus_stream stream;
    fa_error err;
    assert(ombus_stream_create(&stream, place, &config, &err) == 0);
    for (uint64_t seq = 1; seq <= 5 + chance(12); seq++) {
        assert(ombus_stream_publish(&stream, seq, 1, "a payload of some bytes", chance(23), &err) == 0);
    }
    memcpy(bytes, stream.shm.map, sizeof bytes);
    assert(ombus_stream_destroy(&stream, &err) == 0);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert(fd >= 0 && write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes && close(fd) == 0);
}

static void use_object(const char *place)
{
    const OmBusEndpointConfig config = {.stream_name = NAME, .consumer_index = chance(4), .zero_copy = chance(2) == 0};
    ombus_endpoint ep;
    ombus_monitor monitor;
    OmBusRecord records[5];
    fa_error err;
    if (ombus_endpoint_open(&ep, place, &config, chance(3) == 0 ? OM_BUS_FROM_TAIL : chance(20), &err) == 0) {
        for (int i = 0; i < 60; i++) {
            const int got = ombus_endpoint_poll_batch(&ep, records, 1 + chance(5), &err);
            for (int k = 0; k < (got == OM_ERR_BUS_GAP_DETECTED ? 1 : got); k++) {
                (void)look_at(&records[k]);
            }
        }
        assert(ombus_endpoint_close(&ep, &err) == 0);
    }
    if (ombus_monitor_open(&monitor, place, NAME, &err) == 0) {
        (void)ombus_monitor_look(&monitor, 1, 0, &err);
        (void)ombus_monitor_release(&monitor, chance(4), &err);
        assert(ombus_monitor_close(&monitor, &err) == 0);
    }
}

static void object(const char *place)
{
    static const off_t hot[] = {0, 4, 8, 9, 10, 11, 12, 13, 15, 16, 17, 19, 20, 24, 31, 32, 39, 104, 4096, 4103, 4104, 4288, 4296, 4305, 4306, 4307, 4352};
    char path[4096];
    ombus_stream stream;
    fa_error err;
    const OmBusStreamConfig config = {.stream_name = NAME, .capacity = CAPACITY, .slot_size = SLOT_SIZE};
    (void)snprintf(path, sizeof path, "%s%s", place, NAME);
    make_object(place, path);
    change(path, hot, sizeof hot / sizeof hot[0]);
    use_object(place);
    assert(ombus_stream_create(&stream, place, &config, &err) == 0); /* whatever the file is, the name can be taken over */
    assert(ombus_stream_destroy(&stream, &err) == 0);
}

static void replay(const char *pattern)
{
    ombus_replay reader;
    OmBusRecord records[7];
    fa_error err;
    int got, calls = 0;
    if (ombus_replay_open(&reader, pattern, chance(30), chance(2) == 0 ? 0 : chance(40), &err) != 0) {
        return;
    }
    while ((got = ombus_replay_next(&reader, records, 1 + chance(7), &err)) > 0) {
        for (int i = 0; i < got; i++) {
            (void)look_at(&records[i]);
        }
        assert(++calls < 1000);
    }
    ombus_replay_close(&reader);
}

static void append(const char *pattern, uint64_t count, uint32_t flags)
{
    const OmWalConfig config = {.filename = pattern, .file_size = FILE_SIZE, .flags = flags};
    const unsigned char payload[300] = {1, 2, 3};
    ombus_wal wal;
    fa_error err;
    uint64_t seq;
    if (ombus_wal_open(&wal, &config, &err) != 0) {
        return;
    }
    while (count-- > 0) {
        assert(ombus_wal_append(&wal, 1, payload, chance(300), &seq, &err) == 0);
    }
    if (chance(2) == 0) {
        assert(ombus_wal_close(&wal, &err) == 0);
    } else { /* as a kill would leave it */
        wal.failed = true;
        assert(ombus_wal_close(&wal, &err) == 0);
    }
}

static void wal(const char *place)
{
    static const off_t hot[] = {0, 4, 8, 12, 16, 24, 28, 32, 33, 40, 48, 64, 68, 69, 70, 71, 72};
    char pattern[4096], path[4096];
    (void)snprintf(pattern, sizeof pattern, "%s/wal-%%u", place);
    const uint32_t flags = chance(2);
    append(pattern, 15 + chance(30), flags);
    for (uint32_t times = 1 + chance(2); times > 0; times--) {
        (void)snprintf(path, sizeof path, "%s/wal-%u", place, chance(6));
        change(path, hot, sizeof hot / sizeof hot[0]);
    }
    replay(pattern);
    append(pattern, 3, flags);
    replay(pattern);
    for (unsigned number = 0; number < 64; number++) {
        (void)snprintf(path, sizeof path, "%s/wal-%u", place, number);
        (void)unlink(path);
    }
}

int main(int argc, char **argv)
{
    assert(argc == 4);
    state = strtoull(argv[2], NULL, 10);
    for (long rounds = strtol(argv[3], NULL, 10); rounds > 0; rounds--) {
        object(argv[1]);
        wal(argv[1]);
    }
    puts("ok");
    return 0;
}
