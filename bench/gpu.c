/* gpu.c - a device's kernels on EIGER frames made here: checked against the CPU bit for bit, then timed.
 *
 *     bench/gpu DEVICE [MEAN [BYTES [SPLIT [BATCH [HEIGHTxWIDTH [WHAT]]]]]]
 *
 * Frames are Poisson counts on rings with module gaps, of MEAN counts (4) in elements of BYTES bytes (4); SPLIT is
 * "full" (default) or "no".  Resident: chunks are on the device.  Host to curve: chunks in pinned memory, parsed,
 * copied, integrated, read back, divided; by several threads with a queue each.  Latency: one such frame at a time.
 * WHAT is one of these three, "resident", "curves", "latency"; all if it is left out.  With BATCH (not 0) one launch
 * of each kernel is made, twice, and nothing else: for a profiler.  Frames are those of an EIGER 4M (2167x2070); an
 * EIGER 16M has 4371x4150.
 */
#include "azint/azint_arguments.h"
#include "bench.h"
#include "scene.h"
#include <halcyon/azint.h>
#include <halcyon/bslz4.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DISTINCT = 8, BINS = 1000, MOST = 64, THREADS = 16, PIXELS_4M = 2167 * 2070 };
static int height = 2167, width = 2070, pixels;

/* --- Frames --- */

static double mean = 4;
static struct scene scene;
static struct stored made;
static hcy_bslz4_job coding; /* how they are stored */

/* Above 100 counts single pixels hold up to 10^6, as Bragg peaks do: their blocks have planes that others lack. */
static void make_frames(unsigned elem_size)
{
    scene = (struct scene){ .kind = SCENE_RINGS, .height = height, .width = width, .elem_size = elem_size,
                            .counts = mean, .peaks = mean > 100 ? 1e-5 : 0, .highest = 1000000 };
    scene_open(&scene);
    stored_make(&made, &scene, DISTINCT);
    coding = made.coding;
    printf("frames of %zu bytes coded, ratio %.2f\n", made.bytes / DISTINCT,
           (double)coding.image_bytes * DISTINCT / (double)made.bytes);
}

/* --- A batch on a device --- */

struct batch {
    hcy_device *dev;
    hcy_queue *queue;
    hcy_kernel *kernel;
    hcy_buffer *tables, *pinned, *coded, *both, *sums, *reports, *scratch, *back;
    size_t n, chunks, frames, blocks, total; /* parts of the coded buffer */
    hcy_buffer *parts[3];                    /* chunks, frames, blocks */
    hcy_arg args[HCY_MAX_ARGS];
    size_t n_args;
};

static size_t aligned(size_t n)
{
    return (n + 63) / 64 * 64;
}

static hcy_buffer *part(hcy_buffer *of, size_t at, size_t size)
{
    hcy_buffer *b;
    CHECK(hcy_buffer_sub(&b, of, at, size));
    return b;
}

static hcy_buffer *memory(hcy_device *dev, int mem, size_t size)
{
    hcy_buffer *b;
    CHECK(hcy_buffer_create(&b, dev, mem, size));
    return b;
}

/* The chunks' tables, into the pinned buffer. */
static void parse(struct batch *b)
{
    uint8_t *host = hcy_buffer_host(b->pinned);
    hcy_bslz4_frame *frames = (void *)(host + b->frames);
    hcy_bslz4_block *blocks = (void *)(host + b->blocks);
    size_t room = (b->total - b->blocks) / sizeof *blocks, used = 0, at = 0;
    for (size_t i = 0; i < b->n; i++) {
        size_t size = made.frames[i % DISTINCT].size;
        CHECK(hcy_bslz4_parse(&frames[i], blocks + used, room - used, NULL, &coding, host + at, size));
        frames[i].offset = at;
        frames[i].first_block = (uint32_t)used;
        used += frames[i].n_blocks;
        at += aligned(size);
    }
}

