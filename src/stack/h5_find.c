/* h5_find.c - which datasets of an HDF5 file are the stack.  The lock of h5.h is held by the caller. */
#include "h5_virtual.h"
#include "h5_visit.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_OPENED \
    "%s::%.200s cannot be opened: it is damaged, or needs a newer HDF5; name another dataset, if that is wanted"

void hcy__h5_names_free(hcy__h5_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i]);
    free(names->at);
    *names = (hcy__h5_names){ 0 };
}

int hcy__h5_names_add(hcy__h5_names *names, const char *name)
{
    /* One at a time: names are few, and a name that failed leaves the list sound. */
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
static char *join_path(const char *group, const char *name)
{
    size_t n = strlen(group), size = n + strlen(name) + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s%s%s", group, n && group[n - 1] == '/' ? "" : "/", name);
    return path;
}

/* H5I_DATASET, H5I_GROUP, or H5I_BADID where there is nothing that opens. */
static H5I_type_t kind_of_object(hid_t file, const char *name)
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
    char refused[200], why[128]; /* the first object that HDF5 does not open, and its words for that */
};

static void list_dataset(struct search *search, const char *name, const hcy__h5_shape *shape)
{
    char line[160];
    int n = snprintf(line, sizeof line, "%s%.80s (", search->used ? ", " : "", name);
    if (shape->rank >= 3)
        n += snprintf(line + n, sizeof line - (size_t)n, "%llu x ", (unsigned long long)shape->dims[0]);
    if (shape->rank == 4)
        n += snprintf(line + n, sizeof line - (size_t)n, "%llu x ", (unsigned long long)shape->channels);
    n += snprintf(line + n, sizeof line - (size_t)n, "%llu x %llu %s)", (unsigned long long)shape->dims[1],
                  (unsigned long long)shape->dims[2], shape->type);
    /* The list is for a message of one line: what does not fit is counted. */
    if (search->used + (size_t)n < sizeof search->list) {
        memcpy(search->list + search->used, line, (size_t)n + 1);
        search->used += (size_t)n;
    } else {
        search->left_out++;
    }
}

static int look_at_dataset(void *data, hid_t object, const char *name)
{
    struct search *search = data;
    hcy__h5_shape shape;
    if (object >= 0 && (H5Iget_type(object) != H5I_DATASET || hcy__h5_describe(&shape, object) ||
                        !hcy__h5_is_stack(&shape)))
        return 0;
    char *path = join_path(search->group, name);
    if (!path)
        return hcy_fail(HCY_ENOMEM, "no memory for the names of the file's datasets");
    /* It may have been the stack: the first is kept, for the case that there is no other. */
    if (object < 0) {
        if (!*search->refused) {
            snprintf(search->why, sizeof search->why, "%s", hcy__h5_words());
            snprintf(search->refused, sizeof search->refused, "%s", path);
        }
        free(path);
        return 0;
    }
    list_dataset(search, path, &shape);
    uint64_t bytes = (uint64_t)(shape.dims[0] * shape.dims[1] * shape.dims[2] * shape.channels * shape.pixel->size);
    /* Channels do not make a stack larger than one of frames: it is the bytes that decide then. */
    int rank = shape.rank == 4 ? 3 : shape.rank, st = 0;
    /* A stack goes before any single image, however large that is: masks and flat fields are images. */
    if (rank > search->rank || (rank == search->rank && bytes > search->bytes)) {
        hcy__h5_names_free(&search->best);
        search->rank = rank;
        search->bytes = bytes;
    }
    /* Datasets that are as large are all kept, for the message that asks which. */
    if (rank == search->rank && bytes == search->bytes)
        st = hcy__h5_names_add(&search->best, path);
    free(path);
    return st;
}

