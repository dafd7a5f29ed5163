/* recon_files.c - for tests of halcyon recon: arrays compared, spoilt, and written as ISMRMRD's acquisitions.
 *
 *     recon_files error IMAGE REFERENCE LIMIT    the relative distance of their magnitudes is no more than that
 *     recon_files near IMAGE REFERENCE LIMIT     ... of the numbers, times the one that brings it nearest
 *     recon_files spoil IN OUT I                 a copy whose number I is NaN
 *     recon_files scale IN OUT FACTOR            a copy times that
 *     recon_files fill LIKE OUT VALUE            as many real numbers, all of that value
 *     recon_files decay IN TIMES OUT RATE        a copy times exp(-RATE times each number's time, again and again)
 *     recon_files ramp OUT N X Y                 phases -2 pi f X of N frequencies f around 0 in cycles, then of Y
 *     recon_files grid IMAGE OUT WHAT            acquisitions on a grid, as of ismrmrd-tools: twice as many samples as
 *                                                pixels, noise in front; WHAT: plain, planes (3-D), outside,
 *                                                reversed (each second line), radial (by their header), bare (without
 *                                                one),
 *                                                dwell5, dwell20 (noise that takes so many us a sample, the image 10),
 *                                                dwell0 (unsaid, with a bandwidth of noise in the header),
 *                                                embedded, separate (a line is for calibration, by their header),
 *                                                fine, coarse, empty (of other pixels, or none, by their header),
 *                                                encodings (a line of another), two (slices by turns, the second one
 *                                                twice as bright), uneven (without the last of these)
 *     recon_files noisy SAMPLES OUT NOISE        [coils][...] with noise, the more of it the later the coil, a third
 *                                                of it of all; such noise alone
 *     recon_files lines OUT COILS COUNTER N...   acquisitions with coordinates, by turns N of an 8 x 8 grid of each
 *                                                image, which COUNTER (0: encoding step 1) says: a point, each time
 *                                                elsewhere, of k (c + 1) in image k and coil c
 *     recon_files epi OUT UP FLAT DOWN DWELL [DELAY [SHIFT PHASE [HOW]]]
 *                                                EPI of a point at row 6 and column 11 of 16 x 16, by such a lobe (us),
 *                                                whose first sample is so late (0: the middle of the lobe is the
 *                                                centre's); of a box in two slices, two shots and coils, with
 *                                                navigators, whose reversed lines are so many samples beside the others
 *                                                and have such a phase; HOW: mrd_epi.h
 *     recon_files slices OUT WHAT N              N slices of two points as of lines, 4 mm apart in an oblique stack:
 *                                                even, mirrored, uneven, staggered, turned or with a lone contrast (one
 *                                                of them), together (in one place), tables (one each), moving,
 *                                                crooked or endless (by their headers), silent or hushed (one of
 *                                                them), slabs (3-D), counted (lines of the second half are
 *                                                repetition 1, all have some average, phase and set)
 *     recon_files counted IMAGES [SERIES]        what ISMRMRD's images are counted by: average, slice, contrast, phase,
 *                                                repetition, set, time stamps, image and series index
 *     recon_files places IMAGES                  where ISMRMRD's images are
 *     recon_files peak IMAGE                     its largest number's row and column, its magnitude and the next one's
 *     recon_files mrd SAMPLES TRAJECTORY OUT     acquisitions of [coils][spokes][samples] and [spokes][samples][axes]
 */
#include "tap.h"
#include <complex.h>
#include <halcyon/host_array.h>
#ifdef HAVE_HDF5
#include "mrd_epi.h"
#include "mrd_make.h"
#endif

static hcy_host_array take_file(const char *path)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    if (hcy_host_array_read(&a, path))
        bail_out("%s", hcy_last_error()->text);
    return a;
}

static size_t count_of(const hcy_host_array *a)
{
    size_t n;
    if (hcy_host_array_count(&n, a))
        bail_out("%s", hcy_last_error()->text);
    return n;
}

static double real_of(const hcy_host_array *a, size_t i)
{
    return a->bytes == 8 ? ((double *)a->data)[i] : (double)((float *)a->data)[i];
}

static double magnitude_of(const hcy_host_array *a, size_t i)
{
    return a->is_complex ? hypot(real_of(a, 2 * i), real_of(a, 2 * i + 1)) : fabs(real_of(a, i));
}

