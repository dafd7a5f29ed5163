/* outcome.c - what became of a batch's frames: from sums to curves, into the ring. */
#include "pipeline_priv.h"

#include <stdio.h>

#include <halcyon/backend.h>

#define TOGETHER 65536 /* bins of curves that are handed on at once */

static const hcy_bslz4_frame *frame_of(const struct pipe_lane *lane, size_t i)
{
    return (const hcy_bslz4_frame *)lane->slot->frames.host + i;
}

/* Its chunk is good, and the device does not take it. */
static int is_refused(const struct pipe_lane *lane, size_t i)
{
    return lane->host_reports[i].status == HCY_EUNSUPPORTED && !frame_of(lane, i)->status;
}

/* Is the frame's outcome this device's to say? */
static int is_due(const struct pipe_lane *lane, size_t i)
{
    /* The slot was released already, so no other device has had any of its frames, or will. */
    if (!lane->slot)
        return 1;
    return !(lane->slot->again && frame_of(lane, i)->status) && !(lane->hands_on && is_refused(lane, i));
}

size_t hcy__count_due(const struct pipe_lane *lane)
{
    size_t n = 0;
    for (size_t i = 0; i < lane->n; i++)
        n += (size_t)is_due(lane, i);
    return n;
}

size_t hcy__count_refused(const struct pipe_lane *lane)
{
    size_t n = 0;
    for (size_t i = 0; i < lane->n; i++)
        n += (size_t)is_refused(lane, i);
    return n;
}

static double normalization_of(const hcy_pipeline *p, uint64_t number)
{
    struct pipe_call call;
    if (!p->opts.normalization)
        return 1.0;
    hcy__call_begin(&call, p);
    double normalization = p->opts.normalization(p->opts.normalization_payload, number);
    hcy__call_end(&call);
    return normalization;
}

/* Why a device did not make sums of a frame, in words. */
static void explain_report(const hcy_pipeline *p, const struct pipe_worker *w, struct pipe_output *output)
{
    const hcy_frame_report *report = &output->report;
    const char *others = ": add another device, cpu takes all";
    if (hcy__n_devices(&p->workers) > 1)
        others = ", nor does another device of this run";
    if (report->status == HCY_ERANGE) /* azint_filter's alone */
        snprintf(output->why, sizeof output->why,
                 "a pixel has more counts than a filter or azimuthal errors take of 64-bit pixels, 2^35, or 2^32 with "
                 "a dark current: mask it, or convert the frames to floats");
    else if (report->status == HCY_EUNSUPPORTED)
        snprintf(output->why, sizeof output->why,
                 "%s does not take frames that are stored like this one (its blocks, or their elements)%s",
                 w->stats.name, others);
    else
        snprintf(output->why, sizeof output->why, "block %u, at byte %llu of its chunk: %s", report->block,
                 (unsigned long long)report->byte, hcy_status_text(report->status));
}

static void finish_frame(hcy_pipeline *p, const struct pipe_worker *w, struct pipe_output *output,
                         const hcy_frame_report *report, const uint64_t *sums, const uint64_t *const found[PIPE_BESIDE])
{
    output->device = w->index;
    /* It was read or parsed in vain, and its producer has said why. */
    if (output->report.status)
        return;
    output->report = *report;
    if (report->status) {
        explain_report(p, w, output);
        return;
    }
    double normalization = normalization_of(p, output->number);
    output->report.status = hcy_azint_finish(output->result, p->plan, &p->job, sums, report, normalization);
    if (!output->report.status && p->pick_job.capacity)
        output->report.status = hcy__sparse_finish(&output->sparse, p, found[PIPE_PICK]);
    if (output->report.status)
        snprintf(output->why, sizeof output->why, "%s", hcy_last_error()->text);
    else if (p->region_job.n_regions)
        hcy__regions_finish(output->regions, p, found[PIPE_REGIONS]);
}

/* Results for those of frames first to last - 1 that will have one. */
static void take_results(hcy_pipeline *p, const struct pipe_lane *lane, size_t first, size_t last)
{
    hcy__pipe_lock(&p->control);
    for (size_t i = first; i < last; i++) {
        struct pipe_output *output = hcy__ring_at(&p->ring, lane->first + i);
        if (is_due(lane, i) && !output->report.status && !lane->host_reports[i].status)
            output->result = hcy__ring_take_result(&p->ring);
    }
    hcy__pipe_unlock(&p->control);
}

/* Frames first to last - 1 of the lane.  In a slot that goes to another device they are marked as done. */
static void hand_out(hcy_pipeline *p, const struct pipe_lane *lane, size_t first, size_t last)
{
    hcy__pipe_lock(&p->control);
    for (size_t i = first; i < last; i++)
        if (is_due(lane, i)) {
            hcy__output_make_ready(hcy__ring_at(&p->ring, lane->first + i));
            /* A frame with a status is left alone by the next device. */
            if (lane->slot)
                ((hcy_bslz4_frame *)lane->slot->frames.host)[i].status = HCY_ECANCELLED;
        }
    hcy__pipe_wake(&p->control, PIPE_OUTPUT);
    hcy__pipe_unlock(&p->control);
}

size_t hcy__frames_together(const hcy_pipeline *p)
{
    /* Curves are handed on together, which takes the lock once for many; images one by one: the sink takes each out of
     * a cache, and few results are in use at a time. */
    return TOGETHER / p->n_bins + 1;
}

void hcy__finish_frames(hcy_pipeline *p, const struct pipe_worker *w, const struct pipe_lane *lane, size_t first,
                        size_t last)
{
    const size_t stride = p->sums_bytes / sizeof(uint64_t);
    /* In a slot that other devices have had, the entry may be another frame's by now. */
    const int known = !lane->slot;
    const uint64_t number = known ? hcy__ring_at(&p->ring, lane->first + first)->number : 0;
    const uint64_t since = hcy_trace_begin();
    take_results(p, lane, first, last);
    for (size_t i = first; i < last; i++) {
        const uint64_t *found[PIPE_BESIDE];
        for (int k = 0; k < PIPE_BESIDE; k++)
            found[k] = lane->found[k] ? lane->host_found[k] + i * (p->beside[k].found / sizeof(uint64_t)) : NULL;
        if (is_due(lane, i))
            finish_frame(p, w, hcy__ring_at(&p->ring, lane->first + i), &lane->host_reports[i],
                         lane->host_sums + i * stride, found);
    }
    hcy_trace_end(since, "divide", number, known ? last - first : 0, 0);
    hand_out(p, lane, first, last);
}

void hcy__finish_batch(hcy_pipeline *p, const struct pipe_worker *w, const struct pipe_lane *lane)
{
    const size_t together = hcy__frames_together(p);
    for (size_t first = 0; first < lane->n; first += together)
        hcy__finish_frames(p, w, lane, first, lane->n - first < together ? lane->n : first + together);
}
