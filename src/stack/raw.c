/* raw.c - frames of PSI's JUNGFRAU as they come from the detector, converted to photons or keV.
 *
 * A pixel is (count - pedestal) times a factor, of the gain that its upper bits name; the factors have the photon's
 * energy in them.  Nearly all pixels are in the first gain, so that runs of pixels which are take one map of each kind
 * instead of three.  Single precision in a fixed order: the same bits everywhere.  Read-only after it was set up.
 */
#include "stack_priv.h"
#include "sized.h"
#include <halcyon/backend.h>
#include <halcyon/device.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAIN_BITS  0xc000u
#define COUNT_BITS 0x3fffu
#define BROKEN     0xffffu /* what a pixel without data has */
#define END        0xc000u /* the third gain counts down: nothing is left */
#define RUN        64      /* pixels that are looked at together */
#define MOST       4194304.0f /* 2^22: whole numbers up to there survive the addition of MAGIC and back */
#define MAGIC      12582912.0f /* 1.5 * 2^23 */

struct hcy__raw {
    size_t n;
    int counts; /* whole photons, not keV */
    hcy_device *device; /* that decodes chunks, or NULL */
    float *pedestal[3], *factor[3];
};

/* One pixel of any gain; NaN: not valid. */
static float convert_pixel(const struct hcy__raw *raw, uint16_t word, size_t i)
{
    static const int maps[] = { 0, 1, -1, 2 };
    int map = maps[word >> 14];
    if (map < 0 || word == BROKEN)
        return NAN;
    if (word == END)
        return raw->counts ? INFINITY : NAN;
    return ((float)(word & COUNT_BITS) - raw->pedestal[map][i]) * raw->factor[map][i];
}

/* Rounds to the nearest whole number, and of two to the even one. */
static int32_t round_to(float x)
{
    if (!(fabsf(x) < MOST))
        return x > 0 ? INT32_MAX : INT32_MIN;
    float sum = x + MAGIC;
    return (int32_t)(sum - MAGIC);
}

/* Runs of pixels in the first gain, in loops that compilers make vectors of. */
static void first_gain(float *out, const struct hcy__raw *raw, const uint16_t *word, size_t at)
{
    const float *pedestal = raw->pedestal[0] + at, *factor = raw->factor[0] + at;
    for (size_t i = 0; i < RUN; i++)
        out[i] = ((float)word[i] - pedestal[i]) * factor[i];
}

static int is_first_gain(const uint16_t *word)
{
    unsigned any = 0;
    for (size_t i = 0; i < RUN; i++)
        any |= word[i];
    return !(any & GAIN_BITS);
}

static void convert_frame(void *dst, const struct hcy__raw *raw, const uint16_t *words)
{
    float values[RUN];
    for (size_t at = 0; at < raw->n; at += RUN) {
        size_t n = raw->n - at < RUN ? raw->n - at : RUN;
        /* One test for consecutive pixels is cheaper than a choice of maps for each. */
        if (n == RUN && is_first_gain(words + at))
            first_gain(values, raw, words + at, at);
        else
            for (size_t i = 0; i < n; i++)
                values[i] = convert_pixel(raw, words[at + i], at + i);
        if (!raw->counts)
            memcpy((float *)dst + at, values, n * sizeof *values);
        else
            for (size_t i = 0; i < n; i++)
                ((int32_t *)dst)[at + i] = round_to(values[i]);
    }
}

int hcy__raw_convert(void *dst, const hcy_stack *stack, const void *chunk, size_t size)
{
    const struct hcy__raw *raw = stack->raw;
    if (stack->info.codec == HCY_CODEC_NONE) {
        convert_frame(dst, raw, chunk);
        return 0;
    }
    uint16_t *words = malloc(raw->n * sizeof *words);
    if (!words)
        return hcy_fail(HCY_ENOMEM, "no memory for a raw frame of %s", stack->path);
    /* Bitshuffled frames are decoded first, by one thread: callers convert frames side by side. */
    int st = hcy__decode(words, &stack->info, raw->device, chunk, size);
    if (!st)
        convert_frame(dst, raw, words);
    free(words);
    return st;
}