static int compare_arrays(const char *image, const char *reference, double limit)
{
    hcy_host_array a = take_file(image), b = take_file(reference);
    double off = 0, all = 0;
    size_t n = count_of(&a);
    if (n != count_of(&b))
        bail_out("%s has %zu numbers, %s %zu", image, n, reference, count_of(&b));
    for (size_t i = 0; i < n; i++) {
        off += pow(magnitude_of(&a, i) - magnitude_of(&b, i), 2);
        all += pow(magnitude_of(&b, i), 2);
    }
    hcy_host_array_free(&a);
    hcy_host_array_free(&b);
    printf("%.4f\n", sqrt(off / all));
    return !(sqrt(off / all) <= limit);
}

static int find_peak(const char *image)
{
    hcy_host_array a = take_file(image);
    const size_t n = count_of(&a), width = (size_t)a.shape[a.rank - 1];
    size_t peak = 0;
    double next = 0;
    for (size_t i = 1; i < n; i++)
        peak = magnitude_of(&a, i) > magnitude_of(&a, peak) ? i : peak;
    for (size_t i = 0; i < n; i++)
        next = i != peak ? fmax(next, magnitude_of(&a, i)) : next;
    printf("%zu %zu %.2f %.2f\n", peak / width, peak % width, magnitude_of(&a, peak), next);
    hcy_host_array_free(&a);
    return 0;
}

static double complex number_of(const hcy_host_array *a, size_t i)
{
    return a->is_complex ? real_of(a, 2 * i) + I * real_of(a, 2 * i + 1) : real_of(a, i);
}

/* Programs scale their images and samples differently. */
static int compare_scaled(const char *image, const char *reference, double limit)
{
    hcy_host_array a = take_file(image), b = take_file(reference);
    double complex both = 0;
    double own = 0, off = 0, all = 0;
    const size_t n = count_of(&a);
    if (n != count_of(&b))
        bail_out("%s has %zu numbers, %s %zu", image, n, reference, count_of(&b));
    for (size_t i = 0; i < n; i++) {
        both += conj(number_of(&a, i)) * number_of(&b, i);
        own += pow(cabs(number_of(&a, i)), 2);
        all += pow(cabs(number_of(&b, i)), 2);
    }
    const double complex scale = both / own;
    for (size_t i = 0; i < n; i++)
        off += pow(cabs(scale * number_of(&a, i) - number_of(&b, i)), 2);
    hcy_host_array_free(&a);
    hcy_host_array_free(&b);
    printf("%.2e, scale %.6g %+.3gi\n", sqrt(off / all), creal(scale), cimag(scale));
    return !(sqrt(off / all) <= limit);
}

static void put_real(hcy_host_array *a, size_t i, double value)
{
    if (a->bytes == 8)
        ((double *)a->data)[i] = value;
    else
        ((float *)a->data)[i] = (float)value;
}

static int change_array(const char *from, const char *to, long spoilt, double factor)
{
    hcy_host_array a = take_file(from);
    long reals = (long)count_of(&a) * (a.is_complex ? 2 : 1);
    for (long i = 0; i < reals; i++) {
        put_real(&a, (size_t)i, i == spoilt ? NAN : factor * real_of(&a, (size_t)i));
    }
    if (hcy_host_array_write(&a, to))
        bail_out("%s", hcy_last_error()->text);
    hcy_host_array_free(&a);
    return 0;
}

static int fill_array(const char *like, const char *to, double value)
{
    hcy_host_array a = take_file(like);
    a.is_complex = false;
    for (size_t i = 0; i < count_of(&a); i++)
        put_real(&a, i, value);
    if (hcy_host_array_write(&a, to))
        bail_out("%s", hcy_last_error()->text);
    hcy_host_array_free(&a);
    return 0;
}

static int decay_samples(const char *from, const char *times, const char *to, double rate)
{
    hcy_host_array a = take_file(from), t = take_file(times);
    for (size_t i = 0; i < 2 * count_of(&a); i++)
        put_real(&a, i, real_of(&a, i) * exp(-rate * real_of(&t, i / 2 % count_of(&t))));
    if (hcy_host_array_write(&a, to))
        bail_out("%s", hcy_last_error()->text);
    hcy_host_array_free(&a);
    hcy_host_array_free(&t);
    return 0;
}

