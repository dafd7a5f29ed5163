/* pipeline_sparse.c - sparse frames beside the curves, of several types, error models and corrections, on one device
 * and on two: against each pixel held against its background with divisions and roots, from the curve that came with
 * it; the same bits on all.  A frame with too many pixels fails, and what cannot be is refused.  Other devices may be
 * given as arguments. */
#include "pipeline_scene.h"

#include <math.h>
#include <stdlib.h>

enum { SOME = 12, TYPES = 8 };

struct scene {
    const char *name;
    uint32_t pixel_type, bytes;
    int model, has_dark, has_flat;
    double cutoff, noise;
};
static const struct scene scenes[TYPES] = {
    { "uint32, Poisson", HCY_PIXEL_U32, 4, HCY_ERRORS_POISSON, 0, 0, 3, 1 },
    { "int16, azimuthal, dark", HCY_PIXEL_I16, 2, HCY_ERRORS_AZIMUTHAL, 1, 0, 4, 1 },
    { "uint16, hybrid, flat", HCY_PIXEL_U16, 2, HCY_ERRORS_HYBRID, 0, 1, 5, 2 },
    { "int32, Poisson, dark and flat, no noise", HCY_PIXEL_I32, 4, HCY_ERRORS_POISSON, 1, 1, 9, 0 },
    { "float32, azimuthal, flat", HCY_PIXEL_F32, 4, HCY_ERRORS_AZIMUTHAL, 0, 1, 4, 1 },
    { "float64, Poisson, dark", HCY_PIXEL_F64, 8, HCY_ERRORS_POISSON, 1, 0, 6, 1 },
    { "uint64, azimuthal", HCY_PIXEL_U64, 8, HCY_ERRORS_AZIMUTHAL, 0, 0, 4, 1 },
    { "int64, azimuthal, dark", HCY_PIXEL_I64, 8, HCY_ERRORS_AZIMUTHAL, 1, 0, 4, 1 },
};

struct seen {
    const struct scene *scene;
    float radius[PIXELS], dark[PIXELS], flat[PIXELS];
    const float *norms;
    double first, step;
    int64_t frames[SOME][PIXELS]; /* of floats the bits of doubles */
    /* What the first device has found, for the others. */
    uint64_t n[SOME];
    uint32_t index[SOME][PIXELS];
    int64_t intensity[SOME][PIXELS];
    int is_first;
    size_t has_region; /* 0 or 1 */
    size_t frames_seen, picked, wrong, close_ones, other, failed;
};

static int is_real(const struct scene *s)
{
    return s->pixel_type == HCY_PIXEL_F32 || s->pixel_type == HCY_PIXEL_F64;
}

static int64_t bits_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double value_of(const struct scene *s, int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    if (is_real(s))
        return x;
    return s->pixel_type == HCY_PIXEL_U64 ? (double)(uint64_t)bits : (double)bits;
}

/* What stands for nothing valid: the largest value, the least, or no number. */
static int64_t sentinel_of(const struct scene *s)
{
    if (is_real(s))
        return bits_of(NAN);
    if (s->bytes == 8)
        return s->has_dark ? INT64_MIN : (int64_t)UINT64_MAX;
    if (s->has_dark)
        return s->bytes == 2 ? INT16_MIN : INT32_MIN;
    return s->pixel_type == HCY_PIXEL_U16 ? UINT16_MAX : UINT32_MAX;
}

/* A background that falls off, peaks here and there, and in a few places nothing valid. */
static void make_counts(int64_t *pixels, const struct scene *s, uint64_t number)
{
    uint64_t state = 88172645463325252u + number;
    for (size_t i = 0; i < PIXELS; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pixels[i] = 20 + (int64_t)(state % 13) + (int64_t)(i / WIDTH) / 4;
        if ((state >> 20) % 61 == 0)
            pixels[i] += (int64_t)(state >> 40) % 200;
        if (s->has_dark)
            pixels[i] -= 25;
        /* More than 32 bits: a filter takes 35. */
        if (s->pixel_type == HCY_PIXEL_U64 && i % 307 == number)
            pixels[i] = ((int64_t)1 << 34) + (int64_t)i;
        if (is_real(s))
            pixels[i] = bits_of((double)pixels[i] + 0.25 * (double)(i % 4));
        if (i % 211 == number)
            pixels[i] = sentinel_of(s);
    }
}

