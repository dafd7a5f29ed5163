/* azint_filter - the kernel of that name against an oracle, row by row and bit for bit: filters, error models, pixel
 * types, SIMD variants, threads, invalid pixels, dark currents and variances.  And the arithmetic that it shares with
 * the host, and what pyFAI makes of a small detector (reference/make_azint_filter.py).  Other devices may be given as
 * arguments: they may add floats in another order. */
#include <halcyon/azint.h>
#include <halcyon/bslz4.h>
#include <halcyon/kernel.h>

#include "azint_oracle.h"
#include "azint_wide.h"
#include "reference/azint_filter.h"
#include "tap.h"

#include <fenv.h>

enum { HEIGHT = 37, WIDTH = 61, BINS = 13, FRAMES = 4 };

static uint64_t state = 4;

/* --- The oracle: pixel by pixel over the canonical runs, means and deviations in long double --- */

struct entry {
    uint32_t pixel, c;
    size_t order;
    double key; /* intensity, in units of 2^-shift; rounded as it is sorted and compared */
    int in;
};

struct oracle {
    const struct oracle_plan *plan;
    const hcy_azint_job *job;
    const hcy_azint_filter *filter;
    const void *image;
    int shift;
    size_t n;
    struct entry *entries; /* of the bin at hand */
};

static long double value_of(const struct oracle *o, uint32_t pixel)
{
    struct oracle_pixel v = oracle_pixel_get(o->image, pixel, o->job->pixel_type);

    return oracle_is_float(o->job->pixel_type) ? v.d : oracle_is_signed(o->job->pixel_type) ? v.i : (long double)v.u;
}

static int64_t limit(long double x, int64_t most)
{
    return x > most ? most : x < -most ? -most : (int64_t)x;
}

/* What squares are made of: integers. */
static int64_t fine_of(const struct oracle *o, uint32_t pixel)
{
    int64_t most = HCY_AZINT_SQUARE_MAX(o->shift);
    int64_t v = limit(value_of(o, pixel), most >> o->shift) * ((int64_t)1 << o->shift);

    if (o->plan->spans[4].size)
        v -= limit(floorl(ldexpl(o->plan->darks[pixel], o->shift) + 0.5L), most);
    return limit(v, most);
}

static double dark_of(const struct oracle *o, uint32_t pixel)
{
    return o->plan->spans[4].size ? (double)o->plan->darks[pixel] : 0;
}

static void gather(struct oracle *o, uint32_t bin)
{
    const uint8_t *p = o->plan->runs;
    int is_float = oracle_is_float(o->job->pixel_type);

    o->n = 0;
    for (uint32_t i = 0; i < o->job->n_pixels; i++) {
        int more = 1, lost = oracle_invalid(o->job, oracle_pixel_get(o->image, i, o->job->pixel_type));
        float inverse = (float)(1 / (double)o->plan->norms[i]);

        while (more) {
            const uint8_t *w;
            uint32_t word = oracle_run(&p, &w), k = bin - HCY_AZINT_RUN_BIN(word);

            more = (int)HCY_AZINT_RUN_MORE(word);
            if (bin < HCY_AZINT_RUN_BIN(word) || k >= HCY_AZINT_RUN_N(word) || !oracle_weight(w, k))
                continue;
            volatile float key = is_float ? (float)(((double)value_of(o, i) - dark_of(o, i)) * (double)inverse)
                                          : (float)fine_of(o, i) * inverse;
            o->entries[o->n] = (struct entry){ i, oracle_weight(w, k), o->n, (double)key, !lost };
            o->n++;
        }
    }
}

/* One entry's part of a frame's rows. */
static void count(const struct oracle *o, uint64_t *sums, uint32_t bin, const struct entry *e)
{
    struct oracle_pixel v = oracle_pixel_get(o->image, e->pixel, o->job->pixel_type);
    uint32_t c2 = (uint32_t)(((uint64_t)e->c * e->c + (1u << 23)) >> 24);
    uint64_t norm24 = (uint64_t)((double)o->plan->norms[e->pixel] * HCY_AZINT_ONE + 0.5);
    uint64_t none[HCY_AZINT_SUMS * BINS] = { 0 };
    size_t n = o->job->n_bins;

    oracle_lose(sums, n, bin, e->c, o->plan->norms[e->pixel]);
    if (oracle_is_float(o->job->pixel_type)) {
        double d = (double)value_of(o, e->pixel), own = d > 1 ? d : 1;

        oracle_add_double(&sums[HCY_SUM_SIGNAL_LO * n + bin], e->c * (d - dark_of(o, e->pixel)));
        if (o->plan->spans[5].size)
            own = (double)o->plan->variances[e->pixel];
        if (o->plan->spans[5].size || (o->job->flags & HCY_AZINT_WANT_VARIANCE))
            oracle_add_double(&sums[HCY_SUM_VARIANCE_LO * n + bin], c2 * own);
        return;
    }
    oracle_count(sums, o->job, bin, e->c, v);
    oracle_lose_arrays(none, o->plan->spans, o->job, bin, e->c, e->pixel);
    for (int row = HCY_SUM_SIGNAL_LO; row <= HCY_SUM_VARIANCE_LO; row += 2) {
        oracle_u128 x = (oracle_u128)none[((size_t)row + 1) * n + bin] << 64 | none[(size_t)row * n + bin];

        oracle_add(sums, n, bin, row, row == HCY_SUM_SIGNAL_LO ? -x : x);
    }
    if (o->filter->flags & HCY_AZINT_WANT_DEVIATION) {
        oracle_i128 f = fine_of(o, e->pixel), cross = f * (oracle_i128)(c2 * norm24), half = 1 << 7;
        oracle_u128 square = (oracle_u128)(f * f) * c2;

        if (o->shift == HCY_AZINT_COARSE_SHIFT) {
            square = (square + ((oracle_u128)1 << 32)) >> 33;
            cross = (cross + (cross < 0 ? -half : half)) / (2 * half);
        }
        oracle_add(sums, n, bin, HCY_SUM_SQUARE_LO, square);
        oracle_add(sums, n, bin, HCY_SUM_CROSS_LO, (oracle_u128)cross);
        oracle_add(sums, n, bin, HCY_SUM_NORM24_LO, (oracle_u128)(c2 * norm24) * norm24);
    }
}

/* Mean and deviation of the entries that are in, in units of key; their number.  And the sum of their squared
 * deviations, in units of values. */
