/* matrices.c - products of matrices against sums written down in the order of their format: the same bits on every
 * device, for any strides, types, slices and sizes; the adjoint; what is refused.
 *
 *     tests/matrices [DEVICE [few]]        few: one type for each text, where each means a compilation of seconds
 */
#include "cts.h"

#include "arguments.h"
#include "matrix_format.h"

#include <halcyon/eval.h>
#include <halcyon/operator.h>
#include <halcyon/solve.h>
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

static int launch_sum(hcy_kernel *kernel, const hcy_matrix_job *job, hcy_array *const operands[3])
{
    static const size_t at[3] = { HCY_ARG_AT(matrix, a), HCY_ARG_AT(matrix, b), HCY_ARG_AT(matrix, c) };
    hcy_arg args[HCY_N_ARGS(matrix)];
    hcy_buffer *scratch = NULL;
    size_t bytes = 0;
    for (int i = 0; i < 3; i++) {
        hcy_array_info info = HCY_ARRAY_INFO_INIT;
        if (hcy_array_get_info(&info, operands[i]))
            bail_out("%s", hcy_last_error()->text);
        args[at[i]] = hcy_arg_buf(info.buffer);
    }
    args[HCY_ARG_AT(matrix, job)] = hcy_arg_struct(job, sizeof *job);
    args[HCY_ARG_AT(matrix, scratch)] = hcy_arg_buf(NULL);
    int status = hcy_kernel_scratch_size(&bytes, kernel, 1, args, HCY_N_ARGS(matrix));
    if (!status && bytes)
        status = hcy_buffer_create(&scratch, dev, HCY_MEM_DEVICE, bytes);
    args[HCY_ARG_AT(matrix, scratch)] = hcy_arg_buf(scratch);
    if (!status)
        status = hcy_launch(queue, kernel, 1, args, HCY_N_ARGS(matrix));
    hcy_buffer_release(scratch);
    return status;
}

/* A sum that begins with -0, to which products of -0 are added, is -0: of complex numbers the real part. */
static void test_negative_zeros(int dtype)
{
    enum { ROWS = 5, DEPTH = 3, COLUMNS = 6 };
    const uint32_t parts = is_complex(dtype) ? 2 : 1;
    const hcy_matrix_job job = { .bytes = (uint32_t)hcy_dtype_size(dtype) / parts, .parts = parts,
                                 .flags = HCY_MATRIX_ADDS, .slices = 1, .rows = ROWS, .depth = DEPTH,
                                 .columns = COLUMNS, .a_steps = { 0, DEPTH, 1 }, .b_steps = { 0, COLUMNS, 1 },
                                 .c_steps = { 0, COLUMNS, 1 } };
    double ones[2 * ROWS * DEPTH], zeros[2 * ROWS * COLUMNS];
    hcy_kernel *kernel = NULL;
    int64_t other = 0;
    for (int i = 0; i < 2 * ROWS * DEPTH; i++)
        ones[i] = 1;
    for (int i = 0; i < 2 * ROWS * COLUMNS; i++)
        zeros[i] = parts == 2 && i % 2 ? 0.0 : -0.0;
    hcy_array *const operands[3] = { array_of(dtype, 1, ROWS, DEPTH, ones), array_of(dtype, 1, DEPTH, COLUMNS, zeros),
                                     array_of(dtype, 1, ROWS, COLUMNS, zeros) };
    int status = hcy_kernel_get(&kernel, dev, "matrix");
    if (cts_first(status, status ? 0 : launch_sum(kernel, &job, operands)))
        bail_out("%s", hcy_last_error()->text);
    double *got = reals_of(operands[2], dtype, ROWS * COLUMNS * parts);
    for (uint32_t i = 0; i < ROWS * COLUMNS * parts; i += parts)
        other += got[i] != 0 || !signbit(got[i]);
    is_int(other, 0, "%s: sums of -0 alone are -0", hcy_dtype_name(dtype));
    free(got);
    hcy_kernel_release(kernel);
    for (int i = 0; i < 3; i++)
        hcy_array_release(operands[i]);
}

/* --- A matrix and its transpose in one go --- */

