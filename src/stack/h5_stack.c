/* h5_stack.c - HDF5 datasets as stacks: their frames' places, and HDF5 itself where these cannot be known.
 *
 * There are two ways to a frame, and the first that works is taken:
 *
 *   addresses   one frame a chunk, or contiguous frames: pread at the address, without HDF5, from any number of
 *               threads
 *   pixels      any other layout or filter: H5Dread under the lock, decoded by HDF5
 *
 * What a dataset is and where its frames are h5_layout.c finds out.  The frames of a virtual dataset are those of its
 * sources, where they can be.
 */
#include "h5_driver.h"
#include "h5_layout.h"
#include "h5_read.h"
#include "h5_virtual.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_CACHE     ((size_t)1 << 30)
#define MOST_UNPROVED ((uint64_t)1 << 28) /* bytes of a frame that need not be stored: tiles that nobody wrote */

/* --- Reading through HDF5 --- */

static void drop_dataset(hcy__part *part)
{
    if (part->dataset < 0)
        return;
    hcy__h5_lock();
    H5Dclose((hid_t)part->dataset);
    hcy__h5_unlock();
}

static int read_h5_pixels(const hcy_stack *stack, const hcy__part *part, uint64_t frame, const hcy__location *place,
                       void *dst)
{
    hid_t dataset = (hid_t)part->dataset, space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_ndims(space);
    hsize_t start[4], count[4] = { 1, 1, stack->info.height, stack->info.width };
    hid_t memory = H5Screate_simple(4, count, NULL);
    hcy__h5_origin(start, rank, frame - part->first, place->offset);
    /* The last `rank` of the four dimensions are the dataset's. */
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count + 4 - rank, NULL);
    herr_t done = H5Dread(dataset, hcy__h5_pixel_type(hcy__pixel_of_type(stack->info.pixel_type)), memory,
                          space, H5P_DEFAULT, dst);
    int st = done < 0 ? hcy__h5_fail(HCY_EIO, "frame %llu of %s cannot be read by HDF5",
                                     (unsigned long long)frame, part->name)
                      : 0;
    H5Sclose(memory);
    H5Sclose(space);
    return st;
}

static int fetch_pixels(const hcy_stack *stack, const hcy__part *part, uint64_t frame,
                        const hcy__location *place, void *dst)
{
    hcy__h5_lock();
    int st = hcy__h5_judge(read_h5_pixels(stack, part, frame, place, dst), part->from ? part->from : stack->path);
    hcy__h5_unlock();
    return st;
}

/* --- Taking a dataset in --- */

/* The file that really holds the dataset: behind an external link it is another one. */
static int open_bytes(const hcy_stack *stack, hcy__part *part, hid_t dataset)
{
    char path[4096];
    ssize_t n = H5Fget_name(dataset, path, sizeof path);
    if (n <= 0 || (size_t)n >= sizeof path)
        return hcy__h5_fail(HCY_EIO, "%s: the file of %s has no name", stack->path, part->name);
    part->fetch = hcy__fetch_pread;
    if (!(part->file = strdup(path)))
        return hcy_fail(HCY_ENOMEM, "no memory for the name of %s", path);
    return hcy__open_file(&part->fd, path);
}

/* HDF5 decodes a chunk again for every frame in it unless its cache holds a whole layer of chunks. */
static hid_t open_with_cache(const struct hcy__h5_layout *l, hid_t file, const char *name)
{
    size_t cache = l->shape.pixel->size * (size_t)l->chunk[0] * (size_t)(l->shape.rank > 3 ? l->chunk[1] : 1);
    if (hcy_size_mul(&cache, cache, l->shape.dims[1]) || hcy_size_mul(&cache, cache, l->shape.dims[2]) ||
        hcy_size_mul(&cache, cache, 2) || cache > MAX_CACHE)
        cache = MAX_CACHE;
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    if (l->kind == H5D_CHUNKED && l->shape.rank > 2 && l->chunk[0] > 1)
        H5Pset_chunk_cache(access, H5D_CHUNK_CACHE_NSLOTS_DEFAULT, cache, H5D_CHUNK_CACHE_W0_DEFAULT);
    hid_t dataset = H5Dopen2(file, name, access);
    H5Pclose(access);
    return dataset;
}

