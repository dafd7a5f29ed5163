/* sized.c - programs that are older or newer than the library: every public struct that begins with its size. */
#include "tap.h"

#include <halcyon/host_array.h>
#include <halcyon/fft.h>
#include <halcyon/nufft.h>
#include <halcyon/pipeline.h>
#include <halcyon/stack.h>
#include <stddef.h>
#include <unistd.h>

enum { SIDE = 8, PIXELS = SIDE * SIDE };

static hcy_device *dev;
static hcy_azint_plan *the_plan;
static hcy_nufft *the_nufft;
static hcy_stack *raw; /* of uint16 */
static float maps[3 * PIXELS];
static char folder[] = "/tmp/halcyon-sized-XXXXXX", path[64];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* --- What takes or gives each struct --- */

static int use_fft(void *desc)
{
    hcy_fft *fft = NULL;
    int status = hcy_fft_create(&fft, dev, desc);
    hcy_fft_release(fft);
    return status == HCY_EUNSUPPORTED ? 0 : status; /* of a build without FFTW */
}

static int use_nufft_desc(void *desc)
{
    hcy_nufft *p = NULL;
    int status = hcy_nufft_create(&p, dev, desc, NULL);
    hcy_nufft_destroy(p);
    return status;
}

static int use_nufft_options(void *options)
{
    const hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft *p = NULL;
    int status = hcy_nufft_create(&p, dev, &desc, options);
    hcy_nufft_destroy(p);
    return status;
}

static int use_nufft_info(void *info)
{
    return hcy_nufft_get_info(info, the_nufft);
}

static int use_azint_options(void *options)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_plan *p = NULL;
    poni.dist = poni.wavelength = 1;
    poni.pixel1 = poni.pixel2 = 1e-3;
    int status = hcy_azint_plan_create(&p, &poni, SIDE, SIDE, options);
    hcy_azint_plan_release(p);
    return status;
}

static int use_azint_info(void *info)
{
    return hcy_azint_plan_get_info(info, the_plan);
}

static int give_poni(void *poni)
{
    static const char text[] = "Distance: 1\nPixelSize1: 1e-3\nPixelSize2: 1e-3\nWavelength: 1e-10\n"
                               "Poni1: 0\nPoni2: 0\nRot1: 0\nRot2: 0\nRot3: 0\n";
    return hcy_poni_parse(poni, text, sizeof text - 1, "text");
}

static int take_poni(void *poni)
{
    char text[4096];
    return hcy_poni_format(text, sizeof text, NULL, poni);
}

static int write_array(void *array)
{
    ((hcy_host_array *)array)->data = maps;
    return hcy_host_array_write(array, in_folder("array.npy"));
}

static int read_array(void *array)
{
    int status = hcy_host_array_read(array, in_folder("array.npy"));
    if (!status)
        hcy_host_array_free(array);
    return status;
}

static int write_stack(void *options)
{
    hcy_stack_writer *writer = NULL;
    uint16_t pixels[PIXELS] = { 0 };
    hcy_stack_writer_options *o = options;
    o->frames = 1;
    o->height = o->width = SIDE;
    o->pixel_type = HCY_PIXEL_U16;
    int status = hcy_stack_create(&writer, in_folder("stack.npy"), options);
    if (!status)
        status = hcy_stack_write(writer, 0, pixels);
    return status ? status : hcy_stack_writer_close(writer);
}

static int read_stack(void *options)
{
    hcy_stack *stack = NULL;
    int status = hcy_stack_open_with(&stack, in_folder("stack.npy"), options);
    hcy_stack_close(stack);
    return status;
}

static int convert_stack(void *options)
{
    hcy_stack_raw_options *o = options;
    o->pedestal = o->gain = maps;
    int status = hcy_stack_convert(raw, options);
    if (!status) { /* once a stack */
        hcy_stack_close(raw);
        status = hcy_stack_open(&raw, in_folder("stack.npy"), NULL);
    }
    return status;
}

static int write_curves(void *options)
{
    hcy_curves *curves = NULL;
    int status = hcy_curves_open(&curves, in_folder("curves.dat"), the_plan, options);
    if (!status)
        status = hcy_curves_close(curves);
    return status ? status : hcy_config_write(in_folder("config.json"), the_plan, options);
}

