/* pipeline.c - many frames over many devices: order, failures, bounds, and that the way taken does not change
 * a bit.
 *
 * Scheduling is tested on null devices whose kernels wait and compute nothing; results on the CPU.  The
 * stacks are made here: 64 x 48 pixels, a few hundred frames. */
#include "pipeline_priv.h"
#include "pipeline_scene.h"

#include <halcyon/backend.h>
#include <malloc.h>
#include <unistd.h>

enum { BROKEN = 37, MISSING = 90 };

static char npy_path[64], h5_path[64];
static hcy_azint_plan *the_plan;
static hcy_stack *npy, *h5; /* plain pixels; compressed, one frame damaged, one never written */

/* --- Stacks --- */

static int make_h5(void)
{
    uint32_t pixels[PIXELS];
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    hcy_stack_writer *writer;
    opts.frames = FRAMES;
    opts.height = HEIGHT;
    opts.width = WIDTH;
    opts.pixel_type = HCY_PIXEL_U32;
    opts.codec = HCY_CODEC_BSLZ4;
    int status = hcy_stack_create(&writer, h5_path, &opts);
    if (status)
        return status;
    for (uint64_t i = 0; i < FRAMES && !status; i++) {
        make_frame(pixels, i);
        if (i == BROKEN)
            status = hcy_stack_write_chunk(writer, i, "no chunk of any kind", 20);
        else if (i != MISSING)
            status = hcy_stack_write(writer, i, pixels);
    }
    int closed = hcy_stack_writer_close(writer);
    return status ? status : closed;
}

/* --- A sink that keeps what it gets --- */

struct seen {
    hcy_pipeline *pipeline;
    uint64_t next; /* the frame that must come next */
    size_t n, out_of_order, failed, ahead;
    uint64_t failed_first, failed_last;
    char why[512];
    uint64_t delay_us, stop_at, cancel_at; /* frames; 0: never */
    double *curves;                        /* FRAMES x 2 x BINS */
    size_t with_sums;
    size_t ticks;
};

static int see(void *payload, const hcy_pipeline_frame *frame)
{
    struct seen *s = payload;
    s->out_of_order += frame->number != s->next;
    s->next = frame->number + 1;
    s->n++;
    if (!frame->result) {
        s->failed_first = s->failed++ ? s->failed_first : frame->number;
        s->failed_last = frame->number;
        snprintf(s->why, sizeof s->why, "%s", frame->why);
    } else if (s->curves) {
        double *curve = s->curves + frame->number * 2 * BINS;
        s->with_sums += frame->result->sum_signal != NULL;
        memcpy(curve, frame->result->intensity, BINS * sizeof *curve);
        memcpy(curve + BINS, frame->result->sigma, BINS * sizeof *curve);
    }
    hcy__pipe_lock(&s->pipeline->control);
    size_t ahead = (size_t)(hcy__ring_accepted(&s->pipeline->ring) - hcy__ring_emitted(&s->pipeline->ring));
    hcy__pipe_unlock(&s->pipeline->control);
    s->ahead = ahead > s->ahead ? ahead : s->ahead;
    if (s->delay_us)
        usleep((useconds_t)s->delay_us);
    if (s->cancel_at && s->n == s->cancel_at)
        hcy_pipeline_cancel(s->pipeline);
    return s->stop_at && s->n == s->stop_at ? hcy_fail(HCY_EIO, "the sink is full") : 0;
}

static void tick(void *payload, const hcy_pipeline_stats *stats)
{
    struct seen *s = payload;
    s->ticks += stats->frames == FRAMES;
}

/* --- A pipeline on a list of devices --- */

struct rig {
    hcy_device **devices;
    size_t n;
    hcy_pipeline *pipeline;
    struct seen seen;
};

