/* dist_overlap.c - differences over ranks, computed while ghosts are on their way.
 *
 * Of a rank's part a box inside needs no ghosts: it is one launch, submitted before anything waits for another rank.
 * What is left around it is one more, when all ghosts are there: they lie in memory of their own, which that launch
 * reads as it lies.  No element needs neighbours of two axes at once, so that ghosts come from ranks along one axis;
 * and of differences that stay apart an axis's ghosts are of its own ones.  Rows that are sent lie together if no axis
 * in front of theirs has several elements; all others are picked into memory of their own by one launch.  Memory,
 * numbers of what is picked and the list of messages are made once.
 *
 * A transport of host memory runs on the caller's thread while the queue computes; one of devices on a queue of its
 * own.
 */
#include "dist_priv.h"
#include "operator_priv.h"

#include <stdlib.h>
#include <string.h>

enum { STAGING_UNIT = 64 };

/* Between another rank and what comes, what was picked, or the part as it is. */
enum { COMES, IS_PICKED, IS_OWN };
struct message {
    int rank, what;
    size_t place, bytes, staged; /* staged: the place in the staging memory */
};

struct overlap {
    hcy_dist_layout *to, *from;
    hcy_device *dev;
    struct hcy__stencil_part part;
    int rank;                    /* axes of what is dealt out, in front of which differences may be apart */
    hcy_array *ghosts;           /* NULL: none */
    hcy_array *picked, *numbers; /* the numbers of its elements in the source; NULL: nothing is picked */
    hcy_buffer *staging;         /* ghosts, then what is picked, then rows; NULL: messages take memory as it lies */
    size_t picked_at;
    hcy_event *received;         /* what lay in the staging memory last is on the device */
    hcy_queue *side;             /* of a transport of devices; NULL: through the host */
    struct message *list;
    struct hcy__message *messages; /* of the call */
    size_t n;
    struct hcy__turn turn;
};

static void free_overlap(void *user)
{
    struct overlap *o = user;
    /* Commands that copy from the host's memory do not keep it. */
    if (o->received)
        (void)!hcy_event_wait(o->received, HCY_FOREVER);
    hcy_event_release(o->received);
    hcy__turn_end(&o->turn);
    hcy_queue_release(o->side);
    hcy_buffer_release(o->staging);
    hcy_array_release(o->ghosts);
    hcy_array_release(o->picked);
    hcy_array_release(o->numbers);
    hcy_dist_layout_release(o->to);
    hcy_dist_layout_release(o->from);
    hcy_device_release(o->dev);
    free(o->list);
    free(o->messages);
    free(o);
}

/* --- Messages --- */

static const hcy_array *array_of(const struct overlap *o, const struct message *m, const hcy_array *x)
{
    return m->what == COMES ? o->ghosts : m->what == IS_PICKED ? o->picked : x;
}

static void set_messages(const struct overlap *o, const hcy_array *x)
{
    char *staging = o->staging ? hcy_buffer_host(o->staging) : NULL;
    for (size_t i = 0; i < o->n; i++) {
        const struct message *m = &o->list[i];
        const hcy_array *a = array_of(o, m, x);
        char *data = o->side || staging ? NULL : hcy__within_reach(o->from->comm, a);
        o->messages[i] = (struct hcy__message){ m->rank,
                                                m->what != COMES,
                                                staging ? staging + m->staged : data ? data + m->place : NULL,
                                                a->buffer,
                                                hcy__offset_of(a) + m->place,
                                                m->bytes };
    }
}

static int pick_rows(hcy_queue *queue, const struct overlap *o, const hcy_array *x)
{
    hcy_array *flat = NULL;
    if (!o->picked)
        return 0;
    int status = hcy_array_reshape(&flat, x, 1, &x->count);
    if (!status)
        status = hcy_array_take(queue, o->picked, flat, o->numbers, 0);
    hcy_array_release(flat);
    return status;
}