/* Takes the frames of a dataset that HDF5 puts together from sources. */
static int virtual_frames(hcy__location *places, const struct hcy__h5_layout *l, hcy_stack *stack, const char *name)
{
    hcy__h5_sources sources;
    hsize_t mapped = 0;
    int st = hcy__h5_sources_find(&sources, l->dataset, stack->path, name);
    if (st)
        return st;
    for (hsize_t i = 0; !st && i < l->shape.dims[0] && i < sources.n; i++) {
        uint32_t why = sources.why[i];
        mapped += !why || why == H5_FRAME_UNWRITTEN;
        /* A source that is missing is named at each of its frames, when they are read. */
        if (why >= H5_FRAME_NAMES)
            st = hcy__stack_absent(&places[i], stack, sources.names.at[why - H5_FRAME_NAMES]);
        else if (why)
            places[i].flags = LOCATION_MISSING;
    }
    if (!st && !mapped && !stack->growing)
        st = hcy__h5_none_there(stack->path, name, sources.names.at, sources.names.n);
    hcy__h5_sources_free(&sources);
    return st;
}

/* Takes a dataset that HDF5 has to read.  A filter that is missing is refused here and not at the first
 * frame. */
static int take_pixels(hcy_stack *stack, hcy__part *part, hcy__location *places, const struct hcy__h5_layout *l,
                       hid_t file, const char *name)
{
    for (int i = 0; i < H5Pget_nfilters(l->plist); i++) {
        size_t none = 0;
        unsigned flags, config;
        char filter[64] = "";
        H5Z_filter_t id =
            H5Pget_filter2(l->plist, (unsigned)i, &flags, &none, NULL, sizeof filter, filter, &config);
        if (H5Zfilter_avail(id) <= 0)
            return hcy_fail(
                HCY_EUNSUPPORTED,
                "%s::%s is coded with HDF5 filter %d (%.*s) in a way that only HDF5's plugin can read; "
                "install it and set HDF5_PLUGIN_PATH",
                stack->path, name, (int)id, (int)strcspn(filter, ";"), filter);
    }
    /* Damaged files may claim more than they have, and HDF5 reads or allocates what they claim. */
    if (l->kind == H5D_COMPACT && /* HDF5 1.10 would read past what is there */
        H5Dget_storage_size(l->dataset) / stack->info.frame_bytes / l->shape.channels < l->shape.dims[0])
        return hcy_fail(HCY_ECORRUPT, "%s::%s is said to hold more than is stored of it", stack->path, name);
    hsize_t stored = H5Dget_storage_size(l->dataset);
    if (l->kind == H5D_CHUNKED && stored && stack->info.frame_bytes > MOST_UNPROVED &&
        stack->info.frame_bytes / H5_MOST_PACKED > stored) /* HDF5 would fill them in */
        return hcy_fail(HCY_ECORRUPT, "%s::%s says that a frame has %llu bytes, and stores %llu bytes of all",
                        stack->path, name, (unsigned long long)stack->info.frame_bytes, (unsigned long long)stored);
    /* Which frames exist must be known before any is read: HDF5 gives the fill value for the others. */
    hcy__h5_written_frames(places, l, stack);
    int st = l->kind == H5D_VIRTUAL ? virtual_frames(places, l, stack, name) : 0;
    if (st)
        return st;
    /* The dataset stays open, with a cache made for its chunks. */
    part->dataset = open_with_cache(l, file, name);
    if (part->dataset < 0)
        return hcy__h5_fail(HCY_EIO, "%s::%s cannot be opened", stack->path, name);
    part->drop = drop_dataset;
    part->fetch = fetch_pixels;
    stack->info.direct = 0;
    return 0;
}

/* A chunk says itself how large its Zstandard blocks are, whatever the filter's values are. */
static void zstd_blocks(hcy_stack *stack, const hcy__part *part, const hcy__location *places, uint64_t n)
{
    unsigned char head[12];
    int number;
    uint64_t i = 0;
    while (i < n && !(places[i].flags & LOCATION_ZSTD))
        i++;
    if (i == n || hcy__read_at(part->fd, head, sizeof head, places[i].offset, &number) < sizeof head)
        return;
    uint32_t bytes = (uint32_t)head[8] << 24 | (uint32_t)head[9] << 16 | (uint32_t)head[10] << 8 | head[11];
    if (bytes % (8 * hcy__pixel_of_type(stack->info.pixel_type)->size) == 0)
        stack->info.block_bytes = bytes;
}