static void open_batch(struct batch *b, hcy_device *dev, size_t n)
{
    size_t n_blocks, at = 0;
    memset(b, 0, sizeof *b);
    CHECK(hcy_bslz4_block_count(&n_blocks, &coding, NULL, 0));
    b->dev = dev;
    b->n = n;
    for (size_t i = 0; i < n; i++)
        b->chunks += aligned(made.frames[i % DISTINCT].size);
    b->chunks += HCY_BSLZ4_PADDING;
    b->frames = b->chunks;
    b->blocks = aligned(b->frames + n * sizeof(hcy_bslz4_frame));
    b->total = aligned(b->blocks + n * n_blocks * sizeof(hcy_bslz4_block));
    b->pinned = memory(dev, HCY_MEM_PINNED, b->total);
    b->coded = memory(dev, HCY_MEM_DEVICE, b->total);
    b->reports = memory(dev, HCY_MEM_DEVICE, n * sizeof(hcy_frame_report));
    CHECK(hcy_queue_create(&b->queue, dev));
    for (size_t i = 0; i < n; i++) {
        const struct stored_frame *f = &made.frames[i % DISTINCT];
        memcpy((uint8_t *)hcy_buffer_host(b->pinned) + at, f->chunk, f->size);
        at += aligned(f->size);
    }
    parse(b);
    CHECK(hcy_buffer_copy(b->queue, b->coded, 0, b->pinned, 0, b->total));
    CHECK(hcy_queue_finish(b->queue));
    b->parts[0] = part(b->coded, 0, b->chunks);
    b->parts[1] = part(b->coded, b->frames, b->blocks - b->frames);
    b->parts[2] = part(b->coded, b->blocks, b->total - b->blocks);
}

static void add_scratch(struct batch *b, size_t at)
{
    size_t size;
    CHECK(hcy_kernel_scratch_size(&size, b->kernel, b->n, b->args, b->n_args));
    if (size)
        b->args[at] = hcy_arg_buf(b->scratch = memory(b->dev, HCY_MEM_DEVICE, size));
}

#define DECODE_AT(name) HCY_ARG_AT(bslz4_decode, name)

static void open_decode(struct batch *b, hcy_device *dev, size_t n)
{
    open_batch(b, dev, n);
    CHECK(hcy_kernel_get(&b->kernel, dev, "bslz4_decode"));
    b->sums = memory(dev, HCY_MEM_DEVICE, n * coding.image_bytes);
    b->args[DECODE_AT(chunks)] = hcy_arg_buf(b->parts[0]);
    b->args[DECODE_AT(frames)] = hcy_arg_buf(b->parts[1]);
    b->args[DECODE_AT(blocks)] = hcy_arg_buf(b->parts[2]);
    b->args[DECODE_AT(job)] = hcy_arg_struct(&coding, sizeof coding);
    b->args[DECODE_AT(images)] = hcy_arg_buf(b->sums);
    b->args[DECODE_AT(reports)] = hcy_arg_buf(b->reports);
    b->args[DECODE_AT(scratch)] = hcy_arg_buf(NULL);
    b->n_args = HCY_N_ARGS(bslz4_decode);
    add_scratch(b, DECODE_AT(scratch));
}

static void open_azint(struct batch *b, hcy_device *dev, size_t n, hcy_buffer *tables,
                       const hcy_azint_job *job)
{
    open_batch(b, dev, n);
    CHECK(hcy_kernel_get(&b->kernel, dev, "bslz4_azint"));
    const size_t sums = n * HCY_AZINT_SUMS * BINS * 8, all = sums + n * sizeof(hcy_frame_report);
    b->back = memory(dev, HCY_MEM_PINNED, all);
    b->both = memory(dev, HCY_MEM_DEVICE, all); /* so that one copy brings both back */
    b->sums = part(b->both, 0, sums);
    hcy_buffer_release(b->reports);
    b->reports = part(b->both, sums, all - sums);
    const struct hcy_azint_arguments named = { .chunks = hcy_arg_buf(b->parts[0]),
                                               .frames = hcy_arg_buf(b->parts[1]),
                                               .blocks = hcy_arg_buf(b->parts[2]),
                                               .coding = hcy_arg_struct(&coding, sizeof coding),
                                               .plan = hcy_arg_buf(tables),
                                               .job = hcy_arg_struct(job, sizeof *job),
                                               .sums = hcy_arg_buf(b->sums),
                                               .reports = hcy_arg_buf(b->reports),
                                               .scratch = hcy_arg_buf(NULL) };
    b->n_args = hcy_azint_arguments(b->args, b->kernel, &named);
    add_scratch(b, HCY_ARG_AT(bslz4_azint, scratch));
}

static void close_batch(struct batch *b)
{
    hcy_buffer *own[] = { b->pinned, b->coded, b->both,     b->sums,     b->reports,
                          b->scratch, b->back, b->parts[0], b->parts[1], b->parts[2] };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        hcy_buffer_release(own[i]);
    hcy_queue_release(b->queue);
    hcy_kernel_release(b->kernel);
}

static void launch(struct batch *b)
{
    CHECK(hcy_launch(b->queue, b->kernel, b->n, b->args, b->n_args));
}

/* --- The same as on the CPU? --- */