static int create_pipeline(hcy_pipeline **p, const hcy_pipeline_options *options)
{
    hcy_pipeline_source source = hcy_pipeline_source_of(hcy_stack_get_info(raw));
    return hcy_pipeline_create(p, &dev, 1, the_plan, &source, options);
}

static int use_pipeline(void *options)
{
    hcy_pipeline *p = NULL;
    int status = create_pipeline(&p, options);
    hcy_pipeline_destroy(p);
    return status;
}

static int use_push(void *options)
{
    hcy_pipeline *p = NULL;
    int status = create_pipeline(&p, NULL);
    if (!status)
        status = hcy_pipeline_start(p, options);
    hcy_pipeline_destroy(p);
    return status;
}

/* --- One rule for all of them --- */

static const struct sized {
    const char *name;
    union { /* begins with HCY_..._INIT */
        hcy_fft_desc fft;
        hcy_nufft_desc nufft_desc;
        hcy_nufft_options nufft;
        hcy_nufft_info nufft_info;
        hcy_azint_options azint;
        hcy_azint_plan_info azint_info;
        hcy_poni poni;
        hcy_host_array array;
        hcy_stack_writer_options writer;
        hcy_stack_options stack;
        hcy_stack_raw_options raw;
        hcy_curves_options curves;
        hcy_pipeline_options pipeline;
        hcy_pipeline_push_options push;
    } init;
    size_t known, older; /* sizes: the library's, and one that ends at a member */
    int (*use)(void *object);
    bool is_given; /* by the library */
} all[] = {
    { "hcy_fft_desc", { .fft = HCY_FFT_DESC_INIT }, sizeof(hcy_fft_desc), offsetof(hcy_fft_desc, inner), use_fft,
      false },
    { "hcy_nufft_desc", { .nufft_desc = HCY_NUFFT_DESC_INIT }, sizeof(hcy_nufft_desc), offsetof(hcy_nufft_desc, eps),
      use_nufft_desc, false },
    { "hcy_nufft_options", { .nufft = HCY_NUFFT_OPTIONS_INIT }, sizeof(hcy_nufft_options),
      offsetof(hcy_nufft_options, upsampling), use_nufft_options, false },
    { "hcy_nufft_info", { .nufft_info = HCY_NUFFT_INFO_INIT }, sizeof(hcy_nufft_info),
      offsetof(hcy_nufft_info, variant), use_nufft_info, true },
    { "hcy_azint_options", { .azint = HCY_AZINT_OPTIONS_INIT }, sizeof(hcy_azint_options),
      offsetof(hcy_azint_options, split), use_azint_options, false },
    { "hcy_azint_plan_info", { .azint_info = HCY_AZINT_PLAN_INFO_INIT }, sizeof(hcy_azint_plan_info),
      offsetof(hcy_azint_plan_info, n_radial), use_azint_info, true },
    { "hcy_poni", { .poni = HCY_PONI_INIT }, sizeof(hcy_poni), offsetof(hcy_poni, corners), give_poni, true },
    { "hcy_poni to text", { .poni = HCY_PONI_INIT }, sizeof(hcy_poni), offsetof(hcy_poni, corners), take_poni, false },
    { "hcy_host_array", { .array = HCY_HOST_ARRAY_INIT }, sizeof(hcy_host_array),
      offsetof(hcy_host_array, cells), write_array, false },
    { "hcy_host_array from a file", { .array = HCY_HOST_ARRAY_INIT }, sizeof(hcy_host_array),
      offsetof(hcy_host_array, cells), read_array, true },
    { "hcy_stack_writer_options", { .writer = HCY_STACK_WRITER_OPTIONS_INIT }, sizeof(hcy_stack_writer_options),
      sizeof(hcy_stack_writer_options), write_stack, false },
    { "hcy_stack_options", { .stack = HCY_STACK_OPTIONS_INIT }, sizeof(hcy_stack_options),
      offsetof(hcy_stack_options, channel), read_stack, false },
    { "hcy_stack_raw_options", { .raw = HCY_STACK_RAW_OPTIONS_INIT }, sizeof(hcy_stack_raw_options),
      offsetof(hcy_stack_raw_options, photon_energy), convert_stack, false },
    { "hcy_curves_options", { .curves = HCY_CURVES_OPTIONS_INIT }, sizeof(hcy_curves_options), sizeof(size_t),
      write_curves, false },
    { "hcy_pipeline_options", { .pipeline = HCY_PIPELINE_OPTIONS_INIT }, sizeof(hcy_pipeline_options),
      offsetof(hcy_pipeline_options, memory), use_pipeline, false },
    { "hcy_pipeline_push_options", { .push = HCY_PIPELINE_PUSH_OPTIONS_INIT }, sizeof(hcy_pipeline_push_options),
      offsetof(hcy_pipeline_push_options, sink), use_push, false },
};