static int rig_open(struct rig *r, const char *devices, hcy_stack *stack, const hcy_pipeline_options *opts)
{
    hcy_pipeline_source source = hcy_pipeline_source_of(hcy_stack_get_info(stack));
    memset(r, 0, sizeof *r);
    int status = hcy_device_open_list(&r->devices, &r->n, devices);
    if (!status)
        status = hcy_pipeline_create(&r->pipeline, r->devices, r->n, the_plan, &source, opts);
    if (status)
        diag("%s: %s", devices, hcy_last_error()->text);
    r->seen.pipeline = r->pipeline;
    return status;
}

static int rig_run(struct rig *r, hcy_stack *stack, uint64_t first, uint64_t last)
{
    r->seen.next = first;
    return hcy_pipeline_run(r->pipeline, stack, first, last, see, tick, &r->seen);
}

static void rig_close(struct rig *r)
{
    hcy_pipeline_destroy(r->pipeline);
    for (size_t i = 0; i < r->n; i++)
        hcy_device_release(r->devices[i]);
    hcy_list_free(r->devices);
}

static hcy_pipeline_options batches_of(uint32_t n)
{
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    opts.batch = n;
    return opts;
}

/* --- Scheduling --- */

static void test_order(void)
{
    struct rig r;
    hcy_pipeline_options opts = batches_of(4);
    opts.readers = 3;
    if (!is_int(rig_open(&r, "null@kernels=noop@delay-us=1000,null:1@kernels=noop@delay-us=20000", npy, &opts), 0,
                "a pipeline on a fast and a slow device"))
        return;
    is_int(rig_run(&r, npy, 0, FRAMES), 0, "it runs");
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(r.pipeline);
    is_int((intmax_t)r.seen.n, FRAMES, "every frame comes out");
    is_int((intmax_t)r.seen.out_of_order, 0, "in order");
    is_int((intmax_t)stats->done, FRAMES, "the statistics count them");
    is_int((intmax_t)(stats->devices[0].frames + stats->devices[1].frames), FRAMES, "each on one device");
    ok(stats->devices[1].frames >= 4 && stats->devices[0].frames > 2 * stats->devices[1].frames,
       "the faster device does more (%llu and %llu)", (unsigned long long)stats->devices[0].frames,
       (unsigned long long)stats->devices[1].frames);
    is_int((intmax_t)stats->bytes_raw, (intmax_t)FRAMES * PIXELS * 4, "bytes, decoded");
    ok(stats->seconds > 0 && stats->devices[0].seconds > 0 && stats->devices[0].seconds <= stats->seconds,
       "a device is not busy for longer than the run");
    ok(r.seen.ticks >= 1, "progress is reported");
    r.seen = (struct seen){ .pipeline = r.pipeline };
    is_int(rig_run(&r, npy, 5, 17), 0, "the same pipeline runs again, on some frames");
    is_int((intmax_t)r.seen.n, 12, "those");
    is_int((intmax_t)r.seen.out_of_order, 0, "in order");
    rig_close(&r);
}

static void test_device_fails(const char *how, int status)
{
    struct rig r;
    char devices[128];
    hcy_pipeline_options opts = batches_of(4);
    /* The other one is so slow that, however late threads run, frames are left for the failing one's third batch. */
    snprintf(devices, sizeof devices, "null@kernels=noop@delay-us=2000,null:1@kernels=noop@delay-us=200@%s=3", how);
    if (!is_int(rig_open(&r, devices, npy, &opts), 0, "a pipeline with a device that will have %s", how))
        return;
    is_int(rig_run(&r, npy, 0, FRAMES), 0, "the run succeeds all the same");
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(r.pipeline);
    is_int((intmax_t)r.seen.n, FRAMES, "every frame comes out");
    is_int((intmax_t)r.seen.out_of_order, 0, "once, in order");
    is_int((intmax_t)r.seen.failed, 0, "none failed");
    is_int(stats->devices[0].error.status, 0, "one device is fine");
    is_int(stats->devices[1].error.status, status, "the other is reported, with its status");
    is_int((intmax_t)stats->devices[1].frames, 8, "it did two batches before");
    rig_close(&r);
}