/* Nearly normal, from twelve even numbers; the same in every run. */
static double draw(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
        sum += (double)(*state >> 11) * 0x1p-53;
    }
    return sum;
}

static void add_noise(hcy_host_array *a, double most)
{
    const size_t coils = (size_t)a->shape[0], each = 2 * count_of(a) / coils;
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < each; i++) {
        const double shared = draw(&state);
        for (size_t c = 0; c < coils; c++)
            put_real(a, c * each + i, real_of(a, c * each + i) + most * pow(4, (double)c - (double)coils + 1) *
                                                                     (draw(&state) + shared / 3));
    }
}

static int write_noisy(const char *from, const char *to, const char *noise)
{
    hcy_host_array a = take_file(from);
    double most = 0;
    for (size_t i = 0; i < count_of(&a); i++)
        most = fmax(most, magnitude_of(&a, i));
    add_noise(&a, most);
    if (hcy_host_array_write(&a, to))
        bail_out("%s", hcy_last_error()->text);
    memset(a.data, 0, 2 * count_of(&a) * a.bytes);
    add_noise(&a, most);
    if (hcy_host_array_write(&a, noise))
        bail_out("%s", hcy_last_error()->text);
    hcy_host_array_free(&a);
    return 0;
}

static int write_ramps(const char *to, uint64_t n, char **delays, int n_delays)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    double complex *h = malloc((size_t)n * (size_t)n_delays * sizeof *h);
    a.is_complex = 1;
    a.rank = n_delays > 1 ? 2 : 1;
    a.shape[0] = n_delays > 1 ? (uint64_t)n_delays : n;
    a.shape[1] = n;
    a.data = h;
    for (uint64_t i = 0; i < n * (uint64_t)n_delays; i++)
        h[i] = cexp(-2 * acos(-1) * I * ((double)(i % n) - (double)(n / 2)) / (double)n * atof(delays[i / n]));
    if (hcy_host_array_write(&a, to))
        bail_out("%s", hcy_last_error()->text);
    hcy_host_array_free(&a);
    return 0;
}

#ifdef HAVE_HDF5
/* One acquisition is one spoke of all coils: data [coils][samples], traj [samples][x, y ...]. */
static void fill_acquisition(struct mrd_record *record, const hcy_host_array *samples,
                             const hcy_host_array *points, size_t spoke)
{
    size_t coils = samples->shape[0], spokes = samples->shape[1], n = samples->shape[2],
           axes = points->shape[2];
    float *data = malloc(coils * n * 2 * sizeof *data), *traj = malloc(n * axes * sizeof *traj);
    for (size_t i = 0; i < coils * n * 2; i++)
        data[i] = (float)real_of(samples, ((i / 2 / n * spokes + spoke) * n + i / 2 % n) * 2 + i % 2);
    /* Files of NumPy's have the image's first axis first, acquisitions x. */
    for (size_t i = 0; i < n * axes; i++)
        traj[i] = (float)real_of(points, (spoke * n + i / axes) * axes + axes - 1 - i % axes);
    memset(record, 0, sizeof *record);
    record->head.version = 1;
    record->head.samples = (uint16_t)n;
    record->head.channels = record->head.available = (uint16_t)coils;
    record->head.axes = (uint16_t)axes;
    record->traj = (hvl_t){ n * axes, traj };
    record->data = (hvl_t){ 2 * n * coils, data };
}

static int write_acquisitions(const char *samples, const char *trajectory, const char *to)
{
    hcy_host_array s = take_file(samples), t = take_file(trajectory);
    if (s.rank != 3 || t.rank != 3 || !s.is_complex || t.is_complex)
        bail_out("%s or %s has other axes", samples, trajectory);
    struct mrd_record *records = calloc((size_t)s.shape[1], sizeof *records);
    for (size_t i = 0; i < s.shape[1]; i++)
        fill_acquisition(&records[i], &s, &t, i);
    mrd_write(to, records, (size_t)s.shape[1]);
    free(records);
    hcy_host_array_free(&s);
    hcy_host_array_free(&t);
    return 0;
}

