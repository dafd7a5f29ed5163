/* recon_operator.c - the operator of halcyon recon: what all coils receive of an image, times the roots of weights.
 *
 * What is minimised is |W^1/2 (A x - b)|^2, where A is what the coils receive of an image and W the share of k-space
 * that each sample has, 1 in all: with the density's weights A^H W A is about the identity, whatever the trajectory, so
 * that factors of regularisers mean the same for every file.
 */
#include "recon.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AT_ONCE = 8 }; /* coils whose images are in memory together */

int recon_type(const struct recon *r)
{
    return r->is_double ? HCY_COMPLEX128 : HCY_COMPLEX64;
}

int recon_same_bits(const struct recon *r)
{
    if (r->v->everywhere)
        return HCY_NUFFT_SAME_EVERYWHERE;
    return r->v->deterministic ? HCY_NUFFT_SAME_RUNS : 0;
}

static void describe_plan(hcy_nufft_desc *desc, const struct recon *r)
{
    desc->type = 2;
    desc->sign = -1;
    desc->precision = recon_precision(r);
    desc->dim = r->dim;
    memcpy(desc->modes, r->sizes, sizeof desc->modes);
    desc->eps = r->v->eps.value;
}

int recon_make_plan(struct recon *r)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft_options options = HCY_NUFFT_OPTIONS_INIT;
    describe_plan(&desc, r);
    desc.n_transforms = (int64_t)(r->maps && r->coils > MOST_AT_ONCE ? MOST_AT_ONCE : r->coils);
    options.deterministic = recon_same_bits(r);
    int status = hcy_nufft_create(&r->plan, r->dev, &desc, &options);
    if (!status)
        status = hcy_nufft_set_points(r->plan, (int64_t)r->n, (const void *const *)r->axes, 0, NULL);
    return status;
}

double recon_weight_of(const struct recon *r, size_t i)
{
    return r->weights ? reals_get(r->is_double, r->weights, i) : 1 / (double)r->n;
}

int recon_put_weights(hcy_array **weights, const struct recon *r, bool roots)
{
    int64_t shape = (int64_t)r->n;
    void *numbers = reals_room(r->is_double, r->n);
    if (!numbers)
        return hcy_fail(HCY_ENOMEM, "no memory for %zu weights", r->n);
    for (size_t i = 0; i < r->n; i++)
        reals_put(r->is_double, numbers, i, roots ? sqrt(recon_weight_of(r, i)) : recon_weight_of(r, i));
    int status =
        hcy_array_from_host(weights, r->dev, r->is_double ? HCY_FLOAT64 : HCY_FLOAT32, 1, &shape, numbers);
    free(numbers);
    return status;
}

static int put_maps(hcy_array **maps, const struct recon *r)
{
    int64_t shape[4] = { (int64_t)r->coils, r->sizes[0], r->sizes[1], r->sizes[2] };
    return hcy_array_from_host(maps, r->dev, recon_type(r), r->dim + 1, shape, r->maps);
}

static int make_coils(struct recon *r, hcy_array *roots)
{
    hcy_array *maps = NULL;
    int status = recon_make_plan(r);
    if (!status)
        status = put_maps(&maps, r);
    if (!status)
        status = hcy_operator_sense(&r->op, r->plan, maps, roots);
    hcy_array_release(maps);
    return status;
}

/* r->op becomes that and the weights behind it. */
static int weigh_operator(struct recon *r, hcy_array *roots)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_operator *chain[2] = { NULL, r->op };
    r->op = NULL;
    int status = hcy_operator_get_info(&info, chain[1]);
    if (!status)
        status = hcy_operator_diagonal(&chain[0], &info.range, roots);
    if (!status)
        status = hcy_operator_compose(&r->op, chain, 2);
    hcy_operator_release(chain[0]);
    hcy_operator_release(chain[1]);
    return status;
}

static int make_transforms(struct recon *r)
{
    int status = recon_make_plan(r);
    return status ? status : hcy_operator_nufft(&r->op, r->plan);
}

static int make_stack(struct recon *r)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft_options options = HCY_NUFFT_OPTIONS_INIT;
    hcy_array *maps = NULL;
    describe_plan(&desc, r);
    desc.n_transforms = r->maps ? (int64_t)(r->coils < MOST_AT_ONCE ? r->coils : MOST_AT_ONCE) : 1;
    options.deterministic = recon_same_bits(r);
    int status = r->maps ? put_maps(&maps, r) : 0;
    if (!status)
        status = recon_make_stack(r, &desc, &options, maps);
    hcy_array_release(maps);
    return status;
}

