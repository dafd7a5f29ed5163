/* host_array.c - whole arrays in files: the table of formats, and NumPy's own. */
#include "host_array.h"
#include "files.h"
#include "npy.h"
#include "stack_priv.h"
#include "sized.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <halcyon/backend.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int hcy_host_array_count(size_t *n, const hcy_host_array *a)
{
    if (!a || !n)
        return hcy_fail(HCY_EINVAL, "hcy_host_array_count: no array, or no place for the number");
    *n = 1;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] > SIZE_MAX || hcy_size_mul(n, *n, (size_t)a->shape[i]))
            return hcy_fail(HCY_ERANGE, "an array that is larger than can be addressed");
    return 0;
}

void hcy_host_array_free(hcy_host_array *a)
{
    if (a)
        free(a->data);
    if (a)
        a->data = NULL;
}

size_t hcy__host_array_element(const hcy_host_array *a)
{
    return a->bytes * (a->is_complex ? 2u : 1u);
}

int hcy__host_array_bytes(size_t *bytes, const hcy_host_array *a)
{
    int st = hcy_host_array_count(bytes, a);
    if (!st && hcy_size_mul(bytes, *bytes, hcy__host_array_element(a)))
        st = hcy_fail(HCY_ERANGE, "an array that is larger than can be addressed");
    return st;
}

void hcy__host_array_get(double number[2], const hcy_host_array *a, size_t i)
{
    size_t parts = a->is_complex ? 2 : 1;
    number[1] = 0;
    for (size_t k = 0; k < parts; k++)
        number[k] = a->bytes == 8 ? ((const double *)a->data)[i * parts + k]
                                  : (double)((const float *)a->data)[i * parts + k];
}

/* What `raw`, the file's n numbers, are in memory: in C order, integers as doubles. */
static void take_numbers(hcy_host_array *a, const char *raw, const struct hcy__npy *npy, const hcy__pixel *integers,
                         size_t n)
{
    size_t at[HCY__NPY_RANK] = { 0 }, step[HCY__NPY_RANK], from = 0, bytes = hcy__host_array_element(a);
    step[0] = 1;
    for (int d = 1; d < npy->rank; d++)
        step[d] = step[d - 1] * (size_t)npy->shape[d - 1];
    for (size_t i = 0; i < n; i++) {
        char *to = (char *)a->data + i * bytes;
        /* An array in memory has floats or doubles alone, so that integers become doubles. */
        if (integers)
            hcy__pixels_to_doubles((double *)(void *)to, raw + from * npy->element, integers->type, 1);
        else
            memcpy(to, raw + from * bytes, bytes);
        from += !npy->fortran;
        /* In Fortran's order the file's first index is the fastest: this counts in C order, and steps as
         * the file has it. */
        for (int d = npy->fortran ? npy->rank - 1 : -1; d >= 0; d--) {
            from += step[d];
            if (++at[d] < npy->shape[d])
                break;
            from -= step[d] * at[d];
            at[d] = 0;
        }
    }
}

/* The type and the shape that the array has in memory; *integers: those in the file, or NULL. */
static int take_head(hcy_host_array *a, const hcy__pixel **integers, const struct hcy__npy *npy, const char *path)
{
    *integers = npy->kind == 'i' || npy->kind == 'u' ? hcy__pixel_find(npy->kind, npy->element) : NULL;
    a->is_complex = npy->kind == 'c';
    a->bytes = *integers ? 8 : (unsigned)(npy->element / (a->is_complex ? 2 : 1));
    a->rank = npy->rank;
    memcpy(a->shape, npy->shape, sizeof a->shape);
    /* What is neither is refused before memory is asked for. */
    if (!*integers && ((npy->kind != 'c' && npy->kind != 'f') || (a->bytes != 4 && a->bytes != 8)))
        return hcy_fail(HCY_EFORMAT, "%s: its type %s is not an integer, float or double, nor complex of these", path,
                        npy->type);
    return 0;
}

