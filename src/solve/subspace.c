/* subspace.c - images that change from frame to frame as a few functions of time do: what an operator makes of
 * each coefficient's image, times its function, added up. */
#include "operator_priv.h"

#include <halcyon/eval.h>
#include <stdlib.h>

struct subspace {
    hcy_operator *a;
    hcy_array *basis;   /* [n][frames][1] */
    hcy_array *samples; /* what a makes of one image */
    hcy_space frames;   /* a's range, its last axis as [frames][samples of a frame] */
    const char *adjoint_text;
    struct hcy__turn turn;
};

static void free_subspace(void *user)
{
    struct subspace *s = user;
    hcy_operator_release(s->a);
    hcy_array_release(s->basis);
    hcy_array_release(s->samples);
    hcy__turn_end(&s->turn);
    free(s);
}

/* to = from times function k, by a text of these. */
static int weigh_frames(hcy_queue *queue, hcy_array *to, const struct subspace *s, hcy_array *from, int64_t k,
                        const char *text)
{
    hcy_array *y = NULL, *p = NULL, *x = NULL;
    int status = hcy_array_reshape(&y, to, s->frames.rank, s->frames.shape);
    if (!status)
        status = hcy_array_reshape(&x, from, s->frames.rank, s->frames.shape);
    if (!status)
        status = hcy_array_slice(&p, s->basis, "%lld", (long long)k);
    if (!status)
        status = HCY_EVAL(queue, text, hcy_op_array("y", y), hcy_op_array("p", p), hcy_op_array("x", x));
    hcy_array_release(y);
    hcy_array_release(p);
    hcy_array_release(x);
    return status;
}

static int take_image(hcy_array **image, const struct subspace *s, const hcy_array *all, int64_t k)
{
    const hcy_space *one = &s->a->desc.domain;
    return hcy__vector_part(image, all, k * hcy__space_count(one), one);
}

static int apply_subspace(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct subspace *s = user;
    int status = hcy__turn_take(&s->turn, queue);
    for (int64_t k = 0; !status && k < s->basis->shape[0]; k++) {
        hcy_array *image = NULL;
        status = take_image(&image, s, x, k);
        if (!status)
            status = hcy__operator_run(queue, s->samples, s->a, image, false);
        if (!status)
            status = weigh_frames(queue, y, s, s->samples, k, k ? "y += p*x" : "y = p*x");
        hcy_array_release(image);
    }
    hcy__turn_give(&s->turn);
    return status;
}

hcy_operator *hcy__subspace_parts(hcy_array **basis, const hcy_operator *op)
{
    const struct subspace *s = op->desc.user;
    if (op->desc.apply != apply_subspace)
        return NULL;
    *basis = s->basis;
    return s->a;
}

static int apply_subspace_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    struct subspace *s = user;
    int status = hcy__turn_take(&s->turn, queue);
    for (int64_t k = 0; !status && k < s->basis->shape[0]; k++) {
        hcy_array *image = NULL;
        status = take_image(&image, s, x, k);
        if (!status)
            status = weigh_frames(queue, s->samples, s, y, k, s->adjoint_text);
        if (!status)
            status = hcy__operator_run(queue, image, s->a, s->samples, true);
        hcy_array_release(image);
    }
    hcy__turn_give(&s->turn);
    return status;
}

/* Whether the basis goes together with the operator. */
static int check_basis(const hcy_operator *a, const hcy_array *basis)
{
    char is[240];
    int status = a ? hcy__array_check(basis, "hcy_operator_subspace")
                   : hcy_fail(HCY_EINVAL, "hcy_operator_subspace: no operator");
    if (status)
        return status;
    const hcy_space *range = &a->desc.range;
    const bool is_complex = basis->dtype == HCY_COMPLEX64 || basis->dtype == HCY_COMPLEX128,
               is_real = basis->dtype == HCY_FLOAT32 || basis->dtype == HCY_FLOAT64;
    const int64_t samples = range->rank ? range->shape[range->rank - 1] : 0,
                  frames = basis->rank == 2 ? basis->shape[1] : 0;
    if (hcy__array_device(basis) != a->dev)
        return hcy_fail(HCY_EINVAL, "hcy_operator_subspace: the basis is on another device than operator %s",
                        a->desc.name);
    if (!is_real && !(is_complex && hcy__space_is_complex(range)))
        return hcy_fail(HCY_EINVAL, "hcy_operator_subspace: a basis of %s, for samples %s",
                        hcy_dtype_name(basis->dtype), hcy__space_text(is, range));
    if (!range->rank || frames < 1 || basis->shape[0] < 1 || samples % frames)
        return hcy_fail(HCY_EINVAL, "hcy_operator_subspace: a basis [%lld][%lld]; it is [functions][frames], and the "
                                    "last axis of the samples %s is as many for each frame",
                        (long long)(basis->rank ? basis->shape[0] : 0), (long long)frames,
                        hcy__space_text(is, range));
    if (a->desc.domain.rank == HCY_ARRAY_MAX_RANK || range->rank == HCY_ARRAY_MAX_RANK)
        return hcy_fail(HCY_EINVAL, "hcy_operator_subspace: operator %s leaves no axis for functions or frames",
                        a->desc.name);
    if (a->desc.domain.vectors || range->vectors)
        return hcy_fail(HCY_EUNSUPPORTED, "hcy_operator_subspace: of vectors that are distributed");
    return 0;
}

static int make_subspace(struct subspace *s, hcy_operator *a, hcy_array *basis)
{
    const hcy_space *range = &a->desc.range;
    const int64_t shape[3] = { basis->shape[0], basis->shape[1], 1 };
    s->a = hcy_operator_retain(a);
    s->frames = *range;
    s->frames.shape[range->rank - 1] = shape[1];
    s->frames.shape[s->frames.rank++] = range->shape[range->rank - 1] / shape[1];
    s->adjoint_text = basis->dtype == HCY_FLOAT32 || basis->dtype == HCY_FLOAT64 ? "y = p*x" : "y = conj(p)*x";
    int status = hcy_array_reshape(&s->basis, basis, 3, shape);
    return status ? status : hcy__space_vector(&s->samples, a->dev, range);
}

int hcy_operator_subspace(hcy_operator **op, hcy_operator *a, hcy_array *basis)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    int status = check_basis(a, basis);
    struct subspace *s = status ? NULL : calloc(1, sizeof *s);
    if (!s)
        return status ? status : hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&s->turn);
    status = make_subspace(s, a, basis);
    if (status) {
        free_subspace(s);
        return status;
    }
    desc.name = "subspace";
    desc.domain = a->desc.domain;
    for (int d = desc.domain.rank++; d > 0; d--)
        desc.domain.shape[d] = desc.domain.shape[d - 1];
    desc.domain.shape[0] = basis->shape[0];
    desc.range = a->desc.range;
    desc.apply = apply_subspace;
    desc.adjoint = a->desc.adjoint ? apply_subspace_adjoint : NULL;
    desc.destroy = free_subspace;
    desc.user = s;
    return hcy__operator_make(op, a->dev, &desc);
}
