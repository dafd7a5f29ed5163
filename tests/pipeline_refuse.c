/* pipeline_refuse.c - frames that a device does not take go to another device of the run, with the same bits.
 *
 * The devices are CPUs.  A refusal is what a kernel would have written into its reports: it is written here, behind
 * each launch on a device that refuses. */
#include "pipeline_scene.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { EVERY = 3 }; /* of a batch's frames one is refused */

static hcy_azint_plan *the_plan;
static hcy_stack *the_stack;
static hcy_device *refusing[2];
static int every = 1;
static atomic_int at_setup; /* the first device refuses what is asked before any frame */

int __real_hcy_launch(hcy_queue *queue, hcy_kernel *kernel, size_t items, const hcy_arg *args, size_t n);
int __wrap_hcy_launch(hcy_queue *queue, hcy_kernel *kernel, size_t items, const hcy_arg *args, size_t n);
int __wrap_hcy_launch(hcy_queue *queue, hcy_kernel *kernel, size_t items, const hcy_arg *args, size_t n)
{
    int status = __real_hcy_launch(queue, kernel, items, args, n);
    hcy_buffer *reports = args[n - 2].v.buf;
    const int32_t no = HCY_EUNSUPPORTED;
    hcy_device *dev = hcy_buffer_device(reports);
    if (dev != refusing[0] && dev != refusing[1])
        return status;
    for (size_t i = 0; !status && i < items; i += (size_t)every)
        status = hcy_buffer_fill(queue, reports, i * sizeof(hcy_frame_report), sizeof no, &no, sizeof no);
    return status;
}

int __real_hcy_kernel_preferred_batch(hcy_kernel *kernel, const hcy_arg *args, size_t n, size_t *items);
int __wrap_hcy_kernel_preferred_batch(hcy_kernel *kernel, const hcy_arg *args, size_t n, size_t *items);
int __wrap_hcy_kernel_preferred_batch(hcy_kernel *kernel, const hcy_arg *args, size_t n, size_t *items)
{
    if (atomic_load(&at_setup) && atomic_fetch_sub(&at_setup, 1) > 0)
        return hcy_fail(HCY_EUNSUPPORTED, "no such pixels here");
    return __real_hcy_kernel_preferred_batch(kernel, args, n, items);
}

static atomic_size_t most_spans;
int __real_hcy_kernel_prepare(hcy_buffer **tables, hcy_kernel *kernel, const hcy_span *spans, size_t n);
int __wrap_hcy_kernel_prepare(hcy_buffer **tables, hcy_kernel *kernel, const hcy_span *spans, size_t n);
int __wrap_hcy_kernel_prepare(hcy_buffer **tables, hcy_kernel *kernel, const hcy_span *spans, size_t n)
{
    if (n > atomic_load(&most_spans))
        atomic_store(&most_spans, n);
    return __real_hcy_kernel_prepare(tables, kernel, spans, n);
}

/* --- Runs --- */

struct seen {
    double curves[FRAMES][BINS];
    size_t n, failed, by[3];
    char why[300];
};

static int see(void *payload, const hcy_pipeline_frame *frame)
{
    struct seen *s = payload;
    if (frame->number != s->n++)
        return hcy_fail(HCY_EINVAL, "frame %llu is out of order", (unsigned long long)frame->number);
    s->by[frame->device]++;
    if (frame->result)
        memcpy(s->curves[frame->number], frame->result->intensity, sizeof s->curves[0]);
    else
        snprintf(s->why, sizeof s->why, "%s", frame->why);
    s->failed += !frame->result;
    return 0;
}

struct rig {
    hcy_device **devices;
    size_t n;
    hcy_pipeline *pipeline;
    struct seen *seen;
};

/* `refuse`: how many of the last devices do. */
static int rig_open(struct rig *r, const char *names, size_t refuse, uint32_t flags)
{
    hcy_pipeline_source source = hcy_pipeline_source_of(hcy_stack_get_info(the_stack));
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    opts.batch = 4;
    opts.flags = flags;
    r->seen = calloc(1, sizeof *r->seen);
    r->pipeline = NULL;
    if (!r->seen || hcy_device_open_list(&r->devices, &r->n, names))
        bail_out("no devices %s", names);
    for (size_t i = 0; i < 2; i++)
        refusing[i] = i < refuse ? r->devices[r->n - 1 - i] : NULL;
    return hcy_pipeline_create(&r->pipeline, r->devices, r->n, the_plan, &source, &opts);
}

static void rig_close(struct rig *r)
{
    hcy_pipeline_destroy(r->pipeline);
    for (size_t i = 0; i < r->n; i++)
        hcy_device_release(r->devices[i]);
    hcy_list_free(r->devices);
    free(r->seen);
}

static int rig_run(struct rig *r)
{
    return hcy_pipeline_run(r->pipeline, the_stack, 0, FRAMES, see, NULL, r->seen);
}

/* Every way with one device that takes all: its bits. */
static void test_handed(const struct seen *good, const char *names, size_t refuse, int step, uint32_t flags)
{
    struct rig r;
    every = step;
    if (!is_int(rig_open(&r, names, refuse, flags), 0, "%s, of which %zu refuse one frame of %d", names, refuse, step))
        return;
    is_int(rig_run(&r), 0, "the run succeeds");
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(r.pipeline);
    is_int((intmax_t)r.seen->n, FRAMES, "every frame comes out, in order");
    is_int((intmax_t)r.seen->failed, 0, "none failed");
    ok(!memcmp(r.seen->curves, good->curves, sizeof good->curves), "all bits are those of a device that takes all");
    uint64_t frames = 0;
    for (size_t i = 0; i < r.n; i++)
        frames += stats->devices[i].frames;
    is_int((intmax_t)frames, FRAMES, "each is counted once");
    ok(step > 1 || stats->devices[0].frames == FRAMES, "who refuses all has none");
    rig_close(&r);
}

