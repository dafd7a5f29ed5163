/* sparse.c - the sparse frames that a pipeline is asked for: from the radius of each pixel to the table of places that
 * the kernel azint_pick takes, and from what it finds to a host's sorted lists.  The table is made once, before any
 * device is prepared; the lists of a frame belong to its entry in the ring. */
#include "pipeline_priv.h"
#include "azint_pixels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <halcyon/backend.h>

#define LEAST_ROOM 1024u /* pixels of a frame, where the image has so many */

static size_t words_of(const struct hcy_pixel_type *pixel)
{
    return HCY_AZINT_PICK_WORDS(pixel->bytes, pixel->is_float);
}

static int check_sparse_options(const hcy_pipeline *p, const hcy_azint_plan_info *info)
{
    if (!p->filtered || info->options.filter == HCY_FILTER_NONE || info->n_azim)
        return hcy_fail(HCY_EUNSUPPORTED, "the background of sparse frames is a curve with a filter: sigma clipping, a median");
    if (info->options.error_model == HCY_ERRORS_NONE)
        return hcy_fail(HCY_EINVAL, "sparse frames need an error model: azimuthal, hybrid, poisson or variance");
    if (!hcy_pixel_type(p->source.pixel_type))
        return hcy_fail(HCY_EINVAL, "sparse frames need the type of their pixels");
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
    const struct hcy_pixel_type *pixel = hcy_pixel_type(p->source.pixel_type);
    const uint32_t flags = (info->options.error_model == HCY_ERRORS_AZIMUTHAL ? HCY_AZINT_PICK_DEVIATION : 0) |
                           (pixel->is_float ? HCY_AZINT_PICK_FLOAT : 0);
    const int shift = HCY_AZINT_SQUARE_SHIFT(pixel->bytes);
    /* The noise is one of the curve, and the kernel's norms lack both of these. */
    const double noise = p->opts.sparse_noise * fabs(info->norm_scale * info->options.normalization);
    p->pick_job = (hcy_azint_pick_job){ p->opts.sparse_cutoff, noise, room,
                                        flags, info->has_dark ? shift : 0, head->variance_shift, 0 };
    /* A plan has 2^32 pixels at most, so no product wraps. */
    struct pipe_beside *b = &p->beside[PIPE_PICK];
    *b = (struct pipe_beside){ malloc(n * sizeof(hcy_azint_place)), n * sizeof(hcy_azint_place),
                               (1 + (size_t)room * words_of(pixel)) * sizeof(uint64_t) };
    if (!b->table)
        return hcy_fail(HCY_ENOMEM, "%zu bytes for the places of pixels", b->bytes);
    set_places(b->table, p, info);
    /* The caller's array need not live as long as the pipeline. */
    p->opts.sparse_radius = NULL;
    return 0;
}

/* The order of lists whose entries have one word or two, of which the first is the pixel's alone. */
static int compare_found(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* One word, or both, as an entry of the lists. */
static void take_entry(uint32_t *index, int64_t *bits, const uint64_t *entry, const struct hcy_pixel_type *pixel)
{
    if (words_of(pixel) == 2) {
        *index = (uint32_t)entry[0];
        *bits = (int64_t)entry[1];
        return;
    }
    *index = (uint32_t)(entry[0] >> 32);
    *bits = pixel->is_signed ? (int64_t)(int32_t)(uint32_t)entry[0] : (int64_t)(uint32_t)entry[0];
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
    const size_t words = words_of(pixel);
    int64_t *bits = malloc((size_t)(n + 1) * sizeof *bits);
    uint32_t *index = malloc((size_t)(n + 1) * sizeof *index);
    uint64_t *entries = malloc((size_t)(n + 1) * words * sizeof *entries);
    if (bits && index && entries) {
        memcpy(entries, found + 1, (size_t)n * words * sizeof *entries);
        qsort(entries, (size_t)n, words * sizeof *entries, compare_found);
        for (uint64_t i = 0; i < n; i++)
            take_entry(&index[i], &bits[i], entries + words * i, pixel);
    }
    free(entries);
    if (!bits || !index || !entries) {
        free(bits);
        free(index);
        return hcy_fail(HCY_ENOMEM, "the %llu pixels of a sparse frame", (unsigned long long)n);
    }
    /* The bits are those of doubles then: the same memory. */
    *sparse = (hcy_sparse){ n, index, pixel->is_float ? NULL : bits, pixel->is_float ? (double *)bits : NULL };
    return 0;
}

void hcy__sparse_free(hcy_sparse *sparse)
{
    free((void *)sparse->index);
    free((void *)sparse->intensity);
    free((void *)sparse->real);
    *sparse = (hcy_sparse){ 0, NULL, NULL, NULL };
}
