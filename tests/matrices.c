/* matrices.c - products of matrices against sums written down in the order of their format: the same bits on every
 * device, for any strides, types, slices and sizes; the adjoint; what is refused.
 *
 *     tests/matrices [DEVICE [few]]        few: one type for each text, where each means a compilation of seconds
 */
#include "cts.h"

#include <halcyon/eval.h>
#include <halcyon/operator.h>
#include <math.h>

static hcy_device *dev;
static hcy_queue *queue;

/* A matrix of each slice, and what it is multiplied with. */
struct product {
    int dtype;
    int64_t slices, rows, depth, columns;
};

static bool is_complex(int dtype)
{
    return dtype == HCY_COMPLEX64 || dtype == HCY_COMPLEX128;
}
static bool is_single(int dtype)
{
    return dtype == HCY_FLOAT32 || dtype == HCY_COMPLEX64;
}

/* --- Numbers --- */

/* Reals that are the type's own, up to 1 and of all magnitudes, so that each rounding shows; malloced. */
static double *make_reals(int dtype, int64_t n, unsigned seed)
{
    double *x = malloc((size_t)(n ? n : 1) * sizeof *x);
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    if (!x)
        bail_out("out of memory");
    for (int64_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = ldexp((double)(int64_t)state, (int)(state >> 11 & 7) - 70);
        if (is_single(dtype))
            x[i] = (float)x[i];
    }
    return x;
}

static hcy_array *array_of(int dtype, int64_t a, int64_t b, int64_t c, const double *x)
{
    const int64_t shape[3] = { a, b, c }, n = a * b * c * (is_complex(dtype) ? 2 : 1);
    hcy_array *array = NULL;
    float *single = malloc((size_t)(n ? n : 1) * sizeof *single);
    for (int64_t i = 0; i < n; i++)
        single[i] = (float)x[i];
    if (hcy_array_from_host(&array, dev, dtype, 3, shape, is_single(dtype) ? (const void *)single : x))
        bail_out("%s", hcy_last_error()->text);
    free(single);
    return array;
}

static double *reals_of(hcy_array *array, int dtype, int64_t n)
{
    double *x = malloc((size_t)(n ? n : 1) * sizeof *x);
    float *single = malloc((size_t)(n ? n : 1) * sizeof *single);
    if (hcy_array_to_host(is_single(dtype) ? (void *)single : x, queue, array))
        bail_out("%s", hcy_last_error()->text);
    for (int64_t i = 0; is_single(dtype) && i < n; i++)
        x[i] = single[i];
    free(single);
    return x;
}

/* --- The oracle --- */

static double rounded(int dtype, double x)
{
    return is_single(dtype) ? (float)x : x;
}

/* Element (row, column) of a slice's product, as matrix_format.h says; adjoint: of a^H, whose row is a's column. */
static void sum_element(double *to, const struct product *p, const double *a, const double *b, int64_t row,
                        int64_t column, bool adjoint)
{
    const int64_t depth = adjoint ? p->rows : p->depth;
    double re = 0, im = 0;
    for (int64_t k = 0; k < depth; k++) {
        const int64_t at = adjoint ? k * p->depth + row : row * p->depth + k;
        if (!is_complex(p->dtype)) {
            re = fma(a[at], b[k * p->columns + column], re);
            continue;
        }
        const double ar = a[2 * at], ai = adjoint ? -a[2 * at + 1] : a[2 * at + 1];
        const double *x = b + 2 * (k * p->columns + column);
        re = fma(-ai, x[1], fma(ar, x[0], re));
        im = fma(ar, x[1], fma(ai, x[0], im));
    }
    to[0] = rounded(p->dtype, re);
    if (is_complex(p->dtype))
        to[1] = rounded(p->dtype, im);
}