static const char header_of_grid[] =
    "<?xml version=\"1.0\"?>\n<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">\n <version>3</version>\n"
    " <experimentalConditions><H1resonanceFrequency_Hz>63500000</H1resonanceFrequency_Hz></experimentalConditions>%s\n"
    " <encoding>\n  <encodedSpace><matrixSize><x>%u</x><y>%u</y><z>%u</z></matrixSize>\n"
    "   <fieldOfView_mm><x>600</x><y>300</y><z>6</z></fieldOfView_mm></encodedSpace>\n"
    "  <reconSpace><matrixSize><x>%u</x><y>%u</y><z>%u</z></matrixSize>\n"
    "   <fieldOfView_mm><x>300.00001</x><y>300</y><z>6</z></fieldOfView_mm></reconSpace>\n"
    "  <encodingLimits><kspace_encoding_step_1><minimum>0</minimum><maximum>%u</maximum><center>%u</center>"
    "</kspace_encoding_step_1></encodingLimits>\n  <trajectory>%s</trajectory>\n"
    "  <parallelImaging>%s</parallelImaging>\n </encoding>\n"
    " <encoding><parallelImaging><calibrationMode>embedded</calibrationMode></parallelImaging></encoding>\n</ismrmrdHeader>\n";

/* The image's sum at a place in cycles, pixels counted from the middle. */
static double complex sum_image(const hcy_host_array *image, const double k[3])
{
    const size_t nx = image->shape[image->rank - 1], ny = image->shape[image->rank - 2], n = count_of(image);
    const size_t nz = n / nx / ny;
    double complex sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double x = (double)(i % nx) - (double)(nx / 2), y = (double)(i / nx % ny) - (double)(ny / 2),
                     z = (double)(i / nx / ny) - (double)(nz / 2);
        sum += number_of(image, i) * cexp(-2 * acos(-1) * I * (k[0] * x + k[1] * y + k[2] * z));
    }
    return sum;
}

static void fill_line(struct mrd_record *record, const hcy_host_array *image, unsigned step, unsigned plane,
                      unsigned planes, bool is_reversed)
{
    const unsigned nx = (unsigned)image->shape[image->rank - 1], ny = (unsigned)image->shape[image->rank - 2];
    float *data = malloc(4 * nx * sizeof *data);
    for (unsigned s = 0; s < 2 * nx; s++) {
        const double k[3] = { (is_reversed ? nx - (double)s : (double)s - nx) / (2 * nx), ((double)step - ny / 2) / ny,
                              ((double)plane - planes / 2) / planes };
        const double complex sum = sum_image(image, k);
        data[2 * s] = (float)creal(sum);
        data[2 * s + 1] = (float)cimag(sum);
    }
    record->head.version = 1;
    record->head.samples = (uint16_t)(2 * nx);
    record->head.centre = (uint16_t)nx;
    record->head.channels = record->head.available = 1;
    record->head.idx[0] = (uint16_t)step;
    record->head.idx[1] = (uint16_t)plane;
    record->head.flags = is_reversed ? 1u << 21 : 0;
    record->head.sample_us = 10;
    record->data = (hvl_t){ 4 * nx, data };
}

/* A second slice behind each line, twice as bright. */
static void fill_slices(struct mrd_record *records, const hcy_host_array *image, unsigned lines)
{
    for (unsigned i = 0; i < 2 * lines; i++) {
        fill_line(&records[i], image, i / 2, 0, 1, false);
        records[i].head.idx[3] = i % 2;
        for (size_t k = 0; i % 2 && k < records[i].data.len; k++)
            ((float *)records[i].data.p)[k] *= 2;
    }
}

static void put_header(const char *to, const char *what, unsigned nx, unsigned ny, unsigned planes)
{
    static const char system[] = "<acquisitionSystemInformation><relativeReceiverNoiseBandwidth>0.5"
                                 "</relativeReceiverNoiseBandwidth></acquisitionSystemInformation>";
    char xml[2000], mode[80] = "";
    const unsigned times = !strcmp(what, "fine") ? 4 : !strcmp(what, "coarse") ? 1 : !strcmp(what, "empty") ? 0 : 2;
    if (strcmp(what, "unsaid"))
        snprintf(mode, sizeof mode, "<calibrationMode>%s</calibrationMode>", what);
    snprintf(xml, sizeof xml, header_of_grid, strcmp(what, "dwell0") ? "" : system, 2 * nx, ny, planes,
             times * nx / 2, times * ny / 2, planes, ny - 1, ny / 2,
             strcmp(what, "radial") ? "cartesian" : "radial", mode);
    if (strcmp(what, "bare"))
        mrd_put_xml(to, xml);
}

