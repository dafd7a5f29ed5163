/* nufft_lacks.c - non-uniform FFTs on devices that have some of the kernels: a plan asks for what it cannot do without,
 * and whoever asks it for more hears which kernel that takes.  The device is the CPU; what it has is said here. */
#include "tap.h"

#include <halcyon/nufft.h>
#include <math.h>
#include <string.h>

enum { POINTS = 200, MODES = 8, TRANSFORMS = 2, ALL = MODES * MODES * MODES };

static hcy_device *dev;
static const char *lacking; /* names, each behind a space */
static hcy_device_info info;

int __real_hcy_kernel_get(hcy_kernel **kernel, hcy_device *device, const char *name);
int __wrap_hcy_kernel_get(hcy_kernel **kernel, hcy_device *device, const char *name);
int __wrap_hcy_kernel_get(hcy_kernel **kernel, hcy_device *device, const char *name)
{
    const char *at = strstr(lacking, name);
    if (at && strchr(" ", at[strlen(name)]))
        return hcy_fail(HCY_EUNSUPPORTED, "no %s", name);
    return __real_hcy_kernel_get(kernel, device, name);
}

const hcy_device_info *__real_hcy_device_get_info(const hcy_device *device);
const hcy_device_info *__wrap_hcy_device_get_info(const hcy_device *device);
const hcy_device_info *__wrap_hcy_device_get_info(const hcy_device *device)
{
    info = *__real_hcy_device_get_info(device);
    if (strstr(lacking, " FFT"))
        info.caps &= ~(uint32_t)HCY_CAP_FFT;
    return &info;
}

static double points[3][POINTS], c[2][TRANSFORMS * 2 * POINTS], f[2][TRANSFORMS * 2 * ALL];
static const void *const coordinates[2 * 3] = { points[0], points[1], points[2], points[1], points[2], points[0] };
static hcy_nufft_options options = HCY_NUFFT_OPTIONS_INIT;

static int create(hcy_nufft **plan, int type, int dim)
{
    const hcy_nufft_desc desc = { .size = sizeof desc, .type = type, .precision = HCY_F64, .dim = dim,
                                  .modes = { MODES, MODES, MODES }, .sign = 1, .n_transforms = TRANSFORMS,
                                  .eps = 1e-9 };
    *plan = NULL;
    return hcy_nufft_create(plan, dev, &desc, &options);
}

/* Of a plan of this kind, on a device that lacks these: what is said, or that it works. */
static void check_create(const char *without, int type, const char *word)
{
    hcy_nufft *plan;
    lacking = without;
    int st = create(&plan, type, 2);
    is_int(st, word ? HCY_EUNSUPPORTED : 0, "type %d without%s", type, without);
    ok(!word || strstr(hcy_last_error()->text, word), "... says %s (%s)", word ? word : "nothing",
       st ? hcy_last_error()->text : "");
    hcy_nufft_destroy(plan);
    lacking = "";
}

/* The device that was asked for: all that a type 2 takes, and no more. */
static void check_spare(void)
{
    hcy_nufft *plan;
    lacking = " nufft_spread nufft_crop nufft_pad nufft_modes nufft_scale FFT";
    int st = create(&plan, 2, 2);
    if (!st)
        st = hcy_nufft_set_points(plan, POINTS, coordinates, 0, NULL);
    if (!st)
        st = hcy_nufft_execute(plan, c[0], f[0]);
    is_int(st, 0, "a type 2 by nufft_sort, nufft_grid and nufft_interp%s%s", st ? ": " : "",
           st ? hcy_last_error()->text : "");
    is_int(hcy_nufft_execute_adjoint(plan, c[0], f[0]), HCY_EUNSUPPORTED, "... has no adjoint there");
    ok(strstr(hcy_last_error()->text, "nufft_spread") != NULL, "... which takes nufft_spread (%s)",
       hcy_last_error()->text);
    hcy_nufft_info got = HCY_NUFFT_INFO_INIT;
    is_int(hcy_nufft_get_info(&got, plan), 0, "... tells of itself");
    ok(got.variant && *got.variant, "... with its variant");
    hcy_nufft_destroy(plan);
    lacking = "";
}

