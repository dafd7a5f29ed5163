/* off_resonance.c - an operator whose signal precesses at another frequency in each place, and may decay there, by
 * segments of time or of frequencies (segments.h): as many images as segments go through the operator, whatever it is.
 */
#include "segments.h"

#include <halcyon/eval.h>
#include <stdlib.h>
#include <string.h>

struct off_resonance {
    hcy_operator *of;
    struct hcy__segments segments;
    hcy_array *image, *samples; /* of one segment */
    struct hcy__turn turn;
};

static void free_off_resonance(void *user)
{
    struct off_resonance *o = user;
    hcy_operator_release(o->of);
    hcy__segments_end(&o->segments);
    hcy_array_release(o->image);
    hcy_array_release(o->samples);
    hcy__turn_end(&o->turn);
    free(o);
}

/* --- Applying --- */

static int apply_segments(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct off_resonance *o = user;
    int status = hcy__turn_take(&o->turn, queue);
    for (size_t l = 0; l < o->segments.n && !status; l++) {
        hcy_array *b = NULL;
        status = hcy_array_slice(&b, o->segments.factors, "%d", (int)l);
        if (!status)
            status = hcy__segments_place(queue, o->image, &o->segments, l, x);
        if (!status)
            status = hcy__operator_run(queue, o->samples, o->of, o->image, false);
        if (!status)
            status = HCY_EVAL(queue, l ? "y += b*v" : "y = b*v", hcy_op_array("y", y), hcy_op_array("b", b),
                              hcy_op_array("v", o->samples));
        hcy_array_release(b);
    }
    hcy__turn_give(&o->turn);
    return status;
}

static int apply_segments_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    struct off_resonance *o = user;
    int status = hcy__turn_take(&o->turn, queue);
    for (size_t l = 0; l < o->segments.n && !status; l++) {
        hcy_array *b = NULL;
        status = hcy_array_slice(&b, o->segments.factors, "%d", (int)l);
        if (!status)
            status = HCY_EVAL(queue, "v = conj(b)*y", hcy_op_array("v", o->samples), hcy_op_array("b", b),
                              hcy_op_array("y", y));
        if (!status)
            status = hcy__operator_run(queue, o->image, o->of, o->samples, true);
        if (!status)
            status = hcy__segments_return(queue, x, &o->segments, l, o->image, l > 0);
        hcy_array_release(b);
    }
    hcy__turn_give(&o->turn);
    return status;
}

const struct hcy__segments *hcy__off_resonance_segments(const hcy_operator *op)
{
    return op->desc.apply == apply_segments ? &((const struct off_resonance *)op->desc.user)->segments : NULL;
}

/* --- The gradient ---
 *
 * With r = A m - d, and u_l the adjoint of conj(b_l) r, that in m is the sum of exp(i w s_l) u_l, and that in
 * w of s_l Im(m conj(exp(i w s_l) u_l)): one pass over the segments makes both.  With decay exp(i w s_l) is
 * exp(-conj(z) s_l), and the gradient in z, that in its real part and i times that in its imaginary one, the sum of
 * -s_l conj(m) exp(-conj(z) s_l) u_l. */

static int derive_segments(hcy_queue *queue, hcy_array *of_image, hcy_array *of_field, struct off_resonance *o,
                           hcy_array *rest, hcy_array *image)
{
    int status = 0;
    if (of_image)
        status = HCY_EVAL(queue, "g = 0", hcy_op_array("g", of_image));
    if (!status && of_field)
        status = HCY_EVAL(queue, "g = 0", hcy_op_array("g", of_field));
    for (size_t l = 0; l < o->segments.n && !status; l++) {
        hcy_array *b = NULL, *u = o->image;
        status = hcy_array_slice(&b, o->segments.factors, "%d", (int)l);
        if (!status)
            status = HCY_EVAL(queue, "v = conj(b)*r", hcy_op_array("v", o->samples), hcy_op_array("b", b),
                              hcy_op_array("r", rest));
        if (!status)
            status = hcy__operator_run(queue, u, o->of, o->samples, true);
        if (!status)
            status = hcy__segments_return(queue, u, &o->segments, l, u, false);
        if (!status && of_image)
            status = HCY_EVAL(queue, "g += u", hcy_op_array("g", of_image), hcy_op_array("u", u));
        if (!status && of_field)
            status = HCY_EVAL(queue, hcy__segments_decay(&o->segments) ? "g -= s*conj(m)*u" : "g += s*imag(m*conj(u))",
                              hcy_op_array("g", of_field), hcy_op_array("m", image), hcy_op_array("u", u),
                              hcy_op_real("s", o->segments.moments[l]));
        hcy_array_release(b);
    }
    return status;
}

static int check_gradient(const hcy_operator *op, hcy_array *const arrays[6])
{
    static const char *const names[6] = { "image", "data", "gradient in the image", "gradient in the samples",
                                          "gradient in the field", "value" };
    const hcy_space *domain = &op->desc.domain, *range = &op->desc.range;
    const hcy_space value = { HCY_FLOAT64, 0, { 0 }, NULL };
    hcy_space field = *domain;
    if (!hcy__segments_decay(hcy__off_resonance_segments(op)))
        field.dtype = hcy__is_single(domain) ? HCY_FLOAT32 : HCY_FLOAT64;
    const hcy_space *const spaces[6] = { domain, range, domain, range, &field, &value };
    return hcy__misfit_check(arrays, op, spaces, names, "hcy_off_resonance_gradient");
}

