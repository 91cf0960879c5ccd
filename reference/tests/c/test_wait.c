/*
 * Two threads answer each other over two queues in the directory given, and sleep before every answer: one lost wake-up is one
 * sleep that ends late. A third waits for both queues at once.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chronicle/chronicle.h"
#include "fa_core.h"
#include "one_map.h"

#define ROUNDS 3000u
#define SEGMENT 65536u
#define PATIENCE_NS 60000000000u

static char there[512], back[512];

static void must(int status, const fa_error *err)
{
    if (status < 0) {
        (void)fprintf(stderr, "%s: %s\n", err->where, err->message);
        abort();
    }
}

static uint64_t next(chronicle_reader *reader)
{
    chronicle_record record;
    fa_error err;
    size_t count = 0;
    int end;
    for (;;) {
        must(chronicle_reader_read(reader, &record, 1, &count, &end, &err), &err);
        if (count == 1) {
            return record.seq;
        }
        const int found = chronicle_reader_wait(reader, PATIENCE_NS, &err);
        must(found, &err);
        assert(found == 1);
    }
}

static void open_reader(chronicle_reader *reader, const char *queue, const char *name)
{
    fa_error err;
    must(chronicle_reader_open(reader, queue, name, 0, &err), &err);
    chronicle_reader_set_wait(reader, CHRONICLE_WAIT_HYBRID, 0);
}

static void *answer(void *own)
{
    chronicle_reader reader;
    fa_error err;
    uint64_t seq;
    open_reader(&reader, there, "answer");
    for (uint64_t round = 0; round < ROUNDS; round++) {
        assert(next(&reader) == round);
        must(chronicle_writer_append(own, 1, 0, "answer", 6, &seq, &err), &err);
    }
    assert(reader.late == 0);
    must(chronicle_reader_close(&reader, &err), &err);
    return NULL;
}

static void *watch(void *nothing)
{
    chronicle_reader readers[2];
    chronicle_reader *const both[] = {&readers[0], &readers[1]};
    chronicle_record record[8];
    fa_error err;
    uint64_t seen = 0;
    open_reader(&readers[0], there, "watch");
    open_reader(&readers[1], back, "watch");
    while (seen < 2 * ROUNDS) {
        for (size_t i = 0; i < 2; i++) {
            size_t count;
            int end;
            must(chronicle_reader_read(both[i], record, 8, &count, &end, &err), &err);
            seen += count;
        }
        if (seen < 2 * ROUNDS) {
            must(chronicle_reader_wait_any(both, 2, PATIENCE_NS, &err), &err);
        }
    }
    assert(readers[0].late == 0);
    must(chronicle_reader_close(&readers[0], &err), &err);
    must(chronicle_reader_close(&readers[1], &err), &err);
    return nothing;
}

int main(int argc, char **argv)
{
    chronicle_writer asks, answers;
    chronicle_reader reader;
    pthread_t threads[2];
    fa_error err;
    uint64_t seq;
    assert(argc == 2);
    (void)snprintf(there, sizeof there, "%s/there", argv[1]);
    (void)snprintf(back, sizeof back, "%s/back", argv[1]);
    must(chronicle_writer_open(&asks, there, SEGMENT, &err), &err);
    must(chronicle_writer_open(&answers, back, SEGMENT, &err), &err);
    open_reader(&reader, back, "ask");
    assert(pthread_create(&threads[0], NULL, answer, &answers) == 0 && pthread_create(&threads[1], NULL, watch, NULL) == 0);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        must(chronicle_writer_append(&asks, 1, 0, "question", 8, &seq, &err), &err);
        assert(next(&reader) == round);
    }
    assert(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
    assert(reader.late == 0);
    must(chronicle_reader_close(&reader, &err), &err);
    must(chronicle_writer_close(&asks, &err), &err);
    must(chronicle_writer_close(&answers, &err), &err);
    puts("ok");
    return 0;
}