static int write_grid(const char *path, const char *to, const char *what)
{
    hcy_host_array image = take_file(path);
    const unsigned nx = (unsigned)image.shape[image.rank - 1], ny = (unsigned)image.shape[image.rank - 2];
    const unsigned planes = (unsigned)count_of(&image) / nx / ny;
    struct mrd_record *records = calloc(2 + 2 * (size_t)ny * planes, sizeof *records);
    size_t n = 1 + (size_t)ny * planes;
    /* Noise comes first, of as many samples as it likes. */
    records[0].head.version = 1;
    records[0].head.samples = 3;
    records[0].head.channels = 1;
    records[0].head.flags = 1u << 18;
    records[0].data = (hvl_t){ 6, calloc(6, sizeof(float)) };
    if (!strcmp(what, "two") || !strcmp(what, "uneven")) {
        fill_slices(records + 1, &image, ny);
        n += ny - !strcmp(what, "uneven");
    } else {
        for (unsigned i = 0; i < ny * planes; i++)
            fill_line(&records[1 + i], &image, i % ny, i / ny, planes, i % 2 && !strcmp(what, "reversed"));
    }
    if (!strcmp(what, "outside"))
        records[2].head.idx[0] = (uint16_t)ny;
    for (int i = 0; i < 6 && !strncmp(what, "dwell", 5); i++)
        ((float *)records[0].data.p)[i] = 1;
    records[0].head.sample_us = strncmp(what, "dwell", 5) ? 10 : (float)atof(what + 5);
    if (!strcmp(what, "embedded") || !strcmp(what, "separate") || !strcmp(what, "unsaid"))
        records[2].head.flags = 1u << 19;
    if (!strcmp(what, "encodings")) {
        records[n].head = (struct mrd_head){ .version = 1, .samples = 2, .channels = 1, .space = 1 };
        records[n++].data = (hvl_t){ 4, calloc(4, sizeof(float)) };
    }
    mrd_write(to, records, n);
    put_header(to, what, nx, ny, planes);
    free(records[n].data.p); /* of the line that is missing of "uneven" */
    free(records);
    hcy_host_array_free(&image);
    return 0;
}

enum { GRID = 8 };
static const char header_of_points[] = "<h><encoding><encodedSpace><matrixSize><x>8</x><y>8</y><z>1</z></matrixSize>"
                                       "<fieldOfView_mm><x>80.0e+00</x><y>80.0e+00</y><z>3</z></fieldOfView_mm>"
                                       "</encodedSpace><trajectory>other</trajectory></encoding></h>";

static void fill_point(struct mrd_record *record, unsigned image, unsigned y, unsigned coils)
{
    float *data = malloc(sizeof *data * 2 * GRID * coils), *traj = malloc(sizeof *traj * 2 * GRID);
    for (unsigned s = 0; s < GRID; s++) {
        const double kx = (double)s - GRID / 2, ky = (double)y - GRID / 2;
        const double complex sum = (image + 1) * cexp(-2 * acos(-1) * I * (kx * image + ky) / GRID);
        traj[2 * s] = (float)kx / GRID;
        traj[2 * s + 1] = (float)ky / GRID;
        for (unsigned c = 0; c < coils; c++) {
            data[2 * (c * GRID + s)] = (float)((c + 1) * creal(sum));
            data[2 * (c * GRID + s) + 1] = (float)((c + 1) * cimag(sum));
        }
    }
    record->head.version = 1;
    record->head.samples = GRID;
    record->head.axes = 2;
    record->head.channels = record->head.available = (uint16_t)coils;
    record->traj = (hvl_t){ 2 * GRID, traj };
    record->data = (hvl_t){ (size_t)2 * GRID * coils, data };
}

static int write_lines(const char *to, unsigned coils, unsigned counter, char **lines, unsigned images)
{
    struct mrd_record *records = calloc((size_t)GRID * images, sizeof *records);
    size_t n = 0;
    for (unsigned y = 0; y < GRID; y++)
        for (unsigned i = 0; i < images; i++)
            if (y < (unsigned)atoi(lines[i])) {
                fill_point(&records[n], i, y, coils);
                records[n].head.idx[0] = (uint16_t)y;
                records[n++].head.idx[counter] = (uint16_t)i;
            }
    mrd_write(to, records, n);
    mrd_put_xml(to, header_of_points);
    free(records);
    return 0;
}

