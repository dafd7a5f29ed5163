/* FIT2D's distortion files: a small one that is written here, its pixels against what scipy's bisplev and pyFAI 2026.9
 * make of the same text, which geometries may name one, and files that are none. */
#include "stack_make.h"
#include <halcyon/azint.h>
#include <math.h>
#include <time.h>

enum { HEIGHT = 24, WIDTH = 30 };
#define HEAD   "SPATIAL DISTORTION SPLINE INTERPOLATION COEFFICIENTS\n\n"
#define REGION "  VALID REGION\n 0.0000000E+00 0.0000000E+00 3.0000000E+01 2.4000000E+01\n\n"
#define GRID   "  GRID SPACING, X-PIXEL SIZE, Y-PIXEL SIZE\n 5.0000000E+00 4.8500000E+01 5.0250000E+01\n\n"
#define KNOTS  " 0.0000000E+00 0.0000000E+00 0.0000000E+00 0.0000000E+00 1.0000000E+01\n" \
               " 1.0000000E+01 1.0000000E+01 1.0000000E+01\n"
#define ZEROS  " 0.0000000E+00 0.0000000E+00 0.0000000E+00 0.0000000E+00\n"
#define FLAT   "     8     8\n" KNOTS KNOTS ZEROS ZEROS ZEROS ZEROS "\n"
#define X      "  X-DISTORTION\n"
#define Y      "  Y-DISTORTION\n"

/* Knots that are repeated at both ends, and the same distance apart between. */
static size_t put_knots(double *to, int n, double end)
{
    for (int i = 0; i < n; i++) {
        to[i] = i < 4 ? 0 : end * (i - 3) / (n - 7);
        if (i >= n - 4)
            to[i] = end;
    }
    return (size_t)n;
}

static void put_surface(FILE *f, const char *title, int nx, double end_x, int ny, double end_y, const int c[4])
{
    double numbers[64];
    size_t n = put_knots(numbers, nx, end_x);
    n += put_knots(numbers + n, ny, end_y);
    for (int i = 0; i < (nx - 4) * (ny - 4); i++)
        numbers[n++] = (double)((i * c[0] + c[1]) % c[2] - c[2] / 2) / c[3];
    fprintf(f, "%s%6d%6d", title, nx, ny);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%s%14.7E", i % 5 ? "" : "\n", numbers[i]);
    fprintf(f, "\n\n");
}

/* The knots of y end within the image in x, beyond which the last ones' displacement stays. */
static void put_spline(const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f)
        bail_out("%s cannot be written", path);
    fputs(HEAD REGION GRID, f);
    put_surface(f, X, 10, 32, 9, 24, (const int[4]){ 37, 11, 23, 8 });
    put_surface(f, Y, 9, 28, 11, 24, (const int[4]){ 29, 5, 19, 16 });
    if (fclose(f))
        bail_out("%s cannot be written", path);
}

/* scipy.interpolate.bisplev() of the file's numbers, in x and in y. */
static const struct {
    int i, j;
    double x, y;
} places[] = {
    { 0, 0, 0, -0.25 },
    { 0, 30, 0.560935975657463, -0.5625 },
    { 24, 0, 1.25, -0.0625 },
    { 24, 30, -1.06406402434254, -0.375 },
    { 3, 7, -0.331166268829465, -0.053955078125 },
    { 12, 15, 0.205549240110159, 0.00907851980077743 },
    { 17, 29, 0.271720428930419, -0.199990354938272 },
    { 23, 1, 0.864647779239212, 0.0789270093784867 },
};

/* A place is the corner of the pixels about it. */
static double off_place(const hcy_detector_info *info, size_t n)
{
    double most = 0;
    int found = 0;
    for (int k = 0; k < 4; k++) {
        int row = places[n].i - (k == 1 || k == 2), column = places[n].j - (k >= 2);
        if (row < 0 || column < 0 || row >= HEIGHT || column >= WIDTH)
            continue;
        const float *corner = info->corners + 12 * (row * WIDTH + column) + 3 * k;
        most = fmax(most, fabs(corner[1] - (places[n].i + places[n].y) * 50.25e-6));
        most = fmax(most, fabs(corner[2] - (places[n].j + places[n].x) * 48.5e-6));
        most = fmax(most, fabs(corner[0]));
        found++;
    }
    return found ? most : INFINITY;
}

