/* PONI files of every version, what is said about bad ones, and the detectors known by name against pyFAI's.
 */
#include "reference/azint_cases.h"
#include "tap.h"

#include <halcyon/azint.h>
#include <locale.h>

#define NUMBERS                                                                                              \
    "Distance: 0.2\nPoni1: 0.09\nPoni2: -8.5e-2\nRot1: 0.1\nRot2: -0.2\nRot3: 3\nWavelength: 1e-10\n"
#define V2 "poni_version: 2\nDetector: Eiger4M\nDetector_config: {}\n"

static int parse(hcy_poni *p, const char *text)
{
    return hcy_poni_parse(p, text, strlen(text), "test.poni");
}

static void is_good(const char *text, const char *detector, double pixel, unsigned height, int orientation,
                    const char *what)
{
    hcy_poni p = HCY_PONI_INIT;
    int rc = parse(&p, text);

    if (rc)
        diag("%s", hcy_last_error()->text);
    ok(!rc && !strcmp(p.detector->name, detector) && p.pixel1 == pixel && p.height == height &&
           p.orientation == orientation && p.dist == 0.2 && p.poni1 == 0.09 && p.poni2 == -0.085 &&
           p.rot1 == 0.1 && p.rot2 == -0.2 && p.rot3 == 3 && p.wavelength == 1e-10,
       "%s", what);
}

static void test_good(void)
{
    is_good("# a comment: Distance: 7\nPixelSize1: 0.0001\nPixelSize2: 0.0002\nSplineFile: None\n" NUMBERS,
            "Detector", 1e-4, 0, 0, "version 1");
    is_good("Detector: pilatus1m\nPixelSize1: 0.000172\nPixelSize2: 0.000172\n" NUMBERS, "Pilatus1M", 172e-6,
            1043, 0, "version 1 with a detector");
    is_good(V2 NUMBERS, "Eiger4M", 75e-6, 2167, 0, "version 2");
    is_good("\xef\xbb\xbf" "Detector: Eiger4M\r\nDetector_config: {}\r\n" NUMBERS, "Eiger4M", 75e-6, 2167, 0,
            "a mark of UTF-8 before the first key");
    is_good("Distance: 5\n" V2 "distance : 8\r\n" NUMBERS, "Eiger4M", 75e-6, 2167, 0,
            "the last entry wins, in any case");
    is_good("Detector: Detector\nDetector_config: {\"pixel1\": 1.0e-4, \"pixel2\": 2e-4, \"max_shape\": "
            "null}\n" NUMBERS,
            "Detector", 1e-4, 0, 0, "version 2 without saying so, a detector of any shape");
    is_good("poni_version: 2.1\nDetector: Eiger2_9M\nDetector_config: {\"orientation\": 2}\n" NUMBERS,
            "Eiger2_9M", 75e-6, 3262, 2, "version 2.1");
    is_good("poni_version: 3\nDetector: Eiger2CdTe_4M\nDetector_config: {\"pixel1\": 7.5e-05, \"sensor\": "
            "{\"material\": "
            "\"Cd}Te\", \"thickness\": [1, {\"orientation\": 1}]}, \"Orientation\": 4}\nParallax: "
            "False\n" NUMBERS,
            "Eiger2CdTe_4M", 75e-6, 2162, 4, "version 3, with a sensor");
    is_good("poni_version: 2\nDetector: Detector\nDetector_config: {\"pixel1\": 1e-4, \"pixel2\": 1e-4, "
            "\"max_shape\": "
            "[30, 40]}\n" NUMBERS,
            "Detector", 1e-4, 30, 0, "a shape");
}

/* Status, and the words that have to be in the message. */
static void is_bad(int status, const char *text, const char *words, const char *what)
{
    hcy_poni p = HCY_PONI_INIT;
    int rc = parse(&p, text);

    if (!ok(rc == status && strstr(hcy_last_error()->text, words), "%s: %s", what, hcy_status_name(status)))
        diag("%s: %s", hcy_status_name(rc), rc ? hcy_last_error()->text : "");
}

