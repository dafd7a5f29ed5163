/* stats.c - what a run has done so far, and the copy of it that callers see. */
#include "pipeline_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halcyon/backend.h>

static struct pipe_told *new_told(size_t n_devices)
{
    struct pipe_told *told = calloc(1, sizeof *told + n_devices * sizeof *told->devices);
    if (!told)
        hcy_fail(HCY_ENOMEM, "the statistics of %zu devices", n_devices);
    return told;
}

int hcy__stats_create(struct pipe_stats *stats, size_t n_devices)
{
    stats->shown = new_told(n_devices);
    return stats->shown ? 0 : HCY_ENOMEM;
}

void hcy__stats_destroy(struct pipe_stats *stats)
{
    while (stats->shown) {
        struct pipe_told *told = stats->shown;
        stats->shown = told->next;
        free(told);
    }
}

void hcy__stats_begin(struct pipe_stats *stats, uint64_t frames, int goes_on)
{
    stats->begun = hcy_now_ns();
    stats->blocked = 0;
    if (!goes_on) {
        stats->counts = (hcy_pipeline_stats){ 0 };
        stats->start = stats->begun;
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

/* [lock] What there is now. */
static void look(struct pipe_told *told, const hcy_pipeline *p)
{
    const struct pipe_stats *stats = &p->stats;
    hcy_pipeline_stats *s = &told->stats;
    const char *copied = hcy__push_copied(p->push);
    *s = stats->counts;
    hcy__latency_show(&stats->latency, s);
    hcy__workers_show(&p->workers, told->devices);
    s->seconds = 1e-9 * (double)(hcy_now_ns() - stats->start);
    s->batch = p->batch;
    s->n_devices = hcy__n_devices(&p->workers);
    s->devices = told->devices;
    snprintf(told->copied, sizeof told->copied, "%s", copied ? copied : "");
    s->copied = copied ? told->copied : NULL;
    s->bound = p->push ? find_push_bound(s, stats->blocked) : find_bound(s, p->opts.readers);
}

const hcy_pipeline_stats *hcy__stats_show(hcy_pipeline *p)
{
    hcy__pipe_lock(&p->control);
    look(p->stats.shown, p);
    hcy__pipe_unlock(&p->control);
    return &p->stats.shown->stats;
}

/* [lock] The calling thread's own copy. */
static struct pipe_told *find_told(struct pipe_stats *stats, size_t n_devices)
{
    struct pipe_told *told = stats->shown->next;
    while (told && !pthread_equal(told->thread, pthread_self()))
        told = told->next;
    if (told || !(told = new_told(n_devices)))
        return told;
    told->thread = pthread_self();
    told->next = stats->shown->next;
    stats->shown->next = told;
    return told;
}

int hcy__stats_cancelled(const struct pipe_stats *stats)
{
    return hcy_fail(HCY_ECANCELLED, "stopped after %llu of %llu frames", (unsigned long long)stats->counts.done,
                    (unsigned long long)stats->counts.frames);
}

const hcy_pipeline_stats *hcy_pipeline_get_stats(const hcy_pipeline *pipeline)
{
    hcy_pipeline *p = (hcy_pipeline *)(uintptr_t)pipeline;
    if (hcy__check_call(p, "hcy_pipeline_get_stats"))
        return NULL;
    hcy__pipe_lock(&p->control);
    struct pipe_told *told = find_told(&p->stats, hcy__n_devices(&p->workers));
    const struct pipe_told *shown = p->stats.shown;
    if (told && p->push) {
        look(told, p);
    } else if (told) {
        /* As the run's thread saw it last: what it does in between is its own affair. */
        told->stats = shown->stats;
        memcpy(told->copied, shown->copied, sizeof told->copied);
        memcpy(told->devices, shown->devices, shown->stats.n_devices * sizeof *told->devices);
        told->stats.devices = shown->stats.devices ? told->devices : NULL;
        told->stats.copied = shown->stats.copied ? told->copied : NULL;
    }
    hcy__pipe_unlock(&p->control);
    return told ? &told->stats : NULL;
}
