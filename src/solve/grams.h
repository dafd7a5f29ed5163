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

struct hcy__gram;
/* Sets coils->batch; spectrum (but for its numbers) and coils outlive it.  *gram NULL: the device has no such kernel,
 * or none for these sizes. */
int hcy__gram_make(struct hcy__gram **gram, hcy_device *dev, const struct hcy__spectrum *spectrum,
                   struct hcy__coils *coils);
void hcy__gram_free(struct hcy__gram *gram); /* NULL is fine */
/* y = the sum over n coils from `first` on, added to what y is unless `first` is 0. */
int hcy__gram_launch(hcy_queue *queue, hcy_array *y, struct hcy__gram *gram, hcy_array *x, int64_t first, int64_t n);

#endif
