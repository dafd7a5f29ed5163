/* layout.c - shapes, strides, and what overlaps. */
#include "layout.h"

#include "hal_priv.h"
#include "types.h"

#include <string.h>

/* An axis of the shape in all operands. */
struct axis {
    int64_t size, strides[HCY_EVAL_OPERANDS];
};

/* Of arrays before number k the one that has this size, not 1, so many axes from the last one. */
static const hcy_array *find_size(const struct hcy__operands *o, int k, int64_t size, int axis)
{
    const hcy_array *x = NULL;
    for (int i = 0; i < k && !x; i++)
        if (o->arrays[i] && o->arrays[i]->rank > axis && o->arrays[i]->shape[o->arrays[i]->rank - 1 - axis] == size)
            x = o->arrays[i];
    return x;
}

int hcy__find_shape(int64_t *shape, int *rank, const struct hcy__operands *o, const char *text)
{
    char a[200], b[200];
    *rank = 0;
    for (int k = 0; k < o->n; k++)
        if (o->arrays[k] && o->arrays[k]->rank > *rank)
            *rank = o->arrays[k]->rank;
    for (int d = 0; d < *rank; d++)
        shape[d] = 1;
    /* Axes meet from the last one on; one of 1, or one that is missing in front, takes any size, 0 too. */
    for (int k = 0; k < o->n; k++) {
        const hcy_array *x = o->arrays[k];
        for (int d = 0; x && d < x->rank; d++) {
            int64_t *size = &shape[d + *rank - x->rank];
            if (*size != 1 && x->shape[d] != 1 && *size != x->shape[d]) {
                const hcy_array *y = find_size(o, k, *size, x->rank - 1 - d);
                return hcy_fail(HCY_EINVAL, "\"%.200s\": an array of shape %s does not go with one of %s", text,
                                hcy__shape_text(a, x->rank, x->shape), hcy__shape_text(b, y->rank, y->shape));
            }
            if (x->shape[d] != 1)
                *size = x->shape[d];
        }
    }
    /* What is written is never broadcast. */
    const hcy_array *t = o->target >= 0 ? o->arrays[o->target] : NULL;
    if (t && (t->rank != *rank || memcmp(t->shape, shape, sizeof *shape * (size_t)*rank)))
        return hcy_fail(HCY_EINVAL, "\"%.200s\": a result of shape %s does not fit an array of %s", text,
                        hcy__shape_text(b, *rank, shape), hcy__shape_text(a, t->rank, t->shape));
    return 0;
}

/* Components of an element: strides and offsets of launches count these. */
static int64_t components_of(const hcy_array *a)
{
    return hcy__kind_of(a->dtype) == HCY__KIND_COMPLEX ? 2 : 1;
}

static int64_t size_of_stride(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* By the target's strides, the largest first: memory is written as it lies. */
static void sort_axes(struct axis *axes, int n, int target)
{
    for (int i = 1; i < n; i++)
        for (int k = i;
             k > 0 && size_of_stride(axes[k - 1].strides[target]) < size_of_stride(axes[k].strides[target]);
             k--) {
            struct axis x = axes[k];
            axes[k] = axes[k - 1];
            axes[k - 1] = x;
        }
}

static bool joins(const struct axis *outer, const struct axis *inner, int n)
{
    /* One operand with a gap is enough: the axes are common to all of them. */
    for (int k = 0; k < n; k++)
        if (outer->strides[k] != inner->strides[k] * inner->size)
            return false;
    return true;
}

/* Axes that follow one another without a gap in every operand become one. */
static int join_axes(struct axis *axes, int n, int n_operands)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (kept && joins(&axes[kept - 1], &axes[i], n_operands)) {
            /* Both become one with the strides of the inner axis, which is the one that is kept. */
            axes[i].size *= axes[kept - 1].size;
            kept--;
        }
        axes[kept++] = axes[i];
    }
    return kept;
}

void hcy__set_offsets(hcy_eval_job *job, const struct hcy__operands *o)
{
    for (int k = 0; k < o->n; k++) {
        const hcy_array *a = o->arrays[k];
        job->offset[k] = a ? (uint64_t)(a->offset * components_of(a)) : 0;
    }
}

const int hcy__c_order[HCY_EVAL_AXES] = { 0, 1, 2, 3, 4, 5, 6, 7 };

