/* solvers_rest.c - steps long after the solution was found: x stays there.
 *
 *     tests/solvers_rest [DEVICE]
 *
 * Least squares by normal equations in long double are what solutions are held against.
 */
#include "cts.h"

#include <halcyon/eval.h>
#include <halcyon/solve.h>
#include <math.h>

#ifdef IS_SANITIZED
enum { STEPS = 1000 };
#else
enum { STEPS = 2000 };
#endif
enum { ROWS = 150, COLUMNS = 40, LOOKS = 100 };

static hcy_device *dev;
static hcy_queue *queue;
static double matrix[ROWS][COLUMNS], data[ROWS], exact[COLUMNS];

struct rest_case {
    const char *name;
    double l2;
    bool is_consistent;
    double fall; /* each column is so many times the one before */
    int power;   /* A is times 2 to that */
};

static double next_number(uint64_t *seed)
{
    return (float)((double)(int64_t)cts_random(seed) / 0x1p63);
}

/* What is given are numbers that floats have; consistent data are whole numbers, so that their sums are exact too. */
static void fill_problem(const struct rest_case *c)
{
    uint64_t seed = 7;
    double size = 1;
    for (int j = 0; j < COLUMNS; j++, size *= c->fall)
        for (int i = 0; i < ROWS; i++)
            matrix[i][j] = c->is_consistent ? rint(100 * next_number(&seed)) : (float)(size * next_number(&seed));
    for (int i = 0; i < ROWS; i++) {
        data[i] = c->is_consistent ? 0 : next_number(&seed);
        for (int j = 0; j < COLUMNS && c->is_consistent; j++)
            data[i] += matrix[i][j] * (j % 7 - 3);
    }
}

/* A^T A + l2 is positive: elimination needs no pivots. */
static void solve_directly(double l2)
{
    static long double m[COLUMNS][COLUMNS + 1];
    for (int i = 0; i < COLUMNS; i++)
        for (int j = 0; j <= COLUMNS; j++) {
            m[i][j] = i == j ? l2 : 0;
            for (int k = 0; k < ROWS; k++)
                m[i][j] += (long double)matrix[k][i] * (j < COLUMNS ? matrix[k][j] : data[k]);
        }
    for (int k = 0; k < COLUMNS; k++)
        for (int i = 0; i < COLUMNS; i++)
            for (int j = COLUMNS; i != k && j >= k; j--)
                m[i][j] -= m[i][k] / m[k][k] * m[k][j];
    for (int i = 0; i < COLUMNS; i++)
        exact[i] = (double)(m[i][COLUMNS] / m[i][i]);
}

static hcy_array *array_of(int dtype, int rank, const int64_t *shape, const double *numbers)
{
    static float small[ROWS * COLUMNS];
    hcy_array *a = NULL;
    const int64_t n = shape[0] * (rank == 2 ? shape[1] : 1);
    for (int64_t i = 0; i < n && dtype == HCY_FLOAT32; i++)
        small[i] = (float)numbers[i];
    if (hcy_array_from_host(&a, dev, dtype, rank, shape, dtype == HCY_FLOAT32 ? (const void *)small : numbers))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}

static double distance_of(const hcy_solver *s, int dtype)
{
    double x[COLUMNS], off = 0, norm = 0;
    float small[COLUMNS];
    hcy_array *a = NULL;
    int status = hcy_solver_get_x(&a, s);
    status = cts_first(status, hcy_array_to_host(dtype == HCY_FLOAT32 ? (void *)small : x, queue, a));
    hcy_array_release(a);
    for (int i = 0; i < COLUMNS && !status; i++) {
        /* Squares of these may be beyond a double. */
        off = hypot(off, (dtype == HCY_FLOAT32 ? (double)small[i] : x[i]) - exact[i]);
        norm = hypot(norm, exact[i]);
    }
    return status ? INFINITY : off / norm;
}

/* The solution is one over as much. */
static void scale_problem(int power)
{
    for (int j = 0; j < COLUMNS; j++) {
        exact[j] = ldexp(exact[j], -power);
        for (int i = 0; i < ROWS; i++)
            matrix[i][j] = ldexp(matrix[i][j], power);
    }
}

static void check_rest(int method, int dtype, const struct rest_case *c, bool twice)
{
    hcy_operator *matrix_op = NULL, *op = NULL;
    hcy_solver *solver = NULL;
    hcy_solver_options o = HCY_SOLVER_OPTIONS_INIT;
    hcy_solver_info info = HCY_SOLVER_INFO_INIT;
    o.method = method;
    o.l2 = c->l2;
    o.max_iterations = STEPS;
    hcy_array *a = array_of(dtype, 2, (int64_t[]){ ROWS, COLUMNS }, matrix[0]),
              *b = array_of(dtype, 1, (int64_t[]){ ROWS }, data);
    int status = hcy_operator_matrix(&matrix_op, a);
    /* A multiple goes over its operator once for A p and once for A^T m. */
    status = cts_first(status, twice ? hcy_operator_scale(&op, matrix_op, 1, 0) : 0);
    status = cts_first(status, hcy_solver_create(&solver, queue, twice ? op : matrix_op, &o));
    status = cts_first(status, hcy_solver_start(solver, b, NULL));
    double best = INFINITY, last = INFINITY;
    for (int i = 0; i < LOOKS && !status; i++) {
        status = hcy_solver_run(solver, STEPS / LOOKS);
        last = distance_of(solver, dtype);
        best = fmin(best, last);
    }
    status = cts_first(status, hcy_solver_get_info(&info, solver));
    ok(!status && last <= 10 * best && best < (dtype == HCY_FLOAT32 ? 1e-3 : 1e-11), "%s of %s%s, %s: x stays",
       solver ? info.method : "none", hcy_dtype_name(dtype), twice ? " in two goes" : "", c->name);
    if (!(last <= 10 * best))
        diag("off by %g, at best by %g; gradient %g, at first %g", last, best, info.last, info.first);
    hcy_solver_destroy(solver);
    hcy_operator_release(op);
    hcy_operator_release(matrix_op);
    hcy_array_release(a);
    hcy_array_release(b);
}

