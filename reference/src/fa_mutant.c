#include "fa_mutant.h"

#ifndef FA_MUTANTS
typedef int fa_mutant_has_no_code_here;
#else

#include <string.h>

/* Written before other threads start (fa_mutant_select), read by all: no order is needed. */
int fa_mutant_selected = FA_MUTANT_NONE;

static const struct {
    const char *name;
    const char *clause;
    const char *what;
} fa_mutant_list[] = {
#define MUTANT(name, clause, what) {#name, clause, what},
#include "fa_mutant_list.h"
#undef MUTANT
};

int fa_mutant_count(void) { return FA_MUTANT_END - 1; }

const char *fa_mutant_name(int index) { return index >= 0 && index < fa_mutant_count() ? fa_mutant_list[index].name : NULL; }

const char *fa_mutant_clause(int index) { return index >= 0 && index < fa_mutant_count() ? fa_mutant_list[index].clause : NULL; }

const char *fa_mutant_what(int index) { return index >= 0 && index < fa_mutant_count() ? fa_mutant_list[index].what : NULL; }

const char *fa_mutant_current(void) { return fa_mutant_name(fa_mutant_selected - 1); }

int fa_mutant_select(const char *name, fa_error *err)
{
    if (name == NULL || name[0] == '\0') {
        fa_mutant_selected = FA_MUTANT_NONE;
        return 0;
    }
    for (int index = 0; index < fa_mutant_count(); index++) {
        if (strcmp(name, fa_mutant_list[index].name) == 0) {
            fa_mutant_selected = index + 1;
            return 0;
        }
    }
    return fa_fail(err, FA_MISSING, 0, "fa_mutant_select", "there is no mutant named %s", name);
}

#endif
