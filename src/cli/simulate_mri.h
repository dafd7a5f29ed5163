/* simulate_mri.h - halcyon simulate --mri: k-space of a phantom along a trajectory.  Single-threaded but for its own
 * threads. */
#ifndef HCY_CLI_SIMULATE_MRI_H
#define HCY_CLI_SIMULATE_MRI_H

#include "cli.h"

enum mri_kind { MRI_NONE, MRI_RADIAL, MRI_SPIRAL, MRI_STACK, MRI_KOOSHBALL };
extern const char *const sim_mri_kinds[]; /* of these but the first */

struct sim_mri {
    int kind; /* given as the name's number; enum mri_kind is one more */
    int golden, quiet;
    const char *delay; /* of gradients, in samples; NULL: none */
    struct cli_int size, slices, spokes, samples, coils, seed;
    struct cli_real noise, field, readout;
    unsigned threads;
};

/* Is one of its own options given?  Then its name; NULL. */
const char *sim_mri_given(const struct sim_mri *mri);
/* What goes together; CLI_OK, or CLI_USAGE after a message. */
int sim_mri_check(const struct sim_mri *mri, const char *path);
/* Writes trajectory, samples, maps and image, of OUT.h5 its datasets, else OUT_samples.npy and so on; CLI_*. */
int sim_mri_make(const struct sim_mri *mri, const char *path);

/* --- mri_trajectory.c --- */

/* A trajectory in radians: points[slices][spokes][samples][dim], in the order of the image's axes. */
struct mri_trajectory {
    int dim, is_stack;
    size_t size[3];                    /* of the image's axes */
    size_t slices, spokes, samples, n; /* n: of all points */
    double *points;
    double *sampled; /* where samples are taken, points behind delayed gradients; NULL: there */
};
/* CLI_OK; CLI_FAILED or CLI_USAGE with words. */
int mri_trajectory_make(struct mri_trajectory *to, const struct sim_mri *mri);

#endif
