#include "ombus/ombus_error.h"

#include <stddef.h>

const char *om_bus_error_name(int code)
{
    static const char *const names[] = {
        "INIT",     "SHM_CREATE", "SHM_MAP",  "SHM_OPEN", "NOT_POW2",       "CONSUMER_ID", "RECORD_TOO_LARGE", "MAGIC_MISMATCH", "VERSION_MISMATCH", "CRC_MISMATCH", "GAP_DETECTED", "TCP_BIND",
        "TCP_CONNECT", "TCP_SEND", "TCP_RECV", "SUBSCRIBE_FAIL", "REPLACED", "RELEASED", "BLOCKED", "WAL_OPEN", "WAL_WRITE", "WAL_READ", "WAL_DAMAGED",
    };
    const int index = OM_ERR_BUS_INIT - code;
    return index >= 0 && (size_t)index < sizeof names / sizeof names[0] ? names[index] : NULL;
}