static void test_values(void)
{
    hcy_detector_info *info = NULL;
    put_spline(in_folder("a.spline"));
    if (!is_int(hcy_detector_read(&info, in_folder("a.spline")), 0, "a distortion file"))
        bail_out("%s", hcy_last_error()->text);
    ok(info->is_spline && info->height == HEIGHT && info->width == WIDTH && info->pixel1 == 50.25 * 1e-6 &&
           info->pixel2 == 48.5 * 1e-6,
       "its shape and pixels");
    for (size_t n = 0; n < sizeof places / sizeof places[0]; n++)
        ok(off_place(info, n) < 2e-10, "the corner at (%d, %d): off by %.2g m", places[n].i, places[n].j,
           off_place(info, n));
    /* pyFAI's mask of a FReLoN with this file. */
    int n_masked = 0, sum = 0;
    for (int i = 0; i < HEIGHT * WIDTH; i++) {
        n_masked += info->mask[i];
        sum += info->mask[i] * (i + 1);
    }
    ok(n_masked == 3 && sum == 363 && info->mask[3 * WIDTH], "pixels outside the valid region");
    hcy_detector_info_free(info);
}

/* --- Geometries --- */

static int parse_with(hcy_poni *poni, const char *head)
{
    char text[512];
    snprintf(text, sizeof text, "%sDistance: 0.005\nPoni1: 0.0005\nPoni2: 0.0007\nRot1: 0\nRot2: 0\nRot3: 0\n"
                                "Wavelength: 1e-10\n", head);
    return hcy_poni_parse(poni, text, strlen(text), "test.poni");
}

static void test_geometries(void)
{
    static const struct {
        const char *head, *detector;
    } good[] = {
        { "SplineFile: a.spline\n", "Detector" },
        { "PixelSize1: 1e-4\nPixelSize2: 1e-4\nSplineFile: a.spline\n", "Detector" },
        { "Detector: FReLoN\nDetector_config: {\"splineFile\": \"a.spline\"}\n", "FReLoN" },
        { "Detector: Detector\nDetector_config: {\"splinefile\": \"a.spline\", \"max_shape\": [24, 30]}\n", "Detector" },
    };
    hcy_detector_info *info = NULL;
    if (hcy_detector_read(&info, in_folder("a.spline")))
        bail_out("%s", hcy_last_error()->text);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char text[4096] = "";
        hcy_poni poni = HCY_PONI_INIT, again = HCY_PONI_INIT;
        is_int(parse_with(&poni, good[i].head), 0, "geometry %zu", i);
        is_str(poni.detector_file, "a.spline", "its distortion");
        hcy_detector_to_poni(&poni, info);
        ok(poni.corners == info->corners && poni.areas == info->areas && poni.height == HEIGHT &&
               poni.pixel1 == info->pixel1,
           "... takes its place");
        ok(!hcy_poni_format(text, sizeof text, NULL, &poni) && strstr(text, "\"splineFile\": \"a.spline\"") &&
               strstr(text, good[i].detector),
           "... is written");
        ok(!hcy_poni_parse(&again, text, strlen(text), "again") && !strcmp(again.detector_file, "a.spline") &&
               !strcmp(again.detector->name, good[i].detector),
           "... and read");
    }
    hcy_detector_info_free(info);
    hcy_poni poni = HCY_PONI_INIT;
    ok(!parse_with(&poni, "Detector: Perkin\nDetector_config: {\"splineFile\": null}\nSplineFile: None\n") &&
           !*poni.detector_file,
       "no distortion");
    fails(parse_with(&poni, "Detector: Eiger4M\nDetector_config: {\"splineFile\": \"a.spline\"}\n"), HCY_EUNSUPPORTED,
          "one piece|Eiger4M", "a distortion of modules");
    fails(parse_with(&poni, "Detector: FReLoN\nDetector_config: {\"splineFile\": 5}\n"), HCY_EFORMAT, "splineFile",
          "a number for a name");
}

