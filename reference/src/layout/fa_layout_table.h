/* Every struct and field of the five layouts; a struct's own row has an empty field and its whole size. */
#ifndef FA_LAYOUT_TABLE_H
#define FA_LAYOUT_TABLE_H

#include <stddef.h>

typedef struct fa_layout_field {
    const char *structure;
    const char *field;
    size_t offset;
    size_t size;
} fa_layout_field;

int fa_layout_count(void);
int fa_layout_get(int index, fa_layout_field *out); /* INVALID outside the table */

#endif