/* Half of the frequencies of an image: A A^H is a multiple of 1 where there are any, so that the first step finds all
 * there is to find, and what is left is rounding, half of it in what A takes to 0. */
static void check_half_the_spectrum(int method, int dtype)
{
    const hcy_space space = { dtype, 2, { 16, 16 }, NULL };
    hcy_operator *parts[2] = { NULL, NULL }, *op = NULL;
    hcy_array *mask = NULL, *image = NULL, *b = NULL, *exact_x = NULL, *x = NULL, *off = NULL;
    hcy_solver *s = NULL;
    hcy_solver_options o = HCY_SOLVER_OPTIONS_INIT;
    double error = NAN;
    o.method = method;
    hcy_array **const made[] = { &mask, &image, &b, &exact_x };
    int status = hcy_array_empty(&off, dev, HCY_FLOAT64, 0, NULL);
    for (size_t i = 0; i < 4; i++)
        status = cts_first(status, hcy_array_empty(made[i], dev, dtype, 2, space.shape));
    status = cts_first(status, HCY_EVAL(queue, "mask = where(uniform32(3, index) < 0.5, 1, 0); image = uniform32(4, index)",
                                        hcy_op_array("mask", mask), hcy_op_array("image", image)));
    status = cts_first(status, hcy_operator_diagonal(&parts[0], &space, mask));
    status = cts_first(status, hcy_operator_fft(&parts[1], dev, &space, 2));
    status = cts_first(status, hcy_operator_compose(&op, parts, 2));
    status = cts_first(status, hcy_operator_apply(queue, b, op, image));
    status = cts_first(status, hcy_operator_apply_adjoint(queue, exact_x, op, b));
    status = cts_first(status, hcy_solver_create(&s, queue, op, &o));
    status = cts_first(status, hcy_solver_start(s, b, NULL));
    status = cts_first(status, hcy_solver_run(s, 40));
    status = cts_first(status, hcy_solver_get_x(&x, s));
    status = cts_first(status, HCY_EVAL(queue, "e = e / 256; off = norm(x - e) / norm(e)", hcy_op_array("off", off),
                                        hcy_op_array("x", x), hcy_op_array("e", exact_x)));
    status = cts_first(status, hcy_array_to_host(&error, queue, off));
    ok(!status && error <= (dtype == HCY_COMPLEX64 ? 1e-5 : 1e-13), "method %d of %s on half of a spectrum stays (%g)", method,
       hcy_dtype_name(dtype), error);
    hcy_solver_destroy(s);
    hcy_operator_release(op);
    hcy_operator_release(parts[0]);
    hcy_operator_release(parts[1]);
    for (size_t i = 0; i < 4; i++)
        hcy_array_release(*made[i]);
    hcy_array_release(x);
    hcy_array_release(off);
}

int main(int argc, char **argv)
{
    static const struct rest_case cases[] = { { "exact data", 0, true, 1, 0 },
                                              { "data beside the range", 0, false, 1, 0 },
                                              { "exact data with l2", 0.01, true, 1, 0 },
                                              { "data beside the range with l2", 0.01, false, 1, 0 },
                                              { "falling columns with l2", 0.01, false, 0.8, 0 },
                                              { "falling columns, times 2^-531", 0, false, 0.8, -531 },
                                              { "falling columns, times 2^531", 0, false, 0.8, 531 } };
    cts_begin(argc, argv);
    dev = cts_open();
    queue = cts_queue(dev);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fill_problem(&cases[i]);
        solve_directly(cases[i].l2);
        /* What no double has the square of is for the method that does without. */
        if (cases[i].power) {
            scale_problem(cases[i].power);
            check_rest(HCY_SOLVER_CGLS, HCY_FLOAT64, &cases[i], false);
            check_rest(HCY_SOLVER_CGLS, HCY_FLOAT64, &cases[i], true);
            continue;
        }
        for (int single = 0; single < 2; single++) {
            for (int method = HCY_SOLVER_CG_NORMAL; method <= HCY_SOLVER_LSMR; method++)
                check_rest(method, single ? HCY_FLOAT32 : HCY_FLOAT64, &cases[i], false);
            check_rest(HCY_SOLVER_CGLS, single ? HCY_FLOAT32 : HCY_FLOAT64, &cases[i], true);
        }
    }
    static const int on_half[] = { HCY_SOLVER_CGLS, HCY_SOLVER_LSQR, HCY_SOLVER_LSMR, HCY_SOLVER_ADMM,
                                   HCY_SOLVER_SPLIT_BREGMAN };
    for (size_t i = 0; i < sizeof on_half / sizeof on_half[0]; i++)
        for (int single = 0; single < 2; single++)
            check_half_the_spectrum(on_half[i], single ? HCY_COMPLEX64 : HCY_COMPLEX128);
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
