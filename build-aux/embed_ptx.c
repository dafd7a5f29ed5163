/* embed_ptx.c - a program of the build (--with-embedded-ptx): writes C with the PTX of the usual kernels.
 *
 *     embed_ptx [KERNEL...] > made_ptx.c
 *
 * It asks the kernels' host side (backends/gpu) what it would compile for EIGER detectors of common sizes, in
 * uint16 and uint32: texts and options are those of the library that it is built with.  NVRTC makes the PTX; exit
 * status 77 says that it is not here.  Other pixels need NVRTC where they are used.
 */
#include "cuda_priv.h"
#include "embedded.h"

#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, MOST_OPTIONS = 16, BINS = 1000, NO_COMPILER = 77 };

static struct made {
    uint64_t key, check;
    char *data;
    int packed, size;
} made[MOST];
static size_t n_made;

static void fail(const char *what)
{
    fprintf(stderr, "embed_ptx: %s: %s\n", what, hcy_last_error()->text);
    exit(1);
}

/* --- What backends/gpu asks of a device --- */

static void make(struct made *m, const char *text, const char *const *options, int n)
{
    const struct nvrtc_api *rtc = nvrtc_load();
    const char *all[MOST_OPTIONS + 1];
    char arch[32];
    size_t size = 0;
    nvrtcProgram program;
    snprintf(arch, sizeof arch, "-arch=compute_%d", CUDA_PTX_ARCH);
    all[0] = arch;
    for (int i = 0; i < n; i++)
        all[i + 1] = options[i];
    if (rtc->nvrtcCreateProgram(&program, text, "kernel.cu", 0, NULL, NULL) ||
        rtc->nvrtcCompileProgram(program, n + 1, all) || rtc->nvrtcGetPTXSize(program, &size) || !size ||
        size > LZ4_MAX_INPUT_SIZE)
        fail("NVRTC makes no PTX");
    int room = LZ4_compressBound((int)size);
    char *ptx = malloc(size);
    m->data = malloc((size_t)room);
    if (!ptx || !m->data || rtc->nvrtcGetPTX(program, ptx))
        fail("NVRTC hands out no PTX");
    m->size = (int)size;
    m->packed = LZ4_compress_default(ptx, m->data, m->size, room);
    rtc->nvrtcDestroyProgram(&program);
    free(ptx);
}

static int compile(void *device, const char *text, const char *const *options, int n, void **module)
{
    struct made *m = made;
    const uint64_t key = cuda_hash(CUDA_HASH_KEY, text, options, n);
    *module = device;
    while (m < made + n_made && m->key != key)
        m++;
    if (m < made + n_made)
        return 0;
    if (n_made == MOST || n > MOST_OPTIONS)
        return hcy_fail(HCY_ERANGE, "more kernels or options than were thought of");
    n_made++;
    m->key = key;
    m->check = cuda_hash(CUDA_HASH_CHECK, text, options, n);
    make(m, text, options, n);
    return 0;
}

static void module_release(void *device, void *module)
{
    (void)device, (void)module;
}

static const void *plan_of(const hcy_block *block)
{
    return block->handle;
}

/* --- The usual launches --- */

static const struct {
    uint32_t height, width;
} shapes[] = { { 514, 1030 }, { 1065, 1030 }, { 2167, 2070 }, { 3269, 3110 }, { 4371, 4150 } };
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

/* One shape with one pixel type: errors or none, invalid values or none, weights that are all one or not. */
struct usual {
    hcy_bslz4_job coding;
    hcy_azint_job job;
    hcy_azint_filter filter;
    struct gpu_plan plan;
    hcy_block block;
};

