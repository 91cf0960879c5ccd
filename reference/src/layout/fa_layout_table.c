#include "layout/fa_layout_table.h"

#include "fa_error.h"
#include "layout/bridge.h"
#include "layout/chronicle.h"
#include "layout/comet.h"
#include "layout/ombus.h"
#include "layout/simplebus.h"

#define FA_LAYOUT_ROW_SIZE(type, bytes) {#type, "", 0, sizeof(type)},
#define FA_LAYOUT_ROW_FIELD(type, field, at, bytes) {#type, #field, offsetof(type, field), sizeof(((type *)0)->field)},

static const fa_layout_field fa_layout_rows[] = {
    OMBUS_LAYOUT(FA_LAYOUT_ROW_SIZE, FA_LAYOUT_ROW_FIELD)
    BRIDGE_LAYOUT(FA_LAYOUT_ROW_SIZE, FA_LAYOUT_ROW_FIELD)
    COMET_LAYOUT(FA_LAYOUT_ROW_SIZE, FA_LAYOUT_ROW_FIELD)
    CHRONICLE_LAYOUT(FA_LAYOUT_ROW_SIZE, FA_LAYOUT_ROW_FIELD)
    SIMPLEBUS_LAYOUT(FA_LAYOUT_ROW_SIZE, FA_LAYOUT_ROW_FIELD)
};

int fa_layout_count(void) { return (int)(sizeof fa_layout_rows / sizeof fa_layout_rows[0]); }

int fa_layout_get(int index, fa_layout_field *out)
{
    if (index < 0 || index >= fa_layout_count()) {
        return fa_fail(NULL, FA_INVALID, 0, "fa_layout_get", "no row %d", index);
    }
    *out = fa_layout_rows[index];
    return 0;
}