/* A third coordinate, 0. */
static void add_depth(struct mrd_record *record)
{
    const float *from = record->traj.p;
    float *to = calloc(3 * GRID, sizeof *to);
    for (unsigned s = 0; s < 2 * GRID; s++)
        to[s / 2 * 3 + s % 2] = from[s];
    free(record->traj.p);
    record->traj = (hvl_t){ 3 * GRID, to };
    record->head.axes = 3;
}

/* By turns lines of slices, two contrasts each, of which the first is highest in an oblique stack. */
static int write_slices(const char *to, const char *what, unsigned slices)
{
    static const float place[5][3] = { { 10, 20, -30 },
                                       { 0.8f, 0.6f, 0 },
                                       { -0.36f, 0.48f, 0.8f },
                                       { 0.48f, -0.64f, 0.6f },
                                       { 0, 0, -100 } };
    struct mrd_record *records = calloc((size_t)GRID * 2 * slices, sizeof *records);
    for (unsigned i = 0; i < GRID * 2 * slices; i++) {
        struct mrd_head *h = &records[i].head;
        const unsigned slice = i / 2 % slices;
        fill_point(&records[i], 2 * slice + i % 2, i / 2 / slices, 1);
        h->idx[3] = (uint16_t)slice;
        h->idx[4] = i % 2;
        memcpy(h->position, place, sizeof place);
        for (int d = 0; d < 3; d++)
            h->position[d] -= (float)slice * 4 * place[3][d];
        if (!strcmp(what, "mirrored"))
            for (int d = 0; d < 3; d++)
                h->directions[2][d] = -place[3][d];
        if (!strcmp(what, "uneven") && slice == 1)
            h->position[2] -= 0.2f;
        if (!strcmp(what, "turned") && slice == 1)
            memcpy(h->directions, place[2], sizeof place[2]), memcpy(h->directions[1], place[1], sizeof place[1]);
        if (!strcmp(what, "lone") && slice == 1 && i % 2)
            h->flags = 1u << 26;
        if (!strcmp(what, "staggered") && slice == 1)
            h->position[0] += 0.8f, h->position[1] += 0.6f;
        if (!strcmp(what, "tables"))
            h->table[2] -= (float)slice * 100;
        if (!strcmp(what, "together"))
            memcpy(h->position, place, sizeof *place);
        if (!strcmp(what, "moving") && i >= 4 * slices)
            h->position[0] += 2;
        if (!strcmp(what, "crooked"))
            h->directions[1][0] = 0;
        if (!strcmp(what, "endless"))
            h->table[1] = INFINITY;
        h->stamp = 4000000000u + i;
        for (unsigned k = 0; k < 3; k++)
            h->physiology[k] = 10 * i + k;
        if (!strcmp(what, "counted"))
            h->idx[2] = 9, h->idx[5] = 4, h->idx[6] = i >= GRID * slices, h->idx[7] = 7;
        if (!strcmp(what, "slabs"))
            add_depth(&records[i]);
        if (!strcmp(what, "silent") || (!strcmp(what, "hushed") && slice == 1))
            memset(h->directions, 0, sizeof h->directions);
    }
    mrd_write(to, records, (size_t)GRID * 2 * slices);
    mrd_put_xml(to, header_of_points);
    free(records);
    return 0;
}

/* A number of whole numbers of each image's header, as its file has them. */
static int print_counters(const char *path, const char *series)
{
    static const char *const names[] = { "average", "slice", "contrast", "phase", "repetition", "set",
                                         "acquisition_time_stamp", "physiology_time_stamp", "image_index",
                                         "image_series_index" };
    enum { NAMES = sizeof names / sizeof names[0], PHYSIOLOGY = 7, NUMBERS = NAMES + 2 };
    uint32_t heads[32][NUMBERS];
    char list[100];
    hsize_t three = 3, n = 0;
    snprintf(list, sizeof list, "/dataset/%s/header", series);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), vector = H5Tarray_create2(H5T_NATIVE_UINT32, 1, &three),
          type = H5Tcreate(H5T_COMPOUND, sizeof heads[0]), data = H5Dopen2(file, list, H5P_DEFAULT);
    for (size_t i = 0, at = 0; i < NAMES; at += (i++ == PHYSIOLOGY ? 3 : 1) * sizeof heads[0][0])
        H5Tinsert(type, names[i], at, i == PHYSIOLOGY ? vector : H5T_NATIVE_UINT32);
    hid_t space = H5Dget_space(data);
    if (H5Sget_simple_extent_dims(space, &n, NULL) != 1 || n > 32 ||
        H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, heads) < 0)
        bail_out("%s: no headers of up to 32 images in %s", path, list);
    for (hsize_t i = 0; i < n; i++)
        for (int k = 0; k < NUMBERS; k++)
            printf("%lu%c", (unsigned long)heads[i][k], k < NUMBERS - 1 ? ' ' : '\n');
    H5Sclose(space);
    H5Dclose(data);
    H5Tclose(type);
    H5Tclose(vector);
    H5Fclose(file);
    return 0;
}