void hcy__lay_out(struct hcy__launch *l, const struct hcy__operands *o, int rank, const int64_t *shape,
                  const int *order)
{
    struct axis axes[HCY_EVAL_AXES];
    int n = 0;
    l->job.n = 1;
    for (int i = 0; i < rank; i++) {
        int d = order ? order[i] : i;
        l->job.n *= (uint64_t)shape[d];
        /* An axis of one element moves no address, and would keep its neighbours from becoming one. */
        if (shape[d] == 1)
            continue;
        axes[n].size = shape[d];
        for (int k = 0; k < o->n; k++) {
            const hcy_array *a = o->arrays[k];
            /* An operand's own axes are the last ones of the shape; along all others it is broadcast, which is a
             * stride of 0. */
            int own = a ? d - (rank - a->rank) : -1;
            axes[n].strides[k] = own >= 0 && a->shape[own] != 1 ? a->strides[own] * components_of(a) : 0;
        }
        n++;
    }
    /* What is computed for each element alone may be done in any order, unless a step asks for an element's
     * number. */
    if (!order && o->target >= 0)
        sort_axes(axes, n, o->target);
    /* Each axis less saves a division for every element on a GPU, and makes a CPU's loops longer. */
    n = join_axes(axes, n, o->n);
    l->job.rank = (uint32_t)n;
    l->job.span = l->job.n;
    l->job.n_operands = (uint32_t)o->n;
    for (int k = 0; k < o->n; k++)
        for (int d = 0; d < n; d++)
            l->strides[k / 4].of[k % 4][d] = axes[d].strides[k];
    hcy__set_offsets(&l->job, o);
    for (int d = 0; d < n; d++)
        l->job.shape[d] = (uint64_t)axes[d].size;
}

bool hcy__is_one_to_one(const hcy_array *a)
{
    struct axis axes[HCY_ARRAY_MAX_RANK];
    int64_t reach = 0; /* of the axes within */
    int n = 0;
    for (int d = 0; d < a->rank; d++)
        if (a->shape[d] != 1) {
            axes[n].size = a->shape[d];
            axes[n++].strides[0] = a->strides[d];
        }
    /* From the smallest stride on: an axis that steps over all that those within it reach cannot meet them. Some
     * layouts that would do are refused, none that shares memory is taken. */
    sort_axes(axes, n, 0);
    while (a->count && n-- > 0) {
        int64_t stride = size_of_stride(axes[n].strides[0]);
        if (stride <= reach)
            return false;
        reach += stride * (axes[n].size - 1);
    }
    return true;
}

/* Bytes of the buffer that the elements lie in, first and behind the last. */
static void find_extent(size_t *at, size_t *size, const hcy_array *a)
{
    int64_t low = a->offset, high = a->offset, bytes = (int64_t)hcy_dtype_size(a->dtype);
    /* No axis is 0 here, as the caller has looked at the count, so that size - 1 is never below 0. */
    for (int d = 0; d < a->rank; d++)
        *(a->strides[d] < 0 ? &low : &high) += a->strides[d] * (a->shape[d] - 1);
    *at = (size_t)(low * bytes);
    *size = (size_t)((high - low + 1) * bytes);
}

bool hcy__shares_memory(const hcy_array *a, const hcy_array *b)
{
    size_t at, size, other_at, other_size;
    /* Where they lie is asked only of what could meet at all. */
    if (!a->count || !b->count || !hcy__same_block(a->buffer, b->buffer))
        return false;
    find_extent(&at, &size, a);
    find_extent(&other_at, &other_size, b);
    return hcy__overlap(a->buffer, at, size, b->buffer, other_at, other_size);
}

bool hcy__is_hazard(const hcy_array *target, const hcy_array *source)
{
    /* Extents may overlap without an element in common; then a copy is made in vain, and nothing goes wrong. */
    if (!hcy__shares_memory(target, source))
        return false;
    /* Each element is read before it is written: the same array is none. */
    bool same = target->buffer == source->buffer && target->dtype == source->dtype &&
                target->offset == source->offset && target->rank == source->rank;
    for (int d = 0; same && d < target->rank; d++)
        same = target->shape[d] == source->shape[d] &&
               (target->strides[d] == source->strides[d] || target->shape[d] == 1);
    return !same;
}
