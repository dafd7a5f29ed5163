/* pipeline_push.c - frames submitted from memory: the same bits as pulled ones, every chunk given back once,
 * order, bounds, dropping, endings, latencies, and no allocation on the way. */
#include "pipeline_scene.h"

#include <halcyon/device.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static hcy_azint_plan *the_plan;
static hcy_bslz4_job coding = { .codec = HCY_CODEC_BSLZ4, .elem_size = 4, .image_bytes = PIXELS * 4 };

/* --- Allocations, counted --- */

static atomic_size_t n_allocated;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_posix_memalign(void **memory, size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_posix_memalign(void **memory, size_t align, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

void *__wrap_malloc(size_t size)
{
    atomic_fetch_add(&n_allocated, 1);
    return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    atomic_fetch_add(&n_allocated, 1);
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    atomic_fetch_add(&n_allocated, 1);
    return __real_realloc(old, size);
}

int __wrap_posix_memalign(void **memory, size_t align, size_t size)
{
    atomic_fetch_add(&n_allocated, 1);
    return __real_posix_memalign(memory, align, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    atomic_fetch_add(&n_allocated, 1);
    return __real_aligned_alloc(align, size);
}

/* --- Copies to devices --- */

static atomic_size_t longest_write; /* bytes */

int __real_hcy_buffer_write(hcy_queue *queue, hcy_buffer *dst, size_t offset, const void *src, size_t size);
int __wrap_hcy_buffer_write(hcy_queue *queue, hcy_buffer *dst, size_t offset, const void *src, size_t size);
int __wrap_hcy_buffer_write(hcy_queue *queue, hcy_buffer *dst, size_t offset, const void *src, size_t size)
{
    if (size > atomic_load(&longest_write))
        atomic_store(&longest_write, size);
    return __real_hcy_buffer_write(queue, dst, offset, src, size);
}

/* --- Devices that cannot be shown a host's memory --- */

static int import_fails;

int __real_hcy_buffer_import_host(hcy_buffer **buf, hcy_device *dev, void *host, size_t size, void (*done)(void *),
                                  void *payload);
int __wrap_hcy_buffer_import_host(hcy_buffer **buf, hcy_device *dev, void *host, size_t size, void (*done)(void *),
                                  void *payload);
int __wrap_hcy_buffer_import_host(hcy_buffer **buf, hcy_device *dev, void *host, size_t size, void (*done)(void *),
                                  void *payload)
{
    if (import_fails)
        return hcy_fail(HCY_EUNSUPPORTED, "this memory cannot be registered");
    return __real_hcy_buffer_import_host(buf, dev, host, size, done, payload);
}

/* --- A host: a ring of chunks, which it damages when it gets them back --- */

struct chunk {
    uint8_t *at;
    size_t size;
    atomic_int back, status;
};

static uint8_t *memory;
static size_t memory_size, chunk_bytes;
static int even;
static uint32_t small_blocks; /* 0: the format's default */
static struct chunk chunks[FRAMES];
static atomic_size_t n_back, n_cancelled;

static void make_chunks(void)
{
    uint32_t pixels[PIXELS];
    size_t bound;
    if (hcy_bslz4_encode_bound(&bound, &coding))
        bail_out("no bound");
    /* Odd addresses, or those that devices' own copies may have, too. */
    bound = even ? (bound + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN : bound + 7;
    chunk_bytes = bound;
    memory_size = FRAMES * bound;
    free(memory);
    memory = malloc(memory_size);
    for (uint64_t i = 0; i < FRAMES; i++) {
        chunks[i] = (struct chunk){ .at = memory + i * bound };
        make_frame(pixels, i);
        hcy_bslz4_job how = coding;
        how.block_bytes = small_blocks;
        if (hcy_bslz4_encode(&chunks[i].size, chunks[i].at, bound, &how, pixels))
            bail_out("no chunk: %s", hcy_last_error()->text);
    }
    atomic_store(&n_back, 0);
    atomic_store(&n_cancelled, 0);
}

static void take_back(void *payload, uint64_t number, int status)
{
    struct chunk *c = payload;
    memset(c->at, 0xff, c->size);
    atomic_store(&c->status, status);
    atomic_fetch_add(&c->back, c == &chunks[number % FRAMES] ? 1 : 1000);
    atomic_fetch_add(&n_cancelled, status == HCY_ECANCELLED);
    atomic_fetch_add(&n_back, 1);
}

static int once(size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (atomic_load(&chunks[i].back) != 1)
            return 0;
    return 1;
}

/* --- A sink, a pipeline --- */

struct seen {
    size_t n, out_of_order, failed;
    uint64_t next, last, dropped, delay_us, stop_at, cancel_at;
    hcy_pipeline *pipeline;
    double *curves;
    char why[512];
};

static int see(void *payload, const hcy_pipeline_frame *frame)
{
    struct seen *s = payload;
    s->out_of_order += frame->number != s->next + frame->dropped;
    s->next = frame->number + 1;
    s->dropped += frame->dropped;
    s->last = frame->number;
    s->n++;
    if (!frame->result) {
        s->failed++;
        snprintf(s->why, sizeof s->why, "%s", frame->why);
    } else if (s->curves) {
        memcpy(s->curves + frame->number * 2 * BINS, frame->result->intensity, BINS * sizeof(double));
        memcpy(s->curves + frame->number * 2 * BINS + BINS, frame->result->sigma, BINS * sizeof(double));
    }
    if (s->delay_us)
        usleep((useconds_t)s->delay_us);
    if (s->cancel_at == s->n)
        hcy_pipeline_cancel(s->pipeline);
    return s->stop_at && s->n == s->stop_at ? hcy_fail(HCY_EIO, "the sink is full") : 0;
}

struct rig {
    hcy_device **devices;
    size_t n;
    hcy_pipeline *pipeline;
    hcy_pipeline_push_options push;
    struct seen seen;
};

static void rig_open(struct rig *r, const char *devices, uint32_t batch, uint32_t flags)
{
    hcy_pipeline_source source = { .coding = coding, .pixel_type = HCY_PIXEL_U32 };
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    memset(r, 0, sizeof *r);
    opts.batch = batch;
    opts.flags = flags;
    opts.readers = 2;
    if (hcy_device_open_list(&r->devices, &r->n, devices) ||
        hcy_pipeline_create(&r->pipeline, r->devices, r->n, the_plan, &source, &opts))
        bail_out("%s: %s", devices, hcy_last_error()->text);
    r->push = (hcy_pipeline_push_options)HCY_PIPELINE_PUSH_OPTIONS_INIT;
    r->push.sink = see;
    r->push.payload = &r->seen;
    r->seen.pipeline = r->pipeline;
    r->seen.cancel_at = UINT64_MAX;
    make_chunks();
}

static void rig_close(struct rig *r)
{
    hcy_pipeline_destroy(r->pipeline);
    for (size_t i = 0; i < r->n; i++)
        hcy_device_release(r->devices[i]);
    hcy_list_free(r->devices);
}

static int submit(struct rig *r, size_t from, size_t to)
{
    int status = 0;
    for (size_t i = from; i < to && !status; i++)
        status = hcy_pipeline_submit(r->pipeline, chunks[i].at, chunks[i].size, i, take_back, &chunks[i]);
    return status;
}

/* --- Results --- */

static double *pulled(void)
{
    char path[64];
    struct rig r;
    hcy_stack *stack;
    hcy_bslz4_job coded = coding;
    double *curves = calloc(FRAMES * 2 * BINS, sizeof *curves);
    snprintf(path, sizeof path, "pipeline_push-%ld.npy", (long)getpid());
    make_npy(path);
    coding.codec = HCY_CODEC_NONE;
    rig_open(&r, "cpu@threads=1", 16, 0);
    r.seen.curves = curves;
    if (hcy_stack_open(&stack, path, NULL) ||
        hcy_pipeline_run(r.pipeline, stack, 0, FRAMES, see, NULL, &r.seen))
        bail_out("no curves: %s", hcy_last_error()->text);
    hcy_stack_close(stack);
    rig_close(&r);
    unlink(path);
    coding = coded;
    return curves;
}

static void test_same_bits(void)
{
    static const struct {
        const char *devices;
        uint32_t codec, flags, batch;
        int in_place, even, copied; /* the last: though the memory is named */
        uint32_t small_blocks;
    } ways[] = {
        { "cpu@threads=2", HCY_CODEC_BSLZ4, 0, 8, 1, 0, 0, 0 },
        { "cpu@threads=2", HCY_CODEC_BSLZ4, 0, 8, 0, 0, 0, 0 },
        { "cpu@threads=1,cpu@threads=1", HCY_CODEC_BSLZ4, 0, 1, 1, 0, 0, 0 },
        { "cpu@threads=1,cpu@threads=1", HCY_CODEC_BSLZ4, HCY_PIPELINE_TWO_STAGE, 5, 1, 0, 0, 0 },
        { "cpu@threads=1", HCY_CODEC_BSLZ4, HCY_PIPELINE_COPY, 5, 1, 0, 0, 0 },
        { "cpu@threads=1", HCY_CODEC_BSLZ4, HCY_PIPELINE_COPY, 5, 1, 1, 0, 0 },
        { "cpu@threads=1", HCY_CODEC_BSLZ4, HCY_PIPELINE_COPY, 5, 1, 1, 0, 1024 },
        { "cpu@threads=1", HCY_CODEC_BSLZ4, 0, 5, 1, 0, 0, 1024 },
        { "cpu@threads=1@discrete=1", HCY_CODEC_BSLZ4, 0, 5, 1, 0, 0, 0 },
        { "cpu@threads=1,cpu@threads=1", HCY_CODEC_BSLZ4, 0, 5, 1, 0, 1, 0 },
        { "cpu@threads=1", HCY_CODEC_LZ4, 0, 5, 1, 0, 0, 0 },
        { "cpu@threads=1", HCY_CODEC_NONE, 0, 5, 1, 0, 0, 0 },
    };
    double *reference = pulled(), sum = 0;
    for (size_t i = 0; i < FRAMES * 2 * BINS; i++)
        sum += reference[i];
    ok(sum > FRAMES * BINS * 100.0, "the curves are not empty");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct rig r;
        char name[160];
        snprintf(name, sizeof name, "%s, codec %u, flags %u, blocks %u, %s%s", ways[i].devices, ways[i].codec,
                 ways[i].flags, ways[i].small_blocks, ways[i].in_place ? "memory named" : "memory not named",
                 ways[i].even ? ", even" : "");
        coding.codec = ways[i].codec;
        even = ways[i].even;
        small_blocks = ways[i].small_blocks;
        atomic_store(&longest_write, 0);
        rig_open(&r, ways[i].devices, ways[i].batch, ways[i].flags);
        r.seen.curves = calloc(FRAMES * 2 * BINS, sizeof(double));
        r.push.memory = ways[i].in_place ? memory : NULL;
        r.push.memory_size = ways[i].in_place ? memory_size : 0;
        import_fails = ways[i].copied;
        int status = hcy_pipeline_start(r.pipeline, &r.push);
        import_fails = 0;
        status = status ? status : submit(&r, 0, FRAMES);
        is_int(status, 0, "%s: submitted", name);
        is_int(hcy_pipeline_finish(r.pipeline), 0, "finished");
        ok(r.seen.n == FRAMES && !r.seen.out_of_order && !r.seen.failed, "every frame, in order");
        ok(once(FRAMES) && !atomic_load(&n_cancelled), "every chunk is given back once");
        ok(!memcmp(r.seen.curves, reference, FRAMES * 2 * BINS * sizeof(double)),
           "the same bits as pulled ones");
        const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(r.pipeline);
        const int used = ways[i].in_place && !ways[i].copied;
        is_int((intmax_t)stats->in_place, used ? FRAMES : 0, "frames that nobody copied");
        ok(!stats->copied == !ways[i].copied, "why not: %s", stats->copied ? stats->copied : "");
        if (ways[i].flags & HCY_PIPELINE_COPY)
            ok((atomic_load(&longest_write) > chunk_bytes) == ways[i].even,
               "neighbours go in one copy where their distances allow it: %zu bytes", atomic_load(&longest_write));
        free(r.seen.curves);
        rig_close(&r);
    }
    coding.codec = HCY_CODEC_BSLZ4;
    even = 0;
    small_blocks = 0;
    free(reference);
}

/* A chunk in place is held while the slow device works on it, a copied one is back long before. */
static void test_no_copy(int in_place)
{
    struct rig r;
    const hcy_pipeline_frame *frame;
    rig_open(&r, "null@kernels=noop@delay-us=400000", 1, 0);
    r.push.sink = NULL;
    r.push.memory = in_place ? memory : NULL;
    r.push.memory_size = in_place ? memory_size : 0;
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, in_place ? "memory is named" : "it is not");
    is_int(hcy_pipeline_poll(NULL, r.pipeline, 0), HCY_EINVAL, "polling without a place for the frame");
    ok(strstr(hcy_last_error()->text, "no place for the frame") != NULL, "is told as that");
    is_int(submit(&r, 0, 1), 0, "one frame");
    usleep(150000);
    is_int((intmax_t)atomic_load(&n_back), !in_place,
           in_place ? "its chunk is with the device" : "was copied");
    is_int(hcy_pipeline_poll(&frame, r.pipeline, UINT64_MAX), 0, "its result");
    is_int((intmax_t)atomic_load(&n_back), 1, "by then its chunk is back");
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(r.pipeline);
    is_int((intmax_t)stats->devices[0].bytes, (intmax_t)stats->bytes_stored, "the device has taken its bytes");
    ok(frame && frame->result, "and it is good");
    is_int(hcy_pipeline_finish(r.pipeline), 0, "finished");
    rig_close(&r);
}

static void test_damage(void)
{
    struct rig r;
    rig_open(&r, "cpu@threads=1", 4, 0);
    r.push.memory = memory;
    r.push.memory_size = memory_size;
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, "frames with a damaged one among them");
    memset(chunks[5].at, 0x55, 20);
    is_int(submit(&r, 0, 10), 0, "are submitted");
    is_int(hcy_pipeline_flush(r.pipeline), 0, "and flushed");
    ok(r.seen.n == 10 && r.seen.failed == 1 && r.seen.why[0], "one of ten fails: %s", r.seen.why);
    uint8_t *large = calloc(1, 1 << 20);
    is_int(hcy_pipeline_submit(r.pipeline, large, 1 << 20, 10, NULL, NULL), 0,
           "a chunk too large for any frame");
    is_int(hcy_pipeline_finish(r.pipeline), 0, "does not stop anything");
    ok(r.seen.n == 11 && r.seen.failed == 2 && strstr(r.seen.why, "1048576"), "it fails: %s", r.seen.why);
    ok(once(10), "every chunk is given back once");
    free(large);
    rig_close(&r);
}

/* --- Bounds --- */

static void test_wait(void)
{
    struct rig r;
    rig_open(&r, "null@kernels=noop@delay-us=2000", 1, 0);
    r.push.queue = 2;
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, "a slow device, a queue of two");
    size_t most = 0;
    for (size_t i = 0; i < 60; i++) {
        is_int(submit(&r, i, i + 1), 0, "frame %zu", i);
        size_t waiting = i + 1 - atomic_load(&n_back);
        most = waiting > most ? waiting : most;
    }
    ok(most >= 2 && most <= 2 + 2 + 3, "submit waits: at most %zu chunks are on their way", most);
    is_int(hcy_pipeline_finish(r.pipeline), 0, "finished");
    ok(r.seen.n == 60 && !r.seen.out_of_order && !r.seen.dropped, "every frame, in order, none dropped");
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(r.pipeline);
    is_int((intmax_t)stats->done, 60, "as the statistics say");
    ok(stats->latency_p50 >= 0.002 && stats->latency_p50 <= stats->latency_p99 &&
           stats->latency_p99 <= stats->latency_max && stats->latency_max <= stats->seconds,
       "latencies of at least the device's delay: %g, %g, %g", stats->latency_p50, stats->latency_p99,
       stats->latency_max);
    rig_close(&r);
}

