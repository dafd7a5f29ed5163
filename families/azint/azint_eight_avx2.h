/* azint_eight_avx2.h - what azint_segments_at() does (azint_runs.h), for eight segments at once: a lane is a segment.
 *
 * For files that are compiled for AVX2 alone.  No state.
 */
#ifndef HCY_AZINT_EIGHT_AVX2_H
#define HCY_AZINT_EIGHT_AVX2_H

#include "azint_runs.h"

#include <immintrin.h>

/* Where lanes' segments begin, counted from the first one, and where the next ones do.  0: they do not lie between the
 * first and the last of these, or so far apart that pixels have several runs, or so near to the end that a walk along
 * damaged ones could leave the bytes. */
static inline int azint_eight_starts(__m256i *at, __m256i *ends, size_t size, const uint64_t *starts)
{
    enum { WALK = HCY_AZINT_START_EVERY * (4 + 3 * 127) };
    const uint64_t total = starts[8] - starts[0];
    const __m256i base = _mm256_set1_epi64x((int64_t)starts[0]), evens = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    const __m256i end = _mm256_set1_epi64x((int64_t)total);
    __m256i x[4], beyond = _mm256_setzero_si256();

    if (starts[0] > size || total > 8 * WALK || size - starts[0] < total + WALK)
        return 0;
    for (int k = 0; k < 4; k++) {
        x[k] = _mm256_loadu_si256((const __m256i *)(const void *)(starts + (k & 1) * 4 + (k >> 1)));
        x[k] = _mm256_sub_epi64(x[k], base);
        beyond = _mm256_or_si256(beyond, _mm256_or_si256(x[k], _mm256_sub_epi64(end, x[k])));
        x[k] = _mm256_permutevar8x32_epi32(x[k], evens);
    }
    *at = _mm256_permute2x128_si256(x[0], x[1], 0x20);
    *ends = _mm256_permute2x128_si256(x[2], x[3], 0x20);
    /* Signs. */
    return !_mm256_movemask_pd(_mm256_castsi256_pd(beyond));
}

static inline uint32_t azint_least_of_eight(__m256i x)
{
    __m128i y = _mm_min_epu32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

    y = _mm_min_epu32(y, _mm_shuffle_epi32(y, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_min_epu32(y, _mm_shuffle_epi32(y, 0xb1)));
}

/* Of the eight segments that begin at the first of these starts.  0: as azint_segments_at(), or no such place in the
 * bytes as can be read so.  live: the segments' pixels in order. */
static inline int azint_eight_segments(uint16_t live[8], uint32_t *first, uint32_t *last, const uint8_t *runs,
                                       size_t size, const uint64_t *starts)
{
    enum { EVERY = HCY_AZINT_START_EVERY, AHEAD = 4096 };
    const __m256i zero = _mm256_setzero_si256(), ones = _mm256_set1_epi32(-1), four = _mm256_set1_epi32(4);
    const __m256i bins = _mm256_set1_epi32(0xffffff), most = _mm256_set1_epi32(0x7f);
    __m256i at, ends, any = zero, least = ones, furthest = zero;
    uint8_t has[EVERY];

    if (!azint_eight_starts(&at, &ends, size, starts))
        return 0;
    /* Processors do not look ahead over the end of a page by themselves. */
    for (uint64_t ahead = starts[0] + AHEAD; ahead < starts[8] + AHEAD; ahead += 64)
        _mm_prefetch((const char *)(runs + (ahead < size ? ahead : 0)), _MM_HINT_T0);
    for (unsigned i = 0; i < EVERY; i++) {
        const __m256i word = _mm256_i32gather_epi32((const int *)(const void *)(runs + starts[0]), at, 1);
        const __m256i n = _mm256_and_si256(_mm256_srli_epi32(word, 24), most);
        /* Bin before number, less 1: HCY_AZINT_NO_RUN becomes the largest of all. */
        const __m256i turned = _mm256_or_si256(_mm256_slli_epi32(word, 8), _mm256_srli_epi32(word, 24));

        any = _mm256_or_si256(any, word);
        least = _mm256_min_epu32(least, _mm256_add_epi32(turned, ones));
        furthest = _mm256_max_epu32(furthest, _mm256_add_epi32(_mm256_and_si256(word, bins), n));
        has[i] = (uint8_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(n, zero)));
        at = _mm256_add_epi32(_mm256_add_epi32(at, four), _mm256_add_epi32(n, _mm256_add_epi32(n, n)));
    }
    /* Bits came in by pixel, a lane each. */
    const __m128i rows = _mm_loadu_si128((const __m128i *)(const void *)has);
    for (int k = 0; k < 8; k++)
        live[k] = (uint16_t)_mm_movemask_epi8(_mm_sll_epi16(rows, _mm_cvtsi32_si128(7 - k)));
    *first = azint_least_of_eight(least) >> 8;
    *last = ~azint_least_of_eight(_mm256_xor_si256(furthest, ones));
    return !_mm256_movemask_ps(_mm256_castsi256_ps(any)) && _mm256_movemask_epi8(_mm256_cmpeq_epi32(at, ends)) == -1;
}

#endif
