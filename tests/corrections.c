/* What a master file says of its pixels, for hosts: pixel masks and their bits, flat fields and count rates by their
 * flags, of one energy threshold, behind links, of another shape; what it says of its detector, in which units, and
 * which of several entries frames are of.  With `make FILE.h5 WORDS`: such a file, for scripts. */
#include "stack_make.h"
#ifdef HAVE_HDF5
#include <hdf5.h>
#include <math.h>

enum { HEIGHT = 60, WIDTH = 40, N = HEIGHT * WIDTH };
#define DETECTOR "/entry/instrument/detector"

static void put(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims, const void *values)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE), space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
    H5Pset_create_intermediate_group(links, 1);
    hid_t data = H5Dcreate2(file, name, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    if (data < 0 || H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        bail_out("%s cannot be written", name);
    H5Dclose(data);
    H5Sclose(space);
    H5Pclose(links);
}

static void put_number(hid_t file, const char *name, double value)
{
    put(file, name, H5T_NATIVE_DOUBLE, 0, NULL, &value);
}

static void put_flag(hid_t file, const char *name, int flag)
{
    put(file, name, H5T_NATIVE_INT, 0, NULL, &flag);
}

/* Pixels 410 and 411 are noisy, 1230 is the user's, 820 is only interpolated. */
static void put_mask(hid_t file, const char *name, int height)
{
    uint32_t mask[N] = { 0 };
    mask[410] = mask[411] = 1u << 4;
    mask[820] = 1u << 31;
    mask[1230] = 1u << 8;
    put(file, name, H5T_NATIVE_UINT32, 2, (const hsize_t[]){ (hsize_t)height, WIDTH }, mask);
}

static void put_flat(hid_t file, const char *name)
{
    float flat[N];
    for (int i = 0; i < N; i++)
        flat[i] = i % WIDTH < WIDTH / 2 ? 2 : 0.5f;
    put(file, name, H5T_NATIVE_FLOAT, 2, (const hsize_t[]){ HEIGHT, WIDTH }, flat);
}

/* Two frames of 100 counts, pixels 410 and 411 hot. */
static void put_frames(hid_t file, int channels)
{
    uint16_t *pixels = malloc(4 * N * sizeof *pixels);
    for (int i = 0; i < 4 * N; i++)
        pixels[i] = i % N == 410 || i % N == 411 ? 60000 : 100;
    const hsize_t one[] = { 2, HEIGHT, WIDTH }, two[] = { 2, 2, HEIGHT, WIDTH };
    put(file, "/entry/data/data", H5T_NATIVE_UINT16, channels ? 4 : 3, channels ? two : one, pixels);
    free(pixels);
}

static void put_attribute(hid_t file, const char *path, const char *name, const char *text)
{
    hid_t object = H5Oopen(file, path, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1), scalar = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    hid_t attribute = H5Acreate2(object, name, type, scalar, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, type, text) < 0)
        bail_out("%s of %s cannot be written", name, path);
    H5Aclose(attribute);
    H5Sclose(scalar);
    H5Tclose(type);
    H5Oclose(object);
}

static void put_geometry(hid_t file)
{
    put_number(file, DETECTOR "/detector_distance", 0.1);
    put_number(file, DETECTOR "/beam_center_x", 20);
    put_number(file, DETECTOR "/beam_center_y", 30);
    put_number(file, DETECTOR "/x_pixel_size", 1e-4);
    put_number(file, DETECTOR "/y_pixel_size", 1e-4);
    put_number(file, "/entry/instrument/beam/incident_wavelength", 1);
    put_attribute(file, DETECTOR, "NX_class", "NXdetector");
}

