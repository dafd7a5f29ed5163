/* Operators over ranks: the dot test, products of one device, solvers that know nothing of ranks. */
#include "dist_scene.h"

#include <halcyon/solve.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 37, COLUMNS = 12 };

static hcy_array *make_matrix(int dtype, int64_t rows, int64_t columns, int64_t first)
{
    hcy_array *matrix = NULL;
    const char *text = dtype == HCY_COMPLEX128 ? "a = complex(normal(3, index + n), normal(4, index + n))"
                                               : "a = normal(3, index + n)";
    if (hcy_array_empty(&matrix, scene.dev, dtype, 2, (int64_t[]){ rows, columns }) ||
        HCY_EVAL(scene.queue, text, hcy_op_array("a", matrix), hcy_op_integer("n", first * columns)))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return matrix;
}

static hcy_array *make_vector(int dtype, int64_t n, double value)
{
    hcy_array *x = NULL;
    if (hcy_array_full(&x, scene.queue, dtype, 1, &n, value))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return x;
}

/* The largest difference of two arrays of float64 over the largest number of the second. */
static double distance(hcy_array *a, hcy_array *b)
{
    hcy_array *d = make_vector(HCY_FLOAT64, 1, 0);
    double value = -1;
    if (HCY_EVAL(scene.queue, "d = max(abs(a - b)) / max(abs(b))", hcy_op_array("d", d), hcy_op_array("a", a),
                 hcy_op_array("b", b)) ||
        hcy_array_to_host(&value, scene.queue, d))
        value = 1e300;
    hcy_array_release(d);
    return value;
}

/* Rows of the whole matrix as a stack: its rows uneven, none on the first rank. */
static hcy_dist_layout *make_rows(int64_t n)
{
    hcy_dist_layout *layout = NULL;
    int64_t rows[64] = { 0 };
    for (int r = 1; r < scene.n_ranks; r++)
        rows[r] = n / (2 * scene.n_ranks);
    rows[scene.n_ranks - 1] += n;
    for (int r = 0; r < scene.n_ranks; r++)
        rows[scene.n_ranks - 1] -= r ? n / (2 * scene.n_ranks) : 0;
    if (hcy_dist_layout_blocks(&layout, scene.comm, 1, &n, 0, rows))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return layout;
}

struct stack {
    hcy_dist_layout *rows, *all;
    hcy_array *matrix, *whole;
    hcy_operator *own, *op, *serial;
};

static bool make_stack(struct stack *s, int dtype)
{
    const int64_t columns = COLUMNS;
    hcy_dist_layout_info info = HCY_DIST_LAYOUT_INFO_INIT;
    *s = (struct stack){ .rows = make_rows(ROWS) };
    if (!s->rows || hcy_dist_layout_get_info(&info, s->rows) ||
        hcy_dist_layout_replicated(&s->all, scene.comm, 1, &columns))
        return false;
    s->matrix = make_matrix(dtype, info.local_shape[0], COLUMNS, info.first);
    s->whole = make_matrix(dtype, ROWS, COLUMNS, 0);
    return !hcy_operator_matrix(&s->own, s->matrix) && !hcy_operator_matrix(&s->serial, s->whole) &&
           !hcy_dist_operator(&s->op, s->rows, s->all, s->own);
}

static void free_stack(struct stack *s)
{
    hcy_operator_release(s->op);
    hcy_operator_release(s->own);
    hcy_operator_release(s->serial);
    hcy_array_release(s->matrix);
    hcy_array_release(s->whole);
    hcy_dist_layout_release(s->rows);
    hcy_dist_layout_release(s->all);
}