static double measure(const struct oracle *o, long double *mean, long double *deviation, long double *squares)
{
    int is_float = oracle_is_float(o->job->pixel_type);
    long double s = 0, w = 0, ww = 0, v = 0, number = 0, unit = ldexpl(1, o->shift);

    for (size_t i = 0; i < o->n; i++) {
        const struct entry *e = &o->entries[i];
        long double c = e->c / 16777216.0L, norm = o->plan->norms[e->pixel], x = value_of(o, e->pixel);

        if (!e->in)
            continue;
        s += c * (x - dark_of(o, e->pixel));
        w += c * norm;
        ww += c * c * norm * norm;
        number += e->c;
        v += c * c * (o->plan->spans[5].size ? o->plan->variances[e->pixel] : x > 1 ? x : 1);
    }
    *mean = s / w;
    *squares = 0;
    for (size_t i = 0; i < o->n; i++) {
        const struct entry *e = &o->entries[i];
        long double norm = o->plan->norms[e->pixel], c2 = ((uint64_t)e->c * e->c + (1u << 23)) >> 24;
        long double x = is_float ? value_of(o, e->pixel) - dark_of(o, e->pixel) : fine_of(o, e->pixel) / unit;

        if (!is_float)
            norm = floorl(norm * HCY_AZINT_ONE + 0.5L) / HCY_AZINT_ONE;
        if (e->in)
            *squares += c2 * (x - *mean * norm) * (x - *mean * norm);
    }
    if (o->filter->flags & HCY_AZINT_CLIP_DEVIATION)
        v = *squares / 16777216.0L;
    *deviation = sqrtl(v / ww) * unit;
    *mean *= unit;
    return (double)number / HCY_AZINT_ONE;
}

static void clip(struct oracle *o)
{
    for (uint32_t turn = 0; turn < o->filter->max_iter; turn++) {
        long double mean, deviation, squares, n = measure(o, &mean, &deviation, &squares);
        size_t gone = 0;

        if (!(n > 0))
            return;
        long double cut = sqrtl(2 * logl((n > 3 ? n : 3) / sqrtl(2 * acosl(-1))));
        long double half[2], digits = fabsl(mean) / 4194304;

        for (int side = 0; side < 2; side++)
            half[side] = (cut > o->filter->threshold[side] ? cut : o->filter->threshold[side]) * deviation + digits;
        for (size_t i = 0; i < o->n; i++) {
            int out = o->entries[i].in && (o->entries[i].key < mean - half[0] || o->entries[i].key > mean + half[1]);

            o->entries[i].in &= !out;
            gone += (size_t)out;
        }
        if (!gone)
            return;
    }
}

static int by_key(const void *a, const void *b)
{
    const struct entry *p = a, *q = b;

    if (p->in != q->in)
        return q->in - p->in;
    return p->key < q->key ? -1 : p->key > q->key ? 1 : p->order < q->order ? -1 : 1;
}

static uint64_t share(const struct oracle *o, const struct entry *e)
{
    uint64_t n = (uint64_t)((double)o->plan->norms[e->pixel] * 1099511627776.0);

    return (uint64_t)(((oracle_u128)e->c * n + (1u << 23)) >> 24);
}

static int by_order(const void *a, const void *b)
{
    const struct entry *p = a, *q = b;

    return p->order < q->order ? -1 : 1;
}

static void percentiles(struct oracle *o)
{
    oracle_u128 all = 0, below = 0;

    qsort(o->entries, o->n, sizeof *o->entries, by_key);
    for (size_t i = 0; i < o->n; i++)
        all += o->entries[i].in ? share(o, &o->entries[i]) : 0;
    for (size_t i = 0; i < o->n && o->entries[i].in; i++) {
        oracle_u128 to = below + share(o, &o->entries[i]);

        o->entries[i].in = to << 32 >= all * o->filter->quantile[0] && below << 32 <= all * o->filter->quantile[1];
        below = to;
    }
    qsort(o->entries, o->n, sizeof *o->entries, by_order); /* doubles are added in this order */
}

/* Pixels that the frame lacks: those with a weight. */
static uint64_t count_lost(const struct oracle *o)
{
    const uint8_t *p = o->plan->runs, *w;
    uint64_t n = 0;

    for (uint32_t i = 0; i < o->job->n_pixels; i++) {
        int more = 1, any = 0;

        while (more) {
            uint32_t word = oracle_run(&p, &w);

            for (uint32_t k = 0; k < HCY_AZINT_RUN_N(word); k++)
                any |= oracle_weight(w, k) > 0;
            more = (int)HCY_AZINT_RUN_MORE(word);
        }
        n += (uint64_t)(any && oracle_invalid(o->job, oracle_pixel_get(o->image, i, o->job->pixel_type)));
    }
    return n;
}

/* All rows of a frame. */
static void oracle_filter(struct oracle *o, uint64_t *sums)
{
    long double mean, deviation, squares;

    memset(sums, 0, sizeof *sums * HCY_AZINT_FILTERED * BINS);
    o->shift = !o->plan->spans[4].size || oracle_is_float(o->job->pixel_type)
                   ? 0
                   : HCY_AZINT_SQUARE_SHIFT(oracle_pixel_size(o->job->pixel_type));
    for (uint32_t bin = 0; bin < BINS; bin++) {
        gather(o, bin);
        if (o->filter->kind == HCY_AZINT_FILTER_CLIP)
            clip(o);
        if (o->filter->kind == HCY_AZINT_FILTER_PERCENTILE)
            percentiles(o);
        for (size_t i = 0; i < o->n; i++)
            if (o->entries[i].in)
                count(o, sums, bin, &o->entries[i]);
        if (oracle_is_float(o->job->pixel_type) && (o->filter->flags & HCY_AZINT_WANT_DEVIATION) &&
            measure(o, &mean, &deviation, &squares) > 0)
            oracle_add_double(&sums[HCY_SUM_SQUARE_LO * BINS + bin], (double)squares);
    }
}

/* --- The kernel --- */

static const char *variants[] = { "cpu@threads=1@simd=portable", "cpu@threads=3@simd=avx2",
                                  "cpu@threads=1@simd=avx512", "cpu@threads=4@simd=avx512" };
enum { N_VARIANTS = sizeof variants / sizeof variants[0] };
static hcy_device *devices[N_VARIANTS];
static int exact = 1; /* floats are added in the order of pixels */
static int few;       /* a compiler takes its time for each type of pixel: most are left out */

static void open_devices(int argc, char **argv)
{
    few = argc > 2 && !strcmp(argv[argc - 1], "few");
    for (int v = 0; v < N_VARIANTS; v++) {
        const char *text = argc < 2 ? variants[v] : v + 1 < argc - few ? argv[v + 1] : NULL;
        int status = text ? hcy_device_open(&devices[v], text) : 0;

        variants[v] = text;
        if (status && argc > 1)
            skip_all("%s", hcy_last_error()->text);
        if (status)
            diag("%s: %s", text, hcy_last_error()->text);
        exact &= argc < 2;
    }
    few |= TAP_THREAD_SANITIZER;
}

static int wanted(uint32_t type)
{
    return !few || type == HCY_PIXEL_U16 || type == HCY_PIXEL_F32;
}

/* Without data the bytes are noise. */
static hcy_buffer *buffer(hcy_device *dev, size_t size, const void *data)
{
    hcy_buffer *b = NULL;
    void *noise = data ? NULL : malloc(size + 1);

    if (noise)
        memset(noise, 0x5a, size);
    if (hcy_buffer_create(&b, dev, HCY_MEM_DEVICE, size ? size : 64) ||
        (size && hcy_buffer_write_now(b, 0, data ? data : noise, size)))
        bail_out("%s", hcy_last_error()->text);
    free(noise);
    return b;
}