static void put_masks(hid_t file, const char *words, const char *path)
{
    char other[600];
    const char *slash = strrchr(path, '/');
    snprintf(other, sizeof other, "%s.mask", path);
    if (strstr(words, "mask"))
        put_mask(file, DETECTOR "/pixel_mask", HEIGHT);
    if (strstr(words, "few")) { /* bits that everybody knows */
        uint32_t few[N] = { 0 };
        few[410] = few[411] = 8;
        put(file, DETECTOR "/pixel_mask", H5T_NATIVE_UINT32, 2, (const hsize_t[]){ HEIGHT, WIDTH }, few);
    }
    if (strstr(words, "more")) {
        uint8_t more[N] = { 0, 1 };
        put(file, DETECTOR "/pixel_mask_2", H5T_NATIVE_UINT8, 2, (const hsize_t[]){ HEIGHT, WIDTH }, more);
    }
    if (strstr(words, "small"))
        put_mask(file, DETECTOR "/pixel_mask", HEIGHT - 1);
    if (strstr(words, "specific"))
        put_mask(file, DETECTOR "/detectorSpecific/pixel_mask", HEIGHT);
    if (strstr(words, "channels"))
        put_mask(file, DETECTOR "/threshold_2_channel/pixel_mask", HEIGHT);
    if (strstr(words, "link") || strstr(words, "broken"))
        H5Lcreate_external(strrchr(other, '/') && slash ? strrchr(other, '/') + 1 : other, "/elsewhere/mask", file,
                           DETECTOR "/pixel_mask", H5P_DEFAULT, H5P_DEFAULT);
    if (strstr(words, "link")) {
        hid_t aside = H5Fcreate(other, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        put_mask(aside, "/elsewhere/mask", HEIGHT);
        H5Fclose(aside);
    }
}

/* A file with what the words name. */
static void make(const char *path, const char *words)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0)
        bail_out("%s cannot be made", path);
    put_frames(file, strstr(words, "channels") != NULL);
    put_geometry(file);
    put_masks(file, words, path);
    if (strstr(words, "applied"))
        put_flag(file, DETECTOR "/pixel_mask_applied", 1);
    if (strstr(words, "dectris") || strstr(words, "nexus") || strstr(words, "silent"))
        put_flat(file, DETECTOR "/flatfield");
    if (strstr(words, "dectris"))
        put_flag(file, DETECTOR "/flatfield_correction_applied", strstr(words, "corrected") != NULL);
    if (strstr(words, "nexus"))
        put_flag(file, DETECTOR "/flatfield_applied", strstr(words, "corrected") != NULL);
    if (strstr(words, "rates"))
        put_flag(file, DETECTOR "/countrate_correction_applied", 0);
    if (strstr(words, "rates"))
        put(file, DETECTOR "/detectorSpecific/countrate_correction_table", H5T_NATIVE_FLOAT, 1, (const hsize_t[]){ 2 },
            (const float[]){ 0, 1 });
    H5Fclose(file);
}

/* --- The library --- */

static hcy_corrections *read_of(const char *words, const char *channel, unsigned which, int want)
{
    hcy_corrections *c = NULL;
    hcy_stack *stack = NULL;
    hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
    opts.channel = channel;
    make(in_folder("m.h5"), words);
    if (hcy_stack_open_with(&stack, in_folder("m.h5"), &opts))
        bail_out("%s", hcy_last_error()->text);
    if (!is_int(hcy_corrections_read(&c, stack, NULL, which), want, "%s: read", words) && !want)
        diag("%s", hcy_last_error()->text);
    hcy_stack_close(stack);
    return c;
}

static void test_mask(const char *words, const char *channel, const char *name)
{
    hcy_corrections *c = read_of(words, channel, HCY_CORRECTION_MASK, 0);
    ok(c && c->mask && c->n_masked == 3 && c->mask[410] && c->mask[411] && c->mask[1230] && !c->mask[820],
       "%s: the lower bits mask", words);
    is_str(c ? c->mask_name : "", name, "%s: where it is", words);
    is_int(c ? c->mask_applied : 9, strstr(words, "applied") ? 1 : -1, "%s: applied", words);
    hcy_corrections_free(c);
}

static void test_masks(void)
{
    test_mask("mask", NULL, DETECTOR "/pixel_mask");
    test_mask("mask applied", NULL, DETECTOR "/pixel_mask");
    test_mask("specific", NULL, DETECTOR "/detectorSpecific/pixel_mask");
    test_mask("channels", "2", DETECTOR "/threshold_2_channel/pixel_mask");
    test_mask("link", NULL, DETECTOR "/pixel_mask");
    hcy_corrections *c = read_of("channels", "1", HCY_CORRECTION_MASK, 0);
    ok(c && !c->mask && !*c->mask_name, "another threshold's mask is not used");
    hcy_corrections_free(c);
    c = read_of("mask more", NULL, HCY_CORRECTION_MASK, 0);
    ok(c && c->n_masked == 4 && c->n_masks == 2 && c->mask[1], "pixel_mask_2 adds to pixel_mask");
    hcy_corrections_free(c);
    c = read_of("mask", NULL, 0, 0);
    ok(c && !c->mask && *c->mask_name, "one that is not wanted is only named");
    hcy_corrections_free(c);
    c = read_of("small", NULL, HCY_CORRECTION_MASK, HCY_EFORMAT);
    ok(strstr(hcy_last_error()->text, "pixel_mask is 59 x 40 pixels, the frames are 60 x 40"), "another shape: said");
    unlink(in_folder("m.h5.mask"));
    c = read_of("broken", NULL, HCY_CORRECTION_MASK, HCY_ENOENT);
    ok(strstr(hcy_last_error()->text, "its pixel mask cannot be used"), "a link that leads nowhere: said");
}

