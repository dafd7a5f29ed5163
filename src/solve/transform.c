/* transform.c - Fourier transforms as operators: those of a NUFFT's plan, and the device's FFTs. */
#include "operator_priv.h"
#include "nufft_priv.h"

#include <halcyon/fft.h>
#include <stdlib.h>

int hcy__vector_buffer(hcy_buffer **out, const hcy_array *a)
{
    size_t size = hcy_dtype_size(a->dtype);
    /* An empty vector need not have one, and there is no view of no bytes. */
    if (!a->offset || !a->count) {
        *out = hcy_buffer_retain(a->buffer);
        return 0;
    }
    return hcy_buffer_sub(out, a->buffer, (size_t)a->offset * size, (size_t)a->count * size);
}

/* --- NUFFT: the plan is the caller's --- */

int hcy__operator_submit_nufft(hcy_queue *queue, hcy_nufft *plan, hcy_array *c, hcy_array *f, size_t n,
                               bool adjoint)
{
    hcy_buffer *strengths = NULL, *modes = NULL;
    int status = hcy__vector_buffer(&strengths, c);
    if (!status)
        status = hcy__vector_buffer(&modes, f);
    if (!status)
        status = hcy__nufft_submit_some(queue, plan, strengths, modes, n, adjoint);
    hcy_buffer_release(strengths);
    hcy_buffer_release(modes);
    return status;
}

static int submit_nufft(hcy_queue *queue, hcy_nufft *plan, hcy_array *c, hcy_array *f, bool adjoint)
{
    /* A plan takes new points at any time; then this is no longer what the vectors were made for. */
    if ((size_t)c->count != plan->all_points)
        return hcy_fail(HCY_EINVAL, "operator nufft: its plan has %zu points of all transforms now, it had %lld",
                        plan->all_points, (long long)c->count);
    return hcy__operator_submit_nufft(queue, plan, c, f, plan->n_transforms, adjoint);
}

static int apply_type2(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return submit_nufft(queue, user, y, x, false);
}
static int apply_type2_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return submit_nufft(queue, user, y, x, true);
}
static int apply_type1(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return submit_nufft(queue, user, x, y, false);
}
static int apply_type1_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return submit_nufft(queue, user, x, y, true);
}

hcy_space hcy__operator_image(const hcy_nufft *plan)
{
    hcy_space s = { plan->desc.precision == HCY_F64 ? HCY_COMPLEX128 : HCY_COMPLEX64, plan->desc.dim, { 0 }, NULL };
    for (int d = 0; d < plan->desc.dim; d++)
        s.shape[d] = plan->desc.modes[d];
    return s;
}

int hcy__operator_check_plan(const hcy_nufft *plan, const char *function)
{
    int status = plan ? hcy__nufft_ready(plan) : hcy_fail(HCY_EINVAL, "%s: no plan", function);
    if (!status && (plan->desc.type == 3 || plan->way == &hcy__nufft_each))
        status = hcy_fail(HCY_EUNSUPPORTED, "%s: wants a plan of type 1 or 2 whose transforms share their points",
                          function);
    return status;
}

/* A vector of strengths or coefficients: [n_transforms][sizes], without the first axis if it is 1.  Transforms with
 * points of their own have no such shape: their numbers are one behind the other. */
static void append_axis(hcy_space *space, size_t n)
{
    space->shape[space->rank++] = (int64_t)n;
}
static hcy_space space_of_nufft(const hcy_nufft *p, bool of_c)
{
    hcy_space s = { p->desc.precision == HCY_F64 ? HCY_COMPLEX128 : HCY_COMPLEX64, 0, { 0 }, NULL };
    const size_t one = of_c ? p->n_points : hcy__nufft_results(p),
                 all = of_c ? p->all_points : p->all_results;
    const bool each = all != p->n_transforms * one;
    if (!each && p->n_transforms > 1)
        append_axis(&s, p->n_transforms);
    if (each || of_c || p->desc.type == 3)
        append_axis(&s, each ? all : one);
    else
        for (int d = 0; d < p->desc.dim; d++)
            append_axis(&s, (size_t)p->desc.modes[d]);
    return s;
}

