/* h5_writer.c - writing stacks: one chunk a frame, coded by the calling thread, written under HDF5's lock.
 *
 * The filter is named in the dataset but never run by HDF5: chunks are written as they are, so no plugin is
 * needed. It is declared optional, because HDF5 refuses to create a dataset with a mandatory filter it does
 * not have; readers see no difference.
 */
#include "h5_file.h"
#include <halcyon/backend.h>
#include <halcyon/bslz4.h>
#include <stdlib.h>
#include <string.h>

struct hcy_stack_writer {
    hcy__h5_file *file;
    hid_t dataset;
    uint64_t frames;
    hcy_bslz4_job job;
    uint64_t bytes; /* under HDF5's lock */
};

static const char default_dataset[] = "/entry/data/data";

static int check(const hcy_stack_writer_opts *opts, size_t *image_bytes)
{
    if (opts->size != sizeof *opts)
        return hcy_fail(HCY_EINVAL, "hcy_stack_create: opts.size is not sizeof(hcy_stack_writer_opts)");
    const hcy__pixel *pixel = hcy__pixel_of_type(opts->pixel_type);
    if (!pixel)
        return hcy_fail(HCY_EINVAL, "hcy_stack_create: there is no pixel type %u", opts->pixel_type);
    if (!opts->frames || !opts->height || !opts->width)
        return hcy_fail(HCY_EINVAL, "hcy_stack_create: %llu frames of %u x %u pixels make no stack",
                        (unsigned long long)opts->frames, opts->height, opts->width);
    if (opts->codec != HCY_CODEC_NONE && opts->codec != HCY_CODEC_BSLZ4)
        return hcy_fail(HCY_EUNSUPPORTED, "hcy_stack_create: codec %u cannot be written", opts->codec);
    /* HDF5 counts a chunk's bytes in 32 bits */
    if (hcy_size_mul(image_bytes, opts->height, opts->width) ||
        hcy_size_mul(image_bytes, *image_bytes, pixel->size) || *image_bytes > UINT32_MAX)
        return hcy_fail(HCY_ERANGE, "hcy_stack_create: an image of %u x %u pixels is too large for HDF5",
                        opts->height, opts->width);
    return 0;
}

/* The groups above the dataset; those of the default path say that they are NeXus. */
static int create_groups(hid_t file, const char *dataset)
{
    if (strcmp(dataset, default_dataset))
        return 0;
    int st = hcy__h5_put_group(file, "/entry", "NXentry");
    return st ? st : hcy__h5_put_group(file, "/entry/data", "NXdata");
}

static int create_dataset(hcy_stack_writer *w, const hcy_stack_writer_opts *opts)
{
    const char *name = opts->dataset ? opts->dataset : default_dataset;
    hsize_t dims[3] = { opts->frames, opts->height, opts->width };
    hsize_t chunk[3] = { 1, opts->height, opts->width };
    const unsigned values[5] = { 0, 2, w->job.elem_size, 0, 2 };
    int st = create_groups(w->file->id, name);
    if (st)
        return st;
    hid_t space = H5Screate_simple(3, dims, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_chunk(plist, 3, chunk);
    if (w->job.codec == HCY_CODEC_BSLZ4)
        H5Pset_filter(plist, 32008, H5Z_FLAG_OPTIONAL, 5, values);
    w->dataset = H5Dcreate2(w->file->id, name, hcy__h5_pixel_type(hcy__pixel_of_type(opts->pixel_type)),
                            space, links, plist, H5P_DEFAULT);
    if (w->dataset < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: dataset %s cannot be created", w->file->path, name);
    H5Pclose(links);
    H5Pclose(plist);
    H5Sclose(space);
    return st;
}

int hcy_stack_create(hcy_stack_writer **writer, const char *path, const hcy_stack_writer_opts *opts)
{
    size_t image_bytes;
    if (!writer || !path || !opts)
        return hcy_fail(HCY_EINVAL, "hcy_stack_create: no argument may be NULL");
    *writer = NULL;
    int st = check(opts, &image_bytes);
    if (!st)
        st = hcy__may_write(path, opts->keep_existing, NULL);
    if (st)
        return st;
    hcy_stack_writer *w = calloc(1, sizeof *w);
    if (!w)
        return hcy_fail(HCY_ENOMEM, "no memory to create %s", path);
    w->dataset = -1;
    w->frames = opts->frames;
    w->job.codec = opts->codec;
    w->job.elem_size = hcy__pixel_of_type(opts->pixel_type)->size;
    w->job.image_bytes = image_bytes;
    hcy__h5_lock();
    st = hcy__h5_file_create(&w->file, path);
    if (!st)
        st = create_dataset(w, opts);
    hcy__h5_unlock();
    if (st) {
        hcy_error why = *hcy_last_error();
        (void)!hcy_stack_writer_close(w);
        return hcy_fail_again(&why);
    }
    *writer = w;
    return 0;
}

static int write_locked(hcy_stack_writer *w, uint64_t frame, const void *chunk, size_t size)
{
    hsize_t offset[3] = { frame, 0, 0 };
    herr_t done = H5Dwrite_chunk(w->dataset, H5P_DEFAULT, 0, offset, size, chunk);
    int st = hcy__h5_file_status(w->file);
    if (!st && done < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: frame %llu cannot be written", w->file->path,
                          (unsigned long long)frame);
    w->bytes += st ? 0 : size;
    return st;
}

int hcy_stack_write_chunk(hcy_stack_writer *w, uint64_t frame, const void *chunk, size_t size)
{
    if (!w || !chunk || !size)
        return hcy_fail(HCY_EINVAL, "hcy_stack_write_chunk: there are no bytes to write");
    if (frame >= w->frames)
        return hcy_fail(HCY_ERANGE, "frame %llu: the stack was created for %llu frames",
                        (unsigned long long)frame, (unsigned long long)w->frames);
    hcy__h5_lock();
    int st = write_locked(w, frame, chunk, size);
    hcy__h5_unlock();
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
    st = hcy_bslz4_encode(&size, chunk, bound, &w->job, pixels);
    if (!st)
        st = hcy_stack_write_chunk(w, frame, chunk, size);
    free(chunk);
    return st;
}

uint64_t hcy_stack_writer_bytes(const hcy_stack_writer *w)
{
    hcy__h5_lock();
    uint64_t bytes = w->bytes;
    hcy__h5_unlock();
    return bytes;
}

int hcy_stack_writer_close(hcy_stack_writer *w)
{
    if (!w)
        return 0;
    hcy__h5_lock();
    if (w->dataset >= 0)
        H5Dclose(w->dataset);
    int st = hcy__h5_file_close(w->file);
    hcy__h5_unlock();
    free(w);
    return st;
}
