/* share_loops_avx2.c - the loops over a pixel's bins for AVX2: what compilers do not make of the text, by hand.  No
 * state; any thread. */
#define SHARE_LOOPS_TEXT
#include "azint/azint_eight_avx2.h"
#include "row_loops.h"

#include <immintrin.h>

static inline void add_four(uint64_t *sum, __m256i x)
{
    __m256i *at = (__m256i *)(void *)sum;

    _mm256_storeu_si256(at, _mm256_add_epi64(_mm256_loadu_si256(at), x));
}

/* Positions go up by 8 from one four bins to the next, as doubles: exact. */
static void add_slant_fours(double *area, struct azint_slant edge, uint32_t first, size_t n)
{
    const __m256d half = _mm256_set1_pd(edge.half), y = _mm256_set1_pd(edge.y), eight = _mm256_set1_pd(8);
    __m256d twice = _mm256_add_pd(_mm256_set1_pd(2.0 * first), _mm256_setr_pd(1, 3, 5, 7));
    size_t k = 0;

    for (; k + 4 <= n; k += 4, twice = _mm256_add_pd(twice, eight)) {
        __m256d under = _mm256_add_pd(_mm256_mul_pd(half, twice), y);
        __m128 sum = _mm256_cvtpd_ps(_mm256_add_pd(_mm256_loadu_pd(area + k), under));

        _mm256_storeu_pd(area + k, _mm256_cvtps_pd(sum));
    }
    add_slant_area(area + k, edge, first + (uint32_t)k, n - k);
}

/* Four weights to twelve bytes, in a store of sixteen that the ones behind write over. */
static void pack_fours(uint8_t *p, const uint32_t *weights, size_t n)
{
    const __m128i three = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    size_t k = 0;

    for (; k + 6 <= n; k += 4, p += 12) {
        __m128i w = _mm_loadu_si128((const __m128i *)(const void *)(weights + k));

        _mm_storeu_si128((__m128i *)(void *)p, _mm_shuffle_epi8(w, three));
    }
    pack_weights(p, weights + k, n - k);
}

/* add_weight() of four bins at a time, in products of 32 bits by 32. */
static void add_fours_of_weights(const struct azint_sums *sums, size_t first, const uint32_t *weights, size_t n,
                                 uint64_t n40)
{
    const __m256i n_low = _mm256_set1_epi64x((int64_t)(n40 & 0xffffffffu));
    const __m256i n_high = _mm256_set1_epi64x((int64_t)(n40 >> 32));
    const __m256i half24 = _mm256_set1_epi64x(1 << 23), half40 = _mm256_set1_epi64x((int64_t)1 << 39);
    const __m256i low20 = _mm256_set1_epi64x(0xfffff);
    size_t k = 0;

    for (; k + 4 <= n; k += 4) {
        __m256i c = _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(const void *)(weights + k)));
        __m256i top = _mm256_slli_epi64(_mm256_mul_epu32(c, n_high), 32);
        __m256i product = _mm256_add_epi64(_mm256_mul_epu32(c, n_low), top);
        __m256i cn = _mm256_srli_epi64(_mm256_add_epi64(product, half24), 24);
        __m256i high = _mm256_srli_epi64(cn, 20), low = _mm256_and_si256(cn, low20);
        __m256i rest = _mm256_add_epi64(_mm256_slli_epi64(_mm256_mul_epu32(high, low), 21), _mm256_mul_epu32(low, low));

        rest = _mm256_srli_epi64(_mm256_add_epi64(rest, half40), 40);
        add_four(sums->count + first + k, c);
        add_four(sums->norm + first + k, cn);
        add_four(sums->norm2 + first + k, _mm256_add_epi64(_mm256_mul_epu32(high, high), rest));
    }
    for (; k < n; k++)
        add_weight(sums, first + k, weights[k], n40);
}

static uint32_t end_of_eight(const uint8_t *runs, size_t size, const uint64_t *starts)
{
    uint16_t live[8];
    uint32_t first, last;

    return azint_eight_segments(live, &first, &last, runs, size, starts) ? last : UINT32_MAX;
}

const struct azint_loops hcy__azint_loops_avx2 = {
    .add_slant = add_slant_fours,
    .cut_interval = cut_whole_bins,
    .divide = divide_shares,
    .round = round_shares,
    .subtract = subtract_shares,
    .pack = pack_fours,
    .add_weights = add_fours_of_weights,
    .share_outlines = hcy__azint_outlines_avx2,
    .end_of_eight = end_of_eight,
    .azimuths = hcy__azint_azimuths_avx2,
};
