/* detector_host.c - curves of frames as they come from a detector:
 * detector_host GEOMETRY.poni [DEVICES [FRAMES [RATE]]]
 *
 * The geometry is of 514 x 1030 pixels (`halcyon simulate x.h5 --detector Eiger500k` makes x.poni beside x.h5).
 * The detector is simulated: two threads stand for its readout cards, each with a ring of receive buffers of
 * coded frames, RATE a second together.  The pipeline reads them where they are; a buffer is used again when it
 * is back.  When the devices are too slow, the oldest waiting frame is dropped rather than the newest kept
 * waiting. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <halcyon/device.h>
#include <halcyon/pipeline.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { HEIGHT = 514, WIDTH = 1030, CARDS = 2, BUFFERS = 32 };

struct host {
    hcy_pipeline *pipeline;
    hcy_bslz4_job coding;
    uint8_t *memory;
    size_t chunk, size[CARDS];                 /* bytes of a buffer; of the coded frame in each card's */
    atomic_int in_use[CARDS * BUFFERS];
    uint64_t next, frames;                     /* [order] */
    double rate;
    pthread_mutex_t order;                     /* frames are submitted in their order */
    atomic_ulong missed;                       /* no buffer was free */
    unsigned long curves, failed, dropped;     /* the sink's */
    double peak;
};
struct card {
    struct host *host;
    size_t index;
};

static int take_curve(void *payload, const hcy_pipeline_frame *frame)
{
    struct host *host = payload;
    host->curves++;
    host->failed += !frame->result;
    host->dropped += (unsigned long)frame->dropped;
    for (size_t i = 0; frame->result && i < frame->result->n_bins; i++)
        if (frame->result->intensity[i] > host->peak)
            host->peak = frame->result->intensity[i];
    return 0;
}

static void buffer_back(void *in_use, uint64_t number, int status)
{
    atomic_store((atomic_int *)in_use, 0);
    (void)number, (void)status; /* HCY_ECANCELLED: dropped; the sink counts those */
}

static void wait_until(double start, double seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double left = start + seconds - ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
    if (left > 0)
        nanosleep(&(struct timespec){ (time_t)left, (long)(1e9 * (left - (double)(time_t)left)) }, NULL);
}

/* A card's next frame; 0 when there are no more.  The card's buffers hold coded frames from the start. */
static int read_out(struct card *card, size_t *buffer, double start)
{
    struct host *host = card->host;
    pthread_mutex_lock(&host->order);
    uint64_t number = host->next++;
    int more = number < host->frames;
    if (more)
        wait_until(start, (double)number / host->rate);
    if (more && atomic_exchange(&host->in_use[*buffer], 1)) {
        atomic_fetch_add(&host->missed, 1);
    } else if (more) {
        more = !hcy_pipeline_submit(host->pipeline, host->memory + *buffer * host->chunk,
                                    host->size[card->index], number, buffer_back, &host->in_use[*buffer]);
        *buffer = card->index * BUFFERS + (*buffer + 1) % BUFFERS;
    }
    pthread_mutex_unlock(&host->order);
    return more;
}

static void *run_card(void *payload)
{
    struct card *card = payload;
    size_t buffer = card->index * BUFFERS;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    while (read_out(card, &buffer, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec))
        ;
    return NULL;
}

/* A ring on a falling background, another one for each card, coded into all of the card's buffers. */
static int fill_buffers(struct host *host)
{
    uint16_t *image = malloc(HEIGHT * WIDTH * sizeof *image);
    int status = hcy_bslz4_encode_bound(&host->chunk, &host->coding);
    if (!status && (!image || !(host->memory = calloc(CARDS * BUFFERS, host->chunk))))
        status = hcy_fail(HCY_ENOMEM, "no memory for %d buffers of %zu bytes", CARDS * BUFFERS, host->chunk);
    for (size_t b = 0; !status && b < CARDS * BUFFERS; b++) {
        size_t card = b / BUFFERS;
        for (long y = 0; y < HEIGHT; y++)
            for (long x = 0; x < WIDTH; x++) {
                long r2 = (y - HEIGHT / 2) * (y - HEIGHT / 2) + (x - WIDTH / 2) * (x - WIDTH / 2);
                long ring = 200 + 20 * (long)card;
                int on = r2 > ring * ring && r2 < (ring + 5) * (ring + 5);
                image[y * WIDTH + x] = (uint16_t)((on ? 500 : 0) + 50000 / (r2 + 1000) + (x * 7 + y * 3) % 4);
            }
        status = hcy_bslz4_encode(&host->size[card], host->memory + b * host->chunk, host->chunk, &host->coding,
                                  image);
    }
    free(image);
    return status;
}

static int run(struct host *host)
{
    struct card cards[CARDS];
    pthread_t threads[CARDS];
    size_t n = 0;
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    push.overflow = HCY_PIPELINE_DROP_OLDEST;
    push.queue = 16;
    push.sink = take_curve;
    push.payload = host;
    push.memory = host->memory;
    push.memory_size = CARDS * BUFFERS * host->chunk;
    int status = hcy_pipeline_start(host->pipeline, &push);
    if (status)
        return status;
    for (; n < CARDS; n++) {
        cards[n] = (struct card){ host, n };
        if (pthread_create(&threads[n], NULL, run_card, &cards[n]))
            break;
    }
    while (n-- > 0)
        pthread_join(threads[n], NULL);
    return hcy_pipeline_finish(host->pipeline);
}

int main(int argc, char **argv)
{
    static struct host host = { .order = PTHREAD_MUTEX_INITIALIZER };
    hcy_device **devices = NULL;
    size_t n = 0;
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *plan = NULL;
    host.frames = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000;
    host.rate = argc > 4 ? strtod(argv[4], NULL) : 200;
    if (argc < 2 || !host.frames || !(host.rate > 0)) {
        fprintf(stderr, "usage: detector_host GEOMETRY.poni [DEVICES [FRAMES [RATE]]], FRAMES and RATE above 0\n");
        return 2;
    }
    host.coding = (hcy_bslz4_job){ .codec = HCY_CODEC_BSLZ4, .elem_size = 2 };
    host.coding.image_bytes = HEIGHT * WIDTH * 2;
    hcy_pipeline_source source = { .coding = host.coding, .pixel_type = HCY_PIXEL_U16 };

    int failed = hcy_poni_read(&poni, argv[1])
        || hcy_device_open_list(&devices, &n, argc > 2 ? argv[2] : NULL)
        || hcy_azint_plan_create(&plan, &poni, HEIGHT, WIDTH, &options)
        || hcy_pipeline_create(&host.pipeline, devices, n, plan, &source, NULL)
        || fill_buffers(&host) || run(&host);
    if (failed) {
        fprintf(stderr, "detector_host: %s\n", hcy_last_error()->text);
    } else {
        const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(host.pipeline);
        printf("curves %lu, failed %lu, dropped %lu, missed %lu, highest %g\n", host.curves, host.failed,
               host.dropped, atomic_load(&host.missed), host.peak);
        printf("from submission to curve: half within %.3f ms, 99 %% within %.3f ms, the slowest %.3f ms\n",
               1e3 * stats->latency_p50, 1e3 * stats->latency_p99, 1e3 * stats->latency_max);
    }
    hcy_pipeline_destroy(host.pipeline);
    hcy_azint_plan_release(plan);
    for (size_t i = 0; i < n; i++)
        hcy_device_release(devices[i]);
    hcy_list_free(devices);
    free(host.memory);
    return failed;
}
