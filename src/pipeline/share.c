/* share.c - devices that share the processors: which of them stands by, when one of them leaves slots to others.
 *
 * Devices of the kind CPU (the CPU itself, other drivers for it) work with the processors that also read, parse and
 * feed the accelerators.  So two rules hold, by which a device more makes no run slower:
 *
 *   - More threads than processors only take them from each other (PoCL beside the CPU on the same cores halved the
 *     rate).  Such devices work together as long as all their threads find a processor; others stand by, and have the
 *     frames that the working ones refuse, or leave when they fail.
 *   - Beside accelerators such a device takes what is left: a batch that no accelerator would come to soon.  While
 *     reading cannot keep up, no batch waits and it takes none; while the accelerators are the slower part, filled
 *     slots pile up, and it takes one of them.  But it also takes memory's bandwidth and the processors that submit and
 *     divide (beside two H200s fed from a ring it cost them half of their rate and gave a quarter).  So what the
 *     accelerators do while it works is compared with what they do while it does not, and it pauses, longer and
 *     longer, when it brings less than it costs.  Its share so follows the run, and may be nothing.
 */
#include "pipeline_priv.h"

#include <string.h>

#include <halcyon/backend.h>

#define UNKNOWN_RATIO 32          /* times the speed of an accelerator over a CPU, before both have done a batch */
#define GAIN          1.02        /* what a device must bring to go on */
#define BASELINE      100000000u  /* ns of accelerators alone before the first trial */
#define FIRST_PAUSE   500000000u  /* ns after a trial that failed; four times as long each time */
#define LONGEST_PAUSE 10000000000u
#define MEMORY_NS     2000000000u /* of accelerators alone: then older ones count half */

/* --- Who stands by --- */

/* The CPU's own backend comes first, in whatever order they were named: it is the faster one on its processors. */
static int is_native(const struct pipe_worker *w)
{
    return !strcmp(hcy_device_get_info(w->device)->backend, "cpu");
}

static void share_among(struct pipe_workers *workers, int native, uint32_t *taken, uint32_t processors)
{
    for (struct pipe_worker *w = workers->all; w < workers->all + workers->n; w++) {
        uint32_t units = hcy_device_get_info(w->device)->units;
        if (w->failed || !w->on_processors || is_native(w) != native)
            continue;
        /* The first one works, however many threads it has. */
        w->stands_by = *taken && *taken + units > processors;
        if (!w->stands_by)
            *taken += units;
    }
}

void hcy__share_processors(struct pipe_workers *workers)
{
    uint32_t taken = 0, processors = hcy_processors();
    for (struct pipe_worker *w = workers->all; w < workers->all + workers->n; w++)
        w->on_processors = hcy_device_get_info(w->device)->kind == HCY_KIND_CPU;
    share_among(workers, 1, &taken, processors);
    share_among(workers, 0, &taken, processors);
    for (struct pipe_worker *w = workers->all; w < workers->all + workers->n; w++)
        w->stats.stands_by = w->stands_by;
}

static double rate_of(const struct pipe_worker *w)
{
    return w->stats.seconds > 0 ? (double)w->stats.frames / w->stats.seconds : 0;
}

/* --- Who takes a slot --- */

/* [lock] Is there a device that has not refused anything of this slot?  working: and that does not stand by. */
int hcy__others_take(const hcy_pipeline *p, const struct pipe_slot *slot, const struct pipe_worker *but, int working)
{
    for (const struct pipe_worker *w = p->workers.all; w < p->workers.all + p->workers.n; w++)
        if (w != but && !w->failed && !slot->refused[w->index] && !(working && w->stands_by))
            return 1;
    return 0;
}

/* [lock] Of the accelerators that work: how many, and frames a second of them all (0: one has done nothing yet). */
static size_t count_accelerators(const struct pipe_workers *workers, double *rate)
{
    size_t n = 0;
    int unknown = 0;
    *rate = 0;
    for (const struct pipe_worker *w = workers->all; w < workers->all + workers->n; w++)
        if (!w->failed && !w->on_processors) {
            n++;
            unknown |= rate_of(w) <= 0;
            *rate += rate_of(w);
        }
    /* A sum without one of them would be too small, and a CPU would take too much. */
    if (unknown)
        *rate = 0;
    return n;
}

/* --- What it costs the accelerators --- */

/* [lock] Ends a period in which the device worked, or did not, on what the accelerators have done meanwhile. */
static void end_period(struct pipe_worker *w, struct pipe_period *period)
{
    const struct pipe_workers *workers = &w->pipeline->workers;
    uint64_t now = hcy_now_ns(), frames = 0;
    for (const struct pipe_worker *a = workers->all; a < workers->all + workers->n; a++)
        frames += a->on_processors ? 0 : a->stats.frames;
    period->frames += (double)(frames - w->gate.frames);
    period->ns += (double)(now - w->gate.since);
    w->gate.frames = frames;
    w->gate.since = now;
}

