#include "chronicle/chronicle_index.h"

#include "chronicle/chronicle_record.h"
#include "fa_crc32.h"
#include "fa_persist.h"
#include "fa_replace.h"

static uint32_t chronicle_index_sum(const chronicle_index *index) { return fa_crc32(0, index, offsetof(chronicle_index, crc32)); }

int chronicle_index_write(int dirfd, int *fd, uint32_t segment, uint64_t offset, uint64_t next_seq, fa_error *err)
{
    chronicle_index index = {
        .magic = CHRONICLE_INDEX_MAGIC, .version = CHRONICLE_INDEX_VERSION, .segment = segment, .offset = offset, .next_seq = next_seq};
    index.crc32 = chronicle_index_sum(&index);
    if (*fd < 0) { /* by rename, so that nobody finds an empty one; later ones fit into the same sector */
        const int status = fa_replace(dirfd, CHRONICLE_INDEX_NAME, &index, sizeof index, 0, err);
        if (status != 0) {
            return status;
        }
        *fd = fa_persist_open(chronicle_index_open, dirfd, CHRONICLE_INDEX_NAME, O_RDWR | O_NOFOLLOW, 0, err);
        return *fd < 0 ? *fd : 0;
    }
    return fa_persist_pwrite_all(chronicle_index_pwrite, *fd, &index, sizeof index, 0, err);
}

int chronicle_index_read(int dirfd, chronicle_index *index, bool *found, fa_error *err)
{
    fa_error why = {0};
    *found = false;
    const int fd = fa_persist_open(chronicle_index_attach, dirfd, CHRONICLE_INDEX_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &why);
    if (fd < 0) {
        return fa_error_class_in(fd) == FA_MISSING ? 0 : fa_pass(err, &why);
    }
    const ssize_t got = fa_persist_pread_upto(chronicle_index_pread, fd, index, sizeof *index, 0, err);
    (void)close(fd);
    if (got < 0) {
        return (int)got;
    }
    *found = got == (ssize_t)sizeof *index && index->magic == CHRONICLE_INDEX_MAGIC && index->version == CHRONICLE_INDEX_VERSION &&
             index->crc32 == chronicle_index_sum(index) && index->reserved0 == 0 && index->reserved1 == 0 &&
             index->offset % CHRONICLE_RECORD_ALIGN == 0 && index->offset >= CHRONICLE_RECORD_FIRST;
    return 0;
}