static void test_drop(void)
{
    struct rig r;
    rig_open(&r, "null@kernels=noop@delay-us=2000", 1, 0);
    r.push.queue = 3;
    r.push.overflow = HCY_PIPELINE_DROP_OLDEST;
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, "a slow device, a queue of three that drops");
    is_int(submit(&r, 0, FRAMES), 0, "frames faster than it");
    is_int(hcy_pipeline_finish(r.pipeline), 0, "finished");
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(r.pipeline);
    ok(stats->dropped > 0, "%llu are dropped", (unsigned long long)stats->dropped);
    is_int((intmax_t)r.seen.dropped, (intmax_t)stats->dropped, "results say where");
    is_int((intmax_t)atomic_load(&n_cancelled), (intmax_t)stats->dropped, "their chunks say so");
    is_int((intmax_t)(r.seen.n + stats->dropped), FRAMES, "the others come");
    is_int((intmax_t)stats->frames, (intmax_t)r.seen.n, "and are counted");
    is_int((intmax_t)r.seen.out_of_order, 0, "in order");
    is_int((intmax_t)r.seen.last, FRAMES - 1, "the newest is never dropped");
    ok(once(FRAMES), "every chunk is given back once");
    rig_close(&r);
}

/* A host whose receiving thread must never wait, nor lose a frame: one thread that submits and polls. */
static void test_refuse(void)
{
    struct rig r;
    const hcy_pipeline_frame *frame;
    size_t refused = 0, taken = 0, got = 0;
    int status = 0, wrong = 0;
    rig_open(&r, "null@kernels=noop@delay-us=2000", 1, 0);
    r.push.queue = 3;
    r.push.overflow = HCY_PIPELINE_REFUSE;
    r.push.sink = NULL;
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, "a slow device, a queue of three that refuses, one thread");
    while (!wrong && got < FRAMES) {
        status = taken < FRAMES ? submit(&r, taken, taken + 1) : HCY_EBUSY;
        taken += !status;
        refused += status && taken < FRAMES;
        wrong = status && status != HCY_EBUSY;
        wrong |= status && hcy_pipeline_poll(&frame, r.pipeline, UINT64_MAX);
        if (status && !wrong && frame)
            wrong |= frame->number != got++;
    }
    ok(!wrong && refused > 0, "it is HCY_EBUSY, %zu times: %s", refused, hcy_last_error()->text);
    is_int((intmax_t)hcy_pipeline_get_stats(r.pipeline)->dropped, 0, "nothing is dropped");
    is_int(hcy_pipeline_finish(r.pipeline), 0, "all %zu frames came, in order", got);
    ok(once(FRAMES), "every chunk is given back once");
    rig_close(&r);
}