static int search_group(struct search *search, hid_t file, const char *group, const char *path)
{
    search->group = group;
    hid_t at = H5Gopen2(file, group, H5P_DEFAULT);
    if (at < 0)
        return 0;
    int st = hcy__h5_visit(at, look_at_dataset, search, path);
    H5Gclose(at);
    return st;
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

/* HCY_ECORRUPT where something is stored under this name that HDF5 does not open; which damage it looks for when it
 * opens an object depends on its version.  0 for all else, links that lead nowhere among it. */
static int refuse_stored(hid_t file, const hcy_stack *stack, const char *name)
{
    H5L_info_t info;
    if (H5Lget_info(file, name, &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_HARD ||
        kind_of_object(file, name) != H5I_BADID)
        return 0;
    return hcy__h5_fail(HCY_ECORRUPT, NOT_OPENED, stack->path, name);
}

/* For a name that does not open: refuse_stored()'s status, or HCY_ENOENT for a link whose file is not there: which one,
 * and in which folder it was looked for. */
static int fail_link(hid_t file, const hcy_stack *stack, const char *name)
{
    H5L_info_t info;
    char value[2048] = "";
    const char *target = "", *object, *slash = strrchr(stack->path, '/');
    unsigned flags;
    int st = refuse_stored(file, stack, name);
    if (st)
        return st;
    if (H5Lget_info(file, name, &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_EXTERNAL ||
        info.u.val_size > sizeof value || H5Lget_val(file, name, value, sizeof value, H5P_DEFAULT) < 0 ||
        H5Lunpack_elink_val(value, info.u.val_size, &flags, &target, &object) < 0 || !*target)
        return hcy__h5_fail(HCY_ENOENT, "%s: its link %.200s leads nowhere", stack->path, name);
    if (*target == '/')
        slash = NULL;
    return hcy__h5_fail(HCY_ENOENT,
                        "%s: its link %.200s leads nowhere: %.*s%.400s is not there or has no %.200s; put the file beside it, or "
                        "name one dataset that is there",
                        stack->path, name, slash ? (int)(slash + 1 - stack->path) : 0, stack->path, target, object);
}

struct gap {
    const char *stem;
    unsigned next;
    int begins;     /* there is none before `next`: 202601 may be a date then */
    char name[512]; /* the first that is behind it */
};

static herr_t look_for_numbered(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
    struct gap *gap = data;
    const size_t length = strlen(gap->stem);
    (void)info;
    if (strncmp(name, gap->stem, length) || strlen(name) != length + 6 || strspn(name + length, "0123456789") != 6 ||
        strtoul(name + length, NULL, 10) <= gap->next ||
        (gap->begins && (name[length] != '0' || kind_of_object(group, name) == H5I_GROUP)))
        return 0;
    snprintf(gap->name, sizeof gap->name, "%s", name);
    return 1;
}

/* Numbered datasets end before `next`, or, as there are none, should begin with it: HCY_EFORMAT if there is one behind
 * it, as the stack would end there, or be another, without a word. */
static int refuse_gap(hid_t file, const hcy_stack *stack, const char *prefix, unsigned next, int begins)
{
    const char *slash = strrchr(prefix, '/');
    struct gap gap = { slash ? slash + 1 : prefix, next, begins, "" };
    char folder[512];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - prefix) : 0, prefix);
    hid_t group = H5Gopen2(file, *folder ? folder : "/", H5P_DEFAULT);
    if (group < 0)
        return 0;
    int found = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, look_for_numbered, &gap) > 0;
    H5Gclose(group);
    return found ? hcy_fail(HCY_EFORMAT, "%s: %s%06u is missing, and %s is there; name one dataset, if that is wanted",
                            stack->path, gap.stem, next, gap.name)
                 : 0;
}

/* EIGER's numbered datasets: PREFIX000001, PREFIX000002 ... (some start at 0).  The files of a growing stack's may
 * come later.  A group whose links HDF5 does not read would end the numbers early. */
static int numbered(hcy__h5_names *names, hid_t file, const hcy_stack *stack, const char *prefix)
{
    char name[512];
    for (unsigned i = 0;; i++) {
        snprintf(name, sizeof name, "%s%06u", prefix, i);
        int st = 0, is_dataset = kind_of_object(file, name) == H5I_DATASET;
        htri_t exists = is_dataset ? 1 : H5Lexists(file, name, H5P_DEFAULT);
        if (is_dataset)
            st = hcy__h5_names_add(names, name);
        else if (exists < 0 && names->n && !stack->growing)
            st = hcy__h5_fail(HCY_ECORRUPT, "%s: whether there is a %.200s cannot be read: its group is damaged; name one "
                              "dataset, if that is wanted", stack->path, name);
        else if (i > 0 && exists > 0 && kind_of_object(file, name) == H5I_BADID && !(stack->growing && names->n))
            st = fail_link(file, stack, name);
        else if (i > 0)
            return stack->growing ? 0 : refuse_gap(file, stack, prefix, i, !names->n);
        if (st)
            return st;
    }
}

