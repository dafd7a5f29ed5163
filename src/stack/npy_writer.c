/* npy_writer.c - stacks as NumPy files: a header, then frames at their places, written by any thread. */
#include "writer.h"
#include "npy.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct npy_writer {
    char *path;
    int fd;
    size_t image_bytes;
};

static int failed(const char *path, const char *what)
{
    char words[128];
    int number = errno;
    return hcy_fail(HCY_EIO, "%s: %s failed: %s", path, what,
                    hcy__errno_text(number ? number : EIO, words, sizeof words));
}

static int write_at(const struct npy_writer *w, const void *bytes, size_t size, uint64_t at)
{
    const char *from = bytes;
    while (size) {
        ssize_t n = pwrite(w->fd, from, size, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return failed(w->path, "writing");
        from += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

void hcy__npy_write(char header[HCY__NPY_HEADER], char kind, unsigned element, int rank, const uint64_t *shape)
{
    char *end = header + HCY__NPY_HEADER, *at = header + 10;
    memcpy(header, "\x93NUMPY\x01\0", 8);
    header[8] = (char)(HCY__NPY_HEADER - 10);
    header[9] = 0;
    at += snprintf(at, (size_t)(end - at), "{'descr': '%c%c%u', 'fortran_order': False, 'shape': (",
                   element == 1 ? '|' : '<', kind, element);
    for (int i = 0; i < rank && at < end; i++)
        at += snprintf(at, (size_t)(end - at), "%llu%s", (unsigned long long)shape[i],
                       rank == 1 ? "," : i + 1 < rank ? ", " : "");
    at += at < end ? snprintf(at, (size_t)(end - at), "), }") : 0;
    if (at < end - 1)
        memset(at, ' ', (size_t)(end - 1 - at));
    end[-1] = '\n';
}

static int write_header(const struct npy_writer *w, const hcy_stack_writer_options *opts)
{
    char header[HCY__NPY_HEADER];
    const hcy__pixel *pixel = hcy__pixel_of_type(opts->pixel_type);
    const uint64_t shape[3] = { opts->frames, opts->height, opts->width };
    hcy__npy_write(header, pixel->kind, pixel->size, 3, shape);
    if (ftruncate(w->fd, (off_t)(HCY__NPY_HEADER + opts->frames * w->image_bytes)))
        return failed(w->path, "making it as large as the stack");
    return write_at(w, header, HCY__NPY_HEADER, 0);
}

static int close_npy(void *state)
{
    struct npy_writer *w = state;
    int st = close(w->fd) ? failed(w->path, "closing") : 0;
    free(w->path);
    free(w);
    return st;
}

static int open_npy(void **state, const char *path, const hcy_stack_writer_options *opts,
                    const hcy_bslz4_job *job)
{
    struct npy_writer *w = calloc(1, sizeof *w);
    if (!w || !(w->path = strdup(path))) {
        free(w);
        return hcy_fail(HCY_ENOMEM, "no memory to create %s", path);
    }
    w->image_bytes = job->image_bytes;
    w->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int st = w->fd < 0 ? failed(path, "creating it") : write_header(w, opts);
    if (st) {
        if (w->fd >= 0)
            close(w->fd);
        free(w->path);
        free(w);
        return st;
    }
    *state = w;
    return 0;
}

static int put_npy(void *state, uint64_t frame, const void *bytes, size_t size)
{
    const struct npy_writer *w = state;
    return write_at(w, bytes, size, HCY__NPY_HEADER + frame * w->image_bytes);
}

const hcy__writer_format hcy__writer_npy = { open_npy, put_npy, close_npy };
