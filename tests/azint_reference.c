/* Real frames against the curves that pyFAI made of them: an EIGER 4M with three splittings and Poisson
 * errors, and a Pixium with the curve that was published with it.  Data of ../shared/data.
 *
 * Nothing of the library's decoders and kernels is used: the chunk is read raw, decoded with liblz4 and a bit
 * at a time, and integrated by the loop of azint_oracle.h, so that what is wrong here is wrong in the plan.
 */
#include "azint_oracle.h"
#include "tap.h"

#include <halcyon/azint.h>
#include <lz4.h>
#ifdef HAVE_HDF5
#define H5Dread_chunk_vers 1 /* that of HDF5 2 has an argument more */
#include <hdf5.h>
#endif

#define HEIGHT 2167
#define WIDTH  2070
#define N_BINS 2000

static void integrate(hcy_azint_result **r, hcy_azint_plan *p, uint32_t type, const void *image)
{
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_azint_job job;
    uint64_t *sums;

    if (hcy_azint_plan_job(&job, p, type))
        bail_out("%s", hcy_last_error()->text);
    hcy_azint_plan_tables(spans, p);
    sums = malloc(sizeof(*sums) * HCY_AZINT_SUMS * job.n_bins);
    if (!sums || oracle_sums(sums, spans, &job, image))
        bail_out("the frame has masked pixels outside the mask");
    if (hcy_azint_result_create(r, p) || hcy_azint_finish(*r, p, &job, sums, NULL, 1))
        bail_out("%s", hcy_last_error()->text);
    free(sums);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Relative deviations: the median of all bins that have a value, the worst of those with more than 10 pixels.
 */
static void compare(const char *what, const double *got, const double *want, const double *count, int n,
                    double median, double worst)
{
    double *d = malloc(sizeof(*d) * (size_t)n), most = 0;
    int m = 0;

    for (int i = 0; i < n; i++) {
        if (want[i] == 0)
            continue;
        d[m] = fabs(got[i] / want[i] - 1);
        if (count[i] > 10 && !(d[m] <= most))
            most = d[m];
        m++;
    }
    qsort(d, (size_t)m, sizeof(*d), ascending);
    if (!ok(m > n / 2 && d[m / 2] <= median && most <= worst, "%s: median within %g, worst bin within %g",
            what, median, worst))
        diag("%d bins", m);
    diag("%s: median %.2g, worst %.2g", what, d[m / 2], most);
    free(d);
}

#ifdef HAVE_HDF5
/* Columns of a reference file. */
enum { RADIAL, INTENSITY, SIGMA, STD, SEM, SUM_SIGNAL, SUM_VARIANCE, SUM_NORM, SUM_NORM2, COUNT, N_COLUMNS };

static void read_columns(double (*column)[N_BINS], const char *path)
{
    FILE *f = fopen(path, "r");
    int n = 0;

    if (!f || fscanf(f, "#%*[^\n]") == EOF)
        bail_out("%s cannot be read", path);
    while (n < N_BINS * N_COLUMNS && fscanf(f, "%lf", &column[n % N_COLUMNS][n / N_COLUMNS]) == 1)
        n++;
    fclose(f);
    if (n != N_BINS * N_COLUMNS)
        bail_out("%s is short", path);
}

/* Bit b of element e is bit e % 8 of byte e / 8 of plane b. */
static void transpose_bits(uint32_t *out, const uint8_t *planes, size_t n)
{
    for (size_t e = 0; e < n; e++) {
        out[e] = 0;
        for (int b = 0; b < 32; b++)
            out[e] |= (uint32_t)(planes[(size_t)b * (n / 8) + e / 8] >> e % 8 & 1) << b;
    }
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void decode(uint32_t *image, const uint8_t *p, const uint8_t *end)
{
    size_t block = big_endian(p + 8) / 4, at = 0, total = (size_t)HEIGHT * WIDTH;
    uint8_t *planes = malloc(block * 4);

    p += 12;
    while (total - at >= 8) {
        size_t n = total - at < block ? (total - at) / 8 * 8 : block;
        int size = (int)big_endian(p);

        if (end - p < 4 + size ||
            LZ4_decompress_safe((const char *)p + 4, (char *)planes, size, (int)(4 * n)) < 0)
            bail_out("the chunk cannot be decoded");
        transpose_bits(image + at, planes, n);
        p += 4 + size;
        at += n;
    }
    memcpy(image + at, p, (total - at) * 4);
    free(planes);
}

static uint32_t *read_frame(const char *path)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = file < 0 ? -1 : H5Dopen2(file, "/entry/data/data", H5P_DEFAULT);
    hsize_t offset[3] = { 0, 0, 0 }, size = 0;
    uint32_t filters, *image = malloc(sizeof(*image) * HEIGHT * WIDTH);
    uint8_t *chunk = NULL;

    if (set < 0 || H5Dget_chunk_storage_size(set, offset, &size) < 0 || !(chunk = malloc(size)) ||
        H5Dread_chunk(set, H5P_DEFAULT, offset, &filters, chunk) < 0)
        bail_out("%s: no chunk", path);
    decode(image, chunk, chunk + size);
    free(chunk);
    H5Dclose(set);
    H5Fclose(file);
    return image;
}

static void test_eiger(int split, const uint32_t *image, const uint8_t *mask, const hcy_poni *poni)
{
    static const char *const names[] = { "no", "bbox", "full" };
    static double column[N_COLUMNS][N_BINS];
    char name[100];
    const char *path;
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *p = NULL;
    hcy_azint_result *r = NULL;

    snprintf(name, sizeof name, "reference/Eiger4M_%s_q_poisson_npt2000.txt", names[split]);
    if (!(path = test_data(name))) {
        skip(6, "%s is not there", name);
        return;
    }
    read_columns(column, path);
    o.npt = N_BINS;
    o.split = split;
    o.error_model = HCY_ERRORS_POISSON;
    o.mask = mask;
    o.mask_height = HEIGHT;
    o.mask_width = WIDTH;
    o.use_polarization = 1;
    o.polarization = 0.99;
    if (hcy_azint_plan_create(&p, poni, HEIGHT, WIDTH, &o))
        bail_out("%s", hcy_last_error()->text);
    integrate(&r, p, HCY_PIXEL_U32, image);
    diag("splitting %s", names[split]);
    compare("axis", r->radial, column[RADIAL], column[COUNT], N_BINS, 1e-9, 1e-9);
    compare("intensity", r->intensity, column[INTENSITY], column[COUNT], N_BINS, 1e-7, 1e-5);
    compare("sigma", r->sigma, column[SIGMA], column[COUNT], N_BINS, 1e-7, 1e-5);
    compare("std", r->std, column[STD], column[COUNT], N_BINS, 1e-7, 1e-5);
    compare("norm", r->sum_norm, column[SUM_NORM], column[COUNT], N_BINS, 1e-7, 1e-5);
    compare("count", r->count, column[COUNT], column[COUNT], N_BINS, 1e-7, 1e-5);
    hcy_azint_result_destroy(r);
    hcy_azint_plan_release(p);
}

static void test_eigers(void)
{
    const char *path = test_data("detector/eiger1_4m_real.h5"),
               *geometry = test_data("detector/eiger4m.poni");
    hcy_poni poni = HCY_PONI_INIT;
    uint32_t *image;
    uint8_t *mask;

    if (!path || !geometry) {
        skip(18, "detector/eiger1_4m_real.h5 or its PONI is not there");
        return;
    }
    image = read_frame(path);
    mask = malloc((size_t)HEIGHT * WIDTH);
    if (hcy_poni_read(&poni, geometry))
        bail_out("%s", hcy_last_error()->text);
    for (size_t i = 0; i < (size_t)HEIGHT * WIDTH; i++)
        mask[i] = image[i] >= UINT32_MAX - 1;
    for (int split = HCY_SPLIT_NO; split <= HCY_SPLIT_FULL; split++)
        test_eiger(split, image, mask, &poni);
    free(image);
    free(mask);
}
#else
static void test_eigers(void)
{
    skip(18, "built without HDF5");
}
#endif

/* The one strip of pixels of a little-endian TIFF, without a TIFF library. */
static int read_tiff(uint16_t *image, size_t n, const char *path)
{
    FILE *f = fopen(path, "rb");
    uint32_t ifd = 0, value, strip = 0;
    uint16_t entries = 0, tag;
    int good = f && !fseek(f, 4, SEEK_SET) && fread(&ifd, 4, 1, f) && !fseek(f, (long)ifd, SEEK_SET) &&
               fread(&entries, 2, 1, f);

    for (int i = 0; good && i < entries; i++) {
        good = !fseek(f, (long)ifd + 2 + 12 * i, SEEK_SET) && fread(&tag, 2, 1, f) &&
               !fseek(f, 6, SEEK_CUR) && fread(&value, 4, 1, f);
        strip = tag == 273 ? value : strip;
    }
    good = good && strip && !fseek(f, (long)strip, SEEK_SET) && fread(image, 2, n, f) == n;
    if (f)
        fclose(f);
    return good;
}

static void test_pixium(void)
{
    enum { height = 1441, width = 1440, n = 5000 };
    static uint16_t image[height * width];
    static double axis[n], intensity[n];
    const char *path = test_data("detector/pixium/integrated.dat");
    const char *tiff = test_data("detector/pixium/pixium_03150.tif");
    const char *geometry = test_data("detector/pixium/exact_for_integrated_dat.poni");
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_result *r = NULL;
    hcy_azint_plan *p = NULL;
    char line[256];
    int k = 0;

    if (!path || !tiff || !geometry) {
        skip(2, "detector/pixium is not there");
        return;
    }
    FILE *f = fopen(path, "r");
    while (f && k < n && fgets(line, sizeof line, f))
        k += line[0] != '#' && sscanf(line, "%lf %lf", &axis[k], &intensity[k]) == 2;
    if (!f || fclose(f) || k < n || !read_tiff(image, height * width, tiff) || hcy_poni_read(&poni, geometry))
        bail_out("detector/pixium cannot be read");
    o.npt = n;
    o.unit = "2th_deg";
    o.split = HCY_SPLIT_FULL;
    o.use_polarization = 1;
    o.polarization = 0.99;
    o.azimuth_range[0] = -180;
    o.azimuth_range[1] = 180;
    if (hcy_azint_plan_create(&p, &poni, height, width, &o))
        bail_out("%s", hcy_last_error()->text);
    integrate(&r, p, HCY_PIXEL_U16, image);
    /* An older pyFAI, and seven digits: pyFAI 2026.9 itself comes no nearer. */
    compare("Pixium, axis", r->radial, axis, r->count, n, 1e-6, 1e-6);
    compare("Pixium, intensity", r->intensity, intensity, r->count, n, 2e-6, 1e-3);
    hcy_azint_result_destroy(r);
    hcy_azint_plan_release(p);
}

int main(void)
{
    test_eigers();
    test_pixium();
    return done_testing();
}
