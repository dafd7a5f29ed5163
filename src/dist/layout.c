/* layout.c - layouts: which rows of an array each rank has, and the vectors of such parts.
 *
 * A layout is made by all ranks, which compare what they were given, and does not change; it keeps its communicator.
 */
#include "dist_priv.h"
#include "sized.h"

#include <stdlib.h>
#include <string.h>

/* --- Making and releasing --- */

/* The rows of each rank: those given, or as even as can be. */
static int fill_firsts(int64_t *firsts, int n_ranks, int64_t all, const int64_t *rows)
{
    int64_t left = all;
    for (int r = 0; r < n_ranks; r++) {
        int64_t mine = rows ? rows[r] : all / n_ranks + (r < all % n_ranks);
        if (mine < 0 || mine > left)
            return hcy_fail(HCY_EINVAL,
                            "hcy_dist_layout_blocks: %lld rows of rank %d, where %lld of %lld are left",
                            (long long)mine, r, (long long)left, (long long)all);
        firsts[r] = all - left;
        left -= mine;
    }
    firsts[n_ranks] = all;
    return left ? hcy_fail(HCY_EINVAL, "hcy_dist_layout_blocks: %lld of %lld rows belong to no rank",
                           (long long)left, (long long)all)
                : 0;
}

/* Shapes, and where this rank's part begins. */
static int place_part(hcy_dist_layout *l, const int64_t *rows)
{
    const int me = l->comm->place.rank, n = l->comm->place.n_ranks;
    int64_t count = 0;
    int status = hcy__shape_count(&count, l->rank, l->shape);
    if (!status && l->axis >= 0)
        status = fill_firsts(l->firsts, n, l->shape[l->axis], rows);
    if (status)
        return status;
    memcpy(l->local, l->shape, sizeof l->local);
    l->row = 1;
    for (int d = 0; d < l->rank; d++)
        l->row *= d == l->axis ? 1 : l->shape[d];
    l->vectors = (hcy_vectors)HCY_VECTORS_INIT;
    l->vectors.dot = hcy__dist_dot;
    l->vectors.user = l;
    if (l->axis >= 0) {
        l->local[l->axis] = l->firsts[me + 1] - l->firsts[me];
        l->vectors.first = l->firsts[me] * l->row;
    }
    return 0;
}

/* HCY_EINVAL where a rank describes another layout: messages between them would not fit. */
static int compare_ranks(const hcy_dist_layout *l)
{
    int64_t sum =
        (int64_t)(hcy_cache_sum(l->firsts, sizeof *l->firsts * (size_t)(l->comm->place.n_ranks + 1)) ^
                  hcy_cache_sum(l->shape, sizeof l->shape) * 3 ^ (uint64_t)l->is_checked << 32) >>
        1;
    int64_t ends[2] = { sum + l->rank * 8 + l->axis, -(sum + l->rank * 8 + l->axis) };
    int status = hcy_dist_allreduce_host(ends, l->comm, HCY_INT64, 2, HCY_REDUCE_MIN);
    return !status && ends[0] != -ends[1]
               ? hcy_fail(HCY_EINVAL,
                          "a layout is to be the same on all ranks: shape, axis and rows of each rank")
               : status;
}

static hcy_dist_layout *new_layout(hcy_dist *comm, int rank, const int64_t *shape)
{
    hcy_dist_layout *l = calloc(1, sizeof *l);
    int64_t *firsts = calloc((size_t)comm->place.n_ranks + 1, sizeof *firsts);
    if (!l || !firsts) {
        free(l);
        free(firsts);
        hcy_fail(HCY_ENOMEM, "out of memory for a layout");
        return NULL;
    }
    atomic_init(&l->refs, 1);
    l->comm = hcy_dist_retain(comm);
    l->firsts = firsts;
    l->rank = rank;
    for (int d = 0; d < rank; d++)
        l->shape[d] = shape[d];
    return l;
}

static int make_layout(hcy_dist_layout **layout, hcy_dist *comm, int rank, const int64_t *shape, int axis,
                       const int64_t *rows, bool is_checked)
{
    hcy_dist_layout *l = NULL;
    int status = 0;
    if (rank < 0 || rank > HCY_ARRAY_MAX_RANK || (rank && !shape))
        status =
            hcy_fail(HCY_EINVAL, "a layout of %d axes%s", rank, rank > 0 && !shape ? " without a shape" : "");
    if (!status && !(l = new_layout(comm, rank, shape)))
        status = HCY_ENOMEM;
    if (!status) {
        l->axis = axis;
        l->is_checked = is_checked;
        status = place_part(l, rows);
    }
    /* One rank's failure is that of all, before they compare. */
    status = hcy_dist_agree(comm, status);
    if (!status)
        status = compare_ranks(l);
    if (status)
        hcy_dist_layout_release(l);
    else
        *layout = l;
    return status;
}

