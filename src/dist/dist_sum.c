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
#include "operator_priv.h"

#include <halcyon/eval.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ALIGNED: bytes in front of which a view of a buffer may begin for any device's reductions. */
enum { PIECE = HCY_SUM_PIECE, FEW = HCY_SUM_FEW, ALIGNED = 512 };

/* What a layout's sums are made in, the same arrays each time, in the order in which one sum makes them: solvers make
 * sums in each step. */
enum { KEPT = 8 };
struct hcy__sum_memory {
    int64_t *counts; /* 2 (n_ranks + 1): summands' firsts and next */
    struct hcy__dist_part *parts; /* 2 n_ranks: messages of one exchange */
    hcy_array *views;             /* n_ranks: borrowed ones, that parts are of */
    hcy_queue *last; /* whose what follows is: what another one does may not be done yet, or have failed */
    hcy_array *kept[KEPT];
    hcy_array *share, *share_of; /* a part of numbers of all ranks, as share_of_all() makes it, and these */
    int64_t share_first;
};

static void forget_share(struct hcy__sum_memory *m)
{
    hcy_array_release(m->share);
    hcy_array_release(m->share_of);
    m->share = m->share_of = NULL;
}

static void forget_all(struct hcy__sum_memory *m)
{
    forget_share(m);
    for (int i = 0; i < KEPT; i++) {
        hcy_array_release(m->kept[i]);
        m->kept[i] = NULL;
    }
    hcy_queue_release(m->last);
    m->last = NULL;
}

/* The numbers that are added up: products of x and y, or, where there is no y, x.  Flat. */
struct summands {
    hcy_dist *comm;
    hcy_queue *queue;
    hcy_array *x, *y;
    bool is_complex;
    hcy_array flat[2]; /* parts as one axis, borrowed: what x and y begin with, where they lie so */
    int64_t *firsts; /* of n_ranks + 1: which of all numbers each rank's first one is */
    int64_t *next;   /* the same of the next round's */
    struct hcy__sum_memory *memory; /* the layout's */
    int n_made;                     /* arrays so far, which are the memory's first ones */
    hcy_array *all;  /* room for few numbers, of all ranks; NULL: there are too many yet */
    bool in_place;   /* x is a part of it */
};

/* Of a rank's numbers those in front of its first piece's beginning, and those behind its last whole piece. */
struct edges {
    int64_t head, tail;
};

