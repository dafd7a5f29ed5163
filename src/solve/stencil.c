/* stencil.c - differences of neighbours along axes: derivatives, their sums (Laplacian), all of them (gradient).
 *
 * A difference along an axis of n elements is a matrix of n rows with at most three numbers each, next to the diagonal.
 * element_of() says which; its transpose is the adjoint.  Rows with the same numbers that follow one another are one
 * expression over slices, so that all but some rows at the ends is one pass over memory.
 */
#include "operator_priv.h"

#include <halcyon/eval.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Element (i, j) of a difference of n elements. */
static double element_of(int kind, int64_t i, int64_t j, int64_t n)
{
    /* Where neighbours are missing the result is 0. */
    const bool first = i == 0, last = i == n - 1;
    switch (kind) {
    case HCY_DIFFERENCE_FORWARD:
        return last ? 0 : (j == i + 1) - (j == i);
    case HCY_DIFFERENCE_BACKWARD:
        return first ? 0 : (j == i) - (j == i - 1);
    case HCY_DIFFERENCE_CENTRED:
        return first || last ? 0 : 0.5 * ((j == i + 1) - (j == i - 1));
    default:
        return first || last ? 0 : (j == i - 1) - 2 * (j == i) + (j == i + 1);
    }
}

/* The three numbers of a row, of the matrix or its transpose. */
static void row_of(double row[3], int kind, int64_t i, int64_t n, bool adjoint)
{
    for (int64_t j = i - 1; j <= i + 1; j++) {
        bool inside = j >= 0 && j < n;
        row[j - i + 1] = !inside ? 0 : adjoint ? element_of(kind, j, i, n) : element_of(kind, i, j, n);
    }
}

/* Rows [first, end) of y = or += factor * D x, whose numbers are `row`. */
static int run_rows(hcy_queue *queue, hcy_array *y, hcy_array *x, int axis, int64_t first, int64_t end,
                    const double row[3], double factor, bool adds)
{
    static const char *const terms[2][4] = { { "y = 0", "y = a*u", "y = a*u + b*v", "y = a*u + b*v + c*w" },
                                             { "", "y += a*u", "y += a*u + b*v", "y += a*u + b*v + c*w" } };
    static const char *const names[3] = { "u", "v", "w" }, *const numbers[3] = { "a", "b", "c" };
    hcy_operand operands[7];
    hcy_array *views[4] = { NULL };
    int n = 0, status = hcy__vector_rows(&views[3], y, axis, first, end - first);
    operands[0] = hcy_op_array("y", views[3]);
    /* A neighbour that does not count is not read: it may be outside, or infinite. */
    for (int k = 0; !status && k < 3; k++)
        if (row[k] != 0) {
            status = hcy__vector_rows(&views[n], x, axis, first + k - 1, end - first);
            operands[1 + 2 * n] = hcy_op_array(names[n], views[n]);
            operands[2 + 2 * n] = hcy_op_real(numbers[n], row[k] * factor);
            n++;
        }
    if (!status && (n || !adds))
        status = hcy_eval(queue, terms[adds][n], operands, 1 + 2 * (size_t)n);
    for (int k = 0; k < 4; k++)
        hcy_array_release(views[k]);
    return status;
}

/* y = or += factor * D x along an axis, or D^T. */
static int run_difference(hcy_queue *queue, hcy_array *y, hcy_array *x, int axis, int kind, double factor,
                          bool adjoint, bool adds)
{
    const int64_t n = x->shape[axis];
    int status = 0;
    for (int64_t first = 0, end; !status && first < n; first = end) {
        double row[3], next[3];
        row_of(row, kind, first, n, adjoint);
        /* From the third row to the third from the end all are alike, however many they are. */
        for (end = first + 1; end < n; end += end >= 2 && end < n - 3 ? n - 3 - end : 1) {
            row_of(next, kind, end, n, adjoint);
            if (memcmp(row, next, sizeof row))
                break;
        }
        status = run_rows(queue, y, x, axis, first, end, row, factor, adds);
    }
    return status;
}

/* --- Operators --- */

struct stencil {
    int kind, n_axes, axes[HCY_ARRAY_MAX_RANK];
    double factors[HCY_ARRAY_MAX_RANK];
    bool stacks; /* one result an axis, in front; else their sum */
};

