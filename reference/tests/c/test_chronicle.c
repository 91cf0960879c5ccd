/*
 * One writer and two readers of the queue in the directory given, in threads, over many rolls; then a second writer takes over.
 * Beside each writer a sidecar deletes what the readers have left, and beats for all of them.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chronicle/chronicle.h"
#include "fa_core.h"
#include "one_map.h"

#define RECORDS 6000u
#define SEGMENT 4096u

static char queue[512];

static size_t fill(unsigned char *payload, uint64_t number)
{
    const size_t length = (size_t)(number * 37 % 300);
    for (size_t i = 0; i < length; i++) {
        payload[i] = (unsigned char)(number + i);
    }
    return length;
}

static void say(const char *what, const fa_error *err)
{
    (void)fprintf(stderr, "%s: %s: %s\n", what, err->where, err->message);
    abort();
}

static void *read_all(void *name)
{
    chronicle_reader reader;
    chronicle_record records[16];
    unsigned char expected[512];
    fa_error err;
    uint64_t number = 0;
    if (chronicle_reader_open(&reader, queue, name, 0, &err) != 0) {
        say("reader", &err);
    }
    while (number < RECORDS) {
        size_t count;
        int end;
        uint32_t segment;
        uint64_t offset;
        if (chronicle_reader_read(&reader, records, 16, &count, &end, &err) != 0) {
            say("read", &err);
        }
        for (size_t i = 0; i < count; i++, number++) {
            const size_t length = fill(expected, number);
            assert(records[i].seq == number && records[i].length == length && records[i].type_id == 7);
            assert(length == 0 || memcmp(records[i].payload, expected, length) == 0);
        }
        chronicle_reader_heartbeat(&reader);
        if (count > 0) {
            assert(chronicle_reader_commit(&reader, records[count - 1].next_segment, records[count - 1].next_offset, &err) == 0);
        }
        if (end && chronicle_reader_wait(&reader, 1000000000, &err) == 0) {
            (void)sched_yield();
        }
        assert(chronicle_reader_writer_position(&reader, &segment, &offset, &err) == 0);
        assert(offset >= 64 && offset <= SEGMENT && offset % 64 == 0);
    }
    assert(chronicle_reader_close(&reader, &err) == 0 && chronicle_reader_close(&reader, &err) == 0);
    return NULL;
}

static chronicle_writer *tended;

static void *tend(void *stop)
{
    chronicle_retained retained;
    chronicle_standing_of told[4];
    fa_error err;
    while (__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE) == 0) {
        chronicle_writer_heartbeat(tended);
        if (chronicle_writer_retain(tended, told, 4, &retained, &err) != 0) {
            say("retain", &err);
        }
        (void)sched_yield();
    }
    return NULL;
}

static void append_some(chronicle_writer *writer, uint64_t to)
{
    unsigned char payload[512];
    fa_error err;
    uint64_t seq;
    pthread_t sidecar;
    int stop = 0;
    tended = writer;
    assert(pthread_create(&sidecar, NULL, tend, &stop) == 0);
    while (writer->next_seq < to) {
        const uint64_t number = writer->next_seq;
        const size_t length = fill(payload, number);
        if (chronicle_writer_append(writer, 7, 0, payload, length, &seq, &err) != 0) {
            say("append", &err);
        }
        assert(seq == number);
        if (number % 512 == 0) {
            assert(chronicle_flush_sync(writer, &err) == 0);
        }
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    assert(pthread_join(sidecar, NULL) == 0);
}

int main(int argc, char **argv)
{
    chronicle_writer writer, second;
    pthread_t readers[2];
    fa_error err;
    uint64_t seq;
    char first_name[] = "first", second_name[] = "second";
    assert(argc == 2);
    (void)snprintf(queue, sizeof queue, "%s/queue", argv[1]);
    if (chronicle_writer_open(&writer, queue, SEGMENT, &err) != 0) {
        say("writer", &err);
    }
    assert(pthread_create(&readers[0], NULL, read_all, first_name) == 0);
    assert(pthread_create(&readers[1], NULL, read_all, second_name) == 0);
    append_some(&writer, RECORDS / 2);
    assert(fa_error_class_in(chronicle_writer_open(&second, queue, SEGMENT, &err)) == FA_LOCKED);
    assert(fa_error_class_in(chronicle_writer_append(&writer, 0xFFFF, 0, "x", 1, &seq, &err)) == FA_INVALID);
    assert(fa_error_class_in(chronicle_writer_append(&writer, 7, 0, "x", SEGMENT - 127, &seq, &err)) == FA_TOO_LARGE);
    assert(chronicle_writer_close(&writer, &err) == 0 && chronicle_writer_close(&writer, &err) == 0);
    if (chronicle_writer_open(&second, queue, 2 * SEGMENT, &err) != 0) {
        say("second writer", &err);
    }
    assert(second.segment_size == SEGMENT && second.next_seq == RECORDS / 2 && second.epoch == 2);
    append_some(&second, RECORDS);
    assert(pthread_join(readers[0], NULL) == 0 && pthread_join(readers[1], NULL) == 0);
    assert(chronicle_writer_close(&second, &err) == 0);
    assert(fa_error_class_in(chronicle_writer_append(&second, 7, 0, "x", 1, &seq, &err)) == FA_CLOSED);
    puts("ok");
    return 0;
}