/* The struct in a program for which its size is that; what lies behind it is `rest`. */
static int use_with(const struct sized *s, char object[4096], size_t size, char rest)
{
    memset(object, rest, 4096);
    memcpy(object, &s->init, s->known);
    if (size < s->known)
        memset(object + size, rest, s->known - size);
    memcpy(object, &size, sizeof size);
    return s->use(object);
}

static bool are(const char *bytes, size_t n, char value)
{
    while (n && bytes[n - 1] == value)
        n--;
    return !n;
}

static void test(const struct sized *s)
{
    static size_t object[512];
    char *bytes = (char *)object;
    is_int(use_with(s, bytes, s->known, 1), 0, "%s: this library's", s->name);
    is_int(use_with(s, bytes, s->older, 1), 0, "%s: an older program's", s->name);
    ok(object[0] == s->older && (!s->is_given || are(bytes + s->older, 4096 - s->older, 1)),
       "%s: nothing is written behind it", s->name);
    is_int(use_with(s, bytes, s->known + 24, 0), 0, "%s: a newer program's that asks for nothing new", s->name);
    int status = use_with(s, bytes, s->known + 24, 1);
    if (s->is_given)
        ok(!status && object[0] == s->known + 24 && are(bytes + s->known, 24, 0) && bytes[s->known + 24] == 1,
           "%s: what a newer program knows beyond it is 0", s->name);
    else
        is_int(status, HCY_EINVAL, "%s: a newer program's that asks for more", s->name);
    is_int(use_with(s, bytes, 0, 1), HCY_EINVAL, "%s: no size", s->name);
    ok(strstr(hcy_last_error()->text, "INIT"), "%s: the words say how it begins", s->name);
    is_int(use_with(s, bytes, 1 << 20, 1), HCY_EINVAL, "%s: no size either", s->name);
}

static bool has_fft(void)
{
    return hcy_device_get_info(dev)->caps & HCY_CAP_FFT;
}

int main(void)
{
    const hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    poni.dist = poni.wavelength = 1;
    poni.pixel1 = poni.pixel2 = 1e-3;
    options.npt = 10;
    hcy_stack_writer_options writer = HCY_STACK_WRITER_OPTIONS_INIT;
    for (int i = 0; i < 3 * PIXELS; i++)
        maps[i] = 1;
    if (!mkdtemp(folder) || hcy_device_open(&dev, "cpu@threads=1") ||
        hcy_azint_plan_create(&the_plan, &poni, SIDE, SIDE, &options) ||
        (has_fft() && hcy_nufft_create(&the_nufft, dev, &desc, NULL)) || write_stack(&writer) ||
        hcy_stack_open(&raw, in_folder("stack.npy"), NULL))
        bail_out("%s", hcy_last_error()->text);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (has_fft() || strncmp(all[i].name, "hcy_nufft", 9))
            test(&all[i]);
        else
            skip(1, "%s: the CPU has no FFT in this build", all[i].name);
    hcy_stack_close(raw);
    hcy_nufft_destroy(the_nufft);
    hcy_azint_plan_release(the_plan);
    hcy_device_release(dev);
    static const char *const files[] = { "array.npy", "stack.npy", "curves.dat", "config.json" };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        unlink(in_folder(files[i]));
    ok(!rmdir(folder), "no other file is left");
    return done_testing();
}