static int run_stencil(hcy_queue *queue, hcy_array *y, const struct stencil *s, hcy_array *x, bool adjoint)
{
    int status = 0;
    for (int i = 0; !status && i < s->n_axes; i++) {
        hcy_array *stacked = NULL;
        /* Of a gradient that side which has an axis more is taken apart. */
        if (s->stacks)
            status = hcy_array_slice(&stacked, adjoint ? x : y, "%d", i);
        hcy_array *to = stacked && !adjoint ? stacked : y, *from = stacked && adjoint ? stacked : x;
        bool adds = i && (adjoint || !s->stacks);
        if (!status)
            status = run_difference(queue, to, from, s->axes[i], s->kind, s->factors[i], adjoint, adds);
        hcy_array_release(stacked);
    }
    return status;
}

static int apply_stencil(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return run_stencil(queue, y, user, x, false);
}

static int apply_stencil_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return run_stencil(queue, x, user, y, true);
}

static int make_stencil(hcy_operator **op, hcy_device *dev, const hcy_space *space,
                        const struct stencil *stencil, const char *name)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    struct stencil *s = malloc(sizeof *s);
    if (!s)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    *s = *stencil;
    desc.name = name;
    desc.domain = desc.range = *space;
    if (s->stacks) {
        desc.range.rank++;
        desc.range.shape[0] = s->n_axes;
        memcpy(desc.range.shape + 1, space->shape, sizeof *space->shape * (size_t)space->rank);
    }
    desc.apply = apply_stencil;
    desc.adjoint = apply_stencil_adjoint;
    desc.destroy = free;
    desc.user = s;
    return hcy__operator_make(op, dev, &desc);
}

static int check_stencil(const hcy_space *space, int kind, const char *function)
{
    int status = hcy__space_check(space, function);
    if (!status && (kind < HCY_DIFFERENCE_FORWARD || kind > HCY_DIFFERENCE_SECOND))
        status = hcy_fail(HCY_EINVAL, "%s: %d is no kind of difference", function, kind);
    /* A part of a vector lacks its neighbours. */
    if (!status && space->vectors)
        status = hcy_fail(HCY_EUNSUPPORTED, "%s: vectors that are distributed", function);
    return status;
}

/* The last axes, with factors of 1 or the user's. */
static struct stencil last_axes(int n_axes, int kind, const hcy_space *space, const double *factors, bool stacks)
{
    struct stencil s = { .kind = kind, .stacks = stacks };
    for (int d = space->rank - n_axes; d < space->rank; d++)
        if (!factors || factors[d] != 0) {
            s.axes[s.n_axes] = d;
            s.factors[s.n_axes++] = factors ? factors[d] : 1;
        }
    return s;
}

int hcy_operator_difference(hcy_operator **op, hcy_device *dev, const hcy_space *space, int axis, int kind,
                            double factor)
{
    int status = check_stencil(space, kind, "hcy_operator_difference");
    if (status)
        return status;
    struct stencil s = { kind, 1, { axis < 0 ? axis + space->rank : axis }, { factor }, false };
    if (s.axes[0] < 0 || s.axes[0] >= space->rank)
        return hcy_fail(HCY_EINVAL, "hcy_operator_difference: axis %d of vectors with %d", axis, space->rank);
    return make_stencil(op, dev, space, &s, "difference");
}

int hcy_operator_laplacian(hcy_operator **op, hcy_device *dev, const hcy_space *space, const double *factors)
{
    int status = check_stencil(space, HCY_DIFFERENCE_SECOND, "hcy_operator_laplacian");
    struct stencil s =
        status ? (struct stencil){ 0 } : last_axes(space->rank, HCY_DIFFERENCE_SECOND, space, factors, false);
    if (!status && !s.n_axes)
        status = hcy_fail(HCY_EINVAL, "hcy_operator_laplacian: along no axis");
    return status ? status : make_stencil(op, dev, space, &s, "laplacian");
}

int hcy__gradient_of(hcy_operator **op, hcy_device *dev, const hcy_space *space, int n_axes, int kind,
                     const char *function)
{
    int status = check_stencil(space, kind, function);
    if (!status && (n_axes < 1 || n_axes > space->rank || space->rank >= HCY_ARRAY_MAX_RANK))
        status = hcy_fail(HCY_EINVAL, "%s: along %d axes of vectors with %d", function, n_axes, space->rank);
    if (status)
        return status;
    struct stencil s = last_axes(n_axes, kind, space, NULL, true);
    return make_stencil(op, dev, space, &s, "gradient");
}

int hcy_operator_gradient(hcy_operator **op, hcy_device *dev, const hcy_space *space, int kind)
{
    return hcy__gradient_of(op, dev, space, space ? space->rank : 0, kind, "hcy_operator_gradient");
}
