/* calibrate_frame.c - what halcyon calibrate begins with: a frame without what is no measurement, and what is known of
 * its geometry.  Single-threaded but for the decoding of frames. */
#include "calibrate_frame.h"
#include "frames.h"
#include "geometry.h"
#include "mask.h"
#include "pixels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- The frame --- */

struct added {
    const hcy_stack_info *info;
    pthread_mutex_t lock;
    float *one;
    double *sum;
    size_t n;
};

/* Values that detectors have for pixels that measured nothing: the two highest of unsigned types, -1 and -2 and the
 * lowest of signed ones. */
static int is_no_count(float v, const hcy_stack_info *info)
{
    double top = ldexp(1, 8 * (int)info->elem_size);
    switch (info->pixel_type) {
    case HCY_PIXEL_U8:
    case HCY_PIXEL_U16:
    case HCY_PIXEL_U32:
    case HCY_PIXEL_U64:
        return v >= (float)(top - 2);
    case HCY_PIXEL_I8:
    case HCY_PIXEL_I16:
    case HCY_PIXEL_I32:
    case HCY_PIXEL_I64:
        return v == -1 || v == -2 || v <= (float)(-top / 2);
    default:
        return !isfinite(v);
    }
}

static int add_frame(void *payload, unsigned thread, uint64_t frame, const void *pixels)
{
    struct added *a = payload;
    union {
        const void *in;
        void *out;
    } data = { pixels }; /* only read */
    hcy_image image = { a->info->height, a->info->width, a->info->pixel_type, a->info->elem_size,
                        (size_t)a->info->frame_bytes, data.out };
    (void)thread;
    (void)frame;
    if (!pixels)
        return 0;
    /* Few frames are added, so threads may wait for one another. */
    pthread_mutex_lock(&a->lock);
    hcy_image_to_floats(a->one, &image);
    for (size_t i = 0; i < (size_t)a->info->height * a->info->width; i++)
        a->sum[i] += is_no_count(a->one[i], a->info) ? NAN : a->one[i];
    a->n++;
    pthread_mutex_unlock(&a->lock);
    return 0;
}

/* The sum of the frames that are asked for, into p->counts. */
static int add_frames(struct powder *p, struct frames *f)
{
    size_t n = (size_t)f->info->height * f->info->width;
    struct added a = { .info = f->info, .one = malloc(n * sizeof *a.one), .sum = calloc(n, sizeof *a.sum) };
    int status = CLI_OK;
    if (!a.one || !a.sum || pthread_mutex_init(&a.lock, NULL))
        status = cli_error("no memory for the sum of %zu pixels", n);
    if (!status) {
        f->take = add_frame;
        f->payload = &a;
        status = frames_run(f);
        pthread_mutex_destroy(&a.lock);
    }
    if (!status && !a.n)
        status = cli_error("no frame is good");
    for (size_t i = 0; i < n && !status; i++)
        p->counts[i] = (float)a.sum[i];
    free(a.one);
    free(a.sum);
    return status;
}

/* --- Masks --- */

/* --mask, the file's own mask, the detector's gaps: what they name is no count. */
static int mask_counts(struct powder *p, const struct calibrate_values *v, const hcy_stack *stack, const hcy_poni *poni)
{
    size_t n = p->height * p->width;
    uint8_t *mask = calloc(n, 1), *more = calloc(n, 1);
    hcy_corrections *own = NULL;
    int status = mask && more ? CLI_OK : cli_error("no memory for a mask of %zu pixels", n), plain;
    if (!status && v->mask)
        status = cli_mask_file(mask, &plain, stack, v->mask);
    if (!status && hcy_corrections_read(&own, stack, NULL, HCY_CORRECTION_MASK))
        status = cli_fail(hcy_last_error()->status);
    /* A binned image has no mask of the detector's: its gaps are then the user's to mask. */
    if (!status && poni->detector && !poni->corners && hcy_detector_mask(more, poni->detector, p->height, p->width))
        memset(more, 0, n);
    for (size_t i = 0; i < n && !status; i++)
        if (mask[i] || more[i] || (own && own->mask && own->mask[i]))
            p->counts[i] = NAN;
    hcy_corrections_free(own);
    free(mask);
    free(more);
    return status;
}

/* A pixel far above all of its neighbours is hot, or was hit by a muon: rings are wider than that. */
static void mask_hot(struct powder *p)
{
    for (size_t i = 1; i + 1 < p->height; i++)
        for (size_t j = 1; j + 1 < p->width; j++) {
            float *v = &p->counts[i * p->width + j], most = 0;
            for (int k = 0; k < 9; k++) {
                float beside = v[(k / 3 - 1) * (ptrdiff_t)p->width + k % 3 - 1];
                most = k != 4 && beside > most ? beside : most;
            }
            /* What is masked here makes its neighbours no hotter, for it was above them. */
            if (*v > 3 * most + 10 * sqrtf(most + 1))
                *v = NAN;
        }
}

/* --- What is known of the geometry --- */

/* "172" or "172,172", micrometres: height and width. */
static int parse_pixel(hcy_poni *poni, const char *text)
{
    char *end;
    poni->pixel1 = poni->pixel2 = 1e-6 * strtod(text, &end);
    if (*end == ',')
        poni->pixel2 = 1e-6 * strtod(end + 1, &end);
    if (*end || !(poni->pixel1 > 0 && poni->pixel1 < 1 && poni->pixel2 > 0 && poni->pixel2 < 1)) {
        cli_error("--pixel '%s' is not valid: it takes micrometres, one number or height,width", text);
        return CLI_USAGE;
    }
    poni->detector = NULL;
    poni->height = poni->width = 0;
    return CLI_OK;
}