/* The fast one is through long before the slow one's last batch. */
static void test_idle(void)
{
    struct rig r;
    hcy_pipeline_options opts = batches_of(4);
    if (!is_int(rig_open(&r, "null@kernels=noop,null:1@kernels=noop@delay-us=60000", npy, &opts), 0,
                "a pipeline on a fast device and one that takes 60 ms a frame"))
        return;
    for (int i = 0; i < 2; i++) {
        is_int(rig_run(&r, npy, 0, FRAMES), 0, "it runs");
        const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(r.pipeline);
        ok(stats->devices[0].idle > 0.1 && stats->devices[0].idle <= stats->seconds,
           "at the end one of them has nothing to do: %.3f of %.3f s", stats->devices[0].idle, stats->seconds);
        ok(stats->devices[0].idle + stats->devices[0].seconds <= stats->seconds * 1.001,
           "nor is it idle where it has work, or between runs");
        usleep(100000);
    }
    rig_close(&r);
}

/* Devices of the processors: the CPU's own first, others as far as their threads find processors. */
static void test_shares(void)
{
    struct rig r;
    char devices[128];
    hcy_pipeline_options opts = batches_of(4);
    const unsigned all = hcy_processors();
    snprintf(devices, sizeof devices, "cpu@threads=%u,cpu@threads=1", all);
    if (!is_int(rig_open(&r, devices, npy, &opts), 0, "two devices for the same processors"))
        return;
    is_int(rig_run(&r, npy, 0, FRAMES), 0, "it runs");
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(r.pipeline);
    is_int(stats->devices[0].stands_by, 0, "the first one works");
    is_int((intmax_t)stats->devices[0].frames, FRAMES, "and does everything");
    is_int(stats->devices[1].stands_by, 1, "the second stands by");
    rig_close(&r);
    snprintf(devices, sizeof devices, "cpu@threads=%u@fail-launch=3,cpu@threads=1", all);
    rig_open(&r, devices, npy, &opts);
    is_int(rig_run(&r, npy, 0, FRAMES), 0, "the first one fails");
    stats = hcy_pipeline_get_stats(r.pipeline);
    is_int((intmax_t)stats->devices[1].frames, FRAMES - 8, "the one that stood by does the rest");
    is_int((intmax_t)r.seen.failed, 0, "no frame failed");
    rig_close(&r);
    snprintf(devices, sizeof devices, "cpu@threads=%u@fail-launch=3,cpu@threads=1@discrete=1", all);
    rig_open(&r, devices, npy, &opts);
    is_int(rig_run(&r, npy, 0, FRAMES), 0, "so it is if that one has memory of its own");
    is_int((intmax_t)hcy_pipeline_get_stats(r.pipeline)->devices[1].frames, FRAMES - 8, "which does the rest");
    rig_close(&r);
    /* Fewer batches than the CPU is taken to be slower by: it is so where the run takes long, too. */
    opts = batches_of(16);
    rig_open(&r, "cpu@threads=1,null@kernels=noop", npy, &opts);
    is_int(rig_run(&r, npy, 0, FRAMES), 0, "the CPU beside an accelerator");
    stats = hcy_pipeline_get_stats(r.pipeline);
    is_int((intmax_t)stats->devices[0].frames, 0, "leaves a short run to it");
    is_int((intmax_t)stats->devices[1].frames, FRAMES, "which does all");
    rig_close(&r);
}

static double *curves_of(const char *devices, hcy_stack *stack, uint32_t flags, uint32_t batch);

