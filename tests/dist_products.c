/* Matrices over a grid of ranks, matrices dealt out by slices, filters that change: against one device, or sums that
 * the host makes. */
#include "dist_scene.h"

#include <halcyon/operator.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number of two matrices, of a row and a column. */
static double entry(int which, int64_t row, int64_t column)
{
    return sin(1.0 + 3 * which + 0.7 * (double)row + 1.9 * (double)column * (double)(row + 1));
}

static int64_t share(int i, int parts, int64_t n)
{
    return n / parts * i + (i < n % parts ? i : n % parts);
}

/* Rows and columns of a block of matrix `which`; values of its own where it is given. */
static hcy_array *block(int rank, const int64_t *shape, const double *values)
{
    hcy_array *a = NULL;
    if (hcy_array_from_host(&a, scene.dev, HCY_FLOAT64, rank, shape, values))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return a;
}

/* --- SUMMA --- */

enum { N = 7, K = 9, M = 5 };

/* A's rows are uneven, and where there are several the first of the grid has none. */
static int64_t a_row(int i, int rows)
{
    return rows == 1 ? i * N : share(i ? i - 1 : 0, rows - 1, N);
}

static void test_grid(int rows)
{
    static _Thread_local double values[K * (N + K + M)], y[N * M];
    const int columns = scene.n_ranks / rows, i = scene.rank / columns, j = scene.rank % columns;
    const int64_t n = a_row(i + 1, rows) - a_row(i, rows), k = share(j + 1, columns, K) - share(j, columns, K),
                  own_k = share(i + 1, rows, K) - share(i, rows, K),
                  m = share(j + 1, columns, M) - share(j, columns, M), x_count = own_k * m, y_count = n * m;
    hcy_operator *op = NULL;
    hcy_dist_layout *range = NULL, *domain = NULL;
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < k; c++)
            values[r * k + c] = entry(0, a_row(i, rows) + r, share(j, columns, K) + c);
    hcy_array *a = block(2, (int64_t[]){ n, k }, values);
    for (int64_t r = 0; r < own_k; r++)
        for (int64_t c = 0; c < m; c++)
            values[r * m + c] = entry(1, share(i, rows, K) + r, share(j, columns, M) + c);
    hcy_array *x = block(1, &x_count, values), *got = block(1, &y_count, values);
    bool right = !hcy_dist_matrix(&op, &range, &domain, scene.comm, a, M, rows) &&
                 !hcy_operator_apply(scene.queue, got, op, x) && !hcy_array_to_host(y, scene.queue, got);
    double far = right ? 0 : 1e300;
    for (int64_t r = 0; right && r < n; r++)
        for (int64_t c = 0; c < m; c++) {
            double sum = 0;
            for (int64_t l = 0; l < K; l++)
                sum += entry(0, a_row(i, rows) + r, l) * entry(1, l, share(j, columns, M) + c);
            far = fmax(far, fabs(sum - y[r * m + c]));
        }
    every(far < 1e-13, "a matrix over %d x %d ranks times another one", rows, columns);
    every(mismatch_of(op) < 1e-13, "... and its adjoint");
    hcy_operator_release(op);
    hcy_dist_layout_release(range);
    hcy_dist_layout_release(domain);
    hcy_array_release(a);
    hcy_array_release(x);
    hcy_array_release(got);
}

static void test_no_grid(void)
{
    const double ones[6] = { 1, 1, 1, 1, 1, 1 };
    hcy_array *a = block(2, (int64_t[]){ 2 + (scene.rank > 0), 2 }, ones);
    hcy_operator *op = NULL;
    hcy_dist_layout *range = NULL, *domain = NULL;
    every(hcy_dist_matrix(&op, &range, &domain, scene.comm, a, 2, scene.n_ranks + 1) == HCY_EINVAL && !op && !range,
          "no such grid of ranks");
    every(scene.n_ranks == 1 || hcy_dist_matrix(&op, &range, &domain, scene.comm, a, 2, 1) == HCY_EINVAL,
          "blocks that make no matrix");
    hcy_array_release(a);
    a = block(2, (int64_t[]){ INT64_C(1) << 40, 0 }, ones);
    every(hcy_dist_matrix(&op, &range, &domain, scene.comm, a, INT32_MAX, 1) == HCY_ERANGE && !op && !range && !domain,
          "a product whose numbers cannot be counted");
    hcy_array_release(a);
}

/* --- Matrices by slices --- */