static void test_bad(void)
{
    static const struct {
        int status;
        const char *text, *words, *what;
    } cases[] = {
        { HCY_EFORMAT, "", "test.poni: no Distance", "nothing" },
        { HCY_EFORMAT, V2 "Poni1: 1\n", "test.poni: no Distance", "no distance" },
        { HCY_EFORMAT, " {\"poni\": {}}", "integrate -j test.poni", "a configuration" },
        { HCY_EUNSUPPORTED, "{\"content\": \"Goniometer calibration v2\"}", "make a PONI file of each", "a goniometer" },
        { HCY_EFORMAT, V2 "Distance: 1\nPoni1: 1\nRot1: 0\n", "test.poni: no Poni2", "no Poni2" },
        { HCY_EFORMAT, V2 "Distance: 1\nPoni1: 1\nPoni2: 1\nRot1: 0\nRot2: 0\n", "no Rot3", "no Rot3" },
        { HCY_EFORMAT, V2 NUMBERS "Distance: near\n", "test.poni:11: Distance is 'near'",
          "words for a number" },
        { HCY_EFORMAT, V2 NUMBERS "Distance: 1.0 m\n", "test.poni:11: Distance is '1.0 m'",
          "more than a number" },
        { HCY_EFORMAT, V2 NUMBERS "Rot2: nan\n", "test.poni:11: Rot2", "NaN" },
        { HCY_EFORMAT, V2 NUMBERS "Poni2:\n", "test.poni:11: Poni2 is ''", "a key without a value" },
        { HCY_EFORMAT, V2 NUMBERS "Wavelength: -1e-10\n", "test.poni:11: Wavelength",
          "a negative wavelength" },
        { HCY_EFORMAT, NUMBERS, "no pixel size", "version 1 without pixel sizes" },
        { HCY_EFORMAT, "poni_version: 2\n" NUMBERS, "no Detector", "version 2 without a detector" },
        { HCY_EFORMAT, "Detector: Detector\nDetector_config: {}\n" NUMBERS, "pixel1",
          "a generic one without pixels" },
        { HCY_EFORMAT, "Detector: Detector\nDetector_config: {\"pixel1\": -1}\n" NUMBERS, "test.poni:2",
          "pixel < 0" },
        { HCY_EFORMAT, "Detector: Eiger4M\nDetector_config: {\"pixel1\": 1\n" NUMBERS, "not a JSON object",
          "bad JSON" },
        { HCY_EFORMAT, "Detector: Eiger4M\nDetector_config: {\"a\": 0x10}\n" NUMBERS, "not a JSON object",
          "a hexadecimal number" },
        { HCY_EFORMAT, "Detector: Eiger4M\nDetector_config: {\"a\": -inf}\n" NUMBERS, "not a JSON object",
          "a number without digits" },
        { HCY_EFORMAT, "Detector: Eiger4M\nDetector_config: {} x\n" NUMBERS, "not a JSON object",
          "more than JSON" },
        { HCY_EFORMAT, "Detector: Eiger4M\nDetector_config: {\"a\": [1, {\"b\": tru}]}\n" NUMBERS, "JSON",
          "bad JSON" },
        { HCY_EFORMAT, "Detector: Eiger4M\nDetector_config: {\"max_shape\": [5]}\n" NUMBERS, "max_shape",
          "bad shape" },
        { HCY_EFORMAT, "Detector: Eiger4M\nDetector_config: {\"max_shape\": [0, 5]}\n" NUMBERS, "max_shape",
          "shape 0" },
        { HCY_EFORMAT, "Detector: Eiger4M\nDetector_config: {\"orientation\": 5}\n" NUMBERS, "orientation",
          "orientation" },
        { HCY_EUNSUPPORTED, "poni_version: 4\n" NUMBERS, "test.poni:1: PONI version 4", "a later version" },
        { HCY_EFORMAT, V2 NUMBERS "Parallax: True\n", "Parallax needs", "parallax" },
        { HCY_EUNSUPPORTED, "Detector: Freelon\nDetector_config: {}\n" NUMBERS, "'Freelon'",
          "a detector not known" },
        { HCY_EUNSUPPORTED, V2 "SplineFile: a.spline\n" NUMBERS, "test.poni:4: splineFile", "a spline of modules" },
        { HCY_EUNSUPPORTED, "Detector: Pilatus1M\nDetector_config: {\"x_offset_file\": \"a\"}\n" NUMBERS,
          "x_offset_file", "a distortion file" },
        { HCY_EUNSUPPORTED, "Detector: Eiger4M\nDetector_config: {\"module_size\": [1, 2]}\n" NUMBERS,
          "module_size", "other modules" },
    };
    hcy_poni p = HCY_PONI_INIT;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        is_bad(cases[i].status, cases[i].text, cases[i].words, cases[i].what);
    is_int(hcy_poni_parse(&p, "a\0b", 3, NULL), HCY_EFORMAT, "bytes that are no text");
    is_int(hcy_poni_parse(NULL, "", 0, NULL), HCY_EINVAL, "no place for it");
    is_int(hcy_poni_read(&p, "/nonexistent/a.poni"), HCY_ENOENT, "no such file");
    ok(strstr(hcy_last_error()->text, "/nonexistent/a.poni") != NULL, "the message names it");
    is_int(hcy_poni_read(&p, "/"), HCY_EIO, "a directory");
}

