/* results.c - reading curves again: what each format's writer has written, failed frames, runs that were cut off,
 * text of other programs, and files that are no curves. */
#include "stack_make.h"
#include <math.h>

enum { RADIAL = 7, AZIM = 3, FRAMES = 4, FAILED = 2, FIRST = 10 };

static hcy_azint_plan *make_plan(int error_model, size_t npt, size_t npt_azim, const char *unit)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *plan = NULL;
    poni.dist = 0.1;
    poni.poni1 = poni.poni2 = 1e-3;
    poni.wavelength = 1e-10;
    poni.pixel1 = poni.pixel2 = 1e-4;
    options.npt = npt;
    options.npt_azim = npt_azim;
    options.unit = unit;
    options.error_model = error_model;
    if (hcy_azint_plan_create(&plan, &poni, 20, 20, &options))
        bail_out("no plan: %s", hcy_last_error()->text);
    return plan;
}

static double value(uint64_t frame, size_t bin)
{
    return 100.25 * (double)frame + (double)bin + 1.0 / 3;
}

/* Frames FIRST, FIRST + 1 ...; one of them failed. */
static void write_file(const char *path, const hcy_azint_plan *plan)
{
    hcy_azint_result *result = NULL;
    hcy_curves *curves = NULL;
    int st = hcy_azint_result_create(&result, plan);
    if (!st)
        st = hcy_curves_open(&curves, path, plan, NULL);
    for (uint64_t f = FIRST; !st && f < FIRST + FRAMES; f++) {
        for (size_t i = 0; i < result->n_bins; i++) {
            result->intensity[i] = value(f, i);
            if (result->sigma)
                result->sigma[i] = 0.5 + (double)i;
        }
        st = hcy_curves_append(curves, f, f == FIRST + FAILED ? NULL : result, "damaged");
    }
    if (!st)
        st = hcy_curves_close(curves);
    if (st)
        bail_out("%s: %s", path, hcy_last_error()->text);
    hcy_azint_result_destroy(result);
}

static int close_to(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b) + 1e-12;
}

/* Is what is read from `path` what write_file() has written?  `numbered`: the file has the frames' numbers. */
static void check_file(const char *path, const hcy_azint_plan *plan, const char *unit, int with_sigma, int numbered)
{
    hcy_azint_plan_info want = HCY_AZINT_PLAN_INFO_INIT;
    hcy_results *results = NULL;
    double intensity[RADIAL * AZIM], sigma[RADIAL * AZIM];
    const int hdf5 = strstr(path, ".h5") != NULL;
    int good = 1, along_chi;
    if (!ok(!hcy_azint_plan_get_info(&want, plan) && !hcy_results_open(&results, path), "%s opens", path)) {
        diag("%s", hcy_last_error()->text);
        return;
    }
    const hcy_results_info *info = hcy_results_get_info(results);
    along_chi = want.n_azim && want.n_radial == 1;
    is_int((intmax_t)info->rows, FRAMES, "all frames are there");
    is_int((intmax_t)info->n_radial, (intmax_t)(along_chi ? want.n_azim : want.n_radial), "bins in radius");
    is_int((intmax_t)info->n_azim, along_chi ? 0 : (intmax_t)want.n_azim, "bins in azimuth");
    is_str(info->unit, unit, "the unit");
    is_int(info->has_sigma, with_sigma, "errors, or none");
    is_str(info->definition, hdf5 && !strcmp(unit, "q_A^-1") ? "NXazint1d" : "", "NeXus' definition, where it has the unit");
    is_int(info->has_sums, 0, "no sums");
    const double *radial = along_chi ? want.azimuthal : want.radial;
    for (size_t i = 0; i < info->n_radial; i++)
        good &= close_to(info->radial[i], radial[i]);
    for (size_t i = 0; i < info->n_azim; i++)
        good &= close_to(info->azimuthal[i], want.azimuthal[i]);
    ok(good, "the axes");
    for (size_t i = 0; info->pixels && i < want.n_bins; i++)
        good &= close_to(info->pixels[i], (double)hcy_azint_plan_norms(plan)[i].count / HCY_AZINT_ONE);
    ok(good && !info->pixels == !hdf5, "the pixels of the bins, or none");
    for (uint64_t row = FRAMES; row-- > 0;) { /* in any order */
        uint64_t frame = 0;
        good &= !hcy_results_read(&frame, intensity, sigma, results, row);
        good &= frame == (numbered ? FIRST + row : row);
        for (size_t i = 0; i < want.n_bins; i++) {
            int failed = row == FAILED;
            double v = value(FIRST + row, i), stored = info->n_azim ? (double)(float)v : v;
            good &= failed ? isnan(intensity[i]) : hdf5 ? intensity[i] == stored : close_to(intensity[i], v);
            good &= failed || !with_sigma ? isnan(sigma[i]) : close_to(sigma[i], 0.5 + (double)i);
        }
        if (!ok(good, "row %u", (unsigned)row))
            diag("frame %u, intensity %g ..., sigma %g ...", (unsigned)frame, intensity[0], sigma[0]);
    }
    is_int(hcy_results_read(NULL, intensity, NULL, results, 0), 0, "without frame and sigma");
    is_int(hcy_results_read(NULL, intensity, NULL, results, FRAMES), HCY_ERANGE, "a row too many");
    hcy_results_close(results);
}

