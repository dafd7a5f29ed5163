/* region_planes.h - what a block's bit-planes say of a region's pixels; compiled once a variant, as planes.h is.
 *
 * A plane's population count is a part of the sum, so pixels are never made: a block of 2048 with five planes is 160
 * words.  The largest and the smallest value are looked for only where the counts leave room for a new one, which
 * after a frame's first blocks is seldom.
 */
#ifndef HCY_CPU_AZINT_REGION_PLANES_H
#define HCY_CPU_AZINT_REGION_PLANES_H

#include "cpu_regions.h"
#include "planes.h"

#if defined __AVX2__
#include <immintrin.h>
#endif

/* The largest value (the smallest, where `least`) of the chosen pixels, of which there is one at least; sign-extended
 * where values are signed. */
static inline uint64_t azint_extreme(const struct azint_block *b, const uint64_t *chosen, bool least)
{
    uint64_t left[AZINT_STRIP / 64], value = 0;
    memcpy(left, chosen, b->n_words * sizeof *left);
    for (unsigned p = b->same + 1; p-- > 0;) {
        const uint8_t *plane = b->planes + p * b->stride;
        /* Ones are larger, but for a sign, of which the plane `same` is a copy. */
        bool ones = !least ^ (b->is_signed && p == b->same);
        const uint64_t flip = ones ? 0 : UINT64_MAX;
        uint64_t any = 0;
        for (size_t i = 0; i < b->n_words; i++)
            any |= left[i] & (azint_load(plane + 8 * i) ^ flip);
        /* Who has the better bit goes on alone; where nobody has, all of them have the other one. */
        for (size_t i = 0; any && i < b->n_words; i++)
            left[i] &= azint_load(plane + 8 * i) ^ flip;
        value |= (uint64_t)((any != 0) == ones) << p;
    }
    return azint_plane_value(b, value);
}

/* Bits that are in n words of both; a word's bytes may lie anywhere. */
static inline uint64_t azint_count_both(const uint8_t *bits, const uint64_t *chosen, size_t n)
{
    uint64_t count = 0;
    size_t i = 0;
#if defined __AVX2__ && !defined __AVX512VPOPCNTDQ__
    /* Compilers count bits a word at a time here; sixteen counts of half a byte, looked up, are twice as fast. */
    const __m256i of_nibble = _mm256_broadcastsi128_si256(
                      _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4)),
                  low = _mm256_set1_epi8(15);
    __m256i sums = _mm256_setzero_si256();
    for (; i + 4 <= n; i += 4) {
        const __m256i word = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(const void *)(bits + 8 * i)),
                                              _mm256_loadu_si256((const __m256i *)(const void *)(chosen + i)));
        const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(word, 4), low);
        const __m256i counts = _mm256_add_epi8(_mm256_shuffle_epi8(of_nibble, _mm256_and_si256(word, low)),
                                               _mm256_shuffle_epi8(of_nibble, upper));
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(counts, _mm256_setzero_si256()));
    }
    const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    count = (uint64_t)_mm_cvtsi128_si64(half) + (uint64_t)_mm_extract_epi64(half, 1);
#endif
    for (; i < n; i++)
        count += (uint64_t)__builtin_popcountll(azint_load(bits + 8 * i) & chosen[i]);
    return count;
}

static inline uint64_t azint_count_bits(const uint64_t *words, size_t n)
{
    return azint_count_both((const uint8_t *)words, words, n);
}

/* Pixels of each plane; all ones of any plane to `ones`. */
static inline void azint_count_planes(uint64_t counts[64], uint64_t *ones, const struct azint_block *b,
                                      const uint64_t *chosen)
{
    memset(ones, 0, b->n_words * sizeof *ones);
    for (unsigned p = 0; p <= b->same; p++) {
        const uint8_t *plane = b->planes + p * b->stride;
        for (size_t i = 0; i < b->n_words; i++)
            ones[i] |= azint_load(plane + 8 * i);
        counts[p] = azint_count_both(plane, chosen, b->n_words);
    }
}

/* Planes above `same` equal it: together they are a value's sign, or, of an unsigned one, all its upper bits. */
static inline azint_i128 azint_sum_planes(const struct azint_block *b, const uint64_t counts[64])
{
    azint_i128 one = 1, sum = 0, upper = b->is_signed ? -(one << b->same) : (one << (b->top + 1)) - (one << b->same);
    for (unsigned p = 0; p < b->same; p++)
        sum += (azint_i128)counts[p] << p;
    return sum + (azint_i128)counts[b->same] * upper;
}

/* No value is larger. */
static inline uint64_t azint_most(const struct azint_block *b, const uint64_t counts[64])
{
    unsigned n = b->same;
    if (counts[b->same] && !b->is_signed)
        return UINT64_MAX >> (63 - b->top);
    while (n && !counts[n - 1])
        n--;
    return n ? UINT64_MAX >> (64 - n) : 0;
}

static inline uint64_t azint_count_above(const struct azint_block *b, const uint64_t *chosen, uint64_t limit)
{
    uint64_t above[AZINT_STRIP / 64], equal[AZINT_STRIP / 64];
    azint_compare(b, limit, above, equal);
    return azint_count_both((const uint8_t *)above, chosen, b->n_words);
}

/* struct azint_ops, tally. */
static inline void azint_tally_block(struct azint_tally *t, const struct azint_block *b, uint64_t *chosen,
                                     const uint64_t *lost, const hcy_azint_region_job *job)
{
    uint64_t counts[64], ones[AZINT_STRIP / 64];
    for (size_t i = 0; lost && i < b->n_words; i++)
        chosen[i] &= ~lost[i];
    t->invalid += lost ? azint_count_bits(lost, b->n_words) : 0;
    const uint64_t valid = azint_count_bits(chosen, b->n_words);
    if (!valid)
        return;
    /* Sums and zeros follow from numbers of bits; the extremes are looked for where those leave a better one. */
    azint_count_planes(counts, ones, b, chosen);
    const uint64_t zero = valid - azint_count_both((const uint8_t *)ones, chosen, b->n_words);
    const uint64_t sign = azint_region_sign(b->is_signed), most = azint_most(b, counts) ^ sign;
    const bool negative = b->is_signed && counts[b->same];
    t->sum += azint_sum_planes(b, counts);
    t->valid += valid;
    t->zero += zero;
    if (job->has_above && most > (job->above ^ sign))
        t->above += azint_count_above(b, chosen, job->above);
    if (most > t->max) {
        uint64_t max = azint_extreme(b, chosen, false) ^ sign;
        t->max = max > t->max ? max : t->max;
    }
    /* Mostly a zero is the smallest there can be. */
    if (zero && !negative)
        t->min = sign < t->min ? sign : t->min;
    else if (negative || t->min > sign) {
        uint64_t min = azint_extreme(b, chosen, true) ^ sign;
        t->min = min < t->min ? min : t->min;
    }
}

#endif