/* Its frames go to the others; the memory that it may still use stays. */
static void test_hanging(void)
{
    struct rig r;
    hcy_pipeline_options opts = batches_of(4);
    double *reference = curves_of("cpu@threads=1", npy, 0, 16), *curves = calloc(FRAMES * 2 * BINS, sizeof *curves);
    opts.device_timeout = 2000000000;
    if (rig_open(&r, "null@kernels=noop@delay-us=60000000,cpu@threads=1", npy, &opts))
        bail_out("no pipeline");
    r.seen.curves = curves;
    is_int(rig_run(&r, npy, 0, FRAMES), 0, "a run with a device that hangs");
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(r.pipeline);
    is_int(stats->devices[0].error.status, HCY_ETIMEOUT, "it is given up: %s", stats->devices[0].error.text);
    is_int((intmax_t)r.seen.n, FRAMES, "every frame comes out");
    is_int((intmax_t)r.seen.out_of_order, 0, "once, in order");
    ok(!memcmp(curves, reference, FRAMES * 2 * BINS * sizeof *curves), "with its bits");
    rig_close(&r);
    free(curves);
    free(reference);
    /* It only seems to hang, and reads the plan's own tables, which the host and the pipeline have let go of. */
    hcy_azint_plan *kept = the_plan;
    the_plan = make_plan(HEIGHT, WIDTH);
    opts.device_timeout = 1;
    opts.flags |= HCY_PIPELINE_FEW;
    rig_open(&r, "cpu@threads=1", npy, &opts);
    hcy_azint_plan_release(the_plan);
    the_plan = kept;
    is_int(rig_run(&r, npy, 0, FRAMES), HCY_ETIMEOUT, "the only device over the limit ends the run");
    rig_close(&r);
    opts.flags &= ~(unsigned)HCY_PIPELINE_FEW;
    opts.device_timeout = 0;
    opts.latency = 1;
    rig_open(&r, "cpu@threads=1", npy, &opts);
    is_int(rig_run(&r, npy, 0, FRAMES), 0, "a latency that no device reaches");
    is_int((intmax_t)hcy_pipeline_get_stats(r.pipeline)->devices[0].batches, FRAMES, "is one frame at a time");
    rig_close(&r);
}

/* A batch behind another one on its device is not charged for that one's time. */
static void test_overdue(void)
{
    const uint64_t s = 1000000000, now = hcy_now_ns();
    struct hcy_pipeline p = { .opts = { .device_timeout = 5 * s } };
    struct pipe_worker w = { .pipeline = &p, .busy_until = now - s, .stats.name = "null" };
    struct pipe_lane lane = { .started = now - 8 * s };
    ok(!hcy__is_overdue(&w, &lane), "8 s after its submission, 1 s after the one before, a batch is not over 5 s");
    w.busy_until = now - 7 * s;
    ok(hcy__is_overdue(&w, &lane), "7 s after it, it is: %s", hcy_last_error()->text);
}

static void test_all_fail(void)
{
    struct rig r;
    hcy_pipeline_options opts = batches_of(4);
    if (!is_int(rig_open(&r, "null@kernels=noop@fail-launch=3,null:1@kernels=noop@fail-launch=5", npy, &opts),
                0, "a pipeline whose devices will all fail"))
        return;
    is_int(rig_run(&r, npy, 0, FRAMES), HCY_ELAUNCH, "the run ends with the last one's status");
    ok(r.seen.n < FRAMES && !r.seen.out_of_order, "what came out before is in order (%zu)", r.seen.n);
    is_int(rig_run(&r, npy, 0, FRAMES), HCY_ELAUNCH, "and says so again");
    is_int((intmax_t)hcy_pipeline_get_stats(r.pipeline)->done, 0, "the statistics are this run's, in which none was done");
    rig_close(&r);
}

static void test_bounds(void)
{
    struct rig r;
    hcy_pipeline_options opts = batches_of(2);
    if (!is_int(rig_open(&r, "null@kernels=noop,null:1@kernels=noop@delay-us=20000", npy, &opts), 0,
                "a pipeline whose second device is very slow"))
        return;
    r.seen.delay_us = 50;
    is_int(rig_run(&r, npy, 0, FRAMES), 0, "it runs");
    ok(r.seen.ahead <= r.pipeline->ring.window, "no more frames are on their way than the ring holds (%zu of %zu)",
       r.seen.ahead, r.pipeline->ring.window);
    ok(r.pipeline->ring.window < FRAMES, "the ring is smaller than the stack");
    is_int((intmax_t)r.seen.out_of_order, 0, "in order");
    rig_close(&r);
}