static void fetch(void *to, hcy_buffer *b, size_t size)
{
    if (hcy_buffer_read_now(to, b, 0, size))
        bail_out("%s", hcy_last_error()->text);
}

/* Frames through the kernel; sums are the caller's, freed. */
static uint64_t *run_kernel(hcy_device *dev, const hcy_span *spans, const hcy_azint_job *job,
                            const hcy_azint_filter *filter, const void *images, size_t frames,
                            hcy_frame_report *reports)
{
    size_t scratch = 0, bytes = frames * HCY_AZINT_FILTERED * job->n_bins * sizeof(uint64_t);
    size_t image = (size_t)job->n_pixels * oracle_pixel_size(job->pixel_type);
    uint64_t *out = malloc(bytes);
    hcy_kernel *kernel = NULL;
    hcy_queue *queue = NULL;
    hcy_buffer *tables = NULL;

    memset(reports, 0, frames * sizeof *reports);
    if (!out || hcy_kernel_get(&kernel, dev, "azint_filter") || hcy_queue_create(&queue, dev) ||
        hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS))
        bail_out("%s", hcy_last_error()->text);
    hcy_buffer *b[] = { buffer(dev, frames * image, images), buffer(dev, bytes, NULL),
                        buffer(dev, frames * sizeof *reports, reports), NULL };
    hcy_arg args[] = { hcy_arg_buf(b[0]), hcy_arg_buf(tables), hcy_arg_struct(job, sizeof *job),
                       hcy_arg_struct(filter, sizeof *filter), hcy_arg_buf(b[1]), hcy_arg_buf(b[2]),
                       hcy_arg_buf(NULL) };
    if (hcy_kernel_scratch_size(&scratch, kernel, frames, args, 7))
        bail_out("%s", hcy_last_error()->text);
    args[6] = hcy_arg_buf(b[3] = buffer(dev, scratch, NULL));
    if (hcy_launch(queue, kernel, frames, args, 7) || hcy_queue_finish(queue))
        bail_out("%s", hcy_last_error()->text);
    fetch(out, b[1], bytes);
    fetch(reports, b[2], frames * sizeof *reports);
    for (size_t i = 0; i < 4; i++)
        hcy_buffer_release(b[i]);
    hcy_buffer_release(tables);
    hcy_kernel_release(kernel);
    hcy_queue_release(queue);
    return out;
}

/* Filters by name, with the flags of the error models. */
static hcy_azint_filter make_filter(uint32_t kind, uint32_t flags, double threshold, double from, double to)
{
    /* Above the mean the limit is another one, so that no device takes one side's for the other's. */
    hcy_azint_filter f = { .kind = kind, .flags = flags, .max_iter = 4, .threshold = { threshold, threshold * 1.25 } };

    f.quantile[0] = (uint64_t)(from / 100 * 4294967296.0);
    f.quantile[1] = (uint64_t)(to / 100 * 4294967296.0);
    for (int i = 0; i <= HCY_AZINT_LOG_STEPS; i++)
        f.log[i] = log1p((double)i / HCY_AZINT_LOG_STEPS);
    f.log_root = 0.5 * log(2 * acos(-1));
    return f;
}

static void make_images(uint8_t *images, uint32_t type, int bright)
{
    size_t size = oracle_pixel_size(type), n = (size_t)FRAMES * HEIGHT * WIDTH;
    uint64_t top = UINT64_MAX >> (64 - 8 * size);

    for (size_t i = 0; i < n; i++) {
        uint64_t value = 20 + oracle_below(&state, 30) * (1 + (uint64_t)bright * 997) % 100000;

        value = oracle_below(&state, 60) ? value : oracle_below(&state, 900) * (bright ? 70001u : 1);
        value = value > top / 2 ? top / 2 : value;
        value = oracle_below(&state, 50)                  ? value
                : size < 8 || !oracle_is_signed(type) ? top - oracle_below(&state, 2)
                                                       : 5;
        value = oracle_is_signed(type) && !oracle_below(&state, 40) ? 0 - (uint64_t)oracle_below(&state, 9) : value;
        value &= top;
        if (type == HCY_PIXEL_F64) {
            double d = value > top / 2 ? NAN : (double)(int64_t)value / 3;
            memcpy(images + 8 * i, &d, 8);
        } else if (type == HCY_PIXEL_F32) {
            float f = value > top / 2 ? NAN : (float)value / 3;
            memcpy(images + 4 * i, &f, 4);
        } else {
            memcpy(images + size * i, &value, size); /* little-endian */
        }
    }
}

static const struct {
    const char *name;
    uint32_t kind, flags;
    double threshold, from, to;
    int poisson;
} filters[] = {
    { "deviation alone", HCY_AZINT_FILTER_NONE, HCY_AZINT_CLIP_DEVIATION | HCY_AZINT_WANT_DEVIATION, 0, 0, 0, 0 },
    { "clipped by deviation", HCY_AZINT_FILTER_CLIP, HCY_AZINT_CLIP_DEVIATION | HCY_AZINT_WANT_DEVIATION, 2.5, 0, 0, 0 },
    { "clipped, hybrid, Chauvenet", HCY_AZINT_FILTER_CLIP, HCY_AZINT_CLIP_DEVIATION, 0, 0, 0, 1 },
    { "clipped, Poisson or given", HCY_AZINT_FILTER_CLIP, 0, 3.5, 0, 0, 1 },
    { "median", HCY_AZINT_FILTER_PERCENTILE, 0, 0, 50, 50, 1 },
    { "quartiles", HCY_AZINT_FILTER_PERCENTILE, HCY_AZINT_WANT_DEVIATION, 0, 25, 75, 1 },
};
enum { N_FILTERS = sizeof filters / sizeof filters[0] };

/* Doubles that hold rounded deviations are compared as such. */
static int same(const uint64_t *got, const uint64_t *want, size_t row, int is_float)
{
    double a, b;

    if (!is_float || (row != HCY_SUM_SQUARE_LO &&
                      (exact || (row != HCY_SUM_SIGNAL_LO && row != HCY_SUM_VARIANCE_LO))))
        return *got == *want;
    memcpy(&a, got, 8);
    memcpy(&b, want, 8);
    return fabs(a - b) <= 1e-10 * fabs(b) + 1e-3;
}

static size_t wrong_rows(const uint64_t *got, const uint64_t *want, int is_float, const char *device)
{
    size_t wrong = 0;

    for (size_t k = 0; k < HCY_AZINT_FILTERED * BINS; k++) {
        if (same(got + k, want + k, k / BINS, is_float))
            continue;
        if (!wrong++)
            diag("%s: row %zu bin %zu: %llx, want %llx", device, k / BINS, k % BINS, (unsigned long long)got[k],
                 (unsigned long long)want[k]);
    }
    return wrong;
}

