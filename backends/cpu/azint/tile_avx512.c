/* tile_avx512.c - the tile kernels for AVX-512 with VNNI and VBMI; their sums are tile_vnni.h. */
#include "region_planes.h"

#include <immintrin.h>

enum { LANES = 16 };
typedef __m512i vec;
#define V(name)  _mm512_##name
#define SET64(x) _mm512_set1_epi64(x)
#include "tile_vnni.h"

/* 16 x 16 dwords: four rows to each of four registers, 128 bits a row, then two unpack stages. */
static void tile16(const uint8_t *const *rows, size_t first, size_t last, uint8_t *out)
{
    for (size_t at = first; at < last; at += 16) {
        __m512i r[4];
        for (unsigned i = 0; i < 4; i++) {
            __m512i t = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(rows[i] + at)));
            t = _mm512_inserti32x4(t, _mm_loadu_si128((const void *)(rows[4 + i] + at)), 1);
            t = _mm512_inserti32x4(t, _mm_loadu_si128((const void *)(rows[8 + i] + at)), 2);
            r[i] = _mm512_inserti32x4(t, _mm_loadu_si128((const void *)(rows[12 + i] + at)), 3);
        }
        __m512i a = _mm512_unpacklo_epi32(r[0], r[1]), b = _mm512_unpackhi_epi32(r[0], r[1]);
        __m512i c = _mm512_unpacklo_epi32(r[2], r[3]), d = _mm512_unpackhi_epi32(r[2], r[3]);
        __m512i *to = (void *)(out + at * LANES);
        _mm512_store_si512(to, _mm512_unpacklo_epi64(a, c));
        _mm512_store_si512(to + 1, _mm512_unpackhi_epi64(a, c));
        _mm512_store_si512(to + 2, _mm512_unpacklo_epi64(b, d));
        _mm512_store_si512(to + 3, _mm512_unpackhi_epi64(b, d));
    }
}

static void variance_digit_avx512(const uint8_t *const *rows, unsigned digits, unsigned digit, size_t n,
                                  uint8_t *out)
{
    for (size_t i = 0; i < n; i += 64) {
        __m512i all = _mm512_loadu_si512(rows[0] + i);
        for (unsigned d = 1; d < digits; d++)
            all = _mm512_or_si512(all, _mm512_loadu_si512(rows[d] + i));
        /* Only a negative value has a negative digit; 1, its variance, is in the first one. */
        __mmask64 negative = _mm512_movepi8_mask(all),
                  one = digit ? 0 : negative | _mm512_testn_epi8_mask(all, all);
        __m512i own = _mm512_maskz_loadu_epi8(~negative, rows[digit] + i);
        _mm512_storeu_si512(out + i, _mm512_mask_mov_epi8(own, one, _mm512_set1_epi8(1)));
    }
}

/* Byte numbers: of a weight (dword 4 entry + pixel) in the digits; of half an expanded entry in digits or
 * squares. */
#define WEIGHT(e, p)    12 * (e) + (p), 12 * (e) + 4 + (p), 12 * (e) + 8 + (p), 0
#define WEIGHTS(e)      WEIGHT(e, 0), WEIGHT(e, 1), WEIGHT(e, 2), WEIGHT(e, 3)
#define DIGIT(at, step) (at), (at) + (step), (at) + 2 * (step), (at) + 3 * (step)
#define DIGITS(at, digit, step)                                                                              \
    DIGIT(at, step), DIGIT((at) + (digit), step), DIGIT((at) + 2 * (digit), step), 0, 0, 0, 0
static const uint8_t to_weight[64] = { WEIGHTS(0), WEIGHTS(1), WEIGHTS(2), WEIGHTS(3) };
static const uint8_t to_entry[64] = {
    DIGITS(0, 4, 1),
    DIGITS(64, 1, 4),
    DIGITS(12, 4, 1),
    DIGITS(64 + 16, 1, 4),
};

/* Four entries at a time: digits to 24-bit weights, squares by two even-lane multiplications, digits again.
 */
