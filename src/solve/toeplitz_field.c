/* toeplitz_field.c - the Gram operator of a non-uniform FFT whose signal precesses in a field, without points.
 *
 * By segments (segments.h) A is the sum over l of b_l F c_l, so that A^H W A is the sum over l and m of conj(c_l) T_lm
 * c_m, the convolutions of mixed.h (J. Fessler et al., IEEE Trans. Signal Process. 53 (2005) 3393, whose segments these
 * are).  Where the segments are frequencies evenly apart, conj(b_l) b_m is a function of l - m alone: what recon takes,
 * of the same accuracy (segments.c).  (These are a convolution along l as well, a transform of one more axis; that
 * would pay for many more segments than fields need, and there is none for three axes and one more.)
 */
#include "mixed.h"
#include "segments.h"
#include "sized.h"

#include <stdlib.h>

struct field_gram {
    struct hcy__segments segments; /* without the factors */
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

static int place_segment(hcy_queue *queue, hcy_array *image, const void *user, int64_t l, hcy_array *x)
{
    return hcy__segments_place(queue, image, user, (size_t)l, x);
}

/* All segments are one image's. */
static int give_segment(hcy_queue *queue, hcy_array *y, const void *user, int64_t l, hcy_array *image, bool adds)
{
    return hcy__segments_return(queue, y, user, (size_t)l, image, adds || l);
}

static int apply_field_gram(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    static const struct hcy__mixed_ends ends = { place_segment, give_segment };
    struct field_gram *g = user;
    return hcy__mixed_apply(queue, y, &g->mixed, x, &ends, &g->segments);
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

static int make_field_gram(struct field_gram *g, hcy_operator *in_field, const struct hcy__segments *s,
                           const hcy_nufft_desc *desc, int64_t n_points, const void *const *points, hcy_array *maps,
                           hcy_array *weights)
{
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
    g->mixed.n = (int64_t)s->n;
    g->mixed.is_even = s->weights != NULL;
    status = hcy__mixed_make(&g->mixed, in_field->dev);
    return status ? status
                  : hcy__mixed_kernels(&g->mixed, in_field->dev, s->factors, desc, n_points, points, weights);
}

int hcy_operator_toeplitz_field(hcy_operator **op, hcy_operator *in_field, const hcy_nufft_desc *user,
                                int64_t n_points, const void *const *points, hcy_array *maps, hcy_array *weights)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_nufft_desc of = HCY_NUFFT_DESC_INIT;
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
    status = make_field_gram(g, in_field, s, &of, n_points, points, maps, weights);
    if (status) {
        free_field_gram(g);
        return status;
    }
    desc.name = "toeplitz in a field";
    desc.domain = desc.range = g->mixed.coils.image;
    /* It is its own adjoint, but for rounding. */
    desc.apply = desc.adjoint = apply_field_gram;
    desc.destroy = free_field_gram;
    desc.user = g;
    return hcy__operator_make(op, in_field->dev, &desc);
}
