/* stack_raw.c - raw frames of integrating detectors: known photons in all gains come back, plain and coded, while a
 * stack grows, from several threads.  With an argument: writes files for shell scripts to that folder. */
#include "stack_make.h"
#include <halcyon/bslz4.h>
#include <math.h>
#include <pthread.h>

enum { HEIGHT = 37, WIDTH = 52, N = HEIGHT * WIDTH, FRAMES = 6 };
#define ENERGY 12.5

static float pedestal[3 * N], gain[3 * N];

static void make_maps(void)
{
    for (int i = 0; i < N; i++) {
        pedestal[i] = 1000.25f + (float)(i % 50);
        pedestal[N + i] = 15000.5f - (float)(i % 30);
        pedestal[2 * N + i] = 15900.0f - (float)(i % 20);
        gain[i] = 32 + 0.0625f * (float)(i % 16); /* 400 counts a photon or more */
        gain[N + i] = -1.25f - 0.03125f * (float)(i % 8);
        gain[2 * N + i] = -0.08f;
    }
    gain[77] = 0;
    gain[78] = NAN;
}

/* The photons of a pixel, in the gain that they need; INT32_MIN, INT32_MAX: not valid. */
static int32_t photons(uint16_t *word, uint64_t frame, int i)
{
    int32_t n = (int32_t)((unsigned)(i * 7) + 11 * frame) % 24 - 1;
    int k = 0;
    if (i >= N / 2 && (i + (int)frame) % 9 == 0) {
        k = 1 + i % 2;
        n = k == 1 ? 40 + i % 700 : 700 + i;
    }
    double count = pedestal[k * N + i] + n * (double)gain[k * N + i] * ENERGY;
    *word = (uint16_t)((unsigned)lrint(k || (i != 77 && i != 78) ? count : 5.0) | (k == 2 ? 3u : (unsigned)k) << 14);
    if (!k && (i == 77 || i == 78))
        return INT32_MIN;
    switch (i % 401) {
    case 400: *word = 0xffff; return INT32_MIN;
    case 399: *word = 0x8123; return INT32_MIN;
    case 398: *word = 0xc000; return INT32_MAX;
    default: return n;
    }
}

static void make_raw(uint16_t *words, int32_t *want, uint64_t frame)
{
    for (int i = 0; i < N; i++)
        want[i] = photons(&words[i], frame, i);
}

static void put_stack(const char *path, const char *type, size_t frames, const void *bytes, size_t size)
{
    char dictionary[128];
    snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d, %d), }", type,
             (int)frames, HEIGHT, WIDTH);
    put_npy(path, 1, dictionary, bytes, size);
}

static void put_all(void)
{
    static uint16_t words[FRAMES * N];
    static int32_t want[FRAMES * N];
    for (uint64_t f = 0; f < FRAMES; f++)
        make_raw(words + f * N, want + f * N, f);
    put_stack(in_folder("raw.npy"), "<u2", FRAMES, words, sizeof words);
    put_stack(in_folder("photons.npy"), "<i4", FRAMES, want, sizeof want);
    put_stack(in_folder("pedestal.npy"), "<f4", 3, pedestal, sizeof pedestal);
    put_stack(in_folder("gain.npy"), "<f4", 3, gain, sizeof gain);
}

static hcy_stack *open_converted(const char *path, double energy)
{
    hcy_stack_raw_options opts = HCY_STACK_RAW_OPTIONS_INIT;
    hcy_stack *stack;
    opts.pedestal = pedestal;
    opts.gain = gain;
    opts.photon_energy = energy;
    if (hcy_stack_open(&stack, path, NULL) || hcy_stack_convert(stack, &opts))
        bail_out("%s: %s", path, hcy_last_error()->text);
    return stack;
}

static int frame_is_right(hcy_stack *stack, uint64_t frame)
{
    static _Thread_local uint16_t words[N];
    static _Thread_local int32_t want[N], got[N];
    size_t size = 0;
    make_raw(words, want, frame);
    return !hcy_stack_read(&size, got, sizeof got, stack, frame) && size == sizeof got &&
           !memcmp(got, want, sizeof got);
}

static void test_photons(const char *path, const char *what)
{
    hcy_stack *stack = open_converted(path, ENERGY);
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    size_t size = 0;
    int right = 1;
    ok(info->pixel_type == HCY_PIXEL_I32 && info->codec == HCY_CODEC_NONE && info->elem_size == 4 &&
           info->frame_bytes == 4 * N && info->max_chunk == 4 * N && info->raw_bytes == 4 * N * FRAMES &&
           !hcy_stack_frame_size(&size, stack, 0) && size == 4 * N,
       "%s: what is given", what);
    for (uint64_t f = 0; f < FRAMES; f++)
        right = right && frame_is_right(stack, f);
    ok(right, "%s: photons", what);
    fails(hcy_stack_read(&size, &size, 8, stack, 0), HCY_ERANGE, "frame 0|room for 8", "too little room");
    hcy_stack_raw_options again = HCY_STACK_RAW_OPTIONS_INIT;
    again.pedestal = again.gain = gain;
    fails(hcy_stack_convert(stack, &again), HCY_EINVAL, "already", "twice");
    hcy_stack_close(stack);
}

