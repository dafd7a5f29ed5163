/* dist_dealt.c - Fourier transforms of arrays that are dealt out, on devices whose memory is the host's: the axes that
 * a rank has whole, then that of the blocks, for which the array is dealt out along another axis and comes back.  The
 * order of axes stays: columns are transformed where they lie, so that what goes between ranks goes row by row.
 *
 * Ranks of one host have the array that is dealt out the other way in memory that all of them see (HCY_MEM_SHARED):
 * each puts its numbers straight to their places, and takes them from there, a copy each way and no message.  What the
 * own axes make is copied a few rows at a time, while a core's caches have them.  Else all of it goes by messages.
 *
 * An operator has its memory for one application at a time.
 */
#include "dist_priv.h"
#include "operator_priv.h"

#include <stdlib.h>

/* Bytes of the few rows, for each thread: with what they are made of and where they go, a core's cache has them. */
enum { FEW = 512 << 10 };

struct dealt {
    hcy_dist_layout *domain, *range; /* what is transformed; frequencies */
    hcy_dist_layout *between;        /* the frequencies in blocks of another axis */
    hcy_array *part;                 /* this rank's of these */
    hcy_array **parts;               /* all ranks'; NULL: they are out of this one's sight */
    hcy_fft *fft;                    /* of the blocks' axis; NULL: this rank has nothing of it */
    hcy_buffer *work;
    int n_axes;                      /* own ones, the last */
    hcy_operator *own[2];            /* of `rows` rows, and of those that are left over; NULL: there are none */
    hcy_array *few;                  /* what it makes; NULL without own axes */
    int64_t rows;
    struct hcy__turn turn;
};

static void free_parts(struct dealt *d)
{
    for (int r = 0; d->parts && r < d->range->comm->place.n_ranks; r++)
        hcy_array_release(d->parts[r]);
    free(d->parts);
    hcy_array_release(d->part);
    d->parts = NULL;
    d->part = NULL;
}

static void free_dealt(void *user)
{
    struct dealt *d = user;
    free_parts(d);
    hcy_fft_release(d->fft);
    hcy_buffer_release(d->work);
    hcy_operator_release(d->own[0]);
    hcy_operator_release(d->own[1]);
    hcy_array_release(d->few);
    hcy_dist_layout_release(d->domain);
    hcy_dist_layout_release(d->range);
    hcy_dist_layout_release(d->between);
    hcy__turn_end(&d->turn);
    free(d);
}

/* --- Between ranks --- */

/* Of the rows that begin at this rank's row `first`, those numbers that rank r has between, to it or from it. */
static int copy_box(hcy_queue *queue, const struct dealt *d, hcy_array *rows, int64_t first, int r, bool to_between)
{
    const hcy_dist_layout *l = d->range, *b = d->between;
    const int64_t count = b->firsts[r + 1] - b->firsts[r];
    hcy_array *here = NULL, *there = NULL;
    if (!count || !rows->count)
        return 0;
    int status = hcy__rows(&here, rows, b->axis, b->firsts[r], count);
    if (!status)
        status = hcy__rows(&there, d->parts[r], l->axis, l->firsts[l->comm->place.rank] + first, rows->shape[l->axis]);
    if (!status)
        status = hcy_array_copy(queue, to_between ? there : here, to_between ? here : there);
    hcy_array_release(here);
    hcy_array_release(there);
    return status;
}

/* Each rank begins with another one. */
static int copy_boxes(hcy_queue *queue, const struct dealt *d, hcy_array *rows, int64_t first, bool to_between)
{
    const struct hcy__place *p = &d->range->comm->place;
    int status = 0;
    for (int i = 1; !status && i <= p->n_ranks; i++)
        status = copy_box(queue, d, rows, first, (p->rank + i) % p->n_ranks, to_between);
    return status;
}

/* All of a part, which may be empty: other ranks wait for its messages. */
static int move_part(hcy_queue *queue, const struct dealt *d, hcy_array *mine, bool to_between)
{
    if (d->parts)
        return copy_boxes(queue, d, mine, 0, to_between);
    return to_between ? hcy__dist_move(queue, d->part, d->between, mine, d->range)
                      : hcy__dist_move(queue, mine, d->range, d->part, d->between);
}