/* How far sums that the host makes are from y[s] = a[s] x[s]. */
static double off_host(hcy_array *a, hcy_array *x, hcy_array *y)
{
    double matrices[6 * 4 * 3], in[6 * 3 * 2], out[6 * 4 * 2], far = 0;
    if (hcy_array_to_host(matrices, scene.queue, a) || hcy_array_to_host(in, scene.queue, x) ||
        hcy_array_to_host(out, scene.queue, y))
        return 1e300;
    for (int i = 0; i < 6 * 4 * 2; i++) {
        const int s = i / 8, row = i / 2 % 4, column = i % 2;
        double sum = 0;
        for (int k = 0; k < 3; k++)
            sum += matrices[(s * 4 + row) * 3 + k] * in[(s * 3 + k) * 2 + column];
        far = fmax(far, fabs(sum - out[i]));
    }
    return far;
}

static void test_slices(int dtype)
{
    const int64_t slices = 6, all[3] = { 6, 4, 3 }, from[3] = { 6, 3, 2 }, to[3] = { 6, 4, 2 };
    const char *text = dtype == HCY_COMPLEX128 ? "a = complex(normal(1, index), normal(2, index))"
                                               : "a = normal(1, index)";
    hcy_dist_layout *cuts[3] = { NULL, NULL, NULL };
    const int64_t *const shapes[3] = { all, from, to };
    hcy_array *whole[3] = { NULL, NULL, NULL }, *part[3] = { NULL, NULL, NULL }, *got = NULL, *number = NULL;
    hcy_operator *own = NULL, *op = NULL, *serial = NULL;
    int64_t rows[64] = { 0 };
    double far = 1e300;
    for (int r = 1; r < scene.n_ranks; r++)
        rows[r] = share(r, scene.n_ranks - 1, slices) - share(r - 1, scene.n_ranks - 1, slices);
    rows[0] += scene.n_ranks == 1 ? slices : 0;
    bool right = true;
    for (int i = 0; right && i < 3; i++)
        right = !hcy_dist_layout_blocks(&cuts[i], scene.comm, 3, shapes[i], 0, rows) &&
                !hcy_array_empty(&whole[i], scene.dev, dtype, 3, shapes[i]) &&
                !hcy_dist_array(&part[i], scene.dev, cuts[i], dtype) &&
                !HCY_EVAL(scene.queue, text, hcy_op_array("a", whole[i])) &&
                !hcy_dist_scatter(scene.queue, part[i], cuts[i], whole[i], 0);
    right = right && !hcy_operator_matrices(&own, part[0], 2) && !hcy_operator_matrices(&serial, whole[0], 2) &&
            !hcy_dist_operator(&op, cuts[2], cuts[1], own) && !hcy_operator_apply(scene.queue, part[2], op, part[1]) &&
            !hcy_operator_apply(scene.queue, whole[2], serial, whole[1]) &&
            !hcy_array_empty(&got, scene.dev, dtype, 3, to) &&
            !hcy_array_empty(&number, scene.dev, HCY_FLOAT64, 0, NULL) &&
            !hcy_dist_gather(scene.queue, got, cuts[2], part[2], -1) &&
            !HCY_EVAL(scene.queue, "n = max(abs(a - b))", hcy_op_array("n", number), hcy_op_array("a", got),
                      hcy_op_array("b", whole[2])) &&
            !hcy_array_to_host(&far, scene.queue, number);
    every(right && far == 0, "%s: a matrix for each slice, slices over ranks", hcy_dtype_name(dtype));
    every(dtype != HCY_FLOAT64 || (right && off_host(whole[0], whole[1], whole[2]) < 1e-14), "... as the host has it");
    every(mismatch_of(op) < 1e-13, "... and its adjoint");
    for (int i = 0; i < 3; i++) {
        hcy_array_release(whole[i]);
        hcy_array_release(part[i]);
        hcy_dist_layout_release(cuts[i]);
    }
    hcy_array_release(got);
    hcy_array_release(number);
    hcy_operator_release(own);
    hcy_operator_release(op);
    hcy_operator_release(serial);
}

/* --- Convolutions --- */

enum { LONG = 23, WIDE = 3, TAPS = 7, FILTERS = 3 };
static _Thread_local double taps[FILTERS * TAPS];

/* Filters stand at 4, 10 and 16. */
static double tap_of(int64_t row, int k)
{
    const int64_t at = row < 4 ? 4 : row > 16 ? 16 : row;
    const int before = at >= 10 ? 1 : 0;
    const double part = (double)(at - 4 - 6 * before) / 6;
    return (1 - part) * taps[before * TAPS + k] + part * taps[(before + 1) * TAPS + k];
}