static void test_oracle(uint32_t type, enum oracle_kind kind, int arrays, int bright)
{
    static const char *const names[] = { "",   "u8",  "u16", "u32", "u64", "i8",
                                         "i16", "i32", "i64", "f32", "f64" };
    size_t image = (size_t)HEIGHT * WIDTH * oracle_pixel_size(type);
    int is_float = oracle_is_float(type);
    uint8_t *images = malloc(FRAMES * image);
    uint64_t *want = malloc(sizeof *want * HCY_AZINT_FILTERED * BINS);
    struct entry *entries = malloc(sizeof *entries * HEIGHT * WIDTH * 4);
    hcy_azint_job job = { HEIGHT * WIDTH, BINS, type, 0, 0, { { 0, 0 } } };
    uint64_t top = UINT64_MAX >> (64 - 8 * oracle_pixel_size(type));
    struct oracle_plan plan;

    if (!images || !want || !entries || oracle_plan_make(&plan, 31 + type, kind, HEIGHT, WIDTH, BINS, 9) ||
        (arrays && oracle_plan_add_arrays(&plan, type, arrays > 1)))
        bail_out("no memory");
    for (size_t i = 0; i < HEIGHT * WIDTH; i++)
        plan.norms[i] *= kind == ORACLE_WILD ? 1.0f / 4096 : 0.9f;
    make_images(images, type, bright);
    job.n_invalid = is_float ? 0 : 2;
    job.invalid[0] = (hcy_azint_range){ 9, 5 }; /* none */
    job.invalid[1] = oracle_is_signed(type) ? (hcy_azint_range){ 0 - (uint64_t)7, 0 - (uint64_t)3 }
                                            : (hcy_azint_range){ top - 1, top };
    for (size_t f = 0; f < N_FILTERS; f++) {
        hcy_azint_filter filter = make_filter(filters[f].kind, filters[f].flags, filters[f].threshold, filters[f].from,
                                              filters[f].to);
        struct oracle o = { &plan, &job, &filter, NULL, 0, 0, entries };
        size_t wrong = 0, lost = 0;

        job.flags = filters[f].poisson && arrays < 2 ? HCY_AZINT_WANT_VARIANCE : 0;
        for (size_t v = 0; v < N_VARIANTS; v++) {
            hcy_frame_report reports[FRAMES];
            uint64_t *got = !devices[v] ? NULL
                                        : run_kernel(devices[v], plan.spans, &job, &filter, images, FRAMES, reports);

            for (size_t k = 0; got && k < FRAMES; k += v ? 1 : 2) {
                o.image = images + k * image;
                if (v == 0 || k == 3) {
                    oracle_filter(&o, want);
                    wrong += wrong_rows(got + k * HCY_AZINT_FILTERED * BINS, want, is_float, variants[v]);
                    wrong += reports[k].n_lost != count_lost(&o);
                    lost += reports[k].n_lost;
                }
            }
            free(got);
        }
        ok(wrong == 0 && (lost > 0) == (job.n_invalid || is_float), "%s, %s%s%s, %s", names[type],
           kind == ORACLE_WHOLE   ? "whole"
           : kind == ORACLE_SPLIT ? "split"
                                  : "wild",
           arrays > 1 ? ", dark and variances" : arrays ? ", dark" : "", bright ? ", bright" : "", filters[f].name);
    }
    oracle_plan_free(&plan);
    free(images);
    free(want);
    free(entries);
}

/* --- From chunks, without images between --- */

struct chunks {
    hcy_bslz4_job coding;
    hcy_bslz4_frame frames[FRAMES];
    hcy_bslz4_block *blocks;
    uint8_t *bytes;
    size_t size, n_blocks;
};

