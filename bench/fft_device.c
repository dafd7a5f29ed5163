/* fft_device.c - bench/fft of a device that is no CPU: our own Fourier transforms beside its library's, cuFFT's or
 * VkFFT's, on grids that non-uniform FFTs and convolutions have. */
#include "fft_device.h"
#include "bench.h"

#include <halcyon/fft.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { ROUNDS = 3, MOST_IN_A_ROW = 1000, PERIOD = 4099, COMPARED = 1 << 16 };
static const double ENOUGH = 0.02; /* seconds of a round */

/* Lines, images, volumes, the grid of 244 x 244 x 320 modes, and a length whose prime factor passes do not have. */
static const struct grid {
    int rank;
    size_t n[3], batch;
} grids[] = {
    { 1, { 256, 1, 1 }, 65536 },  { 1, { 1 << 20, 1, 1 }, 1 }, { 1, { 1 << 20, 1, 1 }, 16 },
    { 1, { 2000000, 1, 1 }, 1 },  { 2, { 256, 256, 1 }, 256 }, { 2, { 512, 512, 1 }, 1 },
    { 2, { 512, 512, 1 }, 32 },   { 2, { 640, 640, 1 }, 32 },  { 2, { 1024, 1024, 1 }, 8 },
    { 2, { 2000, 2000, 1 }, 1 },  { 2, { 2048, 2048, 1 }, 4 }, { 3, { 64, 64, 64 }, 1 },
    { 3, { 128, 128, 128 }, 1 },  { 3, { 128, 128, 128 }, 8 }, { 3, { 256, 256, 256 }, 1 },
    { 3, { 320, 320, 320 }, 1 },  { 3, { 512, 512, 512 }, 1 }, { 3, { 490, 490, 640 }, 1 },
    { 2, { 509, 509, 1 }, 16 },
};
static const char *const type_names[] = { "", "c2c", "r2c", "c2r" };

/* A device with its library's transforms, or ours. */
struct way {
    hcy_device *dev;
    hcy_queue *queue;
    hcy_fft *fft;
    hcy_buffer *in, *out, *work;
    bool own;
    size_t moves; /* bytes of the input and the output */
    double best;
};

static void open_way(struct way *w, const char *device, const char *option)
{
    char spec[200];
    int64_t own = 0;
    snprintf(spec, sizeof spec, "%s%s", device, option);
    CHECK(hcy_device_open(&w->dev, spec));
    CHECK(hcy_queue_create(&w->queue, w->dev));
    CHECK(hcy_device_get_i64(&own, w->dev, "own_fft"));
    w->own = own;
}

static void close_way(struct way *w)
{
    hcy_queue_release(w->queue);
    hcy_device_release(w->dev);
}

static double number_at(const void *numbers, size_t i, bool is_double)
{
    return is_double ? ((const double *)numbers)[i] : ((const float *)numbers)[i];
}

/* The same numbers for all, between -1 and 1; their period has no factor with a grid's sizes. */
static void fill_buffer(const struct way *w, hcy_buffer *buffer, bool is_double)
{
    const size_t bytes = hcy_buffer_size(buffer);
    static double doubles[PERIOD];
    static float floats[PERIOD];
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < PERIOD; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        doubles[i] = (double)(state >> 11) * 0x1p-52 - 1;
        floats[i] = (float)doubles[i];
    }
    size_t filled = is_double ? sizeof doubles : sizeof floats;
    filled = filled < bytes ? filled : bytes;
    CHECK(hcy_buffer_write_now(buffer, 0, is_double ? (void *)doubles : floats, filled));
    for (size_t n; filled < bytes; filled += n) {
        n = filled < bytes - filled ? filled : bytes - filled;
        CHECK(hcy_buffer_copy(w->queue, buffer, filled, buffer, 0, n));
    }
}

/* What is transformed to real numbers must be their transform: each library makes something else of other numbers. */
static void fill_input(const struct way *w, const hcy_fft_desc *desc)
{
    const bool is_double = desc->precision == HCY_F64;
    hcy_fft_desc forward = *desc;
    hcy_buffer *work = NULL;
    hcy_fft *fft;
    fill_buffer(w, desc->type == HCY_FFT_C2R ? w->out : w->in, is_double);
    if (desc->type != HCY_FFT_C2R)
        return;
    forward.type = HCY_FFT_R2C;
    CHECK(hcy_fft_create(&fft, w->dev, &forward));
    if (hcy_fft_workspace(fft))
        CHECK(hcy_buffer_create(&work, w->dev, HCY_MEM_DEVICE, hcy_fft_workspace(fft)));
    CHECK(hcy_fft_execute(w->queue, w->in, fft, HCY_FFT_FORWARD, w->out, work));
    hcy_buffer_release(work);
    hcy_fft_release(fft);
}