/* CGLS of an operator that is the user's, which goes the long way. */
static int apply_inner(hcy_queue *q, hcy_array *y, void *user, hcy_array *x)
{
    return hcy_operator_apply(q, y, user, x);
}
static int apply_inner_adjoint(hcy_queue *q, hcy_array *x, void *user, hcy_array *y)
{
    return hcy_operator_apply_adjoint(q, x, user, y);
}

static hcy_operator *hide(hcy_operator *op)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_operator *hidden = NULL;
    if (hcy_operator_get_info(&info, op))
        bail_out("%s", hcy_last_error()->text);
    desc.domain = info.domain;
    desc.range = info.range;
    desc.apply = apply_inner;
    desc.adjoint = apply_inner_adjoint;
    desc.user = op;
    if (hcy_operator_create(&hidden, dev, &desc))
        bail_out("%s", hcy_last_error()->text);
    return hidden;
}

/* What is launched: a vector each of q, g and s, whose bits are compared with those of expressions. */
struct twice {
    int dtype;
    int64_t rows, columns;
    hcy_array *a, *p, *m, *q, *g, *s, *by;
};

static hcy_array *vector_of(const struct twice *t, int64_t n, unsigned seed, bool is_strange)
{
    double *x = make_reals(t->dtype, n, seed);
    for (int64_t i = 0; is_strange && i < n; i += 41)
        x[i] = (const double[]){ -0.0, INFINITY, NAN, 1e-40, -INFINITY }[i / 41 % 5];
    hcy_array *array = array_of(t->dtype, 1, 1, n, x), *flat = NULL;
    if (hcy_array_reshape(&flat, array, 1, &n))
        bail_out("%s", hcy_last_error()->text);
    hcy_array_release(array);
    free(x);
    return flat;
}

/* Rows of a wider array, so that there are gaps between them; the first column is not the array's. */
static void make_twice(struct twice *t, bool is_strange)
{
    hcy_array *wide = vector_of(t, t->rows * (t->columns + 3), 5, is_strange), *rows = NULL;
    const int64_t shape[2] = { t->rows, t->columns + 3 };
    if (hcy_array_reshape(&rows, wide, 2, shape) || hcy_array_slice(&t->a, rows, ":, 2:-1"))
        bail_out("%s", hcy_last_error()->text);
    t->p = vector_of(t, t->columns, 6, false);
    t->m = vector_of(t, t->rows, 7, false);
    t->q = vector_of(t, t->rows, 8, false);
    t->g = vector_of(t, t->columns, 9, false);
    t->s = vector_of(t, t->columns, 10, false);
    if (hcy_array_full(&t->by, queue, HCY_FLOAT64, 1, (int64_t[]){ 1 }, 0.3))
        bail_out("%s", hcy_last_error()->text);
    hcy_array_release(rows);
    hcy_array_release(wide);
}

static void free_twice(struct twice *t)
{
    hcy_array *const all[] = { t->a, t->p, t->m, t->q, t->g, t->s, t->by };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        hcy_array_release(all[i]);
}

