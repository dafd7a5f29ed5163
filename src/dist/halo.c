/* halo.c - ghost rows: a rank's part with what its neighbours have around it, along one axis or several.
 *
 * The operator that fetches ghosts is also the plan: what goes where is found once.  Of another rank's part a padded
 * one has one box at most, corners too, so that all travel at once, one message for each pair of ranks and way.  At the
 * ends of the whole array there are none, so that what is made of a rank's rows there is what one device makes; or
 * zeros, where they are asked for.  A rank without rows has no ghosts.
 */
#include "dist_priv.h"
#include "operator_priv.h"

#include <halcyon/eval.h>
#include <stdlib.h>
#include <string.h>

struct halo {
    hcy_dist_layout *layout, *padded;
    struct hcy__widths widths;
    struct hcy__box middle; /* this rank's own part, in the padded one */
    struct hcy__box within; /* what is inside the whole array, in the padded one */
    struct hcy__ghost *ghosts;
    size_t n;
    struct hcy__exchange *begun; /* hcy_dist_halo_begin()'s; NULL: it was never called */
};

/* A rank's own part and its ghosts, counted in the whole; where zeros stand outside, it goes beyond the ends. */
static struct hcy__box padded_box(const hcy_dist_layout *l, int rank, const struct hcy__widths *w)
{
    struct hcy__box b = hcy__layout_box(l, rank);
    for (int d = 0; d < l->rank; d++) {
        const int64_t before = b.first[d], behind = l->shape[d] - b.end[d];
        if (b.first[d] == b.end[d])
            continue;
        b.first[d] -= w->outside || w->front[d] < before ? w->front[d] : before;
        b.end[d] += w->outside || w->back[d] < behind ? w->back[d] : behind;
    }
    return b;
}

int hcy__dist_list_ghosts(struct hcy__ghost **ghosts, size_t *n, const hcy_dist_layout *l, const struct hcy__widths *w)
{
    const int me = l->comm->place.rank;
    const struct hcy__box mine = hcy__layout_box(l, me), padded = padded_box(l, me, w);
    struct hcy__ghost *list = calloc(2 * (size_t)l->comm->place.n_ranks, sizeof *list);
    *n = 0;
    if (!list)
        return hcy_fail(HCY_ENOMEM, "out of memory for ghost rows");
    for (int r = 0; r < l->comm->place.n_ranks; r++) {
        const struct hcy__box theirs = hcy__layout_box(l, r), around = padded_box(l, r, w);
        if (r == me)
            continue;
        list[*n] = (struct hcy__ghost){ .rank = r, .gives = false };
        *n += hcy__box_common(&list[*n].box, &padded, &theirs, padded.first, l->rank);
        list[*n] = (struct hcy__ghost){ .rank = r, .gives = true };
        *n += hcy__box_common(&list[*n].box, &mine, &around, mine.first, l->rank);
    }
    *ghosts = list;
    return 0;
}

static void free_halo(void *user)
{
    struct halo *h = user;
    hcy__exchange_free(h->begun);
    hcy_dist_layout_release(h->layout);
    hcy_dist_layout_release(h->padded);
    free(h->ghosts);
    free(h);
}

/* --- Fetching ghosts, and adding what they have become --- */

static void release_parts(struct hcy__dist_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hcy_array_release(parts[i].array);
    free(parts);
}

static int new_parts(struct hcy__dist_part **parts, const struct halo *h)
{
    *parts = calloc(h->n + 1, sizeof **parts);
    return *parts ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %zu messages", h->n);
}

static int copy_middle(hcy_queue *queue, hcy_array *to, hcy_array *from, const struct halo *h, bool to_padded)
{
    hcy_array *middle = NULL;
    int status = hcy__cut(&middle, to_padded ? to : from, &h->middle);
    if (!status)
        status = to_padded ? hcy_array_copy(queue, middle, from) : hcy_array_copy(queue, to, middle);
    hcy_array_release(middle);
    return status;
}

