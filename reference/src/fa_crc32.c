#include "fa_crc32.h"

#include <string.h>

#include "fa_crc32_rows.h"
#include "fa_mutant.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are taken little-endian");

/* Between fa_crc32_fold_* the crc is raw: not complemented. */
static inline uint32_t fa_crc32_raw_table(uint32_t crc, const unsigned char *next, size_t length)
{
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, next, sizeof word);
        word ^= crc;
        crc = fa_crc32_rows[7][word & 0xFF] ^ fa_crc32_rows[6][(word >> 8) & 0xFF] ^ fa_crc32_rows[5][(word >> 16) & 0xFF] ^
              fa_crc32_rows[4][(word >> 24) & 0xFF] ^ fa_crc32_rows[3][(word >> 32) & 0xFF] ^ fa_crc32_rows[2][(word >> 40) & 0xFF] ^
              fa_crc32_rows[1][(word >> 48) & 0xFF] ^ fa_crc32_rows[0][word >> 56];
        next += 8;
        length -= 8;
    }
    if (length >= 4) {
        uint32_t word;
        memcpy(&word, next, sizeof word);
        word ^= crc;
        crc = fa_crc32_rows[3][word & 0xFF] ^ fa_crc32_rows[2][(word >> 8) & 0xFF] ^ fa_crc32_rows[1][(word >> 16) & 0xFF] ^
              fa_crc32_rows[0][word >> 24];
        next += 4;
        length -= 4;
    }
    while (length > 0) {
        crc = fa_crc32_rows[0][(crc ^ *next) & 0xFF] ^ (crc >> 8);
        next++;
        length--;
    }
    return crc;
}

uint32_t fa_crc32_table(uint32_t crc, const void *bytes, size_t length) { return ~fa_crc32_raw_table(~crc, bytes, length); }

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define FA_CRC32_TARGET __attribute__((target("pclmul,sse4.1")))

FA_CRC32_TARGET static inline __m128i fa_crc32_fold(__m128i value, __m128i by, __m128i next)
{
    const __m128i low = _mm_clmulepi64_si128(value, by, 0x00);
    const __m128i high = _mm_clmulepi64_si128(value, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

FA_CRC32_TARGET static inline __m128i fa_crc32_load(const unsigned char *from)
{
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

/*
 * 96 bits to 32 (Barrett reduction, as in Gopal et al., Fast CRC Computation Using PCLMULQDQ, 2009): the multiple of the polynomial
 * that equals the first 64 is taken off. The factor is their product with the polynomial's inverse modulo x^64.
 */
FA_CRC32_TARGET static inline uint32_t fa_crc32_reduce(__m128i x)
{
    const __m128i poly = _mm_set_epi64x(0x01db710641, (int64_t)0xb4e5b025f7011641);
    const __m128i factor = _mm_clmulepi64_si128(x, poly, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(x, _mm_clmulepi64_si128(factor, poly, 0x10)), 2);
}

/* 128 bits to 96: the first 64 by their distance from the last 64. */
FA_CRC32_TARGET static inline __m128i fa_crc32_narrow(__m128i x)
{
    const __m128i by_64 = _mm_set_epi64x(0, 0x00ccaa009e);
    return _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, by_64, 0x00));
}

/* 512 bits to 96: each 64 by their distance from the last, all at once, since one after another they would wait for each other. */
FA_CRC32_TARGET static inline __m128i fa_crc32_join(__m128i x, __m128i y, __m128i z, __m128i w)
{
    const __m128i by_x = _mm_set_epi64x(0x003db1ecdc, 0x01c6e41596); /* 384 and 448 bits away */
    const __m128i by_y = _mm_set_epi64x(0x00f1da05aa, 0x0174359406); /* 256 and 320 */
    const __m128i by_z = _mm_set_epi64x(0x01751997d0, 0x015a546366); /* 128 and 192 */
    const __m128i zero = _mm_setzero_si128();
    const __m128i first = fa_crc32_fold(x, by_x, fa_crc32_fold(y, by_y, zero));
    return _mm_xor_si128(first, fa_crc32_fold(z, by_z, fa_crc32_narrow(w)));
}

FA_CRC32_TARGET static uint32_t fa_crc32_pclmul(uint32_t crc, const void *bytes, size_t length)
{
    const unsigned char *next = bytes;
    crc = ~crc;
    if (length >= 16) {
        const __m128i by_512 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
        const __m128i by_128 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
        __m128i x = _mm_xor_si128(fa_crc32_load(next), _mm_cvtsi32_si128((int)crc));
        if (length >= 64) {
            __m128i y = fa_crc32_load(next + 16);
            __m128i z = fa_crc32_load(next + 32);
            __m128i w = fa_crc32_load(next + 48);
            for (next += 64, length -= 64; length >= 64; next += 64, length -= 64) {
                x = fa_crc32_fold(x, by_512, fa_crc32_load(next));
                y = fa_crc32_fold(y, by_512, fa_crc32_load(next + 16));
                z = fa_crc32_fold(z, by_512, fa_crc32_load(next + 32));
                w = fa_crc32_fold(w, by_512, fa_crc32_load(next + 48));
            }
            if (length < 16) {
                return ~fa_crc32_raw_table(fa_crc32_reduce(fa_crc32_join(x, y, z, w)), next, length);
            }
            x = fa_crc32_fold(x, by_128, y);
            x = fa_crc32_fold(x, by_128, z);
            x = fa_crc32_fold(x, by_128, w);
        } else {
            next += 16;
            length -= 16;
        }
        for (; length >= 16; next += 16, length -= 16) {
            x = fa_crc32_fold(x, by_128, fa_crc32_load(next));
        }
        crc = fa_crc32_reduce(fa_crc32_narrow(x));
    }
    return ~fa_crc32_raw_table(crc, next, length);
}

static int fa_crc32_probe(void)
{
    /* Asked of the CPU itself: __builtin_cpu_supports needs a symbol of the runtime that not every linker finds. */
    unsigned int a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0) {
        return FA_CRC32_TABLE;
    }
    return (c & bit_PCLMUL) != 0 && (c & bit_SSE4_1) != 0 ? FA_CRC32_PCLMUL : FA_CRC32_TABLE;
}