static void test_nobody(const char *names, size_t n, const char *word)
{
    struct rig r;
    every = EVERY;
    if (!is_int(rig_open(&r, names, n, 0), 0, "%s, all of which refuse", names))
        return;
    is_int(rig_run(&r), 0, "the run goes on");
    is_int((intmax_t)r.seen->n, FRAMES, "every frame comes out, in order");
    ok(r.seen->failed >= FRAMES / 4 && r.seen->failed < FRAMES, "what nobody takes has failed (%zu)", r.seen->failed);
    ok(strstr(r.seen->why, word) && strstr(r.seen->why, "does not take"), "and says so: %s", r.seen->why);
    rig_close(&r);
}

static void test_left_out(const struct seen *good)
{
    struct rig r;
    every = 1;
    atomic_store(&at_setup, 1);
    if (!is_int(rig_open(&r, "cpu@threads=1,cpu@threads=1", 0, 0), 0, "a device that takes none is left out"))
        return;
    is_int(rig_run(&r), 0, "the run succeeds");
    const hcy_pipeline_device *d = hcy_pipeline_get_stats(r.pipeline)->devices;
    ok(!r.seen->failed && !memcmp(r.seen->curves, good->curves, sizeof good->curves), "with the same bits");
    is_int(d[0].error.status + d[1].error.status, HCY_EUNSUPPORTED, "one device is reported");
    ok(strstr(d[0].error.text, "such pixels") || strstr(d[1].error.text, "such pixels"), "in its words");
    rig_close(&r);
    if (is_int(rig_open(&r, "null,cpu@threads=1,null:1", 0, 0), 0, "as are those that have no kernels"))
        is_int(rig_run(&r), 0, "the run succeeds");
    rig_close(&r);
    atomic_store(&at_setup, 2);
    is_int(rig_open(&r, "cpu@threads=1,cpu@threads=1", 0, 0), HCY_EUNSUPPORTED, "with no device left there is no run");
    is_str(hcy_last_error()->text, "no such pixels here", "in the device's words");
    rig_close(&r);
}

/* The push form: chunks in the host's memory are held until a device has done them. */
static void count_back(void *payload, uint64_t number, int status)
{
    (void)number;
    atomic_fetch_add((atomic_int *)payload, status == 0);
}

static void test_push(void)
{
    struct rig r;
    atomic_int back = 0;
    uint32_t(*memory)[PIXELS] = aligned_alloc(4096, FRAMES * sizeof *memory);
    hcy_pipeline_push_options opts = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    every = EVERY;
    if (!memory || !is_int(rig_open(&r, "cpu@threads=1,cpu@threads=1", 1, 0), 0, "the push form"))
        return;
    opts.sink = see;
    opts.payload = r.seen;
    opts.memory = memory;
    opts.memory_size = FRAMES * sizeof *memory;
    int status = hcy_pipeline_start(r.pipeline, &opts);
    for (uint64_t i = 0; !status && i < FRAMES; i++) {
        make_frame(memory[i], i);
        status = hcy_pipeline_submit(r.pipeline, memory[i], sizeof memory[i], i, count_back, &back);
    }
    int finished = hcy_pipeline_finish(r.pipeline);
    is_int(status ? status : finished, 0, "takes all");
    is_int((intmax_t)(r.seen->n - r.seen->failed), FRAMES, "has all results");
    is_int(atomic_load(&back), FRAMES, "and gives every chunk back once");
    rig_close(&r);
    free(memory);
}

int main(void)
{
    char path[64];
    struct rig r;
    snprintf(path, sizeof path, "refuse-%ld.npy", (long)getpid());
    make_npy(path);
    the_plan = make_plan(HEIGHT, WIDTH);
    if (hcy_stack_open(&the_stack, path, NULL))
        bail_out("no stack: %s", hcy_last_error()->text);
    if (rig_open(&r, "cpu@threads=1", 0, 0) || rig_run(&r))
        bail_out("no curves: %s", hcy_last_error()->text);
    is_int((intmax_t)atomic_load(&most_spans), HCY_AZINT_SPANS, "of a plan that is not kept devices get no name for tables");
    test_handed(r.seen, "cpu@threads=1,cpu@threads=1", 1, EVERY, 0);
    test_handed(r.seen, "cpu@threads=1,cpu@threads=1", 1, 1, HCY_PIPELINE_COPY);
    test_handed(r.seen, "cpu@threads=1,cpu@threads=1,cpu@threads=1", 2, EVERY, HCY_PIPELINE_COPY);
    test_handed(r.seen, "cpu@threads=1,cpu@threads=1", 1, EVERY, HCY_PIPELINE_TWO_STAGE);
    test_nobody("cpu@threads=1", 1, "add another device");
    test_nobody("cpu@threads=1,cpu@threads=1", 2, "nor does another");
    test_left_out(r.seen);
    test_push();
    rig_close(&r);
    hcy_stack_close(the_stack);
    hcy_azint_plan_release(the_plan);
    unlink(path);
    return done_testing();
}
