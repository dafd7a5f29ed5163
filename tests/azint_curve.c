/* Jobs and curves: which values of each pixel type are invalid, and what becomes of sums. */
#include "azint_scene.h"

#include <bslz4/bslz4_format.h>

/* --- Jobs --- */

static int in_job(const hcy_azint_job *job, int64_t i, uint64_t u, double d)
{
    struct oracle_pixel v = { i, u, d };

    return oracle_invalid(job, v);
}

static hcy_azint_job job_of(const scene *s, uint32_t type)
{
    hcy_azint_plan *p = must_plan(s);
    hcy_azint_job job;

    if (hcy_azint_plan_job(&job, p, type))
        bail_out("%s", hcy_last_error()->text);
    hcy_azint_plan_release(p);
    return job;
}

static void test_jobs(void)
{
    hcy_azint_job j;
    scene s;

    make_scene(&s, 19.4e-3);
    s.o.mask = NULL;
    j = job_of(&s, HCY_PIXEL_U32);
    ok(j.n_pixels == N && j.n_bins == 37 && j.pixel_type == HCY_PIXEL_U32 && !j.flags && !j.n_invalid,
       "a generic detector has no reserved values");
    if (hcy_detector_find(&s.poni.detector, "Eiger"))
        bail_out("no Eiger");
    s.o.error_model = HCY_ERRORS_POISSON;
    j = job_of(&s, HCY_PIXEL_U32);
    ok(j.flags == HCY_AZINT_WANT_VARIANCE && in_job(&j, 0, UINT32_MAX, 0) &&
           in_job(&j, 0, UINT32_MAX - 2, 0) && !in_job(&j, 0, UINT32_MAX - 3, 0) &&
           !in_job(&j, 0, (uint64_t)UINT32_MAX + 1, 0),
       "u32: three top values");
    j = job_of(&s, HCY_PIXEL_U16);
    ok(in_job(&j, 0, 65533, 0) && in_job(&j, 0, 65535, 0) && !in_job(&j, 0, 65532, 0), "u16");
    j = job_of(&s, HCY_PIXEL_U64);
    ok(in_job(&j, 0, UINT64_MAX, 0) && !in_job(&j, 0, UINT64_MAX - 3, 0), "u64");
    j = job_of(&s, HCY_PIXEL_I32);
    ok(in_job(&j, -1, 0, 0) && in_job(&j, -3, 0, 0) && !in_job(&j, 0, 0, 0) && !in_job(&j, -4, 0, 0),
       "i32: -3 to -1");
    j = job_of(&s, HCY_PIXEL_F32);
    ok(in_job(&j, 0, 0, -3.5) && in_job(&j, 0, 0, -0.5) && !in_job(&j, 0, 0, -0.49) && in_job(&j, 0, 0, NAN),
       "f32");
    s.o.use_dummy = 1;
    s.o.dummy = 10;
    j = job_of(&s, HCY_PIXEL_U8);
    ok(j.n_invalid == 1 && in_job(&j, 0, 10, 0) && !in_job(&j, 0, 11, 0) && !in_job(&j, 0, 255, 0),
       "a dummy instead");
    s.o.sentinels = HCY_SENTINELS_ALWAYS;
    s.o.delta_dummy = 1.5;
    j = job_of(&s, HCY_PIXEL_U8);
    ok(j.n_invalid == 2 && in_job(&j, 0, 9, 0) && in_job(&j, 0, 11, 0) && !in_job(&j, 0, 8, 0) &&
           in_job(&j, 0, 253, 0),
       "a dummy with a tolerance, and reserved values too");
    s.o.dummy = -5;
    j = job_of(&s, HCY_PIXEL_U8);
    is_int(j.n_invalid, 1, "a dummy that u8 does not have");
    s.o.dummy = 1e300;
    j = job_of(&s, HCY_PIXEL_I64);
    is_int(j.n_invalid, 1, "nor i64");
    s.o.dummy = -1e30;
    s.o.delta_dummy = 2e30;
    j = job_of(&s, HCY_PIXEL_I64);
    ok(in_job(&j, INT64_MIN, 0, 0) && in_job(&j, INT64_MAX, 0, 0), "one that all of i64 is within");
    s.o.dummy = NAN;
    j = job_of(&s, HCY_PIXEL_F64);
    is_int(j.n_invalid, 1, "NaN needs no range");
    s.poni.detector = NULL;
    s.o.use_dummy = 0;
    j = job_of(&s, HCY_PIXEL_I16);
    ok(in_job(&j, -32768, 0, 0) && in_job(&j, 32767, 0, 0) && !in_job(&j, 32766, 0, 0) &&
           !in_job(&j, -1, 0, 0),
       "reserved values of detectors in general: i16");
    j = job_of(&s, HCY_PIXEL_U16);
    ok(in_job(&j, 0, 65534, 0) && !in_job(&j, 0, 65533, 0), "u16");
    s.o.use_underload = 1;
    s.o.underload = -4.5;
    s.o.saturation = 100;
    s.o.use_dummy = 1;
    s.o.dummy = 7;
    s.o.delta_dummy = 0;
    j = job_of(&s, HCY_PIXEL_I16);
    ok(in_job(&j, -32768, 0, 0) && in_job(&j, -5, 0, 0) && !in_job(&j, -4, 0, 0) && !in_job(&j, 100, 0, 0) &&
           in_job(&j, 101, 0, 0) && in_job(&j, 32767, 0, 0) && in_job(&j, 7, 0, 0) &&
           j.n_invalid <= HCY_AZINT_MAX_INVALID,
       "limits below and above, and a dummy: i16");
    s.o.underload = -1e9;
    s.o.saturation = 1e9;
    j = job_of(&s, HCY_PIXEL_I16);
    ok(in_job(&j, -32768, 0, 0) && !in_job(&j, -32767, 0, 0) && in_job(&j, 32767, 0, 0) && !in_job(&j, 32766, 0, 0),
       "limits that the type does not reach leave its reserved values");
    s.o.underload = 3;
    j = job_of(&s, HCY_PIXEL_U16);
    ok(in_job(&j, 0, 2, 0) && !in_job(&j, 0, 3, 0) && in_job(&j, 0, 65535, 0), "a limit below: u16");
    hcy_azint_plan *p = must_plan(&s);
    ok(hcy_azint_plan_job(&j, p, 0) == HCY_EINVAL && hcy_azint_plan_job(&j, p, 11) == HCY_EINVAL,
       "no such type");
    hcy_azint_plan_release(p);
}

