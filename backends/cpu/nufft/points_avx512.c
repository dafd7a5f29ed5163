/* points_avx512.c - points of non-uniform FFTs with AVX-512: rows of weights move to where stores are
 * aligned. */
#include "cpu_nufft.h"
#include <immintrin.h>

#define VECTOR 64
/* Weights doubled and moved up by `shift` pairs: lane i takes weight i / 2 - shift, or 0. */
#define SHIFT_F32                                                                                            \
    static INLINE void f32_moved(const int w, const f32_vec *k, unsigned shift, f32_vec *row)                \
    {                                                                                                        \
        const __m512i half = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);              \
        const __m512i from = _mm512_sub_epi32(half, _mm512_set1_epi32((int)shift));                          \
        const __m512i end = _mm512_set1_epi32(w <= 8 ? 8 : 16);                                              \
        for (int v = 0; v < LOOSE(w); v++) {                                                                \
            __m512i at = _mm512_add_epi32(from, _mm512_set1_epi32(8 * v));                                   \
            __mmask16 there = _mm512_cmplt_epu32_mask(at, end);                                              \
            row[v] = (f32_vec)_mm512_maskz_permutexvar_ps(there, at, (__m512)k[0]);                          \
        }                                                                                                    \
    }
#define SHIFT_F64                                                                                            \
    static INLINE void f64_moved(const int w, const f64_vec *k, unsigned shift, f64_vec *row)                \
    {                                                                                                        \
        const __m512i half = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);                                      \
        const __m512i from = _mm512_sub_epi64(half, _mm512_set1_epi64((int)shift));                          \
        const long long end = w <= 4 ? 4 : w <= 8 ? 8 : 16;                                                  \
        for (int v = 0; v < LOOSE(w); v++) {                                                                \
            __m512i at = _mm512_add_epi64(from, _mm512_set1_epi64(4 * v));                                   \
            __mmask8 there = _mm512_cmplt_epu64_mask(at, _mm512_set1_epi64(end));                            \
            row[v] = w <= 8 ? (f64_vec)_mm512_maskz_permutexvar_pd(there, at, (__m512d)k[0])                 \
                            : (f64_vec)_mm512_maskz_permutex2var_pd(there, (__m512d)k[0], at, (__m512d)k[1]); \
        }                                                                                                    \
    }
/* Two numbers in the halves of a vector, and a pair in all pairs of lanes: in registers, where compilers would go
 * through memory and wait for it. */
#define HALVES_F32(a, b) (f32_vec)_mm512_mask_blend_ps(0xff00, _mm512_set1_ps(a), _mm512_set1_ps(b))
#define HALVES_F64(a, b) (f64_vec)_mm512_mask_blend_pd(0xf0, _mm512_set1_pd(a), _mm512_set1_pd(b))
#define SPREAD_PAIR_F64(c) (f64_vec)_mm512_broadcast_f64x2(_mm_loadu_pd(c))
#include "variant.h"

const struct nufft_ops nufft_ops_avx512[2] = { OPS(f32, 4), OPS(f64, 8) };
