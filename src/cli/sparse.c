/* sparse.c - see sparse.h. */
#include "sparse.h"
#include "inputs.h"
#include "shard.h"
#include <math.h>
#include <stdlib.h>

enum { SHARE = 32, LEAST_ROOM = 1024 }; /* one pixel in so many may stand out, but no fewer than that */

static double cutoff_of(const struct integrate_values *v)
{
    return v->cutoff_pick.given ? v->cutoff_pick.value : 3;
}

static double noise_of(const struct integrate_values *v)
{
    return v->noise.given ? v->noise.value : 1;
}

/* Pixels of a frame that there is room for.  Of the smallest share that is asked for there is room for one. */
static uint64_t room_for(const struct integrate_values *v, size_t n_pixels)
{
    uint64_t room = n_pixels / SHARE;
    if (v->pick_room.given)
        room = 1 + (uint64_t)(v->pick_room.value * (double)n_pixels);
    else if (room < LEAST_ROOM)
        room = LEAST_ROOM;
    return room < n_pixels ? room : n_pixels;
}

int sparse_prepare(struct sparse *s, const struct integrate_values *v, const hcy_azint_plan *plan, const hcy_poni *poni,
                   uint32_t pixel_type)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    if (!v->sparse)
        return CLI_OK;
    int status = hcy_azint_plan_get_info(&info, plan);
    if (status)
        return cli_fail(status);
    if (info.n_azim)
        return cli_usage("--sparse needs a curve in radius: leave --npt-azim and --along-chi");
    if (info.options.error_model == HCY_ERRORS_NONE)
        return cli_usage("--sparse needs a curve with errors: give --error-model");
    s->values = v;
    s->pixel_type = pixel_type;
    s->n_pixels = info.height * info.width;
    s->n_bins = info.n_bins;
    s->room = room_for(v, s->n_pixels);
    s->radius = calloc(s->n_pixels, sizeof *s->radius);
    s->background = calloc(2 * s->n_bins, sizeof *s->background);
    if (!s->radius || !s->background)
        return cli_error("out of memory for the places of %zu x %zu pixels", info.height, info.width);
    status = hcy_azint_radius(s->radius, plan, poni);
    return status ? cli_fail(status) : CLI_OK;
}

void sparse_ask(hcy_pipeline_options *options, const struct sparse *s)
{
    const struct integrate_values *v = s->values;
    if (!v)
        return;
    options->sparse_room = s->room;
    options->sparse_radius = s->radius;
    options->sparse_cutoff = cutoff_of(v);
    options->sparse_noise = noise_of(v);
}

int sparse_output(struct sparse *s, const struct integrate_values *v, const char *stack,
                  const hcy_shard *shard)
{
    if (!v->sparse)
        return CLI_OK;
    return inputs_each(v->sparse) ? inputs_output(s->path, sizeof s->path, v->sparse, stack)
                                  : shard_output(s->path, sizeof s->path, v->sparse, shard, 1);
}

int sparse_open(struct sparse *s, const hcy_azint_plan *plan, const hcy_stack *stack, const hcy_shard *shard)
{
    hcy_sparse_options options = HCY_SPARSE_OPTIONS_INIT;
    if (!s->values)
        return 0;
    options.pixel_type = s->pixel_type;
    options.radius = s->radius;
    options.cutoff = cutoff_of(s->values);
    options.noise = noise_of(s->values);
    options.command = s->values->command;
    options.source = stack;
    options.shard = shard->count ? shard : NULL;
    return hcy_sparse_create(&s->file, s->path, plan, &options);
}

int sparse_take(struct sparse *s, const hcy_pipeline_frame *frame, double monitor)
{
    hcy_azint_result counted;
    if (!s->file)
        return 0;
    s->pixels += frame->sparse ? frame->sparse->n : 0;
    if (!frame->result)
        return hcy_sparse_append(s->file, NULL, frame->sparse);
    /* The pixels are as they were counted, so the background that is to be added to them is, too. */
    counted = *frame->result;
    counted.intensity = s->background;
    counted.std = s->background + s->n_bins;
    for (size_t i = 0; i < s->n_bins; i++) {
        counted.intensity[i] = frame->result->intensity[i] * monitor;
        counted.std[i] = frame->result->std[i] * fabs(monitor);
    }
    return hcy_sparse_append(s->file, &counted, frame->sparse);
}

int sparse_close(struct sparse *s, int whole)
{
    int status = hcy_sparse_close(s->file, whole);
    s->file = NULL;
    return status;
}

void sparse_free(struct sparse *s)
{
    (void)!sparse_close(s, 0);
    free(s->radius);
    free(s->background);
}
