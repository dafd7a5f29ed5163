/* tile_avx2.c - the tile kernels for AVX2.
 *
 * Without VNNI, VPMADDWD does the work: weights as two 12-bit digits, pixel digits widened to 16 bits.  Bytes
 * are widened where they lie, even and odd ones apart, so pairs are pixels (0, 2) and (1, 3), and the weights
 * follow. (VPMADDUBSW on bytes needs four 7-bit digits and an addition more for each: 24 instructions where
 * this takes 16.) A segment of 512 entries sums to 512 * 4 * 4095 * 128 < 2^31.
 */
#include "region_planes.h"

#include <immintrin.h>

enum {
    LANES = 8,
    BYTES = 32 /* of an expanded entry: low digits of pixels 0 2 1 3, high digits; the square's */
};

#define INLINE static inline __attribute__((always_inline))

#include "tile8.h"

static void variance_digit_avx2(const uint8_t *const *rows, unsigned digits, unsigned digit, size_t n,
                                uint8_t *out)
{
    const __m256i zero = _mm256_setzero_si256(), least = _mm256_set1_epi8(digit ? 0 : 1);
    for (size_t i = 0; i < n; i += 32) {
        __m256i all = _mm256_loadu_si256((const void *)(rows[0] + i)), own;
        for (unsigned d = 1; d < digits; d++)
            all = _mm256_or_si256(all, _mm256_loadu_si256((const void *)(rows[d] + i)));
        /* Only a negative value has a negative digit, so the sign of all of them together is its sign. */
        __m256i negative = _mm256_cmpgt_epi8(zero, all);
        own = _mm256_andnot_si256(negative, _mm256_loadu_si256((const void *)(rows[digit] + i)));
        all = _mm256_or_si256(negative, _mm256_cmpeq_epi8(all, zero)); /* where 1 is the value */
        _mm256_storeu_si256((void *)(out + i), _mm256_or_si256(own, _mm256_and_si256(all, least)));
    }
}

/* Dwords of pixels 0..3 to 16-bit digits: low of 0 2 1 3, high of 0 2 1 3. */
INLINE __m256i split_avx2(__m256i c)
{
    const __m256i order =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
    __m256i low = _mm256_and_si256(c, _mm256_set1_epi32(0xfff)), high = _mm256_srli_epi32(c, 12);
    return _mm256_shuffle_epi8(_mm256_packus_epi32(low, high), order);
}

/* Two entries at a time, one a half. */
static void expand_avx2(const uint8_t *weights, size_t n, uint8_t *out)
{
    const __m256i gather =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, -1, 1, 5, 9, -1, 2, 6, 10, -1, 3, 7, 11, -1));
    const __m256i half = _mm256_set1_epi64x(1 << 23);
    for (size_t i = 0; i < n; i += 2) {
        __m256i digits =
            _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const void *)(weights + 12 * i))),
                                    _mm_loadu_si128((const void *)(weights + 12 * i + 12)), 1);
        __m256i c = _mm256_shuffle_epi8(digits, gather), odd = _mm256_srli_epi64(c, 32);
        /* A multiplication takes every other lane, so even and odd pixels are squared apart, rounded as
         * azint_square() does. */
        __m256i c2 = _mm256_srli_epi64(_mm256_add_epi64(_mm256_mul_epu32(c, c), half), 24);
        __m256i odd2 = _mm256_srli_epi64(_mm256_add_epi64(_mm256_mul_epu32(odd, odd), half), 24);
        c2 = split_avx2(_mm256_or_si256(c2, _mm256_slli_epi64(odd2, 32)));
        c = split_avx2(c);
        __m256i *to = (void *)(out + BYTES * i);
        _mm256_store_si256(to, _mm256_permute2x128_si256(c, c2, 0x20));
        _mm256_store_si256(to + 1, _mm256_permute2x128_si256(c, c2, 0x31));
    }
}

