/* nvrtc - CUDA's run-time compiler takes the GPU kernels' texts, for an old and a new kind of GPU; no GPU is
 * needed.  To PTX: what remains is the assembler's business. */
#include "cuda_priv.h"
#include "gpu.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define PIXELS(bytes, is_signed, is_float)                                                                   \
    "-DPIXEL_BYTES=" bytes " -DPIXEL_SIGNED=" is_signed " -DPIXEL_FLOAT=" is_float " -DVARIANCE=1"
#define PENCIL(real, precision, spreads)                                                                     \
    "-DGROUP_SIZE=64 -DREAL=" real " -DPRECISION=" precision " -DDIM=3 -DXB=2 -DYB=4 -DZS=2 -DWIDTH=7u -DBATCH=64"   \
    " -DVECTORS=2 -DPLACES=64 -DSPREADS=" spreads " -DRESIDENT=4"
#define ROW "-DDECODE_BLOCKS=8"

static const struct {
    const char *name, *text, *options;
} cases[] = {
    { "decoding to images, an old GPU", gpu_text_decode_fast,
      "-arch=compute_75 -DGROUP_SIZE=128 -DELEM=2 -DOUT=4 " ROW },
    { "fused, a new one", gpu_text_azint_fast,
      "-arch=compute_90 -DGROUP_SIZE=128 -DELEM=4 -DUNIT=0 -DFIRST_INVALID=4294967295u " ROW
      " " PIXELS("4", "0", "0") },
    { "sums of images", gpu_text_azint, "-arch=compute_75 -DGROUP_SIZE=256 " PIXELS("4", "1", "1") },
    { "filters, without 64-bit atomics", gpu_text_filter,
      "-arch=compute_90 -DATOMICS=32 -DGROUP_SIZE=128 " PIXELS("2", "1", "0") },
    { "sorting points", gpu_text_nufft_sort,
      "-arch=compute_90 -DGROUP_SIZE=256 -DREAL=float -DPRECISION=1 -DDIM=3 -DXB=2 -DYB=4 -DZS=2 -DFIXED=0 -DPLACES=32 "
      "-DPOINT=double" },
    { "cutting modes", gpu_text_nufft_cut, "-arch=compute_75 -DGROUP_SIZE=256 -DREAL=double" },
    { "points to the grid on tensor cores, floats", gpu_text_nufft_pencil,
      "-arch=compute_80 " PENCIL("float", "1", "1") },
    { "points from the grid, doubles", gpu_text_nufft_pencil, "-arch=compute_90 " PENCIL("double", "2", "0") },
};

static int compiles(const struct nvrtc_api *rtc, const char *text, const char *options)
{
    const char *list[16];
    char *copy = strdup(options), *save = NULL, *log = NULL;
    int n = 0, failed;
    size_t size = 0;
    nvrtcProgram program;
    for (char *word = strtok_r(copy, " ", &save); word && n < 16; word = strtok_r(NULL, " ", &save))
        list[n++] = word;
    if (rtc->nvrtcCreateProgram(&program, text, "kernel.cu", 0, NULL, NULL))
        bail_out("no program");
    failed = rtc->nvrtcCompileProgram(program, n, list);
    if (failed && !rtc->nvrtcGetProgramLogSize(program, &size) && (log = malloc(size)) &&
        !rtc->nvrtcGetProgramLog(program, log))
        diag("%.2000s", log);
    rtc->nvrtcDestroyProgram(&program);
    free(log);
    free(copy);
    return !failed;
}

int main(void)
{
    const struct nvrtc_api *rtc = nvrtc_load();
    const char *sanitizer = getenv("HCY_SANITIZER");
    if (sanitizer && *sanitizer)
        skip_all("NVRTC does not run under sanitizers");
    if (!rtc)
        skip_all("%s", hcy_last_error()->text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ok(compiles(rtc, cases[i].text, cases[i].options), "%s", cases[i].name);
    return done_testing();
}
