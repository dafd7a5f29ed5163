/* halo.c - ghost rows: a rank's rows with those of its neighbours around them.
 *
 * The operator that fetches ghost rows is also the plan: which rows go where is found once.  At the ends of the
 * whole array there are none, so that what is made of a rank's rows there is what one device makes.  A rank without
 * rows has no ghosts.
 */
#include "dist_priv.h"
#include "operator_priv.h"

#include <halcyon/eval.h>
#include <stdlib.h>

struct halo {
    hcy_dist_layout *layout, *padded;
    int64_t widths[2]; /* ghost rows in front and behind, where there are so many */
    int64_t before;    /* this rank's ghost rows in front of its own */
    struct hcy__ghost *ghosts;
    size_t n;
    struct hcy__exchange *begun; /* hcy_dist_halo_begin()'s; NULL: it was never called */
};

/* Rows [first, end) of the whole. */
struct span {
    int64_t first, end;
};

static struct span own_rows(const hcy_dist_layout *l, int rank)
{
    return (struct span){ l->firsts[rank], l->firsts[rank + 1] };
}

/* Own rows and ghosts. */
static struct span padded_rows(const hcy_dist_layout *l, int rank, int64_t front, int64_t back)
{
    const int64_t all = l->shape[l->axis];
    struct span s = own_rows(l, rank);
    if (s.first == s.end)
        return s;
    s.first = s.first > front ? s.first - front : 0;
    s.end = all - s.end > back ? s.end + back : all;
    return s;
}

struct list {
    struct hcy__ghost *ghosts;
    size_t n;
};

static void add_ghost(struct list *l, int rank, bool gives, struct span wanted, struct span has, int64_t origin)
{
    const int64_t first = wanted.first > has.first ? wanted.first : has.first;
    const int64_t end = wanted.end < has.end ? wanted.end : has.end;
    if (end > first)
        l->ghosts[l->n++] = (struct hcy__ghost){ rank, gives, first - origin, end - first };
}

/* Front ghosts first, for all ranks: so messages of two ranks are in one order at both ends. */
int hcy__dist_list_ghosts(struct hcy__ghost **ghosts, size_t *n, const hcy_dist_layout *l, int64_t front, int64_t back)
{
    const int me = l->comm->place.rank;
    const struct span mine = own_rows(l, me), padded = padded_rows(l, me, front, back);
    struct list list = { calloc(4 * (size_t)l->comm->place.n_ranks, sizeof *list.ghosts), 0 };
    if (!list.ghosts)
        return hcy_fail(HCY_ENOMEM, "out of memory for ghost rows");
    for (int side = 0; side < 2; side++)
        for (int r = 0; r < l->comm->place.n_ranks; r++) {
            const struct span theirs = own_rows(l, r), around = padded_rows(l, r, front, back);
            if (r == me)
                continue;
            add_ghost(&list, r, false,
                      side ? (struct span){ mine.end, padded.end }
                           : (struct span){ padded.first, mine.first },
                      theirs, padded.first);
            add_ghost(&list, r, true,
                      side ? (struct span){ theirs.end, around.end }
                           : (struct span){ around.first, theirs.first },
                      mine, mine.first);
        }
    *ghosts = list.ghosts;
    *n = list.n;
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

static int64_t count_own(const struct halo *h)
{
    return h->layout->local[h->layout->axis];
}

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
    int status = hcy__rows(&middle, to_padded ? to : from, h->layout->axis, h->before, count_own(h));
    if (!status)
        status = to_padded ? hcy_array_copy(queue, middle, from) : hcy_array_copy(queue, to, middle);
    hcy_array_release(middle);
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
        status = hcy__rows(&(*parts)[i].array, g->gives ? x : padded, h->layout->axis, g->first, g->count);
    }
    return status;
}