/* GROUP/data, or GROUP/data_000001 ..., or nothing. */
static int usual_names(hcy__h5_names *names, hid_t file, const hcy_stack *stack, const char *group)
{
    hcy__h5_shape shape;
    char *data = join_path(group, "data"), *prefix = join_path(group, "data_");
    int st = 0;
    if (!data || !prefix) {
        st = hcy_fail(HCY_ENOMEM, "no memory for the names of the file's datasets");
    /* A link that leads nowhere is reported, or the search would go on and find a mask. */
    } else if (H5Lexists(file, data, H5P_DEFAULT) > 0 && kind_of_object(file, data) == H5I_BADID) {
        if (!(st = refuse_stored(file, stack, data)))
            st = hcy__h5_fail(HCY_EIO, "%s::%s cannot be opened", stack->path, data);
    } else if (kind_of_object(file, data) == H5I_DATASET) {
        if (describe_at(&shape, file, data) || hcy__h5_is_stack(&shape))
            st = hcy__h5_names_add(names, data);
    } else {
        st = numbered(names, file, stack, prefix);
    }
    free(prefix);
    free(data);
    return st;
}

/* GROUP/threshold_1 and so on: where the channel that is asked for has a group of its own. */
static int channel_group(hcy__h5_names *names, hid_t file, hcy_stack *stack, const char *group)
{
    const char *wanted = stack->channel ? stack->channel : "1";
    char name[64];
    /* A channel is asked for by its number, or by the name of its group. */
    int number = !wanted[strspn(wanted, "0123456789")], st = 0;
    snprintf(name, sizeof name, "%s%.40s", number ? "threshold_" : "", wanted);
    char *one = join_path(group, name), *other = join_path(group, stack->channel ? "threshold_1" : "threshold_2");
    if (!one || !other)
        st = hcy_fail(HCY_ENOMEM, "no memory for the names of the file's datasets");
    /* Nobody chose, and there is more than one: taking the first would pass the others over. */
    else if (kind_of_object(file, one) == H5I_GROUP && !stack->channel && kind_of_object(file, other) == H5I_GROUP)
        st = hcy_fail(HCY_EINVAL, "%s::%s has channels threshold_1, threshold_2 ...: choose one", stack->path, group);
    else if (kind_of_object(file, one) != H5I_GROUP && stack->channel && kind_of_object(file, other) == H5I_GROUP)
        st = hcy_fail(HCY_EINVAL, "%s::%s has no channel %s beside threshold_1", stack->path, group, name);
    else if (kind_of_object(file, one) == H5I_GROUP && !(st = usual_names(names, file, stack, one)) && names->n) {
        snprintf(stack->channel_name, sizeof stack->channel_name, "%s", name);
        stack->info.channel = (uint32_t)strtoul(wanted + strcspn(wanted, "0123456789"), NULL, 10);
    }
    free(other);
    free(one);
    return st;
}

static int find_in(hcy__h5_names *names, hid_t file, hcy_stack *stack, const char *group)
{
    /* A group for the channel goes before data that may hold all of them. */
    int st = stack->channel ? channel_group(names, file, stack, group) : 0;
    if (!st && !names->n)
        st = usual_names(names, file, stack, group);
    return st || names->n || stack->channel ? st : channel_group(names, file, stack, group);
}

static int largest(hcy__h5_names *names, hid_t file, const hcy_stack *stack, const char *group)
{
    struct search search = { 0 };
    int st = search_group(&search, file, group, stack->path);
    /* Which is the largest is known of a whole list alone.  What grows may be listed later. */
    if (st == HCY_ECORRUPT && stack->growing)
        st = 0;
    if (!st && search.best.n > 1)
        st = hcy_fail(HCY_EINVAL, "%s: several datasets are as large, name the one to use: %s", stack->path,
                      offers(&search));
    /* An image alone may be the mask of the stack that is damaged.  What grows may open later. */
    else if (!st && search.rank < 3 && *search.refused && !stack->growing)
        st = hcy_fail_vendor(HCY_ECORRUPT, 0, search.why, NOT_OPENED, stack->path, search.refused);
    else if (!st && (!search.best.n || (stack->growing && search.rank < 3))) /* a mask is there before frames are */
        st = hcy_fail(HCY_ENOENT, "%s: there is no %sstack of images in it%s%s", stack->path,
                      stack->growing ? "" : "image and no ", strcmp(group, "/") ? " below " : "",
                      strcmp(group, "/") ? group : "");
    /* The names change hands, so that freeing the search leaves them. */
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
    /* The search below calls HDF5 again, which wipes its words out. */
    snprintf(why, sizeof why, "%s", hcy__h5_words());
    struct search search = { 0 };
    int st = search_group(&search, file, "/", path);
    if (st != HCY_ENOMEM && st != HCY_ECORRUPT)
        st = hcy_fail_vendor(HCY_ENOENT, 0, why, "%s: no dataset '%.120s' can be opened in it; it has %s",
                             path, wanted, offers(&search));
    hcy__h5_names_free(&search.best);
    return st;
}

