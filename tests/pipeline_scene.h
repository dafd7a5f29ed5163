/* pipeline_scene.h - what the pipeline's tests work on: frames of 64 x 48 pixels, a stack of them, a plan. */
#ifndef PIPELINE_SCENE_H
#define PIPELINE_SCENE_H

#include "tap.h"

#include <halcyon/pipeline.h>
#include <stdio.h>
#include <string.h>

enum { HEIGHT = 64, WIDTH = 48, PIXELS = HEIGHT * WIDTH, BINS = 40, FRAMES = 200 };

static inline void make_frame(uint32_t *pixels, uint64_t number)
{
    uint64_t state = 88172645463325252u + number;
    for (size_t i = 0; i < PIXELS; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pixels[i] = i % 97 == number % 97 ? UINT32_MAX : (uint32_t)(state % 1000);
    }
}

static inline void make_npy(const char *npy_path)
{
    uint32_t pixels[PIXELS];
    char header[128];
    FILE *f = fopen(npy_path, "wb");
    if (!f)
        bail_out("%s cannot be written", npy_path);
    int n = snprintf(header, sizeof header,
                     "%cNUMPY%c%c%c%c{'descr': '<u4', 'fortran_order': False, 'shape': (%d, %d, %d), }", 0x93,
                     1, 0, 118, 0, FRAMES, HEIGHT, WIDTH);
    header[8] = 118;
    header[9] = 0;
    memset(header + n, ' ', (size_t)(128 - n));
    header[127] = '\n';
    fwrite(header, 1, 128, f);
    for (uint64_t i = 0; i < FRAMES; i++) {
        make_frame(pixels, i);
        fwrite(pixels, 1, sizeof pixels, f);
    }
    fclose(f);
}

static inline hcy_azint_plan *make_plan(size_t height, size_t width)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *made;
    poni.dist = 0.1;
    poni.poni1 = 0.5 * HEIGHT * 75e-6;
    poni.poni2 = 0.5 * WIDTH * 75e-6;
    poni.pixel1 = poni.pixel2 = 75e-6;
    poni.wavelength = 1e-10;
    options.npt = BINS;
    options.split = HCY_SPLIT_FULL;
    options.error_model = HCY_ERRORS_POISSON;
    options.sentinels = HCY_SENTINELS_ALWAYS;
    options.threads = 1;
    if (hcy_azint_plan_create(&made, &poni, height, width, &options))
        bail_out("no plan: %s", hcy_last_error()->text);
    return made;
}

#endif
