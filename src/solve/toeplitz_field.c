/* toeplitz_field.c - the Gram operator of a non-uniform FFT whose signal precesses in a field, without points.
 *
 * By segments (segments.h) A is the sum over l of b_l F c_l, so that A^H W A is the sum over l and m of conj(c_l) T_lm
 * c_m, and T_lm, F^H w conj(b_l) b_m F, a convolution as toeplitz.c has it (J. Fessler et al., IEEE Trans. Signal
 * Process. 53 (2005) 3393, whose segments are these).  T_ml is the adjoint of T_lm, its spectrum the conjugate, so that
 * L (L + 1) / 2 spectra do.  Where the segments are frequencies evenly apart, conj(b_l) b_m is a function of l - m
 * alone, and L spectra do: what recon takes, of the same accuracy (segments.c).  (These are a convolution along l as
 * well, a transform of one more axis; that would pay for many more segments than fields need, and there is none for
 * three axes and one more.)
 *
 * Spectra cost most, of memory and of its traffic, so coils go one at a time: all segments' images are transformed at
 * once, and the product of each is transformed back alone.
 */
#include "grams.h"
#include "nufft_priv.h"
#include "segments.h"
#include "sized.h"

#include <halcyon/eval.h>
#include <halcyon/fft.h>
#include <stdio.h>
#include <stdlib.h>

struct field_gram {
    struct hcy__segments segments; /* without the factors */
    struct hcy__coils coils;
    struct hcy__spectrum spectrum; /* sizes alone */
    int64_t n_kernels;
    hcy_array *kernels;        /* spectra of T [n_kernels][sizes] */
    hcy_array *grids, *grid;   /* [segments][sizes], [1][sizes] */
    hcy_array *images, *image; /* of these, the images */
    hcy_fft *fft, *one;
    hcy_buffer *work, *work_of_one;
    struct hcy__turn turn;
};

static void free_field_gram(void *user)
{
    struct field_gram *g = user;
    hcy__segments_end(&g->segments);
    hcy__coils_end(&g->coils);
    hcy_array *const arrays[] = { g->kernels, g->grids, g->grid, g->images, g->image };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        hcy_array_release(arrays[i]);
    hcy_fft_release(g->fft);
    hcy_fft_release(g->one);
    hcy_buffer_release(g->work);
    hcy_buffer_release(g->work_of_one);
    hcy__turn_end(&g->turn);
    free(g);
}

/* --- Spectra --- */

static bool has_frequencies(const struct field_gram *g)
{
    return g->segments.weights != NULL;
}

/* Where the spectrum of T_lm is, of l >= m. */
static int64_t kernel_of(const struct field_gram *g, int64_t l, int64_t m)
{
    return has_frequencies(g) ? l - m : l * (l + 1) / 2 + m;
}

/* Strengths w conj(b_l) b_m, from `factors` b. */
static int multiply_factors(hcy_queue *queue, hcy_array *strengths, hcy_array *factors, int64_t l, int64_t m,
                            hcy_array *weights)
{
    hcy_array *a = NULL, *b = NULL;
    int status = hcy_array_slice(&a, factors, "%lld", (long long)l);
    if (!status)
        status = hcy_array_slice(&b, factors, "%lld", (long long)m);
    if (!status)
        status = weights ? HCY_EVAL(queue, "c = conj(a)*b*w", hcy_op_array("c", strengths), hcy_op_array("a", a),
                                    hcy_op_array("b", b), hcy_op_array("w", weights))
                         : HCY_EVAL(queue, "c = conj(a)*b", hcy_op_array("c", strengths), hcy_op_array("a", a),
                                    hcy_op_array("b", b));
    hcy_array_release(a);
    hcy_array_release(b);
    return status;
}

/* A spectrum, with the factors of the transforms in it, so that nothing is divided later. */
static int make_kernel(hcy_queue *queue, struct field_gram *g, hcy_nufft *plan, hcy_array *strengths, int64_t l,
                       int64_t m)
{
    hcy_array *t = NULL;
    int status = hcy_array_slice(&t, g->kernels, "%lld", (long long)kernel_of(g, l, m));
    if (!status)
        status = hcy__operator_submit_nufft(queue, plan, strengths, t, 1, false);
    if (!status)
        status = hcy__operator_submit_fft(queue, t, g->one, HCY_FFT_FORWARD, t, g->work_of_one);
    /* Of T_ll it is real but for the number that nobody reads, as in toeplitz.c. */
    if (!status)
        status = HCY_EVAL(queue, l == m ? "t = real(t)*k" : "t *= k", hcy_op_array("t", t),
                          hcy_op_real("k", 1.0 / (double)t->count));
    hcy_array_release(t);
    return status;
}

