/* rings.c - see rings.h.
 *
 * A frame is integrated coarsely, by a sample of its pixels, in sectors of azimuth.  With a wrong beam centre a ring's
 * radius goes up and down once around it: the shifts from each sector to the next are found by correlation, added up,
 * and count as wandering where a wave fits them.  Spots of a single crystal give shifts that no wave fits.  A frame
 * that was written the other way round than the geometry takes it is found by trying: its rings are sharp only then. */
#include "rings.h"
#include <halcyon/pipeline.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RADII = 400, SECTORS = 24, SAMPLE = 200000, REACH = 8, SMOOTH = 12, ORIENTATIONS = 4, WAVE = 3 };
enum { BINS = 2 };  /* that rings may wander */
#define CLEAR 0.4   /* the coherence of rings that are where they belong */

/* A frame's curves in sectors, less what changes slowly with the radius: its rings. */
struct rings {
    int n; /* bins in radius */
    double sector[SECTORS][RADII];
    double coherence, wander; /* the latter in bins of `width` degrees of 2 theta */
    double width;
};

/* What is looked at. */
struct view {
    hcy_stack *stack;
    hcy_device *device;
    hcy_azint_options options;
    uint64_t frame;
};

/* --- Integrating --- */

/* One pixel of `step` in each direction, of those that the run takes. */
static uint8_t *sample(const hcy_stack_info *info, const uint8_t *mask)
{
    size_t n = (size_t)info->height * info->width, step = 1;
    uint8_t *sampled = malloc(n);
    while (n / (step * step) > SAMPLE)
        step++;
    if (!sampled)
        return NULL;
    memset(sampled, 1, n);
    for (size_t i = 0; i < info->height; i += step)
        for (size_t j = 0; j < info->width; j += step)
            sampled[i * info->width + j] = mask && mask[i * info->width + j];
    return sampled;
}

/* So many bins that each has some pixels. */
static size_t bins_for(const hcy_stack_info *info)
{
    size_t n = (size_t)info->height * info->width / (SECTORS * 8);
    if (n < 20)
        return 20;
    return n > RADII ? RADII : n;
}

static int add_sectors(void *payload, const hcy_pipeline_frame *frame)
{
    hcy_azint_result *to = payload;
    return frame->result ? hcy_azint_result_add(to, frame->result, 0) : HCY_ECORRUPT;
}

/* The frame's sums by sector and radius; to be destroyed.  NULL: it cannot be done. */
static hcy_azint_result *integrate_sectors(const struct view *view, const hcy_poni *poni)
{
    const hcy_stack_info *info = hcy_stack_get_info(view->stack);
    hcy_pipeline_source source = hcy_pipeline_source_of(info);
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_pipeline *pipeline = NULL;
    hcy_azint_plan *plan = NULL;
    hcy_azint_result *sums = NULL;
    /* One frame needs one reader and the least memory. */
    opts.batch = opts.readers = 1;
    opts.memory = 1;
    opts.flags = HCY_PIPELINE_FEW;
    int status = hcy_azint_plan_create(&plan, poni, info->height, info->width, &view->options);
    if (!status)
        status = hcy_azint_result_create(&sums, plan);
    if (!status)
        status = hcy_pipeline_create(&pipeline, &view->device, 1, plan, &source, &opts);
    if (!status)
        status = hcy_pipeline_run(pipeline, view->stack, view->frame, view->frame + 1, add_sectors, NULL, sums);
    hcy_pipeline_destroy(pipeline);
    hcy_azint_plan_release(plan);
    if (status)
        hcy_azint_result_destroy(sums);
    return status ? NULL : sums;
}

/* --- Looking --- */

/* Takes off the mean of what is near, and gives 0 to bins without pixels. */
static void high_pass(double *curve, const double *sum, const double *norm, int n)
{
    for (int i = 0; i < n; i++) {
        double near = 0, weight = 0;
        /* Background and air scattering change slowly; left in, they would agree in all sectors. */
        for (int k = i > SMOOTH ? i - SMOOTH : 0; k < n && k <= i + SMOOTH; k++) {
            near += sum[k];
            weight += norm[k];
        }
        curve[i] = norm[i] > 0 ? sum[i] / norm[i] - near / weight : 0;
    }
}