static void set_up(struct usual *u, size_t shape, uint32_t bytes, unsigned which)
{
    memset(u, 0, sizeof *u);
    const uint64_t pixels = (uint64_t)shapes[shape].height * shapes[shape].width;
    const uint64_t top = UINT64_MAX >> (64 - 8 * bytes);
    u->coding = (hcy_bslz4_job){ HCY_CODEC_BSLZ4, bytes, pixels * bytes, 0, 0 };
    u->job.n_pixels = u->plan.at.n_pixels = pixels;
    u->job.n_bins = u->plan.at.n_bins = BINS;
    u->job.pixel_type = bytes == 2 ? HCY_PIXEL_U16 : HCY_PIXEL_U32;
    u->job.flags = which & 1 ? HCY_AZINT_WANT_VARIANCE : 0;
    if (which & 2) {
        u->job.n_invalid = 1;
        u->job.invalid[0] = (hcy_azint_range){ top - 2, top };
    }
    u->plan.unit = which & 4;
    u->plan.n_entries = pixels;
    u->block.handle = &u->plan;
    u->filter.kind = HCY_AZINT_FILTER_CLIP;
}

/* The arguments that say what is compiled; others are not looked at. */
static void ask(struct gpu_kernel *kernel, const char *name, const struct usual *u)
{
    hcy_value values[10] = { { 0 } };
    const bool coded = !strncmp(name, "bslz4", 5);
    size_t scratch, plan = coded ? 4 : 1;
    values[3].bytes = &u->filter;
    if (coded)
        values[3].bytes = &u->coding;
    if (strcmp(name, "bslz4_decode")) {
        values[plan].block = &u->block;
        values[plan + 1].bytes = &u->job;
    }
    if (gpu_kernel_scratch_size(&scratch, kernel, 1, values, sizeof values / sizeof values[0]))
        fail(name);
}

static void ask_all(const char *name)
{
    const struct gpu_choice choice = { GPU_NO_ROW, 0 };
    const struct gpu_ops ops = { .compile = compile, .module_release = module_release, .plan = plan_of,
                                 .units = 1, .lanes = true, .row = gpu_row_of(&choice) };
    struct gpu_kernel *kernel;
    struct usual u;
    if (gpu_kernel_get(&kernel, &ops, NULL, name))
        fail(name);
    for (size_t s = 0; s < N_SHAPES; s++)
        for (unsigned which = 0; which < 16; which++) {
            set_up(&u, s, which & 8 ? 4 : 2, which);
            u.plan.filter = strstr(name, "filter") || strstr(name, "deviation");
            ask(kernel, name, &u);
        }
    gpu_kernel_release(kernel);
}

/* --- C --- */

static void write_table(const char *const *kernels)
{
    puts("/* Generated from the kernel texts by embed_ptx.c. */\n#include \"embedded.h\"\n");
    for (size_t i = 0; i < n_made; i++) {
        printf("static const unsigned char ptx%zu[] = {", i);
        for (int k = 0; k < made[i].packed; k++)
            printf("%s%u,", k % 32 ? "" : "\n", (unsigned char)made[i].data[k]);
        puts("\n};");
    }
    puts("const struct cuda_ptx cuda_ptx[] = {");
    for (size_t i = 0; i < n_made; i++)
        printf("    { %lluu, %lluu, ptx%zu, %d, %d },\n", (unsigned long long)made[i].key,
               (unsigned long long)made[i].check, i, made[i].packed, made[i].size);
    puts("    { 0, 0, 0, 0, 0 }\n};\nconst char *const cuda_ptx_kernels[] = {");
    while (*kernels)
        printf("    \"%s\",\n", *kernels++);
    puts("    0\n};");
}

int main(int argc, char **argv)
{
    static const char *const usual[] = { "bslz4_decode", "azint_image",        "bslz4_azint",
                                         "azint_filter", "bslz4_azint_deviation", NULL };
    const char *const *kernels = argc > 1 ? (const char *const *)argv + 1 : usual;
    if (!nvrtc_load()) {
        fprintf(stderr, "embed_ptx: %s\n", hcy_last_error()->text);
        return NO_COMPILER;
    }
    for (size_t i = 0; kernels[i]; i++)
        ask_all(kernels[i]);
    write_table(kernels);
    for (size_t i = 0; i < n_made; i++)
        free(made[i].data);
    return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
