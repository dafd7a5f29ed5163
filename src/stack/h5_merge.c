/* h5_merge.c - one file of curves from several that have its parts: hcy_curves_merge().
 *
 * The tree of the first part is copied.  Its datasets without an end of rows, wherever they stand, are the columns: in
 * the merged file they are virtual, rows of each part one after the other, or copies.  Files are opened one at a time,
 * so there may be more parts than a process may have open.  All under HDF5's lock. */
#include "curves_h5.h"
#include "h5_read.h"
#include "h5_shard.h"
#include "h5_virtual.h"
#include "isolate.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_OBJECTS = 4096, NAME = 512, PIECE_BYTES = 8 << 20 };
#define PROCESS "/entry_0000/integrate"
#define FRAMES  PROCESS "/results/frame"

struct part {
    const char *path;
    char kind[16];
    hcy_shard shard;
    uint64_t first, rows, step; /* frames: first, first + step ... */
    struct hcy__h5_origin origin;
    hcy__lost_frames lost;
};

struct merge {
    struct part *parts; /* by their frames */
    size_t n;
    uint64_t rows;
    size_t objects; /* copied so far */
    uint32_t flags;
    const char *path;
    hcy__h5_file *out;
};

/* --- What a part says of itself --- */

/* "; run it again with --shard 2/4", of a part of a dealing. */
static const char *say_again(char text[96], const hcy_shard *shard)
{
    *text = 0;
    if (shard->count)
        snprintf(text, 96, "; run it again with --shard %llu/%llu", (unsigned long long)shard->number,
                 (unsigned long long)shard->count);
    return text;
}

static int check_finished(const struct part *p, hid_t file)
{
    char status[32], again[96];
    hid_t group = H5Gopen2(file, PROCESS "/halcyon", H5P_DEFAULT);
    if (group < 0)
        return hcy__h5_fail(HCY_EFORMAT,
                            "%s: no file of curves that halcyon integrate has written; parts of sparse frames and of "
                            "totals are those that --shard makes", p->path);
    hcy__h5_get_text(status, sizeof status, group, "status");
    H5Gclose(group);
    if (strcmp(status, "complete"))
        return hcy_fail(HCY_ESTATE, "%s was not finished (it is '%s')%s", p->path, status, say_again(again, &p->shard));
    return 0;
}

/* Numbers of frames at equal distances, as integrate writes them. */
static int read_frame_numbers(struct part *p, hid_t file)
{
    double *frames = NULL;
    size_t n = 0;
    int st = hcy__h5_get_doubles(&frames, &n, file, FRAMES, p->path);
    if (st)
        return st;
    p->rows = n;
    /* Each number is looked at: a row twice, or one that is lacking, would shift all after it. */
    for (size_t i = 0; !st && i < n; i++)
        if (!(frames[i] >= 0 && frames[i] < 0x1p53) || (i && !(frames[i] - frames[i - 1] == frames[1] - frames[0])) ||
            (i && frames[i] <= frames[i - 1]))
            st = hcy_fail(HCY_EFORMAT, "%s: row %zu is said to be frame %.0f, which does not follow from those before it",
                          p->path, i, frames[i]);
    p->first = n && !st ? (uint64_t)frames[0] : 0;
    p->step = n > 1 && !st ? (uint64_t)(frames[1] - frames[0]) : p->shard.unit;
    free(frames);
    return st;
}

static int read_part_file(struct part *p)
{
    hid_t file;
    int st = hcy__h5_open_file(&file, p->path);
    if (st)
        return st;
    st = hcy__h5_get_shard(&p->shard, p->kind, file, p->path);
    if (!st)
        st = check_finished(p, file);
    if (!st)
        st = read_frame_numbers(p, file);
    if (!st && !p->rows)
        st = hcy_fail(HCY_EFORMAT, "%s has no curve", p->path);
    p->lost = hcy__lost_get(file);
    hcy__h5_get_origin(&p->origin, file, PROCESS "/halcyon", p->path);
    H5Fclose(file);
    return st;
}

/* --- Whether they make a whole --- */

