/* recon_stack.c - stacks of stars, or of other planes, of halcyon recon: whether the points are one, and the
 * operator that has FFTs across the planes.  Single-threaded. */
#include "recon.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>

#define TURN 6.283185307179586476925
/* What coordinates in float are rounded to, of half a turn: files have floats, whatever is computed with. */
#define ROUNDING 2.4e-7

static double place_of(const struct recon *r, int axis, size_t i)
{
    return reals_get(r->is_double, r->axes[axis], i);
}

/* The plane that point i lies in. */
static bool plane_of(int64_t *plane, const struct recon *r, int axis, size_t i)
{
    const double turns = place_of(r, axis, i) / TURN * (double)r->sizes[axis], whole = round(turns);
    if (!(fabs(turns) <= (double)r->sizes[axis]))
        return false;
    *plane = (int64_t)whole;
    return fabs(turns - whole) <= ROUNDING * (double)r->sizes[axis];
}

/* The points of plane `number`, n of them, against the first ones. */
static bool is_plane(int64_t *plane, const struct recon *r, int axis, size_t number, size_t n)
{
    int64_t other;
    if (!plane_of(plane, r, axis, number * n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!plane_of(&other, r, axis, number * n + i) || other != *plane)
            return false;
        for (int d = 0; d < r->dim; d++)
            if (d != axis &&
                !(fabs(place_of(r, d, number * n + i) - place_of(r, d, i)) <= ROUNDING * TURN / 2))
                return false;
    }
    return true;
}

/* How many points the first plane has; 0 of no plane. */
static size_t count_points(const struct recon *r, int axis)
{
    int64_t first, plane;
    size_t n = 0;
    if (!plane_of(&first, r, axis, 0))
        return 0;
    while (n < r->n && plane_of(&plane, r, axis, n) && plane == first)
        n++;
    return n;
}

/* Planes along an axis, each there once, around the circle. */
static bool take_planes(struct recon *r, bool *taken, int axis, size_t n)
{
    const int64_t slices = r->sizes[axis];
    for (size_t i = 0; i < r->n / n; i++) {
        if (!is_plane(&r->planes[i], r, axis, i, n))
            return false;
        const int64_t line = (r->planes[i] % slices + slices) % slices;
        if (taken[line])
            return false;
        taken[line] = true;
    }
    r->n_planes = r->n / n;
    r->stack_axis = axis;
    return true;
}

static int try_axis(struct recon *r, int axis)
{
    const size_t n = count_points(r, axis), slices = (size_t)r->sizes[axis];
    if (!n || n == r->n || r->n % n || r->n / n > slices)
        return CLI_OK;
    bool *taken = calloc(slices, sizeof *taken);
    r->planes = calloc(r->n / n, sizeof *r->planes);
    const bool is_there = taken && r->planes;
    if (is_there && !take_planes(r, taken, axis, n)) {
        free(r->planes);
        r->planes = NULL;
    }
    free(taken);
    return is_there ? CLI_OK : cli_error("no memory for %zu planes", slices);
}

int recon_find_stack(struct recon *r)
{
    int status = CLI_OK;
    /* Only the NUFFT's own FFTs have the same bits on every device. */
    if (r->v->stack != RECON_STACK_NO && !r->v->everywhere && r->dim == 3)
        for (int d = 0; !status && !r->planes && d < r->dim; d++)
            status = try_axis(r, d);
    if (status || r->planes || r->v->stack != RECON_STACK_YES)
        return status;
    return cli_error("--stack yes: %s has no planes, one behind the other, of the same points each, at 2 pi / N "
                     "along an axis of N of the image's %s", r->trajectory, r->size_words);
}

int recon_repeat(hcy_operator **op, const struct recon *r, bool is_gram)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_operator **each = malloc(r->coils * sizeof *each), *all = NULL, *one = *op;
    hcy_space images = { 0 }, samples = { 0 };
    *op = NULL;
    int status = each ? hcy_operator_get_info(&info, one)
                      : hcy_fail(HCY_ENOMEM, "no memory for operators of %zu coils", r->coils);
    for (size_t i = 0; !status && i < r->coils; i++)
        each[i] = one;
    images = samples = (hcy_space){ info.domain.dtype, r->dim + 1, { (int64_t)r->coils }, NULL };
    for (int d = 0; d < r->dim; d++)
        images.shape[d + 1] = r->sizes[d];
    samples.rank = 2;
    samples.shape[1] = (int64_t)r->n;
    if (!status)
        status = hcy_operator_block_diagonal(&all, each, r->coils);
    if (!status)
        status = hcy_operator_reshape(op, all, &images, is_gram ? &images : &samples);
    hcy_operator_release(all);
    hcy_operator_release(one);
    free(each);
    return status;
}

int recon_make_stack(struct recon *r, const hcy_nufft_desc *whole, const hcy_nufft_options *options,
                     hcy_array *maps)
{
    hcy_nufft_desc desc = *whole;
    const void *points[3] = { NULL };
    const size_t n = r->n / r->n_planes;
    desc.dim = 0;
    for (int d = 0; d < r->dim; d++)
        if (d != r->stack_axis) {
            points[desc.dim] = r->axes[d];
            desc.modes[desc.dim++] = r->sizes[d];
        }
    desc.n_transforms *= (int64_t)r->n_planes;
    int status = hcy_nufft_create(&r->plan, r->dev, &desc, options);
    if (!status)
        status = hcy_nufft_set_points(r->plan, (int64_t)n, points, 0, NULL);
    if (!status)
        status = hcy_operator_stacked_nufft(&r->op, r->plan, r->stack_axis, r->sizes[r->stack_axis], r->planes,
                                            (int64_t)r->n_planes, maps);
    return status || maps || r->coils == 1 ? status : recon_repeat(&r->op, r, false);
}