/* The geometry that the file of the frames has, as far as it has one. */
static int start_from_file(hcy_poni *poni, const hcy_stack_info *info)
{
    hcy_detector_info *own;
    if (!*info->dataset || hcy_detector_read(&own, info->path))
        return 0;
    int whole = !hcy_detector_geometry(poni, own, info->height, info->width) && poni->wavelength > 0;
    hcy_detector_info_free(own);
    return whole;
}

static int complete_start(hcy_poni *poni, int *has_start, struct cli_geometry *g, const struct calibrate_values *v,
                          const hcy_stack_info *info)
{
    int status = CLI_OK;
    *has_start = v->poni != NULL;
    if (v->poni && hcy_poni_read(poni, v->poni))
        return cli_fail(hcy_last_error()->status);
    if (!v->poni && !v->detector && !v->pixel)
        *has_start = start_from_file(poni, info);
    if (v->pixel)
        status = parse_pixel(poni, v->pixel);
    g->detector = v->detector;
    g->orientation = v->orientation.given ? (int)v->orientation.value : 0;
    if (!status)
        status = cli_geometry_complete(poni, g, info);
    if (v->wavelength.given)
        poni->wavelength = 1e-10 * v->wavelength.value;
    /* h c / e, in Angstrom and keV */
    if (v->energy.given)
        poni->wavelength = 1e-10 * 12.398419843320026 / v->energy.value;
    if (!status && !(poni->pixel1 > 0) && poni->detector && poni->detector->pixel1 > 0) {
        poni->pixel1 = poni->detector->pixel1;
        poni->pixel2 = poni->detector->pixel2;
    }
    if (!status && !(poni->pixel1 > 0))
        status = cli_error("the detector is missing: give -D NAME (as in PONI files), --pixel MICROMETRES, or -p FILE.poni");
    if (!status && !(poni->wavelength > 0))
        status = cli_error("the wavelength is missing: give -w ANGSTROM or -e KEV");
    return status;
}

/* Whether frames of this size are this detector's, whole or binned: then pixels are larger. */
static int fit_detector(hcy_poni *poni, const struct powder *p)
{
    hcy_poni probe = *poni;
    probe.dist = 1;
    if (hcy_poni_gradients(NULL, NULL, &probe, p->height, p->width, "2th_rad", NULL, 0))
        return cli_fail(hcy_last_error()->status);
    const hcy_detector *d = poni->detector;
    if (d && d->height && p->height < d->height && fabs(poni->pixel1 / d->pixel1 - 1) < 0.1) {
        poni->pixel1 *= floor((double)d->height / (double)p->height + 0.5);
        poni->pixel2 *= floor((double)d->width / (double)p->width + 0.5);
    }
    return CLI_OK;
}

/* Spacings of rings that can be on a detector, the largest first. */
static int list_spacings(struct powder *p, const hcy_calibrant *calibrant, double wavelength)
{
    /* Beyond 2 theta of 120 degrees powders tell little, and cells have endless reflections. */
    double shortest = wavelength / (2 * sin(60 * 3.14159265358979 / 180));
    int status;
    do {
        status = hcy_calibrant_spacings(p->spacings, &p->n_spacings, MOST_RINGS, calibrant, shortest);
        shortest *= 1.5;
    } while (status == HCY_ERANGE);
    if (status)
        return cli_fail(status);
    if (p->n_spacings < 2)
        return cli_error("%s has fewer than two rings at %g Angstrom", calibrant->name, 1e10 * wavelength);
    return CLI_OK;
}

int calibrate_frame_read(struct calibrate_frame *frame, const struct calibrate_values *v)
{
    struct frames f = { .path = v->frame, .dataset = v->dataset, .channel = v->channel, .device_list = v->devices,
                        .span = v->frames, .quiet = 1 };
    struct cli_geometry g = { .quiet = 1 };
    struct powder *p = &frame->powder;
    /* One frame unless more are asked for: a scan's frames may have moved. */
    if (!f.span.given)
        f.span = (struct cli_span){ 1, 0, 1 };
    int status = frames_open(&f);
    if (!status) {
        p->height = f.info->height;
        p->width = f.info->width;
        p->counts = malloc(p->height * p->width * sizeof *p->counts);
        p->angle = malloc(p->height * p->width * sizeof *p->angle);
        if (!p->counts || !p->angle)
            status = cli_error("no memory for %zu x %zu pixels", p->height, p->width);
    }
    if (!status)
        status = complete_start(&frame->poni, &frame->has_start, &g, v, f.info);
    frame->detector_file = g.file;
    if (!status)
        status = fit_detector(&frame->poni, p);
    if (!status)
        status = guard_calibration(v, f.stack);
    if (!status)
        status = list_spacings(p, frame->calibrant, frame->poni.wavelength);
    if (!status)
        status = add_frames(p, &f);
    if (!status)
        status = mask_counts(p, v, f.stack, &frame->poni);
    if (!status)
        mask_hot(p);
    if (!status)
        p->aspect = frame->poni.pixel2 / frame->poni.pixel1;
    frames_close(&f);
    return status;
}
