/* h5.c - the lock around HDF5, its error messages, and what a dataset's type and shape are. */
#include "h5.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* All below belong to whoever holds the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static H5E_auto2_t saved_print;
static void *saved_data;
static char words[128];
static int failure; /* errno of a read */

void hcy__h5_lock(void)
{
    pthread_mutex_lock(&lock);
    failure = 0;
    /* HDF5 would print its errors; ours go into the record, and the program's own setting comes back
     * afterwards. */
    H5Eget_auto2(H5E_DEFAULT, &saved_print, &saved_data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void hcy__h5_unlock(void)
{
    H5Eset_auto2(H5E_DEFAULT, saved_print, saved_data);
    pthread_mutex_unlock(&lock);
}

/* The innermost entry says what happened, those around it which calls were on the way. */
static herr_t take_words(unsigned n, const H5E_error2_t *entry, void *data)
{
    (void)data;
    if (n == 0 && entry->desc)
        snprintf(words, sizeof words, "HDF5: %s", entry->desc);
    return 0;
}

const char *hcy__h5_words(void)
{
    words[0] = 0;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_words, NULL);
    return words;
}

void hcy__h5_note_failure(int number)
{
    failure = failure ? failure : number;
}

int hcy__h5_judge(int status, const char *path)
{
    return failure ? hcy__read_failed(path, failure) : status;
}

static const char *class_words(H5T_class_t class)
{
    switch (class) {
    case H5T_STRING: return "a string";
    case H5T_COMPOUND: return "a compound";
    case H5T_OPAQUE: return "opaque bytes";
    case H5T_REFERENCE: return "a reference";
    case H5T_VLEN: return "a list";
    case H5T_ARRAY: return "an array";
    default: return "no number";
    }
}

static void describe_type(hcy__h5_shape *shape, hid_t type)
{
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    char kind = 0;
    if (class == H5T_INTEGER || class == H5T_ENUM) /* h5py's booleans are an enum */
        kind = H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i';
    else if (class == H5T_FLOAT)
        kind = 'f';
    /* Numbers with unused bits, as 12 of 16, may have them filled with anything. */
    if (kind && H5Tget_precision(type) == 8 * size)
        shape->pixel = hcy__pixel_find(kind, size);
    shape->little_endian = size == 1 || H5Tget_order(type) == H5T_ORDER_LE;
    if (shape->pixel)
        snprintf(shape->type, sizeof shape->type, "%s%s", shape->little_endian ? "" : "big-endian ",
                 shape->pixel->name);
    else if (kind)
        snprintf(shape->type, sizeof shape->type, "a number of %zu bits", H5Tget_precision(type));
    else
        snprintf(shape->type, sizeof shape->type, "%s", class_words(class));
}

int hcy__h5_describe(hcy__h5_shape *shape, hid_t dataset)
{
    memset(shape, 0, sizeof *shape);
    hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    int st = space < 0 || type < 0 ? -1 : 0;
    if (!st) {
        hsize_t dims[4] = { 1, 1 }, most[4] = { 1, 1 };
        shape->rank = H5Sget_simple_extent_ndims(space);
        if (shape->rank >= 2 && shape->rank <= 4)
            H5Sget_simple_extent_dims(space, dims + 4 - shape->rank, most + 4 - shape->rank);
        /* Only a damaged file is larger than it may become, and HDF5 would believe it. */
        for (int i = 0; i < 4; i++)
            shape->overgrown |= dims[i] > most[i];
        if (shape->rank == 3) /* frames came where channels are */
            dims[0] = dims[1];
        shape->channels = shape->rank == 4 ? dims[1] : 1;
        shape->dims[0] = dims[0];
        shape->dims[1] = dims[2];
        shape->dims[2] = dims[3];
        describe_type(shape, type);
    }
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return st;
}

int hcy__h5_is_stack(const hcy__h5_shape *shape)
{
    return shape->rank >= 2 && shape->rank <= 4 && shape->pixel;
}

int hcy__h5_address(uint64_t *address, hid_t object)
{
#if H5_VERSION_GE(1, 12, 0)
    H5O_info2_t info;
    int st = H5Oget_info3(object, &info, H5O_INFO_BASIC) < 0 ? -1 : 0;
    if (!st)
        memcpy(address, &info.token, sizeof *address); /* with which a token of a file begins */
#else
    H5O_info_t info;
    int st = H5Oget_info(object, &info) < 0 ? -1 : 0;
    if (!st)
        *address = info.addr;
#endif
    return st;
}

hid_t hcy__h5_pixel_type(const hcy__pixel *pixel)
{
    switch (pixel->type) {
    case HCY_PIXEL_U8: return H5T_STD_U8LE;
    case HCY_PIXEL_U16: return H5T_STD_U16LE;
    case HCY_PIXEL_U32: return H5T_STD_U32LE;
    case HCY_PIXEL_U64: return H5T_STD_U64LE;
    case HCY_PIXEL_I8: return H5T_STD_I8LE;
    case HCY_PIXEL_I16: return H5T_STD_I16LE;
    case HCY_PIXEL_I32: return H5T_STD_I32LE;
    case HCY_PIXEL_I64: return H5T_STD_I64LE;
    case HCY_PIXEL_F32: return H5T_IEEE_F32LE;
    default: return H5T_IEEE_F64LE;
    }
}
