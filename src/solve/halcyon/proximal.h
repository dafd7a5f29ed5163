/* halcyon/proximal.h - regularisers: functions of vectors that are known by their proximal maps.
 *
 * A regulariser is g(K x), where K is a linear operator (or none), and g a function whose proximal map
 *
 *     map(v, t) = the y with the least g(y) + |y - v|^2 / (2 t)
 *
 * is computed directly: l1, l2, bounds, l1 of a wavelet's coefficients, total variation, blocks of low rank, and
 * functions of the user's.
 * The solvers of <halcyon/solve.h> take them (`proximals`).  For example:
 *
 *     static int soften(hcy_queue *queue, hcy_array *y, hcy_array *x, const hcy_space *image, hcy_device *dev)
 *     {
 *         hcy_proximal *tv = NULL;
 *         int status = hcy_proximal_tv(&tv, dev, image, 2, HCY_TV_ISOTROPIC, 0.05);
 *         if (!status)
 *             status = hcy_proximal_apply(queue, y, tv, x, 1, 100);
 *         hcy_proximal_release(tv);
 *         return status;
 *     }
 *
 * Regularisers are reference-counted, do not change, and have no memory of their own (but for TGV's, whose queues take
 * turns, and low rank's count of maps): any thread may use them.
 */
#ifndef HALCYON_PROXIMAL_H
#define HALCYON_PROXIMAL_H

#include <halcyon/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hcy_proximal hcy_proximal;

/* A regulariser that is the user's. */
typedef struct hcy_proximal_desc {
    size_t size;      /* sizeof(hcy_proximal_desc) */
    const char *name; /* in messages; copied.  NULL: "function" */
    hcy_space space;  /* of g's vectors: the range of K */
    /* y = map(x, t), t above 0, submitted to `queue` without waiting: a status.  The arrays have the space's shape and
     * type, lie on the device, and share no memory. */
    int (*map)(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x, double t);
    hcy_operator *analysis; /* K, which has an adjoint; retained.  NULL: g is of x itself */
    int is_orthogonal;      /* K^H K and K K^H are 1: then K^H map(K v, t) is the map of the whole */
    double norm;            /* |K|, or above it; 0: a solver finds it by hcy_operator_norm(), which waits */
    void (*destroy)(void *user); /* with the last reference, in any thread; NULL: nothing is to be done */
    void *user;
} hcy_proximal_desc;
#define HCY_PROXIMAL_DESC_INIT \
    { sizeof(hcy_proximal_desc), NULL, { 0, 0, { 0 }, NULL }, NULL, NULL, 0, 0, NULL, NULL }

/* The desc is copied, device and K are retained.  After a failure destroy() is not called.  HCY_EINVAL: no map(), a
 * space that is not K's range, a K without adjoint or of another device, a norm below 0; HCY_ENOMEM. */
HCY_API int hcy_proximal_create(hcy_proximal **prox, hcy_device *dev, const hcy_proximal_desc *desc) HCY_MUST_USE;
/* One reference more (returns prox), one less; NULL is fine. */
HCY_API hcy_proximal *hcy_proximal_retain(hcy_proximal *prox);
HCY_API void hcy_proximal_release(hcy_proximal *prox);

/* --- Those that are there.  HCY_EINVAL: a space that no vector has, a lambda that is no finite number of 0 or more. */

/* lambda |x|_1; of complex numbers the sum of their absolute values. */
HCY_API int hcy_proximal_l1(hcy_proximal **prox, hcy_device *dev, const hcy_space *space, double lambda) HCY_MUST_USE;
/* lambda |x|^2 / 2. */
HCY_API int hcy_proximal_l2(hcy_proximal **prox, hcy_device *dev, const hcy_space *space, double lambda) HCY_MUST_USE;
/* All numbers are real and between low and high, which may be -INFINITY and INFINITY: between 0 and INFINITY images
 * are not negative, between both infinities complex ones are real.  HCY_EINVAL: low above high, NaN. */
HCY_API int hcy_proximal_box(hcy_proximal **prox, hcy_device *dev, const hcy_space *space, double low,
                             double high) HCY_MUST_USE;
/* lambda |W x|_1, W being hcy_operator_wavelet() with these axes, taps and levels; smooth coefficients count too. */
HCY_API int hcy_proximal_wavelet(hcy_proximal **prox, hcy_device *dev, const hcy_space *space, int n_axes,
                                 int taps, int levels, double lambda) HCY_MUST_USE;
/* What is added up of the forward differences (none where a neighbour is missing): */
enum hcy_tv {
    HCY_TV_ISOTROPIC = 1, /* the length of an element's vector of them */
    HCY_TV_ANISOTROPIC    /* each one's absolute value */
};
/* lambda times the total variation along the last n_axes axes, 1 to 3.  HCY_EUNSUPPORTED: vectors that are
 * distributed. */
HCY_API int hcy_proximal_tv(hcy_proximal **prox, hcy_device *dev, const hcy_space *space, int n_axes, int kind,
                            double lambda) HCY_MUST_USE;

/* Total generalised variation of second order, which leaves ramps as they are where total variation makes steps: of
 * vectors [1 + n_axes][image], an image x and a field v, of which v is sought along with x, it is `first` times the sum
 * of the lengths of D x - v, D being the forward differences along the last n_axes axes, 1 to 3, and `second` times
 * that of the symmetrised backward differences of v (Bredies, Kunisch and Pock 2010; second is 2 first, usually).  An
 * operator of images is made one of such vectors by hcy_operator_part().  K has memory of its own, for an image.
 * HCY_EUNSUPPORTED: vectors that are distributed. */
HCY_API int hcy_proximal_tgv(hcy_proximal **prox, hcy_device *dev, const hcy_space *image, int n_axes, double first,
                             double second) HCY_MUST_USE;
/* lambda times the nuclear norms, the sums of singular values, of blocks: vectors [frames...][image], whose last n_axes
 * axes (1 to 3) are the image's, in blocks of so many pixels along each of them, which are matrices pixels x frames.
 * What an axis leaves over is a smaller block.  is_shifted: each map has its blocks at another place, round the
 * image's edges, so that no edges of blocks are seen; the places are the same ones for each regulariser that is made,
 * which counts its maps and so is one solver's.  Costs some 30 frames^3 operations a block (of up to 64 frames some
 * 200) on the host, in one thread and in double, and a copy of the vector there and back: a map waits, and makes
 * memory.  HCY_EUNSUPPORTED: vectors that are distributed. */
HCY_API int hcy_proximal_low_rank(hcy_proximal **prox, hcy_device *dev, const hcy_space *space, int n_axes, int block,
                                  int is_shifted, double lambda) HCY_MUST_USE;

/* y = the vector with the least g(K y) + |y - x|^2 / (2 t), t above 0, in the queue's order.  Where K is neither
 * missing nor orthogonal it is found by so many iterations of its dual (Beck and Teboulle 2009), which begin anew; else
 * `iterations` is not asked.  Makes memory for the call, and waits where a norm has to be found.  HCY_EINVAL: a t that
 * is not above 0, fewer than 1 iteration, arrays that do not fit or share memory. */
HCY_API int hcy_proximal_apply(hcy_queue *queue, hcy_array *y, hcy_proximal *prox, hcy_array *x, double t,
                               int iterations) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