static int make_kernels(struct field_gram *g, hcy_device *dev, hcy_array *factors, const hcy_nufft_desc *desc,
                        int64_t n_points, const void *const *points, hcy_array *weights)
{
    const int64_t n = (int64_t)g->segments.n;
    hcy_queue *queue = NULL;
    hcy_nufft *plan = NULL;
    hcy_array *strengths = NULL;
    int status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy__spectrum_plan(&plan, dev, &g->spectrum, desc, n_points, points);
    if (!status)
        status = hcy_array_empty(&strengths, dev, hcy__spectrum_dtype(&g->spectrum), 1, &n_points);
    for (int64_t l = 0; l < n && !status; l++)
        for (int64_t m = 0; m <= (has_frequencies(g) ? 0 : l) && !status; m++) {
            status = multiply_factors(queue, strengths, factors, l, m, weights);
            if (!status)
                status = make_kernel(queue, g, plan, strengths, l, m);
        }
    int finished = queue ? hcy_queue_finish(queue) : 0;
    hcy_array_release(strengths);
    hcy_nufft_destroy(plan);
    hcy_queue_release(queue);
    return status ? status : finished;
}

/* --- Applying --- */

/* What goes into a statement at once. */
enum { AT_ONCE = 3 };

/* Segment l of the product: the sum over m of T_lm's spectrum times m's. */
static int mix_segments(hcy_queue *queue, const struct field_gram *g, int64_t l)
{
    static const char *const names[2][AT_ONCE] = { { "a", "b", "c" }, { "f", "g", "h" } };
    const int64_t n = (int64_t)g->segments.n;
    int status = 0;
    for (int64_t first = 0; first < n && !status; first += AT_ONCE) {
        hcy_operand operands[1 + 2 * AT_ONCE] = { hcy_op_array("y", g->grid) };
        const int64_t now = n - first < AT_ONCE ? n - first : AT_ONCE;
        char text[80] = "";
        for (int64_t i = 0, at = 0; i < now; i++) {
            const int64_t m = first + i, kernel = l < m ? kernel_of(g, m, l) : kernel_of(g, l, m);
            hcy_array *t = NULL, *x = NULL;
            at += snprintf(text + at, sizeof text - (size_t)at, l < m ? "%s conj(%s)*%s" : "%s %s*%s",
                           i ? " +" : first ? "y +=" : "y =", names[0][i], names[1][i]);
            if (!status)
                status = hcy_array_slice(&t, g->kernels, "%lld:%lld", (long long)kernel, (long long)kernel + 1);
            if (!status)
                status = hcy_array_slice(&x, g->grids, "%lld:%lld", (long long)m, (long long)m + 1);
            operands[1 + 2 * i] = hcy_op_array(names[0][i], t);
            operands[2 + 2 * i] = hcy_op_array(names[1][i], x);
        }
        if (!status)
            status = hcy_eval(queue, text, operands, (size_t)(1 + 2 * now));
        for (int64_t i = 0; i < 2 * now; i++)
            hcy_array_release(operands[1 + i].array);
    }
    return status;
}

/* The segments' images of a coil, of `map` or NULL, behind one another on the grids. */
static int spread_coil(hcy_queue *queue, const struct field_gram *g, hcy_array *map, hcy_array *x)
{
    int status = HCY_EVAL(queue, "g = 0", hcy_op_array("g", g->grids));
    for (size_t l = 0; l < g->segments.n && !status; l++) {
        hcy_array *image = NULL;
        status = hcy_array_slice(&image, g->images, "%d", (int)l);
        if (!status)
            status = hcy__segments_place(queue, image, &g->segments, l, x);
        hcy_array_release(image);
    }
    return status || !map ? status
                          : HCY_EVAL(queue, "f *= s", hcy_op_array("f", g->images), hcy_op_array("s", map));
}

