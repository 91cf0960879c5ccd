/* A layout is one list of sizes and one of fields; from the same list come the assertions and the table Python reads. */
#ifndef FA_LAYOUT_H
#define FA_LAYOUT_H

#include <stddef.h>

#define FA_LAYOUT_ASSERT_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " has another size");
#define FA_LAYOUT_ASSERT_FIELD(type, field, at, bytes)                                                                 \
    _Static_assert(offsetof(type, field) == (at), #type "." #field " lies elsewhere");                                 \
    _Static_assert(sizeof(((type *)0)->field) == (bytes), #type "." #field " has another size");

#endif
