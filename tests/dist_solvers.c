/* Solvers over ranks: every method, with regularisers where it takes some, against the same on one device. */
#include "dist_scene.h"

#include <halcyon/solve.h>
#include <stdio.h>

enum { ROWS = 37, COLUMNS = 12, SIDE = 10, STEPS = 8 };

/* A problem twice: over the ranks, and whole. */
struct problem {
    hcy_operator *op, *serial;
    hcy_proximal *prox, *serial_prox; /* a g(K x) beside l1, or NULL */
    hcy_dist_layout *domain, *range;
};

static void free_problem(struct problem *p)
{
    hcy_proximal_release(p->prox);
    hcy_proximal_release(p->serial_prox);
    hcy_operator_release(p->op);
    hcy_operator_release(p->serial);
    hcy_dist_layout_release(p->domain);
    hcy_dist_layout_release(p->range);
}

/* Few rows for the first ranks, none for one of them. */
static int deal_rows(hcy_dist_layout **layout, int rank, const int64_t *shape)
{
    int64_t rows[64] = { 0 };
    for (int r = 0; r + 1 < scene.n_ranks; r++)
        rows[r] = r == 1 ? 0 : 2;
    rows[scene.n_ranks - 1] = shape[0];
    for (int r = 0; r + 1 < scene.n_ranks; r++)
        rows[scene.n_ranks - 1] -= rows[r];
    return hcy_dist_layout_blocks(layout, scene.comm, rank, shape, 0, rows);
}

/* Data in blocks of rows of a matrix, unknowns that all ranks have. */
static int make_rows_problem(struct problem *p)
{
    const int64_t shape[2] = { ROWS, COLUMNS }, columns = COLUMNS;
    hcy_dist_layout_info info = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_array *whole = draw_numbers(HCY_FLOAT64, 2, shape, 3), *mine = NULL;
    hcy_operator *own = NULL;
    int status = deal_rows(&p->range, 1, shape);
    if (!status)
        status = hcy_dist_layout_replicated(&p->domain, scene.comm, 1, &columns);
    if (!status)
        status = hcy_dist_layout_get_info(&info, p->range);
    if (!status)
        status = hcy_array_slice(&mine, whole, "%lld:%lld", (long long)info.first,
                                 (long long)(info.first + info.local_shape[0]));
    if (!status)
        status = hcy_operator_matrix(&own, mine);
    if (!status)
        status = hcy_operator_matrix(&p->serial, whole);
    if (!status)
        status = hcy_dist_operator(&p->op, p->range, p->domain, own);
    hcy_operator_release(own);
    hcy_array_release(mine);
    hcy_array_release(whole);
    return status;
}

/* Soft thresholds, element by element: the map of |x|_1 / 20. */
static int soften(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x, double t)
{
    (void)user;
    return HCY_EVAL(queue, "y = where(x > s, x - s, where(x < -s, x + s, 0))", hcy_op_array("y", y),
                    hcy_op_array("x", x), hcy_op_real("s", t / 20));
}

/* Of g(K x) with that g. */
static int make_softener(hcy_proximal **prox, hcy_operator *k)
{
    hcy_proximal_desc desc = HCY_PROXIMAL_DESC_INIT;
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    int status = hcy_operator_get_info(&info, k);
    desc.space = info.range;
    desc.map = soften;
    desc.analysis = k;
    desc.norm = 3;
    return status ? status : hcy_proximal_create(prox, scene.dev, &desc);
}