static int launch_twice(hcy_queue *to, hcy_kernel *kernel, const struct twice *t, uint64_t rows)
{
    hcy_matrix_twice_job job;
    hcy_arg args[HCY_N_ARGS(matrix_twice)];
    hcy_buffer *scratch = NULL;
    const struct {
        size_t at;
        hcy_array *array;
        int64_t *place;
    } operands[] = { { HCY_ARG_AT(matrix_twice, a), t->a, &job.a }, { HCY_ARG_AT(matrix_twice, p), t->p, &job.p },
                     { HCY_ARG_AT(matrix_twice, m), t->m, &job.m }, { HCY_ARG_AT(matrix_twice, q), t->q, &job.q },
                     { HCY_ARG_AT(matrix_twice, g), t->g, &job.g }, { HCY_ARG_AT(matrix_twice, s), t->s, &job.s },
                     { HCY_ARG_AT(matrix_twice, by), t->by, &job.by } };
    size_t bytes = 0;
    memset(&job, 0, sizeof job);
    job.bytes = t->dtype == HCY_FLOAT32 ? 4 : 8;
    job.rows = rows;
    job.columns = (uint64_t)t->columns;
    job.step = t->columns + 3;
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
        hcy_array_info info = HCY_ARRAY_INFO_INIT;
        int status = hcy_array_get_info(&info, operands[i].array);
        if (status)
            return status;
        *operands[i].place = info.offset;
        args[operands[i].at] = hcy_arg_buf(info.buffer);
    }
    args[HCY_ARG_AT(matrix_twice, job)] = hcy_arg_struct(&job, sizeof job);
    args[HCY_ARG_AT(matrix_twice, scratch)] = hcy_arg_buf(NULL);
    int status = hcy_kernel_scratch_size(&bytes, kernel, 1, args, HCY_N_ARGS(matrix_twice));
    status = cts_first(status, hcy_buffer_create(&scratch, dev, HCY_MEM_DEVICE, bytes));
    args[HCY_ARG_AT(matrix_twice, scratch)] = hcy_arg_buf(scratch);
    if (!status)
        status = hcy_launch(to, kernel, 1, args, HCY_N_ARGS(matrix_twice));
    hcy_buffer_release(scratch);
    return status;
}
/* Numbers of `got` whose bits are not those of `want`. */
static int64_t count_other_bits(int dtype, hcy_array *got, hcy_array *want, int64_t n)
{
    const size_t bytes = hcy_dtype_size(dtype);
    char *a = malloc((size_t)n * bytes), *b = malloc((size_t)n * bytes);
    int64_t other = 0;
    if (!a || !b || hcy_array_to_host(a, queue, got) || hcy_array_to_host(b, queue, want))
        bail_out("%s", hcy_last_error()->text);
    for (int64_t i = 0; i < n; i++)
        other += memcmp(a + (size_t)i * bytes, b + (size_t)i * bytes, bytes) != 0;
    free(a);
    free(b);
    return other;
}

static int64_t check_twice(hcy_kernel *kernel, int dtype, int64_t rows, int64_t columns, bool is_strange)
{
    struct twice t = { .dtype = dtype, .rows = rows, .columns = columns };
    hcy_array *column = NULL, *q_column = NULL, *q = NULL, *g = NULL, *s = NULL;
    const int64_t as_column[2] = { rows, 1 };
    make_twice(&t, is_strange);
    int status = launch_twice(queue, kernel, &t, (uint64_t)rows);
    status = cts_first(status, hcy_array_empty(&q, dev, dtype, 1, &rows));
    status = cts_first(status, hcy_array_empty(&g, dev, dtype, 1, &columns));
    status = cts_first(status, hcy_array_empty(&s, dev, dtype, 1, &columns));
    status = cts_first(status, hcy_array_reshape(&column, t.m, 2, as_column));
    status = cts_first(status, hcy_array_reshape(&q_column, q, 2, as_column));
    status = cts_first(status, HCY_EVAL(queue, "q = sum(a * p, axis=1)", hcy_op_array("q", q), hcy_op_array("a", t.a),
                                        hcy_op_array("p", t.p)));
    const char *text = dtype == HCY_FLOAT32 ? "g = sum(a * m, axis=0); s = sum(a * (float32(by) * q), axis=0)"
                                            : "g = sum(a * m, axis=0); s = sum(a * (by * q), axis=0)";
    status = cts_first(status, HCY_EVAL(queue, text, hcy_op_array("g", g), hcy_op_array("s", s),
                                        hcy_op_array("by", t.by), hcy_op_array("a", t.a), hcy_op_array("m", column),
                                        hcy_op_array("q", q_column)));
    if (status)
        bail_out("%s", hcy_last_error()->text);
    const int64_t of_q = count_other_bits(dtype, t.q, q, rows), of_g = count_other_bits(dtype, t.g, g, columns),
                  of_s = count_other_bits(dtype, t.s, s, columns);
    if (of_q || of_g || of_s)
        diag("%lld x %lld: %lld, %lld and %lld have other bits", (long long)rows, (long long)columns, (long long)of_q,
             (long long)of_g, (long long)of_s);
    hcy_array *const all[] = { column, q_column, q, g, s };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        hcy_array_release(all[i]);
    free_twice(&t);
    return of_q + of_g + of_s;
}

