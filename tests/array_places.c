/* array_places.c - where images are in a patient, in NIfTI's header and in ISMRMRD's: NIfTI's matrix and rotation
 * (sform, qform) against where cells are, for turns about many axes; and what ISMRMRD's are counted by.
 */
#include "stack_make.h"
#include <halcyon/host_array.h>
#ifdef HAVE_HDF5
#include <hdf5.h>
#endif

enum { NX = 5, NY = 4, NZ = 3, HEAD = 348 };
static const double cells[3] = { 1.5, 2, 3 };

static float float_at(const unsigned char *bytes, int at)
{
    float value;
    memcpy(&value, bytes + at, sizeof value);
    return value;
}

static void read_head(unsigned char head[HEAD], const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fread(head, 1, HEAD, file) != HEAD)
        bail_out("%s: no header", path);
    fclose(file);
}

static hcy_host_array make_image(const double *places, size_t n_places)
{
    static float numbers[NX * NY * NZ];
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    a.bytes = 4;
    a.rank = 3;
    a.shape[0] = NZ, a.shape[1] = NY, a.shape[2] = NX;
    a.data = numbers;
    memcpy(a.cells, cells, sizeof cells);
    a.places = places;
    a.n_places = n_places;
    return a;
}

/* A turn by `angle` about an axis. */
static void turn_place(double place[5][3], const double axis[3], double angle, bool is_mirrored)
{
    const double c = cos(angle), s = sin(angle),
                 length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    double u[3];
    for (int d = 0; d < 3; d++)
        u[d] = axis[d] / length;
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < 3; d++)
            place[1 + i][d] = (i == d ? c : 0) + (1 - c) * u[i] * u[d] +
                              s * (d == (i + 1) % 3 ? u[(i + 2) % 3] : d == (i + 2) % 3 ? -u[(i + 1) % 3] : 0);
    for (int d = 0; d < 3 && is_mirrored; d++)
        place[3][d] = -place[3][d];
}

/* Of a cell by the matrix, and by nifti1.h's rotation of b, c, d. */
static void locate_cell(double by_matrix[3], double by_rotation[3], const unsigned char *head, const double cell[3])
{
    const double b = float_at(head, 256), c = float_at(head, 260), d = float_at(head, 264),
                 left = 1 - b * b - c * c - d * d, a = sqrt(left > 0 ? left : 0);
    const double r[3][3] = { { a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c) },
                             { 2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b) },
                             { 2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - c * c - b * b } };
    for (int row = 0; row < 3; row++) {
        by_matrix[row] = float_at(head, 280 + 16 * row + 12);
        by_rotation[row] = float_at(head, 268 + 4 * row);
        for (int k = 0; k < 3; k++) {
            const double step = float_at(head, 80 + 4 * k) * (k == 2 ? float_at(head, 76) : 1);
            by_matrix[row] += float_at(head, 280 + 16 * row + 4 * k) * cell[k];
            by_rotation[row] += r[row][k] * step * cell[k];
        }
    }
}

/* The largest distances of the image's corners from where they are: to the right, the front and the head, the first two
 * of which are left and back turned around. */
static void find_errors(double *of_matrix, double *of_rotation, const unsigned char *head, double place[5][3])
{
    for (int corner = 0; corner < 8; corner++) {
        const double cell[3] = { corner & 1 ? NX - 1 : 0, corner & 2 ? NY - 1 : 0, corner & 4 ? NZ - 1 : 0 };
        double matrix[3], rotation[3];
        locate_cell(matrix, rotation, head, cell);
        for (int row = 0; row < 3; row++) {
            double at = place[0][row];
            for (int k = 0; k < 3; k++)
                at += place[1 + k][row] * cells[k] * (cell[k] - (int[]){ NX, NY, NZ }[k] / 2);
            at = row < 2 ? -at : at;
            *of_matrix = fmax(*of_matrix, fabs(matrix[row] - at));
            *of_rotation = fmax(*of_rotation, fabs(rotation[row] - at));
        }
    }
}