static int fetch_ghosts(hcy_queue *queue, hcy_array *padded, void *user, hcy_array *x)
{
    const struct halo *h = user;
    struct hcy__dist_part *parts = NULL;
    int status = copy_middle(queue, padded, x, h, true);
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
        status = hcy__rows(&rows, x, h->layout->axis, h->ghosts[i].first, h->ghosts[i].count);
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
            shape[d] = d == h->layout->axis ? g->count : x->shape[d];
        parts[i].rank = g->rank;
        parts[i].sends = !g->gives;
        status = g->gives
                     ? hcy_array_empty(&parts[i].array, hcy_queue_device(queue), x->dtype, x->rank, shape)
                     : hcy__rows(&parts[i].array, padded, h->layout->axis, g->first, g->count);
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

int hcy__dist_pad(hcy_dist_layout **padded, const hcy_dist_layout *l, int64_t front, int64_t back)
{
    const int n = l->comm->place.n_ranks;
    int64_t shape[HCY_ARRAY_MAX_RANK], *rows = calloc((size_t)n, sizeof *rows);
    int status = hcy_dist_agree(l->comm, rows ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %d ranks", n));
    for (int d = 0; d < l->rank; d++)
        shape[d] = d == l->axis ? 0 : l->shape[d];
    for (int r = 0; !status && r < n; r++) {
        const struct span s = padded_rows(l, r, front, back);
        rows[r] = s.end - s.first;
        if (rows[r] > INT64_MAX - shape[l->axis])
            status = hcy_fail(HCY_EINVAL, "%lld and %lld ghost rows of so many ranks cannot be counted",
                              (long long)front, (long long)back);
        else
            shape[l->axis] += rows[r];
    }
    if (!status)
        status = hcy_dist_layout_blocks(padded, l->comm, l->rank, shape, l->axis, rows);
    free(rows);
    return status;
}

static int new_halo(struct halo **out, hcy_dist_layout *layout, hcy_dist_layout *padded, int64_t front,
                    int64_t back)
{
    const int me = layout->comm->place.rank;
    struct halo *h = calloc(1, sizeof *h);
    if (!h)
        return hcy_fail(HCY_ENOMEM, "out of memory for ghost rows");
    int status = hcy__dist_list_ghosts(&h->ghosts, &h->n, layout, front, back);
    if (status) {
        free(h);
        return status;
    }
    h->layout = hcy_dist_layout_retain(layout);
    h->padded = hcy_dist_layout_retain(padded);
    h->widths[0] = front;
    h->widths[1] = back;
    h->before = own_rows(layout, me).first - padded_rows(layout, me, front, back).first;
    *out = h;
    return 0;
}

int hcy__dist_ghosts(hcy_operator **op, hcy_device *dev, hcy_dist_layout *layout, hcy_dist_layout *padded,
                     int dtype, const int64_t widths[2], bool fetches)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    struct halo *h = NULL;
    int status = hcy_dist_space(fetches ? &desc.domain : &desc.range, layout, dtype);
    if (!status)
        status = hcy_dist_space(fetches ? &desc.range : &desc.domain, padded, dtype);
    if (!status)
        status = new_halo(&h, layout, padded, widths[0], widths[1]);
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
    if (layout->axis < 0)
        return hcy_fail(HCY_EINVAL, "%s: a replicated array has no ghost rows", function);
    *op = NULL;
    return 0;
}

int hcy_dist_halo(hcy_operator **op, hcy_dist_layout **padded, hcy_device *dev, hcy_dist_layout *layout,
                  int dtype, int64_t front, int64_t back)
{
    hcy_dist_layout *around = NULL;
    int status = hcy__dist_check_halo(op, dev, layout, "hcy_dist_halo");
    if (!status && (front < 0 || back < 0))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_halo: %lld and %lld ghost rows", (long long)front,
                          (long long)back);
    if (!status)
        status = hcy__dist_pad(&around, layout, front, back);
    if (!status)
        status = hcy__dist_agree_on(
            op, layout->comm,
            hcy__dist_ghosts(op, dev, layout, around, dtype, (int64_t[]){ front, back }, true));
    if (status || !padded) {
        hcy_dist_layout_release(around);
        around = NULL;
    }
    if (padded)
        *padded = around;
    return status;
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
                  : hcy__dist_ghosts(op, halo->dev, h->layout, h->padded, halo->desc.domain.dtype, h->widths, false);
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
