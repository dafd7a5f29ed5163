/* Plans against brute force: every pixel's corners, range and shares worked out anew in long double, by
 * formulas and algorithms other than the library's (matrices, angles, polygons clipped to bins).  And what
 * plans promise: shares that add up, the same tables from any number of threads, a hash of everything,
 * messages for bad input. */
#include "azint_scene.h"
#include "azint_sums.h"

#include <fenv.h>
#include <sys/resource.h>
#include <unistd.h>

#define PI_L 3.14159265358979323846264338327950288L

/* Corners are rounded to single precision, and so are areas: what that may do to a share, log10(q.m) with its
 * values about 10.6 being the worst. */
#define SHARE_TOLERANCE 3e-4L
#define TOUCH           1e-4L /* a pixel that reaches in by less may be in or out */

/* --- Brute force --- */

typedef struct point {
    long double radial, chi;
} point;

static void multiply(long double out[3][3], const long double a[3][3], const long double b[3][3])
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            out[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
    }
}

/* Those that azimuth goes with; the others have tests/azint_fibre.c. */
static const hcy_azint_unit *list_units(size_t *n)
{
    const hcy_azint_unit *units = hcy_azint_unit_list(n);

    while (*n && units[*n - 1].needs_sample)
        --*n;
    return units;
}

static long double radial_value(const char *unit, long double wavelength, long double x, long double y,
                                long double z)
{
    long double r = hypotl(x, y), tth = atan2l(r, z), q = 4e-9L * PI_L / wavelength * sinl(tth / 2);

    if (!strncmp(unit, "r_", 2))
        return unit[3] == 'm' ? 1e3L * r : r;
    if (!strncmp(unit, "2th_", 4))
        return !strcmp(unit, "2th_deg") ? tth * 180 / PI_L : tth;
    if (!strncmp(unit, "qx", 2) || !strncmp(unit, "qy", 2))
        return 4e-9L * PI_L / wavelength * sinl(atan2l(unit[1] == 'x' ? x : y, z) / 2);
    if (!strncmp(unit, "q_", 2))
        return unit[2] == 'A' ? q / 10 : q;
    if (!strncmp(unit, "d_", 2))
        return 0.5L * wavelength / sinl(tth / 2) * (unit[2] == 'A' ? 1e10L : unit[2] == 'n' ? 1e9L : 1);
    if (!strncmp(unit, "d*2_", 4))
        return powl(q / (2 * PI_L), 2) * (unit[4] == 'A' ? 0.01L : 1);
    if (!strcmp(unit, "log10(q.m)_None"))
        return log10l(1e9L * q);
    if (!strcmp(unit, "log(q.nm)_None"))
        return logl(q);
    if (!strncmp(unit, "log(1+q.", 8))
        return log1pl(unit[8] == 'A' ? q / 10 : q);
    if (!strncmp(unit, "arcsinh(q.", 10))
        return asinhl(unit[10] == 'A' ? q / 10 : q);
    bail_out("no formula for the unit %s", unit);
    return 0;
}

/* The lab's values at row i, column j of the image; corners are whole numbers. */
static point at(const scene *s, long double i, long double j)
{
    const hcy_poni *p = &s->poni;
    long double c1 = cosl(p->rot1), s1 = sinl(p->rot1), c2 = cosl(p->rot2), s2 = sinl(p->rot2),
                c3 = cosl(p->rot3), s3 = sinl(p->rot3);
    const long double rot1[3][3] = { { 1, 0, 0 }, { 0, c1, s1 }, { 0, -s1, c1 } };
    const long double rot2[3][3] = { { c2, 0, -s2 }, { 0, 1, 0 }, { s2, 0, c2 } };
    const long double rot3[3][3] = { { c3, -s3, 0 }, { s3, c3, 0 }, { 0, 0, 1 } };
    long double m[3][3], m21[3][3], v[3];
    int o = p->orientation;

    multiply(m21, rot2, rot1);
    multiply(m, rot3, (const long double(*)[3])m21);
    i = o == 1 || o == 2 ? H - i : i;
    j = o == 1 || o == 4 ? W - j : j;
    for (int k = 0; k < 3; k++)
        v[k] =
            m[k][0] * (i * p->pixel1 - p->poni1) + m[k][1] * (j * p->pixel2 - p->poni2) + m[k][2] * p->dist;
    return (point){ radial_value(s->o.unit, p->wavelength, v[1], v[0], v[2]), atan2l(v[0], v[1]) };
}

static void corners(point c[4], const scene *s, int i, int j)
{
    c[0] = at(s, i, j);
    c[1] = at(s, i + 1, j);
    c[2] = at(s, i + 1, j + 1);
    c[3] = at(s, i, j + 1);
    for (int k = 1; k < 4; k++)
        c[k].chi -= 2 * PI_L * roundl((c[k].chi - c[0].chi) / (2 * PI_L));
}

