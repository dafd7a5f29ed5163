/* dist_files.c - arrays in blocks to one .npy file: each rank writes its own part where it belongs.
 *
 * Rank 0 owns the file, which has its name when all parts are in it; the others write to its temporary place, which
 * all of them must see: a file system that the hosts share.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* realpath */
#endif
#include "dist_priv.h"
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
static int write_part(int fd, const char *data, const hcy_dist_layout *l, size_t element, const char *path)
{
    const int axis = l->axis < 0 ? 0 : l->axis;
    uint64_t outer = 1, inner = element, rows = l->rank ? (uint64_t)l->local[axis] : 1;
    const uint64_t all = l->rank ? (uint64_t)l->shape[axis] : 1;
    const uint64_t first = l->axis < 0 ? 0 : (uint64_t)l->firsts[l->comm->place.rank];
    for (int d = 0; d < l->rank; d++)
        *(d < axis ? &outer : &inner) *= d == axis ? 1 : (uint64_t)l->shape[d];
    int status = 0;
    for (uint64_t i = 0; !status && i < outer; i++)
        status = write_run(fd, data + i * rows * inner, (size_t)(rows * inner),
                           HCY__NPY_HEADER + (i * all + first) * inner, path);
    return status;
}

/* Rank 0's file, with its header; where it is until it has its name. */
static int begin_file(hcy_output **output, char place[PATH_MAX], const hcy_dist_layout *l, int dtype,
                      const char *path)
{
    char header[HCY__NPY_HEADER];
    uint64_t shape[HCY_ARRAY_MAX_RANK] = { 0 };
    int status = hcy_output_open(output, path, 0);
    if (status)
        return status;
    for (int d = 0; d < l->rank; d++)
        shape[d] = (uint64_t)l->shape[d];
    hcy__npy_write(header, hcy__dtype(dtype)->kind, hcy__dtype(dtype)->bytes, l->rank, shape);
    status = hcy_output_write(*output, header, sizeof header, 0);
    if (!status && !realpath(hcy_output_place(*output), place))
        status = write_failed(path, errno);
    return status;
}

/* This rank's numbers, in memory, to the file that rank 0 has begun. */
static int add_part(const void *data, const hcy_dist_layout *l, size_t element, const char *place)
{
    int fd = open(place, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return write_failed(place, errno);
    int status = write_part(fd, data, l, element, place);
    if (close(fd) && !status)
        status = write_failed(place, errno);
    return status;
}

static int write_all_parts(const void *data, const hcy_dist_layout *l, int dtype, const char *path,
                           int status)
{
    const bool is_first = !l->comm->place.rank, has_some = is_first || l->axis >= 0;
    char place[PATH_MAX] = "";
    hcy_output *output = NULL;
    if (!status && is_first)
        status = begin_file(&output, place, l, dtype, path);
    status = hcy_dist_agree(l->comm, status);
    if (!status)
        status = hcy_dist_agree(l->comm, hcy_dist_broadcast_host(place, l->comm, sizeof place, 0));
    if (!status)
        status = hcy_dist_agree(l->comm, has_some ? add_part(data, l, hcy_dtype_size(dtype), place) : 0);
    /* A failure is handed over as well: then the file does not take its name. */
    if (output)
        status = hcy_output_commit(output, status);
    return hcy_dist_agree(l->comm, status);
}

int hcy_dist_to_file(hcy_queue *queue, hcy_array *part, const hcy_dist_layout *layout, const char *path)
{
    int status = hcy__part_check(queue, part, layout, "hcy_dist_to_file");
    const size_t n = path ? strlen(path) : 0;
    if (!status && (n < 5 || strcmp(path + n - 4, ".npy")))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_to_file: %s is no name of a .npy file", path ? path : "NULL");
    if (!layout)
        return status;
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