/* How well b moved by `shift` agrees with a: the cosine of the angle between both, where both have pixels.  NAN: they
 * have too few bins in common. */
static double agreement(const double *a, const double *b, int n, int shift)
{
    double ab = 0, aa = 0, bb = 0;
    int common = 0;
    for (int i = shift < 0 ? -shift : 0; i < n && i + shift < n; i++) {
        double x = a[i], y = b[i + shift];
        /* 0 marks bins without pixels, which say nothing about agreement. */
        if (x == 0 || y == 0)
            continue;
        ab += x * y;
        aa += x * x;
        bb += y * y;
        common++;
    }
    /* A few bins may agree by chance. */
    return common >= n / 10 ? ab / sqrt(aa * bb) : NAN;
}

/* The amplitude of the wave over sectors 0 to n - 1 that fits, if it does: 0 else. */
static double wave_of(const double at[SECTORS], int n)
{
    /* Least squares for a constant, a cosine and a sine: three normal equations. */
    double m[WAVE][WAVE + 1] = { { 0 } }, rest = 0;
    for (int a = 0; a < n; a++) {
        double angle = 2 * 3.14159265358979 * a / SECTORS, row[WAVE + 1] = { 1, cos(angle), sin(angle), at[a] };
        for (int i = 0; i < WAVE; i++)
            for (int k = 0; k <= WAVE; k++)
                m[i][k] += row[i] * row[k];
    }
    for (int i = 0; i < WAVE; i++) /* elimination: the matrix is positive */
        for (int k = 0; k < WAVE; k++) {
            double by = k != i ? m[k][i] / m[i][i] : 0;
            for (int j = i; by != 0 && j <= WAVE; j++)
                m[k][j] -= by * m[i][j];
        }
    double c[WAVE] = { m[0][3] / m[0][0], m[1][3] / m[1][1], m[2][3] / m[2][2] };
    for (int a = 0; a < n; a++) {
        double angle = 2 * 3.14159265358979 * a / SECTORS;
        double off = at[a] - c[0] - c[1] * cos(angle) - c[2] * sin(angle);
        rest += off * off / n;
    }
    double amplitude = hypot(c[1], c[2]);
    return sqrt(rest) < 0.2 * amplitude ? amplitude : 0;
}

/* Are rings at the same radius in sectors that are next to, square to and opposite one another?  1: all of them; about
 * 0: there are none, or they are elsewhere. */
static double coherence(const struct rings *rings)
{
    static const int apart[] = { 1, SECTORS / 4, SECTORS / 2 };
    double sum = 0;
    int n = 0;
    for (int a = 0; a < SECTORS; a++)
        for (size_t k = 0; k < sizeof apart / sizeof apart[0]; k++) {
            double one = agreement(rings->sector[a], rings->sector[(a + apart[k]) % SECTORS], rings->n, 0);
            sum += isnan(one) ? 0 : one;
            n += !isnan(one);
        }
    /* A detector at the edge of the rings has too few pairs of sectors to judge by. */
    return n >= SECTORS ? sum / n : 0;
}

/* How far the rings go up and down, in bins. */
static double wandering(const struct rings *rings)
{
    double at[SECTORS] = { 0 };
    int n = 1, best = 0;
    for (; n < SECTORS; n++) {
        double most = -1;
        /* A ring cannot move far from one sector to the next, which bounds the search. */
        for (int shift = -rings->n / REACH; shift <= rings->n / REACH; shift++) {
            double now = agreement(rings->sector[n - 1], rings->sector[n], rings->n, shift);
            best = now > most ? shift : best;
            most = now > most ? now : most;
        }
        /* The chain of shifts ends where a sector has no ring: all that follows would hang in the air. */
        if (most < 0.5)
            break;
        at[n] = at[n - 1] + best;
    }
    return n >= SECTORS / 2 ? wave_of(at, n) : 0;
}

