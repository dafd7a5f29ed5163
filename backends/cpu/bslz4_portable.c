/* bslz4_portable.c - blocks in plain C, LZ4 by liblz4; and what every variant falls back on. */
#include "bslz4_block.h"
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
    while (k && !memcmp(planes + (k - 1) * plane, planes + k * plane, plane))
        k--;
    return k;
}

int cpu_planes_safe(const uint8_t *src, size_t size, const uint8_t *limit, size_t block_bytes, unsigned elem_size,
                    uint8_t *planes, unsigned *same_from)
{
    (void)limit;
    int st = cpu_lz4_safe(src, size, planes, block_bytes);
    if (!st)
        *same_from = cpu_same_planes(planes, block_bytes / (8 * elem_size), 8 * elem_size);
    return st;
}

static inline void bytes64(const uint8_t *const *rows, size_t at, uint8_t *out)
{
    for (size_t i = at; i < at + 64; i++, out += 8) {
        uint64_t x = 0;
        for (unsigned k = 0; k < 8; k++)
            x |= (uint64_t)rows[k][i] << 8 * k;
        x = cpu_transpose8(x);
        memcpy(out, &x, 8);
    }
}

static inline __attribute__((always_inline)) void widen(const uint8_t *bytes, unsigned w, unsigned elem_size,
                                                        uint8_t *out)
{
    for (size_t i = 0; i < 512; i++) {
        uint64_t v = (uint64_t)(int8_t)bytes[512 * (w - 1) + i];
        for (unsigned k = w - 1; k-- > 0;)
            v = v << 8 | bytes[512 * k + i];
        memcpy(out + i * elem_size, &v, elem_size);
    }
}

#include "bslz4_pixels.h"

const struct cpu_block_ops cpu_block_ops_portable = {cpu_planes_safe, pixels_of, bytes_of};
