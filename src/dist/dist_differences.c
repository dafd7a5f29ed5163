/* dist_differences.c - differences of neighbours over ranks, with the bits of one device.
 *
 * Ghosts are fetched while one pass over memory makes most of a rank's part of the result (dist_overlap.c).  The
 * adjoint is the same of the transposed matrix: its own ghosts, of what comes in.  No differences along an axis of
 * blocks: nothing goes between ranks.
 */
#include "differences.h"
#include "dist_priv.h"
#include "operator_priv.h"

#include <stdlib.h>
#include <string.h>

/* The layout of the result: of differences that stay apart with an axis in front. */
static int make_result_layout(hcy_dist_layout **range, hcy_dist_layout *l, const hcy_differences_desc *whole)
{
    int64_t shape[HCY_ARRAY_MAX_RANK + 1] = { 0 }, *rows = NULL;
    const int64_t *of_axes[HCY_ARRAY_MAX_RANK + 1] = { NULL };
    int grid[HCY_ARRAY_MAX_RANK + 1] = { 1 };
    if (!whole->apart) {
        *range = hcy_dist_layout_retain(l);
        return 0;
    }
    rows = calloc((size_t)l->comm->place.n_ranks * HCY_ARRAY_MAX_RANK, sizeof *rows);
    int status = hcy_dist_agree(l->comm, rows ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for a layout"));
    for (int d = 0; !status && d < l->rank; d++) {
        int64_t *mine = rows + l->comm->place.n_ranks * d;
        for (int i = 0; i < l->grid[d]; i++)
            mine[i] = l->bounds[d][i + 1] - l->bounds[d][i];
        of_axes[d + 1] = mine;
        shape[0] += whole->kinds[d] != 0;
        shape[d + 1] = l->shape[d];
        grid[d + 1] = l->grid[d];
    }
    if (!status)
        status = hcy__layout_make(range, l->comm, l->rank + 1, shape, l->axis < 0 ? l->axis : l->axis + 1, grid,
                                  of_axes, false);
    free(rows);
    return status;
}

/* --- A rank's part of the result alone --- */

struct halves {
    hcy_operator *forward, *transposed;
};

static int apply_forward(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    const struct halves *h = user;
    return hcy__operator_run(queue, y, h->forward, x, false);
}

static int apply_transposed(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    const struct halves *h = user;
    return hcy__operator_run(queue, x, h->transposed, y, false);
}

static void free_halves(void *user)
{
    struct halves *h = user;
    hcy_operator_release(h->forward);
    hcy_operator_release(h->transposed);
    free(h);
}

/* The matrix, or its transpose. */
static int make_half(hcy_operator **op, hcy_device *dev, hcy_dist_layout *to, hcy_dist_layout *from,
                     const hcy_differences_desc *whole, bool transposed)
{
    hcy_differences_desc half = *whole;
    half.transposed = transposed;
    return hcy__dist_agree_on(op, to->comm, hcy__dist_overlapped(op, dev, to, from, &half));
}

static int make_of_halves(hcy_operator **op, hcy_device *dev, hcy_dist_layout *range, hcy_dist_layout *domain,
                          const hcy_differences_desc *whole)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    struct halves *h = calloc(1, sizeof *h);
    int status = hcy_dist_agree(domain->comm, h ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for an operator"));
    if (!status)
        status = make_half(&h->forward, dev, range, domain, whole, false);
    if (!status)
        status = make_half(&h->transposed, dev, domain, range, whole, true);
    if (status) {
        if (h)
            free_halves(h);
        return status;
    }
    desc.name = "differences over ranks";
    desc.range = h->forward->desc.range;
    desc.domain = h->forward->desc.domain;
    desc.apply = apply_forward;
    desc.adjoint = apply_transposed;
    desc.destroy = free_halves;
    desc.user = h;
    return hcy__dist_agree_on(op, domain->comm, hcy__operator_make(op, dev, &desc));
}

/* --- No neighbours --- */

/* The differences of a part that has neighbours on neither side. */
static int make_own(hcy_operator **own, hcy_device *dev, const hcy_dist_layout *part,
                    const hcy_differences_desc *whole)
{
    hcy_differences_desc desc = *whole;
    memcpy(desc.space.shape, part->local, sizeof desc.space.shape);
    return hcy_operator_differences(own, dev, &desc);
}

static int make_local(hcy_operator **op, hcy_device *dev, hcy_dist_layout *range, hcy_dist_layout *domain,
                      const hcy_differences_desc *whole)
{
    hcy_operator *own = NULL;
    int status = hcy_dist_agree(domain->comm, make_own(&own, dev, domain, whole));
    if (!status)
        status = hcy_dist_operator(op, range, domain, own);
    hcy_operator_release(own);
    return status;
}

/* --- Operators --- */

/* No differences along an axis of blocks: no rank needs another's rows. */
static bool is_local(const hcy_dist_layout *l, const hcy_differences_desc *whole)
{
    bool local = true;
    for (int d = 0; d < l->rank; d++)
        local = local && !(whole->kinds[d] && (d == l->axis || l->grid[d] > 1));
    return local;
}

/* Each rank lists its own messages, which have to be those that others wait for. */
static int agree_on_kinds(const hcy_differences_desc *whole, hcy_dist *comm)
{
    int asked[HCY_ARRAY_MAX_RANK + 2] = { whole->apart, whole->space.dtype };
    memcpy(asked + 2, whole->kinds, sizeof whole->kinds);
    return hcy__dist_same(comm, asked, sizeof asked, "differences", "kinds or another type");
}

/* `whole` has kinds and factors; *kept is the result's layout, if there is a place for it. */
static int make_differences(hcy_operator **op, hcy_dist_layout **kept, hcy_device *dev, hcy_dist_layout *layout,
                            int dtype, hcy_differences_desc *whole)
{
    hcy_dist_layout *range = NULL;
    whole->space = (hcy_space){ dtype, layout->rank, { 0 }, NULL };
    memcpy(whole->space.shape, layout->shape, sizeof whole->space.shape);
    int status = agree_on_kinds(whole, layout->comm);
    if (!status)
        status = make_result_layout(&range, layout, whole);
    if (status)
        return status;
    if (is_local(layout, whole))
        status = make_local(op, dev, range, layout, whole);
    else
        status = make_of_halves(op, dev, range, layout, whole);
    if (status || !kept)
        hcy_dist_layout_release(range);
    else
        *kept = range;
    return status;
}

int hcy_dist_difference(hcy_operator **op, hcy_device *dev, hcy_dist_layout *layout, int dtype, int axis,
                        int kind, double factor)
{
    hcy_differences_desc whole = HCY_DIFFERENCES_DESC_INIT;
    int status = hcy__dist_check_halo(op, dev, layout, "hcy_dist_difference");
    if (status)
        return status;
    const int along = axis < 0 ? axis + layout->rank : axis;
    if (along < 0 || along >= layout->rank)
        status = hcy_fail(HCY_EINVAL, "hcy_dist_difference: axis %d of arrays with %d", axis, layout->rank);
    else if (!hcy__difference_is(kind))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_difference: %d is no kind of difference", kind);
    /* What is wrong on one rank is so on all. */
    status = hcy_dist_agree(layout->comm, status);
    if (status)
        return status;
    whole.kinds[along] = kind;
    whole.factors[along] = factor;
    return make_differences(op, NULL, dev, layout, dtype, &whole);
}

int hcy_dist_laplacian(hcy_operator **op, hcy_device *dev, hcy_dist_layout *layout, int dtype,
                       const double *factors)
{
    hcy_differences_desc whole = HCY_DIFFERENCES_DESC_INIT;
    int status = hcy__dist_check_halo(op, dev, layout, "hcy_dist_laplacian");
    for (int d = 0; !status && d < layout->rank; d++) {
        whole.factors[d] = factors ? factors[d] : 1;
        whole.kinds[d] = whole.factors[d] != 0 ? HCY_DIFFERENCE_SECOND : 0;
    }
    return status ? status : make_differences(op, NULL, dev, layout, dtype, &whole);
}

int hcy_dist_gradient(hcy_operator **op, hcy_dist_layout **range, hcy_device *dev, hcy_dist_layout *layout,
                      int dtype, int kind)
{
    hcy_differences_desc whole = HCY_DIFFERENCES_DESC_INIT;
    int status = hcy__dist_check_halo(op, dev, layout, "hcy_dist_gradient");
    if (range)
        *range = NULL;
    if (status)
        return status;
    if (!hcy__difference_is(kind))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_gradient: %d is no kind of difference", kind);
    status = hcy_dist_agree(layout->comm, status);
    if (status)
        return status;
    whole.apart = 1;
    for (int d = 0; d < layout->rank; d++) {
        whole.kinds[d] = kind;
        whole.factors[d] = 1;
    }
    return make_differences(op, range, dev, layout, dtype, &whole);
}