static void test_nifti(void)
{
    static const double axes[][3] = { { 1, 0, 0 }, { 0, 1, 0 },     { 0, 0, 1 },
                                      { 1, 2, 3 }, { -3, 1, 0.5 }, { 0.1, -2, 0.3 } };
    static const double angles[] = { 0, 0.3, 1.6, 3.14159265358979, -2.9 };
    double place[5][3] = { { 12.5, -40, 7 } }, of_matrix = 0, of_rotation = 0;
    unsigned char head[HEAD];
    bool are_said = true;
    for (size_t i = 0; i < 60; i++) {
        const hcy_host_array a = make_image(place[0], 1);
        turn_place(place, axes[i / 10], angles[i / 2 % 5], i % 2);
        if (hcy_host_array_write(&a, in_folder("a.nii")))
            bail_out("%s", hcy_last_error()->text);
        read_head(head, in_folder("a.nii"));
        are_said = are_said && head[252] == 1 && head[254] == 1 && fabs(float_at(head, 76)) == 1;
        find_errors(&of_matrix, &of_rotation, head, place);
    }
    ok(are_said, "NIfTI says that it has both");
    ok(of_matrix < 1e-4, "cells are where they were, within %.1e mm", of_matrix);
    /* Of half a turn the quaternion's real part is the root of what floats leave of 0. */
    ok(of_rotation < 1e-2, "... by the rotation within %.1e", of_rotation);
    /* Readers take the root of 1 less its square. */
    double longer[5][3] = { [1] = { 1.004, 0, 0 }, { 0, -1.004, 0 }, { 0, 0, -1.004 } };
    const hcy_host_array rounded = make_image(longer[0], 1);
    is_int(hcy_host_array_write(&rounded, in_folder("a.nii")), 0, "directions that are 0.4 %% too long");
    read_head(head, in_folder("a.nii"));
    const double b = float_at(head, 256), c = float_at(head, 260), d = float_at(head, 264);
    ok(b * b + c * c + d * d < 1 + 3e-7, "... have a rotation: %g", b * b + c * c + d * d - 1);
    const hcy_host_array a = make_image(NULL, 0);
    is_int(hcy_host_array_write(&a, in_folder("a.nii")), 0, "without a place");
    read_head(head, in_folder("a.nii"));
    ok(!head[252] && !head[254], "... none is said");
}

static void test_refused(void)
{
    static const struct {
        const char *what;
        int row;
        double number;
    } bad[] = { { "no number", 0, NAN }, { "far away", 0, 1e7 }, { "a table without end", 4, INFINITY },
                { "a long direction", 1, 1.1 }, { "no direction", 3, NAN } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double place[5][3] = { [1] = { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
        const hcy_host_array a = make_image(place[0], 1);
        place[bad[i].row][0] = bad[i].number;
        is_int(hcy_host_array_write(&a, in_folder("bad.nii")), HCY_EINVAL, "refused: %s", bad[i].what);
    }
    double askew[5][3] = { [1] = { 1, 0, 0 }, { 0.6, 0.8, 0 }, { 0, 0, 1 } };
    hcy_host_array a = make_image(askew[0], 1);
    is_int(hcy_host_array_write(&a, in_folder("bad.nii")), HCY_EINVAL, "... directions at no right angle");
    a.places = NULL;
    is_int(hcy_host_array_write(&a, in_folder("bad.nii")), HCY_EINVAL, "... no places");
    ok(access(in_folder("bad.nii"), F_OK) != 0, "... and no file of it");
}

#ifdef HAVE_HDF5
/* Fifteen floats of the images' headers. */
static void read_places(float *places, const char *path)
{
    static const char *const names[] = { "position", "read_dir", "phase_dir", "slice_dir", "patient_table_position" };
    const hsize_t three = 3;
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), dataset = H5Dopen2(file, "/dataset/image_0/header", H5P_DEFAULT),
          type = H5Tcreate(H5T_COMPOUND, 15 * sizeof(float)), vector = H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &three);
    for (size_t i = 0; i < 5; i++)
        H5Tinsert(type, names[i], i * 3 * sizeof(float), vector);
    if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, places) < 0)
        bail_out("%s: no places", path);
    H5Tclose(vector);
    H5Tclose(type);
    H5Dclose(dataset);
    H5Fclose(file);
}