static int is_sentinel(const struct scene *s, int64_t v)
{
    return v == sentinel_of(s);
}

/* 1: it has to be picked, 0: it must not, -1: too close to say. */
static int should_be_picked(const struct seen *seen, const hcy_azint_result *r, int64_t v, size_t i)
{
    const struct scene *s = seen->scene;
    double at = ((double)seen->radius[i] - seen->first) / seen->step, norm = (double)seen->norms[i];
    if (isnan(seen->radius[i]) || is_sentinel(s, v))
        return 0;
    at = fmin(fmax(at, 0), BINS - 1);
    size_t bin = (size_t)at, next = bin + 1 < BINS ? bin + 1 : bin;
    double share = (double)(float)(at - (double)bin);
    double mean = r->intensity[bin] * (1 - share) + r->intensity[next] * share;
    double deviation = r->std[bin] * (1 - share) + r->std[next] * share;
    double above = (value_of(s, v) - (s->has_dark ? (double)seen->dark[i] : 0)) / norm - mean;
    double limit = fmax(s->noise, s->cutoff * hypot(deviation, s->noise));
    return fabs(above - limit) < 1e-9 * (fabs(limit) + 1) ? -1 : above > limit;
}

/* A region that every second scene asks for beside its sparse frames. */
static const hcy_region region = { 3, 2, 20, 15, NULL };

static int region_is_right(const struct seen *seen, const hcy_region_sums *sums, const int64_t *frame)
{
    uint64_t sum = 0, valid = 0;
    if (!seen->has_region)
        return !sums;
    for (size_t y = region.y0; y < region.y1; y++)
        for (size_t x = region.x0; x < region.x1; x++)
            if (!is_sentinel(seen->scene, frame[y * WIDTH + x])) {
                sum += (uint64_t)frame[y * WIDTH + x];
                valid++;
            }
    return sums && sums->sum == (int64_t)sum && sums->valid == valid;
}

static int64_t found_bits(const hcy_sparse *sparse, size_t at)
{
    return sparse->real ? bits_of(sparse->real[at]) : sparse->intensity[at];
}

static int take_sparse(void *payload, const hcy_pipeline_frame *frame)
{
    struct seen *seen = payload;
    const uint64_t k = frame->number;
    seen->frames_seen++;
    if (!frame->sparse) {
        seen->failed++;
        return 0;
    }
    const hcy_sparse *sparse = frame->sparse;
    seen->wrong += !region_is_right(seen, frame->regions, seen->frames[k]);
    seen->picked += sparse->n;
    for (size_t i = 0, at = 0; i < PIXELS; i++) {
        const int is_picked = at < sparse->n && sparse->index[at] == i;
        const int should = should_be_picked(seen, frame->result, seen->frames[k][i], i);
        if (is_picked && found_bits(sparse, at++) != seen->frames[k][i])
            seen->wrong++;
        seen->close_ones += should < 0;
        seen->wrong += should >= 0 && should != is_picked;
        if (i == PIXELS - 1)
            seen->wrong += at != sparse->n;
    }
    const void *values = sparse->real ? (const void *)sparse->real : sparse->intensity;
    seen->wrong += !sparse->real != !is_real(seen->scene);
    if (seen->is_first) {
        seen->n[k] = sparse->n;
        memcpy(seen->index[k], sparse->index, sparse->n * sizeof *sparse->index);
        memcpy(seen->intensity[k], values, sparse->n * sizeof *seen->intensity[k]);
    }
    seen->other += seen->n[k] != sparse->n ||
                   memcmp(seen->index[k], sparse->index, sparse->n * sizeof *sparse->index) ||
                   memcmp(seen->intensity[k], values, sparse->n * sizeof *seen->intensity[k]);
    return 0;
}

