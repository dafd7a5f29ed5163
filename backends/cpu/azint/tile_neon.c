/* tile_neon.c - the tile kernels for 64-bit ARM, compiled twice: for any (neon), and with HCY_CPU_DOTPROD for
 * processors that have the dot product of ARMv8.2 (dotprod).
 *
 * Four frames are the lanes of a register.  SDOT multiplies four s8 weight digits, of 7 bits, with four pixel
 * digits and adds them to a lane: four digits make a weight, and one register of an entry has them all.  Without it,
 * weights are two 12-bit digits, pixels are widened to 16 bits, even and odd ones apart as in tile_avx2.c, and
 * SMLAL adds products; a lane's two sums are added when the bin is done.  A segment of 512 entries sums to
 * 512 * 4 * 4095 * 128 < 2^31.
 */
#include "region_planes.h"

#include <arm_neon.h>

enum {
    LANES = 4,
#ifdef HCY_CPU_DOTPROD
    DIGITS = 4, /* of a weight */
    DIGIT_BITS = 7,
#else
    DIGITS = 2,
    DIGIT_BITS = 12,
#endif
    BYTES = 32 /* of an expanded entry: the weights' digits, lowest first, and those of their squares */
};

#define INLINE static inline __attribute__((always_inline))

HCY_DEFINE_TRANSPOSE8(transpose8x2, uint64x2_t)

/* Four rows' dwords in turn: what ST4 does. */
static void tile4(const uint8_t *const *rows, size_t first, size_t last, uint8_t *out)
{
    for (size_t at = first; at < last; at += 16) {
        uint32x4x4_t r;
        for (unsigned l = 0; l < LANES; l++)
            r.val[l] = vreinterpretq_u32_u8(vld1q_u8(rows[l] + at));
        vst4q_u32((uint32_t *)(void *)(out + at * LANES), r);
    }
}

static void variance_digit_neon(const uint8_t *const *rows, unsigned digits, unsigned digit, size_t n, uint8_t *out)
{
    const uint8x16_t least = vdupq_n_u8(digit ? 0 : 1);
    for (size_t i = 0; i < n; i += 16) {
        uint8x16_t all = vld1q_u8(rows[0] + i);
        for (unsigned d = 1; d < digits; d++)
            all = vorrq_u8(all, vld1q_u8(rows[d] + i));
        /* Only a negative value has a negative digit, so the sign of all of them together is its sign. */
        uint8x16_t negative = vcltzq_s8(vreinterpretq_s8_u8(all));
        uint8x16_t own = vbicq_u8(vld1q_u8(rows[digit] + i), negative);
        uint8x16_t one = vorrq_u8(negative, vceqzq_u8(all)); /* where 1 is the value */
        vst1q_u8(out + i, vorrq_u8(own, vandq_u8(one, least)));
    }
}

/* Dwords of pixels 0 to 3 to digits, as a register of an expanded entry. */
INLINE uint8x16_t split_neon(uint32x4_t c)
{
#ifdef HCY_CPU_DOTPROD
    static const uint8_t by_digit[16] = { 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15 };
    const uint32x4_t seven = vdupq_n_u32(0x7f);
    uint32x4_t d = vandq_u32(c, seven);
    d = vorrq_u32(d, vshlq_n_u32(vandq_u32(vshrq_n_u32(c, 7), seven), 8));
    d = vorrq_u32(d, vshlq_n_u32(vandq_u32(vshrq_n_u32(c, 14), seven), 16));
    d = vorrq_u32(d, vshlq_n_u32(vshrq_n_u32(c, 21), 24));
    return vqtbl1q_u8(vreinterpretq_u8_u32(d), vld1q_u8(by_digit));
#else
    static const uint8_t even_odd[16] = { 0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15 };
    uint16x8_t d = vcombine_u16(vmovn_u32(vandq_u32(c, vdupq_n_u32(0xfff))), vshrn_n_u32(c, 12));
    return vqtbl1q_u8(vreinterpretq_u8_u16(d), vld1q_u8(even_odd));
#endif
}

