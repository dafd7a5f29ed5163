/* Detectors whose pixels bring their corners: against sums that pyFAI made of the same (reference/
 * make_azint_corners.py), from memory and from a file; and a regular grid given by its corners. */
#include "azint_oracle.h"
#include "azint_sums.h"
#include "reference/azint_corners.h"
#include "stack_make.h"

#include <halcyon/azint.h>
#ifdef HAVE_HDF5
#include <hdf5.h>
#endif

enum { N = BENT_HEIGHT * BENT_WIDTH, BINS = BENT_NPT * BENT_AZIM, NO_PLACE = 77 };
#define FROM_NORM (1.0 / 1099511627776.0)
#define ONE       (HCY_AZINT_ONE / 16777216.0)

/* As in make_azint_corners.py; bent < 0: a regular grid. */
static void make_corners(float *corner, int bent)
{
    for (int i = 0; i < BENT_HEIGHT; i++)
        for (int j = 0; j < BENT_WIDTH; j++)
            for (int k = 0; k < 4; k++, corner += 3) {
                double y = i + (k == 1 || k == 2), x = j + (k >= 2), u = y / 24 - 0.5, v = x / 30 - 0.5;

                corner[0] = (float)(bent > 0 ? 0.004 * (u * u + v * v) : 0);
                corner[1] = (float)(1.0e-3 * (bent < 0 ? y : y + 1.5 * u * v + 0.75 * v * v + 0.25 * (j >= 15)));
                corner[2] = (float)(1.1e-3 * (bent < 0 ? x : x + 1.25 * u * u - 0.5 * u * v + 0.03125 * k));
            }
}

static void make_mask(uint8_t *mask)
{
    for (int i = 0; i < N; i++)
        mask[i] = i / BENT_WIDTH == 3 && i % BENT_WIDTH >= 4 && i % BENT_WIDTH < 9;
}

static hcy_poni make_poni(const float *corners)
{
    hcy_poni poni = HCY_PONI_INIT;

    poni.dist = bent_geometry[0];
    poni.poni1 = bent_geometry[1];
    poni.poni2 = bent_geometry[2];
    poni.rot1 = bent_geometry[3];
    poni.rot2 = bent_geometry[4];
    poni.rot3 = bent_geometry[5];
    poni.wavelength = bent_geometry[6];
    poni.height = BENT_HEIGHT;
    poni.width = BENT_WIDTH;
    poni.corners = corners;
    if (!corners) {
        poni.pixel1 = 1.0e-3;
        poni.pixel2 = 1.1e-3;
    }
    return poni;
}

static hcy_azint_options make_options(int split, const char *unit, int n_azim, const uint8_t *mask)
{
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;

    o.npt = BENT_NPT;
    o.npt_azim = (size_t)n_azim;
    o.unit = unit;
    o.split = split;
    o.mask = mask;
    o.mask_height = BENT_HEIGHT;
    o.mask_width = BENT_WIDTH;
    return o;
}

static hcy_azint_plan *must_plan(const hcy_poni *poni, const hcy_azint_options *o)
{
    hcy_azint_plan *p = NULL;

    if (hcy_azint_plan_create(&p, poni, BENT_HEIGHT, BENT_WIDTH, o))
        bail_out("%s", hcy_last_error()->text);
    return p;
}

