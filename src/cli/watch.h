/* watch.h - the live view of a stream: numbers, and the last curve drawn in characters, on stderr.  On a terminal it
 * stands in place and changes; elsewhere, on a dumb one too, it is a line a second.
 *
 * watch_curve() from the pipeline's sink, all else from the thread that receives. */
#ifndef HCY_CLI_WATCH_H
#define HCY_CLI_WATCH_H

#include "tally.h"
#include <halcyon/azint.h>

struct watch {
    int on, terminal;
    int lines; /* that stand on the terminal */
    double shown, rate, last_time; /* seconds; frames/s since the last look */
    uint64_t last_done, series; /* at the last look, of this series */
    pthread_mutex_t lock;
    double *curve; /* [lock] [n] */
    size_t n;
    uint64_t frame; /* [lock] that it is of */
    int has_curve;
};

void watch_begin(struct watch *watch, int wanted);
void watch_end(struct watch *watch);
/* Keeps the curve (of an image, its first row) for the next look. */
void watch_curve(struct watch *watch, const hcy_azint_result *result, uint64_t frame);
/* A look, if it is time for one; `force`: the last one. */
void watch_show(struct watch *watch, struct tally *tally, uint64_t series, uint64_t announced, int force);

#endif