static hcy_buffer *make_tables(hcy_device *dev, const hcy_azint_plan *plan)
{
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_kernel *kernel;
    hcy_buffer *tables;
    double start = timer_now();
    CHECK(hcy_kernel_get(&kernel, dev, "bslz4_azint"));
    hcy_azint_plan_tables(spans, plan);
    CHECK(hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS));
    printf("tables of %s: %.1f MB in %.2f s\n", hcy_device_get_info(dev)->name,
           (double)hcy_buffer_size(tables) * 1e-6, timer_now() - start);
    hcy_kernel_release(kernel);
    return tables;
}

static void *results(struct batch *b, size_t size, hcy_frame_report *reports)
{
    void *p = malloc(size);
    launch(b);
    CHECK(hcy_buffer_read(b->queue, p, b->sums, 0, size));
    CHECK(hcy_buffer_read(b->queue, reports, b->reports, 0, b->n * sizeof *reports));
    CHECK(hcy_queue_finish(b->queue));
    return p;
}

static void compare(const char *what, struct batch *a, struct batch *b, size_t frame_bytes)
{
    hcy_frame_report ra[MOST], rb[MOST];
    size_t size = a->n * frame_bytes, wrong = 0;
    uint8_t *x = results(a, size, ra), *y = results(b, size, rb);
    for (size_t i = 0; i < a->n; i++) {
        size_t rows = ra[i].n_lost ? frame_bytes : frame_bytes / HCY_AZINT_SUMS * 4;
        if (frame_bytes == coding.image_bytes)
            rows = frame_bytes;
        wrong += memcmp(x + i * frame_bytes, y + i * frame_bytes, rows) != 0 ||
                 memcmp(&ra[i], &rb[i], sizeof ra[i]) != 0;
    }
    printf("%s, %zu frames: %s (%zu wrong)%s", what, a->n, wrong ? "NOT the CPU's bits" : "the CPU's bits",
           wrong, wrong ? "" : "\n");
    if (wrong)
        printf(" report 0: %d %u %llu %llu, %d %u %llu %llu\n", ra[0].status, ra[0].block,
               (unsigned long long)ra[0].byte, (unsigned long long)ra[0].n_lost, rb[0].status, rb[0].block,
               (unsigned long long)rb[0].byte, (unsigned long long)rb[0].n_lost);
    free(x);
    free(y);
}

/* --- Times --- */

/* Seconds a frame, batches of n on 1 or 2 queues in turn, everything on the device. */
static double resident(struct batch *b, size_t queues)
{
    size_t rounds = 1024 * (size_t)PIXELS_4M / (size_t)pixels / (b[0].n * queues) + 4;
    double best = INFINITY;
    for (int k = 0; k < 4; k++) {
        double start = timer_now();
        for (size_t i = 0; i < rounds; i++)
            for (size_t q = 0; q < queues; q++)
                launch(&b[q]);
        for (size_t q = 0; q < queues; q++)
            CHECK(hcy_queue_finish(b[q].queue));
        best = timer_best(best, start);
    }
    return best / (double)(rounds * queues * b[0].n);
}

/* The second launch finds what the first has left in caches. */
static void launch_once(hcy_device *dev, hcy_buffer *tables, const hcy_azint_job *job, size_t n)
{
    struct batch b[2];
    open_decode(&b[0], dev, n);
    open_azint(&b[1], dev, n, tables, job);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 2; i++) {
            launch(&b[i]);
            CHECK(hcy_queue_finish(b[i].queue));
        }
    close_batch(&b[0]);
    close_batch(&b[1]);
}

static void time_resident(hcy_device *dev, hcy_buffer *tables, const hcy_azint_job *job)
{
    static const size_t sizes[] = { 1, 8, 32, 64 };
    for (size_t s = 0; s < 4; s++) {
        struct batch b[2];
        double t[4];
        for (int q = 0; q < 2; q++)
            open_decode(&b[q], dev, sizes[s]);
        t[0] = resident(b, 1), t[1] = resident(b, 2);
        for (int q = 0; q < 2; q++)
            close_batch(&b[q]);
        for (int q = 0; q < 2; q++)
            open_azint(&b[q], dev, sizes[s], tables, job);
        t[2] = resident(b, 1), t[3] = resident(b, 2);
        for (int q = 0; q < 2; q++)
            close_batch(&b[q]);
        printf(
            "resident, batch %2zu: decode %7.2f us/frame, two queues %7.2f; fused %7.2f, two queues %7.2f\n",
            sizes[s], 1e6 * t[0], 1e6 * t[1], 1e6 * t[2], 1e6 * t[3]);
    }
}