static void check_case(const struct bent_case *c)
{
    static float corners[N * 12];
    static uint8_t mask[N];
    double weight[BINS] = { 0 }, moment[BINS] = { 0 }, norm[BINS];
    hcy_azint_options o = make_options(c->split, c->unit, c->n_azim, mask);
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;

    make_corners(corners, c->bent);
    make_mask(mask);
    hcy_poni poni = make_poni(corners);
    hcy_azint_plan *p = must_plan(&poni, &o);
    if (hcy_azint_plan_get_info(&info, p))
        bail_out("%s", hcy_last_error()->text);
    const hcy_azint_bin_norm *norms = hcy_azint_plan_norms(p);
    int wrong = sum_weights(weight, moment, p, N);
    for (size_t b = 0; b < info.n_bins; b++)
        norm[b] = ((double)norms[b].norm[1] * 18446744073709551616.0 + (double)norms[b].norm[0]) * FROM_NORM / ONE;
    double axis = fabs(info.radial[0] - c->radial[0]) + fabs(info.radial[BENT_NPT - 1] - c->radial[1]);
    double w = deviation(weight, c->weight, info.n_bins), m = deviation(moment, c->moment, info.n_bins),
           n = deviation(norm, c->norm, info.n_bins);
    if (!ok((!wrong || c->split) && axis < 1e-4 && w < 2e-6 && m < 2e-6 && n < 2e-6,
            "%s, splitting %d, %s%s", c->unit, c->split, c->bent ? "bent" : "flat", c->n_azim ? ", 2-D" : ""))
        diag("%d pixels are not whole; off by: axes %.2g, weights %.2g, moments %.2g, norms %.2g", wrong, axis, w, m,
             n);
    hcy_azint_plan_release(p);
}

/* A grid's corners give what the grid gives, but for pixel sizes in single precision. */
static void test_grid(int split)
{
    static float corners[N * 12];
    double weight[2][BINS] = { { 0 } }, moment[2][BINS] = { { 0 } };
    hcy_azint_options o = make_options(split, "q_nm^-1", BENT_AZIM, NULL);

    make_corners(corners, -1);
    for (int k = 0; k < 2; k++) {
        hcy_poni poni = make_poni(k ? corners : NULL);
        hcy_azint_plan *p = must_plan(&poni, &o);

        (void)sum_weights(weight[k], moment[k], p, N);
        hcy_azint_plan_release(p);
    }
    ok(deviation(weight[1], weight[0], BINS) < 1e-4 && deviation(moment[1], moment[0], BINS) < 1e-4,
       "a regular grid by its corners, splitting %d", split);
}

static int turns_rows(int orientation)
{
    return orientation == 1 || orientation == 2;
}

static int turns_columns(int orientation)
{
    return orientation == 1 || orientation == 4;
}

/* The same grid by corners that are turned already, as pyFAI writes them: pixels and corners counted from the end. */
static void test_turned_grid(int split, int orientation)
{
    static float corners[N * 12], straight[N * 12];
    double weight[2][BINS] = { { 0 } }, moment[2][BINS] = { { 0 } };
    hcy_azint_options o = make_options(split, "q_nm^-1", BENT_AZIM, NULL);

    make_corners(straight, -1);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4; k++) {
            static const int other_row[4] = { 1, 0, 3, 2 }, other_column[4] = { 3, 2, 1, 0 };
            int row = i / BENT_WIDTH, column = i % BENT_WIDTH, from = k;

            row = turns_rows(orientation) ? BENT_HEIGHT - 1 - row : row;
            column = turns_columns(orientation) ? BENT_WIDTH - 1 - column : column;
            from = turns_rows(orientation) ? other_row[from] : from;
            from = turns_columns(orientation) ? other_column[from] : from;
            memcpy(corners + 12 * i + 3 * k, straight + 12 * (row * BENT_WIDTH + column) + 3 * from,
                   3 * sizeof(float));
        }
    for (int k = 0; k < 2; k++) {
        hcy_poni poni = make_poni(k ? corners : NULL);
        poni.orientation = orientation;
        poni.corners_orientation = k ? orientation : 0;
        hcy_azint_plan *p = must_plan(&poni, &o);

        (void)sum_weights(weight[k], moment[k], p, N);
        hcy_azint_plan_release(p);
    }
    ok(deviation(weight[1], weight[0], BINS) < 1e-4 && deviation(moment[1], moment[0], BINS) < 1e-4,
       "a grid of orientation %d by its corners, splitting %d", orientation, split);
}

