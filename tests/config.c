/* config.c - pyFAI's configurations: those that pyFAI has written give its curves, those that we write are read again
 * as they were, and what would give another curve than pyFAI's is refused. */
#include "stack_make.h"
#include "reference/config_cases.h"
#include <halcyon/pipeline.h>
#include <math.h>

enum { HEIGHT = 64, WIDTH = 48, PIXELS = HEIGHT * WIDTH };

static const char *reference(const char *name)
{
    static char path[1024];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/reference/config_%s.json", top ? top : ".", name);
    return path;
}

/* The curve of the reference's image. */
static hcy_azint_result *integrate(const hcy_config *config)
{
    static uint32_t pixels[PIXELS];
    hcy_device *device = NULL;
    hcy_azint_plan *plan = NULL;
    hcy_pipeline *pipeline = NULL;
    hcy_azint_result *result = NULL;
    const hcy_pipeline_frame *frame = NULL;
    hcy_pipeline_source source = { .coding = { .codec = HCY_CODEC_NONE, .elem_size = 4, .image_bytes = PIXELS * 4 },
                                   .pixel_type = HCY_PIXEL_U32 };
    for (uint64_t i = 0; i < PIXELS; i++)
        pixels[i] = (uint32_t)(((i * 2654435761u) >> 7) % 1000);
    if (hcy_device_open(&device, "cpu@threads=1") ||
        hcy_azint_plan_create(&plan, &config->poni, HEIGHT, WIDTH, &config->options) ||
        hcy_azint_result_create(&result, plan) ||
        hcy_pipeline_create(&pipeline, &device, 1, plan, &source, NULL) || hcy_pipeline_start(pipeline, NULL) ||
        hcy_pipeline_submit(pipeline, pixels, sizeof pixels, 0, NULL, NULL) ||
        hcy_pipeline_poll(&frame, pipeline, UINT64_MAX) || !frame || !frame->result)
        bail_out("a curve: %s", hcy_last_error()->text);
    memcpy(result->intensity, frame->result->intensity, result->n_bins * sizeof(double));
    if (result->sigma)
        memcpy(result->sigma, frame->result->sigma, result->n_bins * sizeof(double));
    if (hcy_pipeline_finish(pipeline))
        bail_out("an end: %s", hcy_last_error()->text);
    hcy_pipeline_destroy(pipeline);
    hcy_azint_plan_release(plan);
    hcy_device_release(device);
    return result;
}

static double farthest(const double *got, const double *want, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(got[i] - want[i]) / fmax(fabs(want[i]), 1e-3));
    return most;
}

#define CASE(file, name) \
    { file, config_##name##_radial, config_##name##_intensity, config_##name##_sigma, \
      sizeof config_##name##_radial / sizeof(double), sizeof config_##name##_intensity / sizeof(double), \
      sizeof config_##name##_sigma / sizeof(double) }

static void test_curves(void)
{
    static const struct {
        const char *file;
        const double *radial, *intensity, *sigma;
        size_t n_radial, n, n_sigma;
    } cases[] = { CASE("plain", plain), CASE("ranges", ranges), CASE("version4", ranges), CASE("version3", ranges),
                  CASE("version2", ranges), CASE("version1", ranges),
                  CASE("dummy", dummy), CASE("image", image) };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hcy_config *config = NULL;
        if (!is_int(hcy_config_read(&config, reference(cases[i].file)), 0, "%s is read", cases[i].file)) {
            diag("%s", hcy_last_error()->text);
            continue;
        }
        hcy_azint_result *r = integrate(config);
        is_int((intmax_t)r->n_radial, (intmax_t)cases[i].n_radial, "%s: bins in radius", cases[i].file);
        is_int((intmax_t)r->n_bins, (intmax_t)cases[i].n, "... and all");
        double off = farthest(r->radial, cases[i].radial, cases[i].n_radial);
        if (!ok(off < 1e-6, "... pyFAI's radii"))
            diag("off by %g", off);
        off = farthest(r->intensity, cases[i].intensity, cases[i].n);
        if (!ok(off < 2e-5, "... pyFAI's intensities"))
            diag("off by %g", off);
        is_int(r->sigma != NULL, cases[i].n_sigma > 1, "... errors, or none");
        ok(!r->sigma || farthest(r->sigma, cases[i].sigma, cases[i].n) < 2e-5, "... pyFAI's");
        hcy_azint_result_destroy(r);
        hcy_config_free(config);
    }
}