int hcy_operator_nufft(hcy_operator **op, hcy_nufft *plan)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    int status = plan ? hcy__nufft_ready(plan) : hcy_fail(HCY_EINVAL, "hcy_operator_nufft: no plan");
    if (status)
        return status;
    const bool type2 = plan->desc.type == 2;
    desc.name = "nufft";
    desc.domain = space_of_nufft(plan, !type2);
    desc.range = space_of_nufft(plan, type2);
    desc.apply = type2 ? apply_type2 : apply_type1;
    desc.adjoint = type2 ? apply_type2_adjoint : apply_type1_adjoint;
    desc.user = plan;
    return hcy_operator_create(op, plan->dev, &desc);
}

/* --- FFT --- */

struct fft {
    hcy_fft *plan;
    hcy_buffer *work; /* NULL: it needs none */
    struct hcy__turn turn;
};

static void free_fft(void *user)
{
    struct fft *f = user;
    hcy_fft_release(f->plan);
    hcy_buffer_release(f->work);
    hcy__turn_end(&f->turn);
    free(f);
}

int hcy__operator_submit_fft(hcy_queue *queue, hcy_array *to, hcy_fft *plan, int direction, hcy_array *from,
                             hcy_buffer *work)
{
    hcy_buffer *in = NULL, *out = NULL;
    int status = hcy__vector_buffer(&in, from);
    if (!status)
        status = hcy__vector_buffer(&out, to);
    if (!status)
        status = hcy_fft_execute(queue, out, plan, direction, in, work);
    hcy_buffer_release(in);
    hcy_buffer_release(out);
    return status;
}

static int run_fft(hcy_queue *queue, hcy_array *y, struct fft *f, hcy_array *x, int direction)
{
    int status = hcy__turn_take(&f->turn, queue);
    if (!status && x->count)
        status = hcy__operator_submit_fft(queue, y, f->plan, direction, x, f->work);
    hcy__turn_give(&f->turn);
    return status;
}

static int apply_fft(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return run_fft(queue, y, user, x, HCY_FFT_FORWARD);
}
static int apply_fft_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return run_fft(queue, x, user, y, HCY_FFT_BACKWARD);
}

static int make_fft(struct fft *f, hcy_device *dev, const hcy_space *space, int n_axes)
{
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    desc.precision = space->dtype == HCY_COMPLEX128 ? HCY_F64 : HCY_F32;
    desc.rank = n_axes;
    desc.flags = HCY_FFT_DETERMINISTIC;
    for (int d = 0; d < space->rank; d++)
        if (d < space->rank - n_axes)
            desc.batch *= (size_t)space->shape[d];
        else
            desc.n[d - (space->rank - n_axes)] = (size_t)space->shape[d];
    int status = hcy_fft_create(&f->plan, dev, &desc);
    size_t work = status ? 0 : hcy_fft_workspace(f->plan);
    return work ? hcy_buffer_create(&f->work, dev, HCY_MEM_DEVICE, work) : status;
}

int hcy_operator_fft(hcy_operator **op, hcy_device *dev, const hcy_space *space, int n_axes)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    int status = dev ? hcy__space_check(space, "hcy_operator_fft")
                     : hcy_fail(HCY_EINVAL, "hcy_operator_fft: no device");
    if (!status && !hcy__space_is_complex(space))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_fft: of complex vectors only, not of %s",
                          hcy_dtype_name(space->dtype));
    if (!status && (n_axes < 1 || n_axes > 3 || n_axes > space->rank))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_fft: over %d axes of %d; 1 to 3 are possible", n_axes,
                          space->rank);
    if (!status && !hcy__space_count(space))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_fft: of vectors without elements");
    if (status)
        return status;
    struct fft *f = calloc(1, sizeof *f);
    if (!f)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&f->turn);
    status = make_fft(f, dev, space, n_axes);
    if (status) {
        free_fft(f);
        return status;
    }
    desc.name = "fft";
    desc.domain = desc.range = *space;
    desc.apply = apply_fft;
    desc.adjoint = apply_fft_adjoint;
    desc.destroy = free_fft;
    desc.user = f;
    return hcy__operator_make(op, dev, &desc);
}
