/* plot_results.h - what integrate wrote, as curves and maps of a plot.  Single-threaded. */
#ifndef HCY_CLI_PLOT_RESULTS_H
#define HCY_CLI_PLOT_RESULTS_H

#include "plot.h"
#include <halcyon/stack.h>

enum { PLOT_FILES = 64 };

/* Rows of a file that follow one another. */
struct plot_range {
    size_t file;
    uint64_t first, last;
};

struct plot_job {
    const struct plot_wish *wish;
    int as; /* enum plot_kind that was asked for */
    const char *paths[PLOT_FILES];
    size_t n_files;
    hcy_results *results[PLOT_FILES];
    struct plot_range *ranges; /* that are shown, room for each span of each file */
    size_t n_ranges;
    uint64_t rows;                              /* of all of them */
    uint64_t shown;                             /* the frame of an image */
    struct plot plot;
    double *row; /* of any of the files, and its errors */
};

/* What one file may hold in place of results. */
enum plot_input { PLOT_OF_RESULTS, PLOT_OF_FRAMES, PLOT_OF_ARRAY };
/* Opens what integrate wrote, or says what else there is.  CLI_*, after a message, as below. */
int plot_open_results(struct plot_job *job, enum plot_input *input);
/* Reads what is chosen of it to job->plot. */
int plot_read_results(struct plot_job *job);
void plot_close_results(struct plot_job *job);

#endif