static int read_npy_array(hcy_host_array *a, const char *path, const char *member)
{
    struct hcy__npy npy = { 0 };
    const hcy__pixel *integers = NULL;
    size_t n = 0, stored = 0, bytes = 0;
    char *raw = NULL;
    int number, fd, st = hcy__npy_file(&npy, &fd, path, member);
    if (st)
        return st;
    st = take_head(a, &integers, &npy, path);
    if (!st && (hcy_host_array_count(&n, a) || hcy_size_mul(&bytes, n, hcy__host_array_element(a)) ||
                hcy_size_mul(&stored, n, npy.element)))
        st = hcy_fail(HCY_ERANGE, "%s: an array that is larger than can be addressed", path);
    /* The length is compared before malloc(): a damaged header must not ask for more than the file could
     * hold. */
    if (!st && npy.end - npy.data < stored)
        st = hcy_fail(HCY_ECORRUPT, "%s is truncated", path);
    /* Most files lie on disk as the array does in memory, and are read straight into it. */
    bool as_is = !integers && !npy.fortran;
    if (!st && (!(a->data = malloc(bytes ? bytes : 1)) || (!as_is && !(raw = malloc(stored ? stored : 1)))))
        st = hcy_fail(HCY_ENOMEM, "no memory for %s, %zu bytes", path, as_is ? bytes : bytes + stored);
    if (!st && hcy__read_at(fd, as_is ? a->data : raw, stored, npy.data, &number) != stored)
        st = number ? hcy__read_failed(path, number) : hcy_fail(HCY_ECORRUPT, "%s is truncated", path);
    if (!st && !as_is)
        take_numbers(a, raw, &npy, integers, n);
    free(raw);
    close(fd);
    return st;
}

static int write_numpy(const hcy_host_array *a, const char *path, bool packed)
{
    char header[HCY__NPY_HEADER];
    size_t bytes;
    hcy_output *output;
    int st = hcy__host_array_bytes(&bytes, a);
    if (!st)
        st = hcy_output_open(&output, path, 0);
    if (st)
        return st;
    /* A .npz file has the same header and the same data, only packed. */
    hcy__npy_write(header, a->is_complex ? 'c' : 'f', (unsigned)hcy__host_array_element(a), a->rank, a->shape);
    if (packed)
        st = hcy__host_array_write_npz(output, header, sizeof header, a->data, bytes);
    else
        st = hcy_output_write(output, header, sizeof header, 0);
    if (!st && !packed)
        st = hcy_output_write(output, a->data, bytes, sizeof header);
    return hcy_output_commit(output, st);
}

static int write_npy_array(const hcy_host_array *a, const char *path, const char *part)
{
    (void)part;
    return write_numpy(a, path, false);
}

static int write_npz_array(const hcy_host_array *a, const char *path, const char *member)
{
    if (member)
        return hcy_fail(HCY_EINVAL, "%s:%s: an archive is written with one array, whose name is arr_0; leave :%s", path, member,
                        member);
    return write_numpy(a, path, true);
}

static int refuse_nii(hcy_host_array *a, const char *path, const char *part)
{
    (void)a, (void)part;
    return hcy_fail(HCY_EUNSUPPORTED, "%s: NIfTI images are written, not read; write .npy, .h5 or .cfl (recon -o), which are both", path);
}

#ifndef HAVE_HDF5
static int lack_h5(hcy_host_array *a, const char *file, const char *dataset)
{
    (void)a;
    return hcy_fail(HCY_EUNSUPPORTED, "%s:%s: this build of Halcyon has no HDF5", file, dataset ? dataset : "");
}
#endif

/* How files of a format are read and written; suffix.c has the suffixes. */
static const struct array_format {
    const char *format;
    int (*read)(hcy_host_array *array, const char *file, const char *part);
    int (*write)(const hcy_host_array *array, const char *file, const char *part);
} formats[] = {
    { "npy", read_npy_array, write_npy_array },
    { "npz", read_npy_array, write_npz_array },
#ifdef HAVE_HDF5
    { "h5", hcy__host_array_read_h5, hcy__host_array_write_h5 },
    { "mrd", hcy__host_array_read_h5, hcy__host_array_write_mrd },
#else
    { "h5", lack_h5, NULL }, /* hcy_format_of() refuses what would be written */
    { "mrd", lack_h5, NULL },
#endif
    { "cfl", hcy__host_array_read_cfl, hcy__host_array_write_cfl },
    { "nii", refuse_nii, hcy__host_array_write_nii },
};