static void test_flat(const char *words, unsigned anyway, float want, int applied)
{
    hcy_corrections *c = read_of(words, NULL, HCY_CORRECTION_FLAT | anyway, 0);
    ok(c && (c->flat ? c->flat[0] == want && c->flat[N - 1] == 1 / want : !want), "%s: what counts are divided by",
       words);
    is_int(c ? c->flat_applied : 9, applied, "%s: applied", words);
    hcy_corrections_free(c);
}

static void test_use(void)
{
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    hcy_corrections *c = NULL;
    hcy_stack *stack = NULL;
    make(in_folder("m.h5"), "mask dectris rates");
    if (hcy_stack_open(&stack, in_folder("m.h5"), NULL) ||
        hcy_corrections_read(&c, stack, NULL, HCY_CORRECTION_MASK | HCY_CORRECTION_FLAT))
        bail_out("%s", hcy_last_error()->text);
    hcy_corrections_use(&options, c, stack);
    ok(options.mask == c->mask && options.mask_height == HEIGHT && options.mask_width == WIDTH &&
           options.flat == c->flat,
       "options point at them");
    const uint8_t own[1] = { 0 };
    options.mask = own;
    hcy_corrections_use(&options, c, stack);
    ok(options.mask == own, "but for what they have already");
    ok(!c->countrate_applied && strstr(c->countrate_table, "/countrate_correction_table"), "count rates: what is said");
    hcy_corrections_free(c);
    is_int(hcy_corrections_read(&c, NULL, NULL, 0), HCY_EINVAL, "no stack");
    is_int(hcy_corrections_read(NULL, stack, NULL, 0), HCY_EINVAL, "nowhere to put it");
    hcy_stack_close(stack);
}

/* --- The detector --- */

/* Adds an entry with a detector at a distance in tenths of a metre, which masks so many pixels, and frames of it. */
static void put_entry(hid_t file, const char *entry, int tenths)
{
    static const uint16_t pixels[N] = { 0 };
    uint32_t mask[N] = { 0 };
    char path[64];
    for (int i = 0; i < tenths; i++)
        mask[i] = 1;
    snprintf(path, sizeof path, "/%s/instrument/detector/distance", entry);
    put_number(file, path, 0.1 * tenths);
    *strrchr(path, '/') = 0;
    put_attribute(file, path, "NX_class", "NXdetector");
    snprintf(path, sizeof path, "/%s/instrument/detector/pixel_mask", entry);
    put(file, path, H5T_NATIVE_UINT32, 2, (const hsize_t[]){ HEIGHT, WIDTH }, mask);
    snprintf(path, sizeof path, "/%s/instrument/beam/incident_wavelength", entry);
    put_number(file, path, tenths);
    snprintf(path, sizeof path, "/%s/data/data", entry);
    put(file, path, H5T_NATIVE_UINT16, 3, (const hsize_t[]){ 1, HEIGHT, WIDTH }, pixels);
}

/* What is said of the frames `dataset` of entries.h5: distance and masked pixels, in tenths and pixels; or a status. */
static void test_entry(const char *dataset, int want, int status, const char *words)
{
    char path[400];
    hcy_detector_info *info = NULL;
    hcy_corrections *c = NULL;
    hcy_stack *stack = NULL;
    snprintf(path, sizeof path, "%s::%s", in_folder("entries.h5"), dataset);
    int got = hcy_detector_read(&info, path);
    if (status)
        fails(got, status, words, dataset);
    else
        ok(!got && info->distance == 0.1 * want && info->wavelength == 1e-10 * want, "%s: its own detector", dataset);
    hcy_detector_info_free(info);
    if (hcy_stack_open(&stack, in_folder("entries.h5"), dataset))
        bail_out("%s", hcy_last_error()->text);
    got = hcy_corrections_read(&c, stack, NULL, HCY_CORRECTION_MASK);
    if (status)
        fails(got, status, words, dataset);
    else
        ok(!got && c->mask && c->n_masked == (uint64_t)want, "%s: its own mask", dataset);
    hcy_corrections_free(c);
    hcy_stack_close(stack);
}

static void test_entries(void)
{
    static const uint16_t pixels[N] = { 0 };
    const char *path = in_folder("entries.h5");
    hcy_detector_info *info = NULL;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put_entry(file, "one", 1);
    put(file, "/aside/frames", H5T_NATIVE_UINT16, 3, (const hsize_t[]){ 1, HEIGHT, WIDTH }, pixels);
    H5Fclose(file);
    test_entry("/one/data/data", 1, 0, NULL);
    test_entry("/aside/frames", 1, 0, NULL);
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    put_entry(file, "two", 5);
    H5Fclose(file);
    test_entry("/one/data/data", 1, 0, NULL);
    test_entry("/two/data/data", 5, 0, NULL);
    test_entry("two/data/data", 5, 0, NULL);
    hcy_isolation isolation = HCY_ISOLATION_INIT;
    if (hcy_isolation_set(&isolation))
        bail_out("%s", hcy_last_error()->text);
    test_entry("/two/data/data", 5, 0, NULL);
    isolation.files = HCY_ISOLATE_NONE;
    if (hcy_isolation_set(&isolation))
        bail_out("%s", hcy_last_error()->text);
    const char *const both = "entries.h5|/one/instrument/detector|/two/instrument/detector";
    test_entry("/aside/frames", 0, HCY_EINVAL, both);
    fails(hcy_detector_read(&info, path), HCY_EINVAL, both, "two entries, and no frames");
    fails(hcy_detector_read(&info, in_folder("entries.h5::/two/data/none")), HCY_ENOENT, "/two/data/none", "no such frames");
}

