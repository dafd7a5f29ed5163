/* pipeline_regions.c - sums of regions beside the curves: of a file and of submitted chunks, at once and in two stages,
 * on one device and on two, one of which hangs, with a filter; against a straight loop over the pixels.  A damaged
 * frame has none.  Other devices may be given as arguments. */
#include "pipeline_scene.h"

#include <halcyon/bslz4.h>
#include <stdlib.h>
#include <unistd.h>

enum { REGIONS = 4, SOME = 40, DAMAGED = 7 };

static uint8_t left_out[PIXELS], ring[PIXELS];
static const hcy_region regions[REGIONS] = {
    { 0, 0, WIDTH, HEIGHT, NULL }, { 5, 10, 17, 20, NULL }, { 3, 3, 4, 4, NULL }, { 1, 0, WIDTH - 1, HEIGHT, ring }
};
static const int64_t limit = 950;

struct seen {
    hcy_region_sums want[SOME][REGIONS];
    uint32_t pixels[PIXELS];
    size_t good, wrong, failed, none;
    int damaged; /* one frame is */
};

static void expect_regions(hcy_region_sums want[REGIONS], const uint32_t *pixels)
{
    for (size_t r = 0; r < REGIONS; r++) {
        hcy_region_sums *w = &want[r];
        *w = (hcy_region_sums){ 0 };
        for (size_t y = regions[r].y0; y < regions[r].y1; y++)
            for (size_t x = regions[r].x0; x < regions[r].x1; x++) {
                const size_t i = y * WIDTH + x;
                const int64_t v = pixels[i];
                if (left_out[i] || (regions[r].pixels && !regions[r].pixels[i]))
                    continue;
                if (v >= UINT32_MAX - 1) {
                    w->invalid++;
                    continue;
                }
                w->min = !w->valid || v < w->min ? v : w->min;
                w->max = !w->valid || v > w->max ? v : w->max;
                w->sum += v;
                w->valid++;
                w->zero += !v;
                w->above += v > limit;
            }
    }
}

static int take_regions(void *payload, const hcy_pipeline_frame *frame)
{
    struct seen *seen = payload;
    const int fails = seen->damaged && frame->number == DAMAGED;
    seen->failed += !frame->result;
    seen->none += !frame->regions;
    if (!frame->regions)
        return 0;
    if (!fails && !memcmp(frame->regions, seen->want[frame->number], sizeof seen->want[0]))
        seen->good++;
    else
        seen->wrong++;
    return 0;
}

static hcy_pipeline *make_pipeline(const char *names, const hcy_azint_plan *plan, const hcy_pipeline_source *source,
                                   uint32_t flags, uint64_t device_timeout)
{
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_device **devices;
    hcy_pipeline *pipeline = NULL;
    size_t n;
    opts.flags = flags;
    opts.batch = 6;
    opts.device_timeout = device_timeout;
    opts.regions = regions;
    opts.n_regions = REGIONS;
    opts.region_mask = left_out;
    opts.region_above = limit;
    if (hcy_device_open_list(&devices, &n, names) || hcy_pipeline_create(&pipeline, devices, n, plan, source, &opts))
        bail_out("%s: %s", names, hcy_last_error()->text);
    for (size_t i = 0; i < n; i++)
        hcy_device_release(devices[i]);
    hcy_list_free(devices);
    return pipeline;
}

static void clear_counts(struct seen *seen, int damaged)
{
    seen->good = seen->wrong = seen->failed = seen->none = 0;
    seen->damaged = damaged;
}

static void test_file(struct seen *seen, hcy_stack *stack, const char *names, const hcy_azint_plan *plan,
                      uint32_t flags, const char *what)
{
    const hcy_pipeline_source source = hcy_pipeline_source_of(hcy_stack_get_info(stack));
    hcy_pipeline *pipeline = make_pipeline(names, plan, &source, flags, 0);
    clear_counts(seen, 0);
    is_int(hcy_pipeline_run(pipeline, stack, 0, SOME, take_regions, NULL, seen), 0, "%s: %s", names, what);
    ok(seen->good == SOME && !seen->wrong, "... regions of all frames");
    hcy_pipeline_destroy(pipeline);
}

