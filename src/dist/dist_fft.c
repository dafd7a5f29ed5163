/* dist_fft.c - Fourier transforms of arrays that are dealt out: the axes that a rank has whole first, then, after a
 * transposition, that of the blocks.  Of real numbers the one axis that is halved comes before all others: where that
 * is the blocks', another one is dealt out first.
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
    bool in_place;                 /* columns are transformed where they lie: dist_dealt.c */
    int halved;                    /* the axis that real numbers still have to be transformed along; -1: none */
    hcy_dist_layout *end;          /* what comes out: the caller's layout, or its half */
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

/* Of half the frequencies of the last axis; the end itself, if it is that. */
static int make_half(hcy_dist_layout **half, const struct steps *s)
{
    const hcy_dist_layout *l = s->now;
    int64_t shape[HCY_ARRAY_MAX_RANK], *rows = NULL;
    /* Blocks of the axis that is halved: one rank has all of it, which at the end is shared out. */
    const bool on_one = l->axis == l->rank - 1;
    bool is_end = l->axis == s->end->axis && (!on_one || l->comm->place.n_ranks == 1);
    for (int d = 0; d < l->rank; d++) {
        shape[d] = d == l->rank - 1 ? l->shape[d] / 2 + 1 : l->shape[d];
        is_end = is_end && s->order[d] == d;
    }
    if (is_end) {
        *half = hcy_dist_layout_retain(s->end);
        return 0;
    }
    int status = hcy_dist_agree(l->comm, hcy__layout_rows(&rows, l));
    for (int r = 0; !status && on_one && r < l->comm->place.n_ranks; r++)
        rows[r] = rows[r] ? shape[l->axis] : 0;
    if (!status)
        status = l->axis < 0 ? hcy_dist_layout_replicated(half, l->comm, l->rank, shape)
                             : hcy_dist_layout_blocks(half, l->comm, l->rank, shape, l->axis, rows);
    free(rows);
    return status;
}

/* What transforms of numbers of a type make. */
static int complex_of(int dtype)
{
    return dtype == HCY_FLOAT32 || dtype == HCY_COMPLEX64 ? HCY_COMPLEX64 : HCY_COMPLEX128;
}

/* A rank without elements has nothing to do. */
static int do_nothing(hcy_queue *queue, hcy_array *to, void *user, hcy_array *from)
{
    (void)queue, (void)to, (void)user, (void)from;
    return 0;
}

/* This rank's own transform, of the last axes of its part. */
static int make_own(hcy_operator **own, const struct steps *s, const hcy_dist_layout *next, int n_axes)
{
    hcy_operator_desc nothing = HCY_OPERATOR_DESC_INIT;
    const bool is_real = s->halved >= 0;
    int status = hcy_dist_space(&nothing.domain, s->now, s->dtype);
    if (!status)
        status = hcy_dist_space(&nothing.range, next, complex_of(s->dtype));
    nothing.domain.vectors = nothing.range.vectors = NULL;
    if (!status && hcy__space_count(&nothing.domain))
        return is_real ? hcy_operator_fft_real(own, s->dev, &nothing.domain, n_axes)
                       : hcy_operator_fft(own, s->dev, &nothing.domain, n_axes);
    nothing.name = "nothing";
    nothing.apply = nothing.adjoint = do_nothing;
    return status ? status : hcy_operator_create(own, s->dev, &nothing);
}

/* A transform is made, and gives `next`. */
static void take_step(struct steps *s, hcy_dist_layout *next)
{
    s->n++;
    hcy_dist_layout_release(s->now);
    s->now = next;
    s->dtype = complex_of(s->dtype);
    s->halved = -1;
}