int hcy_off_resonance_gradient(hcy_queue *queue, hcy_array *value, hcy_array *of_image, hcy_array *of_samples,
                               hcy_array *of_field, hcy_operator *op, hcy_array *image, hcy_array *data)
{
    hcy_array *rest = NULL;
    if (!queue || !op || op->desc.apply != apply_segments)
        return hcy_fail(HCY_EINVAL, "hcy_off_resonance_gradient: no %s",
                        queue ? "operator of hcy_operator_off_resonance()" : "queue");
    int status = check_gradient(op, (hcy_array *[]){ image, data, of_image, of_samples, of_field, value });
    if (!status && of_field && hcy__off_resonance_segments(op)->weights)
        status = hcy_fail(HCY_EUNSUPPORTED, "hcy_off_resonance_gradient: in the field, of segments of time only");
    if (!status && !op->desc.adjoint && (of_image || of_field))
        status = hcy_fail(HCY_EUNSUPPORTED, "hcy_off_resonance_gradient: the operator has no adjoint");
    if (!status)
        status = hcy__space_vector(&rest, op->dev, &op->desc.range);
    if (!status)
        status = hcy__operator_run(queue, rest, op, image, false);
    if (!status)
        status = HCY_EVAL(queue, "r -= d", hcy_op_array("r", rest), hcy_op_array("d", data));
    if (!status)
        status = hcy__misfit_of_rest(queue, value, of_samples, rest);
    if (!status && (of_image || of_field)) {
        struct off_resonance *o = op->desc.user;
        status = hcy__turn_take(&o->turn, queue);
        if (!status)
            status = derive_segments(queue, of_image, of_field, o, rest, image);
        hcy__turn_give(&o->turn);
    }
    hcy_array_release(rest);
    return status;
}

static int check_floats(const hcy_array *a, const hcy_operator *of, bool may_be_complex, const char *what)
{
    int status = hcy__array_check(a, "operator in a field");
    const bool is_complex = !status && (a->dtype == HCY_COMPLEX64 || a->dtype == HCY_COMPLEX128);
    if (!status && a->dtype != HCY_FLOAT32 && a->dtype != HCY_FLOAT64 && !(is_complex && may_be_complex))
        status = hcy_fail(HCY_EINVAL, "operator in a field: the %s are %s; float32 or float64%s is wanted", what,
                          hcy_dtype_name(a->dtype), may_be_complex ? ", or complex rates," : "");
    if (!status && hcy__array_device(a) != of->dev)
        status = hcy_fail(HCY_EINVAL, "operator in a field: the %s are on another device", what);
    return status;
}

static int check_off_resonance(const hcy_operator *a, const hcy_array *field, const hcy_array *times, int segments)
{
    if (!a)
        return hcy_fail(HCY_EINVAL, "operator in a field: no operator");
    if (segments < 1 || segments > HCY__MOST_SEGMENTS)
        return hcy_fail(HCY_EINVAL, "operator in a field: %d segments; 1 to %d are possible", segments,
                        HCY__MOST_SEGMENTS);
    const hcy_space *domain = &a->desc.domain, *range = &a->desc.range;
    int status = check_floats(field, a, true, "frequencies");
    if (!status)
        status = check_floats(times, a, false, "times");
    if (!status && !(hcy__space_is_complex(domain) && hcy__space_is_complex(range)))
        status = hcy_fail(HCY_EINVAL, "operator in a field: of complex vectors only");
    if (!status && (field->rank != domain->rank ||
                    memcmp(field->shape, domain->shape, sizeof *field->shape * (size_t)field->rank)))
        status = hcy_fail(HCY_EINVAL, "operator in a field: the field is one number for each of the image's");
    if (!status && (times->rank != 1 || range->rank < 1 || times->shape[0] != range->shape[range->rank - 1]))
        status = hcy_fail(HCY_EINVAL, "operator in a field: times are one for each of the last axis of samples");
    return status;
}

static int make_in_field(hcy_operator **op, double *error, hcy_operator *a, hcy_array *field, hcy_array *times,
                         int segments, enum hcy__segments_kind kind)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    int status = check_off_resonance(a, field, times, segments);
    if (status)
        return status;
    struct off_resonance *o = calloc(1, sizeof *o);
    if (!o)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&o->turn);
    o->of = hcy_operator_retain(a);
    status = hcy__segments_make(&o->segments, error, a, field, times, (size_t)segments, kind);
    if (!status)
        status = hcy__space_vector(&o->image, a->dev, &a->desc.domain);
    if (!status)
        status = hcy__space_vector(&o->samples, a->dev, &a->desc.range);
    if (status) {
        free_off_resonance(o);
        return status;
    }
    desc.name = kind == HCY__OF_TIME ? "off-resonance" : "multifrequency";
    desc.domain = a->desc.domain;
    desc.range = a->desc.range;
    desc.apply = apply_segments;
    desc.adjoint = a->desc.adjoint ? apply_segments_adjoint : NULL;
    desc.destroy = free_off_resonance;
    desc.user = o;
    return hcy__operator_make(op, a->dev, &desc);
}

int hcy_operator_off_resonance(hcy_operator **op, double *error, hcy_operator *a, hcy_array *field, hcy_array *times,
                               int segments)
{
    return make_in_field(op, error, a, field, times, segments, HCY__OF_TIME);
}

int hcy_operator_multifrequency(hcy_operator **op, double *error, hcy_operator *a, hcy_array *field, hcy_array *times,
                                int segments)
{
    return make_in_field(op, error, a, field, times, segments, HCY__OF_FREQUENCIES);
}