static void test_products(void)
{
    struct stack s;
    bool right = make_stack(&s, HCY_FLOAT64);
    hcy_array *x = make_vector(HCY_FLOAT64, COLUMNS, 1.5), *y = NULL,
              *all = make_vector(HCY_FLOAT64, ROWS, 0), *want = make_vector(HCY_FLOAT64, ROWS, 0),
              *back = make_vector(HCY_FLOAT64, COLUMNS, 0),
              *wanted_back = make_vector(HCY_FLOAT64, COLUMNS, 0);
    every(right && !hcy_dist_array(&y, scene.dev, s.rows, HCY_FLOAT64) &&
              !hcy_operator_apply(scene.queue, y, s.op, x) &&
              !hcy_dist_gather(scene.queue, all, s.rows, y, -1) &&
              !hcy_operator_apply(scene.queue, want, s.serial, x) && distance(all, want) == 0,
          "a stack of rows: the product of one device");
    every(right && !hcy_operator_apply_adjoint(scene.queue, back, s.op, y) &&
              !hcy_operator_apply_adjoint(scene.queue, wanted_back, s.serial, want) &&
              distance(back, wanted_back) < 1e-14,
          "... and its adjoint's");
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(all);
    hcy_array_release(want);
    hcy_array_release(back);
    hcy_array_release(wanted_back);
    free_stack(&s);
}

static void test_dot_tests(int dtype)
{
    struct stack s;
    hcy_operator *columns = NULL, *transposed = NULL, *diagonal = NULL, *square = NULL, *normal = NULL,
                 *cubed = NULL, *wide = NULL, *real = NULL;
    hcy_space space;
    const char *name = hcy_dtype_name(dtype);
    bool right = make_stack(&s, dtype);
    every(right && mismatch_of(s.op) < 1e-13, "%s: the dot test of a stack of rows", name);
    right = right && !hcy_operator_adjoint(&transposed, s.own) &&
            !hcy_dist_operator(&columns, s.all, s.rows, transposed);
    every(right && mismatch_of(columns) < 1e-13, "%s: ... of a stack of columns", name);
    right = right && !hcy_dist_space(&space, s.rows, dtype);
    space.vectors = NULL;
    right = right && !hcy_operator_identity(&square, scene.dev, &space) &&
            !hcy_operator_scale(&diagonal, square, scene.rank + 2, 0);
    hcy_operator_release(square);
    square = NULL;
    right = right && !hcy_dist_operator(&square, s.rows, s.rows, diagonal);
    every(right && mismatch_of(square) < 1e-13, "%s: ... of a block diagonal", name);
    right = right && !hcy_operator_compose(&normal, (hcy_operator *[]){ columns, square, s.op }, 3);
    every(right && mismatch_of(normal) < 1e-13, "%s: ... of all three in a chain", name);
    right = right && !hcy_operator_compose(&cubed, (hcy_operator *[]){ square, square, square }, 3);
    every(right && mismatch_of(cubed) < 1e-13, "%s: ... of a block diagonal to the power of three", name);
    if (dtype == HCY_FLOAT64) {
        right = right && !hcy_dist_space(&space, s.rows, dtype) && !hcy_operator_complex(&wide, scene.dev, &space) &&
                !hcy_operator_adjoint(&real, wide);
        every(right && mismatch_of(wide) < 1e-13 && mismatch_of(real) < 1e-13, "%s: ... of the real part", name);
    }
    hcy_operator_release(real);
    hcy_operator_release(wide);
    hcy_operator_release(cubed);
    hcy_operator_release(normal);
    hcy_operator_release(square);
    hcy_operator_release(diagonal);
    hcy_operator_release(columns);
    hcy_operator_release(transposed);
    free_stack(&s);
}

/* An adjoint that forgets to add up over the ranks. */
static int apply_right(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return hcy_operator_apply(queue, y, user, x);
}

static int adjoint_wrong(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return hcy_operator_apply_adjoint(queue, x, user, y);
}

static void test_wrong_adjoint(void)
{
    struct stack s;
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_operator *wrong = NULL;
    bool right = make_stack(&s, HCY_FLOAT64) && !hcy_dist_space(&desc.range, s.rows, HCY_FLOAT64) &&
                 !hcy_dist_space(&desc.domain, s.all, HCY_FLOAT64);
    desc.apply = apply_right;
    desc.adjoint = adjoint_wrong;
    desc.user = s.own;
    right = right && !hcy_operator_create(&wrong, scene.dev, &desc);
    double mismatch = right ? mismatch_of(wrong) : 0;
    /* One rank has all rows where two have none on the first. */
    every(right && (scene.n_ranks > 2 ? mismatch > 1e-3 : mismatch < 1e300),
          "an adjoint that adds nothing up is caught");
    hcy_operator_release(wrong);
    free_stack(&s);
}

