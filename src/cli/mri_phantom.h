/* mri_phantom.h - a phantom whose k-space is known exactly: Shepp and Logan's ellipses and ellipsoids, coils, a field.
 *
 * Places r and frequencies k have the order of an image's axes, the slowest first; the field of view is -1 to 1 on
 * each.  x is the last axis, y the one before it with its sign turned (rows run down), z the first of three.  All
 * functions only read; any thread.
 */
#ifndef HCY_CLI_MRI_PHANTOM_H
#define HCY_CLI_MRI_PHANTOM_H

#include <complex.h>
#include <stddef.h>

struct mri_scene {
    int dim;        /* 2 or 3 */
    size_t n_coils; /* 1: of sensitivity 1 everywhere */
    double field;   /* Hz, the map's largest value; 0: none */
};

/* The phantom at a place; its Fourier transform, the integral of value(r) exp(-2 pi i k r). */
double mri_phantom_value(int dim, const double *r);
double complex mri_phantom_transform(int dim, const double *k);
/* A coil's sensitivity, and the field in Hz, at a place. */
double complex mri_coil_value(const struct mri_scene *scene, size_t coil, const double *r);
double mri_field_value(const struct mri_scene *scene, const double *r);
/* What every coil receives `seconds` after the excitation: the integral of value(r) coil(r)
 * exp(-2 pi i (k r + field(r) seconds)), exact to rounding: signal[n_coils]. */
void mri_receive(double complex *signal, const struct mri_scene *scene, const double *k, double seconds);

#endif
