/* dist_read.c - an array's parts out of one file, which all ranks read: each its own rows.
 *
 * Of .npy and HDF5 files a rank reads no others; what is packed, or in Fortran's order, it reads whole and cuts.
 */
#include "dist_priv.h"
#include "host_array.h"
#include "npy.h"
#include "stack_priv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is in a file, as arrays of it are. */
struct head {
    int64_t shape[HCY_ARRAY_MAX_RANK];
    int rank, dtype;
};

/* Where that is, and how its rows are read. */
struct source {
    const char *path;             /* as the caller says it */
    char *file;                   /* without the name of a dataset */
    const char *dataset;          /* behind it in the same memory; NULL: none is named */
    enum { WHOLE, NPY, H5 } how;  /* rows are read */
    uint64_t begin;               /* NPY: of the numbers */
    hcy_host_array array;         /* H5: type and shape */
};

/* --- What is in the file --- */

static int take_host_head(struct head *h, const hcy_host_array *a, const char *path)
{
    if (a->rank > HCY_ARRAY_MAX_RANK)
        return hcy_fail(HCY_EFORMAT, "%s: an array has at most %d axes, this one %d", path, HCY_ARRAY_MAX_RANK, a->rank);
    h->rank = a->rank;
    h->dtype = hcy__dtype_find(a->is_complex ? 'c' : 'f', a->bytes * (a->is_complex ? 2u : 1u));
    for (int d = 0; d < a->rank; d++) {
        if (a->shape[d] > INT64_MAX)
            return hcy_fail(HCY_ERANGE, "%s: larger than can be addressed", path);
        h->shape[d] = (int64_t)a->shape[d];
    }
    return 0;
}

/* A damaged header must not ask for more memory than the file could fill. */
static int check_size(const struct head *h, const struct source *s, int fd)
{
    int64_t count = 0;
    size_t bytes = 0, end = 0;
    const off_t size = lseek(fd, 0, SEEK_END);
    int status = hcy__shape_count(&count, h->rank, h->shape);
    if (!status &&
        (hcy_size_mul(&bytes, (size_t)count, hcy_dtype_size(h->dtype)) || hcy_size_add(&end, bytes, s->begin)))
        status = hcy_fail(HCY_ERANGE, "%s: larger than can be addressed", s->path);
    return status || (size >= 0 && (uint64_t)size >= end) ? status : hcy_fail(HCY_ECORRUPT, "%s is truncated", s->path);
}

static int npy_head(struct head *h, struct source *s)
{
    struct hcy__npy npy = { 0 };
    int fd, status = hcy__npy_file(&npy, &fd, s->file, NULL);
    if (status)
        return status;
    status = hcy__npy_array_head(&h->dtype, h->shape, &npy, s->path);
    h->rank = npy.rank;
    s->how = npy.fortran || npy.packed ? WHOLE : NPY;
    s->begin = npy.data;
    /* In Fortran's order the file has the axes in reverse; as an array they are as NumPy has them. */
    for (int d = 0; !status && d < npy.rank; d++)
        h->shape[d] = (int64_t)npy.shape[d];
    if (!status && s->how == NPY)
        status = check_size(h, s, fd);
    close(fd);
    return status;
}

#ifdef HAVE_HDF5
static int h5_head(struct head *h, struct source *s)
{
    int status = hcy__host_array_head_h5(&s->array, s->file, s->dataset);
    s->how = H5;
    return status ? status : take_host_head(h, &s->array, s->path);
}
#endif

/* All of it is read here, and once more for its rows. */
static int packed_head(struct head *h, struct source *s)
{
    int status = hcy_host_array_read(&s->array, s->path);
    if (!status)
        status = take_host_head(h, &s->array, s->path);
    hcy_host_array_free(&s->array);
    return status;
}

/* To be closed, after a failure too. */
static int open_source(struct head *h, struct source *s, const char *path)
{
    *h = (struct head){ .rank = 0 };
    *s = (struct source){ .path = path, .file = strdup(path), .how = WHOLE, .array = HCY_HOST_ARRAY_INIT };
    if (!s->file)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    const char *format = hcy__array_format(&s->dataset, s->file);
    if (!strcmp(format, "npy"))
        return npy_head(h, s);
#ifdef HAVE_HDF5
    if (!strcmp(format, "h5"))
        return h5_head(h, s);
#endif
    return packed_head(h, s);
}

