/* grid.c - transforms of types 1 and 2 on a fine grid: the way that all others come down to.
 *
 * A plan's tables and sorted points are only read here, by any number of executions at once; what an execution writes
 * is its work, which it takes from its plan's list and gives back (plans that are part of another: from that one's).
 * Executions from host memory have a queue of their work's own; those on a caller's queue leave their work to that
 * queue's next ones, so that many of them, submitted ahead, need one grid.
 */
#include "nufft_priv.h"

#include <stdlib.h>
#include <string.h>

/* --- Working memory --- */

/* Takes a work off the list that this queue's commands use, or, for NULL, none; under the lock. */
static struct hcy__nufft_work *find_work(hcy_nufft *p, const hcy_queue *last)
{
    struct hcy__nufft_work **at = &p->free_work, *w;
    while (*at && (*at)->last != last)
        at = &(*at)->next;
    w = *at;
    if (w)
        *at = w->next;
    return w;
}

int hcy__nufft_take_work(struct hcy__nufft_work **out, hcy_nufft *p, hcy_queue *callers)
{
    int status = 0;
    p = p->owner ? p->owner : p;
    pthread_mutex_lock(&p->lock);
    /* The lock is held for the list alone; whatever is made or released below may take long.  What the queue's commands
     * use, its next ones may use: they run in order. */
    struct hcy__nufft_work *w = callers ? find_work(p, callers) : NULL;
    if (!w)
        w = find_work(p, NULL);
    pthread_mutex_unlock(&p->lock);
    if (!w && !(w = calloc(1, sizeof *w)))
        return hcy_fail(HCY_ENOMEM, "out of memory for an execution");
    /* A work that served a caller's queue has none of its own yet. */
    if (!callers && !w->queue)
        status = hcy_queue_create(&w->queue, p->dev);
    if (status)
        hcy__nufft_free_work(w);
    else
        *out = w;
    return status;
}

void hcy__nufft_free_memory(struct hcy__nufft_work *w)
{
    /* The queue outlives the memory: the next points want one at once. */
    hcy_queue *queue = w->queue;
    hcy__nufft_free_work(w->inner);
    hcy_buffer *const buffers[] = { w->grid, w->scratch, w->fft_work, w->scaled, w->c, w->f };
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        hcy_buffer_release(buffers[i]);
    hcy_queue_release(w->last);
    *w = (struct hcy__nufft_work){ .queue = queue };
}

void hcy__nufft_free_work(struct hcy__nufft_work *w)
{
    if (!w)
        return;
    hcy__nufft_free_memory(w);
    hcy_queue_release(w->queue);
    free(w);
}

void hcy__nufft_give_work(struct hcy__nufft_work *w, hcy_nufft *p)
{
    p = p->owner ? p->owner : p;
    if (w->queue && hcy_queue_status(w->queue)) { /* its failure sticks */
        hcy__nufft_free_work(w);
        return;
    }
    pthread_mutex_lock(&p->lock);
    w->next = p->free_work;
    p->free_work = w;
    pthread_mutex_unlock(&p->lock);
}

void hcy__nufft_leave_work(struct hcy__nufft_work *w, hcy_nufft *p, hcy_queue *callers)
{
    p = p->owner ? p->owner : p;
    if (!w->last)
        w->last = hcy_queue_retain(callers);
    pthread_mutex_lock(&p->lock);
    /* One alone is left with the plan, that of the queue that came last: another one's commands keep their buffers. */
    struct hcy__nufft_work **at = &p->free_work, *other;
    while (*at && !(*at)->last)
        at = &(*at)->next;
    other = *at;
    if (other)
        *at = other->next;
    w->next = p->free_work;
    p->free_work = w;
    pthread_mutex_unlock(&p->lock);
    hcy__nufft_free_work(other);
}

/* A buffer of the work, at least this large; commands that use the old one keep it. */
int hcy__nufft_need(hcy_buffer **buf, const hcy_nufft *p, size_t size)
{
    if (*buf && hcy_buffer_size(*buf) >= size)
        return 0;
    /* Released first, so that the pool may give the same memory again; commands under way keep what they use. */
    hcy_buffer_release(*buf);
    *buf = NULL;
    return hcy_buffer_create(buf, p->dev, HCY_MEM_DEVICE, size);
}