static int clear_box(hcy_queue *queue, const hcy_array *padded, const struct hcy__box *box)
{
    hcy_array *part = NULL;
    int status = hcy__cut(&part, padded, box);
    if (!status && part->count)
        status = HCY_EVAL(queue, "p = 0", hcy_op_array("p", part));
    hcy_array_release(part);
    return status;
}

/* Zeros outside the whole array, where there is something: a slab at each end of each axis. */
static int clear_outside(hcy_queue *queue, const hcy_array *padded, const struct halo *h)
{
    int status = 0;
    for (int d = 0; !status && h->widths.outside && d < padded->rank; d++) {
        struct hcy__box front = { { 0 }, { 0 } };
        memcpy(front.end, padded->shape, sizeof front.end);
        struct hcy__box back = front;
        front.end[d] = h->within.first[d];
        back.first[d] = h->within.end[d];
        status = clear_box(queue, padded, &front);
        if (!status)
            status = clear_box(queue, padded, &back);
    }
    return status;
}

/* What goes between x and the rows around it. */
static int list_parts(struct hcy__dist_part **parts, const struct halo *h, hcy_array *padded, hcy_array *x)
{
    int status = new_parts(parts, h);
    for (size_t i = 0; !status && i < h->n; i++) {
        const struct hcy__ghost *g = &h->ghosts[i];
        (*parts)[i].rank = g->rank;
        (*parts)[i].sends = g->gives;
        status = hcy__cut(&(*parts)[i].array, g->gives ? x : padded, &g->box);
    }
    return status;
}

static int fetch_ghosts(hcy_queue *queue, hcy_array *padded, void *user, hcy_array *x)
{
    const struct halo *h = user;
    struct hcy__dist_part *parts = NULL;
    int status = copy_middle(queue, padded, x, h, true);
    if (!status)
        status = clear_outside(queue, padded, h);
    if (!status)
        status = list_parts(&parts, h, padded, x);
    if (!status)
        status = hcy__dist_exchange(queue, h->layout->comm, parts, h->n);
    release_parts(parts, parts ? h->n : 0);
    return status;
}

/* A row that was given to several is the sum of what they have, in the order of the plan. */
static int add_given(hcy_queue *queue, hcy_array *x, const struct halo *h, const struct hcy__dist_part *parts)
{
    int status = 0;
    for (size_t i = 0; !status && i < h->n; i++) {
        hcy_array *rows = NULL;
        if (!h->ghosts[i].gives)
            continue;
        status = hcy__cut(&rows, x, &h->ghosts[i].box);
        if (!status)
            status = HCY_EVAL(queue, "x += g", hcy_op_array("x", rows), hcy_op_array("g", parts[i].array));
        hcy_array_release(rows);
    }
    return status;
}

static int return_ghosts(hcy_queue *queue, hcy_array *x, void *user, hcy_array *padded)
{
    const struct halo *h = user;
    struct hcy__dist_part *parts = NULL;
    int status = copy_middle(queue, x, padded, h, false);
    if (!status)
        status = new_parts(&parts, h);
    for (size_t i = 0; !status && i < h->n; i++) {
        const struct hcy__ghost *g = &h->ghosts[i];
        int64_t shape[HCY_ARRAY_MAX_RANK];
        for (int d = 0; d < x->rank; d++)
            shape[d] = g->box.end[d] - g->box.first[d];
        parts[i].rank = g->rank;
        parts[i].sends = !g->gives;
        status = g->gives
                     ? hcy_array_empty(&parts[i].array, hcy_queue_device(queue), x->dtype, x->rank, shape)
                     : hcy__cut(&parts[i].array, padded, &g->box);
    }
    if (!status)
        status = hcy__dist_exchange(queue, h->layout->comm, parts, h->n);
    if (!status)
        status = add_given(queue, x, h, parts);
    release_parts(parts, parts ? h->n : 0);
    return status;
}

