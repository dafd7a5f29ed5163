/* recon_devices.c - several devices share the coils: each has some, with their maps and a plan; the first has the
 * image.
 *
 * A share is what the whole would be if there were no other coils, so that it is a copy of the whole with fewer of
 * them, on another device; what it makes is its own, what was read belongs to the whole.
 */
#include "recon.h"
#include <stdlib.h>
#include <string.h>

int recon_open_devices(struct recon *r)
{
    int status = r->devs ? 0 : hcy_device_open_list(&r->devs, &r->n_devs, r->v->device);
    if (status)
        return cli_fail_value(status, r->v->device);
    r->dev = r->devs[0];
    const size_t parts = r->n_frames ? r->n_frames : r->coils;
    const char *what = r->n_frames ? "frame" : "coil";
    if (r->n_devs > 1 && r->n_devs > parts)
        return cli_error("--device: %zu devices cannot share %zu %s%s; name no more than there are %ss", r->n_devs, parts,
                         what, parts == 1 ? "" : "s", what);
    return CLI_OK;
}

const char *recon_device_names(char *text, size_t size, const struct recon *r)
{
    size_t at = 0;
    text[0] = 0;
    for (size_t i = 0; i < r->n_devs && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? "," : "",
                               hcy_device_get_info(r->devs[i])->name);
    return text;
}

/* Coils of the i-th device: as many for each, and one more for the first ones where they come out odd. */
static void take_share(struct recon *share, const struct recon *r, size_t i)
{
    const size_t each = r->coils / r->n_devs, rest = r->coils % r->n_devs;
    const size_t first = i * each + (i < rest ? i : rest), real = r->is_double ? sizeof(double) : sizeof(float);
    *share = *r;
    share->dev = r->devs[i];
    share->coils = each + (i < rest);
    share->plan = NULL;
    share->op = share->gram = NULL;
    if (r->maps)
        share->maps = (char *)r->maps + 2 * real * first * r->pixels;
}

/* Operators of the shares as one, between the vectors that the whole has on one device. */
static int join_shares(hcy_operator **op, const struct recon *r, hcy_operator *const *ops, bool is_gram)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_operator *joined = NULL;
    /* Coils without maps have an image each. */
    int status = !r->maps  ? hcy_operator_block_diagonal(&joined, ops, r->n_devs)
                 : is_gram ? hcy_operator_sum(&joined, ops, r->n_devs)
                           : hcy_operator_vstack(&joined, ops, r->n_devs);
    if (!status)
        status = hcy_operator_get_info(&info, joined);
    hcy_space images = { info.domain.dtype, r->dim + 1,
                         { (int64_t)r->coils, r->sizes[0], r->sizes[1], r->sizes[2] }, NULL };
    const hcy_space samples = { info.domain.dtype, 2, { (int64_t)r->coils, (int64_t)r->n }, NULL },
                    *domain = r->maps ? &info.domain : &images;
    if (!status)
        status = hcy_operator_reshape(op, joined, domain, is_gram ? domain : &samples);
    hcy_operator_release(joined);
    return status;
}

int recon_share_operator(struct recon *r)
{
    struct recon_values silent = *r->v;
    hcy_operator **ops = calloc(r->n_devs, sizeof *ops);
    r->shares = calloc(r->n_devs, sizeof *r->shares);
    silent.quiet = 1;
    int status = ops && r->shares ? 0 : hcy_fail(HCY_ENOMEM, "no memory for %zu devices", r->n_devs);
    for (size_t i = 0; !status && i < r->n_devs; i++) {
        struct recon *share = &r->shares[i];
        take_share(share, r, i);
        /* What is to be said of a field is the same on every device. */
        share->v = i ? &silent : r->v;
        status = recon_make_operator(share);
        share->v = r->v;
        ops[i] = share->op;
        r->segments = share->segments;
        r->segments_error = share->segments_error;
    }
    if (!status)
        status = join_shares(&r->op, r, ops, false);
    free(ops);
    return status;
}

/* A^H A, of the operator that is there, or as a convolution, without points. */
static int make_share_gram(struct recon *share)
{
    hcy_operator *chain[2] = { NULL, share->op };
    if (share->v->toeplitz)
        return recon_make_convolution(share);
    int status = hcy_operator_adjoint(&chain[0], share->op);
    if (!status)
        status = hcy_operator_compose(&share->gram, chain, 2);
    hcy_operator_release(chain[0]);
    return status;
}

int recon_share_gram(struct recon *r)
{
    hcy_operator **ops = calloc(r->n_devs, sizeof *ops);
    int status = ops ? 0 : hcy_fail(HCY_ENOMEM, "no memory for %zu devices", r->n_devs);
    for (size_t i = 0; !status && i < r->n_devs; i++) {
        status = make_share_gram(&r->shares[i]);
        ops[i] = r->shares[i].gram;
    }
    if (!status)
        status = join_shares(&r->gram, r, ops, true);
    free(ops);
    return status;
}

void recon_free_devices(struct recon *r)
{
    for (size_t i = 0; r->shares && i < r->n_devs; i++) {
        hcy_operator_release(r->shares[i].gram);
        recon_free_operator(&r->shares[i]);
    }
    free(r->shares);
    for (size_t i = 0; i < r->n_devs; i++)
        hcy_device_release(r->devs[i]);
    hcy_list_free(r->devs);
}
