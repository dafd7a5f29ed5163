/* recon_weights.c - the weights of samples, the share of k-space that each has: read, computed, written. */
#include "recon.h"
#include <halcyon/density.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIPE_ITERATIONS = 20 };

int recon_precision(const struct recon *r)
{
    return r->is_double ? HCY_F64 : HCY_F32;
}

size_t recon_count_points(const struct recon *r)
{
    size_t n = 1;
    for (int d = 0; d < r->point_rank; d++)
        n *= (size_t)r->point_shape[d];
    return n;
}

static int read_weights(struct recon *r)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    int status = hcy_host_array_read(&a, r->v->dcf);
    status = status ? cli_fail(status) : recon_order_points(&a, r);
    if (!status)
        status = array_take_reals(&r->weights, &a, r->is_double, recon_count_points(r), r->v->dcf, "weights");
    hcy_host_array_free(&a);
    double largest = 0;
    for (size_t i = 0; !status && i < r->n; i++) {
        double w = reals_get(r->is_double, r->weights, i);
        if (!(w >= 0) || !isfinite(w))
            status = cli_error("%s: weight %zu is %g; weights are 0 or more", r->v->dcf, i, w);
        largest = fmax(largest, w);
    }
    if (!status && r->n && !(largest > 0))
        status = cli_error("%s: all weights are 0, so that no sample counts", r->v->dcf);
    return status;
}

int recon_compute_weights(struct recon *r, enum recon_dcf dcf)
{
    static const int methods[] = { [RECON_DCF_PIPE] = HCY_DENSITY_PIPE,
                                   [RECON_DCF_CELLS] = HCY_DENSITY_CELLS,
                                   [RECON_DCF_VORONOI] = HCY_DENSITY_VORONOI };
    hcy_density_desc desc = HCY_DENSITY_DESC_INIT;
    desc.method = methods[dcf];
    desc.precision = recon_precision(r);
    desc.dim = r->dim;
    memcpy(desc.modes, r->sizes, sizeof desc.modes);
    desc.iterations = PIPE_ITERATIONS;
    desc.deterministic = recon_same_bits(r);
    r->weights = reals_room(r->is_double, r->n);
    if (!r->weights)
        return cli_error("out of memory for %zu weights", r->n);
    int status = 0;
    if (dcf == RECON_DCF_PIPE && recon_measures(r) && cli_compiles(r->dev)) {
        const double begun = progress_seconds(&r->progress);
        desc.iterations = 1;
        status = hcy_density_weights(r->weights, r->dev, &desc, (int64_t)r->n, (const void *const *)r->axes);
        desc.iterations = PIPE_ITERATIONS;
        r->setup += progress_seconds(&r->progress) - begun;
    }
    if (!status)
        status = hcy_density_weights(r->weights, r->dev, &desc, (int64_t)r->n, (const void *const *)r->axes);
    return status ? cli_fail(status) : CLI_OK;
}

static int write_weights(const struct recon *r)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    void *ordered = NULL;
    a.bytes = r->is_double ? 8 : 4;
    a.rank = r->point_rank;
    memcpy(a.shape, r->point_shape, sizeof a.shape);
    int status = recon_unorder_points(&ordered, r, r->weights);
    if (status)
        return status;
    a.data = ordered ? ordered : r->weights;
    status = hcy_host_array_write(&a, r->v->save_dcf);
    free(ordered);
    return status ? cli_fail_to_write(status, r->v->save_dcf) : CLI_OK;
}

int recon_weigh(struct recon *r)
{
    double begun = progress_seconds(&r->progress);
    progress_say(&r->progress, "preparing the device ...");
    int status = recon_open_devices(r);
    int st = status ? 0 : hcy_queue_create(&r->queue, r->dev);
    if (st)
        status = cli_fail(st);
    r->setup = progress_seconds(&r->progress) - begun;
    progress_say(&r->progress, "weighing %zu points ...", r->n);
    if (!status && r->dcf == RECON_DCF_FILE)
        status = read_weights(r);
    else if (!status && r->dcf && (!r->n_frames || r->is_same))
        status = recon_compute_weights(r, r->dcf);
    else if (!status && r->v->save_dcf)
        status = recon_weigh_frames(r);
    progress_clear(&r->progress);
    if (!status && r->v->save_dcf)
        status = write_weights(r);
    r->weighing = progress_seconds(&r->progress) - begun - r->setup;
    return status;
}
