/* solvers.c - solvers against direct solutions in plain C: every method, stops, starts, the same bits on other devices.
 *
 *     tests/solvers [DEVICE [few]]        few: one type and some methods, where each text means a compilation
 */
#include "cts_gate.h"

#include <complex.h>
#include <halcyon/eval.h>
#include <halcyon/solve.h>

static hcy_device *dev;
static hcy_queue *queue;
static bool few;

enum { ROWS = 30, COLUMNS = 12 };

/* A x is to be b; what is given is exactly what floats have. */
static double complex matrix[ROWS][COLUMNS], data[ROWS], exact[COLUMNS], got[ROWS * COLUMNS];

static hcy_space space_of(int dtype, int64_t n)
{
    hcy_space s = { dtype, 1, { n }, NULL };
    return s;
}
static bool is_complex(int dtype)
{
    return dtype == HCY_COMPLEX64 || dtype == HCY_COMPLEX128;
}
static bool is_single(int dtype)
{
    return dtype == HCY_FLOAT32 || dtype == HCY_COMPLEX64;
}

static hcy_array *array_on(hcy_device *on, int dtype, int rank, int64_t n0, int64_t n1,
                           const double complex *x)
{
    static unsigned char bytes[ROWS * COLUMNS * 16];
    size_t size = hcy_dtype_size(dtype), n = (size_t)n0 * (size_t)(rank == 2 ? n1 : 1);
    hcy_array *a = NULL;
    for (size_t i = 0; i < n; i++) {
        double pair[2] = { creal(x[i]), cimag(x[i]) };
        float small[2] = { (float)pair[0], (float)pair[1] };
        memcpy(bytes + i * size, is_single(dtype) ? (void *)small : (void *)pair, size);
    }
    if (hcy_array_from_host(&a, on, dtype, rank, (int64_t[]){ n0, n1 }, bytes))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}
static void read_array(double complex *x, hcy_queue *q, hcy_array *a)
{
    static unsigned char bytes[ROWS * COLUMNS * 16];
    hcy_array_info info = HCY_ARRAY_INFO_INIT;
    if (hcy_array_get_info(&info, a) || hcy_array_to_host(bytes, q, a))
        bail_out("not read: %s", hcy_last_error()->text);
    for (int64_t i = 0; i < info.count; i++) {
        double pair[2] = { 0, 0 };
        float small[2] = { 0, 0 };
        size_t size = hcy_dtype_size(info.dtype);
        memcpy(is_single(info.dtype) ? (void *)small : (void *)pair, bytes + (size_t)i * size, size);
        x[i] = is_single(info.dtype) ? small[0] + I * small[1] : pair[0] + I * pair[1];
    }
}

static double complex next_number(uint64_t *seed, int dtype)
{
    double re = (double)(int64_t)cts_random(seed) / 0x1p63, im = (double)(int64_t)cts_random(seed) / 0x1p63;
    return (float)re + (is_complex(dtype) ? I * (float)im : 0);
}
static void fill_problem(int dtype, int rows)
{
    uint64_t seed = 5;
    for (int i = 0; i < rows; i++) {
        data[i] = next_number(&seed, dtype);
        for (int j = 0; j < COLUMNS; j++)
            matrix[i][j] = next_number(&seed, dtype) + (rows == COLUMNS && i == j ? 4 : 0);
    }
}

/* exact = m^-1 right, by elimination with pivots. */
static void eliminate(double complex m[COLUMNS][COLUMNS + 1])
{
    for (int k = 0; k < COLUMNS; k++) {
        int best = k;
        for (int i = k; i < COLUMNS; i++)
            if (cabs(m[i][k]) > cabs(m[best][k]))
                best = i;
        for (int j = 0; j <= COLUMNS; j++) {
            double complex t = m[k][j];
            m[k][j] = m[best][j];
            m[best][j] = t;
        }
        for (int i = 0; i < COLUMNS; i++)
            for (int j = COLUMNS; i != k && j >= k; j--)
                m[i][j] -= m[i][k] / m[k][k] * m[k][j];
    }
    for (int i = 0; i < COLUMNS; i++)
        exact[i] = m[i][COLUMNS] / m[i][i];
}
/* The least squares' solution, or that of the square matrix. */
static void solve_directly(int rows, double l2)
{
    static double complex m[COLUMNS][COLUMNS + 1];
    for (int i = 0; i < COLUMNS; i++)
        for (int j = 0; j <= COLUMNS; j++) {
            m[i][j] = rows == COLUMNS ? (j < COLUMNS ? matrix[i][j] : data[i]) : i == j ? l2 : 0;
            for (int k = 0; rows != COLUMNS && k < rows; k++)
                m[i][j] += conj(matrix[k][i]) * (j < COLUMNS ? matrix[k][j] : data[k]);
        }
    eliminate(m);
}
static double distance_of(const double complex *x)
{
    double off = 0, norm = 0;
    for (int i = 0; i < COLUMNS; i++) {
        off += cabs(x[i] - exact[i]) * cabs(x[i] - exact[i]);
        norm += cabs(exact[i]) * cabs(exact[i]);
    }
    return sqrt(off / norm);
}

/* A problem on a device, and a solver of it. */
struct problem {
    hcy_operator *a, *gram, *adjoint;
    hcy_array *b, *numbers;
    hcy_solver *solver;
};
static void make_problem(struct problem *p, hcy_device *on, int dtype, int rows)
{
    memset(p, 0, sizeof *p);
    fill_problem(dtype, rows);
    p->numbers = array_on(on, dtype, 2, rows, COLUMNS, matrix[0]);
    p->b = array_on(on, dtype, 1, rows, 0, data);
    if (hcy_operator_matrix(&p->a, p->numbers) || hcy_operator_adjoint(&p->adjoint, p->a) ||
        hcy_operator_compose(&p->gram, (hcy_operator *[]){ p->adjoint, p->a }, 2))
        bail_out("no operator: %s", hcy_last_error()->text);
}
static void free_problem(struct problem *p)
{
    hcy_solver_destroy(p->solver);
    hcy_operator_release(p->a);
    hcy_operator_release(p->gram);
    hcy_operator_release(p->adjoint);
    hcy_array_release(p->b);
    hcy_array_release(p->numbers);
}
static hcy_solver_options options_of(int method, double l2)
{
    hcy_solver_options o = HCY_SOLVER_OPTIONS_INIT;
    o.method = method;
    o.l2 = l2;
    o.max_iterations = 400;
    return o;
}
static hcy_solver_info info_of(const hcy_solver *s)
{
    hcy_solver_info info = HCY_SOLVER_INFO_INIT;
    if (hcy_solver_get_info(&info, s))
        bail_out("%s", hcy_last_error()->text);
    return info;
}
static void read_result(double complex *x, hcy_queue *q, const hcy_solver *s)
{
    hcy_array *a = NULL;
    if (hcy_solver_get_x(&a, s))
        bail_out("%s", hcy_last_error()->text);
    read_array(x, q, a);
    hcy_array_release(a);
}

