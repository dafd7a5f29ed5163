/* azint.c - how fast chunks become curves on the CPU: each stage alone on one core, and the kernel as a
 * whole.
 *
 * usage: bench_azint [-t THREADS] [-b BINS] [-a BINS_IN_AZIMUTH] [-s no|bbox|full] [-v VARIANT] [-n BATCH]
 *                    [-r ROUNDS] [-u] [STACK.h5 [STACK.poni [DATASET]]]
 * Without a stack it makes its own: EIGER 4M, uint32, a few counts, gaps.  Pixels of the greatest value in
 * the first frame are the mask (-u: no mask, they are left to the sentinels).  Every launch gets other
 * frames, so that the coded bytes are not warm; best of several rounds.
 */
#include "azint/azint_arguments.h"
#include "azint/cpu_azint.h"
#include "bench.h"
#include "scene.h"
#include <halcyon/azint.h>
#include <halcyon/bslz4.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FRAMES = STORED_FRAMES, MADE_FRAMES = 16, MIN_FRAMES = 64, MAX_BATCH = 64 };

struct stack {
    hcy_bslz4_job coding;
    uint32_t pixel_type, height, width;
    size_t n, room, n_blocks, blocks_room;
    uint8_t *chunks;
    size_t size;
    hcy_bslz4_frame frames[MAX_FRAMES];
    hcy_bslz4_block *blocks;
    uint8_t *mask;
};

static unsigned threads = 0;
static int rounds = 7;
static bool unmasked;
static size_t only_batch;
static size_t bins = 1000, azimuthal; /* azimuthal: bins of an image's other axis, 0 for curves */
static const char *only_split, *only_variant;

/* --- Frames --- */

static void add_chunk(struct stack *s, const uint8_t *chunk, size_t size)
{
    size_t count, need = (s->size + size + HCY_BSLZ4_ALIGN) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN;
    CHECK(hcy_bslz4_block_count(&count, &s->coding, chunk, size));
    if (need + HCY_BSLZ4_PADDING > s->room) {
        s->room = 2 * (need + HCY_BSLZ4_PADDING);
        s->chunks = bench_need(realloc(s->chunks, s->room));
    }
    if (s->n_blocks + count + 1 > s->blocks_room) {
        s->blocks_room = 2 * (s->n_blocks + count + 1);
        s->blocks = bench_need(realloc(s->blocks, s->blocks_room * sizeof *s->blocks));
    }
    memcpy(s->chunks + s->size, chunk, size);
    hcy_bslz4_frame *f = &s->frames[s->n];
    CHECK(hcy_bslz4_parse(f, s->blocks + s->n_blocks, count, NULL, &s->coding, chunk, size));
    f->offset = s->size;
    f->first_block = (uint32_t)s->n_blocks;
    s->n_blocks += f->n_blocks;
    s->size = need;
    s->n++;
}

/* The frames one behind the other, over and over until there are enough to keep a launch's input out of the caches. */
static void add_frames(struct stack *s, const struct stored *stored)
{
    s->coding = stored->coding;
    s->pixel_type = stored->pixel_type;
    s->height = stored->height;
    s->width = stored->width;
    while (s->n < MIN_FRAMES || s->n < stored->n) {
        const struct stored_frame *f = &stored->frames[s->n % stored->n];
        add_chunk(s, f->chunk, f->size);
    }
    memset(s->chunks + s->size, 0, HCY_BSLZ4_PADDING);
}

