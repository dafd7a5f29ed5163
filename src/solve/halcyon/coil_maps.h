/* halcyon/coil_maps.h - what coils receive, from data: maps for hcy_operator_sense(), fewer coils that have the same.
 *
 * For example:
 *
 *     static int estimate(hcy_queue *queue, hcy_array *maps, hcy_array *images)
 *     {
 *         hcy_coil_maps_options how = HCY_COIL_MAPS_OPTIONS_INIT;
 *         how.method = HCY_COIL_MAPS_ESPIRIT;
 *         return hcy_coil_maps(queue, maps, images, &how);
 *     }
 *
 * Arrays are complex, contiguous, of the queue's device, with the coils' axis in front.  Any thread.
 */
#ifndef HALCYON_COIL_MAPS_H
#define HALCYON_COIL_MAPS_H

#include <halcyon/array.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hcy_coil_maps_method {
    HCY_COIL_MAPS_LOW = 1, /* each coil's low frequencies, divided by the root of the sum of their squares: smooth, and
                            * right where the image is about even */
    HCY_COIL_MAPS_ESPIRIT  /* M. Uecker et al., Magn. Reson. Med. 71 (2014) 990: at each place the eigenvector of what
                            * the central k-space has in common */
};

typedef struct hcy_coil_maps_options {
    size_t size;      /* sizeof(hcy_coil_maps_options) */
    int method;       /* HCY_COIL_MAPS_LOW ... */
    int calibration;  /* frequencies of each axis that are looked at, 2 and more; less where an axis has less */
    int kernel;       /* ESPIRIT: of each axis, 1 to calibration; less where an axis has less */
    int iterations;   /* ESPIRIT: of the power method, from the low frequencies' maps */
    double threshold; /* ESPIRIT: singular values below this times the largest one are noise */
    double crop;      /* maps are 0 where coils have less than this of the most; ESPIRIT: where eigenvalues are less */
} hcy_coil_maps_options;
#define HCY_COIL_MAPS_OPTIONS_INIT \
    { sizeof(hcy_coil_maps_options), HCY_COIL_MAPS_LOW, 24, 6, 30, 0.02, 0.0 }

/* maps [coils][sizes...] of images [coils][sizes...] of one to three axes, as coils see them: of samples of a
 * trajectory those of the NUFFT's adjoint with density weights.  opts NULL: the defaults.  The sum of |map|^2 over
 * coils is 1, or 0 where maps are cropped; ESPIRiT's first coil is real.  Takes memory for as many images as coils,
 * ESPIRiT for coils^2.  LOW does not wait; ESPIRiT does, for eigenvalues of a matrix of kernel^axes * coils numbers,
 * 1024 at most, which the host computes (hcy_coil_compression() makes fewer coils).  Of images with numbers that are
 * none or infinite LOW's maps are none either.  HCY_EINVAL: options, arrays that do not go together, such images for
 * ESPIRiT; HCY_ERANGE: more than that; HCY_EUNSUPPORTED: a device without FFT; HCY_ENOMEM. */
HCY_API int hcy_coil_maps(hcy_queue *queue, hcy_array *maps, hcy_array *images,
                          const hcy_coil_maps_options *opts) HCY_MUST_USE;

/* The combinations of coils that receive most, by the principal components of samples [coils][any axes...]: matrix
 * [virtual coils][coils], an array of the samples' type whose rows have norm 1 and are orthogonal; *kept: the part of
 * the samples' energy that they have, or NULL.  At most as many rows as coils; at most 1024 coils.  Waits.
 * HCY_EINVAL: samples that are no number or infinite, too. */
HCY_API int hcy_coil_compression(double *kept, hcy_queue *queue, hcy_array *matrix, hcy_array *samples) HCY_MUST_USE;
/* out [virtual coils][axes...] = matrix times in [coils][axes...]: samples, images or maps; does not wait. */
HCY_API int hcy_coil_compress(hcy_queue *queue, hcy_array *out, hcy_array *matrix, hcy_array *in) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
