/* low_rank.c - images of many frames that are locally of low rank: the nuclear norms of their blocks, pixels x frames.
 *
 * The map shrinks each block's singular values (J. Cai, E. Candes and Z. Shen, SIAM J. Optim. 20 (2010) 1956).  With
 * X the block and V the eigenvectors of X^H X the columns of X V are singular vectors times singular values, so that
 * the new block is X V times what remains of each, times V^H.  Eigenvectors are the host's, in double, so that a map
 * waits; but for the count of its maps, which is atomic, a regulariser does not change. */
#include "hermitian.h"
#include "operator_priv.h"

#include <halcyon/proximal.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MOST_AXES = 3 };

struct low_rank {
    hcy_space space;
    size_t frames, sizes[MOST_AXES], block; /* axes that there are not have one pixel */
    double lambda;
    bool is_shifted;
    atomic_uint maps; /* how many there were: where the next one's blocks begin */
};

/* What one block is computed in. */
struct work {
    double complex *x, *along; /* [pixels][frames]: the block, and X V */
    double complex *gram, *vectors;
    double *values;
    size_t *pixels;
};

static void free_work(struct work *w)
{
    void *const parts[] = { w->x, w->along, w->gram, w->vectors, w->values, w->pixels };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        free(parts[i]);
}

/* calloc looks after the products of sizes that hcy_proximal_low_rank() has looked at in part. */
static int make_work(struct work *w, const struct low_rank *l)
{
    size_t most = 1;
    for (int d = 0; d < MOST_AXES; d++)
        most *= l->sizes[d] < l->block ? l->sizes[d] : l->block;
    *w = (struct work){
        .x = calloc(most, l->frames * sizeof *w->x),
        .along = calloc(most, l->frames * sizeof *w->along),
        .gram = calloc(l->frames, l->frames * sizeof *w->gram),
        .vectors = calloc(l->frames, l->frames * sizeof *w->vectors),
        .values = calloc(l->frames, sizeof *w->values),
        .pixels = calloc(most, sizeof *w->pixels),
    };
    return w->x && w->along && w->gram && w->vectors && w->values && w->pixels
               ? 0
               : hcy_fail(HCY_ENOMEM, "out of memory for blocks of %zu pixels in %zu frames", most, l->frames);
}

/* --- One block --- */

/* x becomes the map of x, [n][frames]. */
static void shrink_block(struct work *w, size_t n, size_t frames, double threshold)
{
    for (size_t i = 0; i < frames * frames; i++)
        w->gram[i] = 0;
    for (size_t p = 0; p < n; p++)
        for (size_t i = 0; i < frames; i++)
            hcy__add_multiple(w->gram + i * frames + i, conj(w->x[p * frames + i]), w->x + p * frames + i, false,
                              frames - i);
    hcy__hermitian_eigen(w->values, w->vectors, w->gram, frames);
    for (size_t k = 0; k < frames; k++) {
        const double complex *v = w->vectors + k * frames;
        double square = 0;
        for (size_t p = 0; p < n; p++) {
            double complex sum = 0;
            for (size_t i = 0; i < frames; i++)
                sum += w->x[p * frames + i] * v[i];
            w->along[p * frames + k] = sum;
            square += creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
        }
        /* The root of the eigenvalue would have half the digits of a small one.  What is no number stays none. */
        const double value = sqrt(square);
        w->values[k] = value <= threshold ? 0 : 1 - threshold / value;
    }
    for (size_t p = 0; p < n; p++) {
        for (size_t i = 0; i < frames; i++)
            w->x[p * frames + i] = 0;
        for (size_t k = 0; k < frames; k++)
            for (size_t i = 0; i < frames && w->values[k] != 0; i++)
                w->x[p * frames + i] += w->values[k] * w->along[p * frames + k] * conj(w->vectors[k * frames + i]);
    }
}

/* Number i of the host's copy of a vector. */
static double complex get_number(const void *numbers, int dtype, size_t i)
{
    switch (dtype) {
    case HCY_FLOAT32: return ((const float *)numbers)[i];
    case HCY_FLOAT64: return ((const double *)numbers)[i];
    case HCY_COMPLEX64: return ((const float complex *)numbers)[i];
    default: return ((const double complex *)numbers)[i];
    }
}

static void put_number(void *numbers, int dtype, size_t i, double complex value)
{
    switch (dtype) {
    case HCY_FLOAT32: ((float *)numbers)[i] = (float)creal(value); break;
    case HCY_FLOAT64: ((double *)numbers)[i] = creal(value); break;
    case HCY_COMPLEX64: ((float complex *)numbers)[i] = (float complex)value; break;
    default: ((double complex *)numbers)[i] = value;
    }
}

/* --- All blocks --- */

/* Blocks begin at `shift` and every `block` from there, and go on behind the last pixel at the first: where the pixels
 * of block `b` of an axis of n begin, and how many there are. */
static size_t find_block(size_t *first, size_t b, size_t n, size_t block, size_t shift)
{
    *first = (b * block + shift) % n;
    return n - b * block < block ? n - b * block : block;
}

/* The numbers of a block's pixels; how many. */
static size_t list_pixels(size_t *pixels, const struct low_rank *l, const size_t at[MOST_AXES],
                          const size_t shifts[MOST_AXES])
{
    size_t first[MOST_AXES], extent[MOST_AXES], n = 0;
    for (int d = 0; d < MOST_AXES; d++)
        extent[d] = find_block(&first[d], at[d], l->sizes[d], l->block, shifts[d]);
    for (size_t i = 0; i < extent[0]; i++)
        for (size_t j = 0; j < extent[1]; j++)
            for (size_t k = 0; k < extent[2]; k++)
                pixels[n++] = ((first[0] + i) % l->sizes[0] * l->sizes[1] + (first[1] + j) % l->sizes[1]) *
                                  l->sizes[2] +
                              (first[2] + k) % l->sizes[2];
    return n;
}