static void test_formats(void)
{
    static const struct {
        const char *name, *unit, *read_unit;
        size_t npt, npt_azim;
        int errors, keeps_sigma, numbered, hdf5;
    } cases[] = {
        { "a.dat", "q_nm^-1", "q_nm^-1", RADIAL, 0, HCY_ERRORS_POISSON, 1, 1, 0 },
        { "b.dat", "2th_deg", "2th_deg", RADIAL, 0, HCY_ERRORS_NONE, 1, 1, 0 },
        { "chi.dat", "q_A^-1", "chi_deg", 1, RADIAL, HCY_ERRORS_POISSON, 1, 1, 0 },
        { "a.xy", "q_nm^-1", "", RADIAL, 0, HCY_ERRORS_POISSON, 1, 0, 0 },
        { "a.edf", "q_A^-1", "q_A^-1", RADIAL, AZIM, HCY_ERRORS_POISSON, 0, 1, 0 },
        { "b.edf", "r_mm", "r_mm", RADIAL, AZIM, HCY_ERRORS_NONE, 0, 1, 0 },
        { "a.h5", "q_A^-1", "q_A^-1", RADIAL, 0, HCY_ERRORS_POISSON, 1, 1, 1 },
        { "b.h5", "log(q.nm)_None", "log(q.nm)_None", RADIAL, 0, HCY_ERRORS_NONE, 1, 1, 1 },
        { "c.h5", "d*2_nm^-2", "d*2_nm^-2", RADIAL, AZIM, HCY_ERRORS_POISSON, 1, 1, 1 },
        { "chi.h5", "q_nm^-1", "chi_deg", 1, RADIAL, HCY_ERRORS_NONE, 1, 1, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
#ifndef HAVE_HDF5
        if (cases[i].hdf5) {
            skip(1, "%s: built without HDF5", cases[i].name);
            continue;
        }
#endif
        hcy_azint_plan *plan = make_plan(cases[i].errors, cases[i].npt, cases[i].npt_azim, cases[i].unit);
        write_file(in_folder(cases[i].name), plan);
        check_file(in_folder(cases[i].name), plan, cases[i].read_unit,
                   cases[i].keeps_sigma && cases[i].errors != HCY_ERRORS_NONE, cases[i].numbered);
        hcy_azint_plan_release(plan);
    }
}

static const char *write_text(const char *name, const char *text, size_t n)
{
    const char *path = in_folder(name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(text, 1, n, f) != n || fclose(f))
        bail_out("%s cannot be written", path);
    return path;
}

static void test_text(void)
{
    static const struct {
        const char *what, *text;
        int status; /* 0, or what opening gives */
        uint64_t rows;
        size_t bins;
    } cases[] = {
        { "rows and nothing else", "1 2\n2 3\n", 0, 1, 2 },
        { "commas, tabs, Windows' line ends", "1,2,3\r\n2,\t3,4\r\n", 0, 1, 2 },
        { "a last line without its end", "1 2\n2 3", 0, 1, 2 },
        { "pyFAI's header with its own mistake", "# a: b\n#{str(dim1_unit):14s}  {'I':14s}\n 1 2 0.1\n", 0, 1, 1 },
        { "a last block that is cut off", "1 2\n2 3\n\n\n1 2\n2 3\n\n\n1 2\n", 0, 2, 2 },
        { "failed frames alone before the first", "# frame 0 failed: x\n\n\n# frame 1\n1 2\n2 3\n", 0, 2, 2 },
        { "no curve at all", "# frame 0 failed: x\n", HCY_EFORMAT, 0, 0 },
        { "nothing", "", HCY_EFORMAT, 0, 0 },
        { "words", "the quick brown fox\n", HCY_EFORMAT, 0, 0 },
        { "one column", "1\n2\n", HCY_EFORMAT, 0, 0 },
        { "blocks of unequal length", "1 2\n\n\n1 2\n2 3\n\n\n1 2\n", HCY_EFORMAT, 0, 0 },
        { "words behind the numbers", "1 2 x\n", HCY_EFORMAT, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hcy_results *results = NULL;
        const char *path = write_text("text.dat", cases[i].text, strlen(cases[i].text));
        int st = hcy_results_open(&results, path);
        if (!is_int(st, cases[i].status, "%s", cases[i].what))
            diag("%s", hcy_last_error()->text);
        if (!st) {
            is_int((intmax_t)hcy_results_get_info(results)->rows, (intmax_t)cases[i].rows, "... curves");
            is_int((intmax_t)hcy_results_get_info(results)->n_radial, (intmax_t)cases[i].bins, "... bins");
        }
        hcy_results_close(results);
    }
}

static void test_others(void)
{
    hcy_results *results = NULL;
    static const char bytes[] = "1 2\n\0\1\2\3";
    static const char image[] = "{\nByteOrder = LowByteFirst ;\nDataType = FloatValue ;\nDim_1 = 1 ;\nDim_2 = 1 ;\n"
                                "Size = 4 ;\n}\nabcd";
    is_int(hcy_results_open(&results, in_folder("nothing.dat")), HCY_ENOENT, "no such file");
    is_int(hcy_results_open(&results, write_text("bytes.dat", bytes, sizeof bytes)), HCY_EFORMAT, "bytes");
    is_int(hcy_results_open(&results, write_text("image.edf", image, sizeof image - 1)), HCY_EFORMAT,
           "an EDF image that is no result");
    ok(strstr(hcy_last_error()->text, "chi") != NULL, "... in words");
    ok(results == NULL, "... and nothing is open");
    /* As long an axis as the header promises would be written to memory. */
    static const char wide[] = "{\nDataType = FloatValue ;\nDim_1 = 400000000 ;\nDim_2 = 1 ;\nq_nm^-1_min = 0 ;\n"
                               "q_nm^-1_max = 1 ;\nchi_min = 0 ;\nchi_max = 0 ;\n}\nabcd";
    is_int(hcy_results_open(&results, write_text("wide.edf", wide, sizeof wide - 1)), HCY_ECORRUPT,
           "an EDF image that is not there");
    is_int(hcy_results_open(NULL, "x"), HCY_EINVAL, "nowhere to put it");
    hcy_results_close(NULL);
#ifdef HAVE_HDF5
    hcy_stack_writer *writer = NULL;
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    opts.frames = 1;
    opts.height = opts.width = 4;
    opts.pixel_type = HCY_PIXEL_U16;
    uint16_t pixels[16] = { 0 };
    int st = hcy_stack_create(&writer, in_folder("stack.h5"), &opts);
    if (!st)
        st = hcy_stack_write(writer, 0, pixels);
    ok(!hcy_stack_writer_close(writer) && !st, "a stack of images");
    is_int(hcy_results_open(&results, in_folder("stack.h5")), HCY_EFORMAT, "an HDF5 file without curves");
    ok(strstr(hcy_last_error()->text, "radial") != NULL, "... in words");
#else
    static const char magic[] = "\211HDF\r\n\032\n";
    is_int(hcy_results_open(&results, write_text("none.h5", magic, 8)), HCY_EUNSUPPORTED, "built without HDF5");
#endif
}

int main(void)
{
    make_folder();
    test_formats();
    test_text();
    test_others();
    return done_testing();
}
