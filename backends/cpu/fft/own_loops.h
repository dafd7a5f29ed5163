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

static inline C NAME(add)(C a, C b)
{
    return (C){ a.re + b.re, a.im + b.im };
}
static inline C NAME(sub)(C a, C b)
{
    return (C){ a.re - b.re, a.im - b.im };
}
/* a - i b, a + i b */
static inline C NAME(less_i)(C a, C b)
{
    return (C){ a.re + b.im, a.im - b.re };
}
static inline C NAME(plus_i)(C a, C b)
{
    return (C){ a.re - b.im, a.im + b.re };
}
static inline C NAME(times)(C a, NUMBER w)
{
    return (C){ a.re * w.re - a.im * w.im, a.im * w.re + a.re * w.im };
}
static inline C NAME(scaled)(C a, REAL s)
{
    return (C){ a.re * s, a.im * s };
}

/* --- Short transforms, forward, in place --- */

static inline void NAME(short_2)(C *a)
{
    const C s = NAME(add)(a[0], a[1]);
    a[1] = NAME(sub)(a[0], a[1]);
    a[0] = s;
}

static inline void NAME(short_3)(C *a)
{
    const REAL half = (REAL)0.5, h = (REAL)0.86602540378443864676;
    const C s = NAME(add)(a[1], a[2]), d = NAME(scaled)(NAME(sub)(a[1], a[2]), h);
    const C m = NAME(sub)(a[0], NAME(scaled)(s, half));
    a[0] = NAME(add)(a[0], s);
    a[1] = NAME(less_i)(m, d);
    a[2] = NAME(plus_i)(m, d);
}

static inline void NAME(short_4)(C *a)
{
    const C s0 = NAME(add)(a[0], a[2]), d0 = NAME(sub)(a[0], a[2]);
    const C s1 = NAME(add)(a[1], a[3]), d1 = NAME(sub)(a[1], a[3]);
    a[0] = NAME(add)(s0, s1);
    a[1] = NAME(less_i)(d0, d1);
    a[2] = NAME(sub)(s0, s1);
    a[3] = NAME(plus_i)(d0, d1);
}

/* Odd lengths by pairs of conjugate roots: c and s are the cosines and sines of 2 pi / 5. */
static inline void NAME(short_5)(C *a)
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

static inline void NAME(short_7)(C *a)
{
    const REAL c[3] = { (REAL)0.62348980185873353053, (REAL)-0.22252093395631440429, (REAL)-0.90096886790241912624 };
    const REAL s[3] = { (REAL)0.78183148246802980871, (REAL)0.97492791218182360702, (REAL)0.43388373911755812048 };
    C p[3], m[3], r[3], i[3];
    UNROLLED for (int k = 0; k < 3; k++) {
        p[k] = NAME(add)(a[1 + k], a[6 - k]);
        m[k] = NAME(sub)(a[1 + k], a[6 - k]);
    }
    UNROLLED for (int j = 0; j < 3; j++) {
        r[j] = a[0];
        i[j] = NAME(scaled)(m[0], s[j]);
        UNROLLED for (int k = 0; k < 3; k++) {
            /* The root of (j + 1)(k + 1), brought to one of the first three: the others are their conjugates. */
            const int at = (j + 1) * (k + 1) % 7, near = at > 3 ? 7 - at : at;
            r[j] = NAME(add)(r[j], NAME(scaled)(p[k], c[near - 1]));
            if (k)
                i[j] = NAME(add)(i[j], NAME(scaled)(m[k], at > 3 ? -s[near - 1] : s[near - 1]));
        }
    }
    a[0] = NAME(add)(NAME(add)(a[0], p[0]), NAME(add)(p[1], p[2]));
    UNROLLED for (int j = 0; j < 3; j++) {
        a[1 + j] = NAME(less_i)(r[j], i[j]);
        a[6 - j] = NAME(plus_i)(r[j], i[j]);
    }
}

static inline void NAME(short_8)(C *a)
{
    const REAL h = (REAL)0.70710678118654752440;
    C even[4] = { a[0], a[2], a[4], a[6] }, odd[4] = { a[1], a[3], a[5], a[7] };
    NAME(short_4)(even);
    NAME(short_4)(odd);
    /* Times (1 - i) / sqrt 2, -i, (-1 - i) / sqrt 2. */
    const C w1 = { (odd[1].re + odd[1].im) * h, (odd[1].im - odd[1].re) * h };
    const C w3 = { (odd[3].im - odd[3].re) * h, -(odd[3].re + odd[3].im) * h };
    a[0] = NAME(add)(even[0], odd[0]);
    a[4] = NAME(sub)(even[0], odd[0]);
    a[1] = NAME(add)(even[1], w1);
    a[5] = NAME(sub)(even[1], w1);
    a[2] = NAME(less_i)(even[2], odd[2]);
    a[6] = NAME(plus_i)(even[2], odd[2]);
    a[3] = NAME(add)(even[3], w3);
    a[7] = NAME(sub)(even[3], w3);
}

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
                UNROLLED for (int k = 0; k < RADIX; k++)                                                  \
                    a[k] = x[q + done * (j + left * (size_t)k)];                                          \
                NAME(short_##RADIX)(a);                                                                   \
                C *to = y + q + done * RADIX * j;                                                         \
                to[0] = a[0];                                                                             \
                /* The first part of a pass, and all of the last one, has roots that are 1. */            \
                UNROLLED for (int k = 1; k < RADIX; k++)                                                  \
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
