/* coils.h - what operators over coils share: their maps, an image times some of them, sums over coils of the adjoint.
 *
 * Coils are taken some at a time, so that memory holds images of so many, whatever their number.
 */
#ifndef HCY_COILS_H
#define HCY_COILS_H

#include "operator_priv.h"

struct hcy__coils {
    hcy_array *maps;        /* [n][sizes of the image], contiguous; NULL: one coil that receives the image as it is */
    hcy_array *images;      /* [batch][the same], perhaps with gaps: the operator's memory */
    int64_t n, batch;
    hcy_space image;
};

/* Retains the maps; their batch is all, and there is no memory for images.  HCY_EINVAL, naming the function: maps that
 * are none, or not of `image`'s shape and type with an axis in front. */
int hcy__coils_init(struct hcy__coils *coils, hcy_device *dev, hcy_array *maps, const hcy_space *image,
                    const char *function);
/* The space of n coils' images. */
hcy_space hcy__coils_space(const struct hcy__coils *coils, int64_t n);
void hcy__coils_end(struct hcy__coils *coils);
/* How many of the coils from `first` on are taken now. */
static inline int64_t hcy__coils_now(const struct hcy__coils *coils, int64_t first)
{
    return coils->n - first < coils->batch ? coils->n - first : coils->batch;
}
/* images[k] = maps[first + k] * x, for n coils. */
int hcy__coils_multiply(hcy_queue *queue, const struct hcy__coils *coils, hcy_array *x, int64_t first, int64_t n);
/* x = the sum of conj(maps[first + k]) * images[k], added to what x is unless `first` is 0. */
int hcy__coils_combine(hcy_queue *queue, hcy_array *x, const struct hcy__coils *coils, int64_t first, int64_t n);

#endif