static void encode(struct chunks *c, const uint8_t *images, uint32_t type, uint32_t codec)
{
    size_t image = (size_t)HEIGHT * WIDTH * oracle_pixel_size(type), bound = 0, room = FRAMES * (image / 8 + 16);

    memset(c, 0, sizeof *c);
    c->coding = (hcy_bslz4_job){ .codec = codec, .elem_size = (uint32_t)oracle_pixel_size(type), .image_bytes = image,
                                 .block_bytes = 1024 };
    if (hcy_bslz4_encode_bound(&bound, &c->coding))
        bail_out("%s", hcy_last_error()->text);
    bound = (bound + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN;
    c->bytes = calloc(1, FRAMES * bound + HCY_BSLZ4_PADDING);
    c->blocks = malloc(room * sizeof *c->blocks);
    for (size_t i = 0; c->bytes && c->blocks && i < FRAMES; i++) {
        size_t size;

        if (hcy_bslz4_encode(&size, c->bytes + c->size, bound, &c->coding, images + i * image) ||
            hcy_bslz4_parse(&c->frames[i], c->blocks + c->n_blocks, room - c->n_blocks, NULL, &c->coding,
                            c->bytes + c->size, size))
            bail_out("%s", hcy_last_error()->text);
        c->frames[i].offset = c->size;
        c->frames[i].first_block = (uint32_t)c->n_blocks;
        c->n_blocks += c->frames[i].n_blocks;
        c->size += (size + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN;
    }
    c->size += HCY_BSLZ4_PADDING;
}

static uint64_t *run_chunks(hcy_device *dev, const hcy_span *spans, const hcy_azint_job *job, const struct chunks *c,
                            size_t frames, hcy_frame_report *reports)
{
    size_t scratch = 0, bytes = frames * HCY_AZINT_FILTERED * job->n_bins * sizeof(uint64_t);
    uint64_t *out = malloc(bytes);
    hcy_kernel *kernel = NULL;
    hcy_queue *queue = NULL;
    hcy_buffer *tables = NULL;

    if (!out || hcy_kernel_get(&kernel, dev, "bslz4_azint_deviation") || hcy_queue_create(&queue, dev) ||
        hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS))
        bail_out("%s", hcy_last_error()->text);
    hcy_buffer *b[] = { buffer(dev, c->size, c->bytes),
                        buffer(dev, frames * sizeof c->frames[0], c->frames),
                        buffer(dev, c->n_blocks * sizeof *c->blocks, c->blocks),
                        buffer(dev, bytes, NULL),
                        buffer(dev, frames * sizeof *reports, NULL),
                        NULL };
    hcy_arg args[] = { hcy_arg_buf(b[0]),   hcy_arg_buf(b[1]),
                       hcy_arg_buf(b[2]),   hcy_arg_struct(&c->coding, sizeof c->coding),
                       hcy_arg_buf(tables), hcy_arg_struct(job, sizeof *job),
                       hcy_arg_buf(b[3]),   hcy_arg_buf(b[4]),
                       hcy_arg_buf(NULL) };
    if (hcy_kernel_scratch_size(&scratch, kernel, frames, args, 9))
        bail_out("%s", hcy_last_error()->text);
    args[8] = hcy_arg_buf(b[5] = buffer(dev, scratch, NULL));
    if (hcy_launch(queue, kernel, frames, args, 9) || hcy_queue_finish(queue))
        bail_out("%s", hcy_last_error()->text);
    fetch(out, b[3], bytes);
    fetch(reports, b[4], frames * sizeof *reports);
    for (size_t i = 0; i < 6; i++)
        hcy_buffer_release(b[i]);
    hcy_buffer_release(tables);
    hcy_kernel_release(kernel);
    hcy_queue_release(queue);
    return out;
}

/* The same sums as azint_filter's, which are the oracle's. */
static void test_chunks(uint32_t type, enum oracle_kind kind, int bright)
{
    static const size_t frames[] = { 1, FRAMES, 3 };
    size_t image = (size_t)HEIGHT * WIDTH * oracle_pixel_size(type), turn = 0, wrong = 0;
    const uint32_t flags = HCY_AZINT_CLIP_DEVIATION | HCY_AZINT_WANT_DEVIATION;
    hcy_azint_filter filter = make_filter(HCY_AZINT_FILTER_NONE, flags, 0, 0, 0);
    hcy_azint_job job = { HEIGHT * WIDTH, BINS, type, 0, 0, { { 0, 0 } } };
    uint8_t *images = malloc(FRAMES * image);
    uint64_t top = UINT64_MAX >> (64 - 8 * oracle_pixel_size(type));
    hcy_frame_report want_reports[FRAMES], reports[FRAMES];
    struct oracle_plan plan;
    struct chunks c;

    if (!images || oracle_plan_make(&plan, 7 + type, kind, HEIGHT, WIDTH, BINS, 9))
        bail_out("no memory");
    for (size_t i = 0; i < HEIGHT * WIDTH; i++)
        plan.norms[i] = i % 5 ? plan.norms[i] * (kind == ORACLE_WILD ? 1.0f / 4096 : 0.9f) : 1;
    make_images(images, type, bright);
    /* A frame of counts of one digit in strips where others have several. */
    for (size_t i = 0; bright && i < image; i++)
        images[i] = i % oracle_pixel_size(type) ? 0 : images[i] % 128;
    job.n_invalid = 1;
    job.invalid[0] = oracle_is_signed(type) ? (hcy_azint_range){ 0 - (uint64_t)7, 0 - (uint64_t)3 }
                                            : (hcy_azint_range){ top - 1, top };
    encode(&c, images, type, kind == ORACLE_WILD ? HCY_CODEC_LZ4 : HCY_CODEC_BSLZ4);
    uint64_t *want = run_kernel(devices[0], plan.spans, &job, &filter, images, FRAMES, want_reports);
    for (size_t v = 0; v < N_VARIANTS; v++, turn++) {
        size_t n = frames[turn % 3];
        uint64_t *got = devices[v] ? run_chunks(devices[v], plan.spans, &job, &c, n, reports) : NULL;

        for (size_t f = 0; got && f < n; f++) {
            size_t at = f * HCY_AZINT_FILTERED * BINS;

            wrong += wrong_rows(got + at, want + at, 0, variants[v]);
            /* wild plans have pixels whose weights are all 0: lost or not */
            wrong += reports[f].status || (reports[f].n_lost != want_reports[f].n_lost && kind != ORACLE_WILD);
        }
        free(got);
    }
    ok(wrong == 0, "deviation from chunks, type %u, %s%s", type,
       kind == ORACLE_WHOLE   ? "whole"
       : kind == ORACLE_SPLIT ? "split"
                              : "wild",
       bright ? ", bright" : "");
    oracle_plan_free(&plan);
    free(want);
    free(images);
    free(c.blocks);
    free(c.bytes);
}

/* Flags of jobs that are not filtered: what has no place for their sums says so. */
static void test_flags(uint32_t flags)
{
    const hcy_azint_job job = { HEIGHT * WIDTH, BINS, HCY_PIXEL_U16, flags, 0, { { 0, 0 } } };
    const hcy_bslz4_job coding = { HCY_CODEC_BSLZ4, 2, 2 * HEIGHT * WIDTH, 0, 0 };
    hcy_kernel *kernel = NULL;
    hcy_buffer *tables = NULL;
    struct oracle_plan plan;
    size_t scratch;

    if (oracle_plan_make(&plan, 1, ORACLE_SPLIT, HEIGHT, WIDTH, BINS, 9))
        bail_out("no memory");
    for (size_t i = 0; i < HEIGHT * WIDTH; i++)
        plan.norms[i] *= 0.9f;
    if (hcy_kernel_get(&kernel, devices[0], "bslz4_azint_deviation") ||
        hcy_kernel_prepare(&tables, kernel, plan.spans, HCY_AZINT_SPANS))
        bail_out("%s", hcy_last_error()->text);
    hcy_arg args[] = { hcy_arg_buf(NULL), hcy_arg_buf(NULL), hcy_arg_buf(NULL), hcy_arg_struct(&coding, sizeof coding),
                       hcy_arg_buf(tables), hcy_arg_struct(&job, sizeof job), hcy_arg_buf(NULL), hcy_arg_buf(NULL),
                       hcy_arg_buf(NULL) };
    is_int(hcy_kernel_scratch_size(&scratch, kernel, 1, args, 9), flags ? HCY_EUNSUPPORTED : 0,
           "deviation from chunks, flags %u", flags);
    hcy_buffer_release(tables);
    hcy_kernel_release(kernel);
    oracle_plan_free(&plan);
}

/* --- What host and devices share --- */

static void test_arithmetic(void)
{
    hcy_azint_filter f = make_filter(HCY_AZINT_FILTER_CLIP, 0, 0, 0, 0);
    double worst = 0;
    int wrong = 0;

    for (double n = 3; n < 1e9; n *= 1.0137)
        worst = fmax(worst, fabs(azint_chauvenet(&f, n) / sqrt(2 * log(n / sqrt(2 * acos(-1)))) - 1));
    ok(worst < 1e-5, "Chauvenet's criterion is off by %.1g at most", worst);
    for (int turn = 0; turn < 2000; turn++) {
        oracle_i128 square = 0, cross = 0, norm2 = 0;
        long double mean = 0, norms = 0, want = 0, v[64], n24[64];
        int n = 1 + (int)oracle_below(&state, 64), bits = (int)oracle_below(&state, 35);
        int flat = (int)oracle_below(&state, 2), is_signed = (int)oracle_below(&state, 2);

        for (int i = 0; i < n; i++) {
            int64_t x = (int64_t)(oracle_random(&state) >> (63 - bits)), norm = 1 + oracle_below(&state, HCY_AZINT_ONE);

            norm = flat ? HCY_AZINT_ONE : norm;
            x = flat ? (int64_t)1 << bits : is_signed && oracle_below(&state, 2) ? -x : x;
            square += (oracle_i128)x * x;
            cross += (oracle_i128)x * norm;
            norm2 += (oracle_i128)norm * norm;
            v[i] = x;
            n24[i] = (long double)norm / HCY_AZINT_ONE;
            mean += v[i];
            norms += n24[i];
        }
        double m = (double)(mean / norms);
        for (int i = 0; i < n; i++)
            want += (v[i] - m * n24[i]) * (v[i] - m * n24[i]);
        const uint64_t a[2] = { (uint64_t)square, (uint64_t)(square >> 64) };
        const uint64_t b[2] = { (uint64_t)cross, (uint64_t)(cross >> 64) };
        const uint64_t c[2] = { (uint64_t)norm2, (uint64_t)(norm2 >> 64) };
        double got = azint_deviation_sum(a, b, c, m, 0);
        /* the mean is rounded to 32 bits */
        wrong += !(got >= 0 && fabsl(got - want) <= 1e-15L * want + 1e-8L * sqrtl(want) * fabs(m) + 1e-17L * m * m);
        wrong += flat && got > 1e-17 * m * m;
    }
    is_int(wrong, 0, "deviations of 2000 bins: never negative, nothing cancels");
}

/* --- pyFAI's curves --- */

enum { N = FILTER_HEIGHT * FILTER_WIDTH };

static hcy_azint_plan *make_plan(const struct filter_case *c, const float *dark)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *p = NULL;

    poni.dist = 0.05;
    poni.poni1 = 8.3e-3;
    poni.poni2 = 14.1e-3;
    poni.rot1 = 0.12;
    poni.rot2 = -0.21;
    poni.rot3 = 0.4;
    poni.wavelength = 1.1e-10;
    poni.pixel1 = 1e-3;
    poni.pixel2 = 1.1e-3;
    o.npt = FILTER_NPT;
    o.split = c->split;
    o.use_dummy = 1;
    o.dummy = FILTER_DUMMY;
    o.delta_dummy = 0.5;
    o.solid_angle = c->solid_angle;
    o.error_model = c->model;
    o.filter = c->filter;
    o.threshold = c->threshold;
    o.max_iter = c->max_iter;
    memcpy(o.percentile, c->percentile, sizeof o.percentile);
    o.dark = c->dark ? dark : NULL;
    if (hcy_azint_plan_create(&p, &poni, FILTER_HEIGHT, FILTER_WIDTH, &o))
        bail_out("%s", hcy_last_error()->text);
    return p;
}

