/* What a master file says of its pixels, for hosts: pixel masks and their bits, flat fields and count rates by their
 * flags, of one energy threshold, behind links, of another shape.  With `make FILE.h5 WORDS`: such a file, for
 * scripts. */
#include "stack_make.h"
#ifdef HAVE_HDF5
#include <hdf5.h>

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

static void put_geometry(hid_t file)
{
    put_number(file, DETECTOR "/detector_distance", 0.1);
    put_number(file, DETECTOR "/beam_center_x", 20);
    put_number(file, DETECTOR "/beam_center_y", 30);
    put_number(file, DETECTOR "/x_pixel_size", 1e-4);
    put_number(file, DETECTOR "/y_pixel_size", 1e-4);
    put_number(file, "/entry/instrument/beam/incident_wavelength", 1);
    hid_t group = H5Gopen2(file, DETECTOR, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1), scalar = H5Screate(H5S_SCALAR);
    H5Tset_size(type, 11);
    hid_t class = H5Acreate2(group, "NX_class", type, scalar, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(class, type, "NXdetector");
    H5Aclose(class);
    H5Sclose(scalar);
    H5Tclose(type);
    H5Gclose(group);
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
    return done_testing();
}
#else
int main(void)
{
    skip_all("built without HDF5");
}
#endif
