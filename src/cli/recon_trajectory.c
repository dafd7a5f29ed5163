/* recon_trajectory.c - where samples of halcyon recon really were: gradients that came late, or that a response has
 * filtered.  Single-threaded. */
#include "recon.h"
#include <halcyon/backend.h>
#include <halcyon/trajectory.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Readouts are the points' last axis; times are in samples. */
static void describe_readouts(hcy_trajectory_desc *desc, const struct recon *r)
{
    desc->precision = recon_precision(r);
    desc->dim = r->dim;
    desc->samples = (int64_t)r->point_shape[r->point_rank - 1];
    desc->readouts = (int64_t)r->n / desc->samples;
}

static double dwell_of(const struct recon *r)
{
    return r->v->dwell.given ? r->v->dwell.value : 0;
}

/* --- A response --- */

/* Rows that the file has in x, y, z, in the order of the image's axes; the caller frees them. */
static int take_response(double **rows, hcy_girf *girf, const struct recon *r, const hcy_host_array *a)
{
    const bool each = a->rank > 1 && a->shape[0] > 1;
    const size_t n = (size_t)a->shape[a->rank - 1];
    double *numbers = malloc(2 * (size_t)r->dim * n * sizeof *numbers);
    *rows = numbers;
    if (!numbers)
        return cli_error("no memory for a response of %zu frequencies", n);
    girf->rows = each ? r->dim : 1;
    girf->n = (int64_t)n;
    /* Frequencies in cycles a sample. */
    girf->step = r->v->girf_step.given ? r->v->girf_step.value * 1e-6 * dwell_of(r) : 1 / (double)n;
    girf->first = -(double)(n / 2) * girf->step;
    girf->response = numbers;
    for (int d = 0; d < girf->rows; d++)
        for (size_t i = 0; i < 2 * n; i++) {
            const size_t at = (size_t)(girf->rows - 1 - d) * 2 * n + i;
            numbers[(size_t)d * 2 * n + i] = a->is_complex ? array_real(a, at) : i % 2 ? 0 : array_real(a, at / 2);
        }
    return CLI_OK;
}

static int filter_points(struct recon *r)
{
    hcy_trajectory_desc desc = HCY_TRAJECTORY_DESC_INIT;
    hcy_girf girf = HCY_GIRF_INIT;
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    double *rows = NULL;
    char is[200];
    int status = recon_read_array(&a, r, r->v->girf);
    if (!status && (a.rank < 1 || a.rank > 2 || !a.shape[a.rank - 1] ||
                    (a.rank == 2 && a.shape[0] != 1 && a.shape[0] != (uint64_t)r->dim)))
        status = cli_error("%s: a response is [frequencies], or [%d][frequencies], x first; it is %s", r->v->girf,
                           r->dim, array_words(is, &a, 0));
    if (!status)
        status = take_response(&rows, &girf, r, &a);
    hcy_host_array_free(&a);
    if (!status)
        status = recon_open_devices(r);
    describe_readouts(&desc, r);
    int st = status ? 0 : hcy_trajectory_filter(r->axes, r->dev, &desc, (const void *const *)r->axes, &girf);
    free(rows);
    return st ? cli_fail(st) : status;
}

/* --- Delays --- */

static int find_delays(struct recon *r)
{
    hcy_trajectory_desc desc = HCY_TRAJECTORY_DESC_INIT;
    describe_readouts(&desc, r);
    progress_say(&r->progress, "finding delays ...");
    int status = hcy_trajectory_find_delays(r->delays, &desc, r->sizes, (const void *const *)r->axes, r->samples,
                                            (int64_t)(r->is_same ? r->n_frames * r->coils : r->coils));
    progress_clear(&r->progress);
    return status ? cli_fail(status) : CLI_OK;
}

static int delay_points(struct recon *r)
{
    hcy_trajectory_desc desc = HCY_TRAJECTORY_DESC_INIT;
    describe_readouts(&desc, r);
    const bool is_sought = !strcmp(r->v->delay, "auto");
    int status = is_sought ? find_delays(r) : points_parse_delays(r->delays, r->v->delay, r->dim, dwell_of(r));
    int st = status ? 0 : hcy_trajectory_delay(r->axes, &desc, (const void *const *)r->axes, r->delays);
    return st ? cli_fail(st) : status;
}

int recon_correct_trajectory(struct recon *r)
{
    int status = r->v->girf ? filter_points(r) : CLI_OK;
    return status || !r->v->delay ? status : delay_points(r);
}

const char *recon_delay_words(char text[100], const struct recon *r)
{
    size_t at = 0;
    for (int d = r->dim - 1; d >= 0; d--)
        at += (size_t)snprintf(text + at, 100 - at, "%s%.3f", at ? "," : "", r->delays[d]);
    return text;
}