static double off(const double *got, const double *want)
{
    double worst = 0;

    for (int k = 0; k < FILTER_NPT; k++) {
        double d = fabs(got[k] - want[k]) / (want[k] != 0 ? fabs(want[k]) : 1);

        worst = d > worst || isnan(d) ? d : worst;
    }
    return worst;
}

static void test_reference(const struct filter_case *c, uint32_t type, hcy_device *dev)
{
    static const char *const kinds[] = { "no filter", "clipped", "percentiles" };
    static const char *const models[] = { "no errors", "Poisson", "variances", "azimuthal", "hybrid" };
    static uint16_t image[N];
    static float floats[N], dark[N];
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_filter filter;
    hcy_frame_report report;
    hcy_azint_result *r = NULL;
    hcy_azint_job job;

    for (uint32_t k = 0; k < N; k++) {
        uint32_t value = 100 + (k * 2654435761u >> 16) % 41 + (k % 97 == 5) * 500 + (k % 89 == 3) * (k / 89) % 60;

        floats[k] = image[k] = (uint16_t)(k % 53 == 7 ? FILTER_DUMMY : value);
        dark[k] = (float)(k % 13) * 0.75f - 1;
    }
    hcy_azint_plan *plan = make_plan(c, dark);
    hcy_azint_plan_tables(spans, plan);
    if (hcy_azint_plan_job(&job, plan, type) || hcy_azint_plan_filter(&filter, plan) ||
        hcy_azint_result_create(&r, plan))
        bail_out("%s", hcy_last_error()->text);
    uint64_t *sums = run_kernel(dev, spans, &job, &filter, type == HCY_PIXEL_U16 ? (void *)image : floats, 1, &report);
    if (hcy_azint_finish(r, plan, &job, sums, &report, 1))
        bail_out("%s", hcy_last_error()->text);
    double intensity = off(r->intensity, c->intensity), norm = off(r->sum_norm, c->norm),
           sigma = c->model ? off(r->sigma, c->sigma) : 0;
    if (!ok(intensity < 2e-6 && norm < 2e-6 && sigma < 5e-6, "pyFAI's: splitting %d, %s%s, %s, %s", c->split,
            kinds[c->filter], c->dark ? ", dark" : "", models[c->model], type == HCY_PIXEL_U16 ? "integers" : "floats"))
        diag("off by: intensity %.2g, norm %.2g, sigma %.2g", intensity, norm, sigma);
    free(sums);
    hcy_azint_result_destroy(r);
    hcy_azint_plan_release(plan);
}

/* --- Azimuthal errors with a dark current, of large integers --- */

enum { DARK_BINS = 11 };

static hcy_azint_plan *dark_plan(const float *dark, int split)
{
    const struct filter_case c = { .model = HCY_ERRORS_AZIMUTHAL, .split = split, .solid_angle = 1 };
    hcy_azint_plan *base = make_plan(&c, NULL), *p = NULL;
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_azint_options o;

    if (hcy_azint_plan_get_info(&info, base))
        bail_out("%s", hcy_last_error()->text);
    o = info.options;
    o.npt = DARK_BINS;
    o.use_dummy = 0;
    o.sentinels = HCY_SENTINELS_OFF;
    o.dark = dark;
    if (hcy_azint_plan_create(&p, &info.poni, FILTER_HEIGHT, FILTER_WIDTH, &o))
        bail_out("%s", hcy_last_error()->text);
    hcy_azint_plan_release(base);
    return p;
}

static void put_pixel(void *image, size_t i, uint32_t type, int64_t value)
{
    memcpy((uint8_t *)image + i * oracle_pixel_size(type), &value, oracle_pixel_size(type)); /* little-endian */
}

/* Sigma of each bin, from its pixels and the plan's weights. */
static void sigma_of(double sigma[DARK_BINS], const hcy_azint_plan *p, const float *dark, const int64_t *value)
{
    long double mean[DARK_BINS], signal[DARK_BINS] = { 0 }, norm[DARK_BINS] = { 0 }, variance[DARK_BINS] = { 0 };
    hcy_span spans[HCY_AZINT_SPANS];

    hcy_azint_plan_tables(spans, p);
    for (int pass = 0; pass < 2; pass++) {
        const uint8_t *at = spans[1].data, *w;

        for (int i = 0; i < N; i++) {
            long double n = ((const float *)spans[3].data)[i], v = value[i] - (long double)dark[i];
            uint32_t word = oracle_run(&at, &w);

            for (uint32_t k = 0; k < HCY_AZINT_RUN_N(word); k++) {
                uint32_t b = HCY_AZINT_RUN_BIN(word) + k;
                long double c = oracle_weight(w, k) / 16777216.0L;

                signal[b] += pass ? 0 : c * v;
                norm[b] += pass ? 0 : c * n;
                variance[b] += pass ? c * c * (v - mean[b] * n) * (v - mean[b] * n) : 0;
            }
        }
        for (int b = 0; b < DARK_BINS; b++)
            mean[b] = signal[b] / norm[b];
    }
    for (int b = 0; b < DARK_BINS; b++)
        sigma[b] = (double)(sqrtl(variance[b]) / norm[b]);
}