static bool solve_it(hcy_array *x, int method, hcy_operator *op, hcy_array *b)
{
    hcy_solver *solver = NULL;
    hcy_solver_options options = HCY_SOLVER_OPTIONS_INIT;
    hcy_array *solution = NULL;
    options.method = method;
    options.tolerance = 1e-14;
    bool right = !hcy_solver_create(&solver, scene.queue, op, &options) &&
                 !hcy_solver_start(solver, b, NULL) && !hcy_solver_run(solver, 60) &&
                 !hcy_solver_get_x(&solution, solver) && !hcy_array_copy(scene.queue, x, solution);
    hcy_array_release(solution);
    hcy_solver_destroy(solver);
    if (!right)
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return right;
}

/* The same x on each rank, and that of one device, within rounding of the adjoint's sums. */
static void test_solvers(void)
{
    static const struct {
        const char *name;
        int method;
    } methods[] = { { "cgls", HCY_SOLVER_CGLS },
                    { "lsqr", HCY_SOLVER_LSQR },
                    { "cg of A^H A", HCY_SOLVER_CG_NORMAL } };
    struct stack s;
    bool right = make_stack(&s, HCY_FLOAT64);
    hcy_array *truth = make_vector(HCY_FLOAT64, COLUMNS, 0), *x = make_vector(HCY_FLOAT64, COLUMNS, 0),
              *b = NULL, *b_all = make_vector(HCY_FLOAT64, ROWS, 0);
    right = right && !HCY_EVAL(scene.queue, "x = 1 + index", hcy_op_array("x", truth)) &&
            !hcy_dist_array(&b, scene.dev, s.rows, HCY_FLOAT64) &&
            !hcy_operator_apply(scene.queue, b, s.op, truth);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        every(right && solve_it(x, methods[i].method, s.op, b) && distance(x, truth) < 1e-10,
              "%s over ranks finds x", methods[i].name);
        double mine[COLUMNS], root[COLUMNS];
        bool read = !hcy_array_to_host(mine, scene.queue, x);
        memcpy(root, mine, sizeof root);
        every(read && !hcy_dist_broadcast_host(root, scene.comm, sizeof root, 0) &&
                  !memcmp(mine, root, sizeof root),
              "... the same bits on each rank");
    }
    hcy_array_release(b_all);
    hcy_array_release(b);
    hcy_array_release(x);
    hcy_array_release(truth);
    free_stack(&s);
}

/* Unknowns in blocks: CG on a block diagonal, whose every number of the host's has to be that of all ranks. */
static void test_blocks_solver(void)
{
    hcy_dist_layout *rows = make_rows(50);
    hcy_dist_layout_info info = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_space space = { 0 };
    hcy_operator *own = NULL, *op = NULL;
    hcy_array *weights = NULL, *b = NULL, *x = NULL, *sum = make_vector(HCY_FLOAT64, 1, 0);
    double error = 1;
    bool right = rows && !hcy_dist_layout_get_info(&info, rows) &&
                 !hcy_dist_space(&space, rows, HCY_FLOAT64) &&
                 !hcy_dist_array(&weights, scene.dev, rows, HCY_FLOAT64) &&
                 !hcy_dist_array(&b, scene.dev, rows, HCY_FLOAT64) &&
                 !hcy_dist_array(&x, scene.dev, rows, HCY_FLOAT64) &&
                 !HCY_EVAL(scene.queue, "w = 1 + index + first; b = w * w", hcy_op_array("w", weights),
                           hcy_op_array("b", b), hcy_op_integer("first", info.first));
    space.vectors = NULL;
    right = right && !hcy_operator_diagonal(&own, &space, weights) &&
            !hcy_dist_operator(&op, rows, rows, own) && solve_it(x, HCY_SOLVER_CG, op, b) &&
            !HCY_EVAL(scene.queue, "x = x - w", hcy_op_array("x", x), hcy_op_array("w", weights)) &&
            !hcy_dist_norm(scene.queue, sum, rows, x) && !hcy_array_to_host(&error, scene.queue, sum);
    every(right && error < 1e-8, "cg of unknowns in blocks, none on one rank");
    hcy_operator_release(op);
    hcy_operator_release(own);
    hcy_array_release(weights);
    hcy_array_release(b);
    hcy_array_release(x);
    hcy_array_release(sum);
    hcy_dist_layout_release(rows);
}

