/* layout.c - layouts: which rows of an array each rank has, and the vectors of such parts.
 *
 * A layout is made by all ranks, which compare what they were given, and does not change; it keeps its communicator.
 */
#include "dist_priv.h"
#include "sized.h"

#include <stdlib.h>
#include <string.h>

/* --- Making and releasing --- */

/* Where the blocks of an axis begin: of those rows that are given, or as even as can be. */
static int fill_bounds(int64_t *bounds, int n_blocks, int64_t all, const int64_t *rows)
{
    int64_t left = all;
    for (int i = 0; i < n_blocks; i++) {
        int64_t mine = rows ? rows[i] : all / n_blocks + (i < all % n_blocks);
        if (mine < 0 || mine > left)
            return hcy_fail(HCY_EINVAL, "a layout: %lld rows of block %d, where %lld of %lld are left",
                            (long long)mine, i, (long long)left, (long long)all);
        bounds[i] = all - left;
        left -= mine;
    }
    bounds[n_blocks] = all;
    return left ? hcy_fail(HCY_EINVAL, "a layout: %lld of %lld rows belong to no rank", (long long)left,
                           (long long)all)
                : 0;
}

/* Which of the blocks along an axis a rank has. */
static int find_block(const hcy_dist_layout *l, int rank, int axis)
{
    for (int d = l->rank - 1; d > axis; d--)
        rank /= l->grid[d];
    return rank % l->grid[axis];
}

struct hcy__box hcy__layout_box(const hcy_dist_layout *l, int rank)
{
    struct hcy__box b = { { 0 }, { 0 } };
    for (int d = 0; d < l->rank; d++) {
        const int64_t *bounds = l->bounds[d] + find_block(l, rank, d);
        b.first[d] = bounds[0];
        b.end[d] = bounds[1];
    }
    return b;
}

/* Rows along the axis of the blocks; over a grid the elements of a rank's block are one behind the other. */
static void fill_firsts(hcy_dist_layout *l)
{
    const int n = l->comm->place.n_ranks;
    l->row = 1;
    if (l->axis >= 0)
        memcpy(l->firsts, l->bounds[l->axis], sizeof *l->firsts * (size_t)(n + 1));
    for (int d = 0; l->axis != HCY_DIST_GRID && d < l->rank; d++)
        l->row *= d == l->axis ? 1 : l->shape[d];
    for (int r = 0; l->axis == HCY_DIST_GRID && r < n; r++) {
        const struct hcy__box b = hcy__layout_box(l, r);
        int64_t count = 1;
        for (int d = 0; d < l->rank; d++)
            count *= b.end[d] - b.first[d];
        l->firsts[r + 1] = l->firsts[r] + count;
    }
}

/* Which of the whole's elements this rank's are, for random vectors: in C order.  Behind other axes each of these has a
 * run of them. */
static void number_part(hcy_vectors *v, const hcy_dist_layout *l, const struct hcy__box *mine)
{
    int64_t inner = 1;
    v->first = l->firsts[l->comm->place.rank] * l->row;
    if (l->axis <= 0)
        return;
    for (int d = l->axis + 1; d < l->rank; d++)
        inner *= l->shape[d];
    v->first = mine->first[l->axis] * inner;
    v->run = l->local[l->axis] * inner;
    v->skip = l->shape[l->axis] * inner - v->run;
}

/* Shapes, and where this rank's part begins. */
static int place_part(hcy_dist_layout *l, const int64_t *const *rows)
{
    const int me = l->comm->place.rank;
    int64_t count = 0;
    int status = hcy__shape_count(&count, l->rank, l->shape);
    for (int d = 0; !status && d < l->rank; d++)
        status = fill_bounds(l->bounds[d], l->grid[d], l->shape[d], rows ? rows[d] : NULL);
    if (status)
        return status;
    const struct hcy__box mine = hcy__layout_box(l, me);
    for (int d = 0; d < l->rank; d++)
        l->local[d] = mine.end[d] - mine.first[d];
    fill_firsts(l);
    l->vectors = (hcy_vectors)HCY_VECTORS_INIT;
    l->vectors.dot = hcy__dist_dot;
    l->vectors.total = hcy__dist_total;
    l->vectors.adds_parts = hcy__dist_adds_parts;
    l->vectors.eval_square = hcy__dist_eval_square;
    l->vectors.user = l;
    number_part(&l->vectors, l, &mine);
    return 0;
}

/* HCY_EINVAL where a rank describes another layout: messages between them would not fit. */
static int compare_ranks(const hcy_dist_layout *l)
{
    uint64_t blocks = hcy_cache_sum(l->grid, sizeof l->grid) * 5;
    for (int d = 0; d < l->rank; d++)
        blocks = blocks * 7 + hcy_cache_sum(l->bounds[d], sizeof *l->bounds[d] * (size_t)(l->grid[d] + 1));
    int64_t sum = (int64_t)(blocks ^ hcy_cache_sum(l->shape, sizeof l->shape) * 3 ^ (uint64_t)l->is_checked << 32) >> 1;
    int64_t ends[2] = { sum + l->rank * 8 + l->axis, -(sum + l->rank * 8 + l->axis) };
    int status = hcy_dist_allreduce_host(ends, l->comm, HCY_INT64, 2, HCY_REDUCE_MIN);
    return !status && ends[0] != -ends[1]
               ? hcy_fail(HCY_EINVAL,
                          "a layout is to be the same on all ranks: shape, axis and rows of each rank")
               : status;
}

