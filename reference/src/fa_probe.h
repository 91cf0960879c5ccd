/*
 * One function per operation of fa_atomics.h, and one walk over every call of fa_persist.h: the tests count their
 * instructions, arm their sites and check their errors without any system above them.
 */
#ifndef FA_PROBE_H
#define FA_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "fa_error.h"

void fa_probe_store_release(uint64_t *word, uint64_t value);
void fa_probe_store_relaxed(uint64_t *word, uint64_t value);
uint64_t fa_probe_exchange(uint64_t *word, uint64_t value);
int fa_probe_cas(uint64_t *word, uint64_t expected, uint64_t value);
uint64_t fa_probe_fetch_add(uint64_t *word, uint64_t value);
void fa_probe_copy(void *to, const void *from, size_t length);

/* Makes fa_probe in the directory, takes it through every persistence call and removes it. 0, or the first error. */
int fa_probe_persist(int dirfd, fa_error *err);
/* One fa_persist_pwrite_all or write_all, to see what becomes of a short write. */
int fa_probe_pwrite(int fd, const void *bytes, size_t length, fa_error *err);
int fa_probe_write(int fd, const void *bytes, size_t length, fa_error *err);
/* One fa_persist_pread_all, to see what becomes of a file that ends early. */
int fa_probe_pread(int fd, void *bytes, size_t length, fa_error *err);

#endif
