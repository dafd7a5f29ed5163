/* npy_writer.c - stacks as NumPy files: a header, then frames at their places, written by any thread. */
#include "writer.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 128 }; /* all of it; a multiple of 64, as NumPy wants it */

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

static int write_header(const struct npy_writer *w, const hcy_stack_writer_opts *opts)
{
    char header[HEADER + 1] = "\x93NUMPY\x01";
    const hcy__pixel *pixel = hcy__pixel_of_type(opts->pixel_type);
    header[8] = HEADER - 10;
    int n = snprintf(header + 10, HEADER - 10,
                     "{'descr': '%c%c%u', 'fortran_order': False, 'shape': (%llu, %u, %u), }",
                     pixel->size == 1 ? '|' : '<', pixel->kind, pixel->size, (unsigned long long)opts->frames,
                     opts->height, opts->width);
    memset(header + 10 + n, ' ', (size_t)(HEADER - 11 - n));
    header[HEADER - 1] = '\n';
    if (ftruncate(w->fd, (off_t)(HEADER + opts->frames * w->image_bytes)))
        return failed(w->path, "making it as large as the stack");
    return write_at(w, header, HEADER, 0);
}

static int close_npy(void *state)
{
    struct npy_writer *w = state;
    int st = close(w->fd) ? failed(w->path, "closing") : 0;
    free(w->path);
    free(w);
    return st;
}

static int open_npy(void **state, const char *path, const hcy_stack_writer_opts *opts,
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
    return write_at(w, bytes, size, HEADER + frame * w->image_bytes);
}

const hcy__writer_format hcy__writer_npy = { open_npy, put_npy, close_npy };