/* Its frames go to the CPU: none lacks its regions, and none has those of memory that nothing was written to. */
static void test_hanging_regions(struct seen *seen, hcy_stack *stack, const hcy_azint_plan *plan)
{
    const hcy_pipeline_source source = hcy_pipeline_source_of(hcy_stack_get_info(stack));
    hcy_pipeline *pipeline =
        make_pipeline("null@kernels=noop@delay-us=60000000,cpu@threads=1", plan, &source, HCY_PIPELINE_TWO_STAGE,
                      2000000000);
    clear_counts(seen, 0);
    is_int(hcy_pipeline_run(pipeline, stack, 0, SOME, take_regions, NULL, seen), 0, "beside a device that hangs");
    is_int(hcy_pipeline_get_stats(pipeline)->devices[0].error.status, HCY_ETIMEOUT, "... which is given up");
    ok(seen->good == SOME && !seen->wrong, "... regions of all frames");
    hcy_pipeline_destroy(pipeline);
}

/* Compressed chunks, one of them damaged. */
static void test_chunks(struct seen *seen, const char *names, const hcy_azint_plan *plan, uint32_t flags,
                        const char *what)
{
    const hcy_bslz4_job coding = { .codec = HCY_CODEC_BSLZ4, .elem_size = 4, .image_bytes = PIXELS * 4 };
    const hcy_pipeline_source source = { .coding = coding, .pixel_type = HCY_PIXEL_U32 };
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    size_t bound, size;
    hcy_pipeline *pipeline = make_pipeline(names, plan, &source, flags, 0);
    push.sink = take_regions;
    push.payload = seen;
    clear_counts(seen, 1);
    if (hcy_bslz4_encode_bound(&bound, &source.coding) || hcy_pipeline_start(pipeline, &push))
        bail_out("%s", hcy_last_error()->text);
    uint8_t *chunks = malloc(SOME * bound);
    if (!chunks)
        bail_out("no memory");
    for (uint64_t i = 0; i < SOME; i++) {
        uint8_t *at = chunks + i * bound;
        make_frame(seen->pixels, i);
        if (hcy_bslz4_encode(&size, at, bound, &source.coding, seen->pixels))
            bail_out("%s", hcy_last_error()->text);
        if (i == DAMAGED)
            memset(at + 20, 0xff, 12);
        if (hcy_pipeline_submit(pipeline, at, size, i, NULL, NULL))
            bail_out("%s", hcy_last_error()->text);
    }
    is_int(hcy_pipeline_finish(pipeline), 0, "%s: %s", names, what);
    ok(seen->good == SOME - 1 && !seen->wrong && seen->failed == 1 && seen->none == 1,
       "... regions of all frames but of the damaged one");
    hcy_pipeline_destroy(pipeline);
    free(chunks);
}