struct worker {
    struct batch batch;
    const hcy_azint_plan *plan;
    const hcy_azint_job *job;
    atomic_long *left;
    int copy_only;
    hcy_azint_result *result;
};

/* What a batch's time consists of, on the host. */
enum { PART_COPY, PART_PARSE, PART_TABLES, PART_LAUNCH, PART_BACK, PART_WAIT, PART_DIVISION, PARTS };

/* One batch from pinned chunks to curves; when each part was done. */
static void one_batch(struct worker *w, double done[PARTS])
{
    struct batch *b = &w->batch;
    size_t sums = b->n * HCY_AZINT_SUMS * BINS * 8;
    uint8_t *host = hcy_buffer_host(b->back);
    CHECK(hcy_buffer_copy(b->queue, b->coded, 0, b->pinned, 0, b->frames));
    done[PART_COPY] = timer_now();
    if (!w->copy_only)
        parse(b); /* while the chunks are on their way */
    done[PART_PARSE] = timer_now();
    CHECK(hcy_buffer_copy(b->queue, b->coded, b->frames, b->pinned, b->frames, b->total - b->frames));
    done[PART_TABLES] = timer_now();
    if (!w->copy_only)
        launch(b);
    done[PART_LAUNCH] = timer_now();
    if (!w->copy_only)
        CHECK(hcy_buffer_copy(b->queue, b->back, 0, b->both, 0, hcy_buffer_size(b->both)));
    done[PART_BACK] = timer_now();
    CHECK(hcy_queue_finish(b->queue));
    done[PART_WAIT] = timer_now();
    for (size_t i = 0; !w->copy_only && i < b->n; i++)
        CHECK(hcy_azint_finish(w->result, w->plan, w->job, (uint64_t *)host + i * HCY_AZINT_SUMS * BINS,
                               (hcy_frame_report *)(host + sums) + i, 1.0));
    done[PART_DIVISION] = timer_now();
}

static void *work(void *context)
{
    struct worker *w = context;
    double done[PARTS];
    while (atomic_fetch_sub(w->left, (long)w->batch.n) > 0)
        one_batch(w, done);
    return NULL;
}

/* Frames a second; `frames` of them, fewer of larger ones. */
static double end_to_end(struct worker *w, size_t n_workers, long frames)
{
    pthread_t threads[THREADS];
    atomic_long left;
    frames = frames * PIXELS_4M / pixels;
    atomic_init(&left, frames);
    double start = timer_now();
    for (size_t i = 0; i < n_workers; i++) {
        w[i].left = &left;
        if (pthread_create(&threads[i], NULL, work, &w[i]))
            exit(1);
    }
    for (size_t i = 0; i < n_workers; i++)
        pthread_join(threads[i], NULL);
    return (double)frames / (timer_now() - start);
}

