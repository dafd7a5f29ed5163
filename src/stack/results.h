/* results.h - what a format of written curves is, for reading.
 *
 * A format opens a file that is its own and fills in the head (what hcy_results_info says, but for the
 * label); read() gives one row.  `state` is the format's own; results.c checks arguments and owns the axes.
 */
#ifndef HCY_STACK_RESULTS_H
#define HCY_STACK_RESULTS_H

#include "curves_priv.h"

typedef struct hcy__results_head {
    const char *path;
    uint64_t rows;
    size_t n_radial, n_azim;
    double *radial, *azimuthal; /* from malloc(), taken over by results.c whatever open() returns */
    double *pixels;             /* likewise, [n_azim][n_radial]; NULL: not known */
    char unit[32], azimuth_unit[32], definition[32];
    int has_sigma, has_sums;
    uint64_t failed, first_failed; /* frames without a curve, as the file says */
} hcy__results_head;

typedef struct hcy__results_format {
    /* Called for every file, in turn; *state NULL and 0: it is not of this format. */
    int (*open)(void **state, hcy__results_head *head);
    /* `frame` holds the row's number, to be replaced where the file has one; `sigma` may be NULL. */
    int (*read)(void *state, const hcy__results_head *head, uint64_t row, uint64_t *frame, double *intensity,
                double *sigma);
    void (*close)(void *state);
} hcy__results_format;

#ifdef HAVE_HDF5
extern const hcy__results_format hcy__results_h5, hcy__results_isolated;
#endif
extern const hcy__results_format hcy__results_edf, hcy__results_text;

#endif
