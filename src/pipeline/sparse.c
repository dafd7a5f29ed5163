/* sparse.c - the sparse frames that a pipeline is asked for: from the radius of each pixel to the table of places that
 * the kernel azint_pick takes, and from what it finds to a host's sorted lists.  The table is made once, before any
 * device is prepared; the lists of a frame belong to its entry in the ring. */
#include "pipeline_priv.h"
#include "azint_pixels.h"

#include <math.h>
#include <stdlib.h>

#include <halcyon/backend.h>

#define LEAST_ROOM 1024u /* pixels of a frame, where the image has so many */

static int check_sparse_options(const hcy_pipeline *p, const hcy_azint_plan_info *info)
{
    const struct hcy_pixel_type *pixel = hcy_pixel_type(p->source.pixel_type);
    if (!p->filtered || info->options.filter == HCY_FILTER_NONE || info->n_azim)
        return hcy_fail(HCY_EUNSUPPORTED, "the background of sparse frames is a curve with a filter: sigma clipping, a median");
    if (info->options.error_model == HCY_ERRORS_NONE)
        return hcy_fail(HCY_EINVAL, "sparse frames need an error model: azimuthal, hybrid, poisson or variance");
    if (!pixel || pixel->is_float || pixel->bytes > 4)
        return hcy_fail(HCY_EUNSUPPORTED, "sparse frames are of integer pixels of 4 bytes at most");
    if (!(p->opts.sparse_cutoff >= 0 && isfinite(p->opts.sparse_cutoff) && p->opts.sparse_noise >= 0 &&
          isfinite(p->opts.sparse_noise)))
        return hcy_fail(HCY_EINVAL, "sparse frames: the cutoff is %g and the noise %g, which are not negative and finite",
                        p->opts.sparse_cutoff, p->opts.sparse_noise);
    return 0;
}

static hcy_azint_place place_at(double radius, const hcy_azint_plan_info *info, float norm)
{
    const size_t last = info->n_radial - 1;
    hcy_azint_place place = { HCY_AZINT_NOWHERE, 0, norm, 0 };
    if (!isfinite(radius) || !(norm > 0))
        return place;
    double at = last ? (radius - info->radial[0]) / (info->radial[1] - info->radial[0]) : 0;
    /* Half a bin lies outside the middles of the first and the last one. */
    at = at > 0 ? at : 0;
    at = at < (double)last ? at : (double)last;
    place.bin = (uint32_t)at;
    place.share = (float)(at - place.bin);
    if (place.share >= 1) { /* a rounding */
        place.bin++;
        place.share = 0;
    }
    return place;
}

static void set_places(hcy_azint_place *places, const hcy_pipeline *p, const hcy_azint_plan_info *info)
{
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_plan_tables(spans, p->plan);
    const float *norms = spans[3].data, *darks = spans[4].size ? spans[4].data : NULL;
    for (size_t i = 0; i < info->height * info->width; i++) {
        places[i] = place_at((double)p->opts.sparse_radius[i], info, norms[i]);
        places[i].dark = darks ? darks[i] : 0;
    }
}

int hcy__sparse_create(hcy_pipeline *p, const hcy_azint_plan_info *info)
{
    const size_t n = info->height * info->width;
    uint64_t room = p->opts.sparse_room ? p->opts.sparse_room : n / 32;
    int status = check_sparse_options(p, info);
    if (status)
        return status;
    room = room < LEAST_ROOM && !p->opts.sparse_room ? LEAST_ROOM : room;
    room = room < n ? room : n;
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_plan_tables(spans, p->plan);
    const hcy_azint_head *head = spans[0].data;
    const int deviation = info->options.error_model == HCY_ERRORS_AZIMUTHAL;
    const int shift = HCY_AZINT_SQUARE_SHIFT(hcy_pixel_type(p->source.pixel_type)->bytes);
    /* The noise is one of the curve, and the kernel's norms lack both of these. */
    const double noise = p->opts.sparse_noise * fabs(info->norm_scale * info->options.normalization);
    p->pick_job = (hcy_azint_pick_job){ p->opts.sparse_cutoff, noise, room,
                                        deviation ? HCY_AZINT_PICK_DEVIATION : 0, info->has_dark ? shift : 0,
                                        head->variance_shift, 0 };
    /* A plan has 2^32 pixels at most, so neither product wraps. */
    struct pipe_beside *b = &p->beside[PIPE_PICK];
    *b = (struct pipe_beside){ malloc(n * sizeof(hcy_azint_place)), n * sizeof(hcy_azint_place),
                               (1 + (size_t)room) * sizeof(uint64_t) };
    if (!b->table)
        return hcy_fail(HCY_ENOMEM, "%zu bytes for the places of pixels", b->bytes);
    set_places(b->table, p, info);
    /* The caller's array need not live as long as the pipeline. */
    p->opts.sparse_radius = NULL;
    return 0;
}

static int compare_found(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The lower 32 bits as a value of the frames' type. */
static int64_t value_of_bits(uint32_t bits, const struct hcy_pixel_type *pixel)
{
    return pixel->is_signed ? (int64_t)(int32_t)bits : (int64_t)bits;
}

int hcy__sparse_finish(hcy_sparse *sparse, const hcy_pipeline *p, const uint64_t *found)
{
    const struct hcy_pixel_type *pixel = hcy_pixel_type(p->source.pixel_type);
    const uint64_t n = found[0];
    if (n > p->pick_job.capacity)
        return hcy_fail(HCY_ERANGE,
                        "%llu pixels stand out of the background, and there is room for %llu: a larger cutoff or noise "
                        "picks fewer, and sparse_room (--pick-room) makes room",
                        (unsigned long long)n, (unsigned long long)p->pick_job.capacity);
    /* An empty list is one, too. */
    int64_t *intensity = malloc((size_t)(n + 1) * sizeof *intensity);
    uint32_t *index = malloc((size_t)(n + 1) * sizeof *index);
    if (!intensity || !index) {
        free(intensity);
        free(index);
        return hcy_fail(HCY_ENOMEM, "the %llu pixels of a sparse frame", (unsigned long long)n);
    }
    /* Entries are ordered where the intensities will be, by their upper halves, which are unique. */
    uint64_t *entries = (uint64_t *)intensity;
    for (uint64_t i = 0; i < n; i++)
        entries[i] = found[1 + i];
    qsort(entries, (size_t)n, sizeof *entries, compare_found);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t entry = entries[i];
        index[i] = (uint32_t)(entry >> 32);
        intensity[i] = value_of_bits((uint32_t)entry, pixel);
    }
    *sparse = (hcy_sparse){ n, index, intensity };
    return 0;
}

void hcy__sparse_free(hcy_sparse *sparse)
{
    free((void *)sparse->index);
    free((void *)sparse->intensity);
    *sparse = (hcy_sparse){ 0, NULL, NULL };
}
