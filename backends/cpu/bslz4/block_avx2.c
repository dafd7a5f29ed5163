/* block_avx2.c - blocks with AVX2. */
#include "block.h"
#include <immintrin.h>
#include <string.h>

#define unlikely(x) __builtin_expect(!!(x), 0)

typedef __m128i vec16;

static inline __m128i load16(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

static inline void store16(void *p, __m128i v)
{
    _mm_storeu_si128((__m128i *)p, v);
}

static inline vec16 permute16(vec16 bytes, vec16 order)
{
    return _mm_shuffle_epi8(bytes, order);
}

static inline __m256i load_vector(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

static inline void store_vector(void *p, __m256i v)
{
    _mm256_storeu_si256((__m256i *)p, v);
}

static inline size_t run_length(const uint8_t **at, const uint8_t *iend)
{
    const uint8_t *ip = *at;
    size_t sum = 0;
    for (;;) {
        uint32_t other = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load_vector(ip), _mm256_set1_epi8(-1)));
        if (!unlikely(other == 0)) {
            size_t n = (size_t)__builtin_ctz(other);
            *at = ip + n + 1;
            return sum + n * 255 + ip[n];
        }
        ip += 32;
        sum += 32 * 255;
        /* A run that leads out of the codes is damage, which the caller sees by the place behind their end. */
        if (ip >= iend) {
            *at = iend + 1;
            return 0;
        }
    }
}

typedef uint64_t words4 __attribute__((vector_size(32)));
HCY_DEFINE_TRANSPOSE8(transpose8x4, words4)

static inline __m256i transpose_bits(__m256i x)
{
    return (__m256i)transpose8x4((words4)x);
}

/* 32 bytes of each of 8 planes: interleaved to words of one byte a plane, their bits transposed. */
static inline void bytes32(const uint8_t *const *rows, size_t at, uint8_t *out)
{
    __m256i x[8], y[8];
    for (int k = 0; k < 4; k++) {
        __m256i even = load_vector(rows[2 * k] + at), odd = load_vector(rows[2 * k + 1] + at);
        x[k] = _mm256_unpacklo_epi8(even, odd);
        x[4 + k] = _mm256_unpackhi_epi8(even, odd);
    }
    for (int h = 0; h < 8; h += 4)
        for (int k = 0; k < 2; k++) {
            y[h + k] = _mm256_unpacklo_epi16(x[h + 2 * k], x[h + 2 * k + 1]);
            y[h + 2 + k] = _mm256_unpackhi_epi16(x[h + 2 * k], x[h + 2 * k + 1]);
        }
    /* After three steps a word holds one byte of each plane: a matrix of bits to transpose. */
    for (int h = 0; h < 8; h += 2) {
        x[h] = transpose_bits(_mm256_unpacklo_epi32(y[h], y[h + 1]));
        x[h + 1] = transpose_bits(_mm256_unpackhi_epi32(y[h], y[h + 1]));
    }
    for (int h = 0; h < 8; h++) { /* x[h] has the columns 2h, 2h + 1 and 16 + 2h, 16 + 2h + 1 */
        store16(out + 16 * h, _mm256_castsi256_si128(x[h]));
        store16(out + 128 + 16 * h, _mm256_extracti128_si256(x[h], 1));
    }
}

static inline void bytes64(const uint8_t *const *rows, size_t at, uint8_t *out)
{
    bytes32(rows, at, out);
    bytes32(rows, at + 32, out + 256);
}

/* Elements from one row: zero-extended, or sign-extended for the top row. */
static inline __m256i extend_avx2(const uint8_t *row, unsigned elem_size, int top)
{
    if (elem_size == 2)
        return top ? _mm256_cvtepi8_epi16(load16(row)) : _mm256_cvtepu8_epi16(load16(row));
    if (elem_size == 4) {
        __m128i b = _mm_loadl_epi64((const __m128i *)row);
        return top ? _mm256_cvtepi8_epi32(b) : _mm256_cvtepu8_epi32(b);
    }
    int four;
    memcpy(&four, row, 4);
    __m128i b = _mm_cvtsi32_si128(four);
    return top ? _mm256_cvtepi8_epi64(b) : _mm256_cvtepu8_epi64(b);
}

static inline __m256i shift_left_avx2(__m256i v, unsigned elem_size, unsigned bits)
{
    return elem_size == 2   ? _mm256_slli_epi16(v, (int)bits)
           : elem_size == 4 ? _mm256_slli_epi32(v, (int)bits)
                            : _mm256_slli_epi64(v, (int)bits);
}

#define INLINE static inline __attribute__((always_inline))

INLINE void widen_rows(const uint8_t *bytes, unsigned w, unsigned elem_size, uint8_t *out)
{
    for (size_t i = 0; i < 512; i += 32 / elem_size) {
        __m256i v = extend_avx2(bytes + i, elem_size, w == 1);
        for (unsigned k = 1; k < w; k++)
            v = _mm256_or_si256(
                v, shift_left_avx2(extend_avx2(bytes + 512 * k + i, elem_size, k == w - 1), elem_size, 8 * k));
        store_vector(out + i * elem_size, v);
    }
}

#include "copy16.h"
#include "lz4_planes.h"
#include "plane_pixels.h"

const struct cpu_block_ops cpu_block_ops_avx2 = { decode_block_planes, planes_to_pixels, planes_to_bytes };
