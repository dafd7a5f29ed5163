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
#define LANES  (sizeof(NAME(vec)) / sizeof(REAL))
#define MOST   HCY_NUFFT_MAX_WIDTH
#define AT_ONCE 16 /* points whose weights are found together */
#define RECORD (dim * sizeof(REAL) + 8)

/* --- Windows --- */

/* The weights at t, each `times`, and zeros behind them up to `cells`.  Windows are even: polynomials j and
 * width - 1 - j differ in the signs of odd powers alone (window.cl). */
static INLINE void NAME(weights)(REAL *k, const struct nufft_rows *rows, REAL t, const unsigned cells,
                                 const unsigned times)
{
    enum { PARTS = MOST / 2 / LANES };
    const NAME(loose) *table = (const NAME(loose) *)rows->table;
    const unsigned width = rows->width, n = HCY_NUFFT_COEFS(width);
    const REAL u = t * t;
    NAME(vec) a[PARTS], b[PARTS];
    REAL sums[MOST / 2], differences[MOST / 2];
    for (unsigned i = 0; i < PARTS; i++) {
        a[i] = table[i];
        b[i] = table[2 * PARTS + i];
    }
    for (unsigned c = 2; c + 1 < n; c += 2)
        for (unsigned i = 0; i < PARTS; i++) {
            a[i] = a[i] * u + table[2 * c * PARTS + i];
            b[i] = b[i] * u + table[2 * (c + 1) * PARTS + i];
        }
    if (n % 2)
        for (unsigned i = 0; i < PARTS; i++)
            a[i] = a[i] * u + table[2 * (n - 1) * PARTS + i];
    for (unsigned i = 0; i < PARTS; i++) {
        const NAME(vec) even = n % 2 ? a[i] : b[i], odd = (n % 2 ? b[i] : a[i]) * t;
        const NAME(vec) plus = even + odd, minus = even - odd;
        memcpy(sums + i * LANES, &plus, sizeof plus);
        memcpy(differences + i * LANES, &minus, sizeof minus);
    }
    for (unsigned j = 0; j < (width + 1) / 2; j++)
        for (unsigned i = 0; i < times; i++) {
            k[times * j + i] = sums[j];
            k[times * (width - 1 - j) + i] = differences[j];
        }
    for (unsigned j = times * width; j < times * cells; j++)
        k[j] = 0;
}

/* A point: its weights on the fastest axis, twice each as numbers have two parts, and on the others; where it begins in
 * the small grid; its number. */
struct NAME(point) {
    REAL pairs[2 * MOST], k[2][MOST];
    size_t first;
    uint32_t number;
};

static INLINE void NAME(take_one)(struct NAME(point) *p, const unsigned dim, const unsigned cells,
                                  const struct nufft_rows *rows, const char *record)
{
    REAL t[3];
    uint32_t where[2];
    memcpy(t, record, dim * sizeof(REAL));
    memcpy(where, record + dim * sizeof(REAL), sizeof where);
    NAME(weights)(p->pairs, rows, t[0], cells, 2);
    for (unsigned d = 1; d < dim; d++)
        NAME(weights)(p->k[d - 1], rows, t[d], cells, 1);
    p->number = where[1];
    p->first = where[0];
    if (dim > 1)
        p->first = (where[0] & 1023) + (where[0] >> 10 & 1023) * rows->pitch + (where[0] >> 20) * rows->plane;
}

/* Some points of n: how many.  Weights are written number by number and read as vectors, which waits for all that was
 * written before unless that is over: so those of several points come first.  Strengths c lie anywhere: they are on
 * their way meanwhile. */
static INLINE size_t NAME(take)(struct NAME(point) *points, const unsigned dim, const unsigned cells,
                                const struct nufft_rows *rows, const char *records, size_t n, const REAL *c)
{
    const size_t now = n < AT_ONCE ? n : AT_ONCE;
    for (size_t i = 0; i < now; i++) {
        NAME(take_one)(&points[i], dim, cells, rows, records + i * RECORD);
        __builtin_prefetch(c + 2 * (size_t)points[i].number);
    }
    return now;
}

/* --- Spreading --- */