static void test_what_bounds(void)
{
    static const struct {
        const char *device;
        uint64_t sink_us;
        int bound;
    } cases[] = { { "null@kernels=noop@delay-us=3000", 0, HCY_PIPELINE_BY_DEVICES },
                  /* So long that a late begin on a busy machine is little beside it. */
                  { "null@kernels=noop", 8000, HCY_PIPELINE_BY_SINK } };
    hcy_pipeline_options opts = batches_of(4);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig r;
        if (rig_open(&r, cases[i].device, npy, &opts))
            bail_out("no pipeline");
        r.seen.delay_us = cases[i].sink_us;
        is_int(rig_run(&r, npy, 0, FRAMES), 0, "%s, a sink of %d us", cases[i].device, (int)cases[i].sink_us);
        const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(r.pipeline);
        is_int(stats->bound, cases[i].bound, "is bound by the %s", hcy_pipeline_bound_name(stats->bound));
        rig_close(&r);
    }
}

static void test_small_window(void)
{
    struct rig r;
    hcy_pipeline_options opts = batches_of(8);
    if (rig_open(&r, "null@kernels=noop,null:1@kernels=noop@delay-us=300", npy, &opts))
        bail_out("no pipeline");
    size_t window = r.pipeline->ring.window;
    r.pipeline->ring.window = 5; /* smaller than a batch: slots are closed before they are full */
    is_int(rig_run(&r, npy, 0, FRAMES), 0, "a ring smaller than a batch does not stop a run");
    r.pipeline->ring.window = window;
    is_int((intmax_t)r.seen.n, FRAMES, "all frames");
    is_int((intmax_t)r.seen.out_of_order, 0, "in order");
    rig_close(&r);
}

/* Frames of a few kilobytes go many a launch, also to a device that would be content with one. */
static void test_small_frames(void)
{
    const size_t bytes = (size_t)hcy_stack_get_info(npy)->frame_bytes;
    struct rig r;
    if (rig_open(&r, "null@kernels=noop", npy, NULL))
        bail_out("no pipeline");
    is_int(rig_run(&r, npy, 0, FRAMES), 0, "small frames");
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(r.pipeline);
    is_int((intmax_t)stats->batch, (intmax_t)(((size_t)1 << 20) / bytes), "a launch takes a megabyte of them");
    ok(stats->devices[0].batches < FRAMES / 2, "so there are few (%llu)", (unsigned long long)stats->devices[0].batches);
    is_int((intmax_t)r.seen.out_of_order, 0, "in order");
    rig_close(&r);
}

static void test_memory(void)
{
    struct rig r;
    hcy_pipeline_options opts = batches_of(4);
    hcy_pool_stats before, after;
    if (rig_open(&r, "null@kernels=noop", npy, &opts))
        bail_out("no pipeline");
    is_int(rig_run(&r, npy, 0, 20), 0, "a short run");
    int status = hcy_device_pool_stats(&before, r.devices[0]);
    size_t heap = mallinfo2().uordblks;
    is_int(rig_run(&r, npy, 0, FRAMES), 0, "a long one");
    size_t more = mallinfo2().uordblks;
    status = status ? status : hcy_device_pool_stats(&after, r.devices[0]);
    is_int(status, 0, "the pool's statistics");
    is_int((intmax_t)after.misses, (intmax_t)before.misses, "no device memory is allocated per frame");
    is_int((intmax_t)after.peak, (intmax_t)before.peak, "its peak is the same");
    uint64_t memory = hcy_pipeline_get_stats(r.pipeline)->devices[0].memory;
    ok(memory > 1000 && memory <= after.peak, "of which it says how much is its own (%llu)", (unsigned long long)memory);
    ok(more < heap + 64 * FRAMES, "nor is the heap larger afterwards (%zu, %zu)", heap, more);
    rig_close(&r);
}