/* --- Transforms --- */

/* The axis of the blocks, where the numbers lie. */
static int run_columns(hcy_queue *queue, const struct dealt *d, int direction)
{
    return d->fft ? hcy__operator_submit_fft(queue, d->part, d->fft, direction, d->part, d->work) : 0;
}

/* The own axes of `count` rows from `first` on of this rank's part x, and on to where they are between; or all the way
 * back. */
static int run_rows(hcy_queue *queue, const struct dealt *d, hcy_array *x, int64_t first, int64_t count, bool adjoint)
{
    hcy_operator *own = d->own[count != d->rows];
    hcy_array *rows = NULL, *few = NULL;
    int status = hcy__rows(&rows, x, 0, first, count);
    if (!status)
        status = hcy__rows(&few, d->few, 0, 0, count);
    if (!status && adjoint)
        status = copy_boxes(queue, d, few, first, false);
    if (!status)
        status = hcy__operator_run(queue, adjoint ? rows : few, own, adjoint ? few : rows, adjoint);
    if (!status && !adjoint)
        status = copy_boxes(queue, d, few, first, true);
    hcy_array_release(rows);
    hcy_array_release(few);
    return status;
}

static int run_all_rows(hcy_queue *queue, const struct dealt *d, hcy_array *x, bool adjoint)
{
    int status = 0;
    for (int64_t at = 0; !status && x->count && at < x->shape[0]; at += d->rows)
        status = run_rows(queue, d, x, at, x->shape[0] - at < d->rows ? x->shape[0] - at : d->rows, adjoint);
    return status;
}

static int go_between(hcy_queue *queue, const struct dealt *d, hcy_array *x)
{
    if (d->parts && d->few)
        return run_all_rows(queue, d, x, false);
    int status = d->own[0] ? hcy__operator_run(queue, d->few, d->own[0], x, false) : 0;
    return status ? status : move_part(queue, d, d->few ? d->few : x, true);
}

static int come_back(hcy_queue *queue, const struct dealt *d, hcy_array *x)
{
    if (d->parts && d->few)
        return run_all_rows(queue, d, x, true);
    int status = move_part(queue, d, d->few ? d->few : x, false);
    return status || !d->own[0] ? status : hcy__operator_run(queue, x, d->own[0], d->few, true);
}

/* All ranks have come so far, or one has failed: nobody changes what others still take. */
static int meet(hcy_queue *queue, const struct dealt *d, int status)
{
    if (!d->parts)
        return status;
    if (!status)
        status = hcy_queue_finish(queue);
    return hcy_dist_agree(d->range->comm, status);
}

static int run_dealt(hcy_queue *queue, hcy_array *to, struct dealt *d, hcy_array *from, bool adjoint)
{
    int status = meet(queue, d, hcy__turn_take(&d->turn, queue));
    if (!status)
        status = meet(queue, d, adjoint ? move_part(queue, d, from, true) : go_between(queue, d, from));
    if (!status)
        status = meet(queue, d, run_columns(queue, d, adjoint ? HCY_FFT_BACKWARD : HCY_FFT_FORWARD));
    if (!status)
        status = adjoint ? come_back(queue, d, to) : move_part(queue, d, to, false);
    hcy__turn_give(&d->turn);
    return status;
}

static int apply_dealt(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return run_dealt(queue, y, user, x, false);
}

static int apply_dealt_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return run_dealt(queue, x, user, y, true);
}

/* --- Memory that all ranks see --- */

static int64_t count_between(int64_t *shape, const struct dealt *d, int r)
{
    const hcy_dist_layout *b = d->between;
    int64_t count = 1;
    for (int i = 0; i < b->rank; i++) {
        shape[i] = i == b->axis ? b->firsts[r + 1] - b->firsts[r] : b->shape[i];
        count *= shape[i];
    }
    return count;
}

/* What finds a rank's part elsewhere: in another process, or in this one. */
struct in_sight {
    hcy_buffer_handle handle;
    hcy_buffer *buffer;
};

static void release_theirs(void *buffer)
{
    hcy_buffer_release(buffer);
}

