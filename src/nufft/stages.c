/* stages.c - public functions for the stages of a transform as calls of their own, and the self-adjoint operator.
 * Threads: as executions. */
#include "nufft_priv.h"

static int check_has_stages(const hcy_nufft *p)
{
    int status = hcy__nufft_ready(p);
    return status || p->desc.type != 3 ? status : hcy_fail(HCY_EUNSUPPORTED, "stages are there for types 1 and 2");
}

static int check_stage(const hcy_nufft *p, int stage)
{
    int status = check_has_stages(p);
    if (!status && (stage < HCY_NUFFT_SPREAD || stage > HCY_NUFFT_TO_GRID))
        return hcy_fail(HCY_EINVAL, "%d is not a stage of a non-uniform FFT", stage);
    return status;
}

static int check_stage_queue(const hcy_queue *q)
{
    return q ? 0 : hcy_fail(HCY_EINVAL, "no queue for a stage of a non-uniform FFT");
}

int hcy_nufft_submit_stage(hcy_queue *q, hcy_buffer *to, hcy_nufft *p, int stage, hcy_buffer *from)
{
    struct hcy__nufft_work *w;
    struct hcy__nufft_span in_from = { from, 0 }, in_to = { to, 0 };
    int status = check_stage(p, stage);
    if (!status)
        status = check_stage_queue(q);
    if (status)
        return status;
    size_t in = hcy__nufft_stage_bytes(p, stage, false), out = hcy__nufft_stage_bytes(p, stage, true);
    if ((in && (!from || hcy_buffer_size(from) < in)) || (out && (!to || hcy_buffer_size(to) < out)))
        return hcy_fail(HCY_EINVAL, "this stage takes %zu bytes and gives %zu", in, out);
    status = hcy__nufft_check_begin(p, from, to);
    if (!status)
        status = hcy__nufft_take_work(&w, p, q);
    if (status)
        return status;
    status = p->way->stage(q, p, w, stage, &in_from, &in_to);
    hcy__nufft_leave_work(w, p, q);
    return status;
}

int hcy_nufft_execute_stage(void *to, hcy_nufft *p, int stage, const void *from)
{
    struct hcy__nufft_work *w;
    hcy_buffer *a = NULL, *b = NULL;
    int status = check_stage(p, stage);
    if (status)
        return status;
    size_t in = hcy__nufft_stage_bytes(p, stage, false), out = hcy__nufft_stage_bytes(p, stage, true);
    if ((in && !from) || (out && !to))
        return hcy_fail(HCY_EINVAL, "hcy_nufft_execute_stage: no %s", in && !from ? "input" : "place for the result");
    status = hcy__nufft_take_work(&w, p, NULL);
    if (status)
        return status;
    /* Ends in host memory are used in place where the device can, else they go through the work's two buffers. */
    if (in)
        status = hcy__nufft_borrow(&a, &w->c, p, w->queue, (void *)(uintptr_t)from, in, true);
    if (!status && out)
        status = hcy__nufft_borrow(&b, &w->f, p, w->queue, to, out, false);
    struct hcy__nufft_span in_from = { a, 0 }, in_to = { b, 0 };
    if (!status)
        status = p->way->stage(w->queue, p, w, stage, &in_from, &in_to);
    /* Read back only what was not written in place; whatever failed, nothing may use the caller's memory afterwards. */
    if (!status && out && b == w->f)
        status = hcy_buffer_read(w->queue, to, b, 0, out);
    int finished = hcy_queue_finish(w->queue);
    hcy_buffer_release(a);
    hcy_buffer_release(b);
    hcy__nufft_give_work(w, p);
    return status ? status : finished;
}

int hcy_nufft_submit_self_adjoint(hcy_queue *q, hcy_buffer *to, hcy_nufft *p, hcy_buffer *from)
{
    hcy_buffer *c = NULL;
    int status = check_has_stages(p);
    if (!status)
        status = check_stage_queue(q);
    size_t strengths = status ? 0 : hcy__nufft_stage_bytes(p, HCY_NUFFT_INTERPOLATE, true);
    if (strengths)
        status = hcy_buffer_create(&c, p->dev, HCY_MEM_DEVICE, strengths);
    if (!status) /* modes to points: type 2, and the adjoint of type 1 */
        status = hcy_nufft_submit(q, p, c, from, p->desc.type == 1);
    if (!status)
        status = hcy_nufft_submit(q, p, c, to, p->desc.type == 2);
    hcy_buffer_release(c);
    return status;
}