static hcy_azint_plan *make_sparse_plan(struct seen *seen)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_azint_plan *simple = make_plan(HEIGHT, WIDTH), *plan = NULL;
    hcy_span spans[HCY_AZINT_SPANS];
    double radial[PIXELS];
    if (hcy_azint_plan_get_info(&info, simple))
        bail_out("%s", hcy_last_error()->text);
    info.options.filter = HCY_FILTER_SIGMA_CLIP;
    info.options.error_model = seen->scene->model;
    info.options.split = HCY_SPLIT_NO;
    info.options.dark = seen->scene->has_dark ? seen->dark : NULL;
    info.options.flat = seen->scene->has_flat ? seen->flat : NULL;
    for (size_t i = 0; i < PIXELS; i++) {
        seen->dark[i] = -22.0f + (float)(i % 5) / 4;
        seen->flat[i] = 0.7f + (float)(i % 7) / 40;
    }
    if (hcy_azint_plan_create(&plan, &info.poni, HEIGHT, WIDTH, &info.options) ||
        hcy_azint_map(radial, NULL, &info.poni, HEIGHT, WIDTH, info.options.unit, 1) ||
        hcy_azint_plan_get_info(&info, plan))
        bail_out("%s", hcy_last_error()->text);
    for (size_t i = 0; i < PIXELS; i++)
        seen->radius[i] = i % 37 == 5 ? NAN : (float)radial[i];
    hcy_azint_plan_tables(spans, plan);
    seen->norms = spans[3].data;
    seen->first = info.radial[0];
    seen->step = info.radial[1] - info.radial[0];
    hcy_azint_plan_release(simple);
    return plan;
}

static int make_sparse_pipeline(hcy_pipeline **pipeline, const struct seen *seen, const char *names,
                                const hcy_azint_plan *plan, uint64_t room)
{
    const hcy_bslz4_job coding = { .codec = HCY_CODEC_NONE, .elem_size = seen->scene->bytes,
                                   .image_bytes = PIXELS * seen->scene->bytes };
    const hcy_pipeline_source source = { .coding = coding, .pixel_type = seen->scene->pixel_type };
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_device **devices;
    size_t n;
    opts.batch = 5;
    opts.sparse_radius = seen->radius;
    opts.sparse_cutoff = seen->scene->cutoff;
    opts.sparse_noise = seen->scene->noise;
    opts.sparse_room = room;
    opts.regions = &region;
    opts.n_regions = seen->has_region;
    int status = hcy_device_open_list(&devices, &n, names);
    if (status)
        return status;
    status = hcy_pipeline_create(pipeline, devices, n, plan, &source, &opts);
    for (size_t i = 0; i < n; i++)
        hcy_device_release(devices[i]);
    hcy_list_free(devices);
    return status;
}

static void submit_all(struct seen *seen, hcy_pipeline *pipeline)
{
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    const size_t bytes = seen->scene->bytes;
    uint8_t *chunks = malloc(SOME * PIXELS * bytes);
    push.sink = take_sparse;
    push.payload = seen;
    if (!chunks || hcy_pipeline_start(pipeline, &push))
        bail_out("%s", hcy_last_error()->text);
    for (uint64_t k = 0; k < SOME; k++) {
        uint8_t *at = chunks + k * PIXELS * bytes;
        make_counts(seen->frames[k], seen->scene, k);
        for (size_t i = 0; i < PIXELS; i++) {
            const float single = (float)value_of(seen->scene, seen->frames[k][i]);
            const void *pixel = &seen->frames[k][i]; /* its lower bytes come first */
            memcpy(at + i * bytes, is_real(seen->scene) && bytes == 4 ? &single : pixel, bytes);
        }
        if (hcy_pipeline_submit(pipeline, at, PIXELS * bytes, k, NULL, NULL))
            bail_out("%s", hcy_last_error()->text);
    }
    is_int(hcy_pipeline_finish(pipeline), 0, "%s: the run", seen->scene->name);
    free(chunks);
}