static void make_plan(struct way *w, const hcy_fft_desc *desc, int direction)
{
    size_t in, out;
    CHECK(hcy_fft_create(&w->fft, w->dev, desc));
    hcy_fft_sizes(&in, &out, w->fft, direction);
    w->moves = in + out;
    w->best = INFINITY;
    CHECK(hcy_buffer_create(&w->in, w->dev, HCY_MEM_DEVICE, in));
    CHECK(hcy_buffer_create(&w->out, w->dev, HCY_MEM_DEVICE, out));
    if (hcy_fft_workspace(w->fft))
        CHECK(hcy_buffer_create(&w->work, w->dev, HCY_MEM_DEVICE, hcy_fft_workspace(w->fft)));
    fill_input(w, desc);
}

static void free_plan(struct way *w)
{
    hcy_buffer_release(w->work);
    hcy_buffer_release(w->out);
    hcy_buffer_release(w->in);
    hcy_fft_release(w->fft);
    w->work = NULL;
}

static double time_way(const struct way *w, int direction, int times)
{
    const double start = timer_now();
    for (int i = 0; i < times; i++)
        CHECK(hcy_fft_execute(w->queue, w->out, w->fft, direction, w->in, w->work));
    CHECK(hcy_queue_finish(w->queue));
    return (timer_now() - start) / times;
}

/* How far the first numbers of two results are from each other, of the largest. */
static double find_difference(const struct way *a, const struct way *b, bool is_double)
{
    static double of_a[COMPARED], of_b[COMPARED];
    size_t bytes = is_double ? sizeof of_a : sizeof of_a / 2;
    bytes = bytes < hcy_buffer_size(a->out) ? bytes : hcy_buffer_size(a->out);
    double most = 0, worst = 0;
    CHECK(hcy_buffer_read_now(of_a, a->out, 0, bytes));
    CHECK(hcy_buffer_read_now(of_b, b->out, 0, bytes));
    for (size_t i = 0; i < bytes / (is_double ? 8 : 4); i++) {
        const double x = number_at(of_a, i, is_double);
        most = fmax(most, fabs(x));
        worst = fmax(worst, fabs(x - number_at(of_b, i, is_double)));
    }
    return worst / most;
}

static void measure_grid(struct way *ways, int n_ways, const struct grid *g, int type, int precision)
{
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    const int direction = type == HCY_FFT_C2R ? HCY_FFT_BACKWARD : HCY_FFT_FORWARD;
    const bool is_double = precision == HCY_F64;
    desc.type = type, desc.precision = precision, desc.rank = g->rank, desc.batch = g->batch;
    memcpy(desc.n, g->n, sizeof desc.n);
    for (int i = 0; i < n_ways; i++) {
        make_plan(&ways[i], &desc, direction);
        time_way(&ways[i], direction, 1);
    }
    /* Now: transforms to real numbers may overwrite their input. */
    const double differ = n_ways > 1 ? find_difference(&ways[0], &ways[1], is_double) : 0;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < n_ways; i++) {
            const double once = time_way(&ways[i], direction, 1), times = fmin(ENOUGH / once + 1, MOST_IN_A_ROW);
            ways[i].best = fmin(ways[i].best, time_way(&ways[i], direction, (int)times));
        }
    printf("%-6s %s %zu x %zu x %zu, %zu of them: %s %.4f ms, %.0f GB/s", is_double ? "double" : "float",
           type_names[type], g->n[0], g->n[1], g->n[2], g->batch, ways[0].own ? "own" : "library", 1e3 * ways[0].best,
           1e-9 * (double)ways[0].moves / ways[0].best);
    if (n_ways > 1)
        printf("; own %.4f ms, %.0f GB/s (%.2f of its time); they differ by %.1e", 1e3 * ways[1].best,
               1e-9 * (double)ways[1].moves / ways[1].best, ways[1].best / ways[0].best, differ);
    printf("\n");
    fflush(stdout);
    for (int i = 0; i < n_ways; i++)
        free_plan(&ways[i]);
}

void bench_fft_device(const char *device, double millions)
{
    struct way ways[2] = { { .dev = NULL } };
    open_way(&ways[0], device, "");
    /* Whose transforms a device has is said once. */
    const int n_ways = ways[0].own || strstr(device, "@fft=") ? 1 : 2;
    if (n_ways > 1)
        open_way(&ways[1], device, "@fft=own");
    const hcy_device_info *info = hcy_device_get_info(ways[0].dev);
    printf("%s, %s; GB/s are those of the input and the output, once each\n", info->name, info->description);
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        const struct grid *g = &grids[i];
        if (1e-6 * (double)(g->n[0] * g->n[1] * g->n[2] * g->batch) > millions)
            continue;
        for (int way = 0; way < 6; way++)
            measure_grid(ways, n_ways, g, HCY_FFT_C2C + way % 3, way < 3 ? HCY_F32 : HCY_F64);
    }
    for (int i = 0; i < n_ways; i++)
        close_way(&ways[i]);
}
