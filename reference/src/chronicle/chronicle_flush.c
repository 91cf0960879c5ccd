#include "chronicle/chronicle_flush.h"

#include "chronicle/chronicle_index.h"
#include "fa_persist.h"

/* One that was left since the last flush. */
static int chronicle_flush_segment(const chronicle_writer *writer, uint32_t id, bool durable, fa_error *err)
{
    char name[CHRONICLE_SEGMENT_NAME];
    chronicle_segment_name(name, id, "");
    fa_error why = {0};
    const int fd = fa_persist_open(chronicle_flush_open, writer->dirfd, name, O_RDWR | O_NOFOLLOW, 0, &why);
    if (fd < 0) { /* a segment that was deleted has nothing to lose */
        return fa_error_class_in(fd) == FA_MISSING ? 0 : fa_pass(err, &why);
    }
    const int status = durable ? fa_persist_fdatasync(chronicle_flush_sealed, fd, err) : fa_persist_write_back(chronicle_flush_async, fd, err);
    (void)close(fd);
    return status;
}

int chronicle_flush_async(chronicle_writer *writer, fa_error *err)
{
    int status = 0;
    if (writer->segment.map == NULL) {
        return fa_fail(err, FA_CLOSED, 0, "chronicle_flush_async", "the writer is closed");
    }
    if (FA_MUTANT(chronicle_async_idle)) {
        return 0;
    }
    for (uint32_t id = writer->unsynced; id < writer->segment.id && status == 0; id++) {
        status = chronicle_flush_segment(writer, id, false, err);
    }
    /* msync(MS_ASYNC) would be the classic way, and does nothing on Linux: pages are dirty already. */
    return status != 0 ? status : fa_persist_write_back(chronicle_flush_async, writer->segment.fd, err);
}

/* Data before names before the checkpoint: what index.meta says is durable is so already. */
int chronicle_flush_sync(chronicle_writer *writer, fa_error *err)
{
    int status = 0;
    if (writer->segment.map == NULL) {
        return fa_fail(err, FA_CLOSED, 0, "chronicle_flush_sync", "the writer is closed");
    }
    if (FA_MUTANT(chronicle_flush_unsynced)) {
        return 0;
    }
    for (uint32_t id = writer->unsynced; id < writer->segment.id && status == 0; id++) {
        status = FA_MUTANT(chronicle_flush_partial) ? 0 : chronicle_flush_segment(writer, id, true, err);
    }
    if (status == 0) {
        status = fa_persist_fdatasync(chronicle_flush_current, writer->segment.fd, err);
    }
    if (status == 0) {
        status = fa_persist_fdatasync(chronicle_flush_control, writer->control.fd, err);
    }
    if (status == 0 && writer->names_unsynced != 0) {
        status = fa_persist_fsync_dir(chronicle_flush_names, writer->dirfd, err);
    }
    if (status != 0) {
        return status;
    }
    writer->names_unsynced = 0;
    writer->unsynced = writer->segment.id;
    const uint64_t reached = FA_MUTANT(chronicle_index_ahead) ? writer->segment_size : writer->offset;
    return chronicle_index_write(writer->dirfd, &writer->index, writer->segment.id, reached, writer->next_seq, err);
}
