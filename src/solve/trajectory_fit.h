/* trajectory_fit.h - the fit of delays to the samples of the middle of k-space: its parts, as trajectory_find.c fills
 * them, and the look at some delays, trajectory_fit.c.  The host's alone; a fit is one thread's. */
#ifndef HCY_TRAJECTORY_FIT_H
#define HCY_TRAJECTORY_FIT_H

#include "trajectory_priv.h"

#include <complex.h>

enum { HCY__FIT_MOST_SIDE = 24 }; /* pixels of an axis of the image */

struct hcy__fit {
    hcy_trajectory_desc desc; /* of the readouts that are looked at, of dwell 1 */
    size_t *readouts;         /* which of all these are */
    void *points[3], *late[3]; /* theirs, as they are said to be and delayed */
    int64_t modes[3];
    double k;                 /* how far the middle goes */
    int64_t sizes[3];         /* of the image, */
    size_t pixels;
    size_t n, coils;          /* samples in the middle; those of coils [n][coils] */
    size_t *at;               /* which of the points they are */
    double complex *samples;
    double complex *row, *wide; /* a sample's exponentials of pixels, and of pixels' differences, with room for axes' */
    double complex *kernel, *gram; /* A^H A by differences; factored */
    double complex *x;             /* [1 + dim][coils][pixels]: the images, and those that slopes are projected with */
    double complex *slopes, *rest; /* [n][dim][coils], [n][coils] */
};

static inline double hcy__energy_of(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* Up to three equations, positive ones; an axis that says nothing has 0. */
void hcy__fit_solve(double *x, double a[3][3], double *b, int n);

/* |rest|^2 at these delays, in samples, and a step to better ones (NULL: is not wanted).  HCY_EINVAL: a delay longer
 * than a readout; HCY_ENOMEM. */
int hcy__fit_look(double *rest, double step[3], struct hcy__fit *f, const double *delays);

#endif
