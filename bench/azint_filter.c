/* bench/azint_filter - the kernel azint_filter alone, on images of an EIGER 4M: milliseconds of processors' time a
 * frame, for each filter, beside azint_image, which does without.  Best of several launches of 8 frames.
 *
 * usage: bench/azint_filter [DEVICE (cpu@threads=1) [CASE]] */
#include "azint/azint_arguments.h"
#include "bench.h"
#include "scene.h"
#include <bslz4/bslz4_format.h>
#include <halcyon/azint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEIGHT = 2167, WIDTH = 2070, FRAMES = 8, TURNS = 5 };

/* Of all threads of this process: what others do counts little. */
static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Rings, and a bright pixel here and there for the filters to find. */
static struct scene scene = { .kind = SCENE_RINGS, .height = HEIGHT, .width = WIDTH, .elem_size = 4, .counts = 4,
                              .peaks = 1e-3, .highest = 800 };
static void make_images(uint32_t *images)
{
    scene_open(&scene);
    for (size_t i = 0; i < FRAMES; i++)
        scene_draw(images + i * HEIGHT * WIDTH, &scene, i);
}

static const struct {
    const char *name;
    int errors, filter;
    double threshold, from, to;
} cases[] = {
    { "azint_image, Poisson", HCY_ERRORS_POISSON, HCY_FILTER_NONE, 5, 50, 50 },
    { "azimuthal errors", HCY_ERRORS_AZIMUTHAL, HCY_FILTER_NONE, 5, 50, 50 },
    { "clipped, azimuthal", HCY_ERRORS_AZIMUTHAL, HCY_FILTER_SIGMA_CLIP, 5, 50, 50 },
    { "clipped, hybrid", HCY_ERRORS_HYBRID, HCY_FILTER_SIGMA_CLIP, 5, 50, 50 },
    { "clipped, Poisson", HCY_ERRORS_POISSON, HCY_FILTER_SIGMA_CLIP, 5, 50, 50 },
    { "median", HCY_ERRORS_NONE, HCY_FILTER_PERCENTILE, 5, 50, 50 },
    { "quartiles, Poisson", HCY_ERRORS_POISSON, HCY_FILTER_PERCENTILE, 5, 25, 75 },
};

static int make_plan(hcy_azint_plan **plan, size_t at, int split)
{
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_poni poni = HCY_PONI_INIT;
    poni.dist = 0.15;
    poni.poni1 = 1000 * 75e-6;
    poni.poni2 = 1100 * 75e-6;
    poni.rot1 = 0.02;
    poni.wavelength = 1e-10;
    poni.pixel1 = poni.pixel2 = 75e-6;
    o.split = split;
    o.error_model = cases[at].errors;
    o.filter = cases[at].filter;
    o.threshold = cases[at].threshold;
    o.percentile[0] = cases[at].from;
    o.percentile[1] = cases[at].to;
    o.mask = scene.gaps;
    o.mask_height = HEIGHT;
    o.mask_width = WIDTH;
    o.use_polarization = 1;
    o.polarization = 0.99;
    return hcy_azint_plan_create(plan, &poni, HEIGHT, WIDTH, &o);
}

static int measure(hcy_device *dev, hcy_buffer *images, const hcy_azint_plan *plan, double *ms)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_kernel *kernel = NULL;
    hcy_queue *queue = NULL;
    hcy_buffer *tables = NULL, *sums = NULL, *reports = NULL, *scratch = NULL;
    hcy_azint_filter filter;
    hcy_azint_job job;
    hcy_arg args[HCY_MAX_ARGS];
    size_t n = 0, size = 0;
    const uint64_t zero = 0;
    int status = hcy_azint_plan_get_info(&info, plan);
    hcy_azint_plan_tables(spans, plan);
    if (!status && info.filtered)
        status = hcy_azint_plan_filter(&filter, plan);
    if (status || (status = hcy_azint_plan_job(&job, plan, HCY_PIXEL_U32)) ||
        (status = hcy_kernel_get(&kernel, dev, info.filtered ? "azint_filter" : "azint_image")) ||
        (status = hcy_queue_create(&queue, dev)) ||
        (status = hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS)) ||
        (status = hcy_buffer_create(&sums, dev, HCY_MEM_DEVICE, FRAMES * 8 * info.n_sums * info.n_bins)) ||
        (status = hcy_buffer_create(&reports, dev, HCY_MEM_DEVICE, FRAMES * sizeof(hcy_frame_report))))
        goto out;
    struct hcy_azint_arguments all = { .images = hcy_arg_buf(images),
                                       .plan = hcy_arg_buf(tables),
                                       .job = hcy_arg_struct(&job, sizeof job),
                                       .filter = hcy_arg_struct(&filter, sizeof filter),
                                       .sums = hcy_arg_buf(sums),
                                       .reports = hcy_arg_buf(reports),
                                       .scratch = hcy_arg_buf(NULL) };
    n = hcy_azint_arguments(args, kernel, &all);
    if ((status = hcy_kernel_scratch_size(&size, kernel, FRAMES, args, n)) ||
        (status = hcy_buffer_create(&scratch, dev, HCY_MEM_DEVICE, size)))
        goto out;
    all.scratch = hcy_arg_buf(scratch);
    n = hcy_azint_arguments(args, kernel, &all);
    *ms = 1e9;
    for (int turn = 0; turn < TURNS && !status; turn++) {
        status = hcy_buffer_fill(queue, reports, 0, FRAMES * sizeof(hcy_frame_report), &zero, sizeof zero);
        if (!status)
            status = hcy_queue_finish(queue);
        double start = cpu_ms();
        if (!status && !(status = hcy_launch(queue, kernel, FRAMES, args, n)))
            status = hcy_queue_finish(queue);
        double took = (cpu_ms() - start) / FRAMES;
        *ms = took < *ms ? took : *ms;
    }
out:
    hcy_buffer_release(scratch);
    hcy_buffer_release(reports);
    hcy_buffer_release(sums);
    hcy_buffer_release(tables);
    hcy_queue_release(queue);
    hcy_kernel_release(kernel);
    return status;
}

int main(int argc, char **argv)
{
    static const char *const splits[] = { "no", "bbox", "full" };
    hcy_device *dev = NULL;
    hcy_buffer *images = NULL;
    size_t bytes = sizeof(uint32_t) * FRAMES * HEIGHT * WIDTH;
    CHECK(hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu@threads=1"));
    CHECK(hcy_buffer_create(&images, dev, HCY_MEM_MAPPED, bytes));
    make_images(hcy_buffer_host(images));
    for (int split = HCY_SPLIT_NO; split <= HCY_SPLIT_FULL; split += 2)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            hcy_azint_plan *plan = NULL;
            double ms = 0;
            if (argc > 2 && !strstr(cases[i].name, argv[2]))
                continue;
            CHECK(make_plan(&plan, i, split));
            CHECK(measure(dev, images, plan, &ms));
            printf("splitting %-4s %-22s %8.2f ms/frame\n", splits[split], cases[i].name, ms);
            fflush(stdout);
            hcy_azint_plan_release(plan);
        }
    scene_close(&scene);
    hcy_buffer_release(images);
    hcy_device_release(dev);
    return 0;
}