void hcy__raw_show(hcy_stack *stack)
{
    hcy_stack_info *info = &stack->shown;
    info->pixel_type = stack->raw->counts ? HCY_PIXEL_I32 : HCY_PIXEL_F32;
    info->elem_size = 4;
    info->codec = HCY_CODEC_NONE;
    info->block_bytes = 0;
    info->max_chunk = info->frame_bytes = 4 * (uint64_t)stack->raw->n;
    info->raw_bytes = info->frames * info->frame_bytes;
}

void hcy__raw_free(struct hcy__raw *raw)
{
    if (!raw)
        return;
    for (int i = 0; i < 3; i++) {
        free(raw->pedestal[i]);
        free(raw->factor[i]);
    }
    hcy_device_release(raw->device);
    free(raw);
}

/* Copies the maps; what cannot be converted has a factor of NaN. */
static int set_maps(struct hcy__raw *raw, const hcy_stack_raw_options *opts)
{
    /* The division by the energy is done here, once a pixel and not once a frame. */
    double energy = raw->counts ? opts->photon_energy : 1;
    for (size_t k = 0; k < 3; k++) {
        raw->pedestal[k] = malloc(raw->n * sizeof(float));
        raw->factor[k] = malloc(raw->n * sizeof(float));
        if (!raw->pedestal[k] || !raw->factor[k])
            return hcy_fail(HCY_ENOMEM, "no memory for the maps of %zu pixels", raw->n);
        memcpy(raw->pedestal[k], opts->pedestal + k * raw->n, raw->n * sizeof(float));
        for (size_t i = 0; i < raw->n; i++) {
            float factor = (float)(1 / (opts->gain[k * raw->n + i] * energy));
            /* A NaN makes every value of the pixel invalid without a test in the loop. */
            raw->factor[k][i] = isfinite(factor) && factor != 0 ? factor : NAN;
        }
    }
    return 0;
}

int hcy_stack_convert(hcy_stack *stack, const hcy_stack_raw_options *user)
{
    hcy_stack_raw_options options = HCY_STACK_RAW_OPTIONS_INIT;
    const hcy_stack_raw_options *opts = &options;
    int st = hcy__sized_read(&options, sizeof options, user, "hcy_stack_raw_options");
    if (st)
        return st;
    if (!stack || !opts->pedestal || !opts->gain)
        return hcy_fail(HCY_EINVAL, "hcy_stack_convert: a stack, and options with pedestals and gains, are needed");
    /* Written so that NaN is refused. */
    if (!(opts->photon_energy >= 0) || !isfinite(opts->photon_energy))
        return hcy_fail(HCY_EINVAL, "a photon energy of %g keV", opts->photon_energy);
    /* Converting twice would subtract the pedestals twice. */
    if (stack->raw)
        return hcy_fail(HCY_EINVAL, "%s is converted already", stack->path);
    /* The gain stands in the upper bits of a word of 16, so that other pixels cannot be raw. */
    if (stack->info.elem_size != 2 || stack->info.pixel_type == HCY_PIXEL_I16)
        return hcy_fail(HCY_EFORMAT, "%s holds %s pixels; raw frames are of uint16", stack->path,
                        hcy__pixel_of_type(stack->info.pixel_type)->name);
    struct hcy__raw *raw = calloc(1, sizeof *raw);
    if (!raw)
        return hcy_fail(HCY_ENOMEM, "no memory to convert %s", stack->path);
    /* The opener has checked that this product fits. */
    raw->n = (size_t)stack->info.height * stack->info.width;
    raw->counts = opts->photon_energy > 0;
    st = set_maps(raw, opts);
    /* A device is opened once for the stack, not for each frame. */
    if (!st && stack->info.codec != HCY_CODEC_NONE)
        st = hcy_device_open(&raw->device, "cpu@threads=1");
    if (st) {
        hcy__raw_free(raw);
        return st;
    }
    /* From here on frames are given converted, and the stack is shown so. */
    stack->raw = raw;
    hcy__raw_show(stack);
    return 0;
}