/* Of each image its position, the first number of its read direction, and the table's height. */
static int print_places(const char *path)
{
    static const char *const names[] = { "position", "read_dir", "patient_table_position" };
    float heads[16][3][3];
    hsize_t three = 3, n = 0;
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), vector = H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &three),
          type = H5Tcreate(H5T_COMPOUND, sizeof heads[0]), list = H5Dopen2(file, "/dataset/image_0/header", H5P_DEFAULT);
    for (size_t i = 0; i < 3; i++)
        H5Tinsert(type, names[i], i * sizeof heads[0][0], vector);
    hid_t space = H5Dget_space(list);
    if (H5Sget_simple_extent_dims(space, &n, NULL) != 1 || n > 16 ||
        H5Dread(list, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, heads) < 0)
        bail_out("%s: no headers of up to 16 images", path);
    for (hsize_t i = 0; i < n; i++)
        printf("%.1f %.1f %.1f %.2f %.0f\n", heads[i][0][0], heads[i][0][1], heads[i][0][2], heads[i][1][0], heads[i][2][2]);
    H5Sclose(space);
    H5Dclose(list);
    H5Tclose(type);
    H5Tclose(vector);
    H5Fclose(file);
    return 0;
}

#endif

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "near"))
        return compare_scaled(argv[2], argv[3], strtod(argv[4], NULL));
    if (argc == 5 && !strcmp(argv[1], "error"))
        return compare_arrays(argv[2], argv[3], atof(argv[4]));
    if (argc == 5 && !strcmp(argv[1], "spoil"))
        return change_array(argv[2], argv[3], atol(argv[4]), 1);
    if (argc == 5 && !strcmp(argv[1], "scale"))
        return change_array(argv[2], argv[3], -1, atof(argv[4]));
    if (argc == 5 && !strcmp(argv[1], "fill"))
        return fill_array(argv[2], argv[3], atof(argv[4]));
    if (argc == 5 && !strcmp(argv[1], "noisy"))
        return write_noisy(argv[2], argv[3], argv[4]);
    if (argc == 6 && !strcmp(argv[1], "decay"))
        return decay_samples(argv[2], argv[3], argv[4], atof(argv[5]));
    if (argc >= 5 && !strcmp(argv[1], "ramp"))
        return write_ramps(argv[2], strtoull(argv[3], NULL, 10), argv + 4, argc - 4);
    if (argc == 3 && !strcmp(argv[1], "peak"))
        return find_peak(argv[2]);
#ifdef HAVE_HDF5
    if (argc >= 7 && !strcmp(argv[1], "epi"))
        return write_epi(argv[2], argv + 3, argc - 3);
    if (argc >= 6 && !strcmp(argv[1], "lines"))
        return write_lines(argv[2], (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]), argv + 5, (unsigned)argc - 5);
    if (argc >= 3 && !strcmp(argv[1], "counted"))
        return print_counters(argv[2], argc > 3 ? argv[3] : "image_0");
    if (argc == 3 && !strcmp(argv[1], "places"))
        return print_places(argv[2]);
    if (argc == 5 && !strcmp(argv[1], "slices"))
        return write_slices(argv[2], argv[3], (unsigned)atoi(argv[4]));
    if (argc == 5 && !strcmp(argv[1], "mrd"))
        return write_acquisitions(argv[2], argv[3], argv[4]);
    if (argc == 5 && !strcmp(argv[1], "grid"))
        return write_grid(argv[2], argv[3], argv[4]);
#endif
    return 2;
}
