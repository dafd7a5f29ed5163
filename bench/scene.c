/* scene.c - simulated and stored frames for benchmarks.
 *
 * The means are plain formulas of their own, because the figures of doc/performance.md were measured with frames of
 * these sizes; gaps and noise are those of `halcyon simulate`. */
#include "scene.h"
#include "bench.h"
#include "cli/simulate.h"

#include <halcyon/pipeline.h>
#include <math.h>
#include <string.h>

/* --- Simulated frames --- */

/* Air and rings, for pixels of 75 um, 0.2 m behind the sample, at a wavelength of 0.1 nm. */
static double ring_pattern(const struct scene *s, int y, int x)
{
    static const double rings[] = { 0.8, 1.1, 1.55, 1.9, 2.2, 2.7, 3.1 };
    double r = hypot(y - 0.52 * s->height, x - 0.47 * s->width) * 75e-6;
    double q = 12.566370614359172 * sin(0.5 * atan(r / 0.2)), v = 0.2 + 0.8 * exp(-q / 2);
    for (int i = 0; i < 7; i++)
        v += 6.0 / (1 + i) * exp(-0.5 * (q - rings[i]) * (q - rings[i]) / 1e-4);
    return v;
}

void scene_open(struct scene *s)
{
    size_t n = (size_t)s->height * (size_t)s->width;
    s->gaps = bench_need(malloc(n));
    sim_eiger_gaps(s->gaps, (uint32_t)s->height, (uint32_t)s->width);
    float *mean = bench_need(malloc(n * sizeof *mean));
    for (size_t i = 0; i < n; i++) {
        int y = (int)(i / (size_t)s->width), x = (int)(i % (size_t)s->width);
        mean[i] = (float)(s->counts * (s->kind == SCENE_FLAT ? 1 : ring_pattern(s, y, x)));
    }
    /* The marks of gaps are the numbers of enum sim_pixel: 0 is a pixel that counts, 1 one in a gap. */
    s->counter = bench_need(sim_counter_create(mean, s->gaps, n, 1));
    free(mean);
}

void scene_close(struct scene *s)
{
    sim_counter_destroy(s->counter);
    free(s->gaps);
}

void scene_draw(void *image, const struct scene *s, uint64_t number)
{
    size_t n = (size_t)s->height * (size_t)s->width;
    uint64_t state = number;
    sim_draw(image, s->elem_size, s->counter, number);
    for (size_t i = 0; s->peaks > 0 && i < n; i++) {
        if (s->gaps[i] || sim_uniform(&state) >= s->peaks)
            continue;
        uint32_t value = (uint32_t)(s->highest * sim_uniform(&state));
        if (s->elem_size == 2)
            ((uint16_t *)image)[i] = (uint16_t)value;
        else
            ((uint32_t *)image)[i] = value;
    }
}

hcy_azint_plan *scene_plan(const struct scene *scene, int split, uint32_t bins)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    char text[1024];
    hcy_azint_plan *plan;
    int n = snprintf(text, sizeof text,
                     "poni_version: 2\nDetector: Detector\nDetector_config: {\"pixel1\": 7.5e-05, "
                     "\"pixel2\": 7.5e-05, \"max_shape\": [%d, %d]}\nDistance: 0.2\nPoni1: %.9f\nPoni2: %.9f\n"
                     "Rot1: 0\nRot2: 0\nRot3: 0\nWavelength: 1e-10\n",
                     scene->height, scene->width, 0.52 * scene->height * 75e-6, 0.47 * scene->width * 75e-6);
    CHECK(hcy_poni_parse(&poni, text, (size_t)n, "bench"));
    options.npt = bins;
    options.split = split;
    options.error_model = HCY_ERRORS_POISSON;
    options.mask = scene->gaps;
    options.mask_height = scene->height;
    options.mask_width = scene->width;
    options.sentinels = HCY_SENTINELS_ALWAYS;
    CHECK(hcy_azint_plan_create(&plan, &poni, scene->height, scene->width, &options));
    return plan;
}

/* --- Coded frames --- */

/* A frame of up to `room` bytes, and the padding that decoders may read behind it. */
static struct stored_frame *add_frame(struct stored *stored, size_t room)
{
    struct stored_frame *f = &stored->frames[stored->n++];
    f->chunk = bench_need(calloc(1, room + HCY_BSLZ4_PADDING));
    return f;
}

void stored_make(struct stored *stored, const struct scene *scene, size_t n)
{
    size_t bound;
    stored->height = (uint32_t)scene->height;
    stored->width = (uint32_t)scene->width;
    stored->coding = (hcy_bslz4_job){ .codec = HCY_CODEC_BSLZ4, .elem_size = scene->elem_size };
    stored->pixel_type = scene->elem_size == 2 ? HCY_PIXEL_U16 : HCY_PIXEL_U32;
    stored->coding.image_bytes = (uint64_t)scene->height * (uint64_t)scene->width * scene->elem_size;
    void *image = bench_need(malloc(stored->coding.image_bytes));
    CHECK(hcy_bslz4_encode_bound(&bound, &stored->coding));
    for (size_t i = 0; i < n && stored->n < STORED_FRAMES; i++) {
        struct stored_frame *f = add_frame(stored, bound);
        scene_draw(image, scene, i);
        CHECK(hcy_bslz4_encode(&f->size, f->chunk, bound, &stored->coding, image));
        /* The bound is as large as the pixels: what the frame does not need of it is given back. */
        memset(f->chunk + f->size, 0, HCY_BSLZ4_PADDING);
        f->chunk = bench_need(realloc(f->chunk, f->size + HCY_BSLZ4_PADDING));
        stored->bytes += f->size;
    }
    free(image);
}

void stored_make_flat(struct stored *stored, size_t n)
{
    struct scene scene = { .kind = SCENE_FLAT, .height = 2167, .width = 2070, .elem_size = 4,
                           .counts = SCENE_FLAT_COUNTS };
    scene_open(&scene);
    stored_make(stored, &scene, n);
    scene_close(&scene);
}

void stored_read(struct stored *stored, const char *path, const char *dataset, size_t most)
{
    hcy_stack *stack;
    CHECK(hcy_stack_open(&stack, path, dataset));
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    if (!info->frames || info->codec != HCY_CODEC_BSLZ4) {
        fprintf(stderr, "%s: no frames that are coded with bitshuffle and LZ4, which is what is measured\n", path);
        exit(1);
    }
    stored->coding = hcy_pipeline_source_of(info).coding;
    stored->pixel_type = info->pixel_type;
    stored->height = info->height;
    stored->width = info->width;
    for (uint64_t i = 0; i < info->frames && stored->n < most && stored->n < STORED_FRAMES; i++) {
        size_t room;
        CHECK(hcy_stack_frame_size(&room, stack, i));
        struct stored_frame *f = add_frame(stored, room);
        CHECK(hcy_stack_read(&f->size, f->chunk, room, stack, i));
        stored->bytes += f->size;
    }
    hcy_stack_close(stack);
}

void stored_free(struct stored *stored)
{
    for (size_t i = 0; i < stored->n; i++)
        free(stored->frames[i].chunk);
}