/* --- Curves --- */

static void test_ones(void)
{
    uint64_t *sums = malloc(sizeof(*sums) * HCY_AZINT_SUMS * 37);
    double all = 0, off = 0, sigma = 0;
    uint16_t image[N];
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_result *r = NULL;
    hcy_azint_plan *p;
    hcy_azint_job j;
    scene s;

    make_scene(&s, 19.4e-3);
    s.o.solid_angle = 0;
    s.o.error_model = HCY_ERRORS_POISSON;
    s.o.normalization = 4;
    for (int i = 0; i < N; i++)
        image[i] = 7;
    p = must_plan(&s);
    if (hcy_azint_plan_job(&j, p, HCY_PIXEL_U16) || hcy_azint_result_create(&r, p))
        bail_out("%s", hcy_last_error()->text);
    hcy_azint_plan_tables(spans, p);
    oracle_sums(sums, spans, &j, image);
    is_int(hcy_azint_finish(r, p, &j, sums, NULL, 0.5), 0, "an even image");
    for (int b = 0; b < 37; b++) {
        double d = fabs(r->intensity[b] / (7 / (4 * 0.5)) - 1);

        off = d > off ? d : off;
        d = fabs(r->sigma[b] / (sqrt(r->sum_variance[b]) / r->sum_norm[b]) - 1);
        sigma = d > sigma ? d : sigma;
        all += r->count[b];
    }
    /* 2^-23: norms are whole multiples of 2^-40, weights of 2^-24. */
    ok(off < 1.2e-7, "gives its value over both normalizations");
    ok(sigma < 1e-12, "errors from their sums");
    is_near(all, N, 1e-12, 0, "every pixel counts once");
    hcy_azint_result_destroy(r);
    hcy_azint_plan_release(p);
    free(sums);
}

