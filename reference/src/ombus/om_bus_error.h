/* Error codes of om_bus. Functions return them as they are; -816 and beyond are ours, within the seed's range -800 ... -899. */
#ifndef OM_BUS_ERROR_H
#define OM_BUS_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#ifndef OM_BUS_API
#define OM_BUS_API __attribute__((visibility("default")))
#endif

typedef enum OmBusError {
    OM_ERR_BUS_INIT = -800,             /* initialization failed: an argument nobody can serve, or no memory */
    OM_ERR_BUS_SHM_CREATE = -801,       /* the shared memory cannot be made, or its producer lives */
    OM_ERR_BUS_SHM_MAP = -802,          /* it cannot be mapped, or its size is not the one its header tells */
    OM_ERR_BUS_SHM_OPEN = -803,         /* it cannot be opened by a consumer or a monitor */
    OM_ERR_BUS_NOT_POW2 = -804,         /* the capacity is no power of two */
    OM_ERR_BUS_CONSUMER_ID = -805,      /* there is no such consumer index */
    OM_ERR_BUS_RECORD_TOO_LARGE = -806, /* the payload exceeds slot_size - 24, or what a WAL record holds */
    OM_ERR_BUS_MAGIC_MISMATCH = -807,   /* the header has another magic: no stream, or one that its producer has left */
    OM_ERR_BUS_VERSION_MISMATCH = -808, /* the header has another version */
    OM_ERR_BUS_CRC_MISMATCH = -809,     /* the record is damaged */
    OM_ERR_BUS_GAP_DETECTED = -810,     /* sequences are missing before this record */
    OM_ERR_BUS_TCP_BIND = -811,         /* the relay cannot bind or listen */
    OM_ERR_BUS_TCP_CONNECT = -812,      /* the client cannot connect */
    OM_ERR_BUS_TCP_SEND = -813,         /* sending failed */
    OM_ERR_BUS_TCP_RECV = -814,         /* receiving failed */
    OM_ERR_BUS_SUBSCRIBE_FAIL = -815,   /* the relay rejected the subscription */
    OM_ERR_BUS_REPLACED = -816,         /* everything is read and the producer has left this stream: open it again, replay the WAL */
    OM_ERR_BUS_RELEASED = -817,         /* the monitor released this consumer: what it holds without a copy may be overwritten */
    OM_ERR_BUS_BLOCKED = -818,          /* the ring stayed full for as long as the producer may wait; nothing was published */
    OM_ERR_BUS_WAL_OPEN = -819,         /* the WAL cannot be opened or made, or its writer lives */
    OM_ERR_BUS_WAL_WRITE = -820,        /* the WAL cannot be written, rolled or synced */
    OM_ERR_BUS_WAL_READ = -821,         /* a file of the WAL cannot be read */
    OM_ERR_BUS_WAL_DAMAGED = -822,      /* the WAL is damaged in the middle, or a file of it is missing */
} OmBusError;

/* The name of a code as it stands above without OM_ERR_BUS_, or NULL. */
OM_BUS_API const char *om_bus_error_name(int code);
/* What went wrong in the last call that failed in this thread, in words; never NULL. */
OM_BUS_API const char *om_bus_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
