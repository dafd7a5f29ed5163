/* integrate_job.h - everything that one integration has open, for the files of halcyon integrate.  Made and freed by
 * integrate.c; single-threaded, but for what the pipeline calls. */
#ifndef HCY_CLI_INTEGRATE_JOB_H
#define HCY_CLI_INTEGRATE_JOB_H

#include "failures.h"
#include "geometry.h"
#include "group.h"
#include "integrate.h"
#include "pixels.h"
#include "progress.h"
#include "regions.h"
#include "shard.h"
#include "sparse.h"
#include <halcyon/pipeline.h>

struct job {
    const struct integrate_values *values;
    const char *path; /* of the stack, or of its first file */
    const char *const *paths;
    size_t n_paths;
    hcy_stack *stack;
    const hcy_stack_info *info;
    uint64_t first, last;
    hcy_shard shard; /* of --shard; count 0: none */
    hcy_poni poni;
    struct cli_geometry geometry;
    hcy_azint_options azint;
    char cache[1024]; /* folder of plans */
    uint8_t *mask;
    float *arrays[4]; /* what azint's pointers point at */
    hcy_azint_plan *plan;
    hcy_device **devices;
    size_t n_devices;
    int few; /* the processor alone, as there are few frames */
    hcy_curves *curves;
    char output[4096]; /* its path */
    struct cli_identity before; /* the file of that name, if there was one */
    uint64_t written;  /* curves that are in it */
    hcy_error said;    /* why the run ended, if it failed */
    int whole;         /* 1: all frames came */
    char place[4096];  /* where curves are if not all are there; "": nowhere */
    hcy_pipeline *pipeline;
    struct processes *processes; /* instead of the pipeline, or NULL */
    int worker;                  /* this is one of another integration's processes */
    int argc;
    char **argv; /* the command line */
    struct group group;
    struct regions regions;
    struct sparse sparse;
    struct progress progress;
    double setup; /* seconds from the start to the first frame */
    struct failures failures;
    struct pixels pixels;
};

/* Fills a zeroed job, but for its path and command line; integrate_end() in any case.  CLI_*, after a message, as all
 * that follow. */
int integrate_begin(struct job *job, const struct integrate_values *values);
/* The stack, its frames and geometry. */
int integrate_open(struct job *job);
/* Devices, masks, corrections, the monitor and the plan. */
int integrate_plan(struct job *job);
/* The pipeline of these. */
int integrate_pipeline(struct job *job);
/* A result with the arrays that the job's results have.  A status of the library's. */
int integrate_result(hcy_azint_result **result, const struct job *job);
void integrate_end(struct job *job);
/* job->output: what the user named, or a name made for it. */
int integrate_name_output(struct job *job);
/* Images in radius and azimuth in place of curves? */
int integrate_makes_cakes(const struct integrate_values *values);
/* Have the outputs that are named suffixes of what they are to hold?  To be asked when it is known that they are none
 * of the files that are read, which is said first.  CLI_OK, or CLI_USAGE after a message. */
int integrate_check_formats(const struct integrate_values *values);
/* Can a file of this name have the results of so many frames?  CLI_*. */
int integrate_check_name(const char *output, const struct integrate_values *values, uint64_t frames);
/* Makes sure that no file that is read is written over. */
int integrate_guard_files(const struct job *job);
/* Closes the output, and says what remains of one that is not whole. */
int integrate_close_output(struct job *job);
/* A device that hangs: main() hears of it (cli_has_hung). */
void integrate_heed_hang(const hcy_pipeline_stats *stats);
/* Devices that were given up: told also to those who want no summary, for the run goes on without them.  `kind`: what
 * stands before their names.  `told`: of each device whether that was said already, or NULL.  Heeds one that hangs. */
void integrate_tell_lost(const hcy_pipeline_stats *stats, const char *kind, bool *told);
/* What is said at the end; `status`, or CLI_FAILED. */
int integrate_report(const struct job *job, int status);

#endif