static void test_ismrmrd(void)
{
    double places[NZ][5][3];
    float said[NZ * 15];
    bool same = true, are_one = true;
    for (int i = 0; i < NZ * 15; i++)
        places[i / 15][i / 3 % 5][i % 3] = i % 15 < 3 || i % 15 > 11 ? i : i % 15 % 4 == 3;
    hcy_host_array a = make_image(places[0][0], NZ);
    a.rank = 5;
    a.shape[1] = a.shape[2] = 1, a.shape[3] = NY, a.shape[4] = NX;
    is_int(hcy_host_array_write(&a, in_folder("a.mrd")), 0, "ISMRMRD's images of a place each: %s", hcy_last_error()->text);
    read_places(said, in_folder("a.mrd"));
    for (int i = 0; i < NZ * 15; i++)
        same = same && (double)said[i] == places[i / 15][i / 3 % 5][i % 3];
    ok(same, "... have these");
    a.n_places = 1;
    is_int(hcy_host_array_write(&a, in_folder("a.mrd")), 0, "... and of one");
    read_places(said, in_folder("a.mrd"));
    for (int i = 0; i < NZ * 15; i++)
        are_one = are_one && (double)said[i] == places[0][i / 3 % 5][i % 3];
    ok(are_one, "... have that");
    a.n_places = 2;
    is_int(hcy_host_array_write(&a, in_folder("a.mrd")), HCY_EINVAL, "two places of three images are refused");
}
/* Where ISMRMRD's 198 bytes have them: six counters of 16 bits from byte 96 on, four of 32, the series behind two
 * more. */
static bool has_counters(const unsigned char head[198], const uint32_t counters[10], unsigned series)
{
    uint16_t said[6], number;
    bool same = !memcmp(head + 108, counters + 6, 16);
    memcpy(said, head + 96, sizeof said);
    memcpy(&number, head + 128, sizeof number);
    for (int k = 0; k < 6; k++)
        same = same && said[k] == counters[k];
    return same && number == series;
}

static void test_counters(void)
{
    unsigned char heads[NZ][198];
    uint32_t counters[NZ][10];
    for (uint32_t i = 0; i < NZ * 10; i++)
        counters[i / 10][i % 10] = i % 10 < 6 ? UINT16_MAX - i : UINT32_MAX - i;
    hcy_host_array a = make_image(NULL, 0);
    a.rank = 5;
    a.shape[1] = a.shape[2] = 1, a.shape[3] = NY, a.shape[4] = NX;
    a.counters = counters[0];
    for (a.n_counters = NZ; a.n_counters; a.n_counters = a.n_counters == NZ) {
        bool same = true;
        is_int(hcy_host_array_write(&a, in_folder("c.mrd:image_12")), 0, "counters of %zu images", a.n_counters);
        hid_t file = H5Fopen(in_folder("c.mrd"), H5F_ACC_RDONLY, H5P_DEFAULT),
              dataset = H5Dopen2(file, "/dataset/image_12/header", H5P_DEFAULT), type = H5Dget_type(dataset);
        if (H5Tget_size(type) != sizeof *heads || H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, heads) < 0)
            bail_out("no headers of images");
        H5Tclose(type);
        H5Dclose(dataset);
        H5Fclose(file);
        for (size_t i = 0; i < NZ; i++)
            same = same && has_counters(heads[i], counters[a.n_counters > 1 ? i : 0], 12);
        ok(same, "... are in their headers");
    }
    a.n_counters = 2;
    is_int(hcy_host_array_write(&a, in_folder("c.mrd")), HCY_EINVAL, "those of two images of three are refused");
    a.n_counters = NZ;
    counters[2][5] = UINT16_MAX + 1;
    is_int(hcy_host_array_write(&a, in_folder("c.mrd")), HCY_ERANGE, "... and of more than 16 bits: %s", hcy_last_error()->text);
    a.counters = NULL;
    is_int(hcy_host_array_write(&a, in_folder("c.mrd")), HCY_EINVAL, "... and none of them");
}
#endif

int main(void)
{
    make_folder();
    test_nifti();
    test_refused();
#ifdef HAVE_HDF5
    test_ismrmrd();
    test_counters();
#else
    skip(1, "this build has no HDF5: ISMRMRD");
#endif
    return done_testing();
}