static double convolved(int64_t row, int64_t column)
{
    double sum = 0;
    for (int64_t i = 0; i < LONG; i++)
        for (int k = 0; k < TAPS; k++)
            sum += i + k - TAPS / 2 == row ? tap_of(i, k) * entry(1, i, column) : 0;
    return sum;
}

/* The convolution along axis 0 of [LONG][WIDE], in blocks along an axis, or replicated; ghosts come from several
 * ranks. */
static void test_convolution(int blocks)
{
    static _Thread_local double values[LONG * WIDE];
    const int64_t shape[2] = { LONG, WIDE };
    hcy_filters filters = HCY_FILTERS_INIT;
    hcy_dist_layout *layout = NULL;
    hcy_operator *op = NULL;
    hcy_array *part = NULL, *y = NULL, *got = NULL;
    for (int i = 0; i < FILTERS * TAPS; i++)
        taps[i] = cos(1.3 * i * i);
    for (int i = 0; i < LONG * WIDE; i++)
        values[i] = entry(1, i / WIDE, i % WIDE);
    filters.taps = taps;
    filters.n = FILTERS;
    filters.length = TAPS;
    filters.first = 4;
    filters.step = 6;
    int64_t rows[64] = { 1, 0, 2 };
    rows[scene.n_ranks - 1] = shape[blocks > 0] - (scene.n_ranks > 1) - 2 * (scene.n_ranks > 3);
    hcy_array *whole = block(2, shape, values);
    bool right = !(blocks < 0 ? hcy_dist_layout_replicated(&layout, scene.comm, 2, shape)
                              : hcy_dist_layout_blocks(&layout, scene.comm, 2, shape, blocks,
                                                       blocks ? NULL : rows)) &&
                 !hcy_dist_convolve(&op, scene.dev, layout, HCY_FLOAT64, 0, &filters) &&
                 !hcy_dist_array(&part, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_array(&y, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_scatter(scene.queue, part, layout, whole, 0) &&
                 !hcy_operator_apply(scene.queue, y, op, part) &&
                 !hcy_array_empty(&got, scene.dev, HCY_FLOAT64, 2, shape) &&
                 !hcy_dist_gather(scene.queue, got, layout, y, -1) && !hcy_array_to_host(values, scene.queue, got);
    double far = right ? 0 : 1e300;
    for (int i = 0; right && i < LONG * WIDE; i++)
        far = fmax(far, fabs(values[i] - convolved(i / WIDE, i % WIDE)));
    every(far < 1e-13, "filters that change, blocks along %d", blocks);
    every(mismatch_of(op) < 1e-13, "... and its adjoint");
    filters.length = TAPS - 1;
    hcy_operator *none = NULL;
    every(hcy_dist_convolve(&none, scene.dev, layout, HCY_FLOAT64, 0, &filters) == HCY_EINVAL && !none,
          "filters without a middle");
    hcy_operator_release(op);
    hcy_array_release(whole);
    hcy_array_release(part);
    hcy_array_release(y);
    hcy_array_release(got);
    hcy_dist_layout_release(layout);
}

/* Filters along the first of as many axes as an array has. */
static void test_many_axes(void)
{
    const int64_t shape[HCY_ARRAY_MAX_RANK] = { 9, 1, 2, 1, 1, 1, 1, 1 };
    hcy_filters filters = HCY_FILTERS_INIT;
    hcy_dist_layout *layout = NULL;
    hcy_operator *op = NULL;
    filters.taps = (const double[]){ 1, 2, 3 };
    filters.n = 1;
    filters.length = 3;
    every(!hcy_dist_layout_blocks(&layout, scene.comm, HCY_ARRAY_MAX_RANK, shape, 0, NULL) &&
              !hcy_dist_convolve(&op, scene.dev, layout, HCY_FLOAT64, 0, &filters) && mismatch_of_few(op) < 1e-13,
          "filters of arrays of %d axes", HCY_ARRAY_MAX_RANK);
    hcy_operator_release(op);
    hcy_dist_layout_release(layout);
}

void test_matrices(void)
{
    for (int rows = 1; rows <= scene.n_ranks; rows++)
        if (scene.n_ranks % rows == 0)
            test_grid(rows);
    test_no_grid();
    test_slices(HCY_FLOAT64);
    test_slices(HCY_COMPLEX128);
    test_convolution(0);
    test_convolution(1);
    test_convolution(-1);
    test_many_axes();
}
