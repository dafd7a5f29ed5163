/* rings.c - see rings.h.
 *
 * A sample of a frame's pixels is put into bins of radius, in sectors of azimuth.  With a wrong beam centre a ring's
 * radius goes up and down once around it: the shifts from each sector to the next are found by correlation, added up,
 * and count as wandering where a wave fits them.  Spots of a single crystal give shifts that no wave fits.  A frame
 * that was written the other way round than the geometry takes it is found by trying: its rings are sharp only then.
 * The frame is decoded once, and only where the sample's pixels lie is worked out: a look costs milliseconds. */
#include "rings.h"
#include "mask.h"
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

/* What is looked at: pixels 0, step, 2 step ... of both axes. */
struct view {
    size_t height, width, step, n; /* of the image; pixels of the sample */
    float *counts;                 /* NAN where the run takes none */
    double *radial, *chi;          /* room for where they are, degrees */
};

struct extent {
    double from, to;
};

/* --- The sample --- */

/* The sample of an image whose pixels have `size` bytes. */
static void take_sample(uint8_t *sample, const uint8_t *image, const struct view *view, size_t size)
{
    for (size_t i = 0; i < view->height; i += view->step)
        for (size_t j = 0; j < view->width; j += view->step, sample += size)
            memcpy(sample, image + (i * view->width + j) * size, size);
}

static void choose_sample(struct view *view, const hcy_stack_info *info)
{
    *view = (struct view){ .height = info->height, .width = info->width, .step = 1 };
    while (view->height * view->width / (view->step * view->step) > SAMPLE)
        view->step++;
    view->n = ((view->height - 1) / view->step + 1) * ((view->width - 1) / view->step + 1);
}

/* A pixel that the run leaves out must not look like a spot: masks of all kinds are as in the run's plan.  bad: n. */
static int mask_sample(uint8_t *bad, const struct view *view, const hcy_azint_plan *plan, const uint8_t *mask)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    int status = hcy_azint_plan_get_info(&info, plan);
    uint8_t *all = status ? NULL : calloc(view->height, view->width);
    if (!all)
        return -1;
    if (info.options.detector_mask && info.poni.detector)
        (void)!hcy_detector_mask(all, info.poni.detector, view->height, view->width);
    for (size_t i = 0; mask && i < view->height * view->width; i++)
        all[i] |= mask[i];
    take_sample(bad, all, view, 1);
    free(all);
    return 0;
}

/* The frame's pixels; `image` has room for all of them, `sample` for the sample, both as they are stored. */
static int read_sample(struct view *view, uint8_t *bad, void *image, void *sample, const struct rings_of *of)
{
    const hcy_stack_info *info = hcy_stack_get_info(of->stack);
    hcy_image pixels = { 1, (uint32_t)view->n, info->pixel_type, info->elem_size, view->n * info->elem_size, sample };
    hcy_azint_job job;
    if (hcy_azint_plan_job(&job, of->plan, info->pixel_type) || mask_sample(bad, view, of->plan, of->mask) ||
        cli_decode_frame(image, of->stack, of->device, of->frame))
        return -1;
    take_sample(sample, image, view, info->elem_size);
    cli_mask_invalid(bad, &job, sample, view->n);
    hcy_image_to_floats(view->counts, &pixels);
    for (size_t i = 0; i < view->n; i++)
        view->counts[i] = bad[i] || !isfinite(view->counts[i]) ? NAN : view->counts[i];
    return 0;
}

static int open_view(struct view *view, const struct rings_of *of)
{
    const hcy_stack_info *info = hcy_stack_get_info(of->stack);
    choose_sample(view, info);
    view->counts = malloc(view->n * sizeof *view->counts);
    view->radial = malloc(2 * view->n * sizeof *view->radial);
    view->chi = view->radial ? view->radial + view->n : NULL;
    uint8_t *bad = malloc(view->n);
    void *image = malloc((size_t)info->frame_bytes), *sample = malloc(view->n * info->elem_size);
    int status = -1;
    if (view->counts && view->radial && bad && image && sample)
        status = read_sample(view, bad, image, sample, of);
    free(bad);
    free(image);
    free(sample);
    return status;
}

static void close_view(struct view *view)
{
    free(view->counts);
    free(view->radial);
}

/* --- Curves --- */

/* So many bins that each has some pixels. */
static int bins_for(const struct view *view)
{
    size_t n = view->height * view->width / (SECTORS * 8);
    if (n < 20)
        return 20;
    return n > RADII ? RADII : (int)n;
}

/* Does pixel i count?  d-spacings, pixels without a place: what is not finite has no bin. */
static int is_seen(const struct view *view, size_t i)
{
    return !isnan(view->counts[i]) && isfinite(view->radial[i]) && isfinite(view->chi[i]);
}

static struct extent extent_of(const double *at, const struct view *view)
{
    struct extent e = { INFINITY, -INFINITY };
    for (size_t i = 0; i < view->n; i++)
        if (is_seen(view, i)) {
            e.from = at[i] < e.from ? at[i] : e.from;
            e.to = at[i] > e.to ? at[i] : e.to;
        }
    return e;
}

static int bin_of(double at, const struct extent *e, int n)
{
    int bin = (int)((at - e->from) / (e->to - e->from) * n);
    return bin < n ? bin : n - 1; /* the largest value ends the last bin */
}

struct curves {
    double sum[SECTORS][RADII], norm[SECTORS][RADII];
};

/* Sums and pixels by sector and radius; rings->n and ->width.  -1: the geometry is none, or nothing is left. */
static int sum_sectors(struct curves *curves, struct rings *rings, const struct view *view, const hcy_poni *poni)
{
    if (hcy_azint_map(view->radial, view->chi, poni, view->height, view->width, "2th_deg", view->step))
        return -1;
    const struct extent radial = extent_of(view->radial, view), chi = extent_of(view->chi, view);
    if (!(radial.to > radial.from) || !(chi.to > chi.from))
        return -1;
    rings->n = bins_for(view);
    rings->width = (radial.to - radial.from) / rings->n;
    for (size_t i = 0; i < view->n; i++) {
        if (!is_seen(view, i))
            continue;
        int sector = bin_of(view->chi[i], &chi, SECTORS), bin = bin_of(view->radial[i], &radial, rings->n);
        curves->sum[sector][bin] += (double)view->counts[i];
        curves->norm[sector][bin]++;
    }
    return 0;
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
    struct curves *curves = calloc(1, sizeof *curves);
    int status = curves ? sum_sectors(curves, rings, view, poni) : -1;
    for (size_t a = 0; !status && a < SECTORS; a++)
        high_pass(rings->sector[a], curves->sum[a], curves->norm[a], rings->n);
    free(curves);
    if (status)
        return status;
    /* Both figures come from the same curves, so that one look is enough. */
    rings->coherence = coherence(rings);
    rings->wander = wandering(rings);
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

void rings_check(const struct rings_of *of, const hcy_poni *poni, int flip)
{
    struct rings *rings = calloc(2, sizeof *rings), *other = rings + 1;
    struct view view;
    /* The check is a courtesy: without memory or a readable frame the run goes on without a word. */
    if (!open_view(&view, of) && rings && !look_at_rings(rings, &view, poni)) {
        int wanders = rings->wander > BINS, better = 0;
        /* Orientations are tried only where something is wrong, as each costs a look. */
        if (wanders || rings->coherence < CLEAR)
            better = find_better(other, rings, &view, *poni);
        if (wanders || better)
            say(poni, wanders ? 2 * rings->width * rings->wander : 0, better, flip);
    }
    close_view(&view);
    free(rings);
}
