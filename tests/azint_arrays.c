/* Flat field, absorption, dark current and variance: curves of a small detector against pyFAI's
 * (reference/make_azint_arrays.py), made by the CPU's kernel from integers and from floats. */
#include "azint_oracle.h"
#include "reference/azint_arrays.h"
#include "tap.h"

#include <bslz4/bslz4_format.h>
#include <halcyon/azint.h>
#include <halcyon/kernel.h>

enum { N = ARRAYS_HEIGHT * ARRAYS_WIDTH };

static uint16_t image[N];
static float float_image[N], flat[N], absorption[N], dark[N], variance[N];

static void make_arrays(void)
{
    for (int p = 0; p < N; p++) {
        int i = p / ARRAYS_WIDTH, j = p % ARRAYS_WIDTH, f = (5 * i + j) % 29, k = (i + 2 * j) % 31;

        image[p] = (uint16_t)((i + 3 * j) % 23 ? (37 * i + 11 * j) % 230 + 100 : ARRAYS_DUMMY);
        float_image[p] = image[p];
        /* pyFAI had the dummy where f is 3, and masks that. */
        flat[p] = f == 1 ? 0 : f == 2 ? NAN : f == 3 ? -1 : (float)((3 * i + 5 * j) % 17 * 32 + 700);
        absorption[p] = (float)(i * j % 7) * 0.0625f + 0.5f;
        dark[p] = k == 3 ? NAN : (float)(i * j % 13) * 0.75f - 1;
        variance[p] = k == 5 ? NAN : (float)((i + 2 * j) % 19) * 1.5f + 0.25f;
    }
}

static hcy_azint_plan *make_plan(const struct arrays_case *c)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *p = NULL;

    poni.dist = 0.05;
    poni.poni1 = 8.3e-3;
    poni.poni2 = 14.1e-3;
    poni.rot1 = 0.12;
    poni.rot2 = -0.21;
    poni.rot3 = 0.4;
    poni.wavelength = 1.1e-10;
    poni.pixel1 = 1e-3;
    poni.pixel2 = 1.1e-3;
    o.npt = ARRAYS_NPT;
    o.split = c->split;
    o.use_dummy = 1;
    o.dummy = ARRAYS_DUMMY;
    o.delta_dummy = 0.5;
    o.error_model = c->model;
    o.flat = c->arrays & ARRAYS_FLAT ? flat : NULL;
    o.absorption = c->arrays & ARRAYS_ABSORPTION ? absorption : NULL;
    o.dark = c->arrays & ARRAYS_DARK ? dark : NULL;
    o.variance = c->arrays & ARRAYS_VARIANCE ? variance : NULL;
    if (hcy_azint_plan_create(&p, &poni, ARRAYS_HEIGHT, ARRAYS_WIDTH, &o))
        bail_out("%s", hcy_last_error()->text);
    return p;
}

static hcy_buffer *buffer(hcy_device *dev, size_t size, const void *data)
{
    hcy_buffer *b = NULL;

    if (hcy_buffer_create(&b, dev, HCY_MEM_MAPPED, size))
        bail_out("%s", hcy_last_error()->text);
    memset(hcy_buffer_host(b), 0, size);
    if (data)
        memcpy(hcy_buffer_host(b), data, size);
    return b;
}

static hcy_azint_result *integrate(const hcy_azint_plan *plan, uint32_t type, const void *pixels, hcy_device *dev)
{
    size_t scratch = 0;
    hcy_azint_result *r = NULL;
    hcy_kernel *kernel = NULL;
    hcy_queue *queue = NULL;
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_job job;
    hcy_buffer *tables = NULL;

    hcy_azint_plan_tables(spans, plan);
    if (hcy_azint_plan_job(&job, plan, type) || hcy_queue_create(&queue, dev) ||
        hcy_kernel_get(&kernel, dev, "azint_image") ||
        hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS) || hcy_azint_result_create(&r, plan))
        bail_out("%s", hcy_last_error()->text);
    hcy_buffer *images = buffer(dev, N * oracle_pixel_size(type), pixels),
               *sums = buffer(dev, HCY_AZINT_SUMS * ARRAYS_NPT * sizeof(uint64_t), NULL),
               *reports = buffer(dev, sizeof(hcy_frame_report), NULL);
    hcy_arg args[] = { hcy_arg_buf(images), hcy_arg_buf(tables),  hcy_arg_struct(&job, sizeof job),
                       hcy_arg_buf(sums),   hcy_arg_buf(reports), hcy_arg_buf(NULL) };
    if (hcy_kernel_scratch_size(&scratch, kernel, 1, args, 6))
        bail_out("%s", hcy_last_error()->text);
    hcy_buffer *work = buffer(dev, scratch ? scratch : 64, NULL);
    args[5] = hcy_arg_buf(work);
    if (hcy_launch(queue, kernel, 1, args, 6) || hcy_queue_finish(queue) ||
        hcy_azint_finish(r, plan, &job, hcy_buffer_host(sums), hcy_buffer_host(reports), 1))
        bail_out("%s", hcy_last_error()->text);
    hcy_buffer_release(images);
    hcy_buffer_release(sums);
    hcy_buffer_release(reports);
    hcy_buffer_release(work);
    hcy_buffer_release(tables);
    hcy_kernel_release(kernel);
    hcy_queue_release(queue);
    return r;
}