static void fill_arrays(float *flat, float *dark, float *variance)
{
    for (int i = 0; i < N; i++) {
        flat[i] = 700 + (float)(i % 31);
        dark[i] = (float)(i % 7) - 1.37f;
        variance[i] = 3e-3f * (float)(i % 101);
    }
}

/* A pixel that is lost in the frame gives the same curve as one that the mask has, where the bins stay. */
static void test_lost(int with_arrays)
{
    static float flat[N], dark[N], variance[N];
    uint64_t *sums = calloc(HCY_AZINT_SUMS * 37, sizeof *sums);
    hcy_frame_report report = { 0, 0, 0, 0 };
    uint32_t image[N];
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_result *r[2] = { NULL, NULL };
    hcy_azint_plan *p[2];
    int same = 1;
    scene s;

    make_scene(&s, 19.4e-3);
    s.o.radial_range[1] = 15;
    s.o.use_polarization = 1;
    s.o.polarization = 0.9;
    s.o.error_model = HCY_ERRORS_POISSON;
    s.o.split = HCY_SPLIT_FULL;
    s.o.sentinels = HCY_SENTINELS_ALWAYS;
    if (with_arrays) {
        fill_arrays(flat, dark, variance);
        s.o.flat = flat;
        s.o.dark = dark;
        s.o.variance = variance;
        s.o.error_model = HCY_ERRORS_VARIANCE;
    }
    for (int i = 0; i < N; i++) {
        image[i] = i % 13 == 0 ? UINT32_MAX : (uint32_t)i;
        s.mask[i] = i % 13 == 0;
    }
    for (int k = 0; k < 2; k++) {
        hcy_azint_job j;

        s.o.mask = k ? s.mask : NULL;
        p[k] = must_plan(&s);
        if (hcy_azint_plan_job(&j, p[k], HCY_PIXEL_U32) || hcy_azint_result_create(&r[k], p[k]))
            bail_out("%s", hcy_last_error()->text);
        hcy_azint_plan_tables(spans, p[k]);
        report.n_lost = oracle_sums(sums, spans, &j, image);
        ok((report.n_lost > 0) == !k && !hcy_azint_finish(r[k], p[k], &j, sums, &report, 1), "%s",
           k ? "masked in the plan" : "masked in the frame");
    }
    for (int b = 0; b < 37; b++)
        same &= r[0]->intensity[b] == r[1]->intensity[b] && r[0]->sigma[b] == r[1]->sigma[b] &&
                r[0]->std[b] == r[1]->std[b] && r[0]->sum_norm2[b] == r[1]->sum_norm2[b] &&
                r[0]->count[b] == r[1]->count[b] && (!with_arrays || r[0]->sigma[b] > 0);
    ok(same, "the same curve to the last bit%s", with_arrays ? ", with flat, dark and variance" : "");
    for (int k = 0; k < 2; k++) {
        hcy_azint_result_destroy(r[k]);
        hcy_azint_plan_release(p[k]);
    }
    free(sums);
}

