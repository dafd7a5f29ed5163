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

enum { MRI_COILS = 64, MRI_ELLIPSOIDS = 10, MRI_SIDES = 9 };

struct mri_scene {
    int dim;        /* 2 or 3 */
    size_t n_coils; /* 1: of sensitivity 1 everywhere; up to MRI_COILS */
    double field;   /* Hz, the map's largest value; 0: none */
    /* What every sample needs, made by mri_scene_make(): coefficients of harmonics -1, 0, 1 along each axis; and the
     * shifts of k by those along all axes but the last, what they weigh in each coil and turn each ellipsoid by. */
    double complex harmonics[MRI_COILS][3][3];
    int n_sides;
    double shifts[MRI_SIDES][2];
    double complex sides[MRI_SIDES][MRI_COILS], turns[MRI_SIDES][MRI_ELLIPSOIDS];
};

void mri_scene_make(struct mri_scene *scene, int dim, size_t n_coils, double field);

/* The phantom at a place; its mean over the box up to half[d] from r on each axis, of MRI_SUB places an axis. */
enum { MRI_SUB = 4 };
double mri_phantom_value(int dim, const double *r);
double mri_phantom_mean(int dim, const double *r, const double *half);
/* All coils' sensitivities, values[n_coils], and the field in Hz, at a place. */
void mri_coil_values(double complex *values, const struct mri_scene *scene, const double *r);
double mri_field_value(const struct mri_scene *scene, const double *r);
/* What every coil receives `seconds` after the excitation: the integral of value(r) coil(r)
 * exp(-2 pi i (k r + field(r) seconds)), exact to rounding: signal[n_coils]. */
void mri_receive(double complex *signal, const struct mri_scene *scene, const double *k, double seconds);

#endif
