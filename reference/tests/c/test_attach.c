/* Two threads attach the control file given and go through sites while a third attaches again: no race, no lost hit. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#include "fa_core.h"

#define HITS 20000

static const char *control;
static uint64_t word;

static void *work(void *unused)
{
    fa_error err;
    if (fa_failpoint_attach(control, &err) != 0) {
        (void)fprintf(stderr, "%s: %s\n", err.where, err.message);
        assert(0);
    }
    for (int i = 0; i < HITS; i++) {
        (void)fa_probe_fetch_add(&word, 1);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    fa_error err;
    assert(argc == 2);
    control = argv[1];
    for (int i = 0; i < 2; i++) {
        assert(pthread_create(&threads[i], NULL, work, NULL) == 0);
    }
    for (int i = 0; i < 20; i++) {
        assert(fa_failpoint_attach(control, &err) == 0);
    }
    for (int i = 0; i < 2; i++) {
        assert(pthread_join(threads[i], NULL) == 0);
    }
    assert(FA_LOAD_RELAXED(&word) == 2 * HITS);
    assert(fa_failpoint_detach(&err) == 0);
    (void)fa_probe_fetch_add(&word, 1);
    puts("ok");
    return 0;
}
