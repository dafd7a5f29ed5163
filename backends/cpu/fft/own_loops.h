/* own_loops.h - the loops of the CPU's own Fourier transforms, for REAL, LANES lines at a time.
 *
 * Stockham's order: a pass of radix r reads its r numbers n / r apart and writes them side by side, so that no pass
 * reorders, and each goes from one half of the scratch to the other.  Forward only: backward is forward with real and
 * imaginary parts exchanged when they are read and when they are written.
 */
typedef REAL NAME(vec) __attribute__((vector_size(VECTOR_BYTES)));
#define V NAME(vec)
typedef struct NAME(cplx) { V re, im; } NAME(cplx);
#define C NAME(cplx)
#include "fft_short.h"

/* --- Passes --- */

/* Numbers q + done (j + left k), k = 0 to RADIX - 1, of x become numbers q + done (RADIX j + k) of y. */
#define PASS(RADIX)                                                                                       \
    static void NAME(pass_##RADIX)(const struct own_fft_pass *pass, const C *restrict x, C *restrict y)   \
    {                                                                                                     \
        const size_t done = pass->done, left = pass->left;                                                \
        const NUMBER *w = pass->twiddles;                                                                 \
        for (size_t j = 0; j < left; j++, w += RADIX - 1)                                                 \
            for (size_t q = 0; q < done; q++) {                                                           \
                C a[RADIX];                                                                               \
                FFT_UNROLLED for (int k = 0; k < RADIX; k++)                                                  \
                    a[k] = x[q + done * (j + left * (size_t)k)];                                          \
                NAME(short_##RADIX)(a);                                                                   \
                C *to = y + q + done * RADIX * j;                                                         \
                to[0] = a[0];                                                                             \
                /* The first part of a pass, and all of the last one, has roots that are 1. */            \
                FFT_UNROLLED for (int k = 1; k < RADIX; k++)                                                  \
                    to[done * (size_t)k] = j ? NAME(times)(a[k], w[k - 1]) : a[k];                        \
            }                                                                                             \
    }
PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(7)
PASS(8)
#undef PASS

/* From x, by way of y; where the result is. */
static C *NAME(run_passes)(const struct own_fft *f, C *x, C *y)
{
    for (unsigned i = 0; i < f->n_passes; i++) {
        const struct own_fft_pass *p = &f->passes[i];
        switch (p->radix) {
        case 2: NAME(pass_2)(p, x, y); break;
        case 3: NAME(pass_3)(p, x, y); break;
        case 4: NAME(pass_4)(p, x, y); break;
        case 5: NAME(pass_5)(p, x, y); break;
        case 7: NAME(pass_7)(p, x, y); break;
        default: NAME(pass_8)(p, x, y); break;
        }
        C *next = x;
        x = y;
        y = next;
    }
    return x;
}

static void NAME(exchange)(C *x, size_t n)
{
    for (size_t k = 0; k < n; k++)
        x[k] = (C){ x[k].im, x[k].re };
}

/* The convolution with the chirp. */
static C *NAME(run_chirp)(const struct own_fft *f, C *x, C *y)
{
    const struct own_fft *inner = f->inner;
    const NUMBER *chirp = f->chirp, *filter = f->filter;
    for (size_t k = 0; k < f->n; k++)
        x[k] = NAME(times)(x[k], chirp[k]);
    memset(x + f->n, 0, (inner->n - f->n) * sizeof *x);
    C *z = NAME(run_passes)(inner, x, y);
    for (size_t k = 0; k < inner->n; k++)
        z[k] = NAME(times)(z[k], filter[k]);
    NAME(exchange)(z, inner->n);
    z = NAME(run_passes)(inner, z, z == x ? y : x);
    NAME(exchange)(z, f->n);
    for (size_t k = 0; k < f->n; k++)
        z[k] = NAME(times)(z[k], chirp[k]);
    return z;
}

/* --- Lines in and out --- */

/* One number of LANES lines, as complex numbers one behind the other, to a vector of each part, and back. */
static inline C NAME(part)(const REAL *numbers)
{
    V a, b;
    memcpy(&a, numbers, sizeof a);
    memcpy(&b, numbers + LANES, sizeof b);
    return (C){ __builtin_shufflevector(a, b, EVEN), __builtin_shufflevector(a, b, ODD) };
}
static inline void NAME(join)(REAL *numbers, C x)
{
    const V a = __builtin_shufflevector(x.re, x.im, JOINED_LOW), b = __builtin_shufflevector(x.re, x.im, JOINED_HIGH);
    memcpy(numbers, &a, sizeof a);
    memcpy(numbers + LANES, &b, sizeof b);
}

/* Complex lines for all lanes, side by side. */
static void NAME(load_columns)(C *x, size_t n, const REAL *from, size_t step)
{
    for (size_t k = 0; k < n; k++)
        x[k] = NAME(part)(from + 2 * k * step);
}
static void NAME(store_columns)(const C *x, size_t n, REAL *to, size_t step)
{
    for (size_t k = 0; k < n; k++)
        NAME(join)(to + 2 * k * step, x[k]);
}

/* Complex lines for all lanes, far from each other: TILE numbers of each at a time, since lines are often a power of
 * two apart, and then one number of each would throw the others' neighbours out of the cache. */
static void NAME(load_rows)(C *x, size_t n, const REAL *from, size_t step, size_t pitch)
{
    REAL tile[TILE][2 * LANES];
    for (size_t k = 0; k < n; k += TILE) {
        const size_t m = n - k < TILE ? n - k : TILE;
        for (size_t i = 0; i < LANES; i++)
            for (size_t t = 0; t < m; t++)
                memcpy(tile[t] + 2 * i, from + 2 * (i * pitch + (k + t) * step), sizeof(NUMBER));
        for (size_t t = 0; t < m; t++)
            x[k + t] = NAME(part)(tile[t]);
    }
}
static void NAME(store_rows)(const C *x, size_t n, REAL *to, size_t step, size_t pitch)
{
    REAL tile[TILE][2 * LANES];
    for (size_t k = 0; k < n; k += TILE) {
        const size_t m = n - k < TILE ? n - k : TILE;
        for (size_t t = 0; t < m; t++)
            NAME(join)(tile[t], x[k + t]);
        for (size_t i = 0; i < LANES; i++)
            for (size_t t = 0; t < m; t++)
                memcpy(to + 2 * (i * pitch + (k + t) * step), tile[t] + 2 * i, sizeof(NUMBER));
    }
}

/* The same of n lines, or of lines that are real on one side; lanes without a line repeat the first one. */
static C NAME(load_some)(const struct own_fft *f, const struct own_fft_lines *l, size_t k, size_t first, size_t n)
{
    REAL numbers[2 * LANES];
    const bool real = l->kind == OWN_FFT_FROM_REAL;
    /* Numbers that are not stored are conjugates of those that are. */
    const bool mirrored = l->kind == OWN_FFT_TO_REAL && k > f->n / 2;
    /* Of a real result's transform these two are real, whatever is stored. */
    const bool alone = l->kind == OWN_FFT_TO_REAL && (!k || 2 * k == f->n);
    const size_t at = (mirrored ? f->n - k : k) * l->in_step;
    for (size_t i = 0; i < LANES; i++) {
        const REAL *from = (const REAL *)l->in + (at + (first + (i < n ? i : 0)) * l->in_pitch) * (real ? 1 : 2);
        numbers[2 * i] = from[0];
        numbers[2 * i + 1] = 0;
        if (!real && !alone)
            numbers[2 * i + 1] = mirrored ? -from[1] : from[1];
    }
    return NAME(part)(numbers);
}

static void NAME(store_some)(const struct own_fft_lines *l, size_t k, size_t first, size_t n, C x)
{
    REAL numbers[2 * LANES];
    const size_t each = l->kind == OWN_FFT_TO_REAL ? 1 : 2;
    NAME(join)(numbers, x);
    for (size_t i = 0; i < n; i++)
        memcpy((REAL *)l->out + (k * l->out_step + (first + i) * l->out_pitch) * each, numbers + 2 * i,
               each * sizeof(REAL));
}

static void NAME(load_lines)(C *x, const struct own_fft *f, const struct own_fft_lines *l, size_t first, size_t n)
{
    const REAL *from = (const REAL *)l->in + 2 * first * l->in_pitch;
    if (l->kind != OWN_FFT_COMPLEX || n < LANES)
        for (size_t k = 0; k < f->n; k++)
            x[k] = NAME(load_some)(f, l, k, first, n);
    else if (l->in_pitch == 1)
        NAME(load_columns)(x, f->n, from, l->in_step);
    else
        NAME(load_rows)(x, f->n, from, l->in_step, l->in_pitch);
    if (l->backward)
        NAME(exchange)(x, f->n);
}

static void NAME(store_lines)(C *x, const struct own_fft *f, const struct own_fft_lines *l, size_t first, size_t n)
{
    const size_t numbers = l->kind == OWN_FFT_FROM_REAL ? f->n / 2 + 1 : f->n;
    REAL *to = (REAL *)l->out + 2 * first * l->out_pitch;
    if (l->backward)
        NAME(exchange)(x, f->n);
    if (l->kind != OWN_FFT_COMPLEX || n < LANES)
        for (size_t k = 0; k < numbers; k++)
            NAME(store_some)(l, k, first, n, x[k]);
    else if (l->out_pitch == 1)
        NAME(store_columns)(x, numbers, to, l->out_step);
    else
        NAME(store_rows)(x, numbers, to, l->out_step, l->out_pitch);
}

static void NAME(run_lines)(const struct own_fft *f, const struct own_fft_lines *l, void *scratch)
{
    C *x = scratch, *y = x + (f->inner ? f->inner->n : f->n);
    for (size_t first = 0; first < l->lines; first += LANES) {
        const size_t n = l->lines - first < LANES ? l->lines - first : LANES;
        NAME(load_lines)(x, f, l, first, n);
        C *z = f->inner ? NAME(run_chirp)(f, x, y) : NAME(run_passes)(f, x, y);
        NAME(store_lines)(z, f, l, first, n);
    }
}
#undef V
#undef C
