/*
 * A function of om_bus returns 0 (or a count), or an OM_ERR_BUS_* code. Its fa_error carries class, errno and words; err may be
 * NULL. What the core refused has filled the fa_error already, so that only the code is to be returned.
 */
#ifndef OMBUS_ERROR_H
#define OMBUS_ERROR_H

#include "fa_error.h"
#include "ombus/om_bus_error.h"

/* Yields the code. Arguments from error_class on are those of fa_fail. */
#define ombus_refuse(code, err, error_class, errnum, where, ...)                                                       \
    ((void)fa_fail(err, error_class, errnum, where, __VA_ARGS__), (int)(code))

#endif
