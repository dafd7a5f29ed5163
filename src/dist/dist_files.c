/* dist_files.c - arrays in blocks to one file, .npy or HDF5: each rank writes its own part where it belongs.
 *
 * Rank 0 owns the file, which has its name when all parts are in it; the others write to its temporary place, which
 * all of them must see: a file system that the hosts share.  Of an HDF5 file rank 0 makes everything but the numbers,
 * a dataset in one piece, and closes it for HDF5: all ranks then write numbers by its offset, as of a .npy file.  So
 * many processes write at once without an HDF5 that was built for MPI.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* realpath */
#endif
#include "dist_priv.h"
#include "host_array.h"
#include "npy.h"
#include "stack_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_failed(const char *path, int number)
{
    char words[128];
    return hcy_fail(HCY_EIO, "%s: writing failed: %s", path, hcy__errno_text(number, words, sizeof words));
}

static int write_run(int fd, const char *from, size_t size, uint64_t offset, const char *path)
{
    while (size) {
        ssize_t n = pwrite(fd, from, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return write_failed(path, n < 0 ? errno : EIO);
        from += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

/* The part's runs of bytes that follow one another in the file: one for each element of the axes before the blocks'. */
static int write_part(int fd, const char *data, const hcy_dist_layout *l, size_t element, uint64_t begin,
                      const char *path)
{
    const int axis = l->axis < 0 ? 0 : l->axis;
    uint64_t outer = 1, inner = element, rows = l->rank ? (uint64_t)l->local[axis] : 1;
    const uint64_t all = l->rank ? (uint64_t)l->shape[axis] : 1;
    const uint64_t first = l->axis < 0 ? 0 : (uint64_t)l->firsts[l->comm->place.rank];
    for (int d = 0; d < l->rank; d++)
        *(d < axis ? &outer : &inner) *= d == axis ? 1 : (uint64_t)l->shape[d];
    int status = 0;
    for (uint64_t i = 0; !status && rows && inner && i < outer; i++)
        status = write_run(fd, data + i * rows * inner, (size_t)(rows * inner),
                           begin + (i * all + first) * inner, path);
    return status;
}

/* --- The file that rank 0 begins --- */

/* Where it is until it has its name, where the array's numbers begin there, and what they are. */
struct target {
    char place[PATH_MAX];
    uint64_t begin;
    int dtype;
};

static int begin_npy(hcy_output **output, uint64_t *begin, const hcy_dist_layout *l, int dtype, const char *path)
{
    char header[HCY__NPY_HEADER];
    uint64_t shape[HCY_ARRAY_MAX_RANK] = { 0 };
    int status = hcy_output_open(output, path, 0);
    if (status)
        return status;
    for (int d = 0; d < l->rank; d++)
        shape[d] = (uint64_t)l->shape[d];
    hcy__npy_write(header, hcy__dtype(dtype)->kind, hcy__dtype(dtype)->bytes, l->rank, shape);
    *begin = sizeof header;
    return hcy_output_write(*output, header, sizeof header, 0);
}

#ifdef HAVE_HDF5
static int begin_h5(hcy_output **output, uint64_t *begin, const hcy_dist_layout *l, int dtype, const char *path)
{
    hcy_host_array h = HCY_HOST_ARRAY_INIT;
    const char *dataset;
    if (dtype < HCY_FLOAT32)
        return hcy_fail(HCY_EUNSUPPORTED,
                        "%s: only .npy takes %s; HDF5 files take float32, float64 and complex numbers", path,
                        hcy_dtype_name(dtype));
    h.is_complex = dtype >= HCY_COMPLEX64;
    h.bytes = (unsigned)hcy_dtype_size(dtype) / (h.is_complex ? 2 : 1);
    h.rank = l->rank;
    for (int d = 0; d < l->rank; d++)
        h.shape[d] = (uint64_t)l->shape[d];
    char *file = strdup(path);
    if (!file)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", path);
    hcy__array_format(&dataset, file);
    int status = hcy__host_array_begin_h5(output, begin, &h, file, dataset);
    free(file);
    return status;
}
#endif

static int begin_file(hcy_output **output, struct target *t, const hcy_dist_layout *l, int dtype, const char *path)
{
    const char *format = "";
    int status = hcy_format_of(&format, path, HCY_WRITE_ARRAY);
    /* Of no format at all the words below say more, as fewer are possible here. */
    if (status && status != HCY_EINVAL)
        return status;
    if (status)
        format = "";
    if (!strcmp(format, "npy"))
        status = begin_npy(output, &t->begin, l, dtype, path);
#ifdef HAVE_HDF5
    else if (!strcmp(format, "h5"))
        status = begin_h5(output, &t->begin, l, dtype, path);
#endif
    else
        status = hcy_fail(HCY_EINVAL, "hcy_dist_to_file: %s: ranks write .npy and HDF5 files together, no others", path);
    if (!status && !realpath(hcy_output_place(*output), t->place))
        status = write_failed(path, errno);
    return status;
}

/* --- All parts --- */

/* This rank's numbers, in memory, to the file that rank 0 has begun. */
static int add_part(const void *data, const hcy_dist_layout *l, int dtype, const struct target *t)
{
    if (dtype != t->dtype)
        return hcy_fail(HCY_EINVAL, "hcy_dist_to_file: a part is of %s here and of %s on rank 0", hcy_dtype_name(dtype),
                        hcy_dtype_name(t->dtype));
    int fd = open(t->place, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return write_failed(t->place, errno);
    int status = write_part(fd, data, l, hcy_dtype_size(dtype), t->begin, t->place);
    if (close(fd) && !status)
        status = write_failed(t->place, errno);
    return status;
}

static int write_all_parts(const void *data, const hcy_dist_layout *l, int dtype, const char *path,
                           int status)
{
    const bool is_first = !l->comm->place.rank, has_some = is_first || l->axis >= 0;
    struct target t = { "", 0, dtype };
    hcy_output *output = NULL;
    if (!status && is_first)
        status = begin_file(&output, &t, l, dtype, path);
    status = hcy_dist_agree(l->comm, status);
    if (!status)
        status = hcy_dist_agree(l->comm, hcy_dist_broadcast_host(&t, l->comm, sizeof t, 0));
    if (!status)
        status = hcy_dist_agree(l->comm, has_some ? add_part(data, l, dtype, &t) : 0);
    /* A failure is handed over as well: then the file does not take its name. */
    if (output)
        status = hcy_output_commit(output, status);
    return hcy_dist_agree(l->comm, status);
}

static int write_layout(hcy_queue *queue, hcy_array *part, const hcy_dist_layout *layout, const char *path, int status)
{
    const size_t bytes = status ? 0 : (size_t)part->count * hcy_dtype_size(part->dtype);
    void *data = malloc(bytes + 1);
    if (!status && !data)
        status = hcy_fail(HCY_ENOMEM, "no memory to write %s, %zu bytes", path, bytes);
    if (!status)
        status = hcy_array_to_host(data, queue, part);
    status = write_all_parts(data, layout, status ? HCY_FLOAT32 : part->dtype, path, status);
    free(data);
    return status;
}

/* What is dealt out over a grid goes into blocks of the first axis, which lie in the file in one piece. */
static int write_grid(hcy_queue *queue, hcy_array *part, const hcy_dist_layout *layout, const char *path, int status)
{
    hcy_dist_layout *rows = NULL;
    hcy_array *own = NULL;
    status = hcy_dist_agree(layout->comm, status);
    if (!status)
        status = hcy_dist_layout_blocks(&rows, layout->comm, layout->rank, layout->shape, 0, NULL);
    if (!status)
        status = hcy_dist_agree(layout->comm, hcy_dist_array(&own, hcy_queue_device(queue), rows, part->dtype));
    if (!status)
        status = write_layout(queue, own, rows, path, hcy__dist_move_agreed(queue, own, rows, part, layout));
    hcy_array_release(own);
    hcy_dist_layout_release(rows);
    return status;
}

int hcy_dist_to_file(hcy_queue *queue, hcy_array *part, const hcy_dist_layout *layout, const char *path)
{
    int status = hcy__part_check(queue, part, layout, "hcy_dist_to_file");
    if (!status && !path)
        status = hcy_fail(HCY_EINVAL, "hcy_dist_to_file: no path");
    if (!layout)
        return status;
    return (layout->axis == HCY_DIST_GRID ? write_grid : write_layout)(queue, part, layout, path, status);
}