static void make_mask(struct stack *s)
{
    static const uint8_t ones[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
    size_t n = (size_t)s->height * s->width, e = s->coding.elem_size;
    const hcy_bslz4_frame *f = &s->frames[0];
    const struct cpu_block_ops *ops = cpu_block_ops(cpu_simd_best());
    const uint8_t *chunk = s->chunks + f->offset;
    uint8_t *image = bench_need(malloc(s->coding.image_bytes));
    uint8_t *work = bench_need(aligned_alloc(64, (CPU_BLOCK_WORK(f->block_bytes) + 63) / 64 * 64));
    s->mask = bench_need(malloc(n));
    for (uint32_t b = 0; b < f->n_blocks; b++) {
        const hcy_bslz4_block *block = &s->blocks[f->first_block + b];
        size_t bytes = b + 1 == f->n_blocks ? f->last_bytes : f->block_bytes;
        if (cpu_bslz4_block(ops, &s->coding, chunk + block->offset, block->size, s->chunks + s->size, bytes,
                            work, image + (size_t)b * f->block_bytes)) {
            fprintf(stderr, "bench_azint: the first frame, which is to be the mask, is damaged\n");
            exit(1);
        }
    }
    memcpy(image + s->coding.image_bytes - f->tail_bytes, chunk + f->tail_offset, f->tail_bytes);
    for (size_t i = 0; i < n; i++)
        s->mask[i] = memcmp(image + i * e, ones, e) == 0;
    free(image);
    free(work);
}

/* --- The kernel as a whole --- */

struct bench {
    hcy_device *dev;
    hcy_kernel *kernel;
    hcy_buffer *tables, *chunks, *blocks, *frames, *sums, *reports, *scratch;
    hcy_queue *queue;
    hcy_azint_job job;
    double prepare; /* seconds */
};

static hcy_buffer *buffer(hcy_device *dev, size_t size)
{
    hcy_buffer *b;
    CHECK(hcy_buffer_create(&b, dev, HCY_MEM_MAPPED, size));
    return b;
}

static size_t set_args(hcy_arg *args, const struct bench *k, const struct stack *s)
{
    const struct hcy_azint_arguments all = { .chunks = hcy_arg_buf(k->chunks),
                                             .frames = hcy_arg_buf(k->frames),
                                             .blocks = hcy_arg_buf(k->blocks),
                                             .coding = hcy_arg_struct(&s->coding, sizeof s->coding),
                                             .plan = hcy_arg_buf(k->tables),
                                             .job = hcy_arg_struct(&k->job, sizeof k->job),
                                             .sums = hcy_arg_buf(k->sums),
                                             .reports = hcy_arg_buf(k->reports),
                                             .scratch = hcy_arg_buf(k->scratch) };
    return hcy_azint_arguments(args, k->kernel, &all);
}

static double launch(struct bench *k, const struct stack *s, size_t first, size_t n)
{
    hcy_bslz4_frame *frames = hcy_buffer_host(k->frames);
    hcy_arg args[HCY_MAX_ARGS];
    size_t n_args = set_args(args, k, s);
    for (size_t i = 0; i < n; i++)
        frames[i] = s->frames[(first + i) % s->n];
    double t = timer_now();
    CHECK(hcy_launch(k->queue, k->kernel, n, args, n_args));
    CHECK(hcy_queue_finish(k->queue));
    return timer_now() - t;
}

/* A device with everything that a launch of up to MAX_BATCH frames needs. */
static void bench_open(struct bench *k, const struct stack *s, hcy_azint_plan *plan, const char *device)
{
    hcy_span spans[HCY_AZINT_SPANS];
    size_t scratch;
    hcy_azint_plan_tables(spans, plan);
    CHECK(hcy_device_open(&k->dev, device));
    CHECK(hcy_kernel_get(&k->kernel, k->dev, "bslz4_azint"));
    CHECK(hcy_queue_create(&k->queue, k->dev));
    CHECK(hcy_azint_plan_job(&k->job, plan, s->pixel_type));
    k->prepare = timer_now();
    CHECK(hcy_kernel_prepare(&k->tables, k->kernel, spans, HCY_AZINT_SPANS));
    k->prepare = timer_now() - k->prepare;
    CHECK(hcy_buffer_import_host(&k->chunks, k->dev, s->chunks, s->size + HCY_BSLZ4_PADDING, NULL, NULL));
    CHECK(hcy_buffer_import_host(&k->blocks, k->dev, s->blocks, s->n_blocks * sizeof *s->blocks, NULL, NULL));
    k->frames = buffer(k->dev, MAX_BATCH * sizeof(hcy_bslz4_frame));
    k->sums = buffer(k->dev, MAX_BATCH * HCY_AZINT_SUMS * 8 * k->job.n_bins);
    k->reports = buffer(k->dev, MAX_BATCH * sizeof(hcy_frame_report));
    hcy_arg args[HCY_MAX_ARGS];
    k->scratch = NULL;
    size_t n_args = set_args(args, k, s);
    CHECK(hcy_kernel_scratch_size(&scratch, k->kernel, MAX_BATCH, args, n_args));
    k->scratch = buffer(k->dev, scratch);
}

static void bench_close(struct bench *k)
{
    hcy_buffer *all[] = { k->tables, k->chunks, k->blocks, k->frames, k->sums, k->reports, k->scratch };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        hcy_buffer_release(all[i]);
    hcy_queue_release(k->queue);
    hcy_kernel_release(k->kernel);
    hcy_device_release(k->dev);
}

static const size_t batches[] = { 1, 2, 4, 8, 16, 32, MAX_BATCH };
enum { N = sizeof batches / sizeof batches[0] };

static void whole(const struct stack *s, hcy_azint_plan *plan, const char *split, const char *simd,
                  unsigned n_threads)
{
    struct bench k = { 0 };
    char device[64];
    double best[N];
    size_t first = 0;
    snprintf(device, sizeof device, "cpu@threads=%u@simd=%s", n_threads, simd);
    bench_open(&k, s, plan, device);
    for (int round = 0; round < rounds; round++)
        for (size_t b = 0; b < N; b++) {
            size_t times = batches[b] < 16 ? 16 / batches[b] : 1;
            double t = 0;
            if (only_batch && batches[b] != only_batch)
                continue;
            for (size_t i = 0; i < times; i++, first += batches[b])
                t += launch(&k, s, first, batches[b]);
            t /= (double)(times * batches[b]);
            best[b] = !round || t < best[b] ? t : best[b];
        }
    printf("%-5s %-9s %2u threads, prepare %4.0f ms, tables %5.1f MB: ms/frame at batch", split, simd,
           n_threads, 1e3 * k.prepare, 1e-6 * (double)hcy_buffer_size(k.tables));
    for (size_t b = 0; b < N; b++)
        if (!only_batch || batches[b] == only_batch)
            printf(" %zu:%.2f", batches[b], 1e3 * best[b]);
    printf("\n");
    bench_close(&k);
}

/* --- Stages, on one core --- */

struct stages {
    const struct stack *s;
    const struct cpu_block_ops *blocks;
    const struct azint_ops *ops;
    const struct azint_plan *plan;
    uint8_t *planes, *rows, *x, *weights;
    int64_t *sums;
    size_t n; /* frames */
    double decode, digits, tile, expand, kernel;
};

static void stage_blocks(struct stages *g, size_t strip, unsigned lane, size_t step)
{
    const struct stack *s = g->s;
    for (size_t b = strip * AZINT_STRIP / step; b < (strip + 1) * AZINT_STRIP / step; b++)
        for (unsigned f = lane; f < lane + g->ops->tiles.lanes; f++) {
            const hcy_bslz4_frame *frame = &s->frames[f];
            const hcy_bslz4_block *block = &s->blocks[frame->first_block + b];
            const uint8_t *planes[8];
            unsigned same;
            if (b + 1 >= frame->n_blocks)
                continue;
            double t = timer_now();
            g->blocks->planes(s->chunks + frame->offset + block->offset, block->size, s->chunks + s->size,
                              frame->block_bytes, s->coding.elem_size, g->planes, &same);
            double u = timer_now();
            for (unsigned p = 0; p < 8; p++)
                planes[p] = g->planes + (p < same ? p : same) * step / 8;
            g->blocks->bytes(planes, step / 8, g->rows + f * AZINT_PITCH + b * step % AZINT_STRIP);
            g->decode += u - t;
            g->digits += timer_now() - u;
        }
}

static void stage_strip(struct stages *g, size_t number)
{
    const struct azint_strip *strip = (const struct azint_strip *)azint_at(g->plan, g->plan->strips) + number;
    const struct azint_seg *seg = azint_at(g->plan, strip->segs), *end = seg + strip->n_segs;
    unsigned lanes = g->ops->tiles.lanes, groups = (unsigned)g->n / lanes;
    for (unsigned lane = 0; lane < g->n; lane += lanes) {
        const uint8_t *rows[AZINT_MAX_PASS];
        stage_blocks(g, number, lane, g->s->frames[0].block_bytes / g->s->coding.elem_size);
        for (unsigned l = 0; l < lanes; l++)
            rows[l] = g->rows + (lane + l) * AZINT_PITCH;
        double t = timer_now();
        g->ops->tiles.tile(rows, 0, AZINT_STRIP, g->x + (size_t)lane * AZINT_STRIP);
        g->tile += timer_now() - t;
    }
    for (uint32_t first = 0; first < strip->n_entries; first += AZINT_CHUNK) {
        uint32_t last = strip->n_entries - first < AZINT_CHUNK ? strip->n_entries : first + AZINT_CHUNK;
        struct azint_part part = { (const uint16_t *)azint_at(g->plan, strip->index) + first, NULL, seg, 0,
                                   first };
        while (seg < end && seg->end <= last)
            seg++;
        part.n_segs = (size_t)(seg - part.segs);
        double t = timer_now();
        if (!g->plan->unit) {
            const uint8_t *weights = azint_at(g->plan, strip->weights);
            g->ops->expand(weights + 12 * (size_t)first, last - first, g->weights);
            part.weights = g->weights;
        }
        double u = timer_now();
        g->ops->tiles.many(&part, g->x, g->x, AZINT_V_MAX, groups, g->sums);
        g->expand += u - t;
        g->kernel += timer_now() - u;
    }
}

static void stages(const struct stack *s, hcy_azint_plan *plan, const char *split, enum cpu_simd simd)
{
    struct cpu_pool *pool;
    struct stages g = { .s = s, .blocks = cpu_block_ops(simd), .ops = azint_ops(simd) };
    hcy_span spans[HCY_AZINT_SPANS];
    void *blob;
    size_t size;
    double best[5];
    hcy_azint_plan_tables(spans, plan);
    CHECK(cpu_pool_create(&pool, 1, NULL, 0));
    CHECK(azint_prepare(&blob, &size, pool, simd, spans, HCY_AZINT_SPANS));
    g.plan = blob;
    g.n = g.ops->pass;
    g.planes = (uint8_t *)aligned_alloc(64, CPU_BLOCK_WORK(1 << 17)) + CPU_BLOCK_LEAD;
    g.rows = aligned_alloc(64, g.n * AZINT_PITCH);
    g.x = aligned_alloc(64, g.n * AZINT_STRIP);
    g.weights = aligned_alloc(64, (AZINT_CHUNK + 4) * AZINT_EXPANDED);
    g.sums = aligned_alloc(64, (size_t)g.plan->n_bins * 2 * g.n * 8);
    for (int round = 0; round < rounds; round++) {
        g.decode = g.digits = g.tile = g.expand = g.kernel = 0;
        for (size_t i = 0; i < g.plan->n_strips; i++)
            stage_strip(&g, i);
        const double stage[5] = { g.decode, g.digits, g.tile, g.expand, g.kernel };
        for (int k = 0; k < 5; k++)
            best[k] = !round || stage[k] < best[k] ? stage[k] : best[k];
    }
    static const char *const names[5] = { "LZ4 to planes", "planes to digits", "tiles", "weights", "sums" };
    printf("%-5s %-9s one core, %zu frames, ms/frame:", split, cpu_simd_name(simd), g.n);
    for (int k = 0; k < 5; k++)
        printf("%s %s %.3f", k ? "," : "", names[k], 1e3 * best[k] / (double)g.n);
    printf("\n");
    free(g.planes - CPU_BLOCK_LEAD);
    free(g.rows);
    free(g.x);
    free(g.weights);
    free(g.sums);
    cpu_blob_free(blob, size);
    cpu_pool_destroy(pool);
}

/* Stages take strips of whole blocks, as detectors' are; of others the kernel alone is measured. */
static bool has_stages(const struct stack *s)
{
    const hcy_bslz4_frame *f = &s->frames[0];
    return !only_batch && f->n_blocks && AZINT_STRIP % (f->block_bytes / s->coding.elem_size) == 0;
}

static const char *const splits[] = { "no", "bbox", "full" };

/* Names that nothing has would end without a figure, no rounds with one of nothing. */
static bool check_options(void)
{
    bool batch = !only_batch, split = !only_split, variant = !only_variant;
    for (int i = 0; i < N; i++)
        batch |= batches[i] == only_batch;
    for (int i = 0; i < 3 && only_split; i++)
        split |= !strcmp(only_split, splits[i]);
    for (int simd = CPU_SIMD_PORTABLE; simd <= (int)cpu_simd_best() && only_variant; simd++)
        variant |= (int)cpu_simd_built((enum cpu_simd)simd) == simd &&
                   !strcmp(only_variant, cpu_simd_name((enum cpu_simd)simd));
    return batch && split && variant && rounds > 0;
}

static bool read_options(int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "t:b:a:s:v:r:n:u")) != -1)
        switch (option) {
        case 't':
            threads = (unsigned)atoi(optarg);
            break;
        case 'b':
            bins = (size_t)atol(optarg);
            break;
        case 'a':
            azimuthal = (size_t)atol(optarg);
            break;
        case 's':
            only_split = optarg;
            break;
        case 'v':
            only_variant = optarg;
            break;
        case 'u':
            unmasked = true;
            break;
        case 'r':
            rounds = atoi(optarg);
            break;
        case 'n':
            only_batch = (size_t)atol(optarg);
            break;
        default:
            return false;
        }
    return check_options();
}

