/* dist_fft.c - Fourier transforms of arrays that are dealt out: the axes that a rank has whole first, then, after a
 * transposition, that of the blocks.
 *
 * A chain of operators between layouts, each of which knows its adjoint: the device's transforms, which are of the
 * last axes, and transpositions, which bring axes there.  The one that deals out another axis, and its inverse, are
 * all that goes between ranks.
 */
#include "dist_priv.h"
#include "operator_priv.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 5, MOST_AXES = 3 };

struct steps {
    hcy_operator *ops[MOST_STEPS]; /* the first that is applied stands last */
    int n;
    hcy_device *dev;
    int dtype;
    hcy_dist_layout *now;          /* what the steps so far give */
    int order[HCY_ARRAY_MAX_RANK]; /* axis i of that is axis order[i] of the whole array */
};

/* --- Steps --- */

static int position_of(const struct steps *s, int axis)
{
    int at = 0;
    while (s->order[at] != axis)
        at++;
    return at;
}

/* To another order of axes, dealt out along one of the whole array's, or replicated: into a layout that is given, or
 * a new one. */
static int add_turn(struct steps *s, const int *order, int blocks, const int64_t *rows, hcy_dist_layout *into)
{
    int axes[HCY_ARRAY_MAX_RANK], along = -1;
    hcy_dist_layout *next = NULL;
    for (int i = 0; i < s->now->rank; i++) {
        axes[i] = position_of(s, order[i]);
        along = order[i] == blocks ? i : along;
    }
    int status = hcy__dist_turn(&s->ops[MOST_STEPS - 1 - s->n], &next, s->dev, s->now, s->dtype, axes, along, rows,
                                into);
    if (status)
        return status;
    s->n++;
    hcy_dist_layout_release(s->now);
    s->now = next;
    memcpy(s->order, order, sizeof s->order);
    return 0;
}

/* The last axes of each rank's part; a part without elements stays one. */
static int add_transform(struct steps *s, int n_axes)
{
    hcy_operator *own = NULL;
    hcy_space part = { 0 };
    int status = hcy_dist_space(&part, s->now, s->dtype);
    part.vectors = NULL;
    if (!status)
        status = hcy__space_count(&part) ? hcy_operator_fft(&own, s->dev, &part, n_axes)
                                         : hcy_operator_identity(&own, s->dev, &part);
    status = hcy_dist_agree(s->now->comm, status);
    if (!status)
        status = hcy_dist_operator(&s->ops[MOST_STEPS - 1 - s->n], s->now, s->now, own);
    s->n += !status;
    hcy_operator_release(own);
    return status;
}

/* --- Which steps --- */

/* The axes in their order, but those that are transformed last. */
static void put_last(int *order, int rank, const bool *transformed)
{
    int n = 0;
    for (int last = 0; last < 2; last++)
        for (int d = 0; d < rank; d++)
            if (transformed[d] == (last > 0))
                order[n++] = d;
}

static int add_own_axes(struct steps *s, const bool *transformed, const hcy_dist_layout *l, const int64_t *rows)
{
    int order[HCY_ARRAY_MAX_RANK] = { 0 }, n_axes = 0;
    for (int d = 0; d < l->rank; d++)
        n_axes += transformed[d];
    if (!n_axes)
        return 0;
    put_last(order, l->rank, transformed);
    int status = memcmp(order, s->order, sizeof *order * (size_t)l->rank) ? add_turn(s, order, l->axis, rows, NULL) : 0;
    return status ? status : add_transform(s, n_axes);
}

/* Each rank gets the axis of the blocks whole, of its share of the longest other one; where there is none the first
 * rank gets all. */
