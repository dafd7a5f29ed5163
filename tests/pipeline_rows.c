/* pipeline_rows.c - images whose sums come back from a device row by row: the same bits as where nothing is copied, in
 * frames with lost pixels and without, with errors and without, of bins whose sums need their high words. */
#include "pipeline_scene.h"

#include <halcyon/device.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { NPT = 150, NPT_AZIM = 130, IMAGE_BINS = NPT * NPT_AZIM, N = 6, ARRAYS = 3 };

/* --- What is read back, counted --- */

static atomic_size_t n_read;

int __real_hcy_buffer_read(hcy_queue *queue, void *dst, hcy_buffer *src, size_t offset, size_t size);
int __wrap_hcy_buffer_read(hcy_queue *queue, void *dst, hcy_buffer *src, size_t offset, size_t size);

int __wrap_hcy_buffer_read(hcy_queue *queue, void *dst, hcy_buffer *src, size_t offset, size_t size)
{
    atomic_fetch_add(&n_read, size);
    return __real_hcy_buffer_read(queue, dst, src, offset, size);
}

struct frames {
    uint32_t pixels[N][PIXELS];
    double *arrays;
};

static hcy_azint_plan *make_image_plan(int error_model, int pixels_signed)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *made;
    poni.dist = 0.1;
    poni.poni1 = 0.5 * HEIGHT * 75e-6;
    poni.poni2 = 0.5 * WIDTH * 75e-6;
    poni.pixel1 = poni.pixel2 = 75e-6;
    poni.wavelength = 1e-10;
    options.npt = NPT;
    options.npt_azim = NPT_AZIM;
    options.error_model = error_model;
    options.use_dummy = 1;
    options.dummy = pixels_signed ? -1 : 4294967295.0;
    options.threads = 1;
    if (hcy_azint_plan_create(&made, &poni, HEIGHT, WIDTH, &options))
        bail_out("no plan: %s", hcy_last_error()->text);
    return made;
}

static int keep(void *payload, const hcy_pipeline_frame *frame)
{
    struct frames *f = payload;
    double *to = f->arrays + frame->number * ARRAYS * IMAGE_BINS;
    if (!frame->result)
        return hcy_fail(HCY_EIO, "frame %llu: %s", (unsigned long long)frame->number, frame->why);
    memcpy(to, frame->result->intensity, IMAGE_BINS * sizeof *to);
    memcpy(to + IMAGE_BINS, frame->result->count, IMAGE_BINS * sizeof *to);
    if (frame->result->sigma)
        memcpy(to + 2 * IMAGE_BINS, frame->result->sigma, IMAGE_BINS * sizeof *to);
    return 0;
}

static void run(struct frames *f, const char *name, hcy_azint_plan *plan, uint32_t pixel_type)
{
    hcy_pipeline_source source = { .coding = { .codec = HCY_CODEC_NONE, .elem_size = 4, .image_bytes = PIXELS * 4 },
                                   .pixel_type = pixel_type };
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    hcy_device *device;
    hcy_pipeline *pipeline;
    opts.batch = 2;
    push.sink = keep;
    push.payload = f;
    f->arrays = calloc((size_t)N * ARRAYS * IMAGE_BINS, sizeof *f->arrays);
    if (!f->arrays || hcy_device_open(&device, name) ||
        hcy_pipeline_create(&pipeline, &device, 1, plan, &source, &opts) || hcy_pipeline_start(pipeline, &push))
        bail_out("%s: %s", name, hcy_last_error()->text);
    int status = 0;
    for (uint64_t i = 0; i < N && !status; i++)
        status = hcy_pipeline_submit(pipeline, f->pixels[i], sizeof f->pixels[i], i, NULL, NULL);
    is_int(status ? status : hcy_pipeline_finish(pipeline), 0, "%s: %d frames", name, N);
    hcy_pipeline_destroy(pipeline);
    hcy_device_release(device);
}

/* `rows`: those that are wanted back of all N frames together. */
static void compare(struct frames *f, int error_model, uint32_t pixel_type, size_t rows, const char *name)
{
    hcy_azint_plan *plan = make_image_plan(error_model, pixel_type == HCY_PIXEL_I32);
    size_t filled = 0;
    run(f, "cpu@threads=1", plan, pixel_type);
    double *want = f->arrays;
    atomic_store(&n_read, 0);
    run(f, "cpu@threads=1@discrete=1", plan, pixel_type);
    for (size_t i = 0; i < (size_t)N * ARRAYS * IMAGE_BINS; i++)
        filled += want[i] != 0;
    ok(filled > (size_t)N * PIXELS, "%s: something is there", name);
    ok(!memcmp(f->arrays, want, (size_t)N * ARRAYS * IMAGE_BINS * sizeof *want), "... the same bits row by row");
    is_int((intmax_t)(atomic_load(&n_read) / (IMAGE_BINS * sizeof(uint64_t))), (intmax_t)rows, "... of these rows");
    free(f->arrays);
    free(want);
    hcy_azint_plan_release(plan);
}

int main(void)
{
    struct frames *f = calloc(1, sizeof *f);
    if (!f)
        bail_out("no memory");
    for (uint64_t i = 0; i < N; i++) {
        make_frame(f->pixels[i], i);
        for (size_t k = 0; k < PIXELS && i % 2; k++) /* every other frame has lost nothing */
            f->pixels[i][k] &= 0xffff;
    }
    compare(f, HCY_ERRORS_POISSON, HCY_PIXEL_U32, 2 * N + 5 * N / 2, "integers with errors");
    compare(f, HCY_ERRORS_NONE, HCY_PIXEL_U32, N + 5 * N / 2, "without");
    compare(f, HCY_ERRORS_POISSON, HCY_PIXEL_I32, 4 * N + 5 * N / 2, "with a sign");
    compare(f, HCY_ERRORS_AZIMUTHAL, HCY_PIXEL_U32, 15 * N, "azimuthal errors");
    compare(f, HCY_ERRORS_POISSON, HCY_PIXEL_F32, 4 * N + 5 * N / 2, "floats");
    free(f);
    return done_testing();
}
