/* h5_virtual.c - see h5_virtual.h. */
#include "h5_virtual.h"
#include "h5_driver.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_DEPTH = 8, MOST_OPENED = 65536, MOST_FRAMES = 1 << 26, MOST_CHUNKS = 1 << 16, MOST_NAME = 4096 };

/* A dataset as one knows it again, however its file was opened. */
struct identity {
    dev_t device;
    ino_t inode;
    uint64_t address;
};

struct search {
    struct identity trail[MOST_DEPTH]; /* the datasets on the way to the one that is looked at */
    size_t depth, opened;
    hcy__h5_names *names;
    const char *file, *name; /* where it began */
};

/* --- Frames --- */

/* Frames that are selected: `count` groups of `block`, `stride` apart. */
struct frames {
    hsize_t start, stride, count, block;
    int endless; /* as many as there are */
};

/* A dataset of less than three dimensions is one frame. */
static hsize_t frames_in(int *rank, hsize_t *dims, hid_t dataset)
{
    hid_t space = H5Dget_space(dataset);
    *rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, NULL);
    if (space >= 0)
        H5Sclose(space);
    return *rank < 3 ? 1 : dims[0];
}

/* What is selected of `n` frames.  A selection that is no regular one counts from its first to its last
 * frame. */
static struct frames selected(hid_t space, hsize_t n)
{
    hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK], block[H5S_MAX_RANK];
    struct frames all = { 0, 1, 1, n, 0 };
    H5S_sel_type kind = H5Sget_select_type(space);
    if (kind == H5S_SEL_ALL || H5Sget_simple_extent_ndims(space) < 3)
        return all;
    /* What an open end means is known only when the source's frames are. */
    if (kind == H5S_SEL_HYPERSLABS && H5Sis_regular_hyperslab(space) > 0 &&
        H5Sget_regular_hyperslab(space, start, stride, count, block) >= 0) {
        int endless = count[0] == H5S_UNLIMITED || block[0] == H5S_UNLIMITED;
        return (struct frames){ start[0], stride[0] ? stride[0] : 1, count[0], block[0] ? block[0] : 1, endless };
    }
    if (kind == H5S_SEL_NONE || H5Sget_select_bounds(space, start, stride) < 0)
        return (struct frames){ 0, 1, 0, 1, 0 };
    return (struct frames){ start[0], 1, 1, stride[0] - start[0] + 1, 0 };
}

static hsize_t frame_at(const struct frames *f, hsize_t k)
{
    return f->start + k / f->block * f->stride + k % f->block;
}

static hsize_t count_frames(const struct frames *f)
{
    return f->endless || (f->count && f->block > UINT64_MAX / f->count) ? UINT64_MAX : f->count * f->block;
}

/* What is worst of a frame's pieces counts; a gap between pieces is none. */
static void merge_reason(uint32_t *why, uint32_t more)
{
    if (*why == H5_FRAME_UNMAPPED || (more != H5_FRAME_UNMAPPED && more > *why))
        *why = more;
}

/* What a mapping gets of a source: it has `m` frames. */
static uint32_t given(const uint32_t *source, hsize_t m, hsize_t at)
{
    return at >= m || source[at] == H5_FRAME_UNMAPPED ? H5_FRAME_UNWRITTEN : source[at];
}

/* The frames of a mapping are as their sources are: one by one where there are as many, else all as the worst. */
static void map_frames(uint32_t *why, hsize_t n, struct frames to, const uint32_t *source, hsize_t m,
                       struct frames from)
{
    hsize_t targets = count_frames(&to), sources = count_frames(&from);
    uint32_t worst = 0;
    /* An open end has as many frames as the other side. */
    int pairs = targets == sources || to.endless || from.endless;
    for (hsize_t k = 0; !pairs && k < sources && frame_at(&from, k) < m; k++)
        merge_reason(&worst, given(source, m, frame_at(&from, k)));
    for (hsize_t k = 0; k < targets && frame_at(&to, k) < n; k++) {
        hsize_t at = k < sources ? frame_at(&from, k) : UINT64_MAX;
        if (at >= m && pairs && to.endless)
            return; /* the mapping ends with its source */
        merge_reason(&why[frame_at(&to, k)], pairs ? given(source, m, at) : worst);
    }
}

/* --- Names --- */

static int number_reason(uint32_t *which, struct search *s, const char *name)
{
    for (size_t i = s->names->n; i-- > 0;)
        if (!strcmp(s->names->at[i], name)) {
            *which = H5_FRAME_NAMES + (uint32_t)i;
            return 0;
        }
    *which = H5_FRAME_NAMES + (uint32_t)s->names->n;
    return hcy__h5_names_add(s->names, name);
}