size_t hcy__nufft_cells(const hcy_nufft *p)
{
    return (size_t)p->job.grid[0] * (p->desc.dim > 1 ? (size_t)p->job.grid[1] : 1) *
           (p->desc.dim > 2 ? (size_t)p->job.grid[2] : 1);
}

int hcy__nufft_need_grid(const hcy_nufft *p, struct hcy__nufft_work *w)
{
    size_t size;
    int status = hcy_size_mul(&size, hcy__nufft_cells(p) * 2 * hcy__nufft_real(p), p->batch);
    return status ? hcy_fail(status, "the grids are larger than can be addressed")
                  : hcy__nufft_need(&w->grid, p, size);
}

int hcy__nufft_borrow(hcy_buffer **out, hcy_buffer **own, hcy_nufft *p, hcy_queue *q, void *host, size_t size,
                      bool input)
{
    const uint32_t in_place = HCY_CAP_HOST_MEMORY | HCY_CAP_IMPORT_HOST;
    /* A device that works in host memory needs no copy, and the caller's array is the result's place; kernels take
     * complex numbers as a whole, though, and C aligns their parts alone. */
    if ((hcy_device_get_info(p->dev)->caps & in_place) == in_place && (uintptr_t)host % (2 * hcy__nufft_real(p)) == 0)
        return hcy_buffer_import_host(out, p->dev, host, size, NULL, NULL);
    int status = hcy__nufft_need(own, p, size);
    if (!status && input)
        status = hcy_buffer_write(q, *own, 0, host, size);
    if (!status)
        *out = hcy_buffer_retain(*own);
    return status;
}

/* --- Stages, on device buffers --- */

/* A launch with scratch, of the work's, as argument `scratch`; n: without. */
static int launch(hcy_queue *q, const hcy_nufft *p, struct hcy__nufft_work *w, int kernel, size_t items,
                  hcy_arg *args, size_t n, size_t scratch)
{
    size_t size = 0;
    int status = p->kernels[kernel] ? 0 : hcy__nufft_lacks(p, kernel);
    /* A kernel that only the adjoint takes may be missing; the plan was made all the same (interface.c). */
    if (status)
        return status;
    if (scratch < n) {
        /* Asked for each launch, as it depends on the items; the work's scratch only ever grows. */
        args[scratch] = hcy_arg_buf(NULL);
        status = hcy_kernel_scratch_size(&size, p->kernels[kernel], items, args, n);
        if (!status && size)
            status = hcy__nufft_need(&w->scratch, p, size);
        if (size)
            args[scratch] = hcy_arg_buf(w->scratch);
    }
    return status ? status : hcy_launch(q, p->kernels[kernel], items, args, n);
}

int hcy__nufft_spread(hcy_queue *q, const hcy_nufft *p, struct hcy__nufft_work *w, hcy_buffer *c,
                      hcy_buffer *grid, size_t n, enum hcy_nufft_move move)
{
    static const int kernels[] = { [HCY_NUFFT_GETS] = INTERP, [HCY_NUFFT_PUTS] = SPREAD, [HCY_NUFFT_SLOPES] = SLOPES };
    const struct hcy_nufft_move_at *at = hcy_nufft_move_at(move);
    hcy_arg args[HCY_MAX_ARGS] = { 0 };
    args[at->sorted] = hcy_arg_buf(p->sorted);
    args[at->table] = hcy_arg_buf(p->table);
    args[at->strengths] = hcy_arg_buf(c);
    args[at->grid] = hcy_arg_buf(grid);
    args[at->job] = hcy_arg_struct(&p->job, sizeof p->job);
    /* Points given in buffers may still be in the sort's queue; points from the host were waited for. */
    int status = p->sorting ? hcy_queue_wait(q, p->sorting) : 0;
    return status ? status : launch(q, p, w, kernels[move], n, args, at->n, at->scratch);
}

static int one_fft(hcy_queue *q, hcy_fft *fft, const hcy_nufft *p, struct hcy__nufft_work *w, int sign,
                   hcy_buffer *data)
{
    int status = hcy_fft_workspace(fft) ? hcy__nufft_need(&w->fft_work, p, hcy_fft_workspace(fft)) : 0;
    return status ? status : hcy_fft_execute(q, data, fft, sign, data, w->fft_work);
}