static void expand_avx512(const uint8_t *weights, size_t n, uint8_t *out)
{
    const __m512i gather = _mm512_loadu_si512(to_weight), low = _mm512_loadu_si512(to_entry);
    /* the second pair of entries: 24 bytes on in the digits, 32 in the squares */
    const __m512i high =
        _mm512_add_epi8(low, _mm512_broadcast_i64x4(_mm256_set_m128i(_mm_set1_epi8(32), _mm_set1_epi8(24))));
    const __m512i half = _mm512_set1_epi64(1 << 23);
    for (size_t i = 0; i < n; i += 4) {
        __m512i digits = _mm512_loadu_si512(weights + 12 * i);
        __m512i c = _mm512_maskz_permutexvar_epi8(0x7777777777777777, gather, digits),
                odd = _mm512_srli_epi64(c, 32);
        __m512i c2 = _mm512_srli_epi64(_mm512_add_epi64(_mm512_mul_epu32(c, c), half), 24);
        __m512i odd2 = _mm512_srli_epi64(_mm512_add_epi64(_mm512_mul_epu32(odd, odd), half), 24);
        c2 = _mm512_or_si512(c2, _mm512_slli_epi64(odd2, 32));
        _mm512_store_si512(out + BYTES * i,
                           _mm512_maskz_permutex2var_epi8(0x0fff0fff0fff0fff, digits, low, c2));
        _mm512_store_si512(out + BYTES * i + 64,
                           _mm512_maskz_permutex2var_epi8(0x0fff0fff0fff0fff, digits, high, c2));
    }
}

/* One frame: its lanes are the digits.  The low half of a register sums the signal, the high half the
 * variance; the four pixels are broadcast, one load, and the weights come as they are. */
INLINE void one_frame(const struct azint_part *part, const uint8_t *x, const uint8_t *v, const bool from_tile,
                      const bool unit, size_t stride, int64_t *sums)
{
    const __m256i least = _mm256_set_m128i(_mm_set1_epi8(from_tile ? -128 : 1), _mm_set1_epi8(-128));
    const __m512i shift = _mm512_setr_epi64(0, 8, 16, 64, 0, 8, 16, 64);
    uint32_t e = 0;
    for (size_t s = 0; s < part->n_segs; s++) {
        __m256i acc[2] = { _mm256_setzero_si256(), _mm256_setzero_si256() };
        for (const uint32_t end = part->segs[s].end - part->first; e < end; e++) {
            size_t at = (size_t)(unit ? part->index[e] >> 4 : part->index[e]) * 4;
            int four, weight;
            memcpy(&four, x + at, sizeof four);
            __m256i values = _mm256_set1_epi32(four);
            if (from_tile) {
                memcpy(&four, v + at, sizeof four);
                values = _mm256_inserti128_si256(values, _mm_set1_epi32(four), 1);
            }
            values = _mm256_max_epi8(values, least);
            __m256i w;
            if (unit) {
                memcpy(&weight, unit_weights[part->index[e] & 15], sizeof weight);
                w = _mm256_set1_epi32(weight);
            } else {
                w = _mm256_load_si256((const void *)(part->weights + (size_t)e * BYTES));
            }
            /* Two sums in turn, because each dot product would wait for the one before. */
            acc[e & 1] = _mm256_dpbusd_epi32(acc[e & 1], w, values);
        }
        __m512i sum = _mm512_cvtepi32_epi64(_mm256_add_epi32(acc[0], acc[1]));
        int64_t *to = sums + (size_t)part->segs[s].bin * 2 * stride;
        /* The digits count 2^0, 2^8 and 2^16; the fourth is none and is shifted out. */
        if (!unit) {
            sum = _mm512_sllv_epi64(sum, shift);
            sum = _mm512_add_epi64(sum, _mm512_permutex_epi64(sum, 0x4e));
            sum = _mm512_add_epi64(sum, _mm512_permutex_epi64(sum, 0xb1));
        }
        to[0] += _mm_cvtsi128_si64(_mm512_castsi512_si128(sum));
        to[stride] += _mm_cvtsi128_si64(_mm512_extracti32x4_epi32(sum, 2));
    }
}

#include "tile_cases.h"