static void test_dark_sigma(uint32_t type, int split, int bits, hcy_device *dev, const char *name)
{
    static int64_t value[N];
    static uint64_t image[N];
    static float dark[N];
    double want[DARK_BINS], worst = 0;
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_filter filter;
    hcy_frame_report report;
    hcy_azint_result *r = NULL;
    hcy_azint_job job;

    memset(image, 0, sizeof image);
    for (int i = 0; i < N; i++) {
        value[i] = (int64_t)(oracle_random(&state) >> (64 - bits));
        value[i] -= oracle_is_signed(type) ? (int64_t)1 << (bits - 1) : 0;
        dark[i] = (float)(0.3 + (double)oracle_below(&state, 1000) / 7919);
        put_pixel(image, (size_t)i, type, value[i]);
    }
    hcy_azint_plan *p = dark_plan(dark, split);
    hcy_azint_plan_tables(spans, p);
    if (hcy_azint_plan_job(&job, p, type) || hcy_azint_plan_filter(&filter, p) || hcy_azint_result_create(&r, p))
        bail_out("%s", hcy_last_error()->text);
    uint64_t *sums = run_kernel(dev, spans, &job, &filter, image, 1, &report);
    int status = hcy_azint_finish(r, p, &job, sums, &report, 1);
    sigma_of(want, p, dark, value);
    for (int b = 0; b < DARK_BINS; b++)
        worst = fmax(worst, fabs(r->sigma[b] / want[b] - 1));
    if (!ok(!status && worst < 1e-6, "%s: azimuthal errors less a dark current, type %u, splitting %d, counts of %d bits",
            name, type, split, bits))
        diag("status %d, off by %.2g", status, worst);
    hcy_azint_result_destroy(r);
    hcy_azint_plan_release(p);
    free(sums);
}

/* A count that sums of squares have no place for fails its frame, and no other; where it is masked it does not. */
static void test_too_large(uint32_t type, int with_dark, hcy_device *dev, const char *name)
{
    static uint64_t images[3 * N];
    static float dark[N];
    hcy_azint_plan *p = dark_plan(with_dark ? dark : NULL, HCY_SPLIT_BBOX);
    int64_t top = with_dark ? (int64_t)1 << 32 : ((int64_t)1 << 35) - 1;
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_frame_report reports[3];
    hcy_azint_filter filter;
    hcy_azint_job job;

    for (int i = 0; i < 3 * N; i++)
        images[i] = (uint64_t)(i % 7 + (i % N == 400 ? top - 7 : 0));
    hcy_azint_plan_tables(spans, p);
    if (hcy_azint_plan_job(&job, p, type) || hcy_azint_plan_filter(&filter, p))
        bail_out("%s", hcy_last_error()->text);
    images[N + 301] = type == HCY_PIXEL_I64 ? (uint64_t)(-top - 1) : (uint64_t)top + 1;
    images[2 * N + 77] = (uint64_t)1 << 63;
    free(run_kernel(dev, spans, &job, &filter, images, 3, reports));
    int failed = !reports[0].status && reports[1].status == HCY_ERANGE && reports[2].status == HCY_ERANGE;
    job.n_invalid = 1;
    job.invalid[0] = (hcy_azint_range){ (uint64_t)1 << 63, (uint64_t)1 << 63 };
    free(run_kernel(dev, spans, &job, &filter, images, 3, reports));
    ok(failed && reports[1].status == HCY_ERANGE && !reports[2].status && reports[2].n_lost == 1,
       "%s: type %u%s: a count that is too large fails its frame, unless it is masked", name, type,
       with_dark ? ", dark" : "");
    hcy_azint_plan_release(p);
}

static void test_large_darks(void)
{
    static float dark[N];
    hcy_azint_plan *p = NULL;
    hcy_azint_job job;

    dark[5] = 1e6f;
    p = dark_plan(dark, HCY_SPLIT_NO);
    is_int(hcy_azint_plan_job(&job, p, HCY_PIXEL_U32), 0, "a dark current of 10^6 counts, of 32-bit pixels");
    ok(hcy_azint_plan_job(&job, p, HCY_PIXEL_U16) == HCY_ERANGE && strstr(hcy_last_error()->text, "2^20"),
       "and of 16-bit ones: refused");
    hcy_azint_plan_release(p);
}

static void test_large_counts(void)
{
    for (size_t v = 0; v < N_VARIANTS; v++)
        for (uint32_t type = HCY_PIXEL_U32; devices[v] && type <= HCY_PIXEL_I64; type++) {
            if (type == HCY_PIXEL_I8 || type == HCY_PIXEL_I16 || (few && type != HCY_PIXEL_U64))
                continue;
            for (int split = 0; split < 3; split++)
                test_dark_sigma(type, split, (const int[]){ 3, 1, 31 }[split], devices[v], variants[v]);
            for (int with_dark = 0; with_dark < 2 && oracle_pixel_size(type) == 8; with_dark++)
                test_too_large(type, with_dark, devices[v], variants[v]);
        }
}

/* --- Percentiles at the edges of pixels --- */

/* n equal pixels with the values 1, 4, 9 ... in one bin, between percentiles in halves of one: pixel k reaches from
 * k / n to (k + 1) / n, and is in if that touches the interval, by integers. */
static void test_ties(size_t n, hcy_device *dev, const char *name)
{
    static uint16_t image[N];
    static uint8_t mask[N];
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_filter filter;
    hcy_frame_report report;
    hcy_azint_job job;
    int wrong = 0;

    poni.dist = 0.1;
    poni.pixel1 = poni.pixel2 = 1e-3;
    for (size_t i = 0; i < N; i++) {
        mask[i] = i >= n;
        image[i] = (uint16_t)((n - i) * (n - i));
    }
    o.npt = 1;
    o.unit = "r_mm";
    o.split = HCY_SPLIT_NO;
    o.solid_angle = 0;
    o.mask = mask;
    o.mask_height = FILTER_HEIGHT;
    o.mask_width = FILTER_WIDTH;
    o.filter = HCY_FILTER_PERCENTILE;
    for (size_t low = 0; low <= 200; low += 3)
        for (size_t high = low; high <= 200; high += low == 99 ? 1 : 37) {
            hcy_azint_plan *p = NULL;
            uint64_t want = 0;

            o.percentile[0] = (double)low / 2;
            o.percentile[1] = (double)high / 2;
            if (hcy_azint_plan_create(&p, &poni, FILTER_HEIGHT, FILTER_WIDTH, &o) ||
                hcy_azint_plan_job(&job, p, HCY_PIXEL_U16) || hcy_azint_plan_filter(&filter, p))
                bail_out("%s", hcy_last_error()->text);
            hcy_azint_plan_tables(spans, p);
            uint64_t *sums = run_kernel(dev, spans, &job, &filter, image, 1, &report);
            for (size_t k = 0; k < n; k++)
                if (200 * (k + 1) >= low * n && 200 * k <= high * n)
                    want += (k + 1) * (k + 1);
            wrong += sums[HCY_SUM_SIGNAL_LO] != want * HCY_AZINT_ONE;
            free(sums);
            hcy_azint_plan_release(p);
        }
    is_int(wrong, 0, "%s: percentiles of %zu pixels: both of those whose edge one is", name, n);
}