/* A part has the frames that were dealt to it. */
static int check_dealt(const struct part *p)
{
    uint64_t first = 0, last = 0, unit = p->shard.unit ? p->shard.unit : 1;
    char again[96];
    int st = hcy_shard_frames(&first, &last, &p->shard);
    uint64_t rows = (last - first) / unit + ((last - first) % unit != 0);
    if (st || (p->first == first && p->rows == rows && (p->rows < 2 || p->step == unit)))
        return st;
    return hcy_fail(HCY_EINVAL, "%s has %llu curves from frame %llu on, where its part has %llu from %llu on%s", p->path,
                    (unsigned long long)p->rows, (unsigned long long)p->first, (unsigned long long)rows,
                    (unsigned long long)first, say_again(again, &p->shard));
}

static int check_follows(const struct part *a, const struct part *b)
{
    /* A part of one row has no distance of its own, so its neighbour's is taken. */
    uint64_t step = a->rows > 1 ? a->step : b->rows > 1 ? b->step : 1, next = a->first + a->rows * step;
    if (b->first < next)
        return hcy_fail(HCY_EINVAL, "%s and %s both have frame %llu", a->path, b->path, (unsigned long long)b->first);
    if (b->first > next)
        return hcy_fail(HCY_ENOENT, "frames %llu to %llu are missing, between %s and %s", (unsigned long long)next,
                        (unsigned long long)b->first - 1, a->path, b->path);
    return 0;
}

static int check_dealings(const struct merge *m)
{
    hcy_shard *shards = calloc(m->n, sizeof *shards);
    const char **names = calloc(m->n, sizeof *names);
    int st = shards && names ? 0 : hcy_fail(HCY_ENOMEM, "no memory for a list of %zu parts", m->n);
    for (size_t i = 0; !st && i < m->n; i++) {
        shards[i] = m->parts[i].shard;
        names[i] = m->parts[i].path;
    }
    if (!st)
        st = hcy_shards_check(shards, names, m->n);
    free(shards);
    free(names);
    return st;
}

static int check_parts(const struct merge *m)
{
    int st = 0, dealt = 0;
    /* A dealing says which parts there must be; without one, of --frames, all that can be asked is that each follows
     * the last. */
    for (size_t i = 0; i < m->n; i++)
        dealt |= m->parts[i].shard.count > 0;
    if (dealt)
        st = check_dealings(m);
    for (size_t i = 0; !st && i < m->n; i++) {
        st = i ? hcy__h5_check_alike(&m->parts[i - 1].origin, &m->parts[i].origin) : 0;
        if (!st && dealt)
            st = check_dealt(&m->parts[i]);
        else if (!st && i)
            st = check_follows(&m->parts[i - 1], &m->parts[i]);
    }
    return st;
}

static int by_frame(const void *a, const void *b)
{
    uint64_t x = ((const struct part *)a)->first, y = ((const struct part *)b)->first;
    return x < y ? -1 : x > y;
}

/* --- Columns --- */

struct column {
    const char *name; /* its path */
    int rank;
    hsize_t dims[4]; /* of the merged one */
    hid_t data;      /* likewise, or -1 before it is made */
    hid_t plist, space, type;
};

/* The column of one part, which is to have its rows and be like the others; the file is open behind *data alone. */
static int open_part_column(hid_t *data, const struct part *p, const struct column *c)
{
    hsize_t dims[4] = { 0 };
    hid_t file;
    int rank = 0, st = hcy__h5_open_file(&file, p->path);
    if (st)
        return st;
    *data = hcy__h5_open_numbers(file, c->name, &rank, dims);
    H5Fclose(file);
    int fits = *data >= 0 && rank == c->rank && dims[0] == p->rows &&
               !memcmp(dims + 1, c->dims + 1, sizeof dims - sizeof *dims);
    if (fits)
        return 0;
    if (*data >= 0)
        H5Dclose(*data);
    return hcy_fail(HCY_EFORMAT, "%s: %s is not as in the other parts", p->path, c->name);
}

