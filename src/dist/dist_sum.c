/* dist_sum.c - sums over arrays in blocks, with the bits that hcy_eval() has on one device.
 *
 * hcy_eval() adds up pieces of 1024 elements by a fixed tree, then the pieces' sums in the same way, until one is
 * left (eval_format.h).  So here: elements are numbered over all ranks.  A rank has the sums of the pieces that are
 * all its own by one expression; a piece that several ranks have a share of is its first one's, to which the others
 * send their elements' products, fewer than 1024.  A piece's sum is the next round's element, on the rank that has
 * it.  When few are left all ranks get all, and add them up.
 */
#include "dist_priv.h"
#include "dist_sum.h"

#include <halcyon/eval.h>
#include <math.h>
#include <stdlib.h>

enum { PIECE = HCY_SUM_PIECE, FEW = HCY_SUM_FEW };

/* The numbers that are added up: products of x and y, or, where there is no y, x.  Flat. */
struct summands {
    hcy_dist *comm;
    hcy_queue *queue;
    hcy_array *x, *y;
    bool is_complex;
    int64_t *firsts; /* of n_ranks + 1: which of all numbers each rank's first one is */
};

/* Of a rank's numbers those in front of its first piece's beginning, and those behind its last whole piece. */
struct edges {
    int64_t head, tail;
};

static struct edges find_edges(const struct summands *s, int r)
{
    const int64_t first = s->firsts[r], end = s->firsts[r + 1], begins = (first + PIECE - 1) / PIECE * PIECE;
    if (begins >= end)
        return (struct edges){ end - first, 0 };
    return (struct edges){ begins - first, (end - begins) % PIECE };
}

/* --- Expressions --- */

/* A number, or how one is made. */
static const char *summand_text(const struct summands *s, const char *number, const char *complex_product,
                                const char *real_product)
{
    if (!s->y)
        return number;
    return s->is_complex ? complex_product : real_product;
}

static int eval_summands(hcy_queue *queue, const char *text, hcy_array *to, hcy_array *x, hcy_array *y)
{
    const hcy_operand operands[] = { hcy_op_array("s", to), hcy_op_array("x", x), hcy_op_array("y", y) };
    return hcy_eval(queue, text, operands, y ? 3 : 2);
}

/* `to` = the numbers from `first` on, or, of several rows of pieces, each row's sum. */
static int eval_range(const struct summands *s, hcy_array *to, int64_t first, int64_t count, int64_t n_pieces)
{
    hcy_array *range[2] = { NULL, NULL }, *rows[2] = { NULL, NULL };
    const int64_t shape[2] = { n_pieces, PIECE };
    const char *text = n_pieces ? summand_text(s, "s = sum(x, axis=1)",
                                               "s = sum(conj(complex128(x)) * complex128(y), axis=1)",
                                               "s = sum(float64(x) * float64(y), axis=1)")
                                : summand_text(s, "s = x", "s = conj(complex128(x)) * complex128(y)",
                                               "s = float64(x) * float64(y)");
    int status = 0;
    for (int i = 0; !status && i < (s->y ? 2 : 1); i++) {
        status = hcy__rows(&range[i], i ? s->y : s->x, 0, first, count);
        if (!status)
            status = n_pieces ? hcy_array_reshape(&rows[i], range[i], 2, shape) : 0;
    }
    if (!status)
        status = n_pieces ? eval_summands(s->queue, text, to, rows[0], rows[1])
                          : eval_summands(s->queue, text, to, range[0], range[1]);
    for (int i = 0; i < 2; i++) {
        hcy_array_release(rows[i]);
        hcy_array_release(range[i]);
    }
    return status;
}

static int new_numbers(hcy_array **numbers, const struct summands *s, int64_t n)
{
    return hcy_array_empty(numbers, hcy_queue_device(s->queue), s->is_complex ? HCY_COMPLEX128 : HCY_FLOAT64,
                           1, &n);
}

/* --- Pieces of several ranks --- */

/* Who has the beginning of the piece that rank r's head belongs to. */
static int owner_of_head(const struct summands *s, int r)
{
    do
        r--;
    while (!find_edges(s, r).tail);
    return r;
}

