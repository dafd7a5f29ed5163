/* stats.c - what a run has done so far, and the copy of it that callers see. */
#include "pipeline_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halcyon/backend.h>

int hcy__stats_create(struct pipe_stats *stats, size_t n_devices)
{
    stats->devices = calloc(n_devices, sizeof *stats->devices);
    return stats->devices ? 0 : hcy_fail(HCY_ENOMEM, "the statistics of %zu devices", n_devices);
}

void hcy__stats_destroy(struct pipe_stats *stats)
{
    free(stats->devices);
}

void hcy__stats_begin(struct pipe_stats *stats, uint64_t frames, int goes_on)
{
    stats->begun = hcy_now_ns();
    stats->blocked = 0;
    if (!goes_on) {
        stats->counts = (hcy_pipeline_stats){ 0 };
        stats->start = stats->begun;
        stats->copied[0] = 0;
    }
    stats->counts.frames += frames;
    /* A push never goes on from a run, and only its frames have latencies. */
    memset(&stats->latency, 0, sizeof stats->latency);
}

void hcy__stats_end(const struct pipe_stats *stats)
{
    hcy_trace_end(stats->begun, "run", 0, 0, 0);
}

/* The longest time that a working device had nothing to do, of the run's. */
static double find_idle(const hcy_pipeline_stats *s)
{
    double idle = 0;
    for (size_t i = 0; i < s->n_devices; i++)
        if (!s->devices[i].stands_by && !s->devices[i].error.status && s->devices[i].idle > idle)
            idle = s->devices[i].idle;
    return s->seconds > 0 ? idle / s->seconds : 0;
}

/* The sink, if it was busy nearly all the time.  Else the devices, if those that feed them were out of room for a good
 * part of it, or were through early and left them at work; else the feeding. */
static int find_bound(const hcy_pipeline_stats *s, unsigned feeders)
{
    if (s->delivering > 0.8 * s->seconds)
        return HCY_PIPELINE_BY_SINK;
    return s->waited > 0.25 * s->seconds * feeders || find_idle(s) < 0.25 ? HCY_PIPELINE_BY_DEVICES
                                                                          : HCY_PIPELINE_BY_READING;
}

/* In a push a full queue says that the pipeline is the slower part, one with room that the host is.  Feeders that copy
 * and devices are told apart by which of them had nothing to do: feeders are many and wait for chunks, too. */
static int find_push_bound(const hcy_pipeline_stats *s, double blocked)
{
    if (s->delivering > 0.8 * s->seconds)
        return HCY_PIPELINE_BY_SINK;
    if (blocked < 0.25 * s->seconds && !s->dropped)
        return HCY_PIPELINE_BY_SUBMITTING;
    return find_idle(s) > 0.5 ? HCY_PIPELINE_BY_READING : HCY_PIPELINE_BY_DEVICES;
}

const char *hcy_pipeline_bound_name(int bound)
{
    static const char *const names[] = { "reading", "devices", "sink", "submitting" };
    return bound >= 0 && bound <= HCY_PIPELINE_BY_SUBMITTING ? names[bound] : "?";
}

const hcy_pipeline_stats *hcy__stats_show(hcy_pipeline *p)
{
    struct pipe_stats *stats = &p->stats;
    hcy__pipe_lock(&p->control);
    stats->shown = stats->counts;
    const int push = p->push != NULL;
    const double blocked = stats->blocked;
    if (push)
        snprintf(stats->copied, sizeof stats->copied, "%s", hcy__push_copied(p->push) ? hcy__push_copied(p->push) : "");
    hcy__latency_show(&stats->latency, &stats->shown);
    hcy__workers_show(&p->workers, stats->devices);
    hcy__pipe_unlock(&p->control);
    stats->shown.seconds = 1e-9 * (double)(hcy_now_ns() - stats->start);
    stats->shown.batch = p->batch;
    stats->shown.n_devices = hcy__n_devices(&p->workers);
    stats->shown.devices = stats->devices;
    stats->shown.copied = stats->copied[0] ? stats->copied : NULL;
    stats->shown.bound = push ? find_push_bound(&stats->shown, blocked) : find_bound(&stats->shown, p->opts.readers);
    return &stats->shown;
}

int hcy__stats_cancelled(const struct pipe_stats *stats)
{
    return hcy_fail(HCY_ECANCELLED, "stopped after %llu of %llu frames", (unsigned long long)stats->counts.done,
                    (unsigned long long)stats->counts.frames);
}

const hcy_pipeline_stats *hcy_pipeline_get_stats(const hcy_pipeline *p)
{
    if (hcy__check_call(p, "hcy_pipeline_get_stats"))
        return NULL;
    /* A run makes copies in its own thread, where callbacks look at them; in a push nobody else makes any. */
    return p->push ? hcy__stats_show((hcy_pipeline *)p) : &p->stats.shown;
}
