/* sparse_merge.c - one file of sparse frames from those of all parts of a stack: hcy_sparse_merge().
 *
 * The first part is copied, and the others' columns (sparse_file.c) are appended; the pointers of a part count from
 * its own first pixel and are moved behind the pixels that are there.  One part is open at a time, and pieces bound
 * the memory.  All under HDF5's lock. */
#include "h5_file.h"
#include "h5_read.h"
#include "h5_shard.h"
#include "isolate.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 8 << 20 };
#define ENTRY   "/entry_0000"
#define SPARSE  ENTRY "/sparse_frames/"
#define PROCESS ENTRY "/sparsify"

struct part {
    hcy_shard shard;
    struct hcy__h5_origin origin;
};

struct merge {
    const char *path;
    hcy__h5_file *out;
    uint64_t frames, pixels, failed; /* so far */
};

/* --- Whether the parts make a whole --- */

static int read_part(struct part *p, const char *path)
{
    char kind[16];
    hid_t file;
    int st = hcy__h5_open_file(&file, path);
    if (st)
        return st;
    st = hcy__h5_get_shard(&p->shard, kind, file, path);
    if (!st && p->shard.count && strcmp(kind, "sparse"))
        st = hcy_fail(HCY_EINVAL, "%s has %s, and not sparse frames", path, kind);
    hcy__h5_get_origin(&p->origin, file, PROCESS, path);
    H5Fclose(file);
    return st;
}

static int check_parts(const struct part *parts, size_t n)
{
    hcy_shard *shards = calloc(n, sizeof *shards);
    const char **names = calloc(n, sizeof *names);
    int st = shards && names ? 0 : hcy_fail(HCY_ENOMEM, "no memory for a list of %zu parts", n);
    for (size_t i = 0; !st && i < n; i++) {
        shards[i] = parts[i].shard;
        names[i] = parts[i].origin.path;
        st = i ? hcy__h5_check_alike(&parts[0].origin, &parts[i].origin) : 0;
    }
    if (!st)
        st = hcy_shards_check(shards, names, n);
    free(shards);
    free(names);
    return st;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = ((const struct part *)a)->shard.number, y = ((const struct part *)b)->shard.number;
    return (x > y) - (x < y);
}

/* --- Columns --- */

struct column {
    const char *name;
    hid_t from, to;
    int rank;
    hsize_t dims[4], there; /* the part's; what the merged file has */
};

static void close_column(struct column *c)
{
    if (c->from >= 0)
        H5Dclose(c->from);
    if (c->to >= 0)
        H5Dclose(c->to);
}

/* HDF5 fills in rows that are not stored: of a file that says that it has more than it can, no copy ends. */
static int check_stored(const struct column *c, hid_t type, const char *path)
{
    const hsize_t stored = H5Dget_storage_size(c->from);
    size_t bytes = 0;
    if (hcy_size_mul(&bytes, (size_t)c->dims[0], c->rank == 2 ? (size_t)c->dims[1] : 1) ||
        hcy_size_mul(&bytes, bytes, H5Tget_size(type)) || bytes / H5_MOST_PACKED > stored)
        return hcy_fail(HCY_ECORRUPT, "%s: %s says that it has %llu rows, and stores %llu bytes", path, c->name,
                        (unsigned long long)c->dims[0], (unsigned long long)stored);
    return 0;
}

/* Of `n` rows, and like the column of the merged file; to be closed in any case. */
static int open_column(struct column *c, const struct merge *m, hid_t file, const char *path, uint64_t n)
{
    hsize_t dims[4] = { 0 };
    int rank = 0;
    c->from = hcy__h5_open_numbers(file, c->name, &c->rank, c->dims);
    c->to = hcy__h5_open_numbers(m->out->id, c->name, &rank, dims);
    if (c->from < 0 || c->to < 0 || rank != c->rank || rank < 1 || rank > 2 || c->dims[0] != n ||
        (rank == 2 && (c->dims[1] != dims[1] || !dims[1])))
        return hcy_fail(HCY_EFORMAT, "%s: %s is damaged, or not as in the other parts", path, c->name);
    hid_t mine = H5Dget_type(c->to), type = H5Dget_type(c->from);
    int st = H5Tequal(mine, type) > 0 ? check_stored(c, type, path)
                                      : hcy_fail(HCY_EINVAL, "%s: %s has numbers of another type than in the other parts",
                                                 path, c->name);
    H5Tclose(mine);
    H5Tclose(type);
    c->there = dims[0];
    return st;
}