/* A detector of which a number has a unit; `name` is within its group, or another's. */
static void make_unit(const char *name, double value, const char *unit)
{
    static const char *const numbers[] = { "distance", "beam_center_x", "beam_center_y", "x_pixel_size", "y_pixel_size" };
    char path[128];
    hid_t file = H5Fcreate(in_folder("units.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        snprintf(path, sizeof path, DETECTOR "/%s", numbers[i]);
        if (strcmp(name, numbers[i]))
            put_number(file, path, 1e-4);
    }
    snprintf(path, sizeof path, "%s/%s", *name == '/' ? "" : DETECTOR, name + (*name == '/'));
    put_number(file, path, value);
    put_attribute(file, path, "units", unit);
    put_attribute(file, DETECTOR, "NX_class", "NXdetector");
    H5Fclose(file);
}

/* Numbers that have units: at which member, what it is then (0: the number is not taken), and what is said. */
static void test_units(void)
{
    static const struct {
        const char *name, *unit;
        double value, want;
        size_t member;
    } cases[] = {
#define OF(member) offsetof(hcy_detector_info, member)
        { "distance", "", 0.1, 0.1, OF(distance) },
        { "distance", "cm", 10, 0.1, OF(distance) },
        { "distance", "millimeter", 100, 0.1, OF(distance) },
        { "distance", "metres", 0.1, 0.1, OF(distance) },
        { "distance", "furlong", 0.1, 0, OF(distance) },
        { "x_pixel_size", "micrometer", 75, 75e-6, OF(pixel2) },
        { "x_pixel_size", "\u00b5m", 75, 75e-6, OF(pixel2) },
        { "x_pixel_size", "pixels", 75, 0, OF(pixel2) },
        { "beam_center_x", "px", 8, 8, OF(beam_x) },
        { "beam_center_x", "mm", 2, 20, OF(beam_x) },
        { "beam_center_x", "m", 2e-3, 20, OF(beam_x) },
        { "beam_center_x", "deg", 2, 0, OF(beam_x) },
        { "/entry/instrument/beam/incident_wavelength", "nanometer", 0.1, 1e-10, OF(wavelength) },
        { "/entry/instrument/beam/incident_wavelength", "eV", 12000, 0, OF(wavelength) },
#undef OF
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char words[64];
        const char *name = cases[i].name, *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
        hcy_detector_info *info = NULL;
        hcy_poni poni = HCY_PONI_INIT;
        make_unit(name, cases[i].value, cases[i].unit);
        if (hcy_detector_read(&info, in_folder("units.h5")))
            bail_out("%s", hcy_last_error()->text);
        double got = *(const double *)(const void *)((const char *)info + cases[i].member);
        snprintf(words, sizeof words, "%s in '%s'", last, cases[i].unit);
        ok(fabs(got - cases[i].want) <= 1e-12 * cases[i].want, "%s: %g", words, cases[i].want);
        snprintf(words, sizeof words, "%s is in '%s'", last, cases[i].unit);
        ok(cases[i].want ? !*info->frame_problem : strstr(info->frame_problem, words) != NULL, "... and what is said: '%s'",
           info->frame_problem);
        if (!cases[i].want && *name != '/')
            fails(hcy_detector_geometry(&poni, info, HEIGHT, WIDTH), HCY_ENOENT, words, "no geometry");
        hcy_detector_info_free(info);
    }
}

int main(int argc, char **argv)
{
    if (argc > 3) {
        make(argv[2], argv[3]);
        return 0;
    }
    make_folder();
    test_masks();
    test_flat("dectris", 0, 0.5f, 0);
    test_flat("nexus", 0, 2, 0);
    test_flat("dectris corrected", 0, 0, 1);
    test_flat("nexus corrected", 0, 0, 1);
    test_flat("silent", 0, 0, -1);
    test_flat("silent", HCY_CORRECTION_FLAT_ANYWAY, 2, -1);
    test_use();
    test_entries();
    test_units();
    return done_testing();
}
#else
int main(void)
{
    skip_all("built without HDF5");
}
#endif
