/* group.h - between the pipeline and the file of curves: frames summed N by N, running averages, monitors that they are
 * divided by.
 * Used from the pipeline's sink, one thread at a time; group_monitor() from any of its threads. */
#ifndef HCY_CLI_GROUP_H
#define HCY_CLI_GROUP_H

#include "cli.h"
#include "failures.h"

struct group {
    uint64_t size;   /* frames a curve; 1: each frame is one, and the pipeline divides it by its monitor */
    double *monitor; /* [n_monitor]: of all frames, or with --follow of those that have one; NULL: none */
    size_t n_monitor;
    char monitor_path[4096 + 512];
    uint64_t window;         /* frames of a running average; 0: none */
    hcy_azint_result **ring; /* [window]: sums of the last frames, at their number modulo window */
    uint64_t seen;           /* frames that came to it */
    hcy_azint_result *sum;
    uint64_t n, first; /* frames added so far, the number of their first */
    double counts;     /* of the monitor, of these */
    char why[640];     /* "", or why this group failed */
    struct failures *failures; /* the run's: of groups of good frames that their monitor fails, their curves' numbers */
};

/* Reads the monitor, `text` being what hcy_numbers_read() takes, or a path in the stack's file; NULL: none.  It has one
 * number for each frame, unless both are growing. */
int group_read_monitor(struct group *group, const hcy_stack *stack, const char *text, int growing);
/* The frames, of the first n, that have their number by now; reads again if they are too few.  `rest` as of
 * hcy_stack_refresh(). Not during a run. */
uint64_t group_monitored(void *group, uint64_t n, int rest);
/* Before the run, which `failures` outlives; `window` frames are averaged for each (0: none), or `size` of them
 * summed. */
int group_open(struct group *group, struct failures *failures, const hcy_azint_plan *plan, uint64_t size,
               uint64_t window);
/* Are frames added up?  Then they have to come with all their sums, and undivided. */
int group_adds(const struct group *group);
/* For hcy_pipeline_options, the payload being the group. */
double group_monitor(void *group, uint64_t number);
/* Takes a frame, and writes a curve where one is complete: *written says how many good ones.  A status of the
 * library's. */
int group_take(struct group *group, hcy_curves *curves, const hcy_pipeline_frame *frame, uint64_t *written);
/* The last group, of what is left; as above. */
int group_end(struct group *group, hcy_curves *curves, uint64_t *written);
void group_close(struct group *group);

#endif
