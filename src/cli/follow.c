/* follow.c - waiting for a stack, and integrating it as it grows.
 *
 * All frames that are there are one run of the pipeline; then the file is looked at again.  Looks take longer the
 * more frames there are, so that the pause between two of them is ten times what the last one took. */
#include "follow.h"
#include "interrupt.h"
#include "timer.h"
#include <time.h>

#define SHORTEST_PAUSE 0.02
#define NAP 0.05

static void nap(double seconds)
{
    struct timespec t = { 0, (long)(1e9 * (seconds < NAP ? seconds : NAP)) };
    nanosleep(&t, NULL); /* a signal ends it */
}

int follow_open(hcy_stack **stack, const char *path, const hcy_stack_options *opts, double timeout)
{
    double until = timer_now() + timeout;
    for (;;) {
        /* A file that is being created may be absent, empty or half a header: any of that may pass. A wrong
         * argument, or what this build cannot read, does not get better by waiting. */
        int status = hcy_stack_open_with(stack, path, opts);
        if (!status || status == HCY_ENOMEM || status == HCY_EINVAL || status == HCY_EUNSUPPORTED ||
            timer_now() >= until)
            return status;
        nap(NAP);
    }
}

/* Frames that can be done. */
static uint64_t count_ready_frames(const struct follow *f, int rest)
{
    uint64_t frames = hcy_stack_get_info(f->stack)->frames, n = frames < f->last ? frames : f->last;
    return f->ready ? f->ready(f->ready_payload, n, rest) : n;
}

int follow_run(const struct follow *f, uint64_t *next, hcy_pipeline_sink sink, hcy_pipeline_progress progress,
               void *payload)
{
    double came = timer_now(), look = came; /* when a frame came last, when to look next */
    uint64_t last = count_ready_frames(f, 0);
    int status = 0, rest = 0;
    *next = f->first;
    while (!status && *next < f->last && !interrupt_came()) {
        /* New frames are one run: the pipeline stays open, with its buffers and compiled kernels. */
        if (*next < last) {
            status = hcy_pipeline_run(f->pipeline, f->stack, *next, last, sink, progress, payload);
            *next = last;
            came = timer_now();
            /* The frames of the last look are done, and the time without a new one was over before it. */
            if (rest)
                break;
        } else if (rest) {
            break;
        } else if (timer_now() < look) {
            nap(look - timer_now());
            status = f->idle ? f->idle(f->idle_payload) : 0;
            continue;
        }
        double start = timer_now();
        /* The last look takes what is there: also a frame whose neighbours in the file never came. */
        rest = start - came >= f->timeout;
        if (hcy_stack_refresh(f->stack, rest) && rest) /* else the next look may succeed */
            break;
        last = count_ready_frames(f, rest);
        /* Looking is slow on network file systems, so it may not take more than a tenth of the time. */
        double took = timer_now() - start;
        look = timer_now() + (11 * took > SHORTEST_PAUSE ? 10 * took : SHORTEST_PAUSE);
    }
    /* The three ends without an error of the pipeline are told apart here: the user, a lacking monitor, no
     * more frames. */
    if (!status && interrupt_came())
        return hcy_fail(HCY_ECANCELLED, "stopped before frame %llu", (unsigned long long)*next);
    if (!status && *next < f->last && *next < hcy_stack_get_info(f->stack)->frames)
        return hcy_fail(HCY_ENOENT, "frame %llu came, but no monitor for it within %g s", (unsigned long long)*next,
                        f->timeout);
    if (!status && *next < f->last)
        return hcy_fail(HCY_ETIMEOUT, "no frame %llu within %g s", (unsigned long long)*next, f->timeout);
    return status;
}