/* Sums of any size, against the compiler's own conversion of 128-bit integers. */
static void test_rounding(void)
{
    uint64_t *sums = calloc(HCY_AZINT_SUMS * 37, sizeof *sums), state = 5;
    int wrong = 0, wrong_float = 0;
    hcy_azint_result *r = NULL;
    hcy_azint_job j;
    scene s;

    make_scene(&s, 19.4e-3);
    hcy_azint_plan *p = must_plan(&s);
    if (hcy_azint_plan_job(&j, p, HCY_PIXEL_I32) || hcy_azint_result_create(&r, p))
        bail_out("%s", hcy_last_error()->text);
    for (int turn = 0; turn < 1000; turn++) {
        for (int b = 0; b < 37; b++) {
            oracle_i128 x = (oracle_i128)((oracle_u128)oracle_random(&state) << 64 | oracle_random(&state));

            x >>= oracle_below(&state, 128);
            if (b % 3 == 0) /* halfway, and a little off */
                x = (x | 1) * ((oracle_i128)1 << oracle_below(&state, 60)) + (int)oracle_below(&state, 3) - 1;
            sums[HCY_SUM_SIGNAL_LO * 37 + b] = (uint64_t)x;
            sums[HCY_SUM_SIGNAL_HI * 37 + b] = (uint64_t)((oracle_u128)x >> 64);
        }
        if (hcy_azint_finish(r, p, &j, sums, NULL, 1))
            bail_out("%s", hcy_last_error()->text);
        for (int b = 0; b < 37; b++) {
            oracle_i128 x = (oracle_i128)((oracle_u128)sums[HCY_SUM_SIGNAL_HI * 37 + b] << 64 | sums[b]);

            wrong += r->sum_signal[b] != (double)x / 16777216.0 / (HCY_AZINT_ONE / 16777216.0);
        }
    }
    is_int(wrong, 0, "37 000 sums of up to 128 bits, of either sign, rounded to nearest");
    j.pixel_type = HCY_PIXEL_F32;
    for (int b = 0; b < 37; b++) {
        double x = -1.5e10 * (b + 1);

        memcpy(&sums[b], &x, 8);
        sums[HCY_SUM_SIGNAL_HI * 37 + b] = 0;
    }
    if (hcy_azint_finish(r, p, &j, sums, NULL, 1))
        bail_out("%s", hcy_last_error()->text);
    for (int b = 0; b < 37; b++)
        wrong_float += fabs(r->sum_signal[b] / (-1.5e10 * (b + 1) / HCY_AZINT_ONE) - 1) > 1e-15;
    is_int(wrong_float, 0, "sums of float pixels are doubles");
    hcy_azint_result_destroy(r);
    hcy_azint_plan_release(p);
    free(sums);
}

/* Means alone, and sums whose high words nobody reads: the same bits, with and without lost pixels. */
static void test_means(void)
{
    uint64_t *sums = calloc(HCY_AZINT_SUMS * 37, sizeof *sums), state = 9;
    hcy_azint_result *all = NULL, *means = NULL;
    uint32_t image[N];
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_job j;
    double norms[37];
    int same = 1, rounded = 1, whole = 1, fewer = 0;
    scene s;

    make_scene(&s, 19.4e-3);
    s.o.error_model = HCY_ERRORS_POISSON;
    s.o.sentinels = HCY_SENTINELS_ALWAYS;
    hcy_azint_plan *p = must_plan(&s);
    if (hcy_azint_plan_job(&j, p, HCY_PIXEL_U32) || hcy_azint_result_create(&all, p) ||
        hcy_azint_result_create_means(&means, p))
        bail_out("%s", hcy_last_error()->text);
    ok(means->sigma && !means->std && !means->sum_signal && !means->sum_variance && !means->sum_norm &&
           !means->sum_norm2 && !means->count && means->radial[5] == all->radial[5],
       "a result of means has intensity and sigma");
    hcy_azint_plan_tables(spans, p);
    for (int lost = 0; lost < 2; lost++) {
        hcy_frame_report report = { 0, 0, 0, 0 };
        hcy_azint_job narrow = j;

        for (int i = 0; i < N; i++)
            image[i] = lost && i % 13 == 0 ? UINT32_MAX : (uint32_t)oracle_below(&state, 1u << 20);
        report.n_lost = oracle_sums(sums, spans, &j, image);
        same &= !hcy_azint_finish(all, p, &j, sums, &report, 3) && !hcy_azint_plan_narrow(&narrow, p) &&
                narrow.flags & HCY_AZINT_NARROW;
        for (int b = 0; b < 37; b++)
            sums[HCY_SUM_SIGNAL_HI * 37 + b] = sums[HCY_SUM_VARIANCE_HI * 37 + b] = 0x5555555555555555u;
        same &= !hcy_azint_finish(means, p, &narrow, sums, &report, 3) &&
                !memcmp(means->intensity, all->intensity, 37 * sizeof(double)) &&
                !memcmp(means->sigma, all->sigma, 37 * sizeof(double));
        whole &= !hcy_azint_plan_get_norms(norms, p);
        for (int b = 0; b < 37; b++) {
            whole &= lost || fabs(all->sum_norm[b] - 3 * norms[b]) <= 1e-15 * all->sum_norm[b];
            fewer += lost && all->sum_norm[b] < 3 * norms[b] * (1 - 1e-9);
        }
    }
    ok(same, "the same means, from the low words alone");
    ok(whole && fewer, "the plan's norms are those of a frame that loses no pixel; one that does has less");
    j.flags |= HCY_AZINT_NARROW;
    for (int turn = 0; turn < 1000; turn++) {
        for (int b = 0; b < 37; b++)
            sums[b] = oracle_random(&state) >> (1 + oracle_below(&state, 60));
        rounded &= !hcy_azint_finish(all, p, &j, sums, NULL, 1);
        for (int b = 0; b < 37; b++)
            rounded &= all->sum_signal[b] == (double)sums[b] / 16777216.0 / (HCY_AZINT_ONE / 16777216.0);
    }
    ok(rounded, "37 000 sums of up to 63 bits, rounded to nearest");
    ok(hcy_azint_result_add(means, means, 0) == HCY_EINVAL && hcy_azint_result_merge(means, 1, 1) == HCY_EINVAL,
       "means cannot be added");
    for (uint32_t type = HCY_PIXEL_U64; type <= HCY_PIXEL_F64; type++)
        ok(!hcy_azint_plan_job(&j, p, type) && !hcy_azint_plan_narrow(&j, p) && !(j.flags & HCY_AZINT_NARROW),
           "pixel type %u may need its high words", type);
    hcy_azint_result_destroy(all);
    hcy_azint_result_destroy(means);
    hcy_azint_plan_release(p);
    free(sums);
}

