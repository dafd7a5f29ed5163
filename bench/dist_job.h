/* dist_job.h - what benchmarks over ranks share: who takes part, jobs that are timed, and some of them. */
#ifndef BENCH_DIST_JOB_H
#define BENCH_DIST_JOB_H

#include "bench.h"

#include <halcyon/dist.h>
#include <halcyon/eval.h>
#include <halcyon/solve.h>

enum { JOB_ROUNDS = 7 };

/* All ranks; this one by itself; its device. */
struct job_ranks {
    hcy_dist *all, *alone;
    hcy_device *dev;
    hcy_queue *queue;
    int rank, n_ranks;
};
extern _Thread_local struct job_ranks ranks;
/* Calls `time_all` on each rank, with what is to be passed to it: processes, or threads (HALCYON_DIST). */
void run_ranks(const char *devices, void (*time_all)(const int64_t *sizes), const int64_t *sizes);

/* What is timed, some times in a row: the first of these that there is. */
struct job {
    hcy_solver *solver;
    int iterations; /* of it, of which one counts */
    hcy_operator *op;   /* y = A x, or x = A^H y */
    int adjoint;
    hcy_dist_layout *layout; /* y = dot(x, z) */
    hcy_array *x, *y, *z;
    hcy_nufft *plan; /* of op */
    int partner, times; /* of messages to and fro, x and y; times 0: once, y = x */
};
/* Seconds, the best of JOB_ROUNDS: all ranks begin together, the slowest counts. */
double time_job(const struct job *job);
/* Of n jobs in turns, each the best of so many rounds. */
void time_in_turns(double *best, const struct job *jobs, int n, int rounds);
void end_job(struct job *job);

/* A rank's part of a vector, filled. */
void fill_part(hcy_array **part, hcy_dist_layout *layout, int dtype);
/* x and y, cubes in blocks of the first axis. */
void make_cube(struct job *job, hcy_dist *comm, int64_t n, int dtype);
/* x and z, and room for their dot. */
void make_dot(struct job *job, hcy_dist *comm, int64_t n);
/* For y = A x, an operator that is retained. */
void make_solver(struct job *job, hcy_operator *op, int method, int iterations);
/* CG on the normal equations of SENSE: n^3 single complex numbers, coils dealt out over the ranks. */
void make_sense(struct job *job, hcy_dist *comm, int64_t n, int64_t coils, int n_points);

#endif
