#include "chronicle/chronicle_seek.h"

#include "fa_persist.h"

#define CHRONICLE_SEEK_TRIES 100 /* of a search that retention disturbs */

enum chronicle_seek_key { CHRONICLE_SEEK_NUMBER, CHRONICLE_SEEK_TIME };

typedef struct chronicle_seek_search {
    const chronicle_reader *reader;
    int by;
    uint64_t wanted;
    chronicle_segment segment; /* where it stands; the caller's when it has ended well */
    uint64_t offset;
    uint64_t next; /* number of the record there, or that comes there */
} chronicle_seek_search;

/* The first record of a segment, by its file alone. *found: it has one, and it is no padding. MISSING: retention was faster. */
static int chronicle_seek_first(const chronicle_seek_search *search, uint32_t id, uint64_t *key, bool *found, fa_error *err)
{
    char name[CHRONICLE_SEGMENT_NAME];
    chronicle_message_header header = {0};
    chronicle_segment_name(name, id, "");
    const int fd = fa_persist_open(chronicle_seek_open, search->reader->dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, err);
    if (fd < 0) {
        return fd;
    }
    const ssize_t got = fa_persist_pread_upto(chronicle_seek_pread, fd, &header, sizeof header, CHRONICLE_RECORD_FIRST, err);
    (void)close(fd);
    *found = got == (ssize_t)sizeof header && header.commit_len != 0 && header.type_id != CHRONICLE_TYPE_PAD;
    *key = search->by == CHRONICLE_SEEK_NUMBER ? header.seq : header.timestamp_ns;
    return got < 0 ? (int)got : 0;
}

/* Whether the record that is sought cannot lie before one with that key. */
static bool chronicle_seek_follows(const chronicle_seek_search *search, uint64_t key)
{
    return search->by == CHRONICLE_SEEK_NUMBER ? key <= search->wanted : key < search->wanted;
}

/* The last segment whose first record does not come after what is sought; the oldest where there is none. */
static int chronicle_seek_bisect(const chronicle_seek_search *search, const chronicle_segment_range *range, uint32_t *best, fa_error *err)
{
    int64_t low = range->oldest, high = range->latest;
    *best = range->oldest;
    while (low <= high) {
        const int64_t middle = low + (high - low) / 2;
        bool found = false;
        uint64_t key = 0;
        int64_t at = middle;
        for (; at >= low && !found; at--) { /* what holds padding only says nothing */
            const int status = chronicle_seek_first(search, (uint32_t)at, &key, &found, err);
            if (status != 0) {
                return status;
            }
        }
        if (!found || chronicle_seek_follows(search, key)) {
            *best = found ? (uint32_t)(at + 1) : *best;
            low = middle + 1;
        } else {
            high = at;
        }
    }
    return 0;
}

/* Steps to the record inside this segment. 1: there it is, or the log ends there; 0: it is none of these. */
static int chronicle_seek_walk(chronicle_seek_search *search, fa_error *err)
{
    const uint64_t size = search->segment.size;
    chronicle_message_header header;
    search->offset = CHRONICLE_RECORD_FIRST;
    while (search->offset + CHRONICLE_RECORD_HEADER <= size) {
        const int state = chronicle_record_look(search->segment.map, search->offset, size, &header);
        if (state == CHRONICLE_RECORD_BAD) {
            return fa_fail(err, FA_CORRUPT, 0, "chronicle_seek", "segment %u holds no record at %llu that can be trusted", search->segment.id,
                           (unsigned long long)search->offset);
        }
        if (state == CHRONICLE_RECORD_ABSENT) {
            return 1;
        }
        const bool padding = header.type_id == CHRONICLE_TYPE_PAD;
        const uint64_t key = search->by == CHRONICLE_SEEK_NUMBER ? header.seq : header.timestamp_ns;
        search->next = header.seq;
        if (!padding && key >= search->wanted + (FA_MUTANT(chronicle_seek_late) ? 1 : 0)) {
            return 1;
        }
        search->next += padding ? 0 : 1;
        search->offset += chronicle_record_span(chronicle_record_length(header.commit_len));
    }
    return 0;
}

/* From that segment on until the record, or the end. */
static int chronicle_seek_forward(chronicle_seek_search *search, uint32_t from, fa_error *err)
{
    int status = chronicle_segment_map(search->reader->dirfd, from, search->reader->segment_size, false, &search->segment, err);
    while (status == 0) {
        chronicle_segment next = {.fd = -1};
        fa_error why = {0};
        status = chronicle_seek_walk(search, err);
        if (status != 0 || !chronicle_segment_sealed(&search->segment)) {
            return status < 0 ? status : 0;
        }
        status = chronicle_segment_map(search->reader->dirfd, search->segment.id + 1, search->segment.size, false, &next, &why);
        if (status != 0) {
            return fa_error_class_in(status) == FA_MISSING ? 0 : fa_pass(err, &why);
        }
        status = chronicle_segment_unmap(&search->segment, err);
        search->segment = next;
    }
    return status;
}

static int chronicle_seek_once(chronicle_reader *reader, int by, uint64_t wanted, uint64_t *granted, fa_error *err)
{
    chronicle_seek_search search = {.reader = reader, .by = by, .wanted = wanted, .segment = {.fd = -1}};
    chronicle_segment_range range;
    uint32_t from = 0;
    int status = chronicle_segment_list(reader->dirfd, &range, err);
    if (status == 0 && !range.any) {
        status = fa_fail(err, FA_MISSING, 0, "chronicle_seek", "the queue has no segment");
    }
    if (status == 0) {
        status = chronicle_seek_bisect(&search, &range, &from, err);
    }
    if (status == 0) {
        status = chronicle_seek_forward(&search, from, err);
    }
    if (status == 0 && by == CHRONICLE_SEEK_NUMBER && search.next < wanted) {
        status = fa_fail(err, FA_INVALID, 0, "chronicle_seek", "there is no record %llu: the next one gets number %llu",
                         (unsigned long long)wanted, (unsigned long long)search.next);
    }
    if (status != 0) {
        (void)chronicle_segment_unmap(&search.segment, NULL);
        return status;
    }
    *granted = search.next;
    return chronicle_reader_stand(reader, &search.segment, search.offset, err);
}

static int chronicle_seek(chronicle_reader *reader, int by, uint64_t wanted, uint64_t *granted, fa_error *err)
{
    int status = reader->meta.map == NULL ? fa_fail(err, FA_CLOSED, 0, "chronicle_seek", "the reader is closed") : -(FA_MISSING << 16);
    for (int tries = 0; tries < CHRONICLE_SEEK_TRIES && fa_error_class_in(status) == FA_MISSING; tries++) {
        status = chronicle_seek_once(reader, by, wanted, granted, err);
    }
    return status;
}

int chronicle_seek_number(chronicle_reader *reader, uint64_t number, uint64_t *granted, fa_error *err)
{
    return chronicle_seek(reader, CHRONICLE_SEEK_NUMBER, number, granted, err);
}

int chronicle_seek_time(chronicle_reader *reader, uint64_t timestamp_ns, uint64_t *granted, fa_error *err)
{
    return chronicle_seek(reader, CHRONICLE_SEEK_TIME, timestamp_ns, granted, err);
}
