/* same.h - points to a small grid of integers and from one of numbers, and their keys and records: as rows.h, but with
 * the operations of GPUs, in their order (backends/gpu/nufft), and none contracted: the same bits on every device.
 *
 * Included with REAL, NAME(x) and VECTOR.  Windows are taken a multiple of four cells wide, of which the last ones
 * weigh nothing: shares of 0, and sums that are not used.
 */
typedef REAL NAME(vec) __attribute__((vector_size(8 * sizeof(REAL) < VECTOR ? 8 * sizeof(REAL) : VECTOR)));
typedef REAL NAME(loose) __attribute__((vector_size(sizeof(NAME(vec))), aligned(sizeof(REAL)), may_alias));
#define LANES  (sizeof(NAME(vec)) / sizeof(REAL))
#define MOST   HCY_NUFFT_MAX_WIDTH
#define RECORD (dim * sizeof(REAL) + 8)

/* --- Windows --- */

/* The weights at t, and zeros behind them.  Windows are even: polynomials j and width - 1 - j differ in the signs of
 * odd powers alone (window.cl). */
static INLINE void NAME(weights)(REAL *k, const struct nufft_rows *rows, REAL t)
{
    const REAL *table = rows->table;
    const unsigned width = rows->width, n = HCY_NUFFT_COEFS(width);
    const REAL u = t * t;
    REAL a[MOST / 2], b[MOST / 2];
    for (unsigned j = 0; j < MOST / 2; j++) {
        a[j] = table[j];
        b[j] = table[MOST + j];
    }
    for (unsigned c = 2; c + 1 < n; c += 2)
        for (unsigned j = 0; j < MOST / 2; j++) {
            a[j] = a[j] * u + table[c * MOST + j];
            b[j] = b[j] * u + table[(c + 1) * MOST + j];
        }
    if (n % 2)
        for (unsigned j = 0; j < MOST / 2; j++)
            a[j] = a[j] * u + table[(n - 1) * MOST + j];
    for (unsigned j = 0; j < MOST; j++)
        k[j] = 0;
    for (unsigned j = 0; j < (width + 1) / 2; j++) {
        const REAL even = n % 2 ? a[j] : b[j], odd = (n % 2 ? b[j] : a[j]) * t;
        k[j] = even + odd;
        k[width - 1 - j] = even - odd;
    }
}

/* A record: its weights on each axis, where it begins in the small grid, its number. */
static INLINE size_t NAME(take)(REAL k[3][MOST], const unsigned dim, const struct nufft_rows *rows, const char *record,
                                uint32_t *number)
{
    REAL t[3];
    uint32_t where[2];
    memcpy(t, record, dim * sizeof(REAL));
    memcpy(where, record + dim * sizeof(REAL), sizeof where);
    for (unsigned d = 0; d < dim; d++)
        NAME(weights)(k[d], rows, t[d]);
    *number = where[1];
    if (dim == 1)
        return where[0];
    return (where[0] & 1023) + (where[0] >> 10 & 1023) * rows->pitch + (where[0] >> 20) * rows->plane;
}

/* --- Spreading --- */

/* Shares of a row of `cells` complex cells, whose products with the weight z they are. */
static INLINE void NAME(put_shares)(int64_t *to, const double *row, double z, const unsigned cells)
{
    const longs middle = (longs){ 0 } + MIDDLE_BITS;
    UNROLL
    for (unsigned i = 0; i < 2 * cells; i += DOUBLES) {
        wide share;
        memcpy(&share, row + i, sizeof share);
        share = share * z + MIDDLE;
        loose_longs *sums = (loose_longs *)(to + i);
        *sums += (longs)share - middle;
    }
}

/* The weight of the slowest axis comes last in every product, and there is one alone in one dimension. */
static INLINE void NAME(spread_wide)(const unsigned dim, const unsigned cells, const struct nufft_rows *rows,
                                     const char *records, size_t n, const REAL *c, int64_t *local)
{
    REAL k[3][MOST];
    double row[2 * MOST];
    for (size_t p = 0; p < n; p++) {
        uint32_t number;
        const size_t first = NAME(take)(k, dim, rows, records + p * RECORD, &number);
        const REAL re = c[2 * (size_t)number], im = c[2 * (size_t)number + 1];
        if (dim == 1) {
            for (unsigned x = 0; x < cells; x++) {
                row[2 * x] = (double)re * rows->unit * (double)k[0][x];
                row[2 * x + 1] = (double)im * rows->unit * (double)k[0][x];
            }
            NAME(put_shares)(local + 2 * first, row, 1, cells);
            continue;
        }
        for (unsigned y = 0; y < (dim == 3 ? rows->width : 1); y++) {
            for (unsigned x = 0; x < cells; x++) {
                const REAL xy = dim == 3 ? k[0][x] * k[1][y] : k[0][x];
                row[2 * x] = (double)(re * xy) * rows->unit;
                row[2 * x + 1] = (double)(im * xy) * rows->unit;
            }
            int64_t *to = local + 2 * (first + y * rows->pitch);
            for (unsigned z = 0; z < rows->width; z++, to += 2 * (dim == 3 ? rows->plane : rows->pitch))
                NAME(put_shares)(to, row, (double)k[dim - 1][z], cells);
        }
    }
}

/* --- Interpolation --- */

/* Columns first, along z in the order of y within it, then the columns' sums (same.cl). */
static INLINE void NAME(interp_wide)(const unsigned dim, const unsigned cells, const struct nufft_rows *rows,
                                     const char *records, size_t n, REAL *c, const REAL *local)
{
    REAL k[3][MOST], columns[2 * MOST];
    for (size_t p = 0; p < n; p++) {
        uint32_t number;
        const size_t first = NAME(take)(k, dim, rows, records + p * RECORD, &number);
        NAME(vec) sums[2 * MOST / LANES] = { { 0 } };
        for (unsigned z = 0; z < (dim > 1 ? rows->width : 1); z++)
            for (unsigned y = 0; y < (dim > 2 ? rows->width : 1); y++) {
                const REAL *from = local + 2 * (first + y * rows->pitch + z * (dim == 3 ? rows->plane : rows->pitch));
                const REAL weight = (dim > 1 ? k[dim - 1][z] : 1) * (dim > 2 ? k[1][y] : 1);
                UNROLL
                for (unsigned i = 0; i < 2 * cells / LANES; i++)
                    sums[i] += weight * *(const NAME(loose) *)(from + i * LANES);
            }
        memcpy(columns, sums, 2 * cells * sizeof(REAL));
        REAL re = 0, im = 0;
        for (unsigned x = 0; x < rows->width; x++) {
            re += k[0][x] * columns[2 * x];
            im += k[0][x] * columns[2 * x + 1];
        }
        c[2 * (size_t)number] = re;
        c[2 * (size_t)number + 1] = im;
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
#undef RECORD
#undef WIDE
#undef DIMENSIONS