/* --- Polling, several hosts --- */

static void test_poll(void)
{
    struct rig r;
    const hcy_pipeline_frame *frame = NULL;
    rig_open(&r, "null@kernels=noop@delay-us=200000", 1, 0);
    r.push.sink = NULL;
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, "without a sink");
    is_int(hcy_pipeline_poll(&frame, r.pipeline, UINT64_MAX), 0, "polling when nothing was submitted");
    ok(!frame, "comes back at once");
    is_int(submit(&r, 0, 5), 0, "five frames");
    is_int(hcy_pipeline_poll(&frame, r.pipeline, 1000), 0, "a poll of a microsecond");
    ok(!frame, "has nothing yet");
    while (!hcy_pipeline_poll(&frame, r.pipeline, UINT64_MAX) && frame)
        see(&r.seen, frame);
    ok(r.seen.n == 5 && !r.seen.out_of_order, "polling without a limit gets all of them, in order");
    is_int(hcy_pipeline_flush(r.pipeline), HCY_EINVAL, "flushing needs a sink");
    is_int(submit(&r, 5, 8), 0, "three more");
    is_int(hcy_pipeline_finish(r.pipeline), 0, "that nobody polls for");
    ok(once(8), "every chunk is given back all the same");
    rig_close(&r);
}

static void *poll_until_refused(void *pipeline)
{
    const hcy_pipeline_frame *frame;
    int status = 0;
    while (!status)
        status = hcy_pipeline_poll(&frame, pipeline, UINT64_MAX);
    return (void *)(intptr_t)status;
}

