/* each.c - transforms that have points of their own: a plan of one vector for each, behind one plan.
 *
 * The plans belong to their owner, as does the work that their executions take.  Those of types 1 and 2 have one grid,
 * for stages, and one set of tables.
 */
#include "nufft_priv.h"

#include <math.h>
#include <stdlib.h>

/* The state of the owner: p->n_transforms plans; those that could not be made are NULL. */
static hcy_nufft **each_of(const hcy_nufft *p)
{
    return p->state;
}

static int make_each(hcy_nufft *p)
{
    hcy_nufft_desc one = p->desc;
    one.n_transforms = 1;
    hcy_nufft **each = p->state = calloc(p->n_transforms, sizeof *each);
    if (!each)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu transforms", p->n_transforms);
    for (size_t i = 0; i < p->n_transforms; i++) {
        int status = hcy_nufft_create(&each[i], p->dev, &one, &p->opts);
        if (status)
            return status;
        each[i]->owner = p;
    }
    return 0;
}

/* Whether all of them are direct sums, so that nobody needs tables. */
static bool all_direct(const hcy_nufft *p, const int64_t *n_points, double grid_ns)
{
    for (size_t i = 0; i < p->n_transforms; i++)
        if (n_points[i] < 1 || !hcy__nufft_is_direct(p, (size_t)n_points[i], 0, grid_ns))
            return false;
    return true;
}

/* One grid for all of them, of types 1 and 2, for stages: that for as many points as they have on average. */
static int share_grid(hcy_nufft *p, const int64_t *n_points)
{
    hcy_nufft **each = each_of(p);
    double mean = 0;
    for (size_t i = 0; i < p->n_transforms; i++)
        mean += fmax((double)n_points[i], 0) / (double)p->n_transforms;
    size_t n = mean < (double)UINT32_MAX ? (size_t)mean : UINT32_MAX;
    int status = hcy__nufft_choose(p, n ? n : 1);
    hcy__nufft_drop_tables(p); /* the owner has no use for them */
    if (status)
        return status;
    /* What is given to a plan's options it keeps, however many points it gets. */
    for (size_t i = 0; i < p->n_transforms; i++) {
        for (int d = 0; d < p->desc.dim; d++)
            each[i]->opts.grid[d] = (size_t)p->job.grid[d];
        each[i]->opts.width = p->job.width;
        each[i]->job = p->job;
        each[i]->upsampling = p->upsampling;
    }
    if (all_direct(p, n_points, hcy__nufft_cost(&p->job, n)))
        return 0;
    status = hcy__nufft_grid_tables(each[0]);
    for (size_t i = 1; i < p->n_transforms && !status; i++)
        hcy__nufft_share_tables(each[i], each[0]);
    return status;
}

int hcy__nufft_set_each(hcy_nufft *p, const int64_t *n_points, const void *const *points, const int64_t *n_targets,
                        const void *const *targets)
{
    const bool type3 = p->desc.type == 3;
    hcy_nufft **each;
    int status = make_each(p);
    if (!status && !type3)
        status = share_grid(p, n_points);
    each = each_of(p);
    for (size_t i = 0; i < p->n_transforms && !status; i++) {
        /* Coordinates are a list of arrays, one an axis, for one transform after the other. */
        size_t at = i * (size_t)p->desc.dim;
        status = hcy_nufft_set_points(each[i], n_points[i], points + at, type3 ? n_targets[i] : 0,
                                      type3 ? targets + at : NULL);
        if (status)
            return hcy_fail(status, "transform %zu: %s", i, hcy_last_error()->text);
        p->all_points += each[i]->all_points;
        p->all_results += each[i]->all_results;
    }
    return status;
}

static void forget_each(hcy_nufft *p)
{
    hcy_nufft **each = each_of(p);
    for (size_t i = 0; each && i < p->n_transforms; i++)
        hcy_nufft_destroy(each[i]);
    free(each);
}

static int execute_each(hcy_nufft *p, char *c, char *f, size_t n, bool adjoint)
{
    int status = 0;
    for (size_t i = 0; i < n && !status; i++) {
        hcy_nufft *e = each_of(p)[i];
        /* Vectors lie one behind the other, each as long as its own points or modes say. */
        status = e->way->execute(e, c, f, 1, adjoint);
        c += hcy__nufft_vector_bytes(e, true);
        f += hcy__nufft_vector_bytes(e, false);
    }
    return status;
}

static int submit_each(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, struct hcy__nufft_span *c,
                       struct hcy__nufft_span *f, size_t n, bool adjoint)
{
    int status = 0;
    for (size_t i = 0; i < n && !status; i++)
        status = each_of(p)[i]->way->submit(q, each_of(p)[i], w, c, f, 1, adjoint);
    return status;
}

static int submit_each_stage(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, int stage,
                             struct hcy__nufft_span *from, struct hcy__nufft_span *to)
{
    int status = 0;
    for (size_t i = 0; i < p->n_transforms && !status; i++)
        status = each_of(p)[i]->way->stage(q, each_of(p)[i], w, stage, from, to);
    return status;
}

/* What the first one has chosen, and the memory of all points. */
static int tell_each(hcy_nufft_info *info, const hcy_nufft *p)
{
    int status = hcy_nufft_get_info(info, each_of(p)[0]);
    info->point_bytes = 0;
    for (size_t i = 0; i < p->n_transforms; i++) {
        const hcy_nufft *e = each_of(p)[i];
        info->point_bytes += e->sorted ? hcy_buffer_size(e->sorted) : 0;
    }
    return status;
}

/* Its points are set by hcy__nufft_set_each(). */
const struct hcy__nufft_way hcy__nufft_each = { NULL, execute_each, submit_each, submit_each_stage, tell_each,
                                                forget_each };
