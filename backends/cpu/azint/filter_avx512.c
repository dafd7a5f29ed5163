/* filter_avx512.c - azint_filter's loops for AVX-512: those that compilers do not make well, by hand. */
#include "filter_loops.h"

#include <immintrin.h>

static size_t outside_512(const struct filter_bin *bin, float lo, float hi)
{
    const __m512 least = _mm512_set1_ps(lo), most = _mm512_set1_ps(hi);
    uint32_t *found = bin->found;
    for (size_t at = 0; at < bin->n; at += 16) {
        /* The padding is NaN, which an ordered comparison leaves out. */
        __m512 x = _mm512_loadu_ps(bin->x + at);
        unsigned out = _mm512_cmp_ps_mask(x, least, _CMP_LT_OQ) | _mm512_cmp_ps_mask(x, most, _CMP_GT_OQ);
        for (; out; out &= out - 1)
            *found++ = (uint32_t)at + (unsigned)__builtin_ctz(out);
    }
    return (size_t)(found - bin->found);
}

/* Eight values, or those of them that `there` has. */
struct eight {
    __m512i v, norm, weight;
};

static inline struct eight load_entries(const struct filter_bin *bin, size_t at, __mmask8 there)
{
    struct eight e = { _mm512_maskz_loadu_epi64(there, bin->values + at),
                       _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(there, bin->norms24 + at)),
                       _mm512_setzero_si512() };
    if (bin->weights)
        e.weight = _mm512_and_si512(_mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(there, bin->weights + at)),
                                    _mm512_set1_epi64(0xffffff));
    return e;
}

static inline __mmask8 lanes_left(size_t at, size_t last)
{
    return (__mmask8)(last - at < 8 ? (1u << (last - at)) - 1 : 0xffu);
}

static void sum_unit_512(const struct filter_bin *bin, size_t first, size_t last, struct filter_parts *parts)
{
    const __m512i one = _mm512_set1_epi64(1);
    /* The mask matters: the maximum of 1 and a lane that is not there would count. */
    __m512i signal = _mm512_setzero_si512(), variance = signal, square = signal, cross = signal;
    for (size_t at = first; at < last; at += 8) {
        __mmask8 in = lanes_left(at, last);
        struct eight e = load_entries(bin, at, in);
        signal = _mm512_add_epi64(signal, e.v);
        variance = _mm512_add_epi64(variance, _mm512_maskz_max_epi64(in, e.v, one));
        square = _mm512_add_epi64(square, _mm512_mul_epi32(e.v, e.v));
        cross = _mm512_add_epi64(cross, _mm512_mul_epi32(e.v, e.norm));
    }
    *parts = (struct filter_parts){ _mm512_reduce_add_epi64(signal),
                                    _mm512_reduce_add_epi64(variance),
                                    { _mm512_reduce_add_epi64(square), 0 },
                                    { _mm512_reduce_add_epi64(cross), 0 } };
}

static void sum_512(const struct filter_bin *bin, size_t first, size_t last, struct filter_parts *parts)
{
    const __m512i one = _mm512_set1_epi64(1), low = _mm512_set1_epi64((1 << 24) - 1), half = _mm512_set1_epi64(1 << 23);
    __m512i s[6];
    if (!bin->weights) {
        sum_unit_512(bin, first, last, parts);
        return;
    }
    for (unsigned k = 0; k < 6; k++)
        s[k] = _mm512_setzero_si512();
    for (size_t at = first; at < last; at += 8) {
        __mmask8 in = lanes_left(at, last);
        struct eight e = load_entries(bin, at, in);
        __m512i c2 = _mm512_srli_epi64(_mm512_add_epi64(_mm512_mul_epu32(e.weight, e.weight), half), 24);
        /* A multiplication takes the low 32 bits of a lane, which values below 2^24 do not exceed. */
        s[0] = _mm512_add_epi64(s[0], _mm512_mul_epi32(e.weight, e.v));
        s[1] = _mm512_add_epi64(s[1], _mm512_mul_epi32(c2, _mm512_max_epi64(e.v, one)));
        if (!bin->deviation)
            continue;
        __m512i square = _mm512_mul_epi32(e.v, e.v), q = _mm512_mul_epi32(c2, e.norm);
        s[2] = _mm512_add_epi64(s[2], _mm512_mul_epi32(c2, _mm512_and_si512(square, low)));
        s[3] = _mm512_add_epi64(s[3], _mm512_mul_epi32(c2, _mm512_srli_epi64(square, 24)));
        s[4] = _mm512_add_epi64(s[4], _mm512_mul_epi32(e.v, _mm512_and_si512(q, low)));
        s[5] = _mm512_add_epi64(s[5], _mm512_mul_epi32(e.v, _mm512_srli_epi64(q, 24)));
    }
    *parts = (struct filter_parts){ _mm512_reduce_add_epi64(s[0]),
                                    _mm512_reduce_add_epi64(s[1]),
                                    { _mm512_reduce_add_epi64(s[2]), _mm512_reduce_add_epi64(s[3]) },
                                    { _mm512_reduce_add_epi64(s[4]), _mm512_reduce_add_epi64(s[5]) } };
}

