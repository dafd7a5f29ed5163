/* same.h - points to a small grid of integers and from one of numbers, and their keys and records: as rows.h, but with
 * the operations of GPUs, in their order (backends/gpu/nufft), and none contracted: the same bits on every device.
 *
 * Included with REAL, WORD, NAME(x) and VECTOR.  Windows are taken a multiple of four cells wide, of which the last
 * ones weigh nothing: shares of 0, and sums that are not used.
 */
typedef REAL NAME(vec) __attribute__((vector_size(8 * sizeof(REAL) < VECTOR ? 8 * sizeof(REAL) : VECTOR)));
typedef REAL NAME(loose) __attribute__((vector_size(sizeof(NAME(vec))), aligned(sizeof(REAL)), may_alias));
/* As many as there are doubles in a vector. */
typedef REAL NAME(some) __attribute__((vector_size(DOUBLES * sizeof(REAL))));
typedef REAL NAME(loose_some) __attribute__((vector_size(DOUBLES * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
typedef WORD NAME(words) __attribute__((vector_size(DOUBLES * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
typedef REAL NAME(full) __attribute__((vector_size(VECTOR)));
typedef REAL NAME(quad) __attribute__((vector_size(4 * sizeof(REAL))));
#define LANES  (sizeof(NAME(vec)) / sizeof(REAL))
#define FULL   (VECTOR / sizeof(REAL))
#define MOST   HCY_NUFFT_MAX_WIDTH
#define AT_ONCE 16 /* points whose weights are found together */
#define RECORD (dim * sizeof(REAL) + 8)

/* --- Windows --- */

/* Of some points on an axis: the weight of cell j for point i is at [j][i]. */
typedef REAL NAME(axis)[MOST][AT_ONCE];

/* Weights of n points at t, as many side by side as a vector has room for; lanes behind them have any numbers.  Windows
 * are even: polynomials j and width - 1 - j differ in the signs of odd powers alone (window.cl). */
static INLINE void NAME(weights)(NAME(axis) k, const struct nufft_rows *rows, const REAL *t, size_t n)
{
    const unsigned width = rows->width, coefs = HCY_NUFFT_COEFS(width);
    for (size_t i = 0; i < n; i += FULL)
        for (unsigned j = 0; j < (width + 1) / 2; j++) {
            const REAL *table = (const REAL *)rows->table + j;
            const NAME(full) at = *(const NAME(full) *)(t + i), u = at * at;
            NAME(full) a = table[0] - (NAME(full)){ 0 }, b = table[MOST] - (NAME(full)){ 0 };
            for (unsigned c = 2; c + 1 < coefs; c += 2) {
                a = a * u + table[c * MOST];
                b = b * u + table[(c + 1) * MOST];
            }
            if (coefs % 2)
                a = a * u + table[(coefs - 1) * MOST];
            const NAME(full) even = coefs % 2 ? a : b, odd = (coefs % 2 ? b : a) * at;
            *(NAME(full) *)(k[j] + i) = even + odd;
            *(NAME(full) *)(k[width - 1 - j] + i) = even - odd;
        }
}

/* Some points: their weights, where they begin in the small grid, their numbers. */
struct NAME(group) {
    _Alignas(64) NAME(axis) k[3];
    /* To spread: of the fastest axis, twice each as numbers have two parts, and of the slowest one of several.  To
     * interpolate, pairs are columns. */
    _Alignas(64) REAL pairs[AT_ONCE][2 * MOST];
    _Alignas(64) double slow[MOST][AT_ONCE];
    size_t first[AT_ONCE];
    uint32_t number[AT_ONCE];
};

/* What lies behind windows weighs nothing. */
static INLINE void NAME(open)(struct NAME(group) *g, const unsigned cells, const struct nufft_rows *rows)
{
    for (unsigned j = rows->width; j < cells; j++)
        memset(g->k[0][j], 0, sizeof g->k[0][j]);
}

/* Strengths c lie anywhere: those of the next points are on their way meanwhile (NUFFT_AHEAD). */
static INLINE void NAME(fetch)(const unsigned dim, const char *record, const REAL *c, const int writes)
{
    uint32_t number;
    memcpy(&number, record + AT_ONCE * RECORD + dim * sizeof(REAL) + 4, sizeof number);
    if (writes)
        __builtin_prefetch(c + 2 * (size_t)number, 1);
    else
        __builtin_prefetch(c + 2 * (size_t)number);
}

/* Some of n points: how many. */
static INLINE size_t NAME(take)(struct NAME(group) *g, const unsigned dim, const struct nufft_rows *rows,
                                const char *records, size_t n)
{
    const size_t now = n < AT_ONCE ? n : AT_ONCE;
    _Alignas(64) REAL t[3][AT_ONCE] = { { 0 } };
    for (size_t i = 0; i < now; i++, records += RECORD) {
        REAL at[3];
        uint32_t where[2];
        memcpy(at, records, dim * sizeof(REAL));
        memcpy(where, records + dim * sizeof(REAL), sizeof where);
        for (unsigned d = 0; d < dim; d++)
            t[d][i] = at[d];
        g->number[i] = where[1];
        g->first[i] = where[0];
        if (dim > 1)
            g->first[i] =
                (where[0] & 1023) + (where[0] >> 10 & 1023) * rows->pitch + (where[0] >> 20) * rows->plane;
    }
    for (unsigned d = 0; d < dim; d++)
        NAME(weights)(g->k[d], rows, t[d], now);
    return now;
}

/* --- Spreading --- */

/* Shares of a row of `cells` complex cells, whose products with the weight z they are. */
static INLINE void NAME(put_shares)(int64_t *to, const wide *row, double z, const unsigned cells)
{
    UNROLL
    for (unsigned i = 0; i < 2 * cells / DOUBLES; i++)
        *(loose_longs *)(to + i * DOUBLES) += nearest(row[i] * z);
}

/* A strength's parts, again and again: by their bits, as numbers would come by way of memory. */
static INLINE NAME(some) NAME(both)(const REAL *c)
{
    static const WORD odd[DOUBLES] = { ODD_WORDS };
    const NAME(words) second = *(const NAME(words) *)odd;
    WORD re, im;
    memcpy(&re, c, sizeof re);
    memcpy(&im, c + 1, sizeof im);
    return (NAME(some))((re & ~second) | (im & second));
}

/* Each weight of the fastest axis twice, point by point: four of four points at a time. */
static INLINE void NAME(pair)(struct NAME(group) *g, const unsigned cells, size_t n)
{
    for (size_t i = 0; i < n; i += 4)
        for (unsigned j = 0; j < cells; j += 4)
            for (unsigned half = 0; half < 4; half += 2) {
                const NAME(quad) a = *(const NAME(quad) *)(g->k[0][j + half] + i),
                                 b = *(const NAME(quad) *)(g->k[0][j + half + 1] + i);
                const NAME(quad) low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                                 high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
                REAL(*to)[2 * MOST] = g->pairs + i;
                *(NAME(quad) *)(to[0] + 2 * (j + half)) = __builtin_shufflevector(low, low, 0, 0, 1, 1);
                *(NAME(quad) *)(to[1] + 2 * (j + half)) = __builtin_shufflevector(low, low, 2, 2, 3, 3);
                *(NAME(quad) *)(to[2] + 2 * (j + half)) = __builtin_shufflevector(high, high, 0, 0, 1, 1);
                *(NAME(quad) *)(to[3] + 2 * (j + half)) = __builtin_shufflevector(high, high, 2, 2, 3, 3);
            }
}

/* The weight of the slowest axis comes last in every product, and there is one alone in one dimension. */
static INLINE void NAME(spread_point)(const unsigned dim, const unsigned cells, const struct nufft_rows *rows,
                                      const struct NAME(group) *g, size_t p, const REAL *c, int64_t *local)
{
    const NAME(loose_some) *pairs = (const NAME(loose_some) *)g->pairs[p];
    const NAME(some) both = NAME(both)(c + 2 * (size_t)g->number[p]);
    wide row[2 * MOST / DOUBLES];
    if (dim == 1) {
        const wide scaled = __builtin_convertvector(both, wide) * rows->unit;
        UNROLL
        for (unsigned i = 0; i < 2 * cells / DOUBLES; i++)
            row[i] = scaled * __builtin_convertvector(pairs[i], wide);
        NAME(put_shares)(local + 2 * g->first[p], row, 1, cells);
        return;
    }
    for (unsigned y = 0; y < (dim == 3 ? rows->width : 1); y++) {
        UNROLL
        for (unsigned i = 0; i < 2 * cells / DOUBLES; i++) {
            NAME(some) xy = pairs[i];
            if (dim == 3)
                xy *= g->k[1][y][p];
            row[i] = __builtin_convertvector(both * xy, wide) * rows->unit;
        }
        int64_t *to = local + 2 * (g->first[p] + y * rows->pitch);
        for (unsigned z = 0; z < rows->width; z++, to += 2 * (dim == 3 ? rows->plane : rows->pitch))
            NAME(put_shares)(to, row, g->slow[z][p], cells);
    }
}

static INLINE void NAME(spread_wide)(const unsigned dim, const unsigned cells, const struct nufft_rows *rows,
                                     const char *records, size_t n, const REAL *c, int64_t *local)
{
    struct NAME(group) g;
    NAME(open)(&g, cells, rows);
    for (size_t done = 0, now; done < n; done += now) {
        now = NAME(take)(&g, dim, rows, records + done * RECORD, n - done);
        NAME(pair)(&g, cells, now);
        for (unsigned z = 0; z < (dim > 1 ? rows->width : 0); z++)
            for (size_t i = 0; i < AT_ONCE; i++)
                g.slow[z][i] = g.k[dim - 1][z][i];
        for (size_t i = 0; i < now; i++) {
            NAME(fetch)(dim, records + (done + i) * RECORD, c, 0);
            NAME(spread_point)(dim, cells, rows, &g, i, c, local);
        }
    }
}

static void NAME(floats)(void *grid, const void *sums, double unit, size_t n)
{
    REAL *to = grid;
    const int64_t *from = sums;
    size_t i = 0;
    for (; i + DOUBLES <= 2 * n; i += DOUBLES) {
        const wide numbers = doubles_of(*(const loose_longs *)(from + i)) * unit;
        *(NAME(loose_some) *)(to + i) = __builtin_convertvector(numbers, NAME(some));
    }
    for (; i < 2 * n; i++)
        to[i] = (REAL)((double)from[i] * unit);
}

/* --- Interpolation --- */

/* Columns first, along z in the order of y within it (same.cl). */
static INLINE void NAME(sum_columns)(REAL *columns, const unsigned dim, const unsigned cells,
                                     const struct nufft_rows *rows, const struct NAME(group) *g, size_t p,
                                     const REAL *local)
{
    NAME(vec) sums[2 * MOST / LANES] = { { 0 } };
    for (unsigned z = 0; z < (dim > 1 ? rows->width : 1); z++)
        for (unsigned y = 0; y < (dim > 2 ? rows->width : 1); y++) {
            const REAL *from = local + 2 * (g->first[p] + y * rows->pitch + z * (dim == 3 ? rows->plane : rows->pitch));
            const REAL weight = (dim > 1 ? g->k[dim - 1][z][p] : 1) * (dim > 2 ? g->k[1][y][p] : 1);
            UNROLL
            for (unsigned i = 0; i < 2 * cells / LANES; i++)
                sums[i] += weight * *(const NAME(loose) *)(from + i * LANES);
        }
    memcpy(columns, sums, 2 * cells * sizeof(REAL));
}

/* Then the columns' sums, when those of all points are written: they are read by other lengths. */
static INLINE void NAME(interp_wide)(const unsigned dim, const unsigned cells, const struct nufft_rows *rows,
                                     const char *records, size_t n, REAL *c, const REAL *local)
{
    struct NAME(group) g;
    for (size_t done = 0, now; done < n; done += now) {
        now = NAME(take)(&g, dim, rows, records + done * RECORD, n - done);
        for (size_t i = 0; i < now; i++) {
            NAME(fetch)(dim, records + (done + i) * RECORD, c, 1);
            NAME(sum_columns)(g.pairs[i], dim, cells, rows, &g, i, local);
        }
        for (size_t i = 0; i < now; i++) {
            REAL re = 0, im = 0;
            for (unsigned x = 0; x < rows->width; x++) {
                re += g.k[0][x][i] * g.pairs[i][2 * x];
                im += g.k[0][x][i] * g.pairs[i][2 * x + 1];
            }
            c[2 * (size_t)g.number[i]] = re;
            c[2 * (size_t)g.number[i] + 1] = im;
        }
    }
}

/* Numbers of axes and of cells, in fours, are constants to the compiler. */
#define WIDE(does, dim)                                                                             \
    switch ((rows->width + 3) / 4) {                                                                \
    case 1: NAME(does##_wide)(dim, 4, rows, records, n, c, local); break;                           \
    case 2: NAME(does##_wide)(dim, 8, rows, records, n, c, local); break;                           \
    case 3: NAME(does##_wide)(dim, 12, rows, records, n, c, local); break;                          \
    default: NAME(does##_wide)(dim, 16, rows, records, n, c, local); break;                         \
    }
#define DIMENSIONS(does)       \
    if (rows->dim == 1)        \
        WIDE(does, 1)          \
    else if (rows->dim == 2)   \
        WIDE(does, 2)          \
    else                       \
        WIDE(does, 3)

static void NAME(spread)(const struct nufft_rows *rows, const void *records, size_t n, const void *c, void *local)
{
    DIMENSIONS(spread)
}

static void NAME(interp)(const struct nufft_rows *rows, const void *records, size_t n, void *c, const void *local)
{
    DIMENSIONS(interp)
}

/* --- Numbers times factors --- */

static void NAME(weigh)(void *out, const void *in, const void *factors, double s, size_t n)
{
    REAL *o = out, all = (REAL)s;
    const REAL *a = in, *f = factors;
    for (size_t i = 0; i < n; i++) {
        const REAL m = f[i] * all;
        o[2 * i] = a[2 * i] * m;
        o[2 * i + 1] = a[2 * i + 1] * m;
    }
}

#if VECTOR == 16
/* Compiled for the instructions that every processor has: gcc 12 makes one of a product and a sum of such pairs where
 * there is one (vfmaddsub), though it was told not to. */
static void NAME(multiply)(void *out, const void *in, const void *factors, bool conjugate, size_t n)
{
    REAL *o = out, sign = conjugate ? -1 : 1;
    const REAL *a = in, *f = factors;
    for (size_t i = 0; i < 2 * n; i += 2) {
        const REAL fi = sign * f[i + 1], re = a[i] * f[i] - a[i + 1] * fi, im = a[i] * fi + a[i + 1] * f[i];
        o[i] = re;
        o[i + 1] = im;
    }
}

#endif

/* --- Sorting --- */

/* A point's cell and t on an axis; whether it is none. */
static INLINE bool NAME(place_point)(const struct nufft_fold *f, unsigned axis, size_t i, uint32_t *cell, REAL *t)
{
    const struct nufft_axis *a = &f->layout->axis[axis];
    const double x = f->doubles ? ((const double *)f->points[axis])[i] : (double)((const REAL *)f->points[axis])[i];
    const double turns = x * 0.15915494309189533577;
    const uint64_t place = hcy_nufft_place(turns, a->offset, a->n, a->scale, a->place_bits);
    *cell = hcy_nufft_cell(place, a->bits, a->n);
    *t = (REAL)hcy_nufft_between(place, a->bits) * (REAL)0x1p-63;
    return hcy_nufft_is_far(turns);
}

static size_t NAME(keys)(const struct nufft_fold *f)
{
    const struct nufft_layout *l = f->layout;
    const uint32_t subs = l->axis[0].subs * l->axis[1].subs * l->axis[2].subs;
    size_t first_bad = SIZE_MAX;
    for (size_t i = f->begin; i < f->end; i++) {
        uint32_t bin = 0, sub = 0, cell;
        REAL t;
        for (unsigned d = l->dim; d-- > 0;) {
            const struct nufft_axis *a = &l->axis[d];
            if (NAME(place_point)(f, d, i, &cell, &t) && i < first_bad)
                first_bad = i;
            bin = bin * a->bins + (cell >> a->log_bin);
            sub = sub * a->subs + (cell >> a->log_sub & (a->subs - 1));
        }
        f->keys[i] = bin * subs + sub;
        f->counts[f->keys[i]]++;
    }
    return first_bad;
}

static void NAME(scatter)(const struct nufft_fold *f)
{
    const struct nufft_layout *l = f->layout;
    const unsigned dim = l->dim;
    for (size_t i = f->begin; i < f->end; i++) {
        uint32_t where[2] = { 0, (uint32_t)i }, cell;
        REAL t[3];
        for (unsigned d = 0; d < dim; d++) {
            NAME(place_point)(f, d, i, &cell, &t[d]);
            where[0] |= (cell & ((1u << l->axis[d].log_bin) - 1)) << 10 * d;
        }
        char *record = (char *)f->records + RECORD * f->counts[f->keys[i]]++;
        memcpy(record, t, dim * sizeof(REAL));
        memcpy(record + dim * sizeof(REAL), where, sizeof where);
    }
}

#undef LANES
#undef FULL
#undef MOST
#undef AT_ONCE
#undef RECORD
#undef WIDE
#undef DIMENSIONS
