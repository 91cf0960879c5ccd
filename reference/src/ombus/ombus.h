/* om_bus: a shared-memory ring for WAL records, and the WAL itself. */
#ifndef OMBUS_H
#define OMBUS_H

#include "ombus/ombus_endpoint.h"
#include "ombus/ombus_error.h"
#include "ombus/ombus_monitor.h"
#include "ombus/ombus_replay.h"
#include "ombus/ombus_speed.h"
#include "ombus/ombus_stream.h"
#include "ombus/ombus_wal.h"

#endif