/* Of threads each gets a reference that rank r has taken for it: who fails gives its own back at any time. */
static int show_part(struct in_sight *theirs, hcy_dist *comm, int r)
{
    const int n = hcy__are_threads(comm) && r == comm->place.rank ? comm->place.n_ranks - 1 : 0;
    for (int i = 0; i < n; i++)
        hcy_buffer_retain(theirs->buffer);
    const int status = hcy_dist_broadcast_host(theirs, comm, sizeof *theirs, r);
    for (int i = 0; status && i < n; i++)
        hcy_buffer_release(theirs->buffer);
    return status;
}

static int import_theirs(hcy_buffer **buffer, hcy_device *dev, const hcy_dist *comm, const struct in_sight *theirs)
{
    if (!hcy__are_threads(comm))
        return hcy_buffer_import(buffer, dev, &theirs->handle);
    hcy_buffer *kept = theirs->buffer;
    const int status = hcy_buffer_import_host(buffer, dev, hcy_buffer_host(kept), hcy_buffer_size(kept),
                                              release_theirs, kept);
    if (status)
        hcy_buffer_release(kept);
    return status;
}

/* Rank r's part, which it has exported; empty ones need no memory. */
static int import_part(struct dealt *d, hcy_device *dev, int dtype, int r, const struct in_sight *mine)
{
    hcy_dist *comm = d->range->comm;
    int64_t shape[HCY_ARRAY_MAX_RANK];
    struct in_sight theirs = *mine;
    hcy_buffer *buffer = NULL;
    if (!count_between(shape, d, r))
        return hcy_array_empty(&d->parts[r], dev, dtype, d->between->rank, shape);
    int status = show_part(&theirs, comm, r);
    if (!status && r == comm->place.rank)
        buffer = hcy_buffer_retain(mine->buffer);
    else if (!status)
        status = import_theirs(&buffer, dev, comm, &theirs);
    if (!status)
        status = hcy_array_of_buffer(&d->parts[r], buffer, dtype, d->between->rank, shape, NULL, 0);
    hcy_buffer_release(buffer);
    return status;
}

/* Agreed upon: all ranks see the parts of all, or none does. */
static int share_parts(struct dealt *d, hcy_device *dev, int dtype)
{
    hcy_dist *comm = d->range->comm;
    const struct hcy__place *p = &comm->place;
    int64_t shape[HCY_ARRAY_MAX_RANK];
    struct in_sight mine = { { { 0 } }, NULL };
    const size_t bytes = (size_t)count_between(shape, d, p->rank) * hcy_dtype_size(dtype);
    d->parts = calloc((size_t)p->n_ranks, sizeof *d->parts);
    int status = d->parts ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %d ranks", p->n_ranks);
    if (!status && bytes)
        status = hcy_buffer_create(&mine.buffer, dev, HCY_MEM_SHARED, bytes);
    if (!status && bytes)
        status = hcy_buffer_export(&mine.handle, mine.buffer);
    status = hcy_dist_agree(comm, status);
    int failed = status;
    /* What one rank cannot have must not leave the others in the next one's broadcast. */
    for (int r = 0; !status && r < p->n_ranks; r++) {
        const int imported = import_part(d, dev, dtype, r, &mine);
        failed = failed ? failed : imported;
    }
    status = status ? status : hcy_dist_agree(comm, failed);
    hcy_buffer_release(mine.buffer);
    if (status)
        free_parts(d);
    else
        d->part = hcy_array_retain(d->parts[p->rank]);
    return status;
}

/* --- Making one --- */

static int make_columns(struct dealt *d, hcy_device *dev, int dtype)
{
    const hcy_dist_layout *b = d->between;
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    if (!d->part->count)
        return 0;
    desc.precision = dtype == HCY_COMPLEX128 ? HCY_F64 : HCY_F32;
    desc.flags = HCY_FFT_DETERMINISTIC;
    desc.n[0] = (size_t)b->shape[d->range->axis];
    for (int i = 0; i < b->rank; i++)
        *(i < d->range->axis ? &desc.batch : &desc.inner) *= i == d->range->axis ? 1 : (size_t)b->local[i];
    int status = hcy_fft_create(&d->fft, dev, &desc);
    const size_t work = status ? 0 : hcy_fft_workspace(d->fft);
    return work ? hcy_buffer_create(&d->work, dev, HCY_MEM_DEVICE, work) : status;
}

