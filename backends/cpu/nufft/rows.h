/* rows.h - points into rows of a small grid and back: the text that points_<simd>.c compile for float
 * and double.
 *
 * Included with REAL, VECTOR (bytes), LANES, NAME(x) and, where lanes move freely, SHIFT and NAME(moved). A
 * point's window is the product of one row of weights an axis.  Each row comes from polynomials, one lane a
 * cell, by Horner's rule.  Widths are constants to the compiler: loops over them are unrolled.  With SHIFT
 * the row of x is moved so that stores to the small grid are aligned, where that takes no more of them: a row that
 * begins anywhere touches as many cache lines as it must, one that is padded on both sides more.  Cycles a point
 * in 3-D, aligned and not: float w 7 101, 71 (Zen 5), 133, 103 (Sapphire Rapids); double w 7 147, 115 and 227, 219;
 * double w 10 391, 322 and 515, 517; double w 11 450, 390 and 606, 767.
 */
typedef REAL NAME(vec) __attribute__((vector_size(VECTOR)));
typedef REAL NAME(loose) __attribute__((vector_size(VECTOR), aligned(sizeof(REAL)), may_alias));
#define vec NAME(vec)
#define HALF (LANES / 2)
#define WEIGHTS(w) (((w) + LANES - 1) / LANES)               /* vectors of a row of weights, */
#define LOOSE(w) ((2 * (w) + LANES - 1) / LANES)             /* of the row doubled, */
#define TIGHT(w) ((2 * (w) + LANES - 2 + LANES - 1) / LANES) /* and of it moved by less than half a vector */
#define MAX_WEIGHTS (16 / LANES)
#define MAX_VECTORS (LOOSE(16) + 1)

static INLINE vec NAME(all)(REAL x)
{
    return x - (vec){ 0 };
}

static INLINE vec NAME(load)(const REAL *p)
{
    return *(const NAME(loose) *)p;
}

static INLINE void NAME(store)(REAL *p, vec v)
{
    *(NAME(loose) *)p = v;
}

/* A complex number in every pair of lanes, */
static INLINE vec NAME(pairs)(const REAL *c)
{
#ifdef SPREAD_PAIR
    return SPREAD_PAIR(c);
#elif LANES * 4 == VECTOR /* as an integer, which is broadcast in one instruction */
    typedef int64_t longs __attribute__((vector_size(VECTOR)));
    int64_t both;
    __builtin_memcpy(&both, c, sizeof both);
    return (vec)(both - (longs){ 0 });
#else
    typedef REAL two __attribute__((vector_size(16), aligned(8), may_alias));
    two both = *(const two *)c;
    return __builtin_shufflevector(both, both, PAIRS);
#endif
}

/* and the sum over all pairs. */
static INLINE void NAME(sum)(vec v, REAL *out)
{
#if LANES > 8
    v += PERMUTE(v, TURN8);
#endif
#if LANES > 4
    v += PERMUTE(v, TURN4);
#endif
#if LANES > 2
    v += PERMUTE(v, TURN2);
#endif
    out[0] = v[0];
    out[1] = v[1];
}

/* Weights of one axis. */
static INLINE void NAME(weights)(const int w, const REAL *table, REAL t, vec *k)
{
    vec s = NAME(all)(t);
    UNROLL for (int v = 0; v < WEIGHTS(w); v++) {
        const REAL *at = table + v * LANES;
        vec a = *(const vec *)at;
        UNROLL for (int c = 1; c < (int)HCY_NUFFT_COEFS(w); c++)
            a = a * s + *(const vec *)(at + c * 16);
        k[v] = a;
    }
}

/* Of two axes in the halves of a vector: the table has the window there once more. */
static INLINE vec NAME(halves)(REAL low, REAL high)
{
#ifdef HALVES
    return HALVES(low, high);
#else
    return __builtin_shufflevector(NAME(all)(low), NAME(all)(high), BLEND);
#endif
}
static INLINE vec NAME(both)(const int w, const REAL *table, REAL t, REAL t2)
{
    vec s = NAME(halves)(t, t2), a = *(const vec *)table;
    UNROLL for (int c = 1; c < (int)HCY_NUFFT_COEFS(w); c++)
        a = a * s + *(const vec *)(table + c * 16);
    return a;
}

#ifdef SHIFT
SHIFT
#endif

/* Weights doubled: one for the real, one for the imaginary part. */
static INLINE void NAME(doubled)(const int w, const vec *k, vec *row)
{
    UNROLL for (int v = 0; v < LOOSE(w); v++)
        row[v] = v & 1 ? PERMUTE(k[v / 2], HIGH) : PERMUTE(k[v / 2], LOW);
}