/* A thread that polls need not know when another one finishes. */
static void test_finish_beside_poll(void)
{
    struct rig r;
    int wrong = 0;
    rig_open(&r, "cpu@threads=1", 4, 0);
    r.push.sink = NULL;
    for (int i = 0; i < 50; i++) {
        pthread_t poller;
        void *status = NULL;
        wrong += hcy_pipeline_start(r.pipeline, &r.push) != 0;
        pthread_create(&poller, NULL, poll_until_refused, r.pipeline);
        wrong += hcy_pipeline_submit(r.pipeline, chunks[0].at, chunks[0].size, 0, NULL, NULL) != 0;
        wrong += hcy_pipeline_finish(r.pipeline) != 0;
        pthread_join(poller, &status);
        wrong += (intptr_t)status != HCY_ESTATE && (intptr_t)status != HCY_EINVAL; /* it comes too late */
    }
    is_int(wrong, 0, "a finish ends a poll of another thread");
    rig_close(&r);
}

static void *finish_once(void *pipeline)
{
    return (void *)(intptr_t)hcy_pipeline_finish(pipeline);
}

/* One of several threads that finish at once does it. */
static void test_finish_beside_finish(void)
{
    struct rig r;
    int wrong = 0;
    rig_open(&r, "cpu@threads=1", 4, 0);
    for (int i = 0; i < 50; i++) {
        pthread_t threads[3];
        int finished = 0;
        wrong += hcy_pipeline_start(r.pipeline, &r.push) != 0;
        wrong += hcy_pipeline_submit(r.pipeline, chunks[0].at, chunks[0].size, 0, NULL, NULL) != 0;
        for (int t = 0; t < 3; t++)
            pthread_create(&threads[t], NULL, finish_once, r.pipeline);
        for (int t = 0; t < 3; t++) {
            void *status = NULL;
            pthread_join(threads[t], &status);
            finished += !status;
            wrong += status && (intptr_t)status != HCY_ESTATE && (intptr_t)status != HCY_EINVAL; /* it comes too late */
        }
        wrong += finished != 1;
    }
    is_int(wrong, 0, "one of three threads finishes, the others hear it");
    rig_close(&r);
}

