/* own_lead.h - the first passes of a long line that is taken alone, for REAL, LANES numbers at a time.
 *
 * Those passes leave the line as columns side by side: numbers `at` + columns m, for any m, come of the same ones and
 * of no others.  So a vector of neighbouring columns goes through all of these passes in a core's nearest cache, and
 * the line is read and written once.  Each lane has roots of its own.
 */
static inline C NAME(times_each)(C a, C w)
{
    return (C){ a.re * w.re - a.im * w.im, a.im * w.re + a.re * w.im };
}

/* A root of 1 multiplies nothing, as in passes number by number. */
static inline C NAME(but_first)(C product, C x)
{
    product.re[0] = x.re[0];
    product.im[0] = x.im[0];
    return product;
}

/* As own_loops.h has passes; w: the roots of this vector's first transform, [RADIX - 1][all of the line's]. */
#define LEAD_PASS(RADIX)                                                                                            \
    static void NAME(lead_pass_##RADIX)(const struct own_fft_part *part, size_t columns, size_t roots, bool is_first, \
                                        const C *restrict x, C *restrict y)                                          \
    {                                                                                                                \
        const size_t done = part->done, left = part->left;                                                           \
        for (size_t j = 0; j < left; j++) {                                                                          \
            const NUMBER *at = (const NUMBER *)part->twiddles + j * columns;                                         \
            C w[RADIX];                                                                                              \
            FFT_UNROLLED for (int k = 1; k < RADIX; k++)                                                             \
                w[k] = NAME(part)(&at[roots * (size_t)(k - 1)].re);                                                  \
            for (size_t q = 0; q < done; q++) {                                                                      \
                C a[RADIX];                                                                                          \
                FFT_UNROLLED for (int k = 0; k < RADIX; k++)                                                         \
                    a[k] = x[q + done * (j + left * (size_t)k)];                                                     \
                NAME(short_##RADIX)(a);                                                                              \
                C *to = y + q + done * RADIX * j;                                                                    \
                to[0] = a[0];                                                                                        \
                FFT_UNROLLED for (int k = 1; k < RADIX; k++) {                                                       \
                    const C z = NAME(times_each)(a[k], w[k]);                                                        \
                    to[done * (size_t)k] = is_first && !j ? NAME(but_first)(z, a[k]) : z;                            \
                }                                                                                                    \
            }                                                                                                        \
        }                                                                                                            \
    }
/* Factors go large ones first: where columns are left that fill vectors there were no others before. */
LEAD_PASS(5)
LEAD_PASS(7)
LEAD_PASS(8)
#undef LEAD_PASS

static void NAME(run_lead_pass)(unsigned radix, const struct own_fft_part *part, size_t columns, size_t roots,
                                bool is_first, const C *x, C *y)
{
    switch (radix) {
    case 5: NAME(lead_pass_5)(part, columns, roots, is_first, x, y); break;
    case 7: NAME(lead_pass_7)(part, columns, roots, is_first, x, y); break;
    default: NAME(lead_pass_8)(part, columns, roots, is_first, x, y); break;
    }
}

/* A vector's columns, from x, by way of y; where the result is. */
static C *NAME(run_lead_passes)(const struct own_fft *f, size_t at, C *x, C *y)
{
    const size_t columns = f->n / f->lead;
    const NUMBER *roots = f->lead_roots;
    for (unsigned i = 0; i < f->lead_passes; i++) {
        const struct own_fft_pass *p = &f->passes[i];
        const struct own_fft_part part = { .left = p->left / columns, .done = p->done, .twiddles = roots + at };
        NAME(run_lead_pass)(p->radix, &part, columns, p->left, !at, x, y);
        roots += p->left * (p->radix - 1);
        C *next = x;
        x = y;
        y = next;
    }
    return x;
}

static void NAME(run_lead)(const struct own_fft *f, bool backward, const void *from, void *to, size_t pitch,
                           void *scratch)
{
    enum { VECTORS = OWN_FFT_LEAD_COLUMNS / LANES };
    const size_t columns = f->n / f->lead;
    C *tile = scratch, *other = tile + VECTORS * f->lead;
    for (size_t at = 0; at < columns; at += OWN_FFT_LEAD_COLUMNS) {
        /* Some lines of the cache at once, as each of a column's numbers is on another page. */
        for (size_t m = 0; m < f->lead; m++)
            for (size_t v = 0; v < VECTORS; v++)
                tile[v * f->lead + m] = NAME(part)((const REAL *)from + 2 * (at + v * LANES + columns * m));
        if (backward)
            NAME(exchange)(tile, VECTORS * f->lead);
        for (size_t v = 0; v < VECTORS; v++) {
            C *x = tile + v * f->lead, *z = NAME(run_lead_passes)(f, at + v * LANES, x, other);
            if (z != x)
                memcpy(x, z, f->lead * sizeof *x);
        }
        if (backward)
            NAME(exchange)(tile, VECTORS * f->lead);
        for (size_t m = 0; m < f->lead; m++)
            for (size_t v = 0; v < VECTORS; v++)
                NAME(join)((REAL *)to + 2 * (at + v * LANES + pitch * m), tile[v * f->lead + m]);
    }
}