/* Rows `at` to at + count - 1 of one dataset, from memory or to it. */
static herr_t move_rows(hid_t data, const struct column *c, hsize_t at, hsize_t count, hid_t type, void *piece,
                        int write)
{
    const hsize_t start[2] = { at, 0 }, counts[2] = { count, c->dims[1] };
    hid_t space = H5Dget_space(data), memory = H5Screate_simple(c->rank, counts, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, counts, NULL);
    herr_t done = write ? H5Dwrite(data, type, memory, space, H5P_DEFAULT, piece)
                        : H5Dread(data, type, memory, space, H5P_DEFAULT, piece);
    H5Sclose(memory);
    H5Sclose(space);
    return done;
}

static int copy_rows(const struct merge *m, const struct column *c, const char *path)
{
    hid_t type = H5Dget_type(c->to);
    size_t row = 0;
    const int fits = !hcy_size_mul(&row, H5Tget_size(type), c->rank == 2 ? (size_t)c->dims[1] : 1) && row;
    const hsize_t piece_rows = fits && row < PIECE_BYTES ? PIECE_BYTES / row : 1, n = c->dims[0];
    const hsize_t dims[2] = { c->there + n, c->dims[1] };
    void *piece = fits ? malloc((size_t)piece_rows * row) : NULL;
    int st = piece ? 0 : hcy_fail(HCY_ENOMEM, "no memory to copy %s", path);
    /* A failure shows in H5Dwrite(), which is given what this makes. */
    H5Dset_extent(c->to, dims);
    for (hsize_t at = 0; !st && at < n; at += piece_rows) {
        const hsize_t count = n - at < piece_rows ? n - at : piece_rows;
        if (move_rows(c->from, c, at, count, type, piece, 0) < 0)
            st = hcy__h5_fail(HCY_EIO, "%s: %s cannot be read", path, c->name);
        else if (move_rows(c->to, c, c->there + at, count, type, piece, 1) < 0)
            st = hcy__h5_fail(HCY_EIO, "%s: %s cannot be written", m->path, c->name);
    }
    free(piece);
    H5Tclose(type);
    return st;
}

static int append_column(const struct merge *m, hid_t file, const char *path, const char *name, uint64_t n)
{
    struct column c = { .name = name, .from = -1, .to = -1 };
    int st = open_column(&c, m, file, path, n);
    /* What the first part has is in the merged file already. */
    if (!st && m->frames)
        st = copy_rows(m, &c, path);
    close_column(&c);
    return st;
}

/* Where each frame's pixels begin, and the last one's end: they are checked, moved and, but for the first part's,
 * appended. */
static int append_pointers(struct merge *m, hid_t file, const char *path, uint64_t frames, uint64_t *pixels)
{
    struct column c = { .name = SPARSE "frame_ptr", .from = -1, .to = -1 };
    size_t bytes = 0;
    int st = frames < UINT64_MAX ? open_column(&c, m, file, path, frames + 1)
                                 : hcy_fail(HCY_EFORMAT, "%s: no file has so many frames", path);
    const int fits = !st && !hcy_size_mul(&bytes, (size_t)(frames + 1), sizeof(uint64_t));
    uint64_t *pointers = fits ? malloc(bytes) : NULL;
    if (!st && !pointers)
        st = hcy_fail(HCY_ENOMEM, "no memory for the places of %llu frames", (unsigned long long)frames);
    if (!st && (c.rank != 1 || move_rows(c.from, &c, 0, frames + 1, H5T_NATIVE_UINT64, pointers, 0) < 0))
        st = hcy__h5_fail(HCY_EIO, "%s: %s cannot be read", path, c.name);
    int rising = !st && !pointers[0];
    for (uint64_t i = 0; !st && i < frames; i++) {
        rising &= pointers[i] <= pointers[i + 1] && pointers[i + 1] <= UINT64_MAX - m->pixels;
        pointers[i] += m->pixels;
    }
    *pixels = st ? 0 : pointers[frames];
    if (!st && !rising)
        st = hcy_fail(HCY_EFORMAT, "%s: %s does not rise from 0", path, c.name);
    if (!st && m->frames) {
        const hsize_t dims[2] = { c.there + frames, 0 };
        pointers[frames] += m->pixels;
        H5Dset_extent(c.to, dims);
        if (move_rows(c.to, &c, c.there, frames, H5T_NATIVE_UINT64, pointers + 1, 1) < 0)
            st = hcy__h5_fail(HCY_EIO, "%s: %s cannot be written", m->path, c.name);
    }
    free(pointers);
    close_column(&c);
    return st;
}