static int look_at_rings(struct rings *rings, const struct view *view, const hcy_poni *poni)
{
    hcy_azint_result *sums = integrate_sectors(view, poni);
    if (!sums)
        return -1;
    size_t n = sums->n_radial;
    rings->n = (int)n;
    for (size_t a = 0; a < SECTORS; a++)
        high_pass(rings->sector[a], sums->sum_signal + a * n, sums->sum_norm + a * n, rings->n);
    /* Both figures come from the same curves, so that one integration is enough. */
    rings->coherence = coherence(rings);
    rings->wander = wandering(rings);
    rings->width = (sums->radial[n - 1] - sums->radial[0]) / (double)(n - 1);
    hcy_azint_result_destroy(sums);
    return 0;
}

/* --- Saying --- */

/* The orientation in which rings are where they belong; 0: none. */
static int find_better(struct rings *other, const struct rings *now, const struct view *view, hcy_poni poni)
{
    int given = poni.orientation, better = 0;
    /* Another orientation must be clearly better, for a hint that is wrong costs more than none. */
    double most = fmax(now->coherence + 0.2, CLEAR);
    for (int o = 1; o <= ORIENTATIONS; o++) {
        poni.orientation = o;
        if (o == given || look_at_rings(other, view, &poni) || other->coherence < most || other->wander > BINS)
            continue;
        most = other->coherence;
        better = o;
    }
    return better;
}

static void say(const hcy_poni *poni, double degrees, int better, int flip)
{
    static const int flipped[] = { 0, 4, 3, 2, 1 };
    char what[96] = "the rings are not where this geometry has them", to_do[96] = "check the beam centre";
    if (degrees > 0)
        snprintf(what, sizeof what, "the rings wander over the azimuth, by %.2g degrees of 2 theta", degrees);
    /* A flip is what most users know; the number of an orientation is the rarer word for it. */
    if (better && better == flipped[poni->orientation])
        snprintf(to_do, sizeof to_do, flip ? "leave --flip out (rows run as the geometry has them)"
                                           : "try --flip (rows run the other way, as with Dioptas' PONI files)");
    else if (better)
        snprintf(to_do, sizeof to_do, "try --orientation %d%s", better, flip ? " without --flip" : "");
    cli_note("%s: %s", what, to_do);
}

void rings_check(hcy_stack *stack, hcy_device *device, const hcy_poni *poni, const hcy_azint_options *given,
                 uint64_t frame, int flip)
{
    struct view view = { stack, device, HCY_AZINT_OPTIONS_INIT, frame };
    hcy_azint_options *o = &view.options;
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    struct rings *rings = calloc(2, sizeof *rings), *other = rings + 1;
    uint8_t *mask = sample(info, given->mask);
    /* The run's own options for bins and corrections are of no interest; what makes pixels invalid is. */
    o->npt = bins_for(info);
    o->npt_azim = SECTORS;
    o->unit = "2th_deg";
    o->split = HCY_SPLIT_NO;
    o->mask = mask;
    o->mask_height = info->height;
    o->mask_width = info->width;
    /* A pixel that the run leaves out must not look like a spot. */
    o->sentinels = given->sentinels;
    o->use_dummy = given->use_dummy;
    o->dummy = given->dummy;
    o->delta_dummy = given->delta_dummy;
    /* The check is a courtesy: without memory or a readable frame the run goes on without a word. */
    if (rings && mask && !look_at_rings(rings, &view, poni)) {
        int wanders = rings->wander > BINS, better = 0;
        /* Orientations are tried only where something is wrong, as each costs one integration. */
        if (wanders || rings->coherence < CLEAR)
            better = find_better(other, rings, &view, *poni);
        if (wanders || better)
            say(poni, wanders ? 2 * rings->width * rings->wander : 0, better, flip);
    }
    free(mask);
    free(rings);
}
