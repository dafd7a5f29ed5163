/* arguments.c - kernels whose arguments stand in another order than kernels.def has them: this program, the host's and
 * the kernels' sides in it are compiled with the arguments of every kernel in reverse (tests/local.mk).  Who takes one
 * by its place gets another; who takes it by its name (families/arguments.h) does not notice. */
#include "arguments.h"
#include "pipeline_scene.h"

#include <halcyon/nufft.h>
#include <math.h>
#include <stdlib.h>

static const char *spec = "cpu@threads=2";
static hcy_device *dev;

static void test_order(void)
{
    ok(HCY_ARG_AT(bslz4_decode, chunks) == HCY_N_ARGS(bslz4_decode) - 1, "bslz4_decode's first argument is its last");
    ok(HCY_ARG_AT(azint_image, scratch) == 0 && HCY_ARG_AT(nufft_sort, sorted) == 0, "last ones are first");
}

static void test_decode(void)
{
    static uint32_t image[PIXELS], decoded[PIXELS];
    const hcy_bslz4_job job = { .codec = HCY_CODEC_BSLZ4, .elem_size = 4, .image_bytes = sizeof image };
    hcy_queue *queue = NULL;
    hcy_span chunk = { NULL, 0 };
    size_t bound = 0;
    make_frame(image, 3);
    int st = hcy_queue_create(&queue, dev);
    if (!st)
        st = hcy_bslz4_encode_bound(&bound, &job);
    void *bytes = malloc(bound);
    if (!st)
        st = hcy_bslz4_encode(&chunk.size, bytes, bound, &job, image);
    chunk.data = bytes;
    if (!st)
        st = hcy_bslz4_decode(decoded, NULL, queue, &job, &chunk, 1);
    is_int(st, 0, "a chunk is decoded");
    ok(!memcmp(image, decoded, sizeof image), "to its pixels");
    free(bytes);
    hcy_queue_release(queue);
}

/* --- Curves --- */

static hcy_azint_plan *flat_plan(int error_model, int filter)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *made;
    poni.dist = 0.1;
    poni.pixel1 = poni.pixel2 = 75e-6;
    poni.wavelength = 1e-10;
    options.npt = BINS;
    options.error_model = error_model;
    options.filter = filter;
    options.solid_angle = 0;
    options.threads = 1;
    if (hcy_azint_plan_create(&made, &poni, HEIGHT, WIDTH, &options))
        bail_out("no plan: %s", hcy_last_error()->text);
    return made;
}

static int keep_curve(void *payload, const hcy_pipeline_frame *frame)
{
    if (frame->result)
        memcpy(payload, frame->result->intensity, BINS * sizeof(double));
    return 0;
}

/* Of pixels that are all 7, with and without images between. */
static void test_curve(const char *what, int error_model, int filter, uint32_t flags)
{
    static uint32_t image[PIXELS];
    double curve[BINS] = { 0 };
    hcy_azint_plan *plan = flat_plan(error_model, filter);
    hcy_pipeline *pipeline = NULL;
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    hcy_pipeline_source source = { .coding = { .codec = HCY_CODEC_NONE, .elem_size = 4, .image_bytes = sizeof image },
                                   .pixel_type = HCY_PIXEL_U32 };
    int sevens = 0;
    for (size_t i = 0; i < PIXELS; i++)
        image[i] = 7;
    opts.flags = flags;
    push.sink = keep_curve;
    push.payload = curve;
    int st = hcy_pipeline_create(&pipeline, &dev, 1, plan, &source, &opts);
    if (!st)
        st = hcy_pipeline_start(pipeline, &push);
    if (!st)
        st = hcy_pipeline_submit(pipeline, image, sizeof image, 0, NULL, NULL);
    if (!st)
        st = hcy_pipeline_finish(pipeline);
    is_int(st, 0, "%s: a frame is integrated%s%s", what, st ? ": " : "", st ? hcy_last_error()->text : "");
    for (size_t i = 0; i < BINS; i++)
        sevens += fabs(curve[i] - 7) < 1e-5;
    is_int(sevens, BINS, "%s: to the value of its pixels", what);
    hcy_pipeline_destroy(pipeline);
    hcy_azint_plan_release(plan);
}