/* --- Written and read again --- */

static void same_options(const hcy_azint_options *a, const hcy_azint_options *b)
{
    ok(a->npt == b->npt && a->npt_azim == b->npt_azim, "bins");
    is_str(a->unit, b->unit, "unit");
    ok(a->split == b->split && a->error_model == b->error_model && a->filter == b->filter, "split, errors, filter");
    ok(!memcmp(a->radial_range, b->radial_range, sizeof a->radial_range) &&
           !memcmp(a->azimuth_range, b->azimuth_range, sizeof a->azimuth_range),
       "ranges");
    ok(a->use_dummy == b->use_dummy && a->dummy == b->dummy && a->delta_dummy == b->delta_dummy, "dummy");
    ok(a->solid_angle == b->solid_angle && a->use_polarization == b->use_polarization &&
           a->polarization == b->polarization && a->polarization_offset == b->polarization_offset &&
           a->normalization == b->normalization,
       "corrections");
    ok(a->threshold == b->threshold && a->threshold_above == b->threshold_above && a->max_iter == b->max_iter &&
           !memcmp(a->percentile, b->percentile, sizeof a->percentile),
       "what filters need");
}

static void test_round_trip(void)
{
    for (int k = 0; k < 6; k++) {
        hcy_poni poni = HCY_PONI_INIT;
        hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
        hcy_curves_options opts = HCY_CURVES_OPTIONS_INIT;
        hcy_azint_plan *plan = NULL;
        hcy_config *config = NULL;
        poni.dist = 0.123456789012345678;
        poni.poni1 = 3.1e-3;
        poni.poni2 = 2.3e-3;
        poni.rot1 = k / 1000.;
        poni.wavelength = 1.0332e-10;
        poni.pixel1 = poni.pixel2 = 1e-4;
        o.npt = k == 2 || k == 5 ? 1 : 17;
        o.npt_azim = k && k != 4 ? 5 : 0;
        o.unit = k & 1 ? "2th_deg" : "q_A^-1";
        o.split = k % 3;
        o.error_model = k == 4 ? HCY_ERRORS_AZIMUTHAL : k == 5 ? HCY_ERRORS_HYBRID : k & 1;
        o.filter = k == 3 ? HCY_FILTER_PERCENTILE : k >= 4 ? HCY_FILTER_SIGMA_CLIP : HCY_FILTER_NONE;
        o.percentile[0] = k == 3 ? 25 : 50;
        o.threshold = k == 4 ? 3.5 : 5;
        o.threshold_above = k == 5 ? 2.25 : -1;
        o.radial_range[0] = k ? 0.1 : 0;
        o.radial_range[1] = k & 1 ? 1.7 : k ? 0.4 : 0;
        o.azimuth_range[1] = k == 1 ? 90.1 : 0;
        o.use_dummy = k == 3;
        o.dummy = k == 3 ? -1 : 0;
        o.solid_angle = k != 4;
        o.use_polarization = k == 5;
        o.polarization = k == 5 ? 0.98 : 0;
        o.normalization = 1 + k;
        opts.mask = "mask \"of\" a\\b.npy";
        opts.dark = k ? "dark.h5::/entry/data" : NULL;
        opts.flat = "flat.tif";
        opts.monitor = k ? "/entry/monitor/data" : NULL;
        if (hcy_azint_plan_create(&plan, &poni, HEIGHT, WIDTH, &o))
            bail_out("a plan: %s", hcy_last_error()->text);
        is_int(hcy_config_write(in_folder("c.json"), plan, &opts), 0, "configuration %d is written", k);
        if (!is_int(hcy_config_read(&config, in_folder("c.json")), 0, "... and read"))
            bail_out("%s", hcy_last_error()->text);
        ok(config->has_poni && config->poni.dist == poni.dist && config->poni.rot1 == poni.rot1 &&
               config->poni.wavelength == poni.wavelength && config->poni.pixel1 == poni.pixel1,
           "the geometry");
        same_options(&config->options, &o);
        is_str(config->mask, opts.mask, "mask");
        ok(k ? config->dark && !strcmp(config->dark, opts.dark) : !config->dark, "dark");
        is_str(config->flat, opts.flat, "flat");
        ok(k ? config->monitor && !strcmp(config->monitor, opts.monitor) : !config->monitor, "monitor");
        hcy_config_free(config);
        hcy_azint_plan_release(plan);
    }
    hcy_config_free(NULL);
}