/* The last axes of each rank's part. */
static int add_transform(struct steps *s, int n_axes)
{
    const bool is_real = s->halved >= 0;
    hcy_operator *own = NULL;
    hcy_dist_layout *next = NULL;
    int status = is_real ? make_half(&next, s) : (next = hcy_dist_layout_retain(s->now), 0);
    if (!status)
        status = hcy_dist_agree(s->now->comm, make_own(&own, s, next, n_axes));
    if (!status)
        status = hcy_dist_operator(&s->ops[MOST_STEPS - 1 - s->n], next, s->now, own);
    hcy_operator_release(own);
    if (status) {
        hcy_dist_layout_release(next);
        return status;
    }
    take_step(s, next);
    return 0;
}

/* --- Which steps --- */

/* The axes in their order, but those that are transformed last, and the one that is halved behind them. */
static void put_last(int *order, int rank, const bool *transformed, int halved)
{
    int n = 0;
    for (int last = 0; last < 2; last++)
        for (int d = 0; d < rank; d++)
            if (transformed[d] == (last > 0) && d != halved)
                order[n++] = d;
    if (n < rank)
        order[n] = halved;
}

/* Those that each rank has whole become the last ones; `rows`: of the blocks' axis, which may come to lie elsewhere. */
static int turn_own_axes(struct steps *s, int *n_axes, const bool *transformed, const hcy_dist_layout *l,
                         const int64_t *rows)
{
    int order[HCY_ARRAY_MAX_RANK] = { 0 };
    *n_axes = 0;
    for (int d = 0; d < l->rank; d++)
        *n_axes += transformed[d];
    if (!*n_axes)
        return 0;
    put_last(order, l->rank, transformed, s->halved);
    return memcmp(order, s->order, sizeof *order * (size_t)l->rank) ? add_turn(s, order, l->axis, rows, NULL) : 0;
}

/* The longest other axis, of those that are not transformed if there are any; -1: there is no other. */
static int find_other(const hcy_dist_layout *l, int axis, const bool *transformed)
{
    int other = -1;
    for (int d = 0; d < l->rank; d++) {
        const bool better = other < 0 || (transformed[other] && !transformed[d]) ||
                            (transformed[other] == transformed[d] && l->shape[d] > l->shape[other]);
        if (d != axis && better)
            other = d;
    }
    return other;
}