/* Weights of an axis, as numbers. */
static INLINE void NAME(numbers)(const int w, const REAL *table, REAL t, REAL *out)
{
    vec k[MAX_WEIGHTS];
    NAME(weights)(w, table, t, k);
    UNROLL for (int v = 0; v < WEIGHTS(w); v++)
        NAME(store)(out + v * LANES, k[v]);
}

/* Weights of x and, where there is one, of y, as numbers; returns where these begin in `y`. */
static INLINE const REAL *NAME(first_two)(const int w, const int dim, const REAL *table, const REAL *t, vec *k,
                                           REAL *y)
{
    if (dim > 1 && w <= HALF) {
        k[0] = NAME(both)(w, table, t[0], t[1]);
        NAME(store)(y, k[0]);
        return y + HALF;
    }
    NAME(weights)(w, table, t[0], k);
    if (dim > 1)
        NAME(numbers)(w, table, t[1], y);
    return y;
}

struct NAME(record1) {
    REAL t[1];
    uint32_t place, number;
};
struct NAME(record2) {
    REAL t[2];
    uint32_t place, number;
};
struct NAME(record3) {
    REAL t[3];
    uint32_t place, number;
};

/* The first cell of a place in the small grid. */
static INLINE size_t NAME(cell)(const int dim, const struct nufft_rows *r, uint32_t place)
{
    if (dim == 1)
        return place;
    size_t x = place & 1023, y = place >> 10 & 1023;
    return x + r->pitch * y + (dim == 3 ? r->plane * (place >> 20) : 0);
}

/* A row of n vectors, times m, to the small grid, */
static INLINE void NAME(add_row)(const int n, REAL *row, const vec *u, vec m)
{
    UNROLL for (int v = 0; v < n; v++)
        NAME(store)(row + v * LANES, NAME(load)(row + v * LANES) + u[v] * m);
}

/* and from it to sums. */
static INLINE void NAME(take_row)(const int n, const REAL *row, vec *u, vec m)
{
    UNROLL for (int v = 0; v < n; v++)
        u[v] += NAME(load)(row + v * LANES) * m;
}

/* `body` for rows from .. w - 1 of y; the loop is unrolled as long as that is short. */
#define ROWS(w, y, from, body)                                                                               \
    if ((w) <= 8) {                                                                                          \
        UNROLL for (int y = (from); y < (w); y++) body                                                       \
    } else {                                                                                                 \
        for (int y = (from); y < (w); y++) body                                                              \
    }

static INLINE void NAME(put)(const int w, const int dim, const struct nufft_rows *r, const REAL *t,
                             uint32_t place, const REAL *c, REAL *local)
{
    vec k[MAX_WEIGHTS], kx[MAX_VECTORS];
    REAL y_room[16 + LANES], kz[16 + LANES];
    const REAL *ky = NAME(first_two)(w, dim, r->table, t, k, y_room);
    const size_t pitch = 2 * r->pitch, plane = 2 * r->plane;
    size_t at = NAME(cell)(dim, r, place);
    unsigned shift = 0;
#ifdef SHIFT
    /* A moved row is aligned, but must not take one more vector for it. */
    if (TIGHT(w) == LOOSE(w)) {
        shift = (unsigned)at & (HALF - 1);
        NAME(moved)(w, k, shift, kx);
    } else
#endif
        NAME(doubled)(w, k, kx);
    if (dim > 2)
        NAME(numbers)(w, r->table, t[2], kz);
    /* The strength is multiplied into the row of x, which all other rows are multiples of. */
    vec cc = NAME(pairs)(c);
    REAL *q = local + 2 * (at - shift);
    UNROLL for (int v = 0; v < LOOSE(w); v++)
        kx[v] *= cc;
    if (dim == 1) {
        NAME(add_row)(LOOSE(w), q, kx, NAME(all)(1));
        return;
    }
    /* One plane at a time: its rows differ by the weight of y alone, so u stays in registers. */
    for (int z = 0; z < (dim == 3 ? w : 1); z++, q += plane) {
        vec u[MAX_VECTORS];
        REAL *row = q;
        UNROLL for (int v = 0; v < LOOSE(w); v++)
            u[v] = dim == 3 ? kx[v] * NAME(all)(kz[z]) : kx[v];
        ROWS(w, y, 0, {
            NAME(add_row)(LOOSE(w), row, u, NAME(all)(ky[y]));
            row += pitch;
        })
    }
}

