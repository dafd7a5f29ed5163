/* move.c - arrays from one layout to another: scatter, gather, redistribution.
 *
 * All of it is one thing: each rank sends what its block and the other's have in common, boxes that both work out for
 * themselves.
 */
#include "dist_priv.h"
#include "layout.h"

#include <stdlib.h>
#include <string.h>

bool hcy__box_common(struct hcy__box *common, const struct hcy__box *a, const struct hcy__box *b, const int64_t *origin,
                     int rank)
{
    for (int d = 0; d < rank; d++) {
        const int64_t first = a->first[d] > b->first[d] ? a->first[d] : b->first[d];
        const int64_t end = a->end[d] < b->end[d] ? a->end[d] : b->end[d];
        if (end <= first)
            return false;
        common->first[d] = first - origin[d];
        common->end[d] = end - origin[d];
    }
    return true;
}

int hcy__cut(hcy_array **part, const hcy_array *array, const struct hcy__box *box)
{
    int status = hcy__array_view(part, array);
    if (status)
        return status;
    for (int d = 0; d < array->rank; d++) {
        (*part)->offset += box->first[d] * array->strides[d];
        (*part)->shape[d] = box->end[d] - box->first[d];
    }
    return hcy__shape_count(&(*part)->count, (*part)->rank, (*part)->shape);
}

/* An array that is moved; of a root alone where that is one. */
struct end {
    const hcy_dist_layout *layout; /* NULL: the whole, at the root */
    const hcy_array *array;
    int root;
};

static bool has_part(const struct end *e, int rank)
{
    return e->layout || e->root == rank || e->root < 0;
}

static struct hcy__box end_box(const struct end *e, const hcy_dist_layout *shape, int rank)
{
    struct hcy__box all = { { 0 }, { 0 } };
    memcpy(all.end, shape->shape, sizeof all.end);
    return e->layout ? hcy__layout_box(e->layout, rank) : all;
}

static bool is_everywhere(const struct end *e)
{
    return e->layout ? !hcy__is_dealt(e->layout) : e->root < 0;
}

static int list_end(struct hcy__dist_part *parts, size_t *n, const struct end *mine, const struct end *theirs,
                    const hcy_dist_layout *shape, bool sends)
{
    const int me = shape->comm->place.rank;
    const struct end *from = sends ? mine : theirs;
    int status = 0;
    for (int r = 0; !status && has_part(mine, me) && r < shape->comm->place.n_ranks; r++) {
        /* Of what everybody has, each takes its own. */
        if (!has_part(theirs, r) || (is_everywhere(from) && r != me))
            continue;
        const struct hcy__box of = end_box(mine, shape, me), with = end_box(theirs, shape, r);
        struct hcy__box common;
        if (!hcy__box_common(&common, &of, &with, of.first, shape->rank))
            continue;
        status = hcy__cut(&parts[*n].array, mine->array, &common);
        parts[*n].rank = r;
        parts[*n].sends = sends;
        *n += !status;
    }
    return status;
}

/* With `agrees` no rank waits for another that lacks memory, and all fail then. */
static int move_array(hcy_queue *queue, const struct end *to, const struct end *from, const hcy_dist_layout *shape,
                      bool agrees)
{
    const size_t most = 2 * (size_t)shape->comm->place.n_ranks;
    struct hcy__dist_part *parts = calloc(most, sizeof *parts);
    size_t n = 0;
    int status = parts ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %zu messages", most);
    if (!status)
        status = list_end(parts, &n, from, to, shape, true);
    if (!status)
        status = list_end(parts, &n, to, from, shape, false);
    if (agrees)
        status = hcy__dist_exchange_agreed(queue, shape->comm, parts, n, status);
    else if (!status)
        status = hcy__dist_exchange(queue, shape->comm, parts, n);
    for (size_t i = 0; i < n; i++)
        hcy_array_release(parts[i].array);
    free(parts);
    return status;
}