/* With `few`, whether a method is left out. */
static bool passes_over(int method)
{
    return few && method != HCY_SOLVER_CG_NORMAL && method != HCY_SOLVER_LSQR && method != HCY_SOLVER_FISTA &&
           method != HCY_SOLVER_ADMM;
}

/* --- Solutions --- */

/* The norm of A^H (b - A x) - l2 x, or of b - A x. */
static double residual_of(const double complex *x, int rows, double l2)
{
    double complex r[ROWS], g[COLUMNS];
    double square = 0;
    for (int i = 0; i < rows; i++) {
        r[i] = data[i];
        for (int j = 0; j < COLUMNS; j++)
            r[i] -= matrix[i][j] * x[j];
    }
    for (int j = 0; j < COLUMNS; j++) {
        g[j] = rows == COLUMNS ? r[j] : -l2 * x[j];
        for (int i = 0; rows != COLUMNS && i < rows; i++)
            g[j] += conj(matrix[i][j]) * r[i];
        square += cabs(g[j]) * cabs(g[j]);
    }
    return sqrt(square);
}

static void check_method(int method, int dtype, double l2, bool warm)
{
    const int rows = method == HCY_SOLVER_BICGSTAB ? COLUMNS : ROWS;
    const double bound = is_single(dtype) ? 2e-5 : 1e-11;
    struct problem p;
    hcy_solver_options o = options_of(method, l2);
    hcy_array *b = NULL, *x0 = NULL;
    double norms[64];
    size_t n = 0;
    make_problem(&p, dev, dtype, rows);
    st_ok(hcy_solver_create(&p.solver, queue, method == HCY_SOLVER_CG ? p.gram : p.a, &o), "a solver");
    const char *name = info_of(p.solver).method;
    double complex start[COLUMNS];
    uint64_t seed = 99;
    for (int i = 0; i < COLUMNS; i++)
        start[i] = warm ? next_number(&seed, dtype) : 0;
    x0 = warm ? array_on(dev, dtype, 1, COLUMNS, 0, start) : NULL;
    /* CG solves with the Gram operator, whose data are A^H b. */
    hcy_space domain = space_of(dtype, COLUMNS);
    st_ok(hcy_array_empty(&b, dev, dtype, 1, domain.shape), "the right side");
    st_ok(hcy_operator_apply_adjoint(queue, b, p.a, p.b), "is A^H b");
    st_ok(hcy_solver_start(p.solver, method == HCY_SOLVER_CG ? b : p.b, x0), "%s starts", name);
    st_ok(hcy_solver_run(p.solver, 3), "%s runs", name);
    st_ok(hcy_solver_residuals(norms, &n, 64, p.solver), "%s has residuals", name);
    is_int((intmax_t)n, 4, "one an iteration");
    is_near(norms[0], residual_of(start, rows, l2), 1e-4, 0, "%s: the first residual is what it says", name);
    read_result(got, queue, p.solver);
    is_near(norms[3], residual_of(got, rows, l2), 2e-3, 1e-5, "%s: so is a later one", name);
    st_ok(hcy_solver_run(p.solver, 27), "%s goes on", name);
    read_result(got, queue, p.solver);
    solve_directly(rows, l2);
    ok(distance_of(got) < bound, "%s of %s%s, l2 %g: the direct solution", name, hcy_dtype_name(dtype),
       warm ? " from a start" : "", l2);
    if (!(distance_of(got) < bound))
        diag("off by %g, residual %g", distance_of(got), residual_of(got, rows, l2));
    hcy_array_release(b);
    hcy_array_release(x0);
    free_problem(&p);
}

static void test_methods(void)
{
    static const int types[] = { HCY_COMPLEX128, HCY_FLOAT64, HCY_COMPLEX64 };
    for (int method = HCY_SOLVER_CG; method <= HCY_SOLVER_BICGSTAB; method++)
        for (int t = 0; t < (few ? 1 : 3) && !passes_over(method); t++)
            check_method(method, types[t], method == HCY_SOLVER_BICGSTAB || t == 1 ? 0 : 0.5, t == 0);
}

/* What a minimum of |A x - b|^2 / 2 + l2 |x|^2 / 2 + l1 |x|_1 is known by: the worst miss, and how many are 0. */
static double miss_of(int *zeros, const double complex *x, double l2, double l1)
{
    double worst = 0;
    *zeros = 0;
    for (int j = 0; j < COLUMNS; j++) {
        double complex g = -l2 * x[j];
        for (int i = 0; i < ROWS; i++) {
            double complex r = data[i];
            for (int k = 0; k < COLUMNS; k++)
                r -= matrix[i][k] * x[k];
            g += conj(matrix[i][j]) * r;
        }
        double miss = x[j] == 0 ? fmax(cabs(g) - l1, 0) : cabs(g - l1 * x[j] / cabs(x[j]));
        worst = fmax(worst, miss);
        *zeros += x[j] == 0;
    }
    return worst;
}
static void test_sparse(void)
{
    for (int k = few ? 2 : 0; k < (few ? 3 : 4); k++) {
        int zeros = 0, dtype = k % 2 ? HCY_FLOAT64 : HCY_COMPLEX128;
        struct problem p;
        hcy_solver_options o = options_of(k < 1 ? HCY_SOLVER_ISTA : HCY_SOLVER_FISTA, 0.1);
        o.l1 = 1.5;
        o.restart = k != 3;
        o.max_iterations = 1500;
        o.tolerance = 1e-12;
        o.check_every = 50;
        make_problem(&p, dev, dtype, ROWS);
        st_ok(hcy_solver_create(&p.solver, queue, p.a, &o), "a solver with l1");
        st_ok(hcy_solver_start(p.solver, p.b, NULL), "starts");
        st_ok(hcy_solver_run(p.solver, 1500), "runs");
        read_result(got, queue, p.solver);
        double miss = miss_of(&zeros, got, 0.1, 1.5);
        ok(miss < 1e-8 && zeros > 0 && zeros < COLUMNS, "%s%s: a minimum with zeros",
           info_of(p.solver).method, o.restart ? "" : " without restart");
        free_problem(&p);
    }
}

/* --- Runs: by steps, in parts, from where one was, until something says stop --- */