/* The planes of n vectors' grids that have modes, of their other axes; one of them twice if their number is odd. */
static int planes_fft(hcy_queue *q, const hcy_nufft *p, struct hcy__nufft_work *w, size_t n, int sign)
{
    size_t grid = hcy__nufft_cells(p) * 2 * hcy__nufft_real(p), plane = grid / (size_t)p->job.grid[0];
    int status = 0;
    for (size_t i = 0; !status && i < 2 * n; i++) {
        hcy_buffer *some;
        /* Modes of small frequencies are at both ends of the grid's axis: the first planes, then the last ones. */
        size_t first = i % 2 ? (size_t)p->job.grid[0] - p->planes : 0;
        status = hcy_buffer_sub(&some, w->grid, i / 2 * grid + first * plane, p->planes * plane);
        if (!status) {
            status = one_fft(q, p->fft, p, w, sign, some);
            hcy_buffer_release(some);
        }
    }
    return status;
}

#define LINES_AT(name) HCY_ARG_AT(nufft_lines, name)

/* In place.  In 3-D the first axis goes first to modes and last to the grid: planes without modes are not needed, or
 * are 0. */
static int fft(hcy_queue *q, const hcy_nufft *p, struct hcy__nufft_work *w, size_t n, int sign, bool to_grid)
{
    if (!p->first_axis)
        return one_fft(q, p->fft, p, w, sign, w->grid);
    int status = to_grid ? planes_fft(q, p, w, n, sign) : one_fft(q, p->first_axis, p, w, sign, w->grid);
    if (status)
        return status;
    return to_grid ? one_fft(q, p->first_axis, p, w, sign, w->grid) : planes_fft(q, p, w, n, sign);
}

/* The same by a kernel, with the same bits on every device. */
static int fft_of_lines(hcy_queue *q, const hcy_nufft *p, struct hcy__nufft_work *w, size_t n, int sign, bool to_grid)
{
    hcy_nufft_job job = p->job;
    hcy_arg args[HCY_N_ARGS(nufft_lines)] = { [LINES_AT(grid)] = hcy_arg_buf(w->grid),
                                              [LINES_AT(roots)] = hcy_arg_buf(p->roots),
                                              [LINES_AT(job)] = hcy_arg_struct(&job, sizeof job) };
    job.sign = sign;
    job.flags |= to_grid ? HCY_NUFFT_LINES_TO_GRID : 0;
    return launch(q, p, w, LINES, n, args, HCY_N_ARGS(nufft_lines), LINES_AT(scratch));
}

#define AXES_AT(name) HCY_ARG_AT(nufft_axes, name)

/* Modes and grid at once, without what is zero or cut away. */
static int transform_axes(hcy_queue *q, const hcy_nufft *p, struct hcy__nufft_work *w, hcy_buffer *f, size_t n,
                          int sign, bool to_grid)
{
    hcy_nufft_job job = p->job;
    hcy_arg args[HCY_N_ARGS(nufft_axes)] = { [AXES_AT(grid)] = hcy_arg_buf(w->grid),
                                             [AXES_AT(factors)] = hcy_arg_buf(p->factors),
                                             [AXES_AT(roots)] = hcy_arg_buf(p->roots),
                                             [AXES_AT(job)] = hcy_arg_struct(&job, sizeof job),
                                             [AXES_AT(modes)] = hcy_arg_buf(f),
                                             [AXES_AT(scratch)] = hcy_arg_buf(NULL) };
    job.sign = sign;
    job.flags |= to_grid ? HCY_NUFFT_LINES_TO_GRID : 0;
    /* All that is between lies in the grid. */
    return launch(q, p, w, AXES, n, args, HCY_N_ARGS(nufft_axes), HCY_N_ARGS(nufft_axes));
}

