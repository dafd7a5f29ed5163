/* bslz4_avx2.c - blocks with AVX2. */
#include "bslz4_block.h"
#include <immintrin.h>
#include <string.h>

#define unlikely(x) __builtin_expect(!!(x), 0)

/* pattern[o][i] = i mod o: what a match of offset o < 16 repeats, permuting its first 16 bytes. */
#define P4(o, i) (i) % (o), ((i) + 1) % (o), ((i) + 2) % (o), ((i) + 3) % (o)
/* clang-format off */
#define P16(o) { P4(o, 0), P4(o, 4), P4(o, 8), P4(o, 12) }
/* clang-format on */
static const _Alignas(16) uint8_t pattern[16][16] = { { 0 },   P16(1),  P16(2),  P16(3), P16(4),  P16(5),
                                                      P16(6),  P16(7),  P16(8),  P16(9), P16(10), P16(11),
                                                      P16(12), P16(13), P16(14), P16(15) };

static inline __m128i load16(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

static inline void store16(void *p, __m128i v)
{
    _mm_storeu_si128((__m128i *)p, v);
}

static inline __m256i load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

static inline void store(void *p, __m256i v)
{
    _mm256_storeu_si256((__m256i *)p, v);
}

static inline size_t run_length(const uint8_t **at, const uint8_t *iend)
{
    const uint8_t *ip = *at;
    size_t sum = 0;
    for (;;) {
        uint32_t other = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load(ip), _mm256_set1_epi8(-1)));
        if (!unlikely(other == 0)) {
            size_t n = (size_t)__builtin_ctz(other);
            *at = ip + n + 1;
            return sum + n * 255 + ip[n];
        }
        ip += 32;
        sum += 32 * 255;
        if (ip >= iend) {
            *at = iend + 1;
            return 0;
        }
    }
}

static inline void copy_literals16(uint8_t *op, const uint8_t *ip)
{
    store16(op, load16(ip));
}

/* A few planes of noise are the usual case: one length for all of them spares the branch predictor. */
static inline void copy_literals(uint8_t *op, const uint8_t *ip, size_t n)
{
    store(op, load(ip));
    store(op + 32, load(ip + 32));
    if (n <= 64)
        return;
    for (size_t i = 64; i < 832; i += 32)
        store(op + i, load(ip + i));
    for (size_t i = 832; i < n; i += 32)
        store(op + i, load(ip + i));
}

static inline void copy_match(uint8_t *op, size_t offset, size_t n)
{
    if (offset >= 32) {
        for (size_t i = 0; i < n; i += 32)
            store(op + i, load(op + i - offset));
    } else if (offset >= 16) {
        for (size_t i = 0; i < n; i += 16)
            store16(op + i, load16(op + i - offset));
    } else {
        __m128i v = _mm_shuffle_epi8(load16(op - offset), load16(pattern[offset]));
        size_t step = 16 / offset * offset;
        for (size_t i = 0; i < n; i += step)
            store16(op + i, v);
    }
}

static inline void copy_match64(uint8_t *op, size_t offset, size_t n)
{
    copy_match(op, offset, n);
}

static inline void copy_match18(uint8_t *op, size_t offset)
{
    if (offset >= 16) {
        store16(op, load16(op - offset));
        store16(op + 16, load16(op + 16 - offset));
    } else {
        __m128i v = _mm_shuffle_epi8(load16(op - offset), load16(pattern[offset]));
        store16(op, v);
        store16(op + 16 / offset * offset, v);
    }
}

/* Bytes 0 .. 7 of each 64-bit word as rows of bits, transposed. */
static inline __m256i transpose_bits(__m256i x)
{
    __m256i t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, 7)),
                                 _mm256_set1_epi64x(0x00AA00AA00AA00AA));
    x = _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64(t, 7)));
    t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, 14)),
                         _mm256_set1_epi64x(0x0000CCCC0000CCCC));
    x = _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64(t, 14)));
    t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, 28)),
                         _mm256_set1_epi64x(0x00000000F0F0F0F0));
    return _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64(t, 28)));
}

/* 32 bytes of each of 8 planes: interleaved to words of one byte a plane, their bits transposed. */
static inline void bytes32(const uint8_t *const *rows, size_t at, uint8_t *out)
{
    __m256i x[8], y[8];
    for (int k = 0; k < 4; k++) {
        __m256i even = load(rows[2 * k] + at), odd = load(rows[2 * k + 1] + at);
        x[k] = _mm256_unpacklo_epi8(even, odd);
        x[4 + k] = _mm256_unpackhi_epi8(even, odd);
    }
    for (int h = 0; h < 8; h += 4)
        for (int k = 0; k < 2; k++) {
            y[h + k] = _mm256_unpacklo_epi16(x[h + 2 * k], x[h + 2 * k + 1]);
            y[h + 2 + k] = _mm256_unpackhi_epi16(x[h + 2 * k], x[h + 2 * k + 1]);
        }
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
static inline __m256i extend(const uint8_t *row, unsigned elem_size, int top)
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

static inline __m256i shift_left(__m256i v, unsigned elem_size, unsigned bits)
{
    return elem_size == 2   ? _mm256_slli_epi16(v, (int)bits)
           : elem_size == 4 ? _mm256_slli_epi32(v, (int)bits)
                            : _mm256_slli_epi64(v, (int)bits);
}

#define INLINE static inline __attribute__((always_inline))

INLINE void widen(const uint8_t *bytes, unsigned w, unsigned elem_size, uint8_t *out)
{
    for (size_t i = 0; i < 512; i += 32 / elem_size) {
        __m256i v = extend(bytes + i, elem_size, w == 1);
        for (unsigned k = 1; k < w; k++)
            v = _mm256_or_si256(
                v, shift_left(extend(bytes + 512 * k + i, elem_size, k == w - 1), elem_size, 8 * k));
        store(out + i * elem_size, v);
    }
}

#include "bslz4_lz4.h"
#include "bslz4_pixels.h"

const struct cpu_block_ops cpu_block_ops_avx2 = { planes_of, pixels_of, bytes_of };
