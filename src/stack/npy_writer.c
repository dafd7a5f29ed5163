/* npy_writer.c - stacks as NumPy files: a header, then frames at their places, written by any thread. */
#include "writer.h"
#include "npy.h"
#include <errno.h>
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct npy_writer {
    hcy_output *output;
    size_t image_bytes;
};

void hcy__npy_write(char header[HCY__NPY_HEADER], char kind, unsigned element, int rank, const uint64_t *shape)
{
    char *end = header + HCY__NPY_HEADER, *at = header + 10;
    memcpy(header, "\x93NUMPY\x01\0", 8);
    header[8] = (char)(HCY__NPY_HEADER - 10);
    header[9] = 0;
    at += snprintf(at, (size_t)(end - at), "{'descr': '%c%c%u', 'fortran_order': False, 'shape': (",
                   element == 1 ? '|' : '<', kind, element);
    /* As Python writes a tuple: that of one number ends with a comma. */
    for (int i = 0; i < rank && at < end; i++)
        at += snprintf(at, (size_t)(end - at), "%s%llu%s", i ? ", " : "", (unsigned long long)shape[i],
                       rank == 1 ? "," : "");
    at += at < end ? snprintf(at, (size_t)(end - at), "), }") : 0;
    /* The pixels begin at a fixed place: blanks fill the header up, as NumPy's own are. */
    if (at < end - 1)
        memset(at, ' ', (size_t)(end - 1 - at));
    end[-1] = '\n';
}

static int write_header(const struct npy_writer *w, const hcy_stack_writer_options *opts)
{
    char header[HCY__NPY_HEADER], words[128];
    const hcy__pixel *pixel = hcy__pixel_of_type(opts->pixel_type);
    const uint64_t shape[3] = { opts->frames, opts->height, opts->width };
    hcy__npy_write(header, pixel->kind, pixel->size, 3, shape);
    /* The file has its whole length at once: frames come in any order, and one that is never written reads
     * as zeros.  Standard output may hold others' bytes already. */
    const off_t at = lseek(hcy_output_fd(w->output), 0, SEEK_CUR), before = at > 0 ? at : 0;
    if (ftruncate(hcy_output_fd(w->output), before + (off_t)(HCY__NPY_HEADER + opts->frames * w->image_bytes)) &&
        errno != EINVAL) /* of what is no file */
        return hcy_fail(HCY_EIO, "%s: making it as large as the stack failed: %s", hcy_output_name(w->output),
                        hcy__errno_text(errno, words, sizeof words));
    return hcy_output_write(w->output, header, HCY__NPY_HEADER, 0);
}

static int close_npy(void *state, int whole)
{
    struct npy_writer *w = state;
    int st = 0;
    if (whole)
        st = hcy_output_commit(w->output, 0);
    else
        hcy_output_discard(w->output);
    free(w);
    return st;
}

static int open_npy(void **state, const char *path, const hcy_stack_writer_options *opts,
                    const hcy_bslz4_job *job)
{
    struct npy_writer *w = calloc(1, sizeof *w);
    if (!w)
        return hcy_fail(HCY_ENOMEM, "no memory to create %s", path);
    w->image_bytes = job->image_bytes;
    int st = hcy_output_open(&w->output, path, 0);
    if (!st)
        st = write_header(w, opts);
    if (!st && opts->growing)
        st = hcy_output_show(w->output);
    if (st) {
        hcy_error why = *hcy_last_error();
        (void)!close_npy(w, 0);
        return hcy_fail_again(&why);
    }
    *state = w;
    return 0;
}

static int put_npy(void *state, uint64_t frame, const void *bytes, size_t size)
{
    const struct npy_writer *w = state;
    return hcy_output_write(w->output, bytes, size, HCY__NPY_HEADER + frame * w->image_bytes);
}

const hcy__writer_format hcy__writer_npy = { open_npy, put_npy, close_npy };