int main(int argc, char **argv)
{
    static struct stack s;
    static struct stored stored;
    if (!read_options(argc, argv)) {
        fprintf(stderr, "usage: bench_azint [-t THREADS] [-b BINS] [-a BINS_IN_AZIMUTH] [-s no|bbox|full] [-v VARIANT] "
                        "[-n 1|2|4|8|16|32|64] [-r ROUNDS] [-u] [STACK.h5 [PONI [DATASET]]]\n");
        return 2;
    }
    hcy_poni poni = HCY_PONI_INIT;
    poni.dist = 0.2, poni.poni1 = 0.0845, poni.poni2 = 0.073, poni.wavelength = 1e-10,
    poni.pixel1 = poni.pixel2 = 75e-6;
    if (optind < argc)
        stored_read(&stored, argv[optind], optind + 2 < argc ? argv[optind + 2] : NULL, MAX_FRAMES);
    else
        stored_make_flat(&stored, MADE_FRAMES);
    if (optind + 1 < argc)
        CHECK(hcy_poni_read(&poni, argv[optind + 1]));
    add_frames(&s, &stored);
    stored_free(&stored);
    make_mask(&s);
    threads = threads ? threads : (unsigned)hcy_processors();
    printf("%u x %u, elements of %u, %.2f MB a frame coded, %zu bins\n", s.height, s.width,
           s.coding.elem_size, 1e-6 * (double)s.size / (double)s.n, bins);
    for (int split = 0; split < 3; split++) {
        hcy_azint_plan *plan;
        hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
        o.npt = bins, o.npt_azim = azimuthal, o.split = split, o.error_model = HCY_ERRORS_POISSON;
        o.mask = unmasked ? NULL : s.mask;
        o.mask_height = s.height, o.mask_width = s.width, o.sentinels = HCY_SENTINELS_ALWAYS;
        if (only_split && strcmp(only_split, splits[split]) != 0)
            continue;
        double t = timer_now();
        CHECK(hcy_azint_plan_create(&plan, &poni, s.height, s.width, &o));
        printf("plan %s: %.0f ms\n", splits[split], 1e3 * (timer_now() - t));
        for (int simd = CPU_SIMD_PORTABLE; simd <= (int)cpu_simd_best(); simd++) {
            const char *name = cpu_simd_name((enum cpu_simd)simd);
            bool wanted = !only_variant || strcmp(only_variant, name) == 0;
            if ((int)cpu_simd_built((enum cpu_simd)simd) != simd || !wanted)
                continue;
            if (has_stages(&s))
                stages(&s, plan, splits[split], (enum cpu_simd)simd);
            if (threads != 1 && !only_batch)
                whole(&s, plan, splits[split], name, 1);
            whole(&s, plan, splits[split], name, threads);
        }
        hcy_azint_plan_release(plan);
    }
    free(s.mask);
    free(s.chunks);
    free(s.blocks);
    return 0;
}
