/* azint_large - images of more than 2^24 pixels through the kernels of azimuthal integration, against the
 * oracle and against the CPU: an EIGER 16M's shape, nearly all of it masked.  The argument is a device. */
#include <halcyon/bslz4.h>
#include <halcyon/kernel.h>

#include "azint_oracle.h"
#include "tap.h"

enum { HEIGHT = 4371, WIDTH = 4150, N = HEIGHT * WIDTH, BINS = 50, EVERY = 3001, STARTS = (N + 15) / 16 + 1 };

static struct oracle_plan made;
static hcy_azint_job job = { N, BINS, HCY_PIXEL_U16, HCY_AZINT_WANT_VARIANCE, 1, { { 65534, 65535 } } };
static uint16_t *image;
static uint64_t state = 16;

/* One pixel in EVERY has weights. */
static void make_plan(void)
{
    uint8_t *p = made.runs = calloc(1, 4ull * N + (N / EVERY + 1) * 9ull);
    made.starts = malloc(STARTS * sizeof *made.starts);
    made.norms = malloc(N * sizeof *made.norms);
    image = calloc(N, sizeof *image);
    if (!p || !made.starts || !made.norms || !image)
        bail_out("no memory");
    for (uint32_t i = 0; i < N; i++) {
        const int live = i % EVERY == EVERY - 1 || i == N - 1;
        if (i % HCY_AZINT_START_EVERY == 0)
            made.starts[i / HCY_AZINT_START_EVERY] = (uint64_t)(p - made.runs);
        made.norms[i] = 1;
        p = live ? oracle_put_pixel(p, &state, ORACLE_SPLIT, i / (N / BINS + 1), BINS) : p + 4;
        image[i] = (uint16_t)(!live ? i % 97 == 0 : i % 7 ? oracle_below(&state, 50) : 65535 - i % 4);
    }
    made.starts[STARTS - 1] = (uint64_t)(p - made.runs);
    made.head = (hcy_azint_head){ .version = HCY_AZINT_VERSION, .n_bins = BINS, .n_pixels = N,
                                  .height = HEIGHT, .width = WIDTH, .n_weights = N / EVERY * 3 };
    made.spans[0] = (hcy_span){ &made.head, sizeof made.head };
    made.spans[1] = (hcy_span){ made.runs, (size_t)(p - made.runs) };
    made.spans[2] = (hcy_span){ made.starts, STARTS * sizeof *made.starts };
    made.spans[3] = (hcy_span){ made.norms, N * sizeof *made.norms };
}

static hcy_buffer *buffer(hcy_device *dev, size_t size, const void *data)
{
    hcy_buffer *b = NULL;
    if (hcy_buffer_create(&b, dev, HCY_MEM_DEVICE, size ? size : 64) ||
        (data && hcy_buffer_write_now(b, 0, data, size)))
        bail_out("%s", hcy_last_error()->text);
    return b;
}

/* One launch of one frame: n arguments, the tables among them, then sums of `rows` and a report. */
static uint64_t *run(hcy_device *dev, const char *name, hcy_arg *args, size_t n, size_t tables, size_t rows,
                     hcy_frame_report *report)
{
    const size_t bytes = rows * BINS * sizeof(uint64_t);
    uint64_t *sums = malloc(bytes);
    hcy_kernel *kernel = NULL;
    hcy_queue *queue = NULL;
    hcy_buffer *prepared = NULL, *out = buffer(dev, bytes, NULL),
               *reports = buffer(dev, sizeof *report, report);
    size_t scratch = 0;
    if (!sums || hcy_kernel_get(&kernel, dev, name) || hcy_queue_create(&queue, dev) ||
        hcy_kernel_prepare(&prepared, kernel, made.spans, HCY_AZINT_SPANS))
        bail_out("%s: %s", name, hcy_last_error()->text);
    args[tables] = hcy_arg_buf(prepared);
    args[n] = hcy_arg_buf(out);
    args[n + 1] = hcy_arg_buf(reports);
    args[n + 2] = hcy_arg_buf(NULL);
    if (hcy_kernel_scratch_size(&scratch, kernel, 1, args, n + 3))
        bail_out("%s: %s", name, hcy_last_error()->text);
    args[n + 2] = hcy_arg_buf(buffer(dev, scratch, NULL));
    if (hcy_launch(queue, kernel, 1, args, n + 3) || hcy_queue_finish(queue) ||
        hcy_buffer_read_now(sums, out, 0, bytes) || hcy_buffer_read_now(report, reports, 0, sizeof *report))
        bail_out("%s: %s", name, hcy_last_error()->text);
    hcy_buffer_release(args[n + 2].v.buf);
    hcy_buffer_release(out);
    hcy_buffer_release(reports);
    hcy_buffer_release(prepared);
    hcy_queue_release(queue);
    hcy_kernel_release(kernel);
    return sums;
}