/* --- Channels of four dimensions --- */

/* Name i of the list `channel` beside the dataset; threshold_N where there is none. */
static void channel_name(char name[64], hid_t file, const char *dataset, hsize_t i)
{
    const char *slash = strrchr(dataset, '/');
    char path[512];
    /* The name that EIGER's groups have, where the file has no list of its own. */
    snprintf(name, 64, "threshold_%llu", (unsigned long long)i + 1);
    snprintf(path, sizeof path, "%.*s/channel", slash ? (int)(slash - dataset) : 0, dataset);
    hid_t list = H5Dopen2(file, path, H5P_DEFAULT), type = list < 0 ? -1 : H5Dget_type(list),
          space = list < 0 ? -1 : H5Dget_space(list), one = H5Screate(H5S_SCALAR);
    size_t size = type < 0 || H5Tget_class(type) != H5T_STRING ? 0 : H5Tget_size(type);
    hsize_t n = 0;
    /* One name of the list is read, not all: texts of variable length each take memory. */
    if (size && H5Sget_simple_extent_ndims(space) == 1 && H5Sget_simple_extent_dims(space, &n, NULL) > 0 && i < n) {
        char fixed[64] = "", *text = NULL;
        int variable = H5Tis_variable_str(type) > 0;
        H5Sselect_elements(space, H5S_SELECT_SET, 1, &i);
        if ((variable || size < sizeof fixed) &&
            !hcy__h5_whole(list) && H5Dread(list, type, one, space, H5P_DEFAULT, variable ? (void *)&text : fixed) >= 0)
            snprintf(name, 64, "%s", variable ? (text ? text : "") : fixed);
        /* HDF5 allocated a text of variable length, and has to free it. */
        if (text)
            H5Dvlen_reclaim(type, one, H5P_DEFAULT, &text);
    }
    H5Sclose(one);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (list >= 0)
        H5Dclose(list);
}

int hcy__h5_channel(hsize_t *channel, hcy_stack *stack, hid_t file, const char *dataset, hsize_t channels)
{
    const char *wanted = stack->channel;
    char name[64], list[256] = "";
    size_t used = 0;
    *channel = 0;
    if (stack->info.channel && channels == 1) /* its group is the channel */
        return 0;
    if (channels == 1 && !wanted)
        return 0;
    for (hsize_t i = 0; i < channels && i < 32; i++) {
        channel_name(name, file, dataset, i);
        /* By number or by name, as for groups. */
        int number = wanted && !wanted[strspn(wanted, "0123456789")];
        if (wanted && (number ? strtoull(wanted, NULL, 10) == i + 1 : !strcmp(wanted, name))) {
            *channel = i;
            stack->info.channel = (uint32_t)i + 1;
            memcpy(stack->channel_name, name, sizeof name);
            return 0;
        }
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%llu %s", i ? ", " : "",
                                     (unsigned long long)i + 1, name);
    }
    if (wanted)
        return hcy_fail(HCY_EINVAL, "%s::%s has no channel '%.40s'; it has %s", stack->path, dataset, wanted, list);
    return hcy_fail(HCY_EINVAL, "%s::%s has several channels, choose one: %s", stack->path, dataset, list);
}

int hcy__h5_find(hcy__h5_names *names, hid_t file, hcy_stack *stack)
{
    const char *wanted = stack->wanted && *stack->wanted ? stack->wanted : NULL;
    static const char *const usual[] = { "/entry/data", "/entry" };
    *names = (hcy__h5_names){ 0 };
    H5I_type_t kind = wanted ? kind_of_object(file, wanted) : H5I_GROUP;
    if (kind == H5I_DATASET)
        return hcy__h5_names_add(names, wanted);
    int st = kind == H5I_GROUP ? 0 : refuse_stored(file, stack, wanted);
    if (kind != H5I_GROUP)
        return st ? st : not_there(file, stack->path, wanted);
    /* A group that was named stands in the place of the usual ones. */
    if (wanted)
        st = find_in(names, file, stack, wanted);
    for (size_t i = 0; !wanted && !st && !names->n && i < sizeof usual / sizeof usual[0]; i++)
        st = find_in(names, file, stack, usual[i]);
    if (!st && !names->n)
        st = largest(names, file, stack, wanted ? wanted : "/");
    if (st)
        hcy__h5_names_free(names);
    return st;
}
