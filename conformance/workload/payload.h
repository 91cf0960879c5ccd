/* Payloads that say who wrote them, and prove it; the twin of payload.py, whose head gives the layout and the key stream.
 * One header, C11, nothing else needed. fp_make writes exactly what make() returns, byte for byte. */
#ifndef FIREASSAY_PAYLOAD_H
#define FIREASSAY_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FP_HEADER_SIZE 32u
#define FP_G 0x9E3779B97F4A7C15u

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is little-endian and so must be the machine");

typedef struct fp_checked {
    uint64_t key;  /* 0 where anonymous, or of another run or stream */
    int ok;        /* 0: no append of this run made these bytes */
    int anonymous;
} fp_checked;

static inline uint64_t fp_mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline uint64_t fp_seed(uint64_t nonce, uint64_t key, uint32_t stream, uint32_t length) {
    uint64_t seed = fp_mix(nonce + FP_G);
    seed = fp_mix((seed ^ key) + FP_G);
    return fp_mix((seed ^ ((uint64_t)stream << 32 | length)) + FP_G);
}

static inline uint64_t fp_word(uint64_t seed, uint64_t i) { return fp_mix(seed + (i + 1) * FP_G); }

static inline void fp_stream(uint64_t seed, uint64_t first, unsigned char *out, size_t length) {
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = fp_word(seed, first++);
        memcpy(out + at, &word, length - at < 8 ? length - at : 8);
    }
}

static inline int fp_is_stream(uint64_t seed, uint64_t first, const unsigned char *data, size_t length) {
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = fp_word(seed, first++);
        if (memcmp(data + at, &word, length - at < 8 ? length - at : 8) != 0) return 0;
    }
    return 1;
}

/* Fills out[0 .. length). */
static inline void fp_make(uint64_t nonce, uint32_t stream, uint64_t key, unsigned char *out, uint32_t length) {
    if (length < FP_HEADER_SIZE) {
        fp_stream(fp_seed(nonce, 0, stream, length), 0, out, length);
        return;
    }
    uint64_t seed = fp_seed(nonce, key, stream, length), tag = fp_word(seed, 0);
    memcpy(out, &nonce, 8);
    memcpy(out + 8, &key, 8);
    memcpy(out + 16, &stream, 4);
    memcpy(out + 20, &length, 4);
    memcpy(out + 24, &tag, 8);
    fp_stream(seed, 1, out + FP_HEADER_SIZE, length - FP_HEADER_SIZE);
}

static inline fp_checked fp_check(uint64_t nonce, uint32_t stream, const unsigned char *data, uint32_t length) {
    if (length < FP_HEADER_SIZE) return (fp_checked){0, fp_is_stream(fp_seed(nonce, 0, stream, length), 0, data, length), 1};
    uint64_t said_nonce, key, tag;
    uint32_t said_stream, said_length;
    memcpy(&said_nonce, data, 8);
    memcpy(&key, data + 8, 8);
    memcpy(&said_stream, data + 16, 4);
    memcpy(&said_length, data + 20, 4);
    memcpy(&tag, data + 24, 8);
    if (said_nonce != nonce || said_stream != stream) return (fp_checked){0, 0, 0};
    uint64_t seed = fp_seed(nonce, key, stream, said_length);
    int ok = said_length == length && tag == fp_word(seed, 0);
    return (fp_checked){key, ok && fp_is_stream(seed, 1, data + FP_HEADER_SIZE, length - FP_HEADER_SIZE), 0};
}

/* Over content, order and length; never 0. */
static inline uint32_t fp_digest(const unsigned char *data, uint64_t length) {
    uint64_t total = 0, i = 0;
    for (uint64_t at = 0; at < length; at += 8) {
        uint64_t word = 0;
        memcpy(&word, data + at, length - at < 8 ? length - at : 8);
        total += fp_mix(word ^ ++i * FP_G);
    }
    uint64_t folded = fp_mix(total ^ length * FP_G);
    uint32_t out = (uint32_t)(folded ^ folded >> 32);
    return out ? out : 1;
}

#endif