static void test_format(void)
{
    char text[2048], again[2048];
    hcy_poni p = HCY_PONI_INIT, q = HCY_PONI_INIT;
    size_t n = 0;

    if (parse(&p, "Detector: Eiger2_4M\nDetector_config: {\"orientation\": 2}\n" NUMBERS))
        bail_out("%s", hcy_last_error()->text);
    p.rot1 = 0.1 + 0.2;
    p.poni1 = -1.0 / 3;
    is_int(hcy_poni_format(text, sizeof text, &n, &p), 0, "written");
    ok(n == strlen(text) && !parse(&q, text), "and read again");
    ok(q.dist == p.dist && q.poni1 == p.poni1 && q.poni2 == p.poni2 && q.rot1 == p.rot1 && q.rot2 == p.rot2 &&
           q.rot3 == p.rot3 && q.wavelength == p.wavelength && q.detector == p.detector &&
           q.pixel1 == p.pixel1 && q.height == p.height && q.orientation == 2,
       "the same to the last bit");
    is_int(hcy_poni_format(again, n, NULL, &p), HCY_ERANGE, "no room for it");
    is_int(hcy_poni_format(again, n + 1, NULL, &p), 0, "just enough room");
    is_str(again, text, "the same text");
    q = (hcy_poni)HCY_PONI_INIT;
    q.dist = 1;
    q.pixel1 = q.pixel2 = 1e-4;
    q.height = 20;
    q.width = 10;
    if (hcy_poni_format(text, sizeof text, NULL, &q) || parse(&p, text))
        bail_out("%s", hcy_last_error()->text);
    ok(p.height == 20 && p.width == 10 && p.pixel2 == 1e-4 && p.wavelength == 0,
       "a generic detector with its shape");
}