static int map_part(const struct merge *m, const struct column *c, const struct part *p, uint64_t row)
{
    hsize_t start[4] = { row }, count[4];
    char *name = hcy__h5_link_target(hcy_output_name(m->out->output), p->path);
    if (!name)
        return hcy_fail(HCY_ENOMEM, "no memory for the name of %s", p->path);
    if (strchr(name, '%')) {
        free(name);
        return hcy_fail(HCY_EINVAL, "%s: HDF5 takes %% in the name of a source for a pattern; rename it, or merge by a copy",
                        p->path);
    }
    memcpy(count, c->dims, sizeof count);
    count[0] = p->rows;
    hid_t source = H5Screate_simple(c->rank, count, NULL);
    H5Sselect_hyperslab(c->space, H5S_SELECT_SET, start, NULL, count, NULL);
    int st = H5Pset_virtual(c->plist, c->space, name, c->name, source) < 0
                 ? hcy__h5_fail(HCY_EIO, "%s: %s of %s cannot be referred to", m->path, c->name, p->path)
                 : 0;
    H5Sclose(source);
    free(name);
    return st;
}

static int copy_part_rows(const struct merge *m, const struct column *c, const struct part *p, uint64_t row)
{
    size_t bytes = H5Tget_size(c->type);
    hsize_t count[4], from[4] = { 0 }, to[4] = { 0 };
    hid_t data;
    /* Beyond the rows every dimension is copied whole, so only the first one of a selection changes. */
    memcpy(count, c->dims, sizeof count);
    for (int i = 1; i < c->rank; i++)
        bytes *= (size_t)c->dims[i];
    /* Pieces bound the memory whatever the number of curves; a single row may be larger than a piece, and then is
     * one. */
    hsize_t most = bytes < PIECE_BYTES ? PIECE_BYTES / bytes : 1;
    most = most < p->rows ? most : p->rows;
    int st = open_part_column(&data, p, c);
    if (st)
        return st;
    void *piece = malloc((size_t)most * bytes);
    hid_t source = H5Dget_space(data);
    if (!piece)
        st = hcy_fail(HCY_ENOMEM, "no memory to copy %s", p->path);
    for (; !st && from[0] < p->rows; from[0] += count[0]) {
        count[0] = p->rows - from[0] < most ? p->rows - from[0] : most;
        to[0] = row + from[0];
        hid_t memory = H5Screate_simple(c->rank, count, NULL);
        H5Sselect_hyperslab(source, H5S_SELECT_SET, from, NULL, count, NULL);
        H5Sselect_hyperslab(c->space, H5S_SELECT_SET, to, NULL, count, NULL);
        if (H5Dread(data, c->type, memory, source, H5P_DEFAULT, piece) < 0)
            st = hcy__h5_fail(HCY_EIO, "%s: %s cannot be read", p->path, c->name);
        else if (H5Dwrite(c->data, c->type, memory, c->space, H5P_DEFAULT, piece) < 0)
            st = hcy__h5_fail(HCY_EIO, "%s: rows cannot be written", m->path);
        H5Sclose(memory);
    }
    free(piece);
    H5Sclose(source);
    H5Dclose(data);
    /* HDF5 is told that all writing went well, so the file itself is asked, part by part: a full disk ends the copy
     * soon. */
    return st ? st : hcy__h5_file_status(m->out);
}

/* What a row reads as that no part has: as in the parts, NaN of curves. */
static void take_fill_value(const struct column *c, hid_t from)
{
    char value[16];
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    if (H5Tget_size(c->type) <= sizeof value && H5Pfill_value_defined(from, &defined) >= 0 &&
        defined == H5D_FILL_VALUE_USER_DEFINED && H5Pget_fill_value(from, c->type, value) >= 0)
        H5Pset_fill_value(c->plist, c->type, value);
}