/* Shares of a row of `cells` complex cells, whose products with the weight z they are. */
static INLINE void NAME(put_shares)(int64_t *to, const wide *row, double z, const unsigned cells)
{
    const longs middle = (longs){ 0 } + MIDDLE_BITS;
    UNROLL
    for (unsigned i = 0; i < 2 * cells / DOUBLES; i++) {
        const wide share = row[i] * z + MIDDLE;
        loose_longs *sums = (loose_longs *)(to + i * DOUBLES);
        *sums += (longs)share - middle;
    }
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

/* The weight of the slowest axis comes last in every product, and there is one alone in one dimension. */
static INLINE void NAME(spread_point)(const unsigned dim, const unsigned cells, const struct nufft_rows *rows,
                                      const struct NAME(point) *p, const REAL *c, int64_t *local)
{
    const NAME(loose_some) *pairs = (const NAME(loose_some) *)p->pairs;
    const NAME(some) both = NAME(both)(c + 2 * (size_t)p->number);
    wide row[2 * MOST / DOUBLES];
    if (dim == 1) {
        const wide scaled = __builtin_convertvector(both, wide) * rows->unit;
        UNROLL
        for (unsigned i = 0; i < 2 * cells / DOUBLES; i++)
            row[i] = scaled * __builtin_convertvector(pairs[i], wide);
        NAME(put_shares)(local + 2 * p->first, row, 1, cells);
        return;
    }
    for (unsigned y = 0; y < (dim == 3 ? rows->width : 1); y++) {
        UNROLL
        for (unsigned i = 0; i < 2 * cells / DOUBLES; i++) {
            NAME(some) xy = pairs[i];
            if (dim == 3)
                xy *= p->k[0][y];
            row[i] = __builtin_convertvector(both * xy, wide) * rows->unit;
        }
        int64_t *to = local + 2 * (p->first + y * rows->pitch);
        for (unsigned z = 0; z < rows->width; z++, to += 2 * (dim == 3 ? rows->plane : rows->pitch))
            NAME(put_shares)(to, row, (double)p->k[dim - 2][z], cells);
    }
}

static INLINE void NAME(spread_wide)(const unsigned dim, const unsigned cells, const struct nufft_rows *rows,
                                     const char *records, size_t n, const REAL *c, int64_t *local)
{
    struct NAME(point) points[AT_ONCE];
    for (size_t done = 0, now; done < n; done += now) {
        now = NAME(take)(points, dim, cells, rows, records + done * RECORD, n - done, c);
        for (size_t i = 0; i < now; i++)
            NAME(spread_point)(dim, cells, rows, &points[i], c, local);
    }
}

/* --- Interpolation --- */

/* Columns first, along z in the order of y within it, then the columns' sums (same.cl). */
static INLINE void NAME(interp_point)(const unsigned dim, const unsigned cells, const struct nufft_rows *rows,
                                      const struct NAME(point) *p, REAL *c, const REAL *local)
{
    NAME(vec) sums[2 * MOST / LANES] = { { 0 } };
    REAL columns[2 * MOST], re = 0, im = 0;
    for (unsigned z = 0; z < (dim > 1 ? rows->width : 1); z++)
        for (unsigned y = 0; y < (dim > 2 ? rows->width : 1); y++) {
            const REAL *from = local + 2 * (p->first + y * rows->pitch + z * (dim == 3 ? rows->plane : rows->pitch));
            const REAL weight = (dim > 1 ? p->k[dim - 2][z] : 1) * (dim > 2 ? p->k[0][y] : 1);
            UNROLL
            for (unsigned i = 0; i < 2 * cells / LANES; i++)
                sums[i] += weight * *(const NAME(loose) *)(from + i * LANES);
        }
    memcpy(columns, sums, 2 * cells * sizeof(REAL));
    for (unsigned x = 0; x < rows->width; x++) {
        re += p->pairs[2 * x] * columns[2 * x];
        im += p->pairs[2 * x] * columns[2 * x + 1];
    }
    c[2 * (size_t)p->number] = re;
    c[2 * (size_t)p->number + 1] = im;
}

static INLINE void NAME(interp_wide)(const unsigned dim, const unsigned cells, const struct nufft_rows *rows,
                                     const char *records, size_t n, REAL *c, const REAL *local)
{
    struct NAME(point) points[AT_ONCE];
    for (size_t done = 0, now; done < n; done += now) {
        now = NAME(take)(points, dim, cells, rows, records + done * RECORD, n - done, c);
        for (size_t i = 0; i < now; i++)
            NAME(interp_point)(dim, cells, rows, &points[i], c, local);
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
#undef MOST
#undef AT_ONCE
#undef RECORD
#undef WIDE
#undef DIMENSIONS