static void start_problem(struct problem *p, hcy_device *on, hcy_queue *q, const hcy_solver_options *o,
                          hcy_array *x0)
{
    make_problem(p, on, HCY_COMPLEX128, ROWS);
    if (hcy_solver_create(&p->solver, q, p->a, o) || hcy_solver_start(p->solver, p->b, x0))
        bail_out("no solver: %s", hcy_last_error()->text);
}
static void test_parts(void)
{
    static double complex whole[COLUMNS];
    struct problem p;
    for (int method = HCY_SOLVER_CG_NORMAL; method <= HCY_SOLVER_SPLIT_BREGMAN; method++) {
        hcy_solver_options o = options_of(method, 0);
        if (method == HCY_SOLVER_BICGSTAB || passes_over(method))
            continue;
        o.l1 = method >= HCY_SOLVER_ISTA ? 0.5 : 0;
        start_problem(&p, dev, queue, &o, NULL);
        int status = hcy_solver_run(p.solver, 8);
        read_result(whole, queue, p.solver);
        status = cts_first(status, hcy_solver_start(p.solver, p.b, NULL));
        status = cts_first(status, hcy_solver_run(p.solver, 3));
        for (int i = 0; i < 2; i++)
            status = cts_first(status, hcy_solver_step(p.solver));
        status = cts_first(status, hcy_solver_run(p.solver, 3));
        read_result(got, queue, p.solver);
        st_ok(status, "%s: runs and steps", info_of(p.solver).method);
        ok(!memcmp(whole, got, sizeof whole), "in parts it has the bits of one run");
        free_problem(&p);
    }
    if (few)
        return;
    /* A method without memory goes on from where it was as if it had never stopped. */
    hcy_solver_options o = options_of(HCY_SOLVER_ISTA, 0.1);
    hcy_array *x = NULL;
    o.l1 = 0.5;
    start_problem(&p, dev, queue, &o, NULL);
    int status = hcy_solver_run(p.solver, 9);
    read_result(whole, queue, p.solver);
    status = cts_first(status, hcy_solver_start(p.solver, p.b, NULL));
    status = cts_first(status, hcy_solver_run(p.solver, 4));
    status = cts_first(status, hcy_solver_get_x(&x, p.solver));
    status = cts_first(status, hcy_solver_start(p.solver, p.b, x));
    status = cts_first(status, hcy_solver_run(p.solver, 5));
    read_result(got, queue, p.solver);
    st_ok(status, "from its own x");
    ok(!memcmp(whole, got, sizeof whole), "a start from there is going on");
    hcy_array_release(x);
    free_problem(&p);
}

static int calls;
static int stop_third(void *user, hcy_solver *solver, int64_t iteration, double residual)
{
    *(double *)user = residual;
    return ++calls == 3 && solver && iteration == 6;
}
/* A callback would move the solver under the run that calls it. */
static int move_solver(void *user, hcy_solver *solver, int64_t iteration, double residual)
{
    const struct problem *p = user;
    (void)iteration, (void)residual;
    st_says(hcy_solver_start(p->solver, p->b, NULL), HCY_ESTATE, "callback", "a start in a callback is refused");
    st_says(hcy_solver_step(solver), HCY_ESTATE, "callback", "as is a step");
    st_says(hcy_solver_run(solver, 1), HCY_ESTATE, "callback", "and a run");
    return 0;
}
static void test_callback(void)
{
    struct problem p;
    hcy_solver_options o = options_of(HCY_SOLVER_CG_NORMAL, 0);
    o.callback = move_solver;
    o.user = &p;
    o.check_every = 2;
    start_problem(&p, dev, queue, &o, NULL);
    st_ok(hcy_solver_run(p.solver, 2), "a run whose callback tries");
    is_int(info_of(p.solver).iterations, 2, "goes as far as it was asked to");
    st_ok(hcy_solver_start(p.solver, p.b, NULL), "behind it the solver may be started");
    free_problem(&p);
}

static void test_stops(void)
{
    struct problem p;
    double seen = 0;
    hcy_solver_options o = options_of(HCY_SOLVER_CG_NORMAL, 0);
    o.callback = stop_third;
    o.user = &seen;
    o.check_every = 2;
    start_problem(&p, dev, queue, &o, NULL);
    st_ok(hcy_solver_run(p.solver, 20), "a run with a callback");
    is_int(info_of(p.solver).reason, HCY_SOLVER_CALLBACK, "which stops it");
    is_int(info_of(p.solver).iterations, 6, "at its third look");
    ok(seen > 0 && seen == info_of(p.solver).last, "and has seen the residual");
    free_problem(&p);
    o = options_of(HCY_SOLVER_LSQR, 0.5);
    o.tolerance = 1e-9;
    o.check_every = 1;
    start_problem(&p, dev, queue, &o, NULL);
    st_ok(hcy_solver_run(p.solver, 400), "a run to a tolerance");
    hcy_solver_info info = info_of(p.solver);
    is_int(info.reason, HCY_SOLVER_TOLERANCE, "ends there");
    ok(info.last <= 1e-9 * info.first && info.iterations < 40, "after %lld iterations",
       (long long)info.iterations);
    free_problem(&p);
    o.tolerance = 0;
    o.max_iterations = 2;
    start_problem(&p, dev, queue, &o, NULL);
    st_ok(hcy_solver_run(p.solver, 5), "a run");
    is_int(info_of(p.solver).iterations, 2, "ends where its memory does");
    is_int(info_of(p.solver).reason, HCY_SOLVER_MAX_ITERATIONS, "and says so");
    st_ok(hcy_solver_start(p.solver, p.b, NULL), "the start");
    st_ok(hcy_solver_run(p.solver, 2), "a run of as many");
    is_int(info_of(p.solver).reason, HCY_SOLVER_ITERATIONS, "ends as it was asked to");
    double norms[3];
    size_t n = 0;
    st_ok(hcy_solver_residuals(norms, &n, 3, p.solver), "its residuals");
    ok(norms[0] == info_of(p.solver).first && norms[2] == info_of(p.solver).last, "are known without a look");
    st_ok(hcy_solver_run(p.solver, 1), "one more");
    is_int(info_of(p.solver).reason, HCY_SOLVER_MAX_ITERATIONS, "is not to be had");
    st_says(hcy_solver_step(p.solver), HCY_ERANGE, "2 iterations", "a step goes no further");
    free_problem(&p);
}

/* An operator whose n-th application fails. */
static int copies_left;
static int copy_a_while(hcy_queue *to, hcy_array *y, void *user, hcy_array *x)
{
    (void)user;
    return copies_left-- > 0 ? hcy_array_copy(to, y, x) : HCY_ENOMEM;
}