INLINE __m256i dword_avx2(const void *p)
{
    int x;
    memcpy(&x, p, sizeof x);
    return _mm256_set1_epi32(x);
}

INLINE __m256i widen_even(__m256i x)
{
    return _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8);
}

/* acc[0] and acc[1], low and high digit: += weights at w * the four bytes of each lane. */
INLINE void dot_avx2(__m256i acc[2], __m256i x, const uint8_t *w)
{
    __m256i even = widen_even(x), odd = _mm256_srai_epi16(x, 8);
    for (unsigned d = 0; d < 2; d++) {
        acc[d] = _mm256_add_epi32(acc[d], _mm256_madd_epi16(even, dword_avx2(w + 8 * d)));
        acc[d] = _mm256_add_epi32(acc[d], _mm256_madd_epi16(odd, dword_avx2(w + 8 * d + 4)));
    }
}

/* A unit plan's entry: bytes whose bit is set in the mask are added. */
INLINE void dot_unit_avx2(__m256i *acc, __m256i x, __m256i weights)
{
    __m256i pairs = _mm256_maddubs_epi16(weights, x);
    *acc = _mm256_add_epi32(*acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

INLINE void flush_avx2(const __m256i acc[2], bool unit, int64_t *sum)
{
    const __m256i factor = _mm256_set1_epi64x(unit ? 0 : 1 << 12), one = _mm256_set1_epi64x(1);
    /* AVX2 has no arithmetic shift of 64 bits, so a multiplication by 1 extends the signs. */
    __m256i even = _mm256_mul_epi32(acc[0], one);
    __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(acc[0], 32), one);
    if (!unit) {
        even = _mm256_add_epi64(even, _mm256_mul_epi32(acc[1], factor));
        odd = _mm256_add_epi64(odd, _mm256_mul_epi32(_mm256_srli_epi64(acc[1], 32), factor));
    }
    __m256i *to = (void *)sum;
    _mm256_storeu_si256(to, _mm256_add_epi64(_mm256_loadu_si256(to), even));
    _mm256_storeu_si256(to + 1, _mm256_add_epi64(_mm256_loadu_si256(to + 1), odd));
}

static const uint32_t unit_weights[16] = {
    0x00000000, 0x00000001, 0x00000100, 0x00000101, 0x00010000, 0x00010001, 0x00010100, 0x00010101,
    0x01000000, 0x01000001, 0x01000100, 0x01000101, 0x01010000, 0x01010001, 0x01010100, 0x01010101,
};

INLINE void many_groups(const struct azint_part *part, const uint8_t *x, const uint8_t *v, const unsigned G,
                        const enum azint_variance variance, const bool unit, size_t stride, int64_t *sums)
{
    const size_t next = (size_t)LANES * AZINT_STRIP;
    uint32_t e = 0;
    for (size_t s = 0; s < part->n_segs; s++) {
        /* [group][signal, variance][digit]: a bin stays in registers until its entries have passed. */
        __m256i acc[2][2][2];
        for (unsigned g = 0; g < G; g++)
            for (unsigned k = 0; k < 4; k++)
                acc[g][k / 2][k % 2] = _mm256_setzero_si256();
        for (const uint32_t end = part->segs[s].end - part->first; e < end; e++) {
            size_t at = (size_t)(unit ? part->index[e] >> 4 : part->index[e]) * 4 * LANES;
            const uint8_t *w = unit ? NULL : part->weights + (size_t)e * BYTES;
            const __m256i mask = unit ? dword_avx2(&unit_weights[part->index[e] & 15]) : _mm256_setzero_si256();
            for (unsigned g = 0; g < G; g++) {
                __m256i xs = _mm256_load_si256((const void *)(x + g * next + at)), vs = xs;
                if (variance == AZINT_V_MAX)
                    vs = _mm256_max_epi8(xs, _mm256_set1_epi8(1));
                else if (variance == AZINT_V_TILE)
                    vs = _mm256_load_si256((const void *)(v + g * next + at));
                unit ? dot_unit_avx2(acc[g][0], xs, mask) : dot_avx2(acc[g][0], xs, w);
                if (variance != AZINT_V_NONE)
                    unit ? dot_unit_avx2(acc[g][1], vs, mask) : dot_avx2(acc[g][1], vs, w + 16);
            }
        }
        /* A segment is short enough for 32 bits; 64 are needed only from here on. */
        int64_t *sum = sums + (size_t)part->segs[s].bin * 2 * stride;
        for (unsigned g = 0; g < G; g++) {
            flush_avx2(acc[g][0], unit, sum + g * LANES);
            if (variance != AZINT_V_NONE)
                flush_avx2(acc[g][1], unit, sum + stride + g * LANES);
        }
    }
}

/* One frame: lanes are the digits, an entry one multiplication.  Low half signal, high half variance. */
INLINE void one_frame(const struct azint_part *part, const uint8_t *x, const uint8_t *v, const bool from_tile,
                      const bool unit, size_t stride, int64_t *sums)
{
    const __m256i least = _mm256_set_m128i(_mm_set1_epi8(from_tile ? -128 : 1), _mm_set1_epi8(-128));
    /* bytes 0 2 1 3 to the upper halves of words, twice */
    const __m256i words =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(-1, 0, -1, 2, -1, 1, -1, 3, -1, 0, -1, 2, -1, 1, -1, 3));
    uint32_t e = 0;
    for (size_t s = 0; s < part->n_segs; s++) {
        __m256i acc = _mm256_setzero_si256();
        for (const uint32_t end = part->segs[s].end - part->first; e < end; e++) {
            size_t at = (size_t)(unit ? part->index[e] >> 4 : part->index[e]) * 4;
            __m256i values = dword_avx2(x + at);
            if (from_tile)
                values = _mm256_blend_epi32(values, dword_avx2(v + at), 0xf0);
            /* A maximum with -128 changes nothing and one with 1 makes the variance: one instruction serves both
             * halves. */
            values = _mm256_max_epi8(values, least);
            if (unit) {
                dot_unit_avx2(&acc, values, dword_avx2(&unit_weights[part->index[e] & 15]));
                continue;
            }
            __m256i w = _mm256_load_si256((const void *)(part->weights + (size_t)e * BYTES));
            values = _mm256_srai_epi16(_mm256_shuffle_epi8(values, words), 8);
            acc = _mm256_add_epi32(acc, _mm256_madd_epi16(values, w));
        }
        int64_t *to = sums + (size_t)part->segs[s].bin * 2 * stride;
        if (!unit)
            acc = _mm256_hadd_epi32(acc, acc); /* dword 0: low digit, 1: high digit */
        int64_t signal = _mm_cvtsi128_si64(_mm256_castsi256_si128(acc));
        int64_t square = _mm_cvtsi128_si64(_mm256_extracti128_si256(acc, 1));
        to[0] += (int32_t)signal + (unit ? 0 : (signal >> 32) * (1 << 12));
        to[stride] += (int32_t)square + (unit ? 0 : (square >> 32) * (1 << 12));
    }
}

