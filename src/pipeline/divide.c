/* divide.c - threads that make curves of the sums which accelerators send back.
 *
 * Dividing is no small part beside a GPU, which would be idle after each batch while the thread that feeds it divides
 * (HALCYON_TRACE draws both).  So a lane whose batch is done is queued here, a few threads take shares of its frames,
 * oldest lanes first, and the last one to finish gives the lane back to its worker.  Devices that read the host's
 * memory need none: their processors are those that would divide.
 */
#include "pipeline_priv.h"
#include "thread.h"

#include <halcyon/backend.h>

#define SHARE    4 /* frames that a thread takes at once */
#define A_DEVICE 3 /* threads, with which one H200 is no longer kept waiting */

/* [lock] The next share of the queue's first lane, which leaves the queue with its last one. */
static struct pipe_lane *take_share(hcy_pipeline *p, size_t *first, size_t *n)
{
    struct pipe_dividers *d = &p->workers.dividers;
    struct pipe_lane *lane = d->head;
    /* Frames with very many bins are divided one by one: few results are in use at a time. */
    size_t share = hcy__frames_together(p);
    share = share < SHARE ? share : SHARE;
    *first = lane->divided;
    *n = lane->n - *first < share ? lane->n - *first : share;
    lane->divided += *n;
    if (lane->divided == lane->n) {
        d->head = lane->queued;
        lane->queued = NULL;
    }
    return lane;
}

static void *divide_sums(void *pipeline)
{
    hcy_pipeline *p = pipeline;
    struct pipe_control *c = &p->control;
    size_t first, n;
    hcy_trace_name_thread("divider");
    hcy__stay_near_all(&p->workers);
    hcy__pipe_lock(c);
    for (;;) {
        while (!p->workers.dividers.head && !hcy__is_quitting(c))
            hcy__pipe_wait(c, PIPE_SUMS);
        /* A pipeline is destroyed after its runs, so nothing is left in the queue then. */
        if (!p->workers.dividers.head)
            break;
        struct pipe_lane *lane = take_share(p, &first, &n);
        /* The share belongs to this thread alone, and dividing is what the others should be able to do meanwhile. */
        hcy__pipe_unlock(c);
        hcy__finish_frames(p, lane->worker, lane, first, first + n);
        hcy__pipe_lock(c);
        lane->left -= n;
        if (!lane->left) {
            hcy__hand_slot_on(lane->worker, lane);
            lane->busy = 0;
            hcy__pipe_wake(c, PIPE_WORK);
        }
    }
    hcy__pipe_unlock(c);
    hcy_trace_name_thread(NULL);
    return NULL;
}

void hcy__divide_lane(hcy_pipeline *p, struct pipe_lane *lane)
{
    struct pipe_lane **end = &p->workers.dividers.head;
    hcy__pipe_lock(&p->control);
    /* Until its curves are made the lane's sums are being read, so no batch may be launched into it. */
    lane->busy = 1;
    lane->divided = 0;
    lane->left = lane->n;
    while (*end)
        end = &(*end)->queued;
    *end = lane;
    hcy__pipe_wake(&p->control, PIPE_SUMS);
    hcy__pipe_unlock(&p->control);
}

int hcy__dividers_start(hcy_pipeline *p)
{
    struct pipe_dividers *d = &p->workers.dividers;
    /* The other half of the processors reads, parses and submits. */
    size_t want = 0, most = (hcy_processors() + 1) / 2;
    /* One that stands by may have to work, and its sums then come the same way. */
    for (const struct pipe_worker *w = p->workers.all; w < p->workers.all + p->workers.n; w++)
        want += w->failed || w->direct ? 0 : A_DEVICE;
    want = want < most ? want : most;
    want = want < PIPE_MAX_DIVIDERS ? want : PIPE_MAX_DIVIDERS;
    /* Fewer than were wanted are slower, which is no failure; none at all is one. */
    while (d->n < want && !hcy__thread_create(&d->threads[d->n], divide_sums, p))
        d->n++;
    return want && !d->n ? hcy_fail(HCY_ENOMEM, "a thread that makes curves") : 0;
}

void hcy__dividers_join(struct pipe_dividers *d)
{
    while (d->n)
        pthread_join(d->threads[--d->n], NULL);
}