static uint64_t *from_image(hcy_device *dev, const char *name, const hcy_azint_filter *filter,
                            hcy_frame_report *report)
{
    hcy_buffer *pixels = buffer(dev, N * sizeof *image, image);
    hcy_arg args[8] = { hcy_arg_buf(pixels), hcy_arg_buf(NULL), hcy_arg_struct(&job, sizeof job) };
    memset(report, 0, sizeof *report);
    if (filter)
        args[3] = hcy_arg_struct(filter, sizeof *filter);
    uint64_t *sums =
        run(dev, name, args, filter ? 4 : 3, 1, filter ? HCY_AZINT_FILTERED : HCY_AZINT_SUMS, report);
    hcy_buffer_release(pixels);
    return sums;
}

static uint64_t *from_chunk(hcy_device *dev, hcy_frame_report *report)
{
    const hcy_bslz4_job coding = { HCY_CODEC_BSLZ4, 2, (uint64_t)N * 2, 0, 0 };
    size_t bound = 0, size = 0, room = N / 4096 + 2;
    hcy_bslz4_frame frame;
    hcy_bslz4_block *blocks = malloc(room * sizeof *blocks);
    uint8_t *chunk = hcy_bslz4_encode_bound(&bound, &coding) ? NULL : calloc(1, bound + HCY_BSLZ4_PADDING);
    if (!blocks || !chunk || hcy_bslz4_encode(&size, chunk, bound, &coding, image) ||
        hcy_bslz4_parse(&frame, blocks, room, NULL, &coding, chunk, size))
        bail_out("%s", hcy_last_error()->text);
    hcy_buffer *in[] = { buffer(dev, size + HCY_BSLZ4_PADDING, chunk), buffer(dev, sizeof frame, &frame),
                         buffer(dev, frame.n_blocks * sizeof *blocks, blocks) };
    hcy_arg args[9] = { hcy_arg_buf(in[0]),
                        hcy_arg_buf(in[1]),
                        hcy_arg_buf(in[2]),
                        hcy_arg_struct(&coding, sizeof coding),
                        hcy_arg_buf(NULL),
                        hcy_arg_struct(&job, sizeof job) };
    memset(report, 0, sizeof *report);
    uint64_t *sums = run(dev, "bslz4_azint", args, 6, 4, HCY_AZINT_SUMS, report);
    for (size_t i = 0; i < 3; i++)
        hcy_buffer_release(in[i]);
    free(blocks);
    free(chunk);
    return sums;
}

static void test_device(hcy_device *dev, const char *spec, const uint64_t *want, uint64_t n_lost)
{
    static const hcy_azint_filter deviation = { .flags = HCY_AZINT_WANT_DEVIATION };
    hcy_device *cpu = NULL;
    hcy_frame_report report, other;
    const size_t rows = (n_lost ? HCY_AZINT_SUMS : HCY_SUM_LOST_COUNT) * BINS * sizeof *want;
    if (hcy_device_open(&cpu, "cpu@threads=1"))
        bail_out("%s", hcy_last_error()->text);
    uint64_t *got = from_image(dev, "azint_image", NULL, &report);
    ok(!memcmp(got, want, rows) && report.n_lost == n_lost, "%s: an image of %d pixels", spec, (int)N);
    free(got);
    got = from_chunk(dev, &report);
    ok(!report.status && !memcmp(got, want, rows) && report.n_lost == n_lost, "%s: from its chunk", spec);
    free(got);
    got = from_image(dev, "azint_filter", &deviation, &report);
    uint64_t *same = from_image(cpu, "azint_filter", &deviation, &other);
    ok(!memcmp(got, same, HCY_AZINT_FILTERED * BINS * sizeof *got) && report.n_lost == other.n_lost,
       "%s: its deviation, as on the CPU", spec);
    free(got);
    free(same);
    hcy_device_release(cpu);
}

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "cpu@threads=2";
    hcy_device *dev = NULL;
    uint64_t want[HCY_AZINT_SUMS * BINS];
#ifdef __SANITIZE_THREAD__
    skip_all("large images, once more with each access noted, are too much for a small machine");
#endif
    if (hcy_device_open(&dev, spec))
        skip_all("%s", hcy_last_error()->text);
    make_plan();
    uint64_t n_lost = oracle_sums(want, made.spans, &job, image);
    ok(n_lost > 0, "%d pixels are lost", (int)n_lost);
    test_device(dev, spec, want, n_lost);
    hcy_device_release(dev);
    oracle_plan_free(&made);
    free(image);
    return done_testing();
}