/* The whole array, where this rank is to have it: a root below 0 is all of them, if that may be. */
static int check_whole(const hcy_queue *queue, const hcy_array *whole, const hcy_array *part,
                       const hcy_dist_layout *layout, int root, bool may_be_all, const char *function)
{
    char has[200], wants[200];
    int status = hcy__part_check(queue, part, layout, function);
    if (!status && (root >= 0 || !may_be_all))
        status = hcy__dist_check(layout->comm, root, function);
    if (status || (root >= 0 && root != layout->comm->place.rank))
        return status;
    status = hcy__array_check(whole, function);
    if (status)
        return status;
    if (whole->rank != layout->rank || whole->dtype != part->dtype ||
        memcmp(whole->shape, layout->shape, sizeof *whole->shape * (size_t)whole->rank))
        return hcy_fail(HCY_EINVAL, "%s: the whole array is %s of %s, where %s of %s is wanted", function,
                        hcy__shape_text(has, whole->rank, whole->shape), hcy_dtype_name(whole->dtype),
                        hcy__shape_text(wants, layout->rank, layout->shape), hcy_dtype_name(part->dtype));
    if (whole->count && hcy__array_device(whole) != hcy_queue_device(queue))
        return hcy_fail(HCY_EINVAL, "%s: the queue is of another device", function);
    return 0;
}

int hcy_dist_scatter(hcy_queue *queue, hcy_array *part, const hcy_dist_layout *layout, hcy_array *whole,
                     int root)
{
    int status = check_whole(queue, whole, part, layout, root, false, "hcy_dist_scatter");
    if (status)
        return status;
    const struct end to = { layout, part, 0 }, from = { NULL, whole, root };
    return move_array(queue, &to, &from, layout, false);
}

int hcy_dist_gather(hcy_queue *queue, hcy_array *whole, const hcy_dist_layout *layout, hcy_array *part,
                    int root)
{
    int status = check_whole(queue, whole, part, layout, root, true, "hcy_dist_gather");
    if (status)
        return status;
    const struct end to = { NULL, whole, root }, from = { layout, part, 0 };
    status = hcy__layout_compare(queue, part, layout);
    return status ? status : move_array(queue, &to, &from, layout, false);
}

static int move_between(hcy_queue *queue, hcy_array *to, const hcy_dist_layout *to_layout, hcy_array *from,
                        const hcy_dist_layout *from_layout, bool agrees)
{
    const struct end there = { to_layout, to, 0 }, here = { from_layout, from, 0 };
    return move_array(queue, &there, &here, to_layout, agrees);
}

int hcy__dist_move(hcy_queue *queue, hcy_array *to, const hcy_dist_layout *to_layout, hcy_array *from,
                   const hcy_dist_layout *from_layout)
{
    return move_between(queue, to, to_layout, from, from_layout, false);
}

int hcy__dist_move_agreed(hcy_queue *queue, hcy_array *to, const hcy_dist_layout *to_layout, hcy_array *from,
                          const hcy_dist_layout *from_layout)
{
    return move_between(queue, to, to_layout, from, from_layout, true);
}

int hcy_dist_redistribute(hcy_queue *queue, hcy_array *to, const hcy_dist_layout *to_layout, hcy_array *from,
                          const hcy_dist_layout *from_layout)
{
    int status = hcy__part_check(queue, to, to_layout, "hcy_dist_redistribute");
    if (!status)
        status = hcy__part_check(queue, from, from_layout, "hcy_dist_redistribute");
    if (status)
        return status;
    if (to_layout->comm != from_layout->comm || to_layout->rank != from_layout->rank ||
        to->dtype != from->dtype || memcmp(to_layout->shape, from_layout->shape, sizeof to_layout->shape))
        return hcy_fail(HCY_EINVAL,
                        "hcy_dist_redistribute: layouts of one communicator and shape, arrays of one type");
    if (hcy__shares_memory(to, from))
        return hcy_fail(HCY_EINVAL, "hcy_dist_redistribute: the two arrays share memory");
    status = hcy__layout_compare(queue, from, from_layout);
    return status ? status : hcy__dist_move(queue, to, to_layout, from, from_layout);
}