static INLINE void NAME(get)(const int w, const int dim, const struct nufft_rows *r, const REAL *t,
                             uint32_t place, REAL *c, const REAL *local)
{
    vec k[MAX_WEIGHTS], kx[MAX_VECTORS], sum[MAX_VECTORS], total = { 0 };
    REAL y_room[16 + LANES], kz[16 + LANES];
    const REAL *ky = NAME(first_two)(w, dim, r->table, t, k, y_room);
    const size_t pitch = 2 * r->pitch, plane = 2 * r->plane;
    const REAL *q = local + 2 * NAME(cell)(dim, r, place);
    NAME(doubled)(w, k, kx);
    if (dim > 2)
        NAME(numbers)(w, r->table, t[2], kz);
    UNROLL for (int v = 0; v < LOOSE(w); v++)
        sum[v] = dim == 1 ? NAME(load)(q + v * LANES) : (vec){ 0 };
    /* Sums run over z and y first; the row of x comes in once, at the end. */
    for (int z = 0; dim > 1 && z < (dim == 3 ? w : 1); z++, q += plane) {
        vec u[MAX_VECTORS];
        const REAL *row = q;
        UNROLL for (int v = 0; v < LOOSE(w); v++)
            u[v] = NAME(load)(row + v * LANES) * NAME(all)(ky[0]);
        ROWS(w, y, 1, {
            row += pitch;
            NAME(take_row)(LOOSE(w), row, u, NAME(all)(ky[y]));
        })
        UNROLL for (int v = 0; v < LOOSE(w); v++)
            sum[v] = dim == 3 ? sum[v] + u[v] * NAME(all)(kz[z]) : u[v];
    }
    UNROLL for (int v = 0; v < LOOSE(w); v++)
        total += sum[v] * kx[v];
    NAME(sum)(total, c);
}

#include "row_slopes.h"