/* What is sent, to the staging memory. */
static int send_staged(hcy_queue *queue, const struct overlap *o)
{
    int status = 0;
    if (!o->staging)
        return 0;
    char *staging = hcy_buffer_host(o->staging);
    if (o->picked)
        status = hcy_buffer_read(queue, staging + o->picked_at, o->picked->buffer, hcy__offset_of(o->picked),
                                 hcy__bytes_of(o->picked));
    for (size_t i = 0; !status && i < o->n; i++) {
        const struct hcy__message *m = &o->messages[i];
        if (o->list[i].what == IS_OWN)
            status = hcy_buffer_read(queue, m->data, m->buffer, m->offset, m->bytes);
    }
    return status;
}

/* What has come, to the device. */
static int receive_staged(hcy_queue *queue, struct overlap *o)
{
    if (!o->staging)
        return 0;
    const int status = o->ghosts ? hcy_buffer_write(queue, o->ghosts->buffer, hcy__offset_of(o->ghosts),
                                                    hcy_buffer_host(o->staging), hcy__bytes_of(o->ghosts))
                                 : 0;
    hcy_event_release(o->received);
    o->received = NULL;
    const int recorded = hcy_event_record(&o->received, queue);
    return status ? status : recorded;
}

/* --- Applying --- */

/* All about ghosts is the other queue's, which is urgent: few elements and the messages go before the many that wait.
 * These are started first, for starting messages takes the host long, and the device would do nothing; where that or
 * picking fails, or something has before (status), the messages still go, which others wait for. */
static int run_beside(hcy_queue *queue, hcy_array *y, struct overlap *o, hcy_array *x, int status)
{
    const hcy_dist *comm = o->from->comm;
    set_messages(o, x);
    if (!status)
        status = hcy__follow(o->side, queue);
    const int inner = status ? 0 : hcy__stencil_inner(queue, y, &o->part, x);
    if (!status)
        status = pick_rows(o->side, o, x);
    const int exchanged = comm->on_device->exchange(o->side, comm->device_impl, o->messages, o->n);
    status = status ? status : exchanged;
    if (!status)
        status = hcy__stencil_faces(o->side, y, &o->part, x, o->ghosts);
    /* Even after a failure: what the other queue has got still uses what the caller may release. */
    const int after = hcy__follow(queue, o->side);
    return status ? status : after ? after : inner;
}

/* Messages go and come while the queue computes, or has failed to, even to pick what is sent: others wait for them.  An
 * event of what is sent would allocate in each step. */
static int run_through_host(hcy_queue *queue, hcy_array *y, struct overlap *o, hcy_array *x, int status)
{
    const hcy_dist *comm = o->from->comm;
    const bool alone = comm->place.n_ranks == 1;
    set_messages(o, x);
    if (!status)
        status = pick_rows(queue, o, x);
    if (!status && !alone)
        status = send_staged(queue, o);
    /* Also after a failure: what was submitted before uses memory that messages change. */
    const int finished = o->n ? hcy_queue_finish(queue) : 0;
    status = status ? status : finished;
    const int inner = status ? 0 : hcy__stencil_inner(queue, y, &o->part, x);
    const int exchanged = alone ? 0 : comm->transport->exchange(comm->impl, o->messages, o->n);
    status = status ? status : exchanged;
    if (!status && !alone)
        status = receive_staged(queue, o);
    if (!status)
        status = hcy__stencil_faces(queue, y, &o->part, x, o->ghosts);
    return status ? status : inner;
}

static int apply_overlapped(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct overlap *o = user;
    const int taken = hcy__turn_take(&o->turn, queue);
    const int status = (o->side && o->n ? run_beside : run_through_host)(queue, y, o, x, taken);
    hcy__turn_give(&o->turn);
    return status;
}

/* --- Making --- */

/* A rank's part of what is dealt out, and its ghosts. */
struct shape {
    int64_t first[HCY_ARRAY_MAX_RANK], size[HCY_ARRAY_MAX_RANK], count;
    struct hcy__stencil_ghosts ghosts[HCY_ARRAY_MAX_RANK];
    int terms[HCY_ARRAY_MAX_RANK]; /* the source of an axis's differences, of those that are apart */
    size_t item;                   /* bytes of a number */
    int64_t n_ghosts, n_picked;
};