/* Between the work's grid and modes, with the transform. */
int hcy__nufft_transform(hcy_queue *q, const hcy_nufft *p, struct hcy__nufft_work *w, hcy_buffer *f, size_t n,
                         int sign, bool to_grid)
{
    if (p->goes_by_axes)
        return transform_axes(q, p, w, f, n, sign, to_grid);
    const bool at_once = p->kernels[to_grid ? TO_GRID : TO_MODES];
    const struct hcy_nufft_cut_at *at = hcy_nufft_cut_at(!to_grid, at_once);
    hcy_nufft_job job = p->job;
    hcy_arg args[HCY_MAX_ARGS] = { 0 };
    args[at->grid] = hcy_arg_buf(w->grid);
    args[at->factors] = hcy_arg_buf(p->factors);
    args[at->modes] = hcy_arg_buf(f);
    args[at->job] = hcy_arg_struct(&job, sizeof job);
    job.sign = sign;
    /* A device with one kernel for both needs no FFT, and no pass of its own for the cut. */
    if (at_once)
        return launch(q, p, w, to_grid ? TO_GRID : TO_MODES, n, args, at->n, at->scratch);
    int (*const transform)(hcy_queue *, const hcy_nufft *, struct hcy__nufft_work *, size_t, int, bool) =
        hcy__nufft_goes_by_lines(p) ? fft_of_lines : fft;
    if (!p->fft && !p->roots)
        return hcy__nufft_lacks(p, to_grid ? TO_GRID : TO_MODES);
    /* The cut stands on the modes' side of the transform: behind it to the modes, before it to the grid. */
    int status = to_grid ? 0 : transform(q, p, w, n, sign, false);
    if (!status)
        status = launch(q, p, w, to_grid ? PAD : CROP, n, args, at->n, at->scratch);
    return status || !to_grid ? status : transform(q, p, w, n, sign, true);
}

/* --- Whole transforms --- */

int hcy__nufft_grid_vectors(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, hcy_buffer *c, hcy_buffer *f,
                            size_t n, bool adjoint)
{
    /* The adjoint runs the same stages backwards with the other sign of the exponent; nothing is conjugated. */
    int sign = adjoint ? -p->desc.sign : p->desc.sign, status = hcy__nufft_need_grid(p, w);
    if (status)
        return status;
    if (hcy__nufft_writes_c(p, adjoint)) {
        status = hcy__nufft_transform(q, p, w, f, n, sign, true);
        return status ? status : hcy__nufft_spread(q, p, w, c, w->grid, n, HCY_NUFFT_GETS);
    }
    status = hcy__nufft_spread(q, p, w, c, w->grid, n, HCY_NUFFT_PUTS);
    return status ? status : hcy__nufft_transform(q, p, w, f, n, sign, false);
}

/* Without points or targets sums are empty, and there is nothing sorted to launch a kernel on. */
static bool is_empty(const hcy_nufft *p)
{
    return !p->n_points || (p->desc.type == 3 && !p->n_targets);
}

/* The next vectors of an execution: a batch, or what is left. */
static size_t vectors_now(const hcy_nufft *p, size_t left)
{
    return left < p->batch ? left : p->batch;
}

static int execute_batch(hcy_nufft *p, hcy__nufft_vectors *vectors, struct hcy__nufft_work *w, char *c, char *f,
                         size_t n, bool adjoint)
{
    hcy_buffer *cb = NULL, *fb = NULL;
    const bool writes_c = hcy__nufft_writes_c(p, adjoint);
    size_t c_bytes = n * hcy__nufft_vector_bytes(p, true), f_bytes = n * hcy__nufft_vector_bytes(p, false);
    int status = hcy__nufft_borrow(&cb, &w->c, p, w->queue, c, c_bytes, !writes_c);
    if (!status)
        status = hcy__nufft_borrow(&fb, &w->f, p, w->queue, f, f_bytes, writes_c);
    if (!status)
        status = vectors(w->queue, p, w, cb, fb, n, adjoint);
    /* A result that was not written in place is in the work's own buffer. */
    if (!status && (writes_c ? cb == w->c : fb == w->f))
        status =
            hcy_buffer_read(w->queue, writes_c ? c : f, writes_c ? cb : fb, 0, writes_c ? c_bytes : f_bytes);
    /* Failed or not: nothing may use the caller's memory when this returns. */
    int finished = hcy_queue_finish(w->queue);
    hcy_buffer_release(cb);
    hcy_buffer_release(fb);
    return status ? status : finished;
}

