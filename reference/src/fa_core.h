/* What the core offers to the binding and to the systems above it. */
#ifndef FA_CORE_H
#define FA_CORE_H

#include "fa_atomics.h"
#include "fa_crc32.h"
#include "fa_error.h"
#include "fa_failpoint.h"
#include "fa_mutant.h"
#include "fa_persist.h"
#include "fa_probe.h"
#include "fa_replace.h"
#include "layout/fa_layout_table.h"

#endif
