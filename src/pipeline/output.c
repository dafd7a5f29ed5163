/* output.c - the ring in which frames wait until it is their turn, and handing its front out. */
#include "pipeline_priv.h"

#include <stdio.h>
#include <stdlib.h>

#include <halcyon/backend.h>

#define TOGETHER 16    /* frames that leave the ring at once, */
#define SOON_NS  20000 /* if the sink has had them no longer */

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
    ring->taken = ring->seen = 0;
    ring->delivering = 0;
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

void hcy__output_fail(struct pipe_output *output, int status)
{
    output->report.status = status;
    snprintf(output->why, sizeof output->why, "%s", hcy_last_error()->text);
}

/* --- The front --- */

static struct pipe_output *find_front(struct pipe_ring *ring)
{
    return hcy__ring_at(ring, ring->emitted + ring->taken);
}

/* [lock] How many are ready one behind the other, up to so many as leave the ring together. */
static size_t count_seen(struct pipe_ring *ring)
{
    const size_t most = ring->window < TOGETHER ? ring->window : TOGETHER;
    size_t n = 0;
    while (n < most && hcy__ring_at(ring, ring->emitted + n)->ready)
        n++;
    return n;
}

int hcy__front_wait(hcy_pipeline *p, uint64_t tick)
{
    struct pipe_ring *ring = &p->ring;
    int late = 0, found = 0;
    /* What is ready stays so until this thread takes it. */
    if (ring->seen)
        return 1;
    uint64_t waits = 0;
    hcy__pipe_lock(&p->control);
    while (!(ring->seen = count_seen(ring)) && !hcy__is_stopped(&p->control) && !late) {
        waits = waits ? waits : hcy_trace_begin();
        late = hcy__pipe_wait_until(&p->control, PIPE_OUTPUT, tick);
    }
    /* A frame that is there is handed out even if the run has stopped meanwhile. */
    if (ring->seen)
        found = 1;
    else if (hcy__is_stopped(&p->control))
        found = -1;
    hcy__pipe_unlock(&p->control);
    hcy_trace_end(waits, "wait for curves", 0, 0, 0);
    return found;
}

static void lend_front(hcy_pipeline *p, hcy_pipeline_frame *frame, uint64_t now)
{
    struct pipe_output *output = find_front(&p->ring);
    *frame = (hcy_pipeline_frame){ output->number,  output->report.status ? NULL : output->result,
                                   &output->report, output->why,
                                   output->device,  output->dropped,
                                   output->report.status ? NULL : output->regions,
                                   output->report.status || !p->pick_job.capacity ? NULL : &output->sparse };
    /* A latency ends here: how long the host then keeps the result is its own affair. */
    output->lent = now;
}

void hcy__front_lend(hcy_pipeline *p, hcy_pipeline_frame *frame)
{
    lend_front(p, frame, hcy_now_ns());
}

/* [lock] The oldest of those that were handed out. */
static void retire_entry(hcy_pipeline *p)
{
    struct pipe_output *output = hcy__ring_at(&p->ring, p->ring.emitted);
    const int failed = output->report.status != 0;
    if (output->submitted)
        hcy__stats_latency(&p->stats, output->lent - output->submitted);
    clear_entry(&p->ring, output);
    p->ring.emitted++;
    hcy__stats_done(&p->stats, failed ? 0 : p->source.coding.image_bytes, failed);
}

void hcy__front_settle(hcy_pipeline *p, int status)
{
    struct pipe_ring *ring = &p->ring;
    const size_t several = ring->taken > 1;
    hcy__pipe_lock(&p->control);
    /* Before the frame counts as handed out: who waits for the last one must not take its end for a good one. */
    if (status)
        hcy__stop(&p->control, status, hcy_last_error());
    const int scarce = ring->accepted + p->opts.readers >= ring->emitted + ring->window;
    for (; ring->taken; ring->taken--)
        retire_entry(p);
    ring->seen = count_seen(ring);
    hcy__stats_delivered(&p->stats, ring->delivering);
    ring->delivering = 0;
    /* Where each producer would have found room, those that wait do so for a slot. */
    if (scarce && several)
        hcy__pipe_wake(&p->control, PIPE_SPACE);
    else if (scarce)
        hcy__pipe_wake_one(&p->control, PIPE_SPACE);
    hcy__pipe_wake(&p->control, PIPE_DONE);
    hcy__pipe_unlock(&p->control);
}

void hcy__front_retire(hcy_pipeline *p)
{
    p->ring.taken = 1;
    hcy__front_settle(p, 0);
}

int hcy__front_deliver(hcy_pipeline *p, hcy_pipeline_sink sink, void *payload)
{
    struct pipe_ring *ring = &p->ring;
    hcy_pipeline_frame frame;
    /* Clocks are not free at this rate: a frame behind another one begins where that ended. */
    const uint64_t since = ring->taken ? ring->ended : hcy_now_ns();
    lend_front(p, &frame, since);
    int status = hcy__call_sink(p, sink, payload, &frame);
    if (hcy_trace_on())
        hcy_trace_end(since, "sink", frame.number, 1, 0);
    ring->ended = hcy_now_ns();
    ring->delivering += ring->ended - since;
    ring->taken++;
    ring->seen--;
    /* Room in the ring is worth more than the lock where the sink takes its time. */
    if (status || !ring->seen || ring->delivering > SOON_NS)
        hcy__front_settle(p, status);
    return status;
}
