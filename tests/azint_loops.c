/* azint_loops - the loops over a pixel's many bins: every variant gives the bits of the portable one and stays in its
 * bounds; the bins' norms are those of the runs as they were written, also of more pixels than 64 bits hold, and from
 * any number of threads. */
#include "build.h"
#include "tap.h"

#include <math.h>
#include <string.h>

enum { MOST = 300, CASES = 400, GUARD = 16 };

static uint64_t state = 12;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % below);
}

/* Mostly from 0 to 1; also what only broken geometry gives. */
static double draw_share(void)
{
    static const double odd[] = { NAN, INFINITY, -INFINITY, -0.25, 1.5, 0, 1, 1e300 };

    return draw(20) ? draw(1 << 24) / 16777216.0 : odd[draw(8)];
}

struct outcome {
    double area[MOST + GUARD], cum[MOST + GUARD], shares[MOST + GUARD];
    uint32_t rounded[MOST + GUARD], weights[MOST + GUARD];
    uint8_t packed[3 * MOST + GUARD];
    uint64_t sums[3][MOST + GUARD];
    int fell;
};

/* All loops over n bins, of numbers that `from` has. */
static void run_loops(struct outcome *o, const struct azint_loops *loops, const struct outcome *from, size_t n,
                      uint32_t first, struct azint_slant edge, double whole, uint64_t n40)
{
    const struct azint_sums sums = { o->sums[0], o->sums[1], o->sums[2] };

    *o = *from;
    loops->add_slant(o->area, edge, first, n);
    loops->cut_interval(o->cum, first, n, first + 0.375, 1 / whole);
    loops->divide(o->shares, n, whole);
    loops->round(o->rounded, o->shares, n);
    o->fell = n ? loops->subtract(o->weights, o->rounded, n) : 0;
    for (size_t k = 0; k < n; k++)
        o->weights[k] &= 0xffffff; /* also where sums fell */
    loops->pack(o->packed, o->weights, n);
    loops->add_weights(&sums, 5, o->weights, n, n40);
}

static void test_variants(void)
{
    static struct outcome from, want, got;
    const struct azint_loops *best = hcy__azint_loops();
    int same = 1;

    if (best == &hcy__azint_loops_portable) {
        skip(1, "this processor, or this build, has the portable loops alone");
        return;
    }
    for (int c = 0; c < CASES && same; c++) {
        /* The sums begin at bin 5, so that some of the room before and behind them is watched as well. */
        size_t n = c < 40 ? (size_t)c : draw(MOST - 5);
        uint32_t first = draw((1 << 24) - MOST);
        struct azint_slant edge = { (draw(2000) - 1000.0) / 65536, draw(1000) / 99.0 };
        uint64_t n40 = draw(4) ? ((uint64_t)draw(1 << 30) << 10) + draw(1024) : (uint64_t)1 << 40;

        memset(&from, 0xa5, sizeof from);
        for (size_t k = 0; k < n; k++) {
            from.area[k] = (float)draw_share();
            from.shares[k] = draw_share();
        }
        run_loops(&want, &hcy__azint_loops_portable, &from, n, first, edge, 0.75, n40);
        run_loops(&got, best, &from, n, first, edge, 0.75, n40);
        same = !memcmp(&want, &got, sizeof want);
        if (!same)
            diag("case %d: %zu bins from %u", c, n, first);
    }
    ok(same, "the best variant has the portable one's bits, and writes nothing else");
}

enum { PIXELS = 41 };

/* A row of outlines about 2 bins wide around a beam's centre, in the middle of which the line at +-pi may lie. */
static void draw_outlines(double corners[4][PIXELS + 1], uint32_t *spans, const struct azint_outlines *o)
{
    double row = draw(400) - 200.0, column = draw(400) - 300.0, size = 0.2 + draw(100) / 60.0;

    for (size_t k = 0; k < 2; k++)
        for (size_t j = 0; j <= PIXELS; j++) {
            double y = draw(8) ? (row + (double)k) * size : 0, x = (column + (double)j + draw(100) / 300.0) * size;

            corners[k][j] = (float)((sqrt(x * x + y * y) * o->delta) + o->min);
            corners[2 + k][j] = (float)atan2(y, x);
        }
    for (size_t j = 0; j < PIXELS; j++) {
        double lo = fmin(fmin(corners[0][j], corners[0][j + 1]), fmin(corners[1][j], corners[1][j + 1]));
        double hi = fmax(fmax(corners[0][j], corners[0][j + 1]), fmax(corners[1][j], corners[1][j + 1]));
        struct azint_span span = azint_span_polygon((lo - o->min) / o->delta, (hi - o->min) / o->delta, 500);

        spans[j] = draw(20) && span.n ? span.first | span.n << 24 : 0;
    }
}