static void test_short(void)
{
    struct rig r;
    if (rig_open(&r, "null@kernels=noop@delay-us=40000,null:1@kernels=noop@delay-us=40000", npy, NULL))
        bail_out("no pipeline");
    is_int(rig_run(&r, npy, 10, 15), 0, "five frames for two devices");
    const hcy_pipeline_device *d = hcy_pipeline_get_stats(r.pipeline)->devices;
    ok(d[0].frames + d[1].frames == 5 && d[0].frames >= 2 && d[1].frames >= 2, "are shared: %llu and %llu",
       (unsigned long long)d[0].frames, (unsigned long long)d[1].frames);
    rig_close(&r);
}

/* Devices of one kind have one table of a plan, unless they are tied to cores. */
static void test_tables(void)
{
    static const char *const names[] = { "cpu@threads=1", "cpu@threads=2", "cpu@cores=0", "cpu@threads=1" };
    hcy_buffer *tables[4] = { NULL };
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_plan_tables(spans, the_plan);
    for (int i = 0; i < 4; i++) {
        hcy_device *device = NULL;
        hcy_kernel *kernel = NULL;
        if (hcy_device_open(&device, names[i]) || hcy_kernel_get(&kernel, device, i ? "bslz4_azint" : "azint_image") ||
            hcy_kernel_prepare(&tables[i], kernel, spans, HCY_AZINT_SPANS))
            diag("%s: %s", names[i], hcy_last_error()->text); /* core 0 may be somebody else's */
        hcy_kernel_release(kernel);
        hcy_device_release(device);
        if (i == 2)
            hcy_buffer_release(tables[0]);
    }
    void *shared = hcy_buffer_host(tables[1]);
    ok(shared && hcy_buffer_host(tables[3]) == shared, "two devices have one table");
    ok(!tables[2] || hcy_buffer_host(tables[2]) != shared, "a device with cores of its own has its own");
    for (int i = 1; i < 4; i++)
        hcy_buffer_release(tables[i]);
}

static void test_endings(void)
{
    struct rig r;
    hcy_pipeline_options opts = batches_of(4);
    if (rig_open(&r, "null@kernels=noop@delay-us=50,null:1@kernels=noop@delay-us=50", npy, &opts))
        bail_out("no pipeline");
    r.seen.cancel_at = 10;
    is_int(rig_run(&r, npy, 0, FRAMES), HCY_ECANCELLED, "a cancelled run says so");
    is_int((intmax_t)r.seen.n, 10, "and stops at once");
    r.seen = (struct seen){ .pipeline = r.pipeline, .stop_at = 7 };
    is_int(rig_run(&r, npy, 0, FRAMES), HCY_EIO, "the sink's failure ends the run");
    is_str(hcy_last_error()->text, "the sink is full", "with its words");
    is_int((intmax_t)r.seen.n, 7, "at once");
    r.seen = (struct seen){ .pipeline = r.pipeline };
    is_int(rig_run(&r, npy, 0, FRAMES), 0, "then a whole run");
    is_int((intmax_t)r.seen.n, FRAMES, "has every frame");
    is_int(rig_run(&r, npy, 10, 10), HCY_ERANGE, "no frames are a mistake");
    is_int(rig_run(&r, npy, 0, FRAMES + 1), HCY_ERANGE, "as are more than there are");
    hcy_pipeline_cancel(r.pipeline);
    is_int(rig_run(&r, npy, 0, FRAMES), HCY_ECANCELLED, "cancelling before a run counts too");
    rig_close(&r);
}

/* Without compression, only the dataset knows the size of the blocks. */
static void test_source(void)
{
    hcy_stack_info info = *hcy_stack_get_info(npy);
    info.codec = HCY_CODEC_BITSHUFFLE;
    info.block_bytes = 1024;
    info.max_chunk = 77;
    hcy_pipeline_source source = hcy_pipeline_source_of(&info);
    is_int(source.coding.codec, HCY_CODEC_BITSHUFFLE, "a stack's codec reaches the devices");
    is_int(source.coding.block_bytes, 1024, "and its blocks' size");
    is_int((intmax_t)source.coding.image_bytes, PIXELS * 4, "and its frames'");
    is_int(source.coding.elem_size, 4, "and its pixels'");
    is_int(source.pixel_type, HCY_PIXEL_U32, "and their type");
    is_int((intmax_t)source.max_chunk, 77, "and how large a chunk may be");
}

