/* toeplitz_subspace.c - the Gram operator of a non-uniform FFT of images that change as a few functions of time do,
 * without points.
 *
 * A frame's image is the sum over k of p_k x_k, with one number of each function for each frame, so that A^H W A is the
 * convolutions of mixed.h, whose factors are the functions at the points' frames, from all functions' images to all.
 */
#include "mixed.h"
#include "sized.h"

#include <halcyon/eval.h>
#include <stdlib.h>

static void free_subspace_gram(void *user)
{
    hcy__mixed_end(user);
    free(user);
}

static int place_function(hcy_queue *queue, hcy_array *image, const void *user, int64_t k, hcy_array *x)
{
    hcy_array *from = NULL;
    int status = hcy_array_slice(&from, x, "%lld", (long long)k);
    (void)user;
    if (!status)
        status = hcy_array_copy(queue, image, from);
    hcy_array_release(from);
    return status;
}

static int give_function(hcy_queue *queue, hcy_array *y, const void *user, int64_t k, hcy_array *image, bool adds)
{
    hcy_array *to = NULL;
    int status = hcy_array_slice(&to, y, "%lld", (long long)k);
    (void)user;
    if (!status)
        status = HCY_EVAL(queue, adds ? "y += f" : "y = f", hcy_op_array("y", to), hcy_op_array("f", image));
    hcy_array_release(to);
    return status;
}

static int apply_subspace_gram(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    static const struct hcy__mixed_ends ends = { place_function, give_function };
    return hcy__mixed_apply(queue, y, user, x, &ends, NULL);
}

/* --- Making --- */

static int check_functions(hcy_device *dev, hcy_array *basis, int64_t n_points)
{
    int status = hcy__array_check(basis, "hcy_operator_toeplitz_subspace");
    if (status)
        return status;
    if (basis->dtype != HCY_FLOAT32 && basis->dtype != HCY_FLOAT64 && basis->dtype != HCY_COMPLEX64 &&
        basis->dtype != HCY_COMPLEX128)
        return hcy_fail(HCY_EINVAL, "hcy_operator_toeplitz_subspace: a basis of %s", hcy_dtype_name(basis->dtype));
    if (basis->rank != 2 || basis->shape[0] < 1 || basis->shape[1] < 1 || n_points % basis->shape[1])
        return hcy_fail(HCY_EINVAL, "hcy_operator_toeplitz_subspace: a basis is [functions][frames], and the %lld points "
                                    "are as many for each frame; it has %d axes, the first of them %lld and %lld",
                        (long long)n_points, basis->rank, (long long)(basis->rank > 0 ? basis->shape[0] : 0),
                        (long long)(basis->rank > 1 ? basis->shape[1] : 0));
    return hcy__array_device(basis) == dev
               ? 0
               : hcy_fail(HCY_EINVAL, "hcy_operator_toeplitz_subspace: the basis is on another device");
}

static int make_subspace_gram(struct hcy__mixed *m, hcy_device *dev, const hcy_nufft_desc *desc, int64_t n_points,
                              const void *const *points, hcy_array *maps, hcy_array *weights, hcy_array *basis)
{
    int status = hcy__spectrum_sizes(&m->spectrum, desc);
    const hcy_space image = hcy__spectrum_image(&m->spectrum);
    if (!status)
        status = hcy__coils_init(&m->coils, dev, maps, &image, "hcy_operator_toeplitz_subspace");
    m->n = basis->shape[0];
    m->even = 1;
    m->is_real = basis->dtype == HCY_FLOAT32 || basis->dtype == HCY_FLOAT64;
    if (!status)
        status = hcy__mixed_make(m, dev);
    return status ? status : hcy__mixed_kernels(m, dev, basis, desc, n_points, points, weights);
}

int hcy_operator_toeplitz_subspace(hcy_operator **op, hcy_device *dev, const hcy_nufft_desc *user, int64_t n_points,
                                   const void *const *points, hcy_array *maps, hcy_array *weights, hcy_array *basis)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_nufft_desc of = HCY_NUFFT_DESC_INIT;
    struct hcy__mixed *m = NULL;
    int status = hcy__spectrum_check(dev, n_points, weights);
    if (!status)
        status = check_functions(dev, basis, n_points);
    if (!status)
        status = hcy__sized_read(&of, sizeof of, user, "hcy_nufft_desc");
    if (!status && !(m = calloc(1, sizeof *m)))
        status = hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    if (status)
        return status;
    hcy__mixed_init(m);
    status = make_subspace_gram(m, dev, &of, n_points, points, maps, weights, basis);
    if (status) {
        free_subspace_gram(m);
        return status;
    }
    desc.name = "toeplitz of functions";
    desc.domain = desc.range = hcy__coils_space(&m->coils, m->n);
    /* It is its own adjoint, but for rounding. */
    desc.apply = desc.adjoint = apply_subspace_gram;
    desc.destroy = free_subspace_gram;
    desc.user = m;
    return hcy__operator_make(op, dev, &desc);
}
