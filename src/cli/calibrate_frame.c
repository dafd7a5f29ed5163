/* calibrate_frame.c - what halcyon calibrate begins with: a frame without what is no measurement, and what is known of
 * its geometry.  Single-threaded but for the decoding of frames. */
#include "calibrate_frame.h"
#include "frame_sum.h"
#include "geometry.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- The frame --- */

/* The sum of the frames that are asked for, into p->counts; what is no measurement is NAN there. */
static int read_counts(struct powder *p, struct frames *f, const hcy_poni *poni, const struct calibrate_values *v)
{
    const struct frame_masks masks = { v->mask, v->no_file_mask };
    struct frame_sum s = { 0 };
    hcy_poni anywhere = *poni;
    /* Which values are none is the detector's to say, wherever it stands. */
    anywhere.dist = anywhere.dist > 0 ? anywhere.dist : 1;
    int status = frame_sum_make(&s, f, poni->detector ? &anywhere : NULL, &masks);
    for (size_t i = 0; i < p->height * p->width && !status; i++)
        p->counts[i] = s.bad[i] || !isfinite(s.values[i]) ? NAN : (float)s.values[i];
    frame_sum_free(&s);
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

enum { MOST_PIXEL = 5000 }; /* micrometres */

/* A pixel of no detector, as it was read in micrometres: metres and millimetres are what was meant most often. */
static int refuse_pixel(const char *text, double um)
{
    static const struct {
        const char *unit;
        double micrometres;
    } units[] = { { "metres", 1e6 }, { "millimetres", 1e3 } };
    char meant[64] = "";
    for (size_t i = 0; i < sizeof units / sizeof units[0] && !*meant; i++)
        if (um * units[i].micrometres >= 1 && um * units[i].micrometres <= MOST_PIXEL)
            snprintf(meant, sizeof meant, "; if that is in %s, it is --pixel %g", units[i].unit, um * units[i].micrometres);
    return cli_usage("--pixel '%s' is not valid: it takes micrometres, 1 to %d%s", text, MOST_PIXEL, meant);
}

/* "172" or "172,172", micrometres: height and width. */
static int parse_pixel(hcy_poni *poni, const char *text)
{
    char *end;
    poni->pixel1 = poni->pixel2 = 1e-6 * strtod(text, &end);
    if (*end == ',')
        poni->pixel2 = 1e-6 * strtod(end + 1, &end);
    if (*end || !(poni->pixel1 > 0 && poni->pixel1 < 1 && poni->pixel2 > 0 && poni->pixel2 < 1))
        return cli_usage("--pixel '%s' is not valid: it takes micrometres, one number or height,width", text);
    const double um[] = { 1e6 * poni->pixel1, 1e6 * poni->pixel2 };
    for (int i = 0; i < 2; i++)
        if (um[i] < 1 || um[i] > MOST_PIXEL)
            return refuse_pixel(text, um[i]);
    /* Nor does the file that the PONI names say how large they are. */
    poni->detector = NULL;
    *poni->detector_file = 0;
    poni->height = poni->width = 0;
    return CLI_OK;
}

/* The geometry that the file of the frames has, as far as it has one. */
static int start_from_file(hcy_poni *poni, const hcy_stack_info *info)
{
    hcy_detector_info *own = cli_own_detector(info);
    if (!own)
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
                        .span = v->frames, .quiet = v->quiet, .no_summary = 1 };
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
        status = read_counts(p, &f, &frame->poni, v);
    if (!status)
        mask_hot(p);
    if (!status)
        p->aspect = frame->poni.pixel2 / frame->poni.pixel1;
    frames_close(&f);
    return status;
}
