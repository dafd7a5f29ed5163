/* output.c - the ring in which frames wait until it is their turn, and handing its front out. */
#include "pipeline_priv.h"

#include <stdlib.h>

#include <halcyon/backend.h>

int hcy__ring_create(hcy_pipeline *p, size_t window)
{
    struct pipe_ring *ring = &p->ring;
    ring->entries = calloc(window, sizeof *ring->entries);
    ring->idle = calloc(window, sizeof *ring->idle);
    if (!ring->entries || !ring->idle)
        return hcy_fail(HCY_ENOMEM, "room for %zu curves", window);
    ring->window = window;
    if (p->region_job.n_regions) {
        ring->regions = calloc(window, p->region_job.n_regions * sizeof *ring->regions);
        if (!ring->regions)
            return hcy_fail(HCY_ENOMEM, "room for regions of %zu frames", window);
        for (size_t i = 0; i < window; i++)
            ring->entries[i].regions = ring->regions + i * p->region_job.n_regions;
    }
    /* As many results as entries, so that nothing is allocated in a run and a worker always finds one. */
    for (; ring->n_idle < window; ring->n_idle++) {
        hcy_azint_result **result = &ring->idle[ring->n_idle];
        int status = p->opts.flags & HCY_PIPELINE_MEANS ? hcy_azint_result_create_means(result, p->plan)
                                                        : hcy_azint_result_create(result, p->plan);
        if (status)
            return status;
    }
    return 0;
}

/* [lock] Nothing is in the entry any more. */
static void clear_entry(struct pipe_ring *ring, struct pipe_output *output)
{
    if (output->result)
        ring->idle[ring->n_idle++] = output->result;
    output->result = NULL;
    hcy__sparse_free(&output->sparse);
    output->ready = 0;
}

void hcy__ring_destroy(struct pipe_ring *ring)
{
    for (size_t i = 0; i < ring->window; i++)
        clear_entry(ring, &ring->entries[i]);
    for (size_t i = 0; i < ring->n_idle; i++)
        hcy_azint_result_destroy(ring->idle[i]);
    free(ring->idle);
    free(ring->regions);
    free(ring->entries);
}

void hcy__ring_begin(struct pipe_ring *ring)
{
    ring->accepted = ring->emitted = 0;
    ring->seen = 0;
    /* A run that was stopped has left frames behind. */
    for (size_t i = 0; i < ring->window; i++)
        clear_entry(ring, &ring->entries[i]);
}

hcy_azint_result *hcy__ring_take_result(struct pipe_ring *ring)
{
    return ring->idle[--ring->n_idle];
}

void hcy__output_begin(struct pipe_output *output, uint64_t number)
{
    output->number = number;
    output->report = (hcy_frame_report){ 0 };
    output->why[0] = 0;
    output->submitted = output->dropped = 0;
}

/* --- The front --- */

int hcy__front_wait(hcy_pipeline *p, uint64_t tick)
{
    struct pipe_output *front = hcy__ring_at(&p->ring, p->ring.emitted);
    int late = 0, found = 0;
    /* What is ready stays so until this thread takes it. */
    if (p->ring.seen)
        return 1;
    uint64_t waits = 0;
    hcy__pipe_lock(&p->control);
    while (!front->ready && !hcy__is_stopped(&p->control) && !late) {
        waits = waits ? waits : hcy_trace_begin();
        late = hcy__pipe_wait_until(&p->control, PIPE_OUTPUT, tick);
    }
    /* A frame that is there is handed out even if the run has stopped meanwhile. */
    if (front->ready)
        found = 1;
    else if (hcy__is_stopped(&p->control))
        found = -1;
    hcy__pipe_unlock(&p->control);
    hcy_trace_end(waits, "wait for curves", 0, 0, 0);
    return found;
}

void hcy__front_lend(hcy_pipeline *p, hcy_pipeline_frame *frame)
{
    struct pipe_output *output = hcy__ring_at(&p->ring, p->ring.emitted);
    *frame = (hcy_pipeline_frame){ output->number,  output->report.status ? NULL : output->result,
                                   &output->report, output->why,
                                   output->device,  output->dropped,
                                   output->report.status ? NULL : output->regions,
                                   output->report.status || !p->pick_job.capacity ? NULL : &output->sparse };
    /* A latency ends here: how long the host then keeps the result is its own affair. */
    output->lent = hcy_now_ns();
}

/* Its taker has had it for so long. */
static void retire_front(hcy_pipeline *p, uint64_t taken)
{
    struct pipe_output *output = hcy__ring_at(&p->ring, p->ring.emitted);
    int failed = output->report.status != 0;
    hcy__pipe_lock(&p->control);
    if (output->submitted)
        hcy__stats_latency(&p->stats, output->lent - output->submitted);
    clear_entry(&p->ring, output);
    p->ring.emitted++;
    p->ring.seen = hcy__ring_at(&p->ring, p->ring.emitted)->ready;
    hcy__stats_delivered(&p->stats, taken);
    hcy__stats_done(&p->stats, failed ? 0 : p->source.coding.image_bytes, failed);
    hcy__pipe_wake_one(&p->control, PIPE_SPACE);
    hcy__pipe_wake(&p->control, PIPE_DONE);
    hcy__pipe_unlock(&p->control);
}

void hcy__front_retire(hcy_pipeline *p)
{
    retire_front(p, 0);
}

int hcy__front_deliver(hcy_pipeline *p, hcy_pipeline_sink sink, void *payload)
{
    hcy_pipeline_frame frame;
    hcy__front_lend(p, &frame);
    uint64_t since = hcy_now_ns();
    int status = hcy__call_sink(p, sink, payload, &frame);
    if (hcy_trace_on())
        hcy_trace_end(since, "sink", frame.number, 1, 0);
    retire_front(p, hcy_now_ns() - since);
    return status;
}