/* Twice as large pixels count half as much, as far as the solid angle is corrected for. */
static void test_areas(void)
{
    hcy_detector_info *info = NULL;
    hcy_azint_plan_info seen = HCY_AZINT_PLAN_INFO_INIT;
    double norm[2][2] = { { 0 } };
    if (hcy_detector_read(&info, in_folder("a.spline")))
        bail_out("%s", hcy_last_error()->text);
    for (int twice = 0; twice < 2; twice++) {
        for (size_t i = 0; twice && i < HEIGHT * WIDTH; i++)
            info->areas[i] *= 2;
        for (int corrected = 0; corrected < 2; corrected++) {
            hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
            hcy_azint_plan *plan = NULL;
            hcy_poni poni = HCY_PONI_INIT;
            o.npt = 1;
            o.solid_angle = corrected;
            if (parse_with(&poni, "SplineFile: a.spline\n"))
                bail_out("%s", hcy_last_error()->text);
            hcy_detector_to_poni(&poni, info);
            if (hcy_azint_plan_create(&plan, &poni, HEIGHT, WIDTH, &o) || hcy_azint_plan_get_info(&seen, plan))
                bail_out("%s", hcy_last_error()->text);
            const hcy_azint_bin_norm *bins = hcy_azint_plan_norms(plan);
            norm[twice][corrected] =
                seen.norm_scale * ((double)bins[0].norm[1] * 18446744073709551616.0 + (double)bins[0].norm[0]);
            ok(!seen.poni.corners && !seen.poni.areas, "the plan keeps no pointer");
            hcy_azint_plan_release(plan);
        }
    }
    if (!ok(norm[0][0] == norm[1][0] && fabs(norm[1][1] / norm[0][1] - 2) < 1e-6, "areas count with the solid angle"))
        diag("norms %g, %g; corrected %g, %g", norm[0][0], norm[1][0], norm[0][1], norm[1][1]);
    hcy_detector_info_free(info);
}

/* --- Files that are none --- */

