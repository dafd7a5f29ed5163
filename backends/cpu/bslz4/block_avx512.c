/* block_avx512.c - blocks with AVX-512 F, BW, VL, VBMI and GFNI. */
#include "block.h"
#include <immintrin.h>
#include <string.h>

#define unlikely(x) __builtin_expect(!!(x), 0)

/* pattern[o][i] = i mod o: what a match of offset o < 64 repeats, permuting its first 64 bytes. */
#define P4(o, i)  (i) % (o), ((i) + 1) % (o), ((i) + 2) % (o), ((i) + 3) % (o)
#define P16(o, i) P4(o, i), P4(o, (i) + 4), P4(o, (i) + 8), P4(o, (i) + 12)
/* clang-format off */
#define P64(o) { P16(o, 0), P16(o, 16), P16(o, 32), P16(o, 48) }
/* clang-format on */
#define P64X8(o) P64(o), P64(o + 1), P64(o + 2), P64(o + 3), P64(o + 4), P64(o + 5), P64(o + 6), P64(o + 7)
static const _Alignas(64) uint8_t pattern[65][64] = { { 0 },     P64X8(1),  P64X8(9),  P64X8(17), P64X8(25),
                                                      P64X8(33), P64X8(41), P64X8(49), P64X8(57) };

static inline __m512i load_vector(const void *p)
{
    return _mm512_loadu_si512(p);
}

static inline void store_vector(void *p, __m512i v)
{
    _mm512_storeu_si512(p, v);
}

static inline size_t run_length(const uint8_t **at, const uint8_t *iend)
{
    const uint8_t *ip = *at;
    size_t sum = 0;
    for (;;) {
        uint64_t other = _mm512_cmpneq_epi8_mask(load_vector(ip), _mm512_set1_epi8(-1));
        if (!unlikely(other == 0)) {
            size_t n = (size_t)__builtin_ctzll(other);
            *at = ip + n + 1;
            return sum + n * 255 + ip[n];
        }
        ip += 64;
        sum += 64 * 255;
        /* A run that leads out of the codes is damage, which the caller sees by the place behind their end. */
        if (ip >= iend) {
            *at = iend + 1;
            return 0;
        }
    }
}

static inline void copy_literals16(uint8_t *op, const uint8_t *ip)
{
    _mm_storeu_si128((__m128i *)op, _mm_loadu_si128((const __m128i *)ip));
}

/* A few planes of noise are the usual case: one length for all of them spares the branch predictor. */
static inline void copy_long_literals(uint8_t *op, const uint8_t *ip, size_t n)
{
    store_vector(op, load_vector(ip));
    if (n <= 64)
        return;
    for (size_t i = 64; i < 832; i += 64)
        store_vector(op + i, load_vector(ip + i));
    for (size_t i = 832; i < n; i += 64)
        store_vector(op + i, load_vector(ip + i));
}

static inline __m512i match64(const uint8_t *op, size_t offset)
{
    return _mm512_permutexvar_epi8(load_vector(pattern[offset < 64 ? offset : 64]), load_vector(op - offset));
}

/* Narrower vectors meet fewer of the stores before them half-way. */
static inline void copy_match18(uint8_t *op, size_t offset)
{
    __m256i order = _mm256_load_si256((const __m256i *)pattern[offset < 64 ? offset : 64]);
    __m256i bytes = _mm256_loadu_si256((const __m256i *)(op - offset));
    _mm256_storeu_si256((__m256i *)op, _mm256_permutexvar_epi8(order, bytes));
}

static inline void copy_match64(uint8_t *op, size_t offset, size_t n)
{
    (void)n;
    store_vector(op, match64(op, offset));
}

static inline void copy_long_match(uint8_t *op, size_t offset, size_t n)
{
    if (offset >= 64) {
        for (size_t i = 0; i < 256; i += 64)
            store_vector(op + i, load_vector(op + i - offset));
        for (size_t i = 256; i < n; i += 64)
            store_vector(op + i, load_vector(op + i - offset));
        return;
    }
    /* A short period is repeated in a register, so no load waits for the store before it. */
    __m512i v = match64(op, offset);
    size_t step = 64 / offset * offset;
    /* Four stores serve most matches without a branch on the length. */
    for (size_t i = 0; i < 4 * step; i += step)
        store_vector(op + i, v);
    for (size_t i = 4 * step; i < n; i += step)
        store_vector(op + i, v);
}

