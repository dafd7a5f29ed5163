/* nifti.c - arrays as images of NIfTI-1, one file: a header of 348 bytes, four that say that nothing follows it, the
 * numbers (https://nifti.nimh.nih.gov/pub/dist/src/niftilib/nifti1.h).
 *
 * The first dimension is the fastest, so an array in C order has its axes in reverse there, [z][y][x].  What an array
 * does not know is left open: where it says no size of its cells these have a length of 1 of an unknown unit, and where
 * it says no place no orientation is given.  A patient's axes go to the right and to the front there, where those of
 * places go to the left and to the back, as DICOM's and ISMRMRD's do.
 */
#include "host_array.h"
#include "stack_priv.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 348, DATA = 352, MOST_AXES = 7, MOST_LENGTH = 32767, PIECE = 4096, MILLIMETRES = 2, SCANNER = 1 };

/* What is written of complex numbers. */
enum part { PART_ALL, PART_MAGNITUDE, PART_PHASE, PART_REAL, PART_IMAGINARY };

static enum part find_part(const char *name)
{
    static const char *const names[] = { "complex", "magnitude", "phase", "real", "imaginary" };
    for (size_t i = 0; name && i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(names[i], name))
            return (enum part)i;
    return PART_ALL;
}

static double take_part(const double number[2], enum part part)
{
    switch (part) {
    case PART_MAGNITUDE:
        return hypot(number[0], number[1]);
    case PART_PHASE:
        return atan2(number[1], number[0]);
    case PART_IMAGINARY:
        return number[1];
    default:
        return number[0];
    }
}

static void put_i16(unsigned char *to, int value)
{
    to[0] = (unsigned char)(value & 255);
    to[1] = (unsigned char)(value >> 8 & 255);
}

static void put_f32(unsigned char *to, float value)
{
    memcpy(to, &value, sizeof value);
}

static double find_determinant(double r[3][3])
{
    return r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1]) - r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0]) +
           r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]);
}

/* A rotation's quaternion without its real part, which is 0 or more: the largest of its four parts, whose square is a
 * quarter at least, and by that one the others.  What is nearly a rotation has one of length 1, too, as readers take
 * the real part for the root of what is left. */
static void find_quaternion(double q[3], double r[3][3])
{
    const double trace = r[0][0] + r[1][1] + r[2][2];
    double real = sqrt(fmax(0, 1 + trace)) / 2;
    int i = 0;
    for (int k = 1; k < 3; k++)
        i = r[k][k] > r[i][i] ? k : i;
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    if (trace > r[i][i]) {
        for (int d = 0; d < 3; d++)
            q[d] = (r[(d + 2) % 3][(d + 1) % 3] - r[(d + 1) % 3][(d + 2) % 3]) / (4 * real);
    } else {
        q[i] = sqrt(fmax(0, 1 + r[i][i] - r[j][j] - r[k][k])) / 2;
        q[j] = (r[i][j] + r[j][i]) / (4 * q[i]);
        q[k] = (r[i][k] + r[k][i]) / (4 * q[i]);
        real = (r[k][j] - r[j][k]) / (4 * q[i]);
    }
    const double length = copysign(sqrt(real * real + q[0] * q[0] + q[1] * q[1] + q[2] * q[2]), real);
    for (int d = 0; d < 3; d++)
        q[d] /= length;
}

/* Where cells are, twice: by a matrix (sform), and by a rotation of which the third axis may be mirrored (qform). */
static void put_place(unsigned char *head, const hcy_host_array *a)
{
    static const double signs[3] = { -1, -1, 1 };
    double r[3][3], q[3];
    for (int row = 0; row < 3; row++) {
        double offset = signs[row] * a->places[row];
        for (int d = 0; d < 3; d++) {
            const double cell = a->cells[d] > 0 ? a->cells[d] : 1,
                         middle = d < a->rank ? (double)(a->shape[a->rank - 1 - d] / 2) : 0;
            r[row][d] = signs[row] * a->places[3 + 3 * d + row];
            put_f32(head + 280 + 16 * row + 4 * d, (float)(cell * r[row][d])); /* srow_x, srow_y, srow_z */
            offset -= middle * cell * r[row][d];
        }
        put_f32(head + 280 + 16 * row + 12, (float)offset);
        put_f32(head + 268 + 4 * row, (float)offset); /* qoffset_x, _y, _z */
    }
    const double mirror = find_determinant(r) < 0 ? -1 : 1;
    for (int row = 0; row < 3; row++)
        r[row][2] *= mirror;
    find_quaternion(q, r);
    for (int d = 0; d < 3; d++)
        put_f32(head + 256 + 4 * d, (float)q[d]); /* quatern_b, _c, _d */
    put_f32(head + 76, (float)mirror);            /* qfac */
    put_i16(head + 252, SCANNER);                 /* qform_code, sform_code */
    put_i16(head + 254, SCANNER);
}