/* Of two digits: 14 bits, squared in two halves of 16. */
static size_t square_two_512(const struct filter_digits *of, size_t n, uint8_t *out)
{
    static const struct {
        int low, high, left; /* shifts of the halves: right, and of the higher one left */
    } shifts[] = { { 0, 16, 16 }, { 7, 16, 16 }, { 14, 16, 2 }, { 16, 5, 16 }, { 16, 12, 16 } };
    const __m128i low = _mm_cvtsi32_si128(shifts[of->digit].low), high = _mm_cvtsi32_si128(shifts[of->digit].high);
    const __m128i left = _mm_cvtsi32_si128(shifts[of->digit].left);
    size_t count = 0;
    for (size_t at = 0; at < n; at += 32) {
        __m512i d0 = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)(of->rows[0] + at)));
        __m512i d1 = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)(of->rows[1] + at)));
        /* The square of the magnitude is the same, and 14 bits without a sign fit. */
        __m512i v = _mm512_abs_epi16(_mm512_add_epi16(_mm512_slli_epi16(d1, 7), d0));
        __m512i lo = _mm512_mullo_epi16(v, v), hi = _mm512_mulhi_epu16(v, v);
        /* The digit may lie across both halves of the product. */
        __m512i x = _mm512_or_si512(_mm512_srl_epi16(lo, low), _mm512_srl_epi16(hi, high));
        x = _mm512_and_si512(_mm512_or_si512(x, _mm512_sll_epi16(hi, left)), _mm512_set1_epi16(0x7f));
        uint32_t live;
        memcpy(&live, of->live + at / 8, sizeof live);
        _mm256_storeu_si256((void *)(out + at), _mm512_cvtepi16_epi8(x));
        count += (size_t)__builtin_popcount(_mm512_test_epi16_mask(x, x) & live);
    }
    return count;
}

/* Values of one digit, 0 to 127, are looked up: 128 bytes are two registers. */
static size_t square_512(const struct filter_digits *of, size_t n, uint8_t *out)
{
    uint8_t table[128];
    size_t count = 0;
    if (of->n == 2 && of->digit < 5)
        return square_two_512(of, n, out);
    if (of->n > 1 || of->is_signed)
        return square_digits(of, n, out);
    /* A table for every call costs little beside the pixels of a strip.  These squares have two digits; where other
     * frames of the strip have more they are asked for further ones. */
    for (unsigned v = 0; v < 128; v++)
        table[v] = (uint8_t)(of->digit < 2 ? v * v >> AZINT_DIGIT_BITS * of->digit & 0x7f : 0);
    const __m512i low = _mm512_loadu_si512(table), high = _mm512_loadu_si512(table + 64);
    for (size_t at = 0; at < n; at += 64) {
        __m512i v = _mm512_permutex2var_epi8(low, _mm512_loadu_si512(of->rows[0] + at), high);
        uint64_t live;
        memcpy(&live, of->live + at / 8, sizeof live);
        _mm512_storeu_si512(out + at, v);
        count += (size_t)__builtin_popcountll(_mm512_test_epi8_mask(v, v) & live);
    }
    return count;
}

const struct filter_ops filter_ops_avx512 = { load_bin, find_lost, sum_512, outside_512, square_512 };
