#include "chronicle/chronicle_warm.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include "chronicle/chronicle_record.h"
#include "fa_persist.h"

#define CHRONICLE_WARM_CHUNK (256u * 1024) /* written in some 40 us, once in 2000 small records */

bool chronicle_warm_in_memory(int dirfd)
{
    struct statfs found;
    return fstatfs(dirfd, &found) == 0 && (found.f_type == TMPFS_MAGIC || found.f_type == RAMFS_MAGIC);
}

static int chronicle_warm_chunk(const chronicle_segment *segment, bool in_memory, uint64_t from, uint64_t to, fa_error *err)
{
    static unsigned char zeros[CHRONICLE_WARM_CHUNK];
    const uint64_t fresh = from < CHRONICLE_RECORD_FIRST ? CHRONICLE_RECORD_FIRST : from;
    int status = fa_persist_pwrite_all(chronicle_warm_pwrite, segment->fd, zeros, to - fresh, (off_t)fresh, err);
    if (status == 0) {
        status = fa_persist_populate(chronicle_warm_populate, segment->map + from, to - from, in_memory ? MADV_POPULATE_READ : MADV_POPULATE_WRITE, err);
    }
    return status;
}

int chronicle_warm_to(const chronicle_segment *segment, bool in_memory, uint64_t needed, uint64_t *end, fa_error *err)
{
    while (*end < needed) {
        const uint64_t left = segment->size - *end, next = *end + (left < CHRONICLE_WARM_CHUNK ? left : CHRONICLE_WARM_CHUNK);
        const int status = chronicle_warm_chunk(segment, in_memory, *end, next, err);
        if (status != 0) {
            return status;
        }
        *end = next;
    }
    return 0;
}
