/* stack_write.c - writing stacks and curves: what is in the files, and that a disk that is full, a path that
 * is wrong or a file that is there give clean statuses. */
#include "stack_make.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
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
    hcy_curves_opts opts = HCY_CURVES_OPTS_INIT;
    hcy_curves *curves = NULL;
    char row[80];
    opts.devices = "cpu";
    opts.mask = "mask.npy";
    is_int(hcy_azint_plan_info_get(&info, plan), 0, "the plan");
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
    is_int(hcy_curves_open(&curves, in_folder("curve_%04d.xy"), plan, NULL), 0, "a numbered path opens");
    is_int(hcy_curves_append(curves, 12, result, NULL), 0, "frame 12");
    is_int(hcy_curves_append(curves, 13, result, NULL), 0, "frame 13");
    is_int(hcy_curves_close(curves), 0, "closes");
    char *text = slurp(in_folder("curve_0012.xy"));
    ok(strstr(text, "curve_0012.xy\n#       q_nm^-1             I \n") && !strstr(text, "# frame"),
       "a file of its own, as pyFAI writes it");
    ok(!access(in_folder("curve_0013.xy"), F_OK), "and the next");
    free(text);
    static const char *const bad[] = { "a%s.dat", "a%d%d.dat", "a%.dat", "a%-3d.dat", "a%99d.dat" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        fails(hcy_curves_open(&curves, in_folder(bad[i]), plan, NULL), HCY_EINVAL, "%", bad[i]);
    hcy_azint_result_destroy(result);
    hcy_azint_plan_release(plan);
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
    hcy_curves_opts opts = HCY_CURVES_OPTS_INIT;
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
    is_int(hcy_curves_open(&curves, in_folder("named"), plan, &opts), HCY_EINVAL, "options of another size");
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
        opts = (hcy_curves_opts)HCY_CURVES_OPTS_INIT;
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
    hcy_curves_opts opts = HCY_CURVES_OPTS_INIT;
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

static void text_is(hid_t file, const char *name, const char *want)
{
    char got[256] = "";
    hid_t attribute = H5Aopen_by_name(file, "/entry/azint", name, H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute);
    if (H5Tget_size(type) <= sizeof got)
        H5Aread(attribute, type, got);
    is_str(got, want, "attribute %s", name);
    H5Tclose(type);
    H5Aclose(attribute);
}

static void test_h5(void)
{
    enum { FRAMES = 5000 };
    hcy_azint_plan *plan = make_plan(HCY_ERRORS_POISSON);
    hcy_azint_result *result = make_result(plan, 1);
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_curves_opts opts = HCY_CURVES_OPTS_INIT;
    hcy_curves *curves = NULL;
    int st = hcy_azint_plan_info_get(&info, plan);
    opts.config = "--npt 7";
    opts.devices = "cpu,cpu@threads=1";
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
    get_rows(file, "/entry/azint/intensity", dims, rows, FRAMES * BINS);
    int right = dims[0] == FRAMES && dims[1] == BINS;
    for (size_t i = 0; right && i < FRAMES; i++)
        right =
            i == 3 ? isnan(rows[i * BINS + 2]) : rows[i * BINS + 2] == (double)i && rows[i * BINS + 6] == 7;
    ok(right, "a row a frame, NaN for the one that failed");
    get_rows(file, "/entry/azint/sigma", dims, rows, FRAMES * BINS);
    ok(dims[0] == FRAMES && isnan(rows[3 * BINS]) && rows[4999 * BINS + 2] == 2499.5, "and its errors");
    get_rows(file, "/entry/azint/frame", dims, rows, FRAMES);
    ok(dims[0] == FRAMES && rows[4999] == 9998, "and its number");
    get_rows(file, "/entry/azint/radial", dims, rows, FRAMES);
    ok(dims[0] == BINS && !memcmp(rows, info.radial, BINS * sizeof *rows), "the bins");
    text_is(file, "unit", "q_nm^-1");
    text_is(file, "plan", info.hash);
    text_is(file, "program", "halcyon");
    text_is(file, "version", hcy_version());
    text_is(file, "device", "cpu,cpu@threads=1");
    text_is(file, "configuration", "--npt 7");
    H5Fclose(file);
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
    hcy_stack_writer_opts opts = HCY_STACK_WRITER_OPTS_INIT;
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

static void test_bad_stacks(void)
{
    hcy_stack_writer_opts opts = HCY_STACK_WRITER_OPTS_INIT;
    hcy_stack_writer *writer = NULL;
    fails(hcy_stack_create(&writer, in_folder("s.h5"), &opts), HCY_EINVAL, "pixel type", "no pixel type");
    opts.pixel_type = HCY_PIXEL_U8;
    fails(hcy_stack_create(&writer, in_folder("s.h5"), &opts), HCY_EINVAL, "0 frames", "no frames");
    opts.frames = 2;
    opts.height = opts.width = 100000;
    fails(hcy_stack_create(&writer, in_folder("s.h5"), &opts), HCY_ERANGE, "100000",
          "images larger than a chunk may be");
    opts.height = opts.width = 3;
    opts.codec = HCY_CODEC_LZ4;
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
    ok(!hcy_stack_open(&stack, in_folder("s.h5"), NULL) && !hcy_stack_read(&size, stack, 1, got, 9) &&
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
    test_stdout();
    test_bad_outputs();
    test_source();
#ifdef HAVE_HDF5
    test_h5();
    test_full_disk();
    test_bad_stacks();
#else
    skip(1, "built without HDF5");
#endif
    return done_testing();
}