/* What split.c makes of outline j by itself. */
static void share_alone(uint32_t so_far[3], const struct azint_outlines *o, size_t j, uint32_t n)
{
    struct azint_pixel p = { .n = 4, .bin = { o->upper[j], o->lower[j], o->lower[j + 1], o->upper[j + 1] },
                             .chi = { o->upper_chi[j], o->lower_chi[j], o->lower_chi[j + 1], o->upper_chi[j + 1] } };
    double cum[3];

    hcy__azint_recentre(&p, o->contour);
    for (int k = 0; k < 4; k++)
        p.bin[k] = (p.bin[k] - o->min) / o->delta;
    hcy__azint_shares_polygon(cum, hcy__azint_loops(), &p, (struct azint_span){ o->spans[j] & 0xffffff, n });
    hcy__azint_loops_portable.round(so_far, cum, n);
}

static void test_outlines(void)
{
    const struct azint_loops *best = hcy__azint_loops();
    static double corners[4][PIXELS + 1];
    static uint32_t spans[PIXELS], one[PIXELS + 1], two[PIXELS + 1];
    struct azint_outlines o = { corners[0], corners[1], corners[2], corners[3], spans, 0.0122508, 0.0447958, 1 };
    unsigned seen[4] = { 0 }, alone = 0, wrong = 0;

    if (!best->share_outlines) {
        skip(2, "this processor, or this build, takes outlines one by one");
        return;
    }
    for (int c = 0; c < 4 * CASES; c++) {
        o.contour = c % 2 ? 1 : -1;
        draw_outlines(corners, spans, &o);
        one[PIXELS] = two[PIXELS] = 0xa5a5a5a5;
        best->share_outlines(one, two, &o, PIXELS);
        wrong += one[PIXELS] != 0xa5a5a5a5 || two[PIXELS] != 0xa5a5a5a5;
        for (size_t j = 0; j < PIXELS; j++) {
            uint32_t n = spans[j] >> 24, so_far[3];

            if (n != 2 && n != 3)
                continue;
            seen[n]++;
            alone += one[j] == AZINT_ALONE;
            share_alone(so_far, &o, j, n);
            wrong += one[j] != AZINT_ALONE && (one[j] != so_far[0] || (n == 3 && two[j] != so_far[1]));
        }
    }
    ok(!wrong, "outlines in few bins, many at a time: the weights of one by one (%u differ)", wrong);
    ok(seen[2] > 1000 && seen[3] > 1000 && alone * 20 < seen[2] + seen[3],
       "%u in two bins and %u in three, %u of them by themselves", seen[2], seen[3], alone);
}

/* The bits of atan2() in single precision: anywhere, in the middle between two floats, and of odd arguments. */
static void test_azimuths(void)
{
    static const double odd[] = { 0, -0.0, 1, -1, 1e-310, 1e-160, 1e-35, 1e160, INFINITY, -INFINITY, NAN, 0.25 };
    enum { ODD = sizeof odd / sizeof *odd, N = ODD * ODD + 20000 };
    static double y[N], x[N], chi[N], want[N];
    size_t n = 0, wrong = 0;

    for (size_t i = 0; i < ODD * ODD; i++, n++) {
        y[n] = odd[i / ODD];
        x[n] = odd[i % ODD];
    }
    for (; n < N; n++) {
        float angle = (float)(1e-3 + draw(3000) / 1000.0);
        double middle = 0.5 * ((double)angle + nextafterf(angle, 4));

        y[n] = n % 2 ? sin(middle) : draw(1 << 30) / 1e9 - 0.5;
        x[n] = n % 2 ? cos(middle) : draw(1 << 30) / 1e9 - 0.5;
    }
    hcy__azint_loops_portable.azimuths(want, y, x, N);
    hcy__azint_loops()->azimuths(chi, y, x, N);
    for (size_t i = 0; i < N; i++)
        wrong += memcmp(&chi[i], &want[i], sizeof *chi) && !(isnan(chi[i]) && isnan(want[i]));
    ok(!wrong, "azimuths have the bits of the C library's, to single precision (%zu differ)", wrong);
}