static void close_source(struct source *s)
{
    free(s->file);
}

int hcy_dist_layout_of_file(hcy_dist_layout **layout, hcy_dist *comm, const char *path, int axis)
{
    struct source s = { .file = NULL };
    struct head h = { .rank = 0 };
    if (layout)
        *layout = NULL;
    if (!comm)
        return hcy_fail(HCY_EINVAL, "hcy_dist_layout_of_file: no communicator");
    int status = layout && path ? 0
                                : hcy_fail(HCY_EINVAL, "hcy_dist_layout_of_file: no %s",
                                           layout ? "path" : "place for the layout");
    if (!status && axis < -1)
        status = hcy_fail(HCY_EINVAL, "hcy_dist_layout_of_file: axis %d; blocks are along one from 0 on, and -1 is a "
                                      "replicated array", axis);
    /* Many hosts that open one file at once are a burden to those that serve it. */
    if (!status && !comm->place.rank)
        status = open_source(&h, &s, path);
    close_source(&s);
    status = hcy_dist_agree(comm, status);
    if (!status)
        status = hcy_dist_agree(comm, hcy_dist_broadcast_host(&h, comm, sizeof h, 0));
    if (status)
        return status;
    return axis < 0 ? hcy_dist_layout_replicated(layout, comm, h.rank, h.shape)
                    : hcy_dist_layout_blocks(layout, comm, h.rank, h.shape, axis, NULL);
}

/* --- Rows --- */

/* This rank's rows along the blocks' axis; all there are of what is replicated. */
struct rows {
    int axis;
    int64_t first, count;
};

static struct rows own_rows(const hcy_dist_layout *l)
{
    const int me = l->comm->place.rank;
    if (l->axis < 0)
        return (struct rows){ 0, 0, l->rank ? l->shape[0] : 1 };
    return (struct rows){ l->axis, l->firsts[me], l->firsts[me + 1] - l->firsts[me] };
}

/* Runs of bytes that follow one another in the file: one for each element of the axes before. */
static int read_npy_rows(char *data, const struct head *h, const struct source *s, struct rows r)
{
    uint64_t outer = 1, inner = hcy_dtype_size(h->dtype);
    const uint64_t all = h->rank ? (uint64_t)h->shape[r.axis] : 1;
    int fd = -1, number = 0, status = hcy__open_file(&fd, s->file);
    for (int d = 0; d < h->rank; d++)
        *(d < r.axis ? &outer : &inner) *= d == r.axis ? 1 : (uint64_t)h->shape[d];
    const size_t run = (size_t)((uint64_t)r.count * inner);
    for (uint64_t i = 0; !status && run && i < outer; i++, data += run)
        if (hcy__read_at(fd, data, run, s->begin + (i * all + (uint64_t)r.first) * inner, &number) != run)
            status = number ? hcy__read_failed(s->path, number) : hcy_fail(HCY_ECORRUPT, "%s is truncated", s->path);
    if (fd >= 0)
        close(fd);
    return status;
}

/* All of the file, of which the rows are kept. */
static int cut_rows(hcy_array **part, hcy_device *dev, const hcy_dist_layout *l, struct rows r, const char *path)
{
    hcy_array *whole = NULL, *rows = NULL;
    hcy_queue *queue = NULL;
    int status = hcy_array_from_file(&whole, dev, path);
    if (!status)
        status = l->rank ? hcy__rows(&rows, whole, r.axis, r.first, r.count) : (rows = hcy_array_retain(whole), 0);
    if (!status)
        status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy_array_to_device(part, queue, rows, NULL);
    if (!status)
        status = hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_array_release(rows);
    hcy_array_release(whole);
    return status;
}

