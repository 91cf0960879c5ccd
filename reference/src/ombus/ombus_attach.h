/* How a consumer takes its place in a stream; see ombus_stream.h for why this meets the producer. */
#ifndef OMBUS_ATTACH_H
#define OMBUS_ATTACH_H

#include "ombus/ombus_endpoint.h"

/* Registers at the first position from `wanted` on that can still be kept from being overwritten; next and held stand there. */
void ombus_attach_at(ombus_endpoint *ep, uint64_t wanted);

/* Registers before the first record from ep->expected on that the ring still holds, or behind the last one. */
void ombus_attach_to_expected(ombus_endpoint *ep);

#endif
