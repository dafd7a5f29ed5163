/* frames.h - the decoded frames of a stack, one after the other, by several threads: what decompress, compress
 * and sum share.
 *
 * Each thread takes the next frames that are free, reads them, has a device decode them, and hands the images
 * to `take`; with two threads a device one reads and writes while the other decodes.  Memory depends on the
 * threads and the size of a frame, never on the number of frames.
 */
#ifndef HCY_CLI_FRAMES_H
#define HCY_CLI_FRAMES_H

#include "cli.h"
#include "progress.h"
#include "raw.h"
#include <halcyon/stack.h>
#include <pthread.h>
#include <stdatomic.h>

struct frames {
    /* What the caller sets; `threads` 0: two a device. */
    const char *path, *dataset, *channel, *device_list;
    struct cli_span span;
    hcy_shard shard; /* whose frames alone, of those of the span; count 0: all */
    struct cli_raw raw;
    unsigned threads;
    int quiet, no_summary; /* no_summary: what is under way alone is shown */
    /* In any of the threads, `thread` saying which; pixels NULL: the frame failed.  A status ends the run. */
    int (*take)(void *payload, unsigned thread, uint64_t frame, const void *pixels);
    void *payload;
    /* What frames_open() finds. */
    hcy_stack *stack;
    const hcy_stack_info *info;
    uint64_t first, last;
    struct hcy_device **devices;
    size_t n_devices;
    char *lost; /* [n_devices], under the lock: it failed, and its frames go to the others */
    /* The run's own. */
    struct progress progress;
    double setup; /* seconds until the run began */
    size_t batch;
    _Atomic uint64_t next, bytes_stored;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned working; /* below: under the lock */
    hcy_pipeline_stats stats;
    hcy_error error;      /* status 0: none */
    uint64_t failed[100]; /* the first of the frames that failed, as they came */
};

/* Opens the stack and the devices; CLI_* with the message printed.  frames_close() in any case. */
int frames_open(struct frames *f);
/* Before `output` is written: it is none of what is read. */
int frames_guard(const struct frames *f, const char *output);
/* Before frames_run(): how many threads there will be. */
unsigned frames_threads(const struct frames *f);
/* CLI_OK if every frame was taken and none failed.  Prints what failed, and the summary. */
int frames_run(struct frames *f);
/* After it: whether every frame was taken, be it as one that failed. */
int frames_all_taken(const struct frames *f);
void frames_close(struct frames *f);

#endif