/* The first dataset says what the stack is; the others must be the same. */
static int check_likeness(hcy_stack *stack, const struct hcy__h5_layout *l, uint32_t codec, const char *name)
{
    hcy_stack_info *info = &stack->info;
    if (stack->n_parts == 0) {
        info->height = (uint32_t)l->shape.dims[1];
        info->width = (uint32_t)l->shape.dims[2];
        info->pixel_type = l->shape.pixel->type;
        info->codec = codec;
        info->block_bytes = codec == HCY_CODEC_BITSHUFFLE ? l->block_bytes : 0;
        info->direct = 1;
        size_t bytes = l->shape.pixel->size;
        if (hcy_size_mul(&bytes, bytes, info->height) || hcy_size_mul(&bytes, bytes, info->width))
            return hcy_fail(HCY_ERANGE, "%s::%s: images of that size are not supported", stack->path, name);
        info->frame_bytes = bytes;
        return 0;
    }
    if (info->height != l->shape.dims[1] || info->width != l->shape.dims[2] ||
        info->pixel_type != l->shape.pixel->type || info->codec != codec ||
        (codec == HCY_CODEC_BITSHUFFLE && !l->zstd && info->block_bytes != l->block_bytes))
        return hcy_fail(
            HCY_EFORMAT,
            "%s::%s (%llu x %llu %s) is not like the datasets before it (%u x %u %s), or coded in "
            "another way",
            stack->path, name, (unsigned long long)l->shape.dims[1], (unsigned long long)l->shape.dims[2],
            l->shape.type, info->height, info->width, hcy__pixel_of_type(info->pixel_type)->name);
    return 0;
}

/* --- Virtual datasets: the frames of others, which are read where they are --- */

/* A stretch of one dimension: 0 if it is one without gaps and end. */
static int stretch(hsize_t *length, hsize_t stride, hsize_t count, hsize_t block)
{
    *length = count * block;
    return count == H5S_UNLIMITED || block == H5S_UNLIMITED || (count > 1 && stride != block) ? -1 : 0;
}

/* The frames that are selected, if they are whole ones in a row.  n is left alone for "all there are": the
 * space of a source whose file was not opened has no dimensions then. */
static int selected_frames(hsize_t *first, hsize_t *n, hid_t space)
{
    hsize_t dims[3], start[3], stride[3], count[3], block[3], length;
    *first = 0;
    if (H5Sget_select_type(space) == H5S_SEL_ALL)
        return 0;
    if (H5Sget_simple_extent_ndims(space) != 3 || H5Sget_select_type(space) != H5S_SEL_HYPERSLABS ||
        H5Sget_simple_extent_dims(space, dims, NULL) < 0 || H5Sis_regular_hyperslab(space) <= 0 ||
        H5Sget_regular_hyperslab(space, start, stride, count, block) < 0)
        return -1;
    /* Whole frames alone can be read where they are: parts of them are HDF5's to put together. */
    for (int i = 1; i < 3; i++)
        if (start[i] || stretch(&length, stride[i], count[i], block[i]) || length != dims[i])
            return -1;
    *first = start[0];
    return stretch(n, stride[0], count[0], block[0]);
}