/* --- The host's floats --- */

/* Intensities that differ in their last bits alone, of which half go: a thread that rounds up has the same of them. */
static void test_rounding(void)
{
    static uint32_t image[HEIGHT * WIDTH];
    const hcy_azint_job job = { HEIGHT * WIDTH, BINS, HCY_PIXEL_U32, 0, 0, { { 0, 0 } } };
    const hcy_azint_filter filter = make_filter(HCY_AZINT_FILTER_PERCENTILE, 0, 0, 0, 50);
    hcy_frame_report report;
    struct oracle_plan plan;

    if (oracle_plan_make(&plan, 31, ORACLE_WHOLE, HEIGHT, WIDTH, BINS, 9))
        bail_out("no memory");
    for (size_t i = 0; i < HEIGHT * WIDTH; i++) {
        plan.norms[i] *= 0.9f;
        image[i] = (uint32_t)(plan.norms[i] * 4194304);
    }
    uint64_t *want = run_kernel(devices[0], plan.spans, &job, &filter, image, 1, &report);
    fesetround(FE_UPWARD);
    uint64_t *got = run_kernel(devices[0], plan.spans, &job, &filter, image, 1, &report);
    const int rounding = fegetround();
    fesetround(FE_TONEAREST);
    ok(rounding == FE_UPWARD && !memcmp(got, want, sizeof *got * HCY_AZINT_FILTERED * BINS),
       "tables prepared by a thread that rounds up, which it does after that too: the same bits");
    free(want);
    free(got);
    oracle_plan_free(&plan);
}

/* --- Refusals --- */

static void test_refusals(void)
{
    const struct filter_case good = { .threshold = 3, .max_iter = 2, .model = 3, .filter = HCY_FILTER_SIGMA_CLIP };
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *p = make_plan(&good, NULL), *other = NULL;
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_kernel *kernel = NULL;
    hcy_buffer *tables = NULL;
    hcy_azint_filter f;

    if (hcy_azint_plan_get_info(&info, p) || hcy_kernel_get(&kernel, devices[0], "azint_filter"))
        bail_out("%s", hcy_last_error()->text);
    ok(info.filtered && info.n_sums == HCY_AZINT_FILTERED, "a plan says that it filters");
    o = info.options;
    o.filter = HCY_FILTER_SIGMA_CLIP;
    o.error_model = HCY_ERRORS_NONE;
    is_int(hcy_azint_plan_create(&other, &info.poni, FILTER_HEIGHT, FILTER_WIDTH, &o), HCY_EINVAL,
           "clipping without errors");
    o.error_model = HCY_ERRORS_POISSON;
    o.threshold = -1;
    is_int(hcy_azint_plan_create(&other, &info.poni, FILTER_HEIGHT, FILTER_WIDTH, &o), HCY_EINVAL,
           "a negative threshold");
    o.threshold = 1;
    o.filter = 3;
    is_int(hcy_azint_plan_create(&other, &info.poni, FILTER_HEIGHT, FILTER_WIDTH, &o), HCY_EINVAL, "no such filter");
    o.filter = HCY_FILTER_PERCENTILE;
    o.percentile[0] = 60;
    o.percentile[1] = 40;
    is_int(hcy_azint_plan_create(&other, &info.poni, FILTER_HEIGHT, FILTER_WIDTH, &o), HCY_EINVAL,
           "percentiles the wrong way round");
    o.filter = HCY_FILTER_NONE;
    o.error_model = HCY_ERRORS_HYBRID;
    if (hcy_azint_plan_create(&other, &info.poni, FILTER_HEIGHT, FILTER_WIDTH, &o))
        bail_out("%s", hcy_last_error()->text);
    is_int(hcy_azint_plan_filter(&f, other), HCY_EINVAL, "hybrid errors alone are Poisson's: no filter");
    hcy_azint_plan_tables(spans, p);
    is_int(hcy_kernel_prepare(&tables, kernel, spans, 5), HCY_EINVAL, "five spans");
    spans[1].size -= 1;
    is_int(hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "runs cut short");
    spans[1].size += 1;
    ((float *)spans[3].data)[5] = 1.5f;
    is_int(hcy_kernel_prepare(&tables, kernel, spans, HCY_AZINT_SPANS), HCY_EINVAL, "a norm above 1");
    hcy_kernel_release(kernel);
    hcy_azint_plan_release(p);
    hcy_azint_plan_release(other);
}

int main(int argc, char **argv)
{
    open_devices(argc, argv);
    test_arithmetic();
    test_refusals();
    test_large_darks();
    test_large_counts();
    test_rounding();
    int is_cpu = !strcmp(hcy_device_get_info(devices[0])->backend, "cpu");
    for (uint32_t flags = 0; is_cpu && flags <= HCY_AZINT_NARROW; flags++)
        test_flags(flags);
    for (size_t v = 0; v < N_VARIANTS; v += 2)
        for (size_t n = 1; devices[v] && n <= 40; n += n == 1 ? 9 : 15)
            test_ties(n, devices[v], variants[v]);
    for (uint32_t type = HCY_PIXEL_U8; type <= HCY_PIXEL_F64; type++) {
        if (!wanted(type))
            continue;
        test_oracle(type, type % 2 ? ORACLE_WHOLE : ORACLE_SPLIT, 0, type % 3 == 0);
        test_oracle(type, type % 2 ? ORACLE_WILD : ORACLE_WHOLE, 0, type % 3 == 1);
        test_oracle(type, ORACLE_SPLIT, 1 + (int)(type % 2), type % 3 == 2);
    }
    for (uint32_t type = HCY_PIXEL_U8; type <= HCY_PIXEL_I32; type += type == HCY_PIXEL_U32 ? 2 : 1)
        for (int kind = ORACLE_WHOLE; wanted(type) && kind <= ORACLE_WILD; kind++) {
            test_chunks(type, (enum oracle_kind)kind, 0);
            test_chunks(type, (enum oracle_kind)kind, 1);
        }
    for (size_t i = 0; i < sizeof filter_cases / sizeof filter_cases[0]; i++) {
        test_reference(&filter_cases[i], HCY_PIXEL_U16, devices[0]);
        test_reference(&filter_cases[i], HCY_PIXEL_F32, devices[0]);
    }
    for (size_t v = 0; v < N_VARIANTS; v++)
        hcy_device_release(devices[v]);
    return done_testing();
}