static int read_rows(hcy_array **part, hcy_device *dev, const hcy_dist_layout *l, const struct head *h,
                     const struct source *s)
{
    const struct rows r = own_rows(l);
    int64_t count = 0;
    size_t bytes = 0;
    if (s->how == WHOLE)
        return cut_rows(part, dev, l, r, s->path);
    int status = hcy__shape_count(&count, l->rank, l->local);
    if (!status && hcy_size_mul(&bytes, (size_t)count, hcy_dtype_size(h->dtype)))
        status = hcy_fail(HCY_ERANGE, "%s: larger than can be addressed", s->path);
    void *data = status ? NULL : malloc(bytes + 1);
    if (!status && !data)
        status = hcy_fail(HCY_ENOMEM, "no memory for %zu bytes of %s", bytes, s->path);
#ifdef HAVE_HDF5
    if (!status && s->how == H5)
        status = hcy__host_array_rows_h5(data, &s->array, s->file, s->dataset, r.axis, (uint64_t)r.first,
                                         (uint64_t)r.count);
#endif
    if (!status && s->how == NPY)
        status = read_npy_rows(data, h, s, r);
    if (!status)
        status = hcy_array_from_host(part, dev, h->dtype, l->rank, l->local, data);
    free(data);
    return status;
}

static int compare_shapes(const struct head *h, const hcy_dist_layout *l, const char *path)
{
    char has[200], wants[200];
    if (h->rank == l->rank && !memcmp(h->shape, l->shape, sizeof *h->shape * (size_t)h->rank))
        return 0;
    return hcy_fail(HCY_EINVAL, "hcy_dist_from_file: %s has an array of %s, the layout is of %s", path,
                    hcy__shape_text(has, h->rank, h->shape), hcy__shape_text(wants, l->rank, l->shape));
}

/* Each rank its own rows, of a layout along one axis. */
static int read_layout(hcy_array **part, hcy_device *dev, const hcy_dist_layout *l, const struct head *h,
                       const struct source *s, int status)
{
    hcy_array *own = NULL;
    if (!status)
        status = read_rows(&own, dev, l, h, s);
    /* A rank that has its rows while another has none would wait for it in what comes next. */
    status = hcy_dist_agree(l->comm, status);
    if (status)
        hcy_array_release(own);
    else
        *part = own;
    return status;
}

/* Over a grid: blocks of the first axis, which lie in the file in one piece, and from there. */
static int read_grid(hcy_array **part, hcy_device *dev, const hcy_dist_layout *l, const struct head *h,
                     const struct source *s, int status)
{
    hcy_dist_layout *blocks = NULL;
    hcy_queue *queue = NULL;
    hcy_array *rows = NULL, *own = NULL;
    status = hcy_dist_agree(l->comm, status);
    if (!status)
        status = hcy_dist_layout_blocks(&blocks, l->comm, l->rank, l->shape, 0, NULL);
    if (!status)
        status = read_layout(&rows, dev, blocks, h, s, 0);
    if (!status) {
        status = hcy_queue_create(&queue, dev);
        if (!status)
            status = hcy_dist_array(&own, dev, l, rows->dtype);
        status = hcy_dist_agree(l->comm, status);
    }
    if (!status)
        status = hcy__dist_move_agreed(queue, own, l, rows, blocks);
    if (!status)
        status = hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_array_release(rows);
    hcy_dist_layout_release(blocks);
    status = hcy_dist_agree(l->comm, status);
    if (status)
        hcy_array_release(own);
    else
        *part = own;
    return status;
}

int hcy_dist_from_file(hcy_array **part, hcy_device *dev, const hcy_dist_layout *layout, const char *path)
{
    struct source s = { .file = NULL };
    struct head h;
    int status = 0;
    if (part)
        *part = NULL;
    if (!part || !dev || !path)
        status = hcy_fail(HCY_EINVAL, "hcy_dist_from_file: no %s",
                          !part ? "place for the part" : dev ? "path" : "device");
    if (!layout)
        return status ? status : hcy_fail(HCY_EINVAL, "hcy_dist_from_file: no layout");
    if (!status)
        status = open_source(&h, &s, path);
    if (!status)
        status = compare_shapes(&h, layout, path);
    status = (layout->axis == HCY_DIST_GRID ? read_grid : read_layout)(part, dev, layout, &h, &s, status);
    close_source(&s);
    return status;
}