/* The own rows alone, and zeros around them. */
static int crop_rows(hcy_queue *queue, hcy_array *x, void *user, hcy_array *padded)
{
    return copy_middle(queue, x, padded, user, false);
}

static int surround_rows(hcy_queue *queue, hcy_array *padded, void *user, hcy_array *x)
{
    int status = HCY_EVAL(queue, "p = 0", hcy_op_array("p", padded));
    return status ? status : copy_middle(queue, padded, x, user, true);
}

/* --- Operators --- */

/* The rows of an axis's blocks with their ghosts, and how many these are together. */
static int pad_axis(int64_t *rows, int64_t *all, const hcy_dist_layout *l, int axis, const struct hcy__widths *w)
{
    const int64_t front = w->front[axis], back = w->back[axis], most = INT64_MAX / 4;
    *all = 0;
    for (int i = 0; i < l->grid[axis]; i++) {
        const int64_t first = l->bounds[axis][i], end = l->bounds[axis][i + 1], behind = l->shape[axis] - end;
        const bool is_countable = !w->outside || (front <= most && back <= most && end - first <= most);
        rows[i] = end - first;
        if (first < end && is_countable)
            rows[i] += (w->outside || front < first ? front : first) + (w->outside || back < behind ? back : behind);
        if (!is_countable || rows[i] > INT64_MAX - *all)
            return hcy_fail(HCY_EINVAL, "%lld and %lld ghost rows of so many ranks cannot be counted", (long long)front,
                            (long long)back);
        *all += rows[i];
    }
    return 0;
}

int hcy__dist_pad(hcy_dist_layout **padded, const hcy_dist_layout *l, const struct hcy__widths *widths)
{
    const int n = l->comm->place.n_ranks;
    int64_t shape[HCY_ARRAY_MAX_RANK], *rows = calloc((size_t)n * HCY_ARRAY_MAX_RANK, sizeof *rows);
    const int64_t *of_axes[HCY_ARRAY_MAX_RANK];
    int status = rows ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %d ranks", n);
    for (int d = 0; !status && d < l->rank; d++) {
        of_axes[d] = rows + (size_t)n * (size_t)d;
        status = pad_axis(rows + (size_t)n * (size_t)d, &shape[d], l, d, widths);
    }
    status = hcy_dist_agree(l->comm, status);
    if (!status)
        status = hcy__layout_make(padded, l->comm, l->rank, shape, l->axis, l->grid, of_axes, false);
    free(rows);
    return status;
}

static int new_halo(struct halo **out, hcy_dist_layout *layout, hcy_dist_layout *padded, const struct hcy__widths *w)
{
    const int me = layout->comm->place.rank;
    struct halo *h = calloc(1, sizeof *h);
    if (!h)
        return hcy_fail(HCY_ENOMEM, "out of memory for ghost rows");
    int status = hcy__dist_list_ghosts(&h->ghosts, &h->n, layout, w);
    if (status) {
        free(h);
        return status;
    }
    h->layout = hcy_dist_layout_retain(layout);
    h->padded = hcy_dist_layout_retain(padded);
    h->widths = *w;
    const struct hcy__box own = hcy__layout_box(layout, me), around = padded_box(layout, me, w);
    for (int d = 0; d < layout->rank; d++) {
        h->middle.first[d] = own.first[d] - around.first[d];
        h->middle.end[d] = own.end[d] - around.first[d];
        h->within.first[d] = around.first[d] < 0 ? -around.first[d] : 0;
        h->within.end[d] = (around.end[d] > layout->shape[d] ? layout->shape[d] : around.end[d]) - around.first[d];
    }
    *out = h;
    return 0;
}

