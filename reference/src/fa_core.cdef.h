/* For cffi, not for a compiler. X.cdef.h declares to Python what X.h declares to C; _build_core.py joins all of them. */
typedef struct fa_error {
    int32_t status;
    char where[64];
    char message[192];
} fa_error;

typedef struct fa_layout_field {
    const char *structure;
    const char *field;
    size_t offset;
    size_t size;
} fa_layout_field;

const char *fa_error_class_name(int error_class);
int fa_error_class_of(int errnum);

int fa_failpoint_attach(const char *path, fa_error *err);
int fa_failpoint_detach(fa_error *err);
int fa_failpoint_count(void);
const char *fa_failpoint_name(int id);
const char *fa_failpoint_what(int id);
int fa_failpoint_kind_of(int id);
uint64_t fa_failpoint_list_hash(void);
void fa_failpoint_set_flag(void *flags, int id, uint32_t value);

int fa_mutant_select(const char *name, fa_error *err);
int fa_mutant_count(void);
const char *fa_mutant_name(int index);
const char *fa_mutant_clause(int index);
const char *fa_mutant_what(int index);
const char *fa_mutant_current(void);

uint32_t fa_crc32(uint32_t crc, const void *bytes, size_t length);
uint32_t fa_crc32_table(uint32_t crc, const void *bytes, size_t length);
uint32_t fa_crc32_accelerated(uint32_t crc, const void *bytes, size_t length);
int fa_crc32_kind(void);

int fa_replace(int dirfd, const char *name, const void *bytes, size_t length, int durable, fa_error *err);

void fa_probe_store_release(uint64_t *word, uint64_t value);
void fa_probe_store_relaxed(uint64_t *word, uint64_t value);
uint64_t fa_probe_exchange(uint64_t *word, uint64_t value);
int fa_probe_cas(uint64_t *word, uint64_t expected, uint64_t value);
uint64_t fa_probe_fetch_add(uint64_t *word, uint64_t value);
void fa_probe_copy(void *to, const void *from, size_t length);
int fa_probe_persist(int dirfd, fa_error *err);
int fa_probe_pwrite(int fd, const void *bytes, size_t length, fa_error *err);
int fa_probe_write(int fd, const void *bytes, size_t length, fa_error *err);
int fa_probe_pread(int fd, void *bytes, size_t length, fa_error *err);

int fa_layout_count(void);
int fa_layout_get(int index, fa_layout_field *out);