static int narrow_avx512(const void *pixels, size_t n, unsigned elem_size, bool is_signed, const uint8_t *live,
                         uint8_t *out)
{
    const uint8_t *from = pixels;
    const int low = is_signed ? 128 : 0, most = is_signed ? 255 : 127;
    const unsigned per = 64 / elem_size;
    uint64_t beyond = 0;
    for (size_t i = 0; i < n; i += per) {
        size_t left = n - i < per ? n - i : per;
        /* Masks keep loads and stores within the n pixels. */
        uint64_t there = left == 64 ? UINT64_MAX : (1ull << left) - 1;
        uint64_t bits = azint_load(live + i / 64 * 8) >> i % 64 & there;
        const uint8_t *p = from + i * elem_size;
        /* Signed values from -128 on are moved up by 128: one unsigned comparison tests both ends. */
        if (elem_size == 1) {
            __m512i v = _mm512_maskz_loadu_epi8(there, p);
            beyond |= is_signed ? 0 : bits & _mm512_movepi8_mask(v);
            _mm512_mask_storeu_epi8(out + i, there, v);
        } else if (elem_size == 2) {
            __m512i v = _mm512_maskz_loadu_epi16((__mmask32)there, p),
                    up = _mm512_add_epi16(v, _mm512_set1_epi16((short)low));
            beyond |= _mm512_mask_cmpgt_epu16_mask((__mmask32)bits, up, _mm512_set1_epi16((short)most));
            _mm256_mask_storeu_epi8(out + i, (__mmask32)there, _mm512_cvtepi16_epi8(v));
        } else if (elem_size == 4) {
            __m512i v = _mm512_maskz_loadu_epi32((__mmask16)there, p),
                    up = _mm512_add_epi32(v, _mm512_set1_epi32(low));
            beyond |= _mm512_mask_cmpgt_epu32_mask((__mmask16)bits, up, _mm512_set1_epi32(most));
            _mm_mask_storeu_epi8(out + i, (__mmask16)there, _mm512_cvtepi32_epi8(v));
        } else {
            __m512i v = _mm512_maskz_loadu_epi64((__mmask8)there, p),
                    up = _mm512_add_epi64(v, _mm512_set1_epi64(low));
            beyond |= _mm512_mask_cmpgt_epu64_mask((__mmask8)bits, up, _mm512_set1_epi64(most));
            _mm_mask_storeu_epi8(out + i, (__mmask16)there, _mm512_cvtepi64_epi8(v));
        }
    }
    return beyond != 0;
}

/* Byte b of 64 pixels. */
INLINE __m512i byte_of_avx512(const uint8_t *pixels, unsigned elem_size, unsigned b)
{
    __m128i q[4];
    if (elem_size == 1)
        return _mm512_loadu_si512(pixels);
    for (unsigned i = 0; i < 4; i++) { /* 16 pixels each */
        const uint8_t *p = pixels + 16 * i * elem_size;
        if (elem_size == 2) {
            __m256i v =
                _mm256_srl_epi16(_mm256_loadu_si256((const void *)p), _mm_cvtsi32_si128((int)(8 * b)));
            q[i] = _mm256_cvtepi16_epi8(v);
        } else if (elem_size == 4) {
            q[i] = _mm512_cvtepi32_epi8(
                _mm512_srl_epi32(_mm512_loadu_si512(p), _mm_cvtsi32_si128((int)(8 * b))));
        } else {
            __m128i count = _mm_cvtsi32_si128((int)(8 * b));
            __m128i lo = _mm512_cvtepi64_epi8(_mm512_srl_epi64(_mm512_loadu_si512(p), count));
            __m128i hi = _mm512_cvtepi64_epi8(_mm512_srl_epi64(_mm512_loadu_si512(p + 64), count));
            q[i] = _mm_unpacklo_epi64(lo, hi);
        }
    }
    __m512i v = _mm512_inserti32x4(_mm512_castsi128_si512(q[0]), q[1], 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(v, q[2], 2), q[3], 3);
}

static void to_planes_avx512(const void *pixels, size_t n, unsigned elem_size, uint8_t *planes, size_t stride)
{
    for (size_t i = 0; i < n; i += 64)
        for (unsigned b = 0; b < elem_size; b++) {
            __m512i v = byte_of_avx512((const uint8_t *)pixels + i * elem_size, elem_size, b);
            /* The top bits of all bytes are taken, and doubling brings up the next ones. */
            for (unsigned k = 8; k-- > 0; v = _mm512_add_epi8(v, v)) {
                uint64_t bits = _mm512_movepi8_mask(v);
                memcpy(planes + (8 * b + k) * stride + i / 8, &bits, sizeof bits);
            }
        }
}

const struct azint_ops azint_ops_avx512 = {
    .tiles = { LANES, tile16, many },
    .few = &azint_tiles_few_avx512,
    .pass = 2 * LANES,
    .few_frames = 1,
    .variance = variance_digit_avx512,
    .expand = expand_avx512,
    .one = one,
    .beyond = azint_beyond,
    .lost = azint_lost,
    .ones = azint_ones,
    .tally = azint_tally_block,
    .drop = azint_drop,
    .look = azint_look_avx2,
    .narrow = narrow_avx512,
    .to_planes = to_planes_avx512,
};
