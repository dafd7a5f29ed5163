/* halcyon/calibrate.h - calibrants and their rings, how a pixel's angle follows from the geometry, and the geometry
 * that follows from rings.
 *
 * For example:
 *
 *     const hcy_calibrant *calibrant;
 *     double spacings[20];
 *     size_t n;
 *     hcy_calibrant_find(&calibrant, "CeO2");
 *     hcy_calibrant_spacings(spacings, &n, 20, calibrant, 1e-10); // those of 1 Angstrom and more
 *
 * Metres and radians.  No state: every function may be called from any thread; failures are described in
 * hcy_last_error().
 */
#ifndef HALCYON_CALIBRATE_H
#define HALCYON_CALIBRATE_H

#include <halcyon/azint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Calibrants --- */

/* A powder whose rings are known.  Static data; strings are constants. */
typedef struct hcy_calibrant {
    const char *name;  /* pyFAI's: "CeO2" */
    const char *title; /* "ceria, SRM 674b" */
    double a, b, c;    /* Angstrom; a 0: layers, c apart */
    double beta, gamma; /* degrees */
    int (*is_allowed)(int h, int k, int l); /* whether this reflection is not extinct by symmetry */
} hcy_calibrant;

/* All calibrants known, *n of them. */
HCY_API const hcy_calibrant *hcy_calibrant_list(size_t *n);
/* Case, blanks, '-' and '_' do not count.  HCY_ENOENT: not known; the words name those that are. */
HCY_API int hcy_calibrant_find(const hcy_calibrant **calibrant, const char *name) HCY_MUST_USE;
/* The distances between its lattice planes, in metres, the largest first: those down to `shortest`, at most
 * `capacity`; *n: how many were written.  Planes of one distance are one ring.  Reflections that symmetry allows are
 * given, also weak ones.  HCY_EINVAL: `shortest` is not positive; HCY_ERANGE: it is so short that there would be
 * millions; HCY_ENOMEM. */
HCY_API int hcy_calibrant_spacings(double *spacings, size_t *n, size_t capacity, const hcy_calibrant *calibrant,
                                   double shortest) HCY_MUST_USE;

/* --- Angles, and how they change with the geometry --- */

/* What a geometry has to be fitted: a column of a gradient, a bit of a set (1u << HCY_PONI_DIST). */
enum hcy_poni_parameter {
    HCY_PONI_DIST = 0,
    HCY_PONI_PONI1 = 1,
    HCY_PONI_PONI2 = 2,
    HCY_PONI_ROT1 = 3,
    HCY_PONI_ROT2 = 4,
    HCY_PONI_ROT3 = 5, /* turns around the beam, so it changes no angle: its column is 0 */
    HCY_PONI_WAVELENGTH = 6
};
#define HCY_PONI_PARAMETERS 7

/* The radial values of `n` places of an image of height x width, and their derivatives in the geometry's parameters:
 * values[n] in `unit`, gradients[n][HCY_PONI_PARAMETERS] in that per metre or radian; either may be NULL.
 * places[n][2] are row and column in pixels from the outer corner of the image's first pixel, so pixel (i, j) has its
 * centre at (i + 0.5, j + 0.5); they may lie outside.  Analytic, not differences; in the very middle of the beam, where
 * 2 theta has none, gradients are 0.  HCY_EINVAL: a geometry that is none, or a NULL; HCY_ENOENT: the unit;
 * HCY_EUNSUPPORTED: a unit that is not 2 theta, q or d; HCY_ENOMEM. */
HCY_API int hcy_poni_gradients(double *values, double *gradients, const hcy_poni *poni, size_t height, size_t width,
                               const char *unit, const double *places, size_t n) HCY_MUST_USE;

/* --- The geometry from rings --- */

/* A place on a ring, as in hcy_poni_gradients(), and the spacing of the planes that make it, in metres. */
typedef struct hcy_ring_point {
    double row, column;
    double spacing;
} hcy_ring_point;

/* How well it is known. */
typedef struct hcy_poni_fit {
    size_t size;                       /* sizeof(hcy_poni_fit) */
    double sigma[HCY_PONI_PARAMETERS]; /* standard deviations from the points' scatter; 0: fixed */
    double rms;                        /* of 2 theta, radians, over the points that count */
    double rms_pixels;                 /* the same across the ring, in pixels (the smaller side) */
    size_t n_used;                     /* points that count: the others are too far from their ring */
    uint32_t iterations;
    int converged;                     /* 0: the steps had not become small */
} hcy_poni_fit;
#define HCY_PONI_FIT_INIT { sizeof(hcy_poni_fit), { 0 }, 0, 0, 0, 0, 0 }

/* Moves the geometry, in the parameters whose bits in `fixed` are 0, to where the points lie on their rings: least
 * squares in 2 theta by Levenberg and Marquardt, with weights that take away what points far from all others pull
 * (Tukey's, six standard deviations wide).  rot3 changes nothing and stays.  poni->wavelength must be known.  On
 * failure the geometry stays as it was.  HCY_EINVAL: a geometry that is none, a spacing that has no ring, a point in a
 * pixel without a place, fewer points than parameters; HCY_ERANGE: the points do not determine a parameter (words say
 * which); HCY_ENOMEM. */
HCY_API int hcy_poni_refine(hcy_poni *poni, hcy_poni_fit *fit, size_t height, size_t width,
                            const hcy_ring_point *points, size_t n, unsigned fixed) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