/* Where the others' shares of this rank's last piece go: one part for each rank that has some. */
static int list_shares(struct hcy__dist_part *parts, size_t *n, const struct summands *s, hcy_array *piece,
                       int64_t at)
{
    int status = 0;
    for (int r = s->comm->place.rank + 1; !status && at < piece->count; r++) {
        const int64_t head = find_edges(s, r).head;
        if (!head)
            continue;
        status = hcy__rows(&parts[*n].array, piece, 0, at, head);
        parts[*n].rank = r;
        *n += !status;
        at += head;
    }
    return status;
}

/* The rank's own last piece, if it begins here, gets its elements; its head goes to whose piece that is. */
static int exchange_edges(const struct summands *s, hcy_array *head, hcy_array *piece, int64_t tail)
{
    struct hcy__dist_part *parts = calloc((size_t)s->comm->place.n_ranks + 1, sizeof *parts);
    size_t n = 0;
    if (!parts)
        return hcy_fail(HCY_ENOMEM, "out of memory for a sum over ranks");
    int status = piece ? list_shares(parts, &n, s, piece, tail) : 0;
    if (!status && head)
        parts[n++] =
            (struct hcy__dist_part){ owner_of_head(s, s->comm->place.rank), true, hcy_array_retain(head) };
    if (!status)
        status = hcy__dist_exchange(s->queue, s->comm, parts, n);
    for (size_t i = 0; i < n; i++)
        hcy_array_release(parts[i].array);
    free(parts);
    return status;
}

/* to = the sum of the piece that begins in this rank's tail and goes on in the next ranks; all ranks come here. */
static int sum_edges(const struct summands *s, hcy_array *to, const struct edges *e)
{
    const int me = s->comm->place.rank, n_ranks = s->comm->place.n_ranks;
    const int64_t begins = s->firsts[me + 1] - e->tail, left = s->firsts[n_ranks] - begins;
    hcy_array *head = NULL, *piece = NULL, *tail = NULL;
    int status = e->head ? new_numbers(&head, s, e->head) : 0;
    if (!status && e->head)
        status = eval_range(s, head, 0, e->head, 0);
    if (!status && e->tail)
        status = new_numbers(&piece, s, left < PIECE ? left : PIECE);
    if (!status && e->tail)
        status = hcy__rows(&tail, piece, 0, 0, e->tail);
    if (!status && e->tail)
        status = eval_range(s, tail, s->x->count - e->tail, e->tail, 0);
    if (!status)
        status = exchange_edges(s, head, piece, e->tail);
    if (!status && e->tail)
        status = HCY_EVAL(s->queue, "s = sum(x)", hcy_op_array("s", to), hcy_op_array("x", piece));
    hcy_array_release(tail);
    hcy_array_release(piece);
    hcy_array_release(head);
    return status;
}

/* --- Rounds --- */

/* The sums of this rank's pieces in place of its numbers. */
static int sum_pieces(struct summands *s)
{
    const int me = s->comm->place.rank, n_ranks = s->comm->place.n_ranks;
    const struct edges e = find_edges(s, me);
    const int64_t inner = (s->x->count - e.head - e.tail) / PIECE;
    hcy_array *sums = NULL, *of_inner = NULL, *of_tail = NULL;
    int status = new_numbers(&sums, s, inner + (e.tail > 0));
    if (!status)
        status = hcy__rows(&of_inner, sums, 0, 0, inner);
    if (!status)
        status = hcy__rows(&of_tail, sums, 0, inner, e.tail > 0);
    if (!status && inner)
        status = eval_range(s, of_inner, e.head, inner * PIECE, inner);
    if (!status)
        status = sum_edges(s, of_tail, &e);
    hcy_array_release(of_inner);
    hcy_array_release(of_tail);
    if (status) {
        hcy_array_release(sums);
        return status;
    }
    hcy_array_release(s->x);
    hcy_array_release(s->y);
    s->x = sums;
    s->y = NULL;
    for (int r = 0; r <= n_ranks; r++)
        s->firsts[r] = (s->firsts[r] + PIECE - 1) / PIECE;
    return 0;
}

/* all = the numbers of all ranks, on each. */
static int gather_numbers(const struct summands *s, hcy_array *all, hcy_array *mine)
{
    const int n = s->comm->place.n_ranks;
    struct hcy__dist_part *parts = calloc(2 * (size_t)n, sizeof *parts);
    int status = parts ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for a sum over ranks");
    for (int r = 0; !status && r < n; r++) {
        parts[r] = (struct hcy__dist_part){ r, true, hcy_array_retain(mine) };
        parts[n + r].rank = r;
        status = hcy__rows(&parts[n + r].array, all, 0, s->firsts[r], s->firsts[r + 1] - s->firsts[r]);
    }
    if (!status)
        status = hcy__dist_exchange(s->queue, s->comm, parts, 2 * (size_t)n);
    for (int r = 0; parts && r < 2 * n; r++)
        hcy_array_release(parts[r].array);
    free(parts);
    return status;
}

