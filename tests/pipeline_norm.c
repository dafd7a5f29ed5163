/* pipeline_norm.c - curves divided frame by frame (monitors), pulled and pushed; curves of summed frames beside the
 * curve of the sum of their images; lists of numbers. */
#include "pipeline_scene.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { SOME = 12 };

static hcy_azint_plan *the_plan;
static char path[64];

/* A frame's counts: 1, 2, 3 ...; 0 for frame 5, no number for frame 7. */
static double counts(void *payload, uint64_t number)
{
    (void)payload;
    return number == 5 ? 0 : number == 7 ? NAN : (double)number + 1;
}

struct seen {
    double intensity[FRAMES][BINS], sigma[FRAMES][BINS];
    int failed[FRAMES];
    char why[256];
    size_t n;
};

static int see(void *payload, const hcy_pipeline_frame *frame)
{
    struct seen *s = payload;
    s->failed[frame->number] = !frame->result;
    if (frame->result) {
        memcpy(s->intensity[frame->number], frame->result->intensity, sizeof s->intensity[0]);
        memcpy(s->sigma[frame->number], frame->result->sigma, sizeof s->sigma[0]);
    } else {
        snprintf(s->why, sizeof s->why, "%s", frame->why);
    }
    s->n++;
    return 0;
}

static void run(struct seen *s, hcy_pipeline_normalization normalization, int push)
{
    hcy_device *device = NULL;
    hcy_stack *stack = NULL;
    hcy_pipeline *pipeline = NULL;
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_pipeline_push_options push_opts = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    static uint32_t pixels[SOME][PIXELS];
    memset(s, 0, sizeof *s);
    opts.normalization = normalization;
    push_opts.sink = see;
    push_opts.payload = s;
    int st = hcy_device_open(&device, "cpu@threads=2");
    if (!st)
        st = hcy_stack_open(&stack, path, NULL);
    hcy_pipeline_source source = st ? (hcy_pipeline_source){ .pixel_type = 0 }
                                    : hcy_pipeline_source_of(hcy_stack_get_info(stack));
    if (!st)
        st = hcy_pipeline_create(&pipeline, &device, 1, the_plan, &source, &opts);
    if (!st && !push)
        st = hcy_pipeline_run(pipeline, stack, 0, SOME, see, NULL, s);
    if (!st && push)
        st = hcy_pipeline_start(pipeline, &push_opts);
    for (uint64_t i = 0; !st && push && i < SOME; i++) {
        make_frame(pixels[i], i);
        st = hcy_pipeline_submit(pipeline, pixels[i], sizeof pixels[i], i, NULL, NULL);
    }
    if (!st && push)
        st = hcy_pipeline_finish(pipeline);
    if (st)
        bail_out("a run: %s", hcy_last_error()->text);
    hcy_pipeline_destroy(pipeline);
    hcy_stack_close(stack);
    hcy_device_release(device);
}

static int divided(const double *a, const double *b, double by)
{
    for (size_t i = 0; i < BINS; i++)
        if (fabs(a[i] / by - b[i]) > 1e-14 * fabs(b[i]))
            return 0;
    return 1;
}

static void test_monitor(int push)
{
    static struct seen plain, normalized;
    const char *how = push ? "pushed" : "pulled";
    run(&plain, NULL, push);
    run(&normalized, counts, push);
    is_int((intmax_t)normalized.n, SOME, "%s: every frame comes out", how);
    for (size_t f = 0; f < SOME; f++) {
        int lost = f == 5 || f == 7;
        is_int(normalized.failed[f], lost, "%s: frame %zu %s", how, f, lost ? "cannot be divided" : "is good");
        ok(lost || divided(plain.intensity[f], normalized.intensity[f], (double)f + 1), "... divided");
        ok(lost || divided(plain.sigma[f], normalized.sigma[f], (double)f + 1), "... with its errors");
    }
    ok(strstr(normalized.why, "normalization is nan") != NULL || strstr(normalized.why, "normalization is -nan"),
       "%s: it says what cannot be divided by", how);
}

/* --- Sums --- */

static double farthest(const double *a, const double *b)
{
    double most = 0;
    for (size_t i = 0; i < BINS; i++)
        most = fmax(most, fabs(a[i] - b[i]) / fmax(fabs(b[i]), 1e-300));
    return most;
}

