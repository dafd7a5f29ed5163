/* h5_find.c - which datasets of an HDF5 file are the stack.  The lock of h5.h is held by the caller. */
#include "h5.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hcy__h5_names_free(hcy__h5_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i]);
    free(names->at);
    *names = (hcy__h5_names){ 0 };
}

static int add_name(hcy__h5_names *names, const char *name)
{
    char **at = realloc(names->at, (names->n + 1) * sizeof *at);
    if (at)
        names->at = at;
    char *copy = at ? strdup(name) : NULL;
    if (!copy)
        return hcy_fail(HCY_ENOMEM, "no memory for the names of the file's datasets");
    names->at[names->n++] = copy;
    return 0;
}

/* "/group" and "name" as one path, without doubled slashes. */
static char *join(const char *group, const char *name)
{
    size_t n = strlen(group), size = n + strlen(name) + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s%s%s", group, n && group[n - 1] == '/' ? "" : "/", name);
    return path;
}

/* H5I_DATASET, H5I_GROUP, or H5I_BADID where there is nothing that opens. */
static H5I_type_t kind_of(hid_t file, const char *name)
{
    hid_t object = H5Oopen(file, name, H5P_DEFAULT);
    if (object < 0)
        return H5I_BADID;
    H5I_type_t kind = H5Iget_type(object);
    H5Oclose(object);
    return kind;
}

static int describe_at(hcy__h5_shape *shape, hid_t at, const char *name)
{
    hid_t dataset = H5Dopen2(at, name, H5P_DEFAULT);
    if (dataset < 0)
        return -1;
    int st = hcy__h5_describe(shape, dataset);
    H5Dclose(dataset);
    return st;
}

/* --- All datasets below a group --- */

struct search {
    const char *group;
    hcy__h5_names best; /* the largest, all of them if several are as large */
    int rank;
    uint64_t bytes;
    char list[320]; /* what there is, for messages */
    size_t used, left_out;
    int status;
};

static void list_dataset(struct search *search, const char *name, const hcy__h5_shape *shape)
{
    char line[160];
    int n = snprintf(line, sizeof line, "%s%.80s (", search->used ? ", " : "", name);
    if (shape->rank == 3)
        n += snprintf(line + n, sizeof line - (size_t)n, "%llu x ", (unsigned long long)shape->dims[0]);
    n += snprintf(line + n, sizeof line - (size_t)n, "%llu x %llu %s)", (unsigned long long)shape->dims[1],
                  (unsigned long long)shape->dims[2], shape->type);
    if (search->used + (size_t)n < sizeof search->list) {
        memcpy(search->list + search->used, line, (size_t)n + 1);
        search->used += (size_t)n;
    } else {
        search->left_out++;
    }
}

static herr_t look_at(hid_t group, const char *name, const H5O_info_t *info, void *data)
{
    struct search *search = data;
    hcy__h5_shape shape;
    if (info->type != H5O_TYPE_DATASET || describe_at(&shape, group, name) || !hcy__h5_is_stack(&shape))
        return 0;
    char *path = join(search->group, name);
    if (!path) {
        search->status = hcy_fail(HCY_ENOMEM, "no memory for the names of the file's datasets");
        return -1;
    }
    list_dataset(search, path, &shape);
    uint64_t bytes = (uint64_t)(shape.dims[0] * shape.dims[1] * shape.dims[2] * shape.pixel->size);
    if (shape.rank > search->rank || (shape.rank == search->rank && bytes > search->bytes)) {
        hcy__h5_names_free(&search->best);
        search->rank = shape.rank;
        search->bytes = bytes;
    }
    if (shape.rank == search->rank && bytes == search->bytes)
        search->status = add_name(&search->best, path);
    free(path);
    return search->status ? -1 : 0;
}

static int search_group(struct search *search, hid_t file, const char *group)
{
    search->group = group;
    hid_t at = H5Gopen2(file, group, H5P_DEFAULT);
    if (at < 0)
        return 0;
#if H5_VERSION_GE(1, 12, 0)
    H5Ovisit3(at, H5_INDEX_NAME, H5_ITER_INC, look_at, search, H5O_INFO_BASIC);
#else
    H5Ovisit(at, H5_INDEX_NAME, H5_ITER_INC, look_at, search);
#endif
    H5Gclose(at);
    return search->status;
}

