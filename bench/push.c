/* push.c - frames a second, and milliseconds from submission to curve, through the push form: as a detector's host
 * drives it, with the chunks in a ring that the host owns.
 *
 *     bench/push DEVICES [FRAMES [HEIGHTxWIDTH [SPLIT [BATCH [BINS]]]]]
 *
 * DEVICES as `halcyon integrate -d` has them.  256 chunks (EIGER 4M, 4 bytes a pixel, 1.94 MB coded) are submitted
 * again and again, FRAMES (8192) times a line, by 1 to 16 threads, BATCH (0: the devices' wish) frames a launch,
 * curves of BINS (1000) bins.  Of null devices (null@kernels=noop), small frames and few bins remains what the pipeline
 * itself costs.
 *
 *     pinned    the ring is pinned memory of the first device's, and named to the pipeline
 *     plain     it is the host's own memory, and named: the pipeline registers it
 *     unnamed   the same, not named: chunks are copied
 *
 * "copies alone" is what the devices' copies take from such a ring, all at once: the limit.  Then one thread submits at
 * half of the best rate: the latencies of a detector that the devices keep up with.  Each chunk's first curve is kept,
 * and all later ones must have its bits.
 */
#include "bench.h"
#include "scene.h"
#include <halcyon/device.h>
#include <halcyon/pipeline.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { RING = 256, DISTINCT = 8, MOST_SUBMITTERS = 16 };

static size_t n_bins = 1000;
static struct stored made;
static uint8_t *ring, *plain;
static hcy_buffer *pinned; /* NULL: the first device has no such memory */
static size_t step; /* bytes from one of its chunks to the next */
static double *first_curves;
static unsigned char have_curve[RING];
static unsigned long n_wrong;

/* --- The host --- */

struct host {
    hcy_pipeline *pipeline;
    unsigned long frames;
    double rate; /* frames a second; 0: as fast as they are taken */
    double start;
    atomic_ulong next;
};

static void await_time(double when)
{
    double left = when - timer_now();
    /* Sleeping is not exact to less than this, so what is left of it is spent looking at the clock. */
    if (left > 2e-4)
        nanosleep(&(struct timespec){ 0, (long)(1e9 * (left - 1e-4)) }, NULL);
    while (timer_now() < when)
        ;
}

static void *submit_frames(void *arg)
{
    struct host *h = arg;
    unsigned long n;
    while ((n = atomic_fetch_add(&h->next, 1)) < h->frames) {
        if (h->rate > 0)
            await_time(h->start + (double)n / h->rate);
        CHECK(hcy_pipeline_submit(h->pipeline, ring + n % RING * step, made.frames[n % DISTINCT].size, n, NULL, NULL));
    }
    return NULL;
}

/* Curves come in the pipeline's one thread that delivers. */
static int take_curve(void *payload, const hcy_pipeline_frame *frame)
{
    const size_t k = frame->number % DISTINCT;
    (void)payload;
    if (!frame->result) {
        fprintf(stderr, "frame %llu: %s\n", (unsigned long long)frame->number, frame->why);
        n_wrong++;
        return 0;
    }
    if (!have_curve[k])
        memcpy(first_curves + k * n_bins, frame->result->intensity, n_bins * sizeof(double));
    have_curve[k] = 1;
    n_wrong += memcmp(first_curves + k * n_bins, frame->result->intensity, n_bins * sizeof(double)) != 0;
    return 0;
}

/* --- The limit --- */

struct copier {
    hcy_device *device;
    hcy_buffer *view; /* of the ring: memory that one device has registered is all devices' until it is given back */
    unsigned long frames;
    double seconds;
};

static void *copy_chunks(void *arg)
{
    enum { TOGETHER = 32 };
    struct copier *c = arg;
    hcy_queue *queue;
    hcy_buffer *to;
    CHECK(hcy_queue_create(&queue, c->device));
    CHECK(hcy_buffer_create(&to, c->device, HCY_MEM_DEVICE, TOGETHER * step));
    double start = timer_now();
    for (unsigned long n = 0; n < c->frames; n++) {
        CHECK(hcy_buffer_write(queue, to, n % TOGETHER * step, ring + n % RING * step, made.frames[n % DISTINCT].size));
        if (n % RING == RING - 1)
            CHECK(hcy_queue_finish(queue));
    }
    CHECK(hcy_queue_finish(queue));
    c->seconds = timer_now() - start;
    hcy_buffer_release(to);
    hcy_queue_release(queue);
    return NULL;
}

static void measure_copies(hcy_device *const *devices, size_t n, const char *kind, unsigned long frames)
{
    struct copier *copiers = bench_need(calloc(n, sizeof *copiers));
    pthread_t *threads = bench_need(calloc(n, sizeof *threads));
    double rate = 0;
    for (size_t i = 0; i < n; i++) {
        copiers[i] = (struct copier){ .device = devices[i], .frames = frames };
        /* A device that cannot register memory copies it as it can. */
        (void)!hcy_buffer_import_host(&copiers[i].view, devices[i], ring, RING * step, NULL, NULL);
    }
    for (size_t i = 0; i < n; i++)
        bench_need(pthread_create(&threads[i], NULL, copy_chunks, &copiers[i]) ? NULL : threads);
    for (size_t i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        rate += (double)frames / copiers[i].seconds;
    }
    for (size_t i = 0; i < n; i++)
        hcy_buffer_release(copiers[i].view);
    printf("%-8s    %9.0f frames/s %7.2f GB/s   copies alone\n", kind, rate,
           rate * 1e-9 * (double)made.bytes / DISTINCT);
    free(copiers);
    free(threads);
}

/* --- A line of figures --- */