static void shrink_one(void *numbers, struct work *w, const struct low_rank *l, const size_t at[MOST_AXES],
                       const size_t shifts[MOST_AXES], double threshold)
{
    const size_t n = list_pixels(w->pixels, l, at, shifts), image = l->sizes[0] * l->sizes[1] * l->sizes[2];
    for (size_t p = 0; p < n; p++)
        for (size_t f = 0; f < l->frames; f++)
            w->x[p * l->frames + f] = get_number(numbers, l->space.dtype, f * image + w->pixels[p]);
    /* Squares are added up: those of very small numbers would be 0, those of very large ones infinite. */
    const int exponent = hcy__bring_near_one(w->x, n * l->frames);
    shrink_block(w, n, l->frames, ldexp(threshold, -exponent));
    hcy__scale_numbers(w->x, exponent, n * l->frames);
    for (size_t p = 0; p < n; p++)
        for (size_t f = 0; f < l->frames; f++)
            put_number(numbers, l->space.dtype, f * image + w->pixels[p], w->x[p * l->frames + f]);
}

static void shrink_all(void *numbers, struct work *w, struct low_rank *l, double threshold)
{
    /* Multiples of powers of 1 / 1.2207..., whose fourth power is its sum with 1, fall evenly into all places. */
    static const uint32_t steps[MOST_AXES] = { 3518319155u, 2882110345u, 2360945575u };
    const uint32_t map = l->is_shifted ? (uint32_t)atomic_fetch_add(&l->maps, 1) : 0;
    size_t shifts[MOST_AXES], at[MOST_AXES];
    for (int d = 0; d < MOST_AXES; d++)
        shifts[d] = (size_t)((uint64_t)(uint32_t)(map * steps[d]) * l->block >> 32);
    for (at[0] = 0; at[0] * l->block < l->sizes[0]; at[0]++)
        for (at[1] = 0; at[1] * l->block < l->sizes[1]; at[1]++)
            for (at[2] = 0; at[2] * l->block < l->sizes[2]; at[2]++)
                shrink_one(numbers, w, l, at, shifts, threshold);
}

static int map_low_rank(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x, double t)
{
    struct low_rank *l = user;
    const size_t each = l->space.dtype == HCY_COMPLEX128 ? 16 : l->space.dtype == HCY_FLOAT32 ? 4 : 8;
    void *numbers = calloc((size_t)hcy__space_count(&l->space), each);
    struct work w = { 0 };
    hcy_array *mapped = NULL;
    int status = numbers ? make_work(&w, l) : hcy_fail(HCY_ENOMEM, "out of memory for a vector on the host");
    if (!status)
        status = hcy_array_to_host(numbers, queue, x);
    if (!status)
        shrink_all(numbers, &w, l, t * l->lambda);
    if (!status)
        status = hcy_array_from_host(&mapped, hcy_queue_device(queue), l->space.dtype, l->space.rank, l->space.shape,
                                     numbers);
    if (!status)
        status = hcy_array_copy(queue, y, mapped);
    hcy_array_release(mapped);
    free_work(&w);
    free(numbers);
    return status;
}

/* --- Making --- */

static int check_low_rank(const hcy_device *dev, const hcy_space *space, int n_axes, int block, double lambda)
{
    int status = dev ? hcy__space_check(space, "hcy_proximal_low_rank")
                     : hcy_fail(HCY_EINVAL, "hcy_proximal_low_rank: no device");
    if (status)
        return status;
    if (n_axes < 1 || n_axes > MOST_AXES || n_axes >= space->rank)
        return hcy_fail(HCY_EINVAL, "hcy_proximal_low_rank: images of %d axes in a space of %d; 1 to 3 are possible, "
                                    "with frames in front",
                        n_axes, space->rank);
    if (block < 1)
        return hcy_fail(HCY_EINVAL, "hcy_proximal_low_rank: blocks of %d pixels an axis; at least 1 is wanted", block);
    if (!(lambda >= 0) || isinf(lambda))
        return hcy_fail(HCY_EINVAL, "hcy_proximal_low_rank: a lambda of %g; finite and not below 0", lambda);
    if (space->vectors)
        return hcy_fail(HCY_EUNSUPPORTED, "hcy_proximal_low_rank: of vectors that are distributed");
    return 0;
}

int hcy_proximal_low_rank(hcy_proximal **p, hcy_device *dev, const hcy_space *space, int n_axes, int block,
                          int is_shifted, double lambda)
{
    hcy_proximal_desc desc = HCY_PROXIMAL_DESC_INIT;
    int status = check_low_rank(dev, space, n_axes, block, lambda);
    struct low_rank *l = status ? NULL : calloc(1, sizeof *l);
    if (!l)
        return status ? status : hcy_fail(HCY_ENOMEM, "out of memory for a regulariser");
    l->space = *space;
    l->block = (size_t)block;
    l->lambda = lambda;
    l->is_shifted = is_shifted;
    atomic_init(&l->maps, 0);
    l->frames = 1;
    for (int d = 0; d < MOST_AXES; d++)
        l->sizes[d] = 1;
    for (int d = 0; d < space->rank; d++)
        if (d < space->rank - n_axes)
            l->frames *= (size_t)space->shape[d];
        else
            l->sizes[d - (space->rank - n_axes)] = (size_t)space->shape[d];
    desc.name = "low_rank";
    desc.space = *space;
    desc.map = map_low_rank;
    desc.destroy = free;
    desc.user = l;
    status = hcy_proximal_create(p, dev, &desc);
    if (status)
        free(l);
    return status;
}