static void test_arguments(void)
{
    hcy_pipeline_source source = hcy_pipeline_source_of(hcy_stack_get_info(npy));
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_azint_plan *other = make_plan(HEIGHT, WIDTH / 2);
    hcy_device *device = NULL, *none = NULL;
    hcy_pipeline *p = NULL;
    if (hcy_device_open(&device, "null@kernels=noop") || hcy_device_open(&none, "null"))
        bail_out("no null device: %s", hcy_last_error()->text);
    is_int(hcy_pipeline_create(&p, &device, 0, the_plan, &source, NULL), HCY_EINVAL, "no device");
    is_int(hcy_pipeline_create(&p, &device, 1, NULL, &source, NULL), HCY_EINVAL, "no plan");
    ok(strstr(hcy_last_error()->text, "no plan") != NULL, "which is said");
    is_int(hcy_pipeline_create(&p, (hcy_device *[]){ device, NULL }, 2, the_plan, &source, NULL), HCY_EINVAL,
           "a device that was not opened");
    ok(strstr(hcy_last_error()->text, "device 1 of 2") != NULL, "and which one");
    is_int(hcy_pipeline_create(&p, &device, 1, other, &source, NULL), HCY_EINVAL, "a plan of another shape");
    hcy_pipeline_source halves = source;
    halves.coding.elem_size = 2;
    is_int(hcy_pipeline_create(&p, &device, 1, the_plan, &halves, NULL), HCY_EINVAL, "elements of another size");
    ok(strstr(hcy_last_error()->text, "elements of 2"), "... which are named");
    is_int(hcy_pipeline_create(&p, &none, 1, the_plan, &source, NULL), HCY_EUNSUPPORTED,
           "a device without kernels");
    opts.readers = 1000;
    is_int(hcy_pipeline_create(&p, &device, 1, the_plan, &source, &opts), HCY_EINVAL, "a thousand readers");
    opts.readers = 0;
    opts.flags = HCY_PIPELINE_MEANS | 1u << 30;
    is_int(hcy_pipeline_create(&p, &device, 1, the_plan, &source, &opts), HCY_EINVAL, "a flag that there is not");
    ok(strstr(hcy_last_error()->text, "0x40000000 is none") != NULL, "and which");
    ok(!p, "no pipeline comes of it");
    hcy_azint_plan_release(other);
    hcy_device_release(device);
    hcy_device_release(none);
}

/* --- Results --- */

static void test_broken_frames(void)
{
    struct rig r;
    hcy_pipeline_options opts = batches_of(8);
    if (!h5) {
        skip(8, "this build writes no HDF5");
        return;
    }
    if (rig_open(&r, "cpu@threads=1", h5, &opts))
        bail_out("no pipeline");
    is_int(rig_run(&r, npy, 0, 1), HCY_EINVAL, "a stack that is coded in another way");
    ok(strstr(hcy_last_error()->text, "frames (plain, pixels of uint") &&
           strstr(hcy_last_error()->text, "for (bitshuffle and LZ4, pixels of uint"), "which is said");
    is_int(rig_run(&r, h5, 0, FRAMES), 0, "a run over a stack with a damaged and a missing frame");
    is_int((intmax_t)r.seen.n, FRAMES, "every frame is reported");
    is_int((intmax_t)r.seen.failed, 2, "two of them failed");
    is_int((intmax_t)r.seen.failed_first, BROKEN, "the damaged one");
    is_int((intmax_t)r.seen.failed_last, MISSING, "and the one that was never written");
    ok(r.seen.why[0], "in words: %s", r.seen.why);
    rig_close(&r);
}

