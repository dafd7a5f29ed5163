/* host_array_h5.c - whole arrays in HDF5 files.  Complex numbers are compounds { r, i }, ISMRMRD's { real, imag }. */
#include "host_array.h"
#include "h5_file.h"
#include "h5_mrd.h"
#include "h5_read.h"
#include "h5_virtual.h"
#include "isolate.h"

#include <halcyon/backend.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const complex_names[][2] = { { "r", "i" }, { "real", "imag" } };

hid_t hcy__h5_array_type(const hcy_host_array *a, int style)
{
    hid_t real = a->bytes == 8 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    if (!a->is_complex)
        return H5Tcopy(real);
    hid_t type = H5Tcreate(H5T_COMPOUND, 2 * a->bytes);
    if (type >= 0 && (H5Tinsert(type, complex_names[style][0], 0, real) < 0 ||
                      H5Tinsert(type, complex_names[style][1], a->bytes, real) < 0)) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

/* Which names the parts of a complex number have, -1 if it is none. */
static int find_complex_style(hid_t type)
{
    for (int style = 0; style < HCY__H5_COMPLEX_STYLES; style++)
        if (H5Tget_class(type) == H5T_COMPOUND && H5Tget_nmembers(type) == 2 &&
            H5Tget_member_index(type, complex_names[style][0]) == 0 &&
            H5Tget_member_index(type, complex_names[style][1]) == 1)
            return style;
    return -1;
}

/* What the numbers of a dataset are; 0, or -1 if they are none of ours. */
static int take_type(hcy_host_array *a, int *style, hid_t dataset)
{
    hid_t type = H5Dget_type(dataset), member = -1;
    *style = type >= 0 ? find_complex_style(type) : -1;
    a->is_complex = *style >= 0;
    if (a->is_complex)
        member = H5Tget_member_type(type, 0);
    /* Both parts of a complex number have one type, in files that we and h5py write. */
    hid_t real = a->is_complex ? member : type;
    H5T_class_t class = real >= 0 ? H5Tget_class(real) : H5T_NO_CLASS;
    bool is_float = class == H5T_FLOAT && (H5Tget_size(real) == 4 || H5Tget_size(real) == 8);
    int good = is_float || (class == H5T_INTEGER && !a->is_complex); /* integers become doubles */
    a->bytes = is_float ? (unsigned)H5Tget_size(real) : 8;
    if (member >= 0)
        H5Tclose(member);
    if (type >= 0)
        H5Tclose(type);
    return good ? 0 : -1;
}

static int take_array_shape(hcy_host_array *a, hid_t dataset)
{
    hsize_t dims[H5S_MAX_RANK];
    hid_t space = H5Dget_space(dataset);
    /* A dataset without a dataspace has no numbers, not even the one of rank 0. */
    a->rank = space >= 0 && H5Sget_simple_extent_type(space) != H5S_NULL ? H5Sget_simple_extent_ndims(space) : -1;
    if (a->rank >= 0 && a->rank <= HCY_HOST_ARRAY_MAX_RANK && H5Sget_simple_extent_dims(space, dims, NULL) >= 0)
        for (int i = 0; i < a->rank; i++)
            a->shape[i] = dims[i];
    if (space >= 0)
        H5Sclose(space);
    return a->rank >= 0 && a->rank <= HCY_HOST_ARRAY_MAX_RANK ? 0 : -1;
}

static int read_data(hcy_host_array *a, hid_t dataset, const char *file, const char *name)
{
    size_t n, bytes;
    int style;
    if (take_type(a, &style, dataset) || take_array_shape(a, dataset))
        return hcy_fail(HCY_EFORMAT, "%s:%s: no array of integers, float or double, nor complex of these", file,
                        name);
    int st = hcy_host_array_count(&n, a);
    /* Twice the bytes of a number: room for both of its parts. */
    if (st || hcy_size_mul(&bytes, n, 2 * a->bytes))
        return hcy_fail(HCY_ERANGE, "%s:%s is larger than can be addressed", file, name);
    a->data = malloc(bytes ? bytes : 1);
    hid_t type = hcy__h5_array_type(a, style);
    if (!a->data)
        st = hcy_fail(HCY_ENOMEM, "no memory for %s:%s", file, name);
    else if (!(st = hcy__h5_whole(dataset)) &&
             (type < 0 || (n && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, a->data) < 0)))
        st = hcy__h5_fail(HCY_EIO, "%s:%s: reading failed", file, name);
    if (type >= 0)
        H5Tclose(type);
    return st;
}

/* The dataset, or the one of acquisitions whose member `name` ends with; -1: there is none. */
static hid_t open_array(enum hcy__mrd_member *member, hid_t file, const char *name)
{
    *member = HCY__MRD_DATA;
    if (name && *name) {
        hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
        return dataset >= 0 ? dataset : hcy__mrd_open_member(member, file, name);
    }
    /* Without a name: ours, or ISMRMRD's. */
    return H5Dopen2(file, H5Lexists(file, "/data", H5P_DEFAULT) > 0 ? "/data" : HCY__MRD_RAW, H5P_DEFAULT);
}