static void time_end_to_end(hcy_device *dev, const hcy_azint_plan *plan, hcy_buffer *tables,
                            const hcy_azint_job *job)
{
    static const size_t sizes[] = { 8, 16, 32 }, counts[] = { 2, 4, 8, 12 };
    static struct worker w[THREADS];
    double done[PARTS];
    for (size_t s = 0; s < 3; s++) {
        for (size_t i = 0; i < THREADS; i++) {
            w[i] = (struct worker){ .plan = plan, .job = job };
            open_azint(&w[i].batch, dev, sizes[s], tables, job);
            CHECK(hcy_azint_result_create(&w[i].result, plan));
            one_batch(&w[i], done);
        }
        for (size_t i = 0; i < 2; i++)
            w[i].copy_only = 1;
        double copies = end_to_end(w, 2, 8192);
        for (size_t i = 0; i < 2; i++)
            w[i].copy_only = 0;
        printf("host to curve, batch %2zu: copies alone %.0f frames/s;", sizes[s], copies);
        for (size_t c = 0; c < 4; c++) {
            end_to_end(w, counts[c], 2048);
            printf(" %zu threads %.0f", counts[c], end_to_end(w, counts[c], 16384));
        }
        printf("\n");
        for (size_t i = 0; i < THREADS; i++) {
            close_batch(&w[i].batch);
            hcy_azint_result_destroy(w[i].result);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static void time_latency(hcy_device *dev, const hcy_azint_plan *plan, hcy_buffer *tables,
                         const hcy_azint_job *job)
{
    enum { N = 400 };
    static const char *const names[PARTS] = { "copy submitted", "block table", "its copy", "launch",
                                              "copy back", "waited", "division" };
    static double t[N], parts[PARTS][N];
    struct worker w = { .plan = plan, .job = job };
    open_azint(&w.batch, dev, 1, tables, job);
    CHECK(hcy_azint_result_create(&w.result, plan));
    for (int i = 0; i < N; i++) {
        double start = timer_now(), done[PARTS];
        one_batch(&w, done);
        t[i] = done[PARTS - 1] - start;
        for (int k = 0; k < PARTS; k++)
            parts[k][i] = done[k] - (k ? done[k - 1] : start);
    }
    qsort(t, N, sizeof t[0], by_value);
    printf("latency of a frame, host to curve: median %.1f us, best %.1f, 95%% %.1f\n", 1e6 * t[N / 2],
           1e6 * t[0], 1e6 * t[N * 95 / 100]);
    for (int k = 0; k < PARTS; k++) {
        qsort(parts[k], N, sizeof t[0], by_value);
        printf("%s %s %.1f", k ? "," : "of it, medians:", names[k], 1e6 * parts[k][N / 2]);
    }
    printf(" us\n");
    close_batch(&w.batch);
    hcy_azint_result_destroy(w.result);
}

int main(int argc, char **argv)
{
    hcy_device *dev, *cpu;
    hcy_azint_job job;
    struct batch a, b;
    double batch = 0;
    if (argc < 2 || argc > 8 || (argc > 2 && !bench_number(&mean, argv[2], 0)) ||
        (argc > 5 && !bench_number(&batch, argv[5], 0))) {
        fprintf(stderr, "usage: %s DEVICE [MEAN [BYTES [SPLIT [BATCH [HEIGHTxWIDTH [WHAT]]]]]]\n", argv[0]);
        return 2;
    }
    unsigned elem_size = argc > 3 ? (unsigned)atoi(argv[3]) : 4;
    if (elem_size != 2 && elem_size != 4) {
        fprintf(stderr, "%s: pixels have 2 or 4 bytes, not %s\n", argv[0], argv[3]);
        return 2;
    }
    if (argc > 6 && (sscanf(argv[6], "%dx%d", &height, &width) != 2 || height < 1 || width < 1 ||
                     height > 20000 || width > 20000)) {
        fprintf(stderr, "%s: no shape HEIGHTxWIDTH: %s\n", argv[0], argv[6]);
        return 2;
    }
    pixels = height * width;
    int split = argc > 4 && !strcmp(argv[4], "no") ? HCY_SPLIT_NO : HCY_SPLIT_FULL;
    setvbuf(stdout, NULL, _IOLBF, 0); /* what is done is seen, wherever it goes */
    CHECK(hcy_device_open(&dev, argv[1]));
    CHECK(hcy_device_open(&cpu, "cpu"));
    printf("%s, %s; %d x %d, mean %g, %u bytes, splitting %s\n", hcy_device_get_info(dev)->name,
           hcy_device_get_info(dev)->description, height, width, mean, elem_size, split ? "full" : "no");
    make_frames(elem_size);
    hcy_azint_plan *plan = scene_plan(&scene, split, BINS);
    CHECK(hcy_azint_plan_job(&job, plan, elem_size == 2 ? HCY_PIXEL_U16 : HCY_PIXEL_U32));
    hcy_buffer *tables = make_tables(dev, plan), *cpu_tables = make_tables(cpu, plan);
    size_t only = (size_t)batch;
    if (only)
        launch_once(dev, tables, &job, only);
    for (size_t n = only ? 12 : 1; n <= 11; n += 10) {
        open_decode(&a, cpu, n);
        open_decode(&b, dev, n);
        compare("images", &a, &b, coding.image_bytes);
        close_batch(&a);
        close_batch(&b);
        open_azint(&a, cpu, n, cpu_tables, &job);
        open_azint(&b, dev, n, tables, &job);
        compare("sums", &a, &b, HCY_AZINT_SUMS * BINS * 8);
        close_batch(&a);
        close_batch(&b);
    }
    const char *what = only ? "nothing" : argc > 7 ? argv[7] : NULL;
    if (!what || !strcmp(what, "resident"))
        time_resident(dev, tables, &job);
    if (!what || !strcmp(what, "curves"))
        time_end_to_end(dev, plan, tables, &job);
    if (!what || !strcmp(what, "latency"))
        time_latency(dev, plan, tables, &job);
    hcy_buffer_release(tables);
    hcy_buffer_release(cpu_tables);
    hcy_azint_plan_release(plan);
    hcy_device_release(dev);
    hcy_device_release(cpu);
    return 0;
}