/* A step that failed and was the last one is not taken for the end of the iterations. */
static void test_failed_step(void)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_operator *op = NULL;
    hcy_solver *s = NULL;
    hcy_array *b = NULL;
    hcy_solver_options o = options_of(HCY_SOLVER_CGLS, 0);
    const int64_t n = 5;
    desc.domain = desc.range = (hcy_space){ HCY_FLOAT64, 1, { n }, NULL };
    desc.apply = desc.adjoint = copy_a_while;
    o.max_iterations = 1;
    copies_left = 100;
    int status = hcy_operator_create(&op, dev, &desc);
    status = cts_first(status, hcy_array_full(&b, queue, HCY_FLOAT64, 1, &n, 2));
    status = cts_first(status, hcy_solver_create(&s, queue, op, &o));
    st_ok(status, "a solver");
    st_is(hcy_solver_run(s, 0), HCY_ESTATE, "does not run before it was started");
    st_ok(hcy_solver_start(s, b, NULL), "its start");
    copies_left = 0;
    is_int(hcy_solver_run(s, 1), HCY_ENOMEM, "its only step fails");
    st_is(hcy_solver_run(s, 1), HCY_ESTATE, "after which it does not run");
    copies_left = 100;
    st_ok(hcy_solver_start(s, b, NULL), "until it is started again");
    st_ok(hcy_solver_run(s, 1), "and then does");
    hcy_solver_destroy(s);
    hcy_operator_release(op);
    hcy_array_release(b);
}

/* The products of the inner CG's steps, about |A|^3 |b|, are numbers of no float: it stands still, and says so. */
static void test_out_of_range(void)
{
    for (int method = HCY_SOLVER_ADMM; method <= HCY_SOLVER_SPLIT_BREGMAN; method++) {
        const float numbers[3] = { 1e-13f, 2e-13f, 3e-13f };
        const hcy_space space = { HCY_FLOAT32, 1, { 3 }, NULL };
        hcy_array *weights = NULL;
        hcy_operator *op = NULL;
        hcy_solver *s = NULL;
        hcy_solver_options o = options_of(method, 0);
        int status = hcy_array_from_host(&weights, dev, HCY_FLOAT32, 1, space.shape, numbers);
        status = cts_first(status, hcy_operator_diagonal(&op, &space, weights));
        status = cts_first(status, hcy_solver_create(&s, queue, op, &o));
        status = cts_first(status, hcy_solver_start(s, weights, NULL));
        status = cts_first(status, hcy_solver_run(s, 20));
        st_ok(status, "%s of small floats", info_of(s).method);
        hcy_solver_info info = info_of(s);
        is_int(info.reason, HCY_SOLVER_BREAKDOWN, "breaks down");
        ok(info.message && strstr(info.message, "leaves the range"), "and says of what");
        hcy_solver_destroy(s);
        hcy_operator_release(op);
        hcy_array_release(weights);
    }
}

/* Norms whose square no float has. */
static void test_norms(void)
{
    static const float sizes[] = { 1e-30f, 1e-22f, 1, 1e20f, 1e30f };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const float numbers[3] = { sizes[i], 2 * sizes[i], 3 * sizes[i] };
        const hcy_space space = { HCY_FLOAT32, 1, { 3 }, NULL };
        hcy_array *weights = NULL;
        hcy_operator *op = NULL;
        double norm = 0;
        int status = hcy_array_from_host(&weights, dev, HCY_FLOAT32, 1, space.shape, numbers);
        status = cts_first(status, hcy_operator_diagonal(&op, &space, weights));
        status = cts_first(status, hcy_operator_norm(&norm, queue, op, 30, 1));
        st_ok(status, "a norm of floats");
        ok(fabs(norm / (double)numbers[2] - 1) < 1e-5, "is %g", norm);
        hcy_operator_release(op);
        hcy_array_release(weights);
    }
}

/* What cannot be solved is told without a tolerance or a callback too. */
static void test_breakdowns(void)
{
    struct problem p;
    hcy_solver_options o = options_of(HCY_SOLVER_CGLS, 0);
    hcy_solver_info info;
    start_problem(&p, dev, queue, &o, NULL);
    st_ok(HCY_EVAL(queue, "b = where(index == 3, 0.0/0.0, b)", hcy_op_array("b", p.b)), "data with a NaN");
    st_ok(hcy_solver_start(p.solver, p.b, NULL), "start");
    st_ok(hcy_solver_run(p.solver, 3), "and run");
    info = info_of(p.solver);
    is_int(info.reason, HCY_SOLVER_BREAKDOWN, "and break down");
    ok(info.message && strstr(info.message, "no number"), "as a message says");
    free_problem(&p);
    /* Of skew-symmetric A each residual is orthogonal to A times it, exactly or but for rounding. */
    for (int dtype = HCY_FLOAT32; dtype <= HCY_FLOAT64; dtype++) {
        static double complex skew[COLUMNS * COLUMNS];
        uint64_t seed = 21;
        hcy_operator *op = NULL;
        hcy_solver *solver = NULL;
        for (int i = 0; i < COLUMNS; i++)
            for (int j = 0; j <= i; j++) {
                skew[i * COLUMNS + j] = i == j ? 0 : next_number(&seed, dtype);
                skew[j * COLUMNS + i] = -skew[i * COLUMNS + j];
            }
        hcy_array *a = array_on(dev, dtype, 2, COLUMNS, COLUMNS, skew),
                  *b = array_on(dev, dtype, 1, COLUMNS, 0, data);
        o = options_of(HCY_SOLVER_BICGSTAB, 0);
        o.tolerance = dtype == HCY_FLOAT64 ? 1e-9 : 0;
        int status = hcy_operator_matrix(&op, a);
        status = cts_first(status, hcy_solver_create(&solver, queue, op, &o));
        status = cts_first(status, hcy_solver_start(solver, b, NULL));
        status = cts_first(status, hcy_solver_run(solver, 40));
        st_ok(status, "BiCGSTAB on a skew-symmetric matrix of %s", hcy_dtype_name(dtype));
        info = info_of(solver);
        is_int(info.reason, HCY_SOLVER_BREAKDOWN, "breaks down");
        ok(info.message && strstr(info.message, "skew-symmetric"), "and says of what");
        hcy_solver_destroy(solver);
        hcy_operator_release(op);
        hcy_array_release(a);
        hcy_array_release(b);
    }
}

/* CG goes as far as curvature is above 0, and says so; x is what it was there, and a start begins anew. */
static void test_negative_curvature(void)
{
    for (int dtype = HCY_FLOAT32; dtype <= HCY_FLOAT64; dtype++) {
        double complex diagonal[COLUMNS], ones[COLUMNS];
        hcy_operator *op = NULL;
        hcy_solver *solver = NULL;
        hcy_solver_options o = options_of(HCY_SOLVER_CG, 0);
        for (int i = 0; i < COLUMNS; i++) {
            diagonal[i] = i < 3 ? -1 - i : 1 + i;
            ones[i] = i < 3 ? 5 : 1;
        }
        hcy_space space = space_of(dtype, COLUMNS);
        hcy_array *weights = array_on(dev, dtype, 1, COLUMNS, 0, diagonal),
                  *b = array_on(dev, dtype, 1, COLUMNS, 0, ones);
        int status = hcy_operator_diagonal(&op, &space, weights);
        status = cts_first(status, hcy_solver_create(&solver, queue, op, &o));
        status = cts_first(status, hcy_solver_start(solver, b, NULL));
        status = cts_first(status, hcy_solver_run(solver, 30));
        st_ok(status, "CG on an indefinite matrix of %s", hcy_dtype_name(dtype));
        hcy_solver_info info = info_of(solver);
        is_int(info.reason, HCY_SOLVER_BREAKDOWN, "breaks down");
        ok(info.message && strstr(info.message, "not positive"), "and says of what");
        ok(isfinite(info.last) && info.last > 0, "with a residual that is left");
        for (int i = 0; i < COLUMNS; i++)
            ones[i] = i < 3 ? 0 : 1;
        hcy_array *good = array_on(dev, dtype, 1, COLUMNS, 0, ones);
        status = hcy_solver_start(solver, good, NULL);
        status = cts_first(status, hcy_solver_run(solver, 30));
        info = info_of(solver);
        ok(!status && info.reason != HCY_SOLVER_BREAKDOWN && info.last < 1e-5 * info.first,
           "data that meet no negative direction are solved");
        hcy_solver_destroy(solver);
        hcy_operator_release(op);
        hcy_array_release(weights);
        hcy_array_release(b);
        hcy_array_release(good);
    }
}