/* How many rows are made at once: whole ones for each thread, all of a part where they go by messages or are not dealt
 * out themselves. */
static int64_t choose_rows(const struct dealt *d, hcy_device *dev, int dtype)
{
    const hcy_dist_layout *l = d->range;
    const int64_t threads = hcy_device_get_info(dev)->units, row = l->row * (int64_t)hcy_dtype_size(dtype);
    if (!d->parts || l->axis)
        return l->local[0];
    /* An even number: real numbers then begin where a complex one could, as transforms want it. */
    const int64_t rows = ((FEW + row - 1) / row * threads + 1) / 2 * 2;
    return rows < l->local[0] ? rows : l->local[0];
}

static int make_own(hcy_operator **own, const struct dealt *d, hcy_device *dev, int dtype, int64_t rows)
{
    hcy_space space;
    int status = hcy_dist_space(&space, d->domain, dtype);
    if (status)
        return status;
    space.vectors = NULL;
    space.shape[0] = rows;
    return hcy__space_is_complex(&space) ? hcy_operator_fft(own, dev, &space, d->n_axes)
                                         : hcy_operator_fft_real(own, dev, &space, d->n_axes);
}

static int make_rows(struct dealt *d, hcy_device *dev, int dtype, int to_dtype)
{
    const hcy_dist_layout *l = d->range;
    int64_t shape[HCY_ARRAY_MAX_RANK], count = 1;
    if (!d->n_axes)
        return 0;
    d->rows = choose_rows(d, dev, to_dtype);
    for (int i = 0; i < l->rank; i++)
        count *= shape[i] = i ? l->local[i] : d->rows;
    int status = hcy_array_empty(&d->few, dev, to_dtype, l->rank, shape);
    if (!status && count)
        status = make_own(&d->own[0], d, dev, dtype, d->rows);
    if (!status && count && l->local[0] % d->rows)
        status = make_own(&d->own[1], d, dev, dtype, l->local[0] % d->rows);
    return status;
}

static int fill_dealt(struct dealt *d, hcy_device *dev, int dtype, int to_dtype)
{
    hcy_dist *comm = d->range->comm;
    /* Each rank wishes for itself: it is done where all do. */
    int32_t sees_all = comm->place.n_local == comm->place.n_ranks && comm->ways.shared >= 0;
    int status = hcy_dist_allreduce_host(&sees_all, comm, HCY_INT32, 1, HCY_REDUCE_MIN);
    if (!status && (!sees_all || share_parts(d, dev, to_dtype)))
        status = hcy_dist_array(&d->part, dev, d->between, to_dtype);
    if (!status)
        status = make_columns(d, dev, to_dtype);
    return status ? status : make_rows(d, dev, dtype, to_dtype);
}

int hcy__dist_transform_dealt(hcy_operator **op, hcy_device *dev, hcy_dist_layout *range, hcy_dist_layout *domain,
                              int dtype, int to_dtype, int n_axes, int other)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_dist_layout *between = NULL;
    struct dealt *d = calloc(1, sizeof *d);
    int status = hcy_dist_agree(range->comm, d ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for an operator"));
    if (!status)
        status = hcy_dist_layout_blocks(&between, range->comm, range->rank, range->shape, other, NULL);
    if (status) {
        free(d);
        return status;
    }
    d->domain = hcy_dist_layout_retain(domain);
    d->range = hcy_dist_layout_retain(range);
    d->between = between;
    d->n_axes = n_axes;
    hcy__turn_init(&d->turn);
    status = fill_dealt(d, dev, dtype, to_dtype);
    if (!status)
        status = hcy_dist_space(&desc.domain, domain, dtype);
    if (!status)
        status = hcy_dist_space(&desc.range, range, to_dtype);
    desc.name = "transform";
    desc.apply = apply_dealt;
    desc.adjoint = apply_dealt_adjoint;
    desc.destroy = free_dealt;
    desc.user = d;
    if (status)
        free_dealt(d);
    else
        status = hcy__operator_make(op, dev, &desc);
    return hcy__dist_agree_on(op, range->comm, status);
}
