/* dist_convolve.c - convolution along an axis by filters that change on the way, of an array that is dealt out.
 *
 * A filter belongs to what is convolved, so a rank needs its neighbours' rows, as far as a filter reaches, and the
 * filters of these.  All are interpolated when the operator is made; what the adjoint gives ghost rows is added up by
 * that of the halo.
 */
#include "dist_priv.h"
#include "operator_priv.h"
#include "sized.h"

#include <halcyon/eval.h>
#include <stdlib.h>

struct convolution {
    hcy_array *filters; /* [taps][rows of the padded part] */
    int axis, taps;
    int64_t first, end;               /* this rank's rows, numbered over all */
    int64_t padded_first, padded_end; /* and those with its ghosts */
};

static void free_convolution(void *user)
{
    struct convolution *c = user;
    hcy_array_release(c->filters);
    free(c);
}

/* The rows that tap k takes from the padded part to this rank's own: own row i from row i - (k - taps / 2). */
static int pass_tap(hcy_queue *queue, const struct convolution *c, int k, hcy_array *own, hcy_array *padded,
                    bool adjoint)
{
    const int64_t shift = k - c->taps / 2;
    const int64_t first = c->first > c->padded_first + shift ? c->first : c->padded_first + shift,
                  end = c->end < c->padded_end + shift ? c->end : c->padded_end + shift,
                  from = first - shift - c->padded_first;
    hcy_array *y = NULL, *x = NULL, *h = NULL;
    if (end <= first)
        return 0;
    int status = hcy__rows(&y, own, c->axis, first - c->first, end - first);
    if (!status)
        status = hcy__rows(&x, padded, c->axis, from, end - first);
    if (!status)
        status = hcy_array_slice(&h, c->filters, "%d, %lld:%lld", k, (long long)from, (long long)(from + end - first));
    /* A number for each row, whatever axes come behind. */
    for (; !status && h->rank < own->rank - c->axis; h->rank++)
        h->shape[h->rank] = h->strides[h->rank] = 1;
    if (!status)
        status = HCY_EVAL(queue, adjoint ? "x += h * y" : "y += h * x", hcy_op_array("x", x), hcy_op_array("h", h),
                          hcy_op_array("y", y));
    hcy_array_release(y);
    hcy_array_release(x);
    hcy_array_release(h);
    return status;
}

static int pass_taps(hcy_queue *queue, hcy_array *to, const struct convolution *c, hcy_array *from, bool adjoint)
{
    int status = HCY_EVAL(queue, "y = 0", hcy_op_array("y", to));
    for (int k = 0; !status && k < c->taps; k++)
        status = pass_tap(queue, c, k, adjoint ? from : to, adjoint ? to : from, adjoint);
    return status;
}

static int apply_convolution(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return pass_taps(queue, y, user, x, false);
}

static int apply_convolution_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return pass_taps(queue, x, user, y, true);
}

/* Tap k of the filter at a row: between the two that are given next to it, those at the ends beyond them. */
static double filter_at(const hcy_filters *f, int64_t row, int k)
{
    double at = ((double)row - (double)f->first) / (double)f->step;
    at = at > 0 ? at : 0;
    const int64_t last = f->n - 1, before = at < (double)last ? (int64_t)at : last,
                  behind = before < last ? before + 1 : last;
    const double part = at < (double)last ? at - (double)before : 0;
    return (1 - part) * f->taps[before * f->length + k] + part * f->taps[behind * f->length + k];
}

static int interpolate_filters(struct convolution *c, hcy_device *dev, const hcy_filters *f, const hcy_space *part)
{
    const int64_t shape[2] = { f->length, c->padded_end - c->padded_first };
    const size_t rows = (size_t)shape[1];
    size_t numbers = 0, bytes = 0;
    double *all = NULL;
    if (!hcy_size_mul(&numbers, rows, (size_t)f->length) && !hcy_size_mul(&bytes, numbers, sizeof *all))
        all = malloc(bytes ? bytes : 1);
    if (!all)
        return hcy_fail(HCY_ENOMEM, "hcy_dist_convolve: no memory for %zu filters of %d numbers", rows, f->length);
    for (int k = 0; k < f->length; k++)
        for (size_t i = 0; i < rows; i++)
            all[(size_t)k * rows + i] = filter_at(f, c->padded_first + (int64_t)i, k);
    hcy_array *exact = NULL;
    int status = hcy_array_from_host(&exact, dev, HCY_FLOAT64, 2, shape, all);
    free(all);
    if (status || !hcy__is_single(part)) {
        c->filters = exact;
        return status;
    }
    /* Filters of the vectors' own precision, so that an expression computes in it. */
    hcy_queue *queue = NULL;
    status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy_array_empty(&c->filters, dev, HCY_FLOAT32, 2, shape);
    if (!status)
        status = HCY_EVAL(queue, "y = x", hcy_op_array("y", c->filters), hcy_op_array("x", exact));
    if (!status)
        status = hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_array_release(exact);
    return status;
}

