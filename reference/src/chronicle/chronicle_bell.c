#include "chronicle/chronicle_bell.h"

#include "fa_persist.h"

int chronicle_bell_open(chronicle_bell *bell, const chronicle_control *control, fa_error *err)
{
    void *map = NULL;
    if (control->fd < 0) {
        return fa_fail(err, FA_INVALID, 0, "chronicle_bell_open", "control.meta may not be written by this process");
    }
    const int status = fa_persist_mmap(chronicle_bell_mmap, control->fd, 0, sizeof *bell->block, PROT_READ | PROT_WRITE, &map, err);
    bell->block = map;
    return status;
}

int chronicle_bell_close(chronicle_bell *bell, fa_error *err)
{
    int status = 0;
    if (bell->block != NULL) {
        status = fa_persist_munmap(chronicle_bell_munmap, bell->block, sizeof *bell->block, err);
    }
    *bell = (chronicle_bell){0};
    return status;
}

void chronicle_bell_announce(chronicle_bell *bell)
{
    bell->number = FA_LOAD_ACQUIRE(&bell->block->notify_seq); /* pairs with the release in chronicle_bell_ring */
    FA_STORE_RELAXED(chronicle_announce, &bell->block->waiters_pending, 1);
    FA_FENCE_FULL(); /* with the fence in chronicle_bell_ring */
    if (FA_MUTANT(chronicle_wait_unchecked)) {
        bell->number = FA_LOAD_RELAXED(&bell->block->notify_seq);
    }
}

int chronicle_bell_sleep(const chronicle_bell *bell, uint64_t until_ns, fa_error *err)
{
    return fa_futex_wait(chronicle_sleep, &bell->block->notify_seq, bell->number, until_ns, err);
}

fa_futex_word chronicle_bell_word(const chronicle_bell *bell) { return fa_futex_word_of(&bell->block->notify_seq, bell->number); }

void chronicle_bell_wake(chronicle_control_block *block, uint32_t *number)
{
    if (FA_MUTANT(chronicle_wake_never)) {
        return;
    }
    (void)FA_EXCHANGE(chronicle_lower, &block->waiters_pending, 0); /* no later than the next store: it releases */
    if (!FA_MUTANT(chronicle_wake_lost)) {
        FA_STORE_RELEASE(chronicle_notify, &block->notify_seq, ++*number); /* pairs with the acquire in chronicle_bell_announce */
    }
    (void)fa_futex_wake(chronicle_wake, &block->notify_seq, NULL); /* the record is in the queue whatever comes of it */
}
