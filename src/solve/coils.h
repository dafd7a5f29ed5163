/* coils.h - what operators over coils share: their maps, an image times some of them, sums over coils of the adjoint.
 *
 * Coils are taken some at a time, so that memory holds images of so many, whatever their number.
 */
#ifndef HCY_COILS_H
#define HCY_COILS_H

#include "operator_priv.h"

struct hcy__coils {
    hcy_array *maps;        /* [n][sizes of the image], contiguous */
    hcy_array *images;      /* [batch][the same]: the operator's memory */
    int64_t n, batch;
    hcy_space image, parts; /* of one; of `batch`, whose first axis is set to those of now */
};

/* Retains the maps, makes memory for images of `batch` coils, or fewer if there are fewer.  HCY_EINVAL, naming the
 * function: maps that are none, or not of `image`'s shape and type with an axis in front. */
int hcy__coils_init(struct hcy__coils *coils, hcy_device *dev, hcy_array *maps, const hcy_space *image, int64_t batch,
                    const char *function);
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