static double measure(hcy_pipeline *pipeline, const char *kind, unsigned submitters, unsigned long frames, double rate)
{
    hcy_pipeline_push_options options = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    struct host host = { .pipeline = pipeline, .frames = frames, .rate = rate };
    pthread_t threads[MOST_SUBMITTERS];
    const int named = strcmp(kind, "unnamed") != 0;
    options.sink = take_curve;
    options.queue = RING / 2;
    options.memory = named ? ring : NULL;
    options.memory_size = named ? RING * step : 0;
    CHECK(hcy_pipeline_start(pipeline, &options));
    host.start = timer_now();
    for (unsigned i = 0; i < submitters; i++)
        bench_need(pthread_create(&threads[i], NULL, submit_frames, &host) ? NULL : &threads[i]);
    for (unsigned i = 0; i < submitters; i++)
        pthread_join(threads[i], NULL);
    CHECK(hcy_pipeline_finish(pipeline));
    double seconds = timer_now() - host.start;
    const hcy_pipeline_stats *s = hcy_pipeline_get_stats(pipeline);
    unsigned long long launches = 0;
    for (size_t i = 0; i < s->n_devices; i++)
        launches += s->devices[i].batches;
    printf("%-8s %2u %9.0f frames/s %7.2f GB/s   latency p50 %.3f p99 %.3f max %.3f ms   %llu in place, %.1f a launch, "
           "bound by %s%s%s\n", kind, submitters, (double)frames / seconds,
           1e-9 * (double)s->bytes_stored / seconds, 1e3 * s->latency_p50, 1e3 * s->latency_p99, 1e3 * s->latency_max,
           (unsigned long long)s->in_place, (double)frames / (double)(launches ? launches : 1),
           hcy_pipeline_bound_name(s->bound), s->copied ? "; copied: " : "",
           s->copied ? s->copied : "");
    for (size_t i = 0; i < s->n_devices && s->n_devices > 1; i++)
        printf("             %s: %llu frames, idle %.3f of %.3f s\n", s->devices[i].name,
               (unsigned long long)s->devices[i].frames, s->devices[i].idle, s->seconds);
    return (double)frames / seconds;
}

static uint8_t *fill(uint8_t *memory)
{
    for (size_t i = 0; i < RING; i++)
        memcpy(memory + i * step, made.frames[i % DISTINCT].chunk, made.frames[i % DISTINCT].size);
    return memory;
}

static void make_rings(hcy_device *device)
{
    for (size_t i = 0; i < DISTINCT; i++)
        step = made.frames[i].size > step ? made.frames[i].size : step;
    step = (step + HCY_BSLZ4_PADDING + 4095) / 4096 * 4096;
    plain = fill(bench_need(aligned_alloc(4096, RING * step)));
    if (!hcy_buffer_create(&pinned, device, HCY_MEM_PINNED, RING * step))
        fill(hcy_buffer_host(pinned));
    first_curves = bench_need(calloc((size_t)DISTINCT * n_bins, sizeof *first_curves));
}

int main(int argc, char **argv)
{
    struct scene scene = { .kind = SCENE_RINGS, .height = 2167, .width = 2070, .elem_size = 4, .counts = 4 };
    hcy_pipeline_source source = { .pixel_type = HCY_PIXEL_U32 };
    hcy_pipeline_options options = HCY_PIPELINE_OPTIONS_INIT;
    hcy_device **devices;
    hcy_pipeline *pipeline;
    size_t n_devices;
    static const char *const kinds[] = { "pinned", "plain", "unnamed" };
    double best = 0, n_frames = 8192, batch = 0, bins = (double)n_bins;
    if (argc < 2 || argc > 7 || (argc > 2 && !bench_number(&n_frames, argv[2], 1)) ||
        (argc > 5 && !bench_number(&batch, argv[5], 0)) || (argc > 6 && !bench_number(&bins, argv[6], 1)) ||
        (argc > 3 && sscanf(argv[3], "%dx%d", &scene.height, &scene.width) != 2) || scene.height < 1 ||
        scene.width < 1 || (argc > 4 && strcmp(argv[4], "no") != 0 && strcmp(argv[4], "full") != 0)) {
        fprintf(stderr, "usage: %s DEVICES [FRAMES [HEIGHTxWIDTH [no|full [BATCH [BINS]]]]]\n", argv[0]);
        return 2;
    }
    unsigned long frames = (unsigned long)n_frames;
    options.batch = (size_t)batch;
    n_bins = (size_t)bins;
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(hcy_device_open_list(&devices, &n_devices, argv[1]));
    scene_open(&scene);
    stored_make(&made, &scene, DISTINCT);
    make_rings(devices[0]);
    hcy_azint_plan *plan =
        scene_plan(&scene, argc > 4 && !strcmp(argv[4], "no") ? HCY_SPLIT_NO : HCY_SPLIT_FULL, n_bins);
    source.coding = made.coding;
    source.max_chunk = step;
    CHECK(hcy_pipeline_create(&pipeline, devices, n_devices, plan, &source, &options));
    printf("%s: %d x %d, %zu bytes a chunk\n", argv[1], scene.height, scene.width, made.bytes / DISTINCT);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        ring = i || !pinned ? plain : hcy_buffer_host(pinned);
        if (i < 2)
            measure_copies(devices, n_devices, kinds[i], frames);
        for (unsigned submitters = 1; submitters <= MOST_SUBMITTERS; submitters *= 2) {
            double rate = measure(pipeline, kinds[i], submitters, frames, 0);
            best = rate > best ? rate : best;
        }
    }
    printf("at half of the best rate:\n");
    ring = pinned ? hcy_buffer_host(pinned) : plain;
    measure(pipeline, kinds[0], 1, frames, best / 2);
    if (n_wrong)
        fprintf(stderr, "%lu curves were wrong\n", n_wrong);
    return n_wrong ? 1 : 0;
}