/* Whole pixels of norm 1 in one bin, so many that 64 bits do not hold their norms. */
static void test_full_sums(void)
{
    const uint64_t n = AZINT_MOST_ADDED + 7, cn = azint_mul_shift(HCY_AZINT_ONE, (uint64_t)1 << 40, 24);
    uint64_t words[3] = { 0, 0, 0 }, norm[2], norm2[2];
    hcy_azint_bin_norm bin = { .count = 0 };
    struct build b = { .loops = hcy__azint_loops(), .bin_norms = &bin, .n_bins = 1, .grid = { .n_bins = 1 } };
    struct worker w = { .b = &b, .sums = { words, words + 1, words + 2 }, .sums_from = SIZE_MAX };
    struct place part = { .window = { { 0, 1 }, { 0, 1 }, 0 } };
    uint8_t run[8];

    pthread_mutex_init(&b.adding, NULL);
    for (uint64_t i = 0; i < n; i++)
        hcy__azint_write_window(run, &w, &part, 1, 0);
    hcy__azint_empty_sums(&w);
    pthread_mutex_destroy(&b.adding);
    azint_mul(norm, n, cn);
    azint_mul(norm2, n, azint_mul_shift(cn, cn, 40));
    ok(norm[1] && bin.count == n * HCY_AZINT_ONE && !memcmp(bin.norm, norm, sizeof norm) &&
           !memcmp(bin.norm2, norm2, sizeof norm2),
       "sums are emptied into the plan's before they are full");
}

static hcy_azint_plan *make_plan(const hcy_azint_options *options, size_t threads)
{
    hcy_azint_options o = *options;
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_plan *plan = NULL;

    poni.dist = 0.1;
    poni.poni1 = 1.1e-3;
    poni.poni2 = 0.9e-3;
    poni.pixel1 = poni.pixel2 = 75e-6;
    poni.rot1 = 0.1;
    o.unit = "r_mm";
    o.threads = threads;
    if (hcy_azint_plan_create(&plan, &poni, 40, 37, &o))
        bail_out("no plan: %s", hcy_last_error()->text);
    return plan;
}

/* Are the bins' norms those of the weights in the runs, added one by one; and has each whole pixel a weight of 1? */
static int runs_agree(const hcy_azint_plan *plan, int whole)
{
    const size_t n_bins = plan->head.n_bins;
    hcy_azint_bin_norm *bins = calloc(n_bins, sizeof *bins);
    size_t at = 0;
    int good = bins != NULL;

    for (size_t i = 0; good && i < plan->head.n_pixels; i++) {
        const uint64_t n = (uint64_t)((double)plan->norms[i] * ((uint64_t)1 << HCY_AZINT_NORM_SHIFT));
        struct azint_run run = { .more = 1 };
        uint64_t sum = 0;

        while (run.more && (good = good && azint_run_next(&run, &at, plan->runs, plan->run_bytes, (uint32_t)n_bins)))
            for (uint32_t k = 0; k < run.n; k++) {
                uint64_t c = azint_weight(&run, k), cn = azint_mul_shift(c, n, 24);
                hcy_azint_bin_norm *bin = &bins[run.bin + k];

                sum += c;
                bin->count += c;
                azint_add(bin->norm, cn, 0);
                azint_add(bin->norm2, azint_mul_shift(cn, cn, 40), 0);
            }
        good = good && (!whole || !sum || sum == HCY_AZINT_ONE);
    }
    good = good && at == plan->run_bytes && !memcmp(bins, plan->bin_norms, n_bins * sizeof *bins);
    free(bins);
    return good;
}

/* One, two or five threads, of which each has sums of its own. */
static void test_plans(void)
{
    static const struct {
        const char *name;
        size_t npt, npt_azim;
        int split;
    } cases[] = { { "bbox, many bins", 60000, 0, HCY_SPLIT_BBOX },     { "full, many bins", 60000, 0, HCY_SPLIT_FULL },
                  { "pseudo, many bins", 60000, 0, HCY_SPLIT_PSEUDO }, { "full, few bins", 90, 0, HCY_SPLIT_FULL },
                  { "no, many bins", 60000, 0, HCY_SPLIT_NO },         { "bbox, image", 900, 360, HCY_SPLIT_BBOX },
                  { "full, image", 900, 360, HCY_SPLIT_FULL } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
        int same = 1;

        o.npt = cases[i].npt;
        o.npt_azim = cases[i].npt_azim;
        o.split = cases[i].split;
        hcy_azint_plan *one = make_plan(&o, 1);
        ok(runs_agree(one, cases[i].split != HCY_SPLIT_PSEUDO), "%s: the norms are those of the runs", cases[i].name);
        for (size_t threads = 2; threads <= 5; threads += 3) {
            hcy_azint_plan *more = make_plan(&o, threads);
            same &= one->run_bytes == more->run_bytes && !memcmp(one->runs, more->runs, one->run_bytes) &&
                    !strcmp(one->hash, more->hash) &&
                    !memcmp(one->bin_norms, more->bin_norms, one->head.n_bins * sizeof *one->bin_norms);
            hcy_azint_plan_release(more);
        }
        ok(same, "%s: the same plan from one, two and five threads", cases[i].name);
        hcy_azint_plan_release(one);
    }
}

int main(void)
{
    test_variants();
    test_outlines();
    test_azimuths();
    test_full_sums();
    test_plans();
    return done_testing();
}