static int sum_rest(const struct summands *s, hcy_array *sum)
{
    const int64_t all_of_them = s->firsts[s->comm->place.n_ranks];
    hcy_array *all = NULL, *mine = NULL;
    int status = new_numbers(&all, s, all_of_them);
    /* Pieces' sums are what is sent already. */
    if (!status && !s->y && s->x->dtype == all->dtype)
        mine = hcy_array_retain(s->x);
    else if (!status)
        status = new_numbers(&mine, s, s->x->count);
    if (!status && mine->count && mine != s->x)
        status = eval_range(s, mine, 0, mine->count, 0);
    if (!status)
        status = gather_numbers(s, all, mine);
    if (!status)
        status = HCY_EVAL(s->queue, "s = sum(x)", hcy_op_array("s", sum), hcy_op_array("x", all));
    hcy_array_release(all);
    hcy_array_release(mine);
    return status;
}

/* The part as one axis, in the order of the whole's rows: a view, or a copy with the blocks' axis in front.  Over a
 * grid it is as it lies. */
static int flatten_part(hcy_array **flat, hcy_queue *queue, const hcy_dist_layout *layout,
                        const hcy_array *part)
{
    hcy_array *turned = NULL, *copy = NULL;
    int axes[HCY_ARRAY_MAX_RANK] = { layout->axis };
    if (layout->axis == HCY_DIST_GRID)
        return hcy_array_reshape(flat, part, 1, &part->count);
    for (int d = 0, to = 1; d < layout->rank; d++)
        if (d != layout->axis)
            axes[to++] = d;
    int status = hcy_array_transpose(&turned, part, axes);
    if (!status && !hcy__is_contiguous(turned)) {
        status = hcy_array_empty(&copy, hcy_queue_device(queue), part->dtype, turned->rank, turned->shape);
        if (!status)
            status = hcy_array_copy(queue, copy, turned);
    }
    if (!status)
        status = hcy_array_reshape(flat, copy ? copy : turned, 1, &part->count);
    hcy_array_release(copy);
    hcy_array_release(turned);
    return status;
}

/* The sum of a process's own numbers. */
static int sum_own(hcy_queue *queue, hcy_array *sum, hcy_array *x, hcy_array *y)
{
    const bool is_complex = x->dtype == HCY_COMPLEX64 || x->dtype == HCY_COMPLEX128;
    const char *text = !y           ? "s = sum(float64(x))"
                       : is_complex ? "s = vdot(complex128(x), complex128(y))"
                                    : "s = dot(float64(x), float64(y))";
    return eval_summands(queue, text, sum, x, y);
}

/* One rank's rows in C order are what hcy_eval() adds up. */
static bool goes_beyond(const hcy_dist_layout *layout)
{
    return hcy__is_dealt(layout) && (layout->axis || layout->comm->place.n_ranks > 1);
}

int hcy__dist_adds_parts(void *user)
{
    const hcy_dist_layout *layout = user;
    return !goes_beyond(layout) || layout->comm->has_free_sums;
}

int hcy__dist_total(hcy_queue *queue, hcy_array *sum, void *user)
{
    const hcy_dist_layout *layout = user;
    return goes_beyond(layout) ? hcy_dist_allreduce(queue, sum, layout->comm, HCY_REDUCE_SUM) : 0;
}

int hcy_dist_set_sums(hcy_dist *comm, int sums)
{
    int status = hcy__dist_check(comm, 0, "hcy_dist_set_sums");
    if (status)
        return status;
    int32_t ends[2] = { sums == HCY_SUMS_FREE, -(sums == HCY_SUMS_FREE) };
    if (sums != HCY_SUMS_SAME && sums != HCY_SUMS_FREE)
        status = hcy_fail(HCY_EINVAL, "hcy_dist_set_sums: there are no sums %d", sums);
    status = hcy_dist_agree(comm, status);
    if (!status)
        status = hcy_dist_allreduce_host(ends, comm, HCY_INT32, 2, HCY_REDUCE_MIN);
    if (!status && ends[0] != -ends[1])
        status = hcy_fail(HCY_EINVAL, "hcy_dist_set_sums: ranks do not say the same");
    if (!status)
        comm->has_free_sums = sums == HCY_SUMS_FREE;
    return status;
}