/* --- What is refused, and what is understood --- */

static int read_text(hcy_config **config, const char *text)
{
    FILE *f = fopen(in_folder("k.json"), "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        bail_out("a file");
    return hcy_config_read(config, in_folder("k.json"));
}

static int read_keys(hcy_config **config, const char *keys)
{
    char text[4096];
    if ((size_t)snprintf(text, sizeof text, "{\"version\": 5, \"unit\": \"q_nm^-1\"%s%s}", *keys ? ", " : "", keys) >=
        sizeof text)
        bail_out("keys that are too long");
    return read_text(config, text);
}

static void test_mark(void)
{
    hcy_config *config = NULL;
    is_int(read_text(&config, "\xef\xbb\xbf{\"version\": 5, \"unit\": \"q_nm^-1\"}"), 0, "a mark of UTF-8 in front");
    hcy_config_free(config);
}

static void test_parallax(void)
{
    hcy_config *config = NULL;
    char text[4096] = "";
    int st = read_keys(&config, "\"poni\": {\"poni_version\": 3, \"dist\": 0.2, \"poni1\": 0, \"poni2\": 0, \"rot1\": 0, \"rot2\": 0,"
                                "\"rot3\": 0, \"wavelength\": 1e-10, \"parallax\": true, \"detector\": \"Eiger2_4M\","
                                "\"detector_config\": {\"sensor\": {\"material\": \"CdTe\", \"thickness\": 0.00075}}}");
    ok(!st && config->poni.parallax && !strcmp(config->poni.sensor_material, "CdTe") &&
           config->poni.sensor_thickness == 75e-5, "a configuration with parallax");
    ok(!st && !hcy_poni_format(text, sizeof text, NULL, &config->poni) && strstr(text, "Parallax: True"), "goes into a PONI file");
    hcy_config_free(config);
}

static void test_spline(void)
{
    static const char *const keys[] = {
        "\"splineFile\": \"a.spline\"", "\"detector\": \"FReLoN\", \"splinefile\": \"a.spline\", \"pixel1\": 1e-3",
        "\"version\": 3, \"detector\": \"detector\", \"detector_config\": {\"splineFile\": \"a.spline\"}"
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        hcy_config *config = NULL;
        char text[512];
        snprintf(text, sizeof text, "\"version\": 1, \"dist\": 0.2, \"poni1\": 0, \"poni2\": 0, \"rot1\": 0, \"rot2\": 0, "
                                    "\"rot3\": 0, %s", keys[i]);
        if (is_int(read_keys(&config, text), 0, "a configuration with a distortion file"))
            is_str(config->poni.detector_file, "a.spline", "... has its name");
        else
            diag("%s", hcy_last_error()->text);
        hcy_config_free(config);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *keys, *words;
        int status;
    } cases[] = {
        { "\"version\": 0", "version 0", HCY_EUNSUPPORTED },
        { "\"version\": 1, \"dark_current\": \"a.edf, b.edf\"", "dark_current", HCY_EUNSUPPORTED },
        { "\"version\": 1, \"poni\": \"none.poni\"", "none.poni", HCY_ENOENT },
        { "\"version\": 1, \"poni_version\": 2.1, \"dist\": 0.4", "over \"unit\"", HCY_EUNSUPPORTED },
        { "\"version\": 6", "version 6", HCY_EUNSUPPORTED },
        { "\"version\": \"5\"", "version", HCY_EFORMAT },
        { "\"application\": \"pixelwise\"", "application", HCY_EUNSUPPORTED },
        { "\"unit\": \"furlong\"", "unit", HCY_EUNSUPPORTED },
        { "\"unit\": 5", "unit", HCY_EFORMAT },
        { "\"nbpt_rad\": 0", "nbpt_rad", HCY_EFORMAT },
        { "\"nbpt_rad\": 1e300", "nbpt_rad", HCY_EFORMAT },
        { "\"nbpt_rad\": 2.5", "nbpt_rad", HCY_EFORMAT },
        { "\"nbpt_azim\": \"many\"", "nbpt_azim", HCY_EFORMAT },
        { "\"error_model\": \"bootstrap\"", "error_model", HCY_EUNSUPPORTED },
        { "\"method\": [\"half\", \"histogram\", \"cython\"]", "method", HCY_EUNSUPPORTED },
        { "\"method\": 5", "method", HCY_EFORMAT },
        { "\"method\": \"fancy\"", "method", HCY_EUNSUPPORTED },
        { "\"integrator_class\": \"OtherIntegrator\"", "integrator_class", HCY_EUNSUPPORTED },
        { "\"integrator_method\": \"separate\"", "integrator_method", HCY_EUNSUPPORTED },
        { "\"extra_options\": {\"metadata\": 1}", "metadata", HCY_EUNSUPPORTED },
        { "\"extra_options\": []", "extra_options", HCY_EFORMAT },
        { "\"integrator_method\": \"sigma_clip_ng\", \"extra_options\": {\"thres\": \"x\"}", "thres", HCY_EFORMAT },
        { "\"integrator_method\": \"medfilt1d_ng\", \"extra_options\": {\"percentile\": [5]}", "percentile",
          HCY_EFORMAT },
        { "\"radial_range\": [1]", "radial_range", HCY_EFORMAT },
        { "\"radial_range\": [2, 1]", "radial_range", HCY_EFORMAT },
        { "\"radial_range\": [2, null]", "radial_range", HCY_EUNSUPPORTED },
        { "\"radial_range\": [NaN, 1]", "radial_range", HCY_EFORMAT },
        { "\"azimuth_range\": [-Infinity, 5]", "azimuth_range", HCY_EUNSUPPORTED },
        { "\"polarization_description\": \"all\"", "polarization_description", HCY_EFORMAT },
        { "\"normalization_factor\": []", "normalization_factor", HCY_EFORMAT },
        { "\"val_dummy\": \"x\"", "val_dummy", HCY_EFORMAT },
        { "\"correct_solid_angle\": 3", "correct_solid_angle", HCY_EFORMAT },
        { "\"dark_current\": [\"a.edf\", \"b.edf\"]", "dark_current", HCY_EUNSUPPORTED },
        { "\"mask_file\": 5", "mask_file", HCY_EFORMAT },
        { "\"flat_field\": \"silx:a.h5?path=/x&slice=3\"", "flat_field", HCY_EUNSUPPORTED },
        { "\"monitor_name\": \"counts\"", "monitor_name", HCY_EUNSUPPORTED },
        { "\"nbpt_azim\": 9, \"chi_discontinuity_at_0\": true", "chi_discontinuity_at_0", HCY_EUNSUPPORTED },
        { "\"poni\": {\"dist\": \"far\"}", "istance", HCY_EFORMAT },
        { "\"poni\": \"none.poni\"", "none.poni", HCY_ENOENT },
    };
    hcy_config *config = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int st = read_keys(&config, cases[i].keys);
        if (!ok(st == cases[i].status && strstr(hcy_last_error()->text, cases[i].words), "refused: %s", cases[i].keys))
            diag("%d: %s", st, st ? hcy_last_error()->text : "");
        ok(config == NULL, "... and nothing is given");
    }
    is_int(hcy_config_read(&config, in_folder("none.json")), HCY_ENOENT, "no such file");
    is_int(read_keys(&config, "\"x\": "), HCY_EFORMAT, "no JSON");
    is_int(read_text(&config, "{\"version\": 2, \"x\": 5}"), HCY_EFORMAT, "JSON of another program's");
    is_int(read_keys(&config, "\"content\": \"Goniometer calibration v2\""), HCY_EUNSUPPORTED, "a goniometer's");
}