static double *curves_of(const char *devices, hcy_stack *stack, uint32_t flags, uint32_t batch)
{
    struct rig r;
    hcy_pipeline_options opts = batches_of(batch);
    double *curves = calloc(FRAMES * 2 * BINS, sizeof *curves);
    opts.flags = flags;
    if (!curves || rig_open(&r, devices, stack, &opts))
        bail_out("no pipeline on %s", devices);
    r.seen.curves = curves;
    if (rig_run(&r, stack, 0, FRAMES))
        bail_out("%s: %s", devices, hcy_last_error()->text);
    is_int(hcy_pipeline_get_stats(r.pipeline)->devices[0].two_stage, (flags & HCY_PIPELINE_TWO_STAGE) != 0,
           "%s says which way it took", devices);
    ok(!r.seen.with_sums == !!(flags & HCY_PIPELINE_MEANS), "results have sums, but where means are asked for");
    rig_close(&r);
    return curves;
}

static void test_same_bits(void)
{
    static const struct {
        const char *devices;
        uint32_t flags, batch;
    } ways[] = {
        { "cpu@threads=2", 0, 0 },
        { "cpu@threads=1", 0, 1 },
        { "cpu@threads=1,cpu@threads=1", 0, 7 },
        { "cpu@threads=2", HCY_PIPELINE_COPY, 5 },
        { "cpu@threads=2", HCY_PIPELINE_MEANS, 5 },
        { "cpu@threads=2", HCY_PIPELINE_TWO_STAGE, 16 },
        { "cpu@threads=1,cpu@threads=2", HCY_PIPELINE_TWO_STAGE | HCY_PIPELINE_COPY, 3 },
        { "cpu@threads=1@simd=portable", 0, 16 },
    };
    hcy_stack *stack = h5 ? h5 : npy;
    double *reference = curves_of("cpu@threads=1", stack, 0, 16);
    double sum = 0;
    for (size_t i = 0; i < FRAMES * 2 * BINS; i++)
        sum += reference[i];
    ok(sum > FRAMES * BINS * 100.0, "the curves are not empty");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        double *curves = curves_of(ways[i].devices, stack, ways[i].flags, ways[i].batch);
        ok(!memcmp(curves, reference, FRAMES * 2 * BINS * sizeof *curves),
           "%s, flags %u, batches of %u: the same bits", ways[i].devices, ways[i].flags, ways[i].batch);
        free(curves);
    }
    if (h5) { /* the two stacks hold the same pixels, but for two frames */
        double *plain = curves_of("cpu@threads=1", npy, 0, 16);
        memset(plain + BROKEN * 2 * BINS, 0, 2 * BINS * sizeof *plain);
        memset(plain + MISSING * 2 * BINS, 0, 2 * BINS * sizeof *plain);
        ok(!memcmp(plain, reference, FRAMES * 2 * BINS * sizeof *plain), "plain pixels: the same bits");
        free(plain);
    }
    free(reference);
}

int main(void)
{
    snprintf(npy_path, sizeof npy_path, "pipeline-%ld.npy", (long)getpid());
    snprintf(h5_path, sizeof h5_path, "pipeline-%ld.h5", (long)getpid());
    make_npy(npy_path);
    if (hcy_stack_open(&npy, npy_path, NULL))
        bail_out("%s: %s", npy_path, hcy_last_error()->text);
    if (make_h5() || hcy_stack_open(&h5, h5_path, NULL))
        diag("no HDF5 stack: %s", hcy_last_error()->text);
    the_plan = make_plan(HEIGHT, WIDTH);
    test_order();
    test_device_fails("fail-launch", HCY_ELAUNCH);
    test_device_fails("lose-launch", HCY_ELOST);
    test_idle();
    test_shares();
    test_hanging();
    test_overdue();
    test_all_fail();
    test_bounds();
    test_what_bounds();
    test_small_window();
    test_small_frames();
    test_memory();
    test_short();
    test_tables();
    test_endings();
    test_source();
    test_arguments();
    test_broken_frames();
    test_same_bits();
    hcy_azint_plan_release(the_plan);
    hcy_stack_close(npy);
    hcy_stack_close(h5);
    unlink(npy_path);
    unlink(h5_path);
    return done_testing();
}
