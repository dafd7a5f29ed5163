/* own_pass.h - a pass over a line for REAL (own_pass.c). */
#define V REAL
#define C NUMBER
#include "fft_short.h"
#include "own_real.h"

static inline C NAME(exchanged)(C x, bool backward)
{
    return backward ? NAME(number)(x.im, x.re) : x;
}

#define ONE_PASS(RADIX)                                                                                          \
    static void NAME(one_pass_##RADIX)(const struct own_fft_pass *p, bool backward, const C *restrict x,         \
                                       C *restrict y, size_t begin, size_t end)                                  \
    {                                                                                                            \
        const size_t part = p->done * p->left;                                                                   \
        const NUMBER *w = p->twiddles;                                                                           \
        size_t j = begin / p->done, q = begin % p->done;                                                         \
        for (size_t b = begin; b < end; b++, j += q + 1 == p->done, q = q + 1 == p->done ? 0 : q + 1) {          \
            C a[RADIX];                                                                                          \
            FFT_UNROLLED for (int k = 0; k < RADIX; k++)                                                         \
                a[k] = NAME(exchanged)(x[b + part * (size_t)k], backward);                                       \
            NAME(short_##RADIX)(a);                                                                              \
            FFT_UNROLLED for (int k = 0; k < RADIX; k++) {                                                       \
                const C z = k && j ? NAME(times)(a[k], w[j * (RADIX - 1) + (size_t)k - 1]) : a[k];               \
                y[q + p->done * (RADIX * j + (size_t)k)] = NAME(exchanged)(z, backward);                         \
            }                                                                                                    \
        }                                                                                                        \
    }
ONE_PASS(2)
ONE_PASS(3)
ONE_PASS(4)
ONE_PASS(5)
ONE_PASS(7)
ONE_PASS(8)
#undef ONE_PASS

static void NAME(run_pass)(const struct own_fft_pass *p, bool backward, const void *in, void *out, size_t begin,
                           size_t end)
{
    switch (p->radix) {
    case 2: NAME(one_pass_2)(p, backward, in, out, begin, end); break;
    case 3: NAME(one_pass_3)(p, backward, in, out, begin, end); break;
    case 4: NAME(one_pass_4)(p, backward, in, out, begin, end); break;
    case 5: NAME(one_pass_5)(p, backward, in, out, begin, end); break;
    case 7: NAME(one_pass_7)(p, backward, in, out, begin, end); break;
    default: NAME(one_pass_8)(p, backward, in, out, begin, end); break;
    }
}
#undef V
#undef C