static void expand_neon(const uint8_t *weights, size_t n, uint8_t *out)
{
    static const uint8_t by_pixel[16] = { 0, 4, 8, 255, 1, 5, 9, 255, 2, 6, 10, 255, 3, 7, 11, 255 };
    const uint8x16_t gather = vld1q_u8(by_pixel);
    for (size_t i = 0; i < n; i++) {
        uint32x4_t c = vreinterpretq_u32_u8(vqtbl1q_u8(vld1q_u8(weights + 12 * i), gather));
        uint64x2_t low = vmull_u32(vget_low_u32(c), vget_low_u32(c)), high = vmull_high_u32(c, c);
        /* The narrowing shift rounds as azint_square() does. */
        vst1q_u8(out + BYTES * i, split_neon(c));
        vst1q_u8(out + BYTES * i + 16, split_neon(vcombine_u32(vrshrn_n_u64(low, 24), vrshrn_n_u64(high, 24))));
    }
}

INLINE int32_t dword_neon(const void *p)
{
    int32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* Sums of a bin: a digit a register, a frame a lane; or two registers a digit, of which lanes 0 and 1, 2 and 3
 * belong to a frame.  A unit plan has sums in the first register alone, a frame a lane. */
struct four {
    int32x4_t d[4];
};

/* += the weights at w * the four bytes of each lane. */
INLINE void dot_neon(struct four *acc, int8x16_t x, const uint8_t *w)
{
#ifdef HCY_CPU_DOTPROD
    const int8x16_t digits = vreinterpretq_s8_u8(vld1q_u8(w));
    acc->d[0] = vdotq_laneq_s32(acc->d[0], x, digits, 0);
    acc->d[1] = vdotq_laneq_s32(acc->d[1], x, digits, 1);
    acc->d[2] = vdotq_laneq_s32(acc->d[2], x, digits, 2);
    acc->d[3] = vdotq_laneq_s32(acc->d[3], x, digits, 3);
#else
    const int16x8_t words = vreinterpretq_s16_s8(x);
    const int16x8_t even = vshrq_n_s16(vshlq_n_s16(words, 8), 8), odd = vshrq_n_s16(words, 8);
    for (unsigned d = 0; d < 2; d++) {
        int16x4_t w02 = vreinterpret_s16_s32(vdup_n_s32(dword_neon(w + 8 * d)));
        int16x4_t w13 = vreinterpret_s16_s32(vdup_n_s32(dword_neon(w + 8 * d + 4)));
        acc->d[2 * d] = vmlal_s16(acc->d[2 * d], vget_low_s16(even), w02);
        acc->d[2 * d + 1] = vmlal_s16(acc->d[2 * d + 1], vget_high_s16(even), w02);
        acc->d[2 * d] = vmlal_s16(acc->d[2 * d], vget_low_s16(odd), w13);
        acc->d[2 * d + 1] = vmlal_s16(acc->d[2 * d + 1], vget_high_s16(odd), w13);
    }
#endif
}

/* A digit's sums, a frame a lane. */
INLINE int32x4_t lanes_of(const struct four *acc, unsigned digit)
{
#ifdef HCY_CPU_DOTPROD
    return acc->d[digit];
#else
    return vpaddq_s32(acc->d[2 * digit], acc->d[2 * digit + 1]);
#endif
}

/* A unit plan's entry: bytes whose bit is set in the mask are added. */
INLINE void dot_unit_neon(struct four *acc, int8x16_t x, int8x16_t mask)
{
    acc->d[0] = vpadalq_s16(acc->d[0], vpaddlq_s8(vandq_s8(x, mask)));
}

#define MASK(m) \
    ((m) & 1 ? 0xffu : 0) | ((m) & 2 ? 0xff00u : 0) | ((m) & 4 ? 0xff0000u : 0) | ((m) & 8 ? 0xff000000u : 0)
static const uint32_t unit_masks[16] = { MASK(0), MASK(1), MASK(2),  MASK(3),  MASK(4),  MASK(5),  MASK(6),  MASK(7),
                                         MASK(8), MASK(9), MASK(10), MASK(11), MASK(12), MASK(13), MASK(14), MASK(15) };

/* To 64 bits: even lanes, then odd ones (azint_lane()). */
INLINE void flush_neon(const struct four *acc, const bool unit, int64_t *sum)
{
    int64x2_t even = vld1q_s64(sum), odd = vld1q_s64(sum + 2);
    for (unsigned d = 0; d < (unit ? 1 : DIGITS); d++) {
        const int64x2_t shift = vdupq_n_s64((int64_t)d * DIGIT_BITS);
        int32x4_t lanes = unit ? acc->d[0] : lanes_of(acc, d);
        lanes = vuzp1q_s32(lanes, vextq_s32(lanes, lanes, 1)); /* 0 2 1 3 */
        even = vaddq_s64(even, vshlq_s64(vmovl_s32(vget_low_s32(lanes)), shift));
        odd = vaddq_s64(odd, vshlq_s64(vmovl_high_s32(lanes), shift));
    }
    vst1q_s64(sum, even);
    vst1q_s64(sum + 2, odd);
}

INLINE int8x16_t load_digits(const uint8_t *p)
{
    return vreinterpretq_s8_u8(vld1q_u8(p));
}

/* G groups of lanes side by side share the loads of weights. */
INLINE void many_groups(const struct azint_part *part, const uint8_t *x, const uint8_t *v, const unsigned G,
                        const enum azint_variance variance, const bool unit, size_t stride, int64_t *sums)
{
    const size_t next = (size_t)LANES * AZINT_STRIP;
    uint32_t e = 0;
    for (size_t s = 0; s < part->n_segs; s++) {
        /* [group][signal, variance]: a bin stays in registers until its entries have passed. */
        struct four acc[2][2];
        for (unsigned k = 0; k < 16; k++)
            acc[k / 8][k / 4 % 2].d[k % 4] = vdupq_n_s32(0);
        for (const uint32_t end = part->segs[s].end - part->first; e < end; e++) {
            size_t at = (size_t)(unit ? part->index[e] >> 4 : part->index[e]) * 4 * LANES;
            const uint8_t *w = unit ? NULL : part->weights + (size_t)e * BYTES;
            const int8x16_t mask =
                vreinterpretq_s8_u32(vdupq_n_u32(unit ? unit_masks[part->index[e] & 15] : 0));
            for (unsigned g = 0; g < G; g++) {
                int8x16_t xs = load_digits(x + g * next + at), vs = xs;
                if (variance == AZINT_V_MAX)
                    vs = vmaxq_s8(xs, vdupq_n_s8(1));
                else if (variance == AZINT_V_TILE)
                    vs = load_digits(v + g * next + at);
                unit ? dot_unit_neon(&acc[g][0], xs, mask) : dot_neon(&acc[g][0], xs, w);
                if (variance != AZINT_V_NONE)
                    unit ? dot_unit_neon(&acc[g][1], vs, mask) : dot_neon(&acc[g][1], vs, w + 16);
            }
        }
        /* A segment is short enough for 32 bits; 64 are needed only from here on. */
        int64_t *sum = sums + (size_t)part->segs[s].bin * 2 * stride;
        for (unsigned g = 0; g < G; g++) {
            flush_neon(&acc[g][0], unit, sum + g * LANES);
            if (variance != AZINT_V_NONE)
                flush_neon(&acc[g][1], unit, sum + stride + g * LANES);
        }
    }
}

/* One frame: lanes are digits, or the products of the four pixels. */
struct one {
    int32x4_t d[2];
};

INLINE void dot_one(struct one *acc, int32_t four, const uint8_t *w, int8_t least)
{
    const int8x8_t x = vmax_s8(vreinterpret_s8_s32(vdup_n_s32(four)), vdup_n_s8(least));
#ifdef HCY_CPU_DOTPROD
    acc->d[0] = vdotq_s32(acc->d[0], vreinterpretq_s8_u8(vld1q_u8(w)), vcombine_s8(x, x));
#else
    const int8x8_t order = vcreate_s8(0x0301020003010200);
    const int16x4_t pixels = vget_low_s16(vmovl_s8(vtbl1_s8(x, order)));
    const int16x8_t digits = vreinterpretq_s16_u8(vld1q_u8(w));
    acc->d[0] = vmlal_s16(acc->d[0], pixels, vget_low_s16(digits));
    acc->d[1] = vmlal_s16(acc->d[1], pixels, vget_high_s16(digits));
#endif
}

INLINE void dot_one_unit(struct one *acc, int32_t four, uint32_t mask, int8_t least)
{
    int8x8_t x = vmax_s8(vreinterpret_s8_s32(vdup_n_s32(four)), vdup_n_s8(least));
    x = vand_s8(x, vcreate_s8(mask));
    acc->d[0] = vaddw_s16(acc->d[0], vpaddl_s8(x));
}

INLINE int64_t sum_frame_digits(const struct one *acc, const bool unit)
{
    if (unit)
        return vaddvq_s32(acc->d[0]);
#ifdef HCY_CPU_DOTPROD
    const int32x2_t factor = { 1, 1 << DIGIT_BITS };
    int64x2_t low = vmull_s32(vget_low_s32(acc->d[0]), factor), high = vmull_s32(vget_high_s32(acc->d[0]), factor);
    return vaddvq_s64(vaddq_s64(low, vshlq_n_s64(high, 2 * DIGIT_BITS)));
#else
    return vaddvq_s32(acc->d[0]) + (int64_t)vaddvq_s32(acc->d[1]) * (1 << DIGIT_BITS);
#endif
}

INLINE void one_frame(const struct azint_part *part, const uint8_t *x, const uint8_t *v, const bool from_tile,
                      const bool unit, size_t stride, int64_t *sums)
{
    const int8_t least = from_tile ? -128 : 1;
    uint32_t e = 0;
    for (size_t s = 0; s < part->n_segs; s++) {
        /* One frame has no neighbours to fill the lanes, so they take its digits. */
        struct one signal = { { vdupq_n_s32(0), vdupq_n_s32(0) } }, square = signal;
        for (const uint32_t end = part->segs[s].end - part->first; e < end; e++) {
            size_t at = (size_t)(unit ? part->index[e] >> 4 : part->index[e]) * 4;
            int32_t xs = dword_neon(x + at), vs = from_tile ? dword_neon(v + at) : xs;
            if (unit) {
                dot_one_unit(&signal, xs, unit_masks[part->index[e] & 15], -128);
                dot_one_unit(&square, vs, unit_masks[part->index[e] & 15], least);
            } else {
                dot_one(&signal, xs, part->weights + (size_t)e * BYTES, -128);
                dot_one(&square, vs, part->weights + (size_t)e * BYTES + 16, least);
            }
        }
        int64_t *to = sums + (size_t)part->segs[s].bin * 2 * stride;
        to[0] += sum_frame_digits(&signal, unit);
        to[stride] += sum_frame_digits(&square, unit);
    }
}

#include "tile_cases.h"

/* The bytes of 16 pixels, a register each. */
INLINE void load_pixel_bytes(const uint8_t *pixels, unsigned elem_size, uint8x16_t b[8])
{
    if (elem_size == 1) {
        b[0] = vld1q_u8(pixels);
    } else if (elem_size == 2) {
        uint8x16x2_t v = vld2q_u8(pixels);
        b[0] = v.val[0], b[1] = v.val[1];
    } else if (elem_size == 4) {
        uint8x16x4_t v = vld4q_u8(pixels);
        b[0] = v.val[0], b[1] = v.val[1], b[2] = v.val[2], b[3] = v.val[3];
    } else {
        uint8x16x4_t low = vld4q_u8(pixels), high = vld4q_u8(pixels + 64); /* bytes k and k + 4, eight pixels each */
        for (unsigned k = 0; k < 4; k++) {
            b[k] = vuzp1q_u8(low.val[k], high.val[k]);
            b[k + 4] = vuzp2q_u8(low.val[k], high.val[k]);
        }
    }
}

INLINE void pixel_planes(const uint8_t *pixels, unsigned elem_size, uint8_t *planes, size_t stride)
{
    static const uint8_t first[16] = { 0, 8, 16, 24, 32, 40, 48, 56, 1, 9, 17, 25, 33, 41, 49, 57 };
    uint8x16_t b[4][8];
    for (unsigned i = 0; i < 4; i++)
        load_pixel_bytes(pixels + (size_t)16 * i * elem_size, elem_size, b[i]);
    for (unsigned k = 0; k < elem_size; k++) {
        uint8x16x4_t words; /* byte p of word j: byte j of plane p */
        for (unsigned i = 0; i < 4; i++)
            words.val[i] = vreinterpretq_u8_u64(transpose8x2(vreinterpretq_u64_u8(b[i][k])));
        for (unsigned p = 0; p < 8; p += 2) {
            uint8x16_t two = vqtbl4q_u8(words, vaddq_u8(vld1q_u8(first), vdupq_n_u8((uint8_t)p)));
            vst1_u8(planes + (8 * k + p) * stride, vget_low_u8(two));
            vst1_u8(planes + (8 * k + p + 1) * stride, vget_high_u8(two));
        }
    }
}

static void to_planes_neon(const void *pixels, size_t n, unsigned elem_size, uint8_t *planes, size_t stride)
{
    const uint8_t *from = pixels;
    for (size_t i = 0; i < n; i += 64, from += (size_t)64 * elem_size, planes += 8)
        if (elem_size == 1)
            pixel_planes(from, 1, planes, stride);
        else if (elem_size == 2)
            pixel_planes(from, 2, planes, stride);
        else if (elem_size == 4)
            pixel_planes(from, 4, planes, stride);
        else
            pixel_planes(from, 8, planes, stride);
}

/* Their low bytes, and a byte not 0 for each live one that does not fit: a higher byte is not all sign, or,
 * unsigned, bit 7 is set. */
INLINE uint8x16_t narrow16(const uint8_t *pixels, unsigned elem_size, bool is_signed, const uint8_t *live, uint8_t *out)
{
    const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    uint8x16_t b[8], there = vcombine_u8(vdup_n_u8(live[0]), vdup_n_u8(live[1]));
    load_pixel_bytes(pixels, elem_size, b);
    /* An unsigned byte with its top bit set is too large as well as one with bytes above it. */
    uint8x16_t top = vcltzq_s8(vreinterpretq_s8_u8(b[0])), beyond = is_signed ? vdupq_n_u8(0) : top;
    for (unsigned k = 1; k < elem_size; k++)
        beyond = vorrq_u8(beyond, is_signed ? veorq_u8(b[k], top) : b[k]);
    vst1q_u8(out, b[0]);
    return vandq_u8(beyond, vtstq_u8(there, bit));
}

static int narrow_neon(const void *pixels, size_t n, unsigned elem_size, bool is_signed, const uint8_t *live,
                       uint8_t *out)
{
    const uint8_t *from = pixels;
    uint8x16_t beyond = vdupq_n_u8(0);
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        beyond = vorrq_u8(beyond, narrow16(from + i * elem_size, elem_size, is_signed, live + i / 8, out + i));
    /* The last pixels go the portable way, so that nothing behind them is read. */
    return vmaxvq_u8(beyond) != 0 || (i < n && azint_ops_portable.narrow(from + i * elem_size, n - i, elem_size,
                                                                       is_signed, live + i / 8, out + i));
}

#ifdef HCY_CPU_DOTPROD
const struct azint_ops azint_ops_dotprod = {
#else
const struct azint_ops azint_ops_neon = {
#endif
    .tiles = { LANES, tile4, many },
    .pass = 4 * LANES,
    .few_frames = 1,
    .variance = variance_digit_neon,
    .expand = expand_neon,
    .one = one,
    .beyond = azint_beyond,
    .lost = azint_lost,
    .ones = azint_ones,
    .tally = azint_tally_block,
    .drop = azint_drop,
    .narrow = narrow_neon,
    .to_planes = to_planes_neon,
};