/* Unknowns and data in blocks of an image's rows: each pixel is weighed. */
static int make_weights(struct problem *p, const hcy_space *whole)
{
    hcy_space own_space;
    hcy_array *weights = draw_numbers(HCY_FLOAT64, 2, whole->shape, 8), *mine = NULL;
    hcy_operator *own = NULL;
    int status = HCY_EVAL(scene.queue, "w = 1.5 + sin(w)", hcy_op_array("w", weights));
    if (!status)
        status = hcy_dist_array(&mine, scene.dev, p->domain, HCY_FLOAT64);
    if (!status)
        status = hcy_dist_scatter(scene.queue, mine, p->domain, weights, 0);
    if (!status)
        status = hcy_dist_space(&own_space, p->domain, HCY_FLOAT64);
    own_space.vectors = NULL;
    if (!status)
        status = hcy_operator_diagonal(&own, &own_space, mine);
    if (!status)
        status = hcy_operator_diagonal(&p->serial, whole, weights);
    if (!status)
        status = hcy_dist_operator(&p->op, p->domain, p->domain, own);
    hcy_operator_release(own);
    hcy_array_release(mine);
    hcy_array_release(weights);
    return status;
}

/* ... and the image is smooth: ghost rows are a regulariser's, too. */
static int make_smooth_problem(struct problem *p, const int *grid)
{
    const hcy_space whole = { HCY_FLOAT64, 2, { SIDE, 7 }, NULL };
    hcy_operator *steps = NULL, *serial_steps = NULL;
    int status = grid ? deal_grid(&p->domain, 2, whole.shape, grid, 1) : deal_rows(&p->domain, 2, whole.shape);
    p->range = hcy_dist_layout_retain(p->domain);
    if (!status)
        status = make_weights(p, &whole);
    if (!status)
        status = hcy_dist_gradient(&steps, NULL, scene.dev, p->domain, HCY_FLOAT64, HCY_DIFFERENCE_FORWARD);
    if (!status)
        status = hcy_operator_gradient(&serial_steps, scene.dev, &whole, HCY_DIFFERENCE_FORWARD);
    if (!status)
        status = make_softener(&p->prox, steps);
    if (!status)
        status = make_softener(&p->serial_prox, serial_steps);
    hcy_operator_release(steps);
    hcy_operator_release(serial_steps);
    return status;
}

static int make_image_problem(struct problem *p)
{
    return make_smooth_problem(p, NULL);
}

/* The same over a grid with two columns of ranks, where there is one. */
static int make_grid_problem(struct problem *p)
{
    const int columns = scene.n_ranks % 2 ? 1 : 2;
    return make_smooth_problem(p, (const int[]){ scene.n_ranks / columns, columns });
}

/* In blocks of the second axis, whose elements are not one behind the other in the whole. */
static int make_columns_problem(struct problem *p)
{
    return make_smooth_problem(p, (const int[]){ 1, scene.n_ranks });
}

/* --- Solving --- */

struct way {
    const char *name;
    int method, takes; /* how many regularisers at most */
    double l2, within; /* of the serial result */
};

static const struct way ways[] = { { "cg of A^H A", HCY_SOLVER_CG_NORMAL, 0, 0.1, 1e-12 },
                                   { "cgls", HCY_SOLVER_CGLS, 0, 0.1, 1e-12 },
                                   { "lsqr", HCY_SOLVER_LSQR, 0, 0, 1e-12 },
                                   { "lsmr", HCY_SOLVER_LSMR, 0, 0, 1e-12 },
                                   { "lsqr with l2", HCY_SOLVER_LSQR, 0, 0.1, 1e-12 },
                                   { "lsmr with l2", HCY_SOLVER_LSMR, 0, 0.1, 1e-12 },
                                   { "proximal gradient (ista)", HCY_SOLVER_ISTA, 1, 0.1, 1e-12 },
                                   { "fista", HCY_SOLVER_FISTA, 1, 0.1, 1e-12 },
                                   { "primal-dual", HCY_SOLVER_PRIMAL_DUAL, 2, 0.1, 1e-12 },
                                   { "admm", HCY_SOLVER_ADMM, 2, 0.1, 1e-12 },
                                   { "split Bregman", HCY_SOLVER_SPLIT_BREGMAN, 2, 0.1, 1e-12 } };