static void test_hostile(void)
{
    static const struct {
        const char *text, *words, *what;
    } cases[] = {
        { HEAD, "no X-DISTORTION", "a head alone" },
        { "", "no X-DISTORTION", "nothing" },
        { HEAD GRID X FLAT Y FLAT, "no VALID REGION", "no region" },
        { HEAD REGION X FLAT Y FLAT, "no GRID SPACING", "no pixels" },
        { HEAD REGION GRID X FLAT, "no Y-DISTORTION", "one distortion" },
        { HEAD "VALID REGION\n", "0 numbers, where 4", "a region at the end" },
        { HEAD "VALID REGION\n 0.0000000E+00 0.0000000E+00\n", "2 numbers, where 4", "half a region" },
        { HEAD "VALID REGION\n 0.0000000E+00           nan 0.0000000E+00 0.0000000E+00\n", "no finite number", "NaN" },
        { HEAD "VALID REGION\n 0.0 0.0 30.0 24.0\n", ":4|no finite number", "other columns" },
        { HEAD "VALID REGION\n 0.0000000E+00 0.0000000E+00 1.0000000E+09 1.0000000E+09\n\n" GRID X FLAT Y FLAT,
          "VALID REGION has", "a giant" },
        { HEAD "VALID REGION\n 0.0000000E+00 0.0000000E+00-1.0000000E+01 1.0000000E+01\n\n" GRID X FLAT Y FLAT,
          "VALID REGION has", "a region that ends before it begins" },
        { HEAD REGION "GRID SPACING, X-PIXEL SIZE, Y-PIXEL SIZE\n 5.0000000E+00 0.0000000E+00 5.0250000E+01\n" X FLAT Y FLAT,
          "pixels are", "no size" },
        { HEAD REGION GRID X "     7     8\n" KNOTS KNOTS, "numbers of knots", "too few knots" },
        { HEAD REGION GRID X " -8 8\n" KNOTS KNOTS, "numbers of knots", "a negative number" },
        { HEAD REGION GRID X " 8\n" KNOTS KNOTS, "numbers of knots", "one number" },
        { HEAD REGION GRID X "4294967295 4294967295\n" KNOTS KNOTS, "numbers of knots", "numbers that overflow" },
        { HEAD REGION GRID X " 30000 30000\n" KNOTS KNOTS, "too short", "more than there is" },
        { HEAD REGION GRID X, "numbers of knots", "a title at the end" },
        { HEAD REGION GRID X "     8     8\n" KNOTS KNOTS ZEROS ZEROS ZEROS "\n" Y FLAT, "28 numbers, where 32",
          "too few coefficients" },
        { HEAD REGION GRID X "     8     8\n" KNOTS KNOTS ZEROS ZEROS ZEROS ZEROS ZEROS "\n" Y FLAT, "more numbers",
          "too many" },
        { HEAD REGION GRID X "     8     8\n" ZEROS ZEROS KNOTS ZEROS ZEROS ZEROS ZEROS "\n" Y FLAT, "span nothing",
          "knots that are one" },
        { HEAD REGION GRID X "     8     8\n 1.0000000E+00 0.0000000E+00 0.0000000E+00 0.0000000E+00\n" KNOTS ZEROS ZEROS
          ZEROS ZEROS ZEROS "\n" Y FLAT, "fall from 1 to 0", "knots that fall" },
        { HEAD REGION GRID X FLAT X FLAT, "second time", "the same twice" },
        { HEAD REGION GRID X "     8     8\n" KNOTS KNOTS ZEROS ZEROS ZEROS
          " 0.0000000E+00 0.0000000E+00 0.0000000E+00 1.0000000E+30\n\n" Y FLAT, "1e+30 pixels", "a giant's coefficient" },
    };
    hcy_detector_info *info = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_file(in_folder("b.spline"), cases[i].text, strlen(cases[i].text));
        fails(hcy_detector_read(&info, in_folder("b.spline")), HCY_EFORMAT, cases[i].words, cases[i].what);
    }
    put_file(in_folder("b.spline"), HEAD "\0" REGION, sizeof HEAD + sizeof REGION);
    fails(hcy_detector_read(&info, in_folder("b.spline")), HCY_EFORMAT, "no text", "a zero");
    fails(hcy_detector_read(&info, in_folder("c.spline")), HCY_ENOENT, "c.spline", "no file");
    put_file(in_folder("named.txt"), HEAD REGION GRID X FLAT Y FLAT, sizeof HEAD REGION GRID X FLAT Y FLAT - 1);
    ok(!hcy_detector_read(&info, in_folder("named.txt")) && info->is_spline, "known by its first line");
    hcy_detector_info_free(info);
}

/* All coefficients in one line, which takes no longer than many lines do. */
static void test_line(void)
{
    enum { KNOTS_EACH = 384, NUMBERS = 2 * KNOTS_EACH + (KNOTS_EACH - 4) * (KNOTS_EACH - 4) };
    hcy_detector_info *info = NULL;
    double knots[KNOTS_EACH];
    FILE *f = fopen(in_folder("line.spline"), "w");
    if (!f)
        bail_out("line.spline cannot be written");
    put_knots(knots, KNOTS_EACH, 30);
    fputs(HEAD REGION GRID, f);
    for (int k = 0; k < 2; k++) {
        fprintf(f, "%s%6d%6d\n", k ? Y : X, KNOTS_EACH, KNOTS_EACH);
        for (int i = 0; i < NUMBERS; i++)
            fprintf(f, "%14.7E", i < 2 * KNOTS_EACH ? knots[i % KNOTS_EACH] : 0);
        fputs("\n\n", f);
    }
    if (fclose(f))
        bail_out("line.spline cannot be written");
    clock_t start = clock();
    int st = hcy_detector_read(&info, in_folder("line.spline"));
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    is_int(st, 0, "a line of %d numbers", NUMBERS);
    ok(seconds < 3, "... within 3 s of processor time");
    diag("%.3f s", seconds);
    hcy_detector_info_free(info);
}

/* With an argument: writes the file there, for shell scripts. */
int main(int argc, char **argv)
{
    if (argc > 1) {
        put_spline(argv[1]);
        return 0;
    }
    make_folder();
    test_values();
    test_geometries();
    test_areas();
    test_hostile();
    test_line();
    return done_testing();
}