/* The largest deviation, relative to the largest number. */
static double off(const double *got, const double *want)
{
    double worst = 0, most = 0;

    for (int k = 0; k < ARRAYS_NPT; k++) {
        double d = fabs(got[k] - want[k]);

        worst = d > worst || isnan(d) ? d : worst;
        most = fabs(want[k]) > most ? fabs(want[k]) : most;
    }
    return most > 0 ? worst / most : worst;
}

static void check(const struct arrays_case *c, uint32_t type, const void *pixels, hcy_device *dev)
{
    static const char *const splits[] = { "no", "bbox", "full" };
    static const char *const models[] = { "no errors", "Poisson", "variances" };
    hcy_azint_plan *plan = make_plan(c);
    hcy_azint_result *r = integrate(plan, type, pixels, dev);
    double radial = fabs(r->radial[0] - c->radial[0]) + fabs(r->radial[ARRAYS_NPT - 1] - c->radial[1]);
    double intensity = off(r->intensity, c->intensity), norm = off(r->sum_norm, c->norm),
           count = off(r->count, c->count), sigma = c->model ? off(r->sigma, c->sigma) : 0,
           std = c->model ? off(r->std, c->std) : 0;

    if (!ok(radial < 1e-6 && intensity < 1e-6 && norm < 1e-6 && count < 1e-6 && sigma < 1e-6 && std < 1e-6,
            "splitting %s,%s%s%s%s, %s, %s", splits[c->split], c->arrays & ARRAYS_FLAT ? " flat" : "",
            c->arrays & ARRAYS_ABSORPTION ? " absorption" : "", c->arrays & ARRAYS_DARK ? " dark" : "",
            c->arrays & ARRAYS_VARIANCE ? " variance" : "", models[c->model],
            type == HCY_PIXEL_U16 ? "integers" : "floats"))
        diag("off by: axis %.2g, intensity %.2g, norm %.2g, count %.2g, sigma %.2g, std %.2g", radial, intensity,
             norm, count, sigma, std);
    hcy_azint_result_destroy(r);
    hcy_azint_plan_release(plan);
}

/* A dummy of frames, with a tolerance that all of the flat field is within, masks none of its pixels. */
static void test_dummy(void)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    const struct arrays_case c = { .arrays = 0, .split = HCY_SPLIT_BBOX };
    hcy_azint_plan *base = make_plan(&c), *p[2] = { NULL, NULL };
    hcy_azint_options o;
    float near_one[N];

    if (hcy_azint_plan_get_info(&info, base))
        bail_out("%s", hcy_last_error()->text);
    o = info.options;
    for (int i = 0; i < N; i++)
        near_one[i] = 0.8f + 0.01f * (float)(i % 40);
    o.flat = near_one;
    o.dummy = 0;
    for (int k = 0; k < 2; k++) {
        o.delta_dummy = k ? 1.1 : 0;
        if (hcy_azint_plan_create(&p[k], &info.poni, ARRAYS_HEIGHT, ARRAYS_WIDTH, &o))
            bail_out("%s", hcy_last_error()->text);
    }
    ok(!memcmp(hcy_azint_plan_norms(p[0]), hcy_azint_plan_norms(p[1]), ARRAYS_NPT * sizeof(hcy_azint_bin_norm)),
       "the frames' dummy masks no pixel by its flat field");
    hcy_azint_plan_release(base);
    hcy_azint_plan_release(p[0]);
    hcy_azint_plan_release(p[1]);
}

int main(void)
{
    hcy_device *dev = NULL;

    make_arrays();
    if (hcy_device_open(&dev, "cpu@threads=2"))
        bail_out("%s", hcy_last_error()->text);
    for (size_t i = 0; i < sizeof arrays_cases / sizeof arrays_cases[0]; i++) {
        check(&arrays_cases[i], HCY_PIXEL_U16, image, dev);
        check(&arrays_cases[i], HCY_PIXEL_F32, float_image, dev);
    }
    test_dummy();
    hcy_device_release(dev);
    return done_testing();
}
