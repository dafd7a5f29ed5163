/* writer.c - writing stacks, whatever the format: arguments, and frames coded by the calling thread. */
#include "writer.h"
#include "sized.h"
#include <bslz4/bslz4_job.h>
#include <halcyon/backend.h>
#include <halcyon/bslz4.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct hcy_stack_writer {
    const hcy__writer_format *format;
    void *state;
    char *path; /* for messages */
    uint64_t frames;
    hcy_bslz4_job job;
    _Atomic uint64_t bytes;
    _Atomic int broken; /* a frame could not be written */
};

static int check_writer_options(const hcy_stack_writer_options *opts, size_t *image_bytes)
{
    const hcy__pixel *pixel = hcy__pixel_of_type(opts->pixel_type);
    if (!pixel)
        return hcy_fail(HCY_EINVAL, "hcy_stack_create: there is no pixel type %u", opts->pixel_type);
    /* Datasets have their whole size from the beginning, so it must be known. */
    if (!opts->frames || !opts->height || !opts->width)
        return hcy_fail(HCY_EINVAL, "hcy_stack_create: %llu frames of %u x %u pixels make no stack",
                        (unsigned long long)opts->frames, opts->height, opts->width);
    if (opts->codec != HCY_CODEC_NONE && opts->codec != HCY_CODEC_BSLZ4 && opts->codec != HCY_CODEC_LZ4)
        return hcy_fail(HCY_EUNSUPPORTED, "hcy_stack_create: codec %u (%s) cannot be written; HCY_CODEC_NONE, HCY_CODEC_BSLZ4 "
                        "and HCY_CODEC_LZ4 can", opts->codec, hcy_bslz4_codec_name(opts->codec));
    if (opts->contiguous && opts->codec != HCY_CODEC_NONE)
        return hcy_fail(HCY_EINVAL, "hcy_stack_create: coded frames cannot lie next to one another");
    /* HDF5 counts a chunk's bytes in 32 bits */
    if (hcy_size_mul(image_bytes, opts->height, opts->width) ||
        hcy_size_mul(image_bytes, *image_bytes, pixel->size) || *image_bytes > UINT32_MAX)
        return hcy_fail(HCY_ERANGE, "hcy_stack_create: an image of %u x %u pixels is too large for HDF5",
                        opts->height, opts->width);
    /* Formats count where a frame lies from the file's begin, as those who read it do. */
    size_t all;
    if (opts->frames > SIZE_MAX || hcy_size_mul(&all, *image_bytes, (size_t)opts->frames) || (uint64_t)all >> 62)
        return hcy_fail(HCY_ERANGE, "hcy_stack_create: %llu frames of %u x %u pixels are more than can be addressed",
                        (unsigned long long)opts->frames, opts->height, opts->width);
    return 0;
}

static int open_writer_format(hcy_stack_writer *w, const char *path, const hcy_stack_writer_options *opts)
{
    const char *format;
    int st = hcy_format_of(&format, path, opts->codec == HCY_CODEC_NONE ? HCY_WRITE_IMAGES : HCY_WRITE_PACKED);
    if (st)
        return st;
    /* One NumPy file takes frames of any number of threads at their places. */
    w->format = !strcmp(format, "npy") && !strchr(path, '%') ? &hcy__writer_npy : &hcy__writer_images;
#ifdef HAVE_HDF5
    if (!strcmp(format, "h5"))
        w->format = &hcy__writer_h5;
#endif
    return w->format->open(&w->state, path, opts, &w->job);
}

static void free_writer(hcy_stack_writer *w)
{
    if (w)
        free(w->path);
    free(w);
}

