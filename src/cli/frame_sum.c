/* frame_sum.c - see frame_sum.h. */
#include "frame_sum.h"
#include "azint_pixels.h"
#include "mask.h"
#include <stdlib.h>

/* In doubles from the pixel on: a float has no place for all the counts above 2^24. */
#define CASE(NAME, name, c_type, kind, bytes)            \
    case HCY_PIXEL_##NAME:                               \
        for (size_t i = 0; i < n; i++)                   \
            values[i] += (double)((const c_type *)pixels)[i]; \
        break;
static void add_pixels(double *values, const void *pixels, uint32_t pixel_type, size_t n)
{
    switch (pixel_type) {
        HCY_PIXEL_TYPES(CASE)
    }
}
#undef CASE

/* struct frames.take */
static int add_frame(void *payload, unsigned thread, uint64_t frame, const void *pixels)
{
    struct frame_sum *s = payload;
    (void)thread, (void)frame;
    if (!pixels)
        return 0;
    pthread_mutex_lock(&s->lock);
    cli_mask_invalid(s->bad, &s->job, pixels, s->n);
    add_pixels(s->values, pixels, s->info->pixel_type, s->n);
    s->frames++;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

/* The mask of the user, the file's own and the detector's gaps, into bad[], which is 0. */
static int add_masks(uint8_t *bad, const struct frames *f, const hcy_poni *poni, const struct frame_masks *masks)
{
    size_t n = (size_t)f->info->height * f->info->width;
    hcy_corrections *own = NULL;
    int is_plain, status = masks->file ? cli_mask_file(bad, &is_plain, f->stack, masks->file) : CLI_OK;
    if (!status && !masks->no_file_mask && hcy_corrections_read(&own, f->stack, NULL, HCY_CORRECTION_MASK))
        status = cli_error("%s; --no-file-mask goes without", hcy_last_error()->text);
    for (size_t i = 0; i < n && own && own->mask; i++)
        bad[i] |= own->mask[i];
    hcy_corrections_free(own);
    const int has_gaps = !status && poni && poni->detector && !poni->corners;
    uint8_t *gaps = has_gaps ? malloc(n) : NULL;
    if (has_gaps && !gaps)
        status = cli_error("no memory for a mask of %zu pixels", n);
    /* A detector whose shape is another one has no gaps here; the integration says so, a picture need not. */
    if (gaps && !hcy_detector_mask(gaps, poni->detector, f->info->height, f->info->width))
        for (size_t i = 0; i < n; i++)
            bad[i] |= gaps[i];
    free(gaps);
    return status;
}

int frame_sum_make(struct frame_sum *s, struct frames *f, const hcy_poni *poni, const struct frame_masks *masks)
{
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    /* As integrate has it: also those of a detector without a name. */
    options.sentinels = HCY_SENTINELS_ALWAYS;
    s->info = f->info;
    s->n = (size_t)f->info->height * f->info->width;
    s->frames = 0;
    s->values = calloc(s->n, sizeof *s->values);
    s->bad = calloc(s->n, 1);
    if (!s->values || !s->bad)
        return cli_error("no memory for an image of %zu pixels", s->n);
    cli_raw_invalid(&options, &f->raw);
    int status = cli_invalid_values(&s->job, f->info, poni, &options);
    if (status)
        return cli_fail(status);
    status = add_masks(s->bad, f, poni, masks);
    if (status)
        return status;
    if (pthread_mutex_init(&s->lock, NULL))
        return cli_error("no lock for the sum of frames");
    f->take = add_frame;
    f->payload = s;
    status = frames_run(f);
    pthread_mutex_destroy(&s->lock);
    /* The run ended before its last frame, which was told: a sum of some is none of those that were asked for. */
    if (!frames_all_taken(f))
        return status ? status : CLI_FAILED;
    return s->frames ? CLI_OK : status ? status : cli_error("%s: no frame is good", f->info->path);
}

void frame_sum_free(struct frame_sum *s)
{
    free(s->values);
    free(s->bad);
}