/* --- Ghost rows --- */

enum { LAPLACIAN = 1000, GRADIENT = 2000 };

static int make_differences(hcy_operator **op, hcy_operator **serial, hcy_dist_layout **range,
                            hcy_dist_layout *layout, const hcy_space *space, int axis, int what)
{
    const double factors[2] = { 2, 3 };
    int status;
    if (what == LAPLACIAN) {
        status = hcy_operator_laplacian(serial, scene.dev, space, factors);
        if (!status)
            status = hcy_dist_laplacian(op, scene.dev, layout, HCY_FLOAT64, factors);
    } else if (what > GRADIENT) {
        status = hcy_operator_gradient(serial, scene.dev, space, what - GRADIENT);
        return status ? status
                      : hcy_dist_gradient(op, range, scene.dev, layout, HCY_FLOAT64, what - GRADIENT);
    } else {
        status = hcy_operator_difference(serial, scene.dev, space, axis, what, 1.5);
        if (!status)
            status = hcy_dist_difference(op, scene.dev, layout, HCY_FLOAT64, axis, what, 1.5);
    }
    *range = status ? NULL : hcy_dist_layout_retain(layout);
    return status;
}

/* Numbers of a shape, or the whole of `part`. */
/* Blocks along an axis, some with few rows, one with none: what one device makes, and adjoints of it. */
static void test_difference(int blocks, int axis, int what, bool is_large)
{
    const hcy_space space = { HCY_FLOAT64, 2, { is_large ? 60 : 9, 7 }, NULL };
    /* Of many rows most need no ghosts. */
    int64_t rows[64] = { is_large ? 14 : 1, 0, is_large ? 9 : 2 };
    hcy_dist_layout *layout = NULL, *range = NULL;
    hcy_operator *op = NULL, *serial = NULL;
    rows[scene.n_ranks - 1] = space.shape[blocks];
    for (int r = 0; r + 1 < scene.n_ranks; r++)
        rows[scene.n_ranks - 1] -= rows[r];
    bool right = !hcy_dist_layout_blocks(&layout, scene.comm, 2, space.shape, blocks, rows) &&
                 !make_differences(&op, &serial, &range, layout, &space, axis, what);
    every(right && distance_to_serial(distance, op, serial, range, layout, false) == 0,
          "%d rows, blocks of axis %d, difference %d along axis %d: that of one device", (int)space.shape[0], blocks,
          what, axis);
    every(right && distance_to_serial(distance, op, serial, layout, range, true) == 0,
          "... and its adjoint");
    hcy_operator_release(op);
    hcy_operator_release(serial);
    hcy_dist_layout_release(layout);
    hcy_dist_layout_release(range);
}