/* x after so many steps; `prox` is taken where the method has room for it beside l1, or alone. */
static int solve_way(hcy_array **x, const struct way *way, hcy_operator *op, hcy_array *b, hcy_proximal *prox)
{
    hcy_solver *solver = NULL;
    hcy_solver_options options = HCY_SOLVER_OPTIONS_INIT;
    options.method = way->method;
    options.l2 = way->l2;
    options.l1 = way->takes > (prox ? 1 : 0) ? 0.05 : 0;
    options.proximals = &prox;
    options.n_proximals = prox && way->takes ? 1 : 0;
    int status = hcy_solver_create(&solver, scene.queue, op, &options);
    if (!status)
        status = hcy_solver_start(solver, b, NULL);
    if (!status)
        status = hcy_solver_run(solver, STEPS);
    if (!status)
        status = hcy_solver_get_x(x, solver);
    hcy_solver_destroy(solver);
    return status;
}

static void compare_way(const struct way *way, const struct problem *p, hcy_array *b, hcy_array *all_b,
                        const char *what)
{
    hcy_dist_layout_info domain = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_array *x = NULL, *want = NULL, *got = NULL;
    int status = solve_way(&x, way, p->op, b, p->prox);
    /* All ranks come to the gathering, or none. */
    status = hcy_dist_agree(scene.comm, status);
    if (!status)
        status = solve_way(&want, way, p->serial, all_b, p->serial_prox);
    if (!status)
        status = hcy_dist_layout_get_info(&domain, p->domain);
    if (!status)
        status = hcy_array_empty(&got, scene.dev, HCY_FLOAT64, domain.rank, domain.shape);
    if (!status)
        status = hcy_dist_gather(scene.queue, got, p->domain, x, -1);
    const double far = status ? 1e300 : apart(got, want);
    every(far <= way->within, "%s of %s: that of one device", way->name, what);
    if (!(far <= way->within))
        fprintf(stderr, "# rank %d: %g; %s\n", scene.rank, far, hcy_last_error()->text);
    hcy_array_release(x);
    hcy_array_release(want);
    hcy_array_release(got);
}

static void compare_norm(const struct problem *p, const char *what)
{
    double norm = 0, want = 1;
    every(!hcy_operator_norm(&norm, scene.queue, p->op, 20, 4) &&
              !hcy_operator_norm(&want, scene.queue, p->serial, 20, 4) && norm > 0.99999999999999 * want &&
              norm < 1.00000000000001 * want,
          "the largest singular value of %s", what);
}

/* `numbered`: parts number their elements as the whole does, so that random vectors, and the norms that steps are made
 * of, are the same. */
static void compare_ways(int (*make)(struct problem *p), bool numbered, const char *what)
{
    struct problem p = { 0 };
    hcy_dist_layout_info range = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_array *b = NULL, *all_b = NULL;
    bool made = !make(&p) && !hcy_dist_layout_get_info(&range, p.range);
    all_b = made ? draw_numbers(HCY_FLOAT64, range.rank, range.shape, 5) : NULL;
    made = made && !hcy_dist_array(&b, scene.dev, p.range, HCY_FLOAT64) &&
           !hcy_dist_scatter(scene.queue, b, p.range, all_b, 0);
    if (!every(made, "%s: is made", what))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    for (size_t i = 0; made && i < sizeof ways / sizeof ways[0]; i++)
        if (numbered || !ways[i].takes)
            compare_way(&ways[i], &p, b, all_b, what);
    if (made && numbered)
        compare_norm(&p, what);
    hcy_array_release(b);
    hcy_array_release(all_b);
    free_problem(&p);
}

void test_solvers_like_one(void)
{
    compare_ways(make_rows_problem, true, "blocks of data, replicated unknowns");
    compare_ways(make_image_problem, true, "blocks of unknowns");
    compare_ways(make_columns_problem, true, "blocks of unknowns along the second axis");
}

void test_grid_solvers(void)
{
    compare_ways(make_grid_problem, false, "unknowns over a grid of ranks");
}