/* CG's recursion makes residuals smaller that x does not follow, and would until squares leave a double's range. */
static void test_beyond_rounding(void)
{
    struct problem p;
    hcy_solver_options o = options_of(HCY_SOLVER_CG_NORMAL, 0.1);
    start_problem(&p, dev, queue, &o, NULL);
    st_ok(hcy_solver_run(p.solver, 400), "CG goes on where nothing is to be had");
    hcy_solver_info info = info_of(p.solver);
    is_int(info.reason, HCY_SOLVER_ITERATIONS, "to the end");
    read_result(got, queue, p.solver);
    solve_directly(ROWS, 0.1);
    ok(distance_of(got) < 1e-11, "x is the solution");
    ok(info.last > 0 && info.last > 0x1p-160 * info.first && info.last < 0x1p-80 * info.first,
       "the residual is what it was when x stayed");
    if (!(info.last > 0x1p-160 * info.first))
        diag("%g of %g", info.last, info.first);
    free_problem(&p);
}

/* A whose square no float can have: CGLS finds what it finds of A itself, to the bit where the factor is a power of
 * 2. */
static void test_scales(void)
{
    static const int powers[] = { 0, 90, -90 };
    double complex found[3][COLUMNS];
    for (int k = 0; k < 3; k++) {
        static double complex scaled[ROWS * COLUMNS];
        hcy_operator *op = NULL;
        hcy_solver *solver = NULL;
        hcy_solver_options o = options_of(HCY_SOLVER_CGLS, 0);
        double last = 0;
        fill_problem(HCY_FLOAT32, ROWS);
        for (int i = 0; i < ROWS * COLUMNS; i++)
            scaled[i] = ldexp(creal(matrix[i / COLUMNS][i % COLUMNS]), powers[k]);
        hcy_array *a = array_on(dev, HCY_FLOAT32, 2, ROWS, COLUMNS, scaled);
        for (int i = 0; i < ROWS; i++)
            scaled[i] = ldexp(creal(data[i]), powers[k]);
        hcy_array *b = array_on(dev, HCY_FLOAT32, 1, ROWS, 0, scaled);
        int status = hcy_operator_matrix(&op, a);
        status = cts_first(status, hcy_solver_create(&solver, queue, op, &o));
        status = cts_first(status, hcy_solver_start(solver, b, NULL));
        status = cts_first(status, hcy_solver_run(solver, 30));
        st_ok(status, "CGLS in floats on a matrix times 2^%d", powers[k]);
        last = info_of(solver).last;
        ok(last >= 0 && isfinite(last) && ldexp(last, -2 * powers[k]) < 1e-4, "its residual is a number");
        read_result(found[k], queue, solver);
        solve_directly(ROWS, 0);
        ok(distance_of(found[k]) < 2e-5, "it finds the solution");
        ok(!memcmp(found[k], found[0], sizeof found[0]), "with the bits of the matrix itself");
        hcy_solver_destroy(solver);
        hcy_operator_release(op);
        hcy_array_release(a);
        hcy_array_release(b);
    }
}

/* Multiples of the identity: the first step takes all of the gradient but its rounding, and the others lose nothing. */
static void test_one_step(void)
{
    static const double factors[] = { 0.3, 0.7, 3, 1e12 };
    for (int i = 0; i < 8; i++) {
        const int dtype = i < 4 ? HCY_FLOAT32 : HCY_FLOAT64;
        const double factor = factors[i % 4];
        const double complex elements[9] = { [0] = factor, [4] = factor, [8] = factor },
                             rows[3] = { 7 * factor, 14 * factor, 21 * factor };
        hcy_array *a = array_on(dev, dtype, 2, 3, 3, elements), *b = array_on(dev, dtype, 1, 3, 0, rows),
                  *x = NULL;
        hcy_operator *op = NULL;
        hcy_solver *solver = NULL;
        float single[3] = { 0 };
        double numbers[3] = { 0 };
        int status = hcy_operator_matrix(&op, a);
        status = cts_first(status, hcy_solver_create(&solver, queue, op, NULL));
        status = cts_first(status, hcy_solver_start(solver, b, NULL));
        status = cts_first(status, hcy_solver_run(solver, 100));
        status = cts_first(status, hcy_solver_get_x(&x, solver));
        status = cts_first(status, hcy_array_to_host(i < 4 ? (void *)single : numbers, queue, x));
        for (int k = 0; k < 3 && i < 4; k++)
            numbers[k] = single[k];
        st_ok(status, "CGLS of %g times the identity, 100 steps in %s", factor, hcy_dtype_name(dtype));
        ok(fabs(numbers[0] - 7) < 1e-5 && fabs(numbers[1] - 14) < 1e-5 && fabs(numbers[2] - 21) < 1e-5,
           "x is found and stays");
        hcy_array_release(x);
        hcy_solver_destroy(solver);
        hcy_operator_release(op);
        hcy_array_release(a);
        hcy_array_release(b);
    }
}

/* After the solution was found steps change nothing, and b = 0 has it at once. */
static void test_found(void)
{
    for (int method = HCY_SOLVER_CG_NORMAL; method <= HCY_SOLVER_LSMR; method++) {
        struct problem p;
        hcy_solver_options o = options_of(method, 0);
        make_problem(&p, dev, HCY_FLOAT64, ROWS);
        st_ok(hcy_solver_create(&p.solver, queue, p.a, &o), "a solver");
        st_ok(HCY_EVAL(queue, "b = 0", hcy_op_array("b", p.b)), "data of nothing");
        st_ok(hcy_solver_start(p.solver, p.b, NULL), "are solved for");
        st_ok(hcy_solver_run(p.solver, 10), "in ten iterations");
        read_result(got, queue, p.solver);
        size_t wrong = 0;
        for (int i = 0; i < COLUMNS; i++)
            wrong += got[i] != 0;
        is_int((intmax_t)wrong, 0, "%s: and stay 0", info_of(p.solver).method);
        free_problem(&p);
    }
}