int hcy__host_array_read_h5(hcy_host_array *a, const char *path, const char *name)
{
    hcy_isolation limits;
    enum hcy__mrd_member member;
    if (hcy__isolates(&limits, NULL, path))
        return hcy__isolated_array(a, &limits, path, name);
    hcy__h5_lock();
    hid_t file, dataset = -1;
    int st = hcy__h5_open_file(&file, path);
    const char *words = name && *name ? name : "/data";
    /* All of HDF5 under one lock: the library may have been built without threads. */
    if (!st && (dataset = open_array(&member, file, name)) < 0)
        st = hcy__h5_fail(HCY_ENOENT, "%s has no dataset %s", path, words);
    else if (!st && hcy__mrd_is_raw(dataset))
        st = hcy__mrd_read(a, dataset, member, path);
    else if (!st)
        st = read_data(a, dataset, path, words);
    if (dataset >= 0)
        H5Dclose(dataset);
    if (file >= 0)
        H5Fclose(file);
    st = hcy__h5_judge(st, path);
    hcy__h5_unlock();
    return st;
}

static int write_data(const hcy_host_array *a, hid_t file, const char *name)
{
    hsize_t dims[HCY_HOST_ARRAY_MAX_RANK];
    for (int i = 0; i < a->rank; i++)
        dims[i] = a->shape[i];
    /* A number alone is a scalar in HDF5 and not an array of one. */
    hid_t space = a->rank ? H5Screate_simple(a->rank, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t type = hcy__h5_array_type(a, 0), links = H5Pcreate(H5P_LINK_CREATE), dataset = -1;
    int good = space >= 0 && type >= 0 && links >= 0 && H5Pset_create_intermediate_group(links, 1) >= 0;
    if (good)
        dataset = H5Dcreate2(file, name, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    size_t n;
    good = dataset >= 0 && !hcy_host_array_count(&n, a) &&
           (!n || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, a->data) >= 0);
    /* Closing may write, so a failure there is one of writing. */
    if (dataset >= 0 && H5Dclose(dataset) < 0)
        good = 0;
    if (links >= 0)
        H5Pclose(links);
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    return good ? 0 : -1;
}

/* What may be replaced is of the kind that is written: a dataset, or a group with the headers of images.  Anything else
 * would take along what was never named: a group all that is in it, a series of images the acquisitions. */
static bool may_be_replaced(hid_t file, const char *name, H5I_type_t kind)
{
    hid_t object = H5Oopen(file, name, H5P_DEFAULT);
    bool may = object < 0 || H5Iget_type(object) == kind; /* below 0: a link that leads nowhere */
    if (object >= 0 && may && kind == H5I_GROUP)
        may = H5Lexists(object, "header", H5P_DEFAULT) > 0;
    if (object >= 0)
        H5Oclose(object);
    return may;
}

/* Puts an array into a file, by put(), at `name`, as an object of a kind. */
static int put_into_file(const hcy_host_array *a, const char *path, const char *name, H5I_type_t kind,
                         int (*put)(const hcy_host_array *, hid_t, const char *))
{
    hcy__h5_file *file;
    hcy__h5_lock();
    /* A file that is there keeps its other datasets: it is copied, changed and renamed over the old one. */
    int there = H5Fis_hdf5(path) > 0;
    int st = there ? hcy__h5_file_change(&file, path) : hcy__h5_file_create(&file, path, 0);
    if (!st) {
        bool is_new = !there || H5Lexists(file->id, name, H5P_DEFAULT) <= 0;
        if (!is_new && !may_be_replaced(file->id, name, kind))
            st = hcy_fail(HCY_EINVAL, "%s:%s is there and is no %s, which alone would be replaced; use another name",
                          path, name, kind == H5I_GROUP ? "series of images" : "array");
        else if (!is_new && H5Ldelete(file->id, name, H5P_DEFAULT) < 0)
            st = hcy__h5_fail(HCY_EIO, "%s:%s cannot be replaced", path, name);
        else if (put(a, file->id, name))
            st = hcy__h5_fail(HCY_EIO, "%s:%s: writing failed", path, name);
        /* Closing may fail as well, and must not hide the first error. */
        hcy_error why = *hcy_last_error();
        int closed = hcy__h5_file_close(file, st ? HCY__H5_DISCARD : HCY__H5_WHOLE);
        st = st ? hcy_fail_again(&why) : closed;
    }
    hcy__h5_unlock();
    return st;
}

int hcy__host_array_write_h5(const hcy_host_array *a, const char *path, const char *name)
{
    return put_into_file(a, path, name && *name ? name : "/data", H5I_DATASET, write_data);
}

int hcy__host_array_write_mrd(const hcy_host_array *a, const char *path, const char *series)
{
    char name[256];
    int st = hcy__mrd_check_image(a, path);
    if (st)
        return st;
    if ((size_t)snprintf(name, sizeof name, "/dataset/%s", series && *series ? series : "image_0") >= sizeof name)
        return hcy_fail(HCY_EINVAL, "%s: the name of its images is longer than 240 bytes", path);
    return put_into_file(a, path, name, H5I_GROUP, hcy__mrd_put_image);
}
