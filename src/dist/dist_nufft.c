/* dist_nufft.c - non-uniform FFTs and SENSE over ranks: the image is on each, samples are dealt out by points or coils.
 *
 * A rank makes its own operator, of its points or its coils; what they have in common, the layouts, follows from how
 * many samples each rank has.  Plans are the caller's, as those of one device are.
 */
#include "dist_priv.h"
#include "nufft_priv.h"
#include "operator_priv.h"

#include <halcyon/eval.h>
#include <stdlib.h>
#include <string.h>

/* --- A rank without coils --- */

static int receive_nothing(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    (void)queue, (void)y, (void)user, (void)x;
    return 0;
}

static int return_nothing(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    (void)user, (void)y;
    return HCY_EVAL(queue, "x = 0", hcy_op_array("x", x));
}

static int make_without_coils(hcy_operator **own, hcy_nufft *plan)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    desc.name = "sense";
    desc.domain = hcy__operator_image(plan);
    desc.range = (hcy_space){ desc.domain.dtype, 2, { 0, (int64_t)plan->n_points }, NULL };
    desc.apply = receive_nothing;
    desc.adjoint = return_nothing;
    return hcy_operator_create(own, plan->dev, &desc);
}

/* --- Layouts --- */

/* How many each rank has, on all of them, and their sum. */
static int gather_rows(int64_t *rows, int64_t *all, hcy_dist *comm, int64_t mine)
{
    const int n = comm->place.n_ranks;
    rows[comm->place.rank] = mine;
    int status = hcy_dist_allreduce_host(rows, comm, HCY_INT64, (size_t)n, HCY_REDUCE_SUM);
    *all = 0;
    for (int r = 0; !status && r < n; r++)
        *all += rows[r];
    return status;
}

/* Samples in blocks along an axis, as many as each rank has, and the image, which all have. */
static int make_sample_layouts(hcy_dist_layout **samples, hcy_dist_layout **image, hcy_dist *comm,
                               const hcy_space *own_samples, const hcy_space *own_image, int axis)
{
    int64_t shape[HCY_ARRAY_MAX_RANK], *rows = calloc((size_t)comm->place.n_ranks, sizeof *rows);
    int status = hcy_dist_agree(comm, rows ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for a layout"));
    memcpy(shape, own_samples->shape, sizeof shape);
    if (!status)
        status = gather_rows(rows, &shape[axis], comm, own_samples->shape[axis]);
    if (!status)
        status = hcy_dist_layout_blocks(samples, comm, own_samples->rank, shape, axis, rows);
    if (!status)
        status = hcy_dist_layout_replicated(image, comm, own_image->rank, own_image->shape);
    free(rows);
    return status;
}

/* Of each rank's own operator, whose samples are its range or its domain, one over ranks. */
static int join_samples(hcy_operator **op, hcy_dist_layout **kept, hcy_dist *comm, hcy_operator *own,
                        bool gives_samples, int axis)
{
    hcy_dist_layout *samples = NULL, *image = NULL;
    const hcy_space *range = &own->desc.range, *domain = &own->desc.domain;
    int status = make_sample_layouts(&samples, &image, comm, gives_samples ? range : domain,
                                     gives_samples ? domain : range, axis);
    if (!status)
        status = hcy_dist_operator(op, gives_samples ? samples : image, gives_samples ? image : samples, own);
    hcy_dist_layout_release(image);
    if (status || !kept)
        hcy_dist_layout_release(samples);
    else
        *kept = samples;
    return status;
}

/* --- Operators --- */

static int check_outputs(hcy_operator **op, hcy_dist_layout **samples, const hcy_dist *comm, const char *function)
{
    if (op)
        *op = NULL;
    if (samples)
        *samples = NULL;
    return op && comm ? 0 : hcy_fail(HCY_EINVAL, "%s: no %s", function, op ? "communicator" : "place for the operator");
}

int hcy_dist_nufft(hcy_operator **op, hcy_dist_layout **samples, hcy_dist *comm, hcy_nufft *plan)
{
    hcy_operator *own = NULL;
    int status = check_outputs(op, samples, comm, "hcy_dist_nufft");
    if (status)
        return status;
    int mine = hcy__operator_check_plan(plan, "hcy_dist_nufft");
    if (!mine)
        mine = hcy_operator_nufft(&own, plan);
    status = hcy_dist_agree(comm, mine);
    if (!status) {
        const bool gives_samples = plan->desc.type == 2;
        const int points = (gives_samples ? own->desc.range.rank : own->desc.domain.rank) - 1;
        status = join_samples(op, samples, comm, own, gives_samples, points);
    }
    hcy_operator_release(own);
    return status;
}

/* Whether a rank's maps are those of no coils. */
static bool has_no_coils(const hcy_array *maps)
{
    return maps && !hcy__array_check(maps, "hcy_dist_sense") && maps->rank && !maps->shape[0];
}

int hcy_dist_sense(hcy_operator **op, hcy_dist_layout **samples, hcy_dist *comm, hcy_nufft *plan, hcy_array *maps,
                   hcy_array *weights, int axis)
{
    hcy_operator *own = NULL;
    int status = check_outputs(op, samples, comm, "hcy_dist_sense");
    if (status)
        return status;
    int mine = hcy__operator_check_plan(plan, "hcy_dist_sense");
    if (!mine && axis != 0 && axis != 1)
        mine = hcy_fail(HCY_EINVAL, "hcy_dist_sense: axis %d; samples are dealt out by coils (0) or by points (1)", axis);
    if (!mine)
        mine = axis == 0 && has_no_coils(maps) ? make_without_coils(&own, plan)
                                               : hcy_operator_sense(&own, plan, maps, weights);
    status = hcy_dist_agree(comm, mine);
    if (!status)
        status = join_samples(op, samples, comm, own, true, axis);
    hcy_operator_release(own);
    return status;
}