/* 0 is found for a matrix of 0 whatever the data are, and A that CG is not for (b is not in the range of a singular
 * one) leaves x where the first direction without a product was met. */
static void test_no_product(void)
{
    static const double complex numbers[2][4] = { { 0, 0, 0, 0 }, { 1, 0, 0, 0 } }, ones[2] = { 1, 1 };
    hcy_array *b = array_on(dev, HCY_FLOAT64, 1, 2, 0, ones);
    double complex after[2][2];
    for (int method = HCY_SOLVER_CG; method <= HCY_SOLVER_SPLIT_BREGMAN; method++)
        for (int k = 0; k < (method == HCY_SOLVER_CG ? 2 : 1); k++) {
            hcy_array *a = array_on(dev, HCY_FLOAT64, 2, 2, 2, numbers[k]);
            hcy_operator *op = NULL;
            hcy_solver *solver = NULL;
            hcy_solver_options o = options_of(method, 0);
            int status = hcy_operator_matrix(&op, a);
            status = cts_first(status, hcy_solver_create(&solver, queue, op, &o));
            status = cts_first(status, hcy_solver_start(solver, b, NULL));
            for (int i = 0; i < 2; i++) {
                status = cts_first(status, hcy_solver_run(solver, 2 + 3 * i));
                read_result(after[i], queue, solver);
            }
            st_ok(status, "%s where directions have no product", info_of(solver).method);
            ok(!memcmp(after[0], after[1], sizeof after[0]) && isfinite(creal(after[1][1])), "x stays");
            ok(k || (after[1][0] == 0 && after[1][1] == 0), "at 0 for a matrix of 0");
            hcy_solver_destroy(solver);
            hcy_operator_release(op);
            hcy_array_release(a);
        }
    hcy_array_release(b);
}

/* `matrix` of so many rows and `data`: `more` steps after the third one leave x where that has led. */
static void goes_on(int method, int single, int rows, int more, const char *what)
{
    static double complex soon[COLUMNS];
    const int dtype = single ? HCY_FLOAT32 : HCY_FLOAT64;
    hcy_array *a = array_on(dev, dtype, 2, rows, COLUMNS, matrix[0]);
    hcy_array *b = array_on(dev, dtype, 1, rows, 0, data);
    hcy_operator *op = NULL;
    hcy_solver *solver = NULL;
    hcy_solver_options o = options_of(method, 0);
    double off = 0, size = 0;
    o.max_iterations = 1000;
    int status = hcy_operator_matrix(&op, a);
    status = cts_first(status, hcy_solver_create(&solver, queue, op, &o));
    status = cts_first(status, hcy_solver_start(solver, b, NULL));
    status = cts_first(status, hcy_solver_run(solver, 3));
    read_result(soon, queue, solver);
    status = cts_first(status, hcy_solver_run(solver, more));
    read_result(got, queue, solver);
    for (int i = 0; i < COLUMNS; i++) {
        off = fmax(off, cabs(got[i] - soon[i]));
        size = fmax(size, cabs(soon[i]));
    }
    st_ok(status, "%s %s goes on", info_of(solver).method, what);
    ok(size > 0 && off <= (single ? 1e-3 : 1e-8) * size, "%s and stays where three steps led: off by %.1e of %.1e",
       hcy_dtype_name(dtype), off, size);
    hcy_solver_destroy(solver);
    hcy_operator_release(op);
    hcy_array_release(a);
    hcy_array_release(b);
}

/* A matrix of rank 3, exact in both types: steps beyond the solution go along what it takes to 0, unless x stays. */
static void test_low_rank(void)
{
    uint64_t seed = 11;
    double left[ROWS][3], right[3][COLUMNS];
    for (int i = 0; i < ROWS * 3; i++)
        left[i / 3][i % 3] = (double)(cts_random(&seed) % 17) - 8;
    for (int i = 0; i < 3 * COLUMNS; i++)
        right[i / COLUMNS][i % COLUMNS] = (double)(cts_random(&seed) % 17) - 8;
    for (int i = 0; i < ROWS; i++) {
        data[i] = next_number(&seed, HCY_FLOAT64);
        for (int j = 0; j < COLUMNS; j++)
            matrix[i][j] = left[i][0] * right[0][j] + left[i][1] * right[1][j] + left[i][2] * right[2][j];
    }
    for (int method = HCY_SOLVER_CG_NORMAL; method <= HCY_SOLVER_LSMR; method++)
        for (int single = 0; single < 2; single++)
            goes_on(method, single, ROWS, 200, "of rank 3");
}

/* Square matrices of rank 3 with data in their range: without a tolerance steps that rounding alone is left for would
 * lead along what A takes to 0, to any length. */
static void test_singular(void)
{
    uint64_t seed = 11;
    double left[COLUMNS][3], right[3][COLUMNS];
    for (int method = HCY_SOLVER_CG; method <= HCY_SOLVER_BICGSTAB; method += HCY_SOLVER_BICGSTAB - HCY_SOLVER_CG)
        for (int single = 0; single < 2; single++) {
            for (int i = 0; i < COLUMNS * 3; i++) {
                right[i / COLUMNS][i % COLUMNS] = (double)(cts_random(&seed) % 17) - 8;
                left[i % COLUMNS][i / COLUMNS] =
                    method == HCY_SOLVER_CG ? right[i / COLUMNS][i % COLUMNS] : (double)(cts_random(&seed) % 17) - 8;
            }
            for (int i = 0; i < COLUMNS; i++) {
                data[i] = 0;
                for (int j = 0; j < COLUMNS; j++) {
                    matrix[i][j] = left[i][0] * right[0][j] + left[i][1] * right[1][j] + left[i][2] * right[2][j];
                    data[i] += matrix[i][j] * (j % 5 - 1.75);
                }
            }
            goes_on(method, single, COLUMNS, 900, "of a singular matrix");
        }
}

/* --- Bits, memory --- */

static void test_bits(void)
{
    static const char *const specs[] = { "cpu@threads=1", "cpu@threads=3@simd=portable",
                                         "cpu@threads=2@discrete=1" };
    static double complex here[COLUMNS], there[COLUMNS];
    hcy_solver_options o = options_of(HCY_SOLVER_CG_NORMAL, 0.25);
    struct problem p;
    start_problem(&p, dev, queue, &o, NULL);
    st_ok(hcy_solver_run(p.solver, 10), "CG on a dense matrix");
    read_result(here, queue, p.solver);
    free_problem(&p);
    for (int i = 0; i < 3; i++) {
        hcy_device *other = cts_open_spec(specs[i]);
        hcy_queue *q = cts_queue(other);
        start_problem(&p, other, q, &o, NULL);
        st_ok(hcy_solver_run(p.solver, 10), "on %s", specs[i]);
        read_result(there, q, p.solver);
        ok(!memcmp(here, there, sizeof here), "has the same bits on %s", specs[i]);
        free_problem(&p);
        hcy_queue_release(q);
        hcy_device_release(other);
    }
}

