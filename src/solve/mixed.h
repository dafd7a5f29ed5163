/* mixed.h - convolutions of several images with one another: what comes out as image l is the sum over m of T_lm
 * image m.
 *
 * Of samples that are the sum over m of b_m F image_m, with a factor b_m for each point, T_lm is F^H w conj(b_l) b_m
 * F, a convolution as toeplitz.c has it.  T_ml is the adjoint of T_lm, its spectrum the conjugate, so that
 * n (n + 1) / 2 spectra do; they are real where the factors are.  Where images are blocks of `even` ones, one behind
 * the other, and of two blocks conj(b_l) b_m is a function of l - m alone, 2 `even` - 1 spectra do for these, and of a
 * block with itself `even`.
 *
 * Spectra cost most, of memory and of its traffic, so coils go one at a time.  All images are transformed at once; a
 * device that has nufft_mix puts their products in their place, reading spectra once, and elsewhere the product of each
 * is made and transformed back alone.
 */
#ifndef HCY_MIXED_H
#define HCY_MIXED_H

#include "grams.h"

#include <halcyon/fft.h>
#include <halcyon/kernel.h>

struct hcy__mixed {
    struct hcy__spectrum spectrum; /* sizes alone, hcy__spectrum_sizes() */
    struct hcy__coils coils;
    struct hcy__turn turn;
    int64_t n;
    int64_t even;              /* images of such a block, or 1 */
    bool is_real;              /* spectra are */
    hcy_array *kernels;        /* spectra of T [their number][sizes] */
    hcy_array *grids, *grid;   /* [n][sizes], [1][sizes] */
    hcy_array *images, *image; /* of these, the images */
    hcy_kernel *mix;           /* nufft_mix, or NULL; */
    hcy_buffer *order;         /* int32_t [n][n], which spectrum */
    hcy_fft *fft, *one;
    hcy_buffer *work, *work_of_one;
};

/* Of zeros otherwise; to be ended from here on. */
void hcy__mixed_init(struct hcy__mixed *m);
void hcy__mixed_end(struct hcy__mixed *m);
/* Grids and what transforms them; sizes, coils, n, even and is_real are there. */
int hcy__mixed_make(struct hcy__mixed *m, hcy_device *dev);
/* The spectra: factors are [n][frames], one for each n_points / frames points; weights: real [n_points], or NULL.
 * Waits. */
int hcy__mixed_kernels(struct hcy__mixed *m, hcy_device *dev, hcy_array *factors, const hcy_nufft_desc *desc,
                       int64_t n_points, const void *const *points, hcy_array *weights);
/* Image k of x, and of y from image k, or added to it: both may be changed. */
struct hcy__mixed_ends {
    int (*place)(hcy_queue *queue, hcy_array *image, const void *user, int64_t k, hcy_array *x);
    int (*give)(hcy_queue *queue, hcy_array *y, const void *user, int64_t k, hcy_array *image, bool adds);
};
/* y is what the coils, one at a time, make of x's images; queues take turns. */
int hcy__mixed_apply(hcy_queue *queue, hcy_array *y, struct hcy__mixed *m, hcy_array *x,
                     const struct hcy__mixed_ends *ends, const void *user);

#endif