static int fill_column(struct merge *m, struct column *c, hid_t like)
{
    int copy = (m->flags & HCY_MERGE_COPY) != 0, st = 0;
    uint64_t row = 0;
    /* Every part is looked at before the column is made: HDF5 would read a wrong source as fill values. */
    for (size_t i = 0; !st && !copy && i < m->n; i++) {
        hid_t data;
        st = open_part_column(&data, &m->parts[i], c);
        if (!st)
            H5Dclose(data);
        if (!st)
            st = map_part(m, c, &m->parts[i], row);
        row += m->parts[i].rows;
    }
    if (st)
        return st;
    /* The last part's selection is still in the space, and means nothing to what follows. */
    H5Sselect_all(c->space);
    c->data = H5Dcreate2(m->out->id, c->name, c->type, c->space, H5P_DEFAULT, c->plist, H5P_DEFAULT);
    if (c->data < 0)
        return hcy__h5_fail(HCY_EIO, "%s: dataset %s cannot be created", m->path, c->name);
    hcy__h5_copy_attributes(c->data, like);
    for (size_t i = 0; !st && copy && i < m->n; i++) {
        st = copy_part_rows(m, c, &m->parts[i], row);
        row += m->parts[i].rows;
    }
    H5Dclose(c->data);
    return st;
}

/* `like` is a column of the first part. */
static int merge_column(struct merge *m, hid_t like, const char *name)
{
    struct column c = { .name = name, .data = -1 };
    hid_t space = H5Dget_space(like), plist = H5Dget_create_plist(like);
    int virtual = H5Pget_layout(plist) == H5D_VIRTUAL;
    c.rank = H5Sget_simple_extent_dims(space, c.dims, NULL);
    c.dims[0] = m->rows;
    c.type = H5Dget_type(like);
    /* A copy of chunks has chunks of the same kind, and no end of rows; a copy of what is virtual has its rows next to
     * one another. */
    int chunks = (m->flags & HCY_MERGE_COPY) && !virtual;
    hsize_t most[4];
    memcpy(most, c.dims, sizeof most);
    most[0] = H5S_UNLIMITED;
    c.space = H5Screate_simple(c.rank, c.dims, chunks ? most : NULL);
    c.plist = chunks ? H5Pcopy(plist) : H5Pcreate(H5P_DATASET_CREATE);
    take_fill_value(&c, plist);
    int st = fill_column(m, &c, like);
    H5Pclose(c.plist);
    H5Sclose(c.space);
    H5Tclose(c.type);
    H5Pclose(plist);
    H5Sclose(space);
    return st;
}

/* --- Everything else, as the first part has it --- */

/* Has the dataset a row for each curve?  Those of integrate have no end, those of a merged file are virtual or copies:
 * the first dimension of all of them is the number of curves. */
static int is_column(hid_t data, uint64_t rows)
{
    hsize_t dims[H5S_MAX_RANK] = { 0 }, most[H5S_MAX_RANK] = { 0 };
    hid_t space = H5Dget_space(data), plist = H5Dget_create_plist(data);
    int rank = H5Sget_simple_extent_dims(space, dims, most);
    /* An axis may have as many bins as there are curves, and is no column: its size is fixed and it is no virtual
     * one. */
    int is = rank > 0 && rank <= 4 && dims[0] == rows &&
             (most[0] == H5S_UNLIMITED || H5Pget_layout(plist) == H5D_VIRTUAL);
    H5Pclose(plist);
    H5Sclose(space);
    return is;
}