static struct edges find_edges(const int64_t *firsts, int r)
{
    const int64_t first = firsts[r], end = firsts[r + 1], begins = (first + PIECE - 1) / PIECE * PIECE;
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

/* Some of flat numbers, or rows of pieces, for one expression: a view that keeps nothing. */
static void borrow_range(hcy_array *view, const hcy_array *of, int64_t first, int64_t count, int64_t n_pieces)
{
    view->buffer = of->buffer;
    view->room = of->room;
    view->dtype = of->dtype;
    view->rank = n_pieces ? 2 : 1;
    view->shape[0] = n_pieces ? n_pieces : count;
    view->shape[1] = view->strides[0] = PIECE;
    view->strides[view->rank - 1] = 1;
    view->offset = of->offset + first;
    view->count = count;
    atomic_init(&view->refs, 1);
}

/* `to` = the numbers from `first` on, or, of several rows of pieces, each row's sum. */
static int eval_range(const struct summands *s, hcy_array *to, int64_t first, int64_t count, int64_t n_pieces)
{
    hcy_array x, y;
    const char *text = n_pieces ? summand_text(s, "s = sum(x, axis=1)",
                                               "s = sum(conj(complex128(x)) * complex128(y), axis=1)",
                                               "s = sum(float64(x) * float64(y), axis=1)")
                                : summand_text(s, "s = x", "s = conj(complex128(x)) * complex128(y)",
                                               "s = float64(x) * float64(y)");
    borrow_range(&x, s->x, first, count, n_pieces);
    if (s->y)
        borrow_range(&y, s->y, first, count, n_pieces);
    return eval_summands(s->queue, text, to, &x, s->y ? &y : NULL);
}

static int new_numbers(hcy_array **numbers, struct summands *s, int64_t n)
{
    struct hcy__sum_memory *m = s->memory;
    const int dtype = s->is_complex ? HCY_COMPLEX128 : HCY_FLOAT64;
    hcy_array **kept = s->n_made < KEPT ? &m->kept[s->n_made++] : NULL, *is = kept ? *kept : NULL;
    if (is && is->dtype == dtype && is->count == n) {
        *numbers = hcy_array_retain(is);
        return 0;
    }
    int status = hcy_array_empty(numbers, hcy_queue_device(s->queue), dtype, 1, &n);
    if (status || !kept)
        return status;
    hcy_array_release(is);
    *kept = hcy_array_retain(*numbers);
    return 0;
}

/* This rank's numbers among those of all. */
static int share_of_all(hcy_array **mine, const struct summands *s, int64_t first, int64_t count)
{
    const size_t size = hcy_dtype_size(s->all->dtype);
    struct hcy__sum_memory *m = s->memory;
    hcy_buffer *part = NULL;
    if (m->share && m->share_of == s->all && m->share_first == first && m->share->count == count) {
        *mine = hcy_array_retain(m->share);
        return 0;
    }
    int status = hcy_buffer_sub(&part, s->all->buffer, (size_t)first * size, (size_t)count * size);
    if (!status)
        status = hcy_array_of_buffer(mine, part, s->all->dtype, 1, &count, NULL, 0);
    hcy_buffer_release(part);
    if (status)
        return status;
    forget_share(m);
    m->share = hcy_array_retain(*mine);
    m->share_of = hcy_array_retain(s->all);
    m->share_first = first;
    return 0;
}

/* --- Pieces of several ranks --- */

/* Who has the beginning of the piece that rank r's head belongs to. */
static int owner_of_head(const struct summands *s, int r)
{
    do
        r--;
    while (!find_edges(s->firsts, r).tail);
    return r;
}

/* The next message is of rank r's numbers, `count` from `first` on, which come. */
static void add_coming(const struct summands *s, size_t *n, int r, const hcy_array *numbers, int64_t first,
                       int64_t count)
{
    hcy_array *view = &s->memory->views[r];
    borrow_range(view, numbers, first, count, 0);
    s->memory->parts[(*n)++] = (struct hcy__dist_part){ r, false, view };
}

/* The rank's own last piece, if it begins here, gets its elements, a part of each rank that has some; its head goes to
 * whose piece that is. */
static int exchange_edges(const struct summands *s, hcy_array *head, hcy_array *piece, int64_t tail)
{
    struct hcy__dist_part *parts = s->memory->parts;
    const int me = s->comm->place.rank;
    size_t n = 0;
    for (int r = me + 1; piece && tail < piece->count; r++) {
        const int64_t share = find_edges(s->firsts, r).head;
        if (share)
            add_coming(s, &n, r, piece, tail, share);
        tail += share;
    }
    if (head)
        parts[n++] = (struct hcy__dist_part){ owner_of_head(s, me), true, head };
    /* Whole pieces have no edges. */
    return n ? hcy__dist_exchange(s->queue, s->comm, parts, n) : 0;
}

/* to = the sum of the piece that begins in this rank's tail and goes on in the next ranks; all ranks come here. */
static int sum_edges(struct summands *s, hcy_array *to, const struct edges *e)
{
    const int me = s->comm->place.rank, n_ranks = s->comm->place.n_ranks;
    const int64_t begins = s->firsts[me + 1] - e->tail, left = s->firsts[n_ranks] - begins;
    hcy_array *head = NULL, *piece = NULL, tail;
    int status = e->head ? new_numbers(&head, s, e->head) : 0;
    if (!status && e->head)
        status = eval_range(s, head, 0, e->head, 0);
    if (!status && e->tail)
        status = new_numbers(&piece, s, left < PIECE ? left : PIECE);
    if (!status && e->tail) {
        borrow_range(&tail, piece, 0, e->tail, 0);
        status = eval_range(s, &tail, s->x->count - e->tail, e->tail, 0);
    }
    if (!status)
        status = exchange_edges(s, head, piece, e->tail);
    if (!status && e->tail)
        status = HCY_EVAL(s->queue, "s = sum(x)", hcy_op_array("s", to), hcy_op_array("x", piece));
    hcy_array_release(piece);
    hcy_array_release(head);
    return status;
}

/* --- Rounds --- */

/* Whether all ranks get all of the next round's numbers: there are few, or messages cost less than the launches of
 * edges. */
static bool are_few(const struct summands *s)
{
    const int n = s->comm->place.n_ranks;
    bool has_edges = false;
    for (int r = 0; r < n; r++) {
        const struct edges e = find_edges(s->next, r);
        has_edges = has_edges || e.head || (r + 1 < n && e.tail);
    }
    return s->next[n] <= FEW || (has_edges && s->next[n] <= s->comm->most_gathered);
}

/* Room for the sums of the pieces that begin in this rank's numbers; where all ranks' are to come, if they are few and
 * a buffer may begin there, which is where sums are written. */
static int new_sums(hcy_array **sums, struct summands *s)
{
    const int me = s->comm->place.rank, n = s->comm->place.n_ranks;
    for (int r = 0; r <= n; r++)
        s->next[r] = (s->firsts[r] + PIECE - 1) / PIECE;
    const int64_t count = s->next[me + 1] - s->next[me];
    if (!are_few(s))
        return new_numbers(sums, s, count);
    int status = new_numbers(&s->all, s, s->next[n]);
    if (status)
        return status;
    s->in_place = count && (size_t)s->next[me] * hcy_dtype_size(s->all->dtype) % ALIGNED == 0;
    return s->in_place ? share_of_all(sums, s, s->next[me], count) : new_numbers(sums, s, count);
}

static void drop_summands(struct summands *s)
{
    if (s->x != &s->flat[0])
        hcy_array_release(s->x);
    if (s->y != &s->flat[1])
        hcy_array_release(s->y);
}

/* Sums of pieces are this rank's numbers from here on. */
static void take_sums(struct summands *s, hcy_array *sums)
{
    drop_summands(s);
    s->x = sums;
    s->y = NULL;
    int64_t *const next = s->firsts;
    s->firsts = s->next;
    s->next = next;
}

/* The sums of this rank's pieces in place of its numbers. */
static int sum_pieces(struct summands *s)
{
    const struct edges e = find_edges(s->firsts, s->comm->place.rank);
    const int64_t inner = (s->x->count - e.head - e.tail) / PIECE;
    hcy_array *sums = NULL, of_inner, of_tail;
    int status = new_sums(&sums, s);
    if (!status) {
        borrow_range(&of_inner, sums, 0, inner, 0);
        borrow_range(&of_tail, sums, inner, e.tail > 0, 0);
    }
    if (!status && inner)
        status = eval_range(s, &of_inner, e.head, inner * PIECE, inner);
    if (!status)
        status = sum_edges(s, &of_tail, &e);
    if (status)
        hcy_array_release(sums);
    else
        take_sums(s, sums);
    return status;
}

/* The numbers of all ranks, on each: this one's are in their place. */
static int gather_numbers(const struct summands *s, hcy_array *mine)
{
    struct hcy__dist_part *parts = s->memory->parts;
    size_t n = 0;
    for (int r = 0; r < s->comm->place.n_ranks; r++) {
        if (r == s->comm->place.rank)
            continue;
        parts[n++] = (struct hcy__dist_part){ r, true, mine };
        add_coming(s, &n, r, s->all, s->firsts[r], s->firsts[r + 1] - s->firsts[r]);
    }
    return hcy__dist_exchange(s->queue, s->comm, parts, n);
}

static int sum_rest(struct summands *s, hcy_array *sum)
{
    const int64_t first = s->firsts[s->comm->place.rank];
    hcy_array place, *mine = s->in_place ? s->x : &place;
    int status = s->all ? 0 : new_numbers(&s->all, s, s->firsts[s->comm->place.n_ranks]);
    if (!status && !s->in_place)
        borrow_range(&place, s->all, first, s->x->count, 0);
    if (!status && !s->in_place && mine->count)
        status = eval_range(s, mine, 0, mine->count, 0);
    if (!status)
        status = gather_numbers(s, mine);
    return status ? status : HCY_EVAL(s->queue, "s = sum(x)", hcy_op_array("s", sum), hcy_op_array("x", s->all));
}

/* The part as one axis, in the order of the whole's rows: a view, borrowed where it may be, or a copy with the blocks'
 * axis in front.  Over a grid, or in blocks of the first axis, it is as it lies. */
static int flatten_part(hcy_array **flat, hcy_array *borrowed, hcy_queue *queue, const hcy_dist_layout *layout,
                        const hcy_array *part)
{
    hcy_array *turned = NULL, *copy = NULL;
    int axes[HCY_ARRAY_MAX_RANK] = { layout->axis };
    if (layout->axis <= 0) {
        borrow_range(borrowed, part, 0, part->count, 0);
        *flat = borrowed;
        return 0;
    }
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

void hcy__sum_memory_free(struct hcy__sum_memory *m)
{
    if (!m)
        return;
    forget_all(m);
    free(m->counts);
    free(m->parts);
    free(m->views);
    free(m);
}

static struct hcy__sum_memory *new_memory(size_t n_ranks)
{
    struct hcy__sum_memory *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->counts = calloc(n_ranks + 1, 2 * sizeof *m->counts);
    m->parts = calloc(n_ranks, 2 * sizeof *m->parts);
    m->views = calloc(n_ranks, sizeof *m->views);
    if (m->counts && m->parts && m->views)
        return m;
    hcy__sum_memory_free(m);
    return NULL;
}

static int need_memory(struct hcy__sum_memory **memory, hcy_dist_layout *layout, hcy_queue *queue)
{
    struct hcy__sum_memory *m = layout->sums;
    if (!m)
        m = layout->sums = new_memory((size_t)layout->comm->place.n_ranks);
    *memory = m;
    if (!m)
        return hcy_fail(HCY_ENOMEM, "out of memory for a sum over ranks");
    if (m->last != queue) {
        forget_all(m);
        m->last = hcy_queue_retain(queue);
    }
    return 0;
}

/* To be left after a failure too. */
static int begin_sum(struct summands *s, hcy_queue *queue, const hcy_dist_layout *layout, const hcy_array *x)
{
    const int n = layout->comm->place.n_ranks;
    *s = (struct summands){ .comm = layout->comm, .queue = queue };
    s->is_complex = x->dtype == HCY_COMPLEX64 || x->dtype == HCY_COMPLEX128;
    /* What it is made in is no part of what a layout says. */
    int status = need_memory(&s->memory, (hcy_dist_layout *)layout, queue);
    if (status)
        return status;
    s->firsts = s->memory->counts;
    s->next = s->firsts + n + 1;
    for (int r = 0; r <= n; r++)
        s->firsts[r] = layout->firsts[r] * layout->row;
    return 0;
}

static void leave_sum(struct summands *s)
{
    drop_summands(s);
    hcy_array_release(s->all);
}

/* sum = what is left to be added up, unless there was a failure; then it is left. */
static int end_sum(hcy_array *sum, struct summands *s, int status)
{
    while (!status && !s->all && s->firsts[s->comm->place.n_ranks] > FEW)
        status = sum_pieces(s);
    if (!status)
        status = sum_rest(s, sum);
    leave_sum(s);
    return status;
}

int hcy__dist_sum(hcy_queue *queue, hcy_array *sum, const hcy_dist_layout *layout, hcy_array *x, hcy_array *y)
{
    if (layout->comm->has_free_sums) {
        int own = sum_own(queue, sum, x, y);
        return own ? own : hcy_dist_allreduce(queue, sum, layout->comm, HCY_REDUCE_SUM);
    }
    struct summands s;
    int status = begin_sum(&s, queue, layout, x);
    if (!status)
        status = flatten_part(&s.x, &s.flat[0], queue, layout, x);
    if (!status && y)
        status = flatten_part(&s.y, &s.flat[1], queue, layout, y);
    return end_sum(sum, &s, status);
}

int hcy__dist_dot(hcy_queue *queue, hcy_array *sum, void *user, hcy_array *x, hcy_array *y)
{
    const hcy_dist_layout *layout = user;
    return goes_beyond(layout) ? hcy__dist_sum(queue, sum, layout, x, y) : sum_own(queue, sum, x, y);
}

/* --- With what makes the vector --- */

/* TEXT: of a text and its square. */
enum { TEXT = 640 };

/* An operand that is the same where vectors are rows of pieces: a number, or an array that lies as this vector does. */
static bool goes_by_pieces(const hcy_operand *o, const hcy_array *v)
{
    const hcy_array *a = o->array;
    if (o->kind != HCY_OPERAND_ARRAY || !a || !a->rank)
        return true;
    return a->rank == v->rank && !memcmp(a->shape, v->shape, sizeof *a->shape * (size_t)a->rank) &&
           hcy__is_contiguous(a);
}

/* Whether this rank's part is whole pieces, and the text goes over it and numbers alone, element by element. */
static bool fits_pieces(const struct summands *s, const hcy_dist_layout *layout, const char *text,
                        const hcy_operand *operands, size_t n)
{
    const hcy_array *v = operands[0].array;
    bool fits = layout->axis <= 0 && s->firsts[s->comm->place.n_ranks] > FEW && v->count && v->count % PIECE == 0 &&
                s->firsts[s->comm->place.rank] % PIECE == 0 && n <= HCY__SQUARE_OPERANDS && !strstr(text, "axis") &&
                !strstr(text, "sums_");
    for (size_t i = 0; fits && i < n; i++)
        fits = goes_by_pieces(&operands[i], v);
    return fits;
}

/* The text, and the sums of this rank's pieces of v's square, in one launch, which takes parts as rows of pieces.
 * HCY_EINVAL, HCY_EUNSUPPORTED: not as one text; nothing has been written then that the text alone would not. */
static int eval_pieces(struct summands *s, const char *text, const hcy_operand *operands, size_t n)
{
    hcy_operand views[HCY__SQUARE_OPERANDS + 1];
    hcy_array rows[HCY__SQUARE_OPERANDS], *sums = NULL;
    char full[TEXT];
    const char *name = operands[0].name;
    for (size_t i = 0; i < n; i++) {
        const hcy_array *a = operands[i].array;
        views[i] = operands[i];
        if (operands[i].kind != HCY_OPERAND_ARRAY || !a || !a->rank)
            continue;
        borrow_range(&rows[i], a, 0, a->count, a->count / PIECE);
        views[i].array = &rows[i];
    }
    /* The text may end in a remark. */
    const int length = snprintf(full, sizeof full,
                                s->is_complex ? "%s\n; sums_ = sum(conj(complex128(%s)) * complex128(%s), axis=1)"
                                              : "%s\n; sums_ = sum(float64(%s) * float64(%s), axis=1)",
                                text, name, name);
    int status = (size_t)length < sizeof full ? new_sums(&sums, s) : HCY_EUNSUPPORTED;
    views[n] = hcy_op_array("sums_", sums);
    if (!status)
        status = hcy_eval(s->queue, full, views, n + 1);
    if (status)
        hcy_array_release(sums);
    else
        take_sums(s, sums);
    return status;
}

int hcy__dist_eval_square(hcy_queue *queue, hcy_array *sum, void *user, const char *text, const hcy_operand *operands,
                          size_t n)
{
    const hcy_dist_layout *layout = user;
    const hcy_error before = *hcy_last_error();
    struct summands s;
    int status = begin_sum(&s, queue, layout, operands[0].array);
    if (!status && !hcy__dist_adds_parts(user) && fits_pieces(&s, layout, text, operands, n)) {
        status = eval_pieces(&s, text, operands, n);
        /* What is wrong with the text it says itself; it may be right, and have no room for more. */
        if (status != HCY_EINVAL && status != HCY_EUNSUPPORTED)
            return end_sum(sum, &s, status);
        hcy_fail_again(&before);
        status = 0;
    }
    leave_sum(&s);
    if (!status)
        status = hcy_eval(queue, text, operands, n);
    return status ? status : hcy__dist_dot(queue, sum, user, operands[0].array, operands[0].array);
}