static void test_twice(int dtype)
{
    /* Lanes without rows, with one and all, pieces, and pieces of pieces; the longest row. */
    static const int64_t shapes[][2] = { { 1, 1 },     { 5, 3 },      { 15, 700 },   { 16, 40 },      { 127, 129 },
                                         { 128, 128 }, { 129, 1024 }, { 700, 1025 }, { 1024, 257 },   { 1500, 1500 },
                                         { 9, 4096 },  { 2049, 33 },  { 131999, 2 }, { 1100003, 1 } };
    hcy_kernel *kernel = NULL;
    int64_t other = 0;
    if (hcy_kernel_get(&kernel, dev, "matrix_twice")) {
        skip(3, "the device has no matrix_twice");
        return;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        other += check_twice(kernel, dtype, shapes[i][0], shapes[i][1], false);
    is_int(other, 0, "%s: a matrix and its transpose in one go, with the bits of expressions", hcy_dtype_name(dtype));
    is_int(check_twice(kernel, dtype, 1500, 130, true), 0, "... whatever the numbers are");
    struct twice t = { .dtype = dtype, .rows = 40, .columns = 30 };
    make_twice(&t, false);
    /* It is the queue that fails. */
    hcy_queue *other_queue = cts_queue(dev);
    int status = launch_twice(other_queue, kernel, &t, 41);
    is_int(status ? status : hcy_queue_finish(other_queue), HCY_ERANGE, "... but no more rows than there are");
    hcy_queue_release(other_queue);
    free_twice(&t);
    hcy_kernel_release(kernel);
}

/* x and the residuals after so many steps. */
static void solve_cgls(double *x, double *norms, hcy_operator *op, hcy_array *b, int64_t n, int64_t steps, double l2)
{
    hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT;
    hcy_solver *solver = NULL;
    hcy_array *solution = NULL;
    size_t count = 0;
    how.l2 = l2;
    how.max_iterations = steps;
    if (hcy_solver_create(&solver, queue, op, &how) || hcy_solver_start(solver, b, NULL) ||
        hcy_solver_run(solver, steps) || hcy_solver_get_x(&solution, solver) ||
        hcy_solver_residuals(norms, &count, (size_t)steps + 1, solver))
        bail_out("%s", hcy_last_error()->text);
    double *got = reals_of(solution, HCY_FLOAT64, n);
    memcpy(x, got, (size_t)n * sizeof *x);
    free(got);
    hcy_array_release(solution);
    hcy_solver_destroy(solver);
}

/* Columns of lengths from 1 to 1e-4, and data that no x meets: what rounding leaves shows. */
static void test_cgls(double l2, int steps)
{
    enum { ROWS = 150, COLUMNS = 40, MOST = 400 };
    hcy_array *a = NULL, *b = NULL;
    hcy_operator *op = NULL, *hidden;
    double x[2][COLUMNS], norms[2][MOST + 1], far = 0, most = 0;
    if (hcy_array_empty(&a, dev, HCY_FLOAT64, 2, (int64_t[]){ ROWS, COLUMNS }) ||
        hcy_array_empty(&b, dev, HCY_FLOAT64, 1, (int64_t[]){ ROWS }) ||
        HCY_EVAL(queue, "a = normal(5, index) * exp(-0.23 * (index % 40))", hcy_op_array("a", a)) ||
        HCY_EVAL(queue, "b = normal(6, index)", hcy_op_array("b", b)) || hcy_operator_matrix(&op, a))
        bail_out("%s", hcy_last_error()->text);
    hidden = hide(op);
    solve_cgls(x[0], norms[0], op, b, COLUMNS, steps, l2);
    solve_cgls(x[1], norms[1], hidden, b, COLUMNS, steps, l2);
    for (int i = 0; i < COLUMNS; i++) {
        far = fmax(far, fabs(x[0][i] - x[1][i]));
        most = fmax(most, fabs(x[1][i]));
    }
    ok(far < 1e-6 * most, "CGLS in one go, l2 %g: x is off by %g of %g", l2, far, most);
    ok(norms[0][steps] < 10 * norms[1][steps] + 1e-14 * norms[1][0] && fabs(norms[0][5] / norms[1][5] - 1) < 1e-9,
       "... and its residuals go as low: %g, %g", norms[0][steps], norms[1][steps]);
    hcy_operator_release(hidden);
    hcy_operator_release(op);
    hcy_array_release(a);
    hcy_array_release(b);
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
    for (int i = 0; i < 2; i++)
        test_negative_zeros(dtypes[i]);
    test_dots();
    test_twice(HCY_FLOAT32);
    test_twice(HCY_FLOAT64);
    test_cgls(0, 400);
    test_cgls(0.01, 100);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
