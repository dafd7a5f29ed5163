/* dist_stacks.c - stacks of operators over ranks: of blocks and of what all ranks have, and stacks in stacks, against
 * matrices that one device has. */
#include "dist_scene.h"

#include <halcyon/solve.h>
#include <stdio.h>

enum { ROWS = 23, OTHERS = 9, COLUMNS = 12, STEPS = 20 };

/* Rows of a matrix in blocks, uneven, none on the first rank of several; of one that all ranks have, not. */
struct rows {
    hcy_dist_layout *layout, *columns;
    hcy_operator *op, *serial;
};

static int make_rows(struct rows *m, int64_t n, int seed, bool dealt)
{
    const int64_t shape[2] = { n, COLUMNS }, columns = COLUMNS;
    int64_t rows[64] = { 0 };
    hcy_dist_layout_info info = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_array *whole = draw_numbers(HCY_FLOAT64, 2, shape, seed), *mine = NULL;
    hcy_operator *own = NULL;
    for (int r = 1; r + 1 < scene.n_ranks; r++)
        rows[r] = 1;
    rows[scene.n_ranks - 1] = scene.n_ranks > 2 ? n - (scene.n_ranks - 2) : n;
    int status = dealt ? hcy_dist_layout_blocks(&m->layout, scene.comm, 1, &n, 0, rows)
                       : hcy_dist_layout_replicated(&m->layout, scene.comm, 1, &n);
    status = status ? status : hcy_dist_layout_replicated(&m->columns, scene.comm, 1, &columns);
    status = status ? status : hcy_dist_layout_get_info(&info, m->layout);
    status = status ? status
                    : hcy_array_slice(&mine, whole, "%lld:%lld", (long long)info.first,
                                      (long long)(info.first + info.local_shape[0]));
    status = status ? status : hcy_operator_matrix(&own, mine);
    status = status ? status : hcy_operator_matrix(&m->serial, whole);
    status = status ? status : hcy_dist_operator(&m->op, m->layout, m->columns, own);
    hcy_operator_release(own);
    hcy_array_release(mine);
    hcy_array_release(whole);
    return status;
}

static void free_rows(struct rows *m)
{
    hcy_operator_release(m->op);
    hcy_operator_release(m->serial);
    hcy_dist_layout_release(m->layout);
    hcy_dist_layout_release(m->columns);
}

/* Two of blocks and one that all have, in a stack that has a stack in it. */
struct stacks {
    struct rows a, b, c;
    hcy_operator *inner, *outer, *serial; /* [[a, b], c] */
};

static int make_stacks(struct stacks *s)
{
    int status = make_rows(&s->a, ROWS, 3, true);
    status = status ? status : make_rows(&s->b, OTHERS, 5, true);
    status = status ? status : make_rows(&s->c, OTHERS, 7, false);
    status = status ? status : hcy_operator_vstack(&s->inner, (hcy_operator *[]){ s->a.op, s->b.op }, 2);
    status = status ? status : hcy_operator_vstack(&s->outer, (hcy_operator *[]){ s->inner, s->c.op }, 2);
    return status ? status
                  : hcy_operator_vstack(&s->serial, (hcy_operator *[]){ s->a.serial, s->b.serial, s->c.serial }, 3);
}

static void free_stacks(struct stacks *s)
{
    hcy_operator_release(s->outer);
    hcy_operator_release(s->inner);
    hcy_operator_release(s->serial);
    free_rows(&s->a);
    free_rows(&s->b);
    free_rows(&s->c);
}

static hcy_array *new_vector(const hcy_space *space)
{
    hcy_array *v = NULL;
    if (hcy_array_empty(&v, scene.dev, space->dtype, space->rank, space->shape))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return v;
}

static hcy_operator_info info_of(const hcy_operator *op)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    if (hcy_operator_get_info(&info, op))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return info;
}

/* A^H A x of the stack, and |A x|^2 by its own sums. */
static void test_products(const struct stacks *s)
{
    const hcy_operator_info of = info_of(s->outer), one = info_of(s->serial);
    hcy_array *x = draw_numbers(HCY_FLOAT64, 1, of.domain.shape, 11), *y = new_vector(&of.range),
              *back = new_vector(&of.domain), *all = new_vector(&one.range), *want = new_vector(&one.domain),
              *sum = NULL, *other = NULL;
    bool right = !hcy_operator_apply(scene.queue, y, s->outer, x) &&
                 !hcy_operator_apply_adjoint(scene.queue, back, s->outer, y) &&
                 !hcy_operator_apply(scene.queue, all, s->serial, x) &&
                 !hcy_operator_apply_adjoint(scene.queue, want, s->serial, all);
    every(right && apart(back, want) < 1e-14, "a stack of stacks, there and back: that of one device");
    right = right && of.range.vectors && !hcy_array_empty(&sum, scene.dev, HCY_FLOAT64, 0, NULL) &&
            !hcy_array_empty(&other, scene.dev, HCY_FLOAT64, 0, NULL) &&
            !of.range.vectors->dot(scene.queue, sum, of.range.vectors->user, y, y) &&
            !HCY_EVAL(scene.queue, "s = dot(x, x)", hcy_op_array("s", other), hcy_op_array("x", all));
    every(right && apart(sum, other) < 1e-14, "... its sums count what all ranks have once");
    hcy_array *const arrays[] = { x, y, back, all, want, sum, other };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        hcy_array_release(arrays[i]);
}