/* The one axis of the grid along which two ranks are apart; -1: none, or several. */
static int axis_between(const hcy_dist_layout *l, int a, int b)
{
    int axis = -1, n = 0;
    for (int d = l->rank - 1; d >= 0; d--) {
        if (a % l->grid[d] != b % l->grid[d]) {
            axis = d;
            n++;
        }
        a /= l->grid[d];
        b /= l->grid[d];
    }
    return n == 1 ? axis : -1;
}

static void find_shape(struct shape *s, struct hcy__widths *widths, const hcy_dist_layout *rows,
                       const hcy_differences_desc *half)
{
    const struct hcy__box mine = hcy__layout_box(rows, rows->comm->place.rank);
    int term = 0;
    memset(s, 0, sizeof *s);
    s->item = hcy_dtype_size(half->space.dtype);
    s->count = 1;
    for (int d = 0; d < rows->rank; d++) {
        s->first[d] = mine.first[d];
        s->size[d] = mine.end[d] - mine.first[d];
        s->count *= s->size[d];
    }
    for (int d = 0; d < rows->rank; d++) {
        const int64_t behind = rows->shape[d] - mine.end[d];
        struct hcy__stencil_ghosts *g = &s->ghosts[d];
        int64_t reach[2] = { 0, 0 };
        if (rows->grid[d] > 1)
            hcy__stencil_reach_of(reach, half, d);
        widths->front[d] = reach[0];
        widths->back[d] = reach[1];
        s->terms[d] = half->apart && half->transposed ? term : 0;
        term += half->kinds[d] != 0;
        g->place = s->n_ghosts;
        if (!s->count)
            continue;
        g->before = reach[0] < mine.first[d] ? reach[0] : mine.first[d];
        g->after = reach[1] < behind ? reach[1] : behind;
        s->n_ghosts += (g->before + g->after) * (s->count / s->size[d]);
    }
}

/* Elements [first, end) along axis d, row by row, of the source that counts for it. */
static void number_rows(int64_t *numbers, const struct shape *s, int rank, int d, int64_t first, int64_t end)
{
    int64_t behind = 1;
    for (int e = d + 1; e < rank; e++)
        behind *= s->size[e];
    const int64_t source = s->terms[d] * s->count, across = s->count / s->size[d];
    for (int64_t i = first; i < end; i++)
        for (int64_t k = 0; k < across; k++)
            *numbers++ = source + (k / behind * s->size[d] + i) * behind + k % behind;
}

/* Rows along axis d lie together if no axis in front of it has several elements. */
static bool lies_together(const struct shape *s, int d)
{
    int64_t in_front = 1;
    for (int e = 0; e < d; e++)
        in_front *= s->size[e];
    return in_front == 1;
}

/* What comes lies where the faces' launch looks for it; rows that lie together go as they are. */
static void add_message(struct overlap *o, struct shape *s, const struct hcy__ghost *ghost, int d, int64_t *numbers)
{
    const int64_t first = ghost->box.first[d], rows = ghost->box.end[d] - first, across = s->count / s->size[d];
    struct message m = { ghost->rank, COMES, 0, (size_t)(rows * across) * s->item, 0 };
    int64_t at;
    if (!ghost->gives)
        /* Counted from the first ghost on, with the part's own rows between. */
        at = s->ghosts[d].place + (first < s->ghosts[d].before ? first : first - s->size[d]) * across;
    else if (lies_together(s, d)) {
        m.what = IS_OWN;
        at = s->terms[d] * s->count + first * across;
    } else {
        m.what = IS_PICKED;
        at = s->n_picked;
        number_rows(numbers + at, s, o->rank, d, first, first + rows);
        s->n_picked += rows * across;
    }
    m.place = (size_t)at * s->item;
    o->list[o->n++] = m;
}