/* Appends what the file has to the words, for messages about what it has not. */
static const char *offers(struct search *search)
{
    if (!search->used)
        snprintf(search->list, sizeof search->list, "nothing that is an image or a stack of images");
    else if (search->left_out)
        snprintf(search->list + search->used, sizeof search->list - search->used, " and %zu more",
                 search->left_out);
    return search->list;
}

/* --- The rules --- */

/* EIGER's numbered datasets: PREFIX000001, PREFIX000002 ... (some start at 0). */
static int numbered(hcy__h5_names *names, hid_t file, const char *path, const char *prefix)
{
    char name[512];
    for (unsigned i = 0;; i++) {
        snprintf(name, sizeof name, "%s%06u", prefix, i);
        int st = 0;
        if (kind_of(file, name) == H5I_DATASET)
            st = add_name(names, name);
        else if (i > 0 && H5Lexists(file, name, H5P_DEFAULT) > 0 && kind_of(file, name) == H5I_BADID)
            st = hcy__h5_fail(HCY_ENOENT,
                              "%s: its link %.200s leads nowhere; put the file it names beside it, or name "
                              "one dataset that is there",
                              path, name);
        else if (i > 0)
            return 0;
        if (st)
            return st;
    }
}

/* GROUP/data, or GROUP/data_000001 ..., or nothing. */
static int usual_names(hcy__h5_names *names, hid_t file, const char *path, const char *group)
{
    hcy__h5_shape shape;
    char *data = join(group, "data"), *prefix = join(group, "data_");
    int st = 0;
    if (!data || !prefix) {
        st = hcy_fail(HCY_ENOMEM, "no memory for the names of the file's datasets");
    } else if (H5Lexists(file, data, H5P_DEFAULT) > 0 && kind_of(file, data) == H5I_BADID) {
        st = hcy__h5_fail(HCY_EIO, "%s::%s cannot be opened", path, data);
    } else if (kind_of(file, data) == H5I_DATASET) {
        if (describe_at(&shape, file, data) || hcy__h5_is_stack(&shape))
            st = add_name(names, data);
    } else {
        st = numbered(names, file, path, prefix);
    }
    free(prefix);
    free(data);
    return st;
}

static int largest(hcy__h5_names *names, hid_t file, const char *path, const char *group)
{
    struct search search = { 0 };
    int st = search_group(&search, file, group);
    if (!st && search.best.n > 1)
        st = hcy_fail(HCY_EINVAL, "%s: several datasets are as large, name the one to use: %s", path,
                      offers(&search));
    else if (!st && !search.best.n)
        st = hcy_fail(HCY_ENOENT, "%s: there is no image and no stack of images in it%s%s", path,
                      strcmp(group, "/") ? " below " : "", strcmp(group, "/") ? group : "");
    if (!st) {
        *names = search.best;
        search.best = (hcy__h5_names){ 0 };
    }
    hcy__h5_names_free(&search.best);
    return st;
}

static int not_there(hid_t file, const char *path, const char *wanted)
{
    char why[128];
    snprintf(why, sizeof why, "%s", hcy__h5_words());
    struct search search = { 0 };
    int st = search_group(&search, file, "/");
    if (!st)
        st = hcy_fail_vendor(HCY_ENOENT, 0, why, "%s: no dataset '%.120s' can be opened in it; it has %s",
                             path, wanted, offers(&search));
    hcy__h5_names_free(&search.best);
    return st;
}

int hcy__h5_find(hcy__h5_names *names, hid_t file, const char *path, const char *wanted)
{
    *names = (hcy__h5_names){ 0 };
    H5I_type_t kind = wanted ? kind_of(file, wanted) : H5I_GROUP;
    if (kind == H5I_DATASET)
        return add_name(names, wanted);
    if (kind != H5I_GROUP)
        return not_there(file, path, wanted);
    static const char *const usual[] = { "/entry/data", "/entry" };
    int st = 0;
    if (wanted)
        st = usual_names(names, file, path, wanted);
    for (size_t i = 0; !wanted && !st && !names->n && i < sizeof usual / sizeof usual[0]; i++)
        st = usual_names(names, file, path, usual[i]);
    if (!st && !names->n)
        st = largest(names, file, path, wanted ? wanted : "/");
    if (st)
        hcy__h5_names_free(names);
    return st;
}