static int sum_blocks(hcy_queue *queue, hcy_array *sum, const hcy_dist_layout *layout, hcy_array *x, hcy_array *y)
{
    const int n = layout->comm->place.n_ranks;
    if (layout->comm->has_free_sums) {
        int own = sum_own(queue, sum, x, y);
        return own ? own : hcy_dist_allreduce(queue, sum, layout->comm, HCY_REDUCE_SUM);
    }
    struct summands s = { .comm = layout->comm, .queue = queue };
    s.is_complex = x->dtype == HCY_COMPLEX64 || x->dtype == HCY_COMPLEX128;
    s.firsts = calloc((size_t)n + 1, sizeof *s.firsts);
    int status = s.firsts ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for a sum over ranks");
    for (int r = 0; !status && r <= n; r++)
        s.firsts[r] = layout->firsts[r] * layout->row;
    if (!status)
        status = flatten_part(&s.x, queue, layout, x);
    if (!status && y)
        status = flatten_part(&s.y, queue, layout, y);
    while (!status && s.firsts[n] > FEW)
        status = sum_pieces(&s);
    if (!status)
        status = sum_rest(&s, sum);
    hcy_array_release(s.x);
    hcy_array_release(s.y);
    free(s.firsts);
    return status;
}

int hcy__dist_dot(hcy_queue *queue, hcy_array *sum, void *user, hcy_array *x, hcy_array *y)
{
    const hcy_dist_layout *layout = user;
    return goes_beyond(layout) ? sum_blocks(queue, sum, layout, x, y) : sum_own(queue, sum, x, y);
}

static int check_sum(const hcy_queue *queue, const hcy_array *sum, const hcy_dist_layout *layout,
                     const hcy_array *x, const hcy_array *y, const char *function)
{
    int status = hcy__part_check(queue, x, layout, function);
    if (!status)
        status = hcy__part_check(queue, y, layout, function);
    if (!status)
        status = hcy__array_check(sum, function);
    if (status)
        return status;
    const bool is_complex = x->dtype == HCY_COMPLEX64 || x->dtype == HCY_COMPLEX128;
    if (x->dtype < HCY_FLOAT32 || x->dtype > HCY_COMPLEX128 || x->dtype != y->dtype || sum->count != 1 ||
        sum->dtype != (is_complex ? HCY_COMPLEX128 : HCY_FLOAT64))
        return hcy_fail(HCY_EINVAL, "%s: arrays of %s and %s, and a sum of %lld %s", function,
                        hcy_dtype_name(x->dtype), hcy_dtype_name(y->dtype), (long long)sum->count,
                        hcy_dtype_name(sum->dtype));
    if (!hcy__is_contiguous(x) || !hcy__is_contiguous(y))
        return hcy_fail(HCY_EINVAL, "%s: an array with gaps between its elements", function);
    return 0;
}

int hcy_dist_dot(hcy_queue *queue, hcy_array *sum, const hcy_dist_layout *layout, hcy_array *x, hcy_array *y)
{
    int status = check_sum(queue, sum, layout, x, y, "hcy_dist_dot");
    return status ? status : hcy__dist_dot(queue, sum, (void *)layout, x, y);
}

static int check_norm(const hcy_queue *queue, const hcy_array *norm, const hcy_dist_layout *layout, const hcy_array *x,
                      const char *function)
{
    int status = hcy__part_check(queue, x, layout, function);
    if (!status)
        status = hcy__array_check(norm, function);
    if (!status && (norm->count != 1 || norm->dtype != HCY_FLOAT64))
        status = hcy_fail(HCY_EINVAL, "%s: a norm is one float64", function);
    return status;
}