#define FA_CRC32_FAST fa_crc32_pclmul

#elif defined(__aarch64__)

#include <arm_acle.h>
#include <sys/auxv.h>

#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif

#ifdef __clang__
#define FA_CRC32_TARGET __attribute__((target("crc")))
#else
#define FA_CRC32_TARGET __attribute__((target("+crc")))
#endif

FA_CRC32_TARGET static uint32_t fa_crc32_armv8(uint32_t crc, const void *bytes, size_t length)
{
    const unsigned char *next = bytes;
    crc = ~crc;
    for (; length >= 8; next += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, next, sizeof word);
        crc = __crc32d(crc, word);
    }
    for (; length > 0; next++, length--) {
        crc = __crc32b(crc, *next);
    }
    return ~crc;
}

static int fa_crc32_probe(void) { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0 ? FA_CRC32_ARMV8 : FA_CRC32_TABLE; }

#define FA_CRC32_FAST fa_crc32_armv8

#else

static int fa_crc32_probe(void) { return FA_CRC32_TABLE; }

#define FA_CRC32_FAST fa_crc32_table

#endif

/* Written only by the constructor, before any caller can have a second thread in this library; right before that too. */
static uint32_t (*fa_crc32_chosen)(uint32_t, const void *, size_t) = fa_crc32_table;
static int fa_crc32_chosen_kind = FA_CRC32_TABLE;

__attribute__((constructor)) static void fa_crc32_choose(void)
{
    fa_crc32_chosen_kind = fa_crc32_probe();
    if (fa_crc32_chosen_kind != FA_CRC32_TABLE) {
        fa_crc32_chosen = FA_CRC32_FAST;
    }
}

uint32_t fa_crc32_accelerated(uint32_t crc, const void *bytes, size_t length) { return fa_crc32_chosen(crc, bytes, length); }

uint32_t fa_crc32(uint32_t crc, const void *bytes, size_t length)
{
    if (FA_MUTANT(crc32_tail)) {
        length &= ~(size_t)15;
    }
    return fa_crc32_chosen(crc, bytes, length);
}

int fa_crc32_kind(void) { return fa_crc32_chosen_kind; }
