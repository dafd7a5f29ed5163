/* output.c - from sums to curves, and the ring in which frames wait until it is their turn. */
#include "pipeline_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define TOGETHER 65536 /* bins of curves that are handed on at once */

int hcy__output_create(hcy_pipeline *p, size_t window)
{
    p->ring = calloc(window, sizeof *p->ring);
    p->idle = calloc(window, sizeof *p->idle);
    if (!p->ring || !p->idle)
        return hcy_fail(HCY_ENOMEM, "room for %zu curves", window);
    p->window = window;
    for (; p->n_idle < window; p->n_idle++) {
        hcy_azint_result **result = &p->idle[p->n_idle];
        int status = p->opts.flags & HCY_PIPELINE_MEANS ? hcy_azint_result_create_means(result, p->plan)
                                                        : hcy_azint_result_create(result, p->plan);
        if (status)
            return status;
    }
    return 0;
}

void hcy__output_destroy(hcy_pipeline *p)
{
    for (size_t i = 0; p->ring && i < p->window; i++)
        hcy__output_clear(p, &p->ring[i]);
    for (size_t i = 0; i < p->n_idle; i++)
        hcy_azint_result_destroy(p->idle[i]);
    free(p->idle);
    free(p->ring);
}

/* There are as many results as entries, so one is idle. */
static hcy_azint_result *take_result(hcy_pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    hcy_azint_result *result = p->idle[--p->n_idle];
    pthread_mutex_unlock(&p->lock);
    return result;
}

void hcy__output_clear(hcy_pipeline *p, struct pipe_output *output)
{
    if (output->result)
        p->idle[p->n_idle++] = output->result;
    output->result = NULL;
    output->ready = 0;
}

void hcy__output_begin(struct pipe_output *output, uint64_t number)
{
    output->number = number;
    output->report = (hcy_frame_report){ 0 };
    output->why[0] = 0;
    output->submitted = output->dropped = 0;
}

static const hcy_bslz4_frame *frame_of(const struct pipe_lane *lane, size_t i)
{
    return (const hcy_bslz4_frame *)lane->slot->frames.host + i;
}

/* Its chunk is good, and the device does not take it. */
static int is_refused(const struct pipe_lane *lane, size_t i)
{
    return lane->host_reports[i].status == HCY_EUNSUPPORTED && !frame_of(lane, i)->status;
}

static int is_due(const struct pipe_lane *lane, size_t i)
{
    if (!lane->slot)
        return 1;
    return !(lane->slot->again && frame_of(lane, i)->status) && !(lane->hands_on && is_refused(lane, i));
}

size_t hcy__output_due(const struct pipe_lane *lane)
{
    size_t n = 0;
    for (size_t i = 0; i < lane->n; i++)
        n += (size_t)is_due(lane, i);
    return n;
}

size_t hcy__output_refused(const struct pipe_lane *lane)
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

static void finish_frame(hcy_pipeline *p, struct pipe_output *output, const hcy_frame_report *report,
                         const uint64_t *sums)
{
    if (output->report.status)
        return; /* it was read or parsed in vain, and its producer has said why */
    output->report = *report;
    if (report->status == HCY_EUNSUPPORTED) {
        snprintf(output->why, sizeof output->why,
                 "%s does not take frames that are stored like this one (its blocks, or their elements)%s",
                 p->workers[output->device].stats.name,
                 p->n_workers > 1 ? ", nor does another device of this run" : ": add another device, cpu takes all");
        return;
    }
    if (report->status == HCY_ERANGE) { /* azint_filter's alone */
        snprintf(output->why, sizeof output->why,
                 "a pixel has more counts than a filter or azimuthal errors take of 64-bit pixels, 2^35, or 2^32 with a "
                 "dark current: mask it, or convert the frames to floats");
        return;
    }
    if (report->status) {
        snprintf(output->why, sizeof output->why, "block %u, at byte %llu of its chunk: %s", report->block,
                 (unsigned long long)report->byte, hcy_status_text(report->status));
        return;
    }
    double normalization = normalization_of(p, output->number);
    output->result = take_result(p);
    output->report.status = hcy_azint_finish(output->result, p->plan, &p->job, sums, report, normalization);
    if (output->report.status)
        snprintf(output->why, sizeof output->why, "%s", hcy_last_error()->text);
}

/* Frames first to last - 1 of the lane.  In a slot that goes to another device they are marked as done. */
static void make_ready(hcy_pipeline *p, const struct pipe_lane *lane, size_t first, size_t last)
{
    pthread_mutex_lock(&p->lock);
    for (size_t i = first; i < last; i++)
        if (is_due(lane, i)) {
            hcy__output_at(p, lane->first + i)->ready = 1;
            if (lane->slot)
                ((hcy_bslz4_frame *)lane->slot->frames.host)[i].status = HCY_ECANCELLED;
        }
    pthread_cond_broadcast(&p->output);
    pthread_mutex_unlock(&p->lock);
}

/* Curves are handed on together, images one by one: the sink takes them out of a cache, and few are needed. */
void hcy__output_finish(hcy_pipeline *p, const struct pipe_worker *worker, const struct pipe_lane *lane)
{
    const size_t stride = p->sums_bytes / sizeof(uint64_t), together = TOGETHER / p->n_bins + 1;
    for (size_t i = 0; i < lane->n; i++) {
        struct pipe_output *output = hcy__output_at(p, lane->first + i);
        if (is_due(lane, i)) {
            output->device = worker->index;
            finish_frame(p, output, &lane->host_reports[i], lane->host_sums + i * stride);
        }
        if ((i + 1) % together == 0)
            make_ready(p, lane, i + 1 - together, i + 1);
    }
    make_ready(p, lane, lane->n - lane->n % together, lane->n);
}