/* A pixel's interval in the unit. */
static void interval(long double *lo, long double *hi, const scene *s, int i, int j)
{
    point c[4], m = at(s, i + 0.5L, j + 0.5L);
    long double d = 0;

    corners(c, s, i, j);
    *lo = *hi = s->o.split == HCY_SPLIT_FULL ? c[0].radial : m.radial;
    for (int k = 0; k < 4 && s->o.split != HCY_SPLIT_NO; k++) {
        d = fabsl(c[k].radial - m.radial) > d ? fabsl(c[k].radial - m.radial) : d;
        if (s->o.split == HCY_SPLIT_FULL) {
            *lo = c[k].radial < *lo ? c[k].radial : *lo;
            *hi = c[k].radial > *hi ? c[k].radial : *hi;
        }
    }
    if (s->o.split == HCY_SPLIT_BBOX) {
        *lo -= d;
        *hi += d;
    }
}

/* Keep of a polygon what lies on one side of radial = edge (side +1: above, -1: below). */
static int clip(point *out, const point *in, int n, long double edge, int side)
{
    int m = 0;

    for (int k = 0; k < n; k++) {
        point a = in[k], b = in[(k + 1) % n];
        long double da = side * (a.radial - edge), db = side * (b.radial - edge);

        if (da >= 0)
            out[m++] = a;
        if ((da < 0) != (db < 0)) {
            out[m++] = (point){ edge, a.chi + (b.chi - a.chi) * da / (da - db) };
        }
    }
    return m;
}

static long double area_between(const point c[4], long double lo, long double hi)
{
    point a[16], b[16];
    int n = clip(a, c, 4, lo, 1);
    long double sum = 0;

    n = clip(b, a, n, hi, -1);
    for (int k = 0; k < n; k++)
        sum += b[k].radial * b[(k + 1) % n].chi - b[(k + 1) % n].radial * b[k].chi;
    return fabsl(sum) / 2;
}

static int azimuth_ok(const scene *s, int i, int j)
{
    long double lo = s->o.azimuth_range[0] * PI_L / 180, hi = s->o.azimuth_range[1] * PI_L / 180, chi;
    point c[5];

    if (lo == hi)
        return 1;
    corners(c, s, i, j);
    c[4] = at(s, i + 0.5L, j + 0.5L);
    for (int k = s->o.split == HCY_SPLIT_NO ? 4 : 0; k < 5; k++) {
        for (int turn = -1; turn <= 1; turn++) {
            chi = c[k].chi + turn * 2 * PI_L;
            if (chi >= lo && chi <= hi)
                return 1;
        }
    }
    return 0;
}

/* Whether the unit has values below 0: a box about a centre near the beam reaches there, a pixel does not. */
static int is_signed(const char *unit)
{
    return !strncmp(unit, "qx", 2) || !strncmp(unit, "qy", 2) || !strncmp(unit, "log10", 5) ||
           !strncmp(unit, "log(q", 5);
}

/* How much of lo to hi lies in bin b, in bins; of n bins.  A point is in one. */
static long double within(long double lo, long double hi, int b)
{
    long double from = lo > b ? lo : b, to = hi < b + 1 ? hi : b + 1;

    return lo == hi ? floorl(lo) == b : to > from ? (to - from) / (hi - lo) : 0;
}

/* The share of pixel (i, j) in each bin.  0: it is in none; -1: too near an edge of a bin to say without
 * splitting. */
static int shares(long double *share, const scene *s, const hcy_azint_plan_info *info, int i, int j)
{
    long double lo, hi, delta = (info->radial_max - info->radial_min) / (long double)s->o.npt, sum = 0;
    int n = (int)s->o.npt;
    point c[4];

    memset(share, 0, sizeof(*share) * s->o.npt);
    if (s->mask[i * W + j] || !azimuth_ok(s, i, j))
        return 0;
    interval(&lo, &hi, s, i, j);
    lo = (lo - info->radial_min) / delta;
    hi = (hi - info->radial_min) / delta;
    if (s->o.split == HCY_SPLIT_NO && (fabsl(lo - roundl(lo)) < 1e-9L))
        return -1;
    corners(c, s, i, j);
    for (int b = 0; b < n; b++) {
        share[b] = s->o.split == HCY_SPLIT_FULL
                       ? area_between(c, info->radial_min + b * delta, info->radial_min + (b + 1) * delta)
                       : within(lo, hi, b);
        sum += share[b];
    }
    if (s->o.split == HCY_SPLIT_BBOX && lo < 0 && info->radial_min == 0 && !is_signed(s->o.unit)) {
        share[0] += lo / (lo - hi);
        sum += lo / (lo - hi);
    }
    for (int b = 0; b < n && s->o.split == HCY_SPLIT_FULL && sum > 0; b++)
        share[b] /= sum; /* what is outside is nobody's, and the rest scaled up */
    return sum < TOUCH ? (sum > 0 ? -1 : 0) : 1;
}

/* The plan's own shares of one pixel, from its runs; their sum as a weight. */
static uint64_t plan_shares(long double *share, size_t npt, const uint8_t **p)
{
    uint64_t sum = 0;
    const uint8_t *w;
    uint32_t word;

    memset(share, 0, sizeof(*share) * npt);
    do {
        word = oracle_run(p, &w);
        for (uint32_t k = 0; k < HCY_AZINT_RUN_N(word); k++) {
            share[HCY_AZINT_RUN_BIN(word) + k] += oracle_weight(w, k) / (long double)HCY_AZINT_ONE;
            sum += oracle_weight(w, k);
        }
    } while (HCY_AZINT_RUN_MORE(word));
    return sum;
}