/* Zeros in each of many frames have the variance of one count once, in their sum; a frame alone has it, too. */
static void test_parts(void)
{
    enum { FRAMES = 100 };
    uint64_t *sums = calloc(HCY_AZINT_SUMS * 37, sizeof *sums), state = 4;
    hcy_azint_result *part = NULL, *sum = NULL, *whole = NULL;
    uint32_t image[N], total[N] = { 0 };
    hcy_azint_job j, one;
    hcy_span spans[HCY_AZINT_SPANS];
    int near = 1, alone = 1, exact = 1;
    scene s;

    make_scene(&s, 19.4e-3);
    s.o.error_model = HCY_ERRORS_POISSON;
    hcy_azint_plan *usual = must_plan(&s);
    s.o.part_of_sum = 1;
    hcy_azint_plan *p = must_plan(&s);
    if (hcy_azint_plan_job(&j, p, HCY_PIXEL_U32) || hcy_azint_plan_job(&one, usual, HCY_PIXEL_U32) ||
        hcy_azint_result_create(&part, p) || hcy_azint_result_create(&sum, p) || hcy_azint_result_create(&whole, usual))
        bail_out("%s", hcy_last_error()->text);
    hcy_azint_plan_tables(spans, p);
    ok(j.flags == (HCY_AZINT_WANT_VARIANCE | HCY_AZINT_PART_OF_SUM), "frames of a sum have a job that says so");
    for (uint64_t f = 0; f < FRAMES; f++) {
        for (int i = 0; i < N; i++)
            total[i] += image[i] = f == 0 || oracle_below(&state, 20) ? 0 : 1;
        memset(sums, 0, sizeof(*sums) * HCY_AZINT_SUMS * 37);
        (void)oracle_sums(sums, spans, &j, image);
        near &= !hcy_azint_finish(part, p, &j, sums, NULL, 1) && !hcy_azint_result_add(sum, part, f);
        /* The first frame counts nothing at all. */
        for (int b = 0; b < 37; b++)
            alone &= f > 0 || part->count[b] < 1 || (part->sigma[b] > 0 && part->sum_variance[b] == 0);
    }
    near &= !hcy_azint_result_merge(sum, FRAMES, 1);
    memset(sums, 0, sizeof(*sums) * HCY_AZINT_SUMS * 37);
    (void)oracle_sums(sums, spans, &one, total);
    near &= !hcy_azint_finish(whole, usual, &one, sums, NULL, 1);
    /* Five counts a pixel: nearly all have one. */
    for (int b = 0; b < 37; b++) {
        near &= fabs(sum->sigma[b] - whole->sigma[b]) <= 0.05 * whole->sigma[b];
        exact &= fabs(sum->intensity[b] - whole->intensity[b]) <= 1e-12 * whole->intensity[b];
    }
    ok(exact && near, "the errors of frames that are added are those of their sum");
    ok(alone, "a frame without counts that is looked at alone has errors, too, and adds none");
    hcy_azint_result_destroy(part);
    hcy_azint_result_destroy(sum);
    hcy_azint_result_destroy(whole);
    hcy_azint_plan_release(p);
    s.o.unweighted = 1;
    p = must_plan(&s);
    ok(!hcy_azint_plan_job(&j, p, HCY_PIXEL_U32) && j.flags == HCY_AZINT_WANT_VARIANCE,
       "... not those of an unweighted mean, whose sums do not say what one count is");
    near = 1;
    for (int b = 0; b < 37; b++) {
        double pixels = (double)hcy_azint_plan_norms(usual)[b].count;

        near &= fabs((double)hcy_azint_plan_norms(p)[b].count - pixels) <= 1e-3 * pixels;
    }
    ok(near, "an unweighted mean's bins have as many pixels");
    hcy_azint_plan_release(p);
    s.o.npt = 1;
    p = must_plan(&s);
    ok(!hcy_azint_plan_job(&j, p, HCY_PIXEL_U32) && !hcy_azint_plan_narrow(&j, p) && !(j.flags & HCY_AZINT_NARROW),
       "sums of an unweighted mean of many pixels may need their high words");
    hcy_azint_plan_release(p);
    hcy_azint_plan_release(usual);
    free(sums);
}

