/* latency.c - times from submission to result, kept as a histogram of fixed size. */
#include "pipeline_priv.h"

#define STEPS PIPE_LATENCY_STEPS

/* [lowest, lowest + width) is the bucket's. */
static uint64_t bucket_lowest(size_t bucket, uint64_t *width)
{
    size_t shift = bucket < STEPS ? 0 : bucket / STEPS - 1;
    *width = (uint64_t)1 << shift;
    return bucket < STEPS ? bucket : (uint64_t)(STEPS + bucket % STEPS) << shift;
}

void hcy__latency_add(struct pipe_latency *latency, uint64_t ns)
{
    size_t shift = 0;
    while (ns >> shift >= 2 * STEPS)
        shift++;
    /* Below STEPS each time has a bucket of its own.  From there on what is left after the shift lies in STEPS to
     * 2 STEPS - 1, so each power of two has its own STEPS buckets. */
    size_t bucket = ns < STEPS ? (size_t)ns : (shift + 1) * STEPS + (size_t)(ns >> shift) - STEPS;
    latency->counts[bucket < PIPE_LATENCY_BUCKETS ? bucket : PIPE_LATENCY_BUCKETS - 1]++;
    latency->n++;
    latency->max = ns > latency->max ? ns : latency->max;
}

/* Seconds within which `part` of the frames had their result. */
static double find_percentile(const struct pipe_latency *latency, double part)
{
    uint64_t seen = 0, width;
    for (size_t i = 0; i < PIPE_LATENCY_BUCKETS; i++) {
        seen += latency->counts[i];
        if (seen && (double)seen >= part * (double)latency->n) {
            /* The middle of the bucket, which may lie above the largest time that is in it. */
            uint64_t ns = bucket_lowest(i, &width) + width / 2;
            return 1e-9 * (double)(ns < latency->max ? ns : latency->max);
        }
    }
    return 0;
}

void hcy__latency_show(const struct pipe_latency *latency, hcy_pipeline_stats *stats)
{
    stats->latency_p50 = find_percentile(latency, 0.5);
    stats->latency_p99 = find_percentile(latency, 0.99);
    stats->latency_max = 1e-9 * (double)latency->max;
}