int hcy_dist_layout_blocks(hcy_dist_layout **layout, hcy_dist *comm, int rank, const int64_t *shape, int axis,
                           const int64_t *rows)
{
    if (!layout || !comm)
        return hcy_fail(HCY_EINVAL, "hcy_dist_layout_blocks: no %s",
                        comm ? "place for the layout" : "communicator");
    *layout = NULL;
    int along = axis < 0 ? axis + rank : axis;
    if (along >= 0 && along < rank)
        return make_layout(layout, comm, rank, shape, along, rows, false);
    return hcy_dist_agree(comm,
                          hcy_fail(HCY_EINVAL, "hcy_dist_layout_blocks: axis %d of %d axes", axis, rank));
}

static int replicate(hcy_dist_layout **layout, hcy_dist *comm, int rank, const int64_t *shape, bool is_checked,
                     const char *function)
{
    if (!layout || !comm)
        return hcy_fail(HCY_EINVAL, "%s: no %s", function, comm ? "place for the layout" : "communicator");
    *layout = NULL;
    return make_layout(layout, comm, rank, shape, -1, NULL, is_checked);
}

int hcy_dist_layout_replicated(hcy_dist_layout **layout, hcy_dist *comm, int rank, const int64_t *shape)
{
    return replicate(layout, comm, rank, shape, false, "hcy_dist_layout_replicated");
}

int hcy_dist_layout_checked(hcy_dist_layout **layout, hcy_dist *comm, int rank, const int64_t *shape)
{
    return replicate(layout, comm, rank, shape, true, "hcy_dist_layout_checked");
}

hcy_dist_layout *hcy_dist_layout_retain(hcy_dist_layout *layout)
{
    if (layout)
        atomic_fetch_add(&layout->refs, 1);
    return layout;
}

void hcy_dist_layout_release(hcy_dist_layout *layout)
{
    if (!layout || atomic_fetch_sub(&layout->refs, 1) != 1)
        return;
    hcy_dist_release(layout->comm);
    free(layout->firsts);
    free(layout);
}

int hcy_dist_layout_get_info(hcy_dist_layout_info *info, const hcy_dist_layout *layout)
{
    if (!layout)
        return hcy_fail(HCY_EINVAL, "hcy_dist_layout_get_info: no layout");
    hcy_dist_layout_info known = HCY_DIST_LAYOUT_INFO_INIT;
    known.comm = layout->comm;
    known.rank = layout->rank;
    known.axis = layout->axis;
    memcpy(known.shape, layout->shape, sizeof known.shape);
    memcpy(known.local_shape, layout->local, sizeof known.local_shape);
    known.is_checked = layout->is_checked;
    known.first = layout->axis < 0 ? 0 : layout->firsts[layout->comm->place.rank];
    return hcy__sized_write(info, &known, sizeof known, "hcy_dist_layout_info");
}

int hcy__layout_rows(int64_t **rows, const hcy_dist_layout *l)
{
    const int n = l->comm->place.n_ranks;
    *rows = NULL;
    if (l->axis < 0)
        return 0;
    *rows = calloc((size_t)n, sizeof **rows);
    for (int r = 0; *rows && r < n; r++)
        (*rows)[r] = l->firsts[r + 1] - l->firsts[r];
    return *rows ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %d ranks", n);
}

/* --- Parts --- */

int hcy_dist_array(hcy_array **part, hcy_device *dev, const hcy_dist_layout *layout, int dtype)
{
    if (!layout)
        return hcy_fail(HCY_EINVAL, "hcy_dist_array: no layout");
    return hcy_array_empty(part, dev, dtype, layout->rank, layout->local);
}

int hcy_dist_space(hcy_space *space, const hcy_dist_layout *layout, int dtype)
{
    if (!space || !layout)
        return hcy_fail(HCY_EINVAL, "hcy_dist_space: no %s", layout ? "place for the space" : "layout");
    *space = (hcy_space){ dtype, layout->rank, { 0 }, layout->axis < 0 ? NULL : &layout->vectors };
    memcpy(space->shape, layout->local, sizeof space->shape);
    return 0;
}

int hcy__part_check(const hcy_queue *queue, const hcy_array *part, const hcy_dist_layout *layout,
                    const char *function)
{
    char has[200], wants[200];
    if (!layout || !queue)
        return hcy_fail(HCY_EINVAL, "%s: no %s", function, layout ? "queue" : "layout");
    int status = hcy__array_check(part, function);
    if (status)
        return status;
    if (part->rank != layout->rank ||
        memcmp(part->shape, layout->local, sizeof *part->shape * (size_t)part->rank))
        return hcy_fail(HCY_EINVAL, "%s: an array of %s, where this rank's part is %s", function,
                        hcy__shape_text(has, part->rank, part->shape),
                        hcy__shape_text(wants, layout->rank, layout->local));
    if (part->count && hcy__array_device(part) != hcy_queue_device(queue))
        return hcy_fail(HCY_EINVAL, "%s: the queue is of another device", function);
    return 0;
}