/* Real functions as real ones: they take half of a convolution's spectra. */
static int put_basis(hcy_array **basis, const struct recon *r)
{
    const int64_t shape[2] = { (int64_t)r->functions, (int64_t)r->frames };
    const size_t n = r->functions * r->frames;
    bool is_real = true;
    for (size_t i = 0; i < n; i++)
        is_real = is_real && !reals_get(r->is_double, r->basis, 2 * i + 1);
    void *reals = is_real ? reals_room(r->is_double, n) : NULL;
    if (is_real && !reals)
        return hcy_fail(HCY_ENOMEM, "no memory for %zu functions of %zu frames", r->functions, r->frames);
    for (size_t i = 0; i < n && is_real; i++)
        reals_put(r->is_double, reals, i, reals_get(r->is_double, r->basis, 2 * i));
    const int type = is_real ? (r->is_double ? HCY_FLOAT64 : HCY_FLOAT32) : recon_type(r);
    int status = hcy_array_from_host(basis, r->dev, type, 2, shape, is_real ? reals : r->basis);
    free(reals);
    return status;
}

/* r->op becomes the one of an image for each function. */
static int add_basis(struct recon *r)
{
    hcy_operator *op = NULL;
    hcy_array *basis = NULL;
    int status = put_basis(&basis, r);
    if (!status)
        status = hcy_operator_subspace(&op, r->op, basis);
    hcy_array_release(basis);
    if (status)
        return status;
    hcy_operator_release(r->op);
    r->op = op;
    return 0;
}

int recon_make_operator(struct recon *r)
{
    hcy_array *roots = NULL;
    const bool is_stack = r->planes && !r->v->toeplitz, weighs = r->maps && !is_stack;
    int status = recon_put_weights(&roots, r, true);
    if (!status && weighs)
        status = make_coils(r, roots);
    else if (!status)
        status = is_stack ? make_stack(r) : make_transforms(r);
    if (!status && !weighs)
        status = weigh_operator(r, roots);
    if (!status && (r->field || r->decay))
        status = recon_add_field(r);
    if (!status && r->basis)
        status = add_basis(r);
    hcy_array_release(roots);
    return status;
}

hcy_operator *recon_operator(const struct recon *r)
{
    return r->real_op ? r->real_op : r->op;
}

void recon_free_operator(struct recon *r)
{
    hcy_operator_release(r->real_op);
    r->real_op = NULL;
    hcy_operator_release(r->op);
    r->op = NULL;
    hcy_nufft_destroy(r->plan);
    r->plan = NULL;
}

int recon_make_real(hcy_operator **real, hcy_operator *op, const struct recon *r, bool is_gram)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_operator *widen = NULL, *narrow = NULL;
    int status = hcy_operator_get_info(&info, op);
    hcy_space image = info.domain;
    image.dtype = r->is_double ? HCY_FLOAT64 : HCY_FLOAT32;
    if (!status)
        status = hcy_operator_complex(&widen, r->dev, &image);
    if (!status)
        status = hcy_operator_adjoint(&narrow, widen);
    if (!status)
        status = hcy_operator_compose(real, (hcy_operator *[]){ narrow, op, widen } + !is_gram, 2 + is_gram);
    hcy_operator_release(widen);
    hcy_operator_release(narrow);
    return status;
}

static int make_convolution(struct recon *r)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_array *maps = NULL, *weights = NULL, *basis = NULL;
    const void *const *points = (const void *const *)r->axes;
    const bool has_field = r->field || r->decay;
    describe_plan(&desc, r);
    /* It is not needed any more, unless for the next frame's samples, and large; but it has the segments of a field,
     * and the functions around these. */
    if (!has_field && !r->keeps)
        recon_free_operator(r);
    int status = r->maps ? put_maps(&maps, r) : 0;
    if (!status)
        status = recon_put_weights(&weights, r, false);
    if (!status && r->basis && !has_field)
        status = put_basis(&basis, r);
    if (!status && basis)
        status = hcy_operator_toeplitz_subspace(&r->gram, r->dev, &desc, (int64_t)r->n, points, maps, weights, basis);
    else if (!status && has_field)
        status = hcy_operator_toeplitz_field(&r->gram, r->op, &desc, (int64_t)r->n, points, maps, weights);
    else if (!status)
        status = hcy_operator_toeplitz(&r->gram, r->dev, &desc, (int64_t)r->n, points, maps, weights);
    if (!r->keeps)
        recon_free_operator(r);
    hcy_array_release(maps);
    hcy_array_release(weights);
    hcy_array_release(basis);
    return status;
}

/* Coils without maps are convolved alike, each its own image: with the operator of one, which a field is taken from. */
static int repeat_convolution(struct recon *r)
{
    struct recon_values silent = *r->v;
    struct recon one = *r;
    silent.quiet = 1; /* what is to be said of a field has been */
    one.v = &silent;
    one.coils = 1;
    one.op = one.real_op = NULL;
    one.plan = NULL;
    one.keeps = false;
    if (!r->keeps)
        recon_free_operator(r);
    int status = r->field || r->decay ? recon_make_operator(&one) : 0;
    if (!status)
        status = make_convolution(&one);
    recon_free_operator(&one);
    r->gram = one.gram;
    return status ? status : recon_repeat(&r->gram, r, true);
}

int recon_make_convolution(struct recon *r)
{
    return r->maps || r->coils == 1 ? make_convolution(r) : repeat_convolution(r);
}
