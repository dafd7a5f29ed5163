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

#define WIDEN(w, type, value)                                                                                          \
    for (size_t i = 0; i < 512; i++) {                                                                                 \
        type v = (type)(value);                                                                                        \
        memcpy(out + i * sizeof v, &v, sizeof v);                                                                      \
    }                                                                                                                  \
    break
#define LOW(k) ((uint64_t)bytes[512 * (k) + i] << 8 * (k))
#define TOP(k) ((uint64_t)(int64_t)(int8_t)bytes[512 * (k) + i] << 8 * (k))
#define TOP4 (LOW(0) | LOW(1) | LOW(2) | TOP(3))

static inline void widen512(const uint8_t *bytes, unsigned w, unsigned elem_size, uint8_t *out)
{
    switch (elem_size << 4 | w) {
    case 0x21: WIDEN(1, uint16_t, TOP(0));
    case 0x22: WIDEN(2, uint16_t, LOW(0) | TOP(1));
    case 0x41: WIDEN(1, uint32_t, TOP(0));
    case 0x42: WIDEN(2, uint32_t, LOW(0) | TOP(1));
    case 0x44: WIDEN(4, uint32_t, TOP4);
    case 0x81: WIDEN(1, uint64_t, TOP(0));
    case 0x82: WIDEN(2, uint64_t, LOW(0) | TOP(1));
    case 0x84: WIDEN(4, uint64_t, TOP4);
    case 0x88: WIDEN(8, uint64_t, LOW(0) | LOW(1) | LOW(2) | LOW(3) | LOW(4) | LOW(5) | LOW(6) | TOP(7));
    }
}

#include "bslz4_pixels.h"

const struct cpu_block_ops cpu_block_ops_portable = {cpu_planes_safe, pixels_of, bytes_of};
