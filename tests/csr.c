/* csr.c - sparse matrices by their rows: products against sums written down, the adjoint, the same bits on every
 * device, what is refused.
 */
#include "cts.h"

#include <halcyon/operator.h>
#include <math.h>

static hcy_device *dev;
static hcy_queue *queue;

enum { ROWS = 700, COLUMNS = 411, LONGEST = 2500, MOST = 40000 };

static int64_t starts[ROWS + 1], columns[MOST];
static double values[2 * MOST];
static uint64_t seed = 5;

static double uniform(void)
{
    return (double)(cts_random(&seed) >> 11) * 0x1p-52 - 1;
}

/* Empty rows, a row with many elements, some in one place. */
static void make_matrix(void)
{
    int64_t n = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t length = i % 7 == 3 ? 0 : i == 300 ? LONGEST : (int64_t)(cts_random(&seed) >> 32) % (i % 5 ? 9 : 70);
        starts[i] = n;
        for (; length > 0; length--, n++) {
            columns[n] = (int64_t)(cts_random(&seed) >> 33) % (COLUMNS - 1); /* the last one is empty */
            values[2 * n] = uniform();
            values[2 * n + 1] = uniform();
        }
    }
    starts[ROWS] = n;
}

static bool is_complex(int dtype)
{
    return dtype == HCY_COMPLEX64 || dtype == HCY_COMPLEX128;
}
static bool is_single(int dtype)
{
    return dtype == HCY_FLOAT32 || dtype == HCY_COMPLEX64;
}

/* Pairs of doubles as numbers of a type, in memory of this function's; they are rounded to what they become. */
static const void *numbers_of(int dtype, double *pairs, int64_t n)
{
    static double room[2 * MOST];
    const int64_t parts = is_complex(dtype) ? 2 : 1;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < 2; k++) {
            double *x = &pairs[2 * i + k];
            *x = k >= parts ? 0 : is_single(dtype) ? (double)(float)*x : *x;
        }
        for (int64_t k = 0; k < parts; k++)
            if (is_single(dtype))
                ((float *)room)[parts * i + k] = (float)pairs[2 * i + k];
            else
                room[parts * i + k] = pairs[2 * i + k];
    }
    return room;
}

static void read_pairs(double *pairs, hcy_array *array, int dtype, int64_t n)
{
    static double room[2 * ROWS];
    const int64_t parts = is_complex(dtype) ? 2 : 1;
    if (hcy_array_to_host(room, queue, array))
        bail_out("%s", hcy_last_error()->text);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < 2; k++)
            pairs[2 * i + k] = k >= parts ? 0 : is_single(dtype) ? ((float *)room)[parts * i + k] : room[parts * i + k];
}

/* y = A x, or A^H x, one element after the other; `size`: of what is added up. */
static void multiply(double *y, double *size, const double *x, bool adjoint)
{
    memset(y, 0, sizeof *y * 2 * (adjoint ? COLUMNS : ROWS));
    memset(size, 0, sizeof *size * (adjoint ? COLUMNS : ROWS));
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t i = starts[row]; i < starts[row + 1]; i++) {
            const int64_t to = adjoint ? columns[i] : row, from = adjoint ? row : columns[i];
            const double re = values[2 * i], im = adjoint ? -values[2 * i + 1] : values[2 * i + 1];
            y[2 * to] += re * x[2 * from] - im * x[2 * from + 1];
            y[2 * to + 1] += re * x[2 * from + 1] + im * x[2 * from];
            size[to] += hypot(re, im) * hypot(x[2 * from], x[2 * from + 1]);
        }
}

static uint64_t hash_in(uint64_t h, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        h = (h ^ bytes[i]) * 1099511628211u;
    return h;
}

/* The largest error of a product, in units of the type's rounding of what is added up; its bits go into `hash`. */
static double check_product(uint64_t *hash, hcy_operator *op, int dtype, bool adjoint)
{
    static double x[2 * ROWS], want[2 * ROWS], size[ROWS], got[2 * ROWS];
    const int64_t n_x = adjoint ? ROWS : COLUMNS, n_y = adjoint ? COLUMNS : ROWS;
    const double unit = is_single(dtype) ? 0x1p-24 : 0x1p-53;
    hcy_array *a = NULL, *b = NULL;
    double worst = 0;
    for (int64_t i = 0; i < 2 * n_x; i++)
        x[i] = uniform();
    int status = hcy_array_from_host(&a, dev, dtype, 1, &n_x, numbers_of(dtype, x, n_x));
    if (!status)
        status = hcy_array_empty(&b, dev, dtype, 1, &n_y);
    if (!status)
        status = adjoint ? hcy_operator_apply_adjoint(queue, b, op, a) : hcy_operator_apply(queue, b, op, a);
    if (status)
        bail_out("%s", hcy_last_error()->text);
    read_pairs(got, b, dtype, n_y);
    *hash = hash_in(*hash, got, sizeof *got * 2 * (size_t)n_y);
    multiply(want, size, x, adjoint);
    for (int64_t i = 0; i < n_y; i++) {
        const double error = hypot(got[2 * i] - want[2 * i], got[2 * i + 1] - want[2 * i + 1]);
        worst = fmax(worst, size[i] > 0 ? error / size[i] / unit : error > 0 ? HUGE_VAL : 0);
    }
    hcy_array_release(a);
    hcy_array_release(b);
    return worst;
}

