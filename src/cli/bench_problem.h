/* bench_problem.h - what `halcyon bench nufft` transforms: its cells, their points and numbers, and some results as
 * direct sums.  Single-threaded. */
#ifndef CLI_BENCH_PROBLEM_H
#define CLI_BENCH_PROBLEM_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_CELLS = 34, BENCH_CHECKED = 40, BENCH_CHECKED_QUICKLY = 10, BENCH_POINTS = 2000000 };

struct bench_sparse;
struct bench_cell {
    int dim, type;
    int64_t n; /* modes of an axis */
    double eps;
    int precision;
    const struct bench_sparse *sparse; /* or NULL */
};

/* Numbers are of the cell's precision; those of the vectors after the first one are the same. */
struct bench_problem {
    const struct bench_cell *cell;
    int64_t modes[3]; /* of the cell's axes; 1 beyond them */
    size_t m, n, real, vectors; /* points, modes in all, bytes of a number */
    void *x[3], *c, *f;
    int n_checked; /* results of the first vector, */
    size_t checked[BENCH_CHECKED];
    double complex sums[BENCH_CHECKED]; /* and what they should be */
};

extern const struct bench_cell bench_cells[BENCH_CELLS];
void bench_cell_name(char name[40], const struct bench_cell *cell);
/* Whether a word means a cell: a sparse one by its kind alone, so that "single" and "" are the dense ones. */
bool bench_cell_is_named(const struct bench_cell *cell, const char *word);

/* Makes the same problems in the same order after each start.  points: of all cells, 0: the cells' own.  CLI_*, with
 * the message printed; to be closed if it is 0. */
void bench_problems_start(void);
int bench_problem_open(struct bench_problem *p, const struct bench_cell *cell, int64_t points, double sigma,
                       int n_checked);
void bench_problem_close(struct bench_problem *p);
/* Relative error of the results that are checked, of what stands in c or f. */
double bench_problem_error(const struct bench_problem *p);

#endif
