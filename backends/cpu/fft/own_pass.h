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

/* Numbers times those of a table, parts exchanged before or after. */
static void NAME(multiply)(C *to, const C *from, const C *table, size_t n, bool before, bool after)
{
    for (size_t k = 0; k < n; k++)
        to[k] = NAME(exchanged)(NAME(times)(NAME(exchanged)(from[k], before), table[k]), after);
}

/* A line that is real on a side, as complex numbers: its own, or from those that are stored (own_loops.h, mirror). */
static void NAME(widen)(C *to, const void *from, size_t n, bool from_real)
{
    const REAL *numbers = from;
    if (!from_real)
        memcpy(to, from, (n / 2 + 1) * sizeof *to);
    for (size_t k = 0; k < n; k++) {
        if (from_real)
            to[k] = NAME(number)(numbers[k], 0);
        else if (k > n / 2)
            to[k] = NAME(number)(to[n - k].re, -to[n - k].im);
        else if (!k || 2 * k == n)
            to[k].im = 0;
    }
}

/* Back: the real parts, or what is stored. */
static void NAME(narrow)(void *to, const C *from, size_t n, bool from_real)
{
    REAL *numbers = to;
    if (from_real)
        memcpy(to, from, (n / 2 + 1) * sizeof *from);
    for (size_t k = 0; k < n && !from_real; k++)
        numbers[k] = from[k].re;
}

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
