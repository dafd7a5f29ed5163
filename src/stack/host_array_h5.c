/* host_array_h5.c - whole arrays in HDF5 files.  Complex numbers are compounds { r, i }, ISMRMRD's { real, imag }. */
#include "host_array.h"
#include "h5_file.h"
#include "h5_mrd.h"
#include "h5_read.h"
#include "h5_virtual.h"
#include "h5_visit.h"
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

static int take_array_head(hcy_host_array *a, int *style, hid_t dataset, const char *file, const char *name)
{
    const bool is_number = !take_type(a, style, dataset);
    if (is_number && !take_array_shape(a, dataset))
        return 0;
    return is_number && a->rank > HCY_HOST_ARRAY_MAX_RANK
               ? hcy_fail(HCY_EFORMAT, "%s:%s: an array of more than %d axes", file, name, HCY_HOST_ARRAY_MAX_RANK)
               : hcy_fail(HCY_EFORMAT, "%s:%s: no array of integers, float or double, nor complex of these", file,
                          name);
}

static int read_data(hcy_host_array *a, hid_t dataset, const char *file, const char *name)
{
    size_t n, bytes;
    int style, st = take_array_head(a, &style, dataset, file, name);
    if (st)
        return st;
    st = hcy_host_array_count(&n, a);
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

static const char *dataset_name(const char *name)
{
    return name && *name ? name : "/data";
}

/* The arrays of a file, for a message of one line: what does not fit is counted. */
struct offer {
    char list[240];
    size_t used, left_out;
};

static int offer_array(void *data, hid_t object, const char *path)
{
    struct offer *offer = data;
    hcy_host_array a;
    char line[120];
    int style;
    if (object < 0 || H5Iget_type(object) != H5I_DATASET ||
        (!hcy__mrd_is_raw(object) && (take_type(&a, &style, object) || take_array_shape(&a, object))))
        return 0;
    const size_t n = (size_t)snprintf(line, sizeof line, "%s/%.100s", offer->used ? ", " : "", path);
    if (offer->used + n < sizeof offer->list) {
        memcpy(offer->list + offer->used, line, n + 1);
        offer->used += n;
    } else {
        offer->left_out++;
    }
    return 0;
}

static int fail_absent(hid_t file, const char *path, const char *name)
{
    struct offer offer = { "no array", 0, 0 };
    char why[128], more[40] = "";
    /* The visit calls HDF5 again, which wipes its words out. */
    snprintf(why, sizeof why, "%s", hcy__h5_words());
    /* What can be listed of a damaged file is. */
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    if (root >= 0) {
        (void)hcy__h5_visit(root, offer_array, &offer, path);
        H5Gclose(root);
    }
    if (offer.left_out)
        snprintf(more, sizeof more, " and %zu more", offer.left_out);
    return hcy_fail_vendor(HCY_ENOENT, 0, why, "%s has no dataset %s%s; it has %s%s", path, dataset_name(name),
                           name && *name ? "" : ", and none is named: FILE.h5:/NAME does that", offer.list, more);
}

/* A series of ISMRMRD's images, as it is named where it is written; -1: there is none. */
static hid_t open_images(hid_t file, const char *series)
{
    char name[300];
    return (size_t)snprintf(name, sizeof name, "/dataset/%s/data", series) < sizeof name
               ? H5Dopen2(file, name, H5P_DEFAULT)
               : -1;
}

/* The dataset, or the one of acquisitions whose member `name` ends with; -1: there is none. */
static hid_t open_array(enum hcy__mrd_member *member, hid_t file, const char *name)
{
    *member = HCY__MRD_DATA;
    if (name && *name) {
        hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
        if (dataset < 0)
            dataset = hcy__mrd_open_member(member, file, name);
        return dataset >= 0 ? dataset : open_images(file, name);
    }
    /* Without a name: ours, or ISMRMRD's. */
    hid_t dataset = H5Dopen2(file, H5Lexists(file, "/data", H5P_DEFAULT) > 0 ? "/data" : HCY__MRD_RAW, H5P_DEFAULT);
    return dataset >= 0 ? dataset : open_images(file, "image_0");
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
    const char *words = dataset_name(name);
    /* All of HDF5 under one lock: the library may have been built without threads. */
    if (!st && (dataset = open_array(&member, file, name)) < 0)
        st = fail_absent(file, path, name);
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

/* --- Rows of arrays --- */

static int open_dataset(hid_t *file, hid_t *dataset, const char *path, const char *name)
{
    int st = hcy__h5_open_file(file, path);
    *dataset = st ? -1 : H5Dopen2(*file, dataset_name(name), H5P_DEFAULT);
    return !st && *dataset < 0 ? fail_absent(*file, path, name) : st;
}

static void close_dataset(hid_t file, hid_t dataset)
{
    if (dataset >= 0)
        H5Dclose(dataset);
    if (file >= 0)
        H5Fclose(file);
}

int hcy__host_array_head_h5(hcy_host_array *a, const char *path, const char *name)
{
    hcy_isolation limits;
    hid_t file, dataset;
    int style;
    if (hcy__isolates(&limits, NULL, path)) {
        int st = hcy__isolated_array(a, &limits, path, dataset_name(name));
        hcy_host_array_free(a);
        return st;
    }
    hcy__h5_lock();
    int st = open_dataset(&file, &dataset, path, name);
    if (!st)
        st = take_array_head(a, &style, dataset, path, dataset_name(name));
    close_dataset(file, dataset);
    st = hcy__h5_judge(st, path);
    hcy__h5_unlock();
    return st;
}

static int compare_heads(const hcy_host_array *now, const hcy_host_array *head, const char *path, const char *name)
{
    const bool same = now->is_complex == head->is_complex && now->bytes == head->bytes && now->rank == head->rank &&
                      !memcmp(now->shape, head->shape, sizeof *now->shape * (size_t)now->rank);
    return same ? 0
                : hcy_fail(HCY_EFORMAT, "%s:%s is another array than when its head was read", path, dataset_name(name));
}

static int read_rows(void *rows, hid_t dataset, hid_t type, const hcy_host_array *a, int axis, hsize_t first,
                     hsize_t count)
{
    hsize_t from[HCY_HOST_ARRAY_MAX_RANK] = { 0 }, n[HCY_HOST_ARRAY_MAX_RANK];
    /* A number alone has no rows to choose from. */
    if (!a->rank)
        return H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0 ? 0 : -1;
    for (int d = 0; d < a->rank; d++)
        n[d] = a->shape[d];
    from[axis] = first;
    n[axis] = count;
    hid_t all = H5Dget_space(dataset), memory = H5Screate_simple(a->rank, n, NULL);
    bool good = type >= 0 && all >= 0 && memory >= 0 &&
                H5Sselect_hyperslab(all, H5S_SELECT_SET, from, NULL, n, NULL) >= 0 &&
                H5Dread(dataset, type, memory, all, H5P_DEFAULT, rows) >= 0;
    if (memory >= 0)
        H5Sclose(memory);
    if (all >= 0)
        H5Sclose(all);
    return good ? 0 : -1;
}

/* A process of its own has no question for rows: it reads all, and these are taken from that. */
static int take_isolated_rows(void *rows, const hcy_isolation *limits, const hcy_host_array *head, const char *path,
                              const char *name, int axis, uint64_t first, uint64_t count)
{
    hcy_host_array all = HCY_HOST_ARRAY_INIT;
    size_t outer = 1, inner = hcy__host_array_element(head);
    int st = hcy__isolated_array(&all, limits, path, dataset_name(name));
    if (!st)
        st = compare_heads(&all, head, path, name);
    for (int d = 0; !st && d < all.rank; d++)
        *(d < axis ? &outer : &inner) *= d == axis ? 1 : (size_t)all.shape[d];
    for (size_t i = 0; !st && i < outer && count && inner; i++)
        memcpy((char *)rows + i * count * inner, (char *)all.data + (i * all.shape[axis] + first) * inner,
               count * inner);
    hcy_host_array_free(&all);
    return st;
}

int hcy__host_array_rows_h5(void *rows, const hcy_host_array *head, const char *path, const char *name, int axis,
                            uint64_t first, uint64_t count)
{
    hcy_host_array now = HCY_HOST_ARRAY_INIT;
    hcy_isolation limits;
    hid_t file, dataset;
    int style = 0;
    if (hcy__isolates(&limits, NULL, path))
        return take_isolated_rows(rows, &limits, head, path, name, axis, first, count);
    hcy__h5_lock();
    int st = open_dataset(&file, &dataset, path, name);
    if (!st)
        st = take_array_head(&now, &style, dataset, path, dataset_name(name));
    if (!st)
        st = compare_heads(&now, head, path, name);
    if (!st)
        st = hcy__h5_whole(dataset);
    hid_t type = st ? -1 : hcy__h5_array_type(&now, style);
    if (!st && read_rows(rows, dataset, type, &now, axis, first, count))
        st = hcy__h5_fail(HCY_EIO, "%s:%s: reading failed", path, dataset_name(name));
    if (type >= 0)
        H5Tclose(type);
    close_dataset(file, dataset);
    st = hcy__h5_judge(st, path);
    hcy__h5_unlock();
    return st;
}

/* --- Writing --- */

static hid_t create_dataset(const hcy_host_array *a, hid_t type, hid_t file, const char *name, hid_t creation)
{
    hsize_t dims[HCY_HOST_ARRAY_MAX_RANK];
    for (int i = 0; i < a->rank; i++)
        dims[i] = a->shape[i];
    /* A number alone is a scalar in HDF5 and not an array of one. */
    hid_t space = a->rank ? H5Screate_simple(a->rank, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t links = H5Pcreate(H5P_LINK_CREATE), dataset = -1;
    if (space >= 0 && type >= 0 && links >= 0 && H5Pset_create_intermediate_group(links, 1) >= 0)
        dataset = H5Dcreate2(file, name, type, space, links, creation, H5P_DEFAULT);
    if (links >= 0)
        H5Pclose(links);
    if (space >= 0)
        H5Sclose(space);
    return dataset;
}

static int write_data(const hcy_host_array *a, hid_t file, const char *name)
{
    hid_t type = hcy__h5_array_type(a, 0), dataset = create_dataset(a, type, file, name, H5P_DEFAULT);
    size_t n;
    int good = dataset >= 0 && !hcy_host_array_count(&n, a) &&
               (!n || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, a->data) >= 0);
    /* Closing may write, so a failure there is one of writing. */
    if (dataset >= 0 && H5Dclose(dataset) < 0)
        good = 0;
    if (type >= 0)
        H5Tclose(type);
    return good ? 0 : -1;
}

/* Room for an array's numbers, which HDF5 never sees: they lie in one piece, and nothing is written there. */
static int make_room(uint64_t *offset, const hcy_host_array *a, hid_t file, const char *name)
{
    hid_t type = hcy__h5_array_type(a, 0), creation = H5Pcreate(H5P_DATASET_CREATE), dataset = -1;
    size_t n = 0;
    if (creation >= 0 && H5Pset_layout(creation, H5D_CONTIGUOUS) >= 0 &&
        H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY) >= 0 &&
        H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) >= 0)
        dataset = create_dataset(a, type, file, name, creation);
    const haddr_t at = dataset < 0 ? HADDR_UNDEF : H5Dget_offset(dataset);
    /* What has no numbers has no place either. */
    bool good = dataset >= 0 && !hcy_host_array_count(&n, a) && (!n || at != HADDR_UNDEF);
    *offset = n ? at : 0;
    if (dataset >= 0 && H5Dclose(dataset) < 0)
        good = false;
    if (creation >= 0)
        H5Pclose(creation);
    if (type >= 0)
        H5Tclose(type);
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

/* Are the groups that `name` goes through groups, as far as they are there?  A dataset has nothing in it, which HDF5
 * finds out when it creates one there, and does not say. */
static int check_groups(hid_t file, const char *path, const char *name)
{
    char *part = strdup(name);
    int st = part ? 0 : hcy_fail(HCY_ENOMEM, "no memory to write %s:%s", path, name);
    for (char *end = part && *part ? strchr(part + 1, '/') : NULL; !st && end; end = strchr(end + 1, '/')) {
        *end = 0;
        if (H5Lexists(file, part, H5P_DEFAULT) <= 0)
            break;
        hid_t object = H5Oopen(file, part, H5P_DEFAULT);
        if (object < 0 || H5Iget_type(object) != H5I_GROUP)
            st = hcy_fail(HCY_EINVAL, "%s:%s is there and is no group, so that there can be no %s; use another name",
                          path, part, name);
        if (object >= 0)
            H5Oclose(object);
        *end = '/';
    }
    free(part);
    return st;
}

/* A file in which nothing is at `name`, for an object of a kind. */
static int begin_file(hcy__h5_file **file, const char *path, const char *name, H5I_type_t kind)
{
    /* A file that is there keeps its other datasets: it is copied, changed and renamed over the old one. */
    int there = hcy__h5_is(path);
    int st = there ? hcy__h5_file_change(file, path) : hcy__h5_file_create(file, path);
    if (!st && there)
        st = check_groups((*file)->id, path, name);
    if (st || !there || H5Lexists((*file)->id, name, H5P_DEFAULT) <= 0)
        return st;
    if (!may_be_replaced((*file)->id, name, kind))
        st = hcy_fail(HCY_EINVAL, "%s:%s is there and is no %s, which alone would be replaced; use another name", path,
                      name, kind == H5I_GROUP ? "series of images" : "array");
    else if (H5Ldelete((*file)->id, name, H5P_DEFAULT) < 0)
        st = hcy__h5_fail(HCY_EIO, "%s:%s cannot be replaced", path, name);
    return st;
}

/* Closing may fail as well, and must not hide the first error. */
static int end_file(hcy__h5_file *file, int st)
{
    hcy_error why = *hcy_last_error();
    int closed = hcy__h5_file_close(file, st ? HCY__H5_DISCARD : HCY__H5_WHOLE);
    return st ? hcy_fail_again(&why) : closed;
}

/* Puts an array into a file, by put(), at `name`, as an object of a kind. */
static int put_into_file(const hcy_host_array *a, const char *path, const char *name, H5I_type_t kind,
                         int (*put)(const hcy_host_array *, hid_t, const char *))
{
    hcy__h5_file *file = NULL;
    hcy__h5_lock();
    int st = begin_file(&file, path, name, kind);
    if (!st && put(a, file->id, name))
        st = hcy__h5_fail(HCY_EIO, "%s:%s: writing failed", path, name);
    st = end_file(file, st);
    hcy__h5_unlock();
    return st;
}

int hcy__host_array_begin_h5(hcy_output **output, uint64_t *offset, const hcy_host_array *a, const char *path,
                             const char *dataset)
{
    const char *name = dataset_name(dataset);
    hcy__h5_file *file = NULL;
    *output = NULL;
    hcy__h5_lock();
    int st = begin_file(&file, path, name, H5I_DATASET);
    if (!st && make_room(offset, a, file->id, name))
        st = hcy__h5_fail(HCY_EIO, "%s:%s: writing failed", path, name);
    st = st ? end_file(file, st) : hcy__h5_file_hand_over(output, file);
    hcy__h5_unlock();
    return st;
}

int hcy__host_array_write_h5(const hcy_host_array *a, const char *path, const char *name)
{
    return put_into_file(a, path, dataset_name(name), H5I_DATASET, write_data);
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
