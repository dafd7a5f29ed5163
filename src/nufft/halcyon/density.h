/* halcyon/density.h - density compensation: weights with which a sum over points stands for an integral.
 *
 * Points of a non-uniform FFT seldom lie equally dense.  With weights w, the coefficients of type 1,
 *
 *     f_k = sum over j of w_j c_j exp(i k x_j),
 *
 * are about the image whose samples (type 2, sign -1) the c are: each weight is the part of the period's volume, 1 for
 * all of it, that a point stands for.  Images so gridded are a result, and a good beginning for solvers.
 */
#ifndef HALCYON_DENSITY_H
#define HALCYON_DENSITY_H

#include <halcyon/fft.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hcy_density_method {
    HCY_DENSITY_PIPE = 1, /* J. Pipe and P. Menon, Magn. Reson. Med. 41 (1999) 179: weights that are flat when they are
                           * spread to a grid and read from it again, by iterations */
    HCY_DENSITY_CELLS = 2, /* points in a cell of 2 pi / modes share its volume: coarse, and needs no device */
    HCY_DENSITY_VORONOI = 3 /* what lies nearer to a point than to any other, as far as pi / modes along each axis, is
                             * its volume, shared by points at one place; needs no device */
};

typedef struct hcy_density_desc {
    size_t size;      /* sizeof(hcy_density_desc) */
    int method;       /* HCY_DENSITY_PIPE ... */
    int precision;    /* HCY_F64 or HCY_F32: of points and weights */
    int dim;          /* 1 to 3 */
    int64_t modes[3]; /* of the image's axes, above 0; INIT leaves them to be set */
    int iterations;   /* of HCY_DENSITY_PIPE, 1 to 1000 */
    int deterministic; /* as hcy_nufft_options has it */
} hcy_density_desc;
#define HCY_DENSITY_DESC_INIT { sizeof(hcy_density_desc), HCY_DENSITY_PIPE, HCY_F64, 2, { 0, 0, 0 }, 20, 0 }

/* Weights of n points, points[axis][n] in radians, of any period, in host memory, as weights[n], reals of the same
 * precision.  Any thread; the device is used through plans of its own.  HCY_EINVAL: NULL, what desc says, a coordinate
 * that is no number or infinite (Pipe: or beyond 2^40 periods); HCY_ERANGE: sizes beyond what can be addressed;
 * HCY_EUNSUPPORTED: the device lacks a kernel; HCY_ENOMEM. */
HCY_API int hcy_density_weights(void *weights, hcy_device *dev, const hcy_density_desc *desc, int64_t n_points,
                                const void *const *points) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
