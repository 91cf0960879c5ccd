/*
 * Bytes of the queue's files in the directory given are changed at random; readers and a writer then open it. Whatever they
 * answer, they must end, and the sanitizer must stay silent. SEED ROUNDS follow the directory.
 */
#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chronicle/chronicle.h"
#include "fa_core.h"

#define SEGMENT 1024u
#define READS 500

static uint64_t state;

static uint32_t chance(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void remove_all(const char *path)
{
    char inside[1024];
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        (void)snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (unlink(inside) != 0) {
            remove_all(inside);
        }
    }
    (void)closedir(directory);
    (void)rmdir(path);
}

static void make(const char *queue)
{
    chronicle_writer writer;
    chronicle_reader reader;
    chronicle_record records[4];
    unsigned char payload[256];
    fa_error err;
    uint64_t seq;
    size_t count;
    int end;
    assert(chronicle_writer_open(&writer, queue, SEGMENT, &err) == 0);
    for (unsigned i = 0; i < 20; i++) {
        memset(payload, (int)i, sizeof payload);
        assert(chronicle_writer_append(&writer, 1, 0, payload, i * 37 % 256, &seq, &err) == 0);
        assert(i != 9 || chronicle_flush_sync(&writer, &err) == 0);
    }
    assert(chronicle_reader_open(&reader, queue, "r", 0, &err) == 0);
    assert(chronicle_reader_read(&reader, records, 4, &count, &end, &err) == 0 && count > 0);
    assert(chronicle_reader_commit(&reader, records[0].next_segment, records[0].next_offset, &err) == 0);
    assert(chronicle_reader_close(&reader, &err) == 0 && chronicle_writer_close(&writer, &err) == 0);
}

static void damage(const char *queue)
{
    static const char *const names[] = {"control.meta", "000000000.q", "000000001.q", "000000002.q", "000000003.q", "readers/r.meta", "index.meta"};
    static const off_t hot[] = {0, 4, 8, 12, 16, 24, 60, 64, 65, 66, 67, 72, 88, 92, 128, 256};
    char path[1024];
    for (uint32_t times = 1 + chance(3); times > 0; times--) {
        (void)snprintf(path, sizeof path, "%s/%s", queue, names[chance(sizeof names / sizeof names[0])]);
        const int fd = open(path, O_RDWR);
        if (fd < 0) {
            continue;
        }
        const unsigned char byte = (unsigned char)(chance(3) == 0 ? 0 : chance(256));
        const off_t at = chance(2) == 0 ? hot[chance(sizeof hot / sizeof hot[0])] : (off_t)chance(1024);
        assert(pwrite(fd, &byte, 1, at) == 1);
        (void)close(fd);
    }
}

static void read_all(const char *queue, const char *name)
{
    chronicle_reader reader;
    chronicle_record records[8];
    fa_error err;
    size_t count;
    int end = 0, reads = 0;
    volatile unsigned sum = 0;
    if (chronicle_reader_open(&reader, queue, name, 0, &err) != 0) {
        return;
    }
    chronicle_writer_status writer;
    uint64_t granted;
    (void)chronicle_status_disconnect(&reader, 1000000000, &err);
    (void)chronicle_status_writer(&reader, 1000000000, &writer, &err);
    if (chance(2) == 0) {
        (void)chronicle_seek_number(&reader, chance(20), &granted, &err);
        (void)chronicle_seek_time(&reader, (uint64_t)chance(3) << 60, &granted, &err);
    }
    while (!end && chronicle_reader_read(&reader, records, 8, &count, &end, &err) == 0) {
        for (size_t i = 0; i < count; i++) {
            for (uint32_t k = 0; k < records[i].length; k++) {
                sum += ((const unsigned char *)records[i].payload)[k];
            }
        }
        assert(++reads < READS);
    }
    (void)chronicle_reader_close(&reader, &err);
}

int main(int argc, char **argv)
{
    char queue[512];
    assert(argc == 4);
    state = strtoull(argv[2], NULL, 10);
    (void)snprintf(queue, sizeof queue, "%s/queue", argv[1]);
    for (long rounds = strtol(argv[3], NULL, 10); rounds > 0; rounds--) {
        chronicle_writer writer;
        fa_error err;
        uint64_t seq;
        make(queue);
        damage(queue);
        read_all(queue, "r");
        if (chronicle_writer_open(&writer, queue, SEGMENT, &err) == 0) {
            chronicle_standing_of told[4];
            chronicle_retained retained;
            assert(chronicle_writer_append(&writer, 1, 0, "after", 5, &seq, &err) == 0);
            (void)chronicle_flush_async(&writer, &err);
            if (chance(4) == 0) {
                (void)chronicle_writer_retain(&writer, told, 4, &retained, &err);
            }
            assert(chronicle_writer_close(&writer, &err) == 0);
        }
        read_all(queue, "r");
        read_all(queue, "new");
        remove_all(queue);
    }
    puts("ok");
    return 0;
}
