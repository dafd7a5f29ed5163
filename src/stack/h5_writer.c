/* h5_writer.c - stacks as HDF5: one chunk a frame, or frames next to one another, under HDF5's lock.
 *
 * The filter is named in the dataset but never run by HDF5: chunks are written as they are, so no plugin is
 * needed. It is declared optional, because HDF5 refuses to create a dataset with a mandatory filter it does
 * not have; readers see no difference.
 */
#include "h5_driver.h"
#include "h5_file.h"
#include "h5_shard.h"
#include "isolate.h"
#include "writer.h"
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>

struct h5_writer {
    hcy__h5_file *file;
    hid_t dataset, type;
    int contiguous;
    hsize_t count[3]; /* of a frame */
};

static const char default_dataset[] = "/entry/data/data";

static const char *dataset_name(const hcy_stack_writer_options *opts)
{
    if (opts->dataset)
        return opts->dataset;
    const hcy_stack *source = opts->source;
    return source && source->n_parts == 1 && source->info.dataset[0] ? source->info.dataset : default_dataset;
}

/* The groups above the dataset; those of the default path say that they are NeXus. */
static int create_groups(hid_t file, const char *dataset)
{
    if (strcmp(dataset, default_dataset))
        return 0;
    int st = hcy__h5_put_group(file, "/entry", "NXentry");
    return st ? st : hcy__h5_put_group(file, "/entry/data", "NXdata");
}

static void set_filter(hid_t plist, const hcy_bslz4_job *job)
{
    /* What the plugins' own writers put there: readers take the block's size from it. */
    const unsigned shuffled[5] = { 0, 2, job->elem_size, job->block_bytes / job->elem_size, 2 };
    const unsigned lz4[1] = { job->block_bytes ? job->block_bytes : 8192 };
    if (job->codec == HCY_CODEC_BSLZ4)
        H5Pset_filter(plist, 32008, H5Z_FLAG_OPTIONAL, 5, shuffled);
    else if (job->codec == HCY_CODEC_LZ4)
        H5Pset_filter(plist, 32004, H5Z_FLAG_OPTIONAL, 1, lz4);
}

static int create_dataset(struct h5_writer *w, const hcy_stack_writer_options *opts, const hcy_bslz4_job *job)
{
    const char *name = dataset_name(opts);
    hsize_t dims[3] = { opts->frames, opts->height, opts->width };
    /* Made before the dataset, as its own creation would make plain groups without NeXus' classes. */
    int st = create_groups(w->file->id, name);
    if (st)
        return st;
    hid_t space = H5Screate_simple(3, dims, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    if (!w->contiguous)
        H5Pset_chunk(plist, 3, w->count);
    set_filter(plist, job);
    w->dataset = H5Dcreate2(w->file->id, name, w->type, space, links, plist, H5P_DEFAULT);
    if (w->dataset < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: dataset %s cannot be created", w->file->path, name);
    H5Pclose(links);
    H5Pclose(plist);
    H5Sclose(space);
    return st;
}

/* --- The source's attributes --- */

static void copy_source_attributes(hid_t to, const hcy_stack *source)
{
    const char *words;
    hcy_isolation limits;
    /* The file of an isolated source is not one for this process to open with HDF5. */
    if (!source || !source->info.dataset[0] || hcy__isolates(&limits, &source->isolation, source->path))
        return;
    hid_t file = hcy__h5_spy_open(source->path, &words);
    /* Attributes are not what a stack reads, so its file is opened once more for them. */
    hid_t dataset = file >= 0 ? H5Dopen2(file, source->info.dataset, H5P_DEFAULT) : -1;
    if (dataset >= 0) {
        hcy__h5_copy_attributes(to, dataset);
        H5Dclose(dataset);
    }
    if (file >= 0)
        H5Fclose(file);
}

/* --- The format --- */

static int close_locked(struct h5_writer *w, int whole)
{
    if (w->dataset >= 0)
        H5Dclose(w->dataset);
    int st = hcy__h5_file_close(w->file, whole ? HCY__H5_WHOLE : HCY__H5_DISCARD);
    free(w);
    return st;
}

static int open_h5_writer(struct h5_writer *w, const char *path, const hcy_stack_writer_options *opts,
                       const hcy_bslz4_job *job)
{
    int st = hcy__h5_file_create(&w->file, path);
    if (!st)
        st = create_dataset(w, opts, job);
    if (!st)
        st = hcy__h5_put_shard(w->file->id, opts->shard, opts->kind);
    if (!st)
        copy_source_attributes(w->dataset, opts->source);
    if (!st && opts->growing)
        st = hcy__h5_file_show(w->file);
    if (st) {
        /* Closing may fail in turn, and the first cause is the one to be told. */
        hcy_error why = *hcy_last_error();
        (void)!close_locked(w, 0);
        return hcy_fail_again(&why);
    }
    return 0;
}

static int open_h5(void **state, const char *path, const hcy_stack_writer_options *opts,
                   const hcy_bslz4_job *job)
{
    struct h5_writer *w = calloc(1, sizeof *w);
    if (!w)
        return hcy_fail(HCY_ENOMEM, "no memory to create %s", path);
    hcy__h5_lock();
    *w = (struct h5_writer){ .dataset = -1,
                             .type = hcy__h5_pixel_type(hcy__pixel_of_type(opts->pixel_type)),
                             .contiguous = opts->contiguous,
                             .count = { 1, opts->height, opts->width } };
    int st = open_h5_writer(w, path, opts, job);
    hcy__h5_unlock();
    if (!st)
        *state = w;
    return st;
}

static herr_t put_contiguous(struct h5_writer *w, const hsize_t *offset, const void *pixels)
{
    hid_t space = H5Dget_space(w->dataset), memory = H5Screate_simple(3, w->count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, w->count, NULL);
    herr_t done = H5Dwrite(w->dataset, w->type, memory, space, H5P_DEFAULT, pixels);
    H5Sclose(memory);
    H5Sclose(space);
    return done;
}

static int put_h5(void *state, uint64_t frame, const void *bytes, size_t size)
{
    struct h5_writer *w = state;
    hsize_t offset[3] = { frame, 0, 0 };
    hcy__h5_lock();
    /* A chunk goes to the file as it is, past HDF5's filters and its cache. */
    herr_t done = w->contiguous ? put_contiguous(w, offset, bytes)
                                : H5Dwrite_chunk(w->dataset, H5P_DEFAULT, 0, offset, size, bytes);
    int st = hcy__h5_file_status(w->file);
    if (!st && done < 0)
        st = hcy__h5_fail(HCY_EIO, "%s: frame %llu cannot be written", w->file->path,
                          (unsigned long long)frame);
    hcy__h5_unlock();
    return st;
}

static int close_h5(void *state, int whole)
{
    hcy__h5_lock();
    int st = close_locked(state, whole);
    hcy__h5_unlock();
    return st;
}

const hcy__writer_format hcy__writer_h5 = { open_h5, put_h5, close_h5 };
