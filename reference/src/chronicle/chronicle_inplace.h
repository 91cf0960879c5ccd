/*
 * A record whose payload its caller builds where it will lie.
 *
 * Between reserve and commit nobody sees it: the commit word is 0. One that is abandoned becomes padding. A process that dies in
 * between leaves a torn tail, which the next writer pads. One reservation at a time; appends are refused while it is open.
 */
#ifndef CHRONICLE_INPLACE_H
#define CHRONICLE_INPLACE_H

#include <stddef.h>
#include <stdint.h>

#include "chronicle/chronicle_writer.h"
#include "fa_error.h"

/* *payload has room for that many bytes, aligned to 64, until the commit or the abandoning. Errors as of an append. */
int chronicle_inplace_reserve(chronicle_writer *writer, uint16_t type_id, uint16_t flags, size_t length, void **payload, fa_error *err);

/* The first `length` bytes, at most as many as were reserved, are a record; padding takes the rest. INVALID: the reservation stays open. */
int chronicle_inplace_commit(chronicle_writer *writer, size_t length, uint64_t *seq, fa_error *err);

/* INVALID where nothing is reserved. */
int chronicle_inplace_abandon(chronicle_writer *writer, fa_error *err);

#endif