static void test_dot_tests(const struct stacks *s)
{
    hcy_operator *wide = NULL, *diagonal = NULL, *weights = NULL, *chain = NULL, *wrong = NULL, *narrow = NULL;
    const hcy_operator_info of = info_of(s->inner);
    every(mismatch_of(s->inner) < 1e-13 && mismatch_of(s->outer) < 1e-13, "the dot test of a stack, and of a stack in one");
    bool right = !hcy_operator_adjoint(&wide, s->outer);
    every(right && mismatch_of(wide) < 1e-13, "... of its adjoint, which is side by side");
    right = right && !hcy_operator_block_diagonal(&diagonal, (hcy_operator *[]){ s->inner, s->c.op }, 2);
    every(right && mismatch_of(diagonal) < 1e-13, "... of blocks, one of them a stack");
    /* Another stack of the same spaces. */
    right = right && !hcy_operator_vstack(&narrow, (hcy_operator *[]){ s->a.op, s->b.op }, 2) &&
            !hcy_operator_identity(&weights, scene.dev, &of.range) &&
            !hcy_operator_compose(&chain, (hcy_operator *[]){ weights, narrow }, 2);
    every(right && mismatch_of(chain) < 1e-13, "... of a chain of two stacks that were made by themselves");
    every(hcy_operator_sum(&wrong, (hcy_operator *[]){ s->inner, s->c.op }, 2) == HCY_EINVAL && !wrong,
          "stacks of other parts are other spaces");
    hcy_operator *const ops[] = { wide, diagonal, weights, chain, narrow };
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        hcy_operator_release(ops[i]);
}

static int solve(hcy_array **x, hcy_operator *op, hcy_array *b, int method, double l2)
{
    hcy_solver *solver = NULL;
    hcy_solver_options options = HCY_SOLVER_OPTIONS_INIT;
    options.method = method;
    options.l2 = l2;
    int status = hcy_solver_create(&solver, scene.queue, op, &options);
    status = status ? status : hcy_solver_start(solver, b, NULL);
    status = status ? status : hcy_solver_run(solver, STEPS);
    status = status ? status : hcy_solver_get_x(x, solver);
    hcy_solver_destroy(solver);
    return status;
}

/* Data of A 1, and of another vector in what all ranks have: a solution that fits neither. */
static void test_solvers(const struct stacks *s)
{
    static const int methods[] = { HCY_SOLVER_CGLS, HCY_SOLVER_LSQR, HCY_SOLVER_LSMR };
    const hcy_operator_info of = info_of(s->outer), one = info_of(s->serial);
    hcy_array *ones = draw_numbers(HCY_FLOAT64, 1, of.domain.shape, 2), *b = new_vector(&of.range),
              *all = new_vector(&one.range);
    bool right = !hcy_operator_apply(scene.queue, b, s->outer, ones) &&
                 !hcy_operator_apply(scene.queue, all, s->serial, ones) &&
                 !HCY_EVAL(scene.queue, "b = b + 1", hcy_op_array("b", b)) &&
                 !HCY_EVAL(scene.queue, "b = b + 1", hcy_op_array("b", all));
    for (size_t i = 0; right && i < sizeof methods / sizeof methods[0]; i++) {
        hcy_array *x = NULL, *want = NULL;
        const bool solved = !solve(&x, s->outer, b, methods[i], 0.1) && !solve(&want, s->serial, all, methods[i], 0.1);
        every(solved && apart(x, want) < 1e-12, "method %d on a stack of stacks: that of one device", methods[i]);
        hcy_array_release(x);
        hcy_array_release(want);
    }
    hcy_array_release(ones);
    hcy_array_release(b);
    hcy_array_release(all);
}

/* A regulariser of a stack's vectors, whose stack is released, in a solver with another stack of the same parts. */
static void test_regulariser(const struct stacks *s)
{
    hcy_operator *first = NULL, *again = NULL, *wide = NULL;
    hcy_proximal *l1 = NULL;
    hcy_solver *solver = NULL;
    hcy_solver_options options = HCY_SOLVER_OPTIONS_INIT;
    int status = hcy_operator_vstack(&first, (hcy_operator *[]){ s->a.op, s->b.op }, 2);
    status = status ? status : hcy_operator_vstack(&again, (hcy_operator *[]){ s->a.op, s->b.op }, 2);
    status = status ? status : hcy_operator_adjoint(&wide, again);
    const hcy_operator_info of = status ? (hcy_operator_info)HCY_OPERATOR_INFO_INIT : info_of(first);
    status = status ? status : hcy_proximal_l1(&l1, scene.dev, &of.range, 0.1);
    hcy_operator_release(first);
    options.method = HCY_SOLVER_FISTA;
    options.proximals = (hcy_proximal *[]){ l1 };
    options.n_proximals = 1;
    status = status ? status : hcy_solver_create(&solver, scene.queue, wide, &options);
    every(!status, "a regulariser keeps what its stack's vectors are");
    hcy_solver_destroy(solver);
    hcy_proximal_release(l1);
    hcy_operator_release(wide);
    hcy_operator_release(again);
}

void test_stacks(void)
{
    struct stacks s = { .inner = NULL };
    if (!every(!make_stacks(&s), "stacks of operators over ranks are made")) {
        free_stacks(&s);
        return;
    }
    test_products(&s);
    test_dot_tests(&s);
    test_solvers(&s);
    test_regulariser(&s);
    free_stacks(&s);
}
