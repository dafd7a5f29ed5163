/* grams.h - a convolution of coils' images by the kernel nufft_gram, for devices that have it. */
#ifndef HCY_GRAMS_H
#define HCY_GRAMS_H

#include "coils.h"

/* What images are convolved with: the real spectrum on a grid of `sizes`, divided by their product. */
struct hcy__spectrum {
    int dim;
    bool is_double;
    int64_t modes[3], sizes[3];
    hcy_array *numbers; /* reals [sizes...] */
};

/* Sizes of the grid: even ones with small factors.  An even size has one number more than is ever read.  HCY_EINVAL,
 * HCY_EUNSUPPORTED: a desc of no images. */
int hcy__spectrum_sizes(struct hcy__spectrum *s, const hcy_nufft_desc *desc);
/* HCY_EINVAL: no device, weights that are none of the points'. */
int hcy__spectrum_check(hcy_device *dev, int64_t n_points, hcy_array *weights);
int hcy__spectrum_dtype(const struct hcy__spectrum *s); /* complex */
hcy_space hcy__spectrum_image(const struct hcy__spectrum *s);
/* A space of numbers on the grid, with an axis of `batch` in front unless that is 0; what of [batch][grid] are images;
 * a transform of `batch` of them. */
hcy_space hcy__spectrum_space(const struct hcy__spectrum *s, int dtype, int64_t batch);
int hcy__spectrum_images(hcy_array **images, hcy_array *grids, const struct hcy__spectrum *s);
int hcy__spectrum_fft(hcy_fft **fft, hcy_buffer **work, hcy_device *dev, const struct hcy__spectrum *s, int64_t batch);
/* The type 1 from weights to what images are convolved with, on the grid. */
int hcy__spectrum_plan(hcy_nufft **plan, hcy_device *dev, const struct hcy__spectrum *s, const hcy_nufft_desc *of,
                       int64_t n_points, const void *const *points);

struct hcy__gram;
/* Sets coils->batch; spectrum (but for its numbers) and coils outlive it.  *gram NULL: the device has no such kernel,
 * or none for these sizes. */
int hcy__gram_make(struct hcy__gram **gram, hcy_device *dev, const struct hcy__spectrum *spectrum,
                   struct hcy__coils *coils);
void hcy__gram_free(struct hcy__gram *gram); /* NULL is fine */
/* y = the sum over n coils from `first` on, added to what y is unless `first` is 0. */
int hcy__gram_launch(hcy_queue *queue, hcy_array *y, struct hcy__gram *gram, hcy_array *x, int64_t first, int64_t n);

#endif
