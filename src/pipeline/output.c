/* output.c - from sums to curves, and the ring in which frames wait until it is their turn. */
#include "pipeline_priv.h"

#include <stdio.h>
#include <stdlib.h>

int hcy__output_create(hcy_pipeline *p, size_t window)
{
    p->ring = calloc(window, sizeof *p->ring);
    if (!p->ring)
        return hcy_fail(HCY_ENOMEM, "room for %zu curves", window);
    p->window = window;
    for (size_t i = 0; i < window; i++) {
        hcy_azint_result **result = &p->ring[i].result;
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
        hcy_azint_result_destroy(p->ring[i].result);
    free(p->ring);
}

void hcy__output_begin(struct pipe_output *output, uint64_t number)
{
    output->number = number;
    output->report = (hcy_frame_report){ 0 };
    output->why[0] = 0;
    output->submitted = output->dropped = 0;
}

static void finish_frame(hcy_pipeline *p, struct pipe_output *output, const hcy_frame_report *report,
                         const uint64_t *sums)
{
    if (output->report.status)
        return; /* it was read or parsed in vain, and its producer has said why */
    output->report = *report;
    if (report->status) {
        snprintf(output->why, sizeof output->why, "block %u, at byte %llu of its chunk: %s", report->block,
                 (unsigned long long)report->byte, hcy_status_text(report->status));
        return;
    }
    double normalization = 1.0;
    if (p->opts.normalization)
        normalization = p->opts.normalization(p->opts.normalization_payload, output->number);
    output->report.status = hcy_azint_finish(output->result, p->plan, &p->job, sums, report, normalization);
    if (output->report.status)
        snprintf(output->why, sizeof output->why, "%s", hcy_last_error()->text);
}

void hcy__output_finish(hcy_pipeline *p, const struct pipe_worker *worker, const struct pipe_lane *lane)
{
    size_t stride = p->sums_bytes / sizeof(uint64_t);
    for (size_t i = 0; i < lane->n; i++) {
        struct pipe_output *output = hcy__output_at(p, lane->first + i);
        output->device = worker->index;
        finish_frame(p, output, &lane->host_reports[i], lane->host_sums + i * stride);
    }
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < lane->n; i++)
        hcy__output_at(p, lane->first + i)->ready = 1;
    pthread_cond_broadcast(&p->output);
    pthread_mutex_unlock(&p->lock);
}