/* Places of `n` frames of a source, from its frame `from` on.  Not 0: they cannot be read where they are. */
static int take_source(hcy_stack *stack, hcy__location *places, const struct hcy__h5_layout *l,
                       const struct hcy__h5_layout *source, hsize_t from, hsize_t n, const char *name)
{
    hcy__part *part;
    hsize_t all = source->shape.dims[0];
    if (!hcy__h5_is_as_stored(source) || source->shape.dims[1] != l->shape.dims[1] ||
        source->shape.dims[2] != l->shape.dims[2] || source->shape.pixel != l->shape.pixel ||
        check_likeness(stack, source, source->codec, name))
        return -1;
    /* All of the source's frames are looked up, though a mapping may want a few. */
    hcy__location *found = calloc(all ? all : 1, sizeof *found);
    for (hsize_t i = 0; found && i < all; i++)
        found[i].flags = LOCATION_MISSING;
    /* A source's frames have no numbers in the stack yet: numbers beyond any frame's find nothing that is
     * known. */
    int st = !found || hcy__stack_add_part(&part, stack, name) ||
             hcy__h5_addresses(found, source, stack, UINT64_MAX - all) || open_bytes(stack, part, source->dataset);
    if (!st && source->zstd && stack->n_parts == 1)
        zstd_blocks(stack, part, found, all);
    for (hsize_t i = 0; !st && i < n && from < all && i < all - from; i++) {
        places[i] = found[from + i];
        places[i].part = (uint32_t)(stack->n_parts - 1);
    }
    free(found);
    return st ? -1 : 0;
}

static int take_mapping(hcy_stack *stack, hcy__location *places, const struct hcy__h5_layout *l, size_t i)
{
    char path[4096] = "", name[1024] = "", stored[4096] = "", stored_name[1024] = "", reason[4200];
    struct hcy__h5_layout source;
    hsize_t to = 0, from = 0, n = l->shape.dims[0], m;
    hid_t space = H5Pget_virtual_vspace(l->plist, i), source_space = H5Pget_virtual_srcspace(l->plist, i);
    int st = selected_frames(&to, &n, space);
    m = n;
    /* Both sides must be frames in a row, as many of one as of the other, within the dataset. */
    st = st || selected_frames(&from, &m, source_space) || n != m || to > l->shape.dims[0] ||
         n > l->shape.dims[0] - to ||
         H5Pget_virtual_filename(l->plist, i, stored, sizeof stored) >= (ssize_t)sizeof stored ||
         H5Pget_virtual_dsetname(l->plist, i, stored_name, sizeof stored_name) >= (ssize_t)sizeof stored_name ||
         hcy__h5_source_name(path, sizeof path, stored, 0) || hcy__h5_source_name(name, sizeof name, stored_name, 0);
    H5Sclose(source_space);
    H5Sclose(space);
    /* A source that is not there makes its frames absent, and leaves the rest readable. */
    hid_t other = st ? -1 : hcy__h5_open_source(l->dataset, path);
    snprintf(reason, sizeof reason, H5_NOT_THERE, path);
    for (hsize_t k = 0; !st && other < 0 && k < n; k++)
        st = hcy__stack_absent(&places[to + k], stack, reason);
    if (st || other < 0)
        return st;
    st = hcy__h5_layout_open(&source, stack, other, name);
    if (!st)
        st = take_source(stack, places + to, l, &source, from, n, name);
    hcy__h5_layout_close(&source);
    H5Fclose(other);
    return st;
}

/* *taken is 0 where HDF5 itself must put the frames together. */
static int take_virtual(int *taken, hcy_stack *stack, const struct hcy__h5_layout *l, const char *name)
{
    hcy_stack_info before = stack->info;
    size_t n_parts = stack->n_parts, n = 0;
    hcy__location *places;
    *taken = l->shape.rank == 3 && H5Pget_virtual_count(l->plist, &n) >= 0;
    int st = *taken ? hcy__stack_add_places(&places, stack, l->shape.dims[0]) : 0;
    for (size_t i = 0; !st && *taken && i < n; i++)
        *taken = !take_mapping(stack, places, l, i);
    if (!st && *taken && stack->n_parts == n_parts && !stack->growing)
        st = hcy__h5_none_there(stack->path, name, stack->absent, stack->n_absent);
    if (!st && *taken) {
        stack->info.frames += l->shape.dims[0];
        return 0;
    }
    *taken = 0;
    /* HDF5 puts the frames together instead: the stack goes back to what it was before. */
    hcy__stack_drop_parts(stack, n_parts);
    stack->info = before;
    return st;
}