static void *submit_some(void *rig)
{
    struct rig *r = rig;
    static atomic_size_t next;
    for (size_t i; (i = atomic_fetch_add(&next, 1)) < FRAMES;)
        if (submit(r, i, i + 1))
            return rig;
    return NULL;
}

static void test_threads(void)
{
    struct rig r;
    pthread_t threads[4];
    void *failed, *any = NULL;
    rig_open(&r, "cpu@threads=1,cpu@threads=1", 3, 0);
    r.push.memory = memory;
    r.push.memory_size = memory_size / 2; /* some in place, some copied */
    r.push.queue = 5;
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, "four threads");
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, submit_some, &r);
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        any = any ? any : failed;
    }
    ok(!any, "submit");
    is_int(hcy_pipeline_finish(r.pipeline), 0, "finished");
    ok(r.seen.n == FRAMES && !r.seen.failed, "every frame comes");
    ok(once(FRAMES), "every chunk is given back once");
    rig_close(&r);
}

/* --- Endings --- */

static void test_endings(void)
{
    struct rig r;
    rig_open(&r, "null@kernels=noop@delay-us=100,null:1@kernels=noop@delay-us=100@fail-launch=3", 1, 0);
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, "a device that will fail");
    is_int(submit(&r, 0, FRAMES), 0, "does not keep frames from being submitted");
    is_int(hcy_pipeline_finish(r.pipeline), 0, "nor from being done");
    ok(r.seen.n == FRAMES && !r.seen.out_of_order && once(FRAMES), "all of them, in order, given back once");
    make_chunks();
    r.seen = (struct seen){ .pipeline = r.pipeline, .stop_at = 7, .cancel_at = UINT64_MAX };
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, "again; the sink will fail");
    int status = submit(&r, 0, FRAMES);
    ok(status == HCY_EIO || (!status && atomic_load(&n_back) <= FRAMES),
       "submit hears of it, if it is late enough");
    is_int(hcy_pipeline_finish(r.pipeline), HCY_EIO, "finish says so");
    is_str(hcy_last_error()->text, "the sink is full", "in its words");
    is_int((intmax_t)r.seen.n, 7, "nothing came after it");
    make_chunks();
    r.seen = (struct seen){ .pipeline = r.pipeline, .cancel_at = 9 };
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, "again; somebody will cancel");
    (void)!submit(&r, 0, FRAMES);
    is_int(hcy_pipeline_finish(r.pipeline), HCY_ECANCELLED, "finish says so");
    is_int((intmax_t)r.seen.n, 9, "nothing came after that");
    make_chunks();
    r.seen = (struct seen){ .pipeline = r.pipeline, .cancel_at = UINT64_MAX };
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, "again");
    is_int(hcy_pipeline_start(r.pipeline, &r.push), HCY_EINVAL, "but only once at a time");
    is_int(submit(&r, 0, 50), 0, "frames nobody waits for");
    rig_close(&r); /* without finish */
    ok(once(50), "destroying a pipeline gives every chunk back");

    /* The first has all processors, so that the second stands by; frames that never fill its batch must not wait. */
    rig_open(&r, "cpu@fail-launch=1,cpu", 64, 0);
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, "a device that will fail, and one that stands by");
    for (size_t i = 0; i < 10; i++) {
        is_int(submit(&r, i, i + 1), 0, "a frame");
        is_int(hcy_pipeline_flush(r.pipeline), 0, "its curve");
    }
    is_int(hcy_pipeline_finish(r.pipeline), 0, "finished");
    ok(r.seen.n == 10 && !r.seen.failed && once(10), "all of them");
    rig_close(&r);

    rig_open(&r, "null@kernels=noop@fail-launch=3", 1, 0);
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, "the only device will fail");
    (void)!submit(&r, 0, 5);
    is_int(hcy_pipeline_finish(r.pipeline), HCY_ELAUNCH, "finish says so");
    ok(r.seen.n < 5, "%zu results before", r.seen.n);
    is_int(hcy_pipeline_submit(r.pipeline, memory, 9, 0, NULL, NULL), HCY_EINVAL, "no push, no frames");
    is_int(hcy_pipeline_finish(r.pipeline), HCY_EINVAL, "nor anything to finish");
    r.push.overflow = 3;
    is_int(hcy_pipeline_start(r.pipeline, &r.push), HCY_EINVAL, "another kind of overflow");
    ok(strstr(hcy_last_error()->text, "overflow is 3") != NULL, "and which one");
    r.push.overflow = HCY_PIPELINE_WAIT;
    r.push.memory = memory;
    is_int(hcy_pipeline_start(r.pipeline, &r.push), HCY_EINVAL, "memory without its size");
    r.push.memory_size = SIZE_MAX;
    is_int(hcy_pipeline_start(r.pipeline, &r.push), HCY_EINVAL, "more than there are addresses");
    r.push.memory = NULL;
    r.push.memory_size = memory_size;
    is_int(hcy_pipeline_start(r.pipeline, &r.push), HCY_EINVAL, "a size without memory");
    rig_close(&r);
}