int hcy__h5_source_name(char *to, size_t size, const char *from, uint64_t block)
{
    size_t n = 0;
    for (; *from && n < size; from++) {
        if (from[0] == '%' && from[1] == 'b')
            n += (size_t)snprintf(to + n, size - n, "%llu", (unsigned long long)block);
        else
            to[n++] = *from;
        from += from[0] == '%' && (from[1] == 'b' || from[1] == '%');
    }
    if (n >= size)
        return -1;
    to[n] = 0;
    return 0;
}

static int has_block(const char *name)
{
    while ((name = strchr(name, '%')) && name[1] != 'b')
        name += 1 + (name[1] == '%');
    return name != NULL;
}

static hid_t open_in_folder(const char *folder, size_t length, const char *name)
{
    const char *words;
    char path[MOST_NAME];
    int n = snprintf(path, sizeof path, "%.*s%s%s", (int)length, folder, length ? "/" : "", name);
    return (size_t)n < sizeof path ? hcy__h5_spy_open(path, &words) : -1;
}

/* As named, if that is a whole path; else, or without its folders, where HDF5_VDS_PREFIX says, beside the file, where
 * we are, and beside what a symbolic link stands for. */
hid_t hcy__h5_open_source(hid_t dataset, const char *name)
{
    char here[MOST_NAME] = "";
    const char *prefix = getenv("HDF5_VDS_PREFIX"), *slash;
    if (!strcmp(name, "."))
        return H5Iget_file_id(dataset);
    /* In the order in which HDF5 looks, so that it opens the same file later. */
    hid_t file = *name == '/' ? open_in_folder("", 0, name) : -1;
    if (*name == '/')
        name = strrchr(name, '/') + 1;
    while (file < 0 && prefix && *prefix) {
        size_t n = strcspn(prefix, ":");
        file = n ? open_in_folder(prefix, n, name) : -1;
        prefix += n + (prefix[n] == ':');
    }
    ssize_t n = H5Fget_name(dataset, here, sizeof here);
    slash = n > 0 && (size_t)n < sizeof here ? strrchr(here, '/') : NULL;
    if (file < 0 && slash)
        file = open_in_folder(here, (size_t)(slash - here), name);
    if (file < 0)
        file = open_in_folder("", 0, name);
    /* Masters are often linked to from elsewhere, with their data left beside the original. */
    char *real = file < 0 ? realpath(here, NULL) : NULL;
    if (real && (slash = strrchr(real, '/')))
        file = open_in_folder(real, (size_t)(slash - real), name);
    free(real);
    return file;
}

