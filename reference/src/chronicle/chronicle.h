/* chronicle: an mmap queue with one writer, many readers, segments and recovery. */
#ifndef CHRONICLE_H
#define CHRONICLE_H

#include "chronicle/chronicle_fanin.h"
#include "chronicle/chronicle_flush.h"
#include "chronicle/chronicle_inplace.h"
#include "chronicle/chronicle_reader.h"
#include "chronicle/chronicle_scan.h"
#include "chronicle/chronicle_seek.h"
#include "chronicle/chronicle_speed.h"
#include "chronicle/chronicle_status.h"
#include "chronicle/chronicle_wait.h"
#include "chronicle/chronicle_writer.h"

#endif
