#include "chronicle/chronicle_status.h"

#include "chronicle/chronicle_clock.h"
#include "chronicle/chronicle_lock.h"
#include "fa_atomics.h"

int chronicle_status_writer(const chronicle_reader *reader, uint64_t ttl_ns, chronicle_writer_status *out, fa_error *err)
{
    bool lives = false;
    if (reader->control.block == NULL) {
        return fa_fail(err, FA_CLOSED, 0, "chronicle_status_writer", "the reader is closed");
    }
    const int status = chronicle_lock_look(reader->dirfd, &out->pid, &lives, err);
    if (status != 0) {
        return status;
    }
    const uint64_t now = chronicle_clock_wall_ns();
    out->epoch = FA_LOAD_RELAXED(&reader->control.block->writer_epoch);
    out->heartbeat_ns = FA_LOAD_RELAXED(&reader->control.block->writer_heartbeat_ns);
    out->age_ns = now > out->heartbeat_ns ? now - out->heartbeat_ns : 0;
    const bool fresh = out->age_ns <= ttl_ns;
    out->state = !lives && !FA_MUTANT(chronicle_lock_unseen)   ? CHRONICLE_WRITER_LOST
                 : fresh || FA_MUTANT(chronicle_stale_unseen) ? CHRONICLE_WRITER_ACTIVE
                                                              : CHRONICLE_WRITER_STALE;
    return 0;
}

int chronicle_status_disconnect(const chronicle_reader *reader, uint64_t ttl_ns, fa_error *err)
{
    static const int reasons[] = {CHRONICLE_CONNECTED, CHRONICLE_HEARTBEAT_STALE, CHRONICLE_LOCK_LOST};
    chronicle_writer_status writer;
    bool gone = false;
    int status = chronicle_status_writer(reader, ttl_ns, &writer, err);
    if (status == 0) {
        status = chronicle_reader_gone(reader, &gone, err);
    }
    if (status != 0) {
        return status;
    }
    return gone ? CHRONICLE_SEGMENT_MISSING : reasons[writer.state];
}