int hcy__h5_none_there(const char *file, const char *name, char *const *names, size_t n)
{
    char list[400] = "";
    size_t used = 0, i = 0;
    /* As many names as a message holds; the rest is counted. */
    for (; i < n && used + strlen(names[i]) + 40 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    if (i < n)
        snprintf(list + used, sizeof list - used, "%s%zu%s", i ? ", and " : "", n - i, i ? " more" : " of them");
    return hcy_fail(HCY_ENOENT, "%s::%s is virtual, and each frame lacks a source; put them where it names them: %s",
                    file, name, n ? list : "it has none");
}

/* --- Looking --- */

static int look_at_frames(struct search *s, uint32_t **why, hsize_t *n, hid_t dataset);

/* The chunks of a frame, from its first element to the end of the dataset. */
static int is_written(uint64_t *bytes, hid_t dataset, int rank, const hsize_t *dims, const hsize_t *chunk,
                      hsize_t frame)
{
    hsize_t from[H5S_MAX_RANK] = { 0 }, to[H5S_MAX_RANK], all;
    memcpy(to, dims, (size_t)rank * sizeof *to);
    if (rank > 2) {
        from[0] = frame / chunk[0] * chunk[0];
        to[0] = from[0] + 1;
    }
    return hcy__h5_spy_box(&all, bytes, dataset, rank, chunk, from, to, 1) > 0;
}

/* A damaged file may say that a frame has more chunks than can be looked for. */
static int has_few_chunks(int rank, const hsize_t *dims, const hsize_t *chunk)
{
    hsize_t n = 1;
    for (int d = rank > 2; d < rank && n <= MOST_CHUNKS; d++)
        n *= dims[d] / chunk[d] < MOST_CHUNKS ? dims[d] / chunk[d] + 1 : MOST_CHUNKS + 1;
    return n <= MOST_CHUNKS;
}

/* Frames that are stored.  Once all stored bytes have been met there is none left to find. */
static void look_at_stored(uint32_t *why, hsize_t n, hid_t dataset, hid_t plist, int rank, const hsize_t *dims)
{
    hsize_t left = H5Dget_storage_size(dataset), chunk[H5S_MAX_RANK];
    int chunked = H5Pget_layout(plist) == H5D_CHUNKED && H5Pget_chunk(plist, H5S_MAX_RANK, chunk) == rank &&
                  has_few_chunks(rank, dims, chunk);
    for (hsize_t i = 0; i < n; i++) {
        uint64_t bytes = 0;
        /* Frames of one chunk share its answer. */
        if (chunked && rank > 2 && i % chunk[0])
            why[i] = why[i - 1];
        else
            why[i] = left && (!chunked || is_written(&bytes, dataset, rank, dims, chunk, i)) ? 0 : H5_FRAME_UNWRITTEN;
        left -= bytes < left ? bytes : left;
    }
}

/* Many mappings in a row may be of one source, which is then looked at once. */
struct source {
    char *path, *name;
    uint32_t *why;
    hsize_t n;
    uint32_t absent; /* why none of its frames is there; 0: they are */
};

static void forget(struct source *source)
{
    free(source->path);
    free(source->name);
    free(source->why);
    *source = (struct source){ 0 };
}

static int look_at_source(struct search *s, struct source *source, hid_t dataset, const char *path, const char *name)
{
    char words[2 * MOST_NAME + 64];
    int st = 0;
    /* Thousands of mappings may be of one file, which is opened once. */
    if (source->path && !strcmp(source->path, path) && !strcmp(source->name, name))
        return 0;
    forget(source);
    source->path = strdup(path);
    source->name = strdup(name);
    if (!source->path || !source->name)
        return hcy_fail(HCY_ENOMEM, "%s::%s: no memory for its sources", s->file, s->name);
    /* A small damaged file can name very many. */
    if (s->opened++ == MOST_OPENED)
        return hcy_fail(HCY_ERANGE, "%s::%s has more than %d sources", s->file, s->name, MOST_OPENED);
    /* Two reasons why a source gives nothing, which the user mends in different ways. */
    hid_t file = hcy__h5_open_source(dataset, path);
    hid_t other = file < 0 ? -1 : H5Dopen2(file, name, H5P_DEFAULT);
    if (other >= 0) {
        st = look_at_frames(s, &source->why, &source->n, other);
    } else {
        snprintf(words, sizeof words, file < 0 ? H5_NOT_THERE : "%s has no dataset %s", path, name);
        st = number_reason(&source->absent, s, words);
    }
    if (other >= 0)
        H5Dclose(other);
    if (file >= 0)
        H5Fclose(file);
    return st;
}

/* A mapping: of one source, or, where its end is open, of one for each block of frames, with the block's number for
 * %b in its names. */
static int look_at_mapping(struct search *s, struct source *source, uint32_t *why, hsize_t n, hid_t dataset,
                           hid_t plist, size_t i)
{
    char path[MOST_NAME], name[MOST_NAME], path_b[MOST_NAME], name_b[MOST_NAME];
    hid_t to_space = H5Pget_virtual_vspace(plist, i), from_space = H5Pget_virtual_srcspace(plist, i);
    int st = 0;
    ssize_t n_path = H5Pget_virtual_filename(plist, i, path, sizeof path),
            n_name = H5Pget_virtual_dsetname(plist, i, name, sizeof name);
    /* A name that was cut off would be another file's. */
    if (to_space < 0 || from_space < 0 || n_path < 0 || n_path >= MOST_NAME || n_name < 0 || n_name >= MOST_NAME)
        st = hcy__h5_fail(HCY_EIO, "%s::%s: mapping %zu cannot be read", s->file, s->name, i);
    struct frames to = st ? (struct frames){ 0 } : selected(to_space, n), block = to;
    /* Only a mapping with an open end has blocks that are numbered. */
    int blocks = !st && to.endless && to.block != H5S_UNLIMITED && (has_block(path) || has_block(name));
    for (hsize_t b = 0; !st && (blocks ? to.start + b * to.stride < n : b == 0); b++) {
        if (blocks)
            block = (struct frames){ to.start + b * to.stride, 1, 1, to.block, 0 };
        if (hcy__h5_source_name(path_b, sizeof path_b, path, b) || hcy__h5_source_name(name_b, sizeof name_b, name, b))
            st = hcy_fail(HCY_ERANGE, "%s::%s: the name of a source is too long", s->file, s->name);
        else
            st = look_at_source(s, source, dataset, path_b, name_b);
        /* All that the mapping would give is missing; frames that other mappings give, too, keep the worse
         * of both. */
        for (hsize_t k = 0; !st && source->absent && k < count_frames(&block) && frame_at(&block, k) < n; k++)
            merge_reason(&why[frame_at(&block, k)], source->absent);
        if (!st && !source->absent)
            map_frames(why, n, block, source->why, source->n, selected(from_space, source->n));
    }
    if (from_space >= 0)
        H5Sclose(from_space);
    if (to_space >= 0)
        H5Sclose(to_space);
    return st;
}

static int identify_dataset(struct identity *id, hid_t dataset)
{
    char path[MOST_NAME];
    struct stat is;
    ssize_t n = H5Fget_name(dataset, path, sizeof path);
    if (n <= 0 || n >= MOST_NAME || stat(path, &is))
        return -1;
    *id = (struct identity){ is.st_dev, is.st_ino, 0 };
    return hcy__h5_address(&id->address, dataset);
}

/* Goes on from a dataset, unless it is on the way already. */
static int enter_dataset(struct search *s, hid_t dataset)
{
    struct identity id;
    if (identify_dataset(&id, dataset))
        return hcy__h5_fail(HCY_EIO, "%s::%s: one of its sources cannot be looked at", s->file, s->name);
    /* The same dataset again on the way down is a circle; beside it, it is only used twice. */
    for (size_t i = 0; i < s->depth; i++)
        if (s->trail[i].device == id.device && s->trail[i].inode == id.inode && s->trail[i].address == id.address)
            return hcy_fail(HCY_ECORRUPT, "%s::%s is a virtual dataset whose sources lead back to itself", s->file,
                            s->name);
    if (s->depth == MOST_DEPTH)
        return hcy_fail(HCY_ERANGE, "%s::%s: its sources are virtual, and theirs, more than %d times", s->file,
                        s->name, MOST_DEPTH);
    s->trail[s->depth++] = id;
    return 0;
}

/* *why has *n frames, freed by the caller. */
static int look_at_frames(struct search *s, uint32_t **why, hsize_t *n, hid_t dataset)
{
    hsize_t dims[H5S_MAX_RANK];
    size_t mappings = 0;
    struct source source = { 0 };
    int rank, st = enter_dataset(s, dataset);
    if (st)
        return st;
    hid_t plist = H5Dget_create_plist(dataset);
    *n = frames_in(&rank, dims, dataset);
    if (plist < 0 || rank < 0)
        st = hcy__h5_fail(HCY_EIO, "%s::%s: one of its sources cannot be looked at", s->file, s->name);
    /* The number is the file's word: memory goes with it. */
    else if (*n > MOST_FRAMES)
        st = hcy_fail(HCY_ERANGE, "%s::%s: one of its sources has more than %d frames", s->file, s->name, MOST_FRAMES);
    else if (!(*why = malloc((size_t)(*n + 1) * sizeof **why)))
        st = hcy_fail(HCY_ENOMEM, "%s::%s: no memory to look at its sources", s->file, s->name);
    else if (H5Pget_layout(plist) != H5D_VIRTUAL)
        look_at_stored(*why, *n, dataset, plist, rank, dims);
    else if (H5Pget_virtual_count(plist, &mappings) >= 0)
        for (hsize_t i = 0; i < *n; i++)
            (*why)[i] = H5_FRAME_UNMAPPED;
    else
        st = hcy__h5_fail(HCY_EIO, "%s::%s: the mappings cannot be read", s->file, s->name);
    /* Later mappings add to what earlier ones said of a frame. */
    for (size_t i = 0; !st && i < mappings; i++)
        st = look_at_mapping(s, &source, *why, *n, dataset, plist, i);
    forget(&source);
    if (plist >= 0)
        H5Pclose(plist);
    s->depth--;
    return st;
}

int hcy__h5_sources_find(hcy__h5_sources *sources, hid_t dataset, const char *file, const char *name)
{
    *sources = (hcy__h5_sources){ 0 };
    struct search s = { .names = &sources->names, .file = file, .name = name };
    int st = look_at_frames(&s, &sources->why, &sources->n, dataset);
    if (st)
        hcy__h5_sources_free(sources);
    return st;
}

void hcy__h5_sources_free(hcy__h5_sources *sources)
{
    hcy__h5_names_free(&sources->names);
    free(sources->why);
    *sources = (hcy__h5_sources){ 0 };
}

int hcy__h5_whole(hid_t dataset)
{
    char file[MOST_NAME] = "", name[MOST_NAME] = "";
    hcy__h5_sources sources;
    hid_t plist = H5Dget_create_plist(dataset);
    /* Most datasets are not, and cost no more than this look. */
    int is_virtual = plist >= 0 && H5Pget_layout(plist) == H5D_VIRTUAL;
    if (plist >= 0)
        H5Pclose(plist);
    if (!is_virtual)
        return 0;
    H5Fget_name(dataset, file, sizeof file);
    H5Iget_name(dataset, name, sizeof name);
    int st = hcy__h5_sources_find(&sources, dataset, file, name);
    if (st)
        return st;
    if (sources.names.n)
        st = hcy_fail(HCY_ENOENT, "%s::%s is virtual, and not all of it can be read: %s", file, name,
                      sources.names.at[0]);
    hcy__h5_sources_free(&sources);
    return st;
}

herr_t hcy__h5_read_whole(hid_t dataset, hid_t type, void *values)
{
    return hcy__h5_whole(dataset) ? -1 : H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
}
