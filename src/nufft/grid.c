/* grid.c - executing plans.  A plan's tables and sorted points are only read; what an execution writes is its
 * work. */
#include "nufft_priv.h"

#include <stdlib.h>
#include <string.h>

/* --- Working memory --- */

int hcy__nufft_take_work(struct hcy__nufft_work **out, hcy_nufft *p, bool queue)
{
    int status = 0;
    p = p->owner ? p->owner : p;
    pthread_mutex_lock(&p->lock);
    struct hcy__nufft_work *w = p->free_work;
    if (w)
        p->free_work = w->next;
    pthread_mutex_unlock(&p->lock);
    if (!w && !(w = calloc(1, sizeof *w)))
        return hcy_fail(HCY_ENOMEM, "out of memory for an execution");
    if (queue && !w->queue)
        status = hcy_queue_create(&w->queue, p->dev);
    if (status)
        hcy__nufft_free_work(w);
    else
        *out = w;
    return status;
}

void hcy__nufft_free_memory(struct hcy__nufft_work *w)
{
    hcy_queue *queue = w->queue;
    hcy__nufft_free_work(w->inner);
    hcy_buffer *const buffers[] = { w->grid, w->scratch, w->fft_work, w->scaled, w->c, w->f };
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        hcy_buffer_release(buffers[i]);
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

/* A buffer of the work, at least this large; commands that use the old one keep it. */
int hcy__nufft_need(hcy_buffer **buf, const hcy_nufft *p, size_t size)
{
    if (*buf && hcy_buffer_size(*buf) >= size)
        return 0;
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

/* --- Stages, on device buffers --- */

/* A launch whose last argument is scratch, of the work's. */
static int launch(hcy_queue *q, const hcy_nufft *p, struct hcy__nufft_work *w, int kernel, size_t items,
                  hcy_arg *args, size_t n, bool scratch)
{
    size_t size = 0;
    int status = 0;
    if (scratch) {
        args[n - 1] = hcy_arg_buf(NULL);
        status = hcy_kernel_scratch_size(p->kernels[kernel], items, args, n, &size);
        if (!status && size)
            status = hcy__nufft_need(&w->scratch, p, size);
        if (size)
            args[n - 1] = hcy_arg_buf(w->scratch);
    }
    return status ? status : hcy_launch(q, p->kernels[kernel], items, args, n);
}

int hcy__nufft_spread(hcy_queue *q, const hcy_nufft *p, struct hcy__nufft_work *w, hcy_buffer *c,
                      hcy_buffer *grid, size_t n, bool interpolates)
{
    hcy_buffer *from = interpolates ? grid : c, *to = interpolates ? c : grid;
    hcy_arg args[6] = { hcy_arg_buf(p->sorted), hcy_arg_buf(p->table), hcy_arg_buf(from),
                        hcy_arg_struct(&p->job, sizeof p->job), hcy_arg_buf(to) };
    int status = p->sorting ? hcy_queue_wait(q, p->sorting) : 0;
    return status ? status : launch(q, p, w, interpolates ? INTERP : SPREAD, n, args, 6, true);
}

static int one_fft(hcy_queue *q, hcy_fft *fft, const hcy_nufft *p, struct hcy__nufft_work *w, int sign,
                   hcy_buffer *data)
{
    int status = hcy_fft_workspace(fft) ? hcy__nufft_need(&w->fft_work, p, hcy_fft_workspace(fft)) : 0;
    return status ? status : hcy_fft_execute(q, fft, sign, data, data, w->fft_work);
}

/* The planes of n vectors' grids that have modes, of their other axes; one of them twice if their number is odd. */
static int planes_fft(hcy_queue *q, const hcy_nufft *p, struct hcy__nufft_work *w, size_t n, int sign)
{
    size_t grid = hcy__nufft_cells(p) * 2 * hcy__nufft_real(p), plane = grid / (size_t)p->job.grid[0];
    int status = 0;
    for (size_t i = 0; !status && i < 2 * n; i++) {
        hcy_buffer *some;
        size_t first = i % 2 ? (size_t)p->job.grid[0] - p->planes : 0;
        status = hcy_buffer_sub(&some, w->grid, i / 2 * grid + first * plane, p->planes * plane);
        if (!status) {
            status = one_fft(q, p->fft, p, w, sign, some);
            hcy_buffer_release(some);
        }
    }
    return status;
}

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

/* Between the work's grid and modes, with the transform. */
int hcy__nufft_transform(hcy_queue *q, const hcy_nufft *p, struct hcy__nufft_work *w, hcy_buffer *f, size_t n,
                         int sign, bool to_grid)
{
    hcy_nufft_job job = p->job;
    hcy_buffer *from = to_grid ? f : w->grid, *to = to_grid ? w->grid : f;
    hcy_arg args[5] = { hcy_arg_buf(from), hcy_arg_buf(p->factors), hcy_arg_struct(&job, sizeof job),
                        hcy_arg_buf(to) };
    job.sign = sign;
    if (p->kernels[TO_MODES] && p->kernels[TO_GRID])
        return launch(q, p, w, to_grid ? TO_GRID : TO_MODES, n, args, 5, true);
    int status = to_grid ? 0 : fft(q, p, w, n, sign, false);
    if (!status)
        status = launch(q, p, w, to_grid ? PAD : CROP, n, args, 4, false);
    return status || !to_grid ? status : fft(q, p, w, n, sign, true);
}

static int scale(hcy_queue *q, const hcy_nufft *p, hcy_buffer *in, hcy_buffer *factors, hcy_buffer *out,
                 size_t n, size_t length, int sign)
{
    hcy_nufft_job job = p->job;
    job.sign = sign;
    hcy_arg args[4] = { hcy_arg_buf(in), hcy_arg_buf(factors), hcy_arg_struct(&job, sizeof job),
                        hcy_arg_buf(out) };
    job.n_points = length;
    return hcy_launch(q, p->kernels[SCALE], n, args, 4);
}

/* --- Type 3: strengths, phases, grid, a type 2 to the targets, phases --- */

static int type3_vectors(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, hcy_buffer *c, hcy_buffer *f,
                         size_t n, bool adjoint)
{
    size_t complex_ = 2 * hcy__nufft_real(p);
    int status = hcy__nufft_need(&w->scaled, p, p->batch * complex_ * (adjoint ? p->n_targets : p->n_points));
    if (!status && !w->inner)
        status = hcy__nufft_take_work(&w->inner, p->inner, false);
    if (status)
        return status;
    if (!adjoint) {
        status = scale(q, p, c, p->before, w->scaled, n, p->n_points, 1);
        if (!status)
            status = hcy__nufft_spread(q, p, w, w->scaled, w->grid, n, false);
        if (!status)
            status = hcy__nufft_vectors(q, p->inner, w->inner, f, w->grid, n, false);
        if (!status)
            status = scale(q, p, f, p->after, f, n, p->n_targets, 1);
    } else {
        status = scale(q, p, f, p->after, w->scaled, n, p->n_targets, -1);
        if (!status)
            status = hcy__nufft_vectors(q, p->inner, w->inner, w->scaled, w->grid, n, true);
        if (!status)
            status = hcy__nufft_spread(q, p, w, c, w->grid, n, true);
        if (!status)
            status = scale(q, p, c, p->before, c, n, p->n_points, -1);
    }
    return status;
}

/* --- Whole transforms --- */

int hcy__nufft_vectors(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, hcy_buffer *c, hcy_buffer *f,
                       size_t n, bool adjoint)
{
    int sign = adjoint ? -p->desc.sign : p->desc.sign, status = hcy__nufft_need_grid(p, w);
    if (status)
        return status;
    if (p->desc.type == 3)
        return type3_vectors(q, p, w, c, f, n, adjoint);
    if ((p->desc.type == 2) == !adjoint) {
        status = hcy__nufft_transform(q, p, w, f, n, sign, true);
        return status ? status : hcy__nufft_spread(q, p, w, c, w->grid, n, true);
    }
    status = hcy__nufft_spread(q, p, w, c, w->grid, n, false);
    return status ? status : hcy__nufft_transform(q, p, w, f, n, sign, false);
}

/* Without points, modes or targets sums are empty. */
static int empty(hcy_nufft *p, bool adjoint, bool *writes_c)
{
    *writes_c = (p->desc.type == 2) == !adjoint;
    return !p->n_points || (p->desc.type == 3 && !p->n_targets);
}

static size_t vector_bytes(const hcy_nufft *p, bool of_c)
{
    return (of_c ? p->n_points : hcy__nufft_results(p)) * 2 * hcy__nufft_real(p);
}

int hcy__nufft_borrow(hcy_buffer **out, hcy_buffer **own, hcy_nufft *p, hcy_queue *q, void *host, size_t size,
                      bool input)
{
    const uint32_t in_place = HCY_CAP_HOST_MEMORY | HCY_CAP_IMPORT_HOST;
    if ((hcy_device_get_info(p->dev)->caps & in_place) == in_place)
        return hcy_buffer_import_host(out, p->dev, host, size, NULL, NULL);
    int status = hcy__nufft_need(own, p, size);
    if (!status && input)
        status = hcy_buffer_write(q, *own, 0, host, size);
    if (!status)
        *out = hcy_buffer_retain(*own);
    return status;
}

static int run_batch(hcy_nufft *p, struct hcy__nufft_work *w, char *c, char *f, size_t n, bool adjoint,
                     bool writes_c)
{
    hcy_buffer *cb = NULL, *fb = NULL;
    size_t c_bytes = n * vector_bytes(p, true), f_bytes = n * vector_bytes(p, false);
    int status = hcy__nufft_borrow(&cb, &w->c, p, w->queue, c, c_bytes, !writes_c);
    if (!status)
        status = hcy__nufft_borrow(&fb, &w->f, p, w->queue, f, f_bytes, writes_c);
    if (!status)
        status = hcy__nufft_vectors(w->queue, p, w, cb, fb, n, adjoint);
    if (!status && (writes_c ? cb == w->c : fb == w->f))
        status =
            hcy_buffer_read(w->queue, writes_c ? c : f, writes_c ? cb : fb, 0, writes_c ? c_bytes : f_bytes);
    int finished = hcy_queue_finish(w->queue);
    hcy_buffer_release(cb);
    hcy_buffer_release(fb);
    return status ? status : finished;
}

int hcy__nufft_ready(const hcy_nufft *p)
{
    int status = hcy__nufft_alive(p);
    return status || p->ready ? status : hcy_fail(HCY_ESTATE, "the plan has no points yet: hcy_nufft_set_points()");
}

/* n vectors of a plan whose points they share. */
static int execute_shared(hcy_nufft *p, struct hcy__nufft_work *w, char *c, char *f, size_t n, bool adjoint)
{
    bool writes_c;
    int nothing = empty(p, adjoint, &writes_c), status = 0;
    size_t c_bytes = vector_bytes(p, true), f_bytes = vector_bytes(p, false);
    if (nothing) {
        size_t size = n * (writes_c ? c_bytes : f_bytes);
        if (size)
            memset(writes_c ? c : f, 0, size);
        return 0;
    }
    if (p->direct)
        return hcy__nufft_run_direct(p, c, f, n, adjoint);
    if (p->pieces)
        return hcy__nufft_run_pieces(p, c, f, n, adjoint);
    for (size_t done = 0; !status && done < n; done += p->batch)
        status = run_batch(p, w, c + done * c_bytes, f + done * f_bytes, n - done < p->batch ? n - done : p->batch,
                           adjoint, writes_c);
    return status;
}

/* Bytes of all strengths or coefficients. */
static size_t all_bytes(const hcy_nufft *p, bool of_c)
{
    size_t sum = 0;
    for (size_t i = 0; p->each && i < p->n_transforms; i++)
        sum += vector_bytes(p->each[i], of_c);
    return p->each ? sum : p->n_transforms * vector_bytes(p, of_c);
}

int hcy__nufft_execute_some(hcy_nufft *p, void *c, void *f, size_t n, bool adjoint)
{
    struct hcy__nufft_work *w;
    char *ci = c, *fi = f;
    int status = hcy__nufft_ready(p);
    if (status)
        return status;
    if ((!c && all_bytes(p, true)) || (!f && all_bytes(p, false)))
        return hcy_fail(HCY_EINVAL, "hcy_nufft_execute: no %s", c ? "coefficients" : "strengths");
    status = hcy__nufft_take_work(&w, p, true);
    if (status)
        return status;
    if (!p->each)
        status = execute_shared(p, w, c, f, n, adjoint);
    for (size_t i = 0; p->each && i < n && !status; i++) {
        status = execute_shared(p->each[i], w, ci, fi, 1, adjoint);
        ci += vector_bytes(p->each[i], true);
        fi += vector_bytes(p->each[i], false);
    }
    hcy__nufft_give_work(w, p);
    return status;
}

static int execute(hcy_nufft *p, void *c, void *f, bool adjoint)
{
    int status = hcy__nufft_alive(p);
    return status ? status : hcy__nufft_execute_some(p, c, f, p->n_transforms, adjoint);
}

int hcy_nufft_execute(hcy_nufft *p, void *c, void *f)
{
    return execute(p, c, f, false);
}

int hcy_nufft_execute_adjoint(hcy_nufft *p, void *c, void *f)
{
    return execute(p, c, f, true);
}

/* --- On a queue of the caller's --- */

/* All vectors of a plan whose points they share, from these offsets on. */
static int submit_shared(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, hcy_buffer *c, size_t c_at,
                         hcy_buffer *f, size_t f_at, bool adjoint)
{
    bool writes_c;
    int nothing = empty(p, adjoint, &writes_c), status = 0;
    size_t c_bytes = vector_bytes(p, true), f_bytes = vector_bytes(p, false);
    if (nothing) {
        size_t size = p->n_transforms * (writes_c ? c_bytes : f_bytes);
        return size ? hcy_buffer_fill(q, writes_c ? c : f, writes_c ? c_at : f_at, size, "", 1) : 0;
    }
    status = hcy__nufft_gridded(&p, p);
    for (size_t done = 0; !status && done < p->n_transforms; done += p->batch) {
        size_t n = p->n_transforms - done < p->batch ? p->n_transforms - done : p->batch;
        hcy_buffer *cb = NULL, *fb = NULL;
        status = hcy_buffer_sub(&cb, c, c_at + done * c_bytes, n * c_bytes);
        if (!status)
            status = hcy_buffer_sub(&fb, f, f_at + done * f_bytes, n * f_bytes);
        if (!status)
            status = hcy__nufft_vectors(q, p, w, cb, fb, n, adjoint);
        hcy_buffer_release(cb);
        hcy_buffer_release(fb);
    }
    return status;
}

int hcy_nufft_submit(hcy_queue *q, hcy_nufft *p, hcy_buffer *c, hcy_buffer *f, int adjoint)
{
    struct hcy__nufft_work *w;
    size_t c_at = 0, f_at = 0;
    int status = hcy__nufft_ready(p);
    if (!status && !q)
        status = hcy_fail(HCY_EINVAL, "hcy_nufft_submit: no queue");
    if (status)
        return status;
    size_t c_all = all_bytes(p, true), f_all = all_bytes(p, false);
    if ((c_all && (!c || hcy_buffer_size(c) < c_all)) || (f_all && (!f || hcy_buffer_size(f) < f_all)))
        return hcy_fail(HCY_EINVAL, "hcy_nufft_submit: strengths need %zu bytes, coefficients %zu", c_all,
                        f_all);
    status = hcy__nufft_take_work(&w, p, false);
    if (status)
        return status;
    if (!p->each)
        status = submit_shared(q, p, w, c, 0, f, 0, adjoint != 0);
    for (size_t i = 0; p->each && i < p->n_transforms && !status; i++) {
        status = submit_shared(q, p->each[i], w, c, c_at, f, f_at, adjoint != 0);
        c_at += vector_bytes(p->each[i], true);
        f_at += vector_bytes(p->each[i], false);
    }
    /* Commands keep their buffers: the next execution gets others, from the device's pool. */
    hcy__nufft_free_work(w);
    return status;
}

int hcy_nufft_run(hcy_device *dev, const hcy_nufft_desc *desc, int64_t n_points, const void *const *points,
                  int64_t n_targets, const void *const *targets, void *c, void *f)
{
    hcy_nufft *p;
    int status = hcy_nufft_create(&p, dev, desc, NULL);
    if (status)
        return status;
    status = hcy_nufft_set_points(p, n_points, points, n_targets, targets);
    if (!status)
        status = hcy_nufft_execute(p, c, f);
    hcy_nufft_destroy(p);
    return status;
}
