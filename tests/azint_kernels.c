/* azint_kernels - the kernels azint_image and bslz4_azint against the oracle, bit for bit: all pixel types,
 * SIMD variants, thread counts, batch sizes, codecs and block sizes; frames of every temper in one batch.
 * Devices other than the CPU may add floats in another order: their sums lie within what doc/numbers.md states. */
#include <halcyon/bslz4.h>
#include <halcyon/kernel.h>

#include "azint_oracle.h"
#include "tap.h"

/* ThreadSanitizer looks for races, not for wrong sums, is 20 times slower and needs five times the memory. */
#ifdef __SANITIZE_THREAD__
enum { TYPE_STEP = 4 };
#else
enum { TYPE_STEP = 1 };
#endif

#define MAX_ITEMS 40

/* A compiler takes its time for each pixel type: "few" as the last argument leaves most of them out, "one" all but one,
 * of integers. */
static bool few, one;
static bool wanted(uint32_t type)
{
#ifdef IS_SANITIZED /* which looks at memory: what has a sign lies there as what has none */
    if (type == HCY_PIXEL_I8 || type == HCY_PIXEL_I16 || type == HCY_PIXEL_I32 || type == HCY_PIXEL_I64)
        return false;
#endif
    return !few || type == HCY_PIXEL_U16 || type == HCY_PIXEL_F32;
}

enum temper { DIM, BRIGHT, HOT, GAPS, DEAD, ZERO, WILD, NEGATIVE, PEAKS, TEMPERS };

/* Of a bin's float sums: what was added, without signs, and how often. */
struct bound {
    double signal, variance, terms;
};

/* Frames, what they must give, and the plan. */
struct group {
    struct oracle_plan plan;
    hcy_azint_job job;
    size_t items, image_bytes, sums; /* sums: u64 of a frame */
    uint8_t *images;
    uint64_t *want, *n_lost;
    struct bound *bounds; /* of float pixels, n_bins a frame */
};

static uint64_t state = 20261121;

/* --- Images --- */

static uint64_t pixel_value(enum temper temper, size_t i, uint32_t type)
{
    unsigned bits = 8 * (unsigned)oracle_pixel_size(type);
    uint64_t top = UINT64_MAX >> (64 - bits), dim = oracle_below(&state, 1 + i / 64 % 50);
    switch (temper) {
    case DIM:
        return dim;
    case BRIGHT:
        return (oracle_below(&state, 2000) + (oracle_below(&state, 400) ? 0 : 1000000)) & top;
    case HOT:
        return oracle_below(&state, 3000) ? dim : oracle_random(&state) & top;
    case GAPS:
        return i / 100 % 7 == 3 ? top : oracle_below(&state, 500) ? dim : top - oracle_below(&state, 3);
    case DEAD:
        return top;
    case ZERO:
        return 0;
    case WILD:
        return oracle_random(&state) >> oracle_below(&state, 64) & top;
    default:
        return (dim - 20) & top;
    }
}

static void put_pixel(uint8_t *image, size_t i, uint32_t type, uint64_t value)
{
    if (type == HCY_PIXEL_F32 || type == HCY_PIXEL_F64) {
        double d = value == UINT64_MAX || value == UINT32_MAX ? NAN : (double)(int64_t)value / 3;
        float f = (float)d;
        type == HCY_PIXEL_F32 ? memcpy(image + 4 * i, &f, 4) : memcpy(image + 8 * i, &d, 8);
    } else {
        size_t size = oracle_pixel_size(type);
        memcpy(image + size * i, &value, size); /* little-endian */
    }
}

static void add_bound(struct bound *b, const struct group *g, uint32_t c, size_t pixel, double value, int lost)
{
    const float *darks = g->plan.spans[4].data, *variances = g->plan.spans[5].data;
    double c2 = (double)(((uint64_t)c * c + (1u << 23)) >> 24);
    b->terms++;
    if (lost) {
        b->signal += g->plan.spans[4].size ? fabs(c * (double)darks[pixel]) : 0;
        b->variance += g->plan.spans[5].size ? c2 * (double)variances[pixel] : 0;
    } else {
        b->signal += fabs(c * value);
        b->variance += c2 * (value > 1 ? value : 1);
    }
}

static void put_bounds(struct bound *bounds, const struct group *g, const uint8_t *image)
{
    const uint8_t *p = g->plan.spans[1].data, *w;
    memset(bounds, 0, g->job.n_bins * sizeof *bounds);
    for (size_t i = 0; i < g->job.n_pixels; i++) {
        struct oracle_pixel v = oracle_pixel_get(image, i, g->job.pixel_type);
        int lost = oracle_invalid(&g->job, v);
        uint32_t word;
        do {
            word = oracle_run(&p, &w);
            for (uint32_t k = 0; k < HCY_AZINT_RUN_N(word); k++)
                add_bound(&bounds[HCY_AZINT_RUN_BIN(word) + k], g, oracle_weight(w, k), i, v.d, lost);
        } while (HCY_AZINT_RUN_MORE(word));
    }
}