/* Ghosts from further than the next rank; the same plan twice. */
static void test_halo(void)
{
    const int64_t n = 11;
    int64_t rows[64] = { 2, 1, 0 };
    hcy_dist_layout *layout = NULL, *padded = NULL;
    hcy_dist_layout_info info = HCY_DIST_LAYOUT_INFO_INIT, around = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_operator *op = NULL, *none = NULL;
    hcy_array *x = NULL, *y = NULL, *wrong = make_vector(HCY_FLOAT64, 1, 0);
    double count = 1;
    rows[scene.n_ranks - 1] = n;
    for (int r = 0; r + 1 < scene.n_ranks; r++)
        rows[scene.n_ranks - 1] -= rows[r];
    bool right = !hcy_dist_layout_blocks(&layout, scene.comm, 1, &n, 0, rows) &&
                 !hcy_dist_halo(&op, &padded, scene.dev, layout, HCY_FLOAT64, 3, 2) &&
                 !hcy_dist_layout_get_info(&info, layout) && !hcy_dist_layout_get_info(&around, padded) &&
                 !hcy_dist_array(&x, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_array(&y, scene.dev, padded, HCY_FLOAT64);
    const int64_t first =
        info.local_shape[0] && info.first < 3 ? 0 : info.first - 3 * (info.local_shape[0] > 0);
    for (int turn = 1; right && turn < 3; turn++)
        right = !HCY_EVAL(scene.queue, "x = t * (index + f)", hcy_op_array("x", x),
                          hcy_op_integer("f", info.first), hcy_op_integer("t", turn)) &&
                !hcy_operator_apply(scene.queue, y, op, x) &&
                !HCY_EVAL(scene.queue, "w = sum(float64(y != t * (index + f)))", hcy_op_array("w", wrong),
                          hcy_op_array("y", y), hcy_op_integer("f", first), hcy_op_integer("t", turn)) &&
                !hcy_array_to_host(&count, scene.queue, wrong) && count == 0;
    every(right, "ghost rows of several ranks, twice");
    every(right && mismatch_of(op) < 1e-13, "... whose adjoint adds them up");
    every(hcy_dist_halo(&none, NULL, scene.dev, layout, HCY_FLOAT64, -1, 0) == HCY_EINVAL,
          "fewer ghosts than none");
    const int dtype = scene.rank ? HCY_FLOAT32 : HCY_FLOAT64;
    every(scene.n_ranks == 1 ||
              (hcy_dist_halo(&none, NULL, scene.dev, layout, dtype, 1, 1) == HCY_EINVAL && !none &&
               hcy_dist_transpose(&none, NULL, scene.dev, layout, dtype, NULL, 0) == HCY_EINVAL && !none &&
               strstr(hcy_last_error()->text, "another type")),
          "... and of other types on other ranks");
    hcy_operator_release(op);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(wrong);
    hcy_dist_layout_release(layout);
    hcy_dist_layout_release(padded);
}

/* A sum over a rank's rows and those around them: what one device has of the whole. */
static void test_crop(int axis)
{
    const int64_t shape[2] = { 11, 13 };
    hcy_dist_layout *layout = NULL, *padded = NULL;
    hcy_operator *halo = NULL, *crop = NULL, *both = NULL, *none = NULL;
    hcy_array *x = draw_numbers(HCY_FLOAT64, 2, shape, 6), *back = draw_numbers(HCY_FLOAT64, 2, shape, 7), *part = NULL,
              *y = NULL, *z = NULL;
    bool right = !hcy_dist_layout_blocks(&layout, scene.comm, 2, shape, axis, NULL) &&
                 !hcy_dist_halo(&halo, &padded, scene.dev, layout, HCY_FLOAT64, 1, 2) && !hcy_dist_crop(&crop, halo) &&
                 !hcy_operator_compose(&both, (hcy_operator *[]){ crop, halo }, 2) &&
                 !hcy_dist_array(&part, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_array(&y, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_array(&z, scene.dev, padded, HCY_FLOAT64) &&
                 !hcy_dist_scatter(scene.queue, part, layout, x, 0) &&
                 !hcy_operator_apply(scene.queue, y, both, part) &&
                 !hcy_dist_gather(scene.queue, back, layout, y, -1);
    every(right && distance(back, x) == 0, "ghost rows that are left out again, axis %d", axis);
    every(right && mismatch_of(crop) < 1e-13 && mismatch_of(both) < 1e-13, "... and the adjoint");
    double rim = 1, inside = 1;
    hcy_array *norm = make_vector(HCY_FLOAT64, 1, 0);
    right = right && !hcy_operator_apply_adjoint(scene.queue, z, crop, part) &&
            !hcy_dist_norm_of(scene.queue, norm, padded, z, 0) && !hcy_array_to_host(&rim, scene.queue, norm) &&
            !hcy_dist_norm_of(scene.queue, norm, layout, part, 0) && !hcy_array_to_host(&inside, scene.queue, norm);
    every(right && rim == inside && inside == 11 * 13, "... which puts zeros around");
    every(hcy_dist_crop(&none, crop) == HCY_EINVAL && !none, "what fetches nothing leaves nothing out");
    hcy_operator_release(halo);
    hcy_operator_release(crop);
    hcy_operator_release(both);
    hcy_array_release(norm);
    hcy_array_release(back);
    hcy_array_release(x);
    hcy_array_release(part);
    hcy_array_release(y);
    hcy_array_release(z);
    hcy_dist_layout_release(layout);
    hcy_dist_layout_release(padded);
}

/* Begun and ended, with a sum over all ranks and commands of one's own between: what the operator makes at once. */
static void test_halo_in_two(int axis)
{
    const int64_t shape[2] = { 13, 9 };
    hcy_dist_layout *layout = NULL, *padded = NULL;
    hcy_operator *op = NULL;
    hcy_array *x = NULL, *y = NULL, *want = NULL, *sum = make_vector(HCY_FLOAT64, 1, 0),
              *wrong = make_vector(HCY_FLOAT64, 1, 0);
    double count = 1, total = 0;
    bool right = !hcy_dist_layout_blocks(&layout, scene.comm, 2, shape, axis, NULL) &&
                 !hcy_dist_halo(&op, &padded, scene.dev, layout, HCY_FLOAT64, 2, 1) &&
                 !hcy_dist_array(&x, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_array(&y, scene.dev, padded, HCY_FLOAT64) &&
                 !hcy_dist_array(&want, scene.dev, padded, HCY_FLOAT64);
    every(right && hcy_dist_halo_end(scene.queue, op) == HCY_ESTATE, "ghost rows that nobody fetches, axis %d", axis);
    for (int turn = 1; right && turn < 4; turn++) {
        right = !HCY_EVAL(scene.queue, "x = t * (index + f)", hcy_op_array("x", x),
                          hcy_op_integer("f", 100 * scene.rank), hcy_op_integer("t", turn)) &&
                !hcy_operator_apply(scene.queue, want, op, x) &&
                !HCY_EVAL(scene.queue, "y = -1", hcy_op_array("y", y)) &&
                !hcy_dist_halo_begin(scene.queue, y, op, x) &&
                hcy_dist_halo_begin(scene.queue, y, op, x) == HCY_ESTATE &&
                !hcy_dist_dot(scene.queue, sum, layout, x, x) && !hcy_array_to_host(&total, scene.queue, sum) &&
                !hcy_dist_halo_end(scene.queue, op) &&
                !HCY_EVAL(scene.queue, "w = sum(float64(y != a))", hcy_op_array("w", wrong), hcy_op_array("y", y),
                          hcy_op_array("a", want)) &&
                !hcy_array_to_host(&count, scene.queue, wrong) && count == 0 && total > 0;
    }
    every(right, "... begun and ended, around a sum, three times");
    hcy_operator_release(op);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(want);
    hcy_array_release(sum);
    hcy_array_release(wrong);
    hcy_dist_layout_release(layout);
    hcy_dist_layout_release(padded);
}

void test_operators(void)
{
    test_halo();
    test_crop(0);
    test_crop(1);
    test_halo_in_two(0);
    test_halo_in_two(1);
    static const int all[] = { HCY_DIFFERENCE_FORWARD,
                               HCY_DIFFERENCE_CENTRED | HCY_DIFFERENCE_EDGES,
                               HCY_DIFFERENCE_SECOND,
                               HCY_DIFFERENCE_CENTRED_5,
                               HCY_DIFFERENCE_SECOND_BACKWARD,
                               HCY_DIFFERENCE_SECOND_5 | HCY_DIFFERENCE_EDGES,
                               LAPLACIAN,
                               GRADIENT + HCY_DIFFERENCE_FORWARD };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        test_difference(0, i == 2, all[i], false);
        test_difference(0, 0, all[i], true);
        test_difference(1, i != 4, all[i], false);
    }
    test_products();
    test_dot_tests(HCY_FLOAT64);
    test_dot_tests(HCY_COMPLEX128);
    test_wrong_adjoint();
    test_solvers();
    test_blocks_solver();
}