static void test_products(int dtype, uint64_t bits)
{
    uint64_t hash = 14695981039346656037u;
    const int64_t shape[2] = { ROWS, COLUMNS };
    hcy_operator *op = NULL;
    double mismatch = 1;
    seed = 5;
    make_matrix();
    st_ok(hcy_operator_sparse(&op, dev, dtype, shape, starts, columns, numbers_of(dtype, values, starts[ROWS])),
          "a sparse matrix of %s", hcy_dtype_name(dtype));
    for (int adjoint = 0; adjoint < 2; adjoint++) {
        const double worst = check_product(&hash, op, dtype, adjoint);
        /* Singles are multiplied in single; doubles are added up in the oracle one after the other. */
        ok(worst < (is_single(dtype) ? 4 : 12), "%s is right to %.2f units of rounding", adjoint ? "A^H x" : "A x", worst);
    }
    ok(hash == bits, "have the bits that they have everywhere: 0x%" PRIx64, hash);
    st_ok(hcy_operator_dot_test(&mismatch, queue, op, 3, 1), "the dot test");
    ok(mismatch < (is_single(dtype) ? 1e-6 : 1e-14), "passes: %g", mismatch);
    hcy_operator_release(op);
}

/* One row, one column, nothing at all; numbers that are none stay where they are used. */
static void test_ends(void)
{
    const int64_t shape[2] = { 3, 2 }, none[4] = { 0, 0, 0, 0 }, one[4] = { 0, 0, 2, 2 }, of_one[2] = { 0, 0 },
                  n[2] = { 2, 3 };
    const double twice[2] = { 2, 3 }, x[2] = { 4, NAN };
    double got[3] = { 7, 7, 7 };
    for (int k = 0; k < 2; k++) {
        hcy_operator *op = NULL;
        hcy_array *a = NULL, *b = NULL;
        int status = hcy_operator_sparse(&op, dev, HCY_FLOAT64, shape, k ? one : none, k ? of_one : NULL,
                                         k ? twice : NULL);
        status = cts_first(status, hcy_array_from_host(&a, dev, HCY_FLOAT64, 1, &n[0], x));
        status = cts_first(status, hcy_array_from_host(&b, dev, HCY_FLOAT64, 1, &n[1], got));
        if (!status)
            status = hcy_operator_apply(queue, b, op, a);
        if (!status)
            status = hcy_array_to_host(got, queue, b);
        st_ok(status, k ? "two elements in one place" : "no elements");
        ok(got[0] == 0 && got[1] == (k ? 20 : 0) && got[2] == 0, "are %g, %g, %g", got[0], got[1], got[2]);
        hcy_operator_release(op);
        hcy_array_release(a);
        hcy_array_release(b);
    }
}

static void test_refused(void)
{
    const int64_t shape[2] = { 2, 2 }, wrong[2] = { 2, 0 }, good[3] = { 0, 1, 2 }, late[3] = { 1, 1, 2 },
                  back[3] = { 0, 2, 1 }, at[2] = { 0, 1 }, outside[2] = { 0, 2 }, below[2] = { -1, 0 };
    const float x[2] = { 1, 2 };
    hcy_operator *op = NULL;
    st_says(hcy_operator_sparse(&op, dev, HCY_INT32, shape, good, at, x), HCY_EINVAL, "int32", "integers");
    st_says(hcy_operator_sparse(&op, dev, HCY_FLOAT32, wrong, good, at, x), HCY_EINVAL, "0 columns", "no columns");
    st_says(hcy_operator_sparse(&op, dev, HCY_FLOAT32, shape, late, at, x), HCY_EINVAL, "begins", "a late beginning");
    st_says(hcy_operator_sparse(&op, dev, HCY_FLOAT32, shape, back, at, x), HCY_EINVAL, "row 1 ends", "a row back");
    st_says(hcy_operator_sparse(&op, dev, HCY_FLOAT32, shape, good, outside, x), HCY_EINVAL, "column 2 of 2", "outside");
    st_says(hcy_operator_sparse(&op, dev, HCY_FLOAT32, shape, good, below, x), HCY_EINVAL, "column -1", "below 0");
    st_says(hcy_operator_sparse(&op, dev, HCY_FLOAT32, shape, good, NULL, x), HCY_EINVAL, "no columns", "no numbers");
    st_says(hcy_operator_sparse(&op, dev, HCY_FLOAT32, shape, good, at, NULL), HCY_EINVAL, "no values", "no values");
    ok(!op, "no operator comes of any of these");
}

int main(int argc, char **argv)
{
    static const struct {
        int dtype;
        uint64_t bits; /* FNV's hash of the products' */
    } types[] = { { HCY_FLOAT32, 0xd766dcf35f0ec801u },
                { HCY_COMPLEX128, 0x962e5e04a663642du },
                { HCY_FLOAT64, 0xb3ec06b020ab8670u },
                { HCY_COMPLEX64, 0x3de64d4e6392fa28u } };
    cts_begin(argc, argv);
    const bool few = argc > 2 && !strcmp(argv[2], "few");
    dev = cts_open();
    queue = cts_queue(dev);
    for (int i = 0; i < (few ? 2 : 4); i++)
        test_products(types[i].dtype, types[i].bits);
    test_ends();
    test_refused();
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