int hcy_dist_norm(hcy_queue *queue, hcy_array *norm, const hcy_dist_layout *layout, hcy_array *x)
{
    int status = check_norm(queue, norm, layout, x, "hcy_dist_norm");
    if (status)
        return status;
    const bool is_complex = x->dtype == HCY_COMPLEX64 || x->dtype == HCY_COMPLEX128;
    hcy_array *sum = NULL;
    status =
        hcy_array_empty(&sum, hcy_queue_device(queue), is_complex ? HCY_COMPLEX128 : HCY_FLOAT64, 0, NULL);
    if (!status)
        status = hcy_dist_dot(queue, sum, layout, x, x);
    if (!status)
        status = HCY_EVAL(queue, is_complex ? "n = sqrt(real(s))" : "n = sqrt(s)", hcy_op_array("n", norm),
                          hcy_op_array("s", sum));
    hcy_array_release(sum);
    return status;
}

/* --- Norms of other orders --- */

/* One of the ranks' numbers: what is none passes a sum, and need not pass an MPI's or NCCL's largest and smallest. */
static int reduce_extreme(hcy_queue *queue, hcy_array *norm, hcy_dist *comm, int how)
{
    hcy_array *bad = NULL;
    int status = hcy_array_empty(&bad, hcy_queue_device(queue), HCY_FLOAT64, 0, NULL);
    if (!status)
        status = HCY_EVAL(queue, "b = where(n == n, 0, n)", hcy_op_array("b", bad), hcy_op_array("n", norm));
    if (!status)
        status = hcy_dist_allreduce(queue, norm, comm, how);
    if (!status)
        status = hcy_dist_allreduce(queue, bad, comm, HCY_REDUCE_SUM);
    if (!status)
        status = HCY_EVAL(queue, "n = where(b == b, n, b)", hcy_op_array("b", bad), hcy_op_array("n", norm));
    hcy_array_release(bad);
    return status;
}

/* The largest or the smallest |x|; a rank without any has what changes nothing. */
static int find_extreme(hcy_queue *queue, hcy_array *norm, const hcy_dist_layout *layout, hcy_array *x, double order)
{
    const char *text = order > 0 ? "n = max(float64(abs(x)))" : "n = min(float64(abs(x)))";
    int status = x->count ? HCY_EVAL(queue, text, hcy_op_array("n", norm), hcy_op_array("x", x))
                          : HCY_EVAL(queue, "n = e", hcy_op_array("n", norm),
                                     hcy_op_real("e", order > 0 ? 0 : INFINITY));
    return status || !hcy__is_dealt(layout)
               ? status
               : reduce_extreme(queue, norm, layout->comm, order > 0 ? HCY_REDUCE_MAX : HCY_REDUCE_MIN);
}

static int sum_powers(hcy_queue *queue, hcy_array *norm, const hcy_dist_layout *layout, hcy_array *x, double order)
{
    const hcy_operand p = hcy_op_real("p", order);
    hcy_array *powers = NULL;
    int status = hcy_dist_array(&powers, hcy_queue_device(queue), layout, HCY_FLOAT64);
    if (!status && x->count)
        status = order == 0   ? HCY_EVAL(queue, "t = x != 0", hcy_op_array("t", powers), hcy_op_array("x", x))
                 : order == 1 ? HCY_EVAL(queue, "t = abs(x)", hcy_op_array("t", powers), hcy_op_array("x", x))
                              : HCY_EVAL(queue, "t = float64(abs(x)) ** p", hcy_op_array("t", powers),
                                         hcy_op_array("x", x), p);
    if (!status && hcy__is_dealt(layout))
        status = sum_blocks(queue, norm, layout, powers, NULL);
    else if (!status)
        status = HCY_EVAL(queue, "n = sum(t)", hcy_op_array("n", norm), hcy_op_array("t", powers));
    if (!status && order > 0 && order != 1)
        status = HCY_EVAL(queue, "n = n ** (1 / p)", hcy_op_array("n", norm), p);
    hcy_array_release(powers);
    return status;
}

int hcy_dist_norm_of(hcy_queue *queue, hcy_array *norm, const hcy_dist_layout *layout, hcy_array *x, double order)
{
    int status = check_norm(queue, norm, layout, x, "hcy_dist_norm_of");
    if (!status && (x->dtype < HCY_FLOAT32 || x->dtype > HCY_COMPLEX128))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_norm_of: of numbers of %s there is no norm", hcy_dtype_name(x->dtype));
    if (!status && !(order >= 0 || order == -INFINITY))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_norm_of: there is no norm of order %g", order);
    if (status)
        return status;
    if (order == 2)
        return hcy_dist_norm(queue, norm, layout, x);
    return isinf(order) ? find_extreme(queue, norm, layout, x, order) : sum_powers(queue, norm, layout, x, order);
}