/* Both directions, and with slopes, for one width and number of axes: functions of their own. */
#define EACH(w, dim)                                                                                         \
    static void NAME(put_##dim##_##w)(const struct nufft_rows *r, const void *records, size_t n,             \
                                      const void *c, void *local)                                            \
    {                                                                                                        \
        const struct NAME(record##dim) *p = records;                                                         \
        for (size_t i = 0; i < n; i++) {                                                                     \
            __builtin_prefetch((const REAL *)c + 2 * (size_t)p[i + NUFFT_AHEAD].number);                     \
            NAME(put)(w, dim, r, p[i].t, p[i].place, (const REAL *)c + 2 * (size_t)p[i].number, local);      \
        }                                                                                                    \
    }                                                                                                        \
    static void NAME(get_##dim##_##w)(const struct nufft_rows *r, const void *records, size_t n, void *c,    \
                                      const void *local)                                                     \
    {                                                                                                        \
        const struct NAME(record##dim) *p = records;                                                         \
        for (size_t i = 0; i < n; i++) {                                                                     \
            __builtin_prefetch((const REAL *)c + 2 * (size_t)p[i + NUFFT_AHEAD].number, 1);                  \
            NAME(get)(w, dim, r, p[i].t, p[i].place, (REAL *)c + 2 * (size_t)p[i].number, local);            \
        }                                                                                                    \
    }                                                                                                        \
    static void NAME(derive_##dim##_##w)(const struct nufft_rows *r, const void *records, size_t n, void *c, \
                                         const void *local)                                                  \
    {                                                                                                        \
        const struct NAME(record##dim) *p = records;                                                         \
        for (size_t i = 0; i < n; i++) {                                                                     \
            __builtin_prefetch((const REAL *)c + 2 * (1 + dim) * (size_t)p[i + NUFFT_AHEAD].number, 1);      \
            REAL *to = (REAL *)c + 2 * (1 + dim) * (size_t)p[i].number;                                      \
            NAME(derive)(w, dim, r, p[i].t, p[i].place, to, local);                                          \
        }                                                                                                    \
    }
#define WIDTHS(X, dim)                                                                                       \
    X(2, dim) X(3, dim) X(4, dim) X(5, dim) X(6, dim) X(7, dim) X(8, dim) X(9, dim) X(10, dim) X(11, dim)    \
    X(12, dim) X(13, dim) X(14, dim) X(15, dim) X(16, dim)
WIDTHS(EACH, 1)
WIDTHS(EACH, 2)
WIDTHS(EACH, 3)

static void NAME(spread)(const struct nufft_rows *r, const void *records, size_t n, const void *c, void *local)
{
#define ENTRY(w, dim) NAME(put_##dim##_##w),
    static void (*const table[3][15])(const struct nufft_rows *, const void *, size_t, const void *, void *) = {
        { WIDTHS(ENTRY, 1) }, { WIDTHS(ENTRY, 2) }, { WIDTHS(ENTRY, 3) }
    };
#undef ENTRY
    table[r->dim - 1][r->width - 2](r, records, n, c, local);
}

static void NAME(interp)(const struct nufft_rows *r, const void *records, size_t n, void *c, const void *local)
{
#define ENTRY(w, dim) NAME(get_##dim##_##w),
    static void (*const table[3][15])(const struct nufft_rows *, const void *, size_t, void *, const void *) = {
        { WIDTHS(ENTRY, 1) }, { WIDTHS(ENTRY, 2) }, { WIDTHS(ENTRY, 3) }
    };
#undef ENTRY
    table[r->dim - 1][r->width - 2](r, records, n, c, local);
}

static void NAME(slopes)(const struct nufft_rows *r, const void *records, size_t n, void *c, const void *local)
{
#define ENTRY(w, dim) NAME(derive_##dim##_##w),
    static void (*const table[3][15])(const struct nufft_rows *, const void *, size_t, void *, const void *) = {
        { WIDTHS(ENTRY, 1) }, { WIDTHS(ENTRY, 2) }, { WIDTHS(ENTRY, 3) }
    };
#undef ENTRY
    table[r->dim - 1][r->width - 2](r, records, n, c, local);
}

static void NAME(add)(void *grid, const void *local, size_t n)
{
    REAL *g = grid;
    const REAL *l = local;
    for (size_t i = 0; i < 2 * n; i++)
        g[i] += l[i];
}

static void NAME(weigh)(void *out, const void *in, const void *factors, double s, size_t n)
{
    REAL *o = out, all = (REAL)s;
    const REAL *a = in, *f = factors;
    for (size_t i = 0; i < n; i++) {
        REAL m = f[i] * all;
        o[2 * i] = a[2 * i] * m;
        o[2 * i + 1] = a[2 * i + 1] * m;
    }
}

static void NAME(multiply)(void *out, const void *in, const void *factors, bool conjugate, size_t n)
{
    REAL *o = out, sign = conjugate ? -1 : 1;
    const REAL *a = in, *f = factors;
    for (size_t i = 0; i < 2 * n; i += 2) {
        REAL fi = sign * f[i + 1];
        REAL re = a[i] * f[i] - a[i + 1] * fi, im = a[i] * fi + a[i + 1] * f[i];
        o[i] = re;
        o[i + 1] = im;
    }
}

/* --- Products of images with spectra --- */

/* Images by their parts, which a range's places have in a core's nearest cache for all the sums. */
struct NAME(parts) {
    REAL re[HCY_NUFFT_MIX_MOST][NUFFT_MIXED], im[HCY_NUFFT_MIX_MOST][NUFFT_MIXED];
};

static INLINE void NAME(mix_complex)(REAL *restrict re, REAL *restrict im, const REAL *x, const REAL *y, const REAL *t,
                                     REAL sign, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const REAL a = t[2 * i], b = sign * t[2 * i + 1];
        re[i] += a * x[i] - b * y[i];
        im[i] += a * y[i] + b * x[i];
    }
}

static INLINE void NAME(mix_real)(REAL *restrict re, REAL *restrict im, const REAL *x, const REAL *y, const REAL *t,
                                  size_t n)
{
    for (size_t i = 0; i < n; i++) {
        re[i] += t[i] * x[i];
        im[i] += t[i] * y[i];
    }
}

static void NAME(mix)(const struct nufft_mix *m, size_t begin, size_t n)
{
    struct NAME(parts) from;
    REAL *const images = (REAL *)(void *)m->images;
    const REAL *const spectra = (const REAL *)(const void *)m->spectra;
    for (size_t k = 0; k < m->n; k++)
        for (size_t i = 0; i < n; i++) {
            from.re[k][i] = images[2 * (k * m->pitch + begin + i)];
            from.im[k][i] = images[2 * (k * m->pitch + begin + i) + 1];
        }
    for (size_t l = 0; l < m->n; l++) {
        REAL re[NUFFT_MIXED] = { 0 }, im[NUFFT_MIXED] = { 0 };
        for (size_t k = 0; k < m->n; k++) {
            const int32_t s = m->order[l * m->n + k];
            const size_t at = (size_t)(s < 0 ? ~s : s) * m->pitch + begin;
            if (m->is_real)
                NAME(mix_real)(re, im, from.re[k], from.im[k], spectra + at, n);
            else
                NAME(mix_complex)(re, im, from.re[k], from.im[k], spectra + 2 * at, s < 0 ? -1 : 1, n);
        }
        for (size_t i = 0; i < n; i++) {
            images[2 * (l * m->pitch + begin + i)] = re[i];
            images[2 * (l * m->pitch + begin + i) + 1] = im[i];
        }
    }
}

#include "row_sort.h"

#undef EACH
#undef WIDTHS
#undef MAX_VECTORS
#undef MAX_WEIGHTS
#undef TIGHT
#undef LOOSE
#undef WEIGHTS
#undef HALF
#undef vec
