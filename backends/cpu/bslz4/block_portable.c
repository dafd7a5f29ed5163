/* block_portable.c - blocks in plain C, LZ4 by liblz4; and what every variant falls back on. */
#include "block.h"
#include <lz4.h>
#include <string.h>

/* In a stream that liblz4 has accepted, is there an offset of 0? */
static int has_zero_offset(const uint8_t *ip, const uint8_t *iend)
{
    for (;;) {
        unsigned token = *ip++, more;
        size_t n = token >> 4;
        if (n == 15)
            do
                n += more = *ip++;
            while (more == 255);
        ip += n;
        /* liblz4 has accepted the stream, so its lengths lead to its end and not beyond. */
        if (ip >= iend)
            return 0;
        if (!(ip[0] | ip[1]))
            return 1;
        ip += 2;
        if ((token & 15) == 15)
            do
                more = *ip++;
            while (more == 255);
    }
}

int cpu_lz4_safe(const uint8_t *src, size_t size, uint8_t *dst, size_t dst_bytes)
{
    if (size > LZ4_MAX_INPUT_SIZE || dst_bytes > LZ4_MAX_INPUT_SIZE ||
        LZ4_decompress_safe((const char *)src, (char *)dst, (int)size, (int)dst_bytes) != (int)dst_bytes)
        return HCY_ECORRUPT;
    return has_zero_offset(src, src + size) ? HCY_ECORRUPT : 0;
}

unsigned cpu_same_planes(const uint8_t *planes, size_t plane, unsigned n_planes)
{
    unsigned k = n_planes - 1;
    /* From the top down, because equal planes are above the data. */
    while (k && !memcmp(planes + (k - 1) * plane, planes + k * plane, plane))
        k--;
    return k;
}

int cpu_planes_safe(const uint8_t *src, size_t size, const uint8_t *limit, size_t block_bytes,
                    unsigned elem_size, uint8_t *planes, unsigned *same_from)
{
    (void)limit;
    int st = cpu_lz4_safe(src, size, planes, block_bytes);
    if (!st)
        *same_from = cpu_same_planes(planes, block_bytes / (8 * elem_size), 8 * elem_size);
    return st;
}

/* Written for the compiler's vectors: bytes of eight rows interleaved, then 64 words transposed. */
static inline void bytes64(const uint8_t *const *rows, size_t at, uint8_t *restrict out)
{
    const uint8_t *r0 = rows[0] + at, *r1 = rows[1] + at, *r2 = rows[2] + at, *r3 = rows[3] + at;
    const uint8_t *r4 = rows[4] + at, *r5 = rows[5] + at, *r6 = rows[6] + at, *r7 = rows[7] + at;
    uint64_t words[64];
    uint8_t *w = (uint8_t *)words;
    for (size_t i = 0; i < 64; i++) {
        w[8 * i] = r0[i];
        w[8 * i + 1] = r1[i];
        w[8 * i + 2] = r2[i];
        w[8 * i + 3] = r3[i];
        w[8 * i + 4] = r4[i];
        w[8 * i + 5] = r5[i];
        w[8 * i + 6] = r6[i];
        w[8 * i + 7] = r7[i];
    }
    for (size_t i = 0; i < 64; i++)
        words[i] = hcy_transpose8(words[i]);
    memcpy(out, words, sizeof words);
}

#define WIDEN_TO(type)                                                                                       \
    do {                                                                                                     \
        type v[512];                                                                                         \
        for (size_t i = 0; i < 512; i++) {                                                                   \
            v[i] = (type)(int8_t)bytes[512 * (w - 1) + i];                                                   \
            for (unsigned k = w - 1; k-- > 0;)                                                               \
                v[i] = (type)((uint64_t)v[i] << 8 | bytes[512 * k + i]);                                     \
        }                                                                                                    \
        memcpy(out, v, sizeof v);                                                                            \
    } while (0)

static inline __attribute__((always_inline)) void widen_rows(const uint8_t *bytes, unsigned w, unsigned elem_size,
                                                             uint8_t *out)
{
    if (elem_size == 2)
        WIDEN_TO(uint16_t);
    else if (elem_size == 4)
        WIDEN_TO(uint32_t);
    else
        WIDEN_TO(uint64_t);
}

#include "plane_pixels.h"

const struct cpu_block_ops cpu_block_ops_portable = { cpu_planes_safe, planes_to_pixels, planes_to_bytes };
