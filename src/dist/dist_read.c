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
    enum { WHOLE, NPY, H5 } how; /* rows are read */
    uint64_t begin;              /* NPY: of the numbers */
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

static int npy_head(struct head *h, const char *path)
{
    struct hcy__npy npy = { 0 };
    int fd, status = hcy__npy_file(&npy, &fd, path, NULL);
    if (status)
        return status;
    status = hcy__npy_array_head(&h->dtype, h->shape, &npy, path);
    h->rank = npy.rank;
    h->how = npy.fortran || npy.packed ? WHOLE : NPY;
    h->begin = npy.data;
    /* In Fortran's order the file has the axes in reverse; as an array they are as NumPy has them. */
    for (int d = 0; d < npy.rank; d++)
        h->shape[d] = (int64_t)npy.shape[d];
    close(fd);
    return status;
}

#ifdef HAVE_HDF5
static int h5_head(struct head *h, hcy_host_array *a, const char *path)
{
    char *file = strdup(path);
    const char *dataset;
    if (!file)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    hcy__array_format(&dataset, file);
    int status = hcy__host_array_head_h5(a, file, dataset);
    free(file);
    h->how = H5;
    return status ? status : take_host_head(h, a, path);
}
#endif

static int read_head(struct head *h, hcy_host_array *a, const char *path)
{
    const char *part, *format = NULL;
    char *file = path ? strdup(path) : NULL;
    *h = (struct head){ .how = WHOLE };
    if (!file)
        return path ? hcy_fail(HCY_ENOMEM, "no memory to read %s", path)
                    : hcy_fail(HCY_EINVAL, "no path of an array's file");
    format = hcy__array_format(&part, file);
    free(file);
    if (!strcmp(format, "npy"))
        return npy_head(h, path);
#ifdef HAVE_HDF5
    if (!strcmp(format, "h5"))
        return h5_head(h, a, path);
#endif
    int status = hcy_host_array_read(a, path);
    if (!status)
        status = take_host_head(h, a, path);
    hcy_host_array_free(a);
    return status;
}

int hcy_dist_layout_of_file(hcy_dist_layout **layout, hcy_dist *comm, const char *path, int axis)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    struct head h = { .how = WHOLE };
    if (layout)
        *layout = NULL;
    if (!comm)
        return hcy_fail(HCY_EINVAL, "hcy_dist_layout_of_file: no communicator");
    int status = layout && path ? 0
                                : hcy_fail(HCY_EINVAL, "hcy_dist_layout_of_file: no %s",
                                           layout ? "path" : "place for the layout");
    /* Many hosts that open one file at once are a burden to those that serve it. */
    if (!status && !comm->place.rank)
        status = read_head(&h, &a, path);
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
static int read_npy_rows(char *data, const struct head *h, struct rows r, const char *path)
{
    uint64_t outer = 1, inner = hcy_dtype_size(h->dtype);
    const uint64_t all = h->rank ? (uint64_t)h->shape[r.axis] : 1;
    int fd = -1, number = 0, status = hcy__open_file(&fd, path);
    for (int d = 0; d < h->rank; d++)
        *(d < r.axis ? &outer : &inner) *= d == r.axis ? 1 : (uint64_t)h->shape[d];
    const size_t run = (size_t)((uint64_t)r.count * inner);
    for (uint64_t i = 0; !status && run && i < outer; i++, data += run)
        if (hcy__read_at(fd, data, run, h->begin + (i * all + (uint64_t)r.first) * inner, &number) != run)
            status = number ? hcy__read_failed(path, number) : hcy_fail(HCY_ECORRUPT, "%s is truncated", path);
    if (fd >= 0)
        close(fd);
    return status;
}

#ifdef HAVE_HDF5
static int read_h5_rows(void *data, const hcy_host_array *a, struct rows r, const char *path)
{
    char *file = strdup(path);
    const char *dataset;
    if (!file)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    hcy__array_format(&dataset, file);
    int status = hcy__host_array_rows_h5(data, a, file, dataset, r.axis, (uint64_t)r.first, (uint64_t)r.count);
    free(file);
    return status;
}
#endif

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
                     const hcy_host_array *a, const char *path)
{
    const struct rows r = own_rows(l);
    int64_t count = 0;
    size_t bytes = 0;
    if (h->how == WHOLE)
        return cut_rows(part, dev, l, r, path);
    int status = hcy__shape_count(&count, l->rank, l->local);
    if (!status && hcy_size_mul(&bytes, (size_t)count, hcy_dtype_size(h->dtype)))
        status = hcy_fail(HCY_ERANGE, "%s: larger than can be addressed", path);
    void *data = status ? NULL : malloc(bytes + 1);
    if (!status && !data)
        status = hcy_fail(HCY_ENOMEM, "no memory for %zu bytes of %s", bytes, path);
#ifdef HAVE_HDF5
    if (!status && h->how == H5)
        status = read_h5_rows(data, a, r, path);
#else
    (void)a;
#endif
    if (!status && h->how == NPY)
        status = read_npy_rows(data, h, r, path);
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

int hcy_dist_from_file(hcy_array **part, hcy_device *dev, const hcy_dist_layout *layout, const char *path)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    struct head h;
    hcy_array *own = NULL;
    int status = 0;
    if (part)
        *part = NULL;
    if (!part || !dev || !path)
        status = hcy_fail(HCY_EINVAL, "hcy_dist_from_file: no %s",
                          !part ? "place for the part" : dev ? "path" : "device");
    if (!layout)
        return status ? status : hcy_fail(HCY_EINVAL, "hcy_dist_from_file: no layout");
    if (!status)
        status = read_head(&h, &a, path);
    if (!status)
        status = compare_shapes(&h, layout, path);
    if (!status)
        status = read_rows(&own, dev, layout, &h, &a, path);
    /* A rank that has its rows while another has none would wait for it in what comes next. */
    status = hcy_dist_agree(layout->comm, status);
    if (status)
        hcy_array_release(own);
    else
        *part = own;
    return status;
}