static void test_region_refusals(const hcy_azint_plan *plan)
{
    static const hcy_region wrong[] = { { 4, 0, 4, 9, NULL }, { 0, 9, 4, 8, NULL }, { 0, 0, WIDTH + 1, 2, NULL },
                                        { 0, 0, 4, HEIGHT + 1, NULL }, { 0, 0, 0, 0, NULL } };
    hcy_pipeline_source source = { .coding = { .codec = HCY_CODEC_NONE, .elem_size = 4, .image_bytes = PIXELS * 4 },
                                   .pixel_type = HCY_PIXEL_U32 };
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_pipeline *pipeline = NULL;
    hcy_device *cpu;
    if (hcy_device_open(&cpu, "cpu@threads=1"))
        bail_out("%s", hcy_last_error()->text);
    opts.n_regions = 1;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        opts.regions = &wrong[i];
        is_int(hcy_pipeline_create(&pipeline, &cpu, 1, plan, &source, &opts), HCY_EINVAL, "%s", hcy_last_error()->text);
    }
    opts.regions = regions;
    opts.n_regions = HCY_PIPELINE_MAX_REGIONS + 1;
    is_int(hcy_pipeline_create(&pipeline, &cpu, 1, plan, &source, &opts), HCY_EINVAL, "%s", hcy_last_error()->text);
    opts.n_regions = 1;
    opts.region_above = -1;
    is_int(hcy_pipeline_create(&pipeline, &cpu, 1, plan, &source, &opts), HCY_EINVAL, "%s", hcy_last_error()->text);
    opts.region_above = INT64_MAX;
    source.pixel_type = HCY_PIXEL_F32;
    is_int(hcy_pipeline_create(&pipeline, &cpu, 1, plan, &source, &opts), HCY_EUNSUPPORTED, "%s",
           hcy_last_error()->text);
    hcy_device_release(cpu);
}

static hcy_azint_plan *make_clipping_plan(void)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_azint_plan *simple = make_plan(HEIGHT, WIDTH), *clipping = NULL;
    if (hcy_azint_plan_get_info(&info, simple))
        bail_out("%s", hcy_last_error()->text);
    info.options.filter = HCY_FILTER_SIGMA_CLIP;
    info.options.split = HCY_SPLIT_NO;
    if (hcy_azint_plan_create(&clipping, &info.poni, HEIGHT, WIDTH, &info.options))
        bail_out("%s", hcy_last_error()->text);
    hcy_azint_plan_release(simple);
    return clipping;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = { "cpu@threads=2", "cpu@threads=1@discrete=1", "cpu@threads=1,cpu@threads=2" };
    const size_t n = argc > 1 ? (size_t)argc - 1 : sizeof usual / sizeof usual[0];
    char path[256];
    struct seen *seen = calloc(1, sizeof *seen);
    hcy_azint_plan *plan = make_plan(HEIGHT, WIDTH), *clipping = make_clipping_plan();
    hcy_stack *stack;
    if (!seen)
        bail_out("no memory");
    for (size_t i = 0; i < PIXELS; i++) {
        left_out[i] = i % 31 == 4;
        ring[i] = (i * i) % 7 < 2;
    }
    for (uint64_t i = 0; i < SOME; i++) {
        make_frame(seen->pixels, i);
        expect_regions(seen->want[i], seen->pixels);
    }
    snprintf(path, sizeof path, "pipeline-regions-%ld.npy", (long)getpid());
    make_npy(path);
    if (hcy_stack_open(&stack, path, NULL))
        bail_out("%s", hcy_last_error()->text);
    for (size_t i = 0; i < n; i++) {
        const char *names = argc > 1 ? argv[i + 1] : usual[i];
        hcy_device **devices;
        size_t n_devices;
        int status = hcy_device_open_list(&devices, &n_devices, names);
        if (status) {
            skip(1, "%s: %s", names, hcy_last_error()->text);
            continue;
        }
        test_file(seen, stack, names, plan, 0, "a file");
        test_chunks(seen, names, plan, HCY_PIPELINE_MEANS, "chunks");
        test_chunks(seen, names, plan, HCY_PIPELINE_TWO_STAGE, "chunks in two stages");
        test_file(seen, stack, names, clipping, 0, "a file whose outliers are clipped");
        for (size_t k = 0; k < n_devices; k++)
            hcy_device_release(devices[k]);
        hcy_list_free(devices);
    }
    if (argc < 2)
        test_hanging_regions(seen, stack, plan);
    test_region_refusals(plan);
    hcy_stack_close(stack);
    unlink(path);
    hcy_azint_plan_release(plan);
    hcy_azint_plan_release(clipping);
    free(seen);
    return done_testing();
}