/* Corners of one orientation in another: pixel by pixel the others, to the last bit. */
static void test_orientation(int has, int wanted)
{
    static float corners[N * 12], turned[N * 12];
    static uint64_t sums[2][HCY_AZINT_SPANS];
    int rows = turns_rows(has) != turns_rows(wanted), columns = turns_columns(has) != turns_columns(wanted);
    hcy_azint_options o = make_options(HCY_SPLIT_FULL, "q_nm^-1", BENT_AZIM, NULL);

    make_corners(corners, 1);
    for (int i = 0; i < N; i++) {
        int row = i / BENT_WIDTH, column = i % BENT_WIDTH;

        row = rows ? BENT_HEIGHT - 1 - row : row;
        column = columns ? BENT_WIDTH - 1 - column : column;
        memcpy(turned + 12 * i, corners + 12 * (row * BENT_WIDTH + column), 12 * sizeof(float));
    }
    for (int k = 0; k < 2; k++) {
        hcy_poni poni = make_poni(k ? turned : corners);
        hcy_span spans[HCY_AZINT_SPANS];

        poni.orientation = k ? 3 : wanted;
        poni.corners_orientation = k ? 0 : has;
        hcy_azint_plan *p = must_plan(&poni, &o);
        hcy_azint_plan_tables(spans, p);
        for (int s = 1; s < HCY_AZINT_SPANS; s++) {
            sums[k][s] = spans[s].size;
            for (size_t b = 0; b < spans[s].size; b++)
                sums[k][s] = sums[k][s] * 31 + ((const uint8_t *)spans[s].data)[b];
        }
        hcy_azint_plan_release(p);
    }
    ok(!memcmp(sums[0], sums[1], sizeof sums[0]), "corners of orientation %d, in orientation %d", has, wanted);
}

static void test_odd(void)
{
    static float corners[N * 12];
    hcy_azint_options o = make_options(HCY_SPLIT_FULL, "q_nm^-1", 0, NULL);
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_azint_plan *p = NULL;
    char hash[40];

    make_corners(corners, 0);
    hcy_poni poni = make_poni(corners);
    p = must_plan(&poni, &o);
    if (hcy_azint_plan_get_info(&info, p))
        bail_out("no info");
    snprintf(hash, sizeof hash, "%s", info.hash);
    ok(!info.poni.corners, "the plan keeps no pointer");
    hcy_azint_plan_release(p);
    corners[12 * NO_PLACE + 4] = NAN;
    p = must_plan(&poni, &o);
    if (hcy_azint_plan_get_info(&info, p))
        bail_out("no info");
    is_int((intmax_t)info.n_masked, 1, "a pixel that is nowhere is masked");
    ok(strcmp(info.hash, hash) != 0, "the hash knows of corners");
    hcy_azint_plan_release(p);
    poni.height--;
    fails(hcy_azint_plan_create(&p, &poni, BENT_HEIGHT, BENT_WIDTH, &o), HCY_EINVAL, "24 x 30|23 x 30",
          "corners of another shape");
    poni = make_poni(corners);
    poni.corners_orientation = 5;
    fails(hcy_azint_plan_create(&p, &poni, BENT_HEIGHT, BENT_WIDTH, &o), HCY_EINVAL, "orientation", "orientation 5");
    poni = make_poni(NULL);
    strcpy(poni.detector_file, "bent.h5");
    fails(hcy_azint_plan_create(&p, &poni, BENT_HEIGHT, BENT_WIDTH, &o), HCY_EINVAL, "bent.h5|not read",
          "a file that nobody read");
}