int hcy__nufft_execute_batches(hcy_nufft *p, hcy__nufft_vectors *vectors, char *c, char *f, size_t n, bool adjoint)
{
    struct hcy__nufft_work *w;
    const bool writes_c = hcy__nufft_writes_c(p, adjoint);
    size_t c_bytes = hcy__nufft_vector_bytes(p, true), f_bytes = hcy__nufft_vector_bytes(p, false);
    /* No kernel is launched on nothing; what is a sum of nothing is 0 all the same. */
    if (is_empty(p)) {
        size_t size = n * (writes_c ? c_bytes : f_bytes);
        if (size)
            memset(writes_c ? c : f, 0, size);
        return 0;
    }
    int status = hcy__nufft_take_work(&w, p, NULL);
    if (status)
        return status;
    /* One work serves all batches, each waited for: the caller's memory is lent to one at a time. */
    for (size_t done = 0; !status && done < n; done += p->batch)
        status = execute_batch(p, vectors, w, c + done * c_bytes, f + done * f_bytes, vectors_now(p, n - done),
                               adjoint);
    hcy__nufft_give_work(w, p);
    return status;
}

/* The next bytes of a span as a buffer, NULL if there are none. */
static int take_span(hcy_buffer **buf, struct hcy__nufft_span *span, size_t bytes)
{
    *buf = NULL;
    int status = bytes ? hcy_buffer_sub(buf, span->buf, span->at, bytes) : 0;
    span->at += bytes;
    return status;
}

int hcy__nufft_submit_batches(hcy_queue *q, hcy_nufft *p, hcy__nufft_vectors *vectors, struct hcy__nufft_work *w,
                              struct hcy__nufft_span *c, struct hcy__nufft_span *f, size_t n, bool adjoint)
{
    const size_t c_bytes = hcy__nufft_vector_bytes(p, true), f_bytes = hcy__nufft_vector_bytes(p, false);
    int status = 0;
    /* Empty sums still move both spans on, since what comes behind belongs to other vectors. */
    if (is_empty(p)) {
        struct hcy__nufft_span *to = hcy__nufft_writes_c(p, adjoint) ? c : f;
        size_t size = n * (to == c ? c_bytes : f_bytes);
        status = size ? hcy_buffer_fill(q, to->buf, to->at, size, "", 1) : 0;
        c->at += n * c_bytes;
        f->at += n * f_bytes;
        return status;
    }
    for (size_t done = 0; !status && done < n; done += p->batch) {
        /* Batches follow one another in the queue, so that they can share the work's grid. */
        size_t now = vectors_now(p, n - done);
        hcy_buffer *cb = NULL, *fb = NULL;
        status = take_span(&cb, c, now * c_bytes);
        if (!status)
            status = take_span(&fb, f, now * f_bytes);
        if (!status)
            status = vectors(q, p, w, cb, fb, now, adjoint);
        hcy_buffer_release(cb);
        hcy_buffer_release(fb);
    }
    return status;
}

/* --- Type 2 with slopes: one transform to the grid, which is then read once --- */

bool hcy__nufft_has_slopes(const hcy_nufft *p)
{
    return p->way == &hcy__nufft_on_grid && p->desc.type == 2 && p->n_points && p->kernels[SLOPES] &&
           !hcy__nufft_is_same(p);
}

static int submit_slopes(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, struct hcy__nufft_span *c,
                         struct hcy__nufft_span *f, size_t n)
{
    hcy_buffer *cb = NULL, *fb = NULL;
    int status = take_span(&cb, c, n * (1 + (size_t)p->desc.dim) * hcy__nufft_vector_bytes(p, true));
    if (!status)
        status = take_span(&fb, f, n * hcy__nufft_vector_bytes(p, false));
    if (!status)
        status = hcy__nufft_transform(q, p, w, fb, n, p->desc.sign, true);
    if (!status)
        status = hcy__nufft_spread(q, p, w, cb, w->grid, n, HCY_NUFFT_SLOPES);
    hcy_buffer_release(cb);
    hcy_buffer_release(fb);
    return status;
}

int hcy__nufft_submit_slopes(hcy_queue *q, hcy_nufft *p, hcy_buffer *c, hcy_buffer *f)
{
    struct hcy__nufft_work *w;
    struct hcy__nufft_span at_c = { c, 0 }, at_f = { f, 0 };
    int status = hcy__nufft_ready(p);
    if (!status && !hcy__nufft_has_slopes(p))
        status = hcy_fail(HCY_ESTATE, "nufft_slopes: not for a plan as it is set up now");
    if (!status)
        status = hcy__nufft_take_work(&w, p, q);
    if (status)
        return status;
    status = hcy__nufft_need_grid(p, w);
    for (size_t done = 0; !status && done < p->n_transforms; done += p->batch)
        status = submit_slopes(q, p, w, &at_c, &at_f, vectors_now(p, p->n_transforms - done));
    hcy__nufft_leave_work(w, p, q);
    return status;
}