static void check(const scene *s, const char *what)
{
    hcy_azint_plan *p = must_plan(s);
    hcy_azint_plan_info info = must_info(p);
    long double *got = malloc(2 * s->o.npt * sizeof(*got)), *want = got + s->o.npt, worst = 0, min = INFINITY,
                max = -INFINITY;
    int bad_sums = 0, bad_starts = 0, missing = 0, used = 0,
        range = s->o.radial_range[0] != s->o.radial_range[1];
    hcy_span spans[HCY_AZINT_SPANS];
    const uint64_t *starts;
    const uint8_t *at_run;

    hcy_azint_plan_tables(spans, p);
    at_run = spans[1].data;
    starts = spans[2].data;
    for (int i = 0; i < N; i++) {
        long double lo, hi;

        if (i % HCY_AZINT_START_EVERY == 0)
            bad_starts +=
                starts[i / HCY_AZINT_START_EVERY] != (uint64_t)(at_run - (const uint8_t *)spans[1].data);
        uint64_t sum = plan_shares(got, s->o.npt, &at_run);
        int there = shares(want, s, &info, i / W, i % W);
        long double whole = 0;
        for (size_t b = 0; b < s->o.npt; b++)
            whole += want[b];
        if (there > 0 && whole > 1 - 1e-12L)
            bad_sums += sum != HCY_AZINT_ONE;
        else if (there > 0)
            bad_sums += fabsl(sum / (long double)HCY_AZINT_ONE - whole) > SHARE_TOLERANCE;
        if (there >= 0)
            missing += (sum != 0) != there;
        for (size_t b = 0; there > 0 && b < s->o.npt; b++)
            worst = fabsl(got[b] - want[b]) > worst ? fabsl(got[b] - want[b]) : worst;
        used += sum != 0;
        if (!s->mask[i]) {
            interval(&lo, &hi, s, i / W, i % W);
            min = lo < min ? lo : min;
            max = hi > max ? hi : max;
        }
    }
    bad_starts += starts[(N + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY] != spans[1].size ||
                  at_run != (const uint8_t *)spans[1].data + spans[1].size;
    if (range) {
        min = fmin(s->o.radial_range[0], s->o.radial_range[1]);
        max = fmax(s->o.radial_range[0], s->o.radial_range[1]);
    } else if (min < 0 && strncmp(s->o.unit, "qx", 2) && strncmp(s->o.unit, "qy", 2) &&
               strncmp(s->o.unit, "log", 3)) {
        min = 0;
    }
    max = max > 0 ? max * (1 + ldexpl(1, -23)) : max / (1 + ldexpl(1, -23));
    int axis = fabsl(info.radial_min - min) <= 1e-7L * fabsl(max - min) + 1e-7L * fabsl(min) &&
               fabsl(info.radial_max - max) <= 1e-7L * fabsl(max - min) + 1e-7L * fabsl(max);
    if (!ok(!bad_sums && !bad_starts && !missing && used && axis && worst <= SHARE_TOLERANCE, "%s", what))
        diag("%d sums, %d starts, %d pixels in or out, %d used, shares off by %.2Lg, range %.9g %.9g for "
             "%.9Lg %.9Lg",
             bad_sums, bad_starts, missing, used, worst, info.radial_min, info.radial_max, min, max);
    free(got);
    hcy_azint_plan_release(p);
}

/* A range that cuts off both ends of what there is. */
static void set_inner_range(scene *s)
{
    hcy_azint_plan *p = must_plan(s);
    hcy_azint_plan_info info = must_info(p);
    double width = info.radial_max - info.radial_min;

    s->o.radial_range[0] = info.radial_min + 0.31 * width;
    s->o.radial_range[1] = info.radial_min + 0.77 * width;
    hcy_azint_plan_release(p);
}

/* The same in two dimensions, of boxes: in azimuth an interval comes again after every turn. */
static void shares_2d(long double *share, const scene *s, const hcy_azint_plan_info *info, int i, int j)
{
    long double lo, hi, delta = (info->radial_max - info->radial_min) / (long double)s->o.npt, far = 0;
    long double min = info->azimuth_min / 180 * PI_L, width = (info->azimuth_max - info->azimuth_min) / 180 * PI_L;
    point c[4], m = at(s, i + 0.5L, j + 0.5L);
    int n = (int)s->o.npt, n_azim = (int)s->o.npt_azim;

    interval(&lo, &hi, s, i, j);
    lo = (lo - info->radial_min) / delta;
    hi = (hi - info->radial_min) / delta;
    corners(c, s, i, j);
    for (int k = 0; k < 4 && s->o.split == HCY_SPLIT_BBOX; k++) {
        long double d = fabsl(remainderl(c[k].chi - m.chi, 2 * PI_L));

        far = d > far ? d : far;
    }
    for (int b = 0; b < n * n_azim; b++)
        share[b] = 0;
    for (int turns = -3; turns <= 3; turns++) {
        long double first = (m.chi - far + turns * 2 * PI_L - min) / width * n_azim,
                    last = (m.chi + far + turns * 2 * PI_L - min) / width * n_azim;

        for (int b = 0; b < n * n_azim; b++)
            share[b] += within(lo, hi, b % n) * within(first, last, b / n);
    }
}

static void check_2d(const scene *s, const char *what)
{
    hcy_azint_plan *p = must_plan(s);
    hcy_azint_plan_info info = must_info(p);
    long double got[200], want[200], worst = 0;
    int off = 0, used = 0;
    hcy_span spans[HCY_AZINT_SPANS];
    const uint8_t *at_run;

    hcy_azint_plan_tables(spans, p);
    at_run = spans[1].data;
    for (int i = 0; i < N; i++) {
        uint64_t sum = plan_shares(got, info.n_bins, &at_run);

        shares_2d(want, s, &info, i / W, i % W);
        for (size_t b = 0; b < info.n_bins && !s->mask[i]; b++) {
            worst = fabsl(got[b] - want[b]) > worst ? fabsl(got[b] - want[b]) : worst;
            off += fabsl(got[b] - want[b]) > SHARE_TOLERANCE;
        }
        used += sum != 0;
    }
    if (!ok(!off && used, "%s", what))
        diag("%d shares of %d pixels are off, by up to %.2Lg", off, used, worst);
    hcy_azint_plan_release(p);
}

static void test_sectors(void)
{
    static const double ranges[][2] = { { -30, 100 }, { 150, 215 }, { -180, -90 }, { 90, 180 }, { -179, 176 } };
    const hcy_azint_unit *units;
    size_t n_units;
    char what[100];
    scene s;

    units = list_units(&n_units);
    for (int split = HCY_SPLIT_NO; split <= HCY_SPLIT_BBOX; split++)
        for (size_t k = 0; k < n_units + sizeof ranges / sizeof ranges[0]; k++) {
            const double *range = ranges[k < n_units ? k % 5 : k - n_units];

            make_scene(&s, k < n_units ? -60e-3 : 19.4e-3);
            s.o.split = split;
            s.o.unit = k < n_units ? units[k].name : "2th_deg";
            s.o.npt = 13;
            set_inner_range(&s);
            s.o.npt_azim = 11;
            memcpy(s.o.azimuth_range, range, sizeof s.o.azimuth_range);
            if (k < n_units) { /* where that detector is */
                s.o.azimuth_range[0] = k % 2 ? 40 : -200;
                s.o.azimuth_range[1] = 55;
            } else { /* and near the beam, where intervals are wide */
                s.o.radial_range[0] = 0.5;
            }
            snprintf(what, sizeof what, "%s, splitting %s, radius and azimuth %g to %g", s.o.unit,
                     split ? "bbox" : "no", s.o.azimuth_range[0], s.o.azimuth_range[1]);
            check_2d(&s, what);
        }
}

/* Long pixels that lie askew across azimuth 0: outlines go round as others do, and nothing of them is elsewhere. */
static void test_long_pixels(void)
{
    const double far = 0.05 * sqrt(0.5);
    int astray = 0;
    scene s;

    make_scene(&s, 20e-3 - far);
    s.poni.poni2 = 2.5e-3 - far;
    s.poni.pixel2 = 1e-4;
    s.poni.rot1 = s.poni.rot2 = 0;
    s.poni.rot3 = (double)(PI_L / 4);
    s.o.split = HCY_SPLIT_FULL;
    check(&s, "long pixels askew, splitting full");
    s.o.npt_azim = 18;
    s.o.azimuth_range[0] = -180;
    s.o.azimuth_range[1] = 180;
    hcy_azint_plan *p = must_plan(&s);
    const hcy_azint_bin_norm *norms = hcy_azint_plan_norms(p);
    for (size_t b = 0; b < s.o.npt * s.o.npt_azim; b++)
        astray += norms[b].count && (b / s.o.npt < 6 || b / s.o.npt > 11);
    ok(!astray, "... in radius and azimuth, %d bins beside the detector", astray);
    hcy_azint_plan_release(p);
}

static void test_shares(void)
{
    static const char *const names[] = { "no", "bbox", "full" };
    const hcy_azint_unit *units;
    size_t n_units;
    char what[100];
    scene s;

    for (int split = 0; split < 3; split++) {
        units = list_units(&n_units);
        for (size_t u = 0; u < n_units; u++) {
            make_scene(&s, -60e-3);
            s.o.split = split;
            s.o.unit = units[u].name;
            snprintf(what, sizeof what, "%s, splitting %s", units[u].name, names[split]);
            check(&s, what);
            set_inner_range(&s);
            snprintf(what, sizeof what, "%s, splitting %s, radial range", units[u].name, names[split]);
            check(&s, what);
        }
        make_scene(&s, 19.4e-3);
        s.o.split = split;
        /* In the pixels about the beam chi turns round, and no rule but pyFAI's own says what comes of that.
         */
        for (int i = 0; i < N; i++)
            s.mask[i] = hypot(i / W - 22.9, i % W - 23.7) < 4 || i % 17 == 3;
        snprintf(what, sizeof what, "beam inside, mask, splitting %s", names[split]);
        check(&s, what);
        for (int orientation = 1; orientation <= 4; orientation++) {
            scene t = s;

            t.o.mask = t.mask;
            t.poni.orientation = orientation;
            for (int i = 0; i < N; i++) {
                int y = orientation <= 2 ? H - 1 - i / W : i / W,
                    x = orientation % 3 == 1 ? W - 1 - i % W : i % W;

                t.mask[i] = s.mask[y * W + x];
            }
            snprintf(what, sizeof what, "orientation %d, splitting %s", orientation, names[split]);
            check(&t, what);
        }
        s.o.radial_range[0] = 11;
        s.o.radial_range[1] = 3;
        snprintf(what, sizeof what, "radial range, splitting %s", names[split]);
        check(&s, what);
        s.o.azimuth_range[0] = -30;
        s.o.azimuth_range[1] = 100;
        snprintf(what, sizeof what, "both ranges, splitting %s", names[split]);
        check(&s, what);
        s.o.azimuth_range[0] = 150;
        s.o.azimuth_range[1] = 215;
        snprintf(what, sizeof what, "azimuthal range across 180 degrees, splitting %s", names[split]);
        check(&s, what);
        make_scene(&s, -60e-3);
        s.o.split = split;
        s.o.npt = 9000;
        snprintf(what, sizeof what, "pixels in hundreds of bins, splitting %s", names[split]);
        check(&s, what);
        s.o.npt = 1;
        snprintf(what, sizeof what, "one bin, splitting %s", names[split]);
        check(&s, what);
    }
}

/* --- Components of q --- */

/* Pixels across which the unit is 0, cut into bins narrower than they are: none of those is empty, and where the
 * detector is even about the line, so are they. */
static void check_axis(const char *unit, double rot3, double poni1, size_t n_azim, int is_even)
{
    enum { SIDE = 5, BINS = 47, AZIM = 3 };
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    double weight[BINS * AZIM] = { 0 }, moment[BINS * AZIM] = { 0 }, column[BINS] = { 0 }, least = INFINITY, odd = 0;
    hcy_azint_plan *p = NULL;

    poni.dist = 0.2;
    poni.poni1 = unit[1] == 'y' ? 2.5 * 1e-4 : poni1;
    poni.poni2 = unit[1] == 'y' ? poni1 : 2.5 * 1e-4;
    poni.rot3 = rot3;
    poni.wavelength = 1e-10;
    poni.pixel1 = poni.pixel2 = 1e-4;
    o.npt = BINS;
    o.npt_azim = n_azim;
    o.unit = unit;
    o.split = HCY_SPLIT_FULL;
    if (hcy_azint_plan_create(&p, &poni, SIDE, SIDE, &o))
        bail_out("%s", hcy_last_error()->text);
    int wrong = sum_weights(weight, moment, p, SIDE * SIDE);
    for (int b = 0; b < BINS * (int)(n_azim ? n_azim : 1); b++)
        column[b % BINS] += weight[b];
    for (int b = 0; b < BINS; b++) {
        least = column[b] < least ? column[b] : least;
        odd = fabs(column[b] - column[BINS - 1 - b]) > odd ? fabs(column[b] - column[BINS - 1 - b]) : odd;
    }
    if (!ok(!wrong && least > 0 && (!is_even || odd < 1e-3), "%s turned by %g, %g m off the beam%s: no bin is empty",
            unit, rot3, poni1, n_azim ? ", 2-D" : ""))
        diag("%d pixels are not whole, %g in the emptiest bin, halves differ by %g", wrong, least, odd);
    hcy_azint_plan_release(p);
}

static void test_axes(void)
{
    static const char *const units[] = { "qx_nm^-1", "qy_nm^-1" };
    static const double offsets[] = { 2.5e-4, 1.3e-4, -3e-3, 4e-3, -0.1, 0.1 };

    for (int u = 0; u < 2; u++)
        for (size_t k = 0; k < sizeof offsets / sizeof offsets[0]; k++)
            for (size_t n_azim = 0; n_azim <= 3; n_azim += 3) {
                /* Far from the beam the pixels beside the line have little width in azimuth, in single precision. */
                int is_near = fabs(offsets[k]) > 1e-3 && fabs(offsets[k]) < 0.01;
                check_axis(units[u], 0, offsets[k], n_azim, is_near && !n_azim);
                check_axis(units[u], 0.013, k < 2 ? offsets[k] : offsets[k] / 40, n_azim, 0);
            }
}

/* --- What plans promise --- */

static void test_threads(void)
{
    enum { height = 150, width = 131 };
    hcy_span first[HCY_AZINT_SPANS], spans[HCY_AZINT_SPANS];
    scene s;

    make_scene(&s, 19.4e-3);
    s.o.mask = NULL;
    s.poni.pixel1 = s.poni.pixel2 = 3e-4;
    for (int split = 0; split < 3; split++) {
        hcy_azint_plan *one = NULL, *p = NULL;
        int same = 1;

        s.o.split = split;
        s.o.threads = 1;
        if (hcy_azint_plan_create(&one, &s.poni, height, width, &s.o))
            bail_out("%s", hcy_last_error()->text);
        hcy_azint_plan_tables(first, one);
        for (unsigned threads = 2; threads <= 7; threads++) {
            s.o.threads = threads;
            if (hcy_azint_plan_create(&p, &s.poni, height, width, &s.o))
                bail_out("%s", hcy_last_error()->text);
            hcy_azint_plan_tables(spans, p);
            for (int k = 0; k < HCY_AZINT_SPANS; k++)
                same &= spans[k].size == first[k].size /* darks and variances: none here */
                    && (!spans[k].size || !memcmp(spans[k].data, first[k].data, spans[k].size));
            same &= !memcmp(hcy_azint_plan_norms(p), hcy_azint_plan_norms(one),
                            s.o.npt * sizeof(hcy_azint_bin_norm));
            same &= !strcmp(must_info(p).hash, must_info(one).hash);
            hcy_azint_plan_release(p);
        }
        ok(same, "splitting %d: the same tables, norms and hash from 1 to 7 threads", split);
        fesetround(FE_UPWARD);
        s.o.threads = 2;
        int status = hcy_azint_plan_create(&p, &s.poni, height, width, &s.o), rounding = fegetround();
        fesetround(FE_TONEAREST);
        if (status)
            bail_out("%s", hcy_last_error()->text);
        hcy_azint_plan_tables(spans, p);
        same = rounding == FE_UPWARD && !memcmp(hcy_azint_plan_norms(p), hcy_azint_plan_norms(one),
                                                s.o.npt * sizeof(hcy_azint_bin_norm));
        for (int k = 0; k < HCY_AZINT_SPANS; k++)
            same &= spans[k].size == first[k].size
                && (!spans[k].size || !memcmp(spans[k].data, first[k].data, spans[k].size));
        ok(same, "splitting %d: and in a thread that rounds up, which it does after that too", split);
        hcy_azint_plan_release(p);
        hcy_azint_plan_release(one);
    }
}

static void hash_of(char hash[40], const scene *s)
{
    hcy_azint_plan *p = must_plan(s);

    snprintf(hash, 40, "%s", must_info(p).hash);
    hcy_azint_plan_release(p);
}

#define DIFFERS(change)                                                                                      \
    do {                                                                                                     \
        scene t = s;                                                                                         \
        char hash[40];                                                                                       \
        t.o.mask = t.mask;                                                                                   \
        change;                                                                                              \
        hash_of(hash, &t);                                                                                   \
        ok(strcmp(hash, base) != 0, "the hash knows of %s", #change);                                        \
    } while (0)

static void test_hash(void)
{
    char base[40], again[40];
    scene s;

    make_scene(&s, 19.4e-3);
    hash_of(base, &s);
    hash_of(again, &s);
    ok(strlen(base) == 32 && !strcmp(base, again), "one hash for one plan");
    s.o.threads = 3;
    s.o.dummy = 5; /* not used */
    s.o.mask = NULL;
    hash_of(again, &s);
    is_str(again, base, "threads, an empty mask and what is not used do not enter it");
    make_scene(&s, 19.4e-3);
    DIFFERS(t.poni.dist = 0.1000001);
    DIFFERS(t.poni.poni1 += 1e-9);
    DIFFERS(t.poni.poni2 += 1e-9);
    DIFFERS(t.poni.rot1 += 1e-9);
    DIFFERS(t.poni.rot2 += 1e-9);
    DIFFERS(t.poni.rot3 += 1e-9);
    DIFFERS(t.poni.wavelength = 1.1e-10);
    DIFFERS(t.poni.pixel1 = 1.01e-3);
    DIFFERS(t.poni.pixel2 = 1.01e-3);
    DIFFERS(t.poni.orientation = 2);
    DIFFERS(t.o.npt = 38);
    DIFFERS(t.o.unit = "q_A^-1");
    DIFFERS(t.o.split = HCY_SPLIT_FULL);
    DIFFERS(t.o.error_model = HCY_ERRORS_POISSON);
    DIFFERS(t.o.radial_range[1] = 5);
    DIFFERS(t.o.azimuth_range[1] = 180);
    DIFFERS(t.mask[77] = 1);
    DIFFERS(t.o.use_dummy = 1);
    DIFFERS(t.o.sentinels = HCY_SENTINELS_ALWAYS);
    DIFFERS(t.o.solid_angle = 0);
    DIFFERS(t.o.use_polarization = 1);
    DIFFERS(t.o.normalization = 2);
    static float ones[N], others[N];
    for (int i = 0; i < N; i++)
        ones[i] = others[i] = 1;
    others[99] = 1.25f;
    s.o.flat = s.o.absorption = s.o.dark = s.o.variance = ones;
    s.o.error_model = HCY_ERRORS_VARIANCE;
    hash_of(base, &s);
    DIFFERS(t.o.flat = others);
    DIFFERS(t.o.flat = NULL);
    DIFFERS(t.o.absorption = others);
    DIFFERS(t.o.absorption = NULL);
    DIFFERS(t.o.dark = others);
    DIFFERS(t.o.dark = NULL);
    DIFFERS(t.o.variance = others);
}

/* --- Bad input --- */

static void is_refused(int status, const scene *s, size_t height, size_t width, const char *words,
                       const char *what)
{
    hcy_azint_plan *p = NULL;
    int rc = hcy_azint_plan_create(&p, &s->poni, height, width, &s->o);

    if (!ok(rc == status && !p && strstr(hcy_last_error()->text, words), "%s: %s", what,
            hcy_status_name(status)))
        diag("%s: %s", hcy_status_name(rc), rc ? hcy_last_error()->text : "");
    hcy_azint_plan_release(p);
}

#define REFUSED(status, words, change)                                                                       \
    do {                                                                                                     \
        scene t = s;                                                                                         \
        t.o.mask = t.mask;                                                                                   \
        change;                                                                                              \
        is_refused(status, &t, H, W, words, #change);                                                        \
    } while (0)

static void test_refused(void)
{
    hcy_azint_plan *p = NULL;
    scene s;

    make_scene(&s, 19.4e-3);
    REFUSED(HCY_EINVAL, "npt is 0", t.o.npt = 0);
    REFUSED(HCY_EINVAL, "npt is", t.o.npt = HCY_AZINT_MAX_BINS + 1);
    REFUSED(HCY_ENOENT, "'q_furlong'", t.o.unit = "q_furlong");
    REFUSED(HCY_ENOENT, "q_nm^-1", t.o.unit = "");
    REFUSED(HCY_EINVAL, "split", t.o.split = 4);
    REFUSED(HCY_EINVAL, "error_model", t.o.error_model = 9);
    REFUSED(HCY_EINVAL, "give them", t.o.error_model = HCY_ERRORS_VARIANCE);
    static const float some[N] = { 1 }, huge[N] = { 1e30f };
    REFUSED(HCY_EINVAL, "does not use", t.o.variance = some);
    REFUSED(HCY_ERANGE, "dark current", t.o.dark = huge);
    static const float none[N];
    REFUSED(HCY_ERANGE, "no pixel is left: the flat field has no number above 0", t.o.flat = none);
    static float infinite[N], no_number[N];
    for (size_t i = 0; i < N; i++) {
        infinite[i] = INFINITY;
        no_number[i] = NAN;
    }
    REFUSED(HCY_ERANGE, "no pixel is left: the absorption has no number above 0", t.o.absorption = infinite);
    REFUSED(HCY_ERANGE, "no pixel is left: the dark current has no finite number", t.o.dark = no_number);
    REFUSED(HCY_ERANGE, "no pixel is left: the variance has no finite number",
            (t.o.variance = no_number, t.o.error_model = HCY_ERRORS_VARIANCE));
    REFUSED(HCY_ERANGE, "no pixel is left: their corrections together", t.poni.dist = 1e-320);
    REFUSED(HCY_ERANGE, "no pixel is left: of those that are not masked none has a finite q_nm^-1",
            t.poni.wavelength = 1e-320);
    /* One outlier would leave all others no bits; masked, it counts as little as any. */
    static float outlier[N];
    for (size_t i = 0; i < N; i++)
        outlier[i] = i == 7 ? 1e9f : 1;
    REFUSED(HCY_ERANGE, "the flat field goes up to 1e+09 (pixel 7)", t.o.flat = outlier);
    REFUSED(HCY_ERANGE, "the absorption goes up to", t.o.absorption = outlier);
    scene masked = s;
    masked.o.mask = masked.mask;
    masked.mask[7] = 1;
    masked.o.flat = outlier;
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_plan_tables(spans, p = must_plan(&masked));
    ok(((const float *)spans[3].data)[7] <= 1, "a masked pixel's norm is none that filters refuse");
    hcy_azint_plan_release(p);
    p = NULL;
    outlier[7] = 1e18f;
    REFUSED(HCY_ERANGE, "the variance goes up to",
            (t.o.variance = outlier, t.o.error_model = HCY_ERRORS_VARIANCE));
    REFUSED(HCY_ERANGE, "q from 0 to ", (t.o.radial_range[0] = 100, t.o.radial_range[1] = 200));
    REFUSED(HCY_ERANGE, "nm^-1", (t.o.radial_range[0] = 100, t.o.radial_range[1] = 200, t.o.npt_azim = 3));
    REFUSED(HCY_EINVAL, "sentinels", t.o.sentinels = -1);
    REFUSED(HCY_EINVAL, "mask has 41 x 50", t.o.mask_height = 41);
    REFUSED(HCY_EINVAL, "radial range", t.o.radial_range[0] = NAN);
    REFUSED(HCY_EINVAL, "azimuthal range", t.o.azimuth_range[1] = INFINITY);
    REFUSED(HCY_EINVAL, "more than a turn", t.o.azimuth_range[1] = 400);
    REFUSED(HCY_EINVAL, "polarization factor", t.o.use_polarization = 1; t.o.polarization = 1.5);
    REFUSED(HCY_EINVAL, "polarization", t.o.polarization = NAN);
    REFUSED(HCY_EINVAL, "normalization factor is 0", t.o.normalization = 0);
    REFUSED(HCY_EINVAL, "normalization", t.o.normalization = NAN);
    REFUSED(HCY_EINVAL, "dummy", t.o.use_dummy = 1; t.o.delta_dummy = -1);
    REFUSED(HCY_EINVAL, "distance", t.poni.dist = 0);
    REFUSED(HCY_EINVAL, "distance", t.poni.dist = NAN);
    REFUSED(HCY_EINVAL, "poni1", t.poni.poni1 = INFINITY);
    REFUSED(HCY_EINVAL, "rot3", t.poni.rot3 = NAN);
    REFUSED(HCY_EINVAL, "pixel size", t.poni.pixel1 = 0);
    REFUSED(HCY_EINVAL, "orientation", t.poni.orientation = 7);
    REFUSED(HCY_EINVAL, "wavelength", t.poni.wavelength = 0);
    REFUSED(HCY_EINVAL, "wavelength", t.poni.wavelength = -1);
    REFUSED(HCY_EINVAL, "30 x 50", t.poni.height = 30; t.poni.width = 50);
    REFUSED(HCY_ERANGE, "all 40 x 50 are masked", memset(t.mask, 1, N));
    REFUSED(HCY_ERANGE, "range", t.o.radial_range[0] = 1000; t.o.radial_range[1] = 1001);
    REFUSED(HCY_ERANGE, "range", t.poni.poni1 = -1; t.o.azimuth_range[0] = -100; t.o.azimuth_range[1] = -90);
    REFUSED(HCY_EINVAL, "INIT", t.o.size = 0);
    REFUSED(HCY_EINVAL, "INIT", t.poni.size = 1);
    s.o.mask = NULL;
    is_refused(HCY_EINVAL, &s, 0, W, "0 x 50", "no rows");
    is_refused(HCY_ERANGE, &s, (size_t)1 << 20, (size_t)1 << 20, "1048576 x 1048576", "10^12 pixels");
    is_refused(HCY_ERANGE, &s, SIZE_MAX, SIZE_MAX, "pixels", "more than can be counted");
    is_int(hcy_azint_plan_create(&p, NULL, H, W, &s.o), HCY_EINVAL, "no geometry");
    is_int(hcy_azint_plan_create(&p, &s.poni, H, W, NULL), HCY_EINVAL, "no options");
    is_int(hcy_azint_plan_create(NULL, &s.poni, H, W, &s.o), HCY_EINVAL, "no place for it");
    hcy_azint_plan_release(NULL);
    /* Callers that are older or newer than the library. */
    struct {
        hcy_azint_options o;
        char later[64];
    } newer = { HCY_AZINT_OPTIONS_INIT, { 0 } };
    newer.o.size = sizeof newer;
    ok(!hcy_azint_plan_create(&p, &s.poni, H, W, &newer.o), "a newer caller that asks for nothing new");
    hcy_azint_plan_release(p);
    newer.later[40] = 1;
    is_int(hcy_azint_plan_create(&p, &s.poni, H, W, &newer.o), HCY_EINVAL, "a newer caller that does");
    s.o.size = offsetof(hcy_azint_options, solid_angle);
    s.o.solid_angle = 0;
    ok(!hcy_azint_plan_create(&p, &s.poni, H, W, &s.o) && must_info(p).options.solid_angle == 1,
       "an older caller gets the defaults of what it does not know");
    hcy_azint_plan_release(p);
}

/* --- Many bins --- */

/* This process may take `mib` more than it has. */
static void set_limit(size_t mib)
{
    struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (!f || fscanf(f, "%zu", &pages) != 1)
        bail_out("no /proc/self/statm");
    fclose(f);
    if (mib)
        limit.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + (mib << 20);
    if (setrlimit(RLIMIT_AS, &limit))
        bail_out("setrlimit");
}

/* A plan that has no room says how much it needs, before it takes it. */
static void test_memory(void)
{
    hcy_azint_plan *p = NULL;
    scene s;

#ifdef IS_SANITIZED
    skip(1, "a sanitizer's address space cannot be limited");
    return;
#endif
    make_scene(&s, -60e-3);
    s.o.npt = 1000000;
    s.o.threads = 1;
    set_limit(110);
    int status = hcy_azint_plan_create(&p, &s.poni, H, W, &s.o);
    ok(status == HCY_ENOMEM && strstr(hcy_last_error()->text, "weights") && strstr(hcy_last_error()->text, "MiB"),
       "a plan that needs more memory than there is says so");
    diag("%s", hcy_last_error()->text);
    set_limit(0);
    hcy_azint_plan_release(p);
}

int main(void)
{
    test_shares();
    test_long_pixels();
    test_sectors();
    test_axes();
    test_threads();
    test_hash();
    test_refused();
    test_memory();
    return done_testing();
}
