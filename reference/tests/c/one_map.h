/*
 * Linked with --wrap=mmap --wrap=munmap: all maps of one file are the same map, so that TSan sees writer and readers meet at
 * the same addresses. Without that each thread would have its own, and no race could be found.
 */
#ifndef ONE_MAP_H
#define ONE_MAP_H

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAPS 4096

void *__real_mmap(void *at, size_t length, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t length);
void *__wrap_mmap(void *at, size_t length, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t length);

static struct {
    dev_t device;
    ino_t inode;
    void *map;
} maps[MAPS];
static int mapped;
static pthread_mutex_t maps_lock = PTHREAD_MUTEX_INITIALIZER;

void *__wrap_mmap(void *at, size_t length, int prot, int flags, int fd, off_t offset)
{
    struct stat seen;
    void *found = MAP_FAILED;
    if (fd < 0 || fstat(fd, &seen) != 0) {
        return __real_mmap(at, length, prot, flags, fd, offset);
    }
    assert(pthread_mutex_lock(&maps_lock) == 0);
    for (int i = 0; i < mapped && found == MAP_FAILED; i++) {
        found = maps[i].device == seen.st_dev && maps[i].inode == seen.st_ino ? maps[i].map : MAP_FAILED;
    }
    if (found == MAP_FAILED) {
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        const int writable = open(path, O_RDWR | O_CLOEXEC); /* a reader may come first, and its map is the writer's too */
        assert(writable >= 0 && mapped < MAPS);
        found = __real_mmap(at, length, PROT_READ | PROT_WRITE, flags, writable, offset);
        assert(found != MAP_FAILED);
        (void)close(writable);
        maps[mapped].device = seen.st_dev;
        maps[mapped].inode = seen.st_ino;
        maps[mapped++].map = found;
    }
    assert(pthread_mutex_unlock(&maps_lock) == 0);
    return (char *)found + offset; /* the first map of a file is of all of it */
}

int __wrap_munmap(void *at, size_t length)
{
    (void)at;
    (void)length;
    return 0; /* others may stand in it */
}

#endif
