/* stages.c - the stages of a transform as calls of their own, and the self-adjoint operator. */
#include "nufft_priv.h"

static int check(const hcy_nufft *p)
{
    int status = hcy__nufft_ready(p);
    return status || p->desc.type != 3 ? status : hcy_fail(HCY_EUNSUPPORTED, "stages are there for types 1 and 2");
}

/* *plan is the one that has a grid afterwards. */
static int check_stage(hcy_nufft **plan, int stage)
{
    int status = check(*plan);
    if (!status && (stage < HCY_NUFFT_SPREAD || stage > HCY_NUFFT_TO_GRID))
        return hcy_fail(HCY_EINVAL, "%d is no stage of a non-uniform FFT", stage);
    return status ? status : hcy__nufft_gridded(plan, *plan);
}

static int check_queue(const hcy_queue *q)
{
    return q ? 0 : hcy_fail(HCY_EINVAL, "no queue for a stage of a non-uniform FFT");
}

/* Bytes of a vector at one end of a stage. */
static size_t bytes_of(const hcy_nufft *p, int stage, bool output)
{
    size_t complex_ = 2 * hcy__nufft_real(p);
    bool grid = output ? stage == HCY_NUFFT_SPREAD || stage == HCY_NUFFT_TO_GRID
                       : stage == HCY_NUFFT_INTERPOLATE || stage == HCY_NUFFT_TO_MODES;
    if (grid)
        return hcy__nufft_cells(p) * complex_;
    return (stage <= HCY_NUFFT_INTERPOLATE ? p->n_points : p->n_modes) * complex_;
}

/* Of all vectors. */
static size_t all_of(const hcy_nufft *p, int stage, bool output)
{
    size_t sum = 0;
    for (size_t i = 0; p->each && i < p->n_transforms; i++)
        sum += bytes_of(p->each[i], stage, output);
    return p->each ? sum : p->n_transforms * bytes_of(p, stage, output);
}

static int run(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, int stage, hcy_buffer *from,
               hcy_buffer *to, size_t n)
{
    bool to_grid = stage == HCY_NUFFT_TO_GRID;
    int sign = to_grid == (p->desc.type == 2) ? p->desc.sign : -p->desc.sign, status;
    size_t grid = n * hcy__nufft_cells(p) * 2 * hcy__nufft_real(p);
    if (stage == HCY_NUFFT_SPREAD)
        return p->n_points ? hcy__nufft_spread(q, p, w, from, to, n, false)
                           : hcy_buffer_fill(q, to, 0, grid, "", 1);
    if (stage == HCY_NUFFT_INTERPOLATE)
        return p->n_points ? hcy__nufft_spread(q, p, w, to, from, n, true) : 0;
    /* Transforms take the work's grid: it is overwritten, and as large as a batch. */
    status = hcy__nufft_need_grid(p, w);
    if (!status && !to_grid)
        status = hcy_buffer_copy(q, w->grid, 0, from, 0, grid);
    if (!status)
        status = hcy__nufft_transform(q, p, w, to_grid ? from : to, n, sign, to_grid);
    return status || !to_grid ? status : hcy_buffer_copy(q, to, 0, w->grid, 0, grid);
}

/* n vectors of a plan whose points they share, from these offsets on, which move on. */
static int some(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, int stage, hcy_buffer *from, size_t *from_at,
                hcy_buffer *to, size_t *to_at, size_t n)
{
    hcy_buffer *a = NULL, *b = NULL;
    size_t in = n * bytes_of(p, stage, false), out = n * bytes_of(p, stage, true);
    int status = in ? hcy_buffer_sub(&a, from, *from_at, in) : 0;
    if (!status && out)
        status = hcy_buffer_sub(&b, to, *to_at, out);
    if (!status)
        status = run(q, p, w, stage, a, b, n);
    hcy_buffer_release(a);
    hcy_buffer_release(b);
    *from_at += in;
    *to_at += out;
    return status;
}

/* All vectors, a batch at a time. */
static int batches(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, int stage, hcy_buffer *from,
                   hcy_buffer *to)
{
    size_t from_at = 0, to_at = 0;
    int status = 0;
    for (size_t i = 0; p->each && !status && i < p->n_transforms; i++) {
        hcy_nufft *one;
        status = hcy__nufft_gridded(&one, p->each[i]);
        if (!status)
            status = some(q, one, w, stage, from, &from_at, to, &to_at, 1);
    }
    for (size_t done = 0; !p->each && !status && done < p->n_transforms; done += p->batch)
        status = some(q, p, w, stage, from, &from_at, to, &to_at,
                      p->n_transforms - done < p->batch ? p->n_transforms - done : p->batch);
    return status;
}

int hcy_nufft_submit_stage(hcy_queue *q, hcy_nufft *p, int stage, hcy_buffer *from, hcy_buffer *to)
{
    struct hcy__nufft_work *w;
    int status = check_stage(&p, stage);
    if (!status)
        status = check_queue(q);
    if (status)
        return status;
    size_t in = all_of(p, stage, false), out = all_of(p, stage, true);
    if ((in && (!from || hcy_buffer_size(from) < in)) || (out && (!to || hcy_buffer_size(to) < out)))
        return hcy_fail(HCY_EINVAL, "this stage takes %zu bytes and gives %zu", in, out);
    status = hcy__nufft_take_work(&w, p, false);
    if (status)
        return status;
    status = batches(q, p, w, stage, from, to);
    hcy__nufft_free_work(w); /* commands keep their buffers */
    return status;
}

int hcy_nufft_execute_stage(hcy_nufft *p, int stage, const void *from, void *to)
{
    struct hcy__nufft_work *w;
    hcy_buffer *a = NULL, *b = NULL;
    int status = check_stage(&p, stage);
    if (status)
        return status;
    size_t in = all_of(p, stage, false), out = all_of(p, stage, true);
    if ((in && !from) || (out && !to))
        return hcy_fail(HCY_EINVAL, "hcy_nufft_execute_stage: no %s", from ? "place for the result" : "input");
    status = hcy__nufft_take_work(&w, p, true);
    if (status)
        return status;
    if (in)
        status = hcy__nufft_borrow(&a, &w->c, p, w->queue, (void *)(uintptr_t)from, in, true);
    if (!status && out)
        status = hcy__nufft_borrow(&b, &w->f, p, w->queue, to, out, false);
    if (!status)
        status = batches(w->queue, p, w, stage, a, b);
    if (!status && out && b == w->f)
        status = hcy_buffer_read(w->queue, to, b, 0, out);
    int finished = hcy_queue_finish(w->queue);
    hcy_buffer_release(a);
    hcy_buffer_release(b);
    hcy__nufft_give_work(w, p);
    return status ? status : finished;
}

int hcy_nufft_submit_self_adjoint(hcy_queue *q, hcy_nufft *p, hcy_buffer *from, hcy_buffer *to)
{
    hcy_buffer *c = NULL;
    int status = check(p);
    if (!status)
        status = check_queue(q);
    size_t strengths = status ? 0 : all_of(p, HCY_NUFFT_INTERPOLATE, true);
    if (strengths)
        status = hcy_buffer_create(&c, p->dev, HCY_MEM_DEVICE, strengths);
    if (!status) /* modes to points: type 2, and the adjoint of type 1 */
        status = hcy_nufft_submit(q, p, c, from, p->desc.type == 1);
    if (!status)
        status = hcy_nufft_submit(q, p, c, to, p->desc.type == 2);
    hcy_buffer_release(c);
    return status;
}