/* The curve of one image. */
static hcy_azint_result *curve_of(uint32_t *pixels)
{
    hcy_device *device = NULL;
    hcy_queue *queue = NULL;
    hcy_azint_result *result = NULL;
    hcy_pipeline *pipeline = NULL;
    const hcy_pipeline_frame *frame = NULL;
    hcy_pipeline_source source = { .coding = { .codec = HCY_CODEC_NONE, .elem_size = 4, .image_bytes = PIXELS * 4 },
                                   .pixel_type = HCY_PIXEL_U32 };
    if (hcy_device_open(&device, "cpu@threads=1") || hcy_azint_result_create(&result, the_plan) ||
        hcy_pipeline_create(&pipeline, &device, 1, the_plan, &source, NULL) || hcy_pipeline_start(pipeline, NULL) ||
        hcy_pipeline_submit(pipeline, pixels, PIXELS * 4, 0, NULL, NULL) ||
        hcy_pipeline_poll(&frame, pipeline, UINT64_MAX) || !frame || !frame->result)
        bail_out("a curve: %s", hcy_last_error()->text);
    if (hcy_azint_result_add(result, frame->result, 0) || hcy_azint_result_merge(result, 1, 1))
        bail_out("a copy: %s", hcy_last_error()->text);
    ok(farthest(result->intensity, frame->result->intensity) < 1e-15 &&
           farthest(result->sigma, frame->result->sigma) < 1e-15,
       "the sum of one frame is that frame");
    if (hcy_pipeline_finish(pipeline))
        bail_out("an end: %s", hcy_last_error()->text);
    hcy_pipeline_destroy(pipeline);
    hcy_queue_release(queue);
    hcy_device_release(device);
    return result;
}

static void test_sum(void)
{
    static uint32_t a[PIXELS], b[PIXELS], both[PIXELS];
    hcy_azint_result *sum = NULL;
    make_frame(a, 3);
    make_frame(b, 3 + 97); /* the same pixels are invalid */
    for (size_t i = 0; i < PIXELS; i++) {
        a[i] += a[i] == 0; /* Poisson's least variance is one a frame */
        b[i] += b[i] == 0;
        both[i] = a[i] == UINT32_MAX ? UINT32_MAX : a[i] + b[i];
    }
    hcy_azint_result *of_a = curve_of(a), *of_b = curve_of(b), *want = curve_of(both);
    if (hcy_azint_result_create(&sum, the_plan))
        bail_out("no result");
    is_int(hcy_azint_result_add(sum, of_a, 0), 0, "a frame");
    is_int(hcy_azint_result_add(sum, of_b, 1), 0, "another");
    is_int(hcy_azint_result_merge(sum, 2, 1), 0, "their sum");
    ok(farthest(sum->intensity, want->intensity) < 1e-14, "its intensity is that of the summed image");
    ok(farthest(sum->sigma, want->sigma) < 1e-14, "its errors are");
    ok(farthest(sum->std, want->std) < 1e-14, "so are its deviations");
    ok(farthest(sum->count, want->count) < 1e-14, "and its pixels");
    is_int(hcy_azint_result_add(sum, of_a, 0), 0, "it begins anew");
    is_int(hcy_azint_result_add(sum, of_b, 1), 0, "...");
    is_int(hcy_azint_result_merge(sum, 2, 8), 0, "divided by eight counts");
    ok(divided(want->intensity, sum->intensity, 8) && divided(want->sigma, sum->sigma, 8), "... it is");
    is_int(hcy_azint_result_merge(sum, 0, 1), HCY_EINVAL, "no frame");
    is_int(hcy_azint_result_merge(sum, 1, 0), HCY_EINVAL, "divided by nothing");
    is_int(hcy_azint_result_merge(sum, 1, NAN), HCY_EINVAL, "divided by no number");
    is_int(hcy_azint_result_add(sum, NULL, 0), HCY_EINVAL, "no frame to add");
    hcy_azint_result_destroy(sum);
    hcy_azint_result_destroy(of_a);
    hcy_azint_result_destroy(of_b);
    hcy_azint_result_destroy(want);
}

/* --- Numbers --- */

