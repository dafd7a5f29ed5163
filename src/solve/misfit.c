/* misfit.c - gradients of |A m - d|^2 / 2 with respect to image, samples and points of a NUFFT of type 2.
 *
 * With r = A m - d they are A^H r, -r, and of point j along an axis Re(conj(r_j) s_j), s the slope of A m there.  Where
 * the plan can (nufft_slopes), one transform gives A m and all slopes: its grid is read once, and the window's
 * polynomials are differentiated.  Elsewhere s = A D m, where D multiplies each mode by sign i and its number along
 * that axis, the derivative of exp(sign i k x): a transform an axis.
 */
#include "nufft_priv.h"
#include "operator_priv.h"

#include <halcyon/eval.h>
#include <halcyon/solve.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct hcy_misfit {
    hcy_operator *op;
    int dim;
    double sign;
    hcy_array *rest;               /* of the range */
    hcy_array *waves;              /* NULL, or values and slopes, as nufft_slopes has them; then there are none of: */
    hcy_array *derivative, *modes; /* of the range, of the domain */
    hcy_array *numbers[3];         /* of modes along an axis, as they lie, shaped to go with these */
    hcy_space points; /* what their gradient is */
    hcy_nufft *plan;  /* the caller's */
    struct hcy__turn turn;
};

void hcy_misfit_destroy(hcy_misfit *m)
{
    if (!m)
        return;
    hcy_array *const arrays[] = { m->rest,       m->waves,      m->derivative, m->modes,
                                  m->numbers[0], m->numbers[1], m->numbers[2] };
    for (int i = 0; i < 7; i++)
        hcy_array_release(arrays[i]);
    hcy_operator_release(m->op);
    hcy__turn_end(&m->turn);
    free(m);
}

/* The modes' numbers along axis d of the plan, as many axes behind them as follow. */
static int make_mode_numbers(hcy_array **numbers, const hcy_nufft *plan, int d)
{
    const int64_t n = plan->desc.modes[d];
    const bool centred = plan->opts.order == HCY_NUFFT_CENTRED;
    int64_t shape[3] = { n, 1, 1 };
    double *of = malloc((size_t)n * sizeof *of);
    hcy_array *doubles = NULL;
    if (!of)
        return hcy_fail(HCY_ENOMEM, "out of memory for %lld modes", (long long)n);
    for (int64_t i = 0; i < n; i++)
        of[i] = (double)(centred ? i - n / 2 : i < n - n / 2 ? i : i - n);
    int status = hcy_array_from_host(&doubles, plan->dev, HCY_FLOAT64, plan->desc.dim - d, shape, of);
    free(of);
    *numbers = doubles;
    return status;
}

/* The range with an axis behind that of the points: a value and its slopes. */
static hcy_space waves_of(const hcy_misfit *m)
{
    hcy_space s = m->op->desc.range;
    s.shape[s.rank++] = 1 + m->dim;
    return s;
}

static int make_misfit_memory(hcy_misfit *m, const hcy_nufft *plan)
{
    const hcy_space *domain = &m->op->desc.domain, *range = &m->op->desc.range;
    int status = hcy__space_vector(&m->rest, plan->dev, range);
    if (!status && hcy__nufft_has_slopes(plan)) {
        const hcy_space waves = waves_of(m);
        return hcy__space_vector(&m->waves, plan->dev, &waves);
    }
    if (!status)
        status = hcy__space_vector(&m->derivative, plan->dev, range);
    if (!status)
        status = hcy__space_vector(&m->modes, plan->dev, domain);
    for (int d = 0; !status && d < m->dim; d++)
        status = make_mode_numbers(&m->numbers[d], plan, d);
    return status;
}

int hcy_misfit_create(hcy_misfit **out, hcy_nufft *plan)
{
    hcy_operator *op = NULL;
    if (!out || !plan)
        return hcy_fail(HCY_EINVAL, "hcy_misfit_create: no %s", out ? "plan" : "place for it");
    int status = hcy_operator_nufft(&op, plan);
    if (!status && (plan->desc.type != 2 || plan->all_points != plan->n_transforms * plan->n_points))
        status = hcy_fail(HCY_EUNSUPPORTED, "hcy_misfit_create: a NUFFT of type 2 is wanted, whose transforms share "
                                            "their points");
    hcy_misfit *m = status ? NULL : calloc(1, sizeof *m);
    if (!m) {
        hcy_operator_release(op);
        return status ? status : hcy_fail(HCY_ENOMEM, "out of memory for a misfit");
    }
    hcy__turn_init(&m->turn);
    m->op = op;
    m->plan = plan;
    m->dim = plan->desc.dim;
    m->sign = plan->desc.sign;
    m->points = (hcy_space){ hcy__is_single(&op->desc.domain) ? HCY_FLOAT32 : HCY_FLOAT64,
                             2,
                             { m->dim, (int64_t)plan->n_points },
                             NULL };
    status = make_misfit_memory(m, plan);
    if (status)
        hcy_misfit_destroy(m);
    else
        *out = m;
    return status;
}

/* The values (0) or the slopes along axis i - 1 of all transforms. */
static int view_waves(hcy_array **view, const hcy_misfit *m, int i)
{
    return m->op->desc.range.rank > 1 ? hcy_array_slice(view, m->waves, ":,:,%d", i)
                                      : hcy_array_slice(view, m->waves, ":,%d", i);
}

