#include "fa_failpoint.h"

#ifndef FA_FAILPOINTS
typedef int fa_failpoint_has_no_code_here;
#else

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fa_atomics.h"

typedef struct fa_failpoint_header {
    uint64_t magic;
    uint32_t version;
    uint32_t count;
    uint64_t hash;
    uint8_t zero[40];
} fa_failpoint_header;

_Static_assert(sizeof(fa_failpoint_header) == FA_FAILPOINT_ENTRIES_OFFSET, "entries follow the header");
_Static_assert(offsetof(fa_failpoint_header, count) == 12 && offsetof(fa_failpoint_header, hash) == 16, "header offsets");
_Static_assert(sizeof(fa_failpoint_entry) == 64, "one line per entry");
_Static_assert(offsetof(fa_failpoint_entry, errnum) == 4 && offsetof(fa_failpoint_entry, countdown) == 8, "entry offsets");
_Static_assert(offsetof(fa_failpoint_entry, hits) == 16 && offsetof(fa_failpoint_entry, fired) == 24, "entry offsets");
_Static_assert(offsetof(fa_failpoint_entry, fired_pid) == 32 && offsetof(fa_failpoint_entry, fired_tid) == 36, "entry offsets");
_Static_assert(FA_SITE_COUNT <= (FA_FAILPOINT_FLAGS_OFFSET - FA_FAILPOINT_ENTRIES_OFFSET) / 64, "the control file holds every entry");

/* Alone on its pages: the control file is mapped over them. Named only in assembly, hence 'used'. */
uint32_t fa_failpoint_flags[FA_FAILPOINT_FLAGS_SIZE / 4] __attribute__((visibility("hidden"), aligned(65536), used));

static fa_failpoint_entry *fa_failpoint_entries;

static const struct {
    const char *name;
    const char *what;
    int kind;
} fa_failpoint_list[] = {
#define FAILPOINT(name, kind, what) {#name, what, FA_FAILPOINT_##kind},
#include "fa_failpoint_list.h"
#undef FAILPOINT
};

int fa_failpoint_slow(int id)
{
    /* Pairs with the release in fa_failpoint_set_flag: the entry was complete before its flag rose. */
    const uint32_t armed = FA_LOAD_ACQUIRE(&fa_failpoint_flags[id]);
    /* Pairs with the release in fa_failpoint_attach. */
    fa_failpoint_entry *entries = FA_LOAD_ACQUIRE(&fa_failpoint_entries);
    if (armed == 0 || entries == NULL) {
        return 0;
    }
    fa_failpoint_entry *entry = &entries[id];
    FA_BARE_FETCH_ADD(&entry->hits, 1u);
    const uint32_t action = FA_LOAD_RELAXED(&entry->action);
    if (action == FA_FAILPOINT_COUNT || FA_BARE_FETCH_ADD(&entry->countdown, -1) != 1) {
        return 0;
    }
    if (action == FA_FAILPOINT_ERROR && fa_failpoint_list[id].kind != FA_FAILPOINT_SYSCALL) {
        return 0;
    }
    FA_BARE_STORE_RELAXED(&entry->fired_pid, (uint32_t)getpid());
    FA_BARE_STORE_RELAXED(&entry->fired_tid, (uint32_t)syscall(SYS_gettid));
    FA_BARE_FETCH_ADD(&entry->fired, 1u);
    switch (action) {
    case FA_FAILPOINT_CRASH:
        (void)kill(getpid(), SIGKILL);
        for (;;) { /* no instruction after the hit may run, though another thread may be the one that is stopped first */
            (void)pause();
        }
    case FA_FAILPOINT_STOP:
        (void)kill(getpid(), SIGSTOP);
        return 0;
    case FA_FAILPOINT_ERROR:
        errno = FA_LOAD_RELAXED(&entry->errnum);
        return -1;
    default:
        return 0;
    }
}

static int fa_failpoint_refuse(const char *path, const fa_failpoint_header *header, fa_error *err)
{
    static const char where[] = "fa_failpoint_attach";
    if (header->magic != FA_FAILPOINT_MAGIC) {
        return fa_fail(err, FA_CORRUPT, 0, where, "%s is not a failpoint control file", path);
    }
    if (header->version != FA_FAILPOINT_VERSION) {
        return fa_fail(err, FA_VERSION, 0, where, "%s has version %u, this build reads %u", path, header->version, FA_FAILPOINT_VERSION);
    }
    if (header->count != FA_SITE_COUNT || header->hash != fa_failpoint_list_hash()) {
        return fa_fail(err, FA_VERSION, 0, where, "%s was made for another list of failpoints (%u names, this build has %d)", path,
                       header->count, FA_SITE_COUNT);
    }
    return 0;
}

