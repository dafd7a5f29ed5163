/* pull.c - a run over a stack's frames in the caller's thread, and what it has in common with the push form: how runs
 * begin and end. */
#include "pipeline_priv.h"
#include "azint_pixels.h"
#include "bslz4_job.h"

#include <halcyon/backend.h>

/* --- Runs of both forms --- */

int hcy__run_claim(hcy_pipeline *p)
{
    int status;
    hcy__pipe_lock(&p->control);
    if (p->push)
        status = hcy_fail(HCY_EINVAL, "the pipeline takes submitted frames: finish that first");
    else
        status = hcy__control_claim(&p->control);
    hcy__pipe_unlock(&p->control);
    return status;
}

int hcy__run_begin(hcy_pipeline *p, struct pipe_push *push, hcy_stack *stack, uint64_t first, uint64_t last)
{
    const int goes_on = !push && hcy__stats_has_run(&p->stats) && p->opts.flags & HCY_PIPELINE_ADD_UP;
    /* All parts in one go: devices' threads are there already, and must not see one part of the last run's. */
    hcy__pipe_lock(&p->control);
    p->push = push;
    hcy__reader_begin(&p->reader, stack, first, last);
    hcy__stats_begin(&p->stats, push ? 0 : last - first, goes_on);
    hcy__ring_begin(&p->ring);
    hcy__control_begin(&p->control);
    int status = hcy__workers_begin(p, goes_on);
    if (status)
        hcy__stop(&p->control, status, hcy_last_error());
    hcy__pipe_unlock(&p->control);
    return status;
}

void hcy__run_end(hcy_pipeline *p)
{
    /* Devices may still read slots, whose memory is the host's in a push: it goes back when they are done. */
    hcy__workers_end(p);
    hcy__stats_end(&p->stats);
    hcy__slots_empty(p);
    hcy__control_end(&p->control);
    hcy__stats_show(p);
}

/* --- A run over a stack --- */

static int check_stack(const hcy_pipeline *p, const hcy_stack *stack, uint64_t first, uint64_t last)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    const hcy_bslz4_job *coding = &p->source.coding;
    if (info->codec != coding->codec || info->elem_size != coding->elem_size ||
        info->frame_bytes != coding->image_bytes || info->pixel_type != p->source.pixel_type)
        return hcy_fail(HCY_EINVAL,
                        "%s: its frames (%s, pixels of %s, %llu bytes) are not stored as those that the pipeline "
                        "was made for (%s, pixels of %s, %llu bytes)",
                        info->path, hcy_bslz4_codec_name(info->codec), hcy_pixel_name(info->pixel_type),
                        (unsigned long long)info->frame_bytes, hcy_bslz4_codec_name(coding->codec),
                        hcy_pixel_name(p->source.pixel_type), (unsigned long long)coding->image_bytes);
    if (first >= last || last > info->frames)
        return hcy_fail(HCY_ERANGE, "frames %llu to %llu (not included): %s has %llu, counted from 0",
                        (unsigned long long)first, (unsigned long long)last, info->path,
                        (unsigned long long)info->frames);
    return 0;
}

static void report_progress(hcy_pipeline *p, hcy_pipeline_progress progress, void *payload,
                            const hcy_pipeline_stats *stats)
{
    struct pipe_call call;
    hcy__call_begin(&call, p);
    progress(payload, stats);
    hcy__call_end(&call);
}

static int deliver_frames(hcy_pipeline *p, hcy_pipeline_sink sink, hcy_pipeline_progress progress, void *payload)
{
    uint64_t tick = hcy_now_ns() + PIPE_TICK_NS;
    const uint64_t frames = hcy__frames_of_run(&p->reader);
    while (hcy__ring_emitted(&p->ring) < frames) {
        int status = 0, found = hcy__front_wait(p, tick);
        if (found < 0)
            return hcy__stopped(&p->control);
        if (found)
            status = hcy__front_deliver(p, sink, payload);
        if (status)
            return status;
        /* A signal handler cannot wake this thread, so it looks after each frame and each tick. */
        if (hcy__is_cancelled(&p->control)) {
            hcy__front_settle(p, 0);
            return hcy__stats_cancelled(&p->stats);
        }
        if (hcy_now_ns() < tick)
            continue;
        tick = hcy_now_ns() + PIPE_TICK_NS;
        if (progress)
            report_progress(p, progress, payload, hcy__stats_show(p));
    }
    return 0;
}

int hcy_pipeline_run(hcy_pipeline *p, hcy_stack *stack, uint64_t first, uint64_t last, hcy_pipeline_sink sink,
                     hcy_pipeline_progress progress, void *payload)
{
    int status = hcy__check_call(p, "hcy_pipeline_run");
    if (!status && (!stack || !sink))
        status = hcy_fail(HCY_EINVAL, "a run needs a stack and a sink");
    if (!status)
        status = check_stack(p, stack, first, last);
    if (!status)
        status = hcy__run_claim(p);
    if (status)
        return status;
    /* From here on the pipeline is this run's, so every way out gives it up. */
    status = hcy__run_begin(p, NULL, stack, first, last);
    if (status) {
        hcy_error why = *hcy_last_error();
        hcy__run_end(p);
        hcy__control_give_up(&p->control);
        return hcy_fail_again(&why);
    }
    status = hcy__readers_start(p);
    if (!status)
        status = deliver_frames(p, sink, progress, payload);
    hcy_error error = *hcy_last_error();
    hcy__halt(&p->control);
    hcy__readers_join(&p->reader);
    hcy__run_end(p);
    /* Once more, so that the last thing shown is how it ended. */
    if (progress)
        report_progress(p, progress, payload, hcy__stats_shown(&p->stats));
    hcy__control_give_up(&p->control);
    return status ? hcy_fail_again(&error) : 0;
}