static void test_memory(void)
{
    for (int method = HCY_SOLVER_CG_NORMAL; method <= HCY_SOLVER_SPLIT_BREGMAN; method++) {
        hcy_solver_options o = options_of(method, 0.5);
        hcy_pool_stats before, after;
        struct problem p;
        int status = 0;
        if (method == HCY_SOLVER_BICGSTAB || passes_over(method))
            continue;
        start_problem(&p, dev, queue, &o, NULL);
        for (int i = 0; i < 12; i++) {
            status = cts_first(status, hcy_solver_step(p.solver));
            status = cts_first(status, hcy_queue_finish(queue));
            if (i == 2)
                status = cts_first(status, hcy_device_pool_stats(&before, dev));
        }
        status = cts_first(status, hcy_device_pool_stats(&after, dev));
        st_ok(status, "%s steps", info_of(p.solver).method);
        is_int((intmax_t)after.misses, (intmax_t)before.misses, "and takes no memory from the device for it");
        free_problem(&p);
    }
}

/* A start and steps on a queue that is held: none of them waits for what the device computes. */
static void test_asynchrony(void)
{
    static double complex free_one[COLUMNS], held[COLUMNS];
    for (int method = HCY_SOLVER_CG_NORMAL; method <= HCY_SOLVER_SPLIT_BREGMAN; method++) {
        hcy_solver_options o = options_of(method, 0.5);
        hcy_queue *q = cts_queue(dev);
        struct problem p;
        if (method == HCY_SOLVER_BICGSTAB || passes_over(method)) {
            hcy_queue_release(q);
            continue;
        }
        o.step = 0.01;
        start_problem(&p, dev, q, &o, NULL);
        int status = hcy_solver_run(p.solver, 4);
        read_result(free_one, q, p.solver);
        /* All that is compiled was compiled above. */
        struct cts_gate *gate = cts_gate_new();
        const char *name = info_of(p.solver).method;
        if (cts_gate_hold(gate, q)) {
            status = cts_first(status, hcy_solver_start(p.solver, p.b, NULL));
            status = cts_first(status, hcy_solver_run(p.solver, 4));
            ok(!cts_gate_expired(gate), "%s does not wait", name);
            cts_gate_open(gate);
            read_result(held, q, p.solver);
            st_ok(status, "what waited runs");
            ok(!memcmp(free_one, held, sizeof held), "to the same result");
        } else
            skip(1, CTS_GATE_SKIP);
        cts_gate_free(gate);
        free_problem(&p);
        hcy_queue_release(q);
    }
}

/* --- Vectors of two processes that hold the same: every sum is twice what it is here --- */

static int totals;
static int double_sum(hcy_queue *q, hcy_array *sum, void *user)
{
    totals += *(int *)user;
    return HCY_EVAL(q, "sum *= 2", hcy_op_array("sum", sum));
}
static int weigh(hcy_queue *q, hcy_array *y, void *user, hcy_array *x)
{
    (void)user;
    return HCY_EVAL(q, "y = (index + 1) * x", hcy_op_array("y", y), hcy_op_array("x", x));
}
static void test_vectors(void)
{
    static int one = 1;
    static hcy_vectors table = HCY_VECTORS_INIT;
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_operator *op = NULL;
    hcy_solver *solver = NULL;
    hcy_solver_options o = options_of(HCY_SOLVER_CGLS, 0);
    double complex ones[COLUMNS];
    double first[2] = { 0, 0 }, mismatch = 1, norm = 0;
    size_t n = 0, wrong = 0;
    table.total = double_sum;
    table.user = &one;
    desc.domain = desc.range = space_of(HCY_FLOAT64, COLUMNS);
    desc.domain.vectors = desc.range.vectors = &table;
    desc.apply = desc.adjoint = weigh;
    for (int i = 0; i < COLUMNS; i++)
        ones[i] = 1;
    hcy_array *b = array_on(dev, HCY_FLOAT64, 1, COLUMNS, 0, ones);
    st_ok(hcy_operator_create(&op, dev, &desc), "an operator of distributed vectors");
    st_ok(hcy_operator_dot_test(&mismatch, queue, op, 3, 1), "its dot test");
    ok(mismatch < 1e-14 && totals == 18, "asks for sums over all processes");
    st_ok(hcy_operator_norm(&norm, queue, op, 200, 1), "its norm");
    is_near(norm, COLUMNS, 1e-6, 0, "is the largest weight");
    double others[3] = { 0 };
    for (int i = 0; i < 3; i++)
        wrong += hcy_operator_norm(&others[i], queue, op, 1,
                                   (const uint64_t[]){ 2, 3, 2 | UINT64_C(1) << 63 }[i]) != 0;
    ok(!wrong && others[0] != others[1] && others[0] != others[2], "every bit of a seed makes others");
    st_ok(hcy_solver_create(&solver, queue, op, &o), "a solver");
    st_ok(hcy_solver_start(solver, b, NULL), "starts");
    st_ok(hcy_solver_run(solver, 15), "runs");
    read_result(got, queue, solver);
    for (int i = 0; i < COLUMNS; i++)
        wrong += cabs(got[i] - 1.0 / (i + 1)) > 1e-10;
    is_int((intmax_t)wrong, 0, "and solves");
    st_ok(hcy_solver_residuals(first, &n, 1, solver), "its residuals");
    /* A^H b is 1 to COLUMNS, in both processes. */
    is_near(first[0], sqrt(2.0 * COLUMNS * (COLUMNS + 1) * (2 * COLUMNS + 1) / 6), 1e-14, 0,
            "are those of all");
    hcy_solver_destroy(solver);
    /* Regularisers know nothing of it, their solvers' sums do. */
    for (o.method = HCY_SOLVER_PRIMAL_DUAL; o.method <= HCY_SOLVER_ADMM; o.method++) {
        int status = 0, before = totals;
        o.l1 = 0.25;
        o.max_iterations = 3000;
        solver = NULL;
        status = cts_first(status, hcy_solver_create(&solver, queue, op, &o));
        status = cts_first(status, hcy_solver_start(solver, b, NULL));
        status = cts_first(status, hcy_solver_run(solver, o.method == HCY_SOLVER_ADMM ? 300 : 3000));
        st_ok(status, "%s of distributed vectors", info_of(solver).method);
        read_result(got, queue, solver);
        wrong = 0;
        for (int i = 0; i < COLUMNS; i++)
            wrong += cabs(got[i] - (i + 0.75) / ((i + 1.0) * (i + 1))) > 1e-4;
        is_int((intmax_t)wrong, 0, "finds the minimum");
        ok(totals > before + 300, "with sums over all processes");
        hcy_solver_destroy(solver);
    }
    hcy_operator_release(op);
    hcy_array_release(b);
}