/* Frames all of one temper, or (TEMPERS) of all in turn. */
static void group_open(struct group *g, size_t items, enum temper temper)
{
    g->items = items;
    g->job.n_pixels = g->plan.head.n_pixels;
    g->job.n_bins = g->plan.head.n_bins;
    g->image_bytes = (size_t)g->job.n_pixels * oracle_pixel_size(g->job.pixel_type);
    g->sums = (size_t)HCY_AZINT_SUMS * g->job.n_bins;
    g->images = malloc(items * g->image_bytes);
    g->want = malloc(items * g->sums * 8);
    g->n_lost = malloc(items * 8);
    g->bounds = oracle_is_float(g->job.pixel_type) ? malloc(items * g->job.n_bins * sizeof *g->bounds) : NULL;
    if (!g->images || !g->want || !g->n_lost || (oracle_is_float(g->job.pixel_type) && !g->bounds))
        bail_out("no memory");
    for (size_t f = 0; f < items; f++) {
        uint8_t *image = g->images + f * g->image_bytes;
        for (size_t i = 0; i < g->job.n_pixels; i++)
            put_pixel(
                image, i, g->job.pixel_type,
                pixel_value(temper == TEMPERS ? (enum temper)(f % TEMPERS) : temper, i, g->job.pixel_type));
        g->n_lost[f] = oracle_sums(g->want + f * g->sums, g->plan.spans, &g->job, image);
        if (g->bounds)
            put_bounds(g->bounds + f * g->job.n_bins, g, image);
    }
}

static void group_close(struct group *g)
{
    free(g->images);
    free(g->want);
    free(g->n_lost);
    free(g->bounds);
}

/* --- Devices --- */

static const char *const variants[] = {
#ifdef __aarch64__
    "cpu@threads=2@simd=portable", "cpu@threads=3@simd=neon",   "cpu@threads=5@simd=dotprod",
#else
    "cpu@threads=2@simd=portable", "cpu@threads=3@simd=avx2",   "cpu@threads=5@simd=avx512",
#endif
#if !defined IS_SANITIZED && !defined __aarch64__ /* the same lines on one thread */
    "cpu@threads=1@simd=avx2",     "cpu@threads=1@simd=avx512",
#endif
};
enum { N_VARIANTS = sizeof variants / sizeof variants[0] };

static hcy_device *devices[N_VARIANTS];

/* Other devices may be given as arguments. */
static void devices_open(int argc, char **argv)
{
    few = argc > 2 && !strcmp(argv[argc - 1], "few");
    one = argc > 2 && !strcmp(argv[argc - 1], "one");
    argc -= few || one;
    few |= TAP_THREAD_SANITIZER;
    for (size_t v = 0; v < N_VARIANTS; v++) {
        const char *text = argc < 2 ? variants[v] : v + 1 < (size_t)argc ? argv[v + 1] : NULL;
        int status = text ? hcy_device_open(&devices[v], text) : 0;
        if (status == HCY_ENODEV && argc > 1 && v == 0)
            skip_all("%s", hcy_last_error()->text);
        if (status)
            diag("%s: %s", text, hcy_last_error()->text);
    }
}

/* Memory that host and device see, or the device's own. */
static hcy_buffer *buffer(hcy_device *dev, size_t size, const void *data)
{
    hcy_buffer *b = NULL;
    bool mapped = hcy_device_get_info(dev)->caps & HCY_CAP_MAPPED;
    if (hcy_buffer_create(&b, dev, mapped ? HCY_MEM_MAPPED : HCY_MEM_DEVICE, size ? size : 64) ||
        (data && !mapped && hcy_buffer_write_now(b, 0, data, size)))
        bail_out("buffer of %zu: %s", size, hcy_last_error()->text);
    if (data && mapped)
        memcpy(hcy_buffer_host(b), data, size);
    return b;
}

static void paint(hcy_buffer *b, unsigned char byte, size_t size)
{
    hcy_queue *queue = NULL;
    if (hcy_buffer_host(b))
        memset(hcy_buffer_host(b), byte, size);
    else if (hcy_queue_create(&queue, hcy_buffer_device(b)) || hcy_buffer_fill(queue, b, 0, size, &byte, 1) ||
             hcy_queue_finish(queue))
        bail_out("a fill: %s", hcy_last_error()->text);
    hcy_queue_release(queue);
}

/* Its bytes; *copy is to be freed. */
static const void *look(hcy_buffer *b, void **copy)
{
    *copy = NULL;
    if (hcy_buffer_host(b))
        return hcy_buffer_host(b);
    *copy = malloc(hcy_buffer_size(b));
    if (!*copy || hcy_buffer_read_now(*copy, b, 0, hcy_buffer_size(b)))
        bail_out("a read: %s", hcy_last_error()->text);
    return *copy;
}

/* --- Batches --- */

/* How the frames reach the kernel. */
struct path {
    bool coded;
    uint32_t codec, block_bytes; /* 0: default */
    bool hasty; /* prepared for a few frames */
};

struct batch {
    hcy_bslz4_job coding;
    hcy_bslz4_frame frames[MAX_ITEMS];
    hcy_bslz4_block *blocks;
    uint8_t *chunks;
    size_t size, n_blocks;
};