/* Slopes along axis d by a transform of their own. */
static int transform_derivative(hcy_queue *queue, hcy_array **slopes, hcy_misfit *m, hcy_array *image, int d)
{
    const char *product = hcy__is_single(&m->op->desc.domain) ? "z = complex64(f*k)*x" : "z = f*k*x";
    int status = HCY_EVAL(queue, product, hcy_op_array("z", m->modes), hcy_op_complex("f", 0, m->sign),
                          hcy_op_array("k", m->numbers[d]), hcy_op_array("x", image));
    if (!status)
        status = hcy__operator_run(queue, m->derivative, m->op, m->modes, false);
    if (!status)
        *slopes = hcy_array_retain(m->derivative);
    return status;
}

/* Along axis d; several transforms share their points, and add up what each says of them. */
static int derive_points(hcy_queue *queue, hcy_array *of_points, hcy_misfit *m, hcy_array *image, int d)
{
    hcy_array *row = NULL, *q = NULL, *r = m->rest;
    int status = hcy_array_slice(&row, of_points, "%d", d);
    if (!status)
        status = m->waves ? view_waves(&q, m, 1 + d) : transform_derivative(queue, &q, m, image, d);
    if (!status)
        status = HCY_EVAL(queue,
                          m->op->desc.range.rank > 1 ? "y = sum(real(conj(r)*q), axis=0)" : "y = real(conj(r)*q)",
                          hcy_op_array("y", row), hcy_op_array("r", r), hcy_op_array("q", q));
    hcy_array_release(row);
    hcy_array_release(q);
    return status;
}

static int check_misfit(const hcy_misfit *m, hcy_array *const arrays[6])
{
    static const char *const names[6] = { "image", "data", "gradient in the image", "gradient in the samples",
                                          "gradient in the points", "value" };
    const hcy_space value = { HCY_FLOAT64, 0, { 0 }, NULL }, *domain = &m->op->desc.domain,
                    *range = &m->op->desc.range;
    const hcy_space *const spaces[6] = { domain, range, domain, range, &m->points, &value };
    return hcy__misfit_check(arrays, m->op, spaces, names, "hcy_misfit_gradient");
}

int hcy__misfit_check(hcy_array *const arrays[6], const hcy_operator *op, const hcy_space *const spaces[6],
                      const char *const names[6], const char *function)
{
    int status = 0;
    for (int i = 0; !status && i < 6; i++)
        if (arrays[i] || i < 2)
            status = hcy__operator_check_vector(arrays[i], op, spaces[i], names[i]);
    /* What is written is written before all is read. */
    for (int i = 2; !status && i < 6; i++)
        for (int k = 0; !status && k < i; k++)
            if (arrays[i] && arrays[k] && hcy__operator_shares_memory(arrays[i], arrays[k]))
                status = hcy_fail(HCY_EINVAL, "%s: the %s shares memory with the %s", function, names[i], names[k]);
    return status;
}

int hcy__misfit_of_rest(hcy_queue *queue, hcy_array *value, hcy_array *of_samples, hcy_array *rest)
{
    int status = 0;
    if (value)
        status = HCY_EVAL(queue, "v = 0.5*sum(abs2(complex128(r)))", hcy_op_array("v", value),
                          hcy_op_array("r", rest));
    if (!status && of_samples)
        status = HCY_EVAL(queue, "y = -r", hcy_op_array("y", of_samples), hcy_op_array("r", rest));
    return status;
}

/* A m - d; with the slopes, where they are wanted and come with it. */
static int find_rest(hcy_queue *queue, hcy_misfit *m, hcy_array *image, hcy_array *data, bool slopes)
{
    if (!slopes || !m->waves) {
        int status = hcy__operator_run(queue, m->rest, m->op, image, false);
        return status ? status
                      : HCY_EVAL(queue, "r -= d", hcy_op_array("r", m->rest), hcy_op_array("d", data));
    }
    hcy_buffer *modes = NULL;
    hcy_array *values = NULL;
    int status = hcy__vector_buffer(&modes, image);
    if (!status)
        status = hcy__nufft_submit_slopes(queue, m->plan, m->waves->buffer, modes);
    if (!status)
        status = view_waves(&values, m, 0);
    if (!status)
        status = HCY_EVAL(queue, "r = w - d", hcy_op_array("r", m->rest), hcy_op_array("w", values),
                          hcy_op_array("d", data));
    hcy_array_release(values);
    hcy_buffer_release(modes);
    return status;
}

int hcy_misfit_gradient(hcy_queue *queue, hcy_array *value, hcy_array *of_image, hcy_array *of_samples,
                        hcy_array *of_points, hcy_misfit *m, hcy_array *image, hcy_array *data)
{
    if (!queue || !m)
        return hcy_fail(HCY_EINVAL, "hcy_misfit_gradient: no %s", m ? "queue" : "misfit");
    int status = check_misfit(m, (hcy_array *[]){ image, data, of_image, of_samples, of_points, value });
    if (!status && (int64_t)m->plan->n_points != m->points.shape[1])
        status = hcy_fail(HCY_ESTATE,
                          "hcy_misfit_gradient: made for %" PRId64 " points, of which the plan has %zu now: make another",
                          m->points.shape[1], m->plan->n_points);
    if (status)
        return status;
    status = hcy__turn_take(&m->turn, queue);
    if (!status)
        status = find_rest(queue, m, image, data, of_points != NULL);
    if (!status)
        status = hcy__misfit_of_rest(queue, value, of_samples, m->rest);
    if (!status && of_image)
        status = hcy__operator_run(queue, of_image, m->op, m->rest, true);
    for (int d = 0; !status && of_points && d < m->dim; d++)
        status = derive_points(queue, of_points, m, image, d);
    hcy__turn_give(&m->turn);
    return status;
}
