/* stack_write.c - writing stacks and curves: what is in the files, and that a disk that is full, a path that
 * is wrong or a file that is there give clean statuses. */
#include "stack_make.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#ifdef HAVE_HDF5
#include <hdf5.h>
#endif

enum { BINS = 7, SIDE = 20 };

/* --- A plan, and results of it --- */

static hcy_azint_plan *make_plan(int error_model)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *plan = NULL;
    poni.dist = 0.1;
    poni.poni1 = poni.poni2 = 1e-3;
    poni.rot1 = 0.01;
    poni.rot2 = -0.02;
    poni.wavelength = 1e-10;
    poni.pixel1 = poni.pixel2 = 1e-4;
    options.npt = BINS;
    options.error_model = error_model;
    options.use_polarization = 1;
    options.polarization = 0.99;
    if (hcy_azint_plan_create(&plan, &poni, SIDE, SIDE, &options))
        bail_out("no plan: %s", hcy_last_error()->text);
    return plan;
}

static hcy_azint_result *make_result(const hcy_azint_plan *plan, double first)
{
    hcy_azint_result *result = NULL;
    if (hcy_azint_result_create(&result, plan))
        bail_out("no result: %s", hcy_last_error()->text);
    for (size_t i = 0; i < result->n_bins; i++) {
        result->intensity[i] = first + (double)i;
        if (result->sigma)
            result->sigma[i] = 0.5 * (double)i;
    }
    return result;
}

/* The whole file, 0-terminated; freed by the caller. */
static char *slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    if (f) {
        size_t n = fread(text, 1, (1 << 16) - 1, f);
        text[n] = 0;
        fclose(f);
    }
    return text;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

/* --- Text --- */

static void test_dat(void)
{
    hcy_azint_plan *plan = make_plan(HCY_ERRORS_POISSON);
    hcy_azint_result *result = make_result(plan, 100);
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_curves_options opts = HCY_CURVES_OPTIONS_INIT;
    hcy_curves *curves = NULL;
    char row[80];
    opts.devices = "cpu";
    opts.mask = "mask.npy";
    is_int(hcy_azint_plan_get_info(&info, plan), 0, "the plan");
    is_int(hcy_curves_open(&curves, in_folder("a.dat"), plan, &opts), 0, "text opens");
    is_int(hcy_curves_append(curves, 3, result, NULL), 0, "a frame");
    is_int(hcy_curves_append(curves, 4, NULL, "block 7 is damaged"), 0, "one that failed");
    is_int(hcy_curves_append(curves, 5, result, NULL), 0, "another frame");
    is_int(hcy_curves_close(curves), 0, "closes");
    char *text = slurp(in_folder("a.dat"));
    static const char *const lines[] = {
        "# == pyFAI calibration ==\n# Distance Sample to Detector: 0.1 m\n# PONI: 1.000e-03, 1.000e-03 m\n",
        "# Rotations: 0.010000 -0.020000 0.000000 rad\n",
        "# == Fit2d calibration ==\n# Distance Sample-beamCenter: 100.025 mm\n",
        "# Center: x=-0.000, y=-10.004 pix\n# Tilt: 1.281 deg  TiltPlanRot: -116.562 deg\n",
        "# Wavelength: 1e-10 m\n# Mask applied: user provided\n# Dark current applied: False\n",
        "# Flat field applied: False\n# Polarization factor: 0.99\n# Normalization factor: 1\n",
        "# Devices: cpu\n",
        "# Mask from: mask.npy\n",
        "# --> ",
        "#       q_nm^-1              I           sigma \n# frame 3\n",
        "\n\n\n# frame 4 failed: block 7 is damaged\n\n\n# frame 5\n"
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (!ok(strstr(text, lines[i]) != NULL, "line %zu of the text", i))
            diag("missing: %s", lines[i]);
    snprintf(row, sizeof row, "\n%14.6e  %14.6e %14.6e\n", info.radial[1], 101.0, 0.5);
    is_int((intmax_t)count(text, row), 2, "rows as pyFAI writes them");
    free(text);
    hcy_azint_result_destroy(result);
    hcy_azint_plan_release(plan);
}

/* Numbers of all sizes, and those between two decimals: as printf writes them. */
static double odd_number(uint64_t *state)
{
    static const double special[] = { 0,         -0.0,   INFINITY, NAN,       9999999.5, 0.99999995,
                                      1.0000005, 2.5e-7, 1e22,     123456.75, 999999.95, 1e-15,
                                      1e-300,    1e300,  1e6,      1e7,       -1,        5e-324 };
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t u = *state >> 11;
    if (u % 10 == 0)
        return special[u / 10 % (sizeof special / sizeof special[0])];
    if (u % 10 == 1)
        return (double)(u / 10 % 100000000) + 0.5;
    return (u & 1 ? -1 : 1) * ldexp((double)u, (int)(u % 140) - 120);
}

static void test_numbers(void)
{
    enum { FRAMES = 3000 };
    hcy_azint_plan *plan = make_plan(HCY_ERRORS_NONE);
    hcy_azint_result *result = make_result(plan, 0);
    hcy_curves *curves = NULL;
    uint64_t state = 1, again = 1;
    int st = hcy_curves_open(&curves, in_folder("numbers.dat"), plan, NULL);
    for (uint64_t f = 0; !st && f < FRAMES; f++) {
        for (size_t i = 0; i < BINS; i++)
            result->intensity[i] = odd_number(&state);
        for (size_t i = 0; i < BINS; i++) /* what is no number is printed without a sign */
            if (isnan(result->intensity[i]))
                result->intensity[i] = copysign(NAN, f % 2 ? 1 : -1);
        st = hcy_curves_append(curves, f, result, NULL);
    }
    is_int(st ? st : hcy_curves_close(curves), 0, "numbers of all sizes are written");
    FILE *f = fopen(in_folder("numbers.dat"), "r");
    char line[256], want[64];
    size_t rows = 0, wrong = 0;
    while (f && fgets(line, sizeof line, f)) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        snprintf(want, sizeof want, "  %14.6e\n", odd_number(&again));
        wrong += strcmp(line + 14, want) != 0;
        rows++;
    }
    if (f)
        fclose(f);
    ok(rows == FRAMES * BINS && !wrong, "as printf would, %zu of %zu", rows - wrong, rows);
    hcy_azint_result_destroy(result);
    hcy_azint_plan_release(plan);
}