/* Offsets are nifti1.h's; all else is 0, which there means "not said". */
static int make_nifti_head(unsigned char head[DATA], const hcy_host_array *a, int is_complex,
                           const char *path)
{
    memset(head, 0, DATA);
    put_i16(head, HEAD);                       /* sizeof_hdr, of 4 bytes */
    put_i16(head + 40, a->rank ? a->rank : 1); /* dim[0] */
    for (int i = 0; i < MOST_AXES; i++) {
        uint64_t n = i < a->rank ? a->shape[a->rank - 1 - i] : 1;
        if (n > MOST_LENGTH || !n)
            return hcy_fail(HCY_ERANGE, "%s: an axis of %llu; NIfTI-1 has 1 to %d on each, use .npy or .h5",
                            path, (unsigned long long)n, MOST_LENGTH);
        put_i16(head + 42 + 2 * i, (int)n);
    }
    /* datatype (16, 64: real; 32, 1792: complex) and bitpix */
    put_i16(head + 70, is_complex ? (a->bytes == 8 ? 1792 : 32) : (a->bytes == 8 ? 64 : 16));
    put_i16(head + 72, (int)(8 * a->bytes) << is_complex);
    for (int i = 0; i <= MOST_AXES; i++)
        put_f32(head + 76 + 4 * i, i >= 1 && i <= 3 && a->cells[i - 1] > 0 ? (float)a->cells[i - 1] : 1); /* pixdim */
    head[123] = a->cells[0] > 0 || a->cells[1] > 0 || a->cells[2] > 0 ? MILLIMETRES : 0; /* xyzt_units */
    put_f32(head + 108, DATA);         /* vox_offset */
    put_f32(head + 112, 1);            /* scl_slope, of no scaling */
    memcpy(head + 148, "Halcyon", 7);  /* descrip */
    memcpy(head + 344, "n+1", 4);      /* one file */
    if (a->n_places)
        put_place(head, a);
    return 0;
}

static int write_nifti_part(hcy_output *output, const hcy_host_array *a, size_t n, enum part part)
{
    int st = 0;
    for (size_t i = 0; !st && i < n; i += PIECE) {
        double wide[PIECE];
        float narrow[PIECE];
        size_t count = n - i < PIECE ? n - i : PIECE;
        for (size_t k = 0; k < count; k++) {
            double number[2];
            hcy__host_array_get(number, a, i + k);
            wide[k] = take_part(number, part);
            narrow[k] = (float)wide[k];
        }
        st = hcy_output_write(output, a->bytes == 8 ? (const void *)wide : narrow, count * a->bytes,
                              DATA + (uint64_t)i * a->bytes);
    }
    return st;
}

int hcy__host_array_write_nii(const hcy_host_array *a, const char *path, const char *name)
{
    unsigned char head[DATA];
    hcy_output *output;
    size_t n, bytes;
    enum part part = find_part(name);
    int as_is = part == PART_ALL;
    if (a->rank > MOST_AXES)
        return hcy_fail(HCY_EINVAL, "%s: NIfTI has %d axes at most, not %d", path, MOST_AXES, a->rank);
    int st = hcy_host_array_count(&n, a);
    if (!st)
        st = hcy__host_array_bytes(&bytes, a);
    if (!st)
        st = make_nifti_head(head, a, as_is && a->is_complex, path);
    if (!st)
        st = hcy_output_open(&output, path, 0);
    if (st)
        return st;
    st = hcy_output_write(output, head, sizeof head, 0);
    if (!st)
        st = as_is ? hcy_output_write(output, a->data, bytes, DATA) : write_nifti_part(output, a, n, part);
    return hcy_output_commit(output, st);
}
