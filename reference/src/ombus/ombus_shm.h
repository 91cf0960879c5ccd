/*
 * The shared-memory object of a stream: header page, tails, slots (layout/ombus.h), under its stream's name in a directory.
 *
 * An object is valid if and only if it is a regular file, magic and version match, the capacity is a power of two, slot_size is a
 * multiple of 8 (seq is an atomic word) from 32 to 65,552, there is a consumer, and the file has exactly the size that follows.
 *
 * One producer: it holds an flock on the object while it lives. It makes the new object whole under a temporary name, retires the
 * old one - magic to 0, every tail unregistered - and renames. So a name always leads to a whole object, and who still maps the
 * old one finds its tail gone and then the magic.
 */
#ifndef OMBUS_SHM_H
#define OMBUS_SHM_H

#include <stdbool.h>
#include <stdint.h>

#include "fa_error.h"
#include "layout/ombus.h"

#define OMBUS_SHM_DIRECTORY "/dev/shm"
#define OMBUS_SHM_NAME 64u /* with the final NUL, as in the header */
#define OMBUS_SHM_SLOT_MIN 32u
#define OMBUS_SHM_SLOT_MAX 65552u

typedef struct ombus_shm {
    unsigned char *map; /* the whole object; NULL while nothing is mapped */
    uint64_t size;
    uint64_t incarnation;
    uint32_t slot_size;
    uint32_t capacity;
    uint32_t max_consumers;
    uint32_t flags;
    int fd;    /* the producer's, whose lock is on it, else -1 */
    int dirfd; /* the producer's, else -1 */
    char name[OMBUS_SHM_NAME];
} ombus_shm;

enum ombus_shm_access { OMBUS_SHM_READ, OMBUS_SHM_WRITE };

/* Makes the object named in *shm with its geometry; directory NULL = /dev/shm. What was there under the name is retired. */
int ombus_shm_create(ombus_shm *shm, const char *directory, const char *name, fa_error *err);

/*
 * Maps a valid object, for reading or writing. fd, where it is not NULL, becomes the open descriptor, which the caller closes.
 */
int ombus_shm_attach(ombus_shm *shm, const char *directory, const char *name, int access, int *fd, fa_error *err);

/* Whoever maps it finds that its producer has left. */
void ombus_shm_retire(ombus_shm *shm);
bool ombus_shm_retired(const ombus_shm *shm);

/* Unmaps; the producer's lock goes. With `gone`, the name goes too where it still is this object's. Twice is harmless. */
int ombus_shm_close(ombus_shm *shm, bool gone, fa_error *err);

static inline ombus_shm_header *ombus_shm_header_of(const ombus_shm *shm) { return (ombus_shm_header *)(void *)shm->map; }

static inline ombus_consumer_tail *ombus_shm_tail(const ombus_shm *shm, uint32_t consumer)
{
    return (ombus_consumer_tail *)(void *)(shm->map + sizeof(ombus_shm_header)) + consumer;
}

static inline uint64_t ombus_shm_slots_offset(uint32_t max_consumers)
{
    return sizeof(ombus_shm_header) + (uint64_t)max_consumers * sizeof(ombus_consumer_tail);
}

static inline unsigned char *ombus_shm_slots(const ombus_shm *shm) { return shm->map + ombus_shm_slots_offset(shm->max_consumers); }

#endif
