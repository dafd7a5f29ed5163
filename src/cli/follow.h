/* follow.h - a stack that grows while it is integrated: waiting for it, run after run over what is new. */
#ifndef HCY_CLI_FOLLOW_H
#define HCY_CLI_FOLLOW_H

#include "cli.h"
#include <halcyon/pipeline.h>

struct follow {
    hcy_pipeline *pipeline; /* made with HCY_PIPELINE_ADD_UP */
    hcy_stack *stack;
    uint64_t first, last; /* last UINT64_MAX: as many as come */
    double timeout;       /* seconds without a new frame */
    /* What a frame needs beside itself: of the first n, how many have it; NULL: nothing.  `rest`: as they are now. */
    uint64_t (*ready)(void *payload, uint64_t n, int rest);
    void *ready_payload;
    /* Called now and then while no frame comes; a failure ends it. */
    int (*idle)(void *payload);
    void *idle_payload;
};

/* Opens the stack as soon as it has a frame.  The last failure's status after `timeout` seconds. */
int follow_open(hcy_stack **stack, const char *path, const hcy_stack_options *opts, double timeout);
/* hcy_pipeline_run() over the frames as they come.  0 after the last one; HCY_ETIMEOUT if it did not come: then
 * *next is the first frame that was not done.  HCY_ENOENT: it came, but not what it needs. */
int follow_run(const struct follow *follow, uint64_t *next, hcy_pipeline_sink sink, hcy_pipeline_progress progress,
               void *payload);

#endif
