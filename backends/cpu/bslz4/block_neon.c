/* block_neon.c - blocks with NEON, which every 64-bit ARM has. */
#include "block.h"
#include <arm_neon.h>
#include <string.h>

#define unlikely(x) __builtin_expect(!!(x), 0)
#define INLINE static inline __attribute__((always_inline))

typedef uint8x16_t vec16;
typedef uint8x16x2_t vec32;
HCY_DEFINE_TRANSPOSE8(transpose8x2, uint64x2_t)

static inline vec16 load16(const uint8_t *p)
{
    return vld1q_u8(p);
}

static inline void store16(uint8_t *p, vec16 v)
{
    vst1q_u8(p, v);
}

static inline vec32 load_vector(const uint8_t *p)
{
    return vld1q_u8_x2(p);
}

static inline void store_vector(uint8_t *p, vec32 v)
{
    vst1q_u8_x2(p, v);
}

static inline vec16 permute16(vec16 bytes, vec16 order)
{
    return vqtbl1q_u8(bytes, order);
}

static inline size_t run_length(const uint8_t **at, const uint8_t *iend)
{
    const uint8_t *ip = *at;
    size_t sum = 0;
    for (;; ip += 8, sum += 8 * 255) {
        uint64_t word;
        /* A run that leads out of the codes is damage, which the caller sees by the place behind their end. */
        if (ip >= iend) {
            *at = iend + 1;
            return 0;
        }
        memcpy(&word, ip, sizeof word);
        if (!unlikely(word == UINT64_MAX)) {
            size_t n = (size_t)__builtin_ctzll(~word) / 8;
            *at = ip + n + 1;
            return sum + n * 255 + ip[n];
        }
    }
}

/* Words of one byte a plane: columns 2 h and 2 h + 1 of those at hand. */
INLINE void store_words(uint32x4_t words, uint8_t *out)
{
    vst1q_u8(out, vreinterpretq_u8_u64(transpose8x2(vreinterpretq_u64_u32(words))));
}

/* 16 bytes of each of 8 planes: interleaved to words of one byte a plane, their bits transposed. */
INLINE void bytes16(const uint8_t *const *rows, size_t at, uint8_t *out)
{
    uint16x8x2_t pairs[4]; /* rows 2 k and 2 k + 1: columns 0 to 7, 8 to 15 */
    for (int k = 0; k < 4; k++) {
        uint8x16_t even = vld1q_u8(rows[2 * k] + at), odd = vld1q_u8(rows[2 * k + 1] + at);
        pairs[k].val[0] = vreinterpretq_u16_u8(vzip1q_u8(even, odd));
        pairs[k].val[1] = vreinterpretq_u16_u8(vzip2q_u8(even, odd));
    }
    for (int h = 0; h < 2; h++) {
        uint16x8x2_t low = vzipq_u16(pairs[0].val[h], pairs[1].val[h]);
        uint16x8x2_t high = vzipq_u16(pairs[2].val[h], pairs[3].val[h]);
        for (int k = 0; k < 2; k++) {
            uint32x4_t a = vreinterpretq_u32_u16(low.val[k]), b = vreinterpretq_u32_u16(high.val[k]);
            store_words(vzip1q_u32(a, b), out + 64 * h + 32 * k);
            store_words(vzip2q_u32(a, b), out + 64 * h + 32 * k + 16);
        }
    }
}

INLINE void bytes64(const uint8_t *const *rows, size_t at, uint8_t *out)
{
    for (size_t i = 0; i < 64; i += 16)
        bytes16(rows, at + i, out + 8 * i);
}

/* Rows 0 to n - 1 of 16 elements; above the last stored one, its signs. */
INLINE uint8x16_t row_at(const uint8_t *bytes, unsigned w, unsigned k)
{
    return k < w ? vld1q_u8(bytes + 512 * k)
                 : vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8(vld1q_u8(bytes + 512 * (w - 1))), 7));
}

INLINE void widen_rows(const uint8_t *bytes, unsigned w, unsigned elem_size, uint8_t *out)
{
    for (size_t i = 0; i < 512; i += 16, bytes += 16, out += 16 * elem_size) {
        uint8x16_t r[8];
        for (unsigned k = 0; k < elem_size; k++)
            r[k] = row_at(bytes, w, k);
        if (elem_size == 2) {
            vst2q_u8(out, (uint8x16x2_t){ { r[0], r[1] } });
        } else if (elem_size == 4) {
            vst4q_u8(out, (uint8x16x4_t){ { r[0], r[1], r[2], r[3] } });
        } else {
            /* There is no store of eight interleaved registers, so pairs of bytes are stored as four words. */
            uint16x8x4_t low, high;
            for (unsigned k = 0; k < 4; k++) {
                low.val[k] = vreinterpretq_u16_u8(vzip1q_u8(r[2 * k], r[2 * k + 1]));
                high.val[k] = vreinterpretq_u16_u8(vzip2q_u8(r[2 * k], r[2 * k + 1]));
            }
            vst4q_u16((uint16_t *)(void *)out, low);
            vst4q_u16((uint16_t *)(void *)(out + 64), high);
        }
    }
}

#include "copy16.h"
#include "lz4_planes.h"
#include "plane_pixels.h"

const struct cpu_block_ops cpu_block_ops_neon = { decode_block_planes, planes_to_pixels, planes_to_bytes };