/* pyFAI's old words for a method, as its 2026.9 splits pixels for them. */
static void test_methods(void)
{
    static const struct {
        const char *word;
        int split;
    } words[] = {
        { "cython", HCY_SPLIT_NO },       { "csr", HCY_SPLIT_NO },         { "pseudo_csr", HCY_SPLIT_NO },
        { "splitpixel", HCY_SPLIT_NO },   { "nosplit_csr", HCY_SPLIT_NO }, { "numpy", HCY_SPLIT_NO },
        { "csr_ocl", HCY_SPLIT_NO },      { "lut", HCY_SPLIT_BBOX },       { "lut_ocl_gpu", HCY_SPLIT_BBOX },
        { "splitBBox", HCY_SPLIT_BBOX },  { "bbox", HCY_SPLIT_BBOX },      { "full_csr", HCY_SPLIT_FULL },
        { "full_csr_ocl_0,1", HCY_SPLIT_FULL },
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char keys[64];
        hcy_config *c = NULL;
        snprintf(keys, sizeof keys, "\"method\": \"%s\"", words[i].word);
        ok(!read_keys(&c, keys) && c->options.split == words[i].split, "a method's old word, %s", words[i].word);
        hcy_config_free(c);
    }
}

static void test_understood(void)
{
    hcy_config *c = NULL;
    is_int(read_keys(&c, ""), 0, "nearly nothing");
    ok(c && !c->has_poni && !c->mask && !c->monitor && c->options.npt == 1000 && c->options.split == HCY_SPLIT_BBOX,
       "... is the defaults, without a geometry");
    hcy_config_free(c);
    is_int(read_keys(&c, "\"mask_file\": \"silx:a.h5?path=/mask\", \"dark_current\": [\"b.h5?/entry/dark\"], "
                         "\"flat_field\": \"fabio:c.edf\""),
           0, "silx's names of files");
    is_str(c->mask, "a.h5::/mask", "... with a path");
    is_str(c->dark, "b.h5::/entry/dark", "... without the word");
    is_str(c->flat, "c.edf", "... of a file");
    hcy_config_free(c);
    is_int(read_keys(&c, "\"radial_range\": [-Infinity, Infinity], \"delta_dummy\": Infinity, \"opencl_device\": [0, 1], "
                         "\"something\": \"\\\"Infinity\\\" \\\\\""),
           0, "Python's numbers");
    ok(c->options.radial_range[0] == c->options.radial_range[1], "... leave a range open");
    hcy_config_free(c);
    is_int(read_keys(&c, "\"integrator_method\": \"sigma_clip_ng\", \"extra_options\": {\"thres\": null, \"max_iter\": 3}"),
           0, "clipping");
    ok(c->options.filter == HCY_FILTER_SIGMA_CLIP && c->options.threshold == 0 && c->options.max_iter == 3 &&
           c->options.error_model == HCY_ERRORS_AZIMUTHAL,
       "... with Chauvenet's criterion and pyFAI's error model");
    hcy_config_free(c);
    test_methods();
    /* Version 1: a PONI file below the keys beside it. */
    char keys[512];
    FILE *f = fopen(in_folder("old.poni"), "w");
    if (!f || fputs("poni_version: 2\nDetector: Pilatus100k\nDetector_config: {}\nDistance: 0.3\nPoni1: 0.01\n"
                    "Poni2: 0.02\nRot1: 0.1\nRot2: 0\nRot3: 0\nWavelength: 1e-10\n", f) < 0 || fclose(f))
        bail_out("a file");
    snprintf(keys, sizeof keys, "\"version\": 1, \"poni\": \"%s\", \"dist\": 0.4, \"pixel1\": 1",
             in_folder("old.poni"));
    is_int(read_keys(&c, keys), 0, "a PONI file's name in version 1");
    ok(c && c->has_poni && c->poni.dist == 0.4 && c->poni.rot1 == 0.1 && c->poni.wavelength == 1e-10 &&
           c->poni.detector &&
           !strcmp(c->poni.detector->name, "Pilatus100k"),
       "... is the geometry but for what is said beside it");
    hcy_config_free(c);
    is_int(read_keys(&c, "\"version\": 1, \"poni\": \"\", \"dist\": 0.4, \"poni1\": 0, \"poni2\": 0, \"rot1\": 0, "
                         "\"rot2\": 0, \"rot3\": 0, \"wavelength\": 1e-10, \"pixel1\": 1e-4, \"pixel2\": 2e-4"),
           0, "an empty name of a PONI file");
    ok(c && c->poni.pixel1 == 1e-4 && c->poni.pixel2 == 2e-4, "... leaves the pixels beside it");
    hcy_config_free(c);
    /* A PONI file as JSON, which has no version either. */
    is_int(read_text(&c, "{\"poni_version\": 2.1, \"dist\": 0.4, \"poni1\": 0, \"poni2\": 0, \"rot1\": 0, \"rot2\": 0, "
                         "\"rot3\": 0, \"wavelength\": 1e-10, \"detector\": \"Detector\", \"detector_config\": "
                         "{\"pixel1\": 1e-4, \"pixel2\": 2e-4, \"orientation\": 2}}"),
           0, "a geometry in JSON");
    ok(c && c->poni.pixel2 == 2e-4 && c->poni.orientation == 2 && c->poni.dist == 0.4, "... has its detector");
    hcy_config_free(c);
    is_int(read_text(&c, "{\"version\": 2, \"dist\": 0.4, \"poni1\": 0, \"poni2\": 0, \"rot1\": 0, \"rot2\": 0, "
                         "\"rot3\": 0, \"wavelength\": 1e-10, \"detector\": \"Pilatus100k\"}"),
           0, "a configuration that says a geometry alone");
    ok(c && c->has_poni && c->poni.dist == 0.4, "... has it");
    hcy_config_free(c);
    is_int(read_text(&c, "{\"version\": 4, \"radial_range_min\": 1, \"radial_range_max\": 5}"), 0, "one with a range alone");
    ok(c && c->options.radial_range[1] == 5, "... has it");
    hcy_config_free(c);
}

int main(void)
{
    hcy_config *config = NULL;
    make_folder();
    is_int(hcy_config_read(NULL, "x"), HCY_EINVAL, "nowhere to put it");
    is_int(hcy_config_write(in_folder("x.json"), NULL, NULL), HCY_EINVAL, "no plan");
    if (hcy_config_read(&config, reference("plain")) == HCY_EUNSUPPORTED) {
        skip(1, "%s", hcy_last_error()->text);
        return done_testing();
    }
    hcy_config_free(config);
    test_curves();
    test_round_trip();
    test_refused();
    test_mark();
    test_parallax();
    test_spline();
    test_understood();
    return done_testing();
}
