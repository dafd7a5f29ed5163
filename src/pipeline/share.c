/* share.c - devices that share the processors: which of them stands by, when one of them leaves slots to others.
 *
 * Devices of the kind CPU (the CPU itself, OpenCL on it) work with the processors that also read, parse and feed the
 * accelerators.  So two rules hold, by which a device more makes no run slower:
 *
 *   - More threads than processors only take them from each other (PoCL beside the CPU on the same cores halved the
 *     rate).  Such devices work together as long as all their threads find a processor; others stand by, and have the
 *     frames that the working ones refuse, or leave when they fail.
 *   - Beside accelerators such a device takes what is left: a batch that no accelerator would come to soon.  While
 *     reading cannot keep up, no batch waits and it takes none; while the accelerators are the slower part, filled
 *     slots pile up, and it takes one of them.  Its share so follows the run, and may be nothing.
 */
#include "pipeline_priv.h"

#include <string.h>

#include <halcyon/backend.h>

#define UNKNOWN_RATIO 32 /* times the speed of an accelerator over a CPU, before both have done a batch */

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

/* --- Who takes a slot --- */

/* [lock] Is there a device that has not refused anything of this slot?  working: and that does not stand by. */
int hcy__others_take(const hcy_pipeline *p, const struct pipe_slot *slot, const struct pipe_worker *but, int working)
{
    for (const struct pipe_worker *w = p->workers.all; w < p->workers.all + p->workers.n; w++)
        if (w != but && !w->failed && !slot->refused[w->index] && !(working && w->stands_by))
            return 1;
    return 0;
}

static double rate_of(const struct pipe_worker *w)
{
    return w->stats.seconds > 0 ? (double)w->stats.frames / w->stats.seconds : 0;
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
    if (unknown)
        *rate = 0;
    return n;
}

/* [lock] Would the accelerators be through with all that is left before this device is with the slot? */
static int comes_too_late(const struct pipe_worker *w, const struct pipe_slot *slot, double accelerators)
{
    const hcy_pipeline *p = w->pipeline;
    double own = rate_of(w), ratio = own > 0 && accelerators > 0 ? accelerators / own : UNKNOWN_RATIO;
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
    return !n || (w->pipeline->slots.n_ready > n && !comes_too_late(w, slot, rate));
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

int hcy__may_close(const struct pipe_worker *w)
{
    double rate;
    /* A slot that is still being filled is left to the devices whose time it is worth. */
    return !w->stands_by && !(w->on_processors && count_accelerators(&w->pipeline->workers, &rate));
}

int hcy__has_accelerators(const struct pipe_workers *workers)
{
    size_t n = 0;
    for (size_t i = 0; i < workers->n; i++)
        n += !workers->all[i].on_processors;
    return n != 0;
}
