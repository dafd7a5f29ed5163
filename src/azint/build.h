/* build.h - what plan.c hands to build.c, and what it gets back; what a thread of build.c hands to row.c. */
#ifndef HCY_AZINT_BUILD_H
#define HCY_AZINT_BUILD_H

#include "share_loops.h"

#include <pthread.h>

struct worker;

struct build {
    /* In: what to build. */
    struct azint_geometry g;
    struct azint_scale scale, azimuth; /* the second where the grid is straight */
    struct azint_grid grid; /* n_bins, n_azim and the azimuthal range; the rest comes out */
    size_t n_bins;          /* in all */
    int split;              /* HCY_SPLIT_* */
    int has_range;
    double range[2]; /* radial, in the scale's own values */
    int use_solid_angle, use_polarization;
    double polarization, cos_offset, sin_offset; /* of twice the offset */
    const uint8_t *mask;           /* [height * width] */
    const float *flat, *absorption, *dark, *variance; /* [height * width], or NULL */
    int has_arrays; /* any of them */
    double gain; /* flat * absorption is multiplied by it */
    int dark_shift;
    double dark_scale, variance_scale;
    hcy_azint_bin_norm *bin_norms; /* [n_bins], zero */
    struct azint_bin_extra *extra; /* [n_bins], zero; NULL without dark and variance */
    int unweighted; /* each pixel's value is divided by its norm, and counts as much as any other's */
    size_t n_workers;
    const struct azint_loops *loops;
    /* Out: the tables, to be freed by the caller, also after a failure. */
    double max; /* upper end of the last bin */
    double least_norm; /* of pixels with weights */
    uint8_t *runs;
    size_t run_bytes;
    uint64_t n_weights;
    uint64_t *starts;
    float *norms;
    struct azint_hash hash; /* in: of the inputs; out: and of the tables */
    /* While it is being built. */
    struct worker *workers;
    pthread_t *threads;
    pthread_mutex_t adding; /* to bin_norms */
    atomic_size_t next_row;
    uint64_t *row_bytes; /* [height + 1]: first sizes, then offsets */
    float *kept;         /* [height + 1][width + 1] radial values of corners; NULL: computed in each pass */
    int first_pass;      /* which fills them */
    uint32_t *spans;     /* [height * width] polygons in one dimension: first bin | n << 24; NULL: found in each pass */
    struct azint_hash *row_hash;
};
int hcy__azint_build(struct build *b);

#define AZINT_SUM_BYTES (3 * sizeof(uint64_t)) /* of a bin, in a worker's sums */
#define AZINT_BAND 16 /* rows taken at a time */

/* A thread of a build, in one of its passes. */
struct worker {
    struct build *b;
    int pass;
    struct azint_row upper, lower, centre; /* corners above and below the row of pixels, and its centres */
    double *least, *largest;               /* [width] of the radial values of a pixel's corners; NULL: not kept */
    struct azint_row quads;                /* corners of pixels that share none */
    size_t lower_at;                       /* the row of corners in `lower`; SIZE_MAX: none yet */
    uint32_t *shares;                      /* [2][width] of azint_loops.share_outlines; NULL: not found so */
    double *cum;                           /* [the most bins of a pixel] */
    uint32_t *weights;                     /* twice as many */
    double min, max, chi_min, chi_max;
    double least_norm, most_norm; /* of pixels with weights */
    size_t most; /* bins of one pixel */
    uint64_t n_weights;
    struct azint_sums sums;        /* of the norms, not yet in the plan's */
    size_t sums_from, sums_to;     /* bins in which they may be other than 0 */
    size_t n_added;                /* pixels in them */
    struct azint_bin_extra *extra; /* [n_bins], the first worker's are the plan's; or NULL */
};
enum { PASS_RANGE, PASS_SIZE, PASS_WRITE };
/* A pixel where bins are, or a part of it: near the beam, one may reach into a sector from both sides. */
struct place {
    struct azint_pixel p;
    struct azint_window window;
};

/* The runs of one window of a pixel, and what they add to the bins' norms; returns where the next ones begin
 * (weigh.c). */
uint8_t *hcy__azint_write_window(uint8_t *p, struct worker *w, struct place *part, float norm, int more);
/* The same of a whole pixel in two or three bins of a row, as most are where bins are about as wide as pixels:
 * so_far[0] is its weight in the first one, so_far[width of the image] that in the first two of three. */
uint8_t *hcy__azint_write_few(uint8_t *p, struct worker *w, struct azint_span span, const uint32_t *so_far, float norm,
                              int more);
/* Adds pixel i's dark current and its variance to those of its bins, by the weights that were written at `runs`. */
void hcy__azint_add_extra(struct azint_bin_extra *extra, const struct build *b, const uint8_t *runs, const uint8_t *end,
                          size_t i);
void hcy__azint_do_row(struct worker *w, size_t i);
/* Norms of row i, whose centres are the worker's; with corners of their own, those too (norm.c). */
void hcy__azint_norm_row(const struct worker *w, size_t i);
/* Adds what a worker has in its sums to the plan's (build.c). */
void hcy__azint_empty_sums(struct worker *w);
/* Are the corners of pixels too near to one another for single precision? */
int hcy__azint_keeps_double(const struct build *b);

#endif