/* y is what a segment's product makes of a coil, or that is added to it. */
static int gather_segment(hcy_queue *queue, hcy_array *y, const struct field_gram *g, int64_t l, hcy_array *map,
                          bool adds)
{
    hcy_array *image = NULL;
    int status = hcy_array_slice(&image, g->image, "0");
    if (!status && map)
        status = HCY_EVAL(queue, "f *= conj(s)", hcy_op_array("f", image), hcy_op_array("s", map));
    if (!status)
        status = hcy__segments_return(queue, y, &g->segments, (size_t)l, image, adds);
    hcy_array_release(image);
    return status;
}

static int convolve_coil(hcy_queue *queue, hcy_array *y, const struct field_gram *g, hcy_array *x, int64_t coil)
{
    hcy_array *map = NULL;
    int status = g->coils.maps ? hcy_array_slice(&map, g->coils.maps, "%lld", (long long)coil) : 0;
    if (!status)
        status = spread_coil(queue, g, map, x);
    if (!status)
        status = hcy__operator_submit_fft(queue, g->grids, g->fft, HCY_FFT_FORWARD, g->grids, g->work);
    for (int64_t l = 0; l < (int64_t)g->segments.n && !status; l++) {
        status = mix_segments(queue, g, l);
        if (!status)
            status = hcy__operator_submit_fft(queue, g->grid, g->one, HCY_FFT_BACKWARD, g->grid, g->work_of_one);
        if (!status)
            status = gather_segment(queue, y, g, l, map, coil || l);
    }
    hcy_array_release(map);
    return status;
}

static int apply_field_gram(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct field_gram *g = user;
    int status = hcy__turn_take(&g->turn, queue);
    for (int64_t coil = 0; coil < g->coils.n && !status; coil++)
        status = convolve_coil(queue, y, g, x, coil);
    hcy__turn_give(&g->turn);
    return status;
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

static int make_grids(struct field_gram *g, hcy_device *dev)
{
    const int64_t n = (int64_t)g->segments.n;
    hcy_space all = hcy__spectrum_space(&g->spectrum, hcy__spectrum_dtype(&g->spectrum), n);
    int status = hcy__spectrum_fft(&g->fft, &g->work, dev, &g->spectrum, n);
    if (!status)
        status = hcy__spectrum_fft(&g->one, &g->work_of_one, dev, &g->spectrum, 1);
    if (!status)
        status = hcy__space_vector(&g->grids, dev, &all);
    if (!status)
        status = hcy__spectrum_images(&g->images, g->grids, &g->spectrum);
    all.shape[0] = 1;
    if (!status)
        status = hcy__space_vector(&g->grid, dev, &all);
    if (!status)
        status = hcy__spectrum_images(&g->image, g->grid, &g->spectrum);
    all.shape[0] = has_frequencies(g) ? n : n * (n + 1) / 2;
    return status ? status : hcy__space_vector(&g->kernels, dev, &all);
}

static int make_field_gram(struct field_gram *g, hcy_operator *in_field, const struct hcy__segments *s,
                           const hcy_nufft_desc *desc, int64_t n_points, const void *const *points, hcy_array *maps,
                           hcy_array *weights)
{
    int status = hcy__spectrum_sizes(&g->spectrum, desc);
    const hcy_space image = hcy__spectrum_image(&g->spectrum);
    if (!status)
        status = check_field(in_field, s, &image, n_points);
    if (!status)
        status = hcy__coils_init(&g->coils, in_field->dev, maps, &image, "hcy_operator_toeplitz_field");
    if (status)
        return status;
    g->segments = *s;
    g->segments.factors = NULL;
    hcy_array_retain(s->field);
    if (s->weights)
        hcy_array_retain(s->weights);
    status = make_grids(g, in_field->dev);
    return status ? status : make_kernels(g, in_field->dev, s->factors, desc, n_points, points, weights);
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
    hcy__turn_init(&g->turn);
    status = make_field_gram(g, in_field, s, &of, n_points, points, maps, weights);
    if (status) {
        free_field_gram(g);
        return status;
    }
    desc.name = "toeplitz in a field";
    desc.domain = desc.range = g->coils.image;
    /* It is its own adjoint, but for rounding. */
    desc.apply = desc.adjoint = apply_field_gram;
    desc.destroy = free_field_gram;
    desc.user = g;
    return hcy__operator_make(op, in_field->dev, &desc);
}
