/* fft_short.h - Fourier transforms of 2, 3, 4, 5, 7 and 8 complex numbers, of which longer ones are made: one text
 * for the CPU's vectors and for GPUs.  None of its operations may be contracted, so that all devices get the same bits.
 *
 * Who includes it says what a number C is made of, two parts V (REAL, or vectors of it), NUMBER, a complex number of a
 * table, and NAME(x), what names are.  It is C, C++ and OpenCL C.  Pure functions.
 */
#ifndef FFT_INLINE
#ifdef GPU_DIALECT_H
#define FFT_INLINE DEVICE
#define FFT_UNROLLED UNROLL
#else
/* At -O2 a short transform that several passes call is a function, whose numbers go by way of memory. */
#define FFT_INLINE static inline __attribute__((always_inline))
/* Unrolled, the numbers of a short transform stay in registers.  Compilers do that by themselves only with -O3, but the
 * last word is mostly -O2, with which passes took two to three times as long. */
#if defined(__clang__)
#define FFT_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define FFT_UNROLLED _Pragma("GCC unroll 8")
#endif
#endif
#endif

FFT_INLINE C NAME(number)(V re, V im)
{
    C x;
    x.re = re;
    x.im = im;
    return x;
}
FFT_INLINE C NAME(add)(C a, C b)
{
    return NAME(number)(a.re + b.re, a.im + b.im);
}
FFT_INLINE C NAME(sub)(C a, C b)
{
    return NAME(number)(a.re - b.re, a.im - b.im);
}
/* a - i b, a + i b */
FFT_INLINE C NAME(less_i)(C a, C b)
{
    return NAME(number)(a.re + b.im, a.im - b.re);
}
FFT_INLINE C NAME(plus_i)(C a, C b)
{
    return NAME(number)(a.re - b.im, a.im + b.re);
}
FFT_INLINE C NAME(times)(C a, NUMBER w)
{
    return NAME(number)(a.re * w.re - a.im * w.im, a.im * w.re + a.re * w.im);
}
FFT_INLINE C NAME(scaled)(C a, REAL s)
{
    return NAME(number)(a.re * s, a.im * s);
}

/* --- Short transforms, forward, in place --- */

FFT_INLINE void NAME(short_2)(C *a)
{
    const C s = NAME(add)(a[0], a[1]);
    a[1] = NAME(sub)(a[0], a[1]);
    a[0] = s;
}

FFT_INLINE void NAME(short_3)(C *a)
{
    const REAL middle = (REAL)0.5, h = (REAL)0.86602540378443864676;
    const C s = NAME(add)(a[1], a[2]), d = NAME(scaled)(NAME(sub)(a[1], a[2]), h);
    const C m = NAME(sub)(a[0], NAME(scaled)(s, middle));
    a[0] = NAME(add)(a[0], s);
    a[1] = NAME(less_i)(m, d);
    a[2] = NAME(plus_i)(m, d);
}

FFT_INLINE void NAME(short_4)(C *a)
{
    const C s0 = NAME(add)(a[0], a[2]), d0 = NAME(sub)(a[0], a[2]);
    const C s1 = NAME(add)(a[1], a[3]), d1 = NAME(sub)(a[1], a[3]);
    a[0] = NAME(add)(s0, s1);
    a[1] = NAME(less_i)(d0, d1);
    a[2] = NAME(sub)(s0, s1);
    a[3] = NAME(plus_i)(d0, d1);
}

