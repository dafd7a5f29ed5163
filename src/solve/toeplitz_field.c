/* toeplitz_field.c - the Gram operator of a non-uniform FFT whose signal precesses in a field, without points.
 *
 * By segments (segments.h) A is the sum over l of b_l F c_l, so that A^H W A is the sum over l and m of conj(c_l) T_lm
 * c_m, the convolutions of mixed.h (J. Fessler et al., IEEE Trans. Signal Process. 53 (2005) 3393, whose segments these
 * are).  Where the segments are frequencies evenly apart, conj(b_l) b_m is a function of l - m alone: what recon takes,
 * of the same accuracy (segments.c).  (These are a convolution along l as well, a transform of one more axis; that
 * would pay for many more segments than fields need, and there is none for three axes and one more.)
 *
 * Of images that change as functions p_k of time do A is the sum over k and l of p_k b_l F c_l x_k: as many images as
 * there are pairs of these, whose factors are p_k b_l; those of a function are one block.
 */
#include "mixed.h"
#include "segments.h"
#include "sized.h"

#include <halcyon/eval.h>
#include <stdlib.h>

struct field_gram {
    struct hcy__segments segments; /* without the factors */
    bool has_functions;            /* images are [functions][image] */
    struct hcy__mixed mixed;
};

static void free_field_gram(void *user)
{
    struct field_gram *g = user;
    hcy__segments_end(&g->segments);
    hcy__mixed_end(&g->mixed);
    free(g);
}

/* --- Applying --- */

/* The image that segment i is of. */
static int take_image(hcy_array **image, const struct field_gram *g, hcy_array *all, int64_t i)
{
    if (g->has_functions)
        return hcy_array_slice(image, all, "%lld", (long long)(i / (int64_t)g->segments.n));
    *image = hcy_array_retain(all);
    return 0;
}

static int place_segment(hcy_queue *queue, hcy_array *image, const void *user, int64_t i, hcy_array *x)
{
    const struct field_gram *g = user;
    hcy_array *from = NULL;
    int status = take_image(&from, g, x, i);
    if (!status)
        status = hcy__segments_place(queue, image, &g->segments, (size_t)i % g->segments.n, from);
    hcy_array_release(from);
    return status;
}

/* All segments of a function are one image's. */
static int give_segment(hcy_queue *queue, hcy_array *y, const void *user, int64_t i, hcy_array *image, bool adds)
{
    const struct field_gram *g = user;
    const size_t l = (size_t)i % g->segments.n;
    hcy_array *to = NULL;
    int status = take_image(&to, g, y, i);
    if (!status)
        status = hcy__segments_return(queue, to, &g->segments, l, image, adds || l);
    hcy_array_release(to);
    return status;
}

static int apply_field_gram(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    static const struct hcy__mixed_ends ends = { place_segment, give_segment };
    struct field_gram *g = user;
    return hcy__mixed_apply(queue, y, &g->mixed, x, &ends, g);
}

/* --- Making --- */

static int check_field(const hcy_operator *in_field, const struct hcy__segments *s, const hcy_space *image,
                       int64_t n_points)
{
    char has[240], wants[240];
    if (!hcy__space_same(&in_field->desc.domain, image))
        return hcy_fail(HCY_EINVAL, "hcy_operator_toeplitz_field: an operator of %s, where images are %s",
                        hcy__space_text(has, &in_field->desc.domain), hcy__space_text(wants, image));
    if (s->factors->shape[1] != n_points)
        return hcy_fail(HCY_EINVAL, "hcy_operator_toeplitz_field: %lld points, and times of %lld", (long long)n_points,
                        (long long)s->factors->shape[1]);
    return 0;
}

