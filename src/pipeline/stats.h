/* stats.h - what a run has done so far (stats.c owns it, with latency.c).
 *
 * Lock rules: `counts` and `latency` are under the lock while a run is in progress.  `shown`, their copy, is written by
 * the run's thread under the lock; each thread that asks has a copy of its own.
 */
#ifndef HCY_PIPELINE_STATS_H
#define HCY_PIPELINE_STATS_H

#include <halcyon/backend.h>
#include <halcyon/pipeline.h>
#include <pthread.h>

/* Times in buckets, 32 to a power of two: percentiles are right to 2 in 100. */
#define PIPE_LATENCY_STEPS   32
#define PIPE_LATENCY_BUCKETS (PIPE_LATENCY_STEPS * 44)
struct pipe_latency {
    uint64_t counts[PIPE_LATENCY_BUCKETS], n, max;
};
/* [lock] One time more, and what they come to. */
void hcy__latency_add(struct pipe_latency *latency, uint64_t ns);
void hcy__latency_show(const struct pipe_latency *latency, hcy_pipeline_stats *stats);

/* What hcy_pipeline_get_stats() has told a thread last. */
struct pipe_told {
    struct pipe_told *next;
    pthread_t thread;
    hcy_pipeline_stats stats;
    char copied[512];
    hcy_pipeline_device devices[];
};

struct pipe_stats {
    hcy_pipeline_stats counts;   /* [lock] */
    struct pipe_latency latency; /* [lock] */
    uint64_t start;              /* ns, of the first run that the counts are of; 0: there was none */
    uint64_t begun;              /* ns, of the last one */
    double blocked;              /* [lock] seconds in which who submits found no room; of all threads */
    struct pipe_told *shown;     /* by the run's thread, or none's; its `next` are those of who asked [lock] */
};

int hcy__stats_create(struct pipe_stats *stats, size_t n_devices);
void hcy__stats_destroy(struct pipe_stats *stats);
/* [lock] A run of so many frames begins; goes_on: its counts are added to those that there are. */
void hcy__stats_begin(struct pipe_stats *stats, uint64_t frames, int goes_on);
/* The run is over, as the timeline shows it. */
void hcy__stats_end(const struct pipe_stats *stats);
/* A copy for the run's thread that stays as it is until the next one. */
const hcy_pipeline_stats *hcy__stats_show(hcy_pipeline *p);

static inline const hcy_pipeline_stats *hcy__stats_shown(const struct pipe_stats *stats)
{
    return &stats->shown->stats;
}

static inline int hcy__stats_has_run(const struct pipe_stats *stats)
{
    return stats->start != 0;
}
/* [lock] A chunk was read; a frame was handed out, of so many decoded bytes, and how long it took. */
static inline void hcy__stats_stored(struct pipe_stats *stats, uint64_t bytes)
{
    stats->counts.bytes_stored += bytes;
}
static inline void hcy__stats_done(struct pipe_stats *stats, uint64_t bytes, int failed)
{
    stats->counts.done++;
    stats->counts.failed += (uint64_t)failed;
    stats->counts.bytes_raw += bytes;
}
static inline void hcy__stats_latency(struct pipe_stats *stats, uint64_t ns)
{
    hcy__latency_add(&stats->latency, ns);
}
/* [lock] A producer has found no room since `since`, or a host that submits; the sink has had a frame so long; a frame
 * is used in place. */
static inline void hcy__stats_waited(struct pipe_stats *stats, uint64_t since)
{
    stats->counts.waited += 1e-9 * (double)(hcy_now_ns() - since);
}
static inline void hcy__stats_blocked(struct pipe_stats *stats, uint64_t since)
{
    stats->blocked += 1e-9 * (double)(hcy_now_ns() - since);
}
static inline void hcy__stats_delivered(struct pipe_stats *stats, uint64_t ns)
{
    stats->counts.delivering += 1e-9 * (double)ns;
}
static inline void hcy__stats_in_place(struct pipe_stats *stats)
{
    stats->counts.in_place++;
}
/* [lock] A push: a frame more; one of those less, which will have no result. */
static inline void hcy__stats_submitted(struct pipe_stats *stats)
{
    stats->counts.frames++;
}
static inline void hcy__stats_dropped(struct pipe_stats *stats)
{
    stats->counts.dropped++;
    stats->counts.frames--;
}
/* [lock] Frames to be done. */
static inline uint64_t hcy__stats_frames(const struct pipe_stats *stats)
{
    return stats->counts.frames;
}
/* HCY_ECANCELLED, and after how many frames. */
int hcy__stats_cancelled(const struct pipe_stats *stats);

#endif