static void test_finish(void)
{
    uint64_t *sums = calloc(HCY_AZINT_SUMS * 9000, sizeof *sums);
    hcy_frame_report report = { HCY_ECORRUPT, 3, 0, 0 };
    hcy_azint_result *r = NULL;
    hcy_azint_job j;
    int empty = 0, zero = 1;
    scene s;

    make_scene(&s, 19.4e-3);
    s.o.npt = 9000;
    s.o.split = HCY_SPLIT_NO;
    hcy_azint_plan *p = must_plan(&s), *other;
    s.o.npt = 37;
    other = must_plan(&s);
    if (hcy_azint_plan_job(&j, p, HCY_PIXEL_U32) || hcy_azint_result_create(&r, p))
        bail_out("%s", hcy_last_error()->text);
    ok(!r->sigma && !r->std && !r->sum_variance && r->radial[5] == must_info(p).radial[5],
       "no error model, no errors");
    is_int(hcy_azint_finish(r, p, &j, sums, &report, 1), HCY_ECORRUPT, "a damaged frame");
    is_int(hcy_azint_finish(r, p, &j, sums, NULL, 0), HCY_EINVAL, "a normalization of 0");
    is_int(hcy_azint_finish(r, p, &j, sums, NULL, NAN), HCY_EINVAL, "NaN");
    is_int(hcy_azint_finish(r, other, &j, sums, NULL, 1), HCY_EINVAL, "another plan's result");
    j.flags |= HCY_AZINT_WANT_VARIANCE;
    is_int(hcy_azint_finish(r, p, &j, sums, NULL, 1), HCY_EINVAL, "another plan's job");
    j.flags = 0;
    for (int b = 0; b < 9000; b++)
        sums[b] = 1;
    is_int(hcy_azint_finish(r, p, &j, sums, NULL, 1), 0, "bins without pixels");
    for (int b = 0; b < 9000; b++) {
        empty += r->count[b] == 0;
        zero &= r->count[b] > 0 || r->intensity[b] == 0;
    }
    ok(empty > 0 && zero, "are 0");
    hcy_azint_result_destroy(NULL);
    hcy_azint_result_destroy(r);
    hcy_azint_plan_release(hcy_azint_plan_retain(p));
    is_int((intmax_t)must_info(p).n_bins, 9000, "still there while someone holds it");
    hcy_azint_plan_release(p);
    hcy_azint_plan_release(other);
    free(sums);
}

int main(void)
{
    test_jobs();
    test_ones();
    test_lost(0);
    test_lost(1);
    test_rounding();
    test_means();
    test_parts();
    test_finish();
    return done_testing();
}