static void test_energy(void)
{
    static uint16_t words[N];
    static int32_t want[N];
    static float got[N];
    hcy_stack *stack = open_converted(in_folder("raw.npy"), 0);
    size_t size, wrong = 0;
    is_int(hcy_stack_get_info(stack)->pixel_type, HCY_PIXEL_F32, "keV are floats");
    ok(!hcy_stack_read(&size, got, sizeof got, stack, 3), "keV are read");
    make_raw(words, want, 3);
    for (int i = 0; i < N; i++) {
        int valid = want[i] != INT32_MIN && want[i] != INT32_MAX;
        double off = fabs(got[i] - want[i] * ENERGY);
        wrong += valid ? !(off < 6.5) : !isnan(got[i]); /* the third gain's count is worth 12.5 keV */
        if (valid && words[i] >> 14 == 0) {
            float x = ((float)words[i] - pedestal[i]) * (float)(1.0 / gain[i]);
            wrong += fabsf(got[i] - x) > 1e-5f;
        }
    }
    is_int((intmax_t)wrong, 0, "keV of all pixels");
    hcy_stack_close(stack);
}

static void *read_all(void *stack)
{
    intptr_t right = 1;
    for (uint64_t i = 0; i < 20 * FRAMES; i++)
        right = right && frame_is_right(stack, i % FRAMES);
    return (void *)right;
}

static void test_threads(const char *path)
{
    hcy_stack *stack = open_converted(path, ENERGY);
    pthread_t threads[4];
    int right = 1;
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, read_all, stack))
            bail_out("no thread");
    for (int i = 0; i < 4; i++) {
        void *good;
        pthread_join(threads[i], &good);
        right = right && good;
    }
    ok(right, "from four threads");
    hcy_stack_close(stack);
}

#ifdef HAVE_HDF5
static void put_coded(const char *path, uint32_t codec)
{
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    hcy_stack_writer *writer;
    static uint16_t words[N];
    static int32_t want[N];
    opts.frames = FRAMES;
    opts.height = HEIGHT;
    opts.width = WIDTH;
    opts.pixel_type = HCY_PIXEL_U16;
    opts.codec = codec;
    if (hcy_stack_create(&writer, path, &opts))
        bail_out("%s", hcy_last_error()->text);
    for (uint64_t f = 0; f < FRAMES; f++) {
        make_raw(words, want, f);
        if (hcy_stack_write(writer, f, words))
            bail_out("%s", hcy_last_error()->text);
    }
    if (hcy_stack_writer_close(writer))
        bail_out("%s", hcy_last_error()->text);
}

static void test_growing(const char *path)
{
    hcy_stack_options open = HCY_STACK_OPTIONS_INIT;
    hcy_stack_raw_options opts = HCY_STACK_RAW_OPTIONS_INIT;
    hcy_stack *stack;
    open.growing = 1;
    opts.pedestal = pedestal;
    opts.gain = gain;
    opts.photon_energy = ENERGY;
    if (hcy_stack_open_with(&stack, path, &open) || hcy_stack_convert(stack, &opts))
        bail_out("%s", hcy_last_error()->text);
    is_int(hcy_stack_refresh(stack, 0), 0, "a growing stack is looked at again");
    ok(hcy_stack_get_info(stack)->pixel_type == HCY_PIXEL_I32 && frame_is_right(stack, FRAMES - 1),
       "and stays converted");
    hcy_stack_close(stack);
}
#endif

static void test_bad(void)
{
    hcy_stack_raw_options opts = HCY_STACK_RAW_OPTIONS_INIT;
    hcy_stack *stack;
    float *values = NULL;
    opts.pedestal = pedestal;
    opts.gain = gain;
    if (hcy_stack_open(&stack, in_folder("photons.npy"), NULL))
        bail_out("%s", hcy_last_error()->text);
    fails(hcy_stack_convert(stack, &opts), HCY_EFORMAT, "int32|uint16", "pixels that are not raw");
    opts.photon_energy = -1;
    fails(hcy_stack_convert(stack, &opts), HCY_EINVAL, "-1 keV", "an energy that is none");
    hcy_stack_close(stack);
    ok(!hcy_images_read(&values, 3, HEIGHT, WIDTH, in_folder("gain.npy")) && values[0] == gain[0] &&
           values[3 * N - 1] == gain[3 * N - 1],
       "maps from a file");
    hcy_list_free(values);
    fails(hcy_images_read(&values, 2, HEIGHT, WIDTH, in_folder("gain.npy")), HCY_EFORMAT, "3 images|2 of 37",
          "another number of maps");
    ok(!values, "none are given");
}

int main(int argc, char **argv)
{
    make_maps();
    if (argc > 1) {
        snprintf(folder, sizeof folder, "%s", argv[1]);
        put_all();
        return 0;
    }
    make_folder();
    put_all();
    test_photons(in_folder("raw.npy"), "plain");
    test_energy();
    test_threads(in_folder("raw.npy"));
    test_bad();
#ifdef HAVE_HDF5
    put_coded(in_folder("raw.h5"), HCY_CODEC_BSLZ4);
    test_photons(in_folder("raw.h5"), "bitshuffle and LZ4");
    test_threads(in_folder("raw.h5"));
    test_growing(in_folder("raw.h5"));
#endif
    return done_testing();
}