/* Rows 0 .. 7 of eight 8-byte words to eight columns: word k of column j is word j of row k. */
static inline void transpose_words(__m512i x[8])
{
    __m512i t[8], u[8];
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_unpacklo_epi64(x[2 * i], x[2 * i + 1]);
        t[4 + i] = _mm512_unpackhi_epi64(x[2 * i], x[2 * i + 1]);
    }
    for (int i = 0; i < 8; i += 2) {
        u[i] = _mm512_shuffle_i32x4(t[i], t[i + 1], 0x88);
        u[i + 1] = _mm512_shuffle_i32x4(t[i], t[i + 1], 0xdd);
    }
    for (int odd = 0; odd < 2; odd++) {
        __m512i *v = u + 4 * odd;
        x[odd] = _mm512_shuffle_i32x4(v[0], v[2], 0x88);
        x[odd + 2] = _mm512_shuffle_i32x4(v[1], v[3], 0x88);
        x[odd + 4] = _mm512_shuffle_i32x4(v[0], v[2], 0xdd);
        x[odd + 6] = _mm512_shuffle_i32x4(v[1], v[3], 0xdd);
    }
}

static inline void bytes64(const uint8_t *const *rows, size_t at, uint8_t *out)
{
    /* Byte c of word k to byte 7 - k of word c; then GF2P8AFFINE with the unit matrix transposes the bits. */
    const __m512i unit = _mm512_set1_epi64((long long)0x8040201008040201u);
    const __m512i order =
        _mm512_add_epi8(_mm512_broadcast_i32x4(_mm_set_epi64x(0x0109111921293139, 0x0008101820283038)),
                        _mm512_set_epi64(0x0606060606060606, 0x0606060606060606, 0x0404040404040404,
                                         0x0404040404040404, 0x0202020202020202, 0x0202020202020202, 0, 0));
    __m512i x[8];
    for (int k = 0; k < 8; k++)
        x[k] = load_vector(rows[k] + at);
    transpose_words(x);
    for (int j = 0; j < 8; j++)
        store_vector(out + 64 * j, _mm512_gf2p8affine_epi64_epi8(unit, _mm512_permutexvar_epi8(order, x[j]), 0));
}

/* Elements i.. of a vector's worth from row k: zero-extended, or sign-extended for the top row. */
static inline __m512i extend_avx512(const uint8_t *row, unsigned elem_size, int top)
{
    if (elem_size == 2) {
        __m256i b = _mm256_loadu_si256((const __m256i *)row);
        return top ? _mm512_cvtepi8_epi16(b) : _mm512_cvtepu8_epi16(b);
    }
    if (elem_size == 4) {
        __m128i b = _mm_loadu_si128((const __m128i *)row);
        return top ? _mm512_cvtepi8_epi32(b) : _mm512_cvtepu8_epi32(b);
    }
    __m128i b = _mm_loadl_epi64((const __m128i *)row);
    return top ? _mm512_cvtepi8_epi64(b) : _mm512_cvtepu8_epi64(b);
}

static inline __m512i shift_left_avx512(__m512i v, unsigned elem_size, unsigned bits)
{
    return elem_size == 2   ? _mm512_slli_epi16(v, bits)
           : elem_size == 4 ? _mm512_slli_epi32(v, bits)
                            : _mm512_slli_epi64(v, bits);
}

#define INLINE static inline __attribute__((always_inline))

INLINE void widen_rows(const uint8_t *bytes, unsigned w, unsigned elem_size, uint8_t *out)
{
    for (size_t i = 0; i < 512; i += 64 / elem_size) {
        __m512i v = extend_avx512(bytes + i, elem_size, w == 1);
        for (unsigned k = 1; k < w; k++)
            v = _mm512_or_si512(
                v, shift_left_avx512(extend_avx512(bytes + 512 * k + i, elem_size, k == w - 1), elem_size, 8 * k));
        store_vector(out + i * elem_size, v);
    }
}

#include "lz4_planes.h"
#include "plane_pixels.h"

const struct cpu_block_ops cpu_block_ops_avx512 = { decode_block_planes, planes_to_pixels, planes_to_bytes };