/* p_k b_l, [functions * segments][points], of basis [functions][frames][1]. */
static int multiply_functions(hcy_array **factors, const struct hcy__mixed *m, hcy_array *basis, hcy_array *segments)
{
    const int64_t frames = basis->shape[1], points = segments->shape[1], each = frames ? points / frames : 0;
    const int64_t all[2] = { m->n, points }, by_frames[4] = { basis->shape[0], segments->shape[0], frames, each },
                  of_basis[4] = { by_frames[0], 1, frames, 1 };
    hcy_array *products = NULL, *p = NULL, *b = NULL;
    hcy_queue *queue = NULL;
    int status = hcy_queue_create(&queue, hcy__array_device(basis));
    if (!status)
        status = hcy_array_empty(factors, hcy__array_device(basis), hcy__spectrum_dtype(&m->spectrum), 2, all);
    if (!status)
        status = hcy_array_reshape(&products, *factors, 4, by_frames);
    if (!status)
        status = hcy_array_reshape(&p, basis, 4, of_basis);
    if (!status)
        status = hcy_array_reshape(&b, segments, 3, by_frames + 1);
    if (!status)
        status = HCY_EVAL(queue, "y = complex128(p)*b", hcy_op_array("y", products), hcy_op_array("p", p),
                          hcy_op_array("b", b));
    const int finished = queue ? hcy_queue_finish(queue) : 0;
    hcy_array_release(b);
    hcy_array_release(p);
    hcy_array_release(products);
    hcy_queue_release(queue);
    return status ? status : finished;
}

static int make_field_gram(struct field_gram *g, hcy_operator *in_field, const struct hcy__segments *s,
                           hcy_array *basis, const hcy_nufft_desc *desc, int64_t n_points, const void *const *points,
                           hcy_array *maps, hcy_array *weights)
{
    hcy_array *products = NULL;
    int status = hcy__spectrum_sizes(&g->mixed.spectrum, desc);
    const hcy_space image = hcy__spectrum_image(&g->mixed.spectrum);
    if (!status)
        status = check_field(in_field, s, &image, n_points);
    if (!status)
        status = hcy__coils_init(&g->mixed.coils, in_field->dev, maps, &image, "hcy_operator_toeplitz_field");
    if (status)
        return status;
    g->segments = *s;
    g->segments.factors = NULL;
    hcy_array_retain(s->field);
    if (s->weights)
        hcy_array_retain(s->weights);
    g->has_functions = basis != NULL;
    g->mixed.n = (int64_t)s->n * (basis ? basis->shape[0] : 1);
    g->mixed.even = s->weights ? (int64_t)s->n : 1;
    status = hcy__mixed_make(&g->mixed, in_field->dev);
    if (!status && basis)
        status = multiply_functions(&products, &g->mixed, basis, s->factors);
    if (!status)
        status = hcy__mixed_kernels(&g->mixed, in_field->dev, basis ? products : s->factors, desc, n_points, points,
                                    weights);
    hcy_array_release(products);
    return status;
}

int hcy_operator_toeplitz_field(hcy_operator **op, hcy_operator *in_field, const hcy_nufft_desc *user,
                                int64_t n_points, const void *const *points, hcy_array *maps, hcy_array *weights)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_nufft_desc of = HCY_NUFFT_DESC_INIT;
    hcy_array *basis = NULL;
    hcy_operator *of_image = in_field ? hcy__subspace_parts(&basis, in_field) : NULL;
    in_field = of_image ? of_image : in_field;
    const struct hcy__segments *s = in_field ? hcy__off_resonance_segments(in_field) : NULL;
    struct field_gram *g = NULL;
    if (!s)
        return hcy_fail(HCY_EINVAL, "hcy_operator_toeplitz_field: no operator in a field");
    int status = hcy__spectrum_check(in_field->dev, n_points, weights);
    if (!status)
        status = hcy__sized_read(&of, sizeof of, user, "hcy_nufft_desc");
    if (!status && !(g = calloc(1, sizeof *g)))
        status = hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    if (status)
        return status;
    hcy__mixed_init(&g->mixed);
    status = make_field_gram(g, in_field, s, basis, &of, n_points, points, maps, weights);
    if (status) {
        free_field_gram(g);
        return status;
    }
    desc.name = "toeplitz in a field";
    desc.domain = desc.range =
        basis ? hcy__coils_space(&g->mixed.coils, basis->shape[0]) : g->mixed.coils.image;
    /* It is its own adjoint, but for rounding. */
    desc.apply = desc.adjoint = apply_field_gram;
    desc.destroy = free_field_gram;
    desc.user = g;
    return hcy__operator_make(op, in_field->dev, &desc);
}