static void batch_open(struct batch *b, const struct group *g, size_t first, size_t items,
                       const struct path *path)
{
    size_t bound, room = 0;
    memset(b, 0, sizeof *b);
    b->coding = (hcy_bslz4_job){ .codec = path->codec,
                                 .elem_size = (uint32_t)oracle_pixel_size(g->job.pixel_type),
                                 .image_bytes = g->image_bytes,
                                 .block_bytes = path->block_bytes };
    if (hcy_bslz4_encode_bound(&bound, &b->coding))
        bail_out("bound: %s", hcy_last_error()->text);
    bound = (bound + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN;
    room = items * (g->image_bytes / 8 + 16);
    b->chunks = malloc(items * bound + HCY_BSLZ4_PADDING);
    b->blocks = malloc(room * sizeof *b->blocks);
    if (!b->chunks || !b->blocks)
        bail_out("no memory");
    for (size_t i = 0; i < items; i++) {
        size_t size;
        if (hcy_bslz4_encode(&size, b->chunks + b->size, bound, &b->coding,
                             g->images + (first + i) * g->image_bytes) ||
            hcy_bslz4_parse(&b->frames[i], b->blocks + b->n_blocks, room - b->n_blocks, NULL, &b->coding,
                            b->chunks + b->size, size))
            bail_out("encode: %s", hcy_last_error()->text);
        b->frames[i].offset = b->size;
        b->frames[i].first_block = (uint32_t)b->n_blocks;
        b->n_blocks += b->frames[i].n_blocks;
        b->size += (size + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN;
    }
    memset(b->chunks + b->size, 0xa5, HCY_BSLZ4_PADDING);
    b->size += HCY_BSLZ4_PADDING;
}

static void batch_close(struct batch *b)
{
    free(b->chunks);
    free(b->blocks);
}

/* One launch of a kernel; sums and reports are the caller's. */
struct run {
    hcy_device *dev;
    hcy_kernel *kernel;
    hcy_buffer *tables;
};

static void run_open(struct run *r, hcy_device *dev, bool coded, bool hasty, const struct group *g)
{
    r->dev = dev;
    if (hcy_kernel_get(&r->kernel, dev, coded ? "bslz4_azint" : "azint_image") ||
        (hasty ? hcy_kernel_prepare_few : hcy_kernel_prepare)(&r->tables, r->kernel, g->plan.spans, HCY_AZINT_SPANS))
        bail_out("prepare: %s", hcy_last_error()->text);
}

static void run_close(struct run *r)
{
    hcy_buffer_release(r->tables);
    hcy_kernel_release(r->kernel);
}

static int launch(struct run *r, size_t items, hcy_arg *args, size_t n)
{
    size_t scratch;
    hcy_queue *queue;
    int status = hcy_kernel_scratch_size(&scratch, r->kernel, items, args, n);
    if (status)
        return status;
    args[n - 1] = hcy_arg_buf(buffer(r->dev, scratch, NULL));
    if (scratch)
        paint(args[n - 1].v.buf, 0x5a, scratch < 1 << 26 ? scratch : 1 << 26);
    status = hcy_queue_create(&queue, r->dev);
    if (!status)
        status = hcy_launch(queue, r->kernel, items, args, n);
    if (!status)
        status = hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_buffer_release(args[n - 1].v.buf);
    return status;
}

static int run_batch(struct run *r, const struct group *g, const struct batch *b, size_t first, size_t items,
                     hcy_buffer *sums, hcy_buffer *reports)
{
    hcy_arg args[9];
    hcy_buffer *in[3] = { 0 };
    size_t n = 0;
    if (b) {
        args[n++] = hcy_arg_buf(in[0] = buffer(r->dev, b->size, b->chunks));
        args[n++] = hcy_arg_buf(in[1] = buffer(r->dev, items * sizeof b->frames[0], b->frames));
        args[n++] = hcy_arg_buf(in[2] = buffer(r->dev, b->n_blocks * sizeof b->blocks[0], b->blocks));
        args[n++] = hcy_arg_struct(&b->coding, sizeof b->coding);
    } else {
        args[n++] =
            hcy_arg_buf(in[0] = buffer(r->dev, items * g->image_bytes, g->images + first * g->image_bytes));
    }
    args[n++] = hcy_arg_buf(r->tables);
    args[n++] = hcy_arg_struct(&g->job, sizeof g->job);
    args[n++] = hcy_arg_buf(sums);
    args[n++] = hcy_arg_buf(reports);
    args[n++] = hcy_arg_buf(NULL);
    int status = launch(r, items, args, n);
    for (size_t i = 0; i < 3; i++)
        hcy_buffer_release(in[i]);
    return status;
}

static bool sum_near(uint64_t got, uint64_t want, double magnitude, double terms)
{
    double a, b;
    memcpy(&a, &got, 8);
    memcpy(&b, &want, 8);
    return fabs(a - b) <= 2 * terms * 0x1p-53 * magnitude;
}

/* The float sums of a frame, added in whatever order: within twice what rounding may have done to either. */
static bool floats_near(const struct group *g, size_t frame, const uint64_t *got)
{
    const uint64_t *want = g->want + frame * g->sums;
    const struct bound *b = g->bounds + frame * g->job.n_bins;
    size_t n = g->job.n_bins, wrong = 0;
    for (size_t i = 0; i < n; i++) {
        wrong += !sum_near(got[HCY_SUM_SIGNAL_LO * n + i], want[HCY_SUM_SIGNAL_LO * n + i], b[i].signal, b[i].terms);
        wrong += !sum_near(got[HCY_SUM_VARIANCE_LO * n + i], want[HCY_SUM_VARIANCE_LO * n + i], b[i].variance,
                          b[i].terms);
        wrong += got[HCY_SUM_SIGNAL_HI * n + i] || got[HCY_SUM_VARIANCE_HI * n + i];
    }
    return !wrong;
}

static bool sums_right(const struct group *g, hcy_device *dev, size_t frame, const uint64_t *got)
{
    const uint64_t *want = g->want + frame * g->sums;
    size_t n = g->job.n_bins, rows = g->n_lost[frame] ? HCY_AZINT_SUMS : HCY_SUM_LOST_COUNT, exact = 0;
    if (g->bounds && strcmp(hcy_device_get_info(dev)->backend, "cpu")) {
        if (!floats_near(g, frame, got))
            return false;
        exact = HCY_SUM_LOST_COUNT;
    }
    return memcmp(got + exact * n, want + exact * n, (rows - exact) * n * 8) == 0;
}

/* Frames whose result is not what the oracle says; `damaged` are not looked at but for their report. */
static size_t count_wrong(const struct group *g, hcy_device *dev, size_t first, size_t items, const uint64_t *sums,
                          const hcy_frame_report *reports, uint64_t damaged)
{
    size_t wrong = 0;
    for (size_t i = 0; i < items; i++) {
        const uint64_t *want = g->want + (first + i) * g->sums, *got = sums + i * g->sums;
        bool bad;
        if (damaged >> i & 1)
            bad = reports[i].status != HCY_ECORRUPT;
        else
            bad = reports[i].status || reports[i].n_lost != g->n_lost[first + i] ||
                  !sums_right(g, dev, first + i, got);
        if (bad && wrong++ < 3) {
            size_t k = 0;
            while (k + 1 < g->sums && got[k] == want[k])
                k++;
            diag("frame %zu of %zu: status %d, lost %llu (want %llu), row %zu bin %zu is %llx (want %llx)", i,
                 items, reports[i].status, (unsigned long long)reports[i].n_lost,
                 (unsigned long long)g->n_lost[first + i], k / g->job.n_bins, k % g->job.n_bins,
                 (unsigned long long)got[k], (unsigned long long)want[k]);
        }
    }
    return wrong;
}

/* Frames [first, first + items) of the group, on tables that may have seen others. */
static size_t try_more(struct run *r, const struct group *g, const struct path *path, size_t first, size_t items)
{
    struct batch b;
    if (path->coded)
        batch_open(&b, g, first, items, path);
    hcy_buffer *sums = buffer(r->dev, items * g->sums * 8, NULL),
               *reports = buffer(r->dev, items * sizeof(hcy_frame_report), NULL);
    paint(sums, 0x77, items * g->sums * 8);
    paint(reports, 0, items * sizeof(hcy_frame_report));
    int status = run_batch(r, g, path->coded ? &b : NULL, first, items, sums, reports);
    if (status)
        diag("launch: %s", hcy_last_error()->text);
    void *copies[2];
    const uint64_t *got = look(sums, &copies[0]);
    const hcy_frame_report *said = look(reports, &copies[1]);
    size_t wrong = status ? items : count_wrong(g, r->dev, first, items, got, said, 0);
    free(copies[0]);
    free(copies[1]);
    hcy_buffer_release(sums);
    hcy_buffer_release(reports);
    if (path->coded)
        batch_close(&b);
    return wrong;
}

static size_t try_path(const struct group *g, hcy_device *dev, const struct path *path, size_t first,
                       size_t items)
{
    struct run r;
    run_open(&r, dev, path->coded, path->hasty, g);
    size_t wrong = try_more(&r, g, path, first, items);
    run_close(&r);
    return wrong;
}

static const struct path paths[] = {
    { true, HCY_CODEC_BSLZ4, 0, false },          { false, 0, 0, false },
    { true, HCY_CODEC_BSLZ4, 8192, false },       { true, HCY_CODEC_LZ4, 8192, false },
    { true, HCY_CODEC_BSLZ4, 5 * 64 * 8, false }, { true, HCY_CODEC_NONE, 0, false },
    { true, HCY_CODEC_BITSHUFFLE, 0, false },     { true, HCY_CODEC_BSLZ4, 1 << 18, false },
    { true, HCY_CODEC_LZ4, 1 << 30, false },      { true, HCY_CODEC_BSLZ4, 1024, false },
    { true, HCY_CODEC_LZ4, 8200, false },  { true, HCY_CODEC_BSLZ4, 0, true },
    { false, 0, 0, true },                 { true, HCY_CODEC_LZ4, 8192, true },
};
enum { N_PATHS = sizeof paths / sizeof paths[0] };
static const size_t sizes[] = { 40, 1, 2, 3, 16, 17, 33, 8 };
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static const char *const type_names[] = { "",    "u8",  "u16", "u32", "u64", "i8",
                                          "i16", "i32", "i64", "f32", "f64" };

/* What FPGA cards are not built for: large blocks, large pixels, floats.  Others take everything. */
static bool beyond(const hcy_device *dev, const struct group *g, const struct path *path)
{
    return hcy_device_get_info(dev)->kind == HCY_KIND_FPGA &&
           (path->block_bytes > 8200 || oracle_is_float(g->job.pixel_type) || oracle_pixel_size(g->job.pixel_type) > 4);
}

/* Every device, with paths and batch sizes taken in turn so that all meet all in the end. */
static void try_group(const struct group *g, const char *name, size_t *turn)
{
    for (size_t v = 0; v < N_VARIANTS; v++) {
        size_t wrong = 0;
        if (!devices[v]) {
            skip(1, "no %s here", variants[v]);
            continue;
        }
        for (size_t k = 0; k < 4; k++, ++*turn) {
            const struct path *path = &paths[k < 1 ? k : *turn % N_PATHS];
            size_t items = sizes[*turn % N_SIZES], bad;
            items = items < g->items ? items : g->items;
            if (beyond(devices[v], g, path))
                continue;
            bad = try_path(g, devices[v], path, *turn % (g->items - items + 1), items);
            if (bad)
                diag("path: coded %d codec %u block %u, %zu items", path->coded, path->codec,
                     path->block_bytes, items);
            wrong += bad;
        }
        ok(wrong == 0, "%s %s, %s", type_names[g->job.pixel_type], name, hcy_device_get_info(devices[v])->name);
    }
}

/* The ranges a detector's plan has: dummy and sentinels; or a dummy in the middle of what pixels are. */
static void set_invalid(hcy_azint_job *job, unsigned kind)
{
    bool is_signed = oracle_is_signed(job->pixel_type);
    uint64_t top = UINT64_MAX >> (64 - 8 * oracle_pixel_size(job->pixel_type));
    job->n_invalid = kind ? 1 : 0;
    if (kind == 1)
        job->invalid[0] =
            is_signed ? (hcy_azint_range){ UINT64_MAX - 2, UINT64_MAX } : (hcy_azint_range){ top - 2, top };
    if (kind == 2)
        job->invalid[0] = (hcy_azint_range){ 0, 0 };
    if (kind == 3) {
        job->n_invalid = 3;
        job->invalid[0] = (hcy_azint_range){ 900, 1100 };
        job->invalid[1] = (hcy_azint_range){ 30, 35 };
        job->invalid[2] =
            (hcy_azint_range){ is_signed ? (uint64_t)-15 : top, is_signed ? (uint64_t)-10 : top };
    }
    if (oracle_is_float(job->pixel_type))
        for (unsigned r = 0; r < job->n_invalid; r++) {
            double lo = (double)(int64_t)job->invalid[r].lo, hi = (double)(int64_t)job->invalid[r].hi;
            memcpy(&job->invalid[r].lo, &lo, 8);
            memcpy(&job->invalid[r].hi, &hi, 8);
        }
}

static void test_types(void)
{
    static const char *const kinds[] = { "whole", "split", "wild" };
    size_t turn = 0;
    for (int kind = ORACLE_WHOLE; kind <= ORACLE_WILD; kind++) {
        struct group g = { .sums = 0 };
        if (oracle_plan_make(&g.plan, 7 + (uint64_t)kind, (enum oracle_kind)kind,
                             kind == ORACLE_WILD ? 31 : 173, 307, 100, 9))
            bail_out("no memory for a plan");
        for (uint32_t type = HCY_PIXEL_U8; type <= HCY_PIXEL_F64; type += TYPE_STEP)
            for (unsigned k = 0; k < 3; k++) {
                static const enum temper tempers[] = { DIM, PEAKS, TEMPERS };
                /* Of pixels with a sign a few are looked at in any case. */
                if (!wanted(type) && !(few && type == HCY_PIXEL_I16 && kind == ORACLE_SPLIT && k == 2))
                    continue;
                bool mixed = tempers[k] == TEMPERS;
                char name[64];
                snprintf(name, sizeof name, "%s %s", kinds[kind],
                         k == 0   ? "dim"
                         : k == 1 ? "peaks"
                                  : "mixed");
                g.job = (hcy_azint_job){ .pixel_type = type,
                                         .flags = (type + (unsigned)kind) % 4 ? HCY_AZINT_WANT_VARIANCE : 0 };
                /* Frames of a sum have the same variance but for a least one. */
                if ((type / 2 + k) % 2)
                    g.job.flags |= HCY_AZINT_PART_OF_SUM;
                set_invalid(&g.job, mixed ? 1 + (type + (unsigned)kind) % 3 : type % 2);
                group_open(&g, mixed ? MAX_ITEMS : 18, tempers[k]);
                try_group(&g, name, &turn);
                group_close(&g);
            }
        oracle_plan_free(&g.plan);
    }
}

/* Odd shapes and bin counts. */
static void test_shapes(void)
{
    static const struct {
        uint32_t height, width, n_bins, mask_every;
        enum oracle_kind kind;
    } shapes[] = {
        { 1, 1, 1, 0, ORACLE_WHOLE },          { 1, 3, 2, 0, ORACLE_SPLIT },
        { 1, 17, 5, 2, ORACLE_SPLIT },         { 1, 16384, 1, 0, ORACLE_SPLIT },
        { 1, 16385, 1000, 0, ORACLE_SPLIT },   { 97, 1031, 70000, 5, ORACLE_SPLIT },
        { 97, 1031, 70000, 5, ORACLE_WHOLE },  { 128, 256, 1, 0, ORACLE_WHOLE },
        { 50, 50, 7, 1, ORACLE_SPLIT },        { 40, 41, (1u << 20) + 3, 3, ORACLE_SPLIT },
    };
    size_t turn = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        struct group g = { .job = { .pixel_type = HCY_PIXEL_U32, .flags = HCY_AZINT_WANT_VARIANCE } };
        char name[64];
        bool huge = shapes[s].n_bins > 1000000;
        if (oracle_plan_make(&g.plan, s, shapes[s].kind, shapes[s].height, shapes[s].width, shapes[s].n_bins,
                             shapes[s].mask_every))
            bail_out("no memory for a plan");
        snprintf(name, sizeof name, "%u x %u, %u bins", shapes[s].height, shapes[s].width, shapes[s].n_bins);
        set_invalid(&g.job, 1);
        group_open(&g, huge ? 1 : shapes[s].n_bins > 1000 ? 5 : 20, TEMPERS);
        if (huge) {
            size_t wrong = 0;
            for (size_t v = 0; v < N_VARIANTS; v += 2)
                wrong += devices[v] ? try_path(&g, devices[v], &paths[0], 0, 1) : 0;
            ok(wrong == 0, "%s", name);
        } else {
            try_group(&g, name, &turn);
        }
        group_close(&g);
        oracle_plan_free(&g.plan);
    }
}

/* The first pixel has the same bins a million times, and its neighbours some of them again: a plan of so many weights,
 * which takes no longer to make than others. */
static void test_repeats(void)
{
    enum { TIMES = 1 << 20, BINS = 50, PIXELS = 16 };
    struct group g = { .job = { .pixel_type = HCY_PIXEL_U32, .flags = HCY_AZINT_WANT_VARIANCE } };
    if (oracle_plan_make(&g.plan, 8, ORACLE_SPLIT, 2, PIXELS / 2, BINS, 0))
        bail_out("no memory for a plan");
    free(g.plan.runs);
    uint8_t *p = g.plan.runs = malloc((TIMES + 2000u * PIXELS) * 10);
    if (!p)
        bail_out("no memory for a plan");
    g.plan.head.n_weights = 0;
    for (uint32_t i = 0; i < PIXELS; i++)
        for (uint32_t n = i ? 1 + i % 3 * 500 : TIMES, k = n; k-- > 0; g.plan.head.n_weights += 2)
            p = oracle_put_run(p, &state, i % 2 ? BINS - 2 - k % (BINS - 1) : k % (BINS - 1), 2, k > 0, 1);
    g.plan.starts[1] = g.plan.spans[1].size = (size_t)(p - g.plan.runs);
    g.plan.spans[1].data = g.plan.runs;
    group_open(&g, 1, TEMPERS);
    for (size_t v = 0; v < N_VARIANTS; v++)
        if (devices[v])
            ok(!try_path(&g, devices[v], &paths[0], 0, 1), "a bin many times: %s", hcy_device_get_info(devices[v])->name);
    group_close(&g);
    oracle_plan_free(&g.plan);
}

/* Pixels lost in a frame give back the plan's dark current and variance. */
static void test_arrays(void)
{
    static const uint32_t types[] = { HCY_PIXEL_U8, HCY_PIXEL_U16, HCY_PIXEL_U32, HCY_PIXEL_I32, HCY_PIXEL_F32,
                                      HCY_PIXEL_F64 };
    size_t turn = 0;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (int variances = 0; variances < 2 && wanted(types[t]); variances++) {
            struct group g = { .job = { .pixel_type = types[t] } };
            char name[100];
            g.job.flags = variances ? 0 : HCY_AZINT_WANT_VARIANCE;
            set_invalid(&g.job, 1 + t % 3);
            if (oracle_plan_make(&g.plan, 77 + t, t % 2 ? ORACLE_WILD : ORACLE_SPLIT, 140, 150, 60, 9) ||
                oracle_plan_add_arrays(&g.plan, 5 + t, variances))
                bail_out("no memory");
            group_open(&g, MAX_ITEMS, t % 3 == 1 ? GAPS : TEMPERS);
            snprintf(name, sizeof name, "%s, dark current%s", type_names[types[t]],
                     variances ? " and variances" : "");
            try_group(&g, name, &turn);
            group_close(&g);
            oracle_plan_free(&g.plan);
        }
}

/* A damaged frame is reported by its first damaged block, the others are not disturbed. */
static void test_damage(uint32_t codec)
{
    struct group g = { .job = { .pixel_type = HCY_PIXEL_U32, .flags = HCY_AZINT_WANT_VARIANCE } };
    const struct path path = { true, codec, 8192, false };
    if (oracle_plan_make(&g.plan, 5, ORACLE_SPLIT, 300, 301, 200, 9))
        bail_out("no memory for a plan");
    set_invalid(&g.job, 1);
    group_open(&g, 20, TEMPERS);
    for (size_t v = 0; v < N_VARIANTS; v++) {
        struct run r;
        struct batch b;
        if (!devices[v]) {
            skip(1, "no %s here", variants[v]);
            continue;
        }
        run_open(&r, devices[v], true, false, &g);
        batch_open(&b, &g, 0, 20, &path);
        for (uint32_t block = 9; block < 30; block += 7) {
            hcy_bslz4_block *at = &b.blocks[b.frames[3].first_block + block];
            if (codec == HCY_CODEC_NONE)
                at->size--;
            else /* offset 0: always damage */
                memset(b.chunks + b.frames[3].offset + at->offset, 0, at->size);
        }
        b.frames[7].status = HCY_EFORMAT;
        hcy_buffer *sums = buffer(devices[v], 20 * g.sums * 8, NULL),
                   *out = buffer(devices[v], 20 * sizeof(hcy_frame_report), NULL);
        int status = run_batch(&r, &g, &b, 0, 20, sums, out);
        void *copies[2];
        const hcy_frame_report *reports = look(out, &copies[0]);
        bool good = !status && reports[3].status == HCY_ECORRUPT && reports[3].block == 9 &&
                    reports[3].byte == b.blocks[b.frames[3].first_block + 9].offset &&
                    reports[7].status == HCY_EFORMAT;
        hcy_frame_report seen[20];
        memcpy(seen, reports, sizeof seen);
        seen[7].status = HCY_ECORRUPT;
        const uint64_t *got = look(sums, &copies[1]);
        good = good && count_wrong(&g, devices[v], 0, 20, got, seen, 1u << 3 | 1u << 7) == 0;
        free(copies[0]);
        free(copies[1]);
        ok(good, "damage, codec %u: %s", (unsigned)codec, hcy_device_get_info(devices[v])->name);
        hcy_buffer_release(sums);
        hcy_buffer_release(out);
        batch_close(&b);
        run_close(&r);
    }
    group_close(&g);
    oracle_plan_free(&g.plan);
}

/* Blocks of bit-planes that LZ4 has not made smaller are stored, as all of them are without it. */
static void test_stored(void)
{
    struct group g = { .job = { .pixel_type = HCY_PIXEL_U16 } };
    const struct path path = { true, HCY_CODEC_BITSHUFFLE, 0, false };
    if (oracle_plan_make(&g.plan, 5, ORACLE_SPLIT, 40, 303, 50, 9))
        bail_out("no memory for a plan");
    set_invalid(&g.job, 1);
    group_open(&g, 2, BRIGHT);
    for (size_t v = 0; v < N_VARIANTS; v++) {
        struct run r;
        struct batch b;
        void *copies[2];
        if (!devices[v]) {
            skip(2, "no %s here", variants[v]);
            continue;
        }
        run_open(&r, devices[v], true, false, &g);
        batch_open(&b, &g, 0, 2, &path);
        hcy_buffer *sums = buffer(devices[v], 2 * g.sums * 8, NULL),
                   *out = buffer(devices[v], 2 * sizeof(hcy_frame_report), NULL);
        b.coding.codec = HCY_CODEC_BSLZ4;
        int status = run_batch(&r, &g, &b, 0, 2, sums, out);
        const hcy_frame_report *reports = look(out, &copies[0]);
        const uint64_t *got = look(sums, &copies[1]);
        ok(!status && !count_wrong(&g, devices[v], 0, 2, got, reports, 0), "stored blocks: %s",
           hcy_device_get_info(devices[v])->name);
        b.coding.codec = HCY_CODEC_BITSHUFFLE + 1;
        is_int(run_batch(&r, &g, &b, 0, 2, sums, out), HCY_EINVAL, "no such codec");
        free(copies[0]);
        free(copies[1]);
        hcy_buffer_release(sums);
        hcy_buffer_release(out);
        batch_close(&b);
        run_close(&r);
    }
    group_close(&g);
    oracle_plan_free(&g.plan);
}

/* Gaps that no mask names, the same in the first frames; in later ones some of their pixels are valid, small and large,
 * and then all of them. */
static void fill_gaps(struct group *g)
{
    for (size_t f = 0; f < g->items; f++) {
        uint8_t *image = g->images + f * g->image_bytes;
        for (size_t i = 0; i < g->job.n_pixels && f > 14; i++)
            if (f == 21) /* nothing stands out by which a block would be looked at */
                put_pixel(image, i, g->job.pixel_type, 7);
            else if (i / 100 % 7 == 3 && (f == 20 || oracle_below(&state, 97) == 0))
                put_pixel(image, i, g->job.pixel_type, f % 2 ? 90 : oracle_below(&state, 20000));
        g->n_lost[f] = oracle_sums(g->want + f * g->sums, g->plan.spans, &g->job, image);
    }
}

/* What a device has learnt of the first frames' gaps is no reason for another bit in later ones. */
static void test_gaps(void)
{
    static const uint32_t types[] = { HCY_PIXEL_U16, HCY_PIXEL_U32, HCY_PIXEL_I32 };
    static const uint32_t flags[] = { 0, HCY_AZINT_WANT_VARIANCE, HCY_AZINT_WANT_VARIANCE | HCY_AZINT_PART_OF_SUM };
    static const size_t launches[] = { 5, 7, 3, 9, 1, 15 };
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        struct group g = { .job = { .pixel_type = types[t], .flags = flags[t] } };
        set_invalid(&g.job, 1);
        if (oracle_plan_make(&g.plan, 31 + t, t == 1 ? ORACLE_SPLIT : ORACLE_WHOLE, 190, 211, 80, 9))
            bail_out("no memory for a plan");
        group_open(&g, MAX_ITEMS, GAPS);
        fill_gaps(&g);
        for (size_t v = 0; v < N_VARIANTS; v++) {
            size_t wrong = 0;
            if (!devices[v]) {
                skip(1, "no %s here", variants[v]);
                continue;
            }
            for (size_t p = 0; p < 4; p++) {
                struct run r;
                run_open(&r, devices[v], paths[p].coded, false, &g);
                for (size_t k = 0, first = 0; k < sizeof launches / sizeof launches[0]; first += launches[k++])
                    wrong += beyond(devices[v], &g, &paths[p]) ? 0 : try_more(&r, &g, &paths[p], first, launches[k]);
                run_close(&r);
            }
            ok(wrong == 0, "%s, gaps that are valid later, %s", type_names[types[t]],
               hcy_device_get_info(devices[v])->name);
        }
        group_close(&g);
        oracle_plan_free(&g.plan);
    }
}

