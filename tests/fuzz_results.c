/* fuzz_results.c - fuzz targets: files of curves, lists of numbers, configurations: any bytes are read or refused. */
#include "fuzz.h"
#include "stack_make.h"
#include <sys/stat.h>

#define MOST ((size_t)1 << 20) /* bins of a row that is read */

static const char *file_of(const uint8_t *data, size_t size)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/result", fuzz_folder());
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        bail_out("%s cannot be written", path);
    return path;
}

static int run_results(const uint8_t *data, size_t size)
{
    hcy_results *results = NULL;
    if (hcy_results_open(&results, file_of(data, size)))
        return 0;
    const hcy_results_info *info = hcy_results_get_info(results);
    size_t n = info->n_azim ? info->n_azim : 1;
    double *values = info->n_radial && n <= MOST / info->n_radial ? malloc(2 * n * info->n_radial * 8) : NULL;
    int taken = values != NULL;
    for (uint64_t row = 0; values && row < info->rows && row < 4; row++) {
        uint64_t frame;
        if (hcy_results_read(&frame, values, values + n * info->n_radial, results, row))
            taken = 0;
    }
    if (values && hcy_results_read(NULL, values, NULL, results, info->rows) != HCY_ERANGE)
        abort();
    free(values);
    hcy_results_close(results);
    return taken;
}

static void give_text(const char *text)
{
    fuzz_give(text, strlen(text));
}

/* What is read of a file that may be growing is the beginning of what is read of it otherwise. */
static int run_numbers(const uint8_t *data, size_t size)
{
    double *all = NULL, *some = NULL;
    size_t n, n_some;
    const char *path = file_of(data, size);
    int taken = !hcy_numbers_read(&all, &n, path, 0), st = hcy_numbers_read(&some, &n_some, path, 1);
    if (taken && (st || n_some > n || (n_some && memcmp(all, some, n_some * sizeof *all))))
        abort();
    hcy_list_free(all);
    hcy_list_free(some);
    return taken;
}

static void seed_numbers(void)
{
    static const char npy[] = "\x93NUMPY\1\0\71\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} \n\0\0\x80?\0\0\0@";
    fuzz_give(npy, sizeof npy - 1);
    give_text("# counts\n1\n 2.5e3 # b\r\n\n-7");
}

static void seed_text(void)
{
    give_text("# a\n#       q_nm^-1              I           sigma \n# frame 3\n 1.0e+00 2.0e+00 3.0e-01\n 2.0e+00 nan 1\n"
              "\n\n# frame 4 failed: x\n\n\n# frame 5\n1 2 3\n2 3 4\n");
    give_text("1,2\n2,3\n");
}

static void seed_edf(void)
{
    give_text("{\nByteOrder = LowByteFirst ;\nDataType = FloatValue ;\nDim_1 = 2 ;\nDim_2 = 1 ;\nSize = 8 ;\n"
              "2th_deg_min = 1 ;\n2th_deg_max = 8 ;\nchi_min = -135 ;\nchi_max = 135 ;\nframe = 7 ;\n}\nabcdefgh");
}

#ifdef HAVE_HDF5
/* A file as integrate writes it: of curves with errors, or of images.  Texts in it lie in HDF5's heap, which some
 * versions crash on once it is damaged: that is theirs, and what readers in a process of their own are for. */
static void seed_h5(void)
{
    static char path[300];
    hcy_isolation all = HCY_ISOLATION_INIT;
    if (hcy_isolation_set(&all))
        bail_out("isolation: %s", hcy_last_error()->text);
    for (size_t n_azim = 0; n_azim <= 3; n_azim += 3) {
        hcy_poni poni = HCY_PONI_INIT;
        hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
        hcy_azint_plan *plan = NULL;
        hcy_azint_result *result = NULL;
        hcy_curves *curves = NULL;
        struct stat is;
        static char bytes[1 << 18];
        poni.dist = 0.1;
        poni.wavelength = 1e-10;
        poni.pixel1 = poni.pixel2 = 1e-4;
        options.npt = 7;
        options.npt_azim = n_azim;
        options.error_model = n_azim ? HCY_ERRORS_NONE : HCY_ERRORS_POISSON;
        snprintf(path, sizeof path, "%s/seed.h5", fuzz_folder());
        if (hcy_azint_plan_create(&plan, &poni, 20, 20, &options) || hcy_azint_result_create(&result, plan) ||
            hcy_curves_open(&curves, path, plan, NULL) || hcy_curves_append(curves, 0, result, NULL) ||
            hcy_curves_append(curves, 1, NULL, "damaged") || hcy_curves_close(curves))
            bail_out("a seed: %s", hcy_last_error()->text);
        FILE *f = fopen(path, "rb");
        if (!f || fstat(fileno(f), &is) || (size_t)is.st_size > sizeof bytes ||
            fread(bytes, 1, (size_t)is.st_size, f) != (size_t)is.st_size || fclose(f))
            bail_out("%s cannot be read", path);
        fuzz_give(bytes, (size_t)is.st_size);
        hcy_azint_result_destroy(result);
        hcy_azint_plan_release(plan);
    }
}
#endif

#ifdef HAVE_JANSSON
static int run_config(const uint8_t *data, size_t size)
{
    hcy_config *config = NULL;
    int taken = !hcy_config_read(&config, file_of(data, size));
    if (taken && (!config->options.unit || (config->mask && !*config->mask)))
        abort();
    hcy_config_free(config);
    return taken;
}

static void seed_config(void)
{
    give_text("{\"application\": \"worker\", \"version\": 5, \"poni\": {\"poni_version\": 2.1, \"dist\": 0.1, \"poni1\": 0.001, "
              "\"poni2\": 0.002, \"rot1\": 0, \"rot2\": 0, \"rot3\": 0, \"detector\": \"Detector\", \"detector_config\": "
              "{\"pixel1\": 0.0001, \"pixel2\": 0.0001, \"max_shape\": [64, 48], \"orientation\": 3}, \"wavelength\": 1e-10}, "
              "\"nbpt_rad\": 15, \"nbpt_azim\": 1, \"unit\": \"2th_deg\", \"polarization_description\": [0.9, 0.3], "
              "\"val_dummy\": -1, \"delta_dummy\": Infinity, \"mask_file\": \"silx:a.h5?path=/x\", "
              "\"error_model\": \"poisson\", \"method\": [\"full\", \"csr\", \"cython\"], \"radial_range\": [0.2, 1.6], "
              "\"azimuth_range\": [-Infinity, Infinity], \"integrator_method\": \"sigma_clip_ng\", "
              "\"extra_options\": {\"thres\": 3, \"max_iter\": 2}, \"monitor_name\": \"/entry/m\"}");
    give_text("{\"version\": 3, \"dist\": 1, \"poni1\": 0, \"poni2\": 0, \"rot1\": 0, \"rot2\": 0, \"rot3\": 0, \"detector\": "
              "\"Pilatus300k\", \"detector_config\": {}, \"method\": \"splitpixel\", \"do_dummy\": false, "
              "\"radial_range_min\": 1, \"radial_range_max\": 2, \"do_radial_range\": true}");
}
#endif

const struct fuzz_target fuzz_results[] = {
    { "curves", run_results, seed_text },
    { "cakes", run_results, seed_edf },
    { "numbers", run_numbers, seed_numbers },
#ifdef HAVE_HDF5
    { "results", run_results, seed_h5 },
#endif
#ifdef HAVE_JANSSON
    { "config", run_config, seed_config },
#endif
    { NULL, NULL, NULL },
};
