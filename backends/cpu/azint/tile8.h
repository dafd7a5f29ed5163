/* tile8.h - tiles of eight lanes with AVX2: included by tile_avx2.c and tile8_avx512.c, which define
 * LANES. */

static void tile8(const uint8_t *const *rows, size_t first, size_t last, uint8_t *out)
{
    for (size_t at = first; at < last; at += 16) {
        __m256i r[4];
        for (unsigned i = 0; i < 4; i++)
            r[i] =
                _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const void *)(rows[i] + at))),
                                        _mm_loadu_si128((const void *)(rows[4 + i] + at)), 1);
        __m256i a = _mm256_unpacklo_epi32(r[0], r[1]), b = _mm256_unpackhi_epi32(r[0], r[1]);
        __m256i c = _mm256_unpacklo_epi32(r[2], r[3]), d = _mm256_unpackhi_epi32(r[2], r[3]);
        __m256i *to = (void *)(out + at * LANES);
        _mm256_store_si256(to, _mm256_unpacklo_epi64(a, c));
        _mm256_store_si256(to + 1, _mm256_unpackhi_epi64(a, c));
        _mm256_store_si256(to + 2, _mm256_unpacklo_epi64(b, d));
        _mm256_store_si256(to + 3, _mm256_unpackhi_epi64(b, d));
    }
}