int hcy_stack_create(hcy_stack_writer **writer, const char *path, const hcy_stack_writer_options *user)
{
    hcy_stack_writer_options options = HCY_STACK_WRITER_OPTIONS_INIT;
    const hcy_stack_writer_options *opts = &options;
    size_t image_bytes, bound;
    if (!writer || !path || !user)
        return hcy_fail(HCY_EINVAL, "hcy_stack_create: no argument may be NULL");
    /* So that a caller who closes whatever came of it closes nothing. */
    *writer = NULL;
    int st = hcy__sized_read(&options, sizeof options, user, "hcy_stack_writer_options");
    if (!st)
        st = check_writer_options(opts, &image_bytes);
    if (st)
        return st;
    hcy_stack_writer *w = calloc(1, sizeof *w);
    if (!w)
        return hcy_fail(HCY_ENOMEM, "no memory to create %s", path);
    w->frames = opts->frames;
    w->job.codec = opts->codec;
    w->job.elem_size = hcy__pixel_of_type(opts->pixel_type)->size;
    w->job.image_bytes = image_bytes;
    w->job.block_bytes = opts->block_bytes;
    w->path = strdup(path);
    st = w->path ? hcy_bslz4_encode_bound(&bound, &w->job) /* may blocks be so large? */
                 : hcy_fail(HCY_ENOMEM, "no memory to create %s", path);
    if (!st)
        st = hcy__may_write(path, opts->keep_existing, opts->source);
    if (!st)
        st = open_writer_format(w, path, opts);
    if (st) {
        free_writer(w);
        return st;
    }
    *writer = w;
    return 0;
}

int hcy_stack_write_chunk(hcy_stack_writer *w, uint64_t frame, const void *chunk, size_t size)
{
    if (!w || !chunk || !size)
        return hcy_fail(HCY_EINVAL, "hcy_stack_write_chunk: there are no bytes to write");
    if (frame >= w->frames)
        return hcy_fail(HCY_ERANGE, "frame %llu: the stack was created for %llu frames",
                        (unsigned long long)frame, (unsigned long long)w->frames);
    if (w->job.codec == HCY_CODEC_NONE && size != w->job.image_bytes)
        return hcy_fail(HCY_EINVAL, "frame %llu: %zu bytes, where its pixels take %llu",
                        (unsigned long long)frame, size, (unsigned long long)w->job.image_bytes);
    int st = w->format->put(w->state, frame, chunk, size);
    /* A stack with a gap is not kept: its readers could not tell a frame that failed from one of zeros. */
    if (st)
        atomic_store(&w->broken, 1);
    else
        atomic_fetch_add(&w->bytes, size);
    return st;
}

int hcy_stack_write(hcy_stack_writer *w, uint64_t frame, const void *pixels)
{
    size_t bound, size;
    if (!w || !pixels)
        return hcy_fail(HCY_EINVAL, "hcy_stack_write: no argument may be NULL");
    if (w->job.codec == HCY_CODEC_NONE)
        return hcy_stack_write_chunk(w, frame, pixels, w->job.image_bytes);
    int st = hcy_bslz4_encode_bound(&bound, &w->job);
    if (st)
        return st;
    void *chunk = malloc(bound);
    if (!chunk)
        return hcy_fail(HCY_ENOMEM, "no memory to code frame %llu", (unsigned long long)frame);
    /* In the caller's thread and without a lock: several threads code at once, only the writing may be one at a
     * time. */
    st = hcy_bslz4_encode(&size, chunk, bound, &w->job, pixels);
    if (!st)
        st = hcy_stack_write_chunk(w, frame, chunk, size);
    free(chunk);
    return st;
}

uint64_t hcy_stack_writer_bytes(const hcy_stack_writer *w)
{
    return w ? atomic_load(&w->bytes) : 0;
}

int hcy_stack_writer_close(hcy_stack_writer *w)
{
    if (!w)
        return 0;
    int broken = atomic_load(&w->broken), st = w->format->close(w->state, !broken);
    if (broken && !st)
        st = hcy_fail(HCY_EIO, "%s is not kept: a frame of it could not be written", w->path);
    free_writer(w);
    return st;
}

void hcy_stack_writer_discard(hcy_stack_writer *w)
{
    if (w)
        (void)!w->format->close(w->state, 0);
    free_writer(w);
}