static int64_t count_wrong(const struct product *p, const double *got, const double *a, const double *b, bool adjoint)
{
    const int64_t parts = is_complex(p->dtype) ? 2 : 1, rows = adjoint ? p->depth : p->rows,
                  depth = adjoint ? p->rows : p->depth;
    int64_t wrong = 0;
    for (int64_t i = 0; i < p->slices * rows * p->columns; i++) {
        const int64_t slice = i / p->columns / rows;
        double want[2] = { 0, 0 };
        sum_element(want, p, a + slice * p->rows * p->depth * parts, b + slice * depth * p->columns * parts,
                    i / p->columns % rows, i % p->columns, adjoint);
        /* Of fewer than four columns the order is another. */
        for (int64_t part = 0; part < parts; part++) {
            const double far = fabs(want[part] - got[i * parts + part]);
            wrong += !(p->columns < 4 ? far <= (is_single(p->dtype) ? 1e-6 : 1e-14) * (double)depth : far == 0);
        }
    }
    return wrong;
}

/* --- Products --- */

/* How the matrix stands in memory: as it is, its transpose turned round, every other number of a larger one from the
 * end on, one for all slices. */
enum layout { AS_IT_IS, TURNED, EVERY_OTHER, LAYOUTS };

static hcy_array *lay_out(const struct product *p, const double *a, enum layout layout)
{
    hcy_array *plain = array_of(p->dtype, p->slices, p->rows, p->depth, a), *wide = NULL, *view = NULL, *to;
    const int64_t turned[3] = { p->slices, p->depth, p->rows },
                  larger[3] = { p->slices, 2 * p->rows, 3 * p->depth };
    int status;
    if (layout == AS_IT_IS)
        return plain;
    status = hcy_array_full(&wide, queue, p->dtype, 3, layout == TURNED ? turned : larger, 7);
    status = cts_first(status, layout == TURNED ? hcy_array_transpose(&view, wide, (int[]){ 0, 2, 1 })
                                                : hcy_array_slice(&view, wide, ":, ::-2, ::3"));
    to = view;
    if (cts_first(status, hcy_array_copy(queue, to, plain)))
        bail_out("%s", hcy_last_error()->text);
    hcy_array_release(plain);
    hcy_array_release(wide);
    return view;
}

static int64_t check_product(const struct product *p, enum layout layout)
{
    const int64_t parts = is_complex(p->dtype) ? 2 : 1;
    double *a = make_reals(p->dtype, p->slices * p->rows * p->depth * parts, 1);
    hcy_array *matrices = lay_out(p, a, layout);
    hcy_operator *op = NULL;
    int64_t wrong = 0;
    if (hcy_operator_matrices(&op, matrices, p->columns))
        bail_out("%s", hcy_last_error()->text);
    for (int adjoint = 0; adjoint < 2; adjoint++) {
        const int64_t from = adjoint ? p->rows : p->depth, to = adjoint ? p->depth : p->rows,
                      n = p->slices * to * p->columns * parts;
        double *b = make_reals(p->dtype, p->slices * from * p->columns * parts, 2);
        hcy_array *x = array_of(p->dtype, p->slices, from, p->columns, b), *y = NULL;
        int status = hcy_array_full(&y, queue, p->dtype, 3, (int64_t[]){ p->slices, to, p->columns }, 5);
        status = cts_first(status, (adjoint ? hcy_operator_apply_adjoint : hcy_operator_apply)(queue, y, op, x));
        if (status)
            bail_out("%s", hcy_last_error()->text);
        double *got = reals_of(y, p->dtype, n);
        wrong += count_wrong(p, got, a, b, adjoint);
        free(got);
        free(b);
        hcy_array_release(x);
        hcy_array_release(y);
    }
    hcy_operator_release(op);
    hcy_array_release(matrices);
    free(a);
    return wrong;
}