int hcy__dist_ghosts(hcy_operator **op, hcy_device *dev, hcy_dist_layout *layout, hcy_dist_layout *padded,
                     int dtype, const struct hcy__widths *widths, bool fetches)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    struct halo *h = NULL;
    int status = hcy_dist_space(fetches ? &desc.domain : &desc.range, layout, dtype);
    if (!status)
        status = hcy_dist_space(fetches ? &desc.range : &desc.domain, padded, dtype);
    if (!status)
        status = new_halo(&h, layout, padded, widths);
    if (status)
        return status;
    desc.name = fetches ? "halo" : "crop";
    desc.apply = fetches ? fetch_ghosts : crop_rows;
    desc.adjoint = fetches ? return_ghosts : surround_rows;
    desc.destroy = free_halo;
    desc.user = h;
    return hcy__operator_make(op, dev, &desc);
}

int hcy__dist_check_halo(hcy_operator **op, const hcy_device *dev, const hcy_dist_layout *layout,
                         const char *function)
{
    if (!op || !dev || !layout)
        return hcy_fail(HCY_EINVAL, "%s: no place for the operator, device or layout", function);
    if (!hcy__is_dealt(layout))
        return hcy_fail(HCY_EINVAL, "%s: a replicated array has no ghost rows", function);
    *op = NULL;
    return 0;
}

int hcy__dist_halo_of(hcy_operator **op, hcy_dist_layout **padded, hcy_device *dev, hcy_dist_layout *layout, int dtype,
                      const struct hcy__widths *widths)
{
    hcy_dist_layout *around = NULL;
    int status = hcy__dist_pad(&around, layout, widths);
    if (!status)
        status = hcy__dist_agree_on(op, layout->comm, hcy__dist_ghosts(op, dev, layout, around, dtype, widths, true));
    if (status || !padded) {
        hcy_dist_layout_release(around);
        around = NULL;
    }
    if (padded)
        *padded = around;
    return status;
}

/* A width below 0 on one rank makes no operator on any. */
static int make_halo(hcy_operator **op, hcy_dist_layout **padded, hcy_device *dev, hcy_dist_layout *layout, int dtype,
                     const struct hcy__widths *widths, const char *function)
{
    int status = 0;
    for (int d = 0; d < layout->rank; d++)
        if (!status && (widths->front[d] < 0 || widths->back[d] < 0))
            status = hcy_fail(HCY_EINVAL, "%s: %lld and %lld ghost rows", function, (long long)widths->front[d],
                              (long long)widths->back[d]);
    status = hcy_dist_agree(layout->comm, status);
    if (status)
        return status;
    /* With zeros outside, other widths may make the same parts, but never the same messages. */
    int64_t asked[2 * HCY_ARRAY_MAX_RANK + 2] = { widths->outside, dtype };
    memcpy(asked + 2, widths->front, sizeof widths->front);
    memcpy(asked + 2 + HCY_ARRAY_MAX_RANK, widths->back, sizeof widths->back);
    status = hcy__dist_same(layout->comm, asked, sizeof asked, function, "widths, another type or other things outside");
    return status ? status : hcy__dist_halo_of(op, padded, dev, layout, dtype, widths);
}

int hcy_dist_halo(hcy_operator **op, hcy_dist_layout **padded, hcy_device *dev, hcy_dist_layout *layout,
                  int dtype, int64_t front, int64_t back)
{
    struct hcy__widths widths = { { 0 }, { 0 }, false };
    int status = hcy__dist_check_halo(op, dev, layout, "hcy_dist_halo");
    if (!status && layout->axis == HCY_DIST_GRID)
        status = hcy_fail(HCY_EINVAL, "hcy_dist_halo: blocks along several axes are hcy_dist_halo_grid()'s");
    if (padded)
        *padded = NULL;
    if (status)
        return status;
    widths.front[layout->axis] = front;
    widths.back[layout->axis] = back;
    return make_halo(op, padded, dev, layout, dtype, &widths, "hcy_dist_halo");
}