/* --- An image from samples of its transform at random places --- */

static void test_image(void)
{
    enum { SIDE = 12, POINTS = 500 };
    static double places[2][POINTS];
    static double complex image[SIDE * SIDE];
    uint64_t seed = 11;
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft *plan = NULL;
    hcy_operator *op = NULL;
    hcy_solver *solver = NULL;
    hcy_solver_options o = options_of(HCY_SOLVER_CG_NORMAL, 0);
    hcy_array *x = NULL, *b = NULL;
    for (int j = 0; j < POINTS; j++)
        for (int d = 0; d < 2; d++)
            places[d][j] = (double)(int64_t)cts_random(&seed) / 0x1p63 * 3.14159;
    for (int i = 0; i < SIDE * SIDE; i++)
        image[i] = next_number(&seed, HCY_COMPLEX128);
    desc.type = 2;
    desc.dim = 2;
    desc.modes[0] = desc.modes[1] = SIDE;
    desc.eps = 1e-12;
    int status = hcy_nufft_create(&plan, dev, &desc, NULL);
    if (status == HCY_EUNSUPPORTED) {
        skip(1, "%s", hcy_last_error()->text);
        return;
    }
    status = cts_first(status,
                       hcy_nufft_set_points(plan, POINTS, (const void *[]){ places[0], places[1] }, 0, NULL));
    status = cts_first(status, hcy_operator_nufft(&op, plan));
    x = array_on(dev, HCY_COMPLEX128, 2, SIDE, SIDE, image);
    status = cts_first(status, hcy_array_empty(&b, dev, HCY_COMPLEX128, 1, (int64_t[]){ POINTS }));
    status = cts_first(status, hcy_operator_apply(queue, b, op, x));
    o.tolerance = 1e-11;
    status = cts_first(status, hcy_solver_create(&solver, queue, op, &o));
    status = cts_first(status, hcy_solver_start(solver, b, NULL));
    status = cts_first(status, hcy_solver_run(solver, 200));
    st_ok(status, "CG on a NUFFT's normal equations");
    double off = 0;
    read_result(got, queue, solver);
    for (int i = 0; i < SIDE * SIDE; i++)
        off = fmax(off, cabs(got[i] - image[i]));
    ok(off < 1e-8 && info_of(solver).reason == HCY_SOLVER_TOLERANCE, "finds the image");
    if (!(off < 1e-8))
        diag("off by %g after %lld iterations", off, (long long)info_of(solver).iterations);
    hcy_solver_destroy(solver);
    hcy_operator_release(op);
    (void)!hcy_queue_finish(queue);
    hcy_nufft_destroy(plan);
    hcy_array_release(x);
    hcy_array_release(b);
}

/* --- What is refused --- */

static void test_refusals(void)
{
    struct problem p;
    make_problem(&p, dev, HCY_FLOAT64, ROWS);
    hcy_solver *s = NULL;
    hcy_solver_options o = options_of(99, 0);
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "no method", "no method");
    o = options_of(HCY_SOLVER_CG, 0);
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "domain is their range",
            "CG of a matrix that is not square");
    o = options_of(HCY_SOLVER_CGLS, -1);
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "l2", "a negative l2");
    o = options_of(HCY_SOLVER_CGLS, NAN);
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "l2", "an l2 that is no number");
    o = options_of(HCY_SOLVER_BICGSTAB, 1);
    st_says(hcy_solver_create(&s, queue, p.gram, &o), HCY_EINVAL, "no l2", "BiCGSTAB with l2");
    o = options_of(HCY_SOLVER_LSQR, 0);
    o.l1 = 1;
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "no l1", "LSQR with l1");
    o.l1 = 0;
    o.check_every = 0;
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "a look every 0", "no looks at all");
    o.check_every = 1;
    o.tolerance = INFINITY;
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "finite", "a tolerance without end");
    o.tolerance = 0;
    o.max_iterations = INT64_MAX;
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_ERANGE, "can be counted", "iterations without end");
    o.max_iterations = 5;
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_operator *one_way = NULL;
    desc.domain = desc.range = space_of(HCY_FLOAT64, COLUMNS);
    desc.apply = weigh;
    o.check_every = 1;
    st_ok(hcy_operator_create(&one_way, dev, &desc), "an operator without an adjoint");
    st_says(hcy_solver_create(&s, queue, one_way, &o), HCY_EUNSUPPORTED, "needs an adjoint",
            "LSQR wants one");
    o.method = HCY_SOLVER_BICGSTAB;
    st_ok(hcy_solver_create(&s, queue, one_way, &o), "BiCGSTAB does not");
    hcy_array *x = NULL;
    st_ok(hcy_solver_get_x(&x, s), "its x");
    st_says(hcy_solver_start(s, x, NULL), HCY_EINVAL, "own x", "is no data for it: a start writes it over");
    hcy_array_release(x);
    hcy_solver_destroy(s);
    hcy_operator_release(one_way);
    st_ok(hcy_solver_create(&s, queue, p.a, NULL), "NULL are the defaults");
    st_says(hcy_solver_step(s), HCY_ESTATE, "not started", "a step before the start");
    double complex zeros[ROWS] = { 0 };
    hcy_array *floats = array_on(dev, HCY_FLOAT32, 1, ROWS, 0, zeros),
              *few = array_on(dev, HCY_FLOAT64, 1, 3, 0, zeros);
    st_says(hcy_solver_start(s, floats, NULL), HCY_EINVAL, "the data is float32", "data of another type");
    st_says(hcy_solver_start(s, p.b, few), HCY_EINVAL, "the start is float64 (3,)",
            "a start of another shape");
    st_ok(hcy_solver_start(s, p.b, NULL), "a right start");
    st_says(hcy_solver_start(s, floats, NULL), HCY_EINVAL, "float32", "and a refused one after it");
    st_ok(hcy_solver_step(s), "which ends nothing");
    hcy_array_release(floats);
    hcy_array_release(few);
    hcy_solver_destroy(s);
    free_problem(&p);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    few = argc > 2 && !strcmp(argv[2], "few");
    dev = cts_open();
    queue = cts_queue(dev);
    test_methods();
    test_sparse();
    test_parts();
    test_stops();
    test_callback();
    if (!few) {
        test_failed_step();
    test_norms();
    test_out_of_range();
    test_breakdowns();
        test_negative_curvature();
        test_scales();
        test_beyond_rounding();
        test_one_step();
        test_found();
        test_no_product();
        test_low_rank();
        test_singular();
    }
    test_bits();
    test_memory();
    test_asynchrony();
    if (!few)
        test_vectors();
    test_image();
    test_refusals();
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