static void test_numbered(void)
{
    hcy_azint_plan *plan = make_plan(HCY_ERRORS_NONE);
    hcy_azint_result *result = make_result(plan, 0);
    hcy_curves *curves = NULL;
    is_int(hcy_curves_open(&curves, in_folder("curve_%04d.txt"), plan, NULL), 0, "a numbered path opens");
    is_int(hcy_curves_append(curves, 12, result, NULL), 0, "frame 12");
    is_int(hcy_curves_append(curves, 13, result, NULL), 0, "frame 13");
    is_int(hcy_curves_close(curves), 0, "closes");
    char *text = slurp(in_folder("curve_0012.txt"));
    ok(strstr(text, "curve_0012.txt\n#       q_nm^-1             I \n") && !strstr(text, "# frame"),
       "a file of its own, as pyFAI writes it");
    ok(!access(in_folder("curve_0013.txt"), F_OK), "and the next");
    free(text);
    static const char *const bad[] = { "a%s.dat", "a%d%d.dat", "a%.dat", "a%-3d.dat", "a%99d.dat" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        fails(hcy_curves_open(&curves, in_folder(bad[i]), plan, NULL), HCY_EINVAL, "%", bad[i]);
    hcy_azint_result_destroy(result);
    hcy_azint_plan_release(plan);
}

/* Rows and nothing else. */
static void test_xy(void)
{
    hcy_azint_plan *plans[2] = { make_plan(HCY_ERRORS_NONE), make_plan(HCY_ERRORS_POISSON) };
    for (int sigma = 0; sigma < 2; sigma++) {
        hcy_azint_result *result = make_result(plans[sigma], 100);
        hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
        hcy_curves *curves = NULL;
        int st = hcy_azint_plan_get_info(&info, plans[sigma]);
        if (!st)
            st = hcy_curves_open(&curves, in_folder("rows.xy"), plans[sigma], NULL);
        if (!st)
            st = hcy_curves_append(curves, 0, result, NULL);
        if (!st)
            st = hcy_curves_append(curves, 1, NULL, "it is damaged");
        is_int(st ? st : hcy_curves_close(curves), 0, "rows alone, %d columns", 2 + sigma);
        char want[64 * 2 * BINS] = "", *at = want;
        for (size_t i = 0; i < 2 * BINS; i++) {
            double x = info.radial[i % BINS], y = i < BINS ? 100.0 + (double)i : NAN;
            at += sprintf(at, "%s%14.6e  %14.6e", i == BINS ? "\n\n" : "", x, y);
            at += sigma ? sprintf(at, " %14.6e\n", i < BINS ? 0.5 * (double)i : NAN) : sprintf(at, "\n");
        }
        char *text = slurp(in_folder("rows.xy"));
        is_str(text, want, "are there, NaN for the frame that failed");
        free(text);
        hcy_azint_result_destroy(result);
        hcy_azint_plan_release(plans[sigma]);
    }
}

static void test_stdout(void)
{
    hcy_azint_plan *plan = make_plan(HCY_ERRORS_NONE);
    hcy_azint_result *result = make_result(plan, 0);
    hcy_curves *curves = NULL;
    fflush(stdout);
    int kept = dup(STDOUT_FILENO), fd = open(in_folder("stdout"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (kept < 0 || fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
        bail_out("standard output cannot be turned");
    int st = hcy_curves_open(&curves, "-", plan, NULL);
    if (!st)
        st = hcy_curves_append(curves, 0, result, NULL);
    int closed = hcy_curves_close(curves);
    dup2(kept, STDOUT_FILENO);
    close(fd);
    close(kept);
    is_int(st ? st : closed, 0, "curves on standard output");
    char *text = slurp(in_folder("stdout"));
    ok(strstr(text, "# --> -\n") && count(text, "\n") > BINS, "arrive there");
    free(text);
    hcy_azint_result_destroy(result);
    hcy_azint_plan_release(plan);
}

/* --- What goes wrong --- */

static void test_bad_outputs(void)
{
    hcy_azint_plan *plan = make_plan(HCY_ERRORS_NONE), *other = make_plan(HCY_ERRORS_POISSON);
    hcy_azint_result *result = make_result(plan, 0);
    hcy_curves_options opts = HCY_CURVES_OPTIONS_INIT;
    hcy_curves *curves = NULL;
    static const char *const names[] = { "no/where.dat",
#ifdef HAVE_HDF5
                                         "no/where.h5"
#endif
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        fails(hcy_curves_open(&curves, in_folder(names[i]), plan, NULL), HCY_EIO, "where|No such file",
              names[i]);
    fails(hcy_curves_open(&curves, in_folder("a.csv"), plan, NULL), HCY_EINVAL, "a.csv|.dat|.h5",
          "a suffix unknown");
    fails(hcy_curves_open(&curves, in_folder("dat"), plan, NULL), HCY_EINVAL, "dat|suffix", "no suffix");
    opts.format = "dat";
    is_int(hcy_curves_open(&curves, in_folder("named"), plan, &opts), 0, "the format by its name");
    is_int(hcy_curves_close(curves), 0, "closes");
    opts.keep_existing = 1;
    fails(hcy_curves_open(&curves, in_folder("named"), plan, &opts), HCY_ESTATE, "named|exists",
          "a file that is kept");
    ok(!curves, "and nothing is open");
    opts.size = 3;
    is_int(hcy_curves_open(&curves, in_folder("named"), plan, &opts), HCY_EINVAL, "options of no size");
    mkdir(in_folder("dir.dat"), 0700);
    fails(hcy_curves_open(&curves, in_folder("dir.dat"), plan, NULL), HCY_EIO, "dir.dat|directory",
          "a directory");
    is_int(hcy_curves_open(&curves, in_folder("x.dat"), other, NULL), 0, "curves with errors");
    is_int(hcy_curves_append(curves, 0, result, NULL), HCY_EINVAL, "want results with errors");
    is_int(hcy_curves_close(curves), 0, "closes");
    is_int(hcy_curves_close(NULL), 0, "nothing closes too");
    if (access("/dev/full", W_OK)) {
        skip(2, "no /dev/full here");
    } else {
        opts = (hcy_curves_options)HCY_CURVES_OPTIONS_INIT;
        opts.format = "dat";
        int st = hcy_curves_open(&curves, "/dev/full", plan, &opts);
        fails(st, HCY_EIO, "/dev/full|No space", "text on a full disk");
        opts.format = "h5";
#ifdef HAVE_HDF5
        fails(hcy_curves_open(&curves, "/dev/full", plan, &opts), HCY_EIO, "/dev/full|No space",
              "HDF5 on a full disk");
#else
        fails(hcy_curves_open(&curves, "/dev/full", plan, &opts), HCY_EUNSUPPORTED, "no HDF5",
              "HDF5 without HDF5");
#endif
    }
    hcy_azint_result_destroy(result);
    hcy_azint_plan_release(other);
    hcy_azint_plan_release(plan);
}

/* The stack that is read is never written over, by whatever name. */
static void test_source(void)
{
    hcy_azint_plan *plan = make_plan(HCY_ERRORS_NONE);
    hcy_curves_options opts = HCY_CURVES_OPTIONS_INIT;
    hcy_stack *stack = NULL;
    hcy_curves *curves = NULL;
    put_npy(in_folder("source.npy"), 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), }", "abcd",
            4);
    if (hcy_stack_open(&stack, in_folder("source.npy"), NULL) ||
        symlink("source.npy", in_folder("alias.dat")))
        bail_out("no source");
    opts.source = stack;
    fails(hcy_curves_open(&curves, in_folder("alias.dat"), plan, &opts), HCY_EINVAL,
          "alias.dat|stack that is read", "the source under another name");
    is_int(hcy_curves_open(&curves, in_folder("fresh.dat"), plan, &opts), 0, "another file is fine");
    is_int(hcy_curves_close(curves), 0, "closes");
    char *text = slurp(in_folder("fresh.dat"));
    ok(strstr(text, "# Frames from: ") && strstr(text, "source.npy\n"), "and says where the frames are from");
    free(text);
    hcy_stack_close(stack);
    hcy_azint_plan_release(plan);
}

#ifdef HAVE_HDF5
static hid_t get_rows(hid_t file, const char *name, hsize_t dims[2], double *values, size_t room)
{
    hid_t data = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(data);
    dims[0] = dims[1] = 1;
    H5Sget_simple_extent_dims(space, dims, NULL);
    H5Sclose(space);
    if (dims[0] * dims[1] <= room)
        H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(data);
    return data;
}

/* The text of an attribute, or (`name` NULL) of a scalar dataset; freed by the caller. */
static char *get_text(hid_t file, const char *path, const char *name)
{
    char *text = NULL;
    hid_t object = name ? H5Aopen_by_name(file, path, name, H5P_DEFAULT, H5P_DEFAULT)
                        : H5Dopen2(file, path, H5P_DEFAULT);
    if (object < 0)
        return NULL;
    hid_t type = name ? H5Aget_type(object) : H5Dget_type(object);
    if (H5Tis_variable_str(type) > 0 && H5Tget_cset(type) == H5T_CSET_UTF8)
        (void)(name ? H5Aread(object, type, &text)
                    : H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text));
    H5Tclose(type);
    if (name)
        H5Aclose(object);
    else
        H5Dclose(object);
    return text;
}

static void text_is(hid_t file, const char *path, const char *name, const char *want)
{
    char *got = get_text(file, path, name);
    is_str(got ? got : "(none)", want, "%s%s%s", path, name ? " @" : "", name ? name : "");
    free(got);
}

#define PROCESS "/entry_0000/integrate"
#define RESULTS PROCESS "/results"

/* The tree that pyFAI's HDF5Writer makes, by name, attribute and text. */
static void tree_is_right(hid_t file)
{
    static const char *const texts[][3] = {
        { "/", "NX_class", "NXroot" },
        { "/", "creator", "halcyon" },
        { "/", "default", "entry_0000" },
        { "/entry_0000", "NX_class", "NXentry" },
        { "/entry_0000", "default", "integrate/results" },
        { "/entry_0000/program_name", NULL, "halcyon" },
        { "/entry_0000/title", NULL, "Scanning 1D experiment" },
        { PROCESS, "NX_class", "NXprocess" },
        { PROCESS, "default", "results" },
        { PROCESS "/program", NULL, "halcyon" },
        { PROCESS "/configuration", "NX_class", "NXnote" },
        { PROCESS "/configuration", "desc", "PyFAI worker configuration" },
        { PROCESS "/configuration/type", NULL, "text/json" },
        { PROCESS "/halcyon", "NX_class", "NXcollection" },
        { PROCESS "/halcyon/command", NULL, "--npt 7" },
        { PROCESS "/halcyon/devices", NULL, "cpu,cpu@threads=1" },
        { RESULTS, "NX_class", "NXdata" },
        { RESULTS, "signal", "data" },
        { RESULTS "/title", NULL, "Azimuthaly integrated data" },
        { RESULTS "/data", "interpretation", "spectrum" },
        { RESULTS "/data_errors", "interpretation", "spectrum" },
        { RESULTS "/radial", "interpretation", "scalar" },
        { RESULTS "/radial", "name", "q" },
        { RESULTS "/radial", "unit", "nm^{-1}" },
        { RESULTS "/radial", "units", "nm^-1" },
        { RESULTS "/radial", "long_name", "Diffraction radial direction q (nm^{-1})" },
        { "/azint", "NX_class", "NXentry" },
        { "/azint", "default", "data" },
        { "/azint/definition", NULL, "NXazint1d" },
        { "/azint/data", "NX_class", "NXdata" },
        { "/azint/data", "signal", "I" },
        { "/azint/data", "interpretation", "spectrum" },
        { "/azint/data/I", "long_name", "intensity" },
        { "/azint/data/I_errors", "units", "arbitrary units" },
        { "/azint/data/radial_axis", "long_name", "q" },
        { "/azint/data/radial_axis", "units", "1/angstrom" },
        { "/azint/reduction/input/unit", NULL, "q" },
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        text_is(file, texts[i][0], texts[i][1], texts[i][2]);
    text_is(file, "/entry_0000/program_name", "version", hcy_version());
    text_is(file, PROCESS "/version", NULL, hcy_version());
    static const char *const dates[] = { "/entry_0000/start_time", "/entry_0000/end_time", PROCESS "/date" };
    for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++) {
        char *date = get_text(file, dates[i], NULL);
        ok(date && strlen(date) == 25 && date[10] == 'T' && !strcmp(date + 19, "+00:00"), "%s: %s", dates[i],
           date ? date : "(none)");
        free(date);
    }
    char *axes[2] = { NULL, NULL };
    hid_t attribute = H5Aopen_by_name(file, RESULTS, "axes", H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    if (H5Sget_simple_extent_npoints(space) == 2)
        H5Aread(attribute, type, axes);
    ok(axes[0] && !strcmp(axes[0], ".") && axes[1] && !strcmp(axes[1], "radial"), "the axes of the rows");
    free(axes[0]);
    free(axes[1]);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    double index = 0;
    hsize_t dims[2];
    get_rows(file, PROCESS "/sequence_index", dims, &index, 1);
    ok(index == 1, "the index of the process");
}

static void config_is_right(hid_t file)
{
    static const char *const parts[] = {
        "{\n  \"application\": \"worker\",\n  \"version\": 5,\n  \"poni\": {\n    \"poni_version\": 2.1,\n",
        "\"dist\": 0.10000000000000001,",
        "\"detector\": \"Detector\",\n    \"detector_config\": {\"pixel1\": 0.0001, \"pixel2\": 0.0001",
        "\"wavelength\": 1e-10\n  },\n  \"nbpt_rad\": 7,\n  \"nbpt_azim\": 1,\n  \"unit\": \"q_nm^-1\",",
        "\"polarization_description\": [0.98999999999999999, 0],\n  \"normalization_factor\": 1,\n",
        "\"val_dummy\": null,\n  \"delta_dummy\": null,\n  \"correct_solid_angle\": true,",
        "\"mask_file\": \"a \\\"mask\\\".npy\",\n  \"error_model\": \"poisson\",",
        "\"method\": [\"bbox\", \"csr\", \"cython\"],",
        "\"azimuth_range\": null,\n  \"radial_range\": null,",
        "\"shape\": [20, 20]\n}",
    };
    char *config = get_text(file, PROCESS "/configuration/data", NULL);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!ok(config && strstr(config, parts[i]), "part %zu of the configuration", i))
            diag("missing: %s", parts[i]);
    free(config);
}

static void test_h5(void)
{
    enum { FRAMES = 5000 };
    hcy_azint_plan *plan = make_plan(HCY_ERRORS_POISSON);
    hcy_azint_result *result = make_result(plan, 1);
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_curves_options opts = HCY_CURVES_OPTIONS_INIT;
    hcy_curves *curves = NULL;
    int st = hcy_azint_plan_get_info(&info, plan);
    opts.config = "--npt 7";
    opts.devices = "cpu,cpu@threads=1";
    opts.mask = "a \"mask\".npy";
    is_int(hcy_curves_open(&curves, in_folder("rows.h5"), plan, &opts), 0, "HDF5 opens");
    for (uint64_t i = 0; !st && i < FRAMES; i++) {
        result->intensity[2] = (double)i;
        result->sigma[2] = (double)i / 2;
        st = hcy_curves_append(curves, 2 * i, i == 3 ? NULL : result, NULL);
    }
    is_int(st, 0, "%d frames", FRAMES);
    is_int(hcy_curves_close(curves), 0, "closes");
    hid_t file = H5Fopen(in_folder("rows.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    hsize_t dims[2];
    double *rows = malloc(FRAMES * BINS * sizeof *rows);
    get_rows(file, RESULTS "/data", dims, rows, FRAMES * BINS);
    int right = dims[0] == FRAMES && dims[1] == BINS;
    for (size_t i = 0; right && i < FRAMES; i++)
        right =
            i == 3 ? isnan(rows[i * BINS + 2]) : rows[i * BINS + 2] == (double)i && rows[i * BINS + 6] == 7;
    ok(right, "a row a frame, NaN for the one that failed");
    get_rows(file, RESULTS "/data_errors", dims, rows, FRAMES * BINS);
    ok(dims[0] == FRAMES && isnan(rows[3 * BINS]) && rows[4999 * BINS + 2] == 2499.5, "and its errors");
    get_rows(file, RESULTS "/frame", dims, rows, FRAMES);
    ok(dims[0] == FRAMES && rows[4999] == 9998, "and its number");
    get_rows(file, RESULTS "/radial", dims, rows, FRAMES);
    ok(dims[0] == BINS && !memcmp(rows, info.radial, BINS * sizeof *rows), "the bins");
    text_is(file, PROCESS "/halcyon/plan", NULL, info.hash);
    tree_is_right(file);
    config_is_right(file);
    H5Fclose(file);
    free(rows);
    hcy_azint_result_destroy(result);
    hcy_azint_plan_release(plan);
}

/* Sums of the bins: those of the result, in double also of images, and nowhere but in HDF5. */
static void test_sums(void)
{
    hcy_azint_plan *plan = make_plan(HCY_ERRORS_POISSON);
    hcy_azint_result *result = make_result(plan, 1), *means = NULL;
    hcy_curves_options opts = HCY_CURVES_OPTIONS_INIT;
    hcy_curves *curves = NULL;
    const char *path = in_folder("sums.h5");
    hsize_t dims[2];
    double rows[2 * BINS], norms[BINS];
    opts.sums = 1;
    for (size_t i = 0; i < BINS; i++)
        result->count[i] = 2 * (result->sum_signal[i] = 1e9 + (double)i);
    is_int(hcy_curves_open(&curves, in_folder("sums.dat"), plan, &opts), HCY_EINVAL, "sums have no place in text");
    is_int(hcy_curves_open(&curves, path, plan, &opts), 0, "they have one in HDF5");
    is_int(hcy_curves_append(curves, 0, result, NULL), 0, "a frame");
    is_int(hcy_curves_append(curves, 1, NULL, "damaged"), 0, "one that failed");
    int st = hcy_azint_result_create_means(&means, plan);
    is_int(st ? st : hcy_curves_append(curves, 2, means, NULL), HCY_EINVAL, "means alone have no sums");
    is_int(hcy_curves_close(curves), 0, "closes");
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    get_rows(file, RESULTS "/sum_signal", dims, rows, 2 * BINS);
    ok(dims[0] == 2 && dims[1] == BINS && rows[3] == 1e9 + 3 && isnan(rows[BINS + 3]), "the sums, and NaN");
    get_rows(file, RESULTS "/count", dims, rows, 2 * BINS);
    ok(rows[3] == 2e9 + 6, "pixels");
    get_rows(file, RESULTS "/norm", dims, rows, BINS);
    ok(!hcy_azint_plan_get_norms(norms, plan) && !memcmp(rows, norms, sizeof norms) && norms[3] > 0,
       "what a frame that loses none is divided by");
    H5Fclose(file);
    hcy_azint_result_destroy(means);
    hcy_azint_result_destroy(result);
    hcy_azint_plan_release(plan);
}

/* pyFAI's words for other units, and the frames that the curves come from. */
static void test_h5_links(void)
{
    hcy_azint_plan *plan;
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    hcy_curves_options opts = HCY_CURVES_OPTIONS_INIT;
    hcy_stack_writer_options frames = HCY_STACK_WRITER_OPTIONS_INIT;
    hcy_stack_writer *writer = NULL;
    hcy_stack *stack = NULL;
    hcy_curves *curves = NULL;
    poni.dist = 0.1;
    poni.pixel1 = poni.pixel2 = 1e-4;
    poni.wavelength = 1e-10;
    options.unit = "q_A^-1";
    frames.frames = 1;
    frames.height = frames.width = SIDE;
    frames.pixel_type = HCY_PIXEL_U8;
    char pixels[SIDE * SIDE] = "";
    int st = hcy_azint_plan_create(&plan, &poni, SIDE, SIDE, &options);
    if (!st)
        st = hcy_stack_create(&writer, in_folder("frames.h5"), &frames);
    if (!st)
        st = hcy_stack_write(writer, 0, pixels);
    if (!st)
        st = hcy_stack_writer_close(writer);
    if (!st)
        st = hcy_stack_open(&stack, in_folder("frames.h5"), NULL);
    if (st)
        bail_out("no source: %s", hcy_last_error()->text);
    opts.source = stack;
    is_int(hcy_curves_open(&curves, in_folder("links.h5"), plan, &opts), 0, "curves of frames in HDF5");
    is_int(hcy_curves_close(curves), 0, "closes");
    hid_t file = H5Fopen(in_folder("links.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    text_is(file, RESULTS "/radial", "name", "q");
    text_is(file, RESULTS "/radial", "unit", "\\AA^{-1}");
    text_is(file, "/entry_0000/measurement", "signal", "images_0001");
    text_is(file, PROCESS "/halcyon/source_dataset", NULL, "/entry/data/data");
    hid_t data = H5Dopen2(file, "/entry_0000/measurement/images_0001", H5P_DEFAULT);
    ok(data >= 0, "the link leads to the frames");
    H5Dclose(data);
    char link[64] = "";
    const char *name, *path;
    unsigned flags;
    H5Lget_val(file, "/entry_0000/measurement/images_0001", link, sizeof link, H5P_DEFAULT);
    size_t length = 1 + strlen(link + 1) + 1; /* flags, the file, the dataset */
    ok(H5Lunpack_elink_val(link, length + strlen(link + length) + 1, &flags, &name, &path) >= 0 &&
           !strcmp(name, "frames.h5"),
       "by a name that stays right when the folder moves");
    H5Fclose(file);
    hcy_stack_close(stack);
    hcy_azint_plan_release(plan);
}

/* A process that is killed leaves what was flushed. */
static void test_killed(void)
{
    hcy_azint_plan *plan = make_plan(HCY_ERRORS_POISSON);
    hcy_azint_result *result = make_result(plan, 1);
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        hcy_curves *curves = NULL;
        int st = hcy_curves_open(&curves, in_folder("killed.h5"), plan, NULL);
        for (uint64_t i = 0; !st && i < 6000; i++) {
            if (i == 4000)
                usleep(1100000); /* the next row comes with a flush */
            st = hcy_curves_append(curves, i, result, NULL);
        }
        if (!st)
            raise(SIGKILL);
        _exit(1);
    }
    int status = 0;
    ok(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status), "a writer is killed");
    char partial[512];
    snprintf(partial, sizeof partial, "%s.partial-%ld", in_folder("killed.h5"), (long)child);
    hid_t file = H5Fopen(partial, H5F_ACC_RDONLY, H5P_DEFAULT);
    ok(file >= 0, "its file opens");
    hsize_t dims[2] = { 0 }, errors[2] = { 0 };
    double *rows = calloc(6000 * BINS, sizeof *rows);
    if (file >= 0) {
        get_rows(file, RESULTS "/data", dims, rows, 6000 * BINS);
        get_rows(file, RESULTS "/data_errors", errors, rows, 6000 * BINS);
        get_rows(file, RESULTS "/data", dims, rows, 6000 * BINS);
        H5Fclose(file);
    }
    ok(dims[0] >= 4001 && dims[0] == errors[0] && dims[1] == BINS, "with %d rows", (int)dims[0]);
    int right = 1;
    for (size_t i = 0; i < 4001 * BINS; i++)
        right = right && rows[i] == 1 + (double)(i % BINS);
    ok(right, "which are whole");
    free(rows);
    hcy_azint_result_destroy(result);
    hcy_azint_plan_release(plan);
}

/* --- A disk that fills up: files may grow so far and no further --- */

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static int write_curves(const hcy_azint_plan *plan, const hcy_azint_result *result)
{
    hcy_curves *curves = NULL;
    int st = hcy_curves_open(&curves, in_folder("full.h5"), plan, NULL);
    for (uint64_t i = 0; !st && i < 3000; i++)
        st = hcy_curves_append(curves, i, result, NULL);
    int closed = hcy_curves_close(curves);
    return st ? st : closed;
}

static int write_stack(void)
{
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    hcy_stack_writer *writer = NULL;
    static uint32_t pixels[64 * 64];
    opts.frames = 300;
    opts.height = opts.width = 64;
    opts.pixel_type = HCY_PIXEL_U32;
    opts.codec = HCY_CODEC_BSLZ4;
    hcy_stack_info info = { .height = 64, .width = 64, .pixel_type = HCY_PIXEL_U32, .elem_size = 4 };
    int st = hcy_stack_create(&writer, in_folder("full.h5"), &opts);
    for (uint64_t i = 0; !st && i < opts.frames; i++) {
        make_frame(pixels, &info, i);
        st = hcy_stack_write(writer, i, pixels);
    }
    int closed = hcy_stack_writer_close(writer);
    return st ? st : closed;
}

static void test_full_disk(void)
{
    hcy_azint_plan *plan = make_plan(HCY_ERRORS_NONE);
    hcy_azint_result *result = make_result(plan, 1);
    int curves_clean = 1, stacks_clean = 1;
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 0; limit < 180000; limit = limit * 5 / 4 + 97) {
        limit_files(limit);
        int st = write_curves(plan, result);
        curves_clean = curves_clean && st == HCY_EIO && strstr(hcy_last_error()->text, "full.h5");
        st = write_stack();
        stacks_clean = stacks_clean && st == HCY_EIO && strstr(hcy_last_error()->text, "full.h5");
    }
    limit_files(RLIM_INFINITY);
    ok(curves_clean, "curves on disks of any size that is too small: HCY_EIO");
    ok(stacks_clean, "stacks too");
    is_int(write_curves(plan, result), 0, "and afterwards all is well");
    is_int(write_stack(), 0, "with both");
    is_int((intmax_t)H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0, "nothing of HDF5's is left open");
    hcy_azint_result_destroy(result);
    hcy_azint_plan_release(plan);
}

/* A file that grows, a second apart by 400 rows, until the disk is full: how many of the seconds it got through. */
static int grow(const char *name, rlim_t limit, const hcy_azint_plan *plan, const hcy_azint_result *result)
{
    hcy_curves_options opts = HCY_CURVES_OPTIONS_INIT;
    hcy_curves *curves = NULL;
    opts.growing = 1;
    limit_files(limit);
    int flushed = 0, st = hcy_curves_open(&curves, name, plan, &opts);
    for (uint64_t i = 0; !st && i < 1200; i++) {
        if (i % 400 == 399)
            usleep(1100000); /* the row comes with a flush */
        st = hcy_curves_append(curves, i, result, NULL);
        flushed += !st && i % 400 == 399;
    }
    int closed = hcy_curves_close(curves);
    return st || closed ? flushed : flushed + 1;
}

static void test_grown_on_full_disk(void)
{
    /* Bytes, up to where all has room: metadata meet the end, too. */
    enum { DISKS = 60, FIRST = 220000, STEP = 2003 };
    hcy_azint_plan *plan = make_plan(HCY_ERRORS_POISSON);
    hcy_azint_result *result = make_result(plan, 1);
    char name[DISKS][512];
    pid_t children[DISKS];
    static double rows[1200 * BINS];
    fflush(stdout);
    for (int i = 0; i < DISKS; i++) {
        snprintf(name[i], sizeof name[i], "%s-%d.h5", in_folder("grown"), i);
        if (!(children[i] = fork()))
            _exit(grow(name[i], (rlim_t)(FIRST + i * STEP), plan, result));
    }
    int whole = 0, some = 0, bad = 0;
    for (int i = 0; i < DISKS; i++) {
        int status = -1;
        hsize_t dims[2] = { 0 };
        waitpid(children[i], &status, 0);
        const int flushed = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        hid_t file = flushed > 0 ? H5Fopen(name[i], H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
        whole += flushed == 4;
        some += flushed > 0 && flushed < 4;
        if (file >= 0) {
            get_rows(file, RESULTS "/data", dims, rows, 1200 * BINS);
            H5Fclose(file);
        }
        int right = dims[0] == (hsize_t)(flushed < 3 ? flushed : 3) * 400;
        for (size_t k = 0; k < dims[0] * dims[1]; k++)
            right = right && rows[k] == 1 + (double)(k % BINS);
        if (flushed < 0 || (flushed && !right))
            diag("limit %d: %d flushes, %d rows", FIRST + i * STEP, flushed, (int)dims[0]), bad++;
    }
    ok(whole > 1 && some > 5, "files that grow on full disks: %d on part, %d whole", some, whole);
    is_int(bad, 0, "all of them have the rows of the last flush");
    hcy_azint_result_destroy(result);
    hcy_azint_plan_release(plan);
}

static void test_bad_stacks(void)
{
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    hcy_stack_writer *writer = NULL;
    fails(hcy_stack_create(&writer, in_folder("s.h5"), &opts), HCY_EINVAL, "pixel type", "no pixel type");
    opts.pixel_type = HCY_PIXEL_U8;
    fails(hcy_stack_create(&writer, in_folder("s.h5"), &opts), HCY_EINVAL, "0 frames", "no frames");
    opts.frames = 2;
    opts.height = opts.width = 100000;
    fails(hcy_stack_create(&writer, in_folder("s.h5"), &opts), HCY_ERANGE, "100000",
          "images larger than a chunk may be");
    opts.height = opts.width = 32768;
    opts.frames = (uint64_t)1 << 34; /* 2^64 bytes, of which 64 bits keep nothing */
    fails(hcy_stack_create(&writer, in_folder("s.npy"), &opts), HCY_ERANGE, "17179869184", "more than can be addressed");
    opts.frames = 2;
    opts.height = opts.width = 3;
    opts.codec = HCY_CODEC_BITSHUFFLE;
    fails(hcy_stack_create(&writer, in_folder("s.h5"), &opts), HCY_EUNSUPPORTED, "codec",
          "a codec that is only read");
    opts.codec = HCY_CODEC_NONE;
    opts.dataset = "/a/b/c";
    fails(hcy_stack_create(&writer, in_folder("no/s.h5"), &opts), HCY_EIO, "no/s.h5|No such file",
          "no such folder");
    is_int(hcy_stack_create(&writer, in_folder("s.h5"), &opts), 0, "a plain stack");
    is_int(hcy_stack_write(writer, 1, "123456789"), 0, "its second frame alone");
    fails(hcy_stack_write(writer, 2, "123456789"), HCY_ERANGE, "frame 2|2 frames", "one too many");
    is_int((intmax_t)hcy_stack_writer_bytes(writer), 9, "9 bytes");
    is_int(hcy_stack_writer_close(writer), 0, "closes");
    hcy_stack *stack = NULL;
    char got[9];
    size_t size;
    ok(!hcy_stack_open(&stack, in_folder("s.h5"), NULL) && !hcy_stack_read(&size, got, 9, stack, 1) &&
           !memcmp(got, "123456789", 9),
       "and reads");
    is_int(hcy_stack_frame_size(&size, stack, 0), HCY_ENOENT, "the first was never written");
    hcy_stack_close(stack);
    opts.keep_existing = 1;
    fails(hcy_stack_create(&writer, in_folder("s.h5"), &opts), HCY_ESTATE, "s.h5|exists",
          "a file that is kept");
}
#endif

int main(void)
{
    make_folder();
    test_dat();
    test_numbers();
    test_numbered();
    test_xy();
    test_stdout();
    test_bad_outputs();
    test_source();
#ifdef HAVE_HDF5
    test_h5();
    test_sums();
    test_h5_links();
    test_killed();
    test_full_disk();
    test_grown_on_full_disk();
    test_bad_stacks();
#else
    skip(1, "built without HDF5");
#endif
    return done_testing();
}