int hcy_dist_halo_grid(hcy_operator **op, hcy_dist_layout **padded, hcy_device *dev, hcy_dist_layout *layout, int dtype,
                       const int64_t *front, const int64_t *back, int outside)
{
    struct hcy__widths widths = { { 0 }, { 0 }, outside == HCY_OUTSIDE_ZERO };
    int status = hcy__dist_check_halo(op, dev, layout, "hcy_dist_halo_grid");
    if (padded)
        *padded = NULL;
    if (status)
        return status;
    if ((!front || !back || (outside != HCY_OUTSIDE_NONE && outside != HCY_OUTSIDE_ZERO)))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_halo_grid: %s",
                          front && back ? "no such thing outside an array" : "no widths for each axis");
    status = hcy_dist_agree(layout->comm, status);
    if (status)
        return status;
    memcpy(widths.front, front, sizeof *front * (size_t)layout->rank);
    memcpy(widths.back, back, sizeof *back * (size_t)layout->rank);
    return make_halo(op, padded, dev, layout, dtype, &widths, "hcy_dist_halo_grid");
}

/* HCY_EINVAL: it fetches no ghost rows. */
static int find_halo(struct halo **h, const hcy_operator *op, const char *function)
{
    if (!op)
        return hcy_fail(HCY_EINVAL, "%s: no operator", function);
    if (op->desc.apply != fetch_ghosts)
        return hcy_fail(HCY_EINVAL, "%s: the operator \"%s\" fetches no ghost rows", function, op->desc.name);
    *h = op->desc.user;
    return 0;
}

int hcy_dist_crop(hcy_operator **op, hcy_operator *halo)
{
    struct halo *h = NULL;
    if (!op)
        return hcy_fail(HCY_EINVAL, "hcy_dist_crop: no place for the operator");
    *op = NULL;
    int status = find_halo(&h, halo, "hcy_dist_crop");
    return status ? status
                  : hcy__dist_ghosts(op, halo->dev, h->layout, h->padded, halo->desc.domain.dtype, &h->widths, false);
}

/* --- Begun and ended --- */

/* The same, for a queue. */
static int find_begun(struct halo **h, const hcy_queue *queue, const hcy_operator *op, const char *function)
{
    return queue ? find_halo(h, op, function) : hcy_fail(HCY_EINVAL, "%s: no queue", function);
}

int hcy_dist_halo_begin(hcy_queue *queue, hcy_array *padded, hcy_operator *op, hcy_array *x)
{
    struct halo *h = NULL;
    struct hcy__dist_part *parts = NULL;
    int status = find_begun(&h, queue, op, "hcy_dist_halo_begin");
    if (!status)
        status = hcy__operator_check_vector(x, op, &op->desc.domain, "input");
    if (!status)
        status = hcy__operator_check_vector(padded, op, &op->desc.range, "result");
    if (!status && hcy__operator_shares_memory(padded, x))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_halo_begin: input and result share memory");
    if (!status && !h->begun)
        status = hcy__exchange_new(&h->begun, h->layout->comm);
    if (!status)
        status = list_parts(&parts, h, padded, x);
    /* Ghosts are on their way before the own rows are copied. */
    if (!status)
        status = hcy__exchange_begin(queue, h->begun, parts, h->n);
    if (!status) {
        status = copy_middle(queue, padded, x, h, true);
        if (!status)
            status = clear_outside(queue, padded, h);
        if (status)
            hcy__exchange_cancel(queue, h->begun);
    }
    release_parts(parts, parts ? h->n : 0);
    return status;
}

int hcy_dist_halo_end(hcy_queue *queue, hcy_operator *op)
{
    struct halo *h = NULL;
    int status = find_begun(&h, queue, op, "hcy_dist_halo_end");
    if (!status && !h->begun)
        status = hcy_fail(HCY_ESTATE, "hcy_dist_halo_end: no ghost rows are on their way");
    return status ? status : hcy__exchange_end(queue, h->begun);
}