/* Transforms with points of their own, with and without nufft_modes and nufft_grid. */
static void check_each(int type, int dim)
{
    const int64_t n_points[TRANSFORMS] = { POINTS, POINTS };
    const void *x[2 * 3];
    double most = 0, size = 0;
    int st = 0;
    for (int i = 0; i < 2 * dim; i++)
        x[i] = coordinates[i % dim + i / dim * 3];
    for (size_t i = 0; i < TRANSFORMS * 2 * POINTS; i++)
        c[0][i] = c[1][i] = sin((double)i);
    for (size_t i = 0; i < TRANSFORMS * 2 * ALL; i++)
        f[0][i] = f[1][i] = cos(3.0 * (double)i);
    for (int apart = 0; !st && apart < 2; apart++) {
        hcy_nufft *plan;
        lacking = apart ? " nufft_modes nufft_grid" : " nufft_crop nufft_pad";
        st = create(&plan, type, dim);
        if (!st)
            st = hcy_nufft_set_points_each(plan, n_points, x, NULL, NULL);
        if (!st)
            st = hcy_nufft_execute(plan, c[apart], f[apart]);
        hcy_nufft_destroy(plan);
    }
    size_t n = TRANSFORMS * 2 * (type == 1 ? (size_t)pow(MODES, dim) : POINTS);
    for (size_t i = 0; i < n; i++) {
        double a = type == 1 ? f[0][i] : c[0][i], b = type == 1 ? f[1][i] : c[1][i];
        most = fmax(most, fabs(a - b));
        size = fmax(size, fabs(a));
    }
    is_int(st, 0, "type %d in %d-D, points of each%s%s", type, dim, st ? ": " : "", st ? hcy_last_error()->text : "");
    ok(size > 1 && most < 1e-7 * size, "... are the same without nufft_modes and nufft_grid (off by %.1e of %.1e)", most,
       size);
    lacking = "";
}

int main(void)
{
    lacking = "";
    if (hcy_device_open(&dev, "cpu@threads=2"))
        bail_out("%s", hcy_last_error()->text);
    if (!(hcy_device_get_info(dev)->caps & HCY_CAP_FFT))
        skip_all("this build has no FFT");
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < POINTS; i++)
            points[d][i] = 3.1 * sin(1.0 + 7.0 * i + 100.0 * d);
    options.method = HCY_NUFFT_GRID;
    check_create("", 1, NULL);
    check_create(" nufft_scale", 1, NULL);
    check_create(" nufft_scale", 3, "nufft_scale");
    check_create(" nufft_interp nufft_grid nufft_pad", 1, NULL);
    check_create(" nufft_sort", 2, "nufft_sort");
    check_create(" nufft_spread", 1, "nufft_spread");
    check_create(" nufft_spread", 2, NULL);
    check_create(" nufft_interp", 2, "nufft_interp");
    check_create(" nufft_crop nufft_pad FFT", 1, NULL);
    check_create(" nufft_modes nufft_grid", 1, NULL);
    check_create(" nufft_modes nufft_grid nufft_pad", 1, NULL);
    check_create(" nufft_modes nufft_grid nufft_pad", 2, "nufft_pad");
    check_create(" nufft_modes FFT", 1, "nufft_modes");
    check_create(" nufft_modes FFT", 2, NULL);
    options.separate_fft = 1;
    check_create(" FFT", 1, "separate_fft");
    check_create(" nufft_crop", 1, "nufft_crop");
    options.separate_fft = 0;
    check_spare();
    for (int dim = 1; dim <= 3; dim++) {
        check_each(1, dim);
        check_each(2, dim);
    }
    hcy_device_release(dev);
    return done_testing();
}