/* Slices, rows, depth, columns: below and above what tiles and blocks of any device hold. */
static const int64_t sizes[][4] = { { 1, 1, 1, 1 },   { 3, 4, 5, 2 },     { 2, 3, 1, 4 },     { 1, 13, 17, 9 },
                                    { 5, 7, 33, 4 },  { 1, 65, 40, 70 },  { 2, 97, 260, 24 }, { 1, 31, 515, 17 },
                                    { 1, 200, 7, 205 } };
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void test_products(int dtype, bool few)
{
    int64_t wrong = 0;
    for (int i = 0; i < SIZES; i++)
        for (enum layout layout = AS_IT_IS; layout < (few ? TURNED : LAYOUTS); layout++) {
            const struct product p = { dtype, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3] };
            const int64_t here = check_product(&p, layout);
            if (here)
                diag("%lld slices of %lld x %lld, %lld columns, layout %d: %lld wrong", (long long)p.slices,
                     (long long)p.rows, (long long)p.depth, (long long)p.columns, (int)layout, (long long)here);
            wrong += here;
        }
    is_int(wrong, 0, "%s: products and adjoints have the bits of their format", hcy_dtype_name(dtype));
}

/* What is not a number, or infinite, goes into its own row and column alone. */
static void test_infinite(void)
{
    const struct product p = { HCY_FLOAT32, 1, 37, 300, 19 };
    double *a = make_reals(p.dtype, p.rows * p.depth, 3), *b = make_reals(p.dtype, p.depth * p.columns, 4);
    int64_t strange = 0, wrong = 0;
    a[5 * p.depth + 299] = INFINITY;
    b[7 * p.columns + 18] = NAN;
    hcy_array *matrix = array_of(p.dtype, 1, p.rows, p.depth, a), *x = array_of(p.dtype, 1, p.depth, p.columns, b),
              *y = NULL;
    hcy_operator *op = NULL;
    int status = hcy_operator_matrices(&op, matrix, p.columns);
    status = cts_first(status, hcy_array_full(&y, queue, p.dtype, 3, (int64_t[]){ 1, p.rows, p.columns }, 5));
    st_ok(cts_first(status, hcy_operator_apply(queue, y, op, x)), "a product with numbers that are none");
    double *got = reals_of(y, p.dtype, p.rows * p.columns);
    for (int64_t i = 0; i < p.rows * p.columns; i++) {
        strange += !isfinite(got[i]);
        wrong += !isfinite(got[i]) != (i / p.columns == 5 || i % p.columns == 18);
    }
    ok(strange == p.rows + p.columns - 1 && !wrong, "their row and their column are none, and no other is");
    free(got);
    free(a);
    free(b);
    hcy_array_release(matrix);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_operator_release(op);
}

static void test_dots(void)
{
    static const int dtypes[] = { HCY_FLOAT64, HCY_COMPLEX128 };
    double far = 0;
    for (int i = 0; i < 2; i++) {
        double *a = make_reals(dtypes[i], 2 * 2 * 50 * 33, 6), mismatch = 1;
        hcy_array *matrices = array_of(dtypes[i], 2, 50, 33, a);
        hcy_operator *op = NULL;
        if (hcy_operator_matrices(&op, matrices, 11) || hcy_operator_dot_test(&mismatch, queue, op, 10, 3))
            diag("%s", hcy_last_error()->text);
        far = fmax(far, mismatch);
        free(a);
        hcy_array_release(matrices);
        hcy_operator_release(op);
    }
    ok(far < 1e-12, "the dot test: %g", far);
}

int main(int argc, char **argv)
{
    static const int dtypes[] = { HCY_FLOAT32, HCY_COMPLEX128, HCY_FLOAT64, HCY_COMPLEX64 };
    cts_begin(argc, argv);
    const bool few = argc > 2 && !strcmp(argv[2], "few");
    dev = cts_open();
    queue = cts_queue(dev);
    for (int i = 0; i < (few ? 2 : 4); i++)
        test_products(dtypes[i], few);
    test_infinite();
    test_dots();
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