/* Frames without a background failed. */
static int count_failed(struct merge *m, hid_t file, const char *path, uint64_t n)
{
    struct column c = { .name = SPARSE "background_avg", .from = -1, .to = -1 };
    int st = open_column(&c, m, file, path, n);
    const size_t columns = st || c.rank != 2 ? 1 : (size_t)c.dims[1];
    const size_t rows = columns < PIECE_BYTES / sizeof(float) ? PIECE_BYTES / sizeof(float) / columns : 1;
    float *piece = columns <= SIZE_MAX / sizeof *piece / rows ? malloc(rows * columns * sizeof *piece) : NULL;
    if (!st && !piece)
        st = hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    for (uint64_t at = 0; !st && at < n; at += rows) {
        const size_t count = n - at < rows ? (size_t)(n - at) : rows;
        if (move_rows(c.from, &c, at, count, H5T_NATIVE_FLOAT, piece, 0) < 0)
            st = hcy__h5_fail(HCY_EIO, "%s: %s cannot be read", path, c.name);
        for (size_t i = 0; !st && i < count; i++) {
            size_t k = 0;
            while (k < columns && isnan(piece[i * columns + k]))
                k++;
            m->failed += k == columns;
        }
    }
    free(piece);
    close_column(&c);
    return st;
}

/* --- The merged file --- */

/* The first part whole, but for what it says of being one. */
static int copy_first(const struct merge *m, hid_t file, const char *path)
{
    if (H5Ocopy(file, ENTRY, m->out->id, ENTRY, H5P_DEFAULT, H5P_DEFAULT) < 0)
        return hcy__h5_fail(HCY_EIO, "%s: " ENTRY " cannot be copied from %s", m->path, path);
    hid_t from = H5Gopen2(file, "/", H5P_DEFAULT), to = H5Gopen2(m->out->id, "/", H5P_DEFAULT);
    hcy__h5_copy_attributes(to, from);
    H5Adelete(to, H5_SHARD_ATTRIBUTE);
    H5Adelete(to, H5_SHARD_KIND);
    H5Gclose(from);
    H5Gclose(to);
    return 0;
}

static int append_part(struct merge *m, const struct part *p)
{
    const char *path = p->origin.path;
    uint64_t first = 0, last = 0, pixels = 0;
    hid_t file;
    int st = hcy_shard_frames(&first, &last, &p->shard);
    if (!st)
        st = hcy__h5_open_file(&file, path);
    if (st)
        return st;
    if (!m->frames)
        st = copy_first(m, file, path);
    if (!st)
        st = append_pointers(m, file, path, last - first, &pixels);
    if (!st)
        st = append_column(m, file, path, SPARSE "index", pixels);
    if (!st)
        st = append_column(m, file, path, SPARSE "intensity", pixels);
    if (!st)
        st = append_column(m, file, path, SPARSE "background_avg", last - first);
    if (!st)
        st = append_column(m, file, path, SPARSE "background_std", last - first);
    if (!st)
        st = count_failed(m, file, path, last - first);
    H5Fclose(file);
    m->pixels += pixels;
    m->frames += last - first;
    /* The driver reports failed writes as done, and notes them here: a full disk ends the copy soon. */
    return st ? st : hcy__h5_file_status(m->out);
}

static int merge_parts(struct merge *m, struct part *parts, const char *const *paths, size_t n)
{
    int st = 0;
    for (size_t i = 0; !st && i < n; i++)
        st = read_part(&parts[i], paths[i]);
    if (!st)
        st = check_parts(parts, n);
    if (!st)
        st = hcy__h5_file_create(&m->out, m->path);
    if (st)
        return st;
    /* Parts come in any order. */
    qsort(parts, n, sizeof *parts, by_number);
    for (size_t i = 0; !st && i < n; i++)
        st = append_part(m, &parts[i]);
    /* Closing may fail as well, and why the merging failed is what counts. */
    hcy_error why = *hcy_last_error();
    int closed = hcy__h5_file_close(m->out, st ? HCY__H5_DISCARD : HCY__H5_WHOLE);
    return st ? hcy_fail_again(&why) : closed;
}

int hcy_sparse_merge(uint64_t *frames, uint64_t *failed, const char *path, const char *const *parts, size_t n)
{
    struct merge m = { .path = path };
    if (!path || !parts || !n)
        return hcy_fail(HCY_EINVAL, "hcy_sparse_merge: a path and parts are needed");
    int st = hcy__isolated_try(parts, n);
    if (st)
        return st;
    struct part *list = calloc(n, sizeof *list);
    if (!list)
        return hcy_fail(HCY_ENOMEM, "no memory for a list of %zu parts", n);
    hcy__h5_lock();
    st = merge_parts(&m, list, parts, n);
    hcy__h5_unlock();
    free(list);
    if (frames)
        *frames = st ? 0 : m.frames;
    if (failed)
        *failed = st ? 0 : m.failed;
    return st;
}
