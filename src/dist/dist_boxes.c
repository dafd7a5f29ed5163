/* dist_boxes.c - differences over a grid of ranks, or in blocks of another axis than the first, computed while ghosts
 * are on their way.
 *
 * Of a rank's part a box inside needs no ghosts: it is made of the part as it is, and submitted before anything waits
 * for another rank.  What lies around it is faces, two for each axis that is dealt out.  A face is made in memory of
 * its own: what it is made of is copied together from the part and from ghosts, and the result copied to its place.
 * No element needs neighbours of two axes at once, so that ghosts come from ranks along one axis, and corners of what
 * a face is made of stay undefined and are not read.  Arrays and lists are made once; what cuts boxes out of them are
 * small objects of each call.
 */
#include "dist_priv.h"
#include "operator_priv.h"

#include <stdlib.h>
#include <string.h>

/* Boxes are counted in the part. */
struct face {
    struct hcy__box made, around; /* elements of the result, and of what they are made of */
    hcy_array *source, *result;   /* both as large as `around` */
};

/* What goes to a rank, or comes from it. */
struct ghost {
    struct hcy__box box;
    hcy_array *array; /* what comes; NULL: it goes */
};

struct boxes {
    hcy_dist_layout *to, *from;
    hcy_device *dev;
    struct hcy__stencil_part part;
    int rank;             /* axes of what is dealt out, in front of which differences may be apart */
    struct hcy__box all;  /* the part with its ghosts */
    struct hcy__box inner;
    struct face faces[2 * HCY_ARRAY_MAX_RANK];
    int n_faces;
    struct ghost *ghosts;
    struct hcy__dist_part *parts; /* of a call */
    size_t n;
    struct hcy__exchange *exchange;
    struct hcy__turn turn;
};

static void free_boxes(void *user)
{
    struct boxes *b = user;
    hcy__exchange_free(b->exchange);
    hcy__turn_end(&b->turn);
    for (int i = 0; i < b->n_faces; i++) {
        hcy_array_release(b->faces[i].source);
        hcy_array_release(b->faces[i].result);
    }
    for (size_t i = 0; b->ghosts && i < b->n; i++)
        hcy_array_release(b->ghosts[i].array);
    free(b->ghosts);
    free(b->parts);
    hcy_dist_layout_release(b->to);
    hcy_dist_layout_release(b->from);
    hcy_device_release(b->dev);
    free(b);
}

/* --- Applying --- */

/* A box of an array whose first element is `origin`: with all of an axis in front, if the array has one. */
static int cut_box(hcy_array **part, const hcy_array *a, const struct hcy__box *box, const int64_t *origin, int rank)
{
    const int in_front = a->rank - rank;
    struct hcy__box cut = { { 0 }, { 0 } };
    cut.end[0] = a->shape[0];
    for (int d = 0; d < rank; d++) {
        cut.first[d + in_front] = box->first[d] - origin[d];
        cut.end[d + in_front] = box->end[d] - origin[d];
    }
    return hcy__cut(part, a, &cut);
}

/* What of one box, from whose first element an array is, lies in another. */
static int copy_common(hcy_queue *queue, hcy_array *to, const struct hcy__box *to_box, hcy_array *from,
                       const struct hcy__box *from_box, int rank)
{
    static const int64_t origin[HCY_ARRAY_MAX_RANK];
    struct hcy__box common;
    hcy_array *dst = NULL, *src = NULL;
    if (!hcy__box_common(&common, to_box, from_box, origin, rank))
        return 0;
    int status = cut_box(&dst, to, &common, to_box->first, rank);
    if (!status)
        status = cut_box(&src, from, &common, from_box->first, rank);
    if (!status)
        status = hcy_array_copy(queue, dst, src);
    hcy_array_release(dst);
    hcy_array_release(src);
    return status;
}

static struct hcy__box own_box(const struct boxes *b)
{
    struct hcy__box own = { { 0 }, { 0 } };
    for (int d = 0; d < b->rank; d++)
        own.end[d] = (int64_t)b->part.job.axes[d].extent;
    return own;
}