static int list_messages(struct overlap *o, struct shape *s, const hcy_dist_layout *rows,
                         const struct hcy__widths *widths)
{
    const int me = rows->comm->place.rank;
    struct hcy__ghost *ghosts = NULL;
    int64_t *numbers = NULL, most = 1;
    size_t n = 0;
    int status = hcy__dist_list_ghosts(&ghosts, &n, rows, widths);
    for (size_t i = 0; !status && i < n; i++) {
        const int d = axis_between(rows, ghosts[i].rank, me);
        if (d >= 0 && ghosts[i].gives && !lies_together(s, d))
            most += (ghosts[i].box.end[d] - ghosts[i].box.first[d]) * (s->count / s->size[d]);
    }
    if (!status) {
        o->list = calloc(n + 1, sizeof *o->list);
        o->messages = calloc(n + 1, sizeof *o->messages);
        numbers = calloc((size_t)most, sizeof *numbers);
        if (!o->list || !o->messages || !numbers)
            status = hcy_fail(HCY_ENOMEM, "out of memory for the messages of %zu ghosts", n);
    }
    for (size_t i = 0; !status && i < n; i++) {
        const int d = axis_between(rows, ghosts[i].rank, me);
        if (d >= 0)
            add_message(o, s, &ghosts[i], d, numbers);
    }
    if (!status && s->n_picked)
        status = hcy_array_from_host(&o->numbers, o->dev, HCY_INT64, 1, &s->n_picked, numbers);
    free(numbers);
    free(ghosts);
    return status;
}

/* Behind ghosts and what is picked, which go in one piece each, rows of the part. */
static int make_staging(struct overlap *o, const struct shape *s)
{
    const hcy_dist *comm = o->from->comm;
    const size_t unit = STAGING_UNIT, ghosts = ((size_t)s->n_ghosts * s->item + unit - 1) / unit * unit;
    size_t bytes = ghosts + ((size_t)s->n_picked * s->item + unit - 1) / unit * unit;
    o->picked_at = ghosts;
    for (size_t i = 0; i < o->n; i++) {
        struct message *m = &o->list[i];
        m->staged = m->what == COMES ? m->place : m->what == IS_PICKED ? ghosts + m->place : bytes;
        bytes += m->what == IS_OWN ? (m->bytes + unit - 1) / unit * unit : 0;
    }
    if (o->side || !bytes || hcy_device_get_info(o->dev)->caps & HCY_CAP_HOST_MEMORY ||
        (comm->reaches_device && comm->device == o->dev))
        return 0;
    return hcy_buffer_create(&o->staging, o->dev, HCY_MEM_PINNED, bytes);
}

static int make_memory(struct overlap *o, const hcy_dist_layout *rows, const hcy_differences_desc *half)
{
    const hcy_dist *comm = o->from->comm;
    const int dtype = half->space.dtype;
    struct hcy__widths widths = { { 0 }, { 0 }, false };
    struct shape s;
    o->rank = rows->rank;
    find_shape(&s, &widths, rows, half);
    int status = hcy__stencil_part_set(&o->part, half, s.first, s.size, s.ghosts);
    if (!status)
        status = list_messages(o, &s, rows, &widths);
    if (!status && s.n_ghosts)
        status = hcy_array_empty(&o->ghosts, o->dev, dtype, 1, &s.n_ghosts);
    if (!status && s.n_picked)
        status = hcy_array_empty(&o->picked, o->dev, dtype, 1, &s.n_picked);
    if (!status && comm->on_device && comm->device == o->dev)
        status = hcy_queue_create_urgent(&o->side, o->dev);
    return status ? status : make_staging(o, &s);
}

int hcy__dist_overlapped(hcy_operator **op, hcy_device *dev, hcy_dist_layout *to, hcy_dist_layout *from,
                         const hcy_differences_desc *half)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    struct overlap *o = calloc(1, sizeof *o);
    if (!o)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&o->turn);
    o->to = hcy_dist_layout_retain(to);
    o->from = hcy_dist_layout_retain(from);
    o->dev = hcy_device_retain(dev);
    int status = make_memory(o, half->transposed ? to : from, half);
    if (!status)
        status = hcy_dist_space(&desc.range, to, half->space.dtype);
    if (!status)
        status = hcy_dist_space(&desc.domain, from, half->space.dtype);
    if (status) {
        free_overlap(o);
        return status;
    }
    desc.name = "differences behind messages";
    desc.apply = apply_overlapped;
    desc.destroy = free_overlap;
    desc.user = o;
    return hcy__operator_make(op, dev, &desc);
}
