/* own_lead.h - the first passes of a line that is taken alone, for REAL, LANES numbers at a time.
 *
 * Those passes leave the line as columns side by side: numbers `at` + columns m, for any m, come of the same ones and
 * of no others.  So a vector of neighbouring columns goes through all of these passes in a core's nearest cache, and
 * the line is read and written once.  Each lane has roots of its own, whose parts are apart in their tables.
 */
static inline C NAME(times_each)(C a, C w)
{
    return (C){ a.re * w.re - a.im * w.im, a.im * w.re + a.re * w.im };
}

/* Neighbours' roots. */
static inline C NAME(roots_of)(const REAL *re, const REAL *im)
{
    C w;
    memcpy(&w.re, re, sizeof w.re);
    memcpy(&w.im, im, sizeof w.im);
    return w;
}

/* One transform of a vector of columns, of the numbers GET(k), to y; w: its roots, [RADIX - 1][2][roots, all of the
 * line's]. */
#define LEAD_SHORT(RADIX, GET)                                                                            \
    C a[RADIX];                                                                                           \
    FFT_UNROLLED for (int k = 0; k < RADIX; k++)                                                          \
        a[k] = GET((size_t)k);                                                                            \
    NAME(short_##RADIX)(a);                                                                               \
    y[0] = a[0];                                                                                          \
    FFT_UNROLLED for (int k = 1; k < RADIX; k++) {                                                        \
        const REAL *root = w + roots * (2 * (size_t)k - 2);                                               \
        C z = NAME(times_each)(a[k], NAME(roots_of)(root, root + roots));                                 \
        /* A root of 1 multiplies nothing, as in passes number by number. */                              \
        if (is_first && !j)                                                                               \
            z.re[0] = a[k].re[0], z.im[0] = a[k].im[0];                                                   \
        y[done * (size_t)k] = z;                                                                          \
    }

/* A pass; the roots `columns` further are the next transform's. */
#define GET(k) x[apart * (k)]
#define LEAD_PART(RADIX)                                                                                  \
    static inline __attribute__((always_inline)) void NAME(lead_part_##RADIX)(                            \
        size_t done, size_t left, const REAL *w, size_t columns, size_t roots, bool is_first, const C *x, C *y) \
    {                                                                                                     \
        const size_t apart = done * left;                                                                 \
        for (size_t j = 0; j < left; j++, w += columns, y += done * (RADIX - 1))                          \
            for (size_t q = 0; q < done; q++, x++, y++) {                                                 \
                LEAD_SHORT(RADIX, GET)                                                                    \
            }                                                                                             \
    }
LEAD_PART(3)
LEAD_PART(4)
LEAD_PART(5)
LEAD_PART(7)
LEAD_PART(8)
#undef LEAD_PART
#undef GET