static void test_numbers(void)
{
    double *values = NULL;
    size_t n;
    static const struct {
        const char *text, *column; /* behind the name */
        int growing, status;
        size_t n;
        double last;
    } texts[] = {
        { "3\n1\n4\n", "", 0, 0, 3, 4 },
        { "# a\n\n 3 # b\n 1.5e3", "", 0, 0, 2, 1500 },
        { "3\n1\n4", "", 1, 0, 2, 1 },
        { "3\n1\n0\nnan\n0\n", "", 1, 0, 2, 1 },
        { "3\n1\n0\n", "", 0, 0, 3, 0 },
        { "\xef\xbb\xbf" "3\n", "", 0, 0, 1, 3 },
        { "1 2\n3 4\n", "::2", 0, 0, 2, 4 },
        { "1,2;5\r\n3, 4 ;6\r\n", "::3", 0, 0, 2, 6 },
        { "1 2\n3 4\n", "", 0, HCY_EINVAL, 0, 0 },
        { "1 2\n3\n", "::2", 0, HCY_EFORMAT, 0, 0 },
        { "1,2,\n3 ,4 , # b\n", "::2", 0, 0, 2, 4 },
        { "1,,3\n", "::2", 0, HCY_EFORMAT, 0, 0 },
        { "1; ;3\n", "::3", 0, HCY_EFORMAT, 0, 0 },
        { ",3\n", "", 0, HCY_EFORMAT, 0, 0 },
        { "1\n2a\n", "", 0, HCY_EFORMAT, 0, 0 },
        { "1\n", "::0", 0, HCY_EINVAL, 0, 0 },
        { "1\n", "::x", 0, HCY_EINVAL, 0, 0 },
        { "\x89HDF\r\n\x1a\n", "", 0, HCY_EINVAL, 0, 0 },
        { "", "", 0, 0, 0, 0 },
    };
    char txt[80], with[96];
    snprintf(txt, sizeof txt, "%s.txt", path);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        FILE *f = fopen(txt, "w");
        if (!f || fputs(texts[i].text, f) < 0 || fclose(f))
            bail_out("%s cannot be written", txt);
        snprintf(with, sizeof with, "%s%s", txt, texts[i].column);
        int st = hcy_numbers_read(&values, &n, with, texts[i].growing);
        if (!ok(st == texts[i].status && n == texts[i].n && (!n || values[n - 1] == texts[i].last),
                "a list in text, case %zu", i))
            diag("status %d (%s), %zu numbers", st, st ? hcy_last_error()->text : "", n);
        hcy_list_free(values);
    }
    unlink(txt);
    is_int(hcy_numbers_read(&values, &n, path, 0), HCY_EFORMAT, "a stack in NumPy is no list");
#ifdef HAVE_HDF5
    static const uint16_t list[SOME] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8 };
    hcy_stack_writer *writer = NULL;
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    char h5[80], name[128];
    opts.frames = opts.height = 1;
    opts.width = SOME;
    opts.pixel_type = HCY_PIXEL_U16;
    snprintf(h5, sizeof h5, "%s.h5", path);
    if (hcy_stack_create(&writer, h5, &opts) || hcy_stack_write(writer, 0, list) || hcy_stack_writer_close(writer))
        bail_out("%s: %s", h5, hcy_last_error()->text);
    snprintf(name, sizeof name, "%s::/entry/data/data", h5);
    is_int(hcy_numbers_read(&values, &n, name, 0), 0, "a list");
    is_int((intmax_t)n, SOME, "all of it");
    int good = 1;
    for (size_t i = 0; values && i < n; i++)
        good &= values[i] == list[i];
    ok(good, "as doubles");
    hcy_list_free(values);
    snprintf(name, sizeof name, "%s::/entry", h5);
    is_int(hcy_numbers_read(&values, &n, name, 0), HCY_ENOENT, "a group is no list");
    is_int(hcy_numbers_read(&values, &n, "none.h5::/x", 0), HCY_ENOENT, "no such file");
    opts.width = opts.height = 3;
    if (hcy_stack_create(&writer, h5, &opts) || hcy_stack_write(writer, 0, list) || hcy_stack_writer_close(writer))
        bail_out("%s: %s", h5, hcy_last_error()->text);
    snprintf(name, sizeof name, "%s::/entry/data/data", h5);
    is_int(hcy_numbers_read(&values, &n, name, 0), HCY_EFORMAT, "an image is no list");
    unlink(h5);
#else
    FILE *hdf = fopen(txt, "w");
    if (!hdf || fputs("\x89HDF\r\n\x1a\n", hdf) < 0 || fclose(hdf))
        bail_out("%s cannot be written", txt);
    snprintf(with, sizeof with, "%s::/x", txt);
    is_int(hcy_numbers_read(&values, &n, with, 0), HCY_EUNSUPPORTED, "built without HDF5");
    unlink(txt);
#endif
}

int main(void)
{
    snprintf(path, sizeof path, "pipeline_norm-%ld.npy", (long)getpid());
    make_npy(path);
    the_plan = make_plan(HEIGHT, WIDTH);
    test_monitor(0);
    test_monitor(1);
    test_sum();
    test_numbers();
    hcy_azint_plan_release(the_plan);
    unlink(path);
    return done_testing();
}
