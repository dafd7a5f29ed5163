/* processes.h - an integration by several processes of this machine; see processes.c.  Single-threaded. */
#ifndef HCY_CLI_PROCESSES_H
#define HCY_CLI_PROCESSES_H

#include "integrate_job.h"

struct processes;

/* Those that processes are to have: `devices`, or the environment's; NULL: the processors. */
const char *processes_devices(const char *devices);
/* Starts `n` processes for the job, whose plan is made; `devices` (NULL: the processors, shared out) are dealt to them
 * in turn.  A status of the library's; processes_free() in any case. */
int processes_start(struct processes **processes, struct job *job, size_t n, const char *devices);
/* As hcy_pipeline_run() of all the job's frames.  A process that ends early gives its frames to the others; the run
 * fails when none is left. */
int processes_run(struct processes *processes, hcy_pipeline_sink sink, hcy_pipeline_progress progress, void *payload);
/* A device for each process.  Belongs to it. */
const hcy_pipeline_stats *processes_stats(const struct processes *processes);
/* Ends them: none is left when it returns.  NULL is fine. */
void processes_free(struct processes *processes);

#endif
