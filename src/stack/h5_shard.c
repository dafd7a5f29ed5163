/* h5_shard.c - see h5_shard.h. */
#include "h5_shard.h"
#include "h5_file.h"
#include "h5_read.h"
#include "isolate.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <string.h>

enum { NUMBERS = 5, KIND_BYTES = 16 };

/* Of fixed length: how long a text of variable length is, HDF5 believes of a damaged file, and is busy with gigabytes
 * or crashes.  To be closed. */
static hid_t kind_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, KIND_BYTES);
    return type;
}

static int put_kind(hid_t root, const char *kind)
{
    char text[KIND_BYTES] = { 0 };
    snprintf(text, sizeof text, "%s", kind);
    hid_t type = kind_type(), space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(root, H5_SHARD_KIND, type, space, H5P_DEFAULT, H5P_DEFAULT);
    int st = attribute < 0 || H5Awrite(attribute, type, text) < 0
                 ? hcy__h5_fail(HCY_EIO, "attribute '" H5_SHARD_KIND "' cannot be written")
                 : 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    return st;
}

/* Reads `n` elements of an attribute if they are stored as `type`, as they are written here, and else not at all. */
static int get_exactly(void *values, hid_t file, const char *name, hid_t type, hssize_t n)
{
    hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
    if (attribute < 0)
        return 0;
    hid_t stored = H5Aget_type(attribute), space = H5Aget_space(attribute);
    const int good = H5Tequal(stored, type) > 0 && H5Sget_simple_extent_npoints(space) == n &&
                     H5Aread(attribute, type, values) >= 0;
    H5Sclose(space);
    H5Tclose(stored);
    H5Aclose(attribute);
    return good;
}

int hcy__h5_put_shard(hid_t file, const hcy_shard *shard, const char *kind)
{
    if (!shard)
        return 0;
    /* One attribute has all numbers, so a file has either all of them or none. */
    const uint64_t numbers[NUMBERS] = { shard->number, shard->count, shard->first, shard->last, shard->unit };
    const hsize_t n = NUMBERS;
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT), space = H5Screate_simple(1, &n, NULL);
    hid_t attribute = H5Acreate2(root, H5_SHARD_ATTRIBUTE, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    int st = attribute < 0 || H5Awrite(attribute, H5T_NATIVE_UINT64, numbers) < 0
                 ? hcy__h5_fail(HCY_EIO, "attribute '" H5_SHARD_ATTRIBUTE "' cannot be written")
                 : put_kind(root, kind);
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    H5Gclose(root);
    return st;
}

int hcy__shard_is_sound(const hcy_shard *shard)
{
    return shard->number < shard->count && shard->first <= shard->last;
}

int hcy__h5_get_shard(hcy_shard *shard, char kind[16], hid_t file, const char *path)
{
    uint64_t numbers[NUMBERS];
    char text[KIND_BYTES];
    *shard = (hcy_shard){ 0 };
    *kind = 0;
    /* A file that is no part says so by having none, which is no error. */
    if (H5Aexists(file, H5_SHARD_ATTRIBUTE) <= 0)
        return 0;
    hid_t type = kind_type();
    int good = get_exactly(numbers, file, H5_SHARD_ATTRIBUTE, H5T_STD_U64LE, NUMBERS) &&
               get_exactly(text, file, H5_SHARD_KIND, type, 1);
    H5Tclose(type);
    const hcy_shard said = good ? (hcy_shard){ numbers[0], numbers[1], numbers[2], numbers[3], numbers[4] }
                                : (hcy_shard){ 0 };
    if (!hcy__shard_is_sound(&said))
        return hcy_fail(HCY_EFORMAT, "%s: what it says of its part of a stack ('" H5_SHARD_ATTRIBUTE "') is damaged", path);
    *shard = said;
    memcpy(kind, text, KIND_BYTES);
    kind[KIND_BYTES - 1] = 0;
    return 0;
}

void hcy__h5_get_origin(struct hcy__h5_origin *o, hid_t file, const char *group, const char *path)
{
    char name[128];
    o->path = path;
    snprintf(name, sizeof name, "%s/plan", group);
    hcy__h5_get_field(o->plan, sizeof o->plan, file, name);
    snprintf(name, sizeof name, "%s/source", group);
    hcy__h5_get_field(o->source, sizeof o->source, file, name);
    snprintf(name, sizeof name, "%s/source_dataset", group);
    hcy__h5_get_field(o->dataset, sizeof o->dataset, file, name);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int hcy__h5_check_alike(const struct hcy__h5_origin *a, const struct hcy__h5_origin *b)
{
    if (strcmp(a->plan, b->plan))
        return hcy_fail(HCY_EINVAL, "%s and %s are of different plans (%.12s, %.12s): geometry, bins or options differ",
                        a->path, b->path, a->plan, b->plan);
    /* Machines may have mounted the same folder in different places, so the file's own name decides. */
    if (strcmp(base_name(a->source), base_name(b->source)) || strcmp(a->dataset, b->dataset))
        return hcy_fail(HCY_EINVAL, "%s is of %s::%s, %s of %s::%s", a->path, a->source, a->dataset, b->path, b->source,
                        b->dataset);
    return 0;
}

int hcy__h5_read_shard(hcy_shard *shard, char kind[16], const char *path)
{
    hid_t file;
    hcy__h5_lock();
    int st = hcy__h5_open_file(&file, path);
    if (!st)
        st = hcy__h5_get_shard(shard, kind, file, path);
    if (file >= 0)
        H5Fclose(file);
    hcy__h5_unlock();
    return st;
}

int hcy_shard_read(hcy_shard *shard, char kind[16], const char *path)
{
    hcy_isolation limits;
    if (!shard || !kind || !path)
        return hcy_fail(HCY_EINVAL, "hcy_shard_read: no argument may be NULL");
    return hcy__isolates(&limits, NULL, path) && hcy__looks_like_h5(path)
               ? hcy__isolated_shard(shard, kind, &limits, path)
               : hcy__h5_read_shard(shard, kind, path);
}
