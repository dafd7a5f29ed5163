/* failures.h - the frames of a run that failed: told as they come, listed at the end.  Used from a pipeline's sink, one
 * thread at a time, and after the run. */
#ifndef HCY_CLI_FAILURES_H
#define HCY_CLI_FAILURES_H

#include "progress.h"

struct failures {
    uint64_t *numbers; /* [n] */
    size_t n, room;
};

/* Another number of the list; a status of the library's. */
int failures_add(struct failures *failures, uint64_t number);
/* Notes a frame without a result, and says why, unless too many were said; a status of the library's. */
int failures_take(struct failures *failures, struct progress *progress, const hcy_pipeline_frame *frame);
/* Their numbers, on stderr. */
void failures_print(const struct failures *failures);
/* What a run has done, as members of an object: frames, which of them failed, rates, bytes. */
void failures_run_json(struct cli_json *json, const struct failures *failures, const hcy_pipeline_stats *stats,
                       double setup);
void failures_free(struct failures *failures);

#endif