static int fa_failpoint_map(const char *path, int fd, fa_error *err)
{
    static const char where[] = "fa_failpoint_attach";
    struct stat status;
    const long page = sysconf(_SC_PAGESIZE);
    if (page <= 0 || (uintptr_t)fa_failpoint_flags % (uintptr_t)page != 0 || FA_FAILPOINT_FLAGS_SIZE % (uintptr_t)page != 0) {
        return fa_fail(err, FA_UNSUPPORTED, 0, where, "the loader did not align the failpoint flags to pages of %ld bytes", page);
    }
    if (fstat(fd, &status) != 0) {
        return fa_fail(err, FA_IO, errno, where, "fstat %s failed", path);
    }
    if (!S_ISREG(status.st_mode) || status.st_size != (off_t)FA_FAILPOINT_FILE_SIZE) {
        return fa_fail(err, FA_CORRUPT, 0, where, "%s has %lld bytes, a failpoint control file has %u", path, (long long)status.st_size,
                       FA_FAILPOINT_FILE_SIZE);
    }
    char *front = mmap(NULL, FA_FAILPOINT_FLAGS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (front == MAP_FAILED) {
        return fa_fail(err, FA_IO, errno, where, "mapping %s failed", path);
    }
    const int refused = fa_failpoint_refuse(path, (const fa_failpoint_header *)(const void *)front, err);
    if (refused != 0) {
        (void)munmap(front, FA_FAILPOINT_FLAGS_OFFSET);
        return refused;
    }
    /* Entries before flags: whoever sees a flag finds the entries. Pairs with the acquire in fa_failpoint_slow. An earlier
     * control file stays mapped, since another thread may be in the slow path. */
    FA_BARE_STORE_RELEASE(&fa_failpoint_entries, (fa_failpoint_entry *)(void *)(front + FA_FAILPOINT_ENTRIES_OFFSET));
    void *flags = mmap(fa_failpoint_flags, FA_FAILPOINT_FLAGS_SIZE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, FA_FAILPOINT_FLAGS_OFFSET);
    if (flags == MAP_FAILED) {
        return fa_fail(err, FA_IO, errno, where, "mapping the flags of %s failed", path);
    }
    return 0;
}

int fa_failpoint_attach(const char *path, fa_error *err)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return fa_fail(err, fa_error_class_of(errno), errno, "fa_failpoint_attach", "cannot open failpoint control file %s", path);
    }
    const int result = fa_failpoint_map(path, fd, err);
    (void)close(fd);
    return result;
}

int fa_failpoint_detach(fa_error *err)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (mmap(fa_failpoint_flags, FA_FAILPOINT_FLAGS_SIZE, PROT_READ, flags, -1, 0) == MAP_FAILED) {
        return fa_fail(err, FA_IO, errno, "fa_failpoint_detach", "the flags cannot be unmapped");
    }
    return 0;
}

int fa_failpoint_count(void) { return FA_SITE_COUNT; }

const char *fa_failpoint_name(int id) { return id >= 0 && id < FA_SITE_COUNT ? fa_failpoint_list[id].name : NULL; }

const char *fa_failpoint_what(int id) { return id >= 0 && id < FA_SITE_COUNT ? fa_failpoint_list[id].what : NULL; }

int fa_failpoint_kind_of(int id) { return id >= 0 && id < FA_SITE_COUNT ? fa_failpoint_list[id].kind : 0; }

/* FNV-1a over "name kind\n" in order. */
uint64_t fa_failpoint_list_hash(void)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (int id = 0; id < FA_SITE_COUNT; id++) {
        const char ending[] = {' ', (char)('0' + fa_failpoint_list[id].kind), '\n'};
        for (const char *letter = fa_failpoint_list[id].name; *letter != '\0'; letter++) {
            hash = (hash ^ (unsigned char)*letter) * 0x100000001b3ull;
        }
        for (size_t i = 0; i < sizeof ending; i++) {
            hash = (hash ^ (unsigned char)ending[i]) * 0x100000001b3ull;
        }
    }
    return hash;
}

/* Pairs with the acquire in fa_failpoint_slow of the armed process. */
void fa_failpoint_set_flag(void *flags, int id, uint32_t value) { FA_BARE_STORE_RELEASE((uint32_t *)flags + id, value); }

#endif