/* --- Non-uniform FFTs --- */

enum { POINTS = 300, TARGETS = 200, MODES = 12 };

static void fill(double *values, size_t n, double scale)
{
    static uint32_t state = 12345;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = scale * ((double)state / 4294967296.0 - 0.5);
    }
}

/* With a grid, beside the sum itself. */
static void test_nufft(int type, int dim, int separate_fft)
{
    static double points[3][POINTS], targets[3][TARGETS], c[2][2 * POINTS], f[2][2 * MODES * MODES * MODES];
    const hcy_nufft_desc desc = { .size = sizeof desc, .type = type, .precision = HCY_F64, .dim = dim,
                                  .modes = { MODES, MODES, MODES }, .sign = 1, .n_transforms = 1, .eps = 1e-9 };
    const void *x[3] = { points[0], points[1], points[2] }, *s[3] = { targets[0], targets[1], targets[2] };
    hcy_nufft_options options = HCY_NUFFT_OPTIONS_INIT;
    const bool back = type == 2;
    double most = 0, size = 0;
    int st = 0;
    fill(points[0], sizeof points / sizeof(double), 6.2);
    fill(targets[0], sizeof targets / sizeof(double), MODES);
    fill(c[0], 2 * POINTS, 2);
    fill(f[0], sizeof f[0] / sizeof(double), 2);
    memcpy(c[1], c[0], sizeof c[0]);
    memcpy(f[1], f[0], sizeof f[0]);
    options.separate_fft = separate_fft;
    for (int direct = 0; !st && direct < 2; direct++) {
        options.method = direct ? HCY_NUFFT_DIRECT : HCY_NUFFT_GRID;
        hcy_nufft *plan = NULL;
        st = hcy_nufft_create(&plan, dev, &desc, &options);
        if (!st)
            st = hcy_nufft_set_points(plan, POINTS, x, type == 3 ? TARGETS : 0, s);
        if (!st)
            st = hcy_nufft_execute(plan, c[direct], f[direct]);
        hcy_nufft_destroy(plan);
    }
    size_t n = back ? 2 * POINTS : type == 3 ? 2 * TARGETS : 2 * (size_t)pow(MODES, dim);
    for (size_t i = 0; i < n; i++) {
        double a = back ? c[0][i] : f[0][i], b = back ? c[1][i] : f[1][i];
        most = fmax(most, fabs(a - b));
        size = fmax(size, fabs(b));
    }
    is_int(st, 0, "type %d in %d-D%s%s%s", type, dim, separate_fft ? ", the FFT apart" : "", st ? ": " : "",
           st ? hcy_last_error()->text : "");
    ok(size > 1 && most < 1e-7 * size, "... is the sum (off by %.1e of %.1e)", most, size);
}

int main(int argc, char **argv)
{
    spec = argc > 1 ? argv[1] : spec;
    int st = hcy_device_open(&dev, spec);
    if (st == HCY_EUNSUPPORTED || st == HCY_ENODEV)
        skip_all("%s", hcy_last_error()->text);
    if (st)
        bail_out("%s: %s", spec, hcy_last_error()->text);
    test_order();
    test_decode();
    test_curve("at once", HCY_ERRORS_POISSON, HCY_FILTER_NONE, 0);
    test_curve("by images", HCY_ERRORS_POISSON, HCY_FILTER_NONE, HCY_PIPELINE_TWO_STAGE);
    test_curve("errors of a bin's pixels", HCY_ERRORS_AZIMUTHAL, HCY_FILTER_NONE, 0);
    test_curve("clipped", HCY_ERRORS_AZIMUTHAL, HCY_FILTER_SIGMA_CLIP, 0);
    const int few = argc > 2; /* where kernels are compiled as they are met, in 2-D alone */
    const bool transforms = hcy_device_get_info(dev)->caps & HCY_CAP_FFT;
    if (!transforms)
        skip(1, "%s has no FFT", spec);
    for (int type = 1; transforms && type <= 3; type++)
        for (int dim = few ? 2 : 1; dim <= (few ? 2 : 3); dim++)
            for (int apart = 0; apart < (few ? 1 : 2); apart++)
                test_nufft(type, dim, apart);
    hcy_device_release(dev);
    return done_testing();
}