/* Starts that leave out a part of the runs, at either end. */
static void test_ends(hcy_kernel *kernel, const struct oracle_plan *plan)
{
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_buffer *tables = NULL;
    const size_t last = plan->spans[2].size / sizeof(uint64_t) - 1;
    uint8_t *runs = calloc(1, 4 + plan->spans[1].size);
    uint64_t *starts = malloc(plan->spans[2].size);
    if (!runs || !starts)
        bail_out("no memory");
    memcpy(spans, plan->spans, sizeof spans);
    plan->starts[last]--;
    is_int(hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "runs beyond the last start");
    is_int(hcy_kernel_prepare_few(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "also for a few frames");
    plan->starts[last]++;
    memcpy(runs + 4, plan->runs, plan->spans[1].size);
    for (size_t i = 0; i <= last; i++)
        starts[i] = plan->starts[i] + 4;
    spans[1] = (hcy_span){ runs, 4 + plan->spans[1].size };
    spans[2].data = starts;
    is_int(hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "a run before the first start");
    is_int(hcy_kernel_prepare_few(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "also for a few frames");
    free(runs);
    free(starts);
}

/* Tables and arguments that make no sense are refused. */
static void test_refusals(void)
{
    struct oracle_plan plan;
    hcy_kernel *kernel = NULL;
    hcy_buffer *tables = NULL;
    if (!devices[0] || oracle_plan_make(&plan, 5, ORACLE_SPLIT, 30, 31, 20, 0) ||
        hcy_kernel_get(&kernel, devices[0], "azint_image"))
        bail_out("no kernel");
    hcy_span spans[HCY_AZINT_SPANS];
    memcpy(spans, plan.spans, sizeof spans);
    is_int(hcy_kernel_prepare(&tables, kernel, spans, 5), HCY_EINVAL, "five spans");
    spans[1].size -= 5;
    is_int(hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "runs cut short");
    is_int(hcy_kernel_prepare_few(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "also for a few frames");
    spans[1].size += 5;
    plan.head.n_bins = 10;
    is_int(hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "bins beyond the last");
    is_int(hcy_kernel_prepare_few(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "also for a few frames");
    plan.head.n_bins = 20;
    plan.starts[3]++;
    is_int(hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "a start inside a run");
    is_int(hcy_kernel_prepare_few(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "also for a few frames");
    plan.starts[3]--;
    if (!strcmp(hcy_device_get_info(devices[0])->backend, "cpu"))
        test_ends(kernel, &plan);
    spans[4] = (hcy_span){ plan.norms, spans[3].size - 4 };
    is_int(hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "a dark current cut short");
    spans[4] = (hcy_span){ NULL, 0 };
    plan.head.dark_shift = 63;
    is_int(hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "of no scale");
    plan.head.dark_shift = 0;
    is_int(hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS), 0, "and as it was");
    hcy_azint_job job = { .n_pixels = 30 * 31, .n_bins = 21, .pixel_type = HCY_PIXEL_U16 };
    hcy_arg args[] = { hcy_arg_buf(NULL), hcy_arg_buf(tables), hcy_arg_struct(&job, sizeof job),
                       hcy_arg_buf(NULL), hcy_arg_buf(NULL),   hcy_arg_buf(NULL) };
    size_t size;
    is_int(hcy_kernel_scratch_size(&size, kernel, 1, args, 6), HCY_EINVAL,
           "a job of other bins than the plan");
    job.n_bins = 20;
    job.pixel_type = 11;
    is_int(hcy_kernel_scratch_size(&size, kernel, 1, args, 6), HCY_EINVAL, "no such pixel type");
    job.pixel_type = HCY_PIXEL_U16;
    is_int(hcy_kernel_scratch_size(&size, kernel, 1, args, 6), 0, "and as it should be");
    is_int(hcy_kernel_preferred_batch(&size, kernel, args, 6), 0, "preferred batch");
    ok(size >= 1 && size <= 64, "which is %zu frames", size);
    hcy_buffer_release(tables);
    hcy_kernel_release(kernel);
    oracle_plan_free(&plan);
}

static hcy_buffer *device_buffer(hcy_device *dev, size_t size)
{
    hcy_buffer *b = NULL;
    if (hcy_buffer_create(&b, dev, HCY_MEM_DEVICE, size))
        bail_out("buffer of %zu: %s", size, hcy_last_error()->text);
    return b;
}

/* A device whose memory is in use but for what its pool keeps. */
static void test_kept_memory(void)
{
    enum { MEMORY = 1 << 20 };
    struct oracle_plan plan;
    hcy_device *dev = NULL;
    hcy_kernel *kernel = NULL;
    hcy_buffer *kept, *others, *tables = NULL;
    char spec[300];
    snprintf(spec, sizeof spec, "%s@memory=%d", hcy_device_get_info(devices[0])->name, MEMORY);
    if (hcy_device_open(&dev, spec)) {
        skip(3, "no limit for memory: %s", hcy_last_error()->text);
        return;
    }
    if (oracle_plan_make(&plan, 5, ORACLE_SPLIT, 30, 31, 20, 0) || hcy_kernel_get(&kernel, dev, "azint_image"))
        bail_out("no kernel");
    kept = device_buffer(dev, MEMORY / 8);
    others = device_buffer(dev, MEMORY / 8 * 7);
    hcy_buffer_release(kept);
    is_int(hcy_kernel_prepare(&tables, kernel, plan.spans, HCY_AZINT_SPANS), 0, "tables get what the pool keeps");
    hcy_buffer_release(tables);
    kept = device_buffer(dev, MEMORY / 8);
    tables = NULL;
    is_int(hcy_kernel_prepare_few(&tables, kernel, plan.spans, HCY_AZINT_SPANS), HCY_ENOMEM,
           "what is in use they do not");
    hcy_buffer_release(kept);
    is_int(hcy_kernel_prepare_few(&tables, kernel, plan.spans, HCY_AZINT_SPANS), 0, "those for a few frames, too");
    hcy_buffer_release(tables);
    hcy_buffer_release(others);
    hcy_kernel_release(kernel);
    hcy_device_release(dev);
    oracle_plan_free(&plan);
}

int main(int argc, char **argv)
{
    devices_open(argc, argv);
    test_refusals();
    test_kept_memory();
    test_damage(HCY_CODEC_BSLZ4);
    test_damage(HCY_CODEC_NONE);
    test_stored();
    if (!one) {
        test_shapes();
        test_types();
        test_repeats();
        test_arrays();
        test_gaps();
    }
    for (size_t v = 0; v < N_VARIANTS; v++)
        hcy_device_release(devices[v]);
    return done_testing();
}
