/* Grids of ranks: blocks along several axes, uneven, with none for some, and the ghost rows around them, against plain
 * loops over the whole array and against one device. */
#include "dist_scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AXES = 3, MOST = 64 };

/* Grids of so many ranks. */
static const struct grid {
    int n_ranks, ranks[AXES];
} grids[] = { { 1, { 1, 1, 1 } }, { 2, { 2, 1, 1 } }, { 2, { 1, 2, 1 } }, { 3, { 3, 1, 1 } }, { 3, { 1, 1, 3 } },
              { 4, { 2, 2, 1 } }, { 4, { 2, 1, 2 } }, { 4, { 1, 2, 2 } }, { 4, { 1, 4, 1 } } };

/* How rows are dealt out along each axis. */
enum { EVEN, UNEVEN, WITH_NONE, N_DEALS };
static const char *const deal_names[N_DEALS] = { "even", "uneven", "with ranks that have none" };

int deal_grid(hcy_dist_layout **layout, int rank, const int64_t *shape, const int *grid, int deal)
{
    int64_t rows[AXES][MOST] = { { 0 } };
    const int64_t *of_axes[AXES] = { rows[0], rows[1], rows[2] };
    for (int d = 0; d < rank; d++) {
        const int64_t first = deal == UNEVEN ? 1 : 0;
        for (int i = 0; i + 1 < grid[d]; i++)
            rows[d][i] = first + i;
        rows[d][grid[d] - 1] = shape[d];
        for (int i = 0; i + 1 < grid[d]; i++)
            rows[d][grid[d] - 1] -= rows[d][i];
    }
    return hcy_dist_layout_grid(layout, scene.comm, rank, shape, grid, deal == EVEN ? NULL : of_axes);
}

/* The whole array's numbers, from 1 on in C order; outside 0. */
static double number_at(const int64_t *at, const int64_t *shape)
{
    double index = 0;
    for (int d = 0; d < AXES; d++) {
        if (at[d] < 0 || at[d] >= shape[d])
            return 0;
        index = index * (double)shape[d] + (double)at[d];
    }
    return index + 1;
}

static hcy_array *make_numbers(const int64_t *shape)
{
    hcy_array *a = NULL;
    if (hcy_array_empty(&a, scene.dev, HCY_FLOAT64, AXES, shape) ||
        HCY_EVAL(scene.queue, "a = index + 1", hcy_op_array("a", a)))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return a;
}

/* A part has the whole array's numbers from a place on. */
static bool has_numbers(hcy_array *part, const int64_t *first, const int64_t *shape)
{
    hcy_array_info is = HCY_ARRAY_INFO_INIT;
    if (hcy_array_get_info(&is, part))
        return false;
    double *values = malloc(sizeof *values * (size_t)(is.count + 1));
    bool right = values && !hcy_array_to_host(values, scene.queue, part);
    for (int64_t i = 0; right && i < is.count; i++) {
        const int64_t inner = is.shape[1] * is.shape[2];
        const int64_t at[AXES] = { first[0] + i / inner, first[1] + i / is.shape[2] % is.shape[1],
                                   first[2] + i % is.shape[2] };
        right = values[i] == number_at(at, shape);
    }
    free(values);
    return right;
}

/* --- Layouts --- */