/* Odd lengths by pairs of conjugate roots: c and s are the cosines and sines of 2 pi / 5. */
FFT_INLINE void NAME(short_5)(C *a)
{
    const REAL c1 = (REAL)0.30901699437494742410, c2 = (REAL)-0.80901699437494742410;
    const REAL s1 = (REAL)0.95105651629515357212, s2 = (REAL)0.58778525229247312917;
    const C p1 = NAME(add)(a[1], a[4]), m1 = NAME(sub)(a[1], a[4]);
    const C p2 = NAME(add)(a[2], a[3]), m2 = NAME(sub)(a[2], a[3]);
    const C r1 = NAME(add)(NAME(add)(a[0], NAME(scaled)(p1, c1)), NAME(scaled)(p2, c2));
    const C r2 = NAME(add)(NAME(add)(a[0], NAME(scaled)(p1, c2)), NAME(scaled)(p2, c1));
    const C i1 = NAME(add)(NAME(scaled)(m1, s1), NAME(scaled)(m2, s2));
    const C i2 = NAME(sub)(NAME(scaled)(m1, s2), NAME(scaled)(m2, s1));
    a[0] = NAME(add)(a[0], NAME(add)(p1, p2));
    a[1] = NAME(less_i)(r1, i1);
    a[4] = NAME(plus_i)(r1, i1);
    a[2] = NAME(less_i)(r2, i2);
    a[3] = NAME(plus_i)(r2, i2);
}

FFT_INLINE void NAME(short_7)(C *a)
{
    const REAL c[3] = { (REAL)0.62348980185873353053, (REAL)-0.22252093395631440429, (REAL)-0.90096886790241912624 };
    const REAL s[3] = { (REAL)0.78183148246802980871, (REAL)0.97492791218182360702, (REAL)0.43388373911755812048 };
    C p[3], m[3], r[3], i[3];
    FFT_UNROLLED for (int k = 0; k < 3; k++) {
        p[k] = NAME(add)(a[1 + k], a[6 - k]);
        m[k] = NAME(sub)(a[1 + k], a[6 - k]);
    }
    FFT_UNROLLED for (int j = 0; j < 3; j++) {
        r[j] = a[0];
        i[j] = NAME(scaled)(m[0], s[j]);
        FFT_UNROLLED for (int k = 0; k < 3; k++) {
            /* The root of (j + 1)(k + 1), brought to one of the first three: the others are their conjugates. */
            const int at = (j + 1) * (k + 1) % 7, near = at > 3 ? 7 - at : at;
            r[j] = NAME(add)(r[j], NAME(scaled)(p[k], c[near - 1]));
            if (k)
                i[j] = NAME(add)(i[j], NAME(scaled)(m[k], at > 3 ? -s[near - 1] : s[near - 1]));
        }
    }
    a[0] = NAME(add)(NAME(add)(a[0], p[0]), NAME(add)(p[1], p[2]));
    FFT_UNROLLED for (int j = 0; j < 3; j++) {
        a[1 + j] = NAME(less_i)(r[j], i[j]);
        a[6 - j] = NAME(plus_i)(r[j], i[j]);
    }
}

/* The odd numbers' transform, times (1 - i) / sqrt 2 and (-1 - i) / sqrt 2; -i comes with the sums. */
FFT_INLINE void NAME(turn_8)(C *odd)
{
    const REAL h = (REAL)0.70710678118654752440;
    odd[1] = NAME(number)((odd[1].re + odd[1].im) * h, (odd[1].im - odd[1].re) * h);
    odd[3] = NAME(number)((odd[3].im - odd[3].re) * h, -(odd[3].re + odd[3].im) * h);
}

FFT_INLINE void NAME(short_8)(C *a)
{
    C even[4] = { a[0], a[2], a[4], a[6] }, odd[4] = { a[1], a[3], a[5], a[7] };
    NAME(short_4)(even);
    NAME(short_4)(odd);
    NAME(turn_8)(odd);
    a[0] = NAME(add)(even[0], odd[0]);
    a[4] = NAME(sub)(even[0], odd[0]);
    a[1] = NAME(add)(even[1], odd[1]);
    a[5] = NAME(sub)(even[1], odd[1]);
    a[2] = NAME(less_i)(even[2], odd[2]);
    a[6] = NAME(plus_i)(even[2], odd[2]);
    a[3] = NAME(add)(even[3], odd[3]);
    a[7] = NAME(sub)(even[3], odd[3]);
}