static int make_face(hcy_queue *queue, hcy_array *y, const struct boxes *b, const struct face *f, hcy_array *x)
{
    const struct hcy__box own = own_box(b);
    hcy_array *made = NULL, *place = NULL;
    int status = copy_common(queue, f->source, &f->around, x, &own, b->rank);
    for (size_t i = 0; !status && i < b->n; i++)
        if (b->ghosts[i].array)
            status = copy_common(queue, f->source, &f->around, b->ghosts[i].array, &b->ghosts[i].box, b->rank);
    if (!status)
        status = hcy__stencil_box(queue, f->result, &b->part, f->source, f->made.first, f->made.end, f->around.first);
    if (!status)
        status = cut_box(&made, f->result, &f->made, f->around.first, b->rank);
    if (!status)
        status = cut_box(&place, y, &f->made, own.first, b->rank);
    if (!status)
        status = hcy_array_copy(queue, place, made);
    hcy_array_release(made);
    hcy_array_release(place);
    return status;
}

static int begin_ghosts(hcy_queue *queue, struct boxes *b, hcy_array *x)
{
    static const int64_t origin[HCY_ARRAY_MAX_RANK];
    int status = 0;
    for (size_t i = 0; !status && i < b->n; i++) {
        hcy_array *given = b->ghosts[i].array;
        b->parts[i].array = given ? hcy_array_retain(given) : NULL;
        if (!given)
            status = cut_box(&b->parts[i].array, x, &b->ghosts[i].box, origin, b->rank);
    }
    return status ? status : hcy__exchange_begin(queue, b->exchange, b->parts, b->n);
}

static int run_boxes(hcy_queue *queue, hcy_array *y, struct boxes *b, hcy_array *x)
{
    static const int64_t origin[HCY_ARRAY_MAX_RANK];
    int status = begin_ghosts(queue, b, x);
    const int inner = status ? 0 : hcy__stencil_box(queue, y, &b->part, x, b->inner.first, b->inner.end, origin);
    /* After a failure as well: others wait for the messages. */
    if (!status)
        status = hcy__exchange_end(queue, b->exchange);
    for (size_t i = 0; i < b->n; i++) {
        hcy_array_release(b->parts[i].array);
        b->parts[i].array = NULL;
    }
    for (int i = 0; !status && i < b->n_faces; i++)
        status = make_face(queue, y, b, &b->faces[i], x);
    return status ? status : inner;
}

static int apply_boxes(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct boxes *b = user;
    int status = hcy__turn_take(&b->turn, queue);
    if (!status)
        status = run_boxes(queue, y, b, x);
    hcy__turn_give(&b->turn);
    return status;
}

/* --- Making --- */

static int new_box_array(hcy_array **a, const struct boxes *b, const hcy_dist_layout *layout, int dtype,
                         const struct hcy__box *box)
{
    const int in_front = layout->rank - b->rank;
    int64_t shape[HCY_ARRAY_MAX_RANK];
    shape[0] = layout->shape[0];
    for (int d = 0; d < b->rank; d++)
        shape[d + in_front] = box->end[d] - box->first[d];
    return hcy_array_empty(a, b->dev, dtype, layout->rank, shape);
}

/* Elements [first, end) along axis d of what is left. */
static int add_face(struct boxes *b, int dtype, int64_t reach[][2], int d, int64_t first, int64_t end)
{
    struct face *f = &b->faces[b->n_faces];
    f->made = b->inner;
    f->made.first[d] = first;
    f->made.end[d] = end;
    for (int e = 0; e < b->rank; e++) {
        const int64_t low = f->made.first[e] - reach[e][0], high = f->made.end[e] + reach[e][1];
        if (f->made.first[e] >= f->made.end[e])
            return 0;
        f->around.first[e] = low > b->all.first[e] ? low : b->all.first[e];
        f->around.end[e] = high < b->all.end[e] ? high : b->all.end[e];
    }
    b->n_faces++;
    int status = new_box_array(&f->source, b, b->from, dtype, &f->around);
    return status ? status : new_box_array(&f->result, b, b->to, dtype, &f->around);
}

/* Axis by axis what needs ghosts is taken off, so that no element is made twice. */
static int cut_faces(struct boxes *b, int dtype, int64_t reach[][2])
{
    int status = 0;
    b->inner = own_box(b);
    for (int d = 0; !status && d < b->rank; d++) {
        const int64_t n = b->inner.end[d], front = b->all.first[d] < 0 ? reach[d][0] : 0,
                      back = b->all.end[d] > n ? reach[d][1] : 0, low = front < n ? front : n,
                      high = n - back > low ? n - back : low;
        status = add_face(b, dtype, reach, d, 0, low);
        if (!status)
            status = add_face(b, dtype, reach, d, high, n);
        b->inner.first[d] = low;
        b->inner.end[d] = high;
    }
    return status;
}