/* From the padded part to the rank's own; without ghosts these are one. */
static int make_own_convolution(hcy_operator **own, hcy_device *dev, const hcy_dist_layout *l,
                                const hcy_dist_layout *padded, int dtype, int axis, const hcy_filters *f)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    const int64_t reach = padded == l ? 0 : f->length / 2;
    struct convolution *c = calloc(1, sizeof *c);
    int status = c ? hcy_dist_space(&desc.domain, padded, dtype) : hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    if (!status)
        status = hcy_dist_space(&desc.range, l, dtype);
    if (status) {
        free(c);
        return status;
    }
    desc.domain.vectors = desc.range.vectors = NULL;
    c->axis = axis;
    c->taps = f->length;
    c->first = hcy__layout_box(l, l->comm->place.rank).first[axis];
    c->end = c->first + l->local[axis];
    c->padded_first = c->first > reach ? c->first - reach : 0;
    /* A rank without rows has no ghosts. */
    if (c->first == c->end)
        c->padded_first = c->first;
    c->padded_end = c->padded_first + padded->local[axis];
    status = interpolate_filters(c, dev, f, &desc.domain);
    if (status) {
        free_convolution(c);
        return status;
    }
    desc.name = "convolution";
    desc.apply = apply_convolution;
    desc.adjoint = apply_convolution_adjoint;
    desc.destroy = free_convolution;
    desc.user = c;
    return hcy__operator_make(own, dev, &desc);
}

/* With the neighbours' rows, if it is their axis. */
static int join_convolution(hcy_operator **op, hcy_device *dev, hcy_dist_layout *l, int dtype, int axis,
                            const hcy_filters *f)
{
    hcy_dist_layout *padded = NULL;
    hcy_operator *own = NULL, *ops[2] = { NULL, NULL };
    struct hcy__widths widths = { { 0 }, { 0 }, false };
    const bool has_ghosts = l->grid[axis] > 1;
    widths.front[axis] = widths.back[axis] = f->length / 2;
    int status = has_ghosts ? hcy__dist_halo_of(&ops[1], &padded, dev, l, dtype, &widths) : 0;
    if (!status)
        status = hcy_dist_agree(l->comm, make_own_convolution(&own, dev, l, padded ? padded : l, dtype, axis, f));
    if (!status)
        status = hcy_dist_operator(&ops[0], l, padded ? padded : l, own);
    if (!status)
        status = hcy__dist_agree_on(op, l->comm, hcy_operator_compose(op, ops, has_ghosts ? 2 : 1));
    hcy_operator_release(own);
    hcy_operator_release(ops[0]);
    hcy_operator_release(ops[1]);
    hcy_dist_layout_release(padded);
    return status;
}

int hcy_dist_convolve(hcy_operator **op, hcy_device *dev, hcy_dist_layout *layout, int dtype, int axis,
                      const hcy_filters *filters)
{
    if (!op || !dev || !layout)
        return hcy_fail(HCY_EINVAL, "hcy_dist_convolve: no place for the operator, device or layout");
    *op = NULL;
    hcy_filters f = HCY_FILTERS_INIT;
    int status = hcy__sized_read(&f, sizeof f, filters, "hcy_filters");
    const int along = axis < 0 ? axis + layout->rank : axis;
    if (!status && (along < 0 || along >= layout->rank))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_convolve: axis %d of arrays with %d", axis, layout->rank);
    if (!status && (!f.taps || f.n < 1 || f.length < 1 || f.length % 2 == 0 || f.step < 1))
        status = hcy_fail(HCY_EINVAL,
                          "hcy_dist_convolve: %lld filters of %d numbers, %lld rows apart; it takes one and more, of an "
                          "odd number",
                          (long long)f.n, f.length, (long long)f.step);
    status = hcy_dist_agree(layout->comm, status);
    return status ? status : join_convolution(op, dev, layout, dtype, along, &f);
}