/* --- Single stages --- */

size_t hcy__nufft_stage_bytes(const hcy_nufft *p, int stage, bool output)
{
    /* Every stage has a grid at one end; strengths or coefficients are at the other. */
    bool grid = output ? stage == HCY_NUFFT_SPREAD || stage == HCY_NUFFT_TO_GRID
                       : stage == HCY_NUFFT_INTERPOLATE || stage == HCY_NUFFT_TO_MODES;
    size_t numbers = stage <= HCY_NUFFT_INTERPOLATE ? p->all_points : p->n_transforms * p->n_modes;
    return 2 * hcy__nufft_real(p) * (grid ? p->n_transforms * hcy__nufft_cells(p) : numbers);
}

static int run_stage(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, int stage, hcy_buffer *from,
                     hcy_buffer *to, size_t n)
{
    const bool to_grid = stage == HCY_NUFFT_TO_GRID;
    int sign = to_grid == (p->desc.type == 2) ? p->desc.sign : -p->desc.sign, status;
    size_t grid = n * hcy__nufft_cells(p) * 2 * hcy__nufft_real(p);
    /* Only transforms have a sign; between points and grid everything is real. */
    if (stage == HCY_NUFFT_SPREAD)
        return p->n_points ? hcy__nufft_spread(q, p, w, from, to, n, HCY_NUFFT_PUTS)
                           : hcy_buffer_fill(q, to, 0, grid, "", 1);
    if (stage == HCY_NUFFT_INTERPOLATE)
        return p->n_points ? hcy__nufft_spread(q, p, w, to, from, n, HCY_NUFFT_GETS) : 0;
    /* Transforms take the work's grid: it is overwritten, and as large as a batch. */
    status = hcy__nufft_need_grid(p, w);
    if (!status && !to_grid)
        status = hcy_buffer_copy(q, w->grid, 0, from, 0, grid);
    if (!status)
        status = hcy__nufft_transform(q, p, w, to_grid ? from : to, n, sign, to_grid);
    return status || !to_grid ? status : hcy_buffer_copy(q, to, 0, w->grid, 0, grid);
}

static int submit_grid_stage(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, int stage,
                             struct hcy__nufft_span *from, struct hcy__nufft_span *to)
{
    size_t in = hcy__nufft_stage_bytes(p, stage, false) / p->n_transforms,
           out = hcy__nufft_stage_bytes(p, stage, true) / p->n_transforms;
    int status = 0;
    for (size_t done = 0; !status && done < p->n_transforms; done += p->batch) {
        /* As whole transforms: the grids of a batch are all the memory that a stage may take. */
        size_t n = vectors_now(p, p->n_transforms - done);
        hcy_buffer *a = NULL, *b = NULL;
        status = take_span(&a, from, n * in);
        if (!status)
            status = take_span(&b, to, n * out);
        if (!status)
            status = run_stage(q, p, w, stage, a, b, n);
        hcy_buffer_release(a);
        hcy_buffer_release(b);
    }
    return status;
}

/* --- The way --- */

static int set_grid_points(hcy_nufft *p, const void *const *points, const void *const *targets)
{
    int status = hcy__nufft_grid_tables(p);
    (void)targets;
    return status ? status : hcy__nufft_sort(p, p->n_points, points);
}

static int execute_on_grid(hcy_nufft *p, char *c, char *f, size_t n, bool adjoint)
{
    return hcy__nufft_execute_batches(p, hcy__nufft_grid_vectors, c, f, n, adjoint);
}

static int submit_on_grid(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, struct hcy__nufft_span *c,
                          struct hcy__nufft_span *f, size_t n, bool adjoint)
{
    return hcy__nufft_submit_batches(q, p, hcy__nufft_grid_vectors, w, c, f, n, adjoint);
}

/* Sorted points belong to the plan: other ways have them too. */
static void forget_nothing(hcy_nufft *p)
{
    (void)p;
}

const struct hcy__nufft_way hcy__nufft_on_grid = { set_grid_points, execute_on_grid, submit_on_grid, submit_grid_stage,
                                                   NULL,            forget_nothing };
