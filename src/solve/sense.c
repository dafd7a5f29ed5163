/* sense.c - what several coils receive of an image, at the points of a non-uniform FFT.
 *
 * Coils go through the plan some at a time: as many as it takes at once, the last ones fewer.  Memory for these is the
 * operator's, made with it; strengths are written to the result and read from the input where they lie, but for the
 * adjoint with weights.
 */
#include "coils.h"
#include "nufft_priv.h"

#include <halcyon/eval.h>
#include <stdlib.h>

struct sense {
    hcy_nufft *plan;
    bool is_type2;
    struct hcy__coils coils;
    hcy_array *weights;  /* [coils][points], broadcast, or NULL */
    hcy_array *weighted; /* strengths of a batch, of the adjoint with weights */
    const char *adjoint_text;
    hcy_space samples;   /* [coils][points] */
    struct hcy__turn turn;
};

static void free_sense(void *user)
{
    struct sense *s = user;
    hcy__coils_end(&s->coils);
    hcy_array_release(s->weights);
    hcy_array_release(s->weighted);
    hcy__turn_end(&s->turn);
    free(s);
}

/* Strengths of n coils of `all`. */
static int take_samples(hcy_array **part, const struct sense *s, const hcy_array *all, int64_t first, int64_t n)
{
    hcy_space space = s->samples;
    space.shape[0] = n;
    return hcy__vector_part(part, all, first * s->samples.shape[1], &space);
}

/* to = weights * from for n coils, or that with the conjugates. */
static int weigh_samples(hcy_queue *queue, hcy_array *to, const struct sense *s, hcy_array *from, int64_t first,
                         int64_t n, const char *text)
{
    hcy_array *weights = NULL;
    int status = hcy_array_slice(&weights, s->weights, "%lld:%lld", (long long)first, (long long)(first + n));
    if (!status)
        status = HCY_EVAL(queue, text, hcy_op_array("y", to), hcy_op_array("w", weights), hcy_op_array("x", from));
    hcy_array_release(weights);
    return status;
}

static int receive_batch(hcy_queue *queue, hcy_array *y, const struct sense *s, hcy_array *x, int64_t first, int64_t n)
{
    hcy_array *samples = NULL;
    int status = take_samples(&samples, s, y, first, n);
    if (!status)
        status = hcy__coils_multiply(queue, &s->coils, x, first, n);
    if (!status)
        status = hcy__operator_submit_nufft(queue, s->plan, samples, s->coils.images, (size_t)n, !s->is_type2);
    if (!status && s->weights)
        status = weigh_samples(queue, samples, s, samples, first, n, "y = w*x");
    hcy_array_release(samples);
    return status;
}

static int return_batch(hcy_queue *queue, hcy_array *x, const struct sense *s, hcy_array *y, int64_t first, int64_t n)
{
    hcy_array *samples = NULL, *weighted = NULL;
    int status = take_samples(&samples, s, y, first, n);
    if (!status && s->weights)
        status = take_samples(&weighted, s, s->weighted, 0, n);
    if (!status && s->weights)
        status = weigh_samples(queue, weighted, s, samples, first, n, s->adjoint_text);
    if (!status)
        status = hcy__operator_submit_nufft(queue, s->plan, weighted ? weighted : samples, s->coils.images, (size_t)n,
                                            s->is_type2);
    if (!status)
        status = hcy__coils_combine(queue, x, &s->coils, first, n);
    hcy_array_release(samples);
    hcy_array_release(weighted);
    return status;
}

static int run_sense(hcy_queue *queue, hcy_array *to, struct sense *s, hcy_array *from,
                     int (*batch)(hcy_queue *, hcy_array *, const struct sense *, hcy_array *, int64_t, int64_t))
{
    int status = hcy__turn_take(&s->turn, queue);
    /* A plan takes new points at any time; then this is no longer what the vectors were made for. */
    if (!status && s->plan->n_points != (size_t)s->samples.shape[1])
        status = hcy_fail(HCY_EINVAL, "operator sense: its plan has %zu points now, it had %lld", s->plan->n_points,
                          (long long)s->samples.shape[1]);
    for (int64_t first = 0; !status && first < s->coils.n; first += s->coils.batch)
        status = batch(queue, to, s, from, first, hcy__coils_now(&s->coils, first));
    hcy__turn_give(&s->turn);
    return status;
}

static int apply_sense(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return run_sense(queue, y, user, x, receive_batch);
}

static int apply_sense_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return run_sense(queue, x, user, y, return_batch);
}

static int set_weights(struct sense *s, hcy_array *weights)
{
    hcy_space some = s->samples;
    int status = hcy__array_check(weights, "hcy_operator_sense");
    if (!status && hcy__array_device(weights) != s->plan->dev)
        status = hcy_fail(HCY_EINVAL, "hcy_operator_sense: the weights are on another device than the plan");
    if (!status)
        status = hcy_array_broadcast(&s->weights, weights, 2, s->samples.shape);
    if (status)
        return status;
    const bool is_complex = weights->dtype == HCY_COMPLEX64 || weights->dtype == HCY_COMPLEX128;
    s->adjoint_text = is_complex ? "y = conj(w)*x" : "y = w*x";
    some.shape[0] = s->coils.batch;
    return hcy__space_vector(&s->weighted, s->plan->dev, &some);
}

/* Memory for as many coils as go at once. */
static int make_images(struct sense *s)
{
    const int64_t most = (int64_t)s->plan->batch;
    s->coils.batch = most < s->coils.n ? most : s->coils.n;
    const hcy_space images = hcy__coils_space(&s->coils, s->coils.batch);
    return hcy__space_vector(&s->coils.images, s->plan->dev, &images);
}

int hcy_operator_sense(hcy_operator **op, hcy_nufft *plan, hcy_array *maps, hcy_array *weights)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    int status = hcy__operator_check_plan(plan, "hcy_operator_sense");
    if (status)
        return status;
    struct sense *s = calloc(1, sizeof *s);
    if (!s)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&s->turn);
    s->plan = plan;
    s->is_type2 = plan->desc.type == 2;
    desc.domain = hcy__operator_image(plan);
    status = maps ? hcy__coils_init(&s->coils, plan->dev, maps, &desc.domain, "hcy_operator_sense")
                  : hcy_fail(HCY_EINVAL, "hcy_operator_sense: no maps");
    if (!status)
        status = make_images(s);
    if (!status) {
        s->samples = (hcy_space){ desc.domain.dtype, 2, { s->coils.n, (int64_t)plan->n_points }, NULL };
        status = weights ? set_weights(s, weights) : 0;
    }
    if (status) {
        free_sense(s);
        return status;
    }
    desc.name = "sense";
    desc.range = s->samples;
    desc.apply = apply_sense;
    desc.adjoint = apply_sense_adjoint;
    desc.destroy = free_sense;
    desc.user = s;
    return hcy__operator_make(op, plan->dev, &desc);
}