/* Ranks along how many axes of the grid two are apart. */
static int count_axes_apart(const hcy_dist_layout *l, int a, int b)
{
    int n = 0;
    for (int d = l->rank - 1; d >= 0; d--) {
        n += a % l->grid[d] != b % l->grid[d];
        a /= l->grid[d];
        b /= l->grid[d];
    }
    return n;
}

/* Ghosts of ranks along one axis, counted in the part. */
static int list_ghosts(struct boxes *b, int dtype, const struct hcy__widths *widths)
{
    const int in_front = b->from->rank - b->rank;
    struct hcy__ghost *found = NULL;
    size_t n = 0;
    int status = hcy__dist_list_ghosts(&found, &n, b->from, widths);
    if (status)
        return status;
    b->ghosts = calloc(n + 1, sizeof *b->ghosts);
    b->parts = calloc(n + 1, sizeof *b->parts);
    if (!b->ghosts || !b->parts)
        status = hcy_fail(HCY_ENOMEM, "out of memory for the messages of %zu ghosts", n);
    for (size_t i = 0; !status && i < n; i++) {
        struct ghost *g = &b->ghosts[b->n];
        if (count_axes_apart(b->from, found[i].rank, b->from->comm->place.rank) != 1)
            continue;
        for (int d = 0; d < b->rank; d++) {
            const int64_t before = found[i].gives ? 0 : b->all.first[d];
            g->box.first[d] = found[i].box.first[d + in_front] + before;
            g->box.end[d] = found[i].box.end[d + in_front] + before;
        }
        b->parts[b->n++] = (struct hcy__dist_part){ found[i].rank, found[i].gives, NULL };
        if (!found[i].gives)
            status = new_box_array(&g->array, b, b->from, dtype, &g->box);
    }
    free(found);
    return status;
}

/* Where the part lies in the whole, and what of its neighbours counts. */
static int place_box(struct boxes *b, const hcy_differences_desc *half)
{
    const hcy_dist_layout *rows = half->transposed ? b->to : b->from;
    const struct hcy__box mine = hcy__layout_box(rows, rows->comm->place.rank);
    const int in_front = b->from->rank - rows->rank;
    struct hcy__widths widths = { { 0 }, { 0 }, false };
    int64_t reach[HCY_ARRAY_MAX_RANK][2] = { { 0 } }, size[HCY_ARRAY_MAX_RANK];
    bool is_empty = false;
    b->rank = rows->rank;
    for (int d = 0; d < b->rank; d++) {
        size[d] = mine.end[d] - mine.first[d];
        is_empty = is_empty || !size[d];
    }
    for (int d = 0; d < b->rank; d++) {
        const int64_t behind = rows->shape[d] - mine.end[d];
        if (rows->grid[d] > 1)
            hcy__stencil_reach_of(reach[d], half, d);
        widths.front[d + in_front] = reach[d][0];
        widths.back[d + in_front] = reach[d][1];
        b->all.first[d] = is_empty ? 0 : -(reach[d][0] < mine.first[d] ? reach[d][0] : mine.first[d]);
        b->all.end[d] = size[d] + (is_empty ? 0 : reach[d][1] < behind ? reach[d][1] : behind);
    }
    int status = hcy__stencil_part_set(&b->part, half, mine.first, size);
    if (!status)
        status = cut_faces(b, half->space.dtype, reach);
    return status ? status : list_ghosts(b, half->space.dtype, &widths);
}

int hcy__dist_boxed(hcy_operator **op, hcy_device *dev, hcy_dist_layout *to, hcy_dist_layout *from,
                    const hcy_differences_desc *half)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    struct boxes *b = calloc(1, sizeof *b);
    if (!b)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&b->turn);
    b->to = hcy_dist_layout_retain(to);
    b->from = hcy_dist_layout_retain(from);
    b->dev = hcy_device_retain(dev);
    int status = hcy__exchange_new(&b->exchange, from->comm);
    if (!status)
        status = place_box(b, half);
    if (!status)
        status = hcy_dist_space(&desc.range, to, half->space.dtype);
    if (!status)
        status = hcy_dist_space(&desc.domain, from, half->space.dtype);
    if (status) {
        free_boxes(b);
        return status;
    }
    desc.name = "differences behind messages, over a grid";
    desc.apply = apply_boxes;
    desc.destroy = free_boxes;
    desc.user = b;
    return hcy__operator_make(op, dev, &desc);
}