void hcy__share_begin(struct pipe_worker *w)
{
    w->gate = (struct pipe_gate){ .since = hcy_now_ns(), .pause = FIRST_PAUSE };
    /* Accelerators' counts may go on from an earlier run. */
    end_period(w, &w->gate.alone);
    w->gate.alone = (struct pipe_period){ 0, 0 };
}

void hcy__share_taken(struct pipe_worker *w)
{
    /* What the accelerators did until now, they did without this device. */
    if (w->on_processors)
        end_period(w, &w->gate.alone);
    if (w->gate.alone.ns > MEMORY_NS) {
        w->gate.alone.ns /= 2;
        w->gate.alone.frames /= 2;
    }
}

void hcy__share_done(struct pipe_worker *w)
{
    struct pipe_gate *g = &w->gate;
    if (!w->on_processors)
        return;
    end_period(w, &g->beside);
    if (g->beside.ns <= 0 || g->alone.ns <= 0)
        return;
    double alone = g->alone.frames / g->alone.ns, together = g->beside.frames / g->beside.ns + 1e-9 * rate_of(w);
    /* A trial that paid takes back what earlier ones have lengthened, since the run may have changed meanwhile. */
    if (together >= GAIN * alone) {
        g->pause = FIRST_PAUSE;
        return;
    }
    g->closed_until = g->since + g->pause;
    g->pause = g->pause < LONGEST_PAUSE / 4 ? 4 * g->pause : LONGEST_PAUSE;
    /* The next trial is judged by itself. */
    g->beside = (struct pipe_period){ 0, 0 };
}

/* [lock] */
static int is_open(const struct pipe_gate *gate)
{
    uint64_t now = hcy_now_ns();
    return now >= gate->closed_until && gate->alone.ns + (double)(now - gate->since) >= BASELINE;
}

/* [lock] Would the accelerators be through with all that is left before this device is with the slot? */
static int comes_too_late(const struct pipe_worker *w, const struct pipe_slot *slot, double accelerators)
{
    const hcy_pipeline *p = w->pipeline;
    double own = rate_of(w), ratio = own > 0 && accelerators > 0 ? accelerators / own : UNKNOWN_RATIO;
    /* Frames that nobody has read yet count as well as batches that are ready: the accelerators take both. */
    double waiting = (double)hcy__frames_left(&p->reader);
    for (const struct pipe_slot *s = hcy__slots_ready(&p->slots); s; s = s->next)
        waiting += (double)s->n;
    return waiting < ratio * (double)slot->n;
}

/* [lock] Every accelerator finds another batch ready, and has more to do than this one takes. */
static int is_left_over(const struct pipe_worker *w, const struct pipe_slot *slot)
{
    double rate;
    size_t n = count_accelerators(&w->pipeline->workers, &rate);
    return !n ||
           (hcy__slots_n_ready(&w->pipeline->slots) > n && is_open(&w->gate) && !comes_too_late(w, slot, rate));
}

int hcy__may_take(const struct pipe_worker *w, const struct pipe_slot *slot)
{
    const hcy_pipeline *p = w->pipeline;
    /* What it has refused it takes if nobody else is left. */
    if (slot->refused[w->index])
        return !hcy__others_take(p, slot, w, 0);
    if (w->stands_by && hcy__others_take(p, slot, w, 1))
        return 0;
    /* What others have refused is not left over: it waits for this device. */
    return !w->on_processors || slot->again || is_left_over(w, slot);
}

/* [lock] Is a device left that does not stand by? */
static int has_working(const struct pipe_workers *workers)
{
    for (const struct pipe_worker *w = workers->all; w < workers->all + workers->n; w++)
        if (!w->failed && !w->stands_by)
            return 1;
    return 0;
}

int hcy__may_close(const struct pipe_worker *w)
{
    double rate;
    /* A slot that is still being filled is left to the devices whose time it is worth, as long as there is one. */
    return !(w->stands_by && has_working(&w->pipeline->workers)) &&
           !(w->on_processors && count_accelerators(&w->pipeline->workers, &rate));
}

int hcy__has_accelerators(const struct pipe_workers *workers)
{
    size_t n = 0;
    for (size_t i = 0; i < workers->n; i++)
        n += !workers->all[i].on_processors;
    return n != 0;
}

/* --- Batches --- */

size_t hcy__batch_in_time(const hcy_pipeline *p)
{
    double slowest = 0;
    for (const struct pipe_worker *w = p->workers.all; w < p->workers.all + p->workers.n; w++)
        if (!w->failed && !w->stands_by && rate_of(w) > 0 && (slowest <= 0 || rate_of(w) < slowest))
            slowest = rate_of(w);
    if (!p->opts.latency)
        return p->batch;
    /* Until a rate is known a frame goes alone.  A frame waits for a batch before its own, is in one, and its curve is
     * made: a third each. */
    double n = slowest * 1e-9 * (double)p->opts.latency / 3;
    if (n < 1)
        return 1;
    return n < (double)p->batch ? (size_t)n : p->batch;
}
