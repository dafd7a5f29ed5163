/* calibrate.c - halcyon calibrate: distance, centre and tilts from the rings of a powder.
 *
 * From a geometry that is nearly right, or one that was searched for: places on rings, a fit to these, places again,
 * nearer to the rings, until nothing changes.  Then it is asked whether the answer can be believed. */
#include "calibrate_frame.h"
#include "guard.h"
#include "progress.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define WELL_FITTED 0.5 /* pixels, root mean square: above it something is wrong or weak */

#define AT(member) offsetof(struct calibrate_values, member)
static const struct cli_option options[] = {
    { "calibrant", 'c', CLI_TEXT, AT(calibrant), "NAME",
      "of the powder, by pyFAI's names: CeO2, LaB6, AgBh", 0, 0, NULL },
    { "wavelength", 'w', CLI_REAL, AT(wavelength), "A", "in Angstrom (default: the geometry's)", 1e-4, 1e3, NULL },
    { "energy", 'e', CLI_REAL, AT(energy), "KEV", "instead of the wavelength", 1e-2, 1e5, NULL },
    { "output", 'o', CLI_TEXT, AT(output), "OUT.poni", "the geometry", 0, 0, NULL },
    { "poni", 'p', CLI_TEXT, AT(poni), "FILE.poni", "a geometry to begin with", 0, 0, NULL },
    { "detector", 'D', CLI_TEXT, AT(detector), "NAME", "as in PONI files, or a detector's file", 0, 0, NULL },
    { "pixel", 0, CLI_TEXT, AT(pixel), "UM",
      "instead: pixels in micrometres, one number or\nheight,width", 0, 0, NULL },
    { "orientation", 0, CLI_INT, AT(orientation), "N", "of the detector, 1 to 4, as in PONI files (3)", 1, 4, NULL },
    { "centre", 0, CLI_TEXT, AT(centre), "X,Y", "about where the beam is, column and row (found)", 0, 0, NULL },
    { "distance", 0, CLI_REAL, AT(distance), "M",
      "about how far away, in metres, to 3 percent (found)", 1e-4, 1e4, NULL },
    { "fix", 0, CLI_TEXT, AT(fix), "LIST",
      "what stays: dist, poni1, poni2, rot1, rot2, rot3,\nwavelength (rot3,wavelength); a list replaces these:\n"
      "what is not in it moves", 0, 0, NULL },
    { "mask", 'm', CLI_TEXT, AT(mask), "FILE", "pixels that are not 0 are left out", 0, 0, NULL },
    { "no-file-mask", 0, CLI_FLAG, AT(no_file_mask), NULL, "not the pixel_mask of the frame's file", 0, 0, NULL },
    { "frames", 0, CLI_SPAN, AT(frames), "A:B", "frames of a stack, which are added (the first)", 0, 0, NULL },
    { "dataset", 0, CLI_TEXT, AT(dataset), "PATH", "in a stack (default: found)", 0, 0, NULL },
    { "channel", 0, CLI_TEXT, AT(channel), "N", "of several energy thresholds: 1, 2, difference ...", 0, 0, NULL },
    { "plot", 0, CLI_TEXT, AT(plot), "FILE", "a picture of the fit: .png, .svg or .pdf", 0, 0, NULL },
    { "force", 0, CLI_FLAG, AT(force), NULL, "write a geometry that is doubtful, too", 0, 0, NULL },
    { "devices", 'd', CLI_TEXT, AT(devices), "LIST", "that decode frames: cpu; all; ... (auto)", 0, 0, NULL },
    { "quiet", 'q', CLI_FLAG, AT(quiet), NULL, "no table of rings", 0, 0, NULL },
    CLI_ISOLATE_OPTIONS,
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_calibrate_command = {
    "calibrate", "the geometry from the rings of a calibrant", "FRAME -c CALIBRANT", 1, 1, options,
    "Without -p it begins from nothing but detector and wavelength, or from what an HDF5\n"
    "file says of its detector.  Exit status: 0, or 1 if the rings do not give a geometry\n"
    "that can be believed; then no geometry is written, unless --force is given."
};

static const char *const parameters[HCY_PONI_PARAMETERS] = { "dist", "poni1", "poni2",     "rot1",
                                                             "rot2", "rot3",  "wavelength" };

/* --- Options --- */

int guard_calibration(const struct calibrate_values *v, const hcy_stack *stack)
{
    struct guard guard = { 0 };
    guard_reads_stack(&guard, stack);
    guard_reads(&guard, "-p", v->poni);
    guard_reads(&guard, "--mask", v->mask);
    guard_reads(&guard, "-D", v->detector);
    /* A refined geometry may take the place of that which it began with, which is a copy by then. */
    int same = v->poni && v->output && !strcmp(v->poni, v->output);
    int status = same ? CLI_OK : guard_writes(&guard, "-o", v->output, 0, 0);
    if (!status && v->output)
        status = cli_check_format(v->output, HCY_WRITE_GEOMETRY);
    if (!status)
        status = guard_writes(&guard, "--plot", v->plot, 0, 0);
    guard_free(&guard);
    return status;
}

/* --fix as bits. */
static int parse_fixed(unsigned *fixed, const char *list)
{
    *fixed = 1u << HCY_PONI_ROT3 | 1u << HCY_PONI_WAVELENGTH;
    if (!list)
        return CLI_OK;
    *fixed = 1u << HCY_PONI_ROT3;
    while (*list) {
        size_t n = strcspn(list, ","), k = 0;
        while (k < HCY_PONI_PARAMETERS && (strlen(parameters[k]) != n || strncmp(parameters[k], list, n)))
            k++;
        if (k == HCY_PONI_PARAMETERS)
            return cli_usage("--fix: there is no parameter '%.*s': they are dist, poni1, poni2, rot1, rot2, rot3 and "
                             "wavelength", (int)n, list);
        *fixed |= 1u << k;
        list += n + (list[n] == ',');
    }
    if (*fixed == (1u << HCY_PONI_PARAMETERS) - 1)
        return cli_usage("--fix: with all parameters fixed nothing is left to be found (rot3 is fixed without saying so: no "
                         "ring shows it)");
    return CLI_OK;
}

/* --fix dist: the distance is known, exactly; what a search would guess is not what the user means. */
static int fix_distance(hcy_poni *poni, const struct calibrate_values *v, unsigned fixed)
{
    if (!(fixed & 1u << HCY_PONI_DIST))
        return CLI_OK;
    if (v->distance.given)
        poni->dist = v->distance.value;
    if (poni->dist > 0)
        return CLI_OK;
    return cli_usage("--fix dist: give the distance, --distance M or -p");
}

/* "X,Y" as row and column. */
static int parse_centre(double centre[2], const char *text)
{
    char *comma, *end = NULL;
    if (!text)
        return CLI_OK;
    centre[1] = strtod(text, &comma);
    if (comma > text && *comma == ',')
        centre[0] = strtod(comma + 1, &end);
    if (!end || end == comma + 1 || *end || !isfinite(centre[0]) || !isfinite(centre[1]))
        return cli_usage("--centre '%s' is not valid: it takes column,row in pixels", text);
    return CLI_OK;
}

static int check_calibrate_values(struct calibrate_frame *frame, const struct calibrate_values *v)
{
    if (!v->calibrant)
        return cli_usage("the calibrant is missing: give -c NAME");
    if (v->wavelength.given && v->energy.given)
        return cli_usage("-w and -e say the same: give one");
    if (v->detector && v->pixel)
        return cli_usage("--pixel is in place of -D, which has its own pixels: give one");
    if (hcy_calibrant_find(&frame->calibrant, v->calibrant))
        return cli_usage("%s", hcy_last_error()->text);
    return check_picture(v->plot);
}

/* --- Fitting --- */

/* A geometry, and how well it is known. */
struct answer {
    hcy_poni poni;
    hcy_poni_fit fit;
    struct ring_points points;
    struct likeness likeness;
    size_t rings; /* that are seen */
    int failed;   /* no fit */
    char doubts[400];
};

static void doubt(struct answer *a, const char *fmt, ...) HCY_PRINTF(2, 3);

static void doubt(struct answer *a, const char *fmt, ...)
{
    size_t used = strlen(a->doubts);
    va_list args;
    if (used)
        used += (size_t)snprintf(a->doubts + used, sizeof a->doubts - used, "; ");
    va_start(args, fmt);
    if (used < sizeof a->doubts)
        vsnprintf(a->doubts + used, sizeof a->doubts - used, fmt, args);
    va_end(args);
}

/* A ring is seen where a fair part of its pieces shows it: noise does here and there. */
static int is_seen(const struct ring_points *p, size_t ring)
{
    return p->found[ring] >= 5 && 4 * p->found[ring] >= p->sought[ring];
}

/* Points of rings that are not seen are noise. */
static void keep_seen(struct answer *a, const struct powder *p)
{
    size_t kept = 0, ring = 0;
    a->rings = 0;
    for (size_t k = 0; k < p->n_spacings; k++)
        a->rings += is_seen(&a->points, k);
    /* Points stand in the order of their rings. */
    for (size_t i = 0; i < a->points.n; i++) {
        while (p->spacings[ring] != a->points.points[i].spacing)
            ring++;
        if (is_seen(&a->points, ring))
            a->points.points[kept++] = a->points.points[i];
    }
    a->points.n = kept;
}

/* Places and fits in turn, with bands that become narrow. */
static int refine_pieces(struct answer *a, struct powder *p, unsigned fixed, double piece)
{
    static const double reach[] = { 20, 14, 10, 8, 6, 6, 6, 6, 6, 6 };
    double before = 0;
    for (size_t round = 0; round < sizeof reach / sizeof reach[0]; round++) {
        unsigned now = fixed;
        free(a->points.points);
        if (find_ring_points(&a->points, p, &a->poni, reach[round], piece))
            return -1;
        keep_seen(a, p);
        /* One ring knows a centre and a distance, and no tilt. */
        if (a->rings < 2)
            now |= 1u << HCY_PONI_ROT1 | 1u << HCY_PONI_ROT2;
        a->fit = (hcy_poni_fit)HCY_PONI_FIT_INIT;
        if (hcy_poni_refine(&a->poni, &a->fit, p->height, p->width, a->points.points, a->points.n, now))
            return -1;
        /* The last bands are of one width: then the distance tells whether anything still moves. */
        if (round >= 5 && fabs(a->poni.dist - before) < 0.02 * a->fit.sigma[HCY_PONI_DIST] + 1e-12)
            break;
        before = a->poni.dist;
    }
    return 0;
}

/* Short pieces give many points; weak rings are seen in long ones alone. */
static void refine_rounds(struct answer *a, struct powder *p, unsigned fixed)
{
    static const double pieces[] = { 14, 80 };
    hcy_poni start = a->poni;
    a->failed = 1;
    for (size_t i = 0; i < 2 && a->failed; i++) {
        a->poni = start;
        a->failed = refine_pieces(a, p, fixed, pieces[i]) != 0 || a->rings < 2;
    }
    /* One ring is an answer, if a doubtful one. */
    a->failed = a->failed && (a->rings < 1 || !a->fit.n_used);
}

/* Why the answer is not to be believed, in a->doubts; "" where it is. */
static void judge_answer(struct answer *a, const struct powder *p, const hcy_calibrant *calibrant)
{
    size_t sought = 0;
    if (a->failed) {
        doubt(a, "no rings of %s were found", calibrant->name);
        return;
    }
    for (size_t k = 0; k < p->n_spacings; k++)
        sought += a->points.sought[k] >= 5;
    if (!a->fit.converged)
        doubt(a, "the fit did not converge in %u steps", a->fit.iterations);
    if (a->rings < 2)
        doubt(a, "too few rings: %zu; the tilt was left alone", a->rings);
    if (a->fit.rms_pixels > 0.8)
        doubt(a, "the points are %.1f pixels from their rings", a->fit.rms_pixels);
    if (3 * a->fit.n_used < 2 * a->points.n)
        doubt(a, "only %zu of %zu points lie on rings", a->fit.n_used, a->points.n);
    if (judge_likeness(&a->likeness, p, &a->poni, calibrant)) {
        doubt(a, "no memory to compare the rings with those of other calibrants");
        return;
    }
    if (a->likeness.better)
        doubt(a, "the rings are more like those of %s (%.2f) than those of %s (%.2f)", a->likeness.better->name,
              a->likeness.better_score, calibrant->name, a->likeness.score);
    else if (a->likeness.score < 0.4)
        doubt(a, "the frame's rings are not those of %s (likeness %.2f; %zu of %zu rings seen)", calibrant->name,
              a->likeness.score, a->rings, sought);
}

/* The better of two, which keeps its points. */
static void keep_better(struct answer *a, struct answer *b)
{
    int take = !b->failed && (a->failed || (!*b->doubts && *a->doubts) ||
                              (!*b->doubts == !*a->doubts && b->likeness.score > a->likeness.score));
    if (take) {
        struct answer t = *a;
        *a = *b;
        *b = t;
    }
    free(b->points.points);
    b->points.points = NULL;
}

static void solve(struct answer *a, struct calibrate_frame *frame, const struct calibrate_values *v, unsigned fixed,
                  const double *centre)
{
    struct answer searched = { .poni = frame->poni, .failed = 1 };
    double distance = fixed & 1u << HCY_PONI_DIST ? frame->poni.dist : v->distance.given ? v->distance.value : 0;
    *a = searched;
    if (frame->has_start && !centre) {
        refine_rounds(a, &frame->powder, fixed);
        judge_answer(a, &frame->powder, frame->calibrant);
        if (!*a->doubts)
            return;
    }
    /* From nothing, or because the geometry given leads nowhere. */
    if (!search_geometry(&searched.poni, &frame->powder, centre, distance, fixed))
        refine_rounds(&searched, &frame->powder, fixed);
    judge_answer(&searched, &frame->powder, frame->calibrant);
    if (!frame->has_start || centre)
        a->failed = 1;
    if (a->failed && !*a->doubts)
        snprintf(a->doubts, sizeof a->doubts, "%s", searched.doubts);
    keep_better(a, &searched);
}

/* --- Saying --- */

/* Where the direct beam meets the detector, row and column from the image's first outer corner. */
static void find_beam(double beam[2], const hcy_poni *p, const struct powder *powder)
{
    double up = p->poni1 + p->dist * tan(p->rot2) / cos(p->rot1), along = p->poni2 - p->dist * tan(p->rot1);
    int o = p->orientation;
    beam[0] = up / p->pixel1;
    beam[1] = along / p->pixel2;
    if (o == 1 || o == 2)
        beam[0] = (double)powder->height - beam[0];
    if (o == 1 || o == 4)
        beam[1] = (double)powder->width - beam[1];
}

static void print_answer(const struct answer *a, const struct powder *p)
{
    const hcy_poni *g = &a->poni;
    const double value[HCY_PONI_PARAMETERS] = { g->dist, g->poni1, g->poni2,            g->rot1,
                                                g->rot2, g->rot3,  1e10 * g->wavelength };
    static const char *const units[HCY_PONI_PARAMETERS] = { "m", "m", "m", "rad", "rad", "rad", "A" };
    double beam[2];
    for (int k = 0; k < HCY_PONI_PARAMETERS; k++) {
        double sigma = a->fit.sigma[k] * (k == HCY_PONI_WAVELENGTH ? 1e10 : 1);
        printf("  %-10s  %14.9f %s", parameters[k], value[k], units[k]);
        if (sigma > 0)
            printf("  +- %.2g\n", sigma);
        else
            printf("  (fixed)\n");
    }
    find_beam(beam, g, p);
    printf("  %-10s  column %.2f, row %.2f\n", "beam", beam[1], beam[0]);
    printf("  %-10s  %.4f degrees\n", "tilt", acos(cos(g->rot1) * cos(g->rot2)) * 180 / 3.14159265358979);
    printf("  %-10s  %.3f pixels, %.4f mrad, %zu of %zu points on %zu rings, %u steps\n", "rms", a->fit.rms_pixels,
           1e3 * a->fit.rms, a->fit.n_used, a->points.n, a->rings, a->fit.iterations);
    printf("  %-10s  %.2f of 1\n", "likeness", a->likeness.score);
}

static void print_rings(const struct answer *a, const struct powder *p)
{
    printf("  ring   d (A)     2theta (deg)  points\n");
    for (size_t k = 0; k < p->n_spacings; k++)
        if (a->points.sought[k] >= 5)
            printf("  %4zu  %9.5f  %10.5f  %4zu of %zu%s\n", k + 1, 1e10 * p->spacings[k],
                   ring_angle(p->spacings[k], a->poni.wavelength) * 180 / 3.14159265358979, a->points.found[k],
                   a->points.sought[k], is_seen(&a->points, k) ? "" : ", not used");
}

static int write_calibrated(const char *path, const hcy_poni *poni)
{
    char text[4096];
    hcy_output *output;
    int status = hcy_poni_format(text, sizeof text, NULL, poni);
    if (!status)
        status = hcy_output_open(&output, path, 0);
    if (!status) {
        FILE *out = hcy_output_stream(output);
        if (out)
            fprintf(out, "# Made by halcyon calibrate\n%s", text);
        /* The geometry takes its name only when it is complete. */
        status = hcy_output_commit(output, 0);
    }
    return status ? cli_fail(status) : CLI_OK;
}

/* What is written where, and what it is for. */
static void print_written(const struct calibrate_values *v, const struct answer *a, const struct powder *p)
{
    double beam[2];
    char frame[CLI_WORD], poni[CLI_WORD];
    find_beam(beam, &a->poni, p);
    printf("%s: %g m away, beam at column %.2f, row %.2f, wavelength %g A\n", v->output, a->poni.dist, beam[1],
           beam[0], 1e10 * a->poni.wavelength);
    printf("next: halcyon integrate %s -p %s\n", cli_shell_word(frame, sizeof frame, v->frame),
           cli_shell_word(poni, sizeof poni, v->output));
}

/* A wrong wavelength moves the detector and leaves the fit a little worse: a fit that may change it, too, tells.
 * 0: the wavelength is as good as any. */
static double better_wavelength(double *rms, const struct answer *a, const struct powder *p, unsigned fixed)
{
    hcy_poni poni = a->poni;
    hcy_poni_fit fit = HCY_PONI_FIT_INIT;
    const unsigned wavelength = 1u << HCY_PONI_WAVELENGTH;
    /* Angles are too small, or rings too few, where the wavelength is not known much better than what is looked for. */
    if (!(fixed & wavelength) || a->rings < 3 ||
        hcy_poni_refine(&poni, &fit, p->height, p->width, a->points.points, a->points.n, fixed & ~wavelength))
        return 0;
    double moved = fabs(poni.wavelength - a->poni.wavelength);
    *rms = fit.rms_pixels;
    return fit.rms_pixels < 0.75 * a->fit.rms_pixels && moved > 10 * fit.sigma[HCY_PONI_WAVELENGTH] &&
                   moved > 1e-3 * a->poni.wavelength
               ? poni.wavelength
               : 0;
}

static void explain_misfit(const struct answer *a, const struct powder *p, unsigned fixed)
{
    double rms, better = better_wavelength(&rms, a, p, fixed);
    if (better > 0)
        cli_note("the rings would fit better, to %.2f in place of %.2f pixels, with a wavelength of %.5g A: check it, the "
                 "calibrant and the pixel size, as each is taken for another distance", rms, a->fit.rms_pixels, 1e10 * better);
    else if (a->fit.rms_pixels > WELL_FITTED)
        cli_note("the points are %.2f pixels from their rings, where good fits have 0.05 to 0.3: the calibrant, the "
                 "wavelength or the pixel size may be wrong", a->fit.rms_pixels);
}

/* --- The command --- */

static int calibrate(struct calibrate_frame *frame, const struct calibrate_values *v, unsigned fixed,
                     const double *centre)
{
    struct answer a;
    struct progress progress;
    int status = CLI_OK;
    progress_begin(&progress, !v->quiet);
    progress_say(&progress, "looking for the rings of %s ...", frame->calibrant->name);
    solve(&a, frame, v, fixed, centre);
    progress_clear(&progress);
    if (a.failed) {
        cli_error("%s: %s", v->frame, *a.doubts ? a.doubts : "no rings were found");
        free(a.points.points);
        return cli_error("no geometry: check -c, the wavelength and the detector, or give what is known: "
                         "--distance M, --centre X,Y or -p FILE.poni");
    }
    printf("%s: %s at %g A, %s\n", v->frame, frame->calibrant->name, 1e10 * a.poni.wavelength,
           a.poni.detector ? a.poni.detector->name : "a detector");
    print_answer(&a, &frame->powder);
    if (!v->quiet)
        print_rings(&a, &frame->powder);
    explain_misfit(&a, &frame->powder, fixed);
    if (*a.doubts) {
        status = cli_error("doubtful: %s", a.doubts);
        if (v->output && !v->force)
            cli_error("%s is not written; --force writes it all the same; what is known helps: --distance M, --centre X,Y or "
                      "-p FILE.poni", v->output);
    }
    if (v->output && (!*a.doubts || v->force)) {
        int written = write_calibrated(v->output, &a.poni);
        status = written ? written : status;
        if (!written)
            print_written(v, &a, &frame->powder);
    }
    if (v->plot) {
        /* The angles are those of the last geometry that was tried. */
        struct powder *p = &frame->powder;
        int drawn = hcy_azint_map(p->angle, NULL, &a.poni, p->height, p->width, "2th_rad", 1);
        drawn = drawn ? cli_fail(drawn) : plot_calibration(v->plot, p, &a.poni, &a.points);
        status = drawn ? drawn : status;
    }
    free(a.points.points);
    return cli_close_stdout(status);
}

int cli_calibrate(int argc, char **argv)
{
    struct calibrate_values values = { 0 };
    struct calibrate_frame frame = { .poni = HCY_PONI_INIT };
    double centre[2] = { 0, 0 };
    unsigned fixed;
    int status;
    if (cli_parse(&cli_calibrate_command, argc, argv, &values, &values.frame, &status))
        return status;
    status = check_calibrate_values(&frame, &values);
    if (!status)
        status = parse_fixed(&fixed, values.fix);
    if (!status)
        status = parse_centre(centre, values.centre);
    if (!status)
        status = calibrate_frame_read(&frame, &values);
    if (!status)
        status = fix_distance(&frame.poni, &values, fixed);
    if (!status)
        status = calibrate(&frame, &values, fixed, values.centre ? centre : NULL);
    hcy_detector_info_free(frame.detector_file);
    free(frame.powder.counts);
    free(frame.powder.angle);
    return status;
}