static void test_locale(void)
{
    static const char *const commas[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR" };
    hcy_poni p = HCY_PONI_INIT;
    char text[2048];
    const char *name = NULL;

    for (size_t i = 0; !name && i < sizeof commas / sizeof commas[0]; i++)
        name = setlocale(LC_NUMERIC, commas[i]);
    if (!name) {
        skip(1, "no locale with decimal commas is installed");
        return;
    }
    ok(!parse(&p, V2 NUMBERS) && p.dist == 0.2 && !hcy_poni_format(text, sizeof text, NULL, &p) &&
           strstr(text, "Distance: 0.2\n"),
       "decimal points under the locale %s", name);
    setlocale(LC_NUMERIC, "C");
}

static void test_files(void)
{
    static const struct {
        const char *file, *detector;
        double dist;
    } files[] = { { "detector/eiger4m.poni", "Eiger4M", 0.1625632751116802 },
                  { "detector/azint_test.poni", "Detector", 1.0 },
                  { "detector/pyfai_mock.poni", "Detector", 0.100009884958 },
                  { "detector/pixium/exact_for_integrated_dat.poni", "Detector", 1.19389178917929 } };

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *path = test_data(files[i].file);
        hcy_poni p = HCY_PONI_INIT;

        if (!path) {
            skip(1, "%s is not there", files[i].file);
            continue;
        }
        int rc = hcy_poni_read(&p, path);
        if (!ok(!rc && !strcmp(p.detector->name, files[i].detector) && p.dist == files[i].dist, "%s",
                files[i].file))
            diag("%s", rc ? hcy_last_error()->text : "other values");
    }
}

static void test_detector(const struct azint_detector *d)
{
    const hcy_detector *found = NULL;
    size_t masked = 0, n = (size_t)d->height * d->width;
    int same = !hcy_detector_find(&found, d->name) && !strcmp(found->name, d->name);

    for (int i = 0; same && d->aliases[i]; i++) {
        const hcy_detector *other = NULL;

        same = !hcy_detector_find(&other, d->aliases[i]) && other == found;
    }
    same = same && fabs(found->pixel1 / d->pixel1 - 1) < 1e-12 &&
           fabs(found->pixel2 / d->pixel2 - 1) < 1e-12 && found->height == d->height &&
           found->width == d->width && found->has_dummy == d->has_dummy;
    if (same && n) {
        uint8_t *mask = malloc(n);

        if (!mask || hcy_detector_mask(mask, found, d->height, d->width))
            bail_out("%s", hcy_last_error()->text);
        for (size_t i = 0; i < n; i++)
            masked += mask[i];
        free(mask);
    }
    ok(same && masked == d->masked, "%s: names, shape, pixels, %u in gaps", d->name, d->masked);
}

static void test_detectors(void)
{
    size_t known = sizeof azint_detectors / sizeof azint_detectors[0];

    for (size_t i = 0; i < known; i++)
        test_detector(&azint_detectors[i]);
}

/* Python's JSON escapes all that is not ASCII. */
static void test_escapes(void)
{
    static const struct {
        const char *text, *name;
    } names[] = { { "/a/m\\u00fcller\\u2028/\\uD83D\\ude00.h5", "/a/m\xc3\xbcller\xe2\x80\xa8/\xf0\x9f\x98\x80.h5" },
                  { "\\u0041\\\\u0042", "A\\u0042" },
                  { "a\\u000aDistance: 1\\u0022\\u001f", "a\nDistance: 1\"\x1f" },
                  { "a\\u00f", NULL }, { "a\\u00fg", NULL }, { "a\\u0000", NULL }, { "a\\ud83d", NULL },
                  { "a\\ud83d\\u0041", NULL }, { "a\\ude00", NULL }, { "a\\n", NULL } };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        hcy_poni p = HCY_PONI_INIT;
        char text[512];
        int n = snprintf(text, sizeof text, "poni_version: 2\nDetector: NexusDetector\n"
                         "Detector_config: {\"filename\": \"%s\"}\n" NUMBERS, names[i].text);
        int status = n > 0 ? parse(&p, text) : -1;

        ok(names[i].name ? !status && !strcmp(p.detector_file, names[i].name) : status == HCY_EFORMAT,
           "a file's name with escapes: %s", names[i].text);
        if (names[i].name) {
            hcy_poni q = HCY_PONI_INIT;
            status = hcy_poni_format(text, sizeof text, NULL, &p);
            ok(!status && !parse(&q, text) && !strcmp(q.detector_file, names[i].name), "... written and read again");
        }
    }
}

int main(void)
{
    test_good();
    test_bad();
    test_format();
    test_locale();
    test_files();
    test_detectors();
    test_escapes();
    return done_testing();
}