/* A link to another file, found from the first part's folder, leads to the same file from the merged one's. */
static int copy_external_link(const struct merge *m, hid_t from, const char *name, size_t size)
{
    char *value = malloc(size + 1), *there = NULL, *target = NULL, *beside = NULL;
    const char *file, *object, *part = m->parts[0].path, *slash = strrchr(part, '/');
    unsigned flags;
    int st = value ? 0 : hcy_fail(HCY_ENOMEM, "no memory for the links of %s", part);
    if (!st && (H5Lget_val(from, name, value, size, H5P_DEFAULT) < 0 ||
                H5Lunpack_elink_val(value, size, &flags, &file, &object) < 0))
        st = hcy__h5_fail(HCY_EIO, "%s: the link %s cannot be read", part, name);
    size_t folder = slash ? (size_t)(slash + 1 - part) : 0;
    /* A name without a root is found from the folder of the file that has the link, which is another one now. */
    if (!st && *file != '/' && (beside = malloc(folder + strlen(file) + 1))) {
        memcpy(beside, part, folder);
        memcpy(beside + folder, file, strlen(file) + 1);
    }
    if (!st)
        there = hcy__h5_link_target(hcy_output_name(m->out->output), beside ? beside : file);
    /* Frames that are no longer there leave a link that leads nowhere, as in the part. */
    target = there ? there : beside;
    if (!st && H5Lcreate_external(target ? target : file, object, m->out->id, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: the link %s cannot be written", m->path, name);
    free(there);
    free(beside);
    free(value);
    return st;
}

static int copy_tree(struct merge *m, hid_t from, const char *group);

static int copy_object(struct merge *m, hid_t from, const char *name)
{
    hid_t object = H5Oopen(from, name, H5P_DEFAULT);
    if (object < 0)
        return hcy__h5_fail(HCY_EIO, "%s: %s cannot be opened", m->parts[0].path, name);
    int st = 0;
    H5I_type_t type = H5Iget_type(object);
    if (type == H5I_DATASET && is_column(object, m->parts[0].rows))
        st = merge_column(m, object, name);
    else if (type == H5I_GROUP)
        st = copy_tree(m, from, name);
    else if (H5Ocopy(from, name, m->out->id, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: %s cannot be copied from %s", m->path, name, m->parts[0].path);
    H5Oclose(object);
    return st;
}

static int copy_link(struct merge *m, hid_t from, const char *name)
{
    H5L_info_t info;
    if (H5Lget_info(from, name, &info, H5P_DEFAULT) < 0)
        return hcy__h5_fail(HCY_EIO, "%s: the link %s cannot be read", m->parts[0].path, name);
    if (info.type == H5L_TYPE_EXTERNAL)
        return copy_external_link(m, from, name, info.u.val_size);
    if (info.type == H5L_TYPE_HARD)
        return copy_object(m, from, name);
    return H5Lcopy(from, name, m->out->id, name, H5P_DEFAULT, H5P_DEFAULT) < 0
               ? hcy__h5_fail(HCY_EIO, "%s: the link %s cannot be copied", m->path, name)
               : 0;
}

/* The group `group` of the first part, "" being its root, with all that is in it. */
static int copy_tree(struct merge *m, hid_t from, const char *group)
{
    char name[NAME];
    H5G_info_t info = { 0 };
    hid_t source = H5Gopen2(from, *group ? group : "/", H5P_DEFAULT);
    hid_t made = *group ? H5Gcreate2(m->out->id, group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                        : H5Gopen2(m->out->id, "/", H5P_DEFAULT);
    int st = source < 0 || made < 0 || H5Gget_info(source, &info) < 0
                 ? hcy__h5_fail(HCY_EIO, "%s: group %s cannot be copied", m->path, group)
                 : 0;
    if (!st)
        hcy__h5_copy_attributes(made, source);
    /* Hard links may lead in a circle. */
    if (!st && m->objects++ > MOST_OBJECTS)
        st = hcy_fail(HCY_ERANGE, "%s: groups without end at %s", m->parts[0].path, group);
    for (hsize_t i = 0; !st && i < info.nlinks; i++) {
        size_t used = (size_t)snprintf(name, sizeof name, "%s/", group);
        ssize_t n = H5Lget_name_by_idx(source, ".", H5_INDEX_NAME, H5_ITER_INC, i, name + used, sizeof name - used,
                                       H5P_DEFAULT);
        st = n < 0 || used + (size_t)n >= sizeof name
                 ? hcy__h5_fail(HCY_EIO, "%s: a name in group %s cannot be read", m->parts[0].path, group)
                 : copy_link(m, from, name);
    }
    if (made >= 0)
        H5Gclose(made);
    if (source >= 0)
        H5Gclose(source);
    return st;
}

/* --- The merged file --- */

static int put_merged_text(hid_t file, const char *name, const char *text)
{
    H5Adelete_by_name(file, "/", name, H5P_DEFAULT);
    return text ? hcy__h5_put_text_at(file, "/", name, text) : 0;
}

/* What the first part said of itself alone, and where the rows are from. */
static int put_origin(const struct merge *m)
{
    size_t room = 0, used = 0;
    hcy__lost_frames lost = { 0, 0 };
    for (size_t i = 0; i < m->n; i++)
        room += strlen(m->parts[i].path) + 64;
    char *list = calloc(1, room + 1);
    if (!list)
        return hcy_fail(HCY_ENOMEM, "no memory for a list of %zu parts", m->n);
    for (size_t i = 0; i < m->n; i++)
        used += (size_t)snprintf(list + used, room + 1 - used, "%s: %llu from frame %llu on\n", m->parts[i].path,
                                 (unsigned long long)m->parts[i].rows, (unsigned long long)m->parts[i].first);
    hid_t file = m->out->id;
    H5Adelete_by_name(file, "/", H5_SHARD_ATTRIBUTE, H5P_DEFAULT);
    int st = put_merged_text(file, H5_SHARD_KIND, NULL);
    for (size_t i = 0; i < m->n; i++)
        hcy__lost_add(&lost, m->parts[i].lost);
    if (!st)
        st = hcy__lost_put(file, lost);
    if (!st)
        st = put_merged_text(file, "file_name", hcy_output_name(m->out->output));
    /* A file that was merged already has such a list, of files that this one no longer depends on alone. */
    if (!st && H5Lexists(file, PROCESS "/halcyon/merged_from", H5P_DEFAULT) > 0)
        H5Ldelete(file, PROCESS "/halcyon/merged_from", H5P_DEFAULT);
    if (!st)
        st = hcy__h5_put_field(file, PROCESS "/halcyon/merged_from", list);
    free(list);
    return st;
}

static int write_merged_file(struct merge *m)
{
    hid_t from;
    int st = hcy__h5_open_file(&from, m->parts[0].path);
    if (st)
        return st;
    st = hcy__h5_file_create(&m->out, m->path);
    if (!st)
        st = copy_tree(m, from, "");
    if (!st)
        st = put_origin(m);
    H5Fclose(from);
    if (!m->out)
        return st;
    /* Closing may fail as well, and why the merging failed is what counts. */
    hcy_error why = *hcy_last_error();
    int closed = hcy__h5_file_close(m->out, st ? HCY__H5_DISCARD : HCY__H5_WHOLE);
    return st ? hcy_fail_again(&why) : closed;
}

static int merge_parts(struct merge *m, const char *const *paths)
{
    int st = 0;
    for (size_t i = 0; !st && i < m->n; i++) {
        m->parts[i].path = paths[i];
        st = read_part_file(&m->parts[i]);
        m->rows += m->parts[i].rows;
    }
    if (st)
        return st;
    /* Parts come in any order, and each check looks at neighbours. */
    qsort(m->parts, m->n, sizeof *m->parts, by_frame);
    st = check_parts(m);
    return st ? st : write_merged_file(m);
}

static int is_same_file(const char *a, const char *b)
{
    struct stat is;
    return !stat(b, &is) && hcy__is_among(&(hcy_stack_file){ (uint64_t)is.st_dev, (uint64_t)is.st_ino }, 1, a);
}

int hcy_curves_merge(uint64_t *rows, const char *path, const char *const *parts, size_t n, uint32_t flags)
{
    struct merge m = { .n = n, .flags = flags, .path = path };
    if (!path || !parts || !n || (flags & ~(uint32_t)HCY_MERGE_COPY))
        return hcy_fail(HCY_EINVAL, "hcy_curves_merge: a path, parts and known flags are needed");
    /* Rows that stay in a part would lead back to the file that has taken its place. */
    int st = 0;
    for (size_t i = 0; !st && i < n; i++)
        if (!(flags & HCY_MERGE_COPY) && is_same_file(path, parts[i]))
            st = hcy_fail(HCY_EINVAL, "%s is one of the parts, whose rows stay where they are; name another file, or merge by a copy",
                          path);
    if (!st)
        st = hcy__isolated_try(parts, n);
    if (st)
        return st;
    m.parts = calloc(n, sizeof *m.parts);
    if (!m.parts)
        return hcy_fail(HCY_ENOMEM, "no memory for a list of %zu parts", n);
    hcy__h5_lock();
    st = merge_parts(&m, parts);
    hcy__h5_unlock();
    free(m.parts);
    if (rows)
        *rows = st ? 0 : m.rows;
    return st;
}
