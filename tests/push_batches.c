/* push_batches.c - how frames that are copied for a device come together in batches, while some of them are still being
 * copied, and how a push ends: counted, with a device that computes nothing. */
#include "pipeline_scene.h"

#include <halcyon/device.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 12, SLOTS = 4, FEEDERS = 4 };

static uint8_t *chunk;
static size_t chunk_bytes;
static atomic_size_t n_back, n_curves;
static sem_t held;  /* frame 0's feeder has copied it, */
static sem_t go_on; /* and keeps its place until then */

static void take_back(void *payload, uint64_t number, int status)
{
    (void)number;
    (void)status;
    if (payload) {
        sem_post(&held);
        sem_wait(&go_on);
    }
    atomic_fetch_add(&n_back, 1);
}

static int count_curve(void *payload, const hcy_pipeline_frame *frame)
{
    (void)payload;
    atomic_fetch_add(&n_curves, frame->result != NULL);
    return 0;
}

static void make_chunk(const hcy_bslz4_job *coding)
{
    uint32_t pixels[PIXELS];
    size_t bound;
    make_frame(pixels, 0);
    if (hcy_bslz4_encode_bound(&bound, coding) || !(chunk = malloc(bound)) ||
        hcy_bslz4_encode(&chunk_bytes, chunk, bound, coding, pixels))
        bail_out("no chunk: %s", hcy_last_error()->text);
}

static int fail_curve(void *payload, const hcy_pipeline_frame *frame)
{
    (void)payload;
    (void)frame;
    sem_post(&held);
    return hcy_fail(HCY_EIO, "the disk is full");
}

static hcy_pipeline *start(const char *name, const hcy_azint_plan *plan, const hcy_bslz4_job *coding, uint32_t batch,
                           hcy_pipeline_sink sink, uint64_t limit)
{
    hcy_pipeline_source source = { .coding = *coding, .pixel_type = HCY_PIXEL_U32 };
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    hcy_device *device = NULL;
    hcy_pipeline *p = NULL;
    opts.batch = batch;
    opts.readers = FEEDERS;
    opts.flags = HCY_PIPELINE_COPY;
    opts.device_timeout = limit;
    push.sink = sink;
    atomic_store(&n_back, 0);
    atomic_store(&n_curves, 0);
    if (hcy_device_open(&device, name) || hcy_pipeline_create(&p, &device, 1, plan, &source, &opts) ||
        hcy_pipeline_start(p, &push))
        bail_out("%s: %s", name, hcy_last_error()->text);
    hcy_device_release(device);
    return p;
}

/* While one place of a slot that the idle device has closed is being filled, frames gather in the next. */
static void test_gathering(const hcy_azint_plan *plan, const hcy_bslz4_job *coding)
{
    hcy_pipeline *p = start("null@kernels=noop", plan, coding, 2 * N, count_curve, 0);
    int status = hcy_pipeline_submit(p, chunk, chunk_bytes, 0, take_back, &held);
    sem_wait(&held);
    for (uint64_t i = 1; i < N && !status; i++) {
        status = hcy_pipeline_submit(p, chunk, chunk_bytes, i, take_back, NULL);
        while (!status && atomic_load(&n_back) < i)
            usleep(1000);
        /* For the device, which would take the frame alone; whether it does so in time matters to its failure alone. */
        usleep(10000);
    }
    sem_post(&go_on);
    is_int(status, 0, "%d frames, the first of which takes long to copy", N);
    is_int(hcy_pipeline_finish(p), 0, "finished");
    is_int((intmax_t)atomic_load(&n_curves), N, "all of them have curves");
    const uint64_t batches = hcy_pipeline_get_stats(p)->devices[0].batches;
    ok(batches <= 2, "in two batches at most: %llu", (unsigned long long)batches);
    hcy_pipeline_destroy(p);
}

/* Beside the two batches that a device has, one may be ready and another one is filled. */
static void test_slots(const hcy_azint_plan *plan, const hcy_bslz4_job *coding)
{
    hcy_pipeline *p = start("null@kernels=noop@delay-us=1000000", plan, coding, 1, count_curve, 0);
    int status = 0;
    for (uint64_t i = 0; i < SLOTS && !status; i++)
        status = hcy_pipeline_submit(p, chunk, chunk_bytes, i, take_back, NULL);
    while (!status && atomic_load(&n_back) < SLOTS && !atomic_load(&n_curves))
        usleep(1000);
    is_int(status, 0, "%d frames, each a batch of a slow device", SLOTS);
    is_int((intmax_t)atomic_load(&n_curves), 0, "all of them are copied before it has done the first");
    is_int(hcy_pipeline_finish(p), 0, "finished");
    hcy_pipeline_destroy(p);
}

/* Its sink fails at the last frame, while somebody waits for that one. */
static void test_last_frame(const hcy_azint_plan *plan, const hcy_bslz4_job *coding)
{
    int lost = 0;
    for (int i = 0; i < 100; i++) {
        hcy_pipeline *p = start("null@kernels=noop", plan, coding, 1, fail_curve, 0);
        int status = hcy_pipeline_submit(p, chunk, chunk_bytes, 0, NULL, NULL);
        sem_wait(&held);
        lost += status || hcy_pipeline_finish(p) != HCY_EIO || !strstr(hcy_last_error()->text, "disk is full");
        hcy_pipeline_destroy(p);
    }
    is_int(lost, 0, "a sink that fails at the last frame fails the finish");
}

static void test_cancelled(const hcy_azint_plan *plan, const hcy_bslz4_job *coding)
{
    hcy_pipeline *p = start("null@kernels=noop", plan, coding, 1, NULL, 0);
    int status = 0;
    for (uint64_t i = 0; i < 3 && !status; i++)
        status = hcy_pipeline_submit(p, chunk, chunk_bytes, i, NULL, NULL);
    hcy_pipeline_cancel(p);
    is_int(status, 0, "frames that nobody polls for");
    is_int(hcy_pipeline_finish(p), HCY_ECANCELLED, "are cancelled: %s", hcy_last_error()->text);
    hcy_pipeline_destroy(p);
}

/* One of its batches fails while another one hangs: that one is waited for no longer than it may take. */
static void test_hanging(const hcy_azint_plan *plan, const hcy_bslz4_job *coding)
{
    hcy_pipeline *p = start("null@kernels=noop@delay-us=3600000000@fail-launch=2", plan, coding, 1, count_curve, 100000000);
    int status = 0;
    for (uint64_t i = 0; i < 2 && !status; i++)
        status = hcy_pipeline_submit(p, chunk, chunk_bytes, i, NULL, NULL);
    is_int(status, 0, "two frames for a device that does neither");
    status = hcy_pipeline_finish(p);
    ok(status == HCY_ELAUNCH || status == HCY_ETIMEOUT, "a device that fails beside a batch that hangs is left: %s",
       hcy_last_error()->text);
    hcy_pipeline_destroy(p);
}

int main(void)
{
    const hcy_bslz4_job coding = { .codec = HCY_CODEC_BSLZ4, .elem_size = 4, .image_bytes = PIXELS * 4 };
    hcy_azint_plan *plan = make_plan(HEIGHT, WIDTH);
    sem_init(&held, 0, 0);
    sem_init(&go_on, 0, 0);
    make_chunk(&coding);
    test_gathering(plan, &coding);
    test_slots(plan, &coding);
    test_last_frame(plan, &coding);
    test_cancelled(plan, &coding);
    test_hanging(plan, &coding);
    hcy_azint_plan_release(plan);
    free(chunk);
    return done_testing();
}