#include "tile_cases.h"

/* Byte b of 32 pixels. */
INLINE __m256i byte_of_avx2(const uint8_t *pixels, unsigned elem_size, unsigned b)
{
    const __m128i count = _mm_cvtsi32_si128((int)(8 * b));
    const __m256i *p = (const void *)pixels;
    __m256i v[4];
    if (elem_size == 1)
        return _mm256_loadu_si256(p);
    if (elem_size == 2) {
        for (unsigned i = 0; i < 2; i++)
            v[i] =
                _mm256_and_si256(_mm256_srl_epi16(_mm256_loadu_si256(p + i), count), _mm256_set1_epi16(0xff));
        /* Packing works within halves of 128 bits, whose order is restored. */
        return _mm256_permute4x64_epi64(_mm256_packus_epi16(v[0], v[1]), 0xd8);
    }
    for (unsigned i = 0; i < 4; i++) /* eight pixels each, as dwords */
        if (elem_size == 4) {
            v[i] =
                _mm256_and_si256(_mm256_srl_epi32(_mm256_loadu_si256(p + i), count), _mm256_set1_epi32(0xff));
        } else {
            const __m256i low = _mm256_set1_epi64x(0xff);
            __m256i a = _mm256_and_si256(_mm256_srl_epi64(_mm256_loadu_si256(p + 2 * i), count), low);
            __m256i c = _mm256_and_si256(_mm256_srl_epi64(_mm256_loadu_si256(p + 2 * i + 1), count), low);
            a = _mm256_or_si256(a, _mm256_slli_epi64(c, 32)); /* pixels 0 4 1 5 | 2 6 3 7 */
            v[i] = _mm256_permutevar8x32_epi32(a, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
        }
    __m256i words = _mm256_packus_epi16(_mm256_packus_epi32(v[0], v[1]), _mm256_packus_epi32(v[2], v[3]));
    return _mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

static void to_planes_avx2(const void *pixels, size_t n, unsigned elem_size, uint8_t *planes, size_t stride)
{
    for (size_t i = 0; i < n; i += 32)
        for (unsigned b = 0; b < elem_size; b++) {
            __m256i v = byte_of_avx2((const uint8_t *)pixels + i * elem_size, elem_size, b);
            /* The top bits of all bytes are taken, and doubling brings up the next ones. */
            for (unsigned k = 8; k-- > 0; v = _mm256_add_epi8(v, v)) {
                int bits = _mm256_movemask_epi8(v);
                memcpy(planes + (8 * b + k) * stride + i / 8, &bits, sizeof bits);
            }
        }
}

/* A bit for each of 32 pixels that does not fit: a higher byte is not all sign, or, unsigned, bit 7 is set.
 */
INLINE uint32_t exceeds_byte(const uint8_t *pixels, unsigned elem_size, bool is_signed)
{
    __m256i low = byte_of_avx2(pixels, elem_size, 0), beyond = _mm256_setzero_si256();
    __m256i sign = is_signed ? _mm256_cmpgt_epi8(_mm256_setzero_si256(), low) : _mm256_setzero_si256();
    for (unsigned b = 1; b < elem_size; b++)
        beyond = _mm256_or_si256(beyond, _mm256_xor_si256(byte_of_avx2(pixels, elem_size, b), sign));
    uint32_t fits = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(beyond, _mm256_setzero_si256()));
    return ~fits | (is_signed ? 0 : (uint32_t)_mm256_movemask_epi8(low));
}

static int narrow_avx2(const void *pixels, size_t n, unsigned elem_size, bool is_signed, const uint8_t *live,
                       uint8_t *out)
{
    const uint8_t *from = pixels;
    uint32_t beyond = 0, bits;
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        memcpy(&bits, live + i / 8, sizeof bits);
        beyond |= bits & exceeds_byte(from + i * elem_size, elem_size, is_signed);
        _mm256_storeu_si256((void *)(out + i), byte_of_avx2(from + i * elem_size, elem_size, 0));
    }
    /* The last pixels go the portable way, so that nothing behind them is read. */
    return beyond != 0 || (i < n && azint_ops_portable.narrow(from + i * elem_size, n - i, elem_size, is_signed,
                                                            live + i / 8, out + i));
}

const struct azint_ops azint_ops_avx2 = {
    .tiles = { LANES, tile8, many },
    .pass = 2 * LANES,
    .few_frames = 1,
    .variance = variance_digit_avx2,
    .expand = expand_avx2,
    .one = one,
    .beyond = azint_beyond,
    .lost = azint_lost,
    .ones = azint_ones,
    .tally = azint_tally_block,
    .drop = azint_drop,
    .look = azint_look_avx2,
    .narrow = narrow_avx2,
    .to_planes = to_planes_avx2,
};