/* Deals out axis `other` in place of `axis`, in an order; where there is none the first rank gets all. */
static int deal_out(struct steps *s, const int *order, int axis, int other, const hcy_dist_layout *l)
{
    int64_t *all_on_first = calloc((size_t)l->comm->place.n_ranks, sizeof *all_on_first);
    int status = hcy_dist_agree(l->comm, all_on_first ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for a layout"));
    if (!status && other < 0)
        all_on_first[0] = l->shape[axis];
    if (!status)
        status = add_turn(s, order, other < 0 ? axis : other, other < 0 ? all_on_first : NULL, NULL);
    free(all_on_first);
    return status;
}

/* The last n_axes of what a rank has, then the axis of its blocks, which stay. */
static int add_in_place(struct steps *s, int n_axes, int other)
{
    hcy_dist_layout *next = NULL;
    int status = s->halved >= 0 ? make_half(&next, s) : (next = hcy_dist_layout_retain(s->now), 0);
    if (!status)
        status = hcy__dist_transform_dealt(&s->ops[MOST_STEPS - 1 - s->n], s->dev, next, s->now, s->dtype,
                                           complex_of(s->dtype), n_axes, position_of(s, other));
    if (status)
        hcy_dist_layout_release(next);
    else
        take_step(s, next);
    return status;
}

/* Each rank's last n_axes (0: none), then it gets an axis that was dealt out whole, of its share of another one. */
static int add_dealt_axis(struct steps *s, int n_axes, int axis, const hcy_dist_layout *l)
{
    static const bool all_alike[HCY_ARRAY_MAX_RANK] = { false };
    const int other = find_other(l, axis, all_alike);
    bool transformed[HCY_ARRAY_MAX_RANK] = { false };
    int order[HCY_ARRAY_MAX_RANK] = { 0 };
    if (s->in_place && other >= 0)
        return add_in_place(s, n_axes, other);
    transformed[axis] = true;
    put_last(order, l->rank, transformed, -1);
    int status = n_axes ? add_transform(s, n_axes) : 0;
    if (!status)
        status = deal_out(s, order, axis, other, l);
    return status ? status : add_transform(s, 1);
}

/* The axis that is halved is the blocks': another one is dealt out before anything is transformed, and gets its turn
 * last if it is transformed as well. */
static int add_halved_first(struct steps *s, bool *transformed, const hcy_dist_layout *l)
{
    const int axis = l->axis, other = find_other(l, axis, transformed);
    const bool is_other_left = other >= 0 && transformed[other];
    int order[HCY_ARRAY_MAX_RANK] = { 0 }, n_axes = 0;
    if (is_other_left)
        transformed[other] = false;
    for (int d = 0; d < l->rank; d++)
        n_axes += transformed[d];
    put_last(order, l->rank, transformed, axis);
    int status = deal_out(s, order, axis, other, l);
    if (status)
        return status;
    return is_other_left ? add_dealt_axis(s, n_axes, other, l) : add_transform(s, n_axes);
}

static int add_steps(struct steps *s, bool *transformed, hcy_dist_layout *l, const int64_t *rows)
{
    int whole[HCY_ARRAY_MAX_RANK] = { 0 }, n_axes = 0, status = 0;
    int64_t *end_rows = NULL;
    /* One rank has all axes whole. */
    const bool is_dealt = l->axis >= 0 && l->comm->place.n_ranks > 1 && transformed[l->axis];
    for (int d = 0; d < l->rank; d++)
        whole[d] = d;
    if (is_dealt && s->halved == l->axis) {
        status = add_halved_first(s, transformed, l);
    } else {
        if (is_dealt)
            transformed[l->axis] = false;
        status = turn_own_axes(s, &n_axes, transformed, l, rows);
        if (!status && is_dealt)
            status = add_dealt_axis(s, n_axes, l->axis, l);
        else if (!status && n_axes)
            status = add_transform(s, n_axes);
    }
    /* Into the layout that comes out: of complex numbers the caller's own, so that both sides are one space. */
    if (status || s->now == s->end)
        return status;
    status = hcy_dist_agree(l->comm, hcy__layout_rows(&end_rows, s->end));
    if (!status)
        status = add_turn(s, whole, s->end->axis, end_rows, s->end);
    free(end_rows);
    return status;
}

/* --- The operator --- */

static int read_axes(bool *transformed, int *last, const hcy_dist_layout *l, const int *axes, int n_axes,
                     const char *function)
{
    if (!axes)
        return hcy_fail(HCY_EINVAL, "%s: no axes", function);
    if (n_axes < 1 || n_axes > MOST_AXES || n_axes > l->rank)
        return hcy_fail(HCY_EINVAL, "%s: over %d axes of %d; 1 to 3 are possible", function, n_axes, l->rank);
    for (int i = 0; i < n_axes; i++) {
        const int axis = axes[i] < 0 ? axes[i] + l->rank : axes[i];
        if (axis < 0 || axis >= l->rank || transformed[axis])
            return hcy_fail(HCY_EINVAL, "%s: axis %d is not there, or there twice", function, axes[i]);
        transformed[axis] = true;
        *last = axis;
    }
    for (int d = 0; d < l->rank; d++)
        if (!l->shape[d])
            return hcy_fail(HCY_EINVAL, "%s: of vectors without elements", function);
    return 0;
}

/* The steps as one operator. */
static int compose_steps(hcy_operator **op, struct steps *s, bool *transformed, hcy_dist_layout *layout,
                         const int64_t *rows)
{
    int32_t in_host = (hcy_device_get_info(s->dev)->caps & HCY_CAP_HOST_MEMORY) != 0;
    s->now = hcy_dist_layout_retain(layout);
    for (int d = 0; d < layout->rank; d++)
        s->order[d] = d;
    int status = hcy_dist_allreduce_host(&in_host, layout->comm, HCY_INT32, 1, HCY_REDUCE_MIN);
    s->in_place = in_host;
    int asked[HCY_ARRAY_MAX_RANK + 2] = { s->dtype, s->halved };
    for (int d = 0; d < layout->rank; d++)
        asked[2 + d] = transformed[d];
    if (!status)
        status = hcy__dist_same(layout->comm, asked, sizeof asked, s->halved < 0 ? "hcy_dist_fft" : "hcy_dist_fft_real",
                                "axes or another type");
    if (!status)
        status = add_steps(s, transformed, layout, rows);
    if (!status)
        status = hcy__dist_agree_on(op, layout->comm,
                                    hcy_operator_compose(op, s->ops + MOST_STEPS - s->n, (size_t)s->n));
    for (int i = 0; i < MOST_STEPS; i++)
        hcy_operator_release(s->ops[i]);
    hcy_dist_layout_release(s->now);
    return status;
}

int hcy_dist_fft(hcy_operator **op, hcy_device *dev, hcy_dist_layout *layout, int dtype, const int *axes, int n_axes)
{
    bool transformed[HCY_ARRAY_MAX_RANK] = { false };
    int64_t *rows = NULL;
    int last = 0;
    if (!op || !dev || !layout)
        return hcy_fail(HCY_EINVAL, "hcy_dist_fft: no place for the operator, device or layout");
    *op = NULL;
    int status = dtype == HCY_COMPLEX64 || dtype == HCY_COMPLEX128
                     ? read_axes(transformed, &last, layout, axes, n_axes, "hcy_dist_fft")
                     : hcy_fail(HCY_EINVAL, "hcy_dist_fft: of complex vectors only");
    if (!status)
        status = hcy__layout_rows(&rows, layout);
    status = hcy_dist_agree(layout->comm, status);
    struct steps s = { .dev = dev, .dtype = dtype, .halved = -1, .end = layout };
    if (!status)
        status = compose_steps(op, &s, transformed, layout, rows);
    free(rows);
    return status;
}

/* The layout of half the frequencies, in blocks as the layout's, evenly where that is the axis itself. */
static int make_spectrum(hcy_dist_layout **spectrum, const hcy_dist_layout *l, int halved, const int64_t *rows)
{
    int64_t shape[HCY_ARRAY_MAX_RANK];
    for (int d = 0; d < l->rank; d++)
        shape[d] = d == halved ? l->shape[d] / 2 + 1 : l->shape[d];
    return l->axis < 0 ? hcy_dist_layout_replicated(spectrum, l->comm, l->rank, shape)
                       : hcy_dist_layout_blocks(spectrum, l->comm, l->rank, shape, l->axis,
                                                l->axis == halved ? NULL : rows);
}

int hcy_dist_fft_real(hcy_operator **op, hcy_dist_layout **range, hcy_device *dev, hcy_dist_layout *layout, int dtype,
                      const int *axes, int n_axes)
{
    bool transformed[HCY_ARRAY_MAX_RANK] = { false };
    hcy_dist_layout *spectrum = NULL;
    int64_t *rows = NULL;
    int halved = 0;
    if (!op || !dev || !layout)
        return hcy_fail(HCY_EINVAL, "hcy_dist_fft_real: no place for the operator, device or layout");
    *op = NULL;
    if (range)
        *range = NULL;
    int status = dtype == HCY_FLOAT32 || dtype == HCY_FLOAT64
                     ? read_axes(transformed, &halved, layout, axes, n_axes, "hcy_dist_fft_real")
                     : hcy_fail(HCY_EINVAL, "hcy_dist_fft_real: of float32 and float64 vectors only");
    if (!status)
        status = hcy__layout_rows(&rows, layout);
    status = hcy_dist_agree(layout->comm, status);
    if (!status)
        status = make_spectrum(&spectrum, layout, halved, rows);
    struct steps s = { .dev = dev, .dtype = dtype, .halved = halved, .end = spectrum };
    if (!status)
        status = compose_steps(op, &s, transformed, layout, rows);
    free(rows);
    if (!status && range)
        *range = hcy_dist_layout_retain(spectrum);
    hcy_dist_layout_release(spectrum);
    return status;
}