/* What has a suffix of no array's is read as NumPy's, by what is in it. */
static const struct array_format *find_array_format(const char *format)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (!strcmp(formats[i].format, format))
            return &formats[i];
    return &formats[0];
}

int hcy_host_array_read(hcy_host_array *out, const char *path)
{
    if (!path)
        return hcy_fail(HCY_EINVAL, "hcy_host_array_read: path is NULL");
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    int st = hcy__sized_write(out, &a, sizeof a, "hcy_host_array"); /* empty if reading fails */
    if (st)
        return st;
    /* What stands behind the colon is cut off, for which a copy is needed. */
    char *file = strdup(path);
    const char *part;
    if (!file)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    const struct array_format *format = find_array_format(hcy__array_format(&part, file));
    st = format->read(&a, file, part);
    free(file);
    if (st)
        hcy_host_array_free(&a);
    return st ? st : hcy__sized_write(out, &a, sizeof a, "hcy_host_array");
}

#define MOST_MM 1e6         /* from where distances mean nothing as floats */
#define NO_RIGHT_ANGLE 0.01 /* a cosine that is more than rounding */

/* What programs that read the file take for a rotation must be one. */
static int check_place(const double place[5][3], const char *path)
{
    bool good = true;
    for (int i = 0; i < 3; i++) {
        good = good && fabs(place[0][i]) <= MOST_MM && fabs(place[4][i]) <= MOST_MM;
        for (int k = 0; k <= i; k++) {
            double product = 0;
            for (int d = 0; d < 3; d++)
                product += place[1 + i][d] * place[1 + k][d];
            good = good && fabs(product - (i == k)) <= NO_RIGHT_ANGLE;
        }
    }
    return good ? 0
                : hcy_fail(HCY_EINVAL, "hcy_host_array_write: %s: its image is at %g, %g, %g mm, the table at %g, %g, %g, up to "
                                       "1e6 of which are taken, along (%g, %g, %g), (%g, %g, %g), (%g, %g, %g), which must be "
                                       "unit vectors at right angles", path, place[0][0], place[0][1], place[0][2], place[4][0],
                           place[4][1], place[4][2], place[1][0], place[1][1], place[1][2], place[2][0], place[2][1],
                           place[2][2], place[3][0], place[3][1], place[3][2]);
}

static int check_places(const hcy_host_array *a, const char *path)
{
    int st = a->n_places && !a->places ? hcy_fail(HCY_EINVAL, "hcy_host_array_write: %s: no places", path) : 0;
    for (size_t i = 0; !st && i < a->n_places; i++)
        st = check_place((const double(*)[3])(a->places + 15 * i), path);
    return st;
}

int hcy_host_array_write(const hcy_host_array *array, const char *path)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    const char *format, *part;
    int st = hcy__sized_read(&a, sizeof a, array, "hcy_host_array");
    if (st)
        return st;
    /* The caller fills the structure in by hand: its numbers are not to be trusted as array indices. */
    if (!path)
        return hcy_fail(HCY_EINVAL, "hcy_host_array_write: no path");
    if (a.rank < 0 || a.rank > HCY_HOST_ARRAY_MAX_RANK || (a.bytes != 4 && a.bytes != 8))
        return hcy_fail(HCY_EINVAL, "hcy_host_array_write: rank is %d, and bytes is %d: an array has 0 to %d axes, and numbers of "
                                    "4 bytes (float) or 8 (double)", (int)a.rank, (int)a.bytes, HCY_HOST_ARRAY_MAX_RANK);
    for (int i = 0; i < 3; i++)
        if (a.cells[i] != 0 && !(a.cells[i] >= FLT_MIN && a.cells[i] <= FLT_MAX / UINT16_MAX))
            return hcy_fail(HCY_EINVAL, "hcy_host_array_write: %s: a cell of %g mm; a file's floats hold %g to %g, and 0 is "
                                        "unknown", path, a.cells[i], (double)FLT_MIN, (double)FLT_MAX / UINT16_MAX);
    st = check_places(&a, path);
    if (!st)
        st = hcy_format_of(&format, path, HCY_WRITE_ARRAY);
    if (st)
        return st;
    char *file = strdup(path);
    if (!file)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", path);
    hcy__array_format(&part, file);
    st = find_array_format(format)->write(&a, file, part);
    free(file);
    return st;
}