#ifdef HAVE_HDF5
static void put(hid_t at, const char *name, int rank, const hsize_t *dims, hid_t type, const void *data)
{
    hid_t space = H5Screate_simple(rank, dims, NULL);
    hid_t set = H5Dcreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (set < 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        bail_out("%s cannot be written", name);
    H5Dclose(set);
    H5Sclose(space);
}

/* As pyFAI writes it; mask NULL: none. */
static void write_detector(const char *path, const float *corners, const uint8_t *mask, const int shape[2],
                           const double pixel[2])
{
    const hsize_t dims[] = { (hsize_t)shape[0], (hsize_t)shape[1], 4, 3 };
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    hid_t group = H5Gcreate2(file, "/entry_0000/pyFAI/Detector", links, H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Tcopy(H5T_C_S1), scalar = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    hid_t class = H5Acreate2(group, "NX_class", type, scalar, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(class, type, &(const char *){ "NXdetector" });
    put(group, "pixel_corners", 4, dims, H5T_NATIVE_FLOAT, corners);
    if (mask)
        put(group, "mask", 2, dims, H5T_NATIVE_UINT8, mask);
    put(group, "pixel_size", 1, (const hsize_t[]){ 2 }, H5T_NATIVE_DOUBLE, pixel);
    put(group, "shape", 1, (const hsize_t[]){ 2 }, H5T_NATIVE_INT, shape);
    H5Aclose(class);
    H5Sclose(scalar);
    H5Tclose(type);
    H5Gclose(group);
    H5Pclose(links);
    H5Fclose(file);
}

/* Of NO_PLACE a corner is not known, if that is wanted. */
static void make_file(const char *path, int lacks_one)
{
    static float corners[N * 12];
    static uint8_t mask[N];
    make_corners(corners, 0);
    make_mask(mask);
    if (lacks_one)
        corners[12 * NO_PLACE + 4] = NAN;
    write_detector(path, corners, mask, (const int[]){ BENT_HEIGHT, BENT_WIDTH }, (const double[]){ 1.0e-3, 1.1e-3 });
}

/* A regular grid of which the first pixel, and one in a thousand, is nowhere. */
static void make_grid(const char *path, int height, int width, double pixel)
{
    float *corners = calloc((size_t)height * width * 12, sizeof *corners), *corner = corners;
    for (int i = 0; i < height * width; i++)
        for (int k = 0; k < 4; k++, corner += 3) {
            corner[1] = i % 1013 ? (float)(pixel * (i / width + (k == 1 || k == 2))) : NAN;
            corner[2] = (float)(pixel * (i % width + (k >= 2)));
        }
    write_detector(path, corners, NULL, (const int[]){ height, width }, (const double[]){ pixel, pixel });
    free(corners);
}

static void put_start(hid_t file, const char *name, const char *time)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(time));
    put(file, name, 0, NULL, type, time);
    H5Tclose(type);
}

/* pyFAI adds an entry to a file that is there, and reads the newest; every number but 0 masks. */
static void test_entries(void)
{
    static int32_t mask[N] = { 0, -1, 256, 1 };
    static const char *const starts[] = { "2026-01-02T03:04:05+02:00", "2026-01-02T03:04:06+01:00", "2025-12-31T23:59:59+00:00" };
    hcy_detector_info *info = NULL;
    for (int i = 0; i < 2; i++) {
        make_file(in_folder("two.h5"), 0);
        hid_t file = H5Fopen(in_folder("two.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
        H5Ocopy(file, "/entry_0000", file, "/entry_0001", H5P_DEFAULT, H5P_DEFAULT);
        put_start(file, "/entry_0000/start_time", starts[0]);
        put_start(file, "/entry_0001/start_time", starts[1 + i]);
        H5Ldelete(file, "/entry_0001/pyFAI/Detector/mask", H5P_DEFAULT);
        put(file, "/entry_0001/pyFAI/Detector/mask", 2, (const hsize_t[]){ BENT_HEIGHT, BENT_WIDTH }, H5T_NATIVE_INT32, mask);
        H5Fclose(file);
        if (!is_int(hcy_detector_read(&info, in_folder("two.h5")), 0, "a file of two detectors"))
            continue;
        ok((info->mask[0] == 0 && info->mask[1] == 1 && info->mask[2] == 1 && info->mask[3] == 1) == !i, "the newest of them");
        hcy_detector_info_free(info);
    }
}

static void test_file(void)
{
    static float corners[N * 12];
    static uint8_t mask[N];
    static const char poni_text[] = "poni_version: 2.1\nDetector: NexusDetector\nDetector_config: {\"filename\": "
                                    "\"bent.h5\"}\nDistance: 0.1\nPoni1: 0\nPoni2: 0\nRot1: 0\nRot2: 0\nRot3: 0\n";
    hcy_detector_info *info = NULL;
    hcy_poni poni = HCY_PONI_INIT, again = HCY_PONI_INIT;
    char text[4096];

    make_corners(corners, 0);
    make_mask(mask);
    make_file(in_folder("bent.h5"), 0);
    put_file(in_folder("bent.poni"), poni_text, sizeof poni_text - 1);
    is_int(hcy_poni_read(&poni, in_folder("bent.poni")), 0, "a PONI file that names a detector's");
    is_str(poni.detector_file, in_folder("bent.h5"), "which lies beside it");
    if (!is_int(hcy_detector_read(&info, poni.detector_file), 0, "the detector's file")) {
        diag("%s", hcy_last_error()->text);
        return;
    }
    ok(info->height == BENT_HEIGHT && info->width == BENT_WIDTH && info->pixel1 == 1.0e-3 && info->pixel2 == 1.1e-3,
       "its size");
    ok(info->corners && !memcmp(info->corners, corners, sizeof corners) && info->mask &&
           !memcmp(info->mask, mask, sizeof mask) && !info->flat && !info->dark,
       "its corners and its mask");
    hcy_detector_to_poni(&poni, info);
    ok(poni.corners == info->corners && poni.detector_is_read && !strcmp(poni.detector->name, "NexusDetector"),
       "in the geometry");
    ok(!hcy_poni_format(text, sizeof text, NULL, &poni) && !hcy_poni_parse(&again, text, strlen(text), "again") &&
           !strcmp(again.detector_file, poni.detector_file),
       "written and read again");
    hcy_detector_info_free(info);
    hid_t file = H5Fopen(in_folder("bent.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    put(file, "/entry_0000/pyFAI/Detector/flatfield", 2, (const hsize_t[]){ 4, 5 }, H5T_NATIVE_FLOAT, corners);
    H5Fclose(file);
    fails(hcy_detector_read(&info, in_folder("bent.h5")), HCY_EFORMAT, "flatfield|shape", "an array of another shape");
    fails(hcy_detector_read(&info, in_folder("none.h5")), HCY_ENOENT, "none.h5", "no file");
    H5Fclose(H5Fcreate(in_folder("none.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    fails(hcy_detector_read(&info, in_folder("none.h5")), HCY_ENOENT, "NXdetector", "no detector");
}
#else
static void test_entries(void)
{
}
static void test_file(void)
{
    skip(1, "built without HDF5");
}
#endif

/* With an argument: writes the detector's file there, for shell scripts; with a second one a pixel has no place. */
int main(int argc, char **argv)
{
#ifdef HAVE_HDF5
    if (argc == 5) {
        make_grid(argv[1], atoi(argv[2]), atoi(argv[3]), atof(argv[4]));
        return 0;
    }
    if (argc > 1) {
        make_file(argv[1], argc > 2);
        return 0;
    }
#endif
    (void)argc;
    (void)argv;
    make_folder();
    for (size_t i = 0; i < sizeof bent_cases / sizeof bent_cases[0]; i++)
        check_case(&bent_cases[i]);
    for (int split = 0; split < 3; split++)
        test_grid(split);
    for (int orientation = 1; orientation <= 4; orientation++) {
        for (int split = 0; split < 3; split++)
            test_turned_grid(split, orientation);
        for (int has = 0; has <= 4; has++)
            test_orientation(has, orientation);
    }
    test_odd();
    test_file();
    test_entries();
    return done_testing();
}