/* To the parts, to blocks of one axis, back, and to one array. */
static void test_moves(hcy_dist_layout *layout, const hcy_dist_layout_info *is)
{
    hcy_dist_layout *blocks = NULL;
    hcy_array *whole = make_numbers(is->shape), *part = NULL, *again = NULL, *rows = NULL, *all = NULL;
    bool right = !hcy_dist_layout_blocks(&blocks, scene.comm, AXES, is->shape, 2, NULL) &&
                 !hcy_dist_array(&part, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_array(&again, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_array(&rows, scene.dev, blocks, HCY_FLOAT64) &&
                 !hcy_array_empty(&all, scene.dev, HCY_FLOAT64, AXES, is->shape);
    every(right && !hcy_dist_scatter(scene.queue, part, layout, whole, 0) && has_numbers(part, is->firsts, is->shape),
          "each has its block");
    every(right && !hcy_dist_redistribute(scene.queue, rows, blocks, part, layout) &&
              !hcy_dist_redistribute(scene.queue, again, layout, rows, blocks) &&
              has_numbers(again, is->firsts, is->shape),
          "... after blocks of one axis, too");
    every(right && !hcy_dist_gather(scene.queue, all, layout, again, -1) &&
              has_numbers(all, (const int64_t[AXES]){ 0 }, is->shape),
          "... and together they are the whole");
    hcy_array_release(whole);
    hcy_array_release(part);
    hcy_array_release(again);
    hcy_array_release(rows);
    hcy_array_release(all);
    hcy_dist_layout_release(blocks);
}

static void test_grid_file(hcy_dist_layout *layout, const hcy_dist_layout_info *is)
{
    hcy_array *whole = make_numbers(is->shape), *part = NULL, *read = NULL;
    char path[64];
    int pid = (int)getpid();
    bool right = !hcy_dist_array(&part, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_scatter(scene.queue, part, layout, whole, 0) &&
                 !hcy_dist_broadcast_host(&pid, scene.comm, sizeof pid, 0);
    snprintf(path, sizeof path, "grid-%d.npy", pid);
    every(right && !hcy_dist_to_file(scene.queue, part, layout, path) &&
              !hcy_dist_from_file(&read, scene.dev, layout, path) && has_numbers(read, is->firsts, is->shape),
          "... to a file and back");
    every(hcy_dist_to_file(scene.queue, part, layout, scene.rank == scene.n_ranks - 1 ? NULL : path) == HCY_EINVAL,
          "... on all ranks or on none");
    if (!scene.rank)
        unlink(path);
    hcy_array_release(whole);
    hcy_array_release(part);
    hcy_array_release(read);
}

/* Sums over the blocks are those of the whole but for rounding, and the same on each rank. */
static void test_grid_sums(hcy_dist_layout *layout, const hcy_dist_layout_info *is)
{
    hcy_array *whole = draw_numbers(HCY_COMPLEX128, AXES, is->shape, 4), *part = NULL, *sum = NULL;
    double got[2] = { 0 }, want[2] = { 1, 0 }, norm = 0, largest = 0, of_norm = 1, of_largest = 1;
    hcy_array *number = NULL;
    bool right = !hcy_dist_array(&part, scene.dev, layout, HCY_COMPLEX128) &&
                 !hcy_dist_scatter(scene.queue, part, layout, whole, 0) &&
                 !hcy_array_empty(&sum, scene.dev, HCY_COMPLEX128, 0, NULL) &&
                 !hcy_array_empty(&number, scene.dev, HCY_FLOAT64, 0, NULL) &&
                 !hcy_dist_dot(scene.queue, sum, layout, part, part) && !hcy_array_to_host(got, scene.queue, sum) &&
                 !HCY_EVAL(scene.queue, "s = vdot(x, x)", hcy_op_array("s", sum), hcy_op_array("x", whole)) &&
                 !hcy_array_to_host(want, scene.queue, sum);
    every(right && fabs(got[0] - want[0]) <= 1e-14 * want[0] && !got[1], "... a dot");
    right = right && !hcy_dist_norm_of(scene.queue, number, layout, part, 1) &&
            !hcy_array_to_host(&norm, scene.queue, number) &&
            !hcy_dist_norm_of(scene.queue, number, layout, part, INFINITY) &&
            !hcy_array_to_host(&largest, scene.queue, number) &&
            !HCY_EVAL(scene.queue, "s = sum(abs(x))", hcy_op_array("s", number), hcy_op_array("x", whole)) &&
            !hcy_array_to_host(&of_norm, scene.queue, number) &&
            !HCY_EVAL(scene.queue, "s = max(abs(x))", hcy_op_array("s", number), hcy_op_array("x", whole)) &&
            !hcy_array_to_host(&of_largest, scene.queue, number);
    every(right && fabs(norm - of_norm) <= 1e-14 * of_norm && largest == of_largest, "... and norms");
    hcy_array_release(whole);
    hcy_array_release(part);
    hcy_array_release(sum);
    hcy_array_release(number);
}

/* --- Ghosts --- */

/* Where a padded part begins, and how large it is; `outside`: beyond the ends of the whole, too. */
static void find_padded(int64_t *first, int64_t *count, const hcy_dist_layout_info *is, const int64_t *front,
                        const int64_t *back, bool outside)
{
    for (int d = 0; d < AXES; d++) {
        int64_t end = is->firsts[d] + is->local_shape[d];
        first[d] = is->firsts[d];
        if (is->local_shape[d]) {
            first[d] -= front[d];
            end += back[d];
        }
        if (!outside && first[d] < 0)
            first[d] = 0;
        if (!outside && end > is->shape[d])
            end = is->shape[d];
        count[d] = end - first[d];
    }
}

static int apply_halo(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return hcy_operator_apply(queue, y, ((hcy_operator **)user)[0], x);
}

static int leave_ghosts_out(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return hcy_operator_apply(queue, x, ((hcy_operator **)user)[1], y);
}

/* Ghosts that are left out where they are to be added up: no adjoint, if there are some. */
static void test_wrong_halo(hcy_operator *halo, hcy_operator *crop, bool has_ghosts)
{
    hcy_operator_info is = HCY_OPERATOR_INFO_INIT;
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_operator *ops[2] = { halo, crop }, *wrong = NULL;
    bool right = !hcy_operator_get_info(&is, halo);
    desc.domain = is.domain;
    desc.range = is.range;
    desc.apply = apply_halo;
    desc.adjoint = leave_ghosts_out;
    desc.user = ops;
    right = right && !hcy_operator_create(&wrong, scene.dev, &desc);
    const double mismatch = right ? mismatch_of_few(wrong) : 0;
    every(right && (has_ghosts ? mismatch > 1e-4 && mismatch < 1e300 : mismatch <= 1e-14),
          "... which is not what leaves them out");
    hcy_operator_release(wrong);
}

/* The same in two calls, twice. */
static bool is_same_in_two(hcy_operator *halo, hcy_array *padded, hcy_array *part, const int64_t *first,
                           const int64_t *shape)
{
    bool right = true;
    for (int turn = 0; right && turn < 2; turn++)
        right = !HCY_EVAL(scene.queue, "p = -1", hcy_op_array("p", padded)) &&
                !hcy_dist_halo_begin(scene.queue, padded, halo, part) &&
                !hcy_dist_halo_end(scene.queue, halo) && has_numbers(padded, first, shape);
    return right;
}

static void test_grid_halo(hcy_dist_layout *layout, const hcy_dist_layout_info *is, const int64_t *front,
                           const int64_t *back, int outside)
{
    hcy_dist_layout *around = NULL;
    hcy_dist_layout_info padded = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_operator *halo = NULL, *crop = NULL, *both = NULL;
    hcy_array *whole = make_numbers(is->shape), *part = NULL, *y = NULL, *back_again = NULL;
    int64_t first[AXES], count[AXES];
    int32_t has_ghosts = 0;
    find_padded(first, count, is, front, back, false);
    for (int d = 0; d < AXES; d++)
        has_ghosts |= count[d] > is->local_shape[d] && count[(d + 1) % AXES] && count[(d + 2) % AXES];
    find_padded(first, count, is, front, back, outside);
    bool right = !hcy_dist_allreduce_host(&has_ghosts, scene.comm, HCY_INT32, 1, HCY_REDUCE_MAX) &&
                 !hcy_dist_halo_grid(&halo, &around, scene.dev, layout, HCY_FLOAT64, front, back, outside) &&
                 !hcy_dist_crop(&crop, halo) && !hcy_operator_compose(&both, (hcy_operator *[]){ crop, halo }, 2) &&
                 !hcy_dist_layout_get_info(&padded, around) &&
                 !hcy_dist_array(&part, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_array(&back_again, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_array(&y, scene.dev, around, HCY_FLOAT64) &&
                 !hcy_dist_scatter(scene.queue, part, layout, whole, 0);
    every(right && !hcy_operator_apply(scene.queue, y, halo, part) && has_numbers(y, first, is->shape) &&
              !memcmp(padded.local_shape, count, sizeof count),
          "ghosts of %d,%d,%d and %d,%d,%d%s", (int)front[0], (int)front[1], (int)front[2], (int)back[0], (int)back[1],
          (int)back[2], outside ? " and zeros outside" : "");
    every(right && (outside ? mismatch_of_few : mismatch_of)(halo) <= 1e-14, "... whose adjoint adds them up");
    test_wrong_halo(halo, crop, has_ghosts);
    every(right && is_same_in_two(halo, y, part, first, is->shape), "... begun and ended");
    every(right && mismatch_of_few(crop) <= 1e-14 && !hcy_operator_apply(scene.queue, back_again, both, part) &&
              has_numbers(back_again, is->firsts, is->shape),
          "... and left out");
    hcy_operator_release(halo);
    hcy_operator_release(crop);
    hcy_operator_release(both);
    hcy_array_release(whole);
    hcy_array_release(part);
    hcy_array_release(back_again);
    hcy_array_release(y);
    hcy_dist_layout_release(around);
}

/* --- Operators --- */

enum { LAPLACIAN = 1000, GRADIENT = 2000 };

static int make_both(hcy_operator **op, hcy_operator **serial, hcy_dist_layout **range, hcy_dist_layout *layout,
                     const hcy_space *space, int axis, int what)
{
    const double factors[AXES] = { 2, 0.5, 3 };
    int status;
    if (what > GRADIENT) {
        status = hcy_operator_gradient(serial, scene.dev, space, what - GRADIENT);
        return status ? status : hcy_dist_gradient(op, range, scene.dev, layout, HCY_FLOAT64, what - GRADIENT);
    }
    *range = hcy_dist_layout_retain(layout);
    if (what == LAPLACIAN) {
        status = hcy_operator_laplacian(serial, scene.dev, space, factors);
        return status ? status : hcy_dist_laplacian(op, scene.dev, layout, HCY_FLOAT64, factors);
    }
    status = hcy_operator_difference(serial, scene.dev, space, axis, what, 1.5);
    return status ? status : hcy_dist_difference(op, scene.dev, layout, HCY_FLOAT64, axis, what, 1.5);
}

static void test_grid_difference(hcy_dist_layout *layout, const hcy_dist_layout_info *is, int axis, int what)
{
    hcy_space space = { HCY_FLOAT64, AXES, { is->shape[0], is->shape[1], is->shape[2] }, NULL };
    hcy_dist_layout *range = NULL;
    hcy_operator *op = NULL, *serial = NULL;
    const bool right = !make_both(&op, &serial, &range, layout, &space, axis, what);
    every(right && distance_to_serial(apart, op, serial, range, layout, false) == 0,
          "difference %d along axis %d: that of one device", what, axis);
    every(right && distance_to_serial(apart, op, serial, layout, range, true) == 0 &&
              (axis < 0 ? mismatch_of(op) : mismatch_of_few(op)) <= 1e-14,
          "... and its adjoint");
    hcy_operator_release(op);
    hcy_operator_release(serial);
    hcy_dist_layout_release(range);
}

/* Filters along an axis: what the same filters make where that axis is not dealt out. */
static void test_grid_convolution(hcy_dist_layout *layout, const hcy_dist_layout_info *is, int axis)
{
    static const double taps[] = { 1, -2, 0.5, 3, -1, 0.25, 4, 1, -3, 2 };
    hcy_filters filters = HCY_FILTERS_INIT;
    hcy_dist_layout *all = NULL;
    hcy_operator *op = NULL, *serial = NULL;
    filters.taps = taps;
    filters.n = 2;
    filters.length = 5;
    filters.step = 4;
    const bool right = !hcy_dist_layout_replicated(&all, scene.comm, AXES, is->shape) &&
                       !hcy_dist_convolve(&serial, scene.dev, all, HCY_FLOAT64, axis, &filters) &&
                       !hcy_dist_convolve(&op, scene.dev, layout, HCY_FLOAT64, axis, &filters);
    every(right && distance_to_serial(apart, op, serial, layout, layout, false) <= 1e-14 &&
              distance_to_serial(apart, op, serial, layout, layout, true) <= 1e-14 && mismatch_of_few(op) <= 1e-14,
          "filters along axis %d", axis);
    hcy_operator_release(op);
    hcy_operator_release(serial);
    hcy_dist_layout_release(all);
}

/* Axes in another order lead from a grid to blocks; a Fourier transform does not take one. */
static void test_grid_transforms(hcy_dist_layout *layout, const hcy_dist_layout_info *is)
{
    hcy_operator *turn = NULL, *fft = NULL;
    const int wants = is->axis == HCY_DIST_GRID ? HCY_EUNSUPPORTED : 0;
    every(!hcy_dist_transpose(&turn, NULL, scene.dev, layout, HCY_FLOAT64, (const int[]){ 2, 0, 1 }, 1) &&
              mismatch_of(turn) <= 1e-14,
          "a transposition");
    every(hcy_dist_fft(&fft, scene.dev, layout, HCY_COMPLEX128, (const int[]){ 0 }, 1) == wants && !fft == !!wants,
          "a Fourier transform wants blocks along one axis");
    hcy_operator_release(turn);
    hcy_operator_release(fft);
}

/* --- All of it --- */

static void test_grid(const struct grid *g, int deal)
{
    const int64_t shape[AXES] = { 9, 7, 6 };
    static const int64_t widths[][AXES] = { { 1, 1, 1 }, { 0, 2, 1 }, { 3, 0, 2 }, { 0, 0, 0 }, { 20, 30, 1 } };
    static const int whats[] = { HCY_DIFFERENCE_FORWARD, HCY_DIFFERENCE_CENTRED_5 | HCY_DIFFERENCE_EDGES,
                                 HCY_DIFFERENCE_SECOND_BACKWARD };
    hcy_dist_layout *layout = NULL;
    hcy_dist_layout_info is = HCY_DIST_LAYOUT_INFO_INIT;
    every(!deal_grid(&layout, AXES, shape, g->ranks, deal) && !hcy_dist_layout_get_info(&is, layout) &&
              !memcmp(is.grid, g->ranks, sizeof g->ranks),
          "%d x %d x %d ranks, %s", g->ranks[0], g->ranks[1], g->ranks[2], deal_names[deal]);
    if (!layout)
        return;
    test_moves(layout, &is);
    test_grid_file(layout, &is);
    test_grid_sums(layout, &is);
    for (int i = 0; i < (deal == EVEN ? 1 : 4); i++)
        test_grid_halo(layout, &is, widths[i], widths[(i + deal) % 4],
                       (i + deal) % 2 ? HCY_OUTSIDE_ZERO : HCY_OUTSIDE_NONE);
    if (deal != EVEN)
        test_grid_halo(layout, &is, widths[4], widths[4], HCY_OUTSIDE_NONE);
    for (int axis = 0; axis < AXES && deal != EVEN; axis++) {
        test_grid_difference(layout, &is, axis, whats[axis]);
        test_grid_convolution(layout, &is, axis);
    }
    test_grid_difference(layout, &is, -1, LAPLACIAN);
    test_grid_difference(layout, &is, -1, GRADIENT + HCY_DIFFERENCE_FORWARD);
    test_grid_transforms(layout, &is);
    hcy_dist_layout_release(layout);
}

/* Each rank would wait for ghosts that no other sends. */
static void test_other_differences(const int64_t *shape, const int *ranks)
{
    hcy_dist_layout *layout = NULL;
    hcy_operator *op = NULL, *other = NULL;
    const int kind = scene.rank ? HCY_DIFFERENCE_FORWARD : HCY_DIFFERENCE_SECOND_5;
    const double factors[AXES] = { 1, 1, scene.rank ? 1 : 0 };
    int status = hcy_dist_layout_grid(&layout, scene.comm, AXES, shape, ranks, NULL);
    status = status ? status : hcy_dist_difference(&op, scene.dev, layout, HCY_FLOAT64, 2, kind, 1);
    const int laplacian = layout ? hcy_dist_laplacian(&other, scene.dev, layout, HCY_FLOAT64, factors) : HCY_EINVAL;
    every(status == (scene.n_ranks > 1 ? HCY_EINVAL : 0) && laplacian == status && !op == !!status && !other == !op,
          "other differences on rank 0");
    hcy_operator_release(op);
    hcy_operator_release(other);
    hcy_dist_layout_release(layout);
}

/* What makes no grid, or no ghosts. */
static void test_refused_grids(void)
{
    const int64_t shape[AXES] = { 4, 4, 4 }, less[AXES] = { 1, -1, 1 }, most[AXES] = { INT64_MAX, 0, 0 };
    const int64_t one[AXES] = { 0, 0, 1 }, zeros[AXES] = { 0 };
    const int none_in_it[AXES] = { scene.n_ranks, 0, 1 }, too_many[AXES] = { scene.n_ranks, 2, 1 };
    const int first[AXES] = { scene.n_ranks, 1, 1 }, last[AXES] = { 1, 1, scene.n_ranks };
    const int64_t ones[MOST] = { 1 }, *const rows[AXES] = { ones, NULL, NULL };
    hcy_dist_layout *layout = NULL;
    hcy_operator *op = NULL;
    every(hcy_dist_layout_grid(&layout, scene.comm, AXES, shape, none_in_it, NULL) == HCY_EINVAL &&
              hcy_dist_layout_grid(&layout, scene.comm, AXES, shape, too_many, NULL) == HCY_EINVAL &&
              hcy_dist_layout_grid(&layout, scene.comm, AXES, shape, NULL, NULL) == HCY_EINVAL &&
              hcy_dist_layout_grid(&layout, scene.comm, AXES, shape, first, rows) == HCY_EINVAL && !layout,
          "grids of other numbers of ranks, rows that belong to none");
    const int status = hcy_dist_layout_grid(&layout, scene.comm, AXES, shape, scene.rank ? last : first, NULL);
    every(status == (scene.n_ranks > 1 ? HCY_EINVAL : 0) && !layout == !!status, "another grid on rank 0");
    hcy_dist_layout_release(layout);
    layout = NULL;
    every(!hcy_dist_layout_grid(&layout, scene.comm, AXES, shape, first, NULL) &&
              hcy_dist_halo_grid(&op, NULL, scene.dev, layout, HCY_FLOAT64, scene.rank ? shape : less, shape, 0) ==
                  HCY_EINVAL &&
              hcy_dist_halo_grid(&op, NULL, scene.dev, layout, HCY_FLOAT64, shape, NULL, 0) == HCY_EINVAL &&
              hcy_dist_halo_grid(&op, NULL, scene.dev, layout, HCY_FLOAT64, shape, shape, 7) == HCY_EINVAL &&
              hcy_dist_halo_grid(&op, NULL, scene.dev, layout, HCY_FLOAT64, most, shape, HCY_OUTSIDE_ZERO) ==
                  HCY_EINVAL &&
              !op,
          "ghosts that cannot be");
    const int outside =
        hcy_dist_halo_grid(&op, NULL, scene.dev, layout, HCY_FLOAT64, one, one, scene.rank ? HCY_OUTSIDE_ZERO : 0);
    every(outside == (scene.n_ranks > 1 ? HCY_EINVAL : 0) && !op == !!outside &&
              (!outside || strstr(hcy_last_error()->text, "other things outside")),
          "other things outside on rank 0");
    hcy_operator_release(op);
    op = NULL;
    const int64_t *front = scene.rank ? zeros : one, *back = scene.rank ? one : zeros;
    const int halo = hcy_dist_halo_grid(&op, NULL, scene.dev, layout, HCY_FLOAT64, front, back, HCY_OUTSIDE_ZERO);
    every(halo == (scene.n_ranks > 1 ? HCY_EINVAL : 0) && !op == !!halo, "other ghosts on rank 0");
    hcy_operator_release(op);
    op = NULL;
    hcy_dist_layout_release(layout);
    layout = NULL;
    test_other_differences(shape, last);
    if (scene.n_ranks != 4)
        return;
    every(!hcy_dist_layout_grid(&layout, scene.comm, AXES, shape, (const int[]){ 2, 2, 1 }, NULL) &&
              hcy_dist_halo(&op, NULL, scene.dev, layout, HCY_FLOAT64, 1, 1) == HCY_EINVAL && !op,
          "ghosts along one axis of several");
    hcy_dist_layout_release(layout);
}

/* Of each number of ranks the first grid in all deals, the others in one of the two that are not even. */
void test_grids(void)
{
    bool is_first = true;
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        if (grids[i].n_ranks != scene.n_ranks)
            continue;
        for (int deal = 0; deal < N_DEALS; deal++)
            if (is_first || deal == (i % 2 ? UNEVEN : WITH_NONE))
                test_grid(&grids[i], deal);
        is_first = false;
    }
    test_refused_grids();
}