static int take_layout(hcy_stack *stack, const struct hcy__h5_layout *l, hid_t file, const char *name)
{
    hcy__part *part;
    hcy__location *places = NULL;
    int as_stored = hcy__h5_is_as_stored(l), taken = 0, st = 0;
    if (l->kind == H5D_VIRTUAL)
        st = take_virtual(&taken, stack, l, name);
    /* The frames of a virtual dataset are in the stack by now, as those of its sources. */
    if (st || taken)
        return st;
    /* Read through HDF5, frames come decoded. */
    st = check_likeness(stack, l, as_stored ? l->codec : HCY_CODEC_NONE, name);
    if (!st)
        st = hcy__stack_add_part(&part, stack, name);
    if (!st)
        st = hcy__stack_add_places(&places, stack, l->shape.dims[0]);
    if (st)
        return st;
    part->first = stack->info.frames;
    /* Addresses where there are any; a compact dataset and one in external files have none. */
    if (as_stored && !hcy__h5_addresses(places, l, stack, stack->info.frames)) {
        st = open_bytes(stack, part, l->dataset);
        if (!st && l->zstd && stack->n_parts == 1)
            zstd_blocks(stack, part, places, l->shape.dims[0]);
    } else {
        st = take_pixels(stack, part, places, l, file, name);
    }
    /* Places are filled in without their part, which is known here; absent ones have a reason's number in
     * it. */
    for (uint64_t i = 0; !st && i < l->shape.dims[0]; i++)
        if (!(places[i].flags & LOCATION_ABSENT))
            places[i].part = (uint32_t)(stack->n_parts - 1);
    stack->info.frames += l->shape.dims[0];
    return st;
}

/* A number of EIGER's master file, 0 if it is not there. */
static uint64_t detector_number(hid_t file, const char *name)
{
    char path[128];
    unsigned long long n = 0;
    snprintf(path, sizeof path, "/entry/instrument/detector/detectorSpecific/%s", name);
    hid_t data = H5Dopen2(file, path, H5P_DEFAULT), space = data < 0 ? -1 : H5Dget_space(data);
    if (space < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
        hcy__h5_read_whole(data, H5T_NATIVE_ULLONG, &n) < 0)
        n = 0;
    if (space >= 0)
        H5Sclose(space);
    if (data >= 0)
        H5Dclose(data);
    return n;
}

/* How many frames the detector was told to take. */
static uint64_t expected_frames(hid_t file)
{
    uint64_t images = detector_number(file, "nimages"), triggers = detector_number(file, "ntrigger");
    return triggers > 1 && images > UINT64_MAX / triggers ? 0 : images * (triggers ? triggers : 1);
}

static int open_h5_stack(hcy_stack *stack)
{
    hcy__h5_names names = { 0 };
    const char *words;
    hid_t file = hcy__h5_spy_open(stack->path, &words);
    if (file < 0) {
        struct stat is;
        /* HDF5 says the same of every file that it cannot open: four cases are told apart for the user. */
        if (!stat(stack->path, &is) && S_ISREG(is.st_mode) && !is.st_size)
            return hcy_fail(HCY_EFORMAT, "%s is empty", stack->path);
        if (H5Fis_hdf5(stack->path) == 0)
            return hcy_fail(HCY_EFORMAT, "%s is neither HDF5, TIFF, EDF, CBF nor NumPy", stack->path);
        if (strstr(words, "truncated"))
            return hcy_fail_vendor(HCY_ECORRUPT, 0, words, "%s is truncated", stack->path);
        return hcy_fail_vendor(HCY_EIO, 0, words, "%s cannot be opened as HDF5", stack->path);
    }
    int st = hcy__h5_find(&names, file, stack);
    for (size_t i = 0; !st && i < names.n; i++) {
        struct hcy__h5_layout layout;
        st = hcy__h5_layout_open(&layout, stack, file, names.at[i]);
        if (!st)
            st = take_layout(stack, &layout, file, names.at[i]);
        hcy__h5_layout_close(&layout);
    }
    /* Numbered datasets go by the name of the first. */
    if (!st && !(stack->dataset = strdup(names.at[0])))
        st = hcy_fail(HCY_ENOMEM, "no memory to open %s", stack->path);
    stack->info.expected = expected_frames(file);
    hcy__h5_names_free(&names);
    H5Fclose(file);
    return st;
}

int hcy__h5_open(hcy_stack *stack)
{
    hcy__h5_lock();
    int st = hcy__h5_judge(open_h5_stack(stack), stack->path);
    hcy__h5_unlock();
    return st;
}