static int add_dealt_axis(struct steps *s, const hcy_dist_layout *l)
{
    bool transformed[HCY_ARRAY_MAX_RANK] = { false };
    int order[HCY_ARRAY_MAX_RANK] = { 0 }, other = -1;
    int64_t *all_on_first = calloc((size_t)l->comm->place.n_ranks, sizeof *all_on_first);
    int status = hcy_dist_agree(l->comm, all_on_first ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for a layout"));
    transformed[l->axis] = true;
    put_last(order, l->rank, transformed);
    for (int d = 0; d < l->rank; d++)
        if (d != l->axis && (other < 0 || l->shape[d] > l->shape[other]))
            other = d;
    if (!status && other < 0)
        all_on_first[0] = l->shape[l->axis];
    if (!status)
        status = add_turn(s, order, other < 0 ? l->axis : other, other < 0 ? all_on_first : NULL, NULL);
    free(all_on_first);
    return status ? status : add_transform(s, 1);
}

static int add_steps(struct steps *s, bool *transformed, hcy_dist_layout *l, const int64_t *rows)
{
    int whole[HCY_ARRAY_MAX_RANK] = { 0 };
    /* One rank has all axes whole. */
    const bool is_dealt = l->axis >= 0 && l->comm->place.n_ranks > 1 && transformed[l->axis];
    for (int d = 0; d < l->rank; d++)
        whole[d] = d;
    if (is_dealt)
        transformed[l->axis] = false;
    int status = add_own_axes(s, transformed, l, rows);
    if (!status && is_dealt)
        status = add_dealt_axis(s, l);
    /* Back into the caller's own layout, so that both sides are one space. */
    return status || s->now == l ? status : add_turn(s, whole, l->axis, rows, l);
}

/* --- The operator --- */

static int read_axes(bool *transformed, const hcy_dist_layout *l, int dtype, const int *axes, int n_axes)
{
    if (dtype != HCY_COMPLEX64 && dtype != HCY_COMPLEX128)
        return hcy_fail(HCY_EINVAL, "hcy_dist_fft: of complex vectors only");
    if (n_axes < 1 || n_axes > MOST_AXES || n_axes > l->rank || !axes)
        return hcy_fail(HCY_EINVAL, "hcy_dist_fft: over %d axes of %d; 1 to 3 are possible", n_axes, l->rank);
    for (int i = 0; i < n_axes; i++) {
        const int axis = axes[i] < 0 ? axes[i] + l->rank : axes[i];
        if (axis < 0 || axis >= l->rank || transformed[axis])
            return hcy_fail(HCY_EINVAL, "hcy_dist_fft: axis %d is not there, or there twice", axes[i]);
        transformed[axis] = true;
    }
    for (int d = 0; d < l->rank; d++)
        if (!l->shape[d])
            return hcy_fail(HCY_EINVAL, "hcy_dist_fft: of vectors without elements");
    return 0;
}

int hcy_dist_fft(hcy_operator **op, hcy_device *dev, hcy_dist_layout *layout, int dtype, const int *axes, int n_axes)
{
    bool transformed[HCY_ARRAY_MAX_RANK] = { false };
    int64_t *rows = NULL;
    if (!op || !dev || !layout)
        return hcy_fail(HCY_EINVAL, "hcy_dist_fft: no place for the operator, device or layout");
    *op = NULL;
    int status = read_axes(transformed, layout, dtype, axes, n_axes);
    if (!status)
        status = hcy__layout_rows(&rows, layout);
    status = hcy_dist_agree(layout->comm, status);
    if (status) {
        free(rows);
        return status;
    }
    struct steps s = { .dev = dev, .dtype = dtype, .now = hcy_dist_layout_retain(layout) };
    for (int d = 0; d < layout->rank; d++)
        s.order[d] = d;
    status = add_steps(&s, transformed, layout, rows);
    if (!status)
        status = hcy__dist_agree_on(op, layout->comm, hcy_operator_compose(op, s.ops + MOST_STEPS - s.n, (size_t)s.n));
    for (int i = 0; i < MOST_STEPS; i++)
        hcy_operator_release(s.ops[i]);
    hcy_dist_layout_release(s.now);
    free(rows);
    return status;
}
