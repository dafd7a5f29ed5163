/* h5_read.c - see h5_read.h. */
#include "h5_driver.h"
#include "h5_read.h"
#include "h5_virtual.h"
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int hcy__h5_open_file(hid_t *file, const char *path)
{
    int fd, st = hcy__open_file(&fd, path); /* its words for what HDF5 has none for */
    *file = -1;
    if (st)
        return st;
    struct stat is;
    const bool is_empty = !fstat(fd, &is) && S_ISREG(is.st_mode) && !is.st_size;
    close(fd);
    if (is_empty)
        return hcy_fail(HCY_EFORMAT, "%s is empty", path);
    const char *words;
    *file = hcy__h5_spy_open(path, &words);
    return *file < 0 ? hcy_fail_vendor(HCY_EFORMAT, 0, words, "%s cannot be opened as HDF5", path) : 0;
}

int hcy__h5_is(const char *path)
{
    int fd, is_plain = !hcy__open_file(&fd, path);
    if (is_plain)
        close(fd);
    return is_plain && H5Fis_hdf5(path) > 0;
}

static void copy_text(char *text, size_t size, const char *from, size_t n)
{
    n = n < size ? n : size - 1;
    memcpy(text, from, n);
    text[n] = 0;
}

int hcy__h5_get_text(char *text, size_t size, hid_t object, const char *name)
{
    *text = 0;
    if (H5Aexists(object, name) <= 0)
        return 0;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    int found = 0;
    if (H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1) {
        size_t n = H5Tget_size(type);
        char *value = NULL;
        if (H5Tis_variable_str(type) > 0) {
            found = H5Aread(attribute, type, &value) >= 0 && value;
            if (found)
                copy_text(text, size, value, strlen(value));
            H5free_memory(value);
        /* Text of a fixed length need not end with a zero. */
        } else if ((value = calloc(1, n + 1)) != NULL) {
            found = H5Aread(attribute, type, value) >= 0;
            copy_text(text, size, value, strlen(value));
            free(value);
        }
    }
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return found;
}

hid_t hcy__h5_open_numbers(hid_t group, const char *name, int *rank, hsize_t dims[4])
{
    hid_t data = H5Dopen2(group, name, H5P_DEFAULT);
    if (data < 0)
        return data;
    hid_t space = H5Dget_space(data), type = H5Dget_type(data);
    H5T_class_t kind = H5Tget_class(type);
    *rank = H5Sget_simple_extent_ndims(space);
    /* Read as doubles later, which HDF5 converts whole numbers and floats to, and nothing else. */
    int good = *rank >= 0 && *rank <= 4 && (kind == H5T_INTEGER || kind == H5T_FLOAT);
    if (good)
        H5Sget_simple_extent_dims(space, dims, NULL);
    H5Tclose(type);
    H5Sclose(space);
    if (good)
        return data;
    H5Dclose(data);
    return -1;
}

enum { LEAST_NUMBERS = 65536 };

/* How many numbers there are, if not more than one dimension has more than one; else -1. */
static int length_of(size_t *n, const hsize_t dims[4])
{
    int long_ones = 0;
    *n = 1;
    for (int i = 0; i < 4; i++) {
        long_ones += dims[i] != 1;
        if (dims[i] != 1)
            *n = (size_t)dims[i];
    }
    return long_ones > 1 ? -1 : 0;
}

int hcy__h5_get_doubles(double **values, size_t *n, hid_t group, const char *name, const char *path)
{
    hsize_t dims[4] = { 1, 1, 1, 1 };
    int rank, st = 0;
    size_t bytes;
    *values = NULL;
    hid_t data = hcy__h5_open_numbers(group, name, &rank, dims);
    if (data < 0)
        return hcy__h5_fail(HCY_ENOENT, "%s: there are no numbers at %s", path, name);
    hid_t plist = H5Dget_create_plist(data);
    /* What is virtual stores nothing itself; its sources are looked at below. */
    hsize_t stored = H5Pget_layout(plist) == H5D_VIRTUAL ? UINT64_MAX : H5Dget_storage_size(data);
    H5Pclose(plist);
    /* A list may have been written as a column or a row, with other dimensions of 1. */
    if (length_of(n, dims))
        st = hcy_fail(HCY_EFORMAT, "%s: %s has %d dimensions where a list is wanted", path, name, rank);
    else if (*n > LEAST_NUMBERS && (*n - LEAST_NUMBERS) / H5_MOST_PACKED > stored) /* HDF5 would fill them in */
        st = hcy_fail(HCY_ECORRUPT, "%s: %s says that it has %zu numbers, and stores %llu bytes", path, name, *n,
                      (unsigned long long)stored);
    else if (*n >> 40 || hcy_size_mul(&bytes, *n, sizeof **values) || !(*values = malloc(bytes ? bytes : 1)))
        st = hcy_fail(HCY_ENOMEM, "%s: no memory for the %zu numbers of %s", path, *n, name);
    else if (!(st = hcy__h5_whole(data)) &&
             H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, *values) < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: %s cannot be read", path, name);
    H5Dclose(data);
    if (st) {
        free(*values);
        *values = NULL;
    }
    return st;
}

void hcy__h5_get_field(char *text, size_t size, hid_t file, const char *name)
{
    char *value = NULL;
    *text = 0;
    hid_t data = H5Dopen2(file, name, H5P_DEFAULT);
    if (data < 0)
        return;
    hid_t type = H5Dget_type(data), space = H5Dget_space(data);
    if (H5Tis_variable_str(type) > 0 && H5Sget_simple_extent_npoints(space) == 1 &&
        H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) >= 0 && value)
        snprintf(text, size, "%s", value);
    /* HDF5 allocated the text, perhaps with another allocator than ours. */
    H5free_memory(value);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(data);
}
