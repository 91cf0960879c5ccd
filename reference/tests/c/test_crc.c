/* Every length and alignment, the accelerated checksum against the table, in buffers that end where ASan looks. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fa_core.h"

int main(void)
{
    assert(fa_crc32(0, "123456789", 9) == 0xCBF43926u);
    for (size_t length = 0; length <= 700; length++) {
        for (size_t shift = 0; shift < 16; shift++) {
            unsigned char *bytes = malloc(length + shift);
            assert(bytes != NULL || length + shift == 0);
            for (size_t i = 0; i < length + shift; i++) {
                bytes[i] = (unsigned char)(i * 131 + length * 7 + shift);
            }
            const uint32_t start = (uint32_t)(length * 2654435761u);
            const unsigned char *from = length + shift == 0 ? (const unsigned char *)"" : bytes + shift;
            assert(fa_crc32_table(start, from, length) == fa_crc32_accelerated(start, from, length));
            assert(fa_crc32(start, from, length) == fa_crc32_table(start, from, length));
            free(bytes);
        }
    }
    puts("ok");
    return 0;
}