static hcy_dist_layout *new_layout(hcy_dist *comm, int rank, const int64_t *shape, const int *grid)
{
    size_t n = (size_t)comm->place.n_ranks + 1;
    for (int d = 0; d < rank; d++)
        n += (size_t)grid[d] + 1;
    hcy_dist_layout *l = calloc(1, sizeof *l);
    int64_t *firsts = calloc(n, sizeof *firsts), *bounds = firsts ? firsts + comm->place.n_ranks + 1 : NULL;
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
    for (int d = 0; d < rank; d++) {
        l->shape[d] = shape[d];
        l->grid[d] = grid[d];
        l->bounds[d] = bounds;
        bounds += grid[d] + 1;
    }
    return l;
}

int hcy__layout_make(hcy_dist_layout **layout, hcy_dist *comm, int rank, const int64_t *shape, int axis,
                     const int *grid, const int64_t *const *rows, bool is_checked)
{
    hcy_dist_layout *l = NULL;
    int status = 0;
    if (rank < 0 || rank > HCY_ARRAY_MAX_RANK || (rank && !shape))
        status =
            hcy_fail(HCY_EINVAL, "a layout of %d axes%s", rank, rank > 0 && !shape ? " without a shape" : "");
    if (!status && !(l = new_layout(comm, rank, shape, grid)))
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

/* HCY_EINVAL: no grid of the communicator's ranks.  *axis is that along which there are blocks, if it is one. */
static int check_grid(int *axis, const hcy_dist *comm, int rank, const int *grid)
{
    int64_t n = 1;
    *axis = 0;
    if (rank < 1 || rank > HCY_ARRAY_MAX_RANK || !grid)
        return hcy_fail(HCY_EINVAL, "hcy_dist_layout_grid: %d axes%s", rank, grid ? "" : " without a grid");
    for (int d = 0, dealt = 0; d < rank; d++) {
        if (grid[d] < 1 || grid[d] > comm->place.n_ranks)
            return hcy_fail(HCY_EINVAL, "hcy_dist_layout_grid: %d ranks along axis %d", grid[d], d);
        n *= grid[d];
        if (grid[d] > 1)
            *axis = dealt++ ? HCY_DIST_GRID : d;
        if (n > comm->place.n_ranks)
            break;
    }
    return n == comm->place.n_ranks ? 0
                                    : hcy_fail(HCY_EINVAL, "hcy_dist_layout_grid: a grid of another number than %d ranks",
                                               comm->place.n_ranks);
}

int hcy_dist_layout_grid(hcy_dist_layout **layout, hcy_dist *comm, int rank, const int64_t *shape, const int *grid,
                         const int64_t *const *rows)
{
    int axis = 0;
    if (!layout || !comm)
        return hcy_fail(HCY_EINVAL, "hcy_dist_layout_grid: no %s", comm ? "place for the layout" : "communicator");
    *layout = NULL;
    int status = hcy_dist_agree(comm, check_grid(&axis, comm, rank, grid));
    return status ? status : hcy__layout_make(layout, comm, rank, shape, axis, grid, rows, false);
}

int hcy_dist_layout_blocks(hcy_dist_layout **layout, hcy_dist *comm, int rank, const int64_t *shape, int axis,
                           const int64_t *rows)
{
    if (!layout || !comm)
        return hcy_fail(HCY_EINVAL, "hcy_dist_layout_blocks: no %s",
                        comm ? "place for the layout" : "communicator");
    *layout = NULL;
    int along = axis < 0 ? axis + rank : axis, grid[HCY_ARRAY_MAX_RANK];
    const int64_t *of_axes[HCY_ARRAY_MAX_RANK] = { NULL };
    if (along < 0 || along >= rank || rank > HCY_ARRAY_MAX_RANK)
        return hcy_dist_agree(comm,
                              hcy_fail(HCY_EINVAL, "hcy_dist_layout_blocks: axis %d of %d axes; there are %d at most",
                                       axis, rank, HCY_ARRAY_MAX_RANK));
    for (int d = 0; d < rank; d++)
        grid[d] = d == along ? comm->place.n_ranks : 1;
    of_axes[along] = rows;
    return hcy__layout_make(layout, comm, rank, shape, along, grid, of_axes, false);
}

static int replicate(hcy_dist_layout **layout, hcy_dist *comm, int rank, const int64_t *shape, bool is_checked,
                     const char *function)
{
    if (!layout || !comm)
        return hcy_fail(HCY_EINVAL, "%s: no %s", function, comm ? "place for the layout" : "communicator");
    int grid[HCY_ARRAY_MAX_RANK];
    *layout = NULL;
    for (int d = 0; d < HCY_ARRAY_MAX_RANK; d++)
        grid[d] = 1;
    return hcy__layout_make(layout, comm, rank, shape, -1, grid, NULL, is_checked);
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
    hcy__sum_memory_free(layout->sums);
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
    const struct hcy__box mine = hcy__layout_box(layout, layout->comm->place.rank);
    known.first = layout->axis < 0 ? 0 : mine.first[layout->axis];
    memcpy(known.grid, layout->grid, sizeof known.grid);
    memcpy(known.firsts, mine.first, sizeof known.firsts);
    return hcy__sized_write(info, &known, sizeof known, "hcy_dist_layout_info");
}

int hcy__layout_rows(int64_t **rows, const hcy_dist_layout *l)
{
    const int n = l->comm->place.n_ranks;
    *rows = NULL;
    if (l->axis == HCY_DIST_GRID)
        return hcy_fail(HCY_EUNSUPPORTED, "an array in blocks along several axes, where one is wanted "
                                          "(hcy_dist_redistribute())");
    if (!hcy__is_dealt(l))
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
    *space = (hcy_space){ dtype, layout->rank, { 0 }, hcy__is_dealt(layout) ? &layout->vectors : NULL };
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
