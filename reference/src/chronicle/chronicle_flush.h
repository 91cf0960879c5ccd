/*
 * How much of a queue survives the loss of power.
 *
 * An append is safe from the death of its process only. flush_async has the kernel begin to write what was appended, and promises
 * nothing. After flush_sync everything appended so far is on the disk: the records, the sealed headers of segments left since the
 * last one, control.meta, and the names of new segments; then the checkpoint says so.
 */
#ifndef CHRONICLE_FLUSH_H
#define CHRONICLE_FLUSH_H

#include "chronicle/chronicle_writer.h"
#include "fa_error.h"

int chronicle_flush_async(chronicle_writer *writer, fa_error *err);
int chronicle_flush_sync(chronicle_writer *writer, fa_error *err);

#endif
