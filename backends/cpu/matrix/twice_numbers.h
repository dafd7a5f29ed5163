/* twice_numbers.h - what matrix_twice does with numbers of type REAL; NAME(x) is the functions' name.  A product is
 * rounded to REAL before it is added, so that the bits are those of an expression (matrix_format.h). */

/* The sum of up to HCY_EVAL_PIECE products: lanes, then halves of lanes. */
static double NAME(piece)(const REAL *restrict a, const REAL *restrict p, size_t n)
{
    enum { LANES_OF_SUM = HCY_EVAL_LANES };
    double sums[LANES_OF_SUM];
    const size_t lanes = n < LANES_OF_SUM ? n : LANES_OF_SUM;
    size_t k = LANES_OF_SUM;
    for (size_t l = 0; l < lanes; l++)
        sums[l] = (REAL)(a[l] * p[l]);
    for (; k + LANES_OF_SUM <= n; k += LANES_OF_SUM)
        for (size_t l = 0; l < LANES_OF_SUM; l++)
            sums[l] += (REAL)(a[k + l] * p[k + l]);
    for (size_t l = 0; k + l < n; l++)
        sums[l] += (REAL)(a[k + l] * p[k + l]);
    /* Halves of all lanes have lengths that the compiler knows. */
    if (lanes == LANES_OF_SUM) {
        UNROLL
        for (size_t half = LANES_OF_SUM / 2; half; half /= 2)
            for (size_t l = 0; l < half; l++)
                sums[l] += sums[l + half];
        return sums[0];
    }
    for (size_t half = LANES_OF_SUM / 2; half; half /= 2)
        for (size_t l = 0; l < half && l + half < lanes; l++)
            sums[l] += sums[l + half];
    return sums[0];
}

static void NAME(dot)(void *q, const void *a, const void *p, size_t n)
{
    enum { MOST = HCY_MATRIX_TWICE_BYTES / (int)sizeof(REAL) / (int)HCY_EVAL_PIECE };
    double pieces[MOST];
    size_t count = 0;
    for (size_t k = 0; k < n; k += HCY_EVAL_PIECE)
        pieces[count++] = NAME(piece)((const REAL *)a + k, (const REAL *)p + k,
                                      n - k < HCY_EVAL_PIECE ? n - k : HCY_EVAL_PIECE);
    /* There are fewer of them than lanes. */
    for (size_t half = MOST / 2; half; half /= 2)
        for (size_t l = 0; l < half && l + half < count; l++)
            pieces[l] += pieces[l + half];
    *(REAL *)q = pieces[0] == pieces[0] ? (REAL)pieces[0] : (REAL)NAN;
}

static inline __attribute__((always_inline)) void NAME(spread_rows)(double *restrict g, double *restrict s,
                                                                    const void *const *rows, size_t n,
                                                                    const REAL *m, const REAL *q, size_t apart,
                                                                    REAL by, size_t columns)
{
    const REAL *r[CPU_TWICE_ROWS];
    REAL by_m[CPU_TWICE_ROWS], by_q[CPU_TWICE_ROWS];
    UNROLL
    for (size_t i = 0; i < n; i++) {
        r[i] = rows[i];
        by_m[i] = m[i * apart];
        by_q[i] = by * q[i * apart];
    }
    for (size_t j = 0; j < columns; j++) {
        double of_m = (REAL)(r[0][j] * by_m[0]), of_q = (REAL)(r[0][j] * by_q[0]);
        UNROLL
        for (size_t i = 1; i < n; i++) {
            of_m += (REAL)(r[i][j] * by_m[i]);
            of_q += (REAL)(r[i][j] * by_q[i]);
        }
        g[j] = of_m;
        s[j] = of_q;
    }
}

/* A loop for each number of rows, whose pointers and factors then stay in registers. */
static void NAME(spread)(double *g, double *s, const void *const *rows, size_t n, const void *m, const void *q,
                         size_t apart, double by, size_t columns)
{
#define ROWS_OF(n)                                                      \
    case n:                                                             \
        NAME(spread_rows)(g, s, rows, (n), m, q, apart, (REAL)by, columns);       \
        break;
    switch (n) {
        ROWS_OF(1) ROWS_OF(2) ROWS_OF(3) ROWS_OF(4) ROWS_OF(5) ROWS_OF(6) ROWS_OF(7) ROWS_OF(8)
    default:
        break;
    }
#undef ROWS_OF
}

static void NAME(store)(void *to, const double *from, size_t n)
{
    for (size_t j = 0; j < n; j++)
        ((REAL *)to)[j] = from[j] == from[j] ? (REAL)from[j] : (REAL)NAN;
}
