/*
 * CRC-32/ISO-HDLC (zlib's): reflected polynomial 0xEDB88320, start and final xor 0xFFFFFFFF.
 *
 * fa_crc32(0, ...) starts; the result of one call is the crc of the next, as with zlib.
 */
#ifndef FA_CRC32_H
#define FA_CRC32_H

#include <stddef.h>
#include <stdint.h>

enum fa_crc32_kinds { FA_CRC32_TABLE = 0, FA_CRC32_PCLMUL = 1, FA_CRC32_ARMV8 = 2 };

/* The fastest this processor has; chosen once when the library is loaded. */
uint32_t fa_crc32(uint32_t crc, const void *bytes, size_t length);
uint32_t fa_crc32_table(uint32_t crc, const void *bytes, size_t length);
/* As fa_crc32_table where fa_crc32_kind() is FA_CRC32_TABLE. */
uint32_t fa_crc32_accelerated(uint32_t crc, const void *bytes, size_t length);
int fa_crc32_kind(void);

#endif
