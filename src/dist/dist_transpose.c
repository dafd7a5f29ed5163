/* dist_transpose.c - arrays in another order of axes and other blocks, as an operator: all ranks send to all.
 *
 * What goes between ranks are boxes of the domain, in its order of axes: the result is written through a view of it
 * that has this order.  So turning axes round costs no pass over memory beside that of the messages.
 */
#include "dist_priv.h"
#include "operator_priv.h"

#include <stdlib.h>

struct turned {
    hcy_dist_layout *domain, *range;
    hcy_dist_layout *between; /* the domain's shape in the range's blocks */
    int back[HCY_ARRAY_MAX_RANK]; /* axis i of the domain is axis back[i] of the range */
};

static void free_turned(void *user)
{
    struct turned *t = user;
    hcy_dist_layout_release(t->domain);
    hcy_dist_layout_release(t->range);
    hcy_dist_layout_release(t->between);
    free(t);
}

static int apply_turned(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    const struct turned *t = user;
    hcy_array *view = NULL;
    int status = hcy_array_transpose(&view, y, t->back);
    if (!status)
        status = hcy__dist_move(queue, view, t->between, x, t->domain);
    hcy_array_release(view);
    return status;
}

/* A permutation of a vector's numbers: the adjoint is the inverse. */
static int apply_turned_back(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    const struct turned *t = user;
    hcy_array *view = NULL;
    int status = hcy_array_transpose(&view, y, t->back);
    if (!status)
        status = hcy__dist_move(queue, x, t->domain, view, t->between);
    hcy_array_release(view);
    return status;
}

/* HCY_EINVAL: axes that are no order of the domain's. */
static int invert_order(int *back, const hcy_dist_layout *domain, const int *axes, int blocks)
{
    bool seen[HCY_ARRAY_MAX_RANK] = { false };
    for (int i = 0; i < domain->rank; i++) {
        const int axis = axes ? axes[i] : i;
        if (axis < 0 || axis >= domain->rank || seen[axis])
            return hcy_fail(HCY_EINVAL, "hcy_dist_transpose: axis %d is not there, or there twice", axis);
        seen[axis] = true;
        back[axis] = i;
    }
    return blocks < domain->rank ? 0
                                 : hcy_fail(HCY_EINVAL, "hcy_dist_transpose: blocks along axis %d of %d axes", blocks,
                                            domain->rank);
}

static int make_turned_layout(hcy_dist_layout **layout, hcy_dist *comm, int rank, const int64_t *shape, int axis,
                              const int64_t *rows)
{
    return axis < 0 ? hcy_dist_layout_replicated(layout, comm, rank, shape)
                    : hcy_dist_layout_blocks(layout, comm, rank, shape, axis, rows);
}

/* Both layouts of the result: in its own order of axes and in the domain's. */
static int make_turned_layouts(struct turned *t, const int *axes, int blocks, const int64_t *rows,
                               hcy_dist_layout *into)
{
    const hcy_dist_layout *d = t->domain;
    int64_t shape[HCY_ARRAY_MAX_RANK] = { 0 };
    int along = -1;
    for (int i = 0; i < d->rank; i++)
        shape[t->back[i]] = d->shape[i];
    if (blocks >= 0)
        along = axes ? axes[blocks] : blocks;
    t->range = hcy_dist_layout_retain(into);
    int status = into ? 0 : make_turned_layout(&t->range, d->comm, d->rank, shape, blocks, rows);
    return status ? status : make_turned_layout(&t->between, d->comm, d->rank, d->shape, along, rows);
}

static int new_turned(struct turned **out, hcy_dist_layout *domain, const int *axes, int blocks)
{
    struct turned *t = calloc(1, sizeof *t);
    int status = t ? invert_order(t->back, domain, axes, blocks) : hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    if (status) {
        free(t);
        return status;
    }
    t->domain = hcy_dist_layout_retain(domain);
    *out = t;
    return 0;
}

int hcy__dist_turn(hcy_operator **op, hcy_dist_layout **range, hcy_device *dev, hcy_dist_layout *domain, int dtype,
                   const int *axes, int blocks, const int64_t *rows, hcy_dist_layout *into)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    struct turned *t = NULL;
    int status = new_turned(&t, domain, axes, blocks);
    int agreed = hcy_dist_agree(domain->comm, status);
    int asked[HCY_ARRAY_MAX_RANK + 2] = { dtype, blocks };
    for (int i = 0; !agreed && i < domain->rank; i++)
        asked[2 + i] = axes ? axes[i] : i;
    if (!agreed)
        agreed = hcy__dist_same(domain->comm, asked, sizeof asked, "hcy_dist_transpose", "axes or another type");
    if (!agreed)
        agreed = make_turned_layouts(t, axes, blocks, rows, into);
    if (!agreed)
        agreed = hcy_dist_space(&desc.domain, domain, dtype);
    if (!agreed)
        agreed = hcy_dist_space(&desc.range, t->range, dtype);
    if (agreed) {
        if (!status)
            free_turned(t);
        return agreed;
    }
    desc.name = "transpose";
    desc.apply = apply_turned;
    desc.adjoint = apply_turned_back;
    desc.destroy = free_turned;
    desc.user = t;
    *range = hcy_dist_layout_retain(t->range);
    status = hcy__dist_agree_on(op, domain->comm, hcy__operator_make(op, dev, &desc));
    if (status) {
        hcy_dist_layout_release(*range);
        *range = NULL;
    }
    return status;
}

int hcy_dist_transpose(hcy_operator **op, hcy_dist_layout **range, hcy_device *dev, hcy_dist_layout *domain, int dtype,
                       const int *axes, int blocks)
{
    hcy_dist_layout *made = NULL;
    if (range)
        *range = NULL;
    if (!op || !dev || !domain)
        return hcy_fail(HCY_EINVAL, "hcy_dist_transpose: no place for the operator, device or layout");
    *op = NULL;
    int status = hcy__dist_turn(op, &made, dev, domain, dtype, axes, blocks, NULL, NULL);
    if (status || !range)
        hcy_dist_layout_release(made);
    else
        *range = made;
    return status;
}