static void test_sparse(struct seen *seen, const char *names, const hcy_azint_plan *plan)
{
    hcy_pipeline *pipeline = NULL;
    if (make_sparse_pipeline(&pipeline, seen, names, plan, 0)) {
        skip(1, "%s: %s", names, hcy_last_error()->text);
        return;
    }
    seen->frames_seen = seen->picked = seen->wrong = seen->close_ones = seen->other = seen->failed = 0;
    submit_all(seen, pipeline);
    ok(seen->frames_seen == SOME && !seen->failed && !seen->wrong && seen->close_ones < PIXELS / 100,
       "... on %s: right", names);
    ok(seen->picked > SOME * 10 && seen->picked < SOME * PIXELS / 10, "... some pixels of all: %zu", seen->picked);
    ok(!seen->other, "... the same as on the first device");
    seen->is_first = 0;
    hcy_pipeline_destroy(pipeline);
}

static void test_little_room(struct seen *seen, const hcy_azint_plan *plan)
{
    hcy_pipeline *pipeline = NULL;
    if (make_sparse_pipeline(&pipeline, seen, "cpu@threads=2", plan, 2))
        bail_out("%s", hcy_last_error()->text);
    seen->frames_seen = seen->failed = 0;
    submit_all(seen, pipeline);
    is_int((int)seen->failed, SOME, "... frames with more pixels than there is room for fail");
    hcy_pipeline_destroy(pipeline);
}

static void test_sparse_refusals(struct seen *seen, const hcy_azint_plan *plan)
{
    hcy_pipeline_source source = { .coding = { .codec = HCY_CODEC_NONE, .elem_size = 4, .image_bytes = PIXELS * 4 },
                                   .pixel_type = HCY_PIXEL_U32 };
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_azint_plan *simple = make_plan(HEIGHT, WIDTH);
    hcy_pipeline *pipeline = NULL;
    hcy_device *cpu;
    if (hcy_device_open(&cpu, "cpu@threads=1"))
        bail_out("%s", hcy_last_error()->text);
    opts.sparse_radius = seen->radius;
    is_int(hcy_pipeline_create(&pipeline, &cpu, 1, simple, &source, &opts), HCY_EUNSUPPORTED, "%s",
           hcy_last_error()->text);
    opts.sparse_noise = -1;
    is_int(hcy_pipeline_create(&pipeline, &cpu, 1, plan, &source, &opts), HCY_EINVAL, "%s", hcy_last_error()->text);
    opts.sparse_noise = 1;
    opts.sparse_cutoff = NAN;
    is_int(hcy_pipeline_create(&pipeline, &cpu, 1, plan, &source, &opts), HCY_EINVAL, "%s", hcy_last_error()->text);
    hcy_device_release(cpu);
    hcy_azint_plan_release(simple);
}

int main(int argc, char **argv)
{
    static const char *const usual[] = { "cpu@threads=1@discrete=1", "cpu@threads=1,cpu@threads=2" };
    const size_t n = argc > 1 ? (size_t)argc - 1 : sizeof usual / sizeof usual[0];
    struct seen *seen = calloc(1, sizeof *seen);
    if (!seen)
        bail_out("no memory");
    for (size_t t = 0; t < TYPES; t++) {
        seen->scene = &scenes[t];
        seen->is_first = 1;
        seen->has_region = t % 2 && !is_real(seen->scene);
        hcy_azint_plan *plan = make_sparse_plan(seen);
        /* The CPU comes first in any case, and others are held against it. */
        test_sparse(seen, "cpu@threads=2", plan);
        for (size_t i = 0; i < n; i++)
            test_sparse(seen, argc > 1 ? argv[i + 1] : usual[i], plan);
        if (!t) {
            test_little_room(seen, plan);
            test_sparse_refusals(seen, plan);
        }
        hcy_azint_plan_release(plan);
    }
    free(seen);
    return done_testing();
}
