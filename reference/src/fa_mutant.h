/*
 * Mutants: the reference with one deliberate fault, chosen at run time in the mutants build. Elsewhere FA_MUTANT is 0.
 */
#ifndef FA_MUTANT_H
#define FA_MUTANT_H

#include <stddef.h>

#include "fa_error.h"

enum fa_mutant_id {
    FA_MUTANT_NONE,
#define MUTANT(name, clause, what) FA_MUTANT_##name,
#include "fa_mutant_list.h"
#undef MUTANT
    FA_MUTANT_END
};

#ifdef FA_MUTANTS

extern int fa_mutant_selected __attribute__((visibility("hidden")));

#define FA_MUTANT(name) (__builtin_expect(fa_mutant_selected == FA_MUTANT_##name, 0))

int fa_mutant_select(const char *name, fa_error *err); /* NULL or "" = none; call before any other thread runs */
int fa_mutant_count(void);
const char *fa_mutant_name(int index);
const char *fa_mutant_clause(int index);
const char *fa_mutant_what(int index);
const char *fa_mutant_current(void); /* the selected one; NULL = none */

#else

#define FA_MUTANT(name) ((void)FA_MUTANT_##name, 0)

static inline int fa_mutant_select(const char *name, fa_error *err)
{
    if (name == NULL || name[0] == '\0') {
        return 0;
    }
    return fa_fail(err, FA_UNSUPPORTED, 0, "fa_mutant_select", "%s: this build has no mutants; load the mutants build", name);
}
static inline int fa_mutant_count(void) { return 0; }
static inline const char *fa_mutant_name(int index) { (void)index; return NULL; }
static inline const char *fa_mutant_clause(int index) { (void)index; return NULL; }
static inline const char *fa_mutant_what(int index) { (void)index; return NULL; }
static inline const char *fa_mutant_current(void) { return NULL; }

#endif
#endif
