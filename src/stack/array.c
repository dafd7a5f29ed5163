/* array.c - whole arrays in NumPy files; those in HDF5 files are array_h5.c's. */
#include "array.h"
#include "files.h"
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int hcy_array_count(const hcy_array *a, size_t *n)
{
    *n = 1;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] > SIZE_MAX || hcy_size_mul(n, *n, (size_t)a->shape[i]))
            return hcy_fail(HCY_ERANGE, "an array that is larger than can be addressed");
    return 0;
}

void hcy_array_free(hcy_array *a)
{
    if (a)
        free(a->data);
    if (a)
        a->data = NULL;
}

static size_t element(const hcy_array *a)
{
    return a->bytes * (a->is_complex ? 2u : 1u);
}

static int bytes_of(const hcy_array *a, size_t *bytes)
{
    int st = hcy_array_count(a, bytes);
    if (!st && hcy_size_mul(bytes, *bytes, element(a)))
        st = hcy_fail(HCY_ERANGE, "an array that is larger than can be addressed");
    return st;
}

/* The dataset's name in "FILE.h5:DATASET", with *file cut off before it; NULL: no HDF5 file. */
static const char *h5_name(char *file)
{
    static const char *const ends[] = { ".h5", ".hdf5", ".nxs" };
    char *colon = strrchr(file, ':');
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t n = colon ? (size_t)(colon - file) : strlen(file), e = strlen(ends[i]);
        if (n > e && !strncmp(file + n - e, ends[i], e)) {
            if (colon)
                *colon = 0;
            return colon ? colon + 1 : "/data";
        }
    }
    return NULL;
}

static int read_npy(hcy_array *a, const char *path)
{
    struct hcy__npy npy = { 0 };
    size_t bytes;
    int number, fd, st = hcy__open_file(&fd, path);
    if (st)
        return st;
    st = hcy__npy_header(&npy, path, fd);
    a->is_complex = npy.kind == 'c';
    a->bytes = (unsigned)(npy.element / (a->is_complex ? 2 : 1));
    a->rank = npy.rank;
    memcpy(a->shape, npy.shape, sizeof a->shape);
    if (!st && ((npy.kind != 'c' && npy.kind != 'f') || (a->bytes != 4 && a->bytes != 8)))
        st = hcy_fail(HCY_EFORMAT, "%s: its type %s is not float or double, real or complex", path, npy.type);
    if (!st)
        st = bytes_of(a, &bytes);
    off_t size = st ? 0 : lseek(fd, 0, SEEK_END);
    if (!st && (size < 0 || (uint64_t)size < npy.data || (uint64_t)size - npy.data < bytes))
        st = hcy_fail(HCY_ECORRUPT, "%s is truncated", path);
    if (!st && !(a->data = malloc(bytes ? bytes : 1)))
        st = hcy_fail(HCY_ENOMEM, "no memory for %s, %zu bytes", path, bytes);
    if (!st && hcy__read_at(fd, a->data, bytes, npy.data, &number) != bytes)
        st = hcy_fail(HCY_EIO, "%s: reading failed", path);
    close(fd);
    return st;
}

static int write_npy(const hcy_array *a, const char *path)
{
    char header[HCY__NPY_HEADER];
    size_t bytes;
    int st = bytes_of(a, &bytes);
    if (st)
        return st;
    FILE *f = fopen(path, "wb");
    hcy__npy_write(header, a->is_complex ? 'c' : 'f', (unsigned)element(a), a->rank, a->shape);
    int written =
        f && fwrite(header, sizeof header, 1, f) == 1 && (!bytes || fwrite(a->data, bytes, 1, f) == 1);
    int number = errno;
    if (f && fclose(f))
        written = 0;
    char words[128];
    return written ? 0
                   : hcy_fail(HCY_EIO, "%s: writing failed: %s", path,
                              hcy__errno_text(number ? number : EIO, words, sizeof words));
}

int hcy_array_read(hcy_array *a, const char *path)
{
    if (!a || !path || a->size < sizeof *a)
        return hcy_fail(HCY_EINVAL,
                        "hcy_array_read: no path, no array, or one of another size (HCY_ARRAY_INIT)");
    char *file = strdup(path);
    if (!file)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    const char *dataset = h5_name(file);
    a->data = NULL;
    int st = dataset ? hcy__array_read_h5(a, file, dataset) : read_npy(a, path);
    free(file);
    if (st)
        hcy_array_free(a);
    return st;
}

int hcy_array_write(const hcy_array *a, const char *path)
{
    if (!a || !path || a->size < sizeof *a || a->rank < 0 || a->rank > HCY_ARRAY_MAX_RANK ||
        (a->bytes != 4 && a->bytes != 8))
        return hcy_fail(HCY_EINVAL,
                        "hcy_array_write: no path, or no array of floats or doubles (HCY_ARRAY_INIT)");
    char *file = strdup(path);
    if (!file)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", path);
    const char *dataset = h5_name(file);
    int st = dataset ? hcy__array_write_h5(a, file, dataset) : write_npy(a, path);
    free(file);
    return st;
}

#ifndef HAVE_HDF5
int hcy__array_read_h5(hcy_array *a, const char *file, const char *dataset)
{
    (void)a;
    return hcy_fail(HCY_EUNSUPPORTED, "%s:%s: this build of Halcyon has no HDF5", file, dataset);
}

int hcy__array_write_h5(const hcy_array *a, const char *file, const char *dataset)
{
    (void)a;
    return hcy_fail(HCY_EUNSUPPORTED, "%s:%s: this build of Halcyon has no HDF5", file, dataset);
}
#endif