/* A host that waits for a buffer must get it, or it would never come to its finish. */
static void test_early_end(const char *device, uint64_t stop_at, uint64_t cancel_at, int in_place)
{
    struct rig r;
    size_t taken = 0;
    rig_open(&r, device, 4, 0);
    r.seen.stop_at = stop_at;
    r.seen.cancel_at = cancel_at;
    r.push.queue = FRAMES;
    r.push.memory = in_place ? memory : NULL;
    r.push.memory_size = in_place ? memory_size : 0;
    is_int(hcy_pipeline_start(r.pipeline, &r.push), 0, "%s, a sink's end at %llu, a cancellation at %llu", device,
           (unsigned long long)stop_at, (unsigned long long)cancel_at);
    while (taken < FRAMES && !submit(&r, taken, taken + 1))
        taken++;
    for (int ms = 0; ms < 10000 && atomic_load(&n_back) < taken; ms++)
        usleep(1000);
    is_int((intmax_t)atomic_load(&n_back), (intmax_t)taken, "all chunks come back before the finish");
    ok(hcy_pipeline_finish(r.pipeline) != 0 && once(taken), "which says that it had ended: %s", hcy_last_error()->text);
    rig_close(&r);
}

/* From the second frame on; by a sink, or by polling. */
static void test_allocations(const char *device, uint32_t flags, int in_place, int polls)
{
    struct rig r;
    const hcy_pipeline_frame *frame;
    rig_open(&r, device, 4, flags);
    r.push.memory = in_place ? memory : NULL;
    r.push.memory_size = in_place ? memory_size : 0;
    r.push.queue = FRAMES;
    if (polls)
        r.push.sink = NULL;
    int status = hcy_pipeline_start(r.pipeline, &r.push);
    size_t before = 0;
    for (size_t i = 0; !status && i < 2; i++) { /* threads have begun when the first result is there */
        before = atomic_load(&n_allocated);
        status = submit(&r, i, i ? FRAMES : 1);
        if (!status && !polls)
            status = hcy_pipeline_flush(r.pipeline);
        while (polls && !status && !(status = hcy_pipeline_poll(&frame, r.pipeline, UINT64_MAX)) && frame)
            see(&r.seen, frame);
    }
    size_t allocated = atomic_load(&n_allocated) - before;
    is_int(status, 0, "%s: %d frames", device, FRAMES);
    is_int((intmax_t)r.seen.n, FRAMES, "and their results");
    is_int((intmax_t)allocated, 0, "allocate nothing");
    is_int(hcy_pipeline_finish(r.pipeline), 0, "finished");
    rig_close(&r);
}

int main(void)
{
    the_plan = make_plan(HEIGHT, WIDTH);
    test_same_bits();
    test_no_copy(1);
    test_no_copy(0);
    test_damage();
    test_wait();
    test_drop();
    test_refuse();
    test_poll();
    test_finish_beside_poll();
    test_finish_beside_finish();
    test_threads();
    test_endings();
    for (int in_place = 0; in_place < 2; in_place++) {
        test_early_end("null@kernels=noop@delay-us=100@lose-launch=3", 0, UINT64_MAX, in_place);
        test_early_end("null@kernels=noop@delay-us=100", 2, UINT64_MAX, in_place);
        test_early_end("null@kernels=noop@delay-us=100", 0, 2, in_place);
    }
    test_early_end("cpu@threads=1@fail-launch=2", 0, UINT64_MAX, 1);
    test_allocations("cpu@threads=2", 0, 1, 0);
    test_allocations("cpu@threads=2", 0, 0, 1);
    test_allocations("cpu@threads=2@discrete=1", 0, 0, 0);
    test_allocations("cpu@threads=1,cpu@threads=1", HCY_PIPELINE_TWO_STAGE, 1, 1);
    hcy_azint_plan_release(the_plan);
    free(memory);
    return done_testing();
}
